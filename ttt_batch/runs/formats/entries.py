"""Entries of another program's table: uninterpreted keys, each with a value or with numbers for its moves.

They come from a file or from an object in memory: a dictionary, an array, columns or records.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ttt_batch.base.errors import quoted
from ttt_batch.game.board import Board
from ttt_batch.runs.formats.base import FormatError
from ttt_batch.runs.formats.keys import is_position, plain_text

CELL_SIGNS = ("", "-", "X", "O", "x", "o")
"""Texts that mark an occupied cell in place of a number."""

_MOVE_TEXT = re.compile(r"\(?\s*(\d+)\s*(?:[,;: ]\s*(\d+))?\s*\)?|([a-z])(\d+)", re.IGNORECASE)


@dataclass(frozen=True)
class Entries:
    """Numbers by key, not yet interpreted.

    keys: K positions as written in the table; an array of numbers if they are indices of an array.
    values: float64[P, K], the values of the positions, or None for a table of moves.
    rows, moves, q: int64[M], int64[M] and float64[M]: index of a key, cell, and value of that move.
    shifts: the possible numbers of the first cell in `moves`: (0,), (1,), or both if unknown.
    listed: every key has a number for each cell, so the numbers of occupied cells carry no information.
    low: the first cell is usually the lowest digit of number keys in this kind of file, see `keys.readings`.
    told: bool[K], for an array with all keys: the keys whose numbers differ from the commonest ones.
    shape: a description of the table, for messages.
    """

    keys: Any
    shape: str
    values: NDArray[np.float64] | None = None
    rows: Any = None
    moves: Any = None
    q: Any = None
    shifts: tuple[int, ...] = (0,)
    listed: bool = False
    low: bool = False
    told: Any = None


def described(found: Any) -> str:
    """Return the type of an object with its article, for a message."""
    if isinstance(found, Mapping | list | tuple) and not found:
        return "nothing"
    article = "an" if type(found).__name__[:1].lower() in "aeiou" else "a"
    return f"{article} {type(found).__name__}"


def number_of(value: Any) -> float:
    """Return a number as a float, nan for None.  Raises TypeError or ValueError, and FormatError if it is too large."""
    if value is None:
        return float("nan")
    if isinstance(value, bool | str | bytes):
        raise TypeError
    try:
        return float(value)
    except OverflowError:
        raise FormatError("it holds a number too large for a float; save numbers such as 0.5") from None


def listed_entries(keys: Any, q: NDArray[np.float64], shape: str, *, low: bool, told: Any = None) -> Entries:
    """Return the entries of a table with a number for each cell, float64[K, cells]."""
    rows, moves = np.nonzero(~np.isnan(q))
    return Entries(keys, shape, rows=rows, moves=moves, q=q[rows, moves], listed=True, low=low, told=told)


def numbers_of(values: Iterable[Any], keys: Sequence[Any]) -> NDArray[np.float64]:
    """Return the numbers of keys, with nan for None.  Raises FormatError for a value that is not a number."""
    numbers = []
    for key, value in zip(keys, values, strict=True):
        try:
            numbers.append(number_of(value))
        except (TypeError, ValueError):
            raise FormatError(f"the value of key {quoted(key)} is {described(value)}, not a number") from None
    return np.array(numbers, dtype=np.float64)


def split_move(key: Any, board: Board) -> tuple[Any, Any] | None:
    """Return the position and the move in a key; None if it does not hold both."""
    if isinstance(key, tuple | list) and len(key) == 2:
        return (
            (key[0], key[1]) if is_position(key[0], board) else (key[1], key[0]) if is_position(key[1], board) else None
        )
    if isinstance(key, tuple | list) and len(key) == board.cells + 1:
        return tuple(key[:-1]), key[-1]
    if isinstance(key, str) and len(key) < 400:
        text = plain_text(key.strip())
        if text.startswith("(") and text.endswith(")") and text.count("(") == text.count(")"):
            text = text[1:-1]
        for separator in (", (", ",(", ",", ";", ":", "|", "_", "-", " "):
            position, found, move = text.rpartition(separator)
            if not found:
                continue
            move = separator.strip(", ") + move if "(" in separator else move
            if _MOVE_TEXT.fullmatch(move.strip()) and is_position(position.strip("'\" "), board):
                return position.strip("'\""), move.strip()
            if _MOVE_TEXT.fullmatch(move.strip()) and is_position(position, board):
                return position, move.strip()
        if len(text) == board.cells + 1 and text[-1].isdigit() and is_position(text[:-1], board):
            return text[:-1], text[-1]
    return None


def by_moves(
    keys: Sequence[Any], moves: Sequence[Any], numbers: NDArray[np.float64], board: Board, shape: str, *, low: bool
) -> Entries:
    """Return the entries of a table with a number for each pair of position and move."""
    place: dict[Any, int] = {}
    rows = []
    for key in keys:
        hashable = tuple(map(str, key)) if isinstance(key, list) else key.tobytes() if hasattr(key, "tobytes") else key
        rows.append(place.setdefault(hashable, len(place)))
    first_at = np.unique(np.array(rows), return_index=True)[1]
    cells = [_cell(move, board) for move in moves]
    shift = [0, 1]
    if any(isinstance(cell, tuple) for cell in cells):
        pairs = [cell if isinstance(cell, tuple) else (-1, -1) for cell in cells]
        least = min(min(pair) for pair in pairs if pair != (-1, -1))
        base = 1 if least > 0 and any(max(pair) > 2 for pair in pairs) else 0
        flat = [
            (row - base) * board.cols + col - base
            if 0 <= row - base < board.rows and 0 <= col - base < board.cols
            else -1
            for row, col in pairs
        ]
        shift = [0]
    else:
        flat = [cell if isinstance(cell, int) else -1 for cell in cells]
        if any(isinstance(move, str) and not move.strip().isdigit() for move in moves[:20]) or 0 in flat:
            shift = [0]
        elif board.cells in flat:
            shift = [1]
    kept = [keys[at] for at in first_at.tolist()]
    return Entries(
        kept,
        shape,
        rows=np.array(rows, np.int64),
        moves=np.array(flat, np.int64),
        q=numbers,
        shifts=tuple(shift),
        listed=len(rows) >= 0.99 * board.cells * len(kept),
        low=low,
    )


def is_move(move: Any, board: Board) -> bool:
    """Return whether `move` can be read as a move: a cell, or a row and a column."""
    return _cell(move, board) is not None


def _cell(move: Any, board: Board) -> int | tuple[int, int] | None:
    """Return a move as a cell, or as a row and a column; None if it is not a move."""
    if isinstance(move, np.generic):
        move = move.item()
    if isinstance(move, bool):
        return None
    if isinstance(move, int | float) and move == move and abs(move) < 1000:
        return int(move) if move == int(move) else None
    if isinstance(move, tuple | list) and len(move) == 2:
        pair = [_cell(each, board) for each in move]
        return (pair[0], pair[1]) if isinstance(pair[0], int) and isinstance(pair[1], int) else None
    if isinstance(move, str) and (match := _MOVE_TEXT.fullmatch(move.strip())):
        if match[3]:
            column, row = ord(match[3].lower()) - ord("a"), int(match[4][:4])
            return (row - 1) * board.cols + column if column < board.cols and 1 <= row <= board.rows else None
        number = int(match[1][:4])
        return number if match[2] is None else (number, int(match[2][:4]))
    return None
