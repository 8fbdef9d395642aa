"""What play hands to learning: how often each edge was taken, greedily and exploring."""

from typing import Any, NamedTuple

import numpy as np

from ttt_batch.compile import kernel
from ttt_batch.graph import Graph, n_unfinished
from ttt_batch.policy import Policy

GREEDY, EXPLORING = 0, 1


class Counts(NamedTuple):
    """Counts of one batch.

    taken: int64[E, 2], how often each edge was taken GREEDY and EXPLORING.
    arrived: int64[S], how many games passed through or ended in each row.
    scratch: float64[S * 4], for folds: what a row hands to the rows above it; holds nothing between folds.
    """

    taken: Any
    arrived: Any
    scratch: Any


def empty_counts(graph: Graph) -> Counts:
    """All zero."""
    return Counts(
        np.zeros((graph.child.size, 2), np.int64), np.zeros(graph.code.size, np.int64), np.zeros(4 * graph.code.size)
    )


@kernel
def complete(graph: Graph, policy: Policy, counts: Counts, games: Any) -> None:
    """Fill in what chance did not decide, in one sweep down the rows.

    On entry `taken` holds every exploratory move and every greedy one that was drawn among several, and `arrived`
    is zero; where a row has a single greedy move, it was taken by all games that arrived and did not explore.
    `counts` is modified in place.
    """
    taken, arrived = counts.taken, counts.arrived
    arrived[0] = games
    for row in range(n_unfinished(graph)):
        rest = arrived[row]
        if rest == 0:
            continue
        lo, hi = graph.first_edge[row], graph.first_edge[row + 1]
        for edge in range(lo, hi):
            drawn = taken[edge, GREEDY] + taken[edge, EXPLORING]
            rest -= drawn
            arrived[graph.child[edge]] += drawn
        # Where several moves are best all were drawn, and nothing is left.
        greedy = policy.ordered[lo]
        taken[greedy, GREEDY] += rest
        arrived[graph.child[greedy]] += rest


@kernel
def clear(graph: Graph, counts: Counts) -> None:
    """Set every count that the batch touched back to zero; rows no game reached are not visited."""
    for row in range(n_unfinished(graph)):
        if counts.arrived[row] != 0:
            counts.arrived[row] = 0
            for edge in range(graph.first_edge[row], graph.first_edge[row + 1]):
                counts.taken[edge, GREEDY] = 0
                counts.taken[edge, EXPLORING] = 0
    for row in range(n_unfinished(graph), graph.code.shape[0]):
        counts.arrived[row] = 0


@kernel
def add_outcomes(graph: Graph, counts: Counts, outcomes: Any) -> None:
    """Add to `outcomes` (int64[4], by outcome) how the batch's games ended."""
    for row in range(n_unfinished(graph), graph.code.shape[0]):
        outcomes[graph.outcome[row]] += counts.arrived[row]
