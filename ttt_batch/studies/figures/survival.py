"""Kaplan-Meier estimate of the time until an event, for seeds of which some end without it.

A seed that ends without the event is censored: its event happens later, at an unknown time.  Omitting such seeds would
make every setting look faster than it is.

    left(t) = product over all times s <= t of (1 - happened at s / at risk at s)

`scipy.stats.ecdf` computes the estimate, Greenwood's variance and the log(-log) bands.  The interval of a median starts
where the lower band reaches one half and ends where the upper band does (Brookmeyer and Crowley, 1982).
"""

import functools
import warnings
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_batch.base.errors import TttBatchError

CONFIDENCE = 0.95

LEAST = 6
"""Least number of seeds for an interval of a median.

The smallest and the largest of five values enclose the median in 93.75 % of all samples, those of six in 96.9 %.
"""


class Survival(NamedTuple):
    """Share of the seeds without the event, over time.

    times: int64[n], distinct and ascending.  left: float64[n], the share after each time.
    low, high: float64[n], the confidence band of `left`.
    """

    times: NDArray[np.int64]
    left: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]


def survival(times: NDArray[np.int64], happened: NDArray[np.bool_]) -> Survival:
    """Return the Kaplan-Meier estimate.

    times: int64[seeds], at least one: the time of the event, or of the end of observation without it.
    happened: bool[seeds], whether the event happened.
    Raises TttBatchError if scipy is missing.
    """
    distinct, ranks = np.unique(times, return_inverse=True)
    counts = (np.bincount(ranks[which], minlength=distinct.size) for which in (happened, ~happened))
    return Survival(distinct, *_estimate(*(tuple(count.tolist()) for count in counts)))


@functools.lru_cache(4096)
def _estimate(happened: tuple[int, ...], censored: tuple[int, ...]) -> tuple[NDArray[np.float64], ...]:
    """Return the share left after each time and its band.  They depend only on the order of the times.

    happened, censored: number of seeds at each time.  Cached, because scipy takes 0.8 ms and many settings are alike.
    """
    stats = _stats()
    ranks = np.arange(len(happened))
    sample = stats.CensoredData(uncensored=np.repeat(ranks, happened), right=np.repeat(ranks, censored))
    found = stats.ecdf(sample).sf
    left = np.asarray(found.probabilities, np.float64)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # the band is undefined at shares of 0 and 1
        bands = found.confidence_interval(CONFIDENCE, method="log-log")
    known = (left > 0) & (left < 1)
    whole = (left, *(np.where(known, band.probabilities, left) for band in (bands.low, bands.high)))
    for array in whole:
        array.flags.writeable = False
    return whole


def interval_of_median(times: NDArray[np.int64], happened: NDArray[np.bool_]) -> tuple[int | None, int | None]:
    """Return the ends of the confidence interval of the median time.

    times, happened: as for `survival`.
    If the upper end lies beyond the last time, it is None.  If the lower end does, it is that last time.  Both ends
    are None for fewer than LEAST seeds.
    Raises TttBatchError if scipy is missing.
    """
    if times.size < LEAST:
        return None, None
    curve = survival(times, happened)
    ends = [curve.times[band <= 0.5] for band in (curve.low, curve.high)]
    return int(ends[0][0] if ends[0].size else curve.times[-1]), int(ends[1][0]) if ends[1].size else None


def missing_library() -> str:
    """Return a line with the command that installs scipy, empty if it is installed."""
    try:
        _stats()
    except TttBatchError as error:
        return str(error)
    return ""


def _stats() -> Any:
    try:
        from scipy import stats
    except ImportError as error:
        raise TttBatchError(
            f"confidence intervals need scipy ({error}); install it with: pip install 'ttt-batch[study]'"
        ) from None
    return stats
