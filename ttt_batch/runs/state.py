"""State of a training, from which it can resume."""

import hashlib
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

MOST_SECONDS = 1e11
"""Longest duration of a training or a study: 3,000 years."""

NO_CODE, NO_OUTCOME = np.zeros(0, np.int64), np.zeros(0, np.int8)


class State(NamedTuple):
    """State from which a training resumes; everything else follows from the configuration and the tables.

    games: games learnt from.  tables: the learner's NamedTuple.  visits: float64, see `Run`.
    outcomes: int64[3], first wins, draws, second wins so far.
    code, outcome: int64[S] and int8[S], the positions of the tables on a growing board; empty on others.
    """

    games: int
    tables: Any
    visits: NDArray[np.float64]
    outcomes: NDArray[np.int64]
    code: NDArray[np.int64] = NO_CODE
    outcome: NDArray[np.int8] = NO_OUTCOME


class KeptPoints(NamedTuple):
    """Snapshots of the tables at recorded points.

    games: int64[K], ascending.  tables: the learner's NamedTuple, each array with one more axis, K.
    """

    games: NDArray[np.int64]
    tables: Any

    @property
    def nbytes(self) -> int:
        """Return the size of the tables in bytes."""
        return sum(array.nbytes for array in self.tables)


def table_digest(tables: Iterable[NDArray[Any]]) -> str:
    """Return the first 16 hex digits of the SHA-256 of a run's tables, their digest in a configuration."""
    digest = hashlib.sha256()
    for array in tables:
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()[:16]
