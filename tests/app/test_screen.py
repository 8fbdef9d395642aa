"""The screen of a real terminal: as data at every size, through prompt_toolkit, and at a pseudo-terminal."""

import io
import os
import random
import re
import signal
import termios
from collections.abc import Iterator, Sequence
from typing import Any

import pexpect
import pytest
from helpers.players import FakeAgent, KnowingAgent, Terminal
from helpers.terminals import at_a_terminal
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

import ttt_batch
from ttt_batch.app.terminal.drawing import draw_board
from ttt_batch.app.terminal.faces import Score
from ttt_batch.app.terminal.keys import KeyCommand, KeyContext, commands_for, draw_help
from ttt_batch.app.terminal.loop import play_person_games
from ttt_batch.app.terminal.screen import STEPS, ScreenFace, _run, has_screen
from ttt_batch.games.board import EMPTY, Board, parse_board

BOARD, FOUR, FIVE, SIX = Board(), Board(4, 4, 4), Board(5, 5, 5), Board(6, 6, 4)


class Seated:
    """A person at a view: presses keys until the session ends."""

    def __init__(
        self, agent: Any = None, person: int | None = 0, colour: bool = False, large: bool = False, **keepers: Any
    ) -> None:
        agent = agent or KnowingAgent()
        self.seconds = 0.0
        self.view, self.score = ScreenFace(agent.board, colour=colour, large=large, clock=lambda: self.seconds), None
        self.session = play_person_games(agent, self.view, person=person, rng=random.Random(1), **keepers)
        self.view.ask(next(self.session))

    def press(self, *keys: str, pause: float = 1.0) -> "Seated":
        for key in keys:
            self.seconds += pause
            answer = self.view.press(key)
            if answer is not None and self.score is None:
                try:
                    self.view.ask(self.session.send(answer))
                except StopIteration as end:
                    self.score = end.value
        return self

    def lines(self, columns: int = 80, rows: int = 24) -> list[str]:
        return self.view.lines(columns, rows)

    @property
    def text(self) -> str:
        return "\n".join(self.lines())


def steps(board: Board, start: int, cells: Sequence[int]) -> Iterator[str]:
    """Arrow keys and Enter that play `cells` one after the other, from the cursor at `start`."""
    for cell in cells:
        down, right = cell // board.cols - start // board.cols, cell % board.cols - start % board.cols
        yield from ["down" if down > 0 else "up"] * abs(down) + ["right" if right > 0 else "left"] * abs(right)
        yield "enter"
        start = cell


# --- keys and looks


def test_the_screen_at_80_columns():
    assert Seated().lines() == [
        "3x3: 3 in a line win                                     You 0, agent 0, draws 0",
        "",
        "   1 | 2 | 3",
        "  ---+---+---",
        "   4 |>5<| 6",
        "  ---+---+---",
        "   7 | 8 | 9",
        "",
        "Your move (X): _",
        "",
        "Board 3x3: 3 in a line win. ? = keys.",
        "You are X and move first.",
        *[""] * 11,
        "arrows, Enter move   h hints   u undo   r replay   n new   ? keys   q leave",
    ]


def test_where_marks_fall_the_cursor_stands_where_a_mark_would():
    board = parse_board("4x4x3-gravity")
    seated = Seated(
        FakeAgent(board, lambda position: sorted(board.open_cells(position), key=lambda cell: cell % 4)[:1])
    )
    assert seated.lines()[2:7] == [
        "     a   b   c   d",
        "  1  .   .   .   .",
        "  2  .   .   .   .",
        "  3  .   .   .   .",
        "  4  .   .  >.<  .",
    ]
    seated.press("enter")
    assert seated.view.game.moves == (14, 12)
    assert seated.lines()[5:7] == ["  3  .   .  >.<  .", "  4 [O]  .   X   ."]
    seated.press("left", "enter")
    assert seated.view.game.moves[2:] == (13, 8)
    seated.press("1", "1", "1")
    assert seated.view.game.moves[4:] == (4, 0) and "column a is full" in seated.text
    seated.press("d", "enter")
    assert seated.view.game.moves[6] == 15


def test_the_screen_at_40_columns_and_12_rows():
    seated = Seated().press("5", "h")
    assert seated.lines(40, 12) == [
        "  [O]    | -0.30 | -0.20",
        "         | D     | D",
        "  -------+-------+-------",
        "   ?     |>X<    | +0.10",
        "   D     |       | D",
        "  -------+-------+-------",
        "   +0.20 | +0.30 | +0.40",
        "   D     | D     | D",
        "Your move (X): _",
        "The agent plays 1.",
        "Highest: 9",
        "-- more: PgDn --",
    ]
    assert seated.press("pagedown").lines(40, 12)[-3:] == [
        "W3 win in 3 plies, D draw, L2 loss in 2",
        "(a ply is one move of either player)",
        "-- more: PgUp --",
    ]


@pytest.mark.parametrize("board", [BOARD, Board(2, 4, 3), FOUR, FIVE, SIX], ids=lambda b: b.name)
def test_a_whole_game_by_arrows(board):
    """The fake agent takes the first free cells; the person its last row or, on boards with long ones, column."""
    centre = board.rows // 2 * board.cols + board.cols // 2
    cells = [board.cells - 1 - i for i in range(board.k)]
    seated = Seated(FakeAgent(board)).press(*steps(board, centre, cells))
    assert seated.view.game.moves[::2] == tuple(cells)
    assert "You win." in seated.text and "You 1, agent 0, draws 0" in seated.text
    seated.press("q")
    assert seated.score == Score(wins=1)
    assert seated.view.news[-1] == "Goodbye. You 1, agent 0, draws 0."


def test_cells_by_single_keys():
    assert Seated().press("5", "c", "3").view.game.moves == (4, 0, 8, 1)
    seated = Seated(FakeAgent(SIX)).press("c")
    assert seated.view.game.moves == () and "Your move (X): c_" in seated.text
    seated.press("backspace", "b", "4", "6", " ", "6", "enter")
    assert seated.view.game.moves == (19, 0, 35, 1)
    tall = Seated(FakeAgent(Board(36, 1, 3))).press("a", "3")
    assert tall.view.game.moves == ()
    assert tall.press("6").view.game.moves[:1] == (35,)
    assert Seated(FakeAgent(Board(36, 1, 3))).press("a", "3", "enter").view.game.moves[:1] == (2,)


def test_the_cursor_stays_on_the_board():
    for key, cell in (("up", 1), ("left", 3), ("down", 7), ("right", 5)):
        assert Seated().press(*[key] * 9, "enter").view.game.moves[0] == cell


def test_a_slip_costs_a_line_and_keeps_the_news():
    seated = Seated().press("5", "1")
    assert "cell 1 is taken by O\nThe agent plays 1.\n" in seated.text
    seated.press("escape")
    assert "taken" not in seated.text and "The agent plays 1." in seated.text
    seated.press("p")
    assert "'p' is no cell; ? shows the keys" in seated.text
    seated.press("3")
    assert "'p'" not in seated.text


def test_hints_stay_until_they_are_asked_away():
    seated = Seated().press("h")
    assert "| -0.30 |" in seated.text and "Below each value the truth:" in seated.text
    assert "| +0.10\n" in seated.press("5").text and "The agent plays 1." in seated.text
    assert ">X<    " in seated.text and "[O]    " in seated.text
    assert "+0.10" not in seated.press("h").text and "The agent plays 1." in seated.text
    assert "unknown: it has too many positions." in Seated(FakeAgent()).press("h").text


def test_undo_and_new():
    seated = Seated().press("5", "u")
    assert seated.view.game.moves == () and "Your last move is taken back." in seated.text
    assert "You have no move to take back." in seated.press("u").text
    assert "does not count" in seated.press("5", "n").text and seated.view.game.moves == ()


def test_keys_are_explained():
    text = Seated().press("?").text
    assert "arrows  choose a cell; Enter moves\n" in text and "or a1 to c3: column and row" in text
    text = Seated().press(*"537", "?").text
    assert "a new game, as O" in text and "choose a cell" not in text
    wide = Seated(FakeAgent(Board(4, 8, 4)))
    assert "arrows, Enter move   h Enter hints   u undo" in wide.text
    assert "+0.10" not in wide.press("h").text and "+0.10" in wide.press("enter").text


def test_the_key_that_shows_the_keys_takes_them_away():
    """It did not, and what had been said before was lost."""
    for before in ((), ("5",), ("5", "h"), tuple("537")):
        seated = Seated().press(*before)
        lines = seated.lines()
        assert seated.press("?").lines() != lines and "? close" in seated.text and "these keys" in seated.text
        assert seated.press("?").lines() == lines
        assert seated.press("?", "escape").lines() == lines


def offered(line: str, board: Board) -> dict[str, int | KeyCommand | None]:
    """What a line of help offers to type, and what that should be: a cell, a command, or None for the arrows."""
    keys, meaning = line[:8].strip(), line[8:]
    cells = {board.cell_name(cell): cell for cell in range(board.cells)}
    last = board.cells - 1
    if keys == "arrows":
        return {"": None}
    if keys not in ("", "a cell"):
        command = next(command for command in KeyCommand if command.meaning == meaning.partition(" (")[0])
        return dict.fromkeys(keys.removesuffix(" Enter").split(", "), command)
    if found := re.fullmatch(r"or a1 to (\w+): column and row", meaning):
        row, col = divmod(last, board.cols)
        assert found[1] == f"{'abcdefghi'[col]}{row + 1}"
        return {f"{'abcdefghi'[cell % board.cols]}{cell // board.cols + 1}": cell for cell in range(board.cells)}
    if found := re.fullmatch(r"(\w+) to (\w+)(, as drawn on the board|: column and row)", meaning):
        assert found[1] == board.cell_name(0) and found[2] == board.cell_name(last)
        return cells
    if found := re.fullmatch(r"or row and column, Enter: (\d+ \d+)", meaning):
        return {found[1]: last, "1 1": 0}
    return {meaning.rpartition(": ")[2]: last}  # any other example names the last cell


SHAPES = [(3, 3, 3), (2, 4, 3), (1, 9, 3), (9, 1, 3), (4, 4, 4), (8, 8, 5), (12, 3, 3), (2, 18, 3), (1, 64, 5)]


@pytest.mark.parametrize("board", [Board(*shape) for shape in SHAPES], ids=lambda b: b.name)
def test_what_help_offers_can_be_pressed_key_by_key_and_does_nothing_else(board):
    lines = Seated(FakeAgent(board)).press("?").view._help
    assert lines == draw_help(board, single_keys=True) and len(lines) >= 2 + len(commands_for(KeyContext.GAME))
    for line in lines:
        for text, meant in offered(line, board).items():
            view, answers = Seated(FakeAgent(board)).view, []
            for key in text:
                answers += [view.press(key)]
            waits = answers[-1:] == [None]
            answers += [view.press("enter")] if waits else []
            found = [answer for answer in answers if answer is not None]
            assert found == ([] if meant is None else [meant]), (line, text)
            # Only where it says so, or one more digit would name another cell, is there anything to wait for.
            assert not waits or "Enter" in line or board.rows > 9, (line, text)


def test_a_space_chooses_nothing():
    for board in (BOARD, FOUR):
        seated = Seated(FakeAgent(board)).press(" ", "3", " ", "3", "enter", " ")
        assert seated.view.game.moves == ((2, 0) if board is BOARD else (10, 0))
    over = Seated().press(*"537", " ")
    assert over.view.game.moves == (4, 0, 2, 1, 6) and "Another game?" in over.text


@pytest.mark.parametrize(("board", "typed"), [(BOARD, "3"), (BOARD, "c1"), (FOUR, "b3"), (FOUR, "3 2")])
def test_enter_behind_a_cell_takes_no_other(board, typed):
    agent = FakeAgent(board)
    once, twice = Seated(agent).press(*typed, "enter"), Seated(agent).press(*typed, "enter", "enter")
    assert len(once.view.game.moves) == 2 and once.view.game == twice.view.game
    assert "is taken by X" in once.text + twice.text


def test_an_enter_that_a_typed_cell_did_not_need_belongs_to_it():
    """In a game it is no answer of its own, and at a game's end it begins no other game."""
    seated = Seated().press("5", pause=0.5).press("enter", pause=0.5)
    assert len(seated.view.game.moves) == 2 and "is taken" not in seated.text
    seated.press("3", pause=0.5).press("enter", "7", "enter", pause=0.5)
    assert "You win." in seated.text and "You are X and move first." in seated.press("enter").text


def test_the_enter_after_a_word_that_is_none_plays_nothing():
    seated = Seated().press(*"foo", "enter", pause=0.1)
    assert seated.view.game.moves == ()
    assert len(seated.press("enter").view.game.moves) == 2


def test_a_replay_goes_step_by_step_and_back():
    seated = Seated().press("5", "3", "r")
    empty = [f"  {line}" for line in draw_board(type(seated.view.game)(BOARD))]
    assert seated.lines()[2:7] == empty and "Replay: the start" in seated.text
    assert "The game so far, 4 moves: right is the next one" in seated.text and "The agent plays" not in seated.text
    seated.press("left", "right", "right")
    assert "  [O]| 2 | 3" in seated.lines() and "Replay: 2. O 1" in seated.text
    assert "Replay: 4. O 2" in seated.press("end", "down").text
    assert "Replay: the start" in seated.press("home").text
    seated.press("enter")
    assert "Your move (X): _" in seated.text and seated.view.game.moves == (4, 0, 2, 1)
    assert "The agent plays 2." in seated.text and "The game so far" not in seated.text
    seated.press("r", "7")  # another key goes on where the game stands
    assert "You win." in seated.text
    seated.press("r", "right", "escape")
    assert "You win." in seated.text and "Mistakes found:" in seated.text


def test_after_a_game():
    seated = Seated(person=None).press(*"537")
    assert "r replay   Enter as O   s as X   ? keys   q leave" in seated.text
    seated.press("5")
    assert "'5': no key here; ? shows them" in seated.text and "You win." in seated.text
    assert "You are O and move second." in seated.press("enter").text
    assert seated.press("0").score == Score(wins=1)


def test_lessons_can_be_taken_back():
    class Pupil:
        stored = True

        def update(self, cells: Sequence[int]) -> int:
            return 3

        def undo(self) -> bool:
            return True

    seated = Seated(pupil=Pupil()).press(*"537")
    assert "Learnt: 3 positions changed (u: undo)." in seated.text and "u unlearn" in seated.text
    assert "The last update is undone." in seated.press("u").text


# --- every size


def plain(line: str) -> str:
    return re.sub("\x1b\\[[0-9;]*m", "", line)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("board", [BOARD, FOUR, SIX, Board(1, 64, 5), Board(1, 9, 3)], ids=lambda b: b.name)
@pytest.mark.parametrize("colour", [False, True])
def test_every_size_is_filled_and_never_passed(board, colour):
    last = board.cell_name(board.cells - 1)
    for pressed in ((), ("h",), (*last, "enter", "h"), ("?",), (*last, "enter", "r", "right"), ("p", "enter", "b")):
        seated = Seated(FakeAgent(board), colour=colour).press(*pressed)
        roomy = [plain(line) for line in seated.lines(200, 60)]
        board_lines = roomy[2 : next(i for i, line in enumerate(roomy) if line[:6] in ("Your m", "Replay")) - 1]
        high, wide = len(board_lines), max(map(len, board_lines)) - 2
        for columns in (1, 5, 11, 20, 40, 80, 200):
            for rows in (1, 2, 5, 6, 8, 12, 24, 60):
                lines = [plain(line) for line in seated.lines(columns, rows)]
                assert len(lines) <= rows and max(map(len, lines)) <= columns
                shown = {line.strip() for line in board_lines} <= {line.strip() for line in lines}
                assert shown == (columns >= wide and rows > high)
                assert shown or lines[0] == "Too small"[: max(columns, 3)] or lines[0].startswith("T")
        assert seated.lines(0, 0) == []


def test_large_marks_where_there_is_room():
    seated = Seated(large=True).press("5")
    large = "\n".join(seated.lines(80, 24))
    assert "XX   XX" in large and " OOOOO " in large
    small = seated.lines(80, 17)
    assert small == Seated().press("5").lines(80, 17)
    assert "XX   XX" in "\n".join(seated.press("r", "right").lines(80, 24))  # a replay, too


def test_a_terminal_too_small_says_what_it_takes():
    assert Seated(FakeAgent(SIX)).lines(20, 6) == [
        "Too small for this",
        "board: it takes 24",
        "columns and 8 rows.",
        "Your move (X): _",
    ]
    assert Seated(FakeAgent(SIX)).lines(24, 8)[-1] == "Your move (X): _"


def test_colour_moves_nothing():
    for pressed in ((), ("5",), ("5", "h"), tuple("537"), ("5", "r", "right")):
        coloured, mono = Seated(colour=True).press(*pressed), Seated().press(*pressed)
        for size in ((80, 24), (40, 12)):
            assert [plain(line).rstrip() for line in coloured.lines(*size)] == [
                line.rstrip() for line in mono.lines(*size)
            ]
        assert "\x1b" in coloured.text and "\x1b" not in mono.text
    legend = Seated(colour=True).press("5", "h").lines(40, 20)[-4]
    assert "48;5;208mL2" in legend and plain(legend) == "W3 win in 3 plies, D draw, L2 loss in 2"


@pytest.mark.slow
def test_random_keys_never_break_a_session():
    rng = random.Random(3)
    keys = [*"123456789weasdzxchurn?yp ", *STEPS, "enter", "escape", "backspace", "home", "end", "pageup", "pagedown"]
    for trial in range(40):
        board = (BOARD, FOUR)[trial % 2]
        agent = FakeAgent(board, lambda position: [cell for cell, mark in enumerate(position) if mark == EMPTY])
        seated = Seated(agent, (0, 1, None)[trial % 3])
        for key in rng.choices(keys, k=150):
            seated.press(key)
            assert max(map(len, seated.lines(40, 14))) <= 40
        while seated.score is None:
            seated.press("escape", "0")


@pytest.mark.parametrize("word", ["undo", "hints", "new", "help"])
def test_a_word_is_one_command(word):
    """Its first letter is the command; the others, and the Enter after them, are no commands or moves."""
    seated, other = Seated().press("5", "1"), Seated().press("5", "1")
    seated.press(*word, "enter", pause=0.1)
    assert seated.text == other.press(*("h?" if word == "help" else word[0])).text
    seated.press("9")
    assert seated.text == other.press("9").text


def test_letters_after_a_while_are_commands():
    quick, slow = Seated().press("5", "u", "n", pause=0.1), Seated().press("5", "u", "n")
    assert "does not count" in slow.text and "does not count" not in quick.text


def test_letters_that_began_a_word_and_ended_otherwise_are_typed():
    seated = Seated().press("5", "r").press("e", "x", "i", "t", pause=0.1)
    assert seated.score is not None


# --- prompt_toolkit


def played(sent: str, agent: Any = None, person: int = 0) -> tuple[ScreenFace, Score, int | None]:
    """Play with the bytes that a terminal sends for keys, then the end of input."""
    agent = agent or FakeAgent()
    view = ScreenFace(agent.board)
    session = play_person_games(agent, view, person=person, rng=random.Random(1))
    with create_pipe_input() as source:
        source.send_text(sent)
        score, ended_by = _run(view, session, source, DummyOutput())
    return view, score, ended_by


UP, DOWN, RIGHT, LEFT = (f"\x1b[{letter}" for letter in "ABCD")


def test_a_game_by_the_keys_of_a_terminal():
    view, score, ended_by = played(f"\r{UP}{RIGHT}\r{DOWN}{DOWN}{LEFT}{LEFT}\rq")
    assert view.game.moves == (4, 0, 2, 1, 6)
    assert score == Score(wins=1) and ended_by is None
    assert view.news[-1] == "Goodbye. You 1, agent 0, draws 0."


@pytest.mark.sampled(17)
@pytest.mark.parametrize("leave", ["q", "quit", "exit", "0", "\x03", "\x04"])
@pytest.mark.parametrize("before", ["", "5", "5h", "5r", "?", "537r"])
def test_leaving_at_any_point(leave, before):
    assert played(before + leave)[1] == Score(wins=int(before == "537r"))


def test_other_keys_do_nothing():
    view, *_ = played("\x1b[15~\t\x01\x1b[3~\x7f\x0c5\x03")  # F5, Tab, Ctrl-A, Delete, Backspace, Ctrl-L
    assert view.game.moves == (4, 0)


def test_what_the_agent_raises_passes_through():
    def fail(position: object) -> list[int]:
        raise ttt_batch.TttBatchError("no move")

    with pytest.raises(ttt_batch.TttBatchError, match="no move"):
        played("5", FakeAgent(choose=fail))


def test_which_streams_have_a_screen(tmp_path):
    assert not has_screen(io.StringIO(), io.StringIO(), {"TERM": "xterm"})
    assert not has_screen(Terminal(), Terminal(), {"TERM": "xterm"})  # there is no file behind them
    with (tmp_path / "file").open("w") as file:
        assert not has_screen(file, file, {"TERM": "xterm"})
    master, slave = os.openpty()
    with open(master, "rb", 0), open(slave, "r+b", 0) as raw, io.TextIOWrapper(raw) as terminal:  # noqa: PTH123
        assert has_screen(terminal, terminal, {"TERM": "xterm"})
        for name in ("dumb", "unknown", ""):
            assert not has_screen(terminal, terminal, {"TERM": name})
        assert not has_screen(terminal, io.StringIO(), {"TERM": "xterm"})


# --- a pseudo-terminal

PROGRAM = """
import sys
from helpers.players import KnowingAgent
from ttt_batch.app.terminal import loop
print(repr(loop.play_in_terminal(KnowingAgent(), person=0, stdin=sys.stdin, stdout=sys.stdout, seed=1)))
"""

ENTER, LEAVE = "\x1b[?1049h", "\x1b[?1049l"


AFTER_LOADING = """
import select, sys
from helpers.players import KnowingAgent
from ttt_batch.app.terminal import loop
from ttt_batch.app.terminal.keys import Keyboard
with Keyboard(sys.stdin):
    print("reading it", flush=True)
    select.select([sys.stdin], [], [])  # until the person types
    loop.play_in_terminal(KnowingAgent(), person=0, stdin=sys.stdin, stdout=sys.stdout, seed=1)
print("left for the shell:", select.select([sys.stdin], [], [], 0)[0])
"""


LEAVING = {
    "leave": lambda child: child.send("0"),
    "Ctrl-C": lambda child: child.send("\x03"),
    "Ctrl-D": lambda child: child.send("\x04"),
    "SIGTERM": lambda child: child.kill(signal.SIGTERM),
    "SIGINT": lambda child: child.kill(signal.SIGINT),
}


@pytest.mark.slow
@pytest.mark.parametrize("how", LEAVING)
def test_the_terminal_is_left_clean_with_the_last_board_on_it(how):
    with at_a_terminal("-c", PROGRAM, NO_COLOR="1") as child:
        before = termios.tcgetattr(child.child_fd)
        child.expect_exact(ENTER)
        child.expect_exact("Your move (X): _")
        assert termios.tcgetattr(child.child_fd) != before
        child.send("\r")  # the centre
        child.expect_exact("The agent plays")
        LEAVING[how](child)
        child.expect_exact(LEAVE)
        played, shown_again = child.before, child.after + child.read()
        child.wait()
        assert termios.tcgetattr(child.child_fd) == before
    # Versions differ in whether the cursor comes back before or after the screen goes.
    cursor = re.findall(r"\x1b\[\?25([hl])", played + shown_again)
    assert cursor[-1:] == ["h"] and ENTER not in shown_again
    rest = plain(re.sub("\x1b\\[\\?[0-9]+[hl]", "", shown_again)).replace("\r", "")
    assert "[O]| 2 | 3\n---+---+---\n 4 | X | 6\n---+---+---\n 7 | 8 | 9\n\nGoodbye. You 0, agent 0, draws 0.\n" in rest
    assert "Traceback" not in rest
    if how == "SIGTERM":
        assert child.signalstatus == signal.SIGTERM
    else:
        assert child.exitstatus == 0 and "Score(wins=0, losses=0, draws=0)" in rest


@pytest.mark.slow
def test_what_is_typed_before_the_screen_is_there_is_played_and_nothing_is_left_for_the_shell():
    with at_a_terminal("-c", AFTER_LOADING, NO_COLOR="1") as child:
        child.expect_exact("reading it\r\n")
        child.send("5")
        child.expect_exact(ENTER)
        assert re.sub("\x1b\\[\\?[0-9]+[hl]", "", child.before) == ""
        child.expect_exact("The agent plays")
        child.send("quit\r")
        child.expect_exact(LEAVE)
        child.expect_exact("left for the shell: []")
        assert "uit" not in child.before


@pytest.mark.slow
def test_a_terminal_may_change_its_size_while_playing():
    with at_a_terminal("-c", PROGRAM) as child:
        child.expect_exact("Your move (X): _")
        child.setwinsize(4, 30)
        child.expect_exact("Too small for this board")
        child.setwinsize(12, 40)
        child.send("5\x0c")  # Ctrl-L draws everything anew
        child.expect_exact("Your move (X): _")
        child.expect_exact("The agent plays 1.")
        child.send("0")
        child.expect_exact("Goodbye. You 0, agent 0, draws 0.")
        child.expect(pexpect.EOF)


@pytest.mark.slow
def test_a_key_redraws_only_what_changed():
    with at_a_terminal("-c", PROGRAM, NO_COLOR="1") as child:
        child.expect_exact("Your move (X): _")
        child.expect_exact("q leave")
        child.expect(pexpect.TIMEOUT, timeout=0.3)
        child.send("\x1b[D")
        child.expect_exact(">")
        sent = child.before
        child.expect(pexpect.TIMEOUT, timeout=0.3)
        sent += child.before
    assert "Your move" not in sent and "\x1b[2J" not in sent and len(sent) < 120


@pytest.mark.slow
@pytest.mark.parametrize("environment", [{"TERM": "dumb"}, {"TERM": ""}])
def test_a_terminal_that_only_prints_lines_has_prompts(environment):
    with at_a_terminal("-c", PROGRAM, **environment) as child:
        child.expect_exact("Your move (X): ")
        assert "\x1b[?" not in child.before and " 1 | 2 | 3" in plain(child.before)
        child.sendline("0")
        child.expect_exact("Goodbye.")


@pytest.mark.parametrize("command", ["play optimal", "watch optimal random"])
def test_closing_the_terminal_interrupts_the_command(command: str):
    with at_a_terminal("-m", "ttt_batch", *command.split()) as child:
        child.expect_exact(ENTER)
        child.ptyproc.fileobj.close()
        assert child.wait() == 130
