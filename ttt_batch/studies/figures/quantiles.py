"""Quantiles of settings over those of their seeds that have a number."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray


def quantiles(values: NDArray[np.float64], *shares: float, occurring: bool = False) -> Iterator[NDArray[np.float64]]:
    """For each share the quantile of every row but for its NaN, float64[rows]; NaN for a row of nothing else.

    values: float64[rows, seeds].
    occurring: the least value that so many are not above (NumPy's `inverted_cdf`), which may be infinite, and not a
    number between two values (`linear`).  While all seeds are watched to the same end, such a median of times that are
    infinite for what never happened is that of Kaplan and Meier.
    """
    rows = np.sort(values, axis=1)  # NaN last
    count = np.count_nonzero(~np.isnan(rows), axis=1)

    def item(place: NDArray[np.int64]) -> NDArray[np.float64]:
        return np.take_along_axis(rows, np.clip(place, 0, np.maximum(count - 1, 0))[:, None], axis=1)[:, 0]

    for share in shares:
        if occurring:
            yield item(np.ceil(share * count).astype(np.int64) - 1)
        else:
            place = share * np.maximum(count - 1, 0)
            low = place.astype(np.int64)
            one, other = item(low), item(low + 1)
            with np.errstate(over="ignore", invalid="ignore"):  # a damaged file may hold infinite numbers
                between = one + (other - one) * (place - low)
            yield between
