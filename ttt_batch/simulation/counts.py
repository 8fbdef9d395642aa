"""What play hands to learning: how often each edge was taken, greedily and exploring."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_batch.base.jit import inlined, kernel
from ttt_batch.game.board import DRAW, FIRST_WINS, SECOND_WINS
from ttt_batch.game.graph import Graph, edges_of, n_unfinished
from ttt_batch.simulation.policy import Policy

GREEDY, EXPLORING = 0, 1


class Counts(NamedTuple):
    """Counts of one batch.

    visited: uint32[U], the unfinished rows that games reached, in row order: the first `n_visited` entries.  A sweep
    looks at no other row (a branch for each row that most batches do not reach cost 5 us a sweep).
    n_visited: int64[1].
    taken: int64[E, 2], how often each edge was taken GREEDY and EXPLORING; edges of other rows hold anything, and so do
    all where a learner needs no more than what arrived (`Learner.arrivals`).
    arrived: int64[S], how many games passed through or ended in each row.
    scratch: float64[S * 4], zeros at first, for folds alone: what a row hands to the rows above, or to the next fold.
    """

    visited: Any
    n_visited: Any
    taken: Any
    arrived: Any
    scratch: Any


def empty_counts(graph: Graph) -> Counts:
    """No row visited."""
    return Counts(
        np.zeros(graph.first_edge.size - 1, np.uint32),
        np.zeros(1, np.int64),
        np.zeros((graph.child.size, 2), np.int64),
        np.zeros(graph.code.size, np.int64),
        np.zeros(4 * graph.code.size),
    )


@inlined
def list_visited(graph: Graph, counts: Counts, ply: int, n: int) -> Any:
    """Append the rows of `ply` at which games arrived to the `n` listed in `counts.visited`; return the new number.

    Without a branch: which rows are reached is unpredictable.
    """
    for row in range(np.int64(graph.ply_start[ply]), np.int64(graph.ply_start[ply + 1])):
        counts.visited[np.uint64(n)] = row
        n += counts.arrived[np.uint64(row)] != 0
    return n


@kernel
def complete_counts(graph: Graph, policy: Policy, drawn: Any, counts: Counts, games: int) -> None:
    """Fill `counts` for `games` games with what was drawn and what follows from it, in one sweep down the rows.

    If a row has a single greedy move, all games that arrived and did not explore took it.
    drawn: uint32[2 * E], see `walk.Walker`; set back to zero.
    `counts` (nothing arrived) and `drawn` are modified in place.
    """
    visited, taken, arrived = counts.visited, counts.taken, counts.arrived
    n_edges = np.uint64(graph.child.shape[0])
    arrived[0] = games
    n: Any = np.int64(0)
    for ply in range(graph.ply_start.shape[0] - 1):
        first, n = n, list_visited(graph, counts, ply, n)
        for i in range(first, n):
            row = visited[i]
            rest = arrived[row]
            lo, hi = edges_of(graph, row)
            for number in range(lo, hi):
                edge = np.uint64(number)
                exploring = np.int64(drawn[n_edges + edge])
                drawn[n_edges + edge] = 0
                taken[edge, GREEDY] = 0
                taken[edge, EXPLORING] = exploring
                arrived[graph.child[edge]] += exploring
                rest -= exploring
            if policy.best[row] == 1:
                taken[policy.ordered[lo], GREEDY] = rest
                arrived[graph.child[policy.ordered[lo]]] += rest
            else:
                for number in range(lo, lo + policy.best[row]):
                    slot = np.uint64(number)
                    greedy = np.int64(drawn[slot])
                    drawn[slot] = 0
                    taken[policy.ordered[slot], GREEDY] = greedy
                    arrived[graph.child[policy.ordered[slot]]] += greedy
    counts.n_visited[0] = n


@inlined
def complete_reached(graph: Graph, drawn: Any, counts: Counts, games: int) -> None:
    """Fill `counts` but for `taken`, for `games` games that arrived in each row as often as `drawn` tells.

    drawn: uint32[S], set back to zero.  `counts` (nothing arrived) and `drawn` are modified in place.
    """
    for number in range(drawn.shape[0]):
        row = np.uint64(number)
        counts.arrived[row] = np.int64(drawn[row])
        drawn[row] = 0
    counts.arrived[0] = games
    n: Any = np.int64(0)
    for ply in range(graph.ply_start.shape[0] - 1):
        n = list_visited(graph, counts, ply, n)
    counts.n_visited[0] = n


@kernel
def clear_counts(graph: Graph, counts: Counts, ended: Any) -> None:
    """Empty `counts`, and add how its games ended to `ended` (int64[S - U], games by final row); both in place."""
    for i in range(counts.n_visited[0]):
        counts.arrived[counts.visited[i]] = 0
    counts.n_visited[0] = 0
    n_open = n_unfinished(graph)
    for final in range(ended.shape[0]):
        ended[final] += counts.arrived[n_open + final]
        counts.arrived[n_open + final] = 0


def outcomes_of(graph: Graph, ended: NDArray[np.int64]) -> NDArray[np.int64]:
    """int64[3]: first wins, draws and second wins among games that ended so (`ended` as `clear_counts` keeps it)."""
    outcome = graph.outcome[graph.first_edge.size - 1 :]
    return np.array([ended[outcome == result].sum() for result in (FIRST_WINS, DRAW, SECOND_WINS)], np.int64)
