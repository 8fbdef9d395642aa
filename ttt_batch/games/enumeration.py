"""Enumeration of every position of a board that can occur in play, and the choice of how to keep them.

Up to symmetry a row is a class of positions and stands for them as the image with the lowest code.  Its edges are the
moves of that image, one for each free cell, even if several lead to the same class.

A code is a sum over cells, so the codes of all images of a child follow from those of its parent by one addition
each.  A hash table tells the positions of a ply apart: 4x4x4 (1,217,977 classes, 6,460,008 moves) takes 0.5 s.

How a board's positions are kept: enumerated, enumerated up to symmetry, or added as play reaches them.
The board alone decides, before any work: counting marks gives the greatest possible number of positions.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_batch.compiler.jit import Int8Array, Int32Array, Int64, Int64Array, Uint32Array, kernel
from ttt_batch.core.errors import BoardError, command_with
from ttt_batch.core.text import SWITCH_WORDS, choose
from ttt_batch.games.bitboards import (
    EMPTY_SLOT,
    Places,
    hash_of,
    image_codes,
    is_open,
    lowest_child,
    make_places,
    marks_of,
    outcome_after,
)
from ttt_batch.games.board import (
    DRAW,
    FIRST_WINS,
    MAX_TABLE_CELLS,
    SECOND_WINS,
    UNFINISHED,
    Board,
    most_positions,
    positions_of_ply,
)
from ttt_batch.games.graph import Graph

PLAIN = 1_000_000
"""Positions up to which a board is enumerated without symmetry by default."""

ENUMERATED = 12_000_000
"""Rows up to which a board is enumerated at all: 4x4 has 10,165,779 positions, of which 4x4x3 reaches 6,036,001."""

WORDS = ("on", "off", "auto")


class Space(NamedTuple):
    """grown: rows are added as play reaches them.  symmetry: a row stands for all images of a position."""

    grown: bool
    symmetry: bool


def choose_space(board: Board, symmetry: bool | str, *, prefers: bool) -> Space:
    """Return how to keep the positions of `board`.

    symmetry: `on`, `off`, or `auto`: off on a small board, on if that makes the board enumerable, otherwise as the
    learner `prefers`.  Raises UsageError, and BoardError for a board of more than MAX_TABLE_CELLS cells.
    """
    choices = f"a smaller board, or networks: {command_with('train', 'learner', 'patterns')}"
    check_table_cells(board, "tables by position", choices)
    if not isinstance(symmetry, bool):
        symmetry = choose("symmetry", symmetry, WORDS, words=SWITCH_WORDS)
    positions, images = most_positions(board), len(board.symmetries)
    if symmetry == "auto":
        if positions <= PLAIN:
            return Space(False, False)
        if positions <= ENUMERATED * images:
            return Space(False, images > 1)
        return Space(True, prefers and images > 1)
    wanted = (symmetry is True or symmetry == "on") and images > 1
    return Space(positions > ENUMERATED * (images if wanted else 1), wanted)


def check_table_cells(board: Board, what: str, choices: str) -> None:
    """Raise BoardError, in one line with the remedy, if the board has too many cells for `what`."""
    if board.cells > MAX_TABLE_CELLS:
        limit = f"{what} take at most {MAX_TABLE_CELLS}"
        raise BoardError(f"board {board.name} has {board.cells} cells; {limit}: choose {choices}")


def check_enumerable(board: Board, grown: bool, what: str) -> None:
    """Raise BoardError, which says that `what` needs an enumerated board, if this one is `grown`."""
    if grown:
        raise too_large(what, board, "choose a smaller one, such as 4x4x4")


def too_large(what: str, board: Board, remedy: str) -> BoardError:
    """Return the error for `what` needing an enumerated board."""
    return BoardError(
        f"{what} needs an enumerated board; {board.name} is too large to enumerate, with up to "
        f"{most_positions(board):,} positions: {remedy}"
    )


MAX_ROWS = 20_000_000
"""Rows that are enumerated at most; about 1.5 GB of graph."""

SMALL = 9
"""Cells up to which NumPy alone enumerates: 3x3 takes 5 ms; the kernels take 2 ms, 60 ms to load, 1.5 s to compile."""


@kernel
def next_ply(
    places: Places,
    parents: Int64Array,
    ply: Int64,
    slots: Int32Array,
    code: Int64Array,
    outcome: Int8Array,
    cells: Int8Array,
    target: Int32Array,
    width: Uint32Array,
    images: Int64Array,
) -> Int64:
    """Find the children of the unfinished positions `parents` (int64, codes) of `ply`.

    Returns how many there are, written to `code` (int64) and `outcome` (int8) in the order found, or -1 if they do not
    fit.  cells (int8), target (int32): the moves, grouped by parent, and the child that each leads to.
    width: uint32, how many moves each parent has.
    slots: int32, a power of two of EMPTY_SLOT; a hash table of the children.  images: int64[images], scratch.
    """
    n_cells = places.power.shape[0]
    mover = ply & 1
    mask = slots.shape[0] - 1
    found, edge = 0, 0
    for i in range(parents.shape[0]):
        image_codes(places, parents[i], images)
        first, second = marks_of(parents[i], n_cells)
        taken, own = first | second, second if mover else first
        for cell in range(n_cells):
            if not is_open(places, cell, taken):
                continue
            width[i] += 1
            child = lowest_child(places, images, cell, 1 + mover)
            slot = np.int64(hash_of(child) & np.uint64(mask))
            while slots[slot] != EMPTY_SLOT and code[slots[slot]] != child:
                slot = (slot + 1) & mask
            if slots[slot] == EMPTY_SLOT:
                if found == code.shape[0]:
                    return -1
                code[found] = child
                outcome[found] = outcome_after(places, cell, own | (1 << cell), mover, ply + 1 == n_cells)
                slots[slot] = found
                found += 1
            cells[edge], target[edge] = cell, slots[slot]
            edge += 1
    return found


class _Ply(NamedTuple):
    """All positions of one ply, by code, and the moves out of the unfinished ones, grouped by position.

    target: the child that each move leads to, as an index into the next ply.  width: moves of each unfinished one.
    """

    code: NDArray[np.int64]
    outcome: NDArray[np.int8]
    cell: NDArray[np.int8]
    target: NDArray[np.int32]
    width: NDArray[np.uint32]


def _plies(board: Board, symmetry: bool, counts: tuple[int, ...] | None) -> Iterator[_Ply]:
    """Enumerate breadth first by kernels; `counts`, if given, limits the memory of each ply."""
    places = make_places(board, symmetry)
    images = np.zeros(places.power.shape[1], np.int64)
    code, outcome = np.zeros(1, np.int64), np.zeros(1, np.int8)
    for ply in range(board.cells + 1):
        if counts is not None and counts[ply] != code.size:
            raise _other_positions(board)
        parents = code[outcome == UNFINISHED]
        n_edges = parents.size * (board.cells - ply)
        cell, target = np.empty(n_edges, np.int8), np.empty(n_edges, np.int32)
        if n_edges == 0:
            yield _Ply(code, outcome, cell, target, np.zeros(0, np.uint32))
            return
        positions = positions_of_ply(board, ply + 1)
        most = min(n_edges, positions, positions if counts is None else counts[ply + 1])
        for space in (min(most, 64 + 2 * positions // images.size), most):  # most: many are their own images
            children, outcomes = np.empty(space, np.int64), np.empty(space, np.int8)
            width = np.zeros(parents.size, np.uint32)
            slots = np.full(1 << (2 * space).bit_length(), EMPTY_SLOT, np.int32)
            found = next_ply(places, parents, ply, slots, children, outcomes, cell, target, width, images)
            if found >= 0:
                break
        else:
            raise _other_positions(board)
        order = np.argsort(children[:found])
        rank = np.empty(found, np.int32)
        rank[order] = np.arange(found, dtype=np.int32)
        moves = int(width.sum())
        yield _Ply(code, outcome, cell[:moves], rank[target[:moves]], width)
        code, outcome = children[order], outcomes[order]


def _plies_of_small(board: Board) -> Iterator[_Ply]:
    """Enumerate without kernels and without symmetry."""
    powers = 3 ** np.arange(board.cells, dtype=np.int64)
    code, masks = np.zeros(1, dtype=np.int64), np.zeros((1, 2), dtype=np.int64)
    for ply in range(board.cells + 1):
        outcome = np.full(code.size, UNFINISHED if ply < board.cells else DRAW, np.int8)
        for player in range(2):
            for line, fence in board.line_masks:
                outcome[masks[:, player] & (line | fence) == line] = board.won_by_line_of(player)
        free = board.open_among(((masks[:, :1] | masks[:, 1:]) >> np.arange(board.cells)) & 1 == 0)
        free &= (outcome == UNFINISHED)[:, None]
        source, cell = np.nonzero(free)
        width = np.count_nonzero(free[outcome == UNFINISHED], axis=1).astype(np.uint32)
        mover = ply % 2
        children, first_seen, target = np.unique(
            code[source] + (1 + mover) * powers[cell], return_index=True, return_inverse=True
        )
        yield _Ply(code, outcome, cell.astype(np.int8), target.ravel().astype(np.int32), width)
        if children.size == 0:
            return
        masks = masks[source[first_seen]]
        masks[:, mover] |= np.int64(1) << cell[first_seen]
        code = children


@kernel
def group_by_child(children: Uint32Array, sources: Uint32Array, first: Uint32Array, parent: Uint32Array) -> None:
    """Group the edges by child: `first` (uint32[S + 1], zeros) and `parent` (uint32[E]) are filled in place.

    children, sources: uint32[E], target and source of each edge.
    """
    n_rows = first.shape[0] - 1
    for edge in range(children.shape[0]):
        first[children[edge] + 1] += 1
    for row in range(n_rows):
        first[row + 1] += first[row]
    for edge in range(children.shape[0] - 1, -1, -1):  # the last of a group is written to its end
        child = children[edge]
        first[child + 1] -= 1
        parent[first[child + 1]] = sources[edge]
    for row in range(n_rows):
        first[row] = first[row + 1]
    first[n_rows] = children.shape[0]


def _other_positions(board: Board) -> BoardError:
    return BoardError(f"board {board.name} has other positions")


def enumerate_graph(
    board: Board,
    occupied: bool = False,
    symmetry: bool = False,
    counts: tuple[int, ...] | None = None,
    *,
    resigns: bool = False,
) -> Graph:
    """Enumerate every position of `board` that can occur in play, with its moves.

    occupied: make edges of occupied cells, too; they lead to the row in which the mover has forfeited.
    symmetry: a row for each class of positions that are images of each other.
    resigns: add an edge to resign, the last one of its row, wherever the first player has a choice; its cell is the
    number of cells, and it leads to the row in which the first player has forfeited.
    counts: the claimed number of positions (classes) with 0, 1, ... marks up to all cells.  A larger board with other
    numbers is refused at the first ply that differs, so no more work is done than the claim takes.
    Arrays are read-only; the result is cached.  Raises BoardError if the board is too large.
    """
    key = board, occupied, symmetry, resigns
    if key not in GRAPHS:
        GRAPHS[key] = _enumerated(*key, counts)
    return GRAPHS[key]


GRAPHS: dict[tuple[Board, bool, bool, bool], Graph] = {}
"""The graphs of this process, by board, occupied, symmetry and resigns."""


def _enumerated(board: Board, occupied: bool, symmetry: bool, resigns: bool, counts: tuple[int, ...] | None) -> Graph:
    """Return the graph that `enumerate_graph` caches."""
    small = board.cells <= SMALL and not symmetry
    plies: list[_Ply] = []
    for found in _plies_of_small(board) if small else _plies(board, symmetry, counts):
        plies.append(found)
        if sum(p.code.size for p in plies) > MAX_ROWS:
            raise BoardError(
                f"board {board.name} has more than {MAX_ROWS:,} positions, too many to enumerate; choose a smaller one"
            )
    code, outcome, ply, children = _rows(plies)
    n_rows, n_open = code.size, int(np.count_nonzero(outcome == UNFINISHED))
    cells = np.concatenate([p.cell for p in plies])
    legal = np.concatenate([p.width for p in plies])
    width = legal
    if occupied:
        forfeits = n_rows + ply[:n_open].astype(np.uint32) % 2
        table = np.repeat(forfeits, board.cells).reshape(n_open, board.cells)
        table[np.arange(n_open).repeat(legal), cells] = children
        children, cells = table.ravel(), np.tile(np.arange(board.cells, dtype=np.int8), n_open)
        width = np.full(n_open, board.cells, np.uint32)
    if resigns:
        resigning = (ply[:n_open] % 2 == 0) & (legal > 1)
        after = np.cumsum(width)[resigning].astype(np.int64)
        children = np.insert(children, after, np.uint32(n_rows))
        cells = np.insert(cells, after, np.int8(board.cells))
        width = (width + resigning).astype(np.uint32)
    if occupied or resigns:
        code = np.append(code, [-1, -2])
        outcome = np.append(outcome, np.array([SECOND_WINS, FIRST_WINS], np.int8))
        ply = np.append(ply, np.zeros(2, np.int8))
    first_parent, parent = _parents(children, width, code.size, small)
    graph = Graph(
        code=code,
        outcome=outcome,
        ply=ply,
        first_edge=np.append(0, np.cumsum(width)).astype(np.uint32),
        child=children,
        cell=cells,
        legal=legal,
        first_parent=first_parent,
        parent=parent,
        ply_start=np.searchsorted(ply[:n_open], np.arange(len(plies) + 1)).astype(np.uint32),
    )
    for array in graph:
        array.flags.writeable = False
    return graph


def _rows(plies: list[_Ply]) -> tuple[NDArray[np.int64], NDArray[np.int8], NDArray[np.int8], NDArray[np.uint32]]:
    """Return code, outcome and ply of every row, unfinished ones first, and the row that each move leads to."""
    outcome = np.concatenate([p.outcome for p in plies])
    order = np.concatenate([np.flatnonzero(outcome == UNFINISHED), np.flatnonzero(outcome != UNFINISHED)])
    row = np.empty(order.size, np.uint32)
    row[order] = np.arange(order.size, dtype=np.uint32)
    sizes = [p.code.size for p in plies]
    ply = np.repeat(np.arange(len(plies), dtype=np.int8), sizes)
    next_plies = np.split(row, np.cumsum(sizes))[1:]
    children = np.concatenate([rows[p.target] for p, rows in zip(plies, next_plies, strict=True)])
    return np.concatenate([p.code for p in plies])[order], outcome[order], ply[order], children


def _parents(
    children: NDArray[np.uint32], width: NDArray[np.uint32], n_rows: int, small: bool
) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """Return `first_parent` and `parent` of a graph with `width` moves per unfinished row; small: without a kernel."""
    sources = np.arange(width.size, dtype=np.uint32).repeat(width)
    if small:
        first = np.append(0, np.cumsum(np.bincount(children, minlength=n_rows))).astype(np.uint32)
        return first, sources[np.argsort(children, kind="stable")]
    first, parent = np.zeros(n_rows + 1, np.uint32), np.empty(children.size, np.uint32)
    group_by_child(children, sources, first, parent)
    return first, parent
