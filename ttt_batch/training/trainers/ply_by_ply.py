"""Game-by-game trainers for any board, enumerated or growing, which play or receive the games."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ttt_batch.game.board import DRAW, FIRST_WINS, SECOND_WINS
from ttt_batch.game.transcripts import Games, games_space, on_graph
from ttt_batch.learners.base import make_trajectory
from ttt_batch.runs.growing_table import GrowingTable
from ttt_batch.simulation.counts import Counts
from ttt_batch.simulation.policy import UNLISTED, Policy
from ttt_batch.simulation.replay import trimmed
from ttt_batch.training.kernels.games import Seats, Shortcuts, Span, play_games
from ttt_batch.training.kernels.given import learn_given
from ttt_batch.training.trainers.base import Trainer, TrainerOptions


class PlyByPly(Trainer):
    """Trainer that learns from each game before the next; a board without room for a game grows first."""

    _counts: Counts | None = None
    """Counts of a batch; None to learn from each game."""

    _shortcuts: Shortcuts | None = None
    _stop_every = 1 << 12
    """Games between two calls of `stop`."""

    def __init__(self, task: TrainerOptions) -> None:
        super().__init__(task)
        # A signature of `play_games` for self-play alone is 0 to 3 % faster, but adds a second of compilation.
        rival = task.rival if isinstance(task.rival, Policy) else UNLISTED
        self._players = Seats(rival, *self._seats)
        self._game = make_trajectory(self.config.board.cells)
        self._by_outcome = np.zeros(4, np.int64)

    def _played(self) -> NDArray[np.int64]:
        return self._by_outcome[[FIRST_WINS, DRAW, SECOND_WINS]]

    def _learn(self, last: int, _stop: Callable[[], bool]) -> None:
        end = min(last, self.games + (self._stop_every if self._record is None else self._at_once))
        self._play(end, self._players)
        self.games = end

    def _play(self, last: int, players: Seats) -> None:
        """Play games `self.games` to `last - 1`; count or learn from them, and record them in pieces."""
        if self._record is None:
            self._play_piece(self.games, last, players, games_space(0, 0))
            return
        for start in range(self.games, last, self._at_once):
            end = min(last, start + self._at_once)
            space = games_space(end - start, self.config.board.cells)
            self._play_piece(start, end, players, space)
            self._record(trimmed(space))

    def _play_piece(self, first: int, last: int, players: Seats, space: Games) -> None:
        """Play games `first` to `last - 1`, and write them to `space` unless it is empty."""
        grown, game = self.grown, first
        while True:
            rest = Games(space.start[game - first :], space.move, space.exploring)
            game = self._kernel(players, Span(self._key, self.games, game, last), rest)
            if game == last or grown is None:
                return
            self._make_room(grown)

    def _kernel(self, players: Seats, span: Span, space: Games) -> int:
        """Play the games of `span`, and write them to `space` unless it is empty; return the first game not played.

        That is the end of `span`, or the first game for which the board lacks room.
        """
        grown = self.grown
        played: int = play_games(
            self._learning,
            players,
            self._shortcuts,
            None if grown is None else grown.growth,
            self._game,
            self._counts,
            self._by_outcome,
            grown is not None and grown.may_grow,
            span,
            space,
        )
        return played

    def _make_room(self, grown: GrowingTable) -> None:
        """Enlarge the board's tables."""
        grown.enlarge()
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
