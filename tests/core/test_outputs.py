"""Outputs: whole or not at all, each under a name of its own; nothing but an ordinary file is ever replaced."""

import errno
import io
import itertools
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from helpers.support import command, names

import ttt_batch as ttt
from ttt_batch.core import files
from ttt_batch.core.errors import GamesError, TttBatchError, UsageError
from ttt_batch.core.outputs import Draft, Lock, OutputKind, check_distinct
from ttt_batch.games.transcripts import GameRecord

OUTPUT = OutputKind(TttBatchError, "--out")
GAMES = "4 0 2 1 6\n"


def said(capsys: pytest.CaptureFixture[str], words: str) -> tuple[int, str, str]:
    """`command` of words on a line."""
    return command(capsys, *words.split())


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in with a run, its table in another format, games, and links to them."""
    monkeypatch.setattr(sys, "stdin", io.StringIO("0\n"))
    run = ttt.train(20, batch=20, out="q.h5")
    from ttt_batch.runs.importing import export_table

    export_table(run, "pickle", ["v.pickle"])
    Path("g.txt").write_text(GAMES)
    Path("sub").mkdir()
    Path("link.svg").symlink_to("q.h5")
    Path("new-link").symlink_to("sub/../new.h5")
    Path("hard").hardlink_to("q.h5")
    return tmp_path


# --- one file, one use ------------------------------------------------------------------------------------

SAME = """
train --games 5 --record r.h5 --out r.h5
train --games 5 --record sub/../r.h5 --out r.h5 --overwrite
train --games 5 --record new-link --out new
train --resume q.h5 --more 5 --record q.h5
train --resume q.h5 --more 5 --record hard --overwrite
train --resume q.h5 --more 5 --out link.svg --overwrite
train --resume q.h5 --more 5 --out r.h5 --record q.h5 --overwrite
train --games 5 --start q.h5 --out q.h5 --overwrite
train --games 5 --start v.pickle --record v.pickle --overwrite
train --games 5 --opponent q.h5 --out link.svg --overwrite
learn-from g.txt --learner td --out g.txt --overwrite
export q.h5 --to csv --out hard --overwrite
export q.h5 --to html --out q.h5 --overwrite
export q.h5 --to pickle --out a --out sub/../a
export q.h5 --to hdf5 --out none/../q.h5 --overwrite
train --games 5 --start q.h5 --out none/../q.h5 --overwrite
export q.h5 --to pickle --out new.h5 --out new-link
import v.pickle --learner td --out v.pickle --overwrite
plot q.h5 --out link.svg --overwrite
play q.h5 --learn --out c.h5 --record c.h5
play q.h5 --learn --record hard
""".strip().splitlines()


@pytest.mark.sampled(2)
@pytest.mark.parametrize("words", SAME)
def test_one_file_is_not_named_for_two_uses(words: str, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = contents(here), names(here)
    status, out, err = command(capsys, *words.split())
    assert (status, out, err.count("\n")) == (2, "", 1), err
    assert "named twice" in err or "is read, too" in err
    assert (contents(here), names(here)) == before


def test_in_python_too(here: Path) -> None:
    for options in (
        {"record": "r.h5", "out": Path("r.h5")},
        {"start": "q.h5", "out": "hard", "overwrite": True},
        {"opponent": Path("q.h5"), "record": "link.svg", "overwrite": True},
    ):
        with pytest.raises(UsageError):
            ttt.train(5, **options)  # type: ignore[arg-type]
    before = contents(here)
    for path in ("q.h5", "q", Path("hard")):
        for form in ("npz", "html"):
            with pytest.raises(UsageError, match="is read, too"):
                ttt.export_run(path, "hard", form, overwrite=True)
    with pytest.raises(UsageError, match="is read, too"):
        ttt.import_run("v.pickle", "td", out="sub/../v.pickle", overwrite=True)
    assert contents(here) == before
    check_distinct([("--out", Path("random")), ("--record", Path("other"))], [("--run", Path("q.h5"))])


def test_games_of_standard_input_are_not_replaced_by_a_run(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with Path("g.txt").open() as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        status, out, err = said(capsys, "learn-from - --learner td --out sub/../g.txt --overwrite")
        assert (status, out, err.count("\n")) == (2, "", 1) and "is read, too, as standard input" in err
        assert Path("g.txt").read_text() == GAMES
        assert said(capsys, "learn-from - --learner td --out new.h5")[0] == 0
    assert ttt.load("new.h5").games == 1


def test_an_update_in_place_is_not_a_slip(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys, "train --resume q.h5 --more 5 --record r.txt")[0] == 0
    assert said(capsys, "learn-from g.txt --run q.h5 --out q.h5 --overwrite")[0] == 0
    assert said(capsys, "play q.h5 --learn --record r.txt")[0] == 0
    assert ttt.load("q.h5").games == 26 and len(Path("r.txt").read_text().splitlines()) == 5


def test_going_on_in_place_replaces_no_games(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = contents(here)
    status, _, err = said(capsys, "train --resume q.h5 --more 5 --record g.txt")
    assert status == 1 and "g.txt exists already; replace it with --overwrite" in err
    assert contents(here) == before
    assert said(capsys, "train --resume q.h5 --more 5 --record g.txt --overwrite")[0] == 0
    assert len(Path("g.txt").read_text().splitlines()) == 5


# --- ordinary files only ----------------------------------------------------------------------------------

WRITERS = {
    "train --games 5 --overwrite --out r.h5 --record": "",
    "train --games 5 --overwrite --out": "",
    "learn-from g.txt --learner td --overwrite --out": "",
    "import v.pickle --learner td --overwrite --out": "",
    "export q.h5 --to csv --overwrite --out": "",
    "export q.h5 --to html --overwrite --out": "",
    "plot q.h5 --overwrite --out": ".svg",
    "boards 2x2x2 --overwrite --solution": ".npz",
    "play q.h5 --learn --record": "",
    "play q.h5 --learn --out": "",
}
"""Commands that write a file, which is to be named behind them, with the ending that it needs."""


@pytest.mark.slow
@pytest.mark.parametrize(("words", "ending"), WRITERS.items())
def test_what_is_no_ordinary_file_is_refused_and_stays(
    words: str, ending: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    odd = [
        Path(f"pipe{ending}"),
        Path(f"folder{ending}"),
        Path("/"),
        Path("n" * 300 + ending),
        Path(f"g.txt/x{ending}"),
    ]
    os.mkfifo(odd[0])
    odd[1].mkdir()
    if os.geteuid() == 0:
        device = Path(f"device{ending}")
        try:
            os.mknod(device, stat.S_IFCHR | 0o666, os.makedev(1, 3))
            odd.append(device)
        except PermissionError:
            pass
    before = names(here)
    for path in odd:
        status, out, err = command(capsys, *words.split(), path)
        err = "".join(line for line in err.splitlines(keepends=True) if "after an update" not in line)
        wanted = 2 if path == Path("/") and ending else 1
        assert (status, out, err.count("\n")) == (wanted, "", 1), (path, err)
    assert names(here) == before
    assert stat.S_ISFIFO(odd[0].stat().st_mode) and odd[1].is_dir()
    assert all(stat.S_ISCHR(device.stat().st_mode) for device in odd[5:])


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("words", "ending"), [item for item in WRITERS.items() if "play" not in item[0]])
def test_links_are_followed_and_the_dead_cleared_away(
    words: str, ending: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target, link = here / "sub" / f"target{ending}", Path(f"link{ending}")
    target.write_text("old")
    link.unlink(missing_ok=True)
    link.symlink_to(target)
    living = Draft(target)
    files.temporary_name(target).write_bytes(b"half a file of a killed process")
    assert command(capsys, *words.split(), link)[0] == 0
    assert link.is_symlink() and target.read_bytes() != b"old"
    assert names(target.parent) == sorted([target.name, living.path.name])
    living.close()
    assert not [name for name in names(here) if name.endswith((".tmp", ".lock"))]


def test_a_killed_process_holds_nothing(tmp_path: Path) -> None:
    target = tmp_path / "v.csv"
    code = (
        "import os, sys; from pathlib import Path; from ttt_batch.core.outputs import Draft; "
        "draft = Draft(Path(sys.argv[1])); draft.write(b'half'); print('open', flush=True); sys.stdin.read()"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(target)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None and process.stdout.readline() == "open\n"
    [left] = names(tmp_path)
    OUTPUT.write([target], [b"one"], overwrite=True)
    assert names(tmp_path) == [left, "v.csv"]
    process.send_signal(signal.SIGKILL)
    process.communicate()
    OUTPUT.write([target], [b"two"], overwrite=True)
    assert names(tmp_path) == ["v.csv"] and target.read_bytes() == b"two"


def test_a_file_that_is_cleared_away_before_it_is_locked_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, calls = files.create_file, list[Path]()

    def create(path: Path) -> int:
        descriptor = real(path)
        calls.append(path)
        if len(calls) == 1:
            files.remove_stale_temporaries(tmp_path / "x")  # another writer, just now
        return descriptor

    monkeypatch.setattr(files, "create_file", create)
    OUTPUT.write([tmp_path / "x"], [b"whole"], overwrite=False)
    assert len(calls) == 2 and contents(tmp_path) == {"x": b"whole"}


@pytest.mark.parametrize("overwrite", [False, True])
def test_what_gets_the_name_meanwhile_stays(overwrite: bool, tmp_path: Path) -> None:
    target = tmp_path / "x"
    with pytest.raises(TttBatchError), OUTPUT.drafts([target], overwrite=overwrite) as [draft]:
        draft.write(b"whole")
        os.mkfifo(target)
    assert names(tmp_path) == ["x"] and stat.S_ISFIFO(target.stat().st_mode)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("length", [200, 201, 240, 255])
def test_long_names_that_the_system_takes(length: int, tmp_path: Path) -> None:
    run, games = "r" * (length - 3) + ".h5", "g" * length
    for _ in range(2):
        ttt.train(5, batch=5, out=run, record=games, overwrite=True)
        assert names(tmp_path) == [games, run]
    files.temporary_name(tmp_path / run).write_bytes(b"left")
    ttt.train(resume=run, more=5)
    assert names(tmp_path) == [games, run]


# --- whose name it is -------------------------------------------------------------------------------------


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("words", "stem"), [("train --games 5", "td-3x3"), ("learn-from g.txt --learner td", "given-games")]
)
def test_a_name_that_another_process_has_taken_is_passed_by(
    words: str, stem: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path(f"{stem}-2.h5").write_text("mine")
    with Lock(here / f"{stem}.h5"), Lock(here / f"{stem}-3.h5"):
        status, out, err = command(capsys, *words.split())
        assert status == 0 and f"{stem}-4.h5" in out, err
    assert ttt.load(f"{stem}-4.h5").games in (1, 5) and Path(f"{stem}-2.h5").read_text() == "mine"
    assert not Path(f"{stem}.h5").exists() and not Path(f"{stem}-3.h5").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "taken", "written"),
    [
        ("plot q.h5", ["q-curves.png"], ["q-curves-2.png"]),
        ("export q.h5 --to html", ["q.html"], ["q-2.html"]),
        ("export q.h5 --to pickle", ["q-second.bin"], ["q-first-2.bin", "q-second-2.bin"]),
    ],
)
def test_a_name_that_is_taken_during_the_work_is_passed_by(
    words: str,
    taken: list[str],
    written: list[str],
    here: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    publish = Draft.publish

    def take(draft: Draft, **options: Any) -> None:
        for name in taken:
            Path(name).write_text("theirs")
        publish(draft, **options)

    monkeypatch.setattr(Draft, "publish", take)
    before = names(here)
    status, out, err = said(capsys, words)
    assert (status, err) == (0, "") and all(f"wrote {name}\n" in out for name in written)
    assert names(here) == sorted([*before, *taken, *written])
    assert all(Path(name).read_text() == "theirs" for name in taken)


def test_games_have_one_writer(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Lock(here / "new.txt"):
        status, out, err = said(capsys, "train --games 5 --out r.h5 --record new.txt")
    assert (status, out, err.count("\n")) == (1, "", 1) and f"process {os.getpid()}" in err
    assert not Path("r.h5").exists()


# --- a game appended --------------------------------------------------------------------------------------


def test_half_a_game_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, write = tmp_path / "games.txt", os.write
    path.write_text("0 3 1 4 2")

    def full(descriptor: int, content: Any) -> int:
        if len(content) < 5:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(descriptor, content[:7])

    record = GameRecord(path)
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        with pytest.raises(TttBatchError, match="No space left on device; make room"):
            record([4, 0, 2, 1, 6])
    assert path.read_text() == "0 3 1 4 2"
    record([4, 0, 2, 1, 6])
    assert path.read_text() == "0 3 1 4 2\n4 0 2 1 6\n"


def test_only_the_beginning_of_a_long_file_is_looked_at(tmp_path: Path) -> None:
    path = tmp_path / "games.txt"
    path.write_text("# " + "\N{SNOWMAN}" * 30_000 + "\n")  # a character lies across the end of what is looked at
    os.truncate(path, 1 << 32)  # zeros, which are no text
    GameRecord(path)


def test_a_game_waits_for_who_writes_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "games.txt"
    record, lock, waited = GameRecord(path), Lock(path), list[float]()
    lock.acquire()

    def sleep(seconds: float) -> None:
        waited.append(seconds)
        if len(waited) == 3:
            lock.release()

    monkeypatch.setattr("time.sleep", sleep)
    record([4, 0, 2, 1, 6])
    assert len(waited) == 3 and path.read_text() == GAMES and names(tmp_path) == ["games.txt"]
    with Lock(path), pytest.raises(GamesError, match=f"is being written: process {os.getpid()}"):
        monkeypatch.setattr("time.monotonic", itertools.count().__next__)
        record([4, 0, 2, 1, 6])
    assert path.read_text() == GAMES


# --- what the system does in between ----------------------------------------------------------------------


def test_a_refused_write_holds_no_view_of_what_it_wrote(monkeypatch: pytest.MonkeyPatch) -> None:
    """A traceback keeps the frame of the write; Python 3.13 complains of a buffer that is collected before its view."""

    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    content = bytearray(b"games")
    with monkeypatch.context() as patch, pytest.raises(OSError, match="No space left") as caught:
        patch.setattr(os, "write", full)
        files.write_all(1, content)
    content += b"grown"  # BufferError while there is a view
    assert caught.tb is not None


def test_a_temporary_file_that_is_gone_claims_no_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    created: list[Path] = []
    monkeypatch.setattr(files, "create_file", created.append)
    with pytest.raises(FileNotFoundError):
        files.rename_new(tmp_path / "gone", tmp_path / "target")
    assert created == []


def test_without_hard_links_a_name_that_another_process_got_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary, target = tmp_path / "temporary", tmp_path / "target"
    temporary.write_text("ours")

    def refuse(*_: object) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    def replace(_: Path, name: Path) -> None:
        theirs = tmp_path / "theirs"
        theirs.write_text("theirs")
        name.unlink()
        theirs.rename(name)
        refuse()

    monkeypatch.setattr(Path, "hardlink_to", refuse)
    monkeypatch.setattr(Path, "replace", replace)
    with pytest.raises(PermissionError):
        files.rename_new(temporary, target)
    assert target.read_text() == "theirs"
