"""Games one by one on larger boards, enumerated or growing as play reaches positions."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ttt_batch.game.board import DRAW, FIRST_WINS, SECOND_WINS
from ttt_batch.game.transcripts import Games
from ttt_batch.learners.base import make_trajectory
from ttt_batch.runs.growing_table import GrowingTable
from ttt_batch.simulation.counts import Counts
from ttt_batch.simulation.policy import UNLISTED
from ttt_batch.simulation.replay import trimmed
from ttt_batch.training.kernels.large_board import Seats, Span, play_wide
from ttt_batch.training.trainers.base import Task, Trainer

PIECE = 1 << 12
"""Games between two looks at `stop`."""


class PlyByPly(Trainer):
    """Learns from each game before the next; where the board lacks room for one, it grows before that game begins."""

    _counts: Counts | None = None
    """Where a batch is counted; games are learnt from one by one without."""

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        # Self-play with a signature of `play_wide` of its own is 0 to 3 % faster, and a second more to compile.
        self._players = Seats(task.rival or UNLISTED, *self._seats)
        self._game = make_trajectory(self.config.board.cells)
        self._by_outcome = np.zeros(4, np.int64)

    def _played(self) -> NDArray[np.int64]:
        return self._by_outcome[[FIRST_WINS, DRAW, SECOND_WINS]]

    def _learn(self, last: int, _stop: Callable[[], bool]) -> None:
        end = min(last, self.games + (PIECE if self._record is None else self._at_once))
        self._play(end, self._players)
        self.games = end

    def _play(self, last: int, players: Seats) -> None:
        """Games `self.games` to `last - 1`, recorded in pieces; counted, or learnt from where there are no counts."""
        if self._record is None:
            self._play_piece(self.games, last, players, wide_space(0, self.config.board.cells))
            return
        for start in range(self.games, last, self._at_once):
            end = min(last, start + self._at_once)
            space = wide_space(end - start, self.config.board.cells)
            self._play_piece(start, end, players, space)
            self._record(trimmed(space))

    def _play_piece(self, first: int, last: int, players: Seats, space: Games) -> None:
        """Games `first` to `last - 1`, written to `space` unless it is empty."""
        grown, game = self.grown, first
        while True:
            game = play_wide(
                self._learning,
                players,
                None if grown is None else grown.growth,
                self._game,
                self._counts,
                self._by_outcome,
                grown is not None and grown.may_grow,
                Span(self._key, self.games, game, last),
                Games(space.start[game - first :], space.edge, space.exploring),
            )
            if game == last or grown is None:
                return
            self._make_room(grown)

    def _make_room(self, grown: GrowingTable) -> None:
        """Let the board grow."""
        grown.enlarge()
        self._step = self._step._replace(visits=grown.visits)


def wide_space(games: int, cells: int) -> Games:
    """Space for so many games on a board of so many cells."""
    return Games(np.zeros(games + 1, np.int64), np.zeros(games * cells, np.uint32), np.zeros(games * cells, np.bool_))
