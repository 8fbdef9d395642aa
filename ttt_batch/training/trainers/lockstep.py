"""A walk on enumerated boards of more than nine cells: all games of a batch are played, ply by ply."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ttt_batch.base.memory import free_memory
from ttt_batch.learners.base import Learner
from ttt_batch.learners.steps import Step
from ttt_batch.simulation.lockstep import OWN, Lockstep, beside, make_lockstep
from ttt_batch.training.kernels.batch import Workspace
from ttt_batch.training.kernels.claimed import ORDERED, fold_claimed, make_spans, order_claimed
from ttt_batch.training.trainers.base import Task
from ttt_batch.training.trainers.pieces import InPieces

BY_MOVE = 8
"""How many times as many games are worth a thread if moves are counted: adding up takes longer, completing the counts
and folding are not shared out."""


class InLockstep(InPieces):
    """A walk on a larger board: the games of a thread go in lockstep, which is the faster the more they are.

    A helping thread needs 28 bytes for each of 262,144 games, and counts of its own: 4 bytes a position if the learner
    needs no more than arrivals (`Learner.arrivals`), 5 MB on 4x4x4 by symmetry; else 8 bytes a move, 52 MB there.

    Threads share the ordering of rows, too, and what follows the walk if the learner allows that.
    """

    games_per_thread = 1 << 15
    """Two threads reach, by `td` on 4x4x4 in batches of 262,144, 0.93 of two runs side by side: 1.66 times one thread
    when these reached 1.79.  In batches of 65,536 it is 1.4 times, on 3x4x3 1.07.  If moves are counted, in batches of
    524,288 on 4x4x4, 1.1 (`minimax-q`) to 1.5 times (`sutton-barto`).
    """

    stop_every = claim = 1 << 18

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        self._drawn: list[NDArray[np.uint32]] = []
        if self._helpers and self.learner.by_arrivals:  # what threads count stands together, to be added up in a fold
            self._spans = make_spans(self.graph)
            for turn, way in enumerate(self._ways):
                self._drawn.append(np.zeros((1 + len(self._helpers), way.drawn.size), np.uint32))
                for ways, drawn in zip((self._ways, *self._helpers), self._drawn[turn], strict=True):
                    ways[turn] = ways[turn]._replace(drawn=drawn)

    @classmethod
    def least_shared(cls, learner: Learner) -> int:
        """The counts of 4x4x4 have 5 MB if arrivals are enough, where two workers are 1.25 times as fast as one thread
        at 4 million games and 1.4 times at 16; else 52 MB, and 1.1 times at 16 million games.
        """
        return 1 << 22 if learner.by_arrivals else 1 << 24

    def _way(self, work: Workspace, task: Task) -> Lockstep:
        return make_lockstep(self.graph, work.policy, work.seat, by_row=self.learner.by_arrivals)

    def _beside(self, way: Lockstep) -> Lockstep:
        return beside(way)

    def _worth_a_thread(self) -> int:
        return self.games_per_thread * (1 if self.learner.by_arrivals else BY_MOVE)

    def _most_helpers(self) -> int:
        """As many as half of what is free is enough for."""
        each: int = sum(getattr(way, name).nbytes for way in self._ways for name in OWN)
        return free_memory() // (2 * each)

    def _begin(self, turn: int, threads: int) -> Step:
        work = self._works[turn]
        if threads > 1 and work.listed[0] < 0:
            self._share(order_claimed, [(self._ways[turn], self._learning, work, _none_yet(), ORDERED)] * threads)
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
        self._share(fold_claimed, [(*batch, self._spans, _none_yet(), _none_yet())] * threads)


def _none_yet() -> NDArray[np.int64]:
    """Where threads claim numbers from 0 on."""
    return np.zeros(1, np.int64)
