"""`reinforce`: preferences for moves, each pulled by how the game ended, with a baseline.

Source: Williams 1992; Sutton and Barto, Reinforcement Learning, 2nd edition, sections 13.3 and 13.4.  The rule is that
of `preferences`, and the target of every move is the result for its mover, undiscounted.
"""

from typing import NamedTuple

from ttt_batch.compiler.jit import Float64Array
from ttt_batch.learners.base import Step
from ttt_batch.learners.preferences import preference_learner, preferences, turn_worth


@preferences
class ReinforceTables(NamedTuple):
    """q: float64[E], theta, preferences for moves.  value: float64[S], what positions are worth to their movers."""

    q: Float64Array
    value: Float64Array


@turn_worth.register(ReinforceTables)
def _turn_worth(tables: ReinforceTables, step: Step, value: float, result: float) -> float:
    return result


LEARNER = preference_learner(
    ReinforceTables,
    name="reinforce",
    source="Williams 1992; Sutton and Barto 13.3-13.4: a policy followed up its gradient, with a baseline",
    rule="theta(s,b) += alpha * (r - V(s)) * (1[b=a] - pi(b|s)), pi = softmax(theta); V(s) += beta * (r - V(s))",
    undiscounted=True,
)
