"""Batch trainers for enumerated boards, for one seat or alternating seats.

Each seat has its own workspace, because the learner moves at different rows and so has a different policy.
"""

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_batch.base.streams import RULE, stream_key
from ttt_batch.evaluation.judgement import Judgement, make_judgement
from ttt_batch.evaluation.proof import ProofSpace, make_bench
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
from ttt_batch.training.kernels.follow import SeedBatch, train_learners
from ttt_batch.training.kernels.judged import judge_now
from ttt_batch.training.trainers.base import Enumerated, Trainer, TrainerOptions, start_tables


class TrainedLearner(NamedTuple):
    """Results of n learners at T points.

    verdicts: `Judgement` whose arrays have the leading axes n and T.  outcomes: int64[n, T, 3].
    tables, visits: at the end, with a leading axis for the learners, which is empty unless requested.
    """

    verdicts: Judgement
    outcomes: NDArray[np.int64]
    tables: Any
    visits: NDArray[np.float64]


class Batched(Trainer):
    """Batch trainer with one kernel call for all batches; to record games, it runs and replays each batch."""

    def __init__(self, task: TrainerOptions) -> None:
        super().__init__(task)
        works = [make_workspace(self.graph, rival=task.rival, seat=seat) for seat in sorted(set(self._seats))]
        # Shared counts, since a fold may leave data in them for the next one.
        self._works = [work._replace(counts=works[0].counts) for work in works]
        self._ways = [self._way(work, task) for work in self._works]

    def take(self, config: Config) -> None:
        """Set another configuration for `train_learners`, with the same learner, board, opponent and engine."""
        self._held = Enumerated(self.graph, self.tables, np.zeros(self.tables[0].size if config.alpha.power else 0))
        self._take(config)
        for way, work in zip(self._ways, self._works, strict=True):
            self._retake(way, work)

    def judge(self) -> Judge:
        """Return the evaluation function; in self-play it reuses the batch's best moves and takes half the time."""
        if self._works[0].seat >= 0:
            return super().judge()
        (work,), bench = self._works, make_bench(self.graph, self.worth)._replace(policy=self._works[0].policy)

        def judged(tables: Any) -> Judgement:
            verdict = make_judgement()
            judge_now(tables, self.graph, self.learner.choice, work, bench, verdict)
            return verdict

        return judged

    def follow(
        self, seeds: Sequence[int], points: NDArray[np.int64], bench: ProofSpace, *, keep: bool
    ) -> TrainedLearner:
        """Train one learner per seed with this configuration, each from the first game to `points[-1]`.

        points: int64[T], ascending; `bench` evaluates each learner there.  keep: whether to return tables.
        Only for trainings in one seat, or in self-play.  Afterwards the trainer cannot `advance`.
        """
        (way,), (work,) = self._ways, self._works
        bench = bench._replace(policy=work.policy) if work.seat < 0 else bench
        arrays = (*self.tables, self.visits)
        starts = [(*tables, np.zeros(self.visits.size)) for tables in start_tables(self.config, self.graph, seeds)]
        ends = [np.empty((len(seeds) if keep else 0, *array.shape), array.dtype) for array in arrays]
        slate = SeedBatch(
            places=tuple(_bytes_of(array[None])[0] for array in arrays),
            starts=tuple(_bytes_of(np.stack(several)) for several in zip(*starts, strict=True)),
            ends=tuple(_bytes_of(array) for array in ends),
            policy=empty_policy(self.graph),
        )
        keys = np.array([[stream_key(seed, use) for seed in seeds] for use in (self._stream, RULE)], np.uint64)
        verdicts = make_judgement(len(seeds), points.size)
        outcomes = np.zeros((len(seeds), points.size, 3), np.int64)
        train_learners(way, self._learning, work, keys, self.batches, points, bench, slate, verdicts, outcomes)
        return TrainedLearner(verdicts, outcomes, self.learner.tables(*ends[:-1]), ends[-1])

    @abstractmethod
    def _way(self, work: Workspace, task: TrainerOptions) -> Any:
        """Return the sampler with which `play_batch` plays the batches of one seat."""

    def _retake(self, way: Any, work: Workspace) -> None:
        """Set the numbers of another configuration in a sampler made by `_way`."""

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
        """Learn from the games up to `last` in the seat of `self._works[turn]`, as `_learn` does."""
        while self.games < last:
            end = last if self._record is None else min(last, batch_bounds(self.batches, self.games)[1])
            work, way = self._works[turn], self._ways[turn]
            run_batches(way, self._learning, work, self._key, self.batches, self.games, end)
            self._record_batch(turn, end)
            self.games = end

    def _record_batch(self, turn: int, last: int) -> None:
        """Record the batch just played, which began with `self.games`; its policy is still in the workspace."""
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
    """Flow trainer, which draws the number of games that take each move instead of playing games."""

    def _way(self, work: Workspace, task: TrainerOptions) -> Any:
        return make_rows()


def _bytes_of(arrays: NDArray[Any]) -> NDArray[np.uint8]:
    """Return uint8[n, bytes]: the memory of each of n arrays, stacked in one array."""
    return arrays.reshape(len(arrays), math.prod(arrays.shape[1:])).view(np.uint8)
