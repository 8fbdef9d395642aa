"""Walking by whole courses on boards of up to nine cells: all games of a batch are played, by one thread or more."""

import functools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from ttt_batch.base.processors import startable_threads
from ttt_batch.runs.batches import MAX_GAMES, batch_bounds, first_game_of_size
from ttt_batch.simulation.exploration import make_explorations
from ttt_batch.simulation.replay import games_space, replay, trimmed
from ttt_batch.simulation.walk import make_lane, walk_claimed
from ttt_batch.training.kernels.batch import Walker, Workspace, begin_walk, end_walk, make_walker, run_batches
from ttt_batch.training.trainers.base import Task
from ttt_batch.training.trainers.batched import Batched

GAMES_PER_THREAD = 262_144
"""Fewer games a thread, a millisecond of walking, are not worth the hand-over: a batch joins from twice this on.

Binding threads to processors of their own did not pay: between 0.93 and 1.2 times the speed from run to run.  Nor does
sharing out ordering and folding: 0.1 ms of a batch of a million games, which takes 1 to 13 ms, less nine hand-overs.
"""

PIECE = 1 << 20
"""Games walked between two looks at `stop` within a batch, for each thread."""

CLAIM = 1 << 14
"""Games that one of several threads claims at a time.  So two threads come to 0.88 to 0.9 of what two runs at once get
out of two processors, and to 0.8 to 0.84 where each had its half from the start; 4,096 or 65,536 are 2 to 4 % slower.
"""


class Walking(Batched):
    """Batches in one kernel as long as they are small, alone and not recorded, else one by one in pieces."""

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        epsilon = self.config.epsilon.start
        self._walkers = [
            make_walker(self.graph, work, make_explorations(epsilon, seat), task.block)
            for work, seat in zip(self._works, self._work_seats, strict=True)
        ]
        helpers = max(min(task.threads, self.batches.most // GAMES_PER_THREAD) - 1, 0)
        self._lanes = [make_lane(self.graph, task.block) for _ in range(helpers)]
        self._pool: ThreadPoolExecutor | None = None
        piecewise_from = first_game_of_size(self.batches, 2 * GAMES_PER_THREAD if helpers else PIECE + 1)
        self._piecewise_from = 0 if task.record else MAX_GAMES + 1 if piecewise_from is None else piecewise_from

    def _batches(self, turn: int, last: int, stop: Callable[[], bool]) -> None:
        work, walker = self._works[turn], self._walkers[turn]
        small = min(last, self._piecewise_from)
        if self.games < small:
            run_batches(walker, self._learning, work, self._key, self.batches, self.games, small)
            self.games = small
        while self.games < last:
            end = min(last, batch_bounds(self.batches, self.games)[1])
            step = begin_walk(walker, self._learning, work, self.games)
            if not self._walk_pieces(walker, self.games, end, stop):
                return  # stopped within the batch: it was not played
            self._record_batch(work, walker, self.games, end)
            end_walk(self.tables, self.graph, step, work, walker.lane.drawn, end - self.games)
            self.games = end

    def _start_pool(self) -> None:
        """Start the helping threads, or as many as the system lets us; how many never shows in the result."""
        del self._lanes[startable_threads(len(self._lanes)) :]
        self._pool = ThreadPoolExecutor(len(self._lanes)) if self._lanes else None

    def _walk_pieces(self, walker: Walker, first: int, last: int, stop: Callable[[], bool]) -> bool:
        """Walk games `first` to `last - 1`, shared by the threads; return False where `stop()` came first."""
        if self._lanes and self._pool is None:
            self._start_pool()
        n_lanes = max(1, min(len(self._lanes) + 1, (last - first) // GAMES_PER_THREAD))
        lanes = [walker.lane, *self._lanes[: n_lanes - 1]]
        size, stride, stopped = CLAIM if n_lanes > 1 else PIECE, PIECE * n_lanes, False
        for start in range(first, last, stride):
            stopped = stop()
            if stopped:
                break
            next_free, end = np.array([start], np.int64), min(start + stride, last)
            known = self.graph, walker.courses, walker.explorations, self._key
            take_part = functools.partial(walk_claimed, *known, next_free, size, end)
            others = [self._pool.submit(take_part, lane) for lane in lanes[1:]] if self._pool else []
            take_part(walker.lane)
            for other in others:
                if not other.cancel():  # one that has not begun yet comes too late
                    other.result()
        for lane in lanes[1:]:
            walker.lane.drawn[:] += lane.drawn
            lane.drawn[:] = 0
        if stopped:
            walker.lane.drawn[:] = 0
        return not stopped

    def _record_batch(self, work: Workspace, walker: Walker, first: int, last: int) -> None:
        if self._record is None:
            return
        for start in range(first, last, self._at_once):
            end = min(last, start + self._at_once)
            space = games_space(self.graph, end - start)
            replay(self.graph, work.policy, walker.explorations, self._key, start, end, space)
            self._record(trimmed(space))
