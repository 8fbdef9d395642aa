"""A run's table for the page: what the agent may play, and its values, or chances by softmax if it has none.

Rows are those of `solution`; 3x3 takes 8 to 40 KB, the 1,135,214 unfinished classes of 4x4x4 take 0.9 MB.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ttt_batch.app.web.packing import PagePart
from ttt_batch.app.web.solution import open_codes
from ttt_batch.base.choices import Ties
from ttt_batch.game.graph import Graph, rows_of_edges
from ttt_batch.runs.as_played import played_chances
from ttt_batch.runs.run import Run
from ttt_batch.simulation.policy import Policy, chosen_edges, legal_edges, row_scores

VALUED_CELLS = 12
"""Cells up to which values are packed: 3x4x3 has 391,062 moves, 4x4x4 has 6,460,008 (6 MB and more)."""

STEP = 0.001
"""What values are rounded to, unless the largest would not fit then."""

LARGEST, NEVER_SEEN = 32_767, -32_768


def table_part(run: Run, ties: Ties = "sharp") -> PagePart:
    """The part of a run whose board is enumerated; no such board has more than 16 cells.

    ties: which of the moves that its rule may pick the agent plays, as for `Run.candidates`.
    Its value `step` is what one unit of a value is worth; 0 if no values are packed.  Its arrays are
      candidates: uint16[U], a bit for each cell that the agent may pick, by row;
      values: int16[moves to free cells], by row and cell; chances for learners that keep no values.
    """
    by_code = np.argsort(open_codes(run.graph))
    values, step = _values(run, by_code) if run.board.cells <= VALUED_CELLS else (np.zeros(0, "<i2"), 0.0)
    return moves_part(run.graph, run.policy_on(run.graph, ties), values, step)


def moves_part(
    graph: Graph,
    policy: Policy,
    values: NDArray[np.int16],
    step: float,
    chances: NDArray[np.float64] | None = None,
) -> PagePart:
    """The part of an agent with this policy; values, step: as for `table_part`.

    chances: float64[E], how likely each move is, if they are not equally likely; above 0 for those of the policy.
    Then there is one array more, `chances`, float32 for each bit of `candidates`, the lowest first.
    """
    by_code = np.argsort(open_codes(graph))
    candidates = _candidates(graph, policy)[by_code].astype("<u2")
    arrays: dict[str, NDArray[Any]] = {"candidates": candidates, "values": values}
    if chances is not None:
        likely = np.flatnonzero(chances)
        rank = np.empty_like(by_code)
        rank[by_code] = np.arange(by_code.size)
        order = np.lexsort((graph.cell[likely], rank[rows_of_edges(graph)[likely]]))
        arrays["chances"] = chances[likely[order]].astype("<f4")
    return PagePart("table", {"step": step}, arrays)


def _candidates(graph: Graph, policy: Policy) -> NDArray[np.int64]:
    """int64[U]: a bit for each cell that the agent may pick, occupied ones included."""
    chosen = chosen_edges(graph, policy)
    # A sum of different powers of two is their union; 2**16 is far within what a float64 counts exactly.
    bits = 2.0 ** graph.cell[chosen].astype(np.int64)
    return np.bincount(rows_of_edges(graph)[chosen], bits, graph.first_edge.size - 1).astype(np.int64)


def _scores(run: Run) -> NDArray[np.float64]:
    """float64[E]: the agent's value of every move for the player who makes it; or its chance, if it has no values."""
    graph = run.graph
    if run.learner.temperature is not None:
        chances: NDArray[np.float64] = played_chances(run).chance
        return chances
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
