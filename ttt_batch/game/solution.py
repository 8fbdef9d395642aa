"""The truth about a position: who wins with best play on both sides, and after how many plies; words for results."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_batch.base.choices import RESULTS
from ttt_batch.game.board import FIRST_WINS, SECOND_WINS
from ttt_batch.game.graph import Graph

QUICKEST = 64
"""What `solve_in_plies` gives a game that is won already; each ply before that takes one away (at most 36)."""

WORDS = dict(zip((1, 0, -1), RESULTS, strict=True))
"""Words for a result as one player sees it."""


class Prospect(NamedTuple):
    """A player's result with best play on both sides: 1 win, 0 draw, -1 loss; plies: moves to the end of the game."""

    result: int
    plies: int

    @property
    def word(self) -> str:
        """`win`, `draw` or `loss`."""
        return WORDS[self.result]

    @property
    def short(self) -> str:
        """`W3` wins in 3 plies, `L2` loses in 2, `D` is a draw."""
        return "D" if self.result == 0 else f"{self.word[0].upper()}{self.plies}"

    def __str__(self) -> str:
        return self.word if self.result == 0 else f"{self.word} in {self.plies}"


class SolvedResult(NamedTuple):
    """The result of best play from a position.

    result: 1 the first player wins, 0 draw, -1 the second wins.
    plies: moves to the end if the winner takes the shortest way and the loser the longest; a draw fills the board.
    """

    result: int
    plies: int

    @property
    def a_ply_earlier(self) -> "SolvedResult":
        """The same counted from the position before: what the move that leads here is worth."""
        return SolvedResult(self.result, self.plies + 1)

    def seen_by(self, player: int) -> Prospect:
        """The truth as `player` (0 first, 1 second) sees it."""
        return Prospect(-self.result if player else self.result, self.plies)

    def __str__(self) -> str:
        """In words: `X wins in 3 plies`."""
        winner = {1: "X wins", 0: "a draw", -1: "O wins"}[self.result]
        return f"{winner} in {self.plies} {'ply' if self.plies == 1 else 'plies'}"


def solved_result(value: int, empty: int) -> SolvedResult:
    """Read a number of `solve_in_plies`, for a position with `empty` free cells."""
    if value == 0:
        return SolvedResult(0, empty)
    return SolvedResult(1 if value > 0 else -1, QUICKEST - abs(value))


def ends_alone(outcome: NDArray[np.int8], win: int = QUICKEST) -> NDArray[np.int8]:
    """int8[S]: `win` or -`win` for games won by the first or second player, else 0, as if only ends were known."""
    value = np.zeros(outcome.size, np.int8)
    value[outcome == FIRST_WINS], value[outcome == SECOND_WINS] = win, -win
    return value


def solve(graph: Graph) -> NDArray[np.int8]:
    """Solve the game: int8[S], 1 if the first player wins with best play, 0 for a draw, -1 if the second wins."""
    return _minimax(graph, 1, slower=0)


def solve_in_plies(graph: Graph) -> NDArray[np.int8]:
    """Solve the game with distances: int8[S], QUICKEST - n if the first player wins after n more plies, n - QUICKEST if
    the second does, 0 for a draw.

    The winner takes the shortest way and the loser the longest.
    """
    return _minimax(graph, QUICKEST, slower=1)


def _minimax(graph: Graph, win: int, slower: int) -> NDArray[np.int8]:
    """Best play from every row: `win` or -`win` for a game won by the first or second player, nearer to 0 by `slower`
    a ply."""
    value = ends_alone(graph.outcome, win)
    open_ply = graph.ply[: graph.first_edge.size - 1]
    for ply in range(int(open_ply[-1]), -1, -1):
        rows = slice(*np.searchsorted(open_ply, [ply, ply + 1]))
        edges = slice(graph.first_edge[rows.start], graph.first_edge[rows.stop])
        best = np.minimum if ply % 2 else np.maximum
        after = value[graph.child[edges]]
        if slower:
            after -= np.sign(after) * slower
        value[rows] = best.reduceat(after, graph.first_edge[rows] - graph.first_edge[rows.start])
    return value
