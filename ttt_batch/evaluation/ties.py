"""Rules for breaking ties between moves: by the exact result, or by exact results against random play.

To a table every win may be worth the same, however late it comes, so its rule may pass up a win in one.  A rule of play
selects among the moves that the table's rule may pick:

    any       all of them
    soonest   if one of them truly wins, the quickest wins; if all truly lose, the longest losses; else all
    sharp     those with the best exact result against random play, see `sharp_edges`; equal ones by soonest

The numbers of `solution.solve_in_plies`, seen by the mover, put wins above draws above losses, quick wins above long
ones and long losses above quick ones.  So `soonest` keeps the highest, or all if the highest is 0, a draw.  On a board
too large to enumerate only ends of games are known and all else is 0, which leaves wins in one; on misère boards, which
have no move that wins at once, it changes nothing.

An agent that is unbeatable with `any` is unbeatable with the others, and not the other way round.  `sharp` takes a
table whose board is enumerated.

Ties broken by exact results against random play: of the moves that an agent's rule may pick, those that win most.
An unbeatable agent that picks any of them may draw where it could have set a trap.  One sweep up the rows gives each
move its expected win minus loss against a uniformly random opponent, if the agent picks the best of its own moves from
then on, too.  The moves that remain are some of those that the agent's rule may pick, so an agent that is unbeatable
with all of them still is.  Equal ones are left to `ties.soonest_edges`.
"""

import numpy as np
from numpy.typing import NDArray

from ttt_batch.compiler.jit import BoolArray, Int8Array, Int64, inlined
from ttt_batch.core.errors import flag
from ttt_batch.core.text import Ties
from ttt_batch.games.graph import Graph, edges_of, mover_of, rows_of_edges
from ttt_batch.games.solution import QUICKEST, ends_alone
from ttt_batch.simulation.policy import Policy, chosen_edges, legal_edges

_MEANING: dict[Ties, str] = {
    "sharp": "the best against random moves of those it may pick",
    "soonest": "the quickest true win or longest true loss it may pick",
    "any": "any move that its rule may pick",
}


def meaning(ties: Ties) -> str:
    """Describe a tie rule, in a text that fits on a line of 80 columns after `ties:`."""
    return f"{_MEANING[ties]} ({flag('ties', ties)})"


def soonest_edges(graph: Graph, chosen: NDArray[np.bool_], solution: NDArray[np.int8]) -> NDArray[np.bool_]:
    """Return the soonest of the `chosen` edges of every row (bool[E] both; solution: as `solution.solve_in_plies`)."""
    row = rows_of_edges(graph)
    number = solution[graph.child]
    number = np.where(graph.ply[row] & 1, -number, number)
    number[~chosen] = -QUICKEST - 1
    best = np.maximum.reduceat(number, graph.first_edge[:-1])[row]
    kept: NDArray[np.bool_] = chosen & ((number == best) | (best == 0))
    return kept


@inlined
def keep_soonest(graph: Graph, solution: Int8Array, row: Int64, chosen: BoolArray) -> None:
    """Keep the soonest of the moves of a row that `chosen` (bool, one an edge, changed in place) has."""
    lo, hi = edges_of(graph, row)
    sign, best = 1 - 2 * mover_of(graph, row), -QUICKEST - 1
    for edge in range(lo, hi):
        if chosen[edge - lo]:
            best = max(best, sign * solution[graph.child[edge]])
    if best != 0:
        for edge in range(lo, hi):
            chosen[edge - lo] &= sign * solution[graph.child[edge]] == best


ROUNDING = 1e-12
"""Results that differ by less are equal.  Those of n cells are multiples of 1/n!! (1e-7 for 16); errors are 1e-15."""

NEVER = -2.0
"""Less than any result, for moves that the agent does not make."""


def expected_after(graph: Graph, chosen: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the expected win minus loss of each move's mover against random moves from then on (float64[E]).

    chosen: bool[E], the moves that the mover may pick in later positions; it picks the best of them.
    """
    ends, legal = ends_alone(graph.outcome, 1).astype(np.float64), legal_edges(graph)
    results = np.stack([ends, -ends])  # of the agent in each seat
    expected = np.empty(graph.child.size)
    for ply in range(graph.ply_start.size - 2, -1, -1):
        rows = slice(int(graph.ply_start[ply]), int(graph.ply_start[ply + 1]))
        edges = slice(int(graph.first_edge[rows.start]), int(graph.first_edge[rows.stop]))
        starts = graph.first_edge[rows] - graph.first_edge[rows.start]
        own, other, child = ply % 2, 1 - ply % 2, graph.child[edges]
        expected[edges] = results[own, child]
        results[own, rows] = np.maximum.reduceat(np.where(chosen[edges], expected[edges], NEVER), starts)
        results[other, rows] = np.add.reduceat(results[other, child] * legal[edges], starts) / graph.legal[rows]
    return expected


def sharp_edges(graph: Graph, policy: Policy, solution: NDArray[np.int8]) -> NDArray[np.bool_]:
    """Return the moves of `policy` that ties `sharp` keeps (bool[E]; solution: as `solution.solve_in_plies`)."""
    chosen = chosen_edges(graph, policy)
    expected = np.where(chosen, expected_after(graph, chosen), NEVER)
    best = np.maximum.reduceat(expected, graph.first_edge[:-1])[rows_of_edges(graph)]
    return soonest_edges(graph, expected >= best - ROUNDING, solution)
