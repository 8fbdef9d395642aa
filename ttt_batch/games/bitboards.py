"""Boards as bits for kernels: players' cells and winning lines as integers.

A position's code is a sum over its cells, so the codes of all images of a child follow from those of its parent by one
addition each.

`Places` serves boards with position codes, and tests the lines through one cell.  `Lines` serves boards of up to 64
cells: each line is a set of cells in one word, and one loop over all lines finds all facts about a position.
"""

from typing import NamedTuple

import numpy as np

from ttt_batch.compiler.bits import NONE, all_cells, popcount
from ttt_batch.compiler.jit import Bool, Int64, Int64Array, Integer, Uint64Array, inlined, kernel
from ttt_batch.compiler.numerics import GOLDEN, MIX_1, S32
from ttt_batch.core.errors import BoardError
from ttt_batch.games.board import DRAW, FIRST_WINS, MAX_CODED_CELLS, UNFINISHED, Board


class Places(NamedTuple):
    """A board as kernels read it.

    power: int64[cells, images], what a first player's mark on a cell adds to the code of each image.
    lines, fences: int64[cells, most], the lines through each cell as bits (0 where there are fewer), and which cells
    must not be the same player's (`Board.line_masks`).
    misere: 1 if the player who completes a line loses, else 0.
    below: how much greater the number of the cell below is; 0 without gravity.
    """

    power: Int64Array
    lines: Int64Array
    fences: Int64Array
    misere: int
    below: int


def make_places(board: Board, symmetry: bool) -> Places:
    """Return `board` for kernels, with the images of its symmetries or only itself.

    Raises BoardError for a board whose codes int64 does not hold.
    """
    if board.cells > MAX_CODED_CELLS:
        raise BoardError(
            f"board {board.name} has {board.cells} cells; codes of positions take 63 bits up to {MAX_CODED_CELLS} cells"
        )
    power = np.zeros((board.cells, len(board.images(symmetry))), np.int64)
    for number, image in enumerate(board.images(symmetry)):
        for cell, origin in enumerate(image):
            power[origin, number] = 3**cell
    most = max(1, *map(len, board.lines_through))
    lines, fences = np.zeros((2, board.cells, most), np.int64)
    for cell, pairs in enumerate(board.lines_through):
        for number, (line, fence) in enumerate(pairs):
            lines[cell, number], fences[cell, number] = line, fence
    return Places(power, lines, fences, int(board.misere), board.cols if board.gravity else 0)


@inlined
def is_open(places: Places, cell: Int64, taken: Int64) -> bool:
    """Return whether a cell may be marked: it is not in `taken` (int64, bits) and, with gravity, the one below is."""
    if (taken >> cell) & 1 != 0:
        return False
    lower = cell + places.below
    return places.below == 0 or lower >= places.power.shape[0] or (taken >> lower) & 1 != 0


@inlined
def completes(places: Places, cell: Int64, marks: Int64) -> bool:
    """Return whether a player with cells `marks` (bits) completed a line by the last one, `cell`."""
    for number in range(places.lines.shape[1]):
        line = places.lines[cell, number]
        if line != 0 and marks & (line | places.fences[cell, number]) == line:
            return True
    return False


@inlined
def outcome_after(places: Places, cell: Int64, marks: Int64, mover: Int64, last: Bool) -> Int64:
    """Return the outcome of a move to `cell` by `mover` (0 or 1), who then has `marks`; last: no cell is free."""
    if completes(places, cell, marks):
        return FIRST_WINS + (mover ^ places.misere)
    return DRAW if last else UNFINISHED


@inlined
def image_codes(places: Places, code: Int64, images: Int64Array) -> None:
    """Write the codes of all images of the position `code` into `images` (int64[images]), in place."""
    images[:] = 0
    for cell in range(places.power.shape[0]):
        mark = code % 3
        code //= 3
        if mark != 0:
            for image in range(places.power.shape[1]):
                images[image] += mark * places.power[cell, image]


@inlined
def lowest_child(places: Places, images: Int64Array, cell: Int64, mark: Int64) -> np.int64:
    """Return the lowest code among the images of a child: `images` plus `mark` on `cell` (negative to remove it)."""
    lowest = images[0] + mark * places.power[cell, 0]
    for image in range(1, places.power.shape[1]):
        code = images[image] + mark * places.power[cell, image]
        lowest = code if code < lowest else lowest
    return lowest


@inlined
def marks_of(code: Int64, n_cells: Int64) -> tuple[np.int64, np.int64]:
    """Return the cells of the first and the second player in the position `code`, as bits (int64 both)."""
    first, second = np.int64(0), np.int64(0)
    for cell in range(n_cells):
        mark = code % 3
        code //= 3
        first |= np.int64(mark == 1) << cell
        second |= np.int64(mark == 2) << cell
    return first, second


EMPTY_SLOT = -1
"""Content of a slot without a row in a hash table (open addressing, a power of two slots)."""

TAG = (1 << 32) - 1
"""The bits of a hash that a slot keeps beside its row."""


@inlined
def hash_of(code: Integer) -> np.uint64:
    """Return 64 mixed bits (uint64) of a code."""
    mixed = np.uint64(code) * GOLDEN
    mixed = (mixed ^ (mixed >> S32)) * MIX_1
    return mixed ^ (mixed >> S32)


class Lines(NamedTuple):
    """Lines of a board.

    mask, fence: uint64[lines], the cells of each line, and the cells that its player must not hold
    (`Board.line_masks`).  cells, k: as in `Board`.  misere: 1 if the player who completes a line loses, else 0.
    below: distance from a cell to the cell below, in numbers; 0 without gravity.
    """

    mask: Uint64Array
    fence: Uint64Array
    cells: int
    k: int
    misere: int
    below: int


class LineView(NamedTuple):
    """Threats and open lines in a position.

    own, other: uint64, the free cells with which the player to move or its opponent would complete a line.
    own_open, other_open: True if that player can still complete a line with its remaining moves.

    Gravity makes no difference: cells in the air are among these, and lines that no order of falling marks fills.
    """

    own: np.uint64
    other: np.uint64
    own_open: Bool
    other_open: Bool


def make_lines(board: Board) -> Lines:
    """Return the lines of `board`."""
    masks = np.array(board.line_masks, np.uint64).reshape(-1, 2)
    below = board.cols if board.gravity else 0
    return Lines(masks[:, 0].copy(), masks[:, 1].copy(), board.cells, board.k, int(board.misere), below)


@inlined
def open_cells(lines: Lines, taken: np.uint64) -> np.uint64:
    """Return the cells that may be marked beside `taken` (uint64 both); with gravity one of each column."""
    return open_among(lines, all_cells(lines.cells) & ~taken)


@inlined
def open_among(lines: Lines, free: np.uint64) -> np.uint64:
    """Return which of all free cells may be marked (uint64 both)."""
    if lines.below == 0:
        return free
    return free & ~(free >> np.uint64(lines.below))


@inlined
def view_of(lines: Lines, own: np.uint64, other: np.uint64) -> LineView:
    """Return the `LineView` of a position.  own, other: uint64, the marks of the player to move and of its opponent."""
    left = lines.cells - popcount(own | other)
    own_least, other_least = lines.k - (left + 1) // 2, lines.k - left // 2
    own_open: Bool = False
    other_open: Bool = False
    own_cells, other_cells = NONE, NONE
    for number in range(lines.mask.shape[0]):  # few branches: most are mispredicted in play
        line, fence = lines.mask[number], lines.fence[number]
        if (line & other) | (fence & own) == NONE:
            marks = popcount(line & own)
            own_open |= marks >= own_least
            own_cells |= line if marks == lines.k - 1 else NONE
        if (line & own) | (fence & other) == NONE:
            marks = popcount(line & other)
            other_open |= marks >= other_least
            other_cells |= line if marks == lines.k - 1 else NONE
    return LineView(own_cells & ~own, other_cells & ~other, own_open, other_open)


@inlined
def can_fill(lines: Lines, own: np.uint64, other: np.uint64, left: Int64) -> bool:
    """Return whether a player with marks `own` against `other` (uint64) can still complete a line with `left` moves.

    It may mark any free cells for that, also where marks fall.
    """
    for number in range(lines.mask.shape[0]):
        line = lines.mask[number]
        if line & other == NONE and lines.fence[number] & own == NONE and lines.k - popcount(line & own) <= left:
            return True
    return False


RANDOM, ONE_PLY, TWO_PLY = range(3)
"""Scripted players, as indices of `SCRIPTED`."""


@kernel
def scripted_cells(lines: Lines, own: np.uint64, other: np.uint64, plies: Int64) -> np.uint64:
    """Return the cells (uint64, a set) that a scripted player picks among evenly.

    own, other: uint64, its marks and its opponent's.  plies: RANDOM, ONE_PLY or TWO_PLY.
    """
    free = open_cells(lines, own | other)
    if plies == RANDOM:
        return free
    view = view_of(lines, own, other)
    if lines.misere != 0:
        return free & ~view.own if free & ~view.own != NONE else free
    if free & view.own != NONE:
        return free & view.own
    return free & view.other if plies == TWO_PLY and free & view.other != NONE else free
