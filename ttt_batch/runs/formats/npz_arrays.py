"""`npz`: a list of states as NumPy arrays, a row per state.

rows_cols_k   int64[3]           the board
code          int64[S]           sum(mark[i] * 3**i), marks 0 empty, 1 first player, 2 second player
board         text[S]            a character X, O or '.' for each cell
to_move       int8[S]            1 first player, 2 second player, 0 none
outcome       int8[S]            0 unfinished, 1 first player wins, 2 second player wins, 3 draw
value_first, value_second        float64[S], nan if the table has no entry; or
q             float64[S, cells]  nan if the table has no entry
best          bool[S, cells]     the cells that a greedy agent may pick
"""

import io
import zipfile
import zlib

import numpy as np

from ttt_batch.game.board import Board
from ttt_batch.runs.formats import base
from ttt_batch.runs.formats.base import STATES, VALUES, Format, FormatError, Table


def encode(table: Table, board: Board) -> bytes:
    """The file's bytes; it needs no `allow_pickle`."""
    arrays = {"rows_cols_k": np.array([board.rows, board.cols, board.k]), **base.columns_of(table, board.cells)}
    arrays |= {"board": np.array(arrays["board"], dtype=f"U{board.cells}"), "best": table.best}
    buffer = io.BytesIO()
    np.savez_compressed(buffer, allow_pickle=False, **arrays)
    return buffer.getvalue()


def decode(content: bytes, board: Board) -> Table:
    """The table in a file's bytes.  Raises FormatError for what holds no such arrays, or is of another board."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as packed:
            size = sum(entry.file_size for entry in packed.infolist())
        if size > (most := FORMAT.max_bytes(board)):  # what a few packed bytes may unpack to
            raise FormatError(f"its arrays take {size:,} bytes, those of this board at most {most:,}")
        with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
            found = {name: arrays[name] for name in arrays.files}
    except (OSError, ValueError, EOFError, KeyError, NotImplementedError, zipfile.BadZipFile, zlib.error) as error:
        raise base.unreadable("the file holds no arrays", error) from None
    needed = {"rows_cols_k", "code", "outcome", "best", *(["q"] if "q" in found else VALUES)}
    if lacking := sorted(needed - set(found)):
        raise FormatError(f"the file lacks the array {lacking[0]}; name one that was exported as npz")
    shape = found["rows_cols_k"].ravel().tolist()
    if shape != [board.rows, board.cols, board.k]:
        base.check_board("x".join(map(str, shape)), board)
    try:
        values = None if "q" in found else np.array([found[name] for name in VALUES], dtype=np.float64)
        return Table(values, found.get("q"), found["code"], found["outcome"], found["best"])
    except (ValueError, TypeError):
        raise FormatError("its values are not two rows of numbers; export the table again") from None


FORMAT = Format(
    name="npz",
    meaning="NumPy arrays, a row per state: board, outcome, values or action values, best cells",
    suffix=".npz",
    kinds=(STATES,),
    encode=encode,
    decode=decode,
    max_bytes=lambda board: 10_000 + base.most_states(board) * (64 + 14 * board.cells),  # not packed
)
