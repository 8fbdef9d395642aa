"""Boards, hints and replays as lines of text, plain and coloured, on boards of every shape."""

import math
import re
from types import SimpleNamespace

import pytest

from ttt_batch.app.terminal.drawing import Hints, draw_board, draw_hints, draw_replay, draw_values, hints_of
from ttt_batch.app.terminal.keys import draw_help
from ttt_batch.games.board import Board, Game
from ttt_batch.games.solution import Prospect

BOARD = Board()
FOUR = Board(4, 4, 4)
SHAPES = [(4, 3, 3), (5, 5, 5), (8, 8, 5), (2, 12, 3), (2, 32, 3), (1, 36, 5), (64, 1, 3), (2, 4, 3), (9, 1, 3)]
BOARDS = [Board(*shape) for shape in SHAPES]


def test_large_marks():
    lines = draw_board(Game(BOARD, (4, 0)), large=True)
    assert lines[:5] == [
        "[ OOOOO ]|         |",
        " OO   OO |         |",
        " OO   OO |    2    |    3",
        " OO   OO |         |",
        "  OOOOO  |         |",
    ]
    assert lines[6:11] == [
        "         | XX   XX |",
        "         |  XX XX  |",
        "    4    |   XXX   |    6",
        "         |  XX XX  |",
        "         | XX   XX |",
    ]
    assert len(lines) == 17 and max(map(len, lines)) == 29
    assert draw_board(Game(FOUR, (5,)), large=True)[6:11] == [
        "2          [XX   XX]",
        "             XX XX",
        "      .       XXX       .        .",
        "             XX XX",
        "            XX   XX",
    ]


def test_a_larger_board():
    assert draw_board(Game(Board(5, 5, 5), (12, 7, 0))) == [
        "   a   b   c   d   e",
        "1 [X]  .   .   .   .",
        "2  .   .   O   .   .",
        "3  .   .   X   .   .",
        "4  .   .   .   .   .",
        "5  .   .   .   .   .",
    ]


def test_the_winning_line_of_a_larger_board():
    lines = draw_board(Game(Board(6, 6, 4), (0, 6, 7, 1, 14, 2, 21)))
    assert lines[1:5] == [
        "1 [X]  O   O   .   .   .",
        "2  O  [X]  .   .   .   .",
        "3  .   .  [X]  .   .   .",
        "4  .   .   .  [X]  .   .",
    ]
    lines = draw_board(Game(Board(6, 6, 4), (0, 6, 1, 7, 2, 8, 3)))
    assert lines[1:3] == ["1 [X] [X] [X] [X]  .   .", "2  O   O   O   .   .   ."]


def test_a_row_that_goes_on_below():
    board = Board(1, 64, 5)
    alphabet = "abcdefghijklmnopqrstuvwxyz"
    assert draw_board(Game(board, (0, 63, 40))) == [
        " " * 55 + " ".join("a" * 12),
        "   " + " ".join(alphabet + alphabet[:12]),
        "1  X" + " ." * 37,
        "",
        "   " + " ".join("a" * 14 + "b" * 12),
        "   " + " ".join(alphabet[12:] + alphabet[:12]),
        "1  . .[X]" + ". " * 22 + "O",
    ]
    assert draw_replay(Game(board, (0, 63)))[-3:] == ["2. O bl1", " X" + " ." * 38, " ." * 24 + "[O]"]


def test_a_long_row():
    board = Board(1, 36, 5)
    assert draw_board(Game(board, (0, 35))) == [
        " " * 55 + " ".join("a" * 10),
        "   " + " ".join("abcdefghijklmnopqrstuvwxyzabcdefghij"),
        "1  X" + " ." * 34 + "[O]",
    ]
    won = draw_board(Game(board, (30, 1, 31, 2, 32, 5, 33, 7, 34)))
    assert won[2] == "1  . O O . . O . O" + " ." * 22 + "[X X X X X]."


def test_the_longest_column():
    lines = draw_board(Game(Board(36, 1, 3), (9, 1, 10, 2, 11)))
    assert len(lines) == 37
    assert lines[:3] == ["    a", " 1  .", " 2  O"]
    assert lines[10:13] == ["10 [X]", "11 [X]", "12 [X]"]


def test_a_row_of_digits():
    assert draw_board(Game(Board(2, 4, 3), (0, 5, 1, 4, 2))) == [
        "[X]|[X]|[X]| 4",
        "---+---+---+---",
        " O | O | 7 | 8",
    ]


@pytest.mark.parametrize("board", [board for board in BOARDS if board.cells > 9], ids=lambda b: b.name)
def test_every_mark_stands_below_its_letter_and_beside_its_number(board):
    for cell in range(board.cells):
        lines = draw_board(Game(board, (cell,)))
        row = next(line for line in lines if "X" in line)
        at = row.index("X")
        name = "".join(line[at] for line in lines[: len(lines) - board.rows]) + row.split()[0]
        assert name.strip() == board.cell_name(cell)
        assert row[at - 1 : at + 2] == "[X]"
        assert sum(line.count("[") for line in lines) == 1


def test_hints_of_a_long_row_go_on_below():
    values = {cell: cell / 100 for cell in range(36)}
    lines = draw_hints(Game(Board(1, 36, 5), (5,)), Hints(values))
    assert lines[2] == "   " + "     ".join("abcdefghijkl")
    assert lines[3].startswith("1  +0.00 +0.01 +0.02 +0.03 +0.04 X     +0.06")
    assert lines[4] == "" and lines[9].endswith("+0.34 +0.35")
    assert lines[8].split() == ["y", "z", *(f"a{letter}" for letter in "abcdefghij")]
    assert lines[-3] == "Highest: aj1"


def test_hints_of_huge_values_stay_narrow():
    lines = draw_hints(Game(BOARD), Hints({cell: -1e300 * (cell + 1) for cell in range(9)}))
    assert lines[2].startswith(" -1.0e+300 | -2.0e+300")


@pytest.mark.parametrize(
    "board", [Board(r, c, 1) for r in range(1, 65) for c in range(1, 65) if r * c <= 64], ids=lambda b: b.name
)
def test_everything_fits(board):
    """Forty columns up to six of the board, eighty on any."""
    for moves in ((), (board.cells - 1,)):
        game = Game(board, moves)
        values = dict.fromkeys(range(1, board.cells), -0.5)
        truths = {cell: Prospect(-1, board.cells) for cell in range(board.cells - len(moves))}
        drawn = (
            draw_board(game),
            draw_hints(game, Hints(values)),
            [*draw_help(board), *draw_help(board, single_keys=True)],
            draw_hints(game, Hints(values, truths)),
            draw_replay(game),
            draw_board(game, cursor=0),
        )
        for lines in drawn:
            assert max(map(len, lines)) <= (40 if board.cols <= 6 else 80)
        assert max(map(len, drawn[0])) <= (40 if board.cols <= 18 else 80)
        assert max(map(len, drawn[2])) <= 40


def test_colour_styles_what_the_brackets_say_and_moves_nothing():
    game = Game(BOARD, (4, 0))
    coloured, plain = (draw_board(game, colour) for colour in (True, False))
    strip = [re.sub("\x1b\\[[0-9;]*m", "", line).rstrip() for line in coloured]
    assert strip == plain
    assert "\x1b[1;38;5;208;7m[O]\x1b[0m" in coloured[0]
    assert "\x1b[1;38;5;33m X \x1b[0m" in coloured[2]


def with_values(game, colour):
    return draw_hints(game, Hints({0: 1.0, 3: -1.0}), colour)


def with_truths(game, colour):
    truths = {cell: Prospect(cell % 3 - 1, 3) for cell in range(game.board.cells) if game.position[cell] == 0}
    return draw_hints(game, Hints({0: 1.0, 3: -1.0}, truths), colour)


@pytest.mark.parametrize("board", [Board(6, 6, 4), Board(1, 36, 5), Board(2, 4, 3)], ids=lambda b: b.name)
def test_colour_moves_nothing_on_any_board(board):
    for moves in ((), (3,), (0, 7, 1, 6, 2)):
        game = Game(board, moves)
        for draw in (draw_board, with_values, with_truths):
            coloured, plain = draw(game, True), draw(game, False)
            assert [re.sub("\x1b\\[[0-9;]*m", "", line).rstrip() for line in coloured] == plain
            assert "\x1b" in "".join(coloured) and "\x1b" not in "".join(plain)


TRUTHS = dict.fromkeys((1, 2, 3, 5, 6, 8), Prospect(0, 7)) | {7: Prospect(1, 3), 5: Prospect(-1, 12)}
VALUES = {1: -0.001, 2: 0.25, 3: math.nan, 5: -1.0, 6: 0.25, 7: 1 / 3}


def hints(truths=None):
    """Return the hints of an agent with these values after two moves."""
    agent = SimpleNamespace(move_values=lambda _: VALUES, true_moves=lambda *_: None, gives="value")
    return hints_of(agent, Game(BOARD, (4, 0)))._replace(truths=truths)


def test_hints():
    assert draw_hints(Game(BOARD, (4, 0)), hints()) == [
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
        "The true results of this board are",
        "unknown: it has too many positions.",
    ]

    assert draw_hints(Game(BOARD, (4, 0)), hints(TRUTHS)) == [
        "What the agent gives each cell for X:",
        "",
        " O     | +0.00 | +0.25",
        "       | D     | D",
        "-------+-------+-------",
        " ?     | X     | -1.00",
        " D     |       | L12",
        "-------+-------+-------",
        " +0.25 | +0.33 | ?",
        " D     | W3    | D",
        "",
        "Highest: 8",
        "? = never seen",
        "Below each value the truth:",
        "W3 win in 3 plies, D draw, L2 loss in 2",
        "(a ply is one move of either player)",
    ]
    lines = draw_hints(Game(BOARD, (4, 0)), hints(TRUTHS | {1: Prospect(1, None)}))
    assert lines[-2:] == ["W win (W3 in 3 plies), D draw, L loss", "(a ply is one move of either player)"]


def test_hints_with_the_truth_on_a_larger_board():
    truths = {cell: Prospect(0, 15) for cell in range(1, 16)} | {1: Prospect(1, 3)}
    lines = draw_values(Game(FOUR, (0,)), Hints(dict.fromkeys(range(1, 16), 0.5), truths), marked=(0,), cursor=4)
    assert lines[:5] == [
        "   a       b       c       d",
        "1 [X    ]  +0.50   +0.50   +0.50",
        "           W3      D       D",
        "2 >+0.50<  +0.50   +0.50   +0.50",
        "   D       D       D       D",
    ]


def test_wins_are_blue_and_losses_orange():
    lines = draw_hints(Game(BOARD, (4, 0)), hints(TRUTHS), True)
    assert "\x1b[38;5;231;48;5;26;1m +0.33 \x1b[0m" in lines[8] and "\x1b[38;5;231;48;5;26;1m W3    \x1b[0m" in lines[9]
    assert (
        "\x1b[38;5;16;48;5;208m -1.00 \x1b[0m" in lines[5]
        and "| +0.33" not in lines[8]
        and "\n +0.25 " in f"\n{lines[8]}"
    )
    assert "\x1b[38;5;231;48;5;26mW3\x1b[0m win" in lines[-2]


def test_the_cursor_stands_in_angles_also_on_marked_cells():
    assert draw_board(Game(BOARD, (4, 0)), cursor=0)[0] == ">O<| 2 | 3"
    assert draw_board(Game(BOARD, (4, 0)), cursor=2)[0] == "[O]| 2 |>3<"
    assert draw_board(Game(FOUR, (5,)), cursor=6)[2] == "2  .  [X] >.<  ."
    row = Game(Board(1, 36, 5), (3,))
    assert [draw_board(row, cursor=cell)[2][:13] for cell in (2, 3, 4, 0)] == [
        "1  . .>.<X]. ",
        "1  . . .>X<. ",
        "1  . . .[X>.<",
        "1 >.<. .[X]. ",
    ]


def test_a_replay_shows_every_position_in_order():
    assert draw_replay(Game(BOARD, (4, 0, 8, 2))) == [
        "start    1. X 5   2. O 1   3. X 9",
        " . . .    . . .   [O]. .    O . .",
        " . . .    .[X].    . X .    . X .",
        " . . .    . . .    . . .    . .[X]",
        "",
        "4. O 3",
        " O .[O]",
        " . X .",
        " . . X",
    ]
    assert draw_replay(Game(FOUR))[0] == "start"


def test_hints_of_an_agent_that_has_seen_nothing():
    lines = draw_hints(Game(BOARD), Hints({}))
    assert lines[2] == " ? | ? | ?"
    assert lines[-3] == "? = never seen"
    assert not any(line.startswith("Highest") for line in lines)
