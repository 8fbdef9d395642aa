"""`sarsa`: action values, each moved to that of the same player's next move.

Source: Rummery and Niranjan 1994; Sutton and Barto, Reinforcement Learning, 2nd edition, section 6.4.  Each player
learns separately; the opponent is a part of its environment.  With s' the mover's next turn after move a from
s, and a' the move that it makes there, exploratory or not:

    Q(s, a) += alpha * (target - Q(s, a))
    target = the result for the mover if the game is over by then, else gamma * Q(s', a')

So the values are those of the exploring policy, blunders included.  A fixed opponent plays another policy, so nothing
is learnt from its moves.

In a batch the target is a mean over the replies seen and, after each reply, over the moves taken in s'.  Their values
are those from before the batch.
"""

import functools
from typing import NamedTuple

import numpy as np

from ttt_batch.compiler.jit import Float64Array
from ttt_batch.games.graph import Graph, edges_of
from ttt_batch.learners.base import Step
from ttt_batch.learners.values import batch_turn_value, one_q, q_learner, turn_value
from ttt_batch.simulation.policy import EXPLORING, GREEDY, Counts


@functools.partial(one_q, own_only=True)
class SarsaTables(NamedTuple):
    """q: float64[E], what a move is worth to the player who makes it; a win 1, a loss -1."""

    q: Float64Array


@turn_value.register(SarsaTables)
def _turn_value(tables: SarsaTables, graph: Graph, row: np.uint32, edge: np.uint32, step: Step) -> float:
    return tables.q[edge]


@batch_turn_value.register(SarsaTables)
def _batch_turn_value(tables: SarsaTables, graph: Graph, row: np.uint32, counts: Counts, step: Step) -> float:
    total = 0.0
    lo, hi = edges_of(graph, row)
    for edge in range(lo, hi):
        total += (counts.taken[edge, GREEDY] + counts.taken[edge, EXPLORING]) * tables.q[edge]
    return total / counts.arrived[row]


LEARNER = q_learner(
    SarsaTables,
    name="sarsa",
    source="Rummery and Niranjan 1994; Sutton and Barto 6.4: each player for itself",
    rule="Q(s,a) += alpha * (target - Q(s,a)), target = r at the end, else gamma * Q(s'',a''), the next own move's",
)
