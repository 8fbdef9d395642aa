"""How soon learners were proved unbeatable in both seats, and how soon they stayed so, from their recorded points."""

import numpy as np
from numpy.typing import NDArray


def first_proof(holds: NDArray[np.bool_]) -> NDArray[np.float64]:
    """float64[n]: number of each learner's first point that holds; infinite if there is none.

    holds: bool[n, points], whether it is unbeatable in both seats there.
    """
    return np.where(holds.any(axis=1), holds.argmax(axis=1), np.inf)


def settled_since(holds: NDArray[np.bool_]) -> NDArray[np.float64]:
    """float64[n]: number of the first point from which on all hold; infinite if there is none.  holds: as above."""
    after = holds.shape[1] - (~holds[:, ::-1]).argmax(axis=1)
    return np.where(holds.all(axis=1), 0.0, np.where(holds[:, -1], after, np.inf))


def games_at(games: NDArray[np.int64], points: NDArray[np.float64]) -> NDArray[np.float64]:
    """float64[n]: games at each row's point; a point that is infinite or NaN stays what it is.

    games: int64[n, points].  points: float64[n], numbers of points.
    """
    known = np.isfinite(points)
    return np.where(known, games[np.arange(points.size), np.where(known, points, 0).astype(np.int64)], points)
