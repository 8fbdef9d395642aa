"""`actor-critic`: preferences for moves, each pulled by the value of the position at the same player's next turn.

Source: Barto, Sutton and Anderson 1983; Sutton and Barto, Reinforcement Learning, 2nd edition, section 13.5, one step.
The rule is that of `preferences`.  With s' the mover's next turn after its move from s, the target is gamma * V(s')
unless the game is over by then.  The book's factor gamma**t in the actor's step is left out.
"""

from typing import NamedTuple

from ttt_batch.compiler.jit import Float64Array
from ttt_batch.learners.base import Step
from ttt_batch.learners.preferences import preference_learner, preferences, turn_worth


@preferences
class ActorCriticTables(NamedTuple):
    """q: float64[E], theta, preferences for moves.  value: float64[S], what positions are worth to their movers."""

    q: Float64Array
    value: Float64Array


@turn_worth.register(ActorCriticTables)
def _turn_worth(tables: ActorCriticTables, step: Step, value: float, result: float) -> float:
    return step.gamma * value


LEARNER = preference_learner(
    ActorCriticTables,
    name="actor-critic",
    source="Barto, Sutton and Anderson 1983; Sutton and Barto 13.5: one step ahead, without the factor gamma**t",
    rule="theta(s,b) += alpha * delta * (1[b=a] - pi(b|s)), V(s) += beta * delta, delta = gamma * V(s'') - V(s)",
)
