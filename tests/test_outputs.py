"""Outputs: whole or not at all, each under a name of its own; nothing but an ordinary file is ever replaced."""

import errno
import io
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support import command

import ttt_batch as ttt
from ttt_batch import files
from ttt_batch.errors import TttBatchError, UsageError
from ttt_batch.lessons import GameRecord
from ttt_batch.lock import Lock
from ttt_batch.outputs import Kind, check_distinct

OUTPUT = Kind(TttBatchError, "--out")
GAMES = "4 0 2 1 6\n"


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def said(capsys: pytest.CaptureFixture[str], words: str) -> tuple[int, str, str]:
    """`command` of words on a line."""
    return command(capsys, *words.split())


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in with a run, its table in another format, games, and links to them."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "stdin", io.StringIO("0\n"))
    run = ttt.train(20, batch=20, out="q.h5")
    from ttt_batch.exchange import export_run

    export_run(run, "pickle", ["v.pickle"])
    Path("g.txt").write_text(GAMES)
    Path("sub").mkdir()
    Path("link.svg").symlink_to("q.h5")
    Path("new-link").symlink_to("sub/../new")
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
export q.h5 --to pickle --out new --out new-link
import v.pickle --learner td --out v.pickle --overwrite
plot q.h5 --out link.svg --overwrite
play q.h5 --learn --out c.h5 --record c.h5
play q.h5 --learn --record hard
""".strip().splitlines()


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
    check_distinct([("--out", Path("random")), ("--record", Path("other"))], [("--run", Path("q.h5"))])


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
        err = "".join(line for line in err.splitlines(keepends=True) if "after a lesson" not in line)
        wanted = 2 if path == Path("/") and ending else 1
        assert (status, out, err.count("\n")) == (wanted, "", 1), (path, err)
    assert names(here) == before
    assert stat.S_ISFIFO(odd[0].stat().st_mode) and odd[1].is_dir()
    assert all(stat.S_ISCHR(device.stat().st_mode) for device in odd[5:])


@pytest.mark.parametrize(("words", "ending"), [item for item in WRITERS.items() if "play" not in item[0]])
def test_links_are_followed_and_the_dead_cleared_away(
    words: str, ending: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target, link = here / "sub" / f"target{ending}", Path(f"link{ending}")
    target.write_text("old")
    link.unlink(missing_ok=True)
    link.symlink_to(target)
    files.temporary_name(target).write_bytes(b"half a file of a killed process")
    living, descriptor = files.create_locked(target)
    assert command(capsys, *words.split(), link)[0] == 0
    assert link.is_symlink() and target.read_bytes() != b"old"
    assert names(target.parent) == sorted([target.name, living.name])
    files.discard(living, descriptor)
    assert not [name for name in names(here) if name.endswith((".tmp", ".lock"))]


def test_a_killed_process_holds_nothing(tmp_path: Path) -> None:
    target = tmp_path / "v.csv"
    code = (
        "import os, sys; from pathlib import Path; from ttt_batch.outputs import Draft; "
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
    real, calls = files.create, list[Path]()

    def create(path: Path) -> int:
        descriptor = real(path)
        calls.append(path)
        if len(calls) == 1:
            files.remove_left(tmp_path / "x")  # another writer, just now
        return descriptor

    monkeypatch.setattr(files, "create", create)
    OUTPUT.write([tmp_path / "x"], [b"whole"], overwrite=False)
    assert len(calls) == 2 and contents(tmp_path) == {"x": b"whole"}


@pytest.mark.parametrize("overwrite", [False, True])
def test_what_gets_the_name_meanwhile_stays(overwrite: bool, tmp_path: Path) -> None:
    target = tmp_path / "x"
    with pytest.raises(TttBatchError), OUTPUT.drafts([target], overwrite=overwrite) as [draft]:
        draft.write(b"whole")
        os.mkfifo(target)
    assert names(tmp_path) == ["x"] and stat.S_ISFIFO(target.stat().st_mode)


@pytest.mark.parametrize("length", [200, 201, 240, 255])
def test_long_names_that_the_system_takes(length: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run, games = "r" * (length - 3) + ".h5", "g" * length
    for _ in range(2):
        ttt.train(5, batch=5, out=run, record=games, overwrite=True)
        assert names(tmp_path) == [games, run]
    files.temporary_name(tmp_path / run).write_bytes(b"left")
    ttt.train(resume=run, more=5)
    assert names(tmp_path) == [games, run]


# --- whose name it is -------------------------------------------------------------------------------------


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
