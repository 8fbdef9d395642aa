"""The state of a run in training: tables, working space and the games played, moved on by `advance`.

Games are functions of (seed, game number) and batches of the game number, so neither threads nor the places where
`advance` stops show in the tables.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ttt_batch.board import parse_board
from ttt_batch.config import SEATS, Config
from ttt_batch.engine import (
    Workspace,
    finish_batch,
    make_pace,
    make_workspace,
    prepare_batch,
    run_batches,
    run_games,
    set_pace,
)
from ttt_batch.games import Games
from ttt_batch.graph import enumerate_graph
from ttt_batch.learners import learner_named
from ttt_batch.learners.base import make_game
from ttt_batch.learners.steps import make_step
from ttt_batch.play.counts import outcomes_of
from ttt_batch.play.explorations import make_explorations
from ttt_batch.play.replay import games_space, replay, trimmed
from ttt_batch.play.walk import BLOCK, Lane, make_lane, walk
from ttt_batch.policy import Policy
from ttt_batch.streams import stream_key

GAMES_PER_THREAD = 131_072
"""Fewer games a thread are not worth the hand-over of 0.1 ms: a batch joins threads from twice this on."""

PIECE = 1 << 20
"""Games walked between two looks at `stop` within a batch."""

RECORDED_AT_ONCE = 1 << 16


class Trainer:
    """One run, from its first game on.

    rival: the fixed player to train against in the seat `config.seat`; None for self-play.
    tables, visits: where to begin; the learner's start tables and no visits if not given.  Copied.
    record: called with the games as they are played.
    """

    def __init__(
        self,
        config: Config,
        *,
        threads: int = 1,
        block: int = BLOCK,
        rival: Policy | None = None,
        tables: Any = None,
        visits: NDArray[np.float64] | None = None,
        record: Callable[[Games], None] | None = None,
    ) -> None:
        self.config, self.games = config, 0
        self.learner = learner_named(config.learner)
        self.graph = enumerate_graph(parse_board(config.board), self.learner.occupied)
        self.worth = self.learner.worth(config.settings)
        if tables is None:
            tables = self.learner.start(self.graph, self.worth, np.random.default_rng(config.seed % 2**64))
        self.tables = self.learner.tables(*(array.copy() for array in tables))
        alpha, epsilon = config.alpha_schedule, config.epsilon_schedule
        entries = self.tables[0].size if alpha.power else 0
        self.visits = np.zeros(entries) if visits is None else visits.copy()
        self._step = make_step(alpha.start, config.gamma, self.worth, alpha.power, self.visits)
        self._pace = make_pace(alpha.over(config.horizon), epsilon.over(config.horizon))
        self._key = stream_key(config.seed)
        self._works = []
        for seat in sorted(set(SEATS[config.seat])):
            explorations = make_explorations(epsilon.start, seat)
            self._works.append(make_workspace(self.graph, explorations, block=block, rival=rival, seat=seat))
        self._game = make_game(self.graph)
        any_edge = self.graph.first_edge[:-1].astype(np.int64)
        self._favourite = (any_edge << 32) | self.graph.child[any_edge]
        self._record = record
        helpers = max(min(threads, config.batch // GAMES_PER_THREAD) - 1, 0)
        self._lanes = [make_lane(self.graph, block) for _ in range(helpers)]
        self._pool = ThreadPoolExecutor(helpers) if helpers else None

    @property
    def outcomes(self) -> NDArray[np.int64]:
        """int64[3]: first wins, draws and second wins so far."""
        return outcomes_of(self.graph, np.sum([work.ended for work in self._works], axis=0))

    def advance(self, last: int, stop: Callable[[], bool]) -> None:
        """Learn from the games up to `last` (exclusive), or to an earlier end of a batch once `stop()` is true."""
        batch = self.config.batch
        if batch == 1:
            self._advance_one_by_one(last)
        elif batch > PIECE or self._lanes or self._record or len(self._works) > 1:
            self._advance_batch_by_batch(last, stop)
        else:
            run_batches(
                self.tables,
                self.graph,
                self.learner.choice,
                self._step,
                self._pace,
                self._works[0],
                self._key,
                self.games,
                last,
                batch,
            )
            self.games = last

    def _advance_one_by_one(self, last: int) -> None:
        while self.games < last:
            end = last if self._record is None else min(last, self.games + RECORDED_AT_ONCE)
            record = games_space(self.graph, 0 if self._record is None else end - self.games)
            run_games(
                self.tables,
                self.graph,
                self.learner.choice,
                self._step,
                self._pace,
                self._works[0],
                self._works[-1],
                self._game,
                self._favourite,
                record,
                self._key,
                self.games,
                end,
            )
            self.games = end
            if self._record is not None:
                self._record(trimmed(record))

    def _advance_batch_by_batch(self, last: int, stop: Callable[[], bool]) -> None:
        """Batches that are large, shared by threads, recorded or played in alternate seats."""
        while self.games < last:
            number = self.games // self.config.batch
            end = min(last, (number + 1) * self.config.batch)
            work = self._works[number % len(self._works)]
            step = set_pace(self._pace, self._step, work, self.games)
            prepare_batch(self.tables, self.graph, self.learner.choice, work)
            if not self._walk_pieces(work, self.games, end, stop):
                return  # stopped within the batch: it was not played
            self._record_batch(work, self.games, end)
            finish_batch(self.tables, self.graph, step, work, end - self.games)
            for other in self._works:
                other.stale[:] |= work.stale
            self.games = end

    def _walk_pieces(self, work: Workspace, first: int, last: int, stop: Callable[[], bool]) -> bool:
        """Walk games `first` to `last - 1`, shared by the threads; return False where `stop()` came first."""

        def walk_piece(first: int, last: int, lane: Lane) -> None:
            walk(self.graph, work.courses, work.explorations, self._key, first, last, lane)

        lanes = [work.lane, *self._lanes]
        stride, stopped = PIECE * len(lanes), False
        for start in range(first, last, stride):
            stopped = stop()
            if stopped:
                break
            end = min(start + stride, last)
            bounds = [start + (end - start) * i // len(lanes) for i in range(len(lanes) + 1)]
            pieces = list(zip(bounds[:-1], bounds[1:], lanes, strict=True))
            others = [self._pool.submit(walk_piece, *piece) for piece in pieces[1:]] if self._pool else []
            walk_piece(*pieces[0])
            for other in others:
                other.result()
        for lane in self._lanes:
            work.lane.drawn[:] += lane.drawn
            lane.drawn[:] = 0
        if stopped:
            work.lane.drawn[:] = 0
        return not stopped

    def _record_batch(self, work: Workspace, first: int, last: int) -> None:
        if self._record is None:
            return
        for start in range(first, last, RECORDED_AT_ONCE):
            end = min(last, start + RECORDED_AT_ONCE)
            space = games_space(self.graph, end - start)
            replay(self.graph, work.policy, work.explorations, self._key, start, end, space)
            self._record(trimmed(space))
