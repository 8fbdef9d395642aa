"""Trainers that play game by game or grow the table.

Batch trainers for growing boards, which count games played ply by ply, or draw the counts, and then fold them.
Drawn counts need room for every position of the batch.  A batch without this room is not learnt from.
"""

import functools
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ttt_batch.games.board import DRAW, FIRST_WINS, SECOND_WINS
from ttt_batch.games.graph import Graph
from ttt_batch.games.transcripts import Games, games_space, on_graph
from ttt_batch.learners.base import make_trajectory
from ttt_batch.runs.growing_table import GrowingTable
from ttt_batch.runs.schedules import batch_bounds, batch_parity
from ttt_batch.simulation.flow import make_rows
from ttt_batch.simulation.policy import UNLISTED, Counts, Policy, empty_counts
from ttt_batch.simulation.sampled import Streams, make_streams
from ttt_batch.simulation.walk import make_explorations
from ttt_batch.training.kernels.batch import arrive, draw_ply
from ttt_batch.training.kernels.games import (
    CELLS,
    Seats,
    Shortcuts,
    Span,
    fold_counted,
    is_like_3x3,
    learn_given,
    make_cache,
    play_games,
    window_decides,
)
from ttt_batch.training.kernels.sampled import draw_mixed_ply, play_drawn_games
from ttt_batch.training.kernels.sequential import play_self
from ttt_batch.training.trainers.base import TableTrainer, TrainerOptions


class PlyByPly(TableTrainer):
    """Trainer that learns from each game before the next; a board without room for a game grows first."""

    _counts: Counts | None = None
    """Counts of a batch; None to learn from each game."""

    _shortcuts: Shortcuts | None = None
    _stop_every = 1 << 12
    """Games between two calls of `stop`."""

    def __init__(self, task: TrainerOptions) -> None:
        super().__init__(task)
        # A signature of `play_games` for self-play alone is 0 to 3 % faster, but adds a second of compilation.
        opponent = task.opponent if isinstance(task.opponent, Policy) else UNLISTED
        self._players = Seats(opponent, *self._seats)
        self._game = make_trajectory(self.config.board.cells)
        self._by_outcome = np.zeros(4, np.int64)
        self._streams: Streams | None = None
        if task.by_chances:
            self._streams = make_streams(*self._chances(task))

    def _played(self) -> NDArray[np.int64]:
        return self._by_outcome[[FIRST_WINS, DRAW, SECOND_WINS]]

    def _learn(self, last: int, _stop: Callable[[], bool]) -> None:
        end = min(last, self.games + (self._stop_every if self._record is None else self._at_once))
        self._play(end, self._players)
        self.games = end

    def _play(self, last: int, players: Seats) -> None:
        """Play games `self.games` to `last - 1`; count or learn from them, and record them in pieces."""
        if self._record is None:
            self._play_piece(players, self.games, last, games_space(0, 0))
        else:
            self._record_games(last, functools.partial(self._play_piece, players))

    def _play_piece(self, players: Seats, first: int, last: int, space: Games) -> None:
        """Play games `first` to `last - 1`, and write them to `space` unless it is empty."""
        grown, game = self.grown, first
        while True:
            growth, may_grow = None if grown is None else grown.growth, grown is not None and grown.may_grow
            rest = Games(space.start[game - first :], space.move, space.exploring)
            span = Span(self._key, self.games, game, last)
            state = growth, self._game, self._counts, self._by_outcome, may_grow, span, rest
            if self._streams is None:
                game = int(play_games(self._learning, players, self._shortcuts, *state))
            else:
                game = int(play_drawn_games(self._streams, self._learning, (players.even, players.odd), *state))
            if game == last or grown is None:
                return
            self._make_room(grown)  # the game needs a larger table

    def _make_room(self, grown: GrowingTable) -> None:
        """Enlarge the board's tables."""
        grown.enlarge()
        self._hold(grown)
        self._step = self._step._replace(visits=grown.visits)


class GivenGames(PlyByPly):
    """Trainer on given games, on any board; a board without room for a game grows first."""

    _games: Games

    def learn(self, games: Games) -> None:
        """Learn from games, in order."""
        self._games = games
        self.advance(self.games + games.start.size - 1, lambda: False)

    def _learn(self, last: int, _stop: Callable[[], bool]) -> None:
        grown, config, learnt = self.grown, self.config, 0
        growth = None if grown is None else grown.growth
        games = on_graph(self._games, self.graph, config.board, config.symmetry) if grown is None else self._games
        while True:
            step = self._step._replace(game=self.games)
            at = self.tables, self.graph, step, growth, games, self._game, self._by_outcome
            learnt = learn_given(*at, learnt, grown is not None and grown.may_grow)
            if grown is None or learnt == games.start.size - 1:
                break
            self._make_room(grown)
            growth = grown.growth
        self.games = last


class OneByOne(PlyByPly):
    """Trainer like `PlyByPly`, with shortcuts and a faster kernel for self-play at constant step size and epsilon.

    The faster kernel serves boards like 3x3, or all boards if occupied cells are moves.
    """

    _stop_every = 1 << 16

    def __init__(self, task: TrainerOptions) -> None:
        super().__init__(task)
        config, graph = self.config, self.graph
        made = {seat: make_explorations(config.epsilon.start, seat) for seat in self._seats}
        self._shortcuts = Shortcuts(make_cache(graph), *(made[seat] for seat in self._seats))
        like_3x3 = is_like_3x3(graph)
        by_games = config.alpha.by_games or config.epsilon.by_games
        self._plain = (like_3x3 or self.learner.occupied) and not (task.opponent or task.record or by_games)
        self._runner_up = np.zeros(CELLS) if self.learner.repeats else None
        self._scored_by: str | None = None
        if self._plain and self.learner.settles:
            self._game = make_trajectory(CELLS, graph.first_edge.size - 1)
        if self._plain and like_3x3:
            self._shortcuts = self._shortcuts._replace(cache=self._shortcuts.cache._replace(count=None))
            scored_by = self.learner.edge_scores
            if scored_by and window_decides(self.learner.choice, self.worth, getattr(self.tables, scored_by)):
                self._scored_by = scored_by

    def _learn(self, last: int, stop: Callable[[], bool]) -> None:
        if not self._plain:
            super()._learn(last, stop)
            return
        assert self._shortcuts is not None
        play_self(
            self._learning,
            getattr(self.tables, self._scored_by) if self._scored_by else None,
            self._shortcuts.even,
            self._shortcuts.cache,
            self._game,
            self._runner_up,
            self._by_outcome,
            self._key,
            self.games,
            last,
        )
        self.games = last


class Growing(PlyByPly):
    """Batch trainer that plays games; when the board grows, the counts of the current batch grow with it."""

    def _learn(self, last: int, _stop: Callable[[], bool]) -> None:
        assert self.grown is not None
        end = min(last, batch_bounds(self.batches, self.games)[1])
        if self._counts is None:
            self._counts = empty_counts(self.graph)
        seat = self._seats[batch_parity(self.batches, self.games)]
        counts = self._count(end, seat, self.grown)
        if counts is None:
            self.full, self._counts = True, None
            return
        n_open = self.graph.first_edge.size - 1
        dirty, rows = np.zeros(n_open, np.bool_), np.zeros(n_open, np.uint32)
        fold_counted(self._learning, counts, dirty, rows, seat, self.games)
        self.games = end

    def _count(self, last: int, seat: int, _grown: GrowingTable) -> Counts | None:
        """Return the counts of games `self.games` to `last - 1`, the learner in `seat`; None if the table is full."""
        self._play(last, self._players._replace(even=seat, odd=seat))
        return self._counts

    def _make_room(self, grown: GrowingTable) -> None:
        super()._make_room(grown)
        if self._counts is not None:
            self._counts = _moved(self._counts, grown.graph)


class GrowingFlow(Growing):
    """Batch trainer like `Growing`, with drawn counts."""

    _policy = UNLISTED

    def __init__(self, task: TrainerOptions) -> None:
        super().__init__(task)
        self._rows = make_rows()

    def _count(self, last: int, seat: int, grown: GrowingTable) -> Counts | None:
        """Return the counts as in `Growing`; if the table is full, remove all new positions of the batch."""
        counts = self._counts
        assert counts is not None
        counts.visited[0], counts.arrived[0], counts.n_visited[0] = 0, last - self.games, 1
        before, first, ply = grown.used, 0, 0
        while first < counts.n_visited[0]:
            until = int(counts.n_visited[0])
            self._draw(counts, first, until, opponent=seat >= 0 and ply & 1 != seat)
            while (first := arrive(grown.tables, grown.graph, grown.growth, counts, first, until, self.worth)) < until:
                if not grown.may_grow:
                    grown.go_back(before.rows, before.finals)
                    self._hold(grown)
                    return None
                self._make_room(grown)
                assert self._counts is not None
                counts = self._counts
            ply += 1
        n_open = grown.graph.first_edge.size - 1
        finals = grown.graph.outcome[n_open:]
        for outcome in (FIRST_WINS, SECOND_WINS, DRAW):
            self._by_outcome[outcome] += counts.arrived[n_open:][finals == outcome].sum()
        return counts

    def _draw(self, counts: Counts, first: int, last: int, *, opponent: bool) -> None:
        """Draw the moves of games at `counts.visited[first:last]`, all of one ply; opponent: at random."""
        batch = self._key, self.games, counts
        if self._streams is not None:
            draw_mixed_ply(self._streams, self._learning, not opponent, *batch, first, last)
            return
        if self._policy.ordered.size != self.graph.child.size:
            # Space for the moves of rows, which are listed when games arrive there.
            rows = np.zeros(self.graph.first_edge.size - 1, np.uint32)
            self._policy = Policy(np.zeros(self.graph.child.size, np.uint32), rows)
        draw_ply(self._learning, self._policy, opponent, *batch, self._rows, first, last)


def _moved(counts: Counts, graph: Graph) -> Counts:
    """Return the counts of the current batch, copied to the size of a grown graph."""
    moved = empty_counts(graph)
    before, now = counts.visited.size, moved.visited.size
    moved.visited[: counts.n_visited[0]] = counts.visited[: counts.n_visited[0]]
    moved.n_visited[:] = counts.n_visited
    moved.taken[: counts.taken.shape[0]] = counts.taken
    moved.arrived[:before] = counts.arrived[:before]
    moved.arrived[now : now + counts.arrived.size - before] = counts.arrived[before:]
    return moved
