"""File formats with a row per code or per state: `csv`, `npy`, `raw`, `npz`, `parquet`, `json` and `jsonl`.

Action values in `csv`: a line for each code from 0 with a number for each cell, as written by
`numpy.savetxt(path, q, delimiter=",")`.  The program behind `minimax-q` uses this table.
Position values in `csv`: the header `code,board,first,second`, then a line for each code.  A line has the code, its
board as a character X, O or `.` for each cell, and the values of the first and second player; a missing value is empty.
Numbers in `csv` are read back to the last bit, except that -0 becomes 0.
Action values in `raw`: a row of cells for each code from 0.  The program behind `backward-q` uses this table with -1
for occupied cells: on 3x3, 19,683 x 9 doubles.
`npy`: action values as float64[codes, cells]; position values as float64[codes, 2], a column for each player.

Lists of states as columns: `npz`, with NumPy arrays readable without `allow_pickle`, and `parquet`, by pyarrow.
                             npz               parquet
rows_cols_k                  int64[3]                     the board; parquet has its name as metadata
code                         int64[S]          int64      sum(mark[i] * 3**i), marks 0 empty, 1 first, 2 second player
board                        text[S]           text       a character X, O or '.' for each cell
to_move                      int8[S], marks    text       `first` or `second`; 0 or null if the game is over
outcome                      int8[S]           text       0 `unfinished`, 1 `first wins`, 2 `second wins`, 3 `draw`
value_first, value_second    float64[S]        double     nan or null if the table has no entry; or instead of both:
q (parquet: q0, q1, ...)     float64[S,cells]  doubles    a number for each cell, nan or null
a, b (a0, ..., b0, ...)      float64[S,cells]  doubles    besides q: a learner's two tables; q is their mean
value                        float64[S]        double     besides q, then preferences: the state's value to its mover
best                         bool[S,cells]     int8 list  the cells that a greedy agent may pick

Lists of states as text: `json`, with an object and a line per state, and `jsonl`, with these lines only.
    {"board": "3x3", "rows": 3, "cols": 3, "k": 3, "states": [
    {"code": 0, "board": ".........", "to_move": "first", "outcome": "unfinished", "value": {...}, "best": [4]},
    ...

`to_move` is null if the game is over.  `best` lists the cells that a greedy agent may pick.
`value` is an object of the players' values, `{"first": 0.5, "second": 0.5}`.  A table of action values has instead
`q`, a list with a number for each cell.  With two tables of moves, these are `a` and `b`, and `q` is their mean.  If
`q` holds preferences, `value` is a number, the state's value to its mover.  Missing entries are null.
Reading needs only the board's name at the top, and each state's code and value or action values.  An outcome is
optional; it must be the one of this board.
"""

import io
import json
import math
import zipfile
import zlib
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ttt_batch.core.files import unpacked_size
from ttt_batch.core.text import SEATS
from ttt_batch.games.board import Board
from ttt_batch.runs.formats import base
from ttt_batch.runs.formats.base import (
    ACTION_VALUES,
    MAX_CELLS,
    MORE,
    OUTCOMES,
    POSITION_VALUES,
    STATES,
    TO_MOVE,
    UNSAID,
    VALUES,
    Format,
    FormatError,
    Table,
    other_board_hint,
    texts_of,
    unreadable_error,
)

HEADER = "code,board,first,second"


def _encode_text(table: Table, board: Board) -> bytes:
    if table.kind == ACTION_VALUES:
        buffer = io.BytesIO()
        np.savetxt(buffer, table.q + 0.0, delimiter=",")
        return buffer.getvalue()
    rows = zip(texts_of(np.arange(3**board.cells), board.cells), *table.value.tolist(), strict=True)
    lines = [f"{code},{text},{_field(first)},{_field(second)}" for code, (text, first, second) in enumerate(rows)]
    return ("\n".join([HEADER, *lines]) + "\n").encode()


def _decode_text(content: bytes, board: Board) -> Table:
    try:
        lines = content.decode("utf-8-sig").replace("\r\n", "\n").split("\n")
    except UnicodeDecodeError as error:
        raise FormatError(f"byte {error.start} is not UTF-8 text; name a csv file") from None
    if lines[-1] == "":
        lines.pop()
    if not lines:
        raise FormatError("the file is empty; name a csv file")
    if lines[0].replace(" ", "").lower() == HEADER:
        return _decode_values(lines[1:], board)
    return _decode_actions(lines, board)


def _decode_actions(lines: list[str], board: Board) -> Table:
    rows = []
    for number, line in enumerate(lines, 1):
        fields = line.split(",")
        if len(fields) != board.cells:
            raise FormatError(
                f"line {number} has {len(fields)} numbers; it must have {board.cells}, one for each cell of board "
                f"{board.name}; give the table's own board, or (position values) put the header {HEADER!r} first"
            )
        rows.append([_number(field, number) for field in fields])
        if number > 3**board.cells:
            break
    _check_lines(len(lines), board, "")
    return Table(q=np.array(rows))


def _decode_values(lines: list[str], board: Board) -> Table:
    value = np.full((2, 3**board.cells), np.nan)
    texts = texts_of(np.arange(3**board.cells), board.cells)
    for code, (line, text) in enumerate(zip(lines, texts, strict=False)):
        number = code + 2
        fields = [field.strip() for field in line.split(",")]
        if len(fields) != 4:
            raise FormatError(f"line {number} has {len(fields)} fields; it must have 4, {HEADER!r}; fix the line")
        if fields[:2] != [str(code), text]:
            raise FormatError(
                f"line {number} has code {fields[0]:.20} and board {fields[1]:.40} instead of {code} and {text}; "
                f"give the table's own board instead of {board.name}, or put the lines in order"
            )
        for player, field in enumerate(fields[2:]):
            if field:
                value[player, code] = _number(field, number)
    _check_lines(len(lines), board, " after the header")
    return Table(value)


def _check_lines(found: int, board: Board, where: str) -> None:
    if found != 3**board.cells:
        hint = other_board_hint(found, lambda cells: 3**cells)
        raise FormatError(
            f"the file has {found:,} lines{where}{hint}; board {board.name} has {3**board.cells:,} codes, a line each; "
            "give the table's own board, or export it again"
        )


def _number(field: str, line: int) -> float:
    try:
        # Python reads 1_0 as 10, but other programs do not.
        if "_" not in field and math.isfinite(value := float(field)):
            return value
    except ValueError:
        pass
    raise FormatError(f"line {line} holds {field.strip()!r:.40} instead of a finite number; fix the line")


def _field(value: float) -> str:
    return "" if math.isnan(value) else repr(value + 0.0)


def _encode_doubles(table: Table, board: Board) -> bytes:
    doubles: bytes = table.q.astype("<f8").tobytes()
    return doubles


def _decode_doubles(content: bytes, board: Board) -> Table:
    expected = _size(board.cells)
    if len(content) != expected:
        hint = other_board_hint(len(content), _size)
        raise FormatError(
            f"the file has {len(content):,} bytes{hint}; board {board.name} takes {3**board.cells:,} x {board.cells} "
            f"doubles, {expected:,} bytes; give the table's own board, or export it again"
        )
    q = np.frombuffer(content, dtype="<f8").reshape(3**board.cells, board.cells).astype(np.float64)
    for code, cell in np.argwhere(np.isnan(q)):
        raise FormatError(f"the number for code {code}, cell {cell} is nan; a table holds finite numbers only")
    return Table(q=q)


def _encode_array(table: Table, board: Board) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, np.ascontiguousarray(table.value.T) if table.q is None else table.q, allow_pickle=False)
    return buffer.getvalue()


def _decode_array(content: bytes, board: Board) -> Table:
    try:
        found = np.load(io.BytesIO(content), allow_pickle=False)
    except (OSError, ValueError, EOFError, MemoryError, SyntaxError):
        raise unreadable_error("the file does not hold an array of numbers") from None
    codes = 3**board.cells
    if found.dtype == np.float64 and found.shape == (codes, 2) and board.cells != 2:
        return Table(np.ascontiguousarray(found.T))
    if found.dtype == np.float64 and found.shape == (codes, board.cells):
        return Table(q=np.ascontiguousarray(found))
    raise FormatError(
        f"the array is {found.dtype}{list(found.shape)}; it must be float64[{codes}, {board.cells}], a number for each "
        f"code and cell, or float64[{codes}, 2], a number for each code and player"
    )


def _size(cells: int) -> int:
    return int(8 * 3**cells * cells)


TEXT = Format(
    name="csv",
    meaning="a line per code: the numbers of all cells, or the board and both players' values",
    suffix=".csv",
    kinds=(POSITION_VALUES, ACTION_VALUES),
    encode=_encode_text,
    decode=_decode_text,
    max_bytes=lambda board: 4096 + 64 * int(3**board.cells) * max(board.cells, 2),  # `savetxt` writes 25 bytes
)
DOUBLES = Format(
    name="raw",
    meaning="little-endian doubles, a row of cells for each code; the file of the program behind backward-q",
    suffix=".bin",
    kinds=(ACTION_VALUES,),
    encode=_encode_doubles,
    decode=_decode_doubles,
    max_bytes=lambda _: _size(MAX_CELLS),  # `_decode_doubles` gives a better message for a wrong size
)
ARRAY = Format(
    name="npy",
    meaning="a NumPy array by code: the numbers of all cells, or both players' values",
    suffix=".npy",
    kinds=(POSITION_VALUES, ACTION_VALUES),
    encode=_encode_array,
    decode=_decode_array,
    max_bytes=lambda board: 4096 + max(_size(board.cells), 16 * int(3**board.cells)),
)


def _encode_arrays(table: Table, board: Board) -> bytes:
    arrays = {"rows_cols_k": np.array([board.rows, board.cols, board.k]), **base.state_columns(table, board.cells)}
    arrays |= {"board": np.array(arrays["board"], dtype=f"U{board.cells}"), "best": table.best}
    buffer = io.BytesIO()
    np.savez_compressed(buffer, allow_pickle=False, **arrays)
    return buffer.getvalue()


def _decode_arrays(content: bytes, board: Board) -> Table:
    try:
        size = unpacked_size(io.BytesIO(content))
        if size > (most := ARRAYS.max_bytes(board)):  # a few packed bytes can unpack to a huge size
            raise FormatError(f"its arrays take {size:,} bytes; those of this board take at most {most:,}")
        _check_heads(content, most)
        with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
            found = {name: arrays[name] for name in arrays.files}
    except (OSError, ValueError, EOFError, KeyError, MemoryError, NotImplementedError, zipfile.BadZipFile, zlib.error):
        raise base.unreadable_error("the file does not hold NumPy arrays") from None
    needed = {"rows_cols_k", "code", "outcome", "best", *(["q"] if "q" in found else VALUES)}
    if lacking := sorted(needed - set(found)):
        raise FormatError(f"the file lacks the array {lacking[0]}; name one that was exported as npz")
    shape = found["rows_cols_k"].ravel().tolist()
    if shape != [board.rows, board.cols, board.k]:
        base.check_board("x".join(map(str, shape)), board)
    try:
        values = None if "q" in found else np.array([found[name] for name in VALUES], dtype=np.float64)
        more = {name: found[name] for name in MORE if "q" in found and name in found}
        return Table(values, found.get("q"), found["code"], found["outcome"], found["best"], more)
    except (ValueError, TypeError):
        raise FormatError("its values are not two rows of numbers; export the table again") from None


def _check_heads(content: bytes, most: int) -> None:
    """Raise FormatError for an array of more than `most` bytes or items, by its header; ValueError for a bad header.

    Items of a zero-byte type take no space in the file, so their number is limited, too.
    """
    with zipfile.ZipFile(io.BytesIO(content)) as packed:
        for name in packed.namelist():
            with packed.open(name) as file:
                shape, dtype = array_head(file)
            if math.prod(shape) * max(dtype.itemsize, 1) > most:
                raise FormatError(f"its array {name[:40]!r} is larger than any of this board; name another file")


def array_head(file: Any) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Return shape and dtype of the array in an open .npy file.  Raises ValueError if its header is unreadable."""
    try:
        version = np.lib.format.read_magic(file)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, _, dtype = read(file)
    except Exception:  # a damaged header can raise nearly anything, also from Python's own parser
        raise ValueError("no header of an array") from None
    return shape, dtype


def _check_chunks(metadata: Any, board: Board, wanted: Collection[str]) -> None:
    """Raise FormatError if columns of a parquet file hold more than this board's, or text in place of numbers.

    The check protects memory: a few packed bytes can unpack to many long lists or texts.
    """
    most = COLUMNS.max_bytes(board)
    for group in range(metadata.num_row_groups):
        row_group = metadata.row_group(group)
        for chunk in map(row_group.column, range(row_group.num_columns)):
            name = chunk.path_in_schema.split(".")[0]
            if name not in wanted:
                continue
            if chunk.num_values > base.most_states(board) * board.cells or chunk.total_uncompressed_size > most:
                raise FormatError(f"its column {name} holds more than this board has; name another file")
            if name != "outcome" and "BYTE_ARRAY" in chunk.physical_type:
                raise FormatError("its columns are of other types; export it again")


def _encode_columns(table: Table, board: Board) -> bytes:
    pa, pq = pyarrow()
    columns = base.state_columns(table, board.cells)
    for name, words in (("to_move", TO_MOVE), ("outcome", OUTCOMES)):
        columns[name] = [words[number] for number in columns[name].tolist()]
    for name in ("board", "to_move", "outcome"):
        columns[name] = pa.array(columns[name], pa.string())
    for wide in [name for name in ("q", *MORE) if name in columns and np.ndim(columns[name]) == 2]:
        columns |= {f"{wide}{cell}": np.ascontiguousarray(column) for cell, column in enumerate(columns.pop(wide).T)}
    columns = {name: pa.array(column, from_pandas=True) for name, column in columns.items()}  # NaN becomes null
    ends = np.append(0, np.cumsum(np.count_nonzero(table.best, axis=1))).astype(np.int32)
    cells = np.nonzero(table.best)[1].astype(np.int8)
    columns["best"] = pa.ListArray.from_arrays(pa.array(ends), pa.array(cells))
    buffer = io.BytesIO()
    pq.write_table(pa.table(columns, metadata={"ttt-batch board": board.name}), buffer)
    return buffer.getvalue()


def _decode_columns(content: bytes, board: Board) -> Table:
    pa, pq = pyarrow()
    try:
        file = pq.ParquetFile(pa.BufferReader(content), read_dictionary=["outcome"])
        if file.metadata.num_rows > (most := base.most_states(board)):
            raise FormatError(f"it has {file.metadata.num_rows:,} rows; this board has at most {most:,} states")
        wanted = {"code", "outcome", "best", *VALUES}.union(*(_columns_for(name, board) for name in ("q", *MORE)))
        _check_chunks(file.metadata, board, wanted)
        table = file.read(columns=[name for name in file.schema_arrow.names if name in wanted])
    except (pa.ArrowException, OSError, ValueError):
        raise base.unreadable_error("the file is not parquet") from None
    base.check_board((table.schema.metadata or {}).get(b"ttt-batch board", b"").decode("utf-8", "replace"), board)
    actions = "q0" in table.column_names
    names = _columns_for("q", board) if actions else VALUES
    beside = {name: _columns_for(name, board) for name in MORE if actions}
    beside = {name: each for name, each in beside.items() if set(each) <= set(table.column_names)}
    lacking = [name for name in ("code", "outcome", "best", *names) if table.column_names.count(name) != 1]
    if lacking:
        raise FormatError(f"the file lacks column {lacking[0]}; name one that was exported as parquet")
    try:
        numbers = _numbers(table, names, pa)
        more = {name: _numbers(table, each, pa).T for name, each in beside.items()}
        code = table["code"].cast(pa.int64()).to_numpy()
        texts = table["outcome"].combine_chunks()
        kinds = np.array([OUTCOMES.index(text) for text in texts.dictionary.to_pylist()], np.int8)
        outcome = kinds[texts.indices.to_numpy()]
        best = np.zeros((code.size, board.cells), np.bool_)
        for state, cells in enumerate(table["best"].to_pylist()):
            best[state, cells] = True
    except (pa.ArrowException, ValueError, TypeError, IndexError, AttributeError):
        raise FormatError("its columns are of other types; export it again") from None
    if not actions:
        return Table(numbers, code=code, outcome=outcome, best=best)
    more = {name: array if MORE[name] else array[:, 0] for name, array in more.items()}
    return Table(q=numbers.T, code=code, outcome=outcome, best=best, more=more)


def _columns_for(name: str, board: Board) -> list[str]:
    """Return the parquet columns of `q` or of an array of MORE."""
    return [f"{name}{cell}" for cell in range(board.cells)] if MORE.get(name, True) else [name]


def _numbers(table: Any, names: Sequence[str], pa: Any) -> NDArray[np.float64]:
    """Return columns of parquet as float64[columns, S], with nan for null."""
    return np.array([table[name].cast(pa.float64()).to_numpy() for name in names], dtype=np.float64)


def pyarrow() -> Any:
    """Return the modules `pyarrow` and `pyarrow.parquet`.  Raises FormatError if pyarrow is not installed."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise FormatError(
            f"parquet needs pyarrow ({error}); install it with: pip install 'ttt-batch[parquet]'"
        ) from None
    return pa, pq


ARRAYS = Format(
    name="npz",
    meaning="NumPy arrays, a row per state: board, outcome, values or action values, best cells",
    suffix=".npz",
    kinds=(STATES,),
    encode=_encode_arrays,
    decode=_decode_arrays,
    max_bytes=lambda board: 10_000 + base.most_states(board) * (80 + 30 * board.cells),  # uncompressed
)
COLUMNS = Format(
    name="parquet",
    meaning="columns, a row per state: board, outcome, values or action values, best cells (needs pyarrow)",
    suffix=".parquet",
    kinds=(STATES,),
    encode=_encode_columns,
    decode=_decode_columns,
    max_bytes=lambda board: 100_000 + base.most_states(board) * (120 + 26 * board.cells),  # uncompressed
)


def _encode(table: Table, board: Board) -> bytes:
    head = {"board": board.name, "rows": board.rows, "cols": board.cols, "k": board.k}
    columns = base.state_columns(table, board.cells)
    texts, movers, outcomes = columns["board"], columns["to_move"].tolist(), table.outcome.tolist()
    numbers: list[Any]
    more = {name: _or_none(array) for name, array in table.more.items()}
    if table.value is None:
        name, numbers = "q", _or_none(columns["q"])
    else:
        name, numbers = "value", [dict(zip(SEATS, pair, strict=True)) for pair in _or_none(table.value.T)]
    lines = []
    for i, code in enumerate(table.code.tolist()):
        state = {"code": code, "board": texts[i], "to_move": TO_MOVE[movers[i]], "outcome": OUTCOMES[outcomes[i]]}
        state |= {
            name: numbers[i],
            **{key: array[i] for key, array in more.items()},
            "best": np.flatnonzero(table.best[i]).tolist(),
        }
        lines.append(json.dumps(state, allow_nan=False))
    return (json.dumps(head)[:-1] + ', "states": [\n' + ",\n".join(lines) + "\n]}\n").encode()


def reject_constant(name: str) -> None:
    """Raise ValueError for NaN and infinity, which JSON does not allow."""
    raise ValueError(f"{name} is not a JSON number")


def _decode(content: bytes, board: Board) -> Table:
    try:
        whole = json.loads(content, parse_constant=reject_constant)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise FormatError(f"the file is not valid JSON from {place} on; export it again") from None
    except (ValueError, RecursionError):
        raise base.unreadable_error("the file is not valid JSON") from None
    states = whole.get("states") if isinstance(whole, dict) else None
    if not isinstance(states, list) or not all(isinstance(state, dict) for state in states):
        raise FormatError("the file has no list of states; name one that was exported as json")
    base.check_board(str(whole.get("board", "")), board)
    actions = bool(states) and "q" in states[0]
    width = board.cells if actions else 2
    code, outcome = np.zeros(len(states), np.int64), np.zeros(len(states), np.int8)
    table, best = np.zeros((len(states), width)), np.zeros((len(states), board.cells), np.bool_)
    for number, state in enumerate(states):
        code[number] = _whole(state.get("code"), 3**board.cells, number)
        table[number] = _state_numbers(state, actions, width, number)
        outcome[number] = _outcome(state, number)
        listed = state.get("best", [])
        if not isinstance(listed, list):
            raise FormatError(f"state {number}: best {listed!r:.40} is not a list of cells; export the table again")
        for cell in listed:
            best[number, _whole(cell, board.cells, number)] = True
    if not actions:
        return Table(table.T, code=code, outcome=outcome, best=best)
    more = {name: _beside(states, name, board.cells) for name in MORE if name in states[0]}
    return Table(q=table, code=code, outcome=outcome, best=best, more=more)


def _outcome(state: dict[str, Any], number: int) -> int:
    """Return the outcome of a state, UNSAID if the file has none."""
    found = state.get("outcome")
    if found is not None and found not in OUTCOMES:
        raise FormatError(f"state {number}: outcome {found!r:.40} must be one of {', '.join(OUTCOMES)}; fix the entry")
    return UNSAID if found is None else OUTCOMES.index(found)


def _whole(value: Any, end: int, state: int) -> int:
    """Return `value`, an integer from 0 to `end` - 1.  Raises FormatError for another value."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < end:
        raise FormatError(
            f"state {state}: {value!r:.40} is not a whole number from 0 to {end - 1}; export the table again"
        )
    return value


def _beside(states: list[dict[str, Any]], name: str, cells: int) -> NDArray[np.float64]:
    """Return the array of MORE under a name: a number for each state and cell, or for each state."""
    if MORE[name]:
        return np.array([_state_numbers(state, True, cells, i, name) for i, state in enumerate(states)])
    return np.array([_listed([state.get(name)], i) for i, state in enumerate(states)])[:, 0]


def _state_numbers(state: dict[str, Any], actions: bool, width: int, number: int, name: str = "q") -> list[float]:
    """Return the values of both players, or of every cell, with nan for null."""
    found = state.get(name) if actions else state.get("value")
    if not actions and isinstance(found, dict):
        found = [found.get(player) for player in SEATS]
    if not isinstance(found, list) or len(found) != width:
        what = f"{name}, a number for each of {width} cells" if actions else "value, a number for each player"
        raise FormatError(f"state {number} has no {what}; export the table again")
    return _listed(found, number)


def _listed(found: list[Any], number: int) -> list[float]:
    """Return the numbers of a list, with nan for null."""
    if not all(each is None or (isinstance(each, int | float) and not isinstance(each, bool)) for each in found):
        raise FormatError(f"state {number} has {found!r:.60}; it must have only numbers; export the table again")
    try:
        return [float("nan") if each is None else float(each) for each in found]
    except OverflowError:
        raise FormatError(f"state {number} has a number too large for a float; export the table again") from None


def _or_none(numbers: NDArray[np.float64]) -> list[Any]:
    """Return numbers, float64[N, M] or float64[N], as lists with None for nan and 0.0 for -0.0."""

    def one(number: float) -> float | None:
        return None if number != number else number + 0.0

    return [[one(number) for number in row] if numbers.ndim > 1 else one(row) for row in numbers.tolist()]


def _encode_lines(table: Table, board: Board) -> bytes:
    lines = _encode(table, board).splitlines()[1:-1]
    return b"".join(line.removesuffix(b",") + b"\n" for line in lines)


def _decode_lines(content: bytes, board: Board) -> Table:
    states = b",".join(line for line in content.splitlines() if line.strip())
    if not states:
        raise base.unreadable_error("the file is empty")
    return _decode(b'{"board": "%s", "states": [%s]}' % (board.name.encode(), states), board)


FORMAT = Format(
    name="json",
    meaning="an object per state: board, outcome, values or action values, best cells",
    suffix=".json",
    kinds=(STATES,),
    encode=_encode,
    decode=_decode,
    max_bytes=lambda board: 10_000 + base.most_states(board) * (300 + 100 * board.cells),  # 25 digits a number
)
LINES = replace(
    FORMAT,
    name="jsonl",
    meaning="the objects of json alone, a line each, without the board's name",
    suffix=".jsonl",
    encode=_encode_lines,
    decode=_decode_lines,
)
