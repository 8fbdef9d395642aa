"""What travels between runs and files: arrays by position code or by state, and what a format is.

Axes: `C` position codes, 3**cells of them; `P` players (first, second); `S` states; `cells` the board's cells.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ttt_batch.base.choices import SEATS, fold
from ttt_batch.base.errors import NameTakenError, TttBatchError, option, quoted
from ttt_batch.game.board import EMPTY, FIRST, MARKS, SECOND, UNFINISHED, Board
from ttt_batch.game.state_space import positions_of_ply

MAX_CELLS = 12
"""Cells of the largest board whose tables are written by code: 3**12 = 531,441 codes, 51 MB of action values."""

TO_MOVE = (None, *SEATS)
OUTCOMES = ("unfinished", "first wins", "second wins", "draw")
"""Names of `to_move` and `outcome` in files that hold text."""

MORE = {"a": True, "b": True, "value": False}
"""Arrays that a list may have beside `q`, and whether they have a number for each cell, or one for each state."""

VALUES = tuple(f"value_{player}" for player in SEATS)
"""Columns with the players' values."""

UNSAID = -1
"""The outcome of a state whose file does not give it."""


class FormatError(TttBatchError):
    """A table cannot be read or written; one line: file, what is wrong, value, limit, remedy."""


class TakenFormatError(FormatError, NameTakenError):
    """The name of a table's file, or of a picture, is in use."""


POSITION_VALUES, ACTION_VALUES, STATES = "position values", "action values", "a list of states"
"""The kinds of tables."""


@dataclass(frozen=True)
class Table:
    """Numbers by position code, or a list of the positions that occur, for programs that go on from there.

    Exactly one of value: float64[P, N], what a position is worth to each player,
    and q: float64[N, cells], what marking a cell is worth; nan if the table has no entry.  N is C, or in a list S.
    Only a list has code: int64[S]; outcome: int8[S], see `board`, or UNSAID; and
    best: bool[S, cells], the cells that a greedy agent may pick.
    more: what a list of a learner with several tables has beside q, by the names of MORE.  a, b: float64[S, cells], two
    tables of which q is the mean.  value: float64[S], what a state is worth to its mover; q then is preferences.
    """

    value: Any = None
    q: Any = None
    code: Any = None
    outcome: Any = None
    best: Any = None
    more: Mapping[str, Any] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        """POSITION_VALUES, ACTION_VALUES or STATES."""
        return STATES if self.code is not None else POSITION_VALUES if self.q is None else ACTION_VALUES


@dataclass(frozen=True)
class Format:
    """One file format.

    name: as the command line writes it.  meaning: what it is, in a line.  suffix: usual end of a file's name.
    kinds: which of POSITION_VALUES, ACTION_VALUES and STATES it holds.
    per_player: a file holds one player's values, so that a table takes one or two files; `encode` and `decode`
        then see the values of one player, float64[1, C].
    encode: the file's bytes.  decode: the table in a file's bytes, which `checked` has not seen yet.
    Both raise FormatError without the file's name, which `write` and `read` put in front.
    max_bytes: size of the largest file that is read at all.
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
        """How many files a table takes at most."""
        return 2 if self.per_player else 1


def marks_of(codes: NDArray[np.int64], cells: int) -> NDArray[np.int8]:
    """int8[N, cells]: the marks of position codes, int64[N]."""
    return (codes[:, None] // 3 ** np.arange(cells, dtype=np.int64) % 3).astype(np.int8)


def texts_of(codes: NDArray[np.int64], cells: int) -> list[str]:
    """Position codes, int64[N], as text: a character X, O or '.' for each cell."""
    characters = np.frombuffer(MARKS.encode(), dtype=np.uint8)[marks_of(codes, cells)]
    text = characters.tobytes().decode()
    return [text[i : i + cells] for i in range(0, len(text), cells)]


def columns_of(table: Table, cells: int) -> dict[str, Any]:
    """A list as columns of S entries: `code`, `board` (list of text), `to_move` (int8, a mark, 0 if the game is
    over), `outcome`, and either `value_first` and `value_second` or `q` and what is beside it, see `MORE`.
    """
    placed = np.count_nonzero(marks_of(table.code, cells), axis=1)
    to_move = np.where(table.outcome == UNFINISHED, np.where(placed % 2, SECOND, FIRST), EMPTY).astype(np.int8)
    numbers = {"q": table.q, **table.more} if table.value is None else dict(zip(VALUES, table.value, strict=True))
    texts = texts_of(table.code, cells)
    return {"code": table.code, "board": texts, "to_move": to_move, "outcome": table.outcome, **numbers}


def most_states(board: Board) -> int:
    """States that a list has at most: positions with as many marks of one player as of the other, or one more."""
    return sum(positions_of_ply(board, ply) for ply in range(board.cells + 1))


def check_board(name: str, board: Board) -> None:
    """Raise FormatError if a file names another board."""
    if fold(name) != fold(board.name):
        raise FormatError(
            f"the file is of board {quoted(name)}, not {board.name}; give {option('board')} as the file has it"
        )


def other_board(found: int, size: Callable[[int], int]) -> str:
    """Which board has a table of size `found`, for a message; empty if none has.  size: by number of cells."""
    cells = next((cells for cells in range(1, MAX_CELLS + 1) if size(cells) == found), None)
    return f", as for a board of {cells} cells" if cells else ""


def unreadable(what: str) -> FormatError:
    """The refusal of a file that its library cannot read, whose words would help nobody."""
    return FormatError(f"{what}, or is damaged; export it again")
