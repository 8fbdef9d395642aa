"""Checks of tables, used before writing and after reading."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ttt_batch.game.board import FIRST, SECOND, Board
from ttt_batch.runs.formats.base import MORE, POSITION_VALUES, STATES, FormatError, Table, marks_of_states, texts_of


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
