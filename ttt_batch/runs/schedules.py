"""Schedules of step size and exploration, by games played or, for a step size, by visits of a value.

Written as `0.1`, `0.3->0.01:linear`, `0.3->0.01:exp` (over the run's games, by absolute game number) and, for alpha,
`1/n` or `1/n^0.8` (by the number of updates of a value).  Numbers may be percentages, `30%->1%:linear`.
The value does not change within a batch.
"""

import math
import re
from dataclasses import dataclass
from typing import Any, NamedTuple

from ttt_batch.base.choices import choose
from ttt_batch.base.errors import UsageError, quoted
from ttt_batch.base.jit import kernel
from ttt_batch.base.quantities import Number, number_text, parse_float

CONSTANT, LINEAR, EXPONENTIAL, VISITS = 0, 1, 2, 3
_SHAPES = {"linear": LINEAR, "exp": EXPONENTIAL}
_SHAPE_WORDS = {"exponential": "exp"}

MAX_TEXT = 200
"""Maximum of characters in a schedule; one with every digit of both numbers has about 60."""

MAX_RISE = 1e300
"""Largest quotient of end and start of an exponential schedule: above 1.8e308 it overflows."""


class Decay(NamedTuple):
    """Schedule as kernels use it.

    kind: CONSTANT, LINEAR, EXPONENTIAL or VISITS.  start: value at game 0.  end: value from game `games` on.
    games: number of games over which the value changes.  power: the exponent of VISITS, else 0.
    """

    kind: int
    start: float
    end: float
    games: float
    power: float


@dataclass(frozen=True)
class Schedule:
    """Schedule as the user writes it; `text` is its canonical form."""

    kind: int
    start: float
    end: float
    power: float = 0.0

    @property
    def text(self) -> str:
        """Return the canonical form, which `parse_schedule` reads."""
        if self.kind == CONSTANT:
            return repr(self.start)
        if self.kind == VISITS:
            return "1/n" if self.power == 1.0 else f"1/n^{self.power!r}"
        shape = next(name for name, kind in _SHAPES.items() if kind == self.kind)
        return f"{self.start!r}->{self.end!r}:{shape}"

    @property
    def plain(self) -> float | str:
        """Return the number if it never changes, else the canonical form."""
        return self.start if self.kind == CONSTANT else self.text

    @property
    def by_games(self) -> bool:
        """Return whether the value changes with the games played."""
        return self.kind in (LINEAR, EXPONENTIAL)

    def over(self, games: int) -> Decay:
        """Return the schedule over a run of `games` games."""
        return Decay(self.kind, self.start, self.end, float(max(games, 1)), self.power)


def parse_schedule(name: str, value: Number | Schedule, *, positive: bool) -> Schedule:
    """Return the schedule of a text or of a number in [0, 1] (above 0 if `positive`).

    Only positive schedules may depend on visits.

    Raises UsageError with the value, the limit and the remedy.
    """
    if isinstance(value, Schedule):
        value = value.text
    if isinstance(value, str) and len(value) > MAX_TEXT:
        raise UsageError(
            f"{name} {value[:20]!r}... has {len(value):,} characters, at most {MAX_TEXT} are read; "
            "give a number or 0.3->0.01:linear"
        )
    text = value.replace(" ", "") if isinstance(value, str) else ""
    if match := re.fullmatch(r"1/n(?:\^(.+))?", text, re.IGNORECASE):
        if not positive:
            raise UsageError(
                f"{name} {quoted(value)}: only alpha can depend on visits; give a number or 0.3->0.01:linear"
            )
        power = _number(f"{name} {quoted(text)}: its exponent", match[1] or "1", True)
        return Schedule(VISITS, 1.0, 1.0, power)
    if match := re.fullmatch(r"(.+)->(.+):(\w+)", text):
        kind = _SHAPES[choose(f"shape of {name}", match[3], _SHAPES, words=_SHAPE_WORDS)]
        ends = [_number(name, part, positive or kind == EXPONENTIAL) for part in (match[1], match[2])]
        if kind == EXPONENTIAL and ends[1] / ends[0] > MAX_RISE:
            raise UsageError(
                f"{name} {value!r}: its end is more than {MAX_RISE:g} times its start; begin with a larger number"
            )
        return Schedule(kind, ends[0], ends[1])
    number = _number(name, text or value, positive)
    return Schedule(CONSTANT, number, number)


def _number(name: str, value: Number, positive: bool) -> float:
    interval = "(0, 1]" if positive else "[0, 1]"
    forms = "a number such as 0.1 or 10%, or 0.3->0.01:linear" + (" or 1/n" if positive else "")
    number = parse_float(name, value, f"{forms}, with numbers in {interval}", shares=True)
    if not (0.0 < number <= 1.0 if positive else 0.0 <= number <= 1.0):
        raise UsageError(f"{name} {number_text(value)} is outside {interval}; give a number in it, e.g. 0.1")
    return number


@kernel
def value_at(decay: Decay, game: Any) -> Any:
    """Return the value for a batch whose first game is `game` (from 0); for VISITS the value of a first visit."""
    if decay.kind == LINEAR:
        return decay.start + (decay.end - decay.start) * min(game / decay.games, 1.0)
    if decay.kind == EXPONENTIAL:
        value = decay.start * math.exp(math.log(decay.end / decay.start) * min(game / decay.games, 1.0))
        return min(value, 1.0)  # 0.3->1 rounds to more than 1, and a step size above 1 diverges
    return decay.start
