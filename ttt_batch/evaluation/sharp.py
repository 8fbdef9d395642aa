"""Ties broken by exact results against random play: of the moves that an agent's rule may pick, those that win most.

An unbeatable agent that picks any of them may draw where it could have set a trap.  One sweep up the rows gives each
move its expected win minus loss against a uniformly random opponent, if the agent picks the best of its own moves from
then on, too.  The moves that remain are some of those that the agent's rule may pick, so an agent that is unbeatable
with all of them still is.  Equal ones are left to `ties.soonest_edges`.
"""

import numpy as np
from numpy.typing import NDArray

from ttt_batch.evaluation.ties import soonest_edges
from ttt_batch.game.graph import Graph, rows_of_edges
from ttt_batch.game.solution import ends_alone
from ttt_batch.simulation.policy import Policy, chosen_edges, legal_edges

ROUNDING = 1e-12
"""Results that differ by less are equal.  Those of n cells are multiples of 1/n!! (1e-7 for 16); errors are 1e-15."""

NEVER = -2.0
"""Less than any result, for moves that the agent does not make."""


def expected_after(graph: Graph, chosen: NDArray[np.bool_]) -> NDArray[np.float64]:
    """float64[E]: the expected win minus loss of each move's mover, whose opponent moves at random from then on.

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
    """bool[E]: the sharpest of the moves that `policy` may pick (solution: see `solution.solve_in_plies`)."""
    chosen = chosen_edges(graph, policy)
    expected = np.where(chosen, expected_after(graph, chosen), NEVER)
    best = np.maximum.reduceat(expected, graph.first_edge[:-1])[rows_of_edges(graph)]
    return soonest_edges(graph, expected >= best - ROUNDING, solution)
