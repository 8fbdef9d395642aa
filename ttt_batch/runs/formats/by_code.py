"""Tables with a row per code: `csv` as text, `npy` as a NumPy array, `raw` as headerless little-endian doubles.

Action values in `csv`: a line for each code from 0 with a number for each cell, as written by
`numpy.savetxt(path, q, delimiter=",")`.  The program behind `minimax-q` uses this table.
Position values in `csv`: the header `code,board,first,second`, then a line for each code.  A line has the code, its
board as a character X, O or `.` for each cell, and the values of the first and second player; a missing value is empty.
Numbers in `csv` are read back to the last bit, except that -0 becomes 0.
Action values in `raw`: a row of cells for each code from 0.  The program behind `backward-q` uses this table with -1
for occupied cells: on 3x3, 19,683 x 9 doubles.
`npy`: action values as float64[codes, cells]; position values as float64[codes, 2], a column for each player.
"""

import io
import math

import numpy as np

from ttt_batch.game.board import Board
from ttt_batch.runs.formats.base import (
    ACTION_VALUES,
    MAX_CELLS,
    POSITION_VALUES,
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
