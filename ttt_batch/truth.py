"""The truth about a position, who wins with best play on both sides and after how many plies; words for results."""

from typing import NamedTuple

QUICKEST = 64
"""What `graph.solve_in_plies` gives a game that is won already; each ply before that takes one away (at most 36)."""

WORDS = {1: "win", 0: "draw", -1: "loss"}
"""Words for a result as one player sees it."""

RESULTS = tuple(WORDS.values())
"""The same in the order in which shares of games are given."""


class Prospect(NamedTuple):
    """What a player has to expect with best play on both sides.

    result: 1 win, 0 draw, -1 loss.  plies: moves from here to the end of the game.
    """

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


class Truth(NamedTuple):
    """The result of best play from a position.

    result: 1 the first player wins, 0 draw, -1 the second wins.
    plies: moves to the end when whoever wins takes the shortest way and whoever loses the longest; a draw fills the
    board.
    """

    result: int
    plies: int

    @property
    def a_ply_earlier(self) -> "Truth":
        """The same counted from the position before: what the move that leads here is worth."""
        return Truth(self.result, self.plies + 1)

    def for_player(self, player: int) -> int:
        """The result as `player` (0 first, 1 second) sees it: 1 win, 0 draw, -1 loss."""
        return -self.result if player else self.result

    def seen_by(self, player: int) -> Prospect:
        """The truth as `player` (0 first, 1 second) sees it."""
        return Prospect(self.for_player(player), self.plies)

    def __str__(self) -> str:
        """In words: `X wins in 3 plies`."""
        winner = {1: "X wins", 0: "a draw", -1: "O wins"}[self.result]
        return f"{winner} in {self.plies} {'ply' if self.plies == 1 else 'plies'}"


def truth_of(value: int, empty: int) -> Truth:
    """Read a number of `graph.solve_in_plies`, for a position with `empty` free cells."""
    if value == 0:
        return Truth(0, empty)
    return Truth(1 if value > 0 else -1, QUICKEST - abs(value))
