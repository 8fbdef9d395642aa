"""How a learner tries what does not look best: epsilon-greedily, or by softmax, written `softmax:T`."""

import math
from typing import Any

from ttt_batch.base.choices import fold
from ttt_batch.base.errors import UsageError, option, quoted
from ttt_batch.base.quantities import real
from ttt_batch.learners.base import Learner
from ttt_batch.runs.schedules import parse_schedule

SOFTMAX = "softmax"


def check_explore(learner: Learner, given: dict[str, Any]) -> str | None:
    """How the options `given` have a learner explore, in its canonical form; None for epsilon-greedy play.

    `given` is modified in place: epsilon is 0 with softmax.  Raises UsageError, also for a learner that plays by
    chances of its own, and if epsilon is given, too.
    """
    explore, epsilon = given.get("explore"), given.get("epsilon")
    chosen = (
        "epsilon" if epsilon is not None and parse_schedule("epsilon", epsilon, positive=False).text != "0.0" else ""
    )
    if learner.temperature is not None and (explore is not None or chosen):
        named = option("epsilon" if chosen else "explore")
        raise UsageError(f"{learner.name} draws its moves from probabilities that it learns; leave {named} out")
    if explore is None:
        return None
    temperature = temperature_of(explore)
    if chosen:
        raise UsageError(f"{option('explore')} takes the place of {option('epsilon')}; leave one of them out")
    given["epsilon"] = 0.0
    return f"{SOFTMAX}:{temperature!r}"


def temperature_of(given: str) -> float:
    """The temperature of `softmax:T`.  Raises UsageError."""
    name, _, number = given.partition(":") if isinstance(given, str) else ("", "", "")
    if fold(name) != SOFTMAX or not number.strip():
        raise UsageError(f"explore {quoted(given)} is not softmax:T; give a temperature, such as softmax:0.1")
    temperature = real("the temperature of explore", number, "a number above 0, such as softmax:0.1")
    if not (temperature > 0.0 and math.isfinite(temperature)):
        raise UsageError(f"explore {quoted(given)}: its temperature is not above 0; give one such as softmax:0.1")
    return temperature
