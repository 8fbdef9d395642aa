"""Conversion of tables of any shape to entries: dictionaries, arrays, columns, records and frames, also nested."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_batch.base.errors import quoted
from ttt_batch.game.board import Board
from ttt_batch.runs.formats.base import FormatError
from ttt_batch.runs.formats.entries import (
    CELL_SIGNS,
    Entries,
    by_moves,
    described,
    is_move,
    listed_entries,
    number_of,
    numbers_of,
    split_move,
)
from ttt_batch.runs.formats.keys import is_position

FIRST_NAMES, SECOND_NAMES = (
    {"first", "x", "p1", "player1", "player_1", "1", "policy_first"},
    {"second", "o", "p2", "player2", "player_2", "2", "-1", "policy_second"},
)
"""Names of the two players' tables in a dictionary."""

_MOST_WRAPPERS = 4


class Players(NamedTuple):
    """The tables of both players."""

    first: Any
    second: Any


class Columns(dict[str, Any]):
    """Columns by name, from a file that holds only columns."""


def unwrap(found: Any, board: Board) -> Any:
    """Return the table inside dictionaries with names such as `V` or `q_table`, or `Players` for a table for each."""
    for _ in range(_MOST_WRAPPERS):
        if isinstance(found, tuple) and sum(isinstance(each, Mapping) for each in found) == 1:
            found = next(each for each in found if isinstance(each, Mapping))
        if isinstance(found, tuple) and len(found) == 2 and all(isinstance(each, Mapping) for each in found):
            return Players(*found)
        if not isinstance(found, Mapping) or isinstance(found, Columns) or not 0 < len(found) <= 40:
            return found
        if not all(isinstance(key, str) for key in found) or all(is_position(key, board) for key in found):
            players = _players(found)
            return found if players is None else players
        players = _players(found)
        if players is not None:
            return players
        if any(is_position(key, board) for key in found):
            return found
        tables = [value for value in found.values() if _size(value) > 1]
        columns = [value for value in tables if isinstance(value, list | tuple | np.ndarray)]
        if len(columns) > 1 and len({len(column) for column in columns}) == 1:
            return found  # columns
        if not tables:
            return found
        found = max(tables, key=_size)
    return found


def entries_of(found: Any, board: Board, *, low: bool) -> Entries:
    """Return the entries of an unwrapped object.  Raises FormatError if it is not a table of a known shape."""
    if hasattr(found, "to_numpy") and hasattr(found, "columns"):  # a frame of pandas or the like
        return _of_frame(found, board, low=low)
    if isinstance(found, Columns):
        return entries_of_columns(found, board, low=low)
    if isinstance(found, np.ndarray):
        return _of_array(found, board, low=low)
    if isinstance(found, Mapping):
        if found and all(isinstance(key, str) for key in found) and not any(is_position(key, board) for key in found):
            columns = {name: value for name, value in found.items() if isinstance(value, list | tuple | np.ndarray)}
            if len(columns) > 1:
                return entries_of_columns(columns, board, low=low)
            if not any(split_move(key, board) for key in list(found)[:9]):
                raise FormatError(f"its keys, such as {quoted(next(iter(found)))}, are not positions")
        return _of_dictionary(found, board, low=low)
    if isinstance(found, list) and found:
        if all(isinstance(one, Mapping) for one in found):
            names = list(found[0])
            return entries_of_columns({name: [one.get(name) for one in found] for name in names}, board, low=low)
        if all(isinstance(one, list | tuple) and len(one) == 2 for one in found):
            return _of_pairs([one[0] for one in found], [one[1] for one in found], board, low=low)
        if (array := _as_array(found)) is not None:
            return _of_array(array, board, low=low)
    raise FormatError(f"it holds {described(found)}, which cannot be read as a table")


def _players(found: Mapping[str, Any]) -> Players | None:
    """Return the tables of both players, or None unless the dictionary holds exactly these by name."""
    named: dict[int, Any] = {}
    for key, value in found.items():
        folded = str(key).strip().lower()
        for player, names in enumerate((FIRST_NAMES, SECOND_NAMES)):
            if folded in names and isinstance(value, Mapping) and _size(value) > 1:
                inner = next(iter(value))
                if not isinstance(inner, str) or len(inner) > 1:
                    named[player] = value
    return Players(named[0], named[1]) if len(named) == 2 and len(found) == 2 else None


def _size(value: Any) -> int:
    return len(value) if isinstance(value, Mapping | list | tuple) else int(getattr(value, "size", 0))


def _as_array(found: Any) -> NDArray[np.float64] | None:
    """Return a nested list as an array of numbers; None if it is not one."""
    try:
        array: NDArray[np.float64] = np.array(
            [[number_of(x) for x in row] if isinstance(row, list) else number_of(row) for row in found]
        )
    except (TypeError, ValueError, FormatError):
        return None
    return array


def _of_array(array: NDArray[Any], board: Board, *, low: bool) -> Entries:
    """Return the entries of an array: numbers by position code (and cell), or rows of marks followed by numbers."""
    if array.dtype.kind not in "fiu":
        raise FormatError(f"its array holds {array.dtype.name}, not numbers")
    codes, cells = 3**board.cells, board.cells
    low = low and array.ndim <= 2  # with an axis for each cell, the first cell is the highest digit
    if array.size == codes and array.shape in ((codes,), (codes, 1), (3,) * cells):
        numbers = array.reshape(codes).astype(np.float64)
        told = ~np.isnan(numbers) & (numbers != _commonest(numbers))
        if not told.any():
            raise FormatError("all its numbers are the same, so the table is untrained; name another file")
        shape = "an array with a value for each position"
        return Entries(np.arange(codes), shape, numbers[None], low=low, told=told)
    if array.size == codes * cells and (array.shape == (codes, cells) or array.shape[:-1] == (3,) * cells):
        q = array.reshape(codes, cells).astype(np.float64)
        plain = np.array([_commonest(q[:, cell]) for cell in range(cells)])
        told = (~np.isnan(q) & (q != plain)).any(axis=1)
        if not told.any():
            raise FormatError("all its rows are the same, so the table is untrained; name another file")
        shape = "an array with a number for each position and cell"
        return listed_entries(np.arange(codes), q, shape, low=low, told=told)
    if array.ndim == 2 and array.shape[1] in (cells + 1, 2 * cells):
        keys = [tuple(row) for row in array[:, :cells].tolist()]
        if array.shape[1] == cells + 1:
            return Entries(keys, "rows of marks and a value", array[:, cells].astype(np.float64)[None])
        return listed_entries(keys, array[:, cells:].astype(np.float64), "rows of marks and numbers", low=low)
    raise FormatError(
        f"its array has shape {list(array.shape)}; board {board.name} needs {[codes]} or {[codes, cells]}; "
        f"give the table's own board"
    )


def _commonest(numbers: NDArray[np.float64]) -> float:
    found, counts = np.unique(numbers[~np.isnan(numbers)], return_counts=True)
    return float(found[counts.argmax()]) if found.size else float("nan")


def _of_dictionary(found: Mapping[Any, Any], board: Board, *, low: bool) -> Entries:
    keys = list(found)
    if not keys:
        raise FormatError("the dictionary is empty; name a file of a trained table")
    return _of_pairs(keys, list(found.values()), board, low=low)


def _of_pairs(keys: list[Any], values: list[Any], board: Board, *, low: bool) -> Entries:
    """Return the entries of keys and their values: a number, a number for each cell, or numbers by move."""
    first = next((value for value in values if value is not None), None)
    if isinstance(first, Mapping):
        if (name := named("value", first)) and not any(is_move(each, board) for each in first):
            values = [value.get(name[0]) if isinstance(value, Mapping) else value for value in values]
            return _of_pairs(keys, values, board, low=low)
        return _by_move_dictionaries(keys, values, board, low=low)
    if isinstance(first, list | tuple | np.ndarray):
        try:
            lists = [_flat(value, board.cells) for value in values]
        except (TypeError, ValueError):
            raise FormatError(f"a value is not a number for each of {board.cells} cells") from None
        width = len(lists[0])
        counted = width == 2 and all(one[-1] >= 0 and one[-1] == int(one[-1]) for one in lists if len(one) == 2)
        if any(len(one) != width for one in lists) or not (counted or width in (1, board.cells)):
            found = next(len(one) for one in lists if len(one) != board.cells)
            raise FormatError(
                f"a position has {found} numbers; board {board.name} has {board.cells} cells; give the table's own "
                f"board"
            )
        if width == board.cells:
            shape = "a dictionary of position to a number for each cell"
            return listed_entries(keys, np.array(lists), shape, low=low)
        values = [one[0] for one in lists]  # a second number is a count of visits
    numbers = numbers_of(values, keys)
    split = [split_move(key, board) for key in keys] if not is_position(keys[0], board) else [None]
    if all(pair is not None for pair in split):
        pairs = [pair for pair in split if pair is not None]
        return by_moves(
            [pair[0] for pair in pairs],
            [pair[1] for pair in pairs],
            numbers,
            board,
            "a dictionary of position and move to a number",
            low=low,
        )
    return Entries(keys, "a dictionary of position to value", numbers[None], low=low)


def _flat(value: Any, cells: int) -> list[float]:
    """Return the numbers of a list, or of a list of rows, as one list.  Raises ValueError for other shapes."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if not isinstance(value, list | tuple) or len(value) > cells:
        raise ValueError
    flat: list[Any] = []
    for each in value:
        if isinstance(each, list | tuple):
            if len(each) > cells:
                raise ValueError
            flat += each
        else:
            flat.append(each)
    return [number_of(each) for each in flat]


def _by_move_dictionaries(keys: list[Any], values: list[Any], board: Board, *, low: bool) -> Entries:
    """Return the entries of a dictionary from positions to dictionaries from moves to numbers."""
    rows, moves, numbers = [], [], []
    for row, (key, value) in enumerate(zip(keys, values, strict=True)):
        if not isinstance(value, Mapping):
            raise FormatError(f"key {quoted(key)} holds {described(value)}; other keys hold moves")
        for move, number in value.items():
            rows.append(row)
            moves.append(move)
            numbers.append(number)
    found = by_moves(rows, moves, numbers_of(numbers, moves), board, "", low=low)
    return Entries(
        keys,
        "a dictionary of position to a number for each move",
        rows=np.array(rows, np.int64),
        moves=found.moves,
        q=found.q,
        shifts=found.shifts,
        listed=found.listed,
        low=low,
    )


_COLUMNS = {
    "key": ("state", "board", "position", "pos", "key", "code", "hash", "state_hash", "board_state", "s", "obs"),
    "move": ("action", "move", "cell", "a", "act", "square"),
    "row": ("row", "r", "i"),
    "column": ("col", "column", "c", "j"),
    "value": ("value", "v", "q", "q_value", "qvalue", "q-value", "score", "val", "v(s)", "q(s,a)", "estimate"),
    "first": ("first", "value_first", "value_x", "x_value"),
    "second": ("second", "value_second", "value_o", "o_value"),
    "other": ("visits", "visit", "count", "n", "index", "", "unnamed: 0", "to_move", "outcome", "best"),
}
"""Known names of columns and of entries of records, by meaning."""


def named(meaning: str, names: Iterable[Any]) -> list[Any]:
    """Return those of `names` that have the given meaning, the most usual one first."""
    folded = {name: str(name).strip().lower() for name in names}
    usual = _COLUMNS[meaning]
    return [name for one in usual for name in folded if folded[name] == one or folded[name] == f"{one}s"]


def is_column_header(fields: Iterable[str]) -> bool:
    """Return whether fields are names of columns: at least one names positions, moves or values."""
    known = [field for field in fields if not field.strip().isdigit() and len(field.strip()) > 1]
    return any(named(meaning, known) for meaning in ("key", "move", "value"))


def entries_of_columns(columns: Mapping[Any, Any], board: Board, *, low: bool) -> Entries:
    """Return the entries of named columns.  Raises FormatError if no column holds positions, or none holds numbers."""
    lists = {name: column.tolist() if hasattr(column, "tolist") else list(column) for name, column in columns.items()}
    positions, rest = _positions(lists, board)
    value, moves = named("value", rest), named("move", rest)
    if value and (row := named("row", rest)) and (column := named("column", rest)):
        moves, lists["move"] = ["move"], list(zip(lists[row[0]], lists[column[0]], strict=True))
    if moves and value:
        numbers = numbers_of(lists[value[0]], positions)
        return by_moves(positions, lists[moves[0]], numbers, board, "columns of position, move and number", low=low)
    if (one := named("first", rest)) and (two := named("second", rest)):
        both = np.array([numbers_of(lists[name], positions) for name in (one[0], two[0])])
        return Entries(positions, "columns of position and both players' values", both, low=low)
    if len(rest) >= board.cells:
        q = np.array([numbers_of(_occupied(lists[name]), positions) for name in rest[-board.cells :]]).T
        return listed_entries(positions, q, "columns of position and a number for each cell", low=low)
    for name in [*value, *rest]:
        return _of_pairs(positions, lists[name], board, low=low)
    raise FormatError(f"none of its columns {quoted(list(columns))} holds values; name one `value`")


def _positions(lists: Mapping[Any, list[Any]], board: Board) -> tuple[list[Any], list[Any]]:
    """Return the positions in columns, and the names of the columns that may hold their values and moves."""
    keys, others = named("key", lists), [name for name in lists if name not in named("other", lists)]
    if board_too := [name for name in keys if str(name).lower() == "board"]:
        keys = board_too  # a column `code` holds the same positions
    if keys:
        return lists[keys[0]], [name for name in others if name not in named("key", lists)]
    known = [name for meaning in ("value", "move", "first", "second") for name in named(meaning, lists)]
    rest = [name for name in others if name not in known]
    if len(rest) in (board.cells, 2 * board.cells):
        marks = rest[: board.cells]
        rows = [tuple(row) for row in zip(*(lists[name] for name in marks), strict=True)]
        return rows, [name for name in others if name not in marks]
    if rest and lists[rest[0]] and is_position(lists[rest[0]][0], board):
        return lists[rest[0]], [name for name in others if name != rest[0]]
    raise FormatError(f"none of its columns {quoted(list(lists))} holds positions; name one `state`")


def _occupied(column: list[Any]) -> list[Any]:
    """Return a column with None for the signs of occupied cells."""
    return [None if isinstance(each, str) and each.strip() in CELL_SIGNS else each for each in column]


def _of_frame(frame: Any, board: Board, *, low: bool) -> Entries:
    """Return the entries of a frame: of its columns, or of its index as positions with columns of numbers."""
    names = [str(name) for name in frame.columns]
    columns = {name: frame.iloc[:, number].tolist() for number, name in enumerate(names)}
    index = frame.index.tolist()
    if index != list(range(len(index))) and index:
        if isinstance(index[0], tuple) and len(index[0]) == 2:
            columns = {"state": [one[0] for one in index], "action": [one[1] for one in index]} | columns
            if "value" not in columns and len(names) == 1:
                columns["value"] = columns.pop(names[0])
        elif is_position(index[0], board):
            columns = {"state": index} | columns
    return entries_of_columns(columns, board, low=low)
