"""Times of the first proof and of settling, from the recorded points."""

import numpy as np
from numpy.typing import NDArray


def first_proof(holds: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return float64[n]: the number of each learner's first point that holds, infinite without such a point.

    holds: bool[n, points], whether the learner is unbeatable in both seats at a point.
    """
    return np.where(holds.any(axis=1), holds.argmax(axis=1), np.inf)


def settled_since(holds: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return float64[n]: the first point from which on all hold, infinite without one.  holds: as for `first_proof`."""
    after = holds.shape[1] - (~holds[:, ::-1]).argmax(axis=1)
    return np.where(holds.all(axis=1), 0.0, np.where(holds[:, -1], after, np.inf))


def games_at(games: NDArray[np.int64], points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return float64[n]: the games at each row's point.  Infinite and NaN points stay unchanged.

    games: int64[n, points].  points: float64[n], numbers of points.
    """
    known = np.isfinite(points)
    return np.where(known, games[np.arange(points.size), np.where(known, points, 0).astype(np.int64)], points)
