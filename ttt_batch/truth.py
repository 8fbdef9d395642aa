"""The truth about a position: who wins with best play on both sides, and after how many plies."""

from typing import NamedTuple

from ttt_batch.graph import QUICKEST


class Truth(NamedTuple):
    """The result of best play from a position.

    result: 1 the first player wins, 0 draw, -1 the second wins.
    plies: moves to the end when whoever wins takes the shortest way and whoever loses the longest; a draw fills the
    board.
    """

    result: int
    plies: int

    def for_player(self, player: int) -> int:
        """The result as `player` (0 first, 1 second) sees it: 1 win, 0 draw, -1 loss."""
        return -self.result if player else self.result


def truth_of(value: int, empty: int) -> Truth:
    """Read a number of `graph.solve_in_plies`, for a position with `empty` free cells."""
    if value == 0:
        return Truth(0, empty)
    return Truth(1 if value > 0 else -1, QUICKEST - abs(value))
