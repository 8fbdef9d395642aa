"""`expected-sarsa`: action values, each moved to the policy's expectation at the same player's next turn.

Source: van Seijen et al. 2009; Sutton and Barto, Reinforcement Learning, 2nd edition, section 6.6.  Each player learns
separately; the opponent is a part of its environment.  With s' the mover's next turn after move a from s:

    Q(s, a) += alpha * (target - Q(s, a))
    target = the result for the mover if the game is over by then, else gamma * sum over a' of pi(a' | s') * Q(s', a')

pi is the policy in force: that of softmax play; or with n moves of which m are best, epsilon / n for each, and
(1 - epsilon) / m more for the best ones.  The expectation that `sarsa` samples is exact here.  A fixed opponent plays
another policy, so nothing is learnt from its moves.

In a batch the target is the mean over the replies seen; values of later turns are those from before the batch.
"""

import functools
from typing import NamedTuple

import numpy as np

from ttt_batch.compiler.jit import Float64Array, Int64, inlined
from ttt_batch.compiler.numerics import exponential
from ttt_batch.games.graph import Graph, edges_of, mover_of
from ttt_batch.learners.base import Step, exploring_share, is_learner
from ttt_batch.learners.values import batch_turn_value, one_q, q_learner, turn_value
from ttt_batch.simulation.policy import Counts, best_score


@functools.partial(one_q, own_only=True)
class ExpectedSarsaTables(NamedTuple):
    """q: float64[E], what a move is worth to the player who makes it; a win 1, a loss -1."""

    q: Float64Array


@inlined
def _by_epsilon(q: Float64Array, best: float, epsilon: float, lo: Int64, hi: Int64) -> float:
    """Return the sum of pi(a) * Q(a) over edges `lo` to `hi - 1`, in cell order; best: the highest value."""
    n_best = 0
    for edge in range(lo, hi):
        n_best += q[edge] == best
    explored, greedy = epsilon / (hi - lo), (1.0 - epsilon) / n_best
    total = 0.0
    for edge in range(lo, hi):
        total += (explored + greedy if q[edge] == best else explored) * q[edge]
    return total


@inlined
def _by_softmax(q: Float64Array, best: float, temperature: float, lo: Int64, hi: Int64) -> float:
    """Return the sum of pi(a) * Q(a) for softmax play."""
    powers, total = 0.0, 0.0
    for edge in range(lo, hi):
        powers += exponential((q[edge] - best) / temperature)
    for edge in range(lo, hi):
        total += exponential((q[edge] - best) / temperature) / powers * q[edge]
    return total


@batch_turn_value.register(ExpectedSarsaTables)
@turn_value.register(ExpectedSarsaTables)
def _turn_value(tables: ExpectedSarsaTables, graph: Graph, row: np.uint32, _: np.uint32 | Counts, step: Step) -> float:
    lo, hi = edges_of(graph, row)
    mover, best = mover_of(graph, row), best_score(tables, graph, row, 0)
    if step.temperature > 0.0 and is_learner(step, mover):
        return _by_softmax(tables.q, best, step.temperature, lo, hi)
    return _by_epsilon(tables.q, best, exploring_share(step, mover), lo, hi)


LEARNER = q_learner(
    ExpectedSarsaTables,
    name="expected-sarsa",
    source="van Seijen et al. 2009; Sutton and Barto 6.6: each player for itself",
    rule="Q(s,a) += alpha * (target - Q(s,a)), target = r at the end, else gamma * sum of pi(a'|s'') * Q(s'',a')",
)
