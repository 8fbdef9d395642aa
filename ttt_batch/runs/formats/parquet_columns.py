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
from ttt_batch.runs.formats.base import (
    OUTCOMES,
    TO_MOVE,
    Format,
    FormatError,
    Listing,
    Table,
    check_board,
    most_states,
    texts_of,
    to_move_of,
)


def encode(table: Table, board: Board) -> bytes:
    """The file's bytes.  Raises FormatError where pyarrow is not installed."""
    assert isinstance(table, Listing)
    pa, pq = _pyarrow()
    columns = {
        "code": pa.array(table.code),
        "board": pa.array(texts_of(table.code, board.cells), pa.string()),
        "to_move": pa.array([TO_MOVE[mover] or None for mover in to_move_of(table, board.cells)], pa.string()),
        "outcome": pa.array([OUTCOMES[outcome] for outcome in table.outcome.tolist()], pa.string()),
    }
    if table.value is not None:
        for player, value in zip(TO_MOVE[1:], table.value, strict=True):
            columns[f"value_{player}"] = pa.array(value, from_pandas=True)
    if table.q is not None:
        for cell in range(board.cells):
            columns[f"q{cell}"] = pa.array(np.ascontiguousarray(table.q[:, cell]), from_pandas=True)
    ends = np.append(0, np.cumsum(np.count_nonzero(table.best, axis=1))).astype(np.int32)
    cells = np.nonzero(table.best)[1].astype(np.int8)
    columns["best"] = pa.ListArray.from_arrays(pa.array(ends), pa.array(cells))
    buffer = io.BytesIO()
    pq.write_table(pa.table(columns, metadata={"ttt-batch board": board.name}), buffer)
    return buffer.getvalue()


def decode(content: bytes, board: Board) -> Listing:
    """The table in a file's bytes.  Raises FormatError for other columns, another board, and without pyarrow."""
    pa, pq = _pyarrow()
    try:
        file = pq.ParquetFile(pa.BufferReader(content))
        if file.metadata.num_rows > most_states(board):
            raise FormatError(
                f"it has {file.metadata.num_rows:,} rows, this board at most {most_states(board):,} states"
            )
        table = file.read()
    except (pa.ArrowException, OSError, ValueError) as error:
        raise FormatError(f"the file is no parquet ({' '.join(str(error).split())[:80]}); export it again") from None
    check_board((table.schema.metadata or {}).get(b"ttt-batch board", b"").decode("utf-8", "replace"), board)
    actions = "q0" in table.column_names
    names = [f"q{cell}" for cell in range(board.cells)] if actions else ["value_first", "value_second"]
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
        raise FormatError(
            f"its columns are of other types ({' '.join(str(error).split())[:80]}); export it again"
        ) from None
    return Listing(code, outcome, best, None if actions else numbers, numbers.T if actions else None)


def max_bytes(board: Board) -> int:
    """Bytes of every state, not packed."""
    return 100_000 + most_states(board) * (100 + 10 * board.cells)


def _pyarrow() -> Any:
    """The two modules of pyarrow that are needed.  Raises FormatError where it is not installed."""
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
    forms=(Listing,),
    encode=encode,
    decode=decode,
    max_bytes=max_bytes,
)
