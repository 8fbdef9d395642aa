"""`parquet`: a list of states as columns, through pyarrow.

code                       int64
board                      text, a character X, O or '.' for each cell
to_move                    text, `first` or `second`; null where the game is over
outcome                    text, `unfinished`, `first wins`, `second wins` or `draw`
value_first, value_second  double; or q0, q1, ... for each cell; null where the table has no entry
best                       list of int8, the cells that a greedy agent may pick
"""

import io
from typing import Any

import numpy as np

from ttt_batch.game.board import Board
from ttt_batch.runs.formats import base
from ttt_batch.runs.formats.base import OUTCOMES, STATES, TO_MOVE, VALUES, Format, FormatError, Table


def encode(table: Table, board: Board) -> bytes:
    """The file's bytes.  Raises FormatError if pyarrow is not installed."""
    pa, pq = _pyarrow()
    columns = base.columns_of(table, board.cells)
    for name, words in (("to_move", TO_MOVE), ("outcome", OUTCOMES)):
        columns[name] = [words[number] for number in columns[name].tolist()]
    for name in ("board", "to_move", "outcome"):
        columns[name] = pa.array(columns[name], pa.string())
    if "q" in columns:
        columns |= {f"q{cell}": np.ascontiguousarray(column) for cell, column in enumerate(columns.pop("q").T)}
    # NaN becomes null.
    columns = {name: pa.array(column, from_pandas=True) for name, column in columns.items()}
    ends = np.append(0, np.cumsum(np.count_nonzero(table.best, axis=1))).astype(np.int32)
    cells = np.nonzero(table.best)[1].astype(np.int8)
    columns["best"] = pa.ListArray.from_arrays(pa.array(ends), pa.array(cells))
    buffer = io.BytesIO()
    pq.write_table(pa.table(columns, metadata={"ttt-batch board": board.name}), buffer)
    return buffer.getvalue()


def decode(content: bytes, board: Board) -> Table:
    """The table in a file's bytes.  Raises FormatError for other columns, another board, and without pyarrow."""
    pa, pq = _pyarrow()
    try:
        file = pq.ParquetFile(pa.BufferReader(content))
        if file.metadata.num_rows > (most := base.most_states(board)):
            raise FormatError(f"it has {file.metadata.num_rows:,} rows, this board at most {most:,} states")
        table = file.read()
    except (pa.ArrowException, OSError, ValueError) as error:
        raise base.unreadable("the file is no parquet", error) from None
    base.check_board((table.schema.metadata or {}).get(b"ttt-batch board", b"").decode("utf-8", "replace"), board)
    actions = "q0" in table.column_names
    names = [f"q{cell}" for cell in range(board.cells)] if actions else VALUES
    lacking = [name for name in ("code", "outcome", "best", *names) if table.column_names.count(name) != 1]
    if lacking:
        raise FormatError(f"the file lacks column {lacking[0]}; name one that was exported as parquet")
    try:
        numbers = np.array([table[name].cast(pa.float64()).to_numpy() for name in names], dtype=np.float64)
        code = table["code"].cast(pa.int64()).to_numpy()
        outcome = np.array([OUTCOMES.index(text) for text in table["outcome"].to_pylist()], np.int8)
        best = np.zeros((code.size, board.cells), np.bool_)
        for state, cells in enumerate(table["best"].to_pylist()):
            best[state, cells] = True
    except (pa.ArrowException, ValueError, TypeError, IndexError) as error:
        raise base.unreadable("its columns are of other types", error) from None
    return Table(**({"q": numbers.T} if actions else {"value": numbers}), code=code, outcome=outcome, best=best)


def _pyarrow() -> Any:
    """The two modules of pyarrow that are needed.  Raises FormatError if it is not installed."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise FormatError(
            f"parquet needs pyarrow ({error}); install it with: pip install 'ttt-batch[parquet]'"
        ) from None
    return pa, pq


FORMAT = Format(
    name="parquet",
    meaning="columns, a row per state: board, outcome, values or action values, best cells (needs pyarrow)",
    suffix=".parquet",
    kinds=(STATES,),
    encode=encode,
    decode=decode,
    max_bytes=lambda board: 100_000 + base.most_states(board) * (100 + 10 * board.cells),  # not packed
)
