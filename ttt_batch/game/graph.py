"""The graph that a board is turned into: a row per position, an edge per move.

Axes, used in every docstring of the package:
`S` rows (positions), unfinished ones first, each group in ply order and by code within a ply;
`U` the unfinished rows among them; `E` edges, grouped by row, in cell order within a row;
`P` players (first, second); `T` recorded points; `B` games of a batch.

Because rows are in ply order, every computation over positions is one sweep over rows, upwards or downwards,
and because unfinished rows come first, "this child is final" is the comparison `child >= U`.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_batch.base.errors import BoardError
from ttt_batch.base.jit import inlined


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
    """First edge of an unfinished row, and the first edge after its own: int64 both.

    They are stored unsigned: for an index that might be negative Numba adds a check and a selection to every access
    (sweeps take 1.2 to 1.6 times as long, games one by one 1.1 to 1.5 times).  They are returned signed, because Numba
    turns the sum of an unsigned and a signed 64-bit number into a float.  Hot loops convert indices back to unsigned
    (batches 1.04 to 1.1 times, games one by one 1.1 to 1.5 times as fast).
    """
    return np.int64(graph.first_edge[row]), np.int64(graph.first_edge[row + 1])


@inlined
def mover_of(graph: Graph, row: int) -> Any:
    """Who moves in an unfinished row: 0 or 1 (int64; the stored ply is too narrow to count with)."""
    return np.int64(graph.ply[row]) & 1


def rows_of_edges(graph: Graph) -> NDArray[np.int64]:
    """int64[E]: the row that each edge leaves."""
    widths = np.diff(graph.first_edge)
    return np.arange(widths.size).repeat(widths)


def row_of(graph: Graph, code: int) -> int:
    """Row of a position code.  Raises BoardError if no game reaches the position."""
    found = np.flatnonzero(graph.code == code)
    if code < 0 or found.size == 0:
        raise BoardError(f"position with code {code} cannot occur in play: no game reaches it")
    return int(found[0])
