"""Sample games of the current table, shown below the progress of a training: `train --watch`."""

import random

from ttt_batch.game.board import MARKS, UNFINISHED, Game
from ttt_batch.runs.run import Run
from ttt_batch.training.session import Progress

WIDTH = 60
"""Most columns for the boards."""

MOST_GAMES = 5
BETWEEN = "   "


class SampleGames:
    """Animation of greedy self-play games of the current table, a few new ones each second; ties are random.

    It does not affect the training's games or random numbers.
    """

    def __init__(self) -> None:
        self._rng = random.Random(0)
        self._games: list[Game] = []
        self._began = -1.0

    def lines(self, now: Progress) -> list[str]:
        """Return the current boards side by side as lines; empty if the training reports no run."""
        if now.run is None:
            return []
        if not self._games or now.seconds >= self._began + 1.0:
            run, self._began = now.run(), now.seconds
            count = max(1, min(MOST_GAMES, WIDTH // (2 * run.board.cols + len(BETWEEN))))
            self._games = [self._play(run) for _ in range(count)]
        longest = max(len(game.moves) for game in self._games)
        shown = int((longest + 2) * (now.seconds - self._began))  # the final position stays for a moment
        return boards_side_by_side([Game(game.board, game.moves[:shown]) for game in self._games])

    def _play(self, run: Run) -> Game:
        game = Game(run.board)
        while game.outcome == UNFINISHED:
            game = game.after(self._rng.choice(run.candidates(game.position)))
        return game


def boards_side_by_side(games: list[Game]) -> list[str]:
    """Return boards of equal size, drawn side by side, as lines."""
    board = games[0].board
    positions = [game.position for game in games]
    rows = (range(row * board.cols, (row + 1) * board.cols) for row in range(board.rows))
    return [
        BETWEEN.join(" ".join(MARKS[position[cell]] for cell in cells) for position in positions).rstrip()
        for cells in rows
    ]
