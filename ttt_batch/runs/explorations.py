"""Parsing and checks of exploration options: epsilon-greedy, or softmax written `softmax:T`."""

import math
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ttt_batch.base.choices import fold_case
from ttt_batch.base.errors import UsageError, flag, quoted
from ttt_batch.base.quantities import exact_number
from ttt_batch.learners import learner_named

if TYPE_CHECKING:
    from ttt_batch.runs.config import Config

SOFTMAX = "softmax"


def parse_explore(given: str) -> str:
    """Return the canonical form of `softmax:T`.  Raises UsageError."""
    return f"{SOFTMAX}:{temperature_of(given)!r}"


def temperature_of(given: str) -> float:
    """Return the temperature of `softmax:T`.  Raises UsageError."""
    name, _, number = given.partition(":") if isinstance(given, str) else ("", "", "")
    if fold_case(name.strip()) != SOFTMAX or not number.strip():
        raise UsageError(f"explore {quoted(given)} is not softmax:T; give a temperature, such as softmax:0.1")
    temperature = exact_number(number)
    if temperature is not None and 0 < temperature <= sys.float_info.max:
        return float(temperature)
    if number.strip().lower() in ("inf", "infinity"):
        temperature = math.inf
    why = "is not a number" if temperature is None else "is not above 0" if temperature <= 0 else "is too large"
    if "->" in number or "/n" in number:
        why = "does not change with the games"
    raise UsageError(f"explore {quoted(given)}: its temperature {why}; give a number above 0, such as softmax:0.1")


def replace_exploration(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a resumed run, in which a new epsilon replaces softmax play, and the other way round."""
    if given.get("explore") is not None and given.get("epsilon") is None:
        return {**given, "epsilon": 0.0}
    if given.get("epsilon") is not None and given.get("explore") is None:
        return {**given, "explore": None}
    return dict(given)


def check_numbers(config: "Config") -> None:
    """Raise UsageError for an epsilon beside play by action probabilities, and for numbers that a learner lacks."""
    learner = learner_named(config.learner)
    if config.by_chances and config.epsilon.text != "0.0":
        if config.explore is None:
            raise UsageError(
                f"{learner.name} draws its moves from probabilities that it learns; leave {flag('epsilon')} out"
            )
        raise UsageError(f"{flag('explore')} takes the place of {flag('epsilon')}; leave one of them out")
    if learner.boxes:
        _check_beads(config)
    if learner.undiscounted and config.gamma != 1.0:
        raise UsageError(
            f"{learner.name} is not discounted: gamma {config.gamma:g} is not 1; leave {flag('gamma')} out"
        )


def _check_beads(config: "Config") -> None:
    """Raise UsageError for a step size or draw worths of a learner that has beads instead."""
    name = config.learner
    if config.alpha.text != "1.0":
        raise UsageError(
            f"{name} has no step size: alpha {config.alpha.text} does not apply to whole beads; leave "
            f"{flag('alpha')} out, and choose {flag('rewards')}"
        )
    if config.draw_worth != (0.0, 0.0):
        raise UsageError(f"{name} has rewards in beads; instead of {flag('draw_worth')} give {flag('rewards')}")
