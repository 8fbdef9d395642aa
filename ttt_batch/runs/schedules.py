"""Schedules of step size and exploration, by games played or, for a step size, by visits of a value.

Written as `0.1`, `0.3->0.01:linear`, `0.3->0.01:exp` (over the run's games, by absolute game number) and, for alpha,
`1/n` or `1/n^0.8` (by the number of updates of a value).  Numbers may be percentages, `30%->1%:linear`.
The value does not change within a batch.

Batch boundaries, computed from the game number alone, so that an interruption leaves no trace in a run.
All games of a batch are played with the tables from its start, so they do not learn from each other.  With `auto`, a
batch is at most a sixteenth of the games before it.
"""

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

from ttt_batch.compiler.jit import Int64, inlined, kernel
from ttt_batch.runs.options import AUTO, EXPONENTIAL, LINEAR, MAX_GAMES, Decay


@kernel
def value_at(decay: Decay, game: Int64) -> float:
    """Return the value for a batch whose first game is `game` (from 0); for VISITS the value of a first visit."""
    if decay.kind == LINEAR:
        return decay.start + (decay.end - decay.start) * min(game / decay.games, 1.0)
    if decay.kind == EXPONENTIAL:
        value = decay.start * math.exp(math.log(decay.end / decay.start) * min(game / decay.games, 1.0))
        return min(value, 1.0)  # 0.3->1 rounds to more than 1, and a step size above 1 diverges
    return decay.start


POINTS = 8
"""Default of recorded points per doubling of the games."""


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


def record_schedule(batches: Batches, points: int = POINTS) -> Iterator[int]:
    """Yield the numbers of games at which tables are judged, the first after the first batch.

    points: per doubling of the games, at least 1.  The first `4 * points` follow one another batch by batch.
    """
    games, number, growth = 0, 0, 2 ** (1 / points)
    while True:
        number += 1
        next_end = batch_bounds(batches, games)[1]
        if number <= 4 * points:
            games = next_end
        elif batches.least == batches.most:
            games = max(next_end, batches.least * round(games // batches.least * growth))
        else:
            games = batch_bounds(batches, max(games, round(games * growth) - 1))[1]
        yield games
