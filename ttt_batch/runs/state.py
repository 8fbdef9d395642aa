"""Where a run stands: what a training goes on from."""

import hashlib
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

LARGEST = 1e100
"""The largest number that a table or a worth may be, far below what overflows where values are added up."""

MOST_SECONDS = 1e11
"""That a training or a study may have taken: 3,000 years."""

NO_CODE, NO_OUTCOME = np.zeros(0, np.int64), np.zeros(0, np.int8)


class State(NamedTuple):
    """What a training goes on from; everything else follows from the configuration and the tables.

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
    """The tables at recorded points.

    games: int64[K], of the points, ascending.  tables: the learner's NamedTuple, each array with one more axis, K.
    """

    games: NDArray[np.int64]
    tables: Any

    @property
    def nbytes(self) -> int:
        """Bytes of the tables."""
        return sum(array.nbytes for array in self.tables)


def table_digest(tables: Iterable[NDArray[Any]]) -> str:
    """The first 16 hex digits of the SHA-256 of a run's tables: what stands for them in a configuration."""
    digest = hashlib.sha256()
    for array in tables:
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()[:16]
