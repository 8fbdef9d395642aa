"""A run learns from people: the same as from given games, saved after each, undone on demand, never lost."""

import io
import os
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pexpect
import pytest
from helpers.support import (
    BOTH_SEATS,
    command,
    lines_of,
    mostly_slow,
    names,
    random_games,
    untaught,
    without_compiling,
)

import ttt_batch as ttt
from ttt_batch.app.commands import shared as agent_options
from ttt_batch.core.errors import GamesError, RunFileError, UsageError
from ttt_batch.core.outputs import Lock
from ttt_batch.core.text import TEXTBOOK
from ttt_batch.games.board import EMPTY
from ttt_batch.games.transcripts import GameRecord
from ttt_batch.runs.loading import check_run
from ttt_batch.training.from_games import LearningRun

# pexpect forks, and from Python 3.12 on a fork of a process with threads (NumPy's) warns.
pytestmark = pytest.mark.filterwarnings("ignore:This process .*is multi-threaded:DeprecationWarning")

PROGRAM = [sys.executable, "-m", "ttt_batch"]
SECONDS = 300
"""No command takes this long; kernels may have to be compiled."""


def bytes_of(run: ttt.Run) -> list[bytes]:
    return [array.tobytes() for array in (*run.tables, run.visits)]


def trained(tmp_path: Path, games: int = 2_000, **options: Any) -> Path:
    path = tmp_path / "run.h5"
    ttt.train(games, out=path, **{"seed": 3, "batch": 500, **options})
    return path


# --- what is learnt -----------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("alpha", [None, "1/n"])
@pytest.mark.parametrize("name", BOTH_SEATS)
def test_update_by_update_equals_learn_from(name: str, alpha: str | None, tmp_path: Path) -> None:
    path = trained(tmp_path, learner=name, alpha=alpha)
    before = ttt.load(path)
    games = random_games(before.board, 25)
    learning = LearningRun(ttt.load(path), path)
    for n, cells in enumerate(games, 1):
        learning.update(cells)
        whole, _ = ttt.learn_from(lines_of(games[:n]), run=before)
        assert bytes_of(learning.run) == bytes_of(whole) and learning.run.games == whole.games
    assert bytes_of(whole) != bytes_of(before)
    assert learning.run.config == whole.config
    found = ttt.load(path)
    assert bytes_of(found) == bytes_of(whole)
    assert (found.config, found.games) == (whole.config, 2_025)
    assert check_run(path) == ([], ())


@pytest.mark.slow  # kernels of another learner
@pytest.mark.parametrize(
    ("board", "lost"), [("2x4x3", [0, 1, 4, 2, 5, 3]), ("3x3", [0, 4, 1, 2, 3, 6])], ids=["2x4x3", "3x3"]
)
def test_what_it_learns_changes_how_it_plays(board: str, lost: list[int]) -> None:
    """A learner that loses again and again with its favourite opening leaves it."""
    run = untaught("greedy-td", board=board)
    learning = LearningRun(run)
    empty = (EMPTY,) * learning.board.cells
    assert learning.candidates(empty) == [0] and learning.move_values(empty)[0] == 0.5
    assert [learning.update(lost) for _ in range(3)] == [2, 4, 5]  # a move further from the end each time
    assert learning.move_values(empty)[0] < 0.1
    assert learning.candidates(empty) == [1] and run.candidates(empty) == [0]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", BOTH_SEATS)
def test_the_number_of_changed_positions(name: str) -> None:
    run = ttt.train(50, learner=name, batch=1, seed=2)
    learning = LearningRun(run)
    for cells in random_games(run.board, 20):
        old = [table.copy() for table in learning.run.tables]
        changed = learning.update(cells)
        places = set()
        for before, after in zip(old, learning.run.tables, strict=True):
            differ = np.atleast_2d(before.view(np.uint64) != after.view(np.uint64)).any(axis=0)  # as bits: nan is nan
            ends = run.graph.first_edge if len(old) > 1 and differ.size == run.graph.child.size else None
            where = np.flatnonzero(differ)  # a move belongs to its position if there are values of both
            places |= set((where if ends is None else np.searchsorted(ends, where, side="right") - 1).tolist())
        assert changed == len(places)
        assert changed <= len(cells) and (changed > 0 or name in (*TEXTBOOK, "actor-critic"))  # a draw moves no 0


def test_nothing_changes_where_all_is_known() -> None:
    learning = LearningRun(ttt.train(300_000, seed=1))
    assert learning.update([4, 0, 8, 2, 1, 7, 5, 3, 6]) == 0
    assert learning.run.games == 300_001


@pytest.mark.slow
def test_minimax_q_learns_from_a_forfeit() -> None:
    run = ttt.train(10, learner="minimax-q", batch=1)
    learning = LearningRun(run)
    assert learning.update([4, 4]) == 2
    assert bytes_of(learning.run) == bytes_of(ttt.learn_from(["4 4"], run=run)[0])
    with pytest.raises(GamesError, match="move 2, '4', is not a free cell"):
        LearningRun(ttt.train(10, batch=1)).update([4, 4])


@pytest.mark.sampled(4)
@pytest.mark.parametrize("cells", [[], [4], [4, 0, 4], [9], [-1], [0, 3, 1, 4, 2, 5]])
def test_what_is_no_finished_game_teaches_nothing(cells: list[int], tmp_path: Path) -> None:
    path = trained(tmp_path)
    content = path.read_bytes()
    learning = LearningRun(ttt.load(path), path)
    with pytest.raises(GamesError, match="nothing was learnt") as caught:
        learning.update(cells)
    assert "--skip-bad" not in str(caught.value) and "\n" not in str(caught.value)
    assert not learning.undo()
    assert path.read_bytes() == content


def test_a_step_size_that_goes_by_games_is_refused(tmp_path: Path) -> None:
    path = trained(tmp_path, alpha="0.3->0.1:linear")
    with pytest.raises(UsageError, match="depends on the number of games of a run"):
        LearningRun(ttt.load(path), path)


# --- undo ---------------------------------------------------------------------------------------------------


@pytest.mark.sampled(1)
@pytest.mark.parametrize("alpha", [None, "1/n"])
@pytest.mark.parametrize("name", BOTH_SEATS)
def test_undo_brings_everything_back(name: str, alpha: str | None, tmp_path: Path) -> None:
    path = trained(tmp_path, games=1_250, learner=name, alpha=alpha)  # ends within a batch
    content = path.read_bytes()
    learning = LearningRun(ttt.load(path), path, command="ttt-batch play --learn")
    one, two = random_games(learning.board, 2)
    assert not learning.undo()
    learning.update(one)
    after_one, taught = bytes_of(learning.run), path.read_bytes()
    assert taught != content
    learning.update(two)
    assert learning.undo() and not learning.undo()
    assert bytes_of(learning.run) == after_one and path.read_bytes() == taught
    learning.update(two)
    assert learning.undo()
    assert learning.run.games == 1_251
    # The first update undone leaves the very file: all its points, its goal, and what resuming needs.
    path.write_bytes(content)
    learning = LearningRun(ttt.load(path), path)
    learning.update(one)
    assert learning.undo()
    assert path.read_bytes() == content
    resumed = ttt.train(resume=path, more=250)
    assert resumed.games == 1_500


# --- the file -----------------------------------------------------------------------------------------------


def test_what_the_file_says_of_itself(tmp_path: Path) -> None:
    path = trained(tmp_path, games=40_000, command="ttt-batch train")
    before = ttt.load(path)
    games = random_games(before.board, 7)
    learning = LearningRun(before, path, command="ttt-batch play run.h5 --learn")
    for cells in games[:4]:
        learning.update(cells)
    learning = LearningRun(ttt.load(path), path, command="ttt-batch play again")
    for cells in games[4:]:
        learning.update(cells)
    found = ttt.load(path)
    assert found.config.engine == "given" and found.config.batch == 1 and len(found.config.start) == 16
    assert (found.config.learner, found.config.alpha) == (before.config.learner, before.config.alpha)
    # The points of the training stay, and every session adds one.
    n = before.statistics["games"].size
    assert found.statistics["games"].tolist() == [*before.statistics["games"].tolist(), 40_004, 40_007]
    for name, column in before.statistics.items():
        np.testing.assert_array_equal(found.statistics[name][:n], column)
    outcomes = found.statistics["outcomes"]
    whole, _ = ttt.learn_from(lines_of(games), run=before)
    assert outcomes[-1].sum() == 40_007
    np.testing.assert_array_equal(outcomes[-1] - outcomes[n - 1], whole.statistics["outcomes"][-1])
    for name in set(found.statistics) - {"seconds", "outcomes"}:
        np.testing.assert_array_equal(found.statistics[name][-1], whole.statistics[name][-1])
    assert found.provenance["command"] == "ttt-batch train"
    assert found.provenance["created"] == before.provenance["created"]
    assert found.provenance["taught_by"] == "ttt-batch play again"
    assert found.provenance["seconds"] > before.provenance["seconds"]
    assert check_run(path) == ([], ())


@pytest.mark.slow
def test_an_imported_table_keeps_its_unreachable_rows(tmp_path: Path) -> None:
    table, path = tmp_path / "q.csv", tmp_path / "q.h5"
    rng = np.random.default_rng(1)
    np.savetxt(table, rng.normal(size=(3**9, 9)), delimiter=",", fmt="%.17g")
    from ttt_batch.runs.importing import import_tables

    import_tables([table], "minimax-q").save(path)
    before = ttt.load(path)
    assert before.background is not None
    learning = LearningRun(before, path)
    learning.update([4, 0, 2, 1, 6])
    found = ttt.load(path)
    assert found.background is not None
    np.testing.assert_array_equal(found.background, before.background)
    assert check_run(path) == ([], ())


def test_a_run_in_memory_can_be_taught_and_given_a_file(tmp_path: Path) -> None:
    run = ttt.train(100, batch=1)
    LearningRun(run).update([4, 0, 2, 1, 6])
    assert run.games == 100
    learning = LearningRun(run, tmp_path / "new.h5")
    assert names(tmp_path) == []
    learning.update([4, 0, 2, 1, 6])
    assert ttt.load(tmp_path / "new.h5").games == 101
    assert learning.undo() and ttt.load(tmp_path / "new.h5").games == 100


def test_a_training_that_holds_the_run_comes_first(tmp_path: Path) -> None:
    path = trained(tmp_path)
    learning = LearningRun(ttt.load(path), path)
    content = path.read_bytes()
    with Lock(path.resolve()):
        with pytest.raises(RunFileError, match="is being written"):
            LearningRun(ttt.load(path), path)
        with pytest.raises(RunFileError, match="is being written") as caught:
            learning.update([4, 0, 2, 1, 6])
        assert "\n" not in str(caught.value)
    assert path.read_bytes() == content and learning.run.games == 2_000
    learning.update([4, 0, 2, 1, 6])
    assert ttt.load(path).games == 2_001


def test_what_a_training_wrote_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    """Lessons go on in a new file beside it."""
    path, said = trained(tmp_path), list[str]()
    learning = LearningRun(ttt.load(path), path, warn=said.append)
    learning.update([4, 0, 2, 1, 6])
    os.utime(path, ns=(0, 0))
    learning.update([4, 0, 2, 1, 6])
    assert said == [] and ttt.load(path).games == 2_002
    ttt.train(3_000, out=path, overwrite=True)
    learning.update([4, 0, 2, 1, 6])
    assert len(said) == 1 and f"saved in {tmp_path / 'run-2.h5'} from now on" in said[0]
    assert ttt.load(path).games == 3_000 and ttt.load(tmp_path / "run-2.h5").games == 2_003
    assert learning.undo() and ttt.load(tmp_path / "run-2.h5").games == 2_002
    path.unlink()  # from now on the other one is the file
    learning.update([4, 0, 2, 1, 6])
    assert len(said) == 1 and names(tmp_path) == ["run-2.h5"]
    (tmp_path / "run-2.h5").unlink()  # nothing is in the way of a file that is gone
    learning.update([4, 0, 2, 1, 6])
    assert ttt.load(tmp_path / "run-2.h5").games == 2_004


@pytest.mark.parametrize("place", ["nowhere/run.h5", "."])
def test_a_place_where_no_run_can_be_written_is_found_before_anything_is_taught(place: str, tmp_path: Path) -> None:
    with pytest.raises(RunFileError) as caught:
        LearningRun(ttt.train(10, batch=1), tmp_path / place)
    assert str(tmp_path) in str(caught.value) and "\n" not in str(caught.value)
    assert names(tmp_path) == []


# --- the record ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("before", [None, "", "# mine\n", "8 0 7 1 6"], ids=["none", "empty", "a line", "no line end"])
def test_games_are_appended(before: str | None, tmp_path: Path) -> None:
    path = tmp_path / "games.txt"
    if before is not None:
        path.write_text(before)
    record = GameRecord(path)
    assert path.exists() == (before is not None)
    games = [[4, 0, 2, 1, 6], [0, 3, 1, 4, 2]]
    for cells in games:
        record(cells)
    start = before or ""
    start += "\n" if start and not start.endswith("\n") else ""
    assert path.read_text() == start + "4 0 2 1 6\n0 3 1 4 2\n"
    run, _ = ttt.learn_from(path.read_text().splitlines(), learner="td")
    assert run.games == 2 + (before == "8 0 7 1 6")


def test_only_a_text_file_is_appended_to(tmp_path: Path) -> None:
    path = trained(tmp_path, games=10)
    content = path.read_bytes()
    (tmp_path / "nul.txt").write_bytes(b"a\0b")
    for target in (path, tmp_path / "nul.txt"):
        with pytest.raises(GamesError, match=r"cannot append games to .*: it is not a text file"):
            GameRecord(target)
    os.mkfifo(tmp_path / "fifo")
    for target, why in ((tmp_path, "ordinary"), (tmp_path / "fifo", "ordinary"), (tmp_path / "no" / "x", "no folder")):
        with pytest.raises(GamesError, match=why):
            GameRecord(target)
    assert path.read_bytes() == content
    assert names(tmp_path) == ["fifo", "nul.txt", "run.h5"]


# --- the program --------------------------------------------------------------------------------------------


def without_spinner(text: str) -> str:
    """Return the output on a terminal without the line that turns while kernels are compiled."""
    return re.sub(r"\x1b\[\?25l[-\\|/] compiling kernels.*?\x1b\[\?25h\r\x1b\[1A\x1b\[2K", "", text, flags=re.DOTALL)


def test_what_compiling_says_is_left_out() -> None:
    """As it was once said where no kernel was compiled before."""
    lines = "teaching x.h5\ncompiling kernels (once) ...\ncompiling kernels (once): 11 done in 10 s\nmore\n"
    assert without_compiling(lines) == "teaching x.h5\nmore\n"
    spinner = "\x1b[?25l- compiling kernels (once), 0 s\r\n\r\x1b[2K\\ compiling kernels (once): 5 done, 8 s\r\n"
    assert without_spinner(f"one\r\n{spinner}\x1b[?25h\r\x1b[1A\x1b[2Ktwo\r\n") == "one\r\ntwo\r\n"


@pytest.mark.parametrize(("board", "cells"), mostly_slow([("3x3", 9), ("2x4x3", 8)], ("3x3", 9)))
def test_a_person_teaches_a_run(
    board: str, cells: int, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = trained(tmp_path, games=20, batch=20, board=board, learner="td")
    before = ttt.load(path)
    typed = "\n".join(map(str, range(1, cells + 1)))
    words = ["play", "run.h5", "--learn", "--record", "games.txt", "--seed", "1"]
    monkeypatch.setattr(sys, "argv", ["ttt-batch", *words])
    status, out, err = command(capsys, *words, typed=f"{typed}\nq\n")
    assert status == 0 and err.endswith("; --out FILE leaves RUN as it is\n")
    assert out.count("Another game?") >= 1
    assert re.search(r"^Learnt: (\d+ positions|1 position|nothing) changed \(u: undo\)\.$", out, re.MULTILINE)
    lines = (tmp_path / "games.txt").read_text().splitlines()
    assert len(lines) == 1
    found, (whole, _) = ttt.load(path), ttt.learn_from(lines, run=before)
    assert found.games == 21 and bytes_of(found) == bytes_of(whole)
    assert found.provenance["taught_by"] == f"ttt-batch {' '.join(words)}"
    assert command(capsys, "check", "run.h5")[1].startswith("run.h5: nothing is wrong with it\n")
    _, again, _ = command(capsys, *words, typed=f"{typed}\nundo\nu\nq\n")
    assert again.count("The last update is undone.\n") == again.count("no update to undo.\n") == 1
    assert ttt.load(path).games == 21 and bytes_of(ttt.load(path)) == bytes_of(whole)
    assert len((tmp_path / "games.txt").read_text().splitlines()) == 2  # it was played all the same


@pytest.mark.slow
def test_ctrl_c_loses_only_the_game_at_hand(tmp_path: Path) -> None:
    path = trained(tmp_path, games=20, batch=20)
    child = pexpect.spawn(
        sys.executable,
        ["-m", "ttt_batch", "play", "run.h5", "--plain", "--learn", "--record", "games.txt"],
        cwd=str(tmp_path),
        env=os.environ | {"NO_COLOR": "1"},
        encoding="utf-8",
        timeout=SECONDS,
        dimensions=(40, 80),
    )
    child.delaybeforesend = None
    try:
        child.expect(r"Your move \(X\): ")
        for cell in range(1, 10):
            child.sendline(str(cell))
            if child.expect([r"Your move \(X\): ", r"Another game\? \[Enter/q\] "]) == 1:
                break
        assert "changed (u: undo)." in child.before and "\x1b" not in without_spinner(child.before)
        taught = path.read_bytes()
        child.sendline("y")
        child.expect(r"Your move \(X\): ")
        child.sendline("b2")
        child.expect(r"Your move \(X\): ")
        child.sendintr()
        child.expect(pexpect.EOF)
        child.wait()
        assert child.exitstatus == 0 and "Goodbye." in child.before and "Traceback" not in child.before
    finally:
        child.close(force=True)
    assert path.read_bytes() == taught and ttt.load(path).games == 21
    assert len((tmp_path / "games.txt").read_text().splitlines()) == 1
    assert names(tmp_path) == ["games.txt", "run.h5"]


def test_another_file_for_what_is_learnt(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = trained(tmp_path, games=20, batch=20)
    content = path.read_bytes()
    typed = "".join(f"{cell}\n" for cell in range(1, 10))
    status, _, err = command(capsys, "play", "run.h5", "--learn", "-o", "mine.h5", typed=typed)
    assert status == 0, err
    assert path.read_bytes() == content and ttt.load(tmp_path / "mine.h5").games == 21
    assert check_run(tmp_path / "mine.h5") == ([], ())
    status, _, err = command(capsys, "play", "--learn", typed=typed)
    assert (status, err) == (0, "teaching mine.h5, the newest run here\n")
    assert path.read_bytes() == content and ttt.load(tmp_path / "mine.h5").games == 22


def test_a_file_that_appears_before_the_first_update_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Another process may write `--out` while the run is read."""
    trained(tmp_path, games=20, batch=20)
    monkeypatch.setattr(sys, "stdin", io.StringIO("".join(f"{cell}\n" for cell in range(1, 10))))
    read = agent_options.load_any_run

    def load(*words: Any) -> Any:
        ttt.train(30, batch=30, out="mine.h5")
        return read(*words)

    monkeypatch.setattr(agent_options, "load_any_run", load)
    status, out, err = command(capsys, "play", "run.h5", "--learn", "--out", "mine.h5")
    assert (status, out, err.count("\n")) == (1, "", 1) and "mine.h5 exists already" in err
    assert ttt.load("mine.h5").games == 30 and names(tmp_path) == ["mine.h5", "run.h5"]


def test_misuse_costs_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = trained(tmp_path, games=20, batch=20)
    trained_by_games = tmp_path / "falling.h5"
    ttt.train(20, batch=20, alpha="0.3->0.1:linear", out=trained_by_games)
    kept = {name: (tmp_path / name).read_bytes() for name in names(tmp_path)}
    (tmp_path / "empty").mkdir()

    def refused(*words: str, folder: Path = tmp_path) -> tuple[int, str]:
        monkeypatch.chdir(folder)
        monkeypatch.setattr(sys, "stdin", io.StringIO("0\n"))
        status, out, err = command(capsys, "play", *words)
        assert out == "" and err.count("\n") == 1
        return status, err

    for words, status, expected in (
        (["run.h5", "--out", "x.h5"], 2, "give it with --learn"),
        (["run.h5", "--learn", "--out", "falling.h5"], 1, "falling.h5 exists, and play replaces no other run"),
        (["falling.h5", "--learn"], 2, "depends on the number of games of a run"),
        (["run.h5", "--record", "run.h5"], 2, "--record run.h5 is read, too"),
        (["run.h5", "--record", "nowhere/x.txt"], 1, "nowhere/x.txt"),
        (["missing.h5", "--learn"], 1, "missing.h5"),
    ):
        found, err = refused(*words)
        assert found == status and expected in err
    with Lock(path.resolve()):
        status, err = refused("run.h5", "--learn")
    assert status == 1 and f"process {os.getpid()} has been training into it" in err
    status, err = refused("--learn", folder=tmp_path / "empty")
    assert status == 2 and "no run file here that could learn" in err
    assert {name: (tmp_path / name).read_bytes() for name in kept} == kept
    assert names(tmp_path) == ["empty", "falling.h5", "run.h5"]
