"""A study at work: whatever threads, order, stops, kills and failures there are, the file is that of a quiet run."""

import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ttt_batch.core.errors import StudyFileError
from ttt_batch.studies import work
from ttt_batch.studies.checks import check_study
from ttt_batch.studies.designs.design import make_design
from ttt_batch.studies.storage.layout import DONE, FAILED, MISSING, STATISTICS
from ttt_batch.studies.storage.reading import open_study
from ttt_batch.studies.storage.writing import StudyWriter, create_study, resume_study
from ttt_batch.studies.study import study
from ttt_batch.studies.work import LearnerResults, StudyProgress, ThreadPool, run_study

OPTIONS: dict[str, Any] = {"alpha": [0.1, 0.5], "batch": [64], "games": [500, 700]}


def results(path: Path) -> list[bytes]:
    """All that was computed."""
    with open_study(path) as found:
        assert (found.state == DONE).all()
        names = [name for name in STATISTICS if name in found.header.arrays and name not in ("games", "seconds")]
        return [found.array("checksum").tobytes(), *(found.array(name).tobytes() for name in names)]


@pytest.fixture(scope="module")
def quiet(tmp_path_factory: pytest.TempPathFactory) -> list[bytes]:
    path = tmp_path_factory.mktemp("study") / "quiet.h5"
    study(out=path, seeds=6, threads=1, **OPTIONS)
    return results(path)


def _cut(path: Path, share: float) -> None:
    os.truncate(path, int(path.stat().st_size * share))


def _write_over(path: Path, at: int) -> None:
    with path.open("r+b") as file:
        file.seek(at)
        file.write(b"x" * 100)


def _replace(path: Path) -> None:
    other = path.with_name("other")
    other.write_text("of another program")
    other.replace(path)


TAKEN: dict[str, tuple[Callable[[Path], object], str]] = {
    "cut in the middle": (lambda path: _cut(path, 0.5), "cut off"),
    "cut at the end": (lambda path: _cut(path, 0.999), "cut off"),
    "emptied": (lambda path: _cut(path, 0), "cut off"),
    "longer": (lambda path: _cut(path, 1.1), "changed by another program"),
    "removed": (Path.unlink, "removed or replaced"),
    "replaced": (_replace, "removed or replaced"),
    "written over": (lambda path: _write_over(path, 100), "changed by another program"),
}


@pytest.mark.sampled(1)
@pytest.mark.parametrize("case", TAKEN)
def test_a_file_that_another_program_takes_stays_and_the_study_goes_on_beside_it(
    case: str, tmp_path: Path, quiet: list[bytes]
) -> None:
    """Results that the file has lost are learnt again; the other program's bytes stay as they are."""
    take, how = TAKEN[case]
    path, told, left = tmp_path / "s.h5", list[str](), list[bytes | None]()

    def disturb(now: StudyProgress) -> None:
        if now.done >= 3 and not left:
            take(path)
            left.append(path.read_bytes() if path.exists() else None)

    found = study(out=path, seeds=6, threads=1, progress=disturb, warn=told.append, **OPTIONS)
    assert found.path == tmp_path / "s-2.h5" and results(found.path) == quiet
    assert check_study(found.path)[0] == [] and found.provenance["created"]
    assert len(told) == 1 and told[0].startswith(f"{path} was {how} during the study; it is saved in ")
    assert case != "emptied" or "learners that it had are trained again" in told[0]
    if case != "written over":  # that is noticed only at the end
        assert (path.read_bytes() if path.exists() else None) == left[0]
    assert sorted(entry.name for entry in tmp_path.iterdir()) in (["s-2.h5", "s.h5"], ["s-2.h5"])


def test_a_file_that_is_taken_where_there_is_no_room_beside_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(28, "No space left on device")

    def disturb(now: StudyProgress) -> None:
        if now.done >= 3:
            monkeypatch.setattr("ttt_batch.studies.storage.writing.allocate", refuse)
            (tmp_path / "s.h5").unlink(missing_ok=True)

    with pytest.raises(StudyFileError, match=r"s-2\.h5: No space left on device .* make room there"):
        study(out=tmp_path / "s.h5", seeds=6, threads=1, progress=disturb, **OPTIONS)
    assert not list(tmp_path.iterdir())


KEPT = Path(__file__).parents[2] / "data" / "study-1.0.h5"
"""A study from the day when the format was made."""


def test_a_study_of_format_1_0_opens_for_ever() -> None:
    assert check_study(KEPT)[0] == []


@pytest.mark.slow  # kernels of minimax-q, flow and opponents in studies
def test_a_study_of_format_1_0_is_learnt_again_byte_for_byte(tmp_path: Path) -> None:
    """Neither the format nor any result may change unnoticed."""
    options = {"learner": ["td", "minimax-q"], "engine": ["walk", "flow"], "opponent": ["self", "random"]}
    study(out=tmp_path / "s.h5", seeds=2, games=300, batch=64, **options).close()
    assert results(KEPT) == results(tmp_path / "s.h5")


@pytest.mark.sampled(1)
@pytest.mark.parametrize("threads", [2, 5])
def test_threads_do_not_show(threads: int, tmp_path: Path, quiet: list[bytes]) -> None:
    study(out=tmp_path / "s.h5", seeds=6, threads=threads, **OPTIONS)
    assert results(tmp_path / "s.h5") == quiet


def test_stopped_again_and_again(tmp_path: Path, quiet: list[bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ThreadPool, "chunk_seconds", 0.0)
    path, done, rounds = tmp_path / "s.h5", 0, 0
    found = study(out=path, seeds=6, threads=1, stop=lambda: True, **OPTIONS)
    while (found.state != DONE).any():
        rounds += 1
        answers = iter([False] * 4)
        found = study(resume=path, threads=1, stop=lambda answers=answers: next(answers, True))  # type: ignore[misc]
        assert (found.state == DONE).sum() > done, "each of them gets on"
        done = int((found.state == DONE).sum())
    assert rounds > 1 and results(path) == quiet


@pytest.mark.slow
def test_nothing_is_learnt_twice(tmp_path: Path, quiet: list[bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    path, learnt = tmp_path / "s.h5", []
    plain = work.Worker.learn

    def counting(self: Any, setting: Any, seeds: Any) -> LearnerResults:
        learnt.extend((setting.key, seed) for seed in seeds)
        return plain(self, setting, seeds)

    monkeypatch.setattr(work.Worker, "learn", counting)
    study(out=path, seeds=2, **{**OPTIONS, "alpha": 0.5})
    study(resume=path, seeds=6)
    study(resume=path, alpha=[0.1, 0.5])
    study(resume=path)
    assert len(learnt) == len(set(learnt)) == 24
    with open_study(path) as found:
        order = np.argsort([setting.key for setting in found.design.settings])
        own = [found.array("checksum")[order]]
    study(out=tmp_path / "t.h5", seeds=6, **OPTIONS)
    with open_study(tmp_path / "t.h5") as found:
        order = np.argsort([setting.key for setting in found.design.settings])
        assert np.array_equal(own[0], found.array("checksum")[order])


def test_a_study_that_another_process_extends_meanwhile_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "s.h5"
    study(out=path, seeds=2, stop=lambda: True, **OPTIONS | {"alpha": 0.5})

    def late(path: Path) -> StudyWriter:
        with monkeypatch.context() as patch:
            patch.setattr("ttt_batch.studies.study.resume_study", resume_study)
            study(resume=path, alpha=[0.1, 0.5], stop=lambda: True)
        return resume_study(path)

    monkeypatch.setattr("ttt_batch.studies.study.resume_study", late)
    found = study(resume=path)
    assert found.state.shape == (4, 2) and (found.state == DONE).all()


def test_what_fails_is_noted_and_tried_again(
    tmp_path: Path, quiet: list[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "s.h5"
    with monkeypatch.context() as patch:
        plain = work.Worker._in_kernel

        def failing(self: Any, setting: Any, seeds: Any) -> Any:
            if setting.config.alpha.start == 0.1 and seeds[0] > 2:
                raise MemoryError
            return plain(self, setting, seeds)

        patch.setattr(work, "LEARNERS_AT_ONCE", 1)
        patch.setattr(work.Worker, "_in_kernel", failing)
        found = study(out=path, seeds=6, **OPTIONS)
        failures = list(found.failures())
        assert failures and {reason for _, _, reason in failures} == {
            "not enough memory for this board or batch; choose a smaller one"
        }
        assert (found.state == MISSING).sum() == 0 and len(failures) == (found.state == FAILED).sum() == 6
        assert check_study(path)[0] == []
    study(resume=path)
    assert results(path) == quiet


def test_an_exception_keeps_what_is_stored(tmp_path: Path) -> None:
    design = make_design(OPTIONS, 6)
    with create_study(tmp_path / "s.h5", design) as writer, pytest.raises(ZeroDivisionError):
        run_study(writer, threads=1, progress=lambda now: 1 / 0 if now.done else None)  # type: ignore[arg-type, return-value]
    with resume_study(tmp_path / "s.h5") as writer:
        assert writer.damaged == 0 and (writer.state == DONE).any()


def test_progress_counts_what_is_done(tmp_path: Path) -> None:
    seen: list[StudyProgress] = []
    study(out=tmp_path / "s.h5", seeds=6, progress=seen.append, **OPTIONS)
    assert (seen[-1].done, seen[-1].failed, seen[-1].total) == (24, 0, 24)
    assert seen[-1].games == 6 * 2 * (500 + 700)
    assert [now.done for now in seen] == sorted(now.done for now in seen)


@pytest.mark.slow
@pytest.mark.parametrize("kills", [3, 10])
def test_killed_at_random_moments(kills: int, tmp_path: Path, script: Callable[[str], Any]) -> None:
    """Nothing that was stored is lost or learnt again, and the end is that of an undisturbed study."""
    killed = script("killed_studies").Killed(tmp_path, random.Random(kills))
    while kills:
        kills -= killed.kill()
    assert killed.end()
