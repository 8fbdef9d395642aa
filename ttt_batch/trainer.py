"""The state of a run in training: tables, working space and the games played, moved on by `advance`.

Games are functions of (seed, game number) and batches of the game number, so neither threads nor the places where
`advance` stops show in the tables.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ttt_batch.batches import MAX_GAMES, batch_bounds, batch_parity, first_game_of_size
from ttt_batch.config import SEATS, Config
from ttt_batch.engine import (
    Walker,
    Workspace,
    begin_walk,
    end_walk,
    make_pace,
    make_walker,
    make_workspace,
    run_flows,
    run_walks,
)
from ttt_batch.games import Games
from ttt_batch.learners import learner_named
from ttt_batch.learners.base import make_game
from ttt_batch.learners.steps import make_step
from ttt_batch.play.counts import outcomes_of
from ttt_batch.play.explorations import make_explorations
from ttt_batch.play.flow import FLOW
from ttt_batch.play.replay import games_space, replay, trimmed
from ttt_batch.play.walk import BLOCK, Lane, make_lane, walk
from ttt_batch.policy import Policy
from ttt_batch.sequential import Circumstances, make_favourites, run_games
from ttt_batch.state import State
from ttt_batch.streams import stream_key

GAMES_PER_THREAD = 262_144
"""Fewer games a thread, a millisecond of walking, are not worth the hand-over: a batch joins from twice this on.

Binding threads to processors of their own did not pay: between 0.93 and 1.2 times the speed from run to run.  Nor does
sharing out ordering and folding: 0.1 ms of a batch of a million games, which takes 4 to 12 ms, less nine hand-overs.
"""

PIECE = 1 << 20
"""Games walked between two looks at `stop` within a batch."""

RECORDED_AT_ONCE = 1 << 16


class Trainer:
    """One run, from its first game on or from where it stood.

    rival: the fixed player to train against in the seat `config.seat`; None for self-play.
    tables, visits: where to begin; the learner's start tables and no visits if not given.  Copied.
    games, outcomes: games learnt from before, and how they ended; none if not given.
    record: called with the games as they are played.
    """

    grown, full = None, False
    """Small boards are enumerated; see `WideTrainer`."""

    def __init__(
        self,
        config: Config,
        *,
        threads: int = 1,
        block: int = BLOCK,
        rival: Policy | None = None,
        tables: Any = None,
        visits: NDArray[np.float64] | None = None,
        games: int = 0,
        outcomes: NDArray[np.int64] | None = None,
        record: Callable[[Games], None] | None = None,
    ) -> None:
        self.config, self.games = config, games
        self._outcomes_before = np.zeros(3, np.int64) if outcomes is None else outcomes.copy()
        self.learner = learner_named(config.learner)
        self.graph = config.graph
        self.worth = self.learner.worth(config.settings)
        flows = config.engine == "flow"
        self.batches = config.batches
        if tables is None:
            tables = self.learner.start(self.graph, self.worth, np.random.default_rng(config.seed % 2**64))
        self.tables = self.learner.tables(*(array.copy() for array in tables))
        alpha, epsilon = config.alpha_schedule, config.epsilon_schedule
        entries = self.tables[0].size if alpha.power else 0
        self.visits = np.zeros(entries) if visits is None else visits.copy()
        self._step = make_step(alpha.start, config.gamma, self.worth, alpha.power, self.visits)
        self._pace = make_pace(alpha.over(config.horizon), epsilon.over(config.horizon))
        seats = sorted(set(SEATS[config.seat]))
        self._works = [make_workspace(self.graph, rival=rival, seat=seat) for seat in seats]
        self._record, self._pool = record, None
        self._lanes: list[Lane] = []
        if flows:
            self._advance: Callable[[int, int, Callable[[], bool]], None] = self._flow
            self._key = stream_key(config.seed, FLOW)
            return
        self._key = stream_key(config.seed)
        self._explorations = [make_explorations(epsilon.start, seat) for seat in seats]
        if config.batch == 1:
            self._advance = self._play_one_by_one
            self._game = make_game(self.graph)
            self._favourites = make_favourites(self.graph)
            self._plain = not (rival or record or alpha.by_games or epsilon.by_games)
            self._rival = rival or self._works[0].policy
            self._seats = seats
            return
        self._advance = self._walk
        self._walkers = [
            make_walker(self.graph, work, explorations, block)
            for work, explorations in zip(self._works, self._explorations, strict=True)
        ]
        helpers = max(min(threads, self.batches.most // GAMES_PER_THREAD) - 1, 0)
        self._lanes = [make_lane(self.graph, block) for _ in range(helpers)]
        self._pool = ThreadPoolExecutor(helpers) if helpers else None
        piecewise_from = first_game_of_size(self.batches, 2 * GAMES_PER_THREAD if helpers else PIECE + 1)
        self._piecewise_from = 0 if record else MAX_GAMES + 1 if piecewise_from is None else piecewise_from

    @property
    def outcomes(self) -> NDArray[np.int64]:
        """int64[3]: first wins, draws and second wins so far."""
        return self._outcomes_before + outcomes_of(self.graph, np.sum([work.ended for work in self._works], axis=0))

    def state(self) -> State:
        """A copy of where it stands."""
        tables = self.learner.tables(*(array.copy() for array in self.tables))
        return State(self.games, tables, self.visits.copy(), self.outcomes)

    def advance(self, last: int, stop: Callable[[], bool]) -> None:
        """Learn from the games up to `last` (exclusive), or to an earlier end of a batch once `stop()` is true."""
        while self.games < last:
            if len(self._works) == 1 or self.config.batch == 1:
                seat, end = 0, last
            else:
                seat = batch_parity(self.batches, self.games)
                end = min(last, batch_bounds(self.batches, self.games)[1])
            before = self.games
            self._advance(seat, end, stop)
            if self.games == before:
                return
            for work in self._works:
                work.stale[:] |= self._works[seat].stale

    def _flow(self, seat: int, last: int, _stop: Callable[[], bool]) -> None:
        run_flows(
            self.tables,
            self.graph,
            self.learner.choice,
            self._step,
            self._pace,
            self._works[seat],
            self._key,
            self.batches,
            self.games,
            last,
        )
        self.games = last

    def _walk(self, seat: int, last: int, stop: Callable[[], bool]) -> None:
        """Batches in one kernel as long as they are small, alone and not recorded, else one by one in pieces."""
        work, walker = self._works[seat], self._walkers[seat]
        small = min(last, self._piecewise_from)
        if self.games < small:
            run_walks(
                self.tables,
                self.graph,
                self.learner.choice,
                self._step,
                self._pace,
                work,
                walker,
                self._key,
                self.batches,
                self.games,
                small,
            )
            self.games = small
        while self.games < last:
            end = min(last, batch_bounds(self.batches, self.games)[1])
            step = begin_walk(
                self.tables, self.graph, self.learner.choice, self._step, self._pace, work, walker, self.games
            )
            if not self._walk_pieces(walker, self.games, end, stop):
                return  # stopped within the batch: it was not played
            self._record_batch(work, walker, self.games, end)
            end_walk(self.tables, self.graph, step, work, walker, end - self.games)
            self.games = end

    def _walk_pieces(self, walker: Walker, first: int, last: int, stop: Callable[[], bool]) -> bool:
        """Walk games `first` to `last - 1`, shared by the threads; return False where `stop()` came first."""

        def walk_piece(first: int, last: int, lane: Lane) -> None:
            walk(self.graph, walker.courses, walker.explorations, self._key, first, last, lane)

        n_lanes = max(1, min(len(self._lanes) + 1, (last - first) // GAMES_PER_THREAD))
        lanes = [walker.lane, *self._lanes[: n_lanes - 1]]
        stride, stopped = PIECE * n_lanes, False
        for start in range(first, last, stride):
            stopped = stop()
            if stopped:
                break
            end = min(start + stride, last)
            bounds = [start + (end - start) * i // n_lanes for i in range(n_lanes + 1)]
            pieces = list(zip(bounds[:-1], bounds[1:], lanes, strict=True))
            others = [self._pool.submit(walk_piece, *piece) for piece in pieces[1:]] if self._pool else []
            walk_piece(*pieces[0])
            for other in others:
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
        for start in range(first, last, RECORDED_AT_ONCE):
            end = min(last, start + RECORDED_AT_ONCE)
            space = games_space(self.graph, end - start)
            replay(self.graph, work.policy, walker.explorations, self._key, start, end, space)
            self._record(trimmed(space))

    def _play_one_by_one(self, _seat: int, last: int, _stop: Callable[[], bool]) -> None:
        """The textbook's way; alternates seats by itself."""
        while self.games < last:
            end = last if self._record is None else min(last, self.games + RECORDED_AT_ONCE)
            record = games_space(self.graph, 0 if self._record is None else end - self.games)
            explorations, seats = self._explorations, self._seats
            circumstances = Circumstances(
                self._pace, self._rival, seats[0], seats[-1], explorations[0], explorations[-1], record
            )
            run_games(
                self.tables,
                self.graph,
                self.learner.choice,
                self._step,
                explorations[0],
                None if self._plain else circumstances,
                self._game,
                self._favourites,
                self._works[0].ended,
                self._key,
                self.games,
                end,
            )
            self.games = end
            if self._record is not None:
                self._record(trimmed(record))
