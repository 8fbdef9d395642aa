"""Lists of states as columns: `npz`, with NumPy arrays readable without `allow_pickle`, and `parquet`, by pyarrow.

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
"""

import io
import math
import zipfile
import zlib
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ttt_batch.base.files import unpacked_size
from ttt_batch.game.board import Board
from ttt_batch.runs.formats import base
from ttt_batch.runs.formats.base import MORE, OUTCOMES, STATES, TO_MOVE, VALUES, Format, FormatError, Table


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
