"""A person plays an agent: keys, drawing, and whole games through text streams."""

import io
import math
import random
import re
from collections.abc import Callable, Sequence
from typing import Any

import pytest

import ttt_batch as ttt
from ttt_batch import terminal
from ttt_batch.board import DRAW, EMPTY, FIRST_WINS, SECOND_WINS, Board, Position
from ttt_batch.errors import BoardError, UsageError
from ttt_batch.game import Game
from ttt_batch.terminal import Command, Result, Score

BOARD = Board()
FOUR = Board(4, 4, 4)


class FakeAgent:
    """Plays the first free cell, or the cells it is told; values are a tenth of the cell, one unseen."""

    def __init__(self, board: Board = BOARD, choose: Callable[[Position], list[int]] | None = None) -> None:
        self.board = board
        self.choose = choose

    def candidates(self, position: Position) -> list[int]:
        return self.choose(position) if self.choose else [position.index(EMPTY)]

    def move_values(self, position: Position) -> dict[int, float]:
        return {cell: math.nan if cell == 3 else (cell - 4) / 10 for cell, mark in enumerate(position) if mark == EMPTY}


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Interrupted(io.StringIO):
    """Input at whose end Ctrl-C is pressed."""

    def readline(self, size: int = -1) -> str:
        line = super().readline(size)
        if not line:
            raise KeyboardInterrupt
        return line


def session(
    typed: str, agent: terminal.Agent | None = None, person: int = 0, wide: bool = False, **keepers: Any
) -> tuple[Score, str]:
    """Play with the answers in `typed`, separated by `;`, then the end of input.  wide: more than a telephone shows."""
    answers = "".join(f"{answer}\n" for answer in typed.split(";")) if typed else ""
    stdout = io.StringIO()
    stdin = io.StringIO(answers)
    score = terminal.play(agent or FakeAgent(), person=person, stdin=stdin, stdout=stdout, seed=1, **keepers)
    text = stdout.getvalue()
    assert all(character == "\n" or character.isprintable() for character in text)
    assert text.isascii()
    assert max(map(len, text.splitlines())) <= (80 if wide else 40)
    return score, text


# --- the game


def test_a_game_follows_from_its_moves():
    game = Game(BOARD)
    for cell in (4, 0, 2, 1, 6):
        game = game.after(cell)
    assert game.position == (2, 2, 1, 0, 1, 0, 1, 0, 0)
    assert game.outcome == FIRST_WINS
    assert not game.forfeited
    with pytest.raises(BoardError, match="over"):
        game.after(8)


@pytest.mark.parametrize(("moves", "winner"), [((4, 4), FIRST_WINS), ((4, 0, 0), SECOND_WINS)])
def test_an_occupied_cell_forfeits(moves, winner):
    game = Game(BOARD, moves)
    assert game.forfeited
    assert game.outcome == winner
    assert game.position == Game(BOARD, moves[:-1]).position


@pytest.mark.parametrize("cell", [-1, 9])
def test_a_cell_outside_is_no_move(cell):
    with pytest.raises(BoardError, match="outside"):
        Game(BOARD).after(cell)


def test_taking_back():
    assert Game(BOARD, (4, 0, 2, 1)).before_move_of(1) == Game(BOARD, (4, 0))
    assert Game(BOARD, (4, 0, 2)).before_move_of(2) == Game(BOARD, (4,))
    assert Game(BOARD, (4,)).before_move_of(2) is None
    assert Game(BOARD).before_move_of(1) is None


# --- the keys


def test_every_cell_in_every_notation():
    for cell in range(9):
        forms = [
            str(cell + 1),
            f"{cell // 3 + 1} {cell % 3 + 1}",
            f"{cell // 3 + 1},{cell % 3 + 1}",
            "qweasdzxc"[cell],
            f"{'abc'[cell % 3]}{cell // 3 + 1}",
            f"{'abc'[cell % 3]} {cell // 3 + 1}",
        ]
        for form in [
            *forms,
            *map(str.upper, forms),
            f"  {forms[1]}\t\n",
            f"{cell // 3 + 1}  ,  {cell % 3 + 1}",
        ]:
            assert terminal.read_entry(form, BOARD) == cell, form


SHAPES = [(4, 3, 3), (5, 5, 5), (6, 6, 4), (2, 12, 3), (1, 36, 5), (36, 1, 3), (2, 4, 3), (9, 1, 3), (1, 1, 1)]
BOARDS = [Board(*shape) for shape in SHAPES]


@pytest.mark.parametrize("board", BOARDS, ids=lambda b: b.name)
def test_every_board_takes_column_letter_and_row_number(board):
    letters = [*"abcdefghijklmnopqrstuvwxyz", *(f"a{letter}" for letter in "abcdefghij")]
    for cell in range(board.cells):
        row, col = divmod(cell, board.cols)
        assert terminal.read_entry(f"{letters[col]}{row + 1}", board) == cell
        assert terminal.read_entry(f"{letters[col].upper()}{row + 1} \n", board) == cell
        assert terminal.read_entry(f"{row + 1} {col + 1}", board) == cell
        assert terminal.read_entry(board.cell_name(cell), board) == cell
    for outside in (f"{letters[board.cols] if board.cols < 36 else 'ak'}1", f"a{board.rows + 1}", "a0", "a01", "zz9"):
        with pytest.raises(UsageError):
            terminal.read_entry(outside, board)


@pytest.mark.parametrize("board", [BOARD, Board(2, 3, 2), FOUR], ids=lambda b: b.name)
@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("?", Command.HELP),
        ("help", Command.HELP),
        ("h", Command.HINTS),
        ("H ", Command.HINTS),
        ("u", Command.UNDO),
        ("Undo", Command.UNDO),
        ("n", Command.NEW),
        ("0", Command.LEAVE),
        (" Exit\n", Command.LEAVE),
    ],
)
def test_commands(board, text, command):
    assert terminal.read_entry(text, board) is command


def test_x_is_a_cell():
    assert terminal.read_entry("x", BOARD) == 7
    assert terminal.read_entry("q", BOARD) == 0


@pytest.mark.parametrize(
    ("board", "text", "message"),
    [
        (BOARD, "", "type a cell"),
        (BOARD, " \t\n", "type a cell"),
        (BOARD, "10", "no cell 10; there are 1 to 9"),
        (BOARD, "00", "no cell 00"),
        (BOARD, "-1", "'-1' is no cell"),
        (BOARD, "0 1", "row 0, column 1 is outside 3x3"),
        (BOARD, "4 1", "row 4, column 1 is outside"),
        (BOARD, "999 999", "row 999, column 999 is outside"),
        (BOARD, "1 2 3", "'1 2 3' is no cell"),
        (BOARD, "b4", "no cell b4; there are a1 to c3"),
        (BOARD, "d1", "no cell d1; there are a1 to c3"),
        (BOARD, "qw", "'qw' is no cell"),
        (BOARD, "1.0", "'1.0' is no cell"),
        (BOARD, "٣", "is no cell"),
        (BOARD, "²", "is no cell"),
        (BOARD, "\x1b[A", r"'\\x1b\[a' is no cell"),
        (BOARD, "x" * 100_000, r"'xxxxxxx\.\.\. is no cell"),
        (Board(2, 3, 2), "7", "no cell 7; there are 1 to 6"),
        (Board(2, 3, 2), "w", "'w' is no cell"),
        (FOUR, "5", "'5' is no cell"),
        (FOUR, "e1", "no cell e1; there are a1 to d4"),
        (FOUR, "a5", "no cell a5"),
        (FOUR, "a0", "no cell a0"),
        (FOUR, "x", "'x' is no cell"),
        (FOUR, "5 5", "row 5, column 5 is outside 4x4"),
        (FOUR, "b 9", "no cell b9; there are a1 to d4"),
        (Board(1, 36, 5), "ak1", "no cell ak1; there are a1 to aj1"),
        (Board(1, 36, 5), "ba1", "'ba1' is no cell"),
        (Board(36, 1, 3), "a37", "no cell a37; there are a1 to a36"),
    ],
)
def test_anything_else_is_refused_in_one_short_line(board, text, message):
    with pytest.raises(UsageError, match=message) as caught:
        terminal.read_entry(text, board)
    assert len(str(caught.value)) <= 40
    assert str(caught.value).isascii()
    assert str(caught.value).isprintable()


@pytest.mark.parametrize(
    ("text", "again"), [("", True), ("\n", True), (" Y", True), ("yes", True), ("n", False), ("NO", False)]
)
def test_another_game(text, again):
    assert terminal.read_again(text) is again
    with pytest.raises(UsageError, match="type y or n"):
        terminal.read_again(f"{text}5")
    assert terminal.read_again(text, lessons=True) is again
    with pytest.raises(UsageError, match="type y, n or u"):
        terminal.read_again(f"{text}5", lessons=True)


@pytest.mark.parametrize("text", ["u", " UNDO\n"])
def test_only_a_lesson_can_be_undone_between_games(text):
    assert terminal.read_again(text, lessons=True) is Command.UNDO
    with pytest.raises(UsageError, match="type y or n"):
        terminal.read_again(text)


# --- the drawing


def test_the_last_move_is_bracketed():
    assert terminal.draw_board(Game(BOARD, (4, 0))) == [
        "[O]| 2 | 3",
        "---+---+---",
        " 4 | X | 6",
        "---+---+---",
        " 7 | 8 | 9",
    ]


def test_the_winning_line_is_bracketed():
    assert terminal.draw_board(Game(BOARD, (4, 0, 2, 1, 6))) == [
        " O | O |[X]",
        "---+---+---",
        " 4 |[X]| 6",
        "---+---+---",
        "[X]| 8 | 9",
    ]


def test_a_larger_board():
    assert terminal.draw_board(Game(Board(5, 5, 5), (12, 7, 0))) == [
        "   a   b   c   d   e",
        "1 [X]  .   .   .   .",
        "2  .   .   O   .   .",
        "3  .   .   X   .   .",
        "4  .   .   .   .   .",
        "5  .   .   .   .   .",
    ]


def test_the_winning_line_of_a_larger_board():
    lines = terminal.draw_board(Game(Board(6, 6, 4), (0, 6, 7, 1, 14, 2, 21)))
    assert lines[1:5] == [
        "1 [X]  O   O   .   .   .",
        "2  O  [X]  .   .   .   .",
        "3  .   .  [X]  .   .   .",
        "4  .   .   .  [X]  .   .",
    ]
    lines = terminal.draw_board(Game(Board(6, 6, 4), (0, 6, 1, 7, 2, 8, 3)))
    assert lines[1:3] == ["1 [X] [X] [X] [X]  .   .", "2  O   O   O   .   .   ."]


def test_the_longest_row():
    board = Board(1, 36, 5)
    assert terminal.draw_board(Game(board, (0, 35))) == [
        " " * 55 + " ".join("a" * 10),
        "   " + " ".join("abcdefghijklmnopqrstuvwxyzabcdefghij"),
        "1  X" + " ." * 34 + "[O]",
    ]
    won = terminal.draw_board(Game(board, (30, 1, 31, 2, 32, 5, 33, 7, 34)))
    assert won[2] == "1  . O O . . O . O" + " ." * 22 + "[X X X X X]."


def test_the_longest_column():
    lines = terminal.draw_board(Game(Board(36, 1, 3), (9, 1, 10, 2, 11)))
    assert len(lines) == 37
    assert lines[:3] == ["    a", " 1  .", " 2  O"]
    assert lines[10:13] == ["10 [X]", "11 [X]", "12 [X]"]


def test_a_row_of_digits():
    assert terminal.draw_board(Game(Board(2, 4, 3), (0, 5, 1, 4, 2))) == [
        "[X]|[X]|[X]| 4",
        "---+---+---+---",
        " O | O | 7 | 8",
    ]


@pytest.mark.parametrize("board", [board for board in BOARDS if board.cells > 9], ids=lambda b: b.name)
def test_every_mark_stands_below_its_letter_and_beside_its_number(board):
    for cell in range(board.cells):
        lines = terminal.draw_board(Game(board, (cell,)))
        row = next(line for line in lines if "X" in line)
        at = row.index("X")
        name = "".join(line[at] for line in lines[: len(lines) - board.rows]) + row.split()[0]
        assert name.strip() == board.cell_name(cell)
        assert row[at - 1 : at + 2] == "[X]"
        assert sum(line.count("[") for line in lines) == 1


def test_hints_of_a_long_row_go_on_below():
    values = {cell: cell / 100 for cell in range(36)}
    lines = terminal.draw_hints(Game(Board(1, 36, 5), (5,)), values)
    assert lines[2] == "   " + "     ".join("abcdefghijkl")
    assert lines[3].startswith("1  +0.00 +0.01 +0.02 +0.03 +0.04 X     +0.06")
    assert lines[4] == "" and lines[9].endswith("+0.34 +0.35")
    assert lines[8].split() == ["y", "z", *(f"a{letter}" for letter in "abcdefghij")]
    assert lines[-1] == "Highest: aj1"


def test_hints_of_huge_values_stay_narrow():
    lines = terminal.draw_hints(Game(BOARD), {cell: -1e300 * (cell + 1) for cell in range(9)})
    assert lines[2].startswith(" -1.0e+300 | -2.0e+300")


@pytest.mark.parametrize(
    "board", [Board(r, c, 1) for r in range(1, 37) for c in range(1, 37) if r * c <= 36], ids=lambda b: b.name
)
def test_everything_fits(board):
    """Forty columns up to six of the board, eighty on any."""
    for moves in ((), (board.cells - 1,)):
        game = Game(board, moves)
        values = dict.fromkeys(range(1, board.cells), -0.5)
        drawn = terminal.draw_board(game), terminal.draw_hints(game, values), terminal.draw_help(board)
        for lines in drawn:
            assert max(map(len, lines)) <= (40 if board.cols <= 6 else 80)
        assert max(map(len, drawn[0])) <= (40 if board.cols <= 18 else 80)
        assert max(map(len, drawn[2])) <= 40


def test_colour_styles_what_the_brackets_say_and_moves_nothing():
    game = Game(BOARD, (4, 0))
    coloured, plain = (terminal.draw_board(game, colour) for colour in (True, False))
    strip = [re.sub("\x1b\\[[0-9;]*m", "", line).rstrip() for line in coloured]
    assert strip == plain
    assert "\x1b[1;33;7m[O]\x1b[0m" in coloured[0]
    assert "\x1b[1;34m X \x1b[0m" in coloured[2]


@pytest.mark.parametrize("board", [Board(6, 6, 4), Board(1, 36, 5), Board(2, 4, 3)], ids=lambda b: b.name)
def test_colour_moves_nothing_on_any_board(board):
    for moves in ((), (3,), (0, 7, 1, 6, 2)):
        game = Game(board, moves)
        for draw in (terminal.draw_board, lambda game, colour: terminal.draw_hints(game, {0: 1.0, 3: -1.0}, colour)):
            coloured, plain = draw(game, True), draw(game, False)
            assert [re.sub("\x1b\\[[0-9;]*m", "", line).rstrip() for line in coloured] == plain
            assert "\x1b" in "".join(coloured) and "\x1b" not in "".join(plain)


def test_hints():
    lines = terminal.draw_hints(Game(BOARD, (4, 0)), {1: -0.001, 2: 0.25, 3: math.nan, 5: -1.0, 6: 0.25, 7: 1 / 3})
    assert lines == [
        "What the agent gives each cell for X:",
        "",
        " O     | +0.00 | +0.25",
        "-------+-------+-------",
        " ?     | X     | -1.00",
        "-------+-------+-------",
        " +0.25 | +0.33 | ?",
        "",
        "Highest: 8",
        "? = never seen",
    ]


def test_hints_of_an_agent_that_has_seen_nothing():
    lines = terminal.draw_hints(Game(BOARD), {})
    assert lines[2] == " ? | ? | ?"
    assert lines[-1] == "? = never seen"
    assert not any(line.startswith("Highest") for line in lines)


def test_help_names_every_command():
    text = "\n".join(terminal.draw_help(BOARD))
    for key in (
        "1 to 9",
        "row and column: 3 3",
        "q w e / a s d / z x c",
        *(key for c in Command for key in c.keys),
    ):
        assert key in text
    assert "column letter and row: c3" in text
    assert "a1 to d4" in terminal.draw_help(FOUR)[0]
    assert "q w e" not in "\n".join(terminal.draw_help(FOUR))


# --- whole sessions


def test_a_game_as_first_from_start_to_goodbye():
    score, text = session("5;3;7;n")
    assert score == Score(wins=1)
    assert text == (
        "Board 3x3: 3 in a line win. ? = keys.\n"
        "You are X and move first.\n"
        "\n 1 | 2 | 3\n---+---+---\n 4 | 5 | 6\n---+---+---\n 7 | 8 | 9\n\n"
        "Your move (X): 5\n"
        "The agent plays 1.\n"
        "\n[O]| 2 | 3\n---+---+---\n 4 | X | 6\n---+---+---\n 7 | 8 | 9\n\n"
        "Your move (X): 3\n"
        "The agent plays 2.\n"
        "\n O |[O]| X\n---+---+---\n 4 | X | 6\n---+---+---\n 7 | 8 | 9\n\n"
        "Your move (X): 7\n"
        "\n O | O |[X]\n---+---+---\n 4 |[X]| 6\n---+---+---\n[X]| 8 | 9\n\n"
        "You win.\n"
        "Score: You 1, agent 0, draws 0.\n"
        "Another game? [Y/n] n\n"
        "Goodbye. You 1, agent 0, draws 0.\n"
    )


def test_a_loss_as_second():
    score, text = session("s;2 3;n", person=1)
    assert score == Score(losses=1)
    assert "You are O and move second.\nThe agent plays 1.\n" in text
    assert "[X]|[X]|[X]" in text
    assert "The agent wins.\n" in text


def test_a_draw():
    # 1 X, 5 O, 9 X, 2 O, 8 X, 7 O, 3 X, 6 O, 4 X
    replies = {1: 4, 3: 1, 5: 6, 7: 5}
    agent = FakeAgent(choose=lambda position: [replies[9 - position.count(EMPTY)]])
    score, text = session("1;9;8;3;4;n", agent)
    assert Game(BOARD, (0, 4, 8, 1, 7, 6, 2, 5, 3)).outcome == DRAW
    assert score == Score(draws=1)
    assert "\nDraw.\nScore: You 0, agent 0, draws 1.\n" in text


def test_several_games_keep_the_score():
    score, text = session("5;3;7;;5;3;7;y;4;9;8;n")
    assert score == Score(wins=2, losses=1)
    assert text.count("Another game?") == 3
    assert text.endswith("Goodbye. You 2, agent 1, draws 0.\n")


def test_a_larger_board_in_a_session():
    score, text = session("a4;b4;c4;4 4;n", FakeAgent(FOUR))
    assert score == Score(wins=1)
    assert "The agent plays a1." in text
    assert "\n4 [X] [X] [X] [X]\n" in text


def test_bad_moves_on_a_larger_board_cost_a_line_each():
    slips = ["e1", "a5", "5 1", "1 5", "5", "a1", "a4", "b 4 4", "4b"]
    typed = ["a4", *slips, "b4", "c4", "d4", "n"]
    score, text = session(";".join(typed), FakeAgent(FOUR))
    assert score == Score(wins=1)
    assert "cell a1 is taken by O\n" in text and "cell a4 is taken by X\n" in text
    assert text.count("no cell") == 5 and text.count("is outside 4x4") == 2
    assert text.count("   a   b   c   d\n") == session("a4;b4;c4;d4;n", FakeAgent(FOUR))[1].count("   a   b   c   d\n")


@pytest.mark.parametrize("board", [Board(1, 36, 5), Board(36, 1, 3)], ids=lambda b: b.name)
def test_the_longest_boards_in_a_session(board):
    names = [board.cell_name(35 - i) for i in range(board.k)]
    score, text = session(";".join(["h", "?", *names, "n"]), FakeAgent(board), wide=True)
    assert score == Score(wins=1)
    assert "You win." in text


def test_who_makes_a_line_may_lose():
    board = Board(3, 3, 3, misere=True)
    score, text = session("5;3;7;n", FakeAgent(board), wide=True)
    assert score == Score(losses=1)
    assert "3 in a line lose." in text
    assert "exactly 3 in a line win." in session("0", FakeAgent(Board(5, 5, 3, exact=True)), wide=True)[1]


@pytest.mark.parametrize("board", ["3x3", "2x4x3"])
@pytest.mark.parametrize("person", [0, 1])
def test_a_whole_game_against_a_run(board, person):
    """By trying every cell in order: those taken are refused, and one game comes to its end."""
    run = ttt.train(20_000, board=board, seed=1)
    cells = [run.board.cell_name(cell) for cell in range(run.board.cells)]
    score, text = session(";".join(["h", *cells]), run, person)
    assert score.wins + score.losses + score.draws == 1
    assert "What the agent gives each cell" in text


# --- lessons and records


class FakePupil:
    """Notes its lessons; fails on demand."""

    def __init__(self, changed: Sequence[int] = (), fails: bool = False) -> None:
        self.lessons: list[tuple[int, ...]] = []
        self.changed, self.fails = list(changed), fails

    def teach(self, cells: Sequence[int]) -> int:
        if self.fails:
            raise ttt.RunFileError("the disk is full")
        self.lessons.append(tuple(cells))
        return self.changed.pop(0)

    def undo(self) -> bool:
        if self.fails:
            raise ttt.RunFileError("the disk is full")
        return bool(self.lessons) and bool(self.lessons.pop())


WON = (4, 0, 2, 1, 6)


def test_a_pupil_is_taught_every_finished_game():
    pupil, recorded = FakePupil([5, 1, 0]), []
    _, text = session("5;n;5;3;7;y;5;u;5;3;7;;5;3;7;;5;0", pupil=pupil, record=recorded.append)
    assert pupil.lessons == recorded == [WON, WON, WON]
    assert "The agent learns from finished games.\n" in text
    learnt = [line for line in text.splitlines() if line.startswith("Learnt")]
    assert learnt == [
        "Learnt: 5 positions changed (u: undo).",
        "Learnt: 1 position changed (u: undo).",
        "Learnt: nothing changed (u: undo).",
    ]


def test_a_game_that_an_agent_forfeits_is_taught_with_that_move():
    pupil = FakePupil([1])
    session("1;n", FakeAgent(choose=lambda position: [4]), 1, pupil=pupil)
    assert pupil.lessons == [(4, 0, 4)]


def test_undoing_lessons():
    pupil = FakePupil([5, 5])
    _, text = session("5;3;7;u;undo;y;5;3;7;n", pupil=pupil)
    assert text.count("The last lesson is undone.\n") == 1
    assert text.count("There is no lesson to undo.\n") == 1
    assert pupil.lessons == [WON]
    assert "'u': type y or n" in session("5;3;7;u")[1]


@pytest.mark.parametrize("stream", [io.StringIO, Interrupted])
def test_what_ends_a_game_early_loses_that_game_only(stream):
    pupil, recorded = FakePupil([5]), []
    terminal.play(
        FakeAgent(),
        person=0,
        stdin=stream("5\n3\n7\n\n5\n"),
        stdout=io.StringIO(),
        seed=1,
        pupil=pupil,
        record=recorded.append,
    )
    assert pupil.lessons == recorded == [WON]


def test_a_lesson_or_record_that_fails_costs_two_lines_and_the_session_goes_on():
    def record(cells: Sequence[int]) -> None:
        raise ttt.TttBatchError("cannot append games")

    score, text = session("5;3;7;u;;5;3;7;n", pupil=FakePupil(fails=True), record=record)
    assert score == Score(wins=2)
    assert text.count("cannot append games\n") == 2
    assert text.count("the disk is full\nThis game was not learnt.\n") == 2
    assert text.count("the disk is full\nThe last lesson stays.\n") == 1


def test_bad_answers_cost_a_line_and_nothing_else():
    score, text = session("5;1;5;10;4 1;foo;;\x1b[A;\xff;3;7;maybe;5;n")
    assert score == Score(wins=1)
    for line in (
        "cell 1 is taken by O",
        "cell 5 is taken by X",
        "no cell 10; there are 1 to 9",
        "row 4, column 1 is outside 3x3",
        "'foo' is no cell; ? shows the keys",
        "type a cell, or ? for the keys",
        "'maybe': type y or n",
        "'5': type y or n",
    ):
        assert text.count(f"{line}\n") == 1
    # As many boards as without the slips.
    assert text.count("---+---+---") == session("5;3;7;n")[1].count("---+---+---")


def test_bytes_that_are_no_text_do_not_end_the_game():
    stdin = io.TextIOWrapper(io.BytesIO(b"\xff\xfe\n5\n3\n7\nn\n"), encoding="utf-8")
    stdout = io.StringIO()
    assert terminal.play(FakeAgent(), person=0, stdin=stdin, stdout=stdout, seed=1) == Score(wins=1)
    assert stdout.getvalue().count("is no cell") == 1


def test_undo_takes_back_the_persons_move_and_the_reply():
    score, text = session("u;5;4;u;u;u;5;3;7;n")
    assert score == Score(wins=1)
    assert text.count("You have no move to take back.") == 2
    assert text.count("Your last move is taken back.") == 2
    assert text.split("Your last move is taken back.\n")[1].startswith("\n[O]| 2 | 3\n---+---+---\n 4 | X | 6\n")
    assert text.split("Your last move is taken back.\n")[2].startswith("\n 1 | 2 | 3\n---+---+---\n 4 | 5 | 6\n")


def test_undo_as_second_leaves_the_agents_opening():
    _, text = session("u;5;u;u", person=1)
    assert text.count("You have no move to take back.") == 2
    assert text.split("Your last move is taken back.\n")[1].startswith("\n[X]| 2 | 3\n---+---+---\n 4 | 5 | 6\n")


def test_hints_and_help_in_a_session():
    score, text = session("h;?;5;h;3;7;n")
    assert score == Score(wins=1)
    assert "for X:\n\n -0.40 | -0.30 | -0.20\n" in text
    assert "Highest: 9\n? = never seen\n" in text
    assert " O     | -0.30 | -0.20\n" in text
    assert "take your last move back" in text


def test_a_new_game_does_not_count():
    score, text = session("5;n;5;3;7;n")
    assert score == Score(wins=1)
    assert text.count("You are X and move first.") == 2
    assert text.count("does not count") == 1


@pytest.mark.parametrize("person", [0, 1])
@pytest.mark.parametrize("word", ["0", "exit"])
def test_leaving(person, word):
    score, text = session(f"{word};5;3;7", person=person)
    assert score == Score()
    assert text.endswith(f": {word}\nGoodbye. You 0, agent 0, draws 0.\n")
    score, text = session(f"5;3;7;{word}")
    assert text.endswith(f"[Y/n] {word}\nGoodbye. You 1, agent 0, draws 0.\n")


@pytest.mark.parametrize("stream", [io.StringIO, Interrupted])
@pytest.mark.parametrize("read", range(6))
def test_the_end_of_input_and_an_interrupt_at_every_prompt(stream, read):
    answers = ["5\n", "h\n", "3\n", "7\n", "\n", "1\n"][:read]
    stdout = io.StringIO()
    score = terminal.play(FakeAgent(), person=0, stdin=stream("".join(answers)), stdout=stdout, seed=1)
    assert score == Score(wins=int(read >= 4))
    prompt = "Another game? [Y/n] " if read == 4 else "Your move (X): "
    assert stdout.getvalue().endswith(f"{prompt}\nGoodbye. {score}\n")


def test_the_last_line_needs_no_newline():
    stdout = io.StringIO()
    terminal.play(FakeAgent(), person=0, stdin=io.StringIO("5\n3\n7"), stdout=stdout, seed=1)
    assert "You win." in stdout.getvalue()


@pytest.mark.parametrize("person", [0, 1])
def test_an_agent_that_chooses_an_occupied_cell_loses(person):
    # As first the agent opens on 5 and then insists on it.
    score, text = session("5;n" if person == 0 else "1;n", FakeAgent(choose=lambda position: [4]), person)
    assert score == Score(wins=1)
    assert "The agent plays 5.\n" in text
    assert "Agent chose an occupied cell and loses.\nYou win.\nScore: You 1, agent 0, draws 0.\n" in text


def test_the_agent_draws_evenly_among_its_candidates_and_the_seed_fixes_it():
    def opening(seed: int) -> int:
        said: list[str] = []
        agent = FakeAgent(choose=lambda position: [0, 4, 8])
        rng = random.Random(seed)
        result, game = terminal.play_game(agent, person=1, ask=lambda prompt: "0", tell=said.append, rng=rng)
        assert result is Result.LEFT and len(game.moves) == 1
        return int(said[1].removeprefix("The agent plays ").rstrip("."))

    openings = [opening(seed) for seed in range(300)]
    assert set(openings) == {1, 5, 9}
    # 300 fair draws: 100 each, standard deviation 8.2; the seeds are fixed, so this never flickers.
    assert all(70 < openings.count(cell) < 130 for cell in (1, 5, 9))
    assert openings == [opening(seed) for seed in range(300)]


@pytest.mark.parametrize("person", [2, -1])
def test_another_seat_is_refused(person):
    with pytest.raises(UsageError, match="no seat"):
        terminal.play(FakeAgent(), person=person, stdin=io.StringIO(), stdout=io.StringIO(), seed=1)


# --- terminals


def test_on_a_terminal_there_is_colour_and_no_echo(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    stdout = Terminal()
    terminal.play(FakeAgent(), person=0, stdin=Terminal("5\n0\n"), stdout=stdout, seed=1)
    assert "\x1b[1;33;7m[O]\x1b[0m" in stdout.getvalue()
    assert "Your move (X): The agent plays 1.\n" in stdout.getvalue()


def test_colour_only_where_it_is_wanted():
    assert terminal.wants_colour(Terminal(), {})
    assert terminal.wants_colour(Terminal(), {"NO_COLOR": ""})
    assert not terminal.wants_colour(Terminal(), {"NO_COLOR": "1"})
    assert not terminal.wants_colour(Terminal(), {"TERM": "dumb"})
    assert not terminal.wants_colour(io.StringIO(), {})


def test_random_typing_never_breaks_a_session():
    rng = random.Random(5)
    words = [*"123456789qweasdzxchun?", "1 1", "3 3", "4 4", "b2", "", "y", "help", "\t", "\x07", "é"]
    for trial in range(60):
        agent = FakeAgent(choose=lambda position: [cell for cell in range(9) if position[cell] == EMPTY])
        score, text = session(";".join(rng.choices(words, k=60)), agent, trial % 2)
        assert text.endswith(f"Goodbye. {score}\n")
        counted = [text.count(f"\n{result.value}\n") for result in (Result.WIN, Result.LOSS, Result.DRAW)]
        assert counted == [score.wins, score.losses, score.draws]
