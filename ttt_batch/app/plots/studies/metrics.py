"""What a picture of a study measures of every learner, and how it sums up the seeds of a setting.

Numbers of the two seats are averaged.  The seeds of a setting become a median and its quartiles; what is true or false
of a seed becomes a share with its 95 % interval (Wilson, 1927).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_batch.analysis.playing import wilson
from ttt_batch.app.plots.series import shares_in_play
from ttt_batch.base.choices import RESULTS
from ttt_batch.studies.figures.holding import in_own_seats, mean_of_seats, proved_in_all, proved_seats
from ttt_batch.studies.figures.quantiles import quantiles
from ttt_batch.studies.figures.times import first_proof, games_at, settled_since
from ttt_batch.studies.storage.reading import Block, StudyFile

TIME, SHARE, PERCENT, NUMBER = "time", "share", "percent", "number"
"""What a metric is: games until something, true or false of a seed (in %), other percentages, other numbers."""

WIN, DRAW, LOSS = (RESULTS.index(name) for name in ("win", "draw", "loss"))
_OF_SEATS = ("value_error", "versus_random", "optimal_share", "best_response")
QUARTILES = 0.5, 0.25, 0.75

PROVED, IN_SEATS = "proved", "proved_seats"
"""Statistics that follow from others: whether a learner is proved in all its seats, and in each; see `holding`."""

Statistics = Mapping[str, NDArray[Any]]
Read = Callable[[Statistics, NDArray[np.int64]], Any]


class Metric(NamedTuple):
    """A number of every learner.

    title: what it is.  unit: for an axis.  kind: see TIME.  rising: more of it is better.
    column: the statistic that it needs, or PROVED or IN_SEATS.
    read: from statistics [n, points, ...] and games int64[n, points] to float64[n, points], or float64[n, 1] if it is
    of all points together.
    """

    title: str
    unit: str
    kind: str
    rising: bool
    column: str
    read: Read

    @property
    def note(self) -> str:
        """What is said of it beside its title; empty for nothing."""
        return "the two seats are averaged" if self.column in _OF_SEATS else ""


def _seats(column: str, scale: float = 1.0) -> Read:
    """The mean of the seats that it plays."""
    return lambda statistics, games: scale * mean_of_seats(statistics[column])


def _losses(statistics: Statistics, games: NDArray[np.int64]) -> Any:
    return 100 * mean_of_seats(statistics["versus_random"][..., LOSS])


def _draws(statistics: Statistics, games: NDArray[np.int64]) -> Any:
    return 100 * statistics["self_play"][..., DRAW]


def _in_play(result: int) -> Read:
    def read(statistics: Statistics, games: NDArray[np.int64]) -> Any:
        distinct, which = np.unique(games, axis=0, return_inverse=True)
        found = np.full(games.shape, np.nan)
        for number, points in enumerate(distinct):
            own = which.reshape(-1) == number
            found[own] = shares_in_play({"games": points, "outcomes": statistics["outcomes"][own]})[..., result]
        return found

    return read


def _ever(statistics: Statistics, games: NDArray[np.int64]) -> Any:
    return 100 * np.max(statistics[PROVED], axis=1, keepdims=True)


def _time(of: Callable[[NDArray[np.bool_]], NDArray[np.float64]]) -> Read:
    def read(statistics: Statistics, games: NDArray[np.int64]) -> Any:
        proved = statistics[PROVED]
        return np.where(np.isnan(proved[:, :1]), np.nan, games_at(games, of(proved == 1))[:, None])

    return read


def _in_seat(number: int) -> Read:
    return lambda statistics, games: 100 * statistics[IN_SEATS][:, :, number]


def _column(column: str, scale: float = 1.0) -> Read:
    return lambda statistics, games: scale * statistics[column]


def _wins(seat: str, result: int) -> Metric:
    title = f"{seat} wins in play (latest half of the games)"
    return Metric(title, "% of games", PERCENT, True, "outcomes", _in_play(result))


METRICS = {
    "proof": Metric("games to the first proof", "games", TIME, False, PROVED, _time(first_proof)),
    "settling": Metric("games to settling", "games", TIME, False, PROVED, _time(settled_since)),
    "proved": Metric("seeds proved at any point", "% of seeds", SHARE, True, PROVED, _ever),
    "unbeatable": Metric("seeds unbeatable in every seat", "% of seeds", SHARE, True, PROVED, _column(PROVED, 100)),
    "first": Metric("seeds unbeatable as first player", "% of seeds", SHARE, True, IN_SEATS, _in_seat(0)),
    "second": Metric("seeds unbeatable as second player", "% of seeds", SHARE, True, IN_SEATS, _in_seat(1)),
    "loss": Metric("losses against random play", "% of games", PERCENT, False, "versus_random", _losses),
    "error": Metric(
        "values: distance from the truth", "mean, on its own scale", NUMBER, False, "value_error", _seats("value_error")
    ),
    "optimal": Metric(
        "positions played optimally",
        "% of those reachable",
        PERCENT,
        True,
        "optimal_share",
        _seats("optimal_share", 100),
    ),
    "response": Metric(
        "what the best opponent gets", "its wins - losses", NUMBER, False, "best_response", _seats("best_response")
    ),
    "draws": Metric("draws in greedy self-play", "% of games", PERCENT, True, "self_play", _draws),
    "play": Metric("draws in play (latest half of the games)", "% of games", PERCENT, True, "outcomes", _in_play(DRAW)),
    "first-wins": _wins("first", WIN),
    "second-wins": _wins("second", LOSS),
    "time": Metric("time of learning", "milliseconds", NUMBER, False, "seconds", _column("seconds", 1e3)),
    "positions": Metric(
        "positions visited", "positions in the table", NUMBER, True, "positions", _column("positions", 1.0)
    ),
}
"""By name.  Those that need no exact results come last."""


class SeedSpread(NamedTuple):
    """Seeds in three numbers, each float64[...]: median and quartiles, or a share and its interval.

    NaN without seeds.
    """

    middle: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]


def at_end(study: StudyFile, metric: Metric) -> NDArray[np.float64]:
    """float64[settings, seeds]: the metric of every learner at its last point; NaN for those without it."""
    values = np.full(study.state.shape, np.nan)
    for block in study.blocks(tables=False):
        statistics = _statistics(study, block)
        if metric.column in statistics:
            values[block.settings, block.seeds] = metric.read(statistics, _games(study, block))[:, -1]
    return values


def over_games(
    study: StudyFile, metrics: Sequence[Metric], settings: Sequence[int]
) -> Iterator[tuple[int, list[SeedSpread]]]:
    """For each of the settings with seeds that are done, its number and the spread of each metric at its points."""

    def parts() -> Iterator[tuple[int, list[NDArray[np.float64]]]]:
        for block in study.blocks(tables=False):
            whole = _statistics(study, block)
            for setting in sorted(set(block.settings.tolist()) & set(settings)):
                own = block.settings == setting
                statistics = {metric.column: whole[metric.column][own] for metric in metrics}
                games = _games(study, block)[own]
                yield setting, [metric.read(statistics, games) for metric in metrics]

    for setting, pieces in groupby(parts(), key=lambda part: part[0]):
        columns = zip(*(values for _, values in pieces), strict=True)
        yield setting, [spread(np.concatenate(c).T, m) for m, c in zip(metrics, columns, strict=True)]


def _statistics(study: StudyFile, block: Block) -> dict[str, NDArray[Any]]:
    """The statistics of a block, with PROVED and IN_SEATS if it has verdicts."""
    seats = proved_seats(study, block)
    whole = {**block.statistics, **in_own_seats(study, block)}
    return whole if seats is None else {**whole, PROVED: proved_in_all(seats), IN_SEATS: seats}


def _games(study: StudyFile, block: Block) -> NDArray[np.int64]:
    return study.games[block.settings, : block.kind.points]


def spread(values: NDArray[np.float64], metric: Metric) -> SeedSpread:
    """Sum up the seeds of each row; quartiles of times are times that occurred, or infinite.

    values: float64[rows, seeds], NaN for none.
    """
    if metric.kind != SHARE:
        return SeedSpread(*quantiles(values, *QUARTILES, occurring=metric.kind == TIME))
    count = np.count_nonzero(~np.isnan(values), axis=1)
    known = np.where(count > 0, count, np.nan)
    hits = np.nansum(values, axis=1) / 100 + 0 * known
    return SeedSpread(*(100 * share for share in (hits / known, *wilson(hits, known))))
