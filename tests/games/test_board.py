"""Boards: lines, codes, symmetries and text, against the naive oracle, and what is refused with which words."""

import random
import re
import string
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracle import naive

from ttt_batch.core.errors import BoardError
from ttt_batch.games.bitboards import make_places
from ttt_batch.games.board import DRAW, FIRST_WINS, MAX_CELLS, SECOND_WINS, UNFINISHED, Board, column_name, parse_board
from ttt_batch.games.notation import read_position

SIZES = [
    (rows, cols, k)
    for rows in range(1, 6)
    for cols in range(1, 6)
    for k in range(1, max(rows, cols) + 1)
    if rows * cols <= 20
]


def boards(max_cells: int = MAX_CELLS) -> st.SearchStrategy[Board]:
    """Any board that is allowed."""
    sides = st.integers(1, max_cells).flatmap(lambda rows: st.tuples(st.just(rows), st.integers(1, max_cells // rows)))
    return sides.flatmap(lambda s: st.builds(Board, st.just(s[0]), st.just(s[1]), st.integers(1, max(s))))


@st.composite
def positions(draw: st.DrawFn) -> tuple[Board, tuple[int, ...]]:
    """A board and marks that alternate turns leave on it, whether or not the game would have ended before."""
    board = draw(boards())
    cells = draw(st.permutations(range(board.cells)))
    marks = [0] * board.cells
    for ply, cell in enumerate(cells[: draw(st.integers(0, board.cells))]):
        marks[cell] = 1 + ply % 2
    return board, tuple(marks)


@pytest.mark.slow
@given(positions(), st.randoms(use_true_random=False))
def test_moves_one_after_the_other_take_turns(case: tuple[Board, tuple[int, ...]], rng: random.Random) -> None:
    board, marks = case
    turns = [[cell for cell, mark in enumerate(marks) if mark == player] for player in (1, 2)]
    for cells in turns:
        rng.shuffle(cells)
    found = (0,) * board.cells
    for ply in range(len(turns[0]) + len(turns[1])):
        found = board.after(found, turns[ply % 2][ply // 2])
    assert found == marks


# --- rules --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_lines_and_symmetries_are_those_of_the_oracle(size: tuple[int, int, int]) -> None:
    board, plain = Board(*size), naive.Board(*size)
    assert list(board.lines) == plain.lines
    assert sorted(board.symmetries) == plain.symmetries


@given(positions())
def test_outcomes_are_those_of_the_oracle(case: tuple[Board, tuple[int, ...]]) -> None:
    board, position = case
    plain = naive.Board(board.rows, board.cols, board.k)
    winners = {position[line[0]] for line in plain.lines if position[line[0]] and len({position[c] for c in line}) == 1}
    if len(winners) < 2:
        assert board.outcome(position) == plain.outcome(position)
    assert (board.outcome(position) in (FIRST_WINS, SECOND_WINS)) == bool(board.winning_cells(position))
    for cell in board.winning_cells(position):
        assert any(cell in line and {position[c] for c in line} == {position[cell]} for line in plain.lines)


@pytest.mark.parametrize(
    ("text", "outcome", "cells"),
    [
        ("... ... ...", UNFINISHED, set()),
        ("XXX OO. ...", FIRST_WINS, {0, 1, 2}),
        ("OX. XO. X.O", SECOND_WINS, {0, 4, 8}),
        ("XXX XOO XOO", FIRST_WINS, {0, 1, 2, 3, 6}),
        ("XOX XOO OXX", DRAW, set()),
    ],
)
def test_outcomes_and_winning_cells(text: str, outcome: int, cells: set[int]) -> None:
    board = Board()
    position = read_position(text, board)
    assert board.outcome(position) == outcome
    assert board.winning_cells(position) == cells


# --- codes and text -----------------------------------------------------------------------------------------


@pytest.mark.slow
@given(positions())
def test_a_position_comes_back_from_its_code(case: tuple[Board, tuple[int, ...]]) -> None:
    board, position = case
    code = board.encode(position)
    assert code == sum(mark * 3**cell for cell, mark in enumerate(position))
    assert 0 <= code < 3**board.cells
    assert board.decode(code) == position
    text = board.format_position(position)
    assert [len(row) for row in text.split(" ")] == [board.cols] * board.rows
    assert text.replace(" ", "") == "".join(".XO"[mark] for mark in position)


@given(boards().flatmap(lambda board: st.tuples(st.just(board), st.integers(0, 3**board.cells - 1))))
def test_a_code_comes_back_from_its_position(case: tuple[Board, int]) -> None:
    board, code = case
    assert board.encode(board.decode(code)) == code
    assert board.decode(code) == naive.Board(board.rows, board.cols, board.k).position(code)


@pytest.mark.slow
@given(boards(), st.integers())
def test_codes_outside_the_board_are_refused(board: Board, code: int) -> None:
    if not 0 <= code < 3**board.cells:
        with pytest.raises(BoardError, match=f"code {code} is outside 0 .. {3**board.cells - 1}"):
            board.decode(code)


def test_columns_are_named_as_in_a_spreadsheet() -> None:
    names = ["".join(pair) for pair in product(["", "a", "b"], string.ascii_lowercase)]
    assert [column_name(col) for col in range(64)] == names[:64]
    assert Board(1, 64, 3).cell_name(63) == "bl1" and Board(8, 8, 5).cell_name(63) == "h8"


# --- the largest boards -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "board", [Board(8, 8, 5), Board(8, 8, 8, exact=True), Board(4, 16, 4), Board(1, 64, 3), Board(64, 1, 64)]
)
def test_lines_of_boards_of_64_cells_are_bits_of_python_ints(board: Board) -> None:
    plain = naive.Board(board.rows, board.cols, board.k)
    assert list(board.lines) == plain.lines and sorted(board.symmetries) == plain.symmetries
    assert board.symmetries[0] == tuple(range(64))
    for line, (mask, fence) in zip(board.lines, board.line_masks, strict=True):
        assert [cell for cell in range(64) if mask >> cell & 1] == list(line)
        assert 0 < mask < 2**64 and mask & fence == 0 <= fence < 2**64
    assert max(mask for mask, _ in board.line_masks) >= 2**63


def test_a_line_may_end_on_the_last_of_64_cells() -> None:
    board = Board(8, 8, 5, exact=True)
    diagonal = [27, 36, 45, 54, 63]
    five = tuple(int(cell in diagonal) for cell in range(64))
    assert board.outcome(five) == FIRST_WINS and board.winning_cells(five) == {*diagonal}
    assert board.outcome(tuple(int(cell in (18, *diagonal)) for cell in range(64))) == UNFINISHED


@pytest.mark.parametrize("board", [Board(5, 8, 5), Board(8, 8, 5), Board(1, 40, 3)])
def test_kernels_are_refused_boards_whose_codes_pass_63_bits(board: Board) -> None:
    with pytest.raises(BoardError, match=f"{board.cells} cells; codes of positions take 63 bits up to 39 cells"):
        make_places(board, False)


def test_codes_of_39_cells_are_whole_in_kernels() -> None:
    board = Board(3, 13, 3)
    places = make_places(board, True)
    assert 3**board.cells < 2**63 < 3 ** (board.cells + 1)
    assert [int(power) for power in places.power[:, 0]] == [3**cell for cell in range(board.cells)]
    lines = {int(line) for line in places.lines.ravel()} - {0}
    assert lines == {mask for mask, _ in board.line_masks}


# --- boards by name -----------------------------------------------------------------------------------------


@given(boards())
def test_a_board_comes_back_from_its_name(board: Board) -> None:
    assert parse_board(board.name) == board
    assert parse_board(f" {board.rows} X {board.cols} x {board.k} ") == board


@pytest.mark.parametrize(
    ("text", "board"),
    [
        ("3x3", Board(3, 3, 3)),
        ("4x4", Board(4, 4, 4)),
        ("3x4", Board(3, 4, 3)),
        ("5x3", Board(5, 3, 3)),
        ("4x4x3", Board(4, 4, 3)),
        ("1x7x7", Board(1, 7, 7)),
        ("6X6x5", Board(6, 6, 5)),
        *((name, Board(6, 7, 4, gravity=True)) for name in ("connect4", "connect-four", "Connect Four", " CONNECT_4 ")),
    ],
)
def test_names_of_boards(text: str, board: Board) -> None:
    assert parse_board(text) == board


@pytest.mark.parametrize("rules", ["misere", "exact", "misere-exact", "gravity"])
def test_rules_follow_the_size(rules: str) -> None:
    board = Board(3, 4, 3, **dict.fromkeys(rules.split("-"), True))
    assert board.name == f"3x4x3-{rules}" and parse_board(board.name) == parse_board(f" 3X4x3-{rules.upper()}") == board


def test_the_last_number_is_left_out_of_the_classic_s_name_alone() -> None:
    assert [board.name for board in (Board(), Board(3, 3, 2), Board(4, 4, 4))] == ["3x3", "3x3x2", "4x4x4"]


NO_SIZES = ["", "3", "3x", "x3", "3x3x", "3x3x3x3", "3*3", "axb", "3.0x3", "-3x3", "3x3 4", "٣x٣", "3x1000"]
NO_RULES = ["3x3-exact-misere", "3x3-misere-misere", "3x3 wild", "3x3-", "3x3-wild", "-misere"]


@pytest.mark.parametrize("text", [*NO_SIZES, *NO_RULES])
def test_texts_that_are_no_board(text: str) -> None:
    with pytest.raises(BoardError, match="ROWSxCOLUMNS") as caught:
        parse_board(text)
    assert repr(text) in str(caught.value) and len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("0x3", "at least 1"),
        ("3x0", "at least 1"),
        ("0x0", "at least 1"),
        ("13x5", "65 cells; at most 64"),
        ("999x999", "at most 64"),
        ("3x3x0", "between 1 and the longer side, 3"),
        ("3x3x4", "between 1 and the longer side, 3"),
        ("2x5x6", "between 1 and the longer side, 5"),
    ],
)
def test_boards_outside_the_limits(text: str, words: str) -> None:
    with pytest.raises(BoardError, match=words) as caught:
        parse_board(text)
    assert re.match(rf"board {text}[: ]", str(caught.value)) and len(str(caught.value).splitlines()) == 1


def test_a_board_of_text_is_refused_with_the_function_that_reads_it() -> None:
    for wrong in (("3x3",), (3, "3"), (3.0, 3, 3), (None,)):
        with pytest.raises(BoardError, match=r"whole numbers.*parse_board\('3x4x3'\)"):
            Board(*wrong)  # type: ignore[arg-type]
