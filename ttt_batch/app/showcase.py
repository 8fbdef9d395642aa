"""Games of the table that is being learnt, shown beside the progress of a training: `train --watch`."""

import random

from ttt_batch.game.board import MARKS, UNFINISHED, Game
from ttt_batch.runs.run import Run
from ttt_batch.training.session import Progress

WIDTH = 60
"""Columns that the boards may take."""

MOST_GAMES = 5
BETWEEN = "   "


class Showcase:
    """A few greedy games of the current table against itself each second, move by move; ties are drawn.

    No game of the training, and none of its random numbers, is touched.
    """

    def __init__(self) -> None:
        self._rng = random.Random(0)
        self._games: list[Game] = []
        self._began = -1.0

    def lines(self, now: Progress) -> list[str]:
        """The boards side by side, as they stand at this moment; none where a training knows no table yet."""
        if now.run is None:
            return []
        if not self._games or now.seconds >= self._began + 1.0:
            run, self._began = now.run(), now.seconds
            count = max(1, min(MOST_GAMES, WIDTH // (2 * run.board.cols + len(BETWEEN))))
            self._games = [self._play(run) for _ in range(count)]
        longest = max(len(game.moves) for game in self._games)
        shown = int((longest + 2) * (now.seconds - self._began))  # the end stays for a moment
        return side_by_side([Game(game.board, game.moves[:shown]) for game in self._games])

    def _play(self, run: Run) -> Game:
        game = Game(run.board)
        while game.outcome == UNFINISHED:
            game = game.after(self._rng.choice(run.candidates(game.position)))
        return game


def side_by_side(games: list[Game]) -> list[str]:
    """Boards of equal size in lines."""
    board = games[0].board
    positions = [game.position for game in games]
    rows = (range(row * board.cols, (row + 1) * board.cols) for row in range(board.rows))
    return [
        BETWEEN.join(" ".join(MARKS[position[cell]] for cell in cells) for position in positions).rstrip()
        for cells in rows
    ]
