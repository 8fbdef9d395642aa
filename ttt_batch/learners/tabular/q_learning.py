"""`q-learning`: action values, each moved to the best one at the same player's next turn.

Source: Watkins 1989; Sutton and Barto, Reinforcement Learning, 2nd edition, section 6.5.  Each player learns
separately; the opponent is a part of its environment.  With s' the mover's next turn after move a from s:

    Q(s, a) += alpha * (target - Q(s, a))
    target = the result for the mover if the game is over by then, else gamma * max over a' of Q(s', a')

The target does not depend on the move in s', so a player's exploration does not change its own targets.  It does depend
on the opponent's replies: the values are those against an opponent that explores, too.

In a batch the target is the mean over the replies seen; values of later turns are those from before the batch.
"""

from typing import NamedTuple

import numpy as np

from ttt_batch.compiler.jit import Float64Array
from ttt_batch.games.graph import Graph
from ttt_batch.learners.base import Step
from ttt_batch.learners.values import batch_turn_value, one_q, q_learner, turn_value
from ttt_batch.simulation.policy import Counts, best_score


@one_q
class QLearningTables(NamedTuple):
    """q: float64[E], what a move is worth to the player who makes it; a win 1, a loss -1."""

    q: Float64Array


@batch_turn_value.register(QLearningTables)
@turn_value.register(QLearningTables)
def _turn_value(tables: QLearningTables, graph: Graph, row: np.uint32, _: np.uint32 | Counts, step: Step) -> float:
    return best_score(tables, graph, row, 0)


LEARNER = q_learner(
    QLearningTables,
    name="q-learning",
    source="Watkins 1989; Sutton and Barto 6.5: each player for itself, the opponent part of its environment",
    rule="Q(s,a) += alpha * (target - Q(s,a)), target = r at the end, else gamma * max of Q(s'',a'), s'' the next turn",
)
