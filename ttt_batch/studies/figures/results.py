"""Shares of wins and draws over the seeds, for learners of which only results were counted."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_batch.base.printable import SELF_PLAY
from ttt_batch.studies.designs.tallies import TALLIES
from ttt_batch.studies.figures.quantiles import quantiles
from ttt_batch.studies.storage.reading import StudyFile

SHARES = 0.5, 0.05, 0.95
"""Quantiles over the seeds: the median and the two ends of a range."""


class ShareSpread(NamedTuple):
    """Median and 5 % and 95 % quantiles, over the seeds, of a share of games."""

    median: float
    low: float
    high: float


class Results(NamedTuple):
    """Shares of games by result (SELF_PLAY), over the seeds of a setting.

    all: shares of all games.  last: shares of the games since the second to last recorded point.
    since: number of games up to that point.
    """

    all: tuple[ShareSpread, ...]
    last: tuple[ShareSpread, ...]
    since: int

    def to_dict(self) -> dict[str, Any]:
        """Return plain values with stable keys."""
        return {"all_games": _named(self.all), "last_games": {"since": self.since, **_named(self.last)}}


def _named(spreads: tuple[ShareSpread, ...]) -> dict[str, dict[str, float]]:
    return {name: one._asdict() for name, one in zip(SELF_PLAY, spreads, strict=True)}


def read_results(study: StudyFile) -> Mapping[int, Results]:
    """Return the results of each setting with learners, by its number.  Empty if the study evaluates its learners.

    Raises StudyFileError.
    """
    if study.family is not TALLIES:
        return {}
    return {setting: _results(study.games[setting], parts) for setting, parts in _by_setting(study)}


def _by_setting(study: StudyFile) -> Iterator[tuple[int, NDArray[np.int64]]]:
    """Yield each setting's number and int64[n, points, 3]: outcomes up to its last two points (or the only one)."""
    number, parts = -1, list[NDArray[np.int64]]()
    for block in study.blocks(tables=False):  # in the order of settings
        for setting in np.unique(block.settings).tolist():
            if setting != number and parts:
                yield number, np.concatenate(parts)
                parts = []
            number = setting
            parts.append(block.statistics["outcomes"][block.settings == setting][:, -2:])
    if parts:
        yield number, np.concatenate(parts)


def _results(games: NDArray[np.int64], outcomes: NDArray[np.int64]) -> Results:
    """Return the results of a setting.  games: int64[points], 0 after its last point.  outcomes: of `_by_setting`."""
    own = games[games > 0]
    since = int(own[-2]) if own.size > 1 else 0
    before = outcomes[:, 0] if own.size > 1 else 0
    every, last = outcomes[:, -1] / own[-1], (outcomes[:, -1] - before) / (own[-1] - since)
    return Results(_spreads(every), _spreads(last), since)


def _spreads(shares: NDArray[np.float64]) -> tuple[ShareSpread, ...]:
    """Return the spread of each column of float64[n, 3]."""
    return tuple(ShareSpread(*map(float, row)) for row in np.stack([*quantiles(shares.T, *SHARES)], axis=1))
