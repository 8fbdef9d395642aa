"""Batches on an enumerated board, for one seat or for both in turn.

Each seat has a working space of its own, since the rows at which the learner moves, and with them the policy, are
others there.
"""

from abc import abstractmethod
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ttt_batch.runs.batches import batch_bounds, batch_parity
from ttt_batch.simulation.counts import outcomes_of
from ttt_batch.training.kernels.batch import make_workspace
from ttt_batch.training.trainers.base import Task, Trainer


class Batched(Trainer):
    """Learns batch by batch; a way to play a batch says so in `_batches`."""

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        self._work_seats = sorted(set(self._seats))
        works = [make_workspace(self.graph, rival=task.rival, seat=seat) for seat in self._work_seats]
        # One scratch: a fold may leave something there for the next.
        self._works = [work._replace(counts=works[0].counts) for work in works]

    def _played(self) -> NDArray[np.int64]:
        return outcomes_of(self.graph, np.sum([work.ended for work in self._works], axis=0))

    def _learn(self, last: int, stop: Callable[[], bool]) -> None:
        if len(self._works) == 1:
            self._batches(0, last, stop)
            return
        turn, end = batch_parity(self.batches, self.games), batch_bounds(self.batches, self.games)[1]
        self._batches(turn, min(last, end), stop)
        for work in self._works:
            work.stale[:] |= self._works[turn].stale

    @abstractmethod
    def _batches(self, turn: int, last: int, stop: Callable[[], bool]) -> None:
        """Learn from the games up to `last`, as `_learn` does, in the seat of `self._works[turn]`."""
