"""Where batches end: functions of the game number alone, so that no run shows where it was interrupted.

A batch is played with the tables as they stood when it began, so its games learn nothing from each other.  `auto`
keeps that a fixed share: a batch is at most a sixteenth of the games before it (measured at the end of this file).
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from ttt_batch.base.choices import fold
from ttt_batch.base.errors import UsageError, option
from ttt_batch.base.jit import inlined
from ttt_batch.base.quantities import Number, number_text, whole, whole_number
from ttt_batch.simulation.walk import MAX_WALKED

AUTO = "auto"
DENSE_POINTS, PER_OCTAVE = 32, 8
MAX_GAMES = 10**15


class Batches(NamedTuple):
    """Sizes of batches: `least` for the first ones; doubled, up to `most`, once `games_per_game` times twice the size
    were played.

    All are powers of two unless `least` equals `most`, so a batch begins at a multiple of its size.
    """

    least: int
    most: int
    games_per_game: int


def make_batches(batch: int | str, most: int = MAX_GAMES) -> Batches:
    """The batches of a configuration: `batch` games each, or as `auto` has them, with at most `most` games."""
    if batch == AUTO:
        return Batches(1024, 1 << (most.bit_length() - 1), 16)
    return Batches(int(batch), int(batch), 1)


def parse_batch(text: Number) -> int | str:
    """Read a number of games, up to MAX_GAMES, or `auto`.  Raises UsageError."""
    if isinstance(text, str) and fold(text) == AUTO:
        return AUTO
    if whole_number(text) is None:
        raise UsageError(
            f"batch {number_text(text)} is not a number of games; give a whole number, e.g. 16384 or 10k, or auto"
        )
    return whole("batch", text, 1, MAX_GAMES)


def check_batch(batch: Number, engine: str) -> int | str:
    """Return `batch` as the configuration keeps it.  Raises UsageError if the engine cannot play such batches."""
    games = parse_batch(batch)
    if games == 1 and engine == "flow":
        walk = option("engine", "walk")
        raise UsageError(f"batch 1 belongs to {walk}, which plays games one by one; flow takes 2 or more")
    if engine == "walk" and not isinstance(games, str) and games > MAX_WALKED:
        raise UsageError(
            f"batch {games:,} is more than the {MAX_WALKED:,} games that {option('engine', 'walk')} plays in one "
            f"batch; choose {option('engine', 'flow')}"
        )
    return games


def batch_bounds(batches: Batches, game: int) -> tuple[int, int]:
    """First game of the batch to which `game` (int, from 0) belongs, and the first game after it."""
    size = batches.least
    while size < batches.most and game >= 2 * size * batches.games_per_game:
        size *= 2
    start = game - game % size
    return start, start + size


bounds_in_kernels: Any = inlined(batch_bounds)
"""`batch_bounds`, for kernels."""


def batch_parity(batches: Batches, game: int) -> int:
    """Whether the batch to which `game` belongs is an even (0) or an odd one (1), counted from 0."""
    start, end = batch_bounds(batches, game)
    return start // (end - start) % 2


def first_game_of_size(batches: Batches, size: int) -> int | None:
    """First game whose batch has at least `size` games; None if there is none."""
    if batches.most < size:
        return None
    if batches.least >= size:
        return 0
    reached = batches.least
    while reached < size:
        reached *= 2
    return reached * batches.games_per_game


def recorded_points(batches: Batches) -> Iterator[int]:
    """Games after which the tables are judged: every batch at first, then eight times an octave."""
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
# First batches of 256 games, or batches of up to an eighth of the games before, take sutton-barto to 180,000 to
# 330,000 games: its constant step size remembers a large batch's policy too long.  A thirty-second gains nothing.
