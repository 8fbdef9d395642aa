"""Tables of arrays by position code or by state, and the interface of a file format.

Axes: `C` position codes (3**cells), `P` players (first, second), `S` states, `cells` cells of the board.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ttt_batch.base.choices import SEATS, fold_case
from ttt_batch.base.errors import NameTakenError, TttBatchError, flag, quoted
from ttt_batch.game.board import EMPTY, FIRST, MARKS, SECOND, UNFINISHED, Board
from ttt_batch.game.state_space import positions_of_ply

MAX_CELLS = 12
"""Most cells of a board whose tables are written by code: 3**12 = 531,441 codes, 51 MB of action values."""

TO_MOVE = (None, *SEATS)
OUTCOMES = ("unfinished", "first wins", "second wins", "draw")
"""Names of `to_move` and `outcome` in files that hold text."""

MORE = {"a": True, "b": True, "value": False}
"""Arrays that a list may have besides `q`: True for a number per state and cell, False for one per state."""

VALUES = tuple(f"value_{player}" for player in SEATS)
"""Columns with the players' values."""

UNSAID = -1
"""Outcome of a state in a file without outcomes."""


class FormatError(TttBatchError):
    """Error of reading or writing a table; one line: file, problem, value, limit, remedy."""


class TakenFormatError(FormatError, NameTakenError):
    """Error for the name of a table or picture file that is already in use."""


POSITION_VALUES, ACTION_VALUES, STATES = "position values", "action values", "a list of states"
"""Kinds of tables."""


@dataclass(frozen=True)
class Table:
    """Numbers by position code, or a list of the positions that occur, for use by other programs.

    A table has exactly one of these, with nan where it has no entry (N is C, or S in a list):
    value: float64[P, N], the value of a position to each player.  q: float64[N, cells], the value of marking a cell.
    Only a list has code: int64[S]; outcome: int8[S], an outcome of `board` or UNSAID; and
    best: bool[S, cells], the cells that a greedy agent may pick.
    more: further arrays, by the names in MORE, in a list of a learner with several tables.  a, b: float64[S, cells],
    two tables whose mean is q.  value: float64[S], the value of a state to its mover; q then holds preferences.
    """

    value: Any = None
    q: Any = None
    code: Any = None
    outcome: Any = None
    best: Any = None
    more: Mapping[str, Any] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        """Return POSITION_VALUES, ACTION_VALUES or STATES."""
        return STATES if self.code is not None else POSITION_VALUES if self.q is None else ACTION_VALUES


@dataclass(frozen=True)
class Format:
    """File format of a table.

    name: its name on the command line.  meaning: a one-line description.  suffix: the usual suffix of its files.
    kinds: the kinds it holds, of POSITION_VALUES, ACTION_VALUES and STATES.
    per_player: a file holds the values of one player, so a table takes one or two files; `encode` and `decode` then
        work on the values of one player, float64[1, C].
    encode: returns a file's bytes.  decode: returns the table in a file's bytes, not yet checked by `checked`.
    Both raise FormatError without the file's name, which `write` and `read` add in front.
    max_bytes: size of the largest file that is read.
    """

    name: str
    meaning: str
    suffix: str
    kinds: tuple[str, ...]
    encode: Callable[[Table, Board], bytes]
    decode: Callable[[bytes, Board], Table]
    max_bytes: Callable[[Board], int]
    per_player: bool = False

    @property
    def files(self) -> int:
        """Return the largest number of files for one table."""
        return 2 if self.per_player else 1


def marks_of_states(codes: NDArray[np.int64], cells: int) -> NDArray[np.int8]:
    """Return the marks, int8[N, cells], of position codes, int64[N]."""
    return (codes[:, None] // 3 ** np.arange(cells, dtype=np.int64) % 3).astype(np.int8)


def texts_of(codes: NDArray[np.int64], cells: int) -> list[str]:
    """Return position codes, int64[N], as texts with a character X, O or '.' for each cell."""
    characters = np.frombuffer(MARKS.encode(), dtype=np.uint8)[marks_of_states(codes, cells)]
    text = characters.tobytes().decode()
    return [text[i : i + cells] for i in range(0, len(text), cells)]


def state_columns(table: Table, cells: int) -> dict[str, Any]:
    """Return the columns of a list of states: `code`, `board` (list of text), `to_move` (int8, a mark, 0 if the game
    is over), `outcome`, and either `value_first` and `value_second`, or `q` and the table's arrays of `MORE`.
    """
    placed = np.count_nonzero(marks_of_states(table.code, cells), axis=1)
    to_move = np.where(table.outcome == UNFINISHED, np.where(placed % 2, SECOND, FIRST), EMPTY).astype(np.int8)
    numbers = {"q": table.q, **table.more} if table.value is None else dict(zip(VALUES, table.value, strict=True))
    texts = texts_of(table.code, cells)
    return {"code": table.code, "board": texts, "to_move": to_move, "outcome": table.outcome, **numbers}


def most_states(board: Board) -> int:
    """Return the largest number of states in a list: all positions where X has as many marks as O, or one more."""
    return sum(positions_of_ply(board, ply) for ply in range(board.cells + 1))


def check_board(name: str, board: Board) -> None:
    """Raise FormatError if `name`, the board in a file, is not `board`."""
    if fold_case(name) != fold_case(board.name):
        raise FormatError(
            f"the file is of board {quoted(name)}, not {board.name}; give {flag('board')} as the file has it"
        )


def other_board_hint(found: int, size: Callable[[int], int]) -> str:
    """Return a hint at the board with a table of size `found`, or "".  size: size of a table by number of cells."""
    cells = next((cells for cells in range(1, MAX_CELLS + 1) if size(cells) == found), None)
    return f", as for a board of {cells} cells" if cells else ""


def unreadable_error(what: str) -> FormatError:
    """Return the error for a file that its library cannot read; it replaces the library's unhelpful message."""
    return FormatError(f"{what}, or is damaged; export it again")
