"""Schedules of step size and exploration, by games played or, for a step size, by visits of a value.

Written as `0.1`, `0.3->0.01:linear`, `0.3->0.01:exp` (over the run's games, by absolute game number) and, for alpha,
`1/n` or `1/n^0.8` (by the number of updates of a value).  Numbers may be percentages, `30%->1%:linear`.
The value does not change within a batch.

Batch boundaries, computed from the game number alone, so that an interruption leaves no trace in a run.
All games of a batch are played with the tables from its start, so they do not learn from each other.  With `auto`, a
batch is at most a sixteenth of the games before it (measurements at the end of this file).
"""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from ttt_batch.compiler.jit import Int64, inlined, kernel
from ttt_batch.core.errors import UsageError, flag, quoted
from ttt_batch.core.text import Number, choose, fold_case, number_text, parse_float, parse_int, whole_number
from ttt_batch.simulation.walk import MAX_WALKED

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
    if re.fullmatch(r"[\d.%]+-", text):
        raise UsageError(
            f"{name} {quoted(value)} is cut off: a shell takes > for itself; quote the value, as in '0.3->0.01:linear'"
        )
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
def value_at(decay: Decay, game: Int64) -> float:
    """Return the value for a batch whose first game is `game` (from 0); for VISITS the value of a first visit."""
    if decay.kind == LINEAR:
        return decay.start + (decay.end - decay.start) * min(game / decay.games, 1.0)
    if decay.kind == EXPONENTIAL:
        value = decay.start * math.exp(math.log(decay.end / decay.start) * min(game / decay.games, 1.0))
        return min(value, 1.0)  # 0.3->1 rounds to more than 1, and a step size above 1 diverges
    return decay.start


AUTO = "auto"
DENSE_POINTS, PER_OCTAVE = 32, 8
MAX_GAMES = 10**15


class Batches(NamedTuple):
    """Batch sizes: start at `least` and double up to `most`.

    A size doubles after `2 * size * games_per_game` games.
    Sizes are powers of two unless `least` equals `most`, so a batch begins at a multiple of its size.
    """

    least: int
    most: int
    games_per_game: int


def make_batches(batch: int | str, most: int = MAX_GAMES) -> Batches:
    """Return batches of `batch` games each, or the growing batches of `auto` with at most `most` games."""
    if batch == AUTO:
        return Batches(1024, 1 << (most.bit_length() - 1), 16)
    return Batches(int(batch), int(batch), 1)


def parse_batch(text: Number) -> int | str:
    """Read a number of games, up to MAX_GAMES, or `auto`.  Raises UsageError."""
    if isinstance(text, str) and fold_case(text) == AUTO:
        return AUTO
    if whole_number(text) is None:
        raise UsageError(
            f"batch {number_text(text)} is not a number of games; give a whole number, e.g. 16384 or 10k, or auto"
        )
    return parse_int("batch", text, 1, MAX_GAMES)


def check_batch(batch: Number, engine: str) -> int | str:
    """Return `batch` as the configuration stores it.  Raises UsageError if the engine cannot play such batches."""
    games = parse_batch(batch)
    if games == 1 and engine == "flow":
        walk = flag("engine", "walk")
        raise UsageError(f"batch 1 belongs to {walk}, which plays games one by one; flow takes 2 or more")
    if engine == "walk" and not isinstance(games, str) and games > MAX_WALKED:
        raise UsageError(
            f"batch {games:,} is more than the {MAX_WALKED:,} games that {flag('engine', 'walk')} plays in one "
            f"batch; choose {flag('engine', 'flow')}"
        )
    return games


def batch_bounds(batches: Batches, game: int) -> tuple[int, int]:
    """Return the first game of the batch that contains `game` (int, from 0), and the first game after that batch."""
    size = batches.least
    while size < batches.most and game >= 2 * size * batches.games_per_game:
        size *= 2
    start = game - game % size
    return start, start + size


bounds_in_kernels: Any = inlined(batch_bounds)
"""`batch_bounds`, for kernels."""


def batch_parity(batches: Batches, game: int) -> int:
    """Return 0 if the batch that contains `game` has an even number, else 1; batches count from 0."""
    start, end = batch_bounds(batches, game)
    return start // (end - start) % 2


def first_game_of_size(batches: Batches, size: int) -> int | None:
    """Return the first game whose batch has at least `size` games; None if batches never grow that large."""
    if batches.most < size:
        return None
    if batches.least >= size:
        return 0
    reached = batches.least
    while reached < size:
        reached *= 2
    return reached * batches.games_per_game


def record_schedule(batches: Batches) -> Iterator[int]:
    """Yield the numbers of games at which tables are judged: after every batch at first, then eight per doubling."""
    games, number = 0, 0
    while True:
        number += 1
        next_end = batch_bounds(batches, games)[1]
        if number <= DENSE_POINTS:
            games = next_end
        elif batches.least == batches.most:
            games = max(next_end, batches.least * round(games // batches.least * 2 ** (1 / PER_OCTAVE)))
        else:
            games = batch_bounds(batches, max(games, round(games * 2 ** (1 / PER_OCTAVE)) - 1))[1]
        yield games


# Measured over 100 seeds (games and milliseconds, recording included, median and slowest):
#
#     batch          td unbeatable for good    sutton-barto, epsilon 0.1, first proof
#     auto           19,456 .. 36,864, 8.0     163,840, 14.4
#     1,024          19,456 .. 35,840, 8.6     146,432, 16.4
#     4,096          20,480 .. 36,864, 3.3     143,360, 9.5
#     16,384         32,768 .. 49,152, 2.1     180,224, 4.7
#
# With first batches of 256 games, or batches of up to an eighth of the games before, sutton-barto needs 180,000 to
# 330,000 games: its constant step size keeps a large batch's policy too long.  A thirty-second gains nothing.
