"""How soon something happens to seeds, some of which were watched to the end without it: the Kaplan-Meier estimate.

A seed to which it did not happen is censored: it counts as one to which it happens later, nobody knows when.  Leaving
it out would make every setting look faster than it is.

    left(t) = product over all times s <= t of (1 - happened at s / at risk at s)

The estimate, its variance by Greenwood and the bands by log(-log) are those of `scipy.stats.ecdf`.  The interval of a
median reaches from the time at which the lower band is down at one half to the time at which the upper one is
(Brookmeyer and Crowley, 1982).
"""

import functools
import warnings
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_batch.base.errors import TttBatchError

CONFIDENCE = 0.95

LEAST = 6
"""Seeds from which on a median has an interval: the smallest and the largest of five hold it in 93.75 % of all samples,
those of six in 96.9 %."""


class Survival(NamedTuple):
    """To which share of the seeds something has not happened yet.

    times: int64[n], all different, ascending.  left: float64[n], the share after each time.
    low, high: float64[n], its confidence band.
    """

    times: NDArray[np.int64]
    left: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]


def survival(times: NDArray[np.int64], happened: NDArray[np.bool_]) -> Survival:
    """Return the Kaplan-Meier estimate.

    times: int64[seeds], at least one: when it happened, or until when a seed was watched without it.
    happened: bool[seeds], which of both.
    Raises TttBatchError if scipy is missing.
    """
    distinct, ranks = np.unique(times, return_inverse=True)
    counts = (np.bincount(ranks[which], minlength=distinct.size) for which in (happened, ~happened))
    return Survival(distinct, *_estimate(*(tuple(count.tolist()) for count in counts)))


@functools.lru_cache(4096)
def _estimate(happened: tuple[int, ...], censored: tuple[int, ...]) -> tuple[NDArray[np.float64], ...]:
    """The share left after each of some times and its band: it depends on the order of the times alone.

    happened, censored: how many seeds at each time.  Scipy takes 0.8 ms, and many settings of few seeds are alike.
    """
    stats = _stats()
    ranks = np.arange(len(happened))
    sample = stats.CensoredData(uncensored=np.repeat(ranks, happened), right=np.repeat(ranks, censored))
    found = stats.ecdf(sample).sf
    left = np.asarray(found.probabilities, np.float64)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # no band where all seeds, or none, are left
        bands = found.confidence_interval(CONFIDENCE, method="log-log")
    known = (left > 0) & (left < 1)
    whole = (left, *(np.where(known, band.probabilities, left) for band in (bands.low, bands.high)))
    for array in whole:
        array.flags.writeable = False
    return whole


def interval_of_median(times: NDArray[np.int64], happened: NDArray[np.bool_]) -> tuple[int | None, int | None]:
    """Return the ends of the confidence interval of the median time.

    times, happened: as for `survival`.
    An end that lies beyond the last time is None, the upper one, or that last time, the lower one.  Both are None for
    fewer than LEAST seeds.
    Raises TttBatchError if scipy is missing.
    """
    if times.size < LEAST:
        return None, None
    curve = survival(times, happened)
    ends = [curve.times[band <= 0.5] for band in (curve.low, curve.high)]
    return int(ends[0][0] if ends[0].size else curve.times[-1]), int(ends[1][0]) if ends[1].size else None


def missing_library() -> str:
    """A line that says how to install what intervals need; empty if it is there."""
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
