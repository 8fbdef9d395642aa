"""`npz`: a list of states as NumPy arrays, a row per state; written only.

rows_cols_k   int64[3]           the board
code          int64[S]           sum(mark[i] * 3**i), marks 0 empty, 1 first player, 2 second player
board         text[S]            a character X, O or '.' for each cell
to_move       int8[S]            1 first player, 2 second player, 0 nobody
outcome       int8[S]            0 unfinished, 1 first player wins, 2 second player wins, 3 draw
value_first, value_second        float64[S], nan where the table has no entry; or
q             float64[S, cells]  nan where the table has no entry
best          bool[S, cells]     the cells that a greedy agent may pick
"""

import io

import numpy as np

from ttt_batch.board import Board
from ttt_batch.formats.base import Format, Listing, Table, texts_of, to_move_of


def encode(table: Table, board: Board) -> bytes:
    """The file's bytes; it needs no `allow_pickle`."""
    assert isinstance(table, Listing)
    arrays = {
        "rows_cols_k": np.array([board.rows, board.cols, board.k]),
        "code": table.code,
        "board": np.array(texts_of(table.code, board.cells), dtype=f"U{board.cells}"),
        "to_move": to_move_of(table, board.cells),
        "outcome": table.outcome,
    }
    if table.value is not None:
        arrays |= {"value_first": table.value[0], "value_second": table.value[1]}
    if table.q is not None:
        arrays["q"] = table.q
    buffer = io.BytesIO()
    np.savez_compressed(buffer, allow_pickle=False, **arrays, best=table.best)
    return buffer.getvalue()


FORMAT = Format(
    name="npz",
    meaning="NumPy arrays, a row per state: board, outcome, values or action values, best cells (written only)",
    suffix=".npz",
    forms=(Listing,),
    encode=encode,
)
