"""Opening books: what is written is read, a wrong file is refused, and the solver answers by it."""

from pathlib import Path

import numpy as np
import pytest

import ttt_batch as ttt
from ttt_batch.core.errors import TttBatchError
from ttt_batch.games.board import UNFINISHED, Position
from ttt_batch.games.gravity_solver import SIGN, GravitySolver
from ttt_batch.games.opening_book import SIGN_ONLY, book_path, read_book, write_book

BOARD = ttt.parse_board("4x4x3-gravity")
EMPTY_BOARD = (0,) * BOARD.cells


def test_a_book_is_read_as_written(tmp_path: Path):
    solver = GravitySolver(BOARD, 1 << 12)
    after = [BOARD.after(EMPTY_BOARD, cell) for cell in BOARD.open_cells(EMPTY_BOARD)]
    scores = {solver.key(marks): score for marks in after if (score := solver.score(marks)) is not None}
    assert len(scores) == 2, "mirror images share a key"
    write_book(BOARD, scores, tmp_path / "book.npz")
    assert read_book(BOARD, tmp_path / "book.npz") == scores
    assert read_book(BOARD, tmp_path / "none.npz") == {} == read_book(BOARD)


def test_the_solver_answers_by_its_book():
    """A wrong score shows where an answer comes from."""
    plain = GravitySolver(BOARD, 1 << 12)
    known = GravitySolver(BOARD, 1 << 12, book={plain.key(EMPTY_BOARD): -1})
    true, read = plain.solve(EMPTY_BOARD), known.solve(EMPTY_BOARD)
    assert true is not None and true.result == 1 and read == (-1, 16) and known.entered == 0


def test_a_position_of_which_only_the_winner_is_known_is_searched_for_the_rest():
    plain = GravitySolver(BOARD, 1 << 12)
    known = GravitySolver(BOARD, 1 << 12, book={plain.key(EMPTY_BOARD): -SIGN_ONLY})
    assert known.score(EMPTY_BOARD, between=SIGN) == -SIGN_ONLY and known.entered == 0
    assert known.solve(EMPTY_BOARD) == plain.solve(EMPTY_BOARD) and known.entered == plain.entered > 0


def test_other_files_are_refused_in_a_line(tmp_path: Path):
    path = tmp_path / "book.npz"
    write_book(BOARD, {3: 1, 5: -2}, path)
    with pytest.raises(TttBatchError, match=r"is the opening book of 4x4x3-gravity, not of 6x7x4-gravity; choose"):
        read_book(ttt.parse_board("connect4"), path)
    with np.load(path) as held:
        changed = dict(held) | {"score": np.array([1, 2], np.int8)}
    np.savez(path, **changed)
    with pytest.raises(TttBatchError, match=r"is no opening book, or was changed; scripts/opening_book.py makes"):
        read_book(BOARD, path)
    with path.open("wb") as file:
        np.save(file, np.arange(3))
    array = path.read_bytes()
    for content in (b"nothing", b"", array):
        path.write_bytes(content)
        with pytest.raises(TttBatchError, match="is no opening book"):
            read_book(BOARD, path)


def moved(marks: Position, board: ttt.Board) -> list[Position]:
    return [board.after(marks, cell) for cell in board.open_cells(marks)]


def test_the_book_of_connect_four_agrees_with_itself():
    """A position's score is the best of its moves' wherever the book has them all; it does not read them for it."""
    board = ttt.parse_board("connect4")
    solver, book, checked = GravitySolver(board, 256), read_book(board), 0
    assert book and book_path(board).stat().st_size < 2_000_000
    layer = [(0,) * board.cells]
    for _ in range(4):
        for marks in layer:
            scores = [-book[key] for after in moved(marks, board) if (key := solver.key(after)) in book]
            if len(scores) == len(board.open_cells(marks)):
                score = book[solver.key(marks)]
                exact = SIGN_ONLY not in map(abs, [score, *scores])
                assert score == max(scores) if exact else np.sign(score) == np.sign(max(scores))
                checked += 1
        layer = [after for marks in layer for after in moved(marks, board) if board.outcome(after) == UNFINISHED]
    assert checked


def test_connect_four_is_won_in_the_middle_column_in_move_41():
    """Allis' and Allen's result, and those of the other columns, by the book alone."""
    board = ttt.parse_board("connect4")
    solver = GravitySolver(board, 256, read_book(board))
    empty = (0,) * board.cells
    found = {board.cell_name(cell): solver.solve(board.after(empty, cell)) for cell in board.open_cells(empty)}
    left = {"a6": (-1, 39), "b6": (-1, 41), "c6": (0, 41), "d6": (1, 40)}
    assert found == left | {"e6": left["c6"], "f6": left["b6"], "g6": left["a6"]}
    assert solver.solve(empty) == (1, 41) and solver.entered == 0
