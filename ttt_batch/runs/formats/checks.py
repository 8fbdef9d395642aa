"""What every table must satisfy, on its way in as on its way out."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ttt_batch.game.board import FIRST, SECOND, Board
from ttt_batch.runs.formats.base import ActionTable, FormatError, Listing, Table, ValueTable, marks_of, texts_of


def checked(table: Table, board: Board, largest: float = np.finfo(np.float64).max) -> Table:
    """The table as arrays of the declared types and of the board's shape.

    A `ValueTable` may be of one player.  largest: how large a number may be.  Raises FormatError for another shape, for
    larger numbers, and where a value belongs to a position with a number of marks that no game reaches.
    """
    if isinstance(table, Listing):
        return _checked_listing(table, board, largest)
    if isinstance(table, ActionTable):
        q = _shaped("action values", table.q, (3**board.cells, board.cells))
        _check_size(q, largest, board)
        return ActionTable(q)
    players = 1 if np.asarray(table.value).shape[:1] == (1,) else 2
    value = _shaped("values", table.value, (players, 3**board.cells))
    _check_size(value.T, largest, board)
    code = np.flatnonzero(~np.isnan(value).all(axis=0))
    marks = marks_of(code, board.cells)
    ahead = np.count_nonzero(marks == FIRST, axis=1) - np.count_nonzero(marks == SECOND, axis=1)
    wrong = np.flatnonzero((ahead != 0) & (ahead != 1))
    if wrong.size:
        text = texts_of(code[wrong[:1]], board.cells)[0]
        raise FormatError(
            f"it has a value for {text}, where X must have as many marks as O or one more; "
            f"give the table's own board instead of {board.name}, or fix the entry"
        )
    return ValueTable(value)


def _checked_listing(table: Listing, board: Board, largest: float) -> Listing:
    states = np.asarray(table.code).size
    if (table.value is None) == (table.q is None):
        raise FormatError("a list of states needs values or action values, one of them")
    code = _shaped("codes", table.code, (states,), np.int64)
    if np.unique(code).size != code.size:
        raise FormatError("a state is listed twice; export the table again")
    name, what, found, shape = "value", "values", table.value, (2, states)
    if table.q is not None:
        name, what, found, shape = "q", "action values", table.q, (states, board.cells)
    numbers = _shaped(what, found, shape)
    if (np.abs(numbers) > largest).any():
        raise FormatError(f"a value is {_limit(numbers, largest)}, so train it again or fix the entry")
    best = _shaped("best cells", table.best, (states, board.cells), np.bool_)
    if code.size and not 0 <= code.min() <= code.max() < 3**board.cells:
        raise FormatError(f"a code is outside 0 .. {3**board.cells - 1}, the codes of board {board.name}")
    return Listing(code, _shaped("outcomes", table.outcome, (states,), np.int8), best, **{name: numbers})


def _shaped(what: str, array: object, shape: tuple[int, ...], dtype: type = np.float64) -> Any:
    try:
        found: Any = np.asarray(array, dtype=dtype)
    except (ValueError, TypeError, OverflowError):
        raise FormatError(f"{what} are not numbers; export the table again") from None
    if found.shape != shape:
        raise FormatError(f"{what} have shape {list(found.shape)}, they must have {list(shape)} for this board")
    return found


def _check_size(by_code: NDArray[np.float64], largest: float, board: Board) -> None:
    """Refuse the first number beyond `largest`; axes are C and whatever each position has."""
    bad = np.abs(by_code) > largest
    if bad.any():
        code, column = (int(index) for index in np.argwhere(bad)[0])
        text = texts_of(np.array([code]), board.cells)[0]
        found = _limit(by_code[code, [column]], largest)
        raise FormatError(
            f"entry {column} of position {text} (code {code}) is {found}, so train it again or fix the entry"
        )


def _limit(numbers: NDArray[np.float64], largest: float) -> str:
    """The first number beyond `largest`, and what a table holds instead."""
    found = numbers[np.abs(numbers) > largest][0]
    limit = "finite numbers only" if np.isinf(found) else f"numbers from {-largest:g} to {largest:g}"
    return f"{found}; a table holds {limit}"
