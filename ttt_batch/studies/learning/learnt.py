"""What learners of a study have learnt, and the room in which a thread's learners learn."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_batch.studies.designs.family import Setting

Arrays = dict[str, NDArray[Any]]


class Learnt(NamedTuple):
    """The results of n learners of a setting, the first of those asked for.

    statistics: arrays [n, points, ...] as a run of `train` has them for one, without games; seconds are NaN where
    they were not measured, and at the end the mean of those that learnt together.
    tables: arrays [n, ...] by name, if they are kept.
    failure: why the learner after the last one failed, None if it did not.
    """

    statistics: Arrays
    tables: Arrays
    failure: str | None = None

    @property
    def learners(self) -> int:
        """How many they are."""
        return len(self.statistics["outcomes"]) if self.statistics else 0

    @property
    def shapes(self) -> tuple[Any, ...]:
        """What arrays they have; results with the same can be `joined`."""
        return tuple((name, array.shape[1:]) for part in (self.statistics, self.tables) for name, array in part.items())


class Room(ABC):
    """Where one thread's learners learn, one after the other; what was made for one may be used again.

    keep: whether results include tables.  stop: whether to end as soon as may be.
    prepared: seconds that it took to make what is used again, kernels among it.
    """

    def __init__(self, *, keep: bool, stop: Callable[[], bool]) -> None:
        self._keep, self._stop = keep, stop
        self.prepared = 0.0

    def learn(self, setting: Setting, seeds: Sequence[int]) -> Learnt:
        """Let the learners of some seeds learn, until one fails or `stop()` is true."""
        at_once = self._at_once(setting)
        found: list[tuple[Arrays, Arrays]] = []
        failure = None
        for first in range(0, len(seeds), at_once):
            if self._stop():
                break
            try:
                learnt = self._learn(setting, seeds[first : first + at_once])
            except Exception as error:
                failure = reason_of(error)
                break
            if learnt is None:
                break
            found.append(learnt)
        statistics, tables = (joined([arrays[part] for arrays in found]) for part in range(2))
        return Learnt(statistics, tables, failure)

    @abstractmethod
    def _at_once(self, setting: Setting) -> int:
        """How many learners of a setting learn together at most."""

    @abstractmethod
    def _learn(self, setting: Setting, seeds: Sequence[int]) -> tuple[Arrays, Arrays] | None:
        """The statistics and tables of so many learners at most, [n, ...] each; None if they were stopped."""


def joined(parts: list[Arrays]) -> Arrays:
    """Arrays of several learners, by name, one after the other."""
    return {name: np.concatenate([arrays[name] for arrays in parts]) for name in (parts or [{}])[0]}


def reason_of(error: Exception) -> str:
    """Why a learner failed, in a line."""
    if isinstance(error, MemoryError):
        return "not enough memory for this board or batch; choose a smaller one"
    return str(error) or type(error).__name__
