"""A board as the batch's kernels read it: moves and lines by shifts and masks, all cells of a board in one word.

Bit `i` is cell `i`.  A line of `k` cells is found by shifting a player's cells onto themselves: after shifts by 1, 2
and 1 steps of a direction, those bits are left from which five cells follow each other.  `starts` are cells from which
a line of the direction fits on the board.  With gravity a move is a column: of its free cells only the lowest has no
free cell below, so `steps.landing` knows it without a search.
"""

from typing import Any, NamedTuple

import numpy as np

from ttt_batch.game.board import Board

MAX_NARROW_CELLS = 31
"""Cells up to which words have 32 bits: twice as many boards in a vector."""

STAGES, FEW_STAGES = 6, 3
"""Shifts that find a line of up to 64 cells, and of up to 8."""


class Rules(NamedTuple):
    """A board's rules.  `W` is the word of its states, uint32 or uint64.

    cells, actions: how many there are; with gravity an action is a column.  misere: 1 if a line loses, else 0.
    full: W[1], all cells.  column: W[1], the cells of action 0; those of action `a` are `a` bits higher.
    top: W[1], a bit for each action, which is legal if that cell is free.
    below: how many bits higher the cell below is; 0 without gravity.  bottom: W[1], cells that have none below.
    plain: whether no line has a fence and FEW_STAGES shifts find it.
    shifts: W[4, STAGES], for each direction by which a player's cells are moved onto themselves in turn.
    starts: W[4], first cells of lines.
    before, after: W[4], with `-exact` the starts that have a cell before the line, and after it.
    back, ahead: W[4], how far these are from the start.
    """

    cells: int
    actions: int
    misere: int
    full: Any
    column: Any
    top: Any
    below: int
    bottom: Any
    plain: bool
    shifts: Any
    starts: Any
    before: Any
    after: Any
    back: Any
    ahead: Any


def word_type(board: Board) -> type[np.uint32] | type[np.uint64]:
    """The word that holds a set of the board's cells."""
    return np.uint32 if board.cells <= MAX_NARROW_CELLS else np.uint64


def stages(k: int, step: int) -> list[int]:
    """Shifts that leave the first cell of `k` in a row, each `step` after the one before: 1, 2, 4, ... steps."""
    shifts, have = [], 1
    while have < k:
        more = min(have, k - have)
        shifts.append(more * step)
        have += more
    return shifts


def make_rules(board: Board) -> Rules:
    """The rules of any board."""
    word = word_type(board)

    def bits(cells: Any) -> Any:
        return sum(1 << cell for cell in cells)

    directions = []
    for down, right in ((0, 1), (1, 0), (1, 1), (1, -1)):
        step = down * board.cols + right
        starts = [
            row * board.cols + col
            for row in range(board.rows)
            for col in range(board.cols)
            if row + (board.k - 1) * down < board.rows and 0 <= col + (board.k - 1) * right < board.cols
        ]
        fences = [0, 0]
        for start in starts if board.exact and board.k > 1 else []:
            for side, far in enumerate((-1, board.k)):
                row, col = start // board.cols + far * down, start % board.cols + far * right
                fences[side] |= (0 <= row < board.rows and 0 <= col < board.cols) << start
        back, ahead = (step if fences[0] else 0), (board.k * step if fences[1] else 0)
        directions.append((stages(board.k, step) if starts else [], bits(starts), *fences, back, ahead))
    shifts = [(found[0] + STAGES * [0])[:STAGES] for found in directions]
    lists = [np.array([found[place] for found in directions], word) for place in range(1, 6)]
    most = max(len(found[0]) for found in directions)

    def one(value: int) -> Any:
        return np.array([value], word)

    return Rules(
        cells=board.cells,
        actions=n_actions(board),
        misere=int(board.misere),
        full=one(bits(range(board.cells))),
        column=one(bits(range(0, board.cells, board.cols)) if board.gravity else 1),
        top=one(bits(range(n_actions(board)))),
        below=board.cols if board.gravity and board.rows > 1 else 0,
        bottom=one(bits(range(board.cells - board.cols if board.gravity else 0, board.cells))),
        plain=not board.exact and most <= FEW_STAGES,
        shifts=np.array(shifts, word),
        starts=lists[0],
        before=lists[1],
        after=lists[2],
        back=lists[3],
        ahead=lists[4],
    )


def n_actions(board: Board) -> int:
    """How many actions there are: a number for each cell, with gravity for each column."""
    return board.cols if board.gravity else board.cells
