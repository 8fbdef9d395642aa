"""Batches of real positions as agents get them: each board as the player to move sees it.

Between layers of play a position is two words, the marks of both players; agents see arrays.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_batch.game.board import EMPTY, FIRST, SECOND, Board, Position

Words = NDArray[np.uint64]
"""uint64[n]: a set of cells for each of n positions."""


class Positions(NamedTuple):
    """Unfinished positions that an agent is asked about.

    boards: int8[n, rows, cols], 1 marks of the player to move, -1 of the other, 0 free cells.
    to_move: int8[n], 0 if the first player moves, 1 if the second.
    legal: bool[n, cells], the cells that may be marked, row by row.
    """

    boards: NDArray[np.int8]
    to_move: NDArray[np.int8]
    legal: NDArray[np.bool_]

    @property
    def size(self) -> int:
        """How many positions there are."""
        return len(self.boards)

    def picked(self, numbers: NDArray[np.int64] | slice) -> "Positions":
        """The positions of these numbers, in this order."""
        return Positions(self.boards[numbers], self.to_move[numbers], self.legal[numbers])

    def position(self, number: int) -> Position:
        """The marks of one position."""
        marks = FIRST, SECOND
        mover = int(self.to_move[number])
        named = {1: marks[mover], -1: marks[1 - mover], 0: EMPTY}
        return tuple(named[mark] for mark in self.boards[number].ravel().tolist())


def as_cells(words: Words, cells: int) -> NDArray[np.bool_]:
    """bool[n, cells]: which cells each set has."""
    octets = words.astype("<u8").view(np.uint8).reshape(-1, 8)
    return np.unpackbits(octets, axis=1, count=cells, bitorder="little").view(np.bool_)


def as_words(chosen: NDArray[np.bool_]) -> Words:
    """uint64[n]: the sets of the cells that are True in each row (bool[n, cells])."""
    octets = np.zeros((len(chosen), 8), np.uint8)
    octets[:, : -(-chosen.shape[1] // 8)] = np.packbits(chosen, axis=1, bitorder="little")
    return octets.view("<u8").ravel().astype(np.uint64)


def position_codes(first: Words, second: Words, cells: int) -> NDArray[np.int64]:
    """int64[n]: the codes of positions with these marks of both players, on boards of at most 39 cells."""
    powers = 3 ** np.arange(cells, dtype=np.int64)
    codes: NDArray[np.int64] = as_cells(first, cells) @ powers + 2 * (as_cells(second, cells) @ powers)
    return codes


def legal_cells(board: Board, taken: Words) -> NDArray[np.bool_]:
    """bool[n, cells]: the cells that may be marked if those of `taken` are."""
    legal = ~as_cells(taken, board.cells)
    if board.gravity:
        # A mark falls onto the lowest free cell of its column.
        legal[:, : -board.cols] &= ~legal[:, board.cols :]
    return legal


def batch_of(board: Board, own: Words, other: Words, mover: int | NDArray[np.integer]) -> Positions:
    """The batch of positions with these marks of the player to move and of its opponent.

    mover: who moves, 0 or 1, in all or in each.
    """
    mine, theirs = as_cells(own, board.cells), as_cells(other, board.cells)
    boards = (mine.astype(np.int8) - theirs.astype(np.int8)).reshape(-1, board.rows, board.cols)
    to_move = np.broadcast_to(np.int8(mover), own.shape).astype(np.int8)
    return Positions(boards, to_move, legal_cells(board, own | other))


def mover_words(batch: Positions) -> tuple[Words, Words]:
    """uint64[n] twice: the marks of the player to move and of its opponent."""
    flat = batch.boards.reshape(batch.size, -1)
    return as_words(flat == 1), as_words(flat == -1)


def batch_at(board: Board, position: Position) -> Positions:
    """The batch of one unfinished position."""
    marks = np.array([position])
    mover = int((marks != EMPTY).sum()) % 2
    own, other = as_words(marks == FIRST + mover), as_words(marks == SECOND - mover)
    return batch_of(board, own, other, mover)
