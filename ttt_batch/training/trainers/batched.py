"""Batches on an enumerated board, for one seat or for both in turn.

Each seat has a working space of its own, since the rows at which the learner moves, and with them the policy, differ.
"""

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_batch.base.streams import RULE, stream_key
from ttt_batch.evaluation.judgement import Judgement, make_judgement
from ttt_batch.evaluation.proof import Bench, make_bench
from ttt_batch.game.transcripts import games_space
from ttt_batch.runs.batches import batch_bounds, batch_parity
from ttt_batch.runs.config import Config
from ttt_batch.runs.recorder import Judge
from ttt_batch.runs.schedules import value_at
from ttt_batch.simulation.counts import outcomes_of
from ttt_batch.simulation.flow import make_rows
from ttt_batch.simulation.policy import empty_policy
from ttt_batch.simulation.replay import replay, trimmed
from ttt_batch.training.kernels.batch import Workspace, make_workspace, run_batches
from ttt_batch.training.kernels.follow import Slate, follow
from ttt_batch.training.kernels.judged import judge_now
from ttt_batch.training.trainers.base import Enumerated, Task, Trainer, start_tables


class Followed(NamedTuple):
    """What n learners are: `Judgement` and int64[n, T, 3] at each point, and, if wanted, tables and visits at the end.

    verdicts, tables, visits: arrays have an axis for the learners, and verdicts one for the points, before their own.
    """

    verdicts: Judgement
    outcomes: NDArray[np.int64]
    tables: Any
    visits: NDArray[np.float64]


class Batched(Trainer):
    """Learns batch by batch, in one kernel; one by one if they are recorded, which plays them again."""

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        works = [make_workspace(self.graph, rival=task.rival, seat=seat) for seat in sorted(set(self._seats))]
        # One scratch: a fold may leave something there for the next.
        self._works = [work._replace(counts=works[0].counts) for work in works]
        self._ways = [self._way(work, task) for work in self._works]

    def take(self, config: Config) -> None:
        """Take over other numbers and other batches, for `follow`; learner, board, opponent and engine are the same."""
        self._held = Enumerated(self.graph, self.tables, np.zeros(self.tables[0].size if config.alpha.power else 0))
        self._take(config)
        for way, work in zip(self._ways, self._works, strict=True):
            self._retake(way, work)

    def judge(self) -> Judge:
        """As for all; in self-play a judgement takes half as long with the best moves that a batch needs, too."""
        if self._works[0].seat >= 0:
            return super().judge()
        (work,), bench = self._works, make_bench(self.graph, self.worth)._replace(policy=self._works[0].policy)

        def judged(tables: Any) -> Judgement:
            verdict = make_judgement()
            judge_now(tables, self.graph, self.learner.choice, work, bench, verdict)
            return verdict

        return judged

    def follow(self, seeds: Sequence[int], points: NDArray[np.int64], bench: Bench, *, keep: bool) -> Followed:
        """Let learners with this configuration but for their seeds learn, each from the first game to `points[-1]`.

        points: int64[T], ascending; each learner is judged there, by `bench`.  keep: whether tables are wanted.
        For trainings in one seat, or in self-play.  The trainer itself cannot `advance` any more.
        """
        (way,), (work,) = self._ways, self._works
        bench = bench._replace(policy=work.policy) if work.seat < 0 else bench
        arrays = (*self.tables, self.visits)
        starts = [(*tables, np.zeros(self.visits.size)) for tables in start_tables(self.config, self.graph, seeds)]
        ends = [np.empty((len(seeds) if keep else 0, *array.shape), array.dtype) for array in arrays]
        slate = Slate(
            places=tuple(_bytes_of(array[None])[0] for array in arrays),
            starts=tuple(_bytes_of(np.stack(several)) for several in zip(*starts, strict=True)),
            ends=tuple(_bytes_of(array) for array in ends),
            policy=empty_policy(self.graph),
        )
        keys = np.array([[stream_key(seed, use) for seed in seeds] for use in (self._stream, RULE)], np.uint64)
        verdicts = make_judgement(len(seeds), points.size)
        outcomes = np.zeros((len(seeds), points.size, 3), np.int64)
        follow(way, self._learning, work, keys, self.batches, points, bench, slate, verdicts, outcomes)
        return Followed(verdicts, outcomes, self.learner.tables(*ends[:-1]), ends[-1])

    @abstractmethod
    def _way(self, work: Workspace, task: Task) -> Any:
        """What `play_batch` plays the batches of one seat with."""

    def _retake(self, way: Any, work: Workspace) -> None:
        """Take over the numbers of another configuration into what `_way` made."""

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


def _bytes_of(arrays: NDArray[Any]) -> NDArray[np.uint8]:
    """uint8[n, bytes]: the memory of each of n arrays, which are one."""
    return arrays.reshape(len(arrays), math.prod(arrays.shape[1:])).view(np.uint8)
