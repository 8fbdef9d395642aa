"""`raw`: action values as little-endian doubles, a row of cells for each code from 0, and nothing else.

The table of the program behind `backward-q`, which holds -1 for occupied cells: on 3x3, 19,683 x 9 doubles.
"""

import numpy as np

from ttt_batch.game.board import Board
from ttt_batch.runs.formats.base import MAX_CELLS, ActionTable, Format, FormatError, Table, other_board


def encode(table: Table, board: Board) -> bytes:
    """The file's bytes."""
    assert isinstance(table, ActionTable)
    return table.q.astype("<f8").tobytes()


def decode(content: bytes, board: Board) -> ActionTable:
    """The table in a file's bytes.  Raises FormatError if their number is not exactly the board's."""
    expected = _size(board.cells)
    if len(content) != expected:
        hint = other_board(len(content), _size)
        raise FormatError(
            f"the file has {len(content):,} bytes{hint}; board {board.name} takes {3**board.cells:,} x {board.cells} "
            f"doubles, {expected:,} bytes; give the table's own board, or export it again"
        )
    q = np.frombuffer(content, dtype="<f8").reshape(3**board.cells, board.cells).astype(np.float64)
    for code, cell in np.argwhere(np.isnan(q)):
        raise FormatError(f"the number for code {code}, cell {cell} is nan; a table holds finite numbers only")
    return ActionTable(q)


def _size(cells: int) -> int:
    return int(8 * 3**cells * cells)


FORMAT = Format(
    name="raw",
    meaning="little-endian doubles, a row of cells for each code; the file of the program behind backward-q",
    suffix=".bin",
    forms=(ActionTable,),
    encode=encode,
    decode=decode,
    max_bytes=lambda _: _size(MAX_CELLS),  # `decode` says more about a wrong size
)
