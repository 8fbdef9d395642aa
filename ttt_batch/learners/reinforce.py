"""`reinforce`: preferences for moves, each pulled by how the game ended, with a baseline.

Source: Williams 1992; Sutton and Barto, Reinforcement Learning, 2nd edition, sections 13.3 and 13.4.  The rule is that
of `preferences`, and the target of every move is the result for its mover, undiscounted.
"""

from typing import NamedTuple

import numpy as np

from ttt_batch.compiler.jit import Float64Array
from ttt_batch.learners.base import PREFERENCE, Learner, Settings, Step
from ttt_batch.learners.preferences import FIELDS, preferences, start_preferences, turn_worth
from ttt_batch.simulation.policy import UNIFORM, Choice


@preferences
class ReinforceTables(NamedTuple):
    """q: float64[E], theta, preferences for moves.  value: float64[S], what positions are worth to their movers."""

    q: Float64Array
    value: Float64Array


@turn_worth.register(ReinforceTables)
def _turn_worth(tables: ReinforceTables, step: Step, value: float, result: float) -> float:
    return result


LEARNER = Learner(
    name="reinforce",
    source="Williams 1992; Sutton and Barto 13.3-13.4: a policy followed up its gradient, with a baseline",
    rule="theta(s,b) += alpha * (r - V(s)) * (1[b=a] - pi(b|s)), pi = softmax(theta); V(s) += beta * (r - V(s))",
    defaults=Settings(epsilon=0.0, alpha=0.1, gamma=1.0, draw_worth=(0.0, 0.0), beta=0.1),
    games=1_000_000,
    choice=Choice(UNIFORM, 0.0),
    prefers_symmetry=True,
    tables=ReinforceTables,
    fields=FIELDS,
    start=lambda graph, worth, _: ReinforceTables(np.zeros(graph.child.size), start_preferences(graph, worth)),
    start_value=0.0,
    loss=-1.0,
    temperature=1.0,
    number=PREFERENCE,
    undiscounted=True,
)
