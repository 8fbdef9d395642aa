"""`parquet`: a list of states as columns, through pyarrow; written only.

code                       int64
board                      text, a character X, O or '.' for each cell
to_move                    text, `first` or `second`; null where the game is over
outcome                    text, `unfinished`, `first wins`, `second wins` or `draw`
value_first, value_second  double; or q0, q1, ... for each cell; null where the table has no entry
best                       list of int8, the cells that a greedy agent may pick
"""

import io

import numpy as np

from ttt_batch.board import Board
from ttt_batch.formats.base import OUTCOMES, TO_MOVE, Format, FormatError, Listing, Table, texts_of, to_move_of


def encode(table: Table, board: Board) -> bytes:
    """The file's bytes.  Raises FormatError where pyarrow is not installed."""
    assert isinstance(table, Listing)
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise FormatError(
            f"parquet needs pyarrow ({error}); install it with: pip install 'ttt-batch[parquet]'"
        ) from None
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


FORMAT = Format(
    name="parquet",
    meaning="columns, a row per state: board, outcome, values or action values, best cells (written only; pyarrow)",
    suffix=".parquet",
    forms=(Listing,),
    encode=encode,
)
