"""Exact results of positions with best play, and a catalogue of solved boards with sources."""

from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_batch.core.text import RESULTS
from ttt_batch.games.board import FIRST_WINS, SECOND_WINS, Board
from ttt_batch.games.graph import Graph

WON, DRAWN, LOST = 1, 0, -1
"""Values of boards: what best play brings the first player."""


class Known(NamedTuple):
    """Catalogue entry of a board: rows and edges if it is enumerated, the value, and its source."""

    positions: int | None
    moves: int | None
    value: int
    source: str


SOLVED = "solved by this program"
PAIRING = "Berlekamp, Conway, Guy: Winning Ways, ch. 22, by pairing cells"
LEE = "C. Y. Lee, in Berlekamp, Conway, Guy: Winning Ways, ch. 22"
UITERWIJK = "Uiterwijk, van den Herik: The advantage of the initiative, 2000"
LARGER = "Uiterwijk, van den Herik, 2000: won, since it contains 6x5x4"
HSU = "Hsu et al.: On solving the 7,7,5-game and the 8,8,5-game, 2020"
SEARCHED = "solved by a search of this program; as in John Tromp's table"

KNOWN = {
    "3x3": Known(5_478, 16_167, DRAWN, SOLVED),
    "3x3-misere": Known(5_478, 16_167, DRAWN, SOLVED),
    "3x4x3": Known(111_973, 391_062, WON, SOLVED),
    "3x4x4": Known(142_231, 588_732, DRAWN, SOLVED),
    "3x5x3": Known(573_900, 2_212_810, WON, SOLVED),
    "3x5x4": Known(857_514, 4_353_759, DRAWN, SOLVED),
    "4x4x3": Known(756_387, 2_940_818, WON, SOLVED),
    "4x4x3-exact": Known(801_875, 3_173_855, WON, SOLVED),
    "4x4x4": Known(1_217_977, 6_460_008, DRAWN, SOLVED),
    "4x4x4-misere": Known(1_217_977, 6_460_008, DRAWN, SOLVED),
    "4x5x4": Known(None, None, DRAWN, UITERWIJK),
    "5x5x4": Known(None, None, DRAWN, LEE),
    "5x5x5": Known(None, None, DRAWN, PAIRING),
    "6x5x4": Known(None, None, WON, UITERWIJK),
    "6x6x4": Known(None, None, WON, LARGER),
    "7x7x5": Known(None, None, DRAWN, HSU),
    "8x8x5": Known(None, None, DRAWN, HSU),
    "4x4x4-gravity": Known(161_029, 304_574, DRAWN, SOLVED),
    "5x5x4-gravity": Known(None, None, DRAWN, SEARCHED),
    "6x6x4-gravity": Known(None, None, LOST, SEARCHED),
    "6x7x4-gravity": Known(None, None, WON, SEARCHED),
}
"""The catalogue, by the name of the board.  What this program cannot count has its value from others:

- "Winning Ways for your Mathematical Plays", 2nd edition, volume 3, 2003.  On 5x5x5 the second player pairs the cells
  so that every line holds a pair.
- Information Sciences 122 (2000), pp. 43-58; the values stand also in van den Herik, Uiterwijk and van Rijswijck,
  "Games solved: now and in the future", Artificial Intelligence 134 (2002), pp. 277-311.
- Wei-Yuan Hsu, Chu-Ling Ko, Jr-Chang Chen, Ting-Han Wei, Chu-Hsuan Hsueh and I-Chen Wu, Theoretical Computer
  Science 815 (2020), pp. 79-94.
- Boards with gravity are solved by `gravity_solver`.  The values are those of John Tromp's table of boards,
  https://tromp.github.io/c4/c4.html.  James D. Allen and Victor Allis solved 6x7 first, in 1988.
"""

CERTIFIED = {"4x5x4", "5x5x4", "5x5x5", "6x5x4", "6x6x4"}
"""Boards whose value networks of this program prove, too, without the literature: `data/proofs.md`."""


def known_board(board: Board) -> Known | None:
    """Return the catalogue entry of a board or, without gravity, of its transpose; None if unknown."""
    turned = board if board.gravity else replace(board, rows=board.cols, cols=board.rows)
    return KNOWN.get(board.name, KNOWN.get(turned.name))


def is_certified(board: Board) -> bool:
    """Return whether networks of this program prove the value, too."""
    return not {board.name, replace(board, rows=board.cols, cols=board.rows).name}.isdisjoint(CERTIFIED)


QUICKEST = 64
"""Value of `solve_in_plies` for a game that is won already; each ply before that takes 1 away (at most 36)."""

WORDS = dict(zip((1, 0, -1), RESULTS, strict=True))
"""Words for a result as one player sees it."""


class Prospect(NamedTuple):
    """A player's result with best play on both sides: 1 win, 0 draw, -1 loss; plies: as in `SolvedResult`."""

    result: int
    plies: int | None

    @property
    def word(self) -> str:
        """Return `win`, `draw` or `loss`."""
        return WORDS[self.result]

    @property
    def short(self) -> str:
        """Return `W3` for a win in 3 plies, `W` if their number is unknown, `L2` for a loss in 2, `D` for a draw."""
        return "D" if self.result == 0 else f"{self.word[0].upper()}{self.plies or ''}"

    def __str__(self) -> str:
        return self.word if self.result == 0 or self.plies is None else f"{self.word} in {self.plies}"


class SolvedResult(NamedTuple):
    """The result of best play from a position.

    result: 1 the first player wins, 0 draw, -1 the second wins.
    plies: moves to the end if the winner takes the shortest way and the loser the longest; a draw fills the board.
    None if a search finds only who wins.
    """

    result: int
    plies: int | None

    @property
    def a_ply_earlier(self) -> "SolvedResult":
        """Return the result counted from one ply earlier: the value of the move to this position."""
        return SolvedResult(self.result, None if self.plies is None else self.plies + 1)

    def seen_by(self, player: int) -> Prospect:
        """Return the result for `player` (0 first, 1 second)."""
        return Prospect(-self.result if player else self.result, self.plies)

    def __str__(self) -> str:
        """Return the result in words: `X wins in 3 plies`."""
        winner = {1: "X wins", 0: "a draw", -1: "O wins"}[self.result]
        if self.plies is None:
            return winner
        return f"{winner} in {self.plies} {'ply' if self.plies == 1 else 'plies'}"


def in_plies(results: Iterable[SolvedResult | Prospect]) -> bool:
    """Return True if the plies of all results are known."""
    return all(result.plies is not None for result in results)


def best_of(results: Iterable[SolvedResult], player: int) -> SolvedResult:
    """Return the best of some results for `player` (0 first, 1 second): wins soon, else draws, else loses late."""

    def worth(result: SolvedResult) -> int:
        plies = QUICKEST if result.plies is None else result.plies
        return result.seen_by(player).result * (QUICKEST + 1 - plies)

    return max(results, key=worth)


def solved_result(value: int, empty: int) -> SolvedResult:
    """Read a number of `solve_in_plies`, for a position with `empty` free cells."""
    if value == 0:
        return SolvedResult(0, empty)
    return SolvedResult(1 if value > 0 else -1, QUICKEST - abs(value))


def ends_alone(outcome: NDArray[np.int8], win: int = QUICKEST) -> NDArray[np.int8]:
    """Return int8[S]: `win` or -`win` for games won by the first or second player, otherwise 0."""
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
    """Return results of best play from every row: `win` or -`win` at the end, nearer to 0 by `slower` a ply."""
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
