"""Conversion of tables of any shape to entries: dictionaries, arrays, columns, records and frames, also nested.

Entries of another program's table: uninterpreted keys, each with a value or with numbers for its moves.
They come from a file or from an object in memory: a dictionary, an array, columns or records.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_batch.core.errors import quoted
from ttt_batch.core.text import count_text
from ttt_batch.games.board import Board
from ttt_batch.games.notation import may_be_position
from ttt_batch.runs.formats.base import FormatError
from ttt_batch.runs.formats.keys import cells_of_key, is_position, plain_text

CELL_SIGNS = ("", "-", "X", "O", "x", "o")
"""Texts that mark an occupied cell in place of a number."""

_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?", re.IGNORECASE)
_MOVE_TEXT = re.compile(r"\(?\s*(\d+)\s*(?:[,;: ]\s*(\d+))?\s*\)?|([a-z])(\d+)", re.IGNORECASE)


@dataclass(frozen=True)
class Entries:
    """Numbers by key, not yet interpreted.

    keys: K positions as written in the table; an array of numbers if they are indices of an array.
    values: float64[P, K], the values of the positions, or None for a table of moves.
    rows, moves, q: int64[M], int64[M] and float64[M]: index of a key, cell, and value of that move.
    shifts: the possible numbers of the first cell in `moves`: (0,), (1,), or both if unknown.
    listed: every key has a number for each cell, so the numbers of occupied cells carry no information.
    told: bool[K], for an array with all keys: the keys whose numbers differ from the commonest ones.
    best: for a table of moves to play, the M moves as written; their numbers `q` are 1.
    sure_values: the values are named so, or have counts of visits beside them, so they are not moves to play.
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
    told: Any = None
    best: Sequence[Any] | None = None
    sure_values: bool = False


def described(found: Any) -> str:
    """Return a text or a number itself, and the kind of any other object with its article, for a message."""
    if isinstance(found, Mapping | list | tuple) and not found:
        return "nothing"
    found = found.item() if isinstance(found, np.generic) else found
    if found is None or isinstance(found, str | bytes | int | float):
        return quoted(found)
    kind = {"dict": "dictionary", "ndarray": "array"}.get(type(found).__name__, type(found).__name__)
    return f"{'an' if kind[:1].lower() in 'aeiou' else 'a'} {kind}"


def is_decimal(text: str) -> bool:
    """Return whether a text is a finite decimal number."""
    return _NUMBER.fullmatch(text.strip()) is not None


def number_of(value: Any) -> float:
    """Return a number, also as text, as a float, and nan for None.

    Raises TypeError or ValueError, and FormatError if it is too large.
    """
    if value is None:
        return float("nan")
    if isinstance(value, bool | bytes) or (isinstance(value, str) and not is_decimal(value)):
        raise TypeError
    try:
        return float(value)
    except OverflowError:
        raise FormatError("it holds a number too large for a float; save numbers such as 0.5") from None


def listed_entries(keys: Any, q: NDArray[np.float64], shape: str, told: Any = None) -> Entries:
    """Return the entries of a table with a number for each cell, float64[K, cells]."""
    rows, moves = np.nonzero(~np.isnan(q))
    return Entries(keys, shape, rows=rows, moves=moves, q=q[rows, moves], listed=True, told=told)


def numbers_of(values: Iterable[Any], keys: Sequence[Any]) -> NDArray[np.float64]:
    """Return the numbers of keys, with nan for None.  Raises FormatError for a value that is not a number."""
    numbers = []
    for key, value in zip(keys, values, strict=True):
        try:
            numbers.append(number_of(value))
        except (TypeError, ValueError):
            raise FormatError(
                f"the value of key {quoted(key)} is {described(value)}, not a finite number; give a number such as "
                "0.5, or leave a missing value empty (null in JSON)"
            ) from None
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
        text = plain_text(key)
        inside = text.strip()
        if inside.startswith("(") and inside.endswith(")") and inside.count("(") == inside.count(")"):
            text = inside[1:-1]
        for separator in (", (", ",(", ",", ";", ":", "|", "_", "-", " "):
            position, found, move = text.rpartition(separator)
            if not found:
                continue
            move = (separator.strip(", ") + move if "(" in separator else move).strip("'\" ")
            for one in (position.strip("'\""), position):
                if (_MOVE_TEXT.fullmatch(move) or move in CELL_SIGNS[2:]) and is_position(one, board):
                    return one, move
        if len(text) == board.cells + 1 and text[-1] in "0123456789XOxo" and is_position(text[:-1], board):
            return text[:-1], text[-1]
    return None


def by_moves(
    keys: Sequence[Any], moves: Sequence[Any], numbers: NDArray[np.float64], board: Board, shape: str
) -> Entries:
    """Return the entries of a table with a number for each pair of position and move."""
    place: dict[Any, int] = {}
    rows = []
    for key in keys:
        hashable = tuple(map(str, key)) if isinstance(key, list) else key.tobytes() if hasattr(key, "tobytes") else key
        try:
            rows.append(place.setdefault(hashable, len(place)))
        except TypeError:
            rows.append(place.setdefault(cells_of_key(key, board.cells), len(place)))
    first_at = np.unique(np.array(rows), return_index=True)[1]
    cells = [_cell(move, board) for move in moves]
    shift = [0, 1]
    if any(isinstance(cell, tuple) for cell in cells):
        pairs = np.array([cell if isinstance(cell, tuple) else (-1, -1) for cell in cells])
        told = pairs[(pairs >= 0).all(axis=1)]
        from_1 = told.size > 0 and told.min() > 0  # or these happen to lack the first row and column
        sure = not from_1 or bool((told.max(axis=0) >= (board.rows, board.cols)).any())
        row, column = (pairs - int(from_1 and sure)).T
        inside = (row >= 0) & (row < board.rows) & (column >= 0) & (column < board.cols)
        flat = np.where(inside, row * board.cols + column, -1).tolist()
        shift = [0] if sure else [0, board.cols + 1]
    else:
        flat = [cell if isinstance(cell, int) else -1 for cell in cells]
        if any(isinstance(move, str) and not move.strip().isdigit() for move in moves[:20]) or 0 in flat:
            shift = [0]
        elif board.cells in flat:
            shift = [1]
    kept = [keys[at] for at in first_at.tolist()]
    alone = len(kept) == len(keys) >= MANY_MOVES  # one for each position, with its value: nothing to choose among
    return Entries(
        kept,
        TO_PLAY if alone else shape,
        rows=np.array(rows, np.int64),
        moves=np.array(flat, np.int64),
        q=np.ones(len(moves)) if alone else numbers,
        best=list(moves) if alone else None,
        shifts=tuple(shift),
        listed=len(rows) >= 0.99 * board.cells * len(kept),
    )


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
        if (players := _players(found)) is not None:
            return players
        if any(not isinstance(key, str) or is_position(key, board) for key in found):
            return found
        tables = [value for value in found.values() if _size(value) > 1]
        columns = [value for value in tables if isinstance(value, list | tuple | np.ndarray)]
        positions = any(isinstance(column[0], str) and is_position(column[0], board) for column in columns)
        whole = positions and len(columns) == len(tables)  # even if their lengths differ
        if len(columns) > 1 and (whole or len({len(column) for column in columns}) == 1):
            return found  # columns
        if not tables:
            return found
        found = max(tables, key=_size)
    return found


def entries_of(found: Any, board: Board) -> Entries:
    """Return the entries of an unwrapped object.  Raises FormatError if it is not a table of a known shape."""
    if hasattr(found, "to_numpy") and hasattr(found, "columns"):  # a frame of pandas or the like
        return _of_frame(found, board)
    if hasattr(found, "to_frame"):  # a series
        return _of_frame(found.to_frame(), board)
    if isinstance(found, Columns):
        return entries_of_columns(found, board)
    if isinstance(found, np.ndarray):
        return _of_array(found, board)
    if isinstance(found, Mapping):
        if found and all(isinstance(key, str) for key in found) and not any(is_position(key, board) for key in found):
            columns = {key: one for key, one in found.items() if getattr(one, "ndim", isinstance(one, list | tuple))}
            if len(columns) > 1:
                return entries_of_columns(columns, board)
            if not any(split_move(key, board) for key in list(found)[:9]):
                first = next(iter(found))
                remedy = "give the table's own board" if may_be_position(first) else "name a file of a table"
                raise FormatError(
                    f"its keys, such as {quoted(first)}, are not positions of board {board.name}; {remedy}"
                )
        if not found:
            raise FormatError("the dictionary is empty; name a file of a trained table")
        return _of_pairs(list(found), list(found.values()), board)
    if isinstance(found, list) and found:
        if all(isinstance(one, Mapping) for one in found):
            names = list(found[0])
            return entries_of_columns({name: [one.get(name) for one in found] for name in names}, board)
        if all(isinstance(one, list | tuple) and len(one) == 2 for one in found):
            return _of_pairs([one[0] for one in found], [one[1] for one in found], board)
        if (array := _as_array(found)) is not None:
            return _of_array(array, board)
    raise FormatError(
        f"it holds {described(found)}, which cannot be read as a table; save a dictionary, an array or columns"
    )


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


def _of_array(array: NDArray[Any], board: Board) -> Entries:
    """Return the entries of an array: numbers by position code (and cell), or rows of marks followed by numbers."""
    if array.dtype.kind not in "fiu":
        raise FormatError(f"its array holds {array.dtype.name}, not numbers")
    codes, cells = 3**board.cells, board.cells
    if array.size == codes and array.shape in ((codes,), (codes, 1), (3,) * cells):
        numbers = array.reshape(codes).astype(np.float64)
        told = ~np.isnan(numbers) & (numbers != _commonest(numbers))
        if np.isnan(numbers).all():
            raise FormatError("it has no number for any position; name a file of a trained table")
        if not told.any():
            raise FormatError("all its numbers are the same, so the table is untrained; name another file")
        shape = "an array with a value for each position"
        return Entries(np.arange(codes), shape, numbers[None], told=told)
    if array.size == codes * cells and (array.shape == (codes, cells) or array.shape[:-1] == (3,) * cells):
        q = array.reshape(codes, cells).astype(np.float64)
        plain = np.array([_commonest(q[:, cell]) for cell in range(cells)])
        told = (~np.isnan(q) & (q != plain)).any(axis=1)
        if not told.any():
            raise FormatError("all its rows are the same, so the table is untrained; name another file")
        shape = "an array with a number for each position and cell"
        return listed_entries(np.arange(codes), q, shape, told=told)
    if array.ndim == 2 and array.shape[1] in (cells + 1, 2 * cells):
        keys = [tuple(row) for row in array[:, :cells].tolist()]
        if array.shape[1] == cells + 1:
            return Entries(keys, "rows of marks and a value", array[:, cells].astype(np.float64)[None])
        return listed_entries(keys, array[:, cells:].astype(np.float64), "rows of marks and numbers")
    raise FormatError(
        f"its array has shape {list(array.shape)}; board {board.name} needs {[codes]} or {[codes, cells]}; "
        f"give the table's own board"
    )


def _commonest(numbers: NDArray[np.float64]) -> float:
    found, counts = np.unique(numbers[~np.isnan(numbers)], return_counts=True)
    return float(found[counts.argmax()]) if found.size else float("nan")


def _of_pairs(keys: list[Any], values: list[Any], board: Board, *, moves: bool = False) -> Entries:
    """Return the entries of keys and their values: a number, numbers for each cell or by move, or moves to play.

    moves: the values are named as moves.
    """
    split = [split_move(key, board) for key in keys] if not is_position(keys[0], board) else [None]
    pairs = [pair for pair in split if pair is not None]
    positions = [pair[0] for pair in pairs]
    if _players_to_move(pairs, len(keys)):
        keys, pairs = positions, []
    if (lists := _listed_moves(values, board, named=moves)) is not None:
        return moves_to_play(keys, lists, board)
    values = [None if isinstance(value, list | tuple) and not value else value for value in _occupied(values)]
    first, counted = next((value for value in values if value is not None), None), False
    if isinstance(first, Mapping):
        for meaning in ("value", "move"):
            if (name := named(meaning, first)) and all(_cell(each, board) is None for each in first):
                values = [value.get(name[0]) if isinstance(value, Mapping) else value for value in values]
                found = _of_pairs(keys, values, board, moves=meaning == "move")
                return replace(found, sure_values=meaning == "value")
        return _by_move_dictionaries(keys, values, board)
    if isinstance(first, list | tuple | np.ndarray):
        try:
            lists = [[] if value is None else _flat(value, board.cells) for value in values]
        except (TypeError, ValueError):
            raise FormatError(f"a value is not a number for each of {board.cells} cells") from None
        width = max(map(len, lists))
        second = [one[1] for one in lists if len(one) == 2 and one[1] == one[1]]
        counted = width == 2 and all(each >= 0 and each.is_integer() for each in second)
        lists = [one or [float("nan")] * width for one in lists]
        if any(len(one) != width for one in lists) or not (counted or width in (1, board.cells)):
            other = next(len(one) for one in lists if len(one) != board.cells)
            raise FormatError(
                f"a position has {other} numbers; board {board.name} has {board.cells} cells; give the table's own "
                "board, or one number for each position"
            )
        if width == board.cells:
            shape = "a dictionary of position to a number for each cell"
            return listed_entries(keys, np.array(lists), shape)
        values = [one[0] for one in lists]  # a second number counts visits, or is the best move
    numbers = numbers_of(values, keys)
    if len(pairs) == len(keys):
        shape = "a dictionary of position and move to a number"
        return by_moves(positions, [pair[1] for pair in pairs], numbers, board, shape)
    return Entries(keys, "a dictionary of position to value", numbers[None], sure_values=counted)


def _players_to_move(pairs: Sequence[tuple[Any, Any]], n_keys: int) -> bool:
    """Return whether keys are positions and the players to move there, as a search remembers them, not moves."""
    names = {str(pair[1]).lower() for pair in pairs}
    sure = len(pairs) >= MANY_MOVES or not any(map(is_decimal, names))
    known = len(names) <= 2 and names <= FIRST_NAMES | SECOND_NAMES | {"0", "true", "false"}
    return sure and known and len({str(pair[0]) for pair in pairs}) == n_keys


MANY_MOVES = 100
"""Positions from which on moves to play can show who begins; in fewer the first player has the usual mark.

So many positions with the value of one move each do not come from learning, but from a search that keeps the best.
"""

MOST_RIGHT = 0.9
"""Least share of moves on the board from which on a table is one of moves to play, and the others are mistakes."""


def moves_to_play(keys: Sequence[Any], moves: Iterable[list[Any]], board: Board) -> Entries:
    """Return the entries of a table that says which moves to play in each position: the number of each is 1."""
    listed = [(key, one) for key, each in zip(keys, moves, strict=True) for one in each]
    best = [one for _, one in listed]
    found = by_moves([key for key, _ in listed], best, np.ones(len(best)), board, TO_PLAY)
    return replace(found, listed=False, best=best)


TO_PLAY = "a table of positions and the moves to play, not of values"


def _listed_moves(values: list[Any], board: Board, *, named: bool) -> list[list[Any]] | None:
    """Return the moves to play in each position; None if the values may be anything else than moves.

    Moves are names such as `b2`, pairs of whole numbers on the board, lists of several lengths, or whatever is `named`
    so.
    """
    plain = [value.tolist() if isinstance(value, np.ndarray) else value for value in values]
    plain = [None if isinstance(value, float) and value != value else value for value in _occupied(plain)]
    lists = [[*value] if isinstance(value, list | tuple) else [] if value is None else [value] for value in plain]
    lengths = {len(each) for each in lists if each}
    whole = [[each] if each else [] for each in lists] if lengths == {2} else lists
    pairs = {_cell(each[0], board) for each in whole if each} if lengths in ({1}, {2}) else {None}
    most = max(board.rows, board.cols)
    right = [one for one in pairs if isinstance(one, tuple) and (one == (-1, -1) or 0 <= min(one) <= max(one) <= most)]
    many = len(right) > board.cells // 2 and len(right) >= MOST_RIGHT * len(pairs)
    if all(isinstance(one, tuple) for one in pairs) and (named or many or len(right) == len(pairs)):
        fractions = any(isinstance(one, float) for each in whole for pair in each for one in pair)
        lists, named = whole, named or many or not fractions
    texts = {one for each in lists for one in each if isinstance(one, str)}
    named = named or not all(map(is_decimal, texts))
    if not (named or len(lengths) > 1 or texts - {"-1", "0", "1"}):
        return None
    cells = [[_cell(one, board) for one in each] for each in lists if each]
    right_ones = sum(None not in each and len({*each}) == len(each) for each in cells)
    return lists if cells and right_ones >= (0.5 if named else MOST_RIGHT) * len(cells) else None


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


def _by_move_dictionaries(keys: list[Any], values: list[Any], board: Board) -> Entries:
    """Return the entries of a dictionary from positions to dictionaries from moves to numbers."""
    rows, moves, numbers = [], [], []
    for row, (key, value) in enumerate(zip(keys, values, strict=True)):
        if not isinstance(value, Mapping):
            raise FormatError(
                f"key {quoted(key)} holds {described(value)}; other keys hold moves with their numbers; give this "
                "key moves, too, or leave it out"
            )
        for move, number in value.items():
            rows.append(row)
            moves.append(move)
            numbers.append(number)
    shape = "a dictionary of position to a number for each move"
    found = by_moves(rows, moves, numbers_of(numbers, moves), board, shape)
    return replace(found, keys=keys, rows=np.array(rows, np.int64))


_COLUMNS = {
    "key": ("state", "board", "position", "pos", "key", "code", "hash", "state_hash", "board_state", "s", "obs"),
    "move": ("action", "move", "cell", "a", "act", "square", "best_move", "bestmove", "best_action"),
    "row": ("row", "r", "i"),
    "column": ("col", "column", "c", "j"),
    "value": ("value", "v", "q", "q_value", "qvalue", "q-value", "score", "val", "v(s)", "q(s,a)", "estimate"),
    "first": ("first", "value_first", "value_x", "x_value"),
    "second": ("second", "value_second", "value_o", "o_value"),
    "other": (
        *("visits", "visit", "count", "n", "index", "", "unnamed: 0", "to_move", "outcome", "best"),
        *("player", "turn", "mover", "ply", "depth"),
    ),
}
"""Known names of columns and of entries of records, by meaning."""


def named(meaning: str, names: Iterable[Any]) -> list[Any]:
    """Return those of `names` that have the given meaning, the most usual one first."""
    folded = {name: str(name).strip().lower() for name in names}
    usual = _COLUMNS[meaning]
    return [name for one in usual for name in folded if folded[name] == one or folded[name] == f"{one}s"]


def names_columns(fields: Iterable[str]) -> bool:
    """Return whether fields are names of columns: at least one names positions, moves or values."""
    known = [field for field in fields if not field.strip().isdigit() and len(field.strip()) > 1]
    return any(named(meaning, known) for meaning in ("key", "move", "value"))


def entries_of_columns(columns: Mapping[Any, Any], board: Board) -> Entries:
    """Return the entries of named columns.  Raises FormatError if no column holds positions, or none holds numbers."""
    lists = {name: column.tolist() if hasattr(column, "tolist") else list(column) for name, column in columns.items()}
    positions, rest = _positions(lists, board)
    if not positions:
        raise FormatError("its columns are empty; name a file of a trained table")

    def column(name: Any) -> list[Any]:
        if len(lists[name]) != len(positions):
            both = f"{count_text(len(lists[name]), 'entry', 'entries')} for {count_text(len(positions), 'position')}"
            raise FormatError(f"its column {quoted(name)} has {both}; save columns of the same length")
        return lists[name]

    value, moves = named("value", rest), named("move", rest)
    if (row := named("row", rest)) and (across := named("column", rest)) and (value or len(rest) == 2):
        lists["move"] = list(zip(column(row[0]), column(across[0]), strict=True))
        moves = rest = ["move"]
    if moves and str(moves[0]).lower().startswith("best"):
        return _of_pairs(positions, column(moves[0]), board, moves=True)
    if moves and value:
        numbers = numbers_of(column(value[0]), positions)
        return by_moves(positions, column(moves[0]), numbers, board, "columns of position, move and number")
    if (one := named("first", rest)) and (two := named("second", rest)):
        both = np.array([numbers_of(column(name), positions) for name in (one[0], two[0])])
        return Entries(positions, "columns of position and both players' values", both)
    if len(rest) >= board.cells:
        q = np.array([numbers_of(_occupied(column(name)), positions) for name in rest[-board.cells :]]).T
        return listed_entries(positions, q, "columns of position and a number for each cell")
    if not (value or moves) and len(rest) > 1:
        raise FormatError(f"several of its columns, {quoted(rest)}, may hold values; name one `value`, or one `move`")
    others = [name for name in rest if name not in moves]
    if moves and others and not value and len({*map(str, positions)}) < len(positions):
        raise FormatError(f"one of its columns, {quoted(others)}, may hold the values of moves; name it `value`")
    for name in [*value, *moves, *rest]:
        found = _of_pairs(positions, column(name), board, moves=name in moves)
        return replace(found, sure_values=found.sure_values or name in value)
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
    if len(rest) in (board.cells, 2 * board.cells) and len({len(lists[name]) for name in rest}) == 1:
        marks = rest[: board.cells]
        rows = [tuple(row) for row in zip(*(lists[name] for name in marks), strict=True)]
        return rows, [name for name in others if name not in marks]
    if rest and lists[rest[0]] and is_position(lists[rest[0]][0], board):
        return lists[rest[0]], [name for name in others if name != rest[0]]
    raise FormatError(f"none of its columns {quoted(list(lists))} holds positions; name one `state`")


def _occupied(column: list[Any]) -> list[Any]:
    """Return a column with None for the signs of occupied cells."""
    return [None if isinstance(each, str) and each.strip() in CELL_SIGNS else each for each in column]


def _of_frame(frame: Any, board: Board) -> Entries:
    """Return the entries of a frame: of its columns, or of its index as positions with columns of numbers."""
    names = [str(name) for name in frame.columns]
    frame = frame.astype(object).where(frame.notna(), None)
    columns = {name: frame.iloc[:, number].tolist() for number, name in enumerate(names)}
    index = frame.index.tolist()
    if index != list(range(len(index))) and index:
        if isinstance(index[0], tuple) and len(index[0]) == 2:
            columns = {"state": [one[0] for one in index], "action": [one[1] for one in index]} | columns
            if "value" not in columns and len(names) == 1:
                columns["value"] = columns.pop(names[0])
        elif is_position(index[0], board):
            columns = {"state": index} | columns
    return entries_of_columns(columns, board)
