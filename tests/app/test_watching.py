"""Two agents watched at play: known output, pace, interruption, and a terminal that is left clean."""

import io
import re
import signal
from typing import Any

import pytest
from helpers.pages import free
from helpers.players import FakeAgent, KnowingAgent, Terminal, best_play
from helpers.terminals import at_a_terminal

from ttt_batch.agents.external import at_board
from ttt_batch.app.terminal import drawing, loop
from ttt_batch.app.terminal.loop import watch_game
from ttt_batch.core.errors import BoardError
from ttt_batch.games.board import DRAW, FIRST_WINS, SECOND_WINS, UNFINISHED, Board

ENTER, LEAVE = "\x1b[?1049h", "\x1b[?1049l"


def watched(first: Any = None, second: Any = None, **options: Any) -> tuple[int, str]:
    """Watch off a terminal."""
    first = first or KnowingAgent()
    stdout = io.StringIO()
    outcome = watch_game(first, second or first, names=("one", "two"), stdout=stdout, **options)
    text = stdout.getvalue()
    assert text.isascii() and "\x1b" not in text
    assert max(map(len, text.splitlines())) <= 40
    return outcome, text


def test_a_known_game():
    """Both take the first free cell: X wins by the rising diagonal, and O has given that away more than once."""
    outcome, text = watched()
    assert outcome == FIRST_WINS
    assert text.startswith(
        "3x3: 3 in a line win\nX: one\nO: two\n\n"
        " -0.40 | -0.30 | -0.20\n D     | D     | D\n-------+-------+-------\n"
        " ?     | +0.00 | +0.10\n D     | D     | D\n-------+-------+-------\n"
        " +0.20 | +0.30 | +0.40\n D     | D     | D\n\n"
        "? = never seen\nBelow each value the truth:\nW3 win in 3 plies, D draw, L2 loss in 2\n"
        "(a ply is one move of either player)\n\n"
        "1. X 1: -0.40, D\n\n"
        "[X]    | -0.30 | -0.20\n       | L6    | L6\n"
    )
    moves = re.findall(r"^\d\. [XO] \d.*$", text, re.MULTILINE)
    assert moves[:2] == ["1. X 1: -0.40, D", "2. O 2: -0.30, L6"] and moves[3] == "4. O 4: L4"
    assert text.count("Below each value") == text.count("? = never seen") == text.count("3 in a line") == 1
    assert text.endswith(
        " X | O |[X]\n---+---+---\n O |[X]| O\n---+---+---\n[X]| 8 | 9\n\n"
        "X wins (one).\nMistakes found:\n"
        "2. O 2 (two): draw -> loss in 6\n   better: 5 (draw)\n"
        "3. X 3 (one): win -> draw\n   better: 4 5 7 (win in 5)\n"
        "4. O 4 (two): draw -> loss in 4\n   better: 5 (draw)\n\n"
    )


def test_the_review_in_the_known_game_is_that_of_minimax():
    board, marks, slips = Board(), [0] * 9, []
    for ply in range(7):
        before = best_play(board, tuple(marks))[0]
        marks[ply] = 1 + ply % 2
        slips += [ply + 1] * (best_play(board, tuple(marks))[0] != before)
    assert slips == [int(number) for number in re.findall(r"^(\d)\. [XO] \d \(", watched()[1], re.MULTILINE)]


def test_values_are_those_of_the_player_to_move():
    class Other(KnowingAgent):
        def move_values(self, position: Any) -> dict[int, float]:
            return dict.fromkeys(free(position), -7.0)

    moves = re.findall(r"^\d\. ([XO]) \d: (\S+),", watched(KnowingAgent(), Other())[1], re.MULTILINE)
    assert {value for player, value in moves if player == "O"} == {"-7.00"}
    assert "-7.00" not in {value for player, value in moves if player == "X"}


def test_the_title_of_a_long_board_has_two_lines():
    agent = FakeAgent(Board(4, 4, 4, gravity=True))
    assert watched(agent)[1].startswith("4x4x4-gravity:\n4 in a line win; marks fall\nX: one\nO: two\n")


def test_every_outcome_is_returned_and_said_and_the_seed_fixes_it():
    agent, said = FakeAgent(choose=free), {FIRST_WINS: "X wins (one).", DRAW: "Draw.", SECOND_WINS: "O wins (two)."}
    games = [watched(agent, seed=seed) for seed in range(30)]
    assert {outcome for outcome, _ in games} == set(said)
    for seed, (outcome, text) in enumerate(games):
        assert said[outcome] in text.split("Oversights found:")[0].splitlines()[-2:]
        assert watched(agent, seed=seed) == (outcome, text)
        assert text.count("The true results of this board are") == 1 and "Mistakes" not in text
    assert len({text for _, text in games}) == 30


def test_strength_holds_for_both():
    assert len({watched(seed=seed)[1] for seed in range(5)}) == 1
    texts = [watched(seed=seed, epsilon=0.5)[1] for seed in range(20)]
    for player, usual in (("1. X", "1"), ("2. O", "2")):
        cells = {text.split(f"\n{player} ")[1][0] for text in texts}
        assert usual in cells and len(cells) > 2
    assert len({watched(seed=seed, level=0.0)[1] for seed in range(5)}) == 5


def test_an_agent_that_chooses_an_occupied_cell_loses():
    outcome, text = watched(KnowingAgent(choose=lambda position: [4]))
    assert outcome == FIRST_WINS
    assert "O chose an occupied cell. X wins (one).\n" in text


def test_the_pace_is_kept():
    waits: list[float] = []
    watched(pace=0.25, pause=waits.append)
    assert waits == [0.25] * 8  # seven moves and the end
    watched(pause=waits.append)
    assert len(waits) == 8


@pytest.mark.parametrize("live", [False, True])
def test_ctrl_c_ends_it(live, monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    waits: list[float] = []

    def pause(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 3:
            raise KeyboardInterrupt

    stdout = Terminal() if live else io.StringIO()
    agent = KnowingAgent()
    assert watch_game(agent, agent, names=("one", "two"), stdout=stdout, pace=1, pause=pause) == UNFINISHED
    assert stdout.getvalue().endswith("\nStopped before the end.\n") and "3. X 3" in stdout.getvalue()


def test_a_terminal_is_redrawn_in_place_and_keeps_the_last_scene(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("NO_COLOR", "1")
    waits: list[float] = []
    stdout, agent = Terminal(), KnowingAgent()
    watch_game(agent, agent, names=("one", "two"), stdout=stdout, pause=waits.append)
    text = stdout.getvalue()
    assert text.count(ENTER) == text.count(LEAVE) == 1
    assert waits == [1.0] * 7 + [3.0]
    shown, kept = text.split(LEAVE)
    assert "1. X 1: -0.40, D" in shown and "Below each value the truth:" in shown
    assert "3x3: 3 in a line win\nX: one\nO: two\n\n X | O |[X]\n" in kept and "X wins (one)." in kept


def test_what_compiles_does_so_before_the_screen_is_taken(monkeypatch):
    """It may write lines of its own, on the first answer to each question."""
    monkeypatch.setenv("TERM", "xterm")
    stdout = Terminal()

    class Compiling(KnowingAgent):
        def _first(self, question: str) -> None:
            if question not in vars(self):
                setattr(self, question, True)
                stdout.write(f"<compiling {question}>")

        def candidates(self, position: Any) -> list[int]:
            self._first("choice")
            return super().candidates(position)

        def move_values(self, position: Any) -> dict[int, float]:
            self._first("values")
            return super().move_values(position)

        def true_moves(self, position: Any, limit: int = 0) -> Any:
            self._first("truths")
            return super().true_moves(position)

    watch_game(Compiling(), Compiling(), names=("one", "two"), stdout=stdout, pause=lambda seconds: None)
    before, _, after = stdout.getvalue().partition(ENTER)
    assert before.count("compiling") == 6 and "compiling" not in after


def test_without_a_pace_a_terminal_prints_line_by_line(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    stdout, agent = Terminal(), KnowingAgent()
    watch_game(agent, agent, names=("one", "two"), stdout=stdout, pace=0)
    assert ENTER not in stdout.getvalue() and stdout.getvalue().count("\n---") == 2 * 8


def test_a_game_waits_for_quick_truth_only(monkeypatch):
    """The moves are shown without what takes a longer search; the review at the end has it."""
    for module in (drawing, loop):
        monkeypatch.setattr(module, "QUICK_LIMIT", 10_000)
    with at_board("random", "5x5x4-gravity") as agent:
        stdout = io.StringIO()
        watch_game(agent, agent, names=("one", "two"), stdout=stdout, seed=1)
    text = stdout.getvalue()
    known = [bool(truth) for truth in re.findall(r"^\d+\. [XO] [a-e]\d: \d+ %(.*)$", text, re.MULTILINE)]
    assert not known[0] and known[-1] and known == sorted(known)
    assert "The true results are not known yet:" in text and "The truth is known from" not in text


def test_agents_of_two_boards_do_not_meet():
    with pytest.raises(BoardError, match="one run plays 3x3, the other 4x4x4; choose two runs of one board"):
        watched(FakeAgent(), FakeAgent(Board(4, 4, 4)))


PROGRAM = """
import sys
from helpers.players import KnowingAgent
from ttt_batch.app.commands.shared import working
from ttt_batch.app.terminal.loop import watch_game
agent = KnowingAgent()
with working():
    watch_game(agent, agent, names=("one", "two"), stdin=sys.stdin, stdout=sys.stdout, pace=30)
"""


@pytest.mark.slow
@pytest.mark.parametrize("typed", ["q", "0", "exit\r"])
def test_a_key_leaves_as_ctrl_c_does_and_the_screen_says_so(typed):
    with at_a_terminal("-c", PROGRAM, NO_COLOR="1") as child:
        child.expect_exact(ENTER)
        child.expect_exact("1. X 1")
        child.expect_exact("q leave")
        child.send(f"x\x1b[20~{typed}")  # neither another letter nor a function key is a way to leave
        child.expect_exact(LEAVE)
        rest = child.read()
        child.wait()
    assert rest.endswith("Stopped before the end.\r\n") and child.exitstatus == 0


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize(("rows", "columns"), [(24, 80), (10, 30)])
def test_a_terminal_is_left_clean(number, rows, columns):
    with at_a_terminal("-c", PROGRAM, rows=rows, columns=columns, NO_COLOR="1") as child:
        child.expect_exact(ENTER)
        child.expect_exact("1. X 1")
        child.kill(number)
        child.expect_exact(LEAVE)
        shown, rest = child.before, child.read()
        child.wait()
    assert "Stopped before the end." in rest
    assert "\x1b[?25l" not in (shown + rest).rpartition("\x1b[?25h")[2] and "\x1b[?25h" in shown + rest  # the cursor
    # What asks a program to end and is no person's way to leave, is passed on to the command.
    assert ("InterruptedTraining: interrupted" in rest) == (number != signal.SIGINT)
    assert (child.exitstatus, child.signalstatus) == (int(number != signal.SIGINT), None)
