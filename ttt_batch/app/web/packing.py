"""A run's table for the page: what the agent may play, its values and the truth, as a few deflated bytes.

Rows are the unfinished positions in the order of their codes (up to symmetry: the lowest code of each class).  A bit
for each of the 3**cells codes says which have a row, so no code is written down; behind the bits follow arrays by row,
and the values by move.  3x3 takes 8 to 40 KB, the 1,135,214 unfinished classes of 4x4x4 take 0.9 MB.
"""

import zlib
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_batch.base.choices import Ties
from ttt_batch.game.graph import rows_of_edges
from ttt_batch.runs.run import Run
from ttt_batch.simulation.policy import chosen_edges, legal_edges, row_scores

VALUED_CELLS = 12
"""Cells up to which values are packed: 3x4x3 has 391,062 moves, 4x4x4 has 6,460,008 (6 MB and more)."""

STEP = 0.001
"""What values are rounded to, unless the largest would not fit then."""

LARGEST, NEVER_SEEN = 32_767, -32_768


class Packed(NamedTuple):
    """The table as the page reads it.

    sizes: bytes of each section, in order.  rows: how many rows there are.
    step: what one unit of a value is worth; 0 if no values are packed.
    deflated: zlib stream of the sections, little-endian:
      rows: a bit for each code, lowest first; candidates: uint16[U], a bit for each cell that the agent may pick;
      truths: int8[U], as `solution.solve_in_plies` gives them; values: int16[moves to free cells], by row and cell.
    """

    sizes: dict[str, int]
    rows: int
    step: float
    deflated: bytes


def pack(run: Run, ties: Ties = "soonest") -> Packed:
    """Pack the table of a run whose board is enumerated; no such board has more than 16 cells.

    ties: which of the moves that its rule may pick the agent plays, as for `Run.candidates`.
    """
    graph = run.graph
    n_open = graph.first_edge.size - 1
    codes = graph.code[:n_open]
    by_code = np.argsort(codes)
    values, step = _values(run, by_code) if run.board.cells <= VALUED_CELLS else (np.zeros(0, "<i2"), 0.0)
    sections: dict[str, NDArray[Any]] = {
        "rows": _bits(codes, 3**run.board.cells),
        "candidates": _candidates(run, ties)[by_code].astype("<u2"),
        "truths": run.solution_in_plies[by_code].astype("i1"),
        "values": values,
    }
    content = b"".join(array.tobytes() for array in sections.values())
    return Packed({name: array.nbytes for name, array in sections.items()}, n_open, step, zlib.compress(content, 9))


def _bits(codes: NDArray[np.int64], size: int) -> NDArray[np.uint8]:
    """uint8[size / 8]: a bit for each number below `size`, set for those in `codes`."""
    present = np.zeros(size, np.bool_)
    present[codes] = True
    return np.packbits(present, bitorder="little")


def _candidates(run: Run, ties: Ties) -> NDArray[np.int64]:
    """int64[U]: a bit for each cell that the agent may pick, occupied ones included."""
    graph = run.graph
    chosen = chosen_edges(graph, run.policy_on(graph, ties))
    # A sum of different powers of two is their union; 2**16 is far within what a float64 counts exactly.
    bits = 2.0 ** graph.cell[chosen].astype(np.int64)
    return np.bincount(rows_of_edges(graph)[chosen], bits, graph.first_edge.size - 1).astype(np.int64)


def _scores(run: Run) -> NDArray[np.float64]:
    """float64[E]: the agent's value of every move for the player who makes it."""
    graph = run.graph
    # The kernel takes a row at a time; all rows of a ply have the same mover, so a ply can stand as one long row.
    first_edge = graph.first_edge[graph.ply_start]
    ply = np.arange(first_edge.size - 1, dtype=np.int8)
    first_edge.flags.writeable = ply.flags.writeable = False  # as the graph's own, for which the kernel is compiled
    plies = graph._replace(first_edge=first_edge, ply=ply)
    scores = np.empty(graph.child.size)
    for number in range(ply.size):
        row_scores(run.tables, plies, number, scores[first_edge[number] : first_edge[number + 1]])
    return scores


def _values(run: Run, by_code: NDArray[np.int64]) -> tuple[NDArray[np.int16], float]:
    """int16[moves to free cells], rounded values by row (in the order `by_code`) and cell; and what a unit is worth."""
    legal = legal_edges(run.graph)
    rank = np.empty_like(by_code)
    rank[by_code] = np.arange(by_code.size)
    order = np.argsort(rank[rows_of_edges(run.graph)[legal]], kind="stable")
    scores = _scores(run)[legal][order]
    seen = np.isfinite(scores)
    step = max(STEP, float(np.abs(scores[seen]).max(initial=0.0)) / LARGEST)
    return np.where(seen, np.rint(np.where(seen, scores, 0.0) / step), NEVER_SEEN).astype("<i2"), step
