"""`train --watch`: games of the table as it is, beside the progress on a terminal, which change nothing of the run."""

import math
import re
import termios
from itertools import pairwise
from pathlib import Path
from random import Random
from unittest.mock import Mock

import pytest
from helpers.pages import trained
from helpers.support import command
from helpers.terminals import at_a_terminal, ended

import ttt_batch as ttt
from ttt_batch.app import progress as moving
from ttt_batch.app.progress import Pace, SampleGames, boards_side_by_side
from ttt_batch.games.board import UNFINISHED, Game


def test_boards_stand_side_by_side() -> None:
    board = ttt.parse_board("3x3")
    assert boards_side_by_side([Game(board, (0, 4)), Game(board)]) == [
        "X . .   . . .",
        ". O .   . . .",
        ". . .   . . .",
    ]


def test_games_are_the_tables_own_and_new_each_second() -> None:
    run, shows, asked = trained(), SampleGames(), []

    def now(seconds: float) -> ttt.Progress:
        return ttt.Progress(1, 2, seconds, (1, 0, 0), None, False, run=lambda: asked.append(seconds) or run)

    marks = [len(re.findall("[XO]", " ".join(shows.lines(now(seconds))))) for seconds in (5.0, 5.3, 5.6, 5.99)]
    assert marks[0] == 0 and marks == sorted(marks) and marks[1] > 0
    assert asked == [5.0]
    ends = shows.lines(now(5.99))
    boards = ["".join(line[8 * i : 8 * i + 5].replace(" ", "") for line in ends) for i in range(5)]
    for text in boards:
        outcome = run.board.outcome(run.position(text))
        assert outcome == 3 != UNFINISHED, text  # td draws against itself
    shows.lines(now(6.0))
    assert asked == [5.0, 6.0]
    assert len(set(boards)) > 1  # ties are drawn
    assert shows.lines(ttt.Progress(1, 2, 9.0, (1, 0, 0), None, False)) == []  # networks


class FakeTime:
    """Clock that only waiting moves on."""

    now = 0.0

    def perf_counter(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def seconds_of(pace: str, games: list[int], monkeypatch: pytest.MonkeyPatch, stop_at: float = math.inf) -> list[float]:
    """Return the time after each report of a training whose batches take no time."""
    clock = FakeTime()
    monkeypatch.setattr(moving, "time", clock)
    kept, ends, shown = Pace(pace, lambda: clock.now >= stop_at), [], []
    for number in games:
        kept.wait(ttt.Progress(number, 10**6, clock.now, (1, 0, 0), None, True), shown.append)
        ends.append(clock.now)
    assert all(0 <= later.seconds - before.seconds <= 0.11 for before, later in pairwise(shown))
    assert not any(then.recorded for then in shown)
    return ends


def test_paces(monkeypatch: pytest.MonkeyPatch) -> None:
    assert seconds_of("10", [50, 51, 61, 161], monkeypatch) == pytest.approx([0, 0.1, 1.1, 11.1])
    assert seconds_of("max", [1, 2, 10**5], monkeypatch) == [0, 0, 0]
    for batch in (1, 1024):
        ends = seconds_of("lesson", [batch * n for n in range(1, 3000)], monkeypatch)
        assert 0.9 < ends[1] - ends[0] < 1
        assert ends[-1] == pytest.approx(5 * math.log2(3000 * math.log(2) / 5), rel=0.01)
        games = [sum(end < second for end in ends) for second in (10, 15, 20, 25, 30)]
        assert all(1.9 < later / before < 2.5 for before, later in pairwise(games))
    stopped = seconds_of("10", [0, 1, 100, 200], monkeypatch, stop_at=1)
    assert stopped[1] == pytest.approx(0.1) and 1 <= stopped[2] == stopped[3] < 1.2


def paces_after(keys: dict[float, str], pace: str, monkeypatch: pytest.MonkeyPatch) -> tuple[list[float], Pace]:
    """Return when each game was learnt, if that takes no time.  keys: by the time when they are typed."""
    clock, left = FakeTime(), dict(keys)
    monkeypatch.setattr(moving, "time", clock)

    def typed(seconds: float) -> list[str]:
        clock.sleep(seconds + 1e-6)  # rounding must not stop the clock
        return [left.pop(when) for when in list(left) if when <= clock.now]

    kept, ends = Pace(pace, lambda: clock.now > 100, SampleGames(), typed), []
    for number in range(1, 41):
        kept.wait(ttt.Progress(number, 10**6, clock.now, (1, 0, 0), None, True), lambda now: None)
        ends.append(clock.now)
    return ends, kept


def test_keys_pause_step_and_change_the_pace(monkeypatch: pytest.MonkeyPatch) -> None:
    ends, _ = paces_after({}, "1", monkeypatch)
    assert ends[:4] == pytest.approx([0, 1, 2, 3], abs=0.01)
    ends, _ = paces_after({2.45: " ", 7.45: " "}, "1", monkeypatch)
    assert ends[:5] == pytest.approx([0, 1, 2, 8, 9], abs=0.01)  # what is left of a game's second is kept
    ends, kept = paces_after({2.5: "n", 10.5: "n", 20: "right"}, "1", monkeypatch)
    assert ends[3:5] == pytest.approx([2.5, 10.5], abs=0.11) and ends[5] > 100  # paused between, and then
    assert kept.lines()[0].startswith("paused   space go on")
    ends, _ = paces_after({1.5: "+", 3.5: "up"}, "1", monkeypatch)
    assert ends[2:6] == pytest.approx([1.5, 2.0, 2.5, 3.0], abs=0.11)  # at once, and then at the new pace
    assert ends[8] - ends[7] == pytest.approx(0.25, abs=0.01)
    ends, _ = paces_after({0.55: "-"}, "1", monkeypatch)
    assert ends[3] - ends[2] == pytest.approx(2, abs=0.01)
    ends, kept = paces_after({0: "-"}, "max", monkeypatch)
    assert ends[2] - ends[1] == pytest.approx(1, abs=0.01) and kept.lines()[0].startswith("1 games/s")
    ends, kept = paces_after({5: "+"}, "lesson", monkeypatch)
    assert not kept.lines()[0].startswith("lesson")
    assert Pace("1", lambda: False).lines() == []  # no keys are promised where none are read


@pytest.mark.slow
def test_watching_shows_on_a_terminal_and_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shown, display = [], Mock()
    display.update = lambda what: shown.append("\n".join(str(one) for one in what.renderables if hasattr(one, "plain")))
    monkeypatch.setattr(moving, "_live_display", lambda *_, **__: display)
    words = ["train", "--games", "20k", "--seed", str(Random(1).randrange(100))]
    assert command(capsys, *words, "-o", tmp_path / "off.h5")[0] == 0
    shown.clear()
    assert command(capsys, *words, "--watch", "-o", tmp_path / "off-terminal.h5")[0] == 0
    assert shown == []
    monkeypatch.setattr(moving, "is_live", lambda _: True)
    assert command(capsys, *words, "-o", tmp_path / "alone.h5")[0] == 0
    assert shown and not any(re.search(r"^[XO.] [XO.] [XO.]", one, re.MULTILINE) for one in shown)
    shown.clear()
    assert command(capsys, *words, "--watch", "--pace", "max", "-o", tmp_path / "on.h5")[0] == 0
    assert any(len(re.findall(r"^(?:[XO.] [XO.] [XO.]\s*){5}$", one, re.MULTILINE)) == 3 for one in shown)
    runs = [ttt.load(tmp_path / f"{name}.h5") for name in ("off", "off-terminal", "alone", "on")]
    assert all(run == runs[0] for run in runs)


@pytest.mark.slow
def test_keys_change_nothing_of_the_run() -> None:
    """They are typed on a terminal of its own, pause, step and hurry, and leave the terminal as it was."""
    words = ["--games", "300", "--batch", "1", "--seed", "5", "--watch", "-o", "keys.h5"]
    with at_a_terminal("-m", "ttt_batch", "train", *words) as child:
        before = termios.tcgetattr(child.child_fd)
        child.expect_exact("space pause")
        child.send(" ")
        child.expect_exact("space go on")
        child.send("nn\x1b[C\x1b[A- " + "+" * 40)
        child.expect_exact("saved:")
        assert ended(child) == 0 and termios.tcgetattr(child.child_fd) == before
    assert ttt.load("keys.h5") == ttt.train(300, batch=1, seed=5)
