"""What best play brings on boards that somebody has solved: a catalogue, with its sources."""

from dataclasses import replace
from typing import NamedTuple

from ttt_batch.game.board import Board

WON, DRAWN, LOST = 1, 0, -1
"""Values of boards: what best play brings the first player."""


class Known(NamedTuple):
    """What the catalogue has of a board: rows and edges if it is enumerated, the value, and who found the value."""

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
}
"""The catalogue, by the name of the board.  What this program cannot count has its value from others:

- "Winning Ways for your Mathematical Plays", 2nd edition, volume 3, 2003.  On 5x5x5 the second player pairs the cells
  so that every line holds a pair.
- Information Sciences 122 (2000), pp. 43-58; the values stand also in van den Herik, Uiterwijk and van Rijswijck,
  "Games solved: now and in the future", Artificial Intelligence 134 (2002), pp. 277-311.
- Wei-Yuan Hsu, Chu-Ling Ko, Jr-Chang Chen, Ting-Han Wei, Chu-Hsuan Hsueh and I-Chen Wu, Theoretical Computer
  Science 815 (2020), pp. 79-94.
"""


CERTIFIED = {"4x5x4", "5x5x4", "5x5x5", "6x5x4", "6x6x4"}
"""Boards whose value networks of this program prove, too, without the literature: `data/proofs.md`."""


def known_board(board: Board) -> Known | None:
    """What the catalogue has of a board, turned if need be; None if nothing."""
    return KNOWN.get(board.name, KNOWN.get(replace(board, rows=board.cols, cols=board.rows).name))


def known_value(board: Board) -> int | None:
    """WON, DRAWN or LOST for the first player; None if unknown."""
    known = known_board(board)
    return None if known is None else known.value


def is_certified(board: Board) -> bool:
    """Whether networks of this program prove the value, too."""
    return not {board.name, replace(board, rows=board.cols, cols=board.rows).name}.isdisjoint(CERTIFIED)
