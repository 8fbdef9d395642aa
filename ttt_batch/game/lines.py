"""A board of up to 64 cells as kernels read it without rows or codes: each line is a set of cells in one word.

`bitboards` is the same for boards that have codes, a line through a given cell at a time; here one loop over all lines
finds everything that is asked of a position.
"""

from typing import Any, NamedTuple

import numpy as np

from ttt_batch.base.bits import NONE, all_cells, popcount
from ttt_batch.base.jit import inlined
from ttt_batch.game.board import Board


class Lines(NamedTuple):
    """The lines of a board.

    mask, fence: uint64[lines], the cells of each line, and those that must not be the same player's, too
    (`Board.line_masks`).  cells, k: as in `Board`.  misere: 1 if the player who completes a line loses, else 0.
    below: how much greater the number of the cell below is; 0 without gravity.
    """

    mask: Any
    fence: Any
    cells: int
    k: int
    misere: int
    below: int


class LineView(NamedTuple):
    """What the lines say of a position.

    own, other: uint64, the free cells with which the player to move, and its opponent, would complete a line.
    own_open, other_open: whether each can still complete one, with the moves that it has left.
    """

    own: Any
    other: Any
    own_open: Any
    other_open: Any


def make_lines(board: Board) -> Lines:
    """The lines of `board`."""
    masks = np.array(board.line_masks, np.uint64).reshape(-1, 2)
    below = board.cols if board.gravity else 0
    return Lines(masks[:, 0].copy(), masks[:, 1].copy(), board.cells, board.k, int(board.misere), below)


@inlined
def open_cells(lines: Lines, taken: Any) -> Any:
    """The cells that may be marked if `taken` are (uint64 both): with gravity the lowest free one of each column."""
    free = all_cells(lines.cells) & ~taken
    if lines.below == 0:
        return free
    return free & ~(free >> np.uint64(lines.below))


@inlined
def view_of(lines: Lines, own: Any, other: Any) -> LineView:
    """What the lines say of a position.  own, other: uint64, the marks of the player to move and of its opponent."""
    left = lines.cells - popcount(own | other)
    own_left, other_left = (left + 1) // 2, left // 2
    own_cells, other_cells, own_open, other_open = NONE, NONE, False, False
    for number in range(lines.mask.shape[0]):
        line, fence = lines.mask[number], lines.fence[number]
        if line & other == NONE and fence & own == NONE:
            missing = lines.k - popcount(line & own)
            own_open = own_open or missing <= own_left
            if missing == 1:
                own_cells |= line & ~own
        if line & own == NONE and fence & other == NONE:
            missing = lines.k - popcount(line & other)
            other_open = other_open or missing <= other_left
            if missing == 1:
                other_cells |= line & ~other
    return LineView(own_cells, other_cells, own_open, other_open)


@inlined
def can_fill(lines: Lines, own: Any, other: Any, left: Any) -> Any:
    """Whether a player with marks `own`, against `other` (uint64 both), can still complete a line with `left` moves."""
    for number in range(lines.mask.shape[0]):
        line = lines.mask[number]
        if line & other == NONE and lines.fence[number] & own == NONE and lines.k - popcount(line & own) <= left:
            return True
    return False
