"""Positions as people write them: every notation, what happens where two could be meant, and what is refused."""

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ttt_batch.core.errors import BoardError
from ttt_batch.games.board import EMPTY, UNFINISHED, Board, Position, column_name, parse_board
from ttt_batch.games.notation import (
    NO_CELL,
    check_possible,
    moves_text,
    named_cell,
    notations,
    parse_moves,
    position_after,
    read_position,
    rows_text,
)

CLASSIC, LARGE, WIDE = Board(), Board(5, 5, 5), Board(1, 36, 3)
LARGEST, WIDEST = Board(8, 8, 5), Board(1, 64, 3)
BOARDS = ["3x3", "2x4x2", "3x4x3", "4x4x4", "5x5x5", "1x36x3", "6x6x4-misere", "8x8x5", "8x8x5-exact", "1x64x3"]
BOARDS += ["3x3-gravity", "6x7x4-gravity"]


@pytest.mark.parametrize(
    ("text", "board", "rows"),
    [
        ("X.O/.X./...", CLASSIC, "X.O .X. ..."),
        ("x-o _x_ ---", CLASSIC, "X.O .X. ..."),
        ("X.O,.X.,...", CLASSIC, "X.O .X. ..."),
        ("X.O.X....", CLASSIC, "X.O .X. ..."),
        (" X.O | .X. | ... ", CLASSIC, "X.O .X. ..."),
        ("100", CLASSIC, "X.O .X. ..."),
        ("code 100", CLASSIC, "X.O .X. ..."),
        ("CODE=100", CLASSIC, "X.O .X. ..."),
        ("code:100", CLASSIC, "X.O .X. ..."),
        ("1 3 5", CLASSIC, "X.O .X. ..."),
        ("5,3,1", CLASSIC, "X.O .X. ..."),
        ("5, 3, 1", CLASSIC, "X.O .X. ..."),
        ("X1 O3 X5", CLASSIC, "X.O .X. ..."),
        ("x1 o3 5", CLASSIC, "X.O .X. ..."),
        ("a1 c1 b2", CLASSIC, "X.O .X. ..."),
        ("XA1 OC1 XB2", CLASSIC, "X.O .X. ..."),
        ("X1 O2 X4 O7 X9 O5 X6 O3", CLASSIC, "XOO XOX O.X"),  # as evaluate prints a line of play
        ("0", CLASSIC, "... ... ..."),
        ("1 2 4 3 7", CLASSIC, "XOO X.. X.."),  # the end of a game
        ("a1 e5 c3", LARGE, "X.... ..... ..X.. ..... ....O"),
        ("Xa1 Oe5 Xc3", LARGE, "X.... ..... ..X.. ..... ....O"),
        ("aj1 a1", WIDE, "O" + "." * 34 + "X"),
        ("bl1 ba1", WIDEST, "." * 52 + "O" + "." * 10 + "X"),
        ("Xbl1 Ob1", WIDEST, ".O" + "." * 61 + "X"),
        ("h8 a1", LARGEST, " ".join(["O.......", *["........"] * 6, ".......X"])),
        (f"code {3**63}", LARGEST, " ".join([*["........"] * 7, ".......X"])),
        ("x1 o1", WIDE, "." * 14 + "O" + "." * 8 + "X" + "." * 12),  # columns x and o
        ("xx1 oo1", WIDE, "." * 14 + "O" + "." * 8 + "X" + "." * 12),
        ("o1", CLASSIC, None),  # there is no column o: O cannot begin
    ],
)
def test_every_notation(text, board, rows):
    if rows is None:
        with pytest.raises(BoardError, match="take turns"):
            read_position(text, board)
    else:
        assert board.format_position(read_position(text, board)) == rows


def test_a_number_alone_is_a_move_where_it_names_a_cell_and_else_a_code():
    for number in range(1, 10):
        assert read_position(str(number), CLASSIC) == tuple(int(cell == number - 1) for cell in range(9))
    assert read_position("code 5", CLASSIC) == CLASSIC.decode(5) != read_position("5", CLASSIC)
    assert read_position("16", CLASSIC) == CLASSIC.decode(16)
    assert read_position("5", LARGE) == LARGE.decode(5)
    assert read_position("7", Board(2, 3, 2)) == Board(2, 3, 2).decode(7)  # six cells: 7 names none


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", BOARDS)
def test_what_is_written_is_read_back(name):
    board, rng = parse_board(name), random.Random(name)
    for _ in range(max(1, 3000 // board.cells**2)):  # the work of a game grows with the cube of the cells
        marks, cells = (EMPTY,) * board.cells, []
        while board.outcome(marks) == UNFINISHED:
            for text in (rows_text(board, marks), board.format_position(marks), f"code {board.encode(marks)}"):
                assert read_position(text, board) == marks
            if cells:
                assert read_position(moves_text(board, cells), board) == marks
            cells.append(rng.choice(board.open_cells(marks)))
            marks = position_after(cells, board)
        assert parse_moves(moves_text(board, cells).split(), board) == cells
        assert read_position(moves_text(board, cells), board) == marks
    assert moves_text(board, [0, 1], first=1) == f"O{board.cell_name(0)} X{board.cell_name(1)}"


SHAPES = [Board(rows, cols, 1) for rows in range(1, 65) for cols in range(1, 64 // rows + 1)]


def test_every_cell_of_every_shape_is_read_by_its_name():
    for board in SHAPES:
        names = [board.cell_name(cell) for cell in range(board.cells)]
        assert parse_moves(names, board) == list(range(board.cells))
        marked = [f"{'XO'[cell % 2]}{name.upper()}" for cell, name in enumerate(names)]
        assert parse_moves(marked, board) == list(range(board.cells))
        if board.cells <= 9:
            assert names == [str(number) for number in range(1, board.cells + 1)]
        else:
            assert [named_cell(name, board) for name in names] == list(range(board.cells))
        for outside in (f"{column_name(board.cols)}1", f"a{board.rows + 1}"):
            assert named_cell(outside, board) == NO_CELL
            with pytest.raises(BoardError, match="names no cell"):
                parse_moves([outside], board)


def reachable(board: Board) -> set[Position]:
    """Every position that play comes to, by playing."""
    found, new = set(), {(EMPTY,) * board.cells}
    while new:
        found |= new
        new = {
            (*marks[:cell], 1 + (board.cells - marks.count(EMPTY)) % 2, *marks[cell + 1 :])
            for marks in new
            if board.outcome(marks) == UNFINISHED
            for cell in range(board.cells)
            if marks[cell] == EMPTY
        }
    return found


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", ["3x3", "3x3-misere", "2x4x2", "2x4x3", "1x7x3", "1x7x2-exact"])
def test_a_position_is_possible_where_a_game_comes_to_it(name):
    board = parse_board(name)
    real, accepted = reachable(board), set()
    for code in range(3**board.cells):
        marks = board.decode(code)
        try:
            accepted.add(check_possible(marks, board))
        except BoardError:
            assert marks not in real
    assert accepted >= real
    if not board.exact:  # longer lines hide the order of moves, which would have to be searched
        assert accepted == real


@pytest.mark.parametrize(
    ("text", "board", "reason"),
    [
        ("", CLASSIC, "nothing is given"),
        (" , ", CLASSIC, "nothing is given"),
        ("X.O/.X.", CLASSIC, "6 cells; board 3x3 has 9"),
        ("X.O/.X./..Z", CLASSIC, "'Z' is none of X, O and '.'"),
        ("hello", CLASSIC, "'h' is none of"),
        ("XX./.../...", CLASSIC, "2 X and 0 O"),
        ("XXX/OOO/...", CLASSIC, "no game reaches it"),
        ("12345", CLASSIC, "3 X and 4 O"),
        ("19683", CLASSIC, r"outside 0 \.\. 19682"),
        ("05", CLASSIC, "'05', names no cell; there are 1 to 9"),
        ("9" * 5000, CLASSIC, "names no cell"),
        (f"code {3**64}", LARGEST, rf"outside 0 \.\. {3**64 - 1}"),
        ("bm1", WIDEST, "'bm1', names no cell; there are a1 to bl1"),
        ("i1", LARGEST, "'i1', names no cell; there are a1 to h8"),
        ("1 10", CLASSIC, "move 2, '10', names no cell"),
        ("0 4 8", CLASSIC, "move 1, '0', names no cell"),
        ("X5 X1", CLASSIC, "move 2, 'X1', is not X's"),
        ("5 5", CLASSIC, "move 2 goes to cell 5, taken by X"),
        ("1 2 4 3 7 5", CLASSIC, "move 6 comes after the end"),
        ("1 2", LARGE, "'1', names no cell; there are a1 to e5"),
        ("f1", LARGE, "'f1', names no cell"),
        ("a1 a01", LARGE, "'a01', names no cell"),
        ("\x1b[2J", CLASSIC, r"'\\x1b\[2J', names no cell"),
        ("X.O\n.X.\n..\x07", CLASSIC, r"'\\x07' is none"),
        ("½ü", CLASSIC, r"'½' is none"),
        ("XOü", CLASSIC, r"'ü' is none"),
        ("٥", CLASSIC, "is none of"),  # a digit, but not one of these
    ],
)
def test_refusals_say_what_was_given_and_which_notations_there_are(text, board, reason):
    with pytest.raises(BoardError, match=reason) as caught:
        read_position(text, board)
    message = str(caught.value)
    assert message.startswith("position ") and message.endswith(notations(board))
    assert message.isprintable() and len(message) < 320


def test_there_is_one_reader():
    marks = (0, 0, 2, 0, 1, 0, 1, 0, 0)
    code, rows = CLASSIC.encode(marks), [marks[:3], marks[3:6], marks[6:]]
    for same in (
        "5 3 7",
        "..O/.X./X..",
        f"code {code}",
        code,
        np.int64(code),
        marks,
        list(marks),
        np.array(marks),
        rows,
        np.array(rows),
        np.array(rows, dtype=np.float32),
    ):
        assert read_position(same, CLASSIC) == marks
        assert all(type(mark) is int for mark in read_position(same, CLASSIC))


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ((0,) * 8, "board 3x3 has 9 cells, each 0, 1 or 2"),
        ([[0, 0], [0, 0, 0, 0], [0, 0, 0]], "neither text, a code nor marks"),
        (np.zeros((9, 1), int), "board 3x3 has 3 rows of 3 cells"),
        ([[0] * 4] * 4, "board 3x3 has 3 rows of 3 cells"),
        ((3,) + (0,) * 8, "each 0, 1 or 2"),
        ((1, 1) + (0,) * 7, "2 X and 0 O"),
        (4, "2 X and 0 O"),
        (3**9, "outside 0"),
        (-1, "outside 0"),
        (2.0, "neither text, a code nor marks"),
        (None, "neither text, a code nor marks"),
        ((0.5,) * 9, "each 0, 1 or 2"),
    ],
)
def test_codes_and_marks_are_checked_as_text_is(given, reason):
    with pytest.raises(BoardError, match=reason) as caught:
        read_position(given, CLASSIC)
    assert str(caught.value).startswith("position ") and str(caught.value).endswith(notations(CLASSIC))


@pytest.mark.parametrize("text", ["d d c", "4 4 3", "D d C", "d6 d5 c6", "Xd6 Od5 Xc6", "4, d, 3"])
def test_where_marks_fall_a_column_is_a_move(text):
    board = parse_board("6x7x4-gravity")
    assert read_position(text, board) == read_position("......./" * 4 + "...O.../..XX...", board)
    assert read_position("4", board) == read_position("d", board) == read_position("code " + str(3**38), board)


def test_on_nine_cells_a_digit_is_a_cell_and_a_letter_a_column():
    board = parse_board("3x3-gravity")
    assert read_position("b b a", board) == read_position("8 5 7", board) == read_position(".../.O./XX.", board)
    for text, reason in (
        ("1", "the cell below it is free"),
        ("b b b b", "move 4 goes to column b, which is full"),
        ("d", "'d' is none of X, O"),
    ):
        with pytest.raises(BoardError, match=reason):
            read_position(text, board)


def test_the_notations_named_are_read():
    for name in BOARDS:
        board = parse_board(name)
        for text in notations(board).split("(")[1:]:
            read_position(text.split(")")[0], board)


@settings(max_examples=300)
@given(st.text() | st.text("XO.-_/| 0123456789abcxocde,:="), st.sampled_from([CLASSIC, LARGE, WIDE, LARGEST, WIDEST]))
def test_nothing_else_is_raised_and_nothing_impossible_read(text, board):
    try:
        marks = read_position(text, board)
    except BoardError as error:
        assert str(error).isprintable()
    else:
        assert len(marks) == board.cells and check_possible(marks, board) == marks
