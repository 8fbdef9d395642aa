"""Results of a study's learners, and the base class of the per-thread workers that train them."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_batch.studies.designs.family import Setting

Arrays = dict[str, NDArray[Any]]


class LearnerResults(NamedTuple):
    """Results of n learners of a setting, for the first n seeds of the request.

    statistics: arrays [n, points, ...], each learner's as in a run of `train`, without games.  Seconds are NaN where
    not measured, and at the end the mean of the learners trained together.
    tables: arrays [n, ...] by name, if kept.
    failure: reason of the failure of the next learner, None if it did not fail.
    """

    statistics: Arrays
    tables: Arrays
    failure: str | None = None

    @property
    def learners(self) -> int:
        """Return the number of learners."""
        return len(self.statistics["outcomes"]) if self.statistics else 0

    @property
    def shapes(self) -> tuple[Any, ...]:
        """Return names and shapes of the arrays.  Results with equal shapes can be `joined_results`."""
        return tuple((name, array.shape[1:]) for part in (self.statistics, self.tables) for name, array in part.items())


class Worker(ABC):
    """Per-thread worker: trains learners one after another and reuses its buffers.

    keep: whether results include tables.  stop: returns whether to end as soon as possible.
    prepared: seconds spent on reusable objects, including kernels.
    """

    def __init__(self, *, keep: bool, stop: Callable[[], bool]) -> None:
        self._keep, self._stop = keep, stop
        self.prepared = 0.0

    def learn(self, setting: Setting, seeds: Sequence[int]) -> LearnerResults:
        """Train the learners of these seeds, until one fails or `stop()` returns True."""
        at_once = self._at_once(setting)
        found: list[tuple[Arrays, Arrays]] = []
        failure = None
        for first in range(0, len(seeds), at_once):
            if self._stop():
                break
            try:
                learnt = self._learn(setting, seeds[first : first + at_once])
            except Exception as error:
                failure = failure_reason(error)
                break
            if learnt is None:
                break
            found.append(learnt)
        statistics, tables = (joined_results([arrays[part] for arrays in found]) for part in range(2))
        return LearnerResults(statistics, tables, failure)

    @abstractmethod
    def _at_once(self, setting: Setting) -> int:
        """Return the maximum number of a setting's learners to train together."""

    @abstractmethod
    def _learn(self, setting: Setting, seeds: Sequence[int]) -> tuple[Arrays, Arrays] | None:
        """Return statistics and tables, [n, ...] each, of learners trained together; None if stopped."""


def joined_results(parts: list[Arrays]) -> Arrays:
    """Concatenate the arrays of several learners by name."""
    return {name: np.concatenate([arrays[name] for arrays in parts]) for name in (parts or [{}])[0]}


def failure_reason(error: Exception) -> str:
    """Return the reason of a learner's failure in one line."""
    if isinstance(error, MemoryError):
        return "not enough memory for this board or batch; choose a smaller one"
    return str(error) or type(error).__name__
