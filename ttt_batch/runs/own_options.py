"""Options that only some learners have: parsing, and errors for learners that lack one.

A learner has an option if its defaults hold a value.  A configuration contains only options whose value is not None.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypedDict

from ttt_batch.base.choices import SWITCH_WORDS, choose
from ttt_batch.base.errors import UsageError, display_name, flag, quoted
from ttt_batch.base.quantities import Number, number_text, parse_float, parse_share, whole_number
from ttt_batch.learners import LEARNERS
from ttt_batch.learners.base import Learner
from ttt_batch.runs.explorations import parse_explore
from ttt_batch.runs.state import LARGEST


class OwnOptions(TypedDict, total=False):
    """Options of some learners only, as values or as text; None means the default."""

    start_value: Number | None
    lambda_: Number | None
    cut: bool | str | None
    beta: Number | None
    explore: str | None
    beads: str | Sequence[int] | None
    rewards: str | Sequence[int] | None


MOST_BEADS = 1_000_000
"""Largest number of beads of a kind at the start, and of a reward."""


def _switched(given: bool | str) -> bool:
    return given if isinstance(given, bool) else choose("cut", given, ("on", "off"), words=SWITCH_WORDS) == "on"


def _start_value(given: Number) -> float:
    expected = f"one from {-LARGEST:g} to {LARGEST:g}, such as 1, or leave it out for the learner's own start"
    number = parse_float("start value", given, expected)
    if not -LARGEST <= number <= LARGEST:  # also catches NaN
        raise UsageError(f"start value {number} is out of range; give {expected}")
    return number + 0.0  # turns -0.0 into 0.0


def _beta(given: Number) -> float:
    number = parse_float("beta", given, "a number above 0 up to 1, such as 0.1")
    if not 0.0 < number <= 1.0:
        raise UsageError(f"beta {number_text(given)} is outside (0, 1]; give a number in it, e.g. 0.1")
    return number


def _whole_numbers(name: str, given: str | Sequence[int], example: str, meaning: str, lowest: Sequence[int]) -> str:
    """Return the canonical text of whole numbers: as many as `lowest` has, each at least the one there.

    meaning: description of the numbers, for the message of UsageError.
    """
    parts = given.split(",") if isinstance(given, str) else list(given)
    numbers = [whole_number(part) for part in parts]
    good = len(numbers) == len(lowest) and all(
        number is not None and low <= number <= MOST_BEADS for number, low in zip(numbers, lowest, strict=True)
    )
    if not good:
        text = given if isinstance(given, str) else ",".join(map(str, parts))
        raise UsageError(f"{name} {quoted(text)} are not {meaning}; give them such as {example}")
    return ",".join(map(str, numbers))


def _beads(given: str | Sequence[int]) -> str:
    meaning = f"four whole numbers from 1 to {MOST_BEADS:,}, for the first player's turns one to four"
    return _whole_numbers("beads", given, "4,3,2,1 or 8,4,2,1", meaning, [1, 1, 1, 1])


def _rewards(given: str | Sequence[int]) -> str:
    meaning = (
        f"three whole numbers of beads up to {MOST_BEADS:,}: at least 0 for a win, any for a draw, at most 0 for a loss"
    )
    text = _whole_numbers("rewards", given, "3,1,-1", meaning, [0, -MOST_BEADS, -MOST_BEADS])
    if int(text.rpartition(",")[2]) > 0:
        raise UsageError(f"rewards {quoted(text)} are not {meaning}; give them such as 3,1,-1")
    return text


READ: Mapping[str, Callable[[Any], Any]] = {
    "start_value": _start_value,
    "lambda_": lambda given: parse_share("lambda", given, "0.7 is usual"),
    "cut": _switched,
    "beta": _beta,
    "explore": parse_explore,
    "beads": _beads,
    "rewards": _rewards,
}
"""Parser of each option.  Raises UsageError."""


def takes(learner: Learner, name: str) -> bool:
    """Return whether a learner has the option."""
    if name == "explore":
        return not learner.by_chances
    return getattr(learner if name == "start_value" else learner.defaults, name) is not None


def own_option_values(learner: Learner, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the value of each option for a learner; None if the learner lacks it or starts with its own values.

    Raises UsageError for a given option that the learner lacks.
    """
    values: dict[str, Any] = dict.fromkeys(READ)
    for name in READ:
        value = given.get(name)
        if value is not None:
            if not takes(learner, name):
                raise UsageError(f"{flag(name)} is not an option of {learner.name}{_instead(name)}; leave it out")
            values[name] = READ[name](value)
    return values


def own_text(name: str, value: float | bool | str) -> str:
    """Return an option with its value in words: `lambda 0.7`, `start value 1`, `cut`, `softmax:0.1`."""
    if isinstance(value, str):
        return value if name == "explore" else f"{name} {value}"
    if isinstance(value, bool):
        return display_name(name) if value else f"not {display_name(name)}"
    return f"{display_name(name)} {value:g}"


def _instead(name: str) -> str:
    """Return the learners that have the option, or why this learner lacks it, as the end of a message."""
    if name == "start_value":
        return ", whose start values are not a single number"
    if name == "explore":
        return ", which draws its moves from probabilities that it learns"
    having = [learner.name for learner in LEARNERS.values() if takes(learner, name)]
    return f", only of {', '.join([*having, *(['ntuple-td'] if name == 'lambda_' else [])])}"


def parse_worths(given: tuple[Number, Number] | str) -> tuple[float, float]:
    """Return the worth of a draw to each player, from a pair or from `A,B` (or `A` for both).  Raises UsageError."""
    parts = given.split(",") if isinstance(given, str) else [given] if isinstance(given, int | float) else list(given)
    expected = "two numbers such as 0.5,0.5"
    if len(parts) not in (1, 2):
        raise UsageError(f"draw worth {quoted(given)} is not one or two numbers; give {expected}")
    numbers = [parse_float("draw worth", part, expected) for part in parts]
    for number in numbers:
        if not -LARGEST <= number <= LARGEST:  # also catches NaN
            raise UsageError(
                f"draw worth {number} is not a number from {-LARGEST:g} to {LARGEST:g}; a win is worth 1: "
                f"give {expected}"
            )
    return numbers[0], numbers[-1]
