"""Formats of arrays: `npy` and `raw`, a row for each position code, and `npz` and `parquet`, columns of states.

Action values in `raw`: a row of cells for each code from 0.  The program behind `backward-q` uses this table with -1
for occupied cells: on 3x3, 19,683 x 9 doubles.
`npy`: action values as float64[codes, cells]; position values as float64[codes, 2], a column for each player.

Lists of states as columns: `npz`, with NumPy arrays readable without `allow_pickle`, and `parquet`, by pyarrow.
                             npz               parquet
rows_cols_k                  int64[3]                     the board; parquet has its name as metadata
board_name                   text                         besides, for a board with other rules, such as gravity
code                         int64[S]          int64      sum(mark[i] * 3**i), marks 0 empty, 1 first, 2 second player
board                        text[S]           text       a character X, O or '.' for each cell
to_move                      int8[S], marks    text       `first` or `second`; 0 or null if the game is over
outcome                      int8[S]           text       0 `unfinished`, 1 `first wins`, 2 `second wins`, 3 `draw`
value_first, value_second    float64[S]        double     nan or null if the table has no entry; or instead of both:
q (parquet: q0, q1, ...)     float64[S,cells]  doubles    a number for each cell, nan or null
a, b (a0, ..., b0, ...)      float64[S,cells]  doubles    besides q: a learner's two tables; q is their mean
value                        float64[S]        double     besides q, then preferences: the state's value to its mover
best                         bool[S,cells]     int8 list  the cells that a greedy agent may pick
"""

import io
import math
import zipfile
import zlib
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ttt_batch.games.board import Board, most_positions
from ttt_batch.runs.formats import base

BOARD = b"ttt-batch board"
"""Key of the board's name in the metadata of our parquet files."""


def _encode_doubles(table: base.Table, board: Board) -> bytes:
    doubles: bytes = table.q.astype("<f8").tobytes()
    return doubles


def _decode_doubles(content: bytes, board: Board) -> base.Table:
    expected = _size(board.cells)
    if len(content) != expected:
        hint = base.other_board_hint(len(content), _size)
        raise base.FormatError(
            f"the file has {len(content):,} bytes{hint}; board {board.name} takes {3**board.cells:,} x {board.cells} "
            f"doubles, {expected:,} bytes; give the table's own board, or export it again"
        )
    q = np.frombuffer(content, dtype="<f8").reshape(3**board.cells, board.cells).astype(np.float64)
    for code, cell in np.argwhere(np.isnan(q)):
        raise base.FormatError(f"the number for code {code}, cell {cell} is nan; a table holds finite numbers only")
    return base.Table(q=q)


def _encode_array(table: base.Table, board: Board) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, np.ascontiguousarray(table.value.T) if table.q is None else table.q, allow_pickle=False)
    return buffer.getvalue()


def _decode_array(content: bytes, board: Board) -> base.Table:
    found, codes = array_in(content, "the array"), 3**board.cells
    if not isinstance(found, np.ndarray):
        raise base.unreadable_error("the file does not hold an array of numbers")
    if found.dtype == np.float64 and found.shape == (codes, 2) and board.cells != 2:
        return base.Table(np.ascontiguousarray(found.T))
    if found.dtype == np.float64 and found.shape == (codes, board.cells):
        return base.Table(q=np.ascontiguousarray(found))
    raise base.FormatError(
        f"the array is {found.dtype}{list(found.shape)}; it must be float64[{codes}, {board.cells}], a number for each "
        f"code and cell, or float64[{codes}, 2], a number for each code and player"
    )


def array_in(content: bytes, what: str) -> Any:
    """Return the array of numbers or text in a .npy file, or the pickle (bytes) of its objects.

    what: the array in messages.  Raises FormatError if it is damaged, or its header declares another size.
    """
    stream = io.BytesIO(content)
    try:
        version = np.lib.format.read_magic(stream)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, _, dtype = read(stream)
    except Exception:  # a damaged header can raise nearly anything, also from Python's own parser
        raise base.unreadable_error("the file is not a NumPy array") from None
    begin = stream.tell()
    if dtype.hasobject:
        return content[begin:]
    # An axis of length 0, or text without letters, takes no bytes, so the header could declare any number of items.
    if 0 in shape:
        raise base.FormatError(f"{what} is empty; name another file")
    if not dtype.itemsize or dtype.itemsize * math.prod(shape) != len(content) - begin:
        raise base.FormatError(f"{what} is larger than any of this board, or cut off; name another file")
    if dtype.kind not in "fiuUb":
        raise base.unreadable_error(f"{what} holds {dtype.name}, not numbers")
    try:
        return np.load(io.BytesIO(content), allow_pickle=False)
    except (ValueError, OSError, EOFError, MemoryError):  # such as an unknown version, or lengths below 0
        raise base.unreadable_error("the file is not a NumPy array") from None


def arrays_in(content: bytes, most: int, wanted: Collection[str] | None = None) -> dict[str, Any]:
    """Return the arrays of a .npz file by name, each as from `array_in`.

    most: bytes of all together.  wanted: names of the arrays to read; None for all.  Raises FormatError.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as packed:
            entries = [entry for entry in packed.infolist() if entry.filename.endswith(".npy")]
            entries = [entry for entry in entries if wanted is None or entry.filename[:-4] in wanted]
            if (size := sum(entry.file_size for entry in entries)) > most:  # a few packed bytes can unpack to many
                limit = f"those of this board take at most {most:,}"
                raise base.FormatError(f"its arrays take {size:,} bytes; {limit}; give the table's own board")
            files = {entry.filename: packed.read(entry) for entry in entries}
    except (OSError, ValueError, EOFError, KeyError, MemoryError, NotImplementedError, zipfile.BadZipFile, zlib.error):
        raise base.unreadable_error("the file does not hold NumPy arrays") from None
    return {name.removesuffix(".npy"): array_in(file, f"its array {name[:40]!r}") for name, file in files.items()}


def _size(cells: int) -> int:
    return int(8 * 3**cells * cells)


DOUBLES = base.Format(
    name="raw",
    meaning="little-endian doubles, a row of cells for each code; the file of the program behind backward-q",
    suffix=".bin",
    kinds=(base.ACTION_VALUES,),
    encode=_encode_doubles,
    decode=_decode_doubles,
    max_bytes=lambda _: _size(base.MAX_CELLS),  # `_decode_doubles` gives a better message for a wrong size
)
ARRAY = base.Format(
    name="npy",
    meaning="a NumPy array by code: the numbers of all cells, or both players' values",
    suffix=".npy",
    kinds=(base.POSITION_VALUES, base.ACTION_VALUES),
    encode=_encode_array,
    decode=_decode_array,
    max_bytes=lambda board: 4096 + max(_size(board.cells), 16 * int(3**board.cells)),
    endings=(".npy",),
)


def _encode_arrays(table: base.Table, board: Board) -> bytes:
    arrays = {"rows_cols_k": np.array([board.rows, board.cols, board.k]), **base.state_columns(table, board.cells)}
    arrays |= {"board_name": np.array(board.name)} if board.rules else {}
    arrays |= {"board": np.array(arrays["board"], dtype=f"U{board.cells}"), "best": table.best}
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)  # the oldest NumPy would write `allow_pickle` as an array
    return buffer.getvalue()


def _decode_arrays(content: bytes, board: Board) -> base.Table:
    said = _columns_of_arrays(content, board, {"rows_cols_k", "board_name"})
    shape = np.ravel(said.get("rows_cols_k", ())).tolist()
    usual = board.name if shape in ([], [board.rows, board.cols, board.k]) else "x".join(map(str, shape))
    names = np.ravel(said.get("board_name", usual)).tolist()
    base.check_board(" ".join(map(str, names)), board)
    wanted = {"rows_cols_k", "code", "outcome", "best", "q", *base.VALUES, *base.MORE}
    return _table_of(_checked(_columns_of_arrays(content, board, wanted), "array", "npz", "rows_cols_k"))


def _columns_of_arrays(content: bytes, board: Board, wanted: Collection[str]) -> dict[str, Any]:
    """Return the arrays `wanted` of a .npz file by name.  Raises FormatError, also for pickled objects."""
    found = arrays_in(content, ARRAYS.max_bytes(board), wanted)
    if any(isinstance(one, bytes) for one in found.values()):  # pickled objects
        raise base.unreadable_error("the file does not hold NumPy arrays")
    return found


def _checked(found: Mapping[str, Any], what: str, form: str, *needed: str) -> Mapping[str, Any]:
    """Return the columns of a file.  Raises FormatError if it lacks one that a list of states needs."""
    names = {"code", "outcome", "best", *needed, *(["q"] if "q" in found else base.VALUES)}
    if lacking := sorted(names - found.keys()):
        raise base.FormatError(f"the file lacks {what} {lacking[0]}; name one that was exported as {form}")
    return found


def _table_of(columns: Mapping[str, Any]) -> base.Table:
    """Return the list of states in columns, the reverse of `state_columns`."""
    try:
        values = None if "q" in columns else np.array([columns[name] for name in base.VALUES], dtype=np.float64)
    except (ValueError, TypeError):
        raise base.FormatError("its values are not two rows of numbers; export the table again") from None
    more = {name: columns[name] for name in base.MORE if "q" in columns and name in columns}
    return base.Table(values, columns.get("q"), columns["code"], columns["outcome"], columns["best"], more)


def columns_in(content: bytes, most: int, room: int, wanted: Collection[str] | None = None) -> Any:
    """Return the columns of a parquet file as a pyarrow table, in which texts are dictionaries.

    most: rows.  room: bytes of a column, since a few packed bytes can unpack to a long list or to many long texts.
    wanted: the columns to read, by default all.  Raises FormatError.
    """
    pa, pq = pyarrow()
    try:
        file, texts = pq.ParquetFile(pa.BufferReader(content)), set()
        if file.metadata.num_rows > most:
            raise base.FormatError(f"it has {file.metadata.num_rows:,} rows; this board has at most {most:,}")
        names = [name for name in file.schema_arrow.names if wanted is None or name in wanted]
        for group in map(file.metadata.row_group, range(file.metadata.num_row_groups)):
            for chunk in map(group.column, range(group.num_columns)):
                path, text = chunk.path_in_schema, "BYTE_ARRAY" in chunk.physical_type
                name = path.split(".")[0]
                large = 8 * chunk.num_values > room or chunk.total_uncompressed_size > room
                read = wanted is None or name in wanted
                if read and (large or (text and "." in path and path not in names)):
                    raise base.FormatError(
                        f"its column {name[:40]} holds more than this board has, or texts in lists; name another file"
                    )
                texts |= {path} if text else set()
        return pq.ParquetFile(pa.BufferReader(content), read_dictionary=sorted(texts)).read(columns=names)
    except (pa.ArrowException, OSError, ValueError):
        raise base.unreadable_error("the file is not parquet") from None


def _encode_columns(table: base.Table, board: Board) -> bytes:
    pa, pq = pyarrow()
    columns = base.state_columns(table, board.cells)
    for name, words in (("to_move", base.TO_MOVE), ("outcome", base.OUTCOMES)):
        columns[name] = [words[number] for number in columns[name].tolist()]
    for name in ("board", "to_move", "outcome"):
        columns[name] = pa.array(columns[name], pa.string())
    for wide in [name for name in ("q", *base.MORE) if name in columns and np.ndim(columns[name]) == 2]:
        columns |= {f"{wide}{cell}": np.ascontiguousarray(column) for cell, column in enumerate(columns.pop(wide).T)}
    columns = {name: pa.array(column, from_pandas=True) for name, column in columns.items()}  # NaN becomes null
    ends = np.append(0, np.cumsum(np.count_nonzero(table.best, axis=1))).astype(np.int32)
    cells = np.nonzero(table.best)[1].astype(np.int8)
    columns["best"] = pa.ListArray.from_arrays(pa.array(ends), pa.array(cells))
    buffer = io.BytesIO()
    pq.write_table(pa.table(columns, metadata={BOARD: board.name}), buffer)
    return buffer.getvalue()


def _decode_columns(content: bytes, board: Board) -> base.Table:
    pa, _ = pyarrow()
    wide = {name: _columns_for(name, board) for name in ("q", *base.MORE)}
    wanted = {"code", "outcome", "best", *base.VALUES}.union(*wide.values())
    table = columns_in(content, most_positions(board), COLUMNS.max_bytes(board), wanted)
    base.check_board((table.schema.metadata or {}).get(BOARD, b"").decode("utf-8", "replace"), board)
    names = [name for name in table.column_names if table.column_names.count(name) == 1]
    if "q0" in table.column_names and (lacking := [part for part in wide["q"] if part not in names]):
        raise base.FormatError(f"the file lacks column {lacking[0]}; name one that was exported as parquet")
    found = {name: table[name] for name in ("code", "outcome", "best") if name in names}
    try:
        found |= {name: _numbers(table, [name], pa)[0] for name in base.VALUES if name in names}
        for name, parts in wide.items():
            if set(parts) <= set(names):
                numbers = _numbers(table, parts, pa)
                found[name] = numbers.T if base.MORE.get(name, True) else numbers[0]
        columns = dict(_checked(found, "column", "parquet"))
        columns["code"] = columns["code"].cast(pa.int64()).to_numpy()
        texts = columns["outcome"].combine_chunks()
        kinds = np.array([base.OUTCOMES.index(text) for text in texts.dictionary.to_pylist()], np.int8)
        columns["outcome"] = kinds[texts.indices.to_numpy()]
        best = np.zeros((len(columns["code"]), board.cells), np.bool_)
        for state, cells in enumerate(columns["best"].to_pylist()):
            best[state, cells] = True
    except (pa.ArrowException, ValueError, TypeError, IndexError, AttributeError):
        raise base.FormatError("its columns are of other types; export it again") from None
    return _table_of(columns | {"best": best})


def _columns_for(name: str, board: Board) -> list[str]:
    """Return the parquet columns of `q` or of an array of MORE."""
    return [f"{name}{cell}" for cell in range(board.cells)] if base.MORE.get(name, True) else [name]


def _numbers(table: Any, names: Sequence[str], pa: Any) -> NDArray[np.float64]:
    """Return columns of parquet as float64[columns, S], with nan for null."""
    return np.array([table[name].cast(pa.float64()).to_numpy() for name in names], dtype=np.float64)


def pyarrow() -> Any:
    """Return the modules `pyarrow` and `pyarrow.parquet`.  Raises FormatError if pyarrow is not installed."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise base.FormatError(
            f"parquet needs pyarrow ({error}); install it with: pip install 'ttt-batch[parquet]'"
        ) from None
    return pa, pq


ARRAYS = base.Format(
    name="npz",
    meaning="NumPy arrays, a row per state: board, outcome, values or action values, best cells",
    suffix=".npz",
    kinds=(base.STATES,),
    encode=_encode_arrays,
    decode=_decode_arrays,
    max_bytes=lambda board: 10_000 + most_positions(board) * (80 + 30 * board.cells),  # uncompressed
    endings=(".npz",),
    mark=b"rows_cols_k.npy",
)
COLUMNS = base.Format(
    name="parquet",
    meaning="columns, a row per state: board, outcome, values or action values, best cells (needs pyarrow)",
    suffix=".parquet",
    kinds=(base.STATES,),
    encode=_encode_columns,
    decode=_decode_columns,
    max_bytes=lambda board: 100_000 + most_positions(board) * (120 + 26 * board.cells),  # uncompressed
    endings=(".parquet", ".pq"),
    mark=BOARD,
)
