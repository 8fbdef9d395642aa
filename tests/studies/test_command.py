"""The command `study`, and the file of a study where other commands expect a run."""

import json
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import pytest
from helpers.studyfiles import design
from helpers.support import command

import ttt_batch as ttt
from ttt_batch.app.progress import Reporter
from ttt_batch.core.errors import NameTakenError, StudyFileError, UsageError
from ttt_batch.studies import study
from ttt_batch.studies.storage.layout import DONE, MISSING
from ttt_batch.studies.storage.writing import create_study
from ttt_batch.studies.study import Estimate
from ttt_batch.studies.work import StudyProgress

QUICK = ("--games", 200, "--seeds", 2, "--quiet")


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study of two learners.  Nothing may write to it."""
    return ttt.study(out=tmp_path_factory.mktemp("studies") / "done.h5", games=200, seeds=2).path


@pytest.fixture
def untried(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Learners that estimates were asked for; none is tried."""
    asked: list[int] = []

    def estimated(_design: Any, _keep: str, _threads: int, missing: list[int]) -> Estimate:
        asked.append(sum(missing))
        return Estimate(1000, 1.0)

    monkeypatch.setattr("ttt_batch.studies.study.estimated", estimated)
    return asked


def test_a_study_where_a_run_is_meant(done: Path, capsys: pytest.CaptureFixture[str]) -> None:
    new = done.with_name("new.h5")
    for words in (
        ["evaluate", done],
        ["export", done, "--to", "csv"],
        ["train", "--resume", done],
        ["train", "--start", done, "-o", new],
        ["study", "--opponent", done, "-o", new],
    ):
        status, out, err = command(capsys, *words)
        assert (status, out, err.count("\n")) == (1, "", 1)
        assert "is a study of many learners, not a run; info, check, plot and study --resume accept it" in err
    assert not new.exists()


def test_check_looks_at_studies(done: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = command(capsys, "check", done)
    whole, verified, trusted = out.splitlines()
    assert (status, err, whole) == (0, "", f"{done}: nothing is wrong with it")
    assert verified.startswith("verified: digest; arrays that follow from the design; checksums of ")
    assert trusted.startswith("taken on trust: that ") and "the seconds" in trusted
    damaged = tmp_path / "damaged.h5"
    content = bytearray(done.read_bytes())
    with ttt.load_study(done) as study:
        content[study.header.arrays["value_error"].offset] ^= 1
    damaged.write_bytes(content)
    status, out, _ = command(capsys, "check", damaged)
    assert status == 1 and "results that do not match their checksum (1 learner" in out
    assert command(capsys, "check", done, "--trust")[0] == 2


def test_info_describes_studies(done: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = command(capsys, "info", done)
    assert status == 0 and "learners           2 done" in out and "seeds              0..1" in out
    facts = json.loads(command(capsys, "info", done, "--json")[1])
    assert facts["learners"] == {"done": 2, "failed": 0, "missing": 0}
    assert facts["bytes"] == done.stat().st_size and facts["arrays"]["state"]["shape"] == [1, 2]


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        ("STUDY", 2, "is a study, not a description of one; continue it with --resume"),
        ("no.toml", 1, "there is no file"),
        ("--resume STUDY -o other.h5", 2, "leave out --out"),
        ("--resume STUDY --overwrite", 2, "replaces nothing; leave out --overwrite"),
        ("--games 200 --seeds 2 -o new.h5 --confirm 0", 2, "confirm 0 is outside 1 .. 10,000,000; give at least 1"),
        ("--games 200 --seeds 2 -o new.h5 --confirm x", 2, "confirm 'x' is not a whole number"),
        ("--games 200 --seeds 2 -o new.h5 --confirm -1", 2, "confirm -1 is outside"),
        ("--dry-run --keep lst", 2, "unknown keep 'lst' (did you mean last?)"),
        ("--dry-run --confirm 0", 2, "confirm 0 is outside"),
        ("--dry-run --best prof", 2, "unknown metric 'prof' (did you mean proof?)"),
        ("--dry-run --threads 0", 2, "threads 0 is outside"),
    ],
)
def test_what_makes_no_study_is_refused_before_the_work(
    words: str, status: int, said: str, done: Path, untried: list[int], tmp_path: Path, capsys: Any
) -> None:
    before = done.read_bytes()
    found, out, err = command(capsys, "study", *words.replace("STUDY", str(done)).split())
    assert (found, out, err.count("\n")) == (status, "", 1) and said in err
    assert done.read_bytes() == before and not untried and not list(tmp_path.iterdir())


def test_figures_are_printed_though_nothing_is_the_best(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "beaten.h5"
    words = "--games", 2, "--seeds", 2, "--quiet", "-o", path, "--confirm", 2, "--json"
    status, out, err = command(capsys, "study", *words)
    assert status == 1 and "no setting is the best" in err
    assert json.loads(out)["learners"]["done"] == 2 and path.exists()


def test_dry_run_of_more(done: Path, untried: list[int], capsys: pytest.CaptureFixture[str]) -> None:
    before = done.read_bytes()
    status, out, _ = command(capsys, "study", "--resume", done, "--seeds", 5, "--dry-run", "--json")
    facts = json.loads(out)
    assert status == 0 and (facts["learners"], facts["done"], facts["games"]) == (5, 2, 1000)
    assert untried == [3]
    assert "done: 2 learners" in command(capsys, "study", "--resume", done, "--dry-run")[1]
    assert done.read_bytes() == before


@pytest.mark.slow
def test_dry_run_of_grids_with_and_without_an_option(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    grids = 'seeds = 1\n[[grid]]\nlearner = "td"\n[[grid]]\nlearner = "td-lambda"\nlambda = [0.3, 0.7]\n'
    (tmp_path / "grids.toml").write_text(grids, encoding="utf-8")
    status, out, _ = command(capsys, "study", tmp_path / "grids.toml", "--dry-run")
    assert status == 0 and "  lambda: 0.3, 0.7\n" in out


def test_dry_run_of_many_settings_is_short(untried: list[int], capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = command(capsys, "study", "--dry-run", "--alpha", "0.1..0.9:2000", "--seeds", 1)
    assert status == 0 and len(out) < 300 and "..., 0.9" in out and untried


def test_resume_removes_a_part_left_by_a_killed_process(done: Path, capsys: pytest.CaptureFixture[str]) -> None:
    part = done.with_name(f".{done.name}.ttt-batch.0123456789ab.tmp")
    part.write_bytes(b"part")
    status, _, _ = command(capsys, "study", "--resume", done)
    assert status == 0 and not part.exists()


@pytest.mark.parametrize("wrong", [3, "", True, b"x.h5", []])
def test_what_is_no_name_is_refused(wrong: Any) -> None:
    for given in ({"out": wrong}, {"description": wrong, "out": "x.h5"}, {"resume": wrong}):
        with pytest.raises(UsageError, match=r"not the name of a|is empty"):
            ttt.study(**given)
    with pytest.raises(StudyFileError, match="null byte"):
        ttt.study(resume="x\0y")


def test_what_is_read_is_not_written_over(tmp_path: Path, trained: Any, capsys: pytest.CaptureFixture[str]) -> None:
    description, rival = tmp_path / "study.toml", tmp_path / "rival.h5"
    description.write_text("seeds = 2\ngames = 20\n", encoding="utf-8")
    trained(0).save(rival)
    before = description.read_bytes(), rival.read_bytes()
    for words in ([description, "-o", description], ["--opponent", rival, "-o", rival]):
        status, _, err = command(capsys, "study", *words, "--overwrite")
        assert status == 2 and "is read, too, as" in err
    assert (description.read_bytes(), rival.read_bytes()) == before


def test_a_name_that_is_being_written_is_taken(capsys: pytest.CaptureFixture[str]) -> None:
    """Two studies without --out begin at once: the second finds the lock of the first, whose file is not there yet."""
    with create_study("study.h5", design(2, games=200)):
        Path("study.h5").unlink()
        with pytest.raises(NameTakenError):
            create_study("study.h5", design(2, games=200))
        status, out, _ = command(capsys, "study", *QUICK)
    assert status == 0 and out.endswith("saved:   study-2.h5\n")


def test_a_study_is_summed_up_and_repeated_in_python(done: Path, tmp_path: Path) -> None:
    with ttt.load_study(done) as study:
        assert study.summary().to_frame().loc[0, "learners.done"] == 2
        again = study.confirm(3, "error", threads=1)
        seconds = study.progress["seconds"]
    assert again.fresh.design.seeds == (2, 3, 4) and "fresh seeds" in str(again)
    assert json.dumps(again.to_dict(), allow_nan=False) and again.to_frame().loc[0, "learners.done"] == 3
    (tmp_path / "more.h5").write_bytes(done.read_bytes())
    assert ttt.study(resume=tmp_path / "more.h5", seeds=3).progress["seconds"] > seconds > 0


def test_a_run_without_a_file_is_given_again(tmp_path: Path, trained: Any) -> None:
    path, opponents = tmp_path / "new.h5", [trained(0), "random"]
    with ttt.study(out=path, games=200, seeds=1, opponent=opponents) as study:
        assert (study.state == DONE).all()
    with ttt.study(resume=path, seeds=2) as study:
        assert [reason for _, _, reason in study.failures()] == [
            f"the opponent {study.design.settings[0].config.opponent} was a run without a file; "
            "give that run again with opponent"
        ]
    with ttt.study(resume=path, opponent=opponents) as study:
        assert (study.state == DONE).all()


def test_iterators_are_lists(tmp_path: Path) -> None:
    values = (alpha / 10 for alpha in (1, 2))
    study = ttt.study(out=tmp_path / "new.h5", games=20, seeds=iter([3, 5]), alpha=values)
    assert study.design.axes == {"alpha": study.design.axes["alpha"]} and study.state.shape == (2, 2)
    assert study.seeds.tolist() == [3, 5]


@pytest.mark.slow
def test_progress_begins_with_the_file_and_is_rare(tmp_path: Path) -> None:
    path, seen = tmp_path / "new.h5", list[StudyProgress]()

    def progress(now: StudyProgress) -> None:
        assert path.exists()
        seen.append(now)

    study = ttt.study(out=path, games=1, seeds=1, alpha="0.1..0.5:200", progress=progress)
    assert seen[0].done == 0 and seen[-1].done == 200 and (study.state == DONE).all()
    assert len(seen) < 200  # not one for each chunk


def test_an_interrupt_does_not_wait_for_threads(tmp_path: Path) -> None:
    """Compiling cannot be interrupted, nor can a kernel."""
    path = tmp_path / "new.h5"

    def progress(_: StudyProgress) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ttt.study(out=path, games=1000, seeds=3, progress=progress)
    with ttt.load_study(path) as study:
        assert (study.state == MISSING).all()
    assert (ttt.study(resume=path).state == DONE).all()


def test_a_repetition_without_room_for_its_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    full = StudyFileError("cannot write fresh.h5: a remedy that does not help here")
    full.__cause__ = OSError(28, "No space left on device")

    create = study.create_study

    def refusing(path: Path, *given: object, **options: object) -> object:
        if Path(path).name == "s.h5":
            return create(path, *given, **options)
        raise full

    monkeypatch.setattr(study, "create_study", refusing)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    words = "--games", "100k", "--batch", 64, "--seeds", 2, "--quiet", "--confirm", 2, "--json", "-o", tmp_path / "s.h5"
    status, out, err = command(capsys, "study", *words)
    assert status == 1 and json.loads(out)["learners"]["done"] == 2
    assert err == (
        "ttt-batch: no temporary file for the repetition: No space left on device; make room there, or name another "
        "folder in the variable TMPDIR\n"
    )
    assert not list((tmp_path / "temporary").iterdir())


def test_a_second_interrupt_leaves_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that comes while the folder is removed, of which its finalizer is no longer in charge then."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    answers = iter([KeyboardInterrupt])

    def interrupted(folder: str, **_: Any) -> None:
        for error in answers:
            raise error
        shutil.rmtree(folder)

    monkeypatch.setattr(study._Folder, "_rmtree", staticmethod(interrupted))
    with pytest.raises(KeyboardInterrupt), study._Folder():
        pass
    assert not list(tmp_path.iterdir())


@pytest.mark.usefixtures("own_signals")
def test_an_interrupt_names_the_file_in_which_the_study_goes_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Another program has removed the first one meanwhile."""

    def disturb(_: Reporter, now: StudyProgress) -> None:
        if now.path == Path("new.h5"):
            now.path.unlink(missing_ok=now.done == 0)
        else:
            raise KeyboardInterrupt

    monkeypatch.setattr(Reporter, "studying", disturb)
    status, _, err = command(capsys, "study", *QUICK, "--threads", 1, "--alpha", "0.1,0.2", "-o", "new.h5")
    assert (status, err.splitlines()[-1].rpartition("; ")[2]) == (130, "go on with ttt-batch study --resume new-2.h5")


@pytest.mark.slow
@pytest.mark.parametrize("times", [1, 2])
def test_ctrl_c_says_where_the_results_are(times: int, tmp_path: Path, start: Any) -> None:
    words = [sys.executable, "-m", "ttt_batch", "study", "--games", "100k", "--seeds", "9999", "--threads", "1"]
    words += ["-o", "new.h5"]
    child = start(words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert child.stderr is not None
    while " of 9,999 learners" not in child.stderr.readline():
        assert child.poll() is None
    for _ in range(times):
        child.send_signal(signal.SIGINT)
        time.sleep(0.01)
    _, err = child.communicate(timeout=300)
    assert child.returncode == 130 and "Traceback" not in err
    last = err.splitlines()[-1]
    assert "saved" in last and last.endswith("go on with ttt-batch study --resume new.h5")
    assert [path.name for path in tmp_path.iterdir()] == ["new.h5"]
    with ttt.load_study(tmp_path / "new.h5") as study:
        assert (study.state == DONE).any() and (study.state == MISSING).any()
