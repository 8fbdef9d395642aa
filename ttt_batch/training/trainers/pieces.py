"""Batches walked in pieces, which threads share and between which `stop` is checked.

The counts of a batch are whole numbers, so the result does not depend on how threads divide the games.  Each thread
counts in its own sampler (`simulation.pieces`).  The counts are added up and learnt from once, in the order of one
thread.
"""

import functools
import itertools
from abc import abstractmethod
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_batch.base.processors import startable_threads
from ttt_batch.game.graph import Graph
from ttt_batch.learners.base import Learner
from ttt_batch.learners.steps import Step
from ttt_batch.runs.batches import MAX_GAMES, Batches, batch_bounds, first_game_of_size
from ttt_batch.simulation.pieces import walk_from_queue
from ttt_batch.simulation.policy import Policy
from ttt_batch.training.kernels.batch import begin_walk, end_walk, run_batches
from ttt_batch.training.trainers.base import TrainerOptions
from ttt_batch.training.trainers.batched import Batched

WORTH_SHARING = 1 << 18
"""Count entries above which adding them up by several threads pays."""


def helpers_of(batches: Batches, threads: int, each: int) -> int:
    """Return how many threads may help the first one, if each needs at least `each` games to pay."""
    return max(min(threads, batches.most // each) - 1, 0)


def least_chunked(batches: Batches, threads: int, each: int, stop_every: int) -> int:
    """Return the first game whose batch is walked in pieces, for several threads or for checks of `stop`."""
    first = first_game_of_size(batches, 2 * each if helpers_of(batches, threads, each) else stop_every + 1)
    return MAX_GAMES + 1 if first is None else first


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
    """Trainer that runs small batches in one kernel call, and large ones one by one in pieces.

    If a later batch will be walked in pieces, so is the first, to compile all kernels at the start.

    games_per_thread: least games for which another thread pays; threads share batches of twice as many.
    stop_every: games that each thread walks between two calls of `stop` within a batch.
    claim: maximum of games that one of several threads claims at a time.
    """

    games_per_thread: ClassVar[int]
    stop_every: ClassVar[int]
    claim: ClassVar[int]

    def __init__(self, task: TrainerOptions) -> None:
        super().__init__(task)
        self._each = self._worth_a_thread()
        helpers = min(helpers_of(self.batches, task.threads, self._each), self._most_helpers())
        self._helpers = [[self._beside(way) for way in self._ways] for _ in range(helpers)]
        self._pool: ThreadPoolExecutor | None = None
        self._piecewise_from = least_chunked(self.batches, task.threads, self._each, self.stop_every)
        self._first = self.games < self._piecewise_from < task.games
        self._shares = task.shares

    @classmethod
    @abstractmethod
    def least_shared(cls, learner: Learner) -> int:
        """Return the least games of a batch for which two workers of a cluster are faster than one thread."""

    def _worth_a_thread(self) -> int:
        """Return the least number of games for which another thread pays."""
        return self.games_per_thread

    def _most_helpers(self) -> int:
        """Return the maximum of helping threads that memory allows."""
        return 1 << 10

    @abstractmethod
    def _beside(self, way: Any) -> Any:
        """Return a sampler for a helping thread, like `way`."""

    def _batches(self, turn: int, last: int, stop: Callable[[], bool]) -> None:
        while self.games < last:
            if self._first:  # run no games, to compile the kernel
                run_batches(self._ways[turn], self._learning, self._works[turn], self._key, self.batches, 0, 0)
            if self._first or self.games >= self._piecewise_from:
                if not self._batch_in_pieces(turn, min(last, batch_bounds(self.batches, self.games)[1]), stop):
                    return  # stopped within the batch, which is not counted
                self._first = False
            else:
                super()._batches(turn, min(last, self._piecewise_from), stop)

    def _batch_in_pieces(self, turn: int, last: int, stop: Callable[[], bool]) -> bool:
        """Learn from the batch of games `self.games` to `last - 1`; return False if `stop()` became true before."""
        if self._helpers and self._pool is None:
            self._start_pool()
        threads = max(1, min(len(self._helpers) + 1, (last - self.games) // self._each))
        step = self._begin(turn, threads)
        walked = self._walk_elsewhere(turn, last, stop)
        if not (self._walk_all(turn, last, threads, stop) if walked is None else walked):
            return False
        self._record_batch(turn, last)
        self._end(turn, step, last - self.games, threads)
        self.games = last
        return True

    def _begin(self, turn: int, _threads: int) -> Step:
        """Prepare the batch from `self.games` on for walking."""
        step: Step = begin_walk(self._ways[turn], self._learning, self._works[turn], self.games)
        return step

    def _end(self, turn: int, step: Step, games: int, _threads: int) -> None:
        """Learn from a batch that was walked."""
        end_walk(self._ways[turn], self.tables, self.graph, step, self._works[turn], games)

    def _start_pool(self) -> None:
        """Start the helping threads, or as many as the system allows; their number does not affect the result."""
        del self._helpers[startable_threads(len(self._helpers)) :]
        self._pool = ThreadPoolExecutor(len(self._helpers)) if self._helpers else None

    def _share(self, function: Callable[..., Any], parts: Sequence[tuple[Any, ...]]) -> None:
        """Call `function` with each of `parts`; helping threads start at the front, this thread at the end."""
        begun = [self._pool.submit(function, *part) for part in parts] if self._pool and len(parts) > 1 else []
        for number in range(len(parts) - 1, -1, -1):
            if begun and not begun[number].cancel():
                begun[number].result()
            else:
                function(*parts[number])

    def _walk_all(self, turn: int, last: int, threads: int, stop: Callable[[], bool]) -> bool:
        """Walk games `self.games` to `last - 1` on the threads; return False if `stop()` became true before.

        The counts are left where `_end` reads them; after a stop they are reset to zero.
        """
        way, others = self._ways[turn], [ways[turn] for ways in self._helpers[: threads - 1]]
        stride, stopped = self.stop_every * threads, False
        for start in range(self.games, last, stride):
            stopped = stop()
            if stopped:
                break
            end = min(start + stride, last)
            each = -(-(end - start) // threads)
            claims = self._key, np.array([start], np.int64), min(self.claim, each) if others else each, end
            self._share(walk_from_queue, [(self.graph, one, *claims) for one in (*others, way)])
        if stopped:
            for one in (way, *others):
                one.drawn[:] = 0
        else:
            self._add_up([way.drawn, *(one.drawn for one in others)])
        return not stopped

    def _add_up(self, drawn: Sequence[NDArray[np.uint32]]) -> None:
        """Add the counts of the other threads to those of the first, and reset the others to zero, in place."""
        parts = len(drawn) if drawn[0].size > WORTH_SHARING else 1
        self._share(_add_part, [(*part, drawn) for part in split(drawn[0].size, parts)])

    def _walk_elsewhere(self, turn: int, last: int, stop: Callable[[], bool]) -> bool | None:
        """Walk like `_walk_all` on the workers of a cluster; return None if none exist or the batch is too small."""
        if self._shares is None or last - self.games < self.least_shared(self.learner):
            return None
        policy, drawn = self._works[turn].policy, self._ways[turn].drawn
        here = functools.partial(self._walk_span, turn)
        walked: bool | None = self._shares.walk(
            SharedBatch(turn, self.games, last, policy, self.graph, drawn, here), stop
        )
        if walked is None:
            self._shares = None
        return walked

    def _walk_span(self, turn: int, first: int, last: int) -> None:
        """Walk games `first` to `last - 1` on this thread, without checks of `stop`."""
        walk_from_queue(self.graph, self._ways[turn], self._key, np.array([first], np.int64), last - first, last)

    def take_batch(self, turn: int, game: int, policy: Policy) -> None:
        """Prepare a worker to walk games of the batch that begins with `game` and has `policy`."""
        work = self._works[turn]
        work.policy.best[:], work.policy.ordered[:] = policy.best, policy.ordered
        work.rows[:], work.listed[0] = np.arange(work.rows.size), work.rows.size
        begin_walk(self._ways[turn], self._learning, work, game)

    def walk_some(self, turn: int, first: int, last: int) -> NDArray[np.uint32]:
        """Walk games `first` to `last - 1` of the prepared batch on a worker; return their counts, as in `drawn`."""
        self._walk_span(turn, first, last)
        drawn: NDArray[np.uint32] = self._ways[turn].drawn.copy()
        self._ways[turn].drawn[:] = 0
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
