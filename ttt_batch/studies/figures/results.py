"""How the games of learners ended whose results alone were counted: shares of the games, over the seeds."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_batch.base.printable import SELF_PLAY
from ttt_batch.studies.designs.tallies import TALLIES
from ttt_batch.studies.figures.quantiles import quantiles
from ttt_batch.studies.storage.reading import StudyFile

SHARES = 0.5, 0.05, 0.95
"""Of the seeds: the median, and the two ends of a range."""


class Spread(NamedTuple):
    """Over the seeds: the median of a share of games, and what 5 % and 95 % of them have at most."""

    median: float
    low: float
    high: float


class Results(NamedTuple):
    """Shares of games by how they ended (SELF_PLAY), over the seeds of a setting.

    all: of all games.  last: of those after the last recorded point but one.  since: games before these.
    """

    all: tuple[Spread, ...]
    last: tuple[Spread, ...]
    since: int

    def to_dict(self) -> dict[str, Any]:
        """Return plain values with stable keys."""
        return {"all_games": _named(self.all), "last_games": {"since": self.since, **_named(self.last)}}


def _named(spreads: tuple[Spread, ...]) -> dict[str, dict[str, float]]:
    return {name: one._asdict() for name, one in zip(SELF_PLAY, spreads, strict=True)}


def read_results(study: StudyFile) -> Mapping[int, Results]:
    """The results of each setting that has learners, by its number; of no setting if tables were judged.

    Raises StudyFileError.
    """
    if study.family is not TALLIES:
        return {}
    return {setting: _results(study.games[setting], parts) for setting, parts in _by_setting(study)}


def _by_setting(study: StudyFile) -> Iterator[tuple[int, NDArray[np.int64]]]:
    """int64[n, points, 3], outcomes up to each point, of all learners of a setting."""
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
    """games: int64[points], of the setting, 0 after its last one."""
    own = games[games > 0]
    since = int(own[-2]) if own.size > 1 else 0
    before = outcomes[:, 0] if own.size > 1 else 0
    every, last = outcomes[:, -1] / own[-1], (outcomes[:, -1] - before) / (own[-1] - since)
    return Results(_spreads(every), _spreads(last), since)


def _spreads(shares: NDArray[np.float64]) -> tuple[Spread, ...]:
    """shares: float64[n, 3]."""
    return tuple(Spread(*map(float, row)) for row in np.stack([*quantiles(shares.T, *SHARES)], axis=1))
