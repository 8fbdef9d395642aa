"""Quantiles of settings over their seeds, without missing values."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray


def quantiles(values: NDArray[np.float64], *shares: float, occurring: bool = False) -> Iterator[NDArray[np.float64]]:
    """Yield for each share the quantile of every row, float64[rows], ignoring NaN.  A row of only NaN gives NaN.

    values: float64[rows, seeds].
    occurring: return one of the values (NumPy's `inverted_cdf`), possibly infinite, instead of interpolating between
    two (`linear`).  If events that never happen have infinite times and all seeds have the same last point, this
    median equals the Kaplan-Meier median.
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
