"""Batches on an enumerated board, for one seat or for both in turn.

Each seat has a working space of its own, since the rows at which the learner moves, and with them the policy, differ.
"""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ttt_batch.game.transcripts import games_space
from ttt_batch.runs.batches import batch_bounds, batch_parity
from ttt_batch.runs.schedules import value_at
from ttt_batch.simulation.counts import outcomes_of
from ttt_batch.simulation.flow import make_rows
from ttt_batch.simulation.lockstep import make_lockstep
from ttt_batch.simulation.replay import replay, trimmed
from ttt_batch.training.kernels.batch import Workspace, make_workspace, run_batches
from ttt_batch.training.trainers.base import Task, Trainer


class Batched(Trainer):
    """Learns batch by batch, in one kernel; one by one if they are recorded, which plays them again."""

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        works = [make_workspace(self.graph, rival=task.rival, seat=seat) for seat in sorted(set(self._seats))]
        # One scratch: a fold may leave something there for the next.
        self._works = [work._replace(counts=works[0].counts) for work in works]
        self._ways = [self._way(work, task) for work in self._works]

    @abstractmethod
    def _way(self, work: Workspace, task: Task) -> Any:
        """What `play_batch` plays the batches of one seat with."""

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

    def _batches(self, turn: int, last: int, _stop: Callable[[], bool]) -> None:
        """Learn from the games up to `last`, as `_learn` does, in the seat of `self._works[turn]`."""
        while self.games < last:
            end = last if self._record is None else min(last, batch_bounds(self.batches, self.games)[1])
            work, way = self._works[turn], self._ways[turn]
            run_batches(way, self._learning, work, self._key, self.batches, self.games, end)
            self._record_batch(turn, end)
            self.games = end

    def _record_batch(self, turn: int, last: int) -> None:
        """Record the batch just played, which began with `self.games`; `work` still holds its policy."""
        if self._record is None:
            return
        work, explorations = self._works[turn], getattr(self._ways[turn], "explorations", None)
        epsilon = value_at(self._decays.epsilon, self.games)
        for start in range(self.games, last, self._at_once):
            end = min(last, start + self._at_once)
            space = games_space(end - start, self.config.board.cells)
            replay(self.graph, work.policy, explorations, epsilon, work.seat, self._key, start, end, space)
            self._record(trimmed(space))


class Flowing(Batched):
    """Flow: the number of games that take each move is drawn, and none is played."""

    def _way(self, work: Workspace, task: Task) -> Any:
        return make_rows()


class InLockstep(Batched):
    """A walk on larger boards: all games of a batch are played, ply by ply, by one thread."""

    def _way(self, work: Workspace, task: Task) -> Any:
        return make_lockstep(self.graph, work.policy)
