"""Where a run stands: what a training goes on from."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class State(NamedTuple):
    """What a training goes on from; everything else follows from the configuration and the tables.

    games: games learnt from.  tables: the learner's NamedTuple.  visits: float64, see `Run`.
    outcomes: int64[3], first wins, draws, second wins so far.
    """

    games: int
    tables: Any
    visits: NDArray[np.float64]
    outcomes: NDArray[np.int64]
