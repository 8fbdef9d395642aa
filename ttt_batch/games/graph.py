"""Graph of a board, with a row per position and an edge per move; enumerated, or growing during play.

Axes, used in every docstring of the package:
`S` rows (positions), unfinished ones first, each group in ply order and by code within a ply;
`U` the unfinished rows among them; `E` edges, grouped by row, in cell order within a row;
`P` players (first, second); `T` recorded points; `B` games of a batch.

Because rows are in ply order, every computation over positions is one sweep over rows, upwards or downwards,
and because unfinished rows come first, "this child is final" is the comparison `child >= U`.

The graph of a board too large to enumerate: rows and edges are added when play first reaches a position.
The graph has room for more rows than it holds.  Its unfinished rows are in the order in which play reached them, not in
ply order.  After the room for them follow rows for all positions without a row of their own: `UNSEEN` positions, the
ends of games by outcome, and forfeits.

A new row is linked to those of its children and parents that have rows, found by code in one hash table, so the order
of moves does not matter.  Learners' tables grow in `learners.base`.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_batch.compiler.bits import popcount
from ttt_batch.compiler.jit import Int8Array, Int64, Int64Array, Integer, Uint32Array, inlined, kernel
from ttt_batch.compiler.numerics import S32
from ttt_batch.core.errors import BoardError
from ttt_batch.games.bitboards import TAG, Places, completes, hash_of, is_open, lowest_child, outcome_after
from ttt_batch.games.board import DRAW, FIRST_WINS, SECOND_WINS, UNFINISHED


class Graph(NamedTuple):
    """Positions and moves of one board.

    code: int64[S], base-3 position codes; -1 and -2 for the rows "first / second player forfeits".
    outcome: int8[S], UNFINISHED, FIRST_WINS, SECOND_WINS or DRAW.
    ply: int8[S], moves made so far; 0 for forfeits.
    first_edge: uint32[U + 1]; the edges of row r are first_edge[r] to first_edge[r + 1] - 1.
    child: uint32[E], row that the move leads to.
    cell: int8[E], cell that the move marks; the number of cells, which no cell has, to resign.
    legal: uint32[U], number of legal moves; fewer than edges where occupied cells or resigning are edges, too.
    first_parent, parent: uint32[S + 1] and uint32[E], the rows with a move into each row, grouped by it.
    ply_start: uint32[plies + 1]; the unfinished rows of ply p are ply_start[p] to ply_start[p + 1] - 1.
    """

    code: Int64Array
    outcome: Int8Array
    ply: Int8Array
    first_edge: Uint32Array
    child: Uint32Array
    cell: Int8Array
    legal: Uint32Array
    first_parent: Uint32Array
    parent: Uint32Array
    ply_start: Uint32Array


@inlined
def n_unfinished(graph: Graph) -> Int64:
    """Return the number of unfinished rows, U."""
    return graph.first_edge.shape[0] - 1


@inlined
def edges_of(graph: Graph, row: Integer) -> tuple[Int64, Int64]:
    """Return the first edge of an unfinished row, and the first edge after its own (int64 both).

    They are stored unsigned, because Numba checks the sign of a signed index at every access (sweeps would take 1.2 to
    1.6 times as long).  They are returned signed, because Numba turns the sum of an unsigned and a signed number into
    a float.  Hot loops convert indices back to unsigned.
    """
    return np.int64(graph.first_edge[row]), np.int64(graph.first_edge[row + 1])


@inlined
def mover_of(graph: Graph, row: Integer) -> np.int64:
    """Return the player to move in an unfinished row: 0 or 1 (int64, because int8 would overflow)."""
    return np.int64(graph.ply[row]) & 1


def rows_of_edges(graph: Graph) -> NDArray[np.int64]:
    """Return the source row of each edge (int64[E])."""
    widths = np.diff(graph.first_edge)
    return np.arange(widths.size).repeat(widths)


def movers_of_edges(graph: Graph) -> NDArray[np.int8]:
    """Return the player who makes each move, 0 or 1 (int8[E])."""
    widths = np.diff(graph.first_edge)
    return (graph.ply[: widths.size] & 1).repeat(widths)


def edges_of_rows(graph: Graph, rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the edges of some unfinished rows, int64[M], and for each of them the index of its row in `rows`."""
    first = graph.first_edge.astype(np.int64)
    widths = first[rows + 1] - first[rows]
    owner = np.arange(rows.size).repeat(widths)
    return np.arange(owner.size) + (first[rows] - widths.cumsum() + widths)[owner], owner


def numbers_of_edges(
    graph: Graph, rows: NDArray[np.int64], q: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Return edges (int64[M], ascending), indices of their rows (int64[M]), and their numbers (float64[M]).

    The indices count the distinct unfinished rows.  rows: int64[N].  q: float64[N, cells], numbers of rows and cells.
    If a row occurs twice, its last numbers count.
    """
    unique, last = np.unique(rows[::-1], return_index=True)
    unfinished = unique < graph.first_edge.size - 1
    edges, owner = edges_of_rows(graph, unique[unfinished])
    return edges, owner, q[::-1][last[unfinished]][owner, graph.cell[edges]]


def row_of(graph: Graph, code: int) -> int:
    """Return the row of a position code.  Raises BoardError if no game reaches the position."""
    found = np.flatnonzero(graph.code == code)
    if code < 0 or found.size == 0:
        raise BoardError(f"position with code {code} cannot occur in play: no game reaches it")
    return int(found[0])


UNSEEN, FORFEIT, N_SHARED = 0, 4, 6
"""Rows after the room for unfinished ones: UNSEEN + an outcome (1 to 3 for ends of games), FORFEIT + who did."""

SHARED_CODES = (-3, -4, -5, -6, -1, -2)
SHARED_OUTCOMES = (UNFINISHED, FIRST_WINS, SECOND_WINS, DRAW, SECOND_WINS, FIRST_WINS)

ROWS, EDGES, FINALS, LOST = range(4)
"""Counters of `Growth.used`: unfinished rows, edges, final rows of their own, and positions that found no space."""

MAX_ROWS = (1 << 32) // 37
"""Unfinished rows at most: edges are numbered in 32 bits, and a row may have 36 of them."""


class Growth(NamedTuple):
    """Arrays for adding rows, beside the graph.

    places: the board.  origin, place: int64[images, cells], the game's cell that a cell of an image shows, and the
    image's cell that shows a cell of the game.
    slots: int64, a power of two of them; 0 or a row + 1 above 32 bits of its code's hash.
    used: int64[4], see `ROWS`.
    marks: int64[2], bits of either player's cells, and images: int64[images], codes, of the game being played.
    finals: 1 where ends of games have rows of their own, else 0.  occupied: 1 where occupied cells are edges, else 0.
    rows_a_ply: how many of the last unfinished rows, which are borrowed, each ply has.  It is 1, or 2 where marks fall:
    there positions of a ply have different numbers of moves, and the second row, which no position has, begins where
    the first one ends.
    key: uint64, of the random numbers that a learner may start a row with.
    """

    places: Places
    origin: Int64Array
    place: Int64Array
    slots: Int64Array
    used: Int64Array
    marks: Int64Array
    images: Int64Array
    finals: int
    occupied: int
    rows_a_ply: int
    key: np.uint64


@inlined
def find_row(graph: Graph, growth: Growth, code: Int64) -> Int64:
    """Return the row of a code, or -1."""
    hashed = hash_of(code)
    mask = growth.slots.shape[0] - 1
    tag, slot = np.int64(hashed >> S32), np.int64(hashed & np.uint64(mask))
    while True:
        entry = growth.slots[slot]
        if entry == 0:
            return -1
        if entry & TAG == tag and graph.code[(entry >> 32) - 1] == code:
            return (entry >> 32) - 1
        slot = (slot + 1) & mask


@inlined
def remember(growth: Growth, code: Int64, row: Int64) -> None:
    """Put a row into the hash table, in place; its code is not yet there."""
    hashed = hash_of(code)
    mask = growth.slots.shape[0] - 1
    slot = np.int64(hashed & np.uint64(mask))
    while growth.slots[slot] != 0:
        slot = (slot + 1) & mask
    growth.slots[slot] = ((row + 1) << 32) | np.int64(hashed >> S32)


@inlined
def clear_board(growth: Growth) -> None:
    """Clear the game."""
    growth.marks[:] = 0
    growth.images[:] = 0


@inlined
def mark(growth: Growth, cell: Integer, mover: Int64) -> None:
    """Put the mark of `mover` (0 or 1) on a cell of the game, in place."""
    growth.marks[mover] |= np.int64(1) << cell
    for image in range(growth.images.shape[0]):
        growth.images[image] += (1 + mover) * growth.places.power[cell, image]


@inlined
def graph_cells(growth: Growth) -> np.int64:
    """Return the number of cells of the board."""
    return growth.places.power.shape[0]


@inlined
def n_borrowed(growth: Growth) -> np.int64:
    """Return the number of unfinished rows that are borrowed, the last ones."""
    return growth.rows_a_ply * graph_cells(growth)


@inlined
def show_code(growth: Growth, code: Int64) -> Int64:
    """Put the position of a code on the board of the game; return how many marks it has."""
    clear_board(growth)
    plies = 0
    for cell in range(graph_cells(growth)):
        player = code % 3
        code //= 3
        if player != 0:
            mark(growth, cell, player - 1)
            plies += 1
    return plies


@inlined
def lowest_image(growth: Growth) -> tuple[Int64, Int64]:
    """Return the lowest code of the position's images, and the first image with it."""
    lowest, number = growth.images[0], 0
    for image in range(1, growth.images.shape[0]):
        code = growth.images[image]
        number = image if code < lowest else number
        lowest = code if code < lowest else lowest
    return lowest, number


@inlined
def expand(graph: Graph, growth: Growth, ply: Int64, image: Int64, edge: Int64) -> Int64:
    """Write the edges of the position of the game, as its `image` has them, from `edge` on; return the next one."""
    n_open, n_cells, mover = n_unfinished(graph), graph_cells(growth), ply & 1
    taken, own = growth.marks[0] | growth.marks[1], growth.marks[mover]
    for cell in range(n_cells):
        here = growth.origin[image, cell]
        child = n_open + FORFEIT + mover
        if is_open(growth.places, here, taken):
            outcome = outcome_after(growth.places, here, own | (np.int64(1) << here), mover, ply + 1 == n_cells)
            child = n_open + outcome
            if outcome == UNFINISHED or growth.finals:
                found = find_row(graph, growth, lowest_child(growth.places, growth.images, here, 1 + mover))
                child = found if found >= 0 else child
        elif not growth.occupied:
            continue
        graph.child[edge], graph.cell[edge] = child, cell
        edge += 1
    return edge


@inlined
def link(graph: Graph, growth: Growth, row: Int64, ply: Int64) -> None:
    """Let every row from which one move leads to the position of the game lead to `row`, in place."""
    mover = (ply - 1) & 1
    for cell in range(graph_cells(growth)):
        if (growth.marks[mover] >> cell) & 1 == 0:
            continue
        lowest = lowest_child(growth.places, growth.images, cell, -(1 + mover))
        parent = find_row(graph, growth, lowest)
        if parent < 0 or parent >= n_unfinished(graph):  # a final one, in a forged file
            continue
        lo, hi = edges_of(graph, parent)
        # A parent that is its own image in several ways has as many moves here.
        for image in range(growth.images.shape[0]):
            if growth.images[image] - (1 + mover) * growth.places.power[cell, image] == lowest:
                for edge in range(lo, hi):
                    if graph.cell[edge] == growth.place[image, cell]:
                        graph.child[edge] = row


@inlined
def has_room(graph: Graph, growth: Growth, rows: Int64) -> bool:
    """Return whether `rows` more unfinished rows and as many final ones fit."""
    n_cells = graph_cells(growth)
    n_edges = graph.child.shape[0] - n_cells * n_cells
    finals = growth.used[FINALS] + rows * growth.finals
    return (
        growth.used[ROWS] + rows <= n_unfinished(graph) - n_borrowed(growth)
        and growth.used[EDGES] + rows * n_cells <= n_edges
        and finals <= graph.code.shape[0] - n_unfinished(graph) - N_SHARED - growth.finals
    )


@inlined
def is_legal(graph: Graph, edge: Int64) -> bool:
    """Return whether a move marks a free cell, so does not forfeit."""
    code = graph.code[graph.child[edge]]
    return code != -1 and code != -2


@kernel
def remember_all(graph: Graph, growth: Growth) -> None:
    """Fill an empty hash table with every row that the graph holds."""
    n_open = n_unfinished(graph)
    for row in range(growth.used[ROWS]):
        remember(growth, graph.code[row], row)
    for row in range(n_open + N_SHARED, n_open + N_SHARED + growth.used[FINALS]):
        remember(growth, graph.code[row], row)


@inlined
def outcome_of_marks(growth: Growth) -> Int64:
    """Return the outcome of the game's position, or -1 if no game reaches it.

    In that case turns do not give these numbers of marks, the player to move next has a line, or a mark is in the air.
    """
    n_cells, taken = graph_cells(growth), growth.marks[0] | growth.marks[1]
    for cell in range(n_cells):
        if (taken >> cell) & 1 != 0 and not is_open(growth.places, cell, taken & ~(np.int64(1) << cell)):
            return -1
    first, second = popcount(np.uint64(growth.marks[0])), popcount(np.uint64(growth.marks[1]))
    ahead = first - second
    if ahead != 0 and ahead != 1:
        return -1
    outcome: Int64 = DRAW if first + second == n_cells else UNFINISHED
    for cell in range(n_cells):
        for player in range(2):
            if (growth.marks[player] >> cell) & 1 != 0 and completes(growth.places, cell, growth.marks[player]):
                if player != 1 - ahead:
                    return -1
                outcome = FIRST_WINS + (player ^ growth.places.misere)
    return outcome


@kernel
def expand_all(graph: Graph, growth: Growth) -> Int64:
    """Write the edges of every row from the codes; return -1, or the first inconsistent row.

    A row is inconsistent if its code is not a position's, not the lowest of its images, not of its ply, or has another
    outcome.
    """
    edge: Int64 = 0
    for row in range(growth.used[ROWS]):
        plies = show_code(growth, graph.code[row])
        code, _ = lowest_image(growth)
        if code != graph.code[row] or plies != graph.ply[row] or outcome_of_marks(growth) != UNFINISHED:
            return row
        # The row's own orientation, even if its first image has the same code by another permutation.
        edge = expand(graph, growth, plies, 0, edge)
        graph.first_edge[row + 1] = edge
    growth.used[EDGES] = edge
    finals = n_unfinished(graph) + N_SHARED
    for row in range(finals, finals + growth.used[FINALS]):
        show_code(growth, graph.code[row])
        if lowest_image(growth)[0] != graph.code[row] or outcome_of_marks(growth) != graph.outcome[row]:
            return row
    return -1


def shared_rows() -> Graph:
    """Return a graph of only the shared rows, for positions without their own row."""
    none = np.zeros(0, np.uint32)
    return Graph(
        code=np.array(SHARED_CODES, np.int64),
        outcome=np.array(SHARED_OUTCOMES, np.int8),
        ply=np.zeros(N_SHARED, np.int8),
        first_edge=np.zeros(1, np.uint32),
        child=none,
        cell=np.zeros(0, np.int8),
        legal=none,
        first_parent=none,
        parent=none,
        ply_start=np.zeros(1, np.uint32),
    )


def plies_of(code: NDArray[np.int64], cells: int) -> NDArray[np.int8]:
    """Return the number of marks of each code; 0 for negative codes."""
    plies = np.zeros(code.size, np.int8)
    for cell in range(cells):
        plies += np.maximum(code, 0) // 3**cell % 3 != 0
    return plies
