"""Striding on larger enumerated boards: all games of a batch are played, many abreast and ply by ply, by one thread."""

from collections.abc import Callable

from ttt_batch.runs.batches import batch_bounds
from ttt_batch.runs.schedules import value_at
from ttt_batch.simulation.lockstep import make_strides, restride
from ttt_batch.simulation.replay import trimmed
from ttt_batch.training.kernels.batch import run_batches
from ttt_batch.training.trainers.base import Task
from ttt_batch.training.trainers.batched import Batched
from ttt_batch.training.trainers.ply_by_ply import wide_space


class Striding(Batched):
    """Batches in one kernel; one by one where they are recorded, which plays them again."""

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        self._strides = [make_strides(self.graph, work.policy) for work in self._works]

    def _batches(self, turn: int, last: int, _stop: Callable[[], bool]) -> None:
        while self.games < last:
            end = last if self._record is None else min(last, batch_bounds(self.batches, self.games)[1])
            work, strides = self._works[turn], self._strides[turn]
            run_batches(strides, self._learning, work, self._key, self.batches, self.games, end)
            if self._record is not None:
                self._record_batch(turn, end, self._record)
            self.games = end

    def _record_batch(self, turn: int, last: int, record: Callable[..., None]) -> None:
        """Record the batch just played, which began with `self.games` and whose policy is still at hand."""
        work = self._works[turn]
        epsilon = value_at(self._pace.epsilon, self.games)
        for start in range(self.games, last, self._at_once):
            end = min(last, start + self._at_once)
            space = wide_space(end - start, self.config.board.cells)
            restride(self.graph, work.policy, epsilon, work.seat, self._key, start, end, space)
            record(trimmed(space))
