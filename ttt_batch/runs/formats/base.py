"""Tables by position code or by state, their validation, and the interface of a file format.

Axes: `C` position codes (3**cells), `P` players (first, second), `S` states, `cells` cells of the board.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ttt_batch.core.errors import NameTakenError, TttBatchError, flag, quoted
from ttt_batch.core.text import SEATS, fold_case
from ttt_batch.games.board import EMPTY, FIRST, MARKS, SECOND, UNFINISHED, Board

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
    endings: suffixes that mean this format if none is named.  mark: bytes that only its files hold.
    kinds: the kinds it holds, of POSITION_VALUES, ACTION_VALUES and STATES.
    per_player: a file holds the values of one player, so a table takes one or two files; `encode` and `decode` then
        work on the values of one player, float64[1, C].
    encode: returns a file's bytes.  decode: returns the table in a file's bytes, not yet checked by `validated_table`.
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
    endings: tuple[str, ...] = ()
    mark: bytes = b""


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


def validated_table(table: Table, board: Board, largest: float = np.finfo(np.float64).max) -> Table:
    """Return the table as arrays of the declared types and of the board's shape.

    Values by code may be of one player.  largest: the largest absolute value allowed.
    Raises FormatError for another shape, for larger numbers, and for a value of a position with numbers of marks that
    no game reaches.
    """
    if (table.value is None) == (table.q is None):
        raise FormatError("a table must have either values or action values")
    if table.kind != STATES:
        code = np.arange(3**board.cells)
    else:
        code = _shaped("codes", table.code, (np.asarray(table.code).size,), np.int64)
        best = _shaped("best cells", table.best, (code.size, board.cells), np.bool_)
        table = replace(table, code=code, outcome=_shaped("outcomes", table.outcome, code.shape, np.int8), best=best)
        _check_codes(code, board)
    if table.q is not None:
        table = replace(table, q=_shaped("action values", table.q, (code.size, board.cells)))
        more = {
            name: _shaped(f"numbers of {name}", array, (code.size, board.cells) if MORE[name] else (code.size,))
            for name, array in table.more.items()
        }
        for numbers in (table.q, *more.values()):
            _check_size(numbers.reshape(code.size, -1), code, largest, board)
        return replace(table, more=more)
    players = 1 if table.kind == POSITION_VALUES and np.asarray(table.value).shape[:1] == (1,) else 2
    table = replace(table, value=_shaped("values", table.value, (players, code.size)))
    _check_size(table.value.T, code, largest, board)
    if table.kind == POSITION_VALUES:
        _check_marks(np.flatnonzero(~np.isnan(table.value).all(axis=0)), board)
    return table


def _check_codes(code: NDArray[np.int64], board: Board) -> None:
    """Raise FormatError for a list with a repeated state or with codes of another board."""
    if np.unique(code).size != code.size:
        raise FormatError("a state is listed twice; export the table again")
    if code.size and not 0 <= code.min() <= code.max() < 3**board.cells:
        raise FormatError(f"a code is outside 0 .. {3**board.cells - 1}, the codes of board {board.name}")


def _check_marks(code: NDArray[np.int64], board: Board) -> None:
    """Raise FormatError for the first position with numbers of marks that no game reaches."""
    marks = marks_of_states(code, board.cells)
    ahead = np.count_nonzero(marks == FIRST, axis=1) - np.count_nonzero(marks == SECOND, axis=1)
    wrong = np.flatnonzero((ahead != 0) & (ahead != 1))
    if wrong.size:
        text = texts_of(code[wrong[:1]], board.cells)[0]
        raise FormatError(
            f"it has a value for {text}; X must have as many marks as O or one more; "
            f"give the table's own board instead of {board.name}, or fix the entry"
        )


def _shaped(what: str, array: object, shape: tuple[int, ...], dtype: type = np.float64) -> Any:
    try:
        found: Any = np.asarray(array, dtype=dtype)
    except (ValueError, TypeError, OverflowError):
        raise FormatError(f"{what} are not numbers; export the table again") from None
    if found.shape != shape:
        raise FormatError(f"{what} have shape {list(found.shape)}; they must have {list(shape)} for this board")
    return found


def _check_size(numbers: NDArray[np.float64], codes: NDArray[np.int64], largest: float, board: Board) -> None:
    """Raise FormatError for the first number beyond `largest`; axes: the positions of `codes`, their entries."""
    bad = np.argwhere(np.abs(numbers) > largest)
    if bad.size:
        row, column = (int(index) for index in bad[0])
        text, found = texts_of(codes[[row]], board.cells)[0], numbers[row, column]
        limit = "finite numbers only" if np.isinf(found) else f"numbers from {-largest:g} to {largest:g}"
        raise FormatError(
            f"entry {column} of position {text} (code {codes[row]}) is {found}; a table holds {limit}, "
            "so train it again or fix the entry"
        )
