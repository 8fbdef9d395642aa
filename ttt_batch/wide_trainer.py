"""The state of a run in training on a board of more than nine cells: enumerated, or growing as play reaches positions.

As in `trainer`, games are functions of (seed, game number) and batches of the game number.  One thread plays, so the
number of threads shows nowhere.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ttt_batch.batches import batch_bounds, batch_parity
from ttt_batch.board import DRAW, FIRST_WINS, SECOND_WINS
from ttt_batch.config import SEATS, Config
from ttt_batch.engine import make_pace, make_workspace, run_flows, run_strides
from ttt_batch.games import Games
from ttt_batch.graph import Graph
from ttt_batch.growth import MAX_ROWS, Grown, grow
from ttt_batch.learners import learner_named
from ttt_batch.learners.steps import make_step
from ttt_batch.play.counts import Counts, empty_counts, outcomes_of
from ttt_batch.play.flow import FLOW
from ttt_batch.play.replay import trimmed
from ttt_batch.play.stride import make_strides, restride
from ttt_batch.policy import Policy
from ttt_batch.schedules import value_at
from ttt_batch.state import State
from ttt_batch.streams import stream_key
from ttt_batch.wide import Seats, fold_wide, make_wide_game, play_wide
from ttt_batch.wide_flow import arrive, draw_ply

RECORDED_AT_ONCE = 1 << 14
PIECE = 1 << 12
"""Games between two looks at `stop` where games are played one by one."""


class WideTrainer:
    """One run, from its first game on or from where it stood; the same to its callers as `Trainer`.

    rival: the fixed player to train against, None for self-play; on growing boards one without moves plays at random.
    full: a batch of flow would need more positions than there is room for.
    grown: the growing board to go on with.  max_rows: unfinished rows that it may have.
    """

    def __init__(
        self,
        config: Config,
        *,
        rival: Policy | None = None,
        tables: Any = None,
        visits: NDArray[np.float64] | None = None,
        games: int = 0,
        outcomes: NDArray[np.int64] | None = None,
        record: Callable[[Games], None] | None = None,
        grown: Grown | None = None,
        max_rows: int = MAX_ROWS,
    ) -> None:
        self.config, self.games = config, games
        self._outcomes_before = np.zeros(3, np.int64) if outcomes is None else outcomes.copy()
        self._outcomes = np.zeros(4, np.int64)
        self.learner = learner_named(config.learner)
        self.worth = self.learner.worth(config.settings)
        self.batches = config.batches
        self._record = record
        self.full = False
        alpha, epsilon = config.alpha_schedule, config.epsilon_schedule
        self.grown: Grown | None = None
        if config.grown:
            self.grown = grown or grow(config)
            self.grown.limit(max_rows)
        else:
            self._graph = config.graph
            if tables is None:
                tables = self.learner.start(self._graph, self.worth, np.random.default_rng(config.seed % 2**64))
            self._tables = self.learner.tables(*(array.copy() for array in tables))
            entries = self._tables[0].size if alpha.power else 0
            self._visits = np.zeros(entries) if visits is None else visits.copy()
        self._step = make_step(alpha.start, config.gamma, self.worth, alpha.power, self.visits)
        self._pace = make_pace(alpha.over(config.horizon), epsilon.over(config.horizon))
        self._seats = SEATS[config.seat]
        self._rival = rival
        self._game = make_wide_game(config.shape.cells)
        self._counts: Counts | None = None
        self._works: list[Any] = []
        self._key = stream_key(config.seed, FLOW) if config.engine == "flow" else stream_key(config.seed)
        if self.grown is None and config.batch != 1:
            seats = sorted(set(self._seats))
            self._works = [make_workspace(self._graph, rival=rival, seat=seat) for seat in seats]
            if config.engine == "walk":
                self._strides = [make_strides(self._graph, work.policy) for work in self._works]

    @property
    def graph(self) -> Graph:
        """Positions and moves, with room for more on a growing board."""
        return self._graph if self.grown is None else self.grown.graph

    @property
    def tables(self) -> Any:
        """The learner's tables, with room for more on a growing board."""
        return self._tables if self.grown is None else self.grown.tables

    @property
    def visits(self) -> NDArray[np.float64]:
        """Updates so far of every entry of the table; empty unless the step size goes by visits."""
        return self._visits if self.grown is None else self.grown.visits

    @property
    def outcomes(self) -> NDArray[np.int64]:
        """int64[3]: first wins, draws and second wins so far."""
        played = self._outcomes[[FIRST_WINS, DRAW, SECOND_WINS]]
        ended = sum((outcomes_of(self._graph, work.ended) for work in self._works), np.zeros(3, np.int64))
        return self._outcomes_before + played + ended

    def state(self) -> State:
        """A copy of where it stands."""
        if self.grown is not None:
            graph, tables, visits = self.grown.compact()
            return State(self.games, tables, visits, self.outcomes, graph.code, graph.outcome)
        tables = self.learner.tables(*(array.copy() for array in self.tables))
        return State(self.games, tables, self.visits.copy(), self.outcomes)

    def advance(self, last: int, stop: Callable[[], bool]) -> None:
        """Learn from the games up to `last` (exclusive), or to an earlier end of a batch once `stop()` is true."""
        while self.games < last:
            if self.config.batch == 1:
                end = min(last, self.games + (PIECE if self._record is None else RECORDED_AT_ONCE))
                self._play(end, None)
            elif len(self._works) == 1:
                end = last
                self._sweep(0, end)
            else:
                end = min(last, batch_bounds(self.batches, self.games)[1])
                if self._works:
                    seat = batch_parity(self.batches, self.games)
                    self._sweep(seat, end)
                    for work in self._works:
                        work.stale[:] |= self._works[seat].stale
                elif self.config.engine == "flow":
                    if not self._flow_batch(end):
                        self.full = True
                        return
                else:
                    self._play_batch(end)
            self.games = end
            if stop():
                return

    def _sweep(self, seat: int, last: int) -> None:
        """Batches of an enumerated board."""
        work = self._works[seat]
        shared = self._tables, self._graph, self.learner.choice, self._step, self._pace, work
        if self.config.engine == "flow":
            run_flows(*shared, self._key, self.batches, self.games, last)
            return
        strides = self._strides[seat]
        if self._record is None:
            run_strides(*shared, strides, self._key, self.batches, self.games, last)
            return
        game = self.games
        while game < last:
            end = min(last, batch_bounds(self.batches, game)[1])
            run_strides(*shared, strides, self._key, self.batches, game, end)
            epsilon = value_at(self._pace.epsilon, game)  # the policy is still that of the batch just played
            for start in range(game, end, RECORDED_AT_ONCE):
                until = min(end, start + RECORDED_AT_ONCE)
                space = _space(until - start, self.config.shape.cells)
                restride(self._graph, work.policy, epsilon, work.seat, self._key, start, until, space)
                self._recorded(space)
            game = end

    def _play(self, last: int, counts: Counts | None) -> None:
        """Games `self.games` to `last - 1`, counted or learnt from one by one."""
        seats = None if self._rival is None else Seats(self._rival, *self._seats)
        if counts is not None and seats is not None:
            seat = self._seats[batch_parity(self.batches, self.games)]
            seats = seats._replace(even=seat, odd=seat)
        for start in range(self.games, last, RECORDED_AT_ONCE if self._record else max(last - self.games, 1)):
            until = min(last, start + RECORDED_AT_ONCE) if self._record else last
            space = _space(until - start if self._record else 0, self.config.shape.cells)
            game = start
            while True:
                growth = None if self.grown is None else self.grown.growth
                game = play_wide(
                    self.tables,
                    self.graph,
                    self.learner.choice,
                    self._step,
                    self._pace,
                    seats,
                    growth,
                    self._game,
                    counts,
                    self._outcomes,
                    self.grown is not None and self.grown.may_grow,
                    self._key,
                    self.games,
                    game,
                    until,
                    Games(space.start[game - start :], space.edge, space.exploring),
                )
                if game == until or self.grown is None:
                    break
                self.grown.enlarge()
                self._step = self._step._replace(visits=self.grown.visits)
                if counts is not None:
                    counts = self._counts = _moved(counts, self.grown.graph)
            if self._record:
                self._recorded(space)

    def _play_batch(self, last: int) -> None:
        """One batch on a growing board, counted and folded."""
        if self._counts is None:
            self._counts = empty_counts(self.graph)
        self._play(last, self._counts)
        self._fold(self._counts, self.games)

    def _flow_batch(self, last: int) -> bool:
        """One batch of drawn games on a growing board; False where it has no room for the positions they reach."""
        assert self.grown is not None
        grown, game = self.grown, self.games
        counts = self._counts or empty_counts(grown.graph)
        self._counts = counts
        policy = _scratch_policy(grown.graph)
        epsilon = value_at(self._pace.epsilon, game)
        seat = self._seats[batch_parity(self.batches, game)]
        counts.visited[0], counts.arrived[0], counts.n_visited[0] = 0, last - game, 1
        before, first, ply = grown.used, 0, 0
        while first < counts.n_visited[0]:
            until = int(counts.n_visited[0])
            rival = seat >= 0 and ply & 1 != seat
            draw_ply(
                grown.tables,
                grown.graph,
                self.learner.choice,
                policy,
                epsilon,
                rival,
                self._key,
                game,
                counts,
                first,
                until,
            )
            while (first := arrive(grown.tables, grown.graph, grown.growth, counts, first, until, self.worth)) < until:
                if not grown.may_grow:
                    self._counts = None
                    grown.go_back(before.rows, before.finals)
                    return False
                grown.enlarge()
                self._step = self._step._replace(visits=grown.visits)
                counts = self._counts = _moved(counts, grown.graph)
                policy = _scratch_policy(grown.graph)
            ply += 1
        n_open = grown.graph.first_edge.size - 1
        finals = grown.graph.outcome[n_open:]
        for outcome in (FIRST_WINS, SECOND_WINS, DRAW):
            self._outcomes[outcome] += counts.arrived[n_open:][finals == outcome].sum()
        self._fold(counts, game)
        return True

    def _fold(self, counts: Counts, game: int) -> None:
        """Learn from a counted batch on a growing board that began with `game`."""
        n_open = self.graph.first_edge.size - 1
        stale, rows = np.zeros(n_open, np.bool_), np.zeros(n_open, np.uint32)
        fold_wide(self.tables, self.graph, self._step, self._pace, counts, stale, rows, game)

    def _recorded(self, space: Games) -> None:
        assert self._record is not None
        self._record(trimmed(space))


def _scratch_policy(graph: Graph) -> Policy:
    """Space for the moves of rows, which are listed as games arrive there."""
    return Policy(np.zeros(graph.child.size, np.uint32), np.zeros(graph.first_edge.size - 1, np.uint32))


def _space(games: int, cells: int) -> Games:
    """Space for so many games."""
    return Games(np.zeros(games + 1, np.int64), np.zeros(games * cells, np.uint32), np.zeros(games * cells, np.bool_))


def _moved(counts: Counts, graph: Graph) -> Counts:
    """The counts of a batch at hand over a graph that has grown meanwhile."""
    moved = empty_counts(graph)
    before, now = counts.visited.size, moved.visited.size
    moved.visited[: counts.n_visited[0]] = counts.visited[: counts.n_visited[0]]
    moved.n_visited[:] = counts.n_visited
    moved.taken[: counts.taken.shape[0]] = counts.taken
    moved.arrived[:before] = counts.arrived[:before]
    moved.arrived[now : now + counts.arrived.size - before] = counts.arrived[before:]
    return moved
