"""Walking by greedy paths on boards of up to nine cells: all games of a batch are played, by one thread or more."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from ttt_batch.base.processors import startable_threads
from ttt_batch.runs.batches import MAX_GAMES, Batches, batch_bounds, first_game_of_size
from ttt_batch.simulation.exploration import make_explorations
from ttt_batch.simulation.greedy_paths import make_paths
from ttt_batch.simulation.walk import Walker, make_walker, walk_claimed
from ttt_batch.training.kernels.batch import Workspace, begin_walk, end_walk, run_batches
from ttt_batch.training.trainers.base import Task
from ttt_batch.training.trainers.batched import Batched

GAMES_PER_THREAD = 262_144
"""Games for which a thread is worth its hand-over, a millisecond of walking; threads share batches of twice as many.

Binding threads to processors of their own did not pay: between 0.93 and 1.2 times the speed from run to run.  Nor does
sharing out ordering and folding: 0.1 ms of a batch of a million games, which takes 1 to 13 ms, less nine hand-overs.
"""

STOP_EVERY = 1 << 20
"""Games that each thread walks between two calls of `stop` within a batch."""

CLAIM = 1 << 14
"""Games that one of several threads claims at a time.  Two threads reach 0.88 to 0.9 of two runs side by side, and 0.8
to 0.84 if each has its half from the start; 4,096 or 65,536 are 2 to 4 % slower.
"""


def helpers_of(batches: Batches, threads: int) -> int:
    """How many threads may help the first one."""
    return max(min(threads, batches.most // GAMES_PER_THREAD) - 1, 0)


def piecewise_from(batches: Batches, threads: int) -> int:
    """The first game whose batch is walked in pieces, by several threads or with looks at `stop`."""
    size = 2 * GAMES_PER_THREAD if helpers_of(batches, threads) else STOP_EVERY + 1
    first = first_game_of_size(batches, size)
    return MAX_GAMES + 1 if first is None else first


class Walking(Batched):
    """Batches in one kernel as long as they are small, else one by one in pieces.

    If a batch will be walked in pieces, so is the first: all kernels are compiled at the start.
    """

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        self._helpers = [
            [make_walker(self.graph, way.explorations, way.paths, task.block) for way in self._ways]
            for _ in range(helpers_of(self.batches, task.threads))
        ]
        self._pool: ThreadPoolExecutor | None = None
        self._piecewise_from = piecewise_from(self.batches, task.threads)
        self._first = self.games < self._piecewise_from < task.games

    def _way(self, work: Workspace, task: Task) -> Walker:
        explorations = make_explorations(self.config.epsilon.start, work.seat)
        return make_walker(self.graph, explorations, make_paths(self.graph, work.policy), task.block)

    def _batches(self, turn: int, last: int, stop: Callable[[], bool]) -> None:
        while self.games < last:
            if self._first:  # of no games: compiles the kernel
                run_batches(self._ways[turn], self._learning, self._works[turn], self._key, self.batches, 0, 0)
            if self._first or self.games >= self._piecewise_from:
                if not self._batch_in_pieces(turn, min(last, batch_bounds(self.batches, self.games)[1]), stop):
                    return  # stopped within the batch: it was not played
                self._first = False
            else:
                super()._batches(turn, min(last, self._piecewise_from), stop)

    def _batch_in_pieces(self, turn: int, last: int, stop: Callable[[], bool]) -> bool:
        """Learn from the batch of games `self.games` to `last - 1`; False if `stop()` became true before its end."""
        work, walker = self._works[turn], self._ways[turn]
        step = begin_walk(walker, self._learning, work, self.games)
        if not self._walk_pieces(turn, self.games, last, stop):
            return False
        self._record_batch(turn, last)
        end_walk(self.tables, self.graph, step, work, walker.drawn, last - self.games)
        self.games = last
        return True

    def _start_pool(self) -> None:
        """Start the helping threads, or as many as the system allows; their number never shows in the result."""
        del self._helpers[startable_threads(len(self._helpers)) :]
        self._pool = ThreadPoolExecutor(len(self._helpers)) if self._helpers else None

    def _walk_pieces(self, turn: int, first: int, last: int, stop: Callable[[], bool]) -> bool:
        """Walk games `first` to `last - 1`, shared by the threads; return False if `stop()` became true before."""
        if self._helpers and self._pool is None:
            self._start_pool()
        threads = max(1, min(len(self._helpers) + 1, (last - first) // GAMES_PER_THREAD))
        walker, others = self._ways[turn], [walkers[turn] for walkers in self._helpers[: threads - 1]]
        size, stride, stopped = CLAIM if threads > 1 else STOP_EVERY, STOP_EVERY * threads, False
        for start in range(first, last, stride):
            stopped = stop()
            if stopped:
                break
            claims = self._key, np.array([start], np.int64), size, min(start + stride, last)
            begun = (
                [self._pool.submit(walk_claimed, self.graph, other, *claims) for other in others] if self._pool else []
            )
            walk_claimed(self.graph, walker, *claims)
            for one in begun:
                if not one.cancel():  # one that has not begun yet comes too late
                    one.result()
        for other in others:
            walker.drawn[:] += other.drawn
            other.drawn[:] = 0
        if stopped:
            walker.drawn[:] = 0
        return not stopped
