"""How a board's positions are kept: enumerated, enumerated up to symmetry, or added as play reaches them.

The board alone decides, before any work: counting marks gives the greatest possible number of positions.
"""

import math
from typing import NamedTuple

from ttt_batch.base.choices import SWITCH_WORDS, choose
from ttt_batch.base.errors import BoardError
from ttt_batch.game.board import MAX_TABLE_CELLS, Board

PLAIN = 1_000_000
"""Positions up to which a board is enumerated without symmetry by default."""

ENUMERATED = 12_000_000
"""Rows up to which a board is enumerated at all: 4x4 has 10,165,779 positions, of which 4x4x3 reaches 6,036,001."""

WORDS = ("on", "off", "auto")


class Space(NamedTuple):
    """grown: rows are added as play reaches them.  symmetry: a row stands for all images of a position."""

    grown: bool
    symmetry: bool


def most_positions(board: Board) -> int:
    """Positions with as many X as O, or one more: no fewer than play can reach."""
    return sum(positions_of_ply(board, ply) for ply in range(board.cells + 1))


def choose_space(board: Board, symmetry: bool | str, *, prefers: bool) -> Space:
    """How the positions of `board` are kept.

    symmetry: `on`, `off`, or `auto`: off on a small board, on if that makes the board enumerable, and else as the
    learner `prefers`.  Raises UsageError, and BoardError for a board of more than MAX_TABLE_CELLS cells.
    """
    check_table_cells(board)
    if not isinstance(symmetry, bool):
        symmetry = choose("symmetry", symmetry, WORDS, words=SWITCH_WORDS)
    positions, images = most_positions(board), len(board.symmetries)
    if symmetry == "auto":
        if positions <= PLAIN:
            return Space(False, False)
        if positions <= ENUMERATED * images:
            return Space(False, images > 1)
        return Space(True, prefers and images > 1)
    wanted = (symmetry is True or symmetry == "on") and images > 1
    return Space(positions > ENUMERATED * (images if wanted else 1), wanted)


def space_of(board: Board, symmetry: bool) -> Space:
    """The space of a configuration, whose symmetry is settled."""
    return choose_space(board, symmetry, prefers=symmetry)


def check_table_cells(board: Board, what: str = "tables by position") -> None:
    """Raise BoardError, in one line with the remedy, if the board has too many cells for `what`."""
    if board.cells > MAX_TABLE_CELLS:
        remedy = "choose a smaller board, such as 6x6x5"
        raise BoardError(f"board {board.name} has {board.cells} cells; {what} take at most {MAX_TABLE_CELLS}: {remedy}")


def check_enumerable(board: Board, grown: bool, what: str) -> None:
    """Raise BoardError, which says that `what` needs an enumerated board, if this one is `grown`."""
    if grown:
        raise too_large(what, board, "choose a smaller one, such as 4x4x4")


def too_large(what: str, board: Board, remedy: str) -> BoardError:
    """The error if `what` needs an enumerated board and this is none."""
    return BoardError(
        f"{what} needs an enumerated board; {board.name} is too large to enumerate, with up to "
        f"{most_positions(board):,} positions: {remedy}"
    )


def positions_of_ply(board: Board, ply: int) -> int:
    """Positions with `ply` marks, whether or not a game reaches them."""
    return _places_of(board, ply) * math.comb(ply, ply // 2)


def _places_of(board: Board, ply: int) -> int:
    """How many sets of `ply` cells there are; with gravity only those that have no free cell below a marked one."""
    if not board.gravity:
        return math.comb(board.cells, ply)
    ways = [1] + ply * [0]
    for _ in range(board.cols):
        ways = [sum(ways[max(0, marks - board.rows) : marks + 1]) for marks in range(ply + 1)]
    return ways[ply]


def check_gravity(board: Board, what: str) -> None:
    """Raise BoardError, in one line, if the board has gravity, which `what` does not take."""
    if board.gravity:
        raise BoardError(f"{what} does not take gravity yet, and the board is {board.name}; choose another board")
