"""Batch trainers for enumerated boards: whole batches, or chunks of a batch that threads share.

`make_trainer` makes any trainer: board, batch and engine select it.

Each seat has its own workspace, because the learner moves at different rows and so has a different policy.

Threads share the chunks of a batch, and `stop` is checked between chunks.
The counts of a batch are whole numbers, so the result does not depend on how threads divide the games.  Each thread
counts in its own sampler (`simulation.walk`).  The sum of the counts is learnt from once, as by one thread.
"""

import functools
import itertools
import math
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_batch.agents.adapter import OpponentPolicy
from ttt_batch.compiler.numerics import RULE, stream_key
from ttt_batch.core.resources import free_memory, startable_threads
from ttt_batch.evaluation.judgement import Judgement, ProofSpace, make_judgement
from ttt_batch.games.graph import Graph
from ttt_batch.games.transcripts import Games
from ttt_batch.learners import learner_named
from ttt_batch.learners.base import Step
from ttt_batch.runs.config import SMALL_CELLS, Config
from ttt_batch.runs.evaluation import exploration_of
from ttt_batch.runs.options import MAX_GAMES, OPPONENTS
from ttt_batch.runs.run import Run
from ttt_batch.runs.schedules import batch_bounds, batch_parity, first_game_of_size, value_at
from ttt_batch.simulation.action_probabilities import Probabilities
from ttt_batch.simulation.flow import make_rows
from ttt_batch.simulation.lockstep import Lockstep, make_lockstep, replay
from ttt_batch.simulation.policy import Policy, empty_policy, outcomes_of
from ttt_batch.simulation.sampled import Mixture, Streams, make_mixture, make_streams, replay_mixture
from ttt_batch.simulation.walk import (
    PER_THREAD,
    Walker,
    fill_explorations,
    make_explorations,
    make_paths,
    make_walker,
    second_sampler,
    walk_from_queue,
)
from ttt_batch.training.kernels.batch import (
    ORDERED,
    Workspace,
    begin_walk,
    end_walk,
    fold_from_queue,
    make_spans,
    make_workspace,
    order_from_queue,
    run_batches,
)
from ttt_batch.training.kernels.sampled import lay_out_rows
from ttt_batch.training.kernels.train_many import SeedBatch, train_learners
from ttt_batch.training.trainers import base


class TrainedLearner(NamedTuple):
    """Results of n learners at T points.

    verdicts: `Judgement` whose arrays have the leading axes n and T.  outcomes: int64[n, T, 3].
    tables, visits: at the end, with a leading axis for the learners, which is empty unless requested.
    """

    verdicts: Judgement
    outcomes: NDArray[np.int64]
    tables: Any
    visits: NDArray[np.float64]


class Batched(base.TableTrainer):
    """Batch trainer with one kernel call for all batches, by flow, which draws how many games take each move.

    Subclasses walk instead.  To record games, they run and replay each batch.
    """

    def __init__(self, task: base.TrainerOptions) -> None:
        super().__init__(task)
        works = [make_workspace(self.graph, opponent=task.opponent, seat=seat) for seat in sorted(set(self._seats))]
        # Shared counts, since a fold may leave data in them for the next one.
        self._works = [work._replace(counts=works[0].counts) for work in works]
        self._samplers = [self._make_sampler(work, task) for work in self._works]

    def take(self, config: Config) -> None:
        """Set another configuration for `train_learners`, with the same learner, board, opponent and engine."""
        self.visits = np.zeros(self.tables[0].size if config.alpha.power else 0)
        self._take(config)
        for sampler, work in zip(self._samplers, self._works, strict=True):
            self._retake(sampler, work)

    @functools.cached_property
    def evaluate(self) -> Callable[[Any], Judgement]:
        """Return the evaluation function; in self-play it reuses the batch's best moves and takes half the time."""
        return super().evaluate if self._works[0].seat >= 0 else self._judge_with(self._works[0])

    def prepare(self) -> None:
        """Let another process compile `evaluate`, beside the first games."""
        _ = self.evaluate  # made once; to make it starts that process

    def follow(
        self, seeds: Sequence[int], points: NDArray[np.int64], space: ProofSpace, *, keep: bool
    ) -> TrainedLearner:
        """Train one learner per seed with this configuration, each from the first game to `points[-1]`.

        points: int64[T], ascending; `space` evaluates each learner there.  keep: whether to return tables.
        Requires training in one seat, or self-play.  Afterwards the trainer cannot `advance`.
        """
        (sampler,), (work,) = self._samplers, self._works
        space = space._replace(policy=work.policy) if work.seat < 0 else space
        arrays = (*self.tables, self.visits)
        starts = [(*tables, np.zeros(self.visits.size)) for tables in base.start_tables(self.config, self.graph, seeds)]
        ends = [np.empty((len(seeds) if keep else 0, *array.shape), array.dtype) for array in arrays]
        seed_batch = SeedBatch(
            places=tuple(_bytes_of(array[None])[0] for array in arrays),
            starts=tuple(_bytes_of(np.stack(several)) for several in zip(*starts, strict=True)),
            ends=tuple(_bytes_of(array) for array in ends),
            policy=empty_policy(self.graph),
        )
        keys = np.array([[stream_key(seed, use) for seed in seeds] for use in (self._stream, RULE)], np.uint64)
        verdicts = make_judgement(len(seeds), points.size)
        outcomes = np.zeros((len(seeds), points.size, 3), np.int64)
        train_learners(sampler, self._learning, work, keys, self.batches, points, space, seed_batch, verdicts, outcomes)
        return TrainedLearner(verdicts, outcomes, self.learner.tables(*ends[:-1]), ends[-1])

    def _make_sampler(self, work: Workspace, task: base.TrainerOptions) -> Any:
        """Return the sampler with which `play_batch` plays the batches of one seat."""
        if not task.by_chances:
            return make_rows()
        return make_streams(*self._chances(task))

    def _retake(self, sampler: Any, work: Workspace) -> None:
        """Set the numbers of another configuration in a sampler made by `_make_sampler`."""
        if isinstance(sampler, Streams):
            sampler.how[0][0] = exploration_of(self.config)[0][0]

    @property
    def outcomes(self) -> NDArray[np.int64]:
        """Return int64[3]: first wins, draws and second wins so far."""
        ended = np.sum([work.ended for work in self._works], axis=0)
        return self._outcomes_before + outcomes_of(self.graph, ended)

    def _learn(self, last: int, stop: Callable[[], bool]) -> None:
        if len(self._works) == 1:
            self._batches(0, last, stop)
            return
        turn, end = batch_parity(self.batches, self.games), batch_bounds(self.batches, self.games)[1]
        self._batches(turn, min(last, end), stop)
        for work in self._works:
            work.dirty[:] |= self._works[turn].dirty

    def _batches(self, turn: int, last: int, _stop: Callable[[], bool]) -> None:
        """Learn from the games up to `last` in the seat of `self._works[turn]`, as `_learn` does."""
        while self.games < last:
            end = last if self._record is None else min(last, batch_bounds(self.batches, self.games)[1])
            work, sampler = self._works[turn], self._samplers[turn]
            run_batches(sampler, self._learning, work, self._key, self.batches, self.games, end)
            if self._record is not None:
                self._record_games(end, functools.partial(self._replay, turn))
            self.games = end

    def _replay(self, turn: int, first: int, last: int, space: Games) -> None:
        """Write games `first` to `last - 1` of the batch just played, whose policy is in the workspace, to `space`."""
        work, explorations = self._works[turn], getattr(self._samplers[turn], "explorations", None)
        epsilon = value_at(self._decays.epsilon, self.games)
        replay(self.graph, work.policy, explorations, epsilon, work.seat, self._key, first, last, space)


def _bytes_of(arrays: NDArray[Any]) -> NDArray[np.uint8]:
    """Return uint8[n, bytes]: the memory of each of n arrays, stacked in one array."""
    return arrays.reshape(len(arrays), math.prod(arrays.shape[1:])).view(np.uint8)


WORTH_HELP = 16
"""Games in batches that threads share, in `games_per_thread`, above which to compile their kernels pays.

A first run of ten million games on 3x3 would wait 1.2 s for them, to save 20 ms.
"""

WORTH_SHARING = 1 << 18
"""Count entries above which adding them up by several threads pays."""


class SharedBatch(NamedTuple):
    """Batch whose games the workers of a cluster may walk.

    turn: index of the learner's seat in the run.  first, last: its first game, and the game after its last.
    policy: its best moves.  graph: the board.
    drawn: the counts of its games, updated in place.  walk_here(first, last): walks some games in this process.
    """

    turn: int
    first: int
    last: int
    policy: Policy
    graph: Graph
    drawn: NDArray[np.uint32]
    walk_here: Callable[[int, int], None]


class ChunkedWalk(Batched):
    """Trainer that runs small batches in one kernel call, and each large batch in chunks.

    If any later batch has chunks, the first one does too, to compile all kernels at the start.

    games_per_thread: least games that justify another thread; threads share batches of twice as many.
    by_moves: factor on it for learners that need more than arrivals (`Learner.arrivals`).
    stop_every: games that each thread walks between two calls of `stop` within a batch.
    claim: most games that one of several threads claims at a time.
    least_shared: least games of a batch for which two workers of a cluster are faster than one thread, for learners
    that need moves, and for those that need only arrivals.
    """

    games_per_thread: ClassVar[int]
    by_moves: ClassVar[int] = 1
    stop_every: ClassVar[int]
    claim: ClassVar[int]
    least_shared: ClassVar[tuple[int, int]]

    def __init__(self, task: base.TrainerOptions) -> None:
        super().__init__(task)
        self._each = self.games_per_thread * (1 if self.learner.by_arrivals else self.by_moves)
        helped = max(min(task.threads, self.batches.most // self._each) - 1, 0)
        if helped and task.games:
            shared = task.games - max(self.games, first_game_of_size(self.batches, 2 * self._each) or 0)
            helped = helped if shared >= WORTH_HELP * self._each else 0
        own = [getattr(sampler, name).nbytes for sampler in self._samplers for name in PER_THREAD & {*sampler._fields}]
        helpers = min(helped, free_memory() // (2 * sum(own))) if helped else 0
        self._helpers = [[second_sampler(sampler) for sampler in self._samplers] for _ in range(helpers)]
        self._pool: ThreadPoolExecutor | None = None
        chunked = first_game_of_size(self.batches, 2 * self._each if helped else self.stop_every + 1)
        self._piecewise_from = MAX_GAMES + 1 if chunked is None else chunked  # for threads, or checks of `stop`
        self._first = self.games < self._piecewise_from < task.games
        self._shares = task.shares

    def _batches(self, turn: int, last: int, stop: Callable[[], bool]) -> None:
        while self.games < last:
            if self._first:  # run no games, to compile the kernel
                run_batches(self._samplers[turn], self._learning, self._works[turn], self._key, self.batches, 0, 0)
            if self._first or self.games >= self._piecewise_from:
                if not self._batch_in_pieces(turn, min(last, batch_bounds(self.batches, self.games)[1]), stop):
                    return  # stopped within the batch, which is not counted
                self._first = False
            else:
                super()._batches(turn, min(last, self._piecewise_from), stop)

    def _batch_in_pieces(self, turn: int, last: int, stop: Callable[[], bool]) -> bool:
        """Learn from the batch of games `self.games` to `last - 1`; return False if `stop()` became true before."""
        if self._helpers and self._pool is None:
            # As many as the system allows; their number does not affect the result.
            del self._helpers[startable_threads(len(self._helpers)) :]
            self._pool = ThreadPoolExecutor(len(self._helpers)) if self._helpers else None
        threads = max(1, min(len(self._helpers) + 1, (last - self.games) // self._each))
        step = self._begin(turn, threads)
        walked = self._walk_elsewhere(turn, last, stop)
        if not (self._walk_all(turn, last, threads, stop) if walked is None else walked):
            return False
        if self._record is not None:
            self._record_games(last, functools.partial(self._replay, turn))
        self._end(turn, step, last - self.games, threads)
        self.games = last
        return True

    def _begin(self, turn: int, _threads: int) -> Step:
        """Prepare the batch from `self.games` on for walking."""
        step: Step = begin_walk(self._samplers[turn], self._learning, self._works[turn], self.games)
        return step

    def _end(self, turn: int, step: Step, games: int, _threads: int) -> None:
        """Learn from a batch that was walked."""
        end_walk(self._samplers[turn], self.tables, self.graph, step, self._works[turn], games)

    def _share(self, function: Callable[..., Any], parts: Sequence[tuple[Any, ...]]) -> None:
        """Call `function` with each of `parts`; helping threads start at the front, this thread at the end."""
        begun = [self._pool.submit(function, *part) for part in parts] if self._pool and len(parts) > 1 else []
        for number in range(len(parts) - 1, -1, -1):
            if begun and not begun[number].cancel():
                begun[number].result()
            else:
                function(*parts[number])

    def _walk_all(self, turn: int, last: int, threads: int, stop: Callable[[], bool]) -> bool:
        """Walk games `self.games` to `last - 1` on the threads; return False if `stop()` ends it early.

        The counts are left where `_end` reads them; after a stop they are reset to zero.
        """
        sampler, others = self._samplers[turn], [samplers[turn] for samplers in self._helpers[: threads - 1]]
        stride, stopped = self.stop_every * threads, False
        for start in range(self.games, last, stride):
            stopped = stop()
            if stopped:
                break
            end = min(start + stride, last)
            each = -(-(end - start) // threads)
            claims = self._key, np.array([start], np.int64), min(self.claim, each) if others else each, end
            self._share(walk_from_queue, [(self.graph, one, *claims) for one in (*others, sampler)])
        if stopped:
            for one in (sampler, *others):
                one.drawn[:] = 0
        else:
            self._add_up([sampler.drawn, *(one.drawn for one in others)])
        return not stopped

    def _add_up(self, drawn: Sequence[NDArray[np.uint32]]) -> None:
        """Add the counts of the other threads to those of the first, and reset the others to zero, in place."""
        parts = len(drawn) if drawn[0].size > WORTH_SHARING else 1
        self._share(_add_part, [(*part, drawn) for part in split(drawn[0].size, parts)])

    def _walk_elsewhere(self, turn: int, last: int, stop: Callable[[], bool]) -> bool | None:
        """Walk like `_walk_all` on the workers of a cluster; return None if none exist or the batch is too small."""
        if self._shares is None or last - self.games < self.least_shared[self.learner.by_arrivals]:
            return None
        policy, drawn = self._works[turn].policy, self._samplers[turn].drawn
        here = functools.partial(self._walk_span, turn)
        walked: bool | None = self._shares.walk(
            SharedBatch(turn, self.games, last, policy, self.graph, drawn, here), stop
        )
        if walked is None:
            self._shares = None
        return walked

    def _walk_span(self, turn: int, first: int, last: int) -> None:
        """Walk games `first` to `last - 1` on this thread, without checks of `stop`."""
        walk_from_queue(self.graph, self._samplers[turn], self._key, np.array([first], np.int64), last - first, last)

    def take_batch(self, turn: int, game: int, policy: Policy) -> None:
        """Prepare a worker to walk games of the batch that begins with `game` and has `policy`."""
        work = self._works[turn]
        work.policy.best[:], work.policy.ordered[:] = policy.best, policy.ordered
        work.rows[:], work.listed[0] = np.arange(work.rows.size), work.rows.size
        begin_walk(self._samplers[turn], self._learning, work, game)

    def walk_some(self, turn: int, first: int, last: int) -> NDArray[np.uint32]:
        """Walk games `first` to `last - 1` of the prepared batch on a worker; return their counts, as in `drawn`."""
        self._walk_span(turn, first, last)
        drawn: NDArray[np.uint32] = self._samplers[turn].drawn.copy()
        self._samplers[turn].drawn[:] = 0
        return drawn


def split(size: int, parts: int) -> list[tuple[int, int]]:
    """Split range(size) into `parts` parts of nearly equal size; return each as (first, last + 1)."""
    bounds = [size * part // parts for part in range(parts + 1)]
    return list(itertools.pairwise(bounds))


def _add_part(first: int, last: int, drawn: Sequence[Any]) -> None:
    """Add entries `first` to `last - 1` of the other arrays to the first array, and reset them to zero, in place."""
    into, *others = (one[first:last] for one in drawn)
    for other in others:
        into += other
        other[:] = 0


class Walking(ChunkedWalk):
    """Walk trainer for small boards; the games of a block skip from one random decision to the next."""

    games_per_thread = 262_144
    """Games that take about a millisecond."""

    stop_every = 1 << 20

    claim = 1 << 14
    """Games claimed at a time.  4,096 or 65,536 are 2 to 4 % slower; fixed halves for two threads are 8 % slower."""

    least_shared = 1 << 23, 1 << 23
    """With 8 million games two workers are 1.6 times as fast as one thread (1.1 with 2 million, 1.8 with 32)."""

    def _make_sampler(self, work: Workspace, task: base.TrainerOptions) -> Walker:
        explorations = make_explorations(self.config.epsilon.start, work.seat)
        return make_walker(self.graph, explorations, make_paths(self.graph, work.policy), task.block)

    def _retake(self, sampler: Walker, work: Workspace) -> None:
        fill_explorations(
            sampler.explorations, self.config.epsilon.start, work.seat, self._decays.weight, self._decays.stack
        )


class InLockstep(ChunkedWalk):
    """Walk trainer for larger boards; each thread plays its games in lockstep, which is faster for more games.

    A helping thread needs 28 bytes for each of 262,144 games, and its own counts.  These take 4 bytes a position if the
    learner needs only arrivals (`Learner.arrivals`), 5 MB on 4x4x4 by symmetry; else 8 bytes a move, 52 MB there.

    Threads also share the ordering of rows.  If the learner needs only arrivals, they also share the fold.
    """

    games_per_thread = 1 << 15
    """In batches of twice as many, two threads with `td` are 1.4 times as fast as one on 4x4x4, 1.07 times on 3x4x3."""

    by_moves = 8
    """Adding up counts of moves takes longer, and threads do not share completing and folding."""

    stop_every = claim = 1 << 18
    least_shared = 1 << 24, 1 << 22
    """On 4x4x4 two workers are then 1.1 times as fast as one thread by moves, and 1.25 times by arrivals."""

    def __init__(self, task: base.TrainerOptions) -> None:
        super().__init__(task)
        self._drawn: list[NDArray[np.uint32]] = []
        if self._helpers and self.learner.by_arrivals:  # one array for all threads, added up in the fold
            self._spans = make_spans(self.graph)
            for turn, sampler in enumerate(self._samplers):
                self._drawn.append(np.zeros((1 + len(self._helpers), sampler.drawn.size), np.uint32))
                for samplers, drawn in zip((self._samplers, *self._helpers), self._drawn[turn], strict=True):
                    samplers[turn] = samplers[turn]._replace(drawn=drawn)

    def _make_sampler(self, work: Workspace, task: base.TrainerOptions) -> Lockstep:
        return make_lockstep(self.graph, work.policy, work.seat, by_row=self.learner.by_arrivals)

    def _begin(self, turn: int, threads: int) -> Step:
        work = self._works[turn]
        if threads > 1 and work.listed[0] < 0:
            self._share(
                order_from_queue, [(self._samplers[turn], self._learning, work, _none_yet(), ORDERED)] * threads
            )
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


class MixtureWalking(ChunkedWalk):
    """Walk trainer for any enumerated board, with the games of a block in lockstep and every move drawn.

    Workers cannot share its batches, since they receive best moves, not probabilities.
    """

    games_per_thread = 1 << 16
    stop_every = 1 << 20
    claim = 1 << 14

    def _learn(self, last: int, stop: Callable[[], bool]) -> None:
        super()._learn(last, stop)
        if len(self._samplers) > 1:  # seats alternate: rows changed by one are dirty for the other
            dirty = np.any([sampler.dirty for sampler in self._samplers], axis=0)
            for sampler in self._samplers:
                sampler.dirty[:] = dirty

    def _make_sampler(self, work: Workspace, task: base.TrainerOptions) -> Mixture:
        sampler = make_mixture(self.graph, *self._chances(task))
        lay_out_rows(sampler, self._learning, work.owned)
        return sampler

    def _retake(self, sampler: Mixture, work: Workspace) -> None:
        sampler.how[0][0] = exploration_of(self.config)[0][0]
        sampler.dirty[:] = True

    def _replay(self, turn: int, first: int, last: int, space: Games) -> None:
        replay_mixture(self.graph, self._samplers[turn], self._key, first, last, space)


def choose_trainer(config: Config, opponent: Policy | Probabilities | None = None) -> type[base.TableTrainer]:
    """Return the trainer class for a configuration and a fixed opponent."""
    by_chances, small = base.TrainerOptions(config, opponent).by_chances, config.board.cells <= SMALL_CELLS
    if config.batch == 1:
        return base.PlyByPly
    if config.grown:
        return base.Growing
    if config.engine == "flow":
        return Batched
    return MixtureWalking if by_chances else Walking if small else InLockstep


def make_trainer(
    config: Config, *, opponent: Run | OpponentPolicy | Policy | Probabilities | str | None = None, **options: Any
) -> base.TableTrainer:
    """Return a trainer for `config`, new or from a `state`; options: see `TrainerOptions`.

    opponent: the fixed one; a learner without self-play meets by default the one named in its configuration.
    """
    if opponent is None and len(learner_named(config.learner).seats) == 1 and config.opponent in OPPONENTS:
        opponent = config.opponent
    policy = base.policy_of_opponent(opponent, config) if isinstance(opponent, Run | OpponentPolicy | str) else opponent
    return choose_trainer(config, policy)(base.TrainerOptions(config, policy, **options))
