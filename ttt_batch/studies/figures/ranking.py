"""Ranking of a study's settings by a chosen metric."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from ttt_batch.base.choices import choose
from ttt_batch.base.errors import UsageError, flag
from ttt_batch.studies.designs.tallies import TALLY
from ttt_batch.studies.figures.columns import Columns

METRICS: Mapping[str, str] = {
    "proof": "median games to the first proof",
    "settling": "median games to settling",
    "proved": "share of seeds proved at any point",
    "holds": "share of points after the first proof that hold",
    "loss": "median loss against random",
    "error": "median value error, mean of both players",
    "time": "median milliseconds of learning",
}
"""Metrics by name.  Higher shares are better, and lower values of the others."""

DEFAULT_METRIC = "proof"

_HINTS = {"games": "proof", "first": "proof", "settled": "settling", "share": "proved", "seconds": "time", "ms": "time"}
"""Words that users may type instead of a metric's name, with the metric to suggest."""


def metric_named(given: object) -> str:
    """Return the name in METRICS that `given` stands for.  Raises UsageError."""
    return choose("metric", given, METRICS, hints=_HINTS)


def check_counted(best: object, confirm: object) -> None:
    """Raise UsageError if a study that counts only results lacks the metric to be ranked or confirmed by."""
    if best is None and confirm is None:
        return
    metric = metric_named(DEFAULT_METRIC if best is None else best)
    if metric != "time":
        raise UsageError(
            f"{flag(TALLY, True)} judges no table, so there is no {METRICS[metric]} to rank by; give "
            f"{flag('best', 'time')}, or leave out {flag('best')} and {flag('confirm')}"
        )


def order_by(metric: str, columns: Columns) -> list[int]:
    """Return the numbers of the settings, the best first, equal ones in order, and those without a figure last.

    Settings without a finite median number of games follow those with one, ordered by the share of the seeds that are
    proved or have settled.
    """
    keys = [np.where(np.isnan(key), np.inf, key) for key in _keys(metric, columns)]
    return [int(number) for number in np.lexsort(keys[::-1])]


def is_any_good(metric: str, columns: Columns, number: int) -> bool:
    """Return whether a setting has a figure of the metric, and its share is above 0."""
    first, *more = (float(key[number]) for key in _keys(metric, columns))
    if metric in ("proved", "holds"):
        return first < 0
    return bool(np.isfinite(first)) or any(share < 0 for share in more)


def _keys(metric: str, columns: Columns) -> tuple[NDArray[np.float64], ...]:
    """Return the sort keys of the settings in ascending order, the main key first."""
    if metric in ("proof", "settling"):
        games, share = columns[metric], columns["proved" if metric == "proof" else "at_end"]
        return games, np.where(np.isfinite(games), 0.0, -share)
    if metric in ("proved", "holds"):
        return (-columns[metric],)
    return (columns["milliseconds" if metric == "time" else metric],)
