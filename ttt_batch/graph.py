"""A board enumerated once into a graph: a row per position, an edge per move.

Axes, used in every docstring of the package:
`S` rows (positions), unfinished ones first, each group in ply order and by code within a ply;
`U` the unfinished rows among them; `E` edges, grouped by row, in cell order within a row;
`P` players (first, second); `T` recorded points; `B` games of a batch.

Because rows are in ply order, every computation over positions is one sweep over rows, upwards or downwards,
and because unfinished rows come first, "this child is final" is the comparison `child >= U`.
"""

import functools
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_batch.board import DRAW, FIRST, FIRST_WINS, SECOND, SECOND_WINS, UNFINISHED, Board
from ttt_batch.compile import inlined
from ttt_batch.errors import BoardError

MAX_ROWS = 20_000_000
"""Rows that are enumerated at most; about 1.5 GB of graph."""


class Graph(NamedTuple):
    """Positions and moves of one board.

    code: int64[S], base-3 position codes; -1 and -2 for the rows "first / second player forfeits".
    outcome: int8[S], UNFINISHED, FIRST_WINS, SECOND_WINS or DRAW.
    ply: int8[S], moves made so far; 0 for forfeits.
    first_edge: uint32[U + 1]; the edges of row r are first_edge[r] to first_edge[r + 1] - 1.
    child: uint32[E], row that the move leads to.
    cell: int8[E], cell that the move marks.
    legal: uint32[U], number of legal moves; fewer than edges where occupied cells are edges, too.
    first_parent, parent: uint32[S + 1] and uint32[E], the rows with a move into each row, grouped by it.
    ply_start: uint32[plies + 1]; the unfinished rows of ply p are ply_start[p] to ply_start[p + 1] - 1.
    """

    code: Any
    outcome: Any
    ply: Any
    first_edge: Any
    child: Any
    cell: Any
    legal: Any
    first_parent: Any
    parent: Any
    ply_start: Any


@inlined
def n_unfinished(graph: Graph) -> Any:
    """Number of unfinished rows, U."""
    return graph.first_edge.shape[0] - 1


@inlined
def edges_of(graph: Graph, row: Any) -> Any:
    """First edge of an unfinished row, and the first edge behind it: int64 both.

    What is stored is unsigned: for an index that might be negative Numba adds a check and a selection to every access
    (the sweeps take 1.2 to 1.6 times as long, games one by one 1.1 to 1.5 times).  It is counted with as int64,
    because Numba turns the sum of an unsigned and a signed 64-bit number into a float.
    """
    return np.int64(graph.first_edge[row]), np.int64(graph.first_edge[row + 1])


@inlined
def mover_of(graph: Graph, row: int) -> Any:
    """Who moves in an unfinished row: 0 or 1 (int64; the stored ply is too narrow to count with)."""
    return np.int64(graph.ply[row]) & 1


def _completed(masks: NDArray[np.int64], board: Board) -> NDArray[np.bool_]:
    """Whether each bit mask of cells contains a whole line."""
    won = np.zeros(masks.shape, dtype=bool)
    for line in board.lines:
        bits = sum(1 << cell for cell in line)
        won |= (masks & bits) == bits
    return won


class _Ply(NamedTuple):
    """All positions of one ply, by code: masks of both players' cells, outcomes, and the moves out of them."""

    code: NDArray[np.int64]
    masks: NDArray[np.int64]
    outcome: NDArray[np.int8]
    cell: NDArray[np.int8]
    source: NDArray[np.int64]
    target: NDArray[np.int64]


def _enumerate_plies(board: Board) -> list[_Ply]:
    """Breadth-first enumeration, a whole ply at a time: 2 ms on 3x3, 0.3 s for 3x4 three in a row."""
    powers = 3 ** np.arange(board.cells, dtype=np.int64)
    code = np.zeros(1, dtype=np.int64)
    masks = np.zeros((1, 2), dtype=np.int64)
    plies: list[_Ply] = []
    seen = 0
    for ply in range(board.cells + 1):
        won_first, won_second = _completed(masks[:, 0], board), _completed(masks[:, 1], board)
        outcome = np.where(won_first, FIRST_WINS, np.where(won_second, SECOND_WINS, UNFINISHED)).astype(np.int8)
        if ply == board.cells:
            outcome[outcome == UNFINISHED] = DRAW
        seen += code.size
        if seen > MAX_ROWS:
            raise BoardError(
                f"board {board.name} has more than {MAX_ROWS:,} positions, too many to enumerate; choose a smaller one"
            )
        free = ((masks[:, :1] | masks[:, 1:]) >> np.arange(board.cells)) & 1 == 0
        source, cell = np.nonzero(free & (outcome == UNFINISHED)[:, None])
        mover = ply % 2
        child_code, first_seen, target = np.unique(
            code[source] + powers[cell] * (SECOND if mover else FIRST), return_index=True, return_inverse=True
        )
        plies.append(_Ply(code, masks, outcome, cell.astype(np.int8), source, target.ravel()))
        if child_code.size == 0:
            break
        masks = masks[source[first_seen]]
        masks[:, mover] |= np.int64(1) << cell[first_seen]
        code = child_code
    return plies


@functools.cache
def enumerate_graph(board: Board, occupied: bool = False) -> Graph:
    """Enumerate every position of `board` that can occur in play, with its moves.

    occupied: make edges of occupied cells, too; they lead to the row in which the mover has forfeited.
    Arrays are read-only; the result is remembered.  Raises BoardError where the board is too large.
    """
    plies = _enumerate_plies(board)
    open_count = [int(np.count_nonzero(p.outcome == UNFINISHED)) for p in plies]
    final_count = [p.code.size - n for p, n in zip(plies, open_count, strict=True)]
    n_open, n_rows = sum(open_count), sum(p.code.size for p in plies)

    rows_of_ply, open_start, final_start = [], 0, n_open
    for p, opened, final in zip(plies, open_count, final_count, strict=True):
        rows = np.empty(p.code.size, dtype=np.uint32)
        is_open = p.outcome == UNFINISHED
        rows[is_open] = open_start + np.arange(opened)
        rows[~is_open] = final_start + np.arange(final)
        rows_of_ply.append(rows)
        open_start, final_start = open_start + opened, final_start + final

    code, outcome, ply = np.empty(n_rows, np.int64), np.empty(n_rows, np.int8), np.empty(n_rows, np.int8)
    source, child, cell = [], [], []
    for number, (p, rows) in enumerate(zip(plies, rows_of_ply, strict=True)):
        code[rows], outcome[rows], ply[rows] = p.code, p.outcome, number
        if p.source.size:
            source.append(rows[p.source])
            child.append(rows_of_ply[number + 1][p.target])
            cell.append(p.cell)
    sources, children, cells = (np.concatenate(part) for part in (source, child, cell))
    legal = np.bincount(sources, minlength=n_open).astype(np.uint32)

    if occupied:
        code, outcome, ply = (
            np.append(code, [-1, -2]),
            np.append(outcome, [SECOND_WINS, FIRST_WINS]),
            np.append(ply, [0, 0]),
        )
        table = np.where(np.arange(n_open) >= 0, n_rows + ply[:n_open] % 2, 0)[:, None].repeat(board.cells, axis=1)
        table[sources, cells] = children
        sources = np.arange(n_open).repeat(board.cells)
        children, cells = table.ravel(), np.tile(np.arange(board.cells), n_open)
        n_rows += 2

    by_child = np.argsort(children, kind="stable")
    graph = Graph(
        code=code,
        outcome=outcome.astype(np.int8),
        ply=ply.astype(np.int8),
        first_edge=np.append(0, np.cumsum(np.bincount(sources, minlength=n_open))).astype(np.uint32),
        child=children.astype(np.uint32),
        cell=cells.astype(np.int8),
        legal=legal,
        first_parent=np.append(0, np.cumsum(np.bincount(children, minlength=n_rows))).astype(np.uint32),
        parent=sources[by_child].astype(np.uint32),
        ply_start=np.append(0, np.cumsum(open_count)).astype(np.uint32),
    )
    for array in graph:
        array.flags.writeable = False
    return graph


def row_of(graph: Graph, code: int) -> int:
    """Row of a position code.  Raises BoardError where no game reaches the position."""
    found = np.flatnonzero(graph.code == code)
    if code < 0 or found.size == 0:
        raise BoardError(f"position with code {code} cannot occur in play: no game reaches it")
    return int(found[0])


def solve(graph: Graph) -> NDArray[np.int8]:
    """Solve the game: int8[S], 1 where the first player wins with best play, 0 for a draw, -1 where the second wins."""
    value = np.zeros(graph.code.size, dtype=np.int8)
    value[graph.outcome == FIRST_WINS], value[graph.outcome == SECOND_WINS] = 1, -1
    open_ply = graph.ply[: graph.first_edge.size - 1]
    for ply in range(int(open_ply[-1]), -1, -1):
        rows = slice(*np.searchsorted(open_ply, [ply, ply + 1]))
        edges = slice(graph.first_edge[rows.start], graph.first_edge[rows.stop])
        best = np.minimum if ply % 2 else np.maximum
        value[rows] = best.reduceat(value[graph.child[edges]], graph.first_edge[rows] - graph.first_edge[rows.start])
    return value
