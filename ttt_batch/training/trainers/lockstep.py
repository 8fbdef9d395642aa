"""Walk trainer for enumerated boards of more than nine cells, which plays all games of a batch ply by ply."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ttt_batch.base.memory import free_memory
from ttt_batch.learners.base import Learner
from ttt_batch.learners.steps import Step
from ttt_batch.simulation.lockstep import OWN, Lockstep, make_lockstep, second_lockstep
from ttt_batch.training.kernels.batch import Workspace
from ttt_batch.training.kernels.claimed import ORDERED, fold_from_queue, make_spans, order_from_queue
from ttt_batch.training.trainers.base import TrainerOptions
from ttt_batch.training.trainers.pieces import ChunkedWalk

BY_MOVE = 8
"""Factor on the least games of a thread if moves are counted.  Adding the counts takes longer, and threads do not share
completing and folding."""


class InLockstep(ChunkedWalk):
    """Walk trainer for larger boards; each thread plays its games in lockstep, which is faster for more games.

    A helping thread needs 28 bytes for each of 262,144 games, and its own counts.  These take 4 bytes a position if the
    learner needs only arrivals (`Learner.arrivals`), 5 MB on 4x4x4 by symmetry; else 8 bytes a move, 52 MB there.

    Threads also share the ordering of rows.  If the learner needs only arrivals, they also share the fold.
    """

    games_per_thread = 1 << 15
    """By `td` on 4x4x4 two threads are 1.66 times as fast as one in batches of 262,144, and 1.4 times in batches of
    65,536; on 3x4x3 1.07 times.  If moves are counted, in batches of 524,288 on 4x4x4, the factor is 1.1 (`minimax-q`)
    to 1.5 (`sutton-barto`).
    """

    stop_every = claim = 1 << 18

    def __init__(self, task: TrainerOptions) -> None:
        super().__init__(task)
        self._drawn: list[NDArray[np.uint32]] = []
        if self._helpers and self.learner.by_arrivals:  # one array for all threads, added up in the fold
            self._spans = make_spans(self.graph)
            for turn, way in enumerate(self._ways):
                self._drawn.append(np.zeros((1 + len(self._helpers), way.drawn.size), np.uint32))
                for ways, drawn in zip((self._ways, *self._helpers), self._drawn[turn], strict=True):
                    ways[turn] = ways[turn]._replace(drawn=drawn)

    @classmethod
    def least_shared(cls, learner: Learner) -> int:
        """Return the least games of a batch for workers, as measured on 4x4x4.

        Two workers are 1.25 times as fast as one thread at 4 million games with 5 MB of counts (by arrivals), and 1.1
        times at 16 million with 52 MB.
        """
        return 1 << 22 if learner.by_arrivals else 1 << 24

    def _way(self, work: Workspace, task: TrainerOptions) -> Lockstep:
        return make_lockstep(self.graph, work.policy, work.seat, by_row=self.learner.by_arrivals)

    def _beside(self, way: Lockstep) -> Lockstep:
        return second_lockstep(way)

    def _worth_a_thread(self) -> int:
        return self.games_per_thread * (1 if self.learner.by_arrivals else BY_MOVE)

    def _most_helpers(self) -> int:
        """Return how many helping threads fit into half of the free memory."""
        each: int = sum(getattr(way, name).nbytes for way in self._ways for name in OWN)
        return free_memory() // (2 * each)

    def _begin(self, turn: int, threads: int) -> Step:
        work = self._works[turn]
        if threads > 1 and work.listed[0] < 0:
            self._share(order_from_queue, [(self._ways[turn], self._learning, work, _none_yet(), ORDERED)] * threads)
            work.listed[0] = 0
        return super()._begin(turn, threads)

    def _add_up(self, drawn: Sequence[NDArray[np.uint32]]) -> None:
        if len(drawn) == 1 or not self._drawn:
            super()._add_up(drawn)

    def _end(self, turn: int, step: Step, games: int, threads: int) -> None:
        if threads == 1 or not self._drawn:
            super()._end(turn, step, games, threads)
            return
        batch = self._drawn[turn][:threads], games, self.tables, self.graph, self._works[turn], step
        self._share(fold_from_queue, [(*batch, self._spans, _none_yet(), _none_yet())] * threads)


def _none_yet() -> NDArray[np.int64]:
    """Return a counter at 0, from which threads claim numbers."""
    return np.zeros(1, np.int64)
