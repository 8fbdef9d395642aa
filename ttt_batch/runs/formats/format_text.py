"""Formats of text: `csv`, a line for each position code, and `json` and `jsonl`, lists of states.

Action values in `csv`: a line for each code from 0 with a number for each cell, as written by
`numpy.savetxt(path, q, delimiter=",")`.  The program behind `minimax-q` uses this table.
Position values in `csv`: the header `code,board,first,second`, then a line for each code.  A line has the code, its
board as a character X, O or `.` for each cell, and the values of the first and second player; a missing value is empty.
Numbers in `csv` are read back to the last bit, except that -0 becomes 0.

`json` has an object and a line per state, and `jsonl` these lines only.
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
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ttt_batch.core.text import SEATS
from ttt_batch.games.board import Board, most_positions
from ttt_batch.runs.formats import base

HEADER = "code,board,first,second"


def _encode_text(table: base.Table, board: Board) -> bytes:
    if table.kind == base.ACTION_VALUES:
        buffer = io.BytesIO()
        np.savetxt(buffer, table.q + 0.0, delimiter=",")
        return buffer.getvalue()
    rows = zip(base.texts_of(np.arange(3**board.cells), board.cells), *table.value.tolist(), strict=True)
    lines = [f"{code},{text},{_field(first)},{_field(second)}" for code, (text, first, second) in enumerate(rows)]
    return ("\n".join([HEADER, *lines]) + "\n").encode()


def _decode_text(content: bytes, board: Board) -> base.Table:
    try:
        lines = content.decode("utf-8-sig").replace("\r\n", "\n").split("\n")
    except UnicodeDecodeError as error:
        raise base.FormatError(f"byte {error.start} is not UTF-8 text; name a csv file") from None
    if lines[-1] == "":
        lines.pop()
    if not lines:
        raise base.FormatError("the file is empty; name a csv file")
    if lines[0].replace(" ", "").lower() == HEADER:
        return _decode_values(lines[1:], board)
    return _decode_actions(lines, board)


def _decode_actions(lines: list[str], board: Board) -> base.Table:
    rows = []
    for number, line in enumerate(lines, 1):
        fields = line.split(",")
        if len(fields) != board.cells:
            raise base.FormatError(
                f"line {number} has {len(fields)} numbers; it must have {board.cells}, one for each cell of board "
                f"{board.name}; give the table's own board, or (position values) put the header {HEADER!r} first"
            )
        rows.append([_number(field, number) for field in fields])
        if number > 3**board.cells:
            break
    _check_lines(len(lines), board, "")
    return base.Table(q=np.array(rows))


def _decode_values(lines: list[str], board: Board) -> base.Table:
    value = np.full((2, 3**board.cells), np.nan)
    texts = base.texts_of(np.arange(3**board.cells), board.cells)
    for code, (line, text) in enumerate(zip(lines, texts, strict=False)):
        number = code + 2
        fields = [field.strip() for field in line.split(",")]
        if len(fields) != 4:
            raise base.FormatError(f"line {number} has {len(fields)} fields; it must have 4, {HEADER!r}; fix the line")
        if fields[:2] != [str(code), text]:
            raise base.FormatError(
                f"line {number} has code {fields[0]:.20} and board {fields[1]:.40} instead of {code} and {text}; "
                f"give the table's own board instead of {board.name}, or put the lines in order"
            )
        for player, field in enumerate(fields[2:]):
            if field:
                value[player, code] = _number(field, number)
    _check_lines(len(lines), board, " after the header")
    return base.Table(value)


def _check_lines(found: int, board: Board, where: str) -> None:
    if found != 3**board.cells:
        hint = base.other_board_hint(found, lambda cells: 3**cells)
        raise base.FormatError(
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
    raise base.FormatError(f"line {line} holds {field.strip()!r:.40} instead of a finite number; fix the line")


def _field(value: float) -> str:
    return "" if math.isnan(value) else repr(value + 0.0)


TEXT = base.Format(
    name="csv",
    meaning="a line per code: the numbers of all cells, or the board and both players' values",
    suffix=".csv",
    endings=(".csv", ".txt"),
    kinds=(base.POSITION_VALUES, base.ACTION_VALUES),
    encode=_encode_text,
    decode=_decode_text,
    max_bytes=lambda board: 4096 + 64 * int(3**board.cells) * max(board.cells, 2),  # `savetxt` writes 25 bytes
)


def _encode(table: base.Table, board: Board) -> bytes:
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
        state = {
            "code": code,
            "board": texts[i],
            "to_move": base.TO_MOVE[movers[i]],
            "outcome": base.OUTCOMES[outcomes[i]],
        }
        state |= {
            name: numbers[i],
            **{key: array[i] for key, array in more.items()},
            "best": np.flatnonzero(table.best[i]).tolist(),
        }
        lines.append(json.dumps(state, allow_nan=False))
    return (json.dumps(head)[:-1] + ', "states": [\n' + ",\n".join(lines) + "\n]}\n").encode()


def json_in(text: str | bytes) -> Any:
    """Return the value of a JSON text.  Raises FormatError."""
    try:
        return json.loads(text, parse_constant=_reject_constant)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise base.FormatError(f"the file is not valid JSON from {place} on; export it again") from None
    except (ValueError, RecursionError):
        raise base.unreadable_error("the file is not valid JSON") from None


def _reject_constant(name: str) -> None:
    raise base.FormatError("it holds NaN or Infinity, which JSON does not have; save null instead")


def _decode(content: bytes, board: Board) -> base.Table:
    whole = json_in(content)
    states = whole.get("states") if isinstance(whole, dict) else None
    if not isinstance(states, list) or not all(isinstance(state, dict) for state in states):
        raise base.FormatError("the file has no list of states; name one that was exported as json")
    if "board" not in whole:
        raise base.FormatError("the file does not name its board; export the table again")
    base.check_board(str(whole["board"]), board)
    code, outcome = np.zeros(len(states), np.int64), np.full(len(states), base.UNSAID, np.int8)
    best = np.zeros((len(states), board.cells), np.bool_)
    for number, state in enumerate(states):
        code[number] = _whole(state.get("code"), 3**board.cells, number)
        if (named := state.get("outcome")) is not None:
            if named not in base.OUTCOMES:
                wrong = f"outcome {named!r:.40} must be one of {', '.join(base.OUTCOMES)}"
                raise base.FormatError(f"state {number}: {wrong}; fix the entry")
            outcome[number] = base.OUTCOMES.index(named)
        listed = state.get("best", [])
        if not isinstance(listed, list):
            raise base.FormatError(
                f"state {number}: best {listed!r:.40} is not a list of cells; export the table again"
            )
        for cell in listed:
            best[number, _whole(cell, board.cells, number)] = True

    def numbers(name: str, width: int) -> NDArray[np.float64]:
        found = [_numbers(state.get(name), name, width, number) for number, state in enumerate(states)]
        return np.array(found, np.float64).reshape(len(states), width)

    def beside(name: str) -> NDArray[np.float64]:
        """Return an array of `MORE`, a number for each cell or one for each state."""
        if base.MORE[name]:
            return numbers(name, board.cells)
        return np.array([_numbers([state.get(name)], name, 1, number)[0] for number, state in enumerate(states)])

    if not states or "q" not in states[0]:
        return base.Table(numbers("value", 2).T, code=code, outcome=outcome, best=best)
    more = {name: beside(name) for name in base.MORE if name in states[0]}
    return base.Table(q=numbers("q", board.cells), code=code, outcome=outcome, best=best, more=more)


def _whole(value: Any, end: int, state: int) -> int:
    """Return `value`, an integer from 0 to `end` - 1.  Raises FormatError for another value."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < end:
        raise base.FormatError(
            f"state {state}: {value!r:.40} is not a whole number from 0 to {end - 1}; export the table again"
        )
    return value


def _numbers(found: Any, name: str, width: int, number: int) -> list[float]:
    """Return a state's numbers of both players or of every cell, with nan for null."""
    if isinstance(found, dict):
        found = [found.get(player) for player in SEATS]
    if not isinstance(found, list) or len(found) != width:
        what = "player" if name == "value" else f"of {width} cells"
        raise base.FormatError(f"state {number} has no {name}, a number for each {what}; export the table again")
    if not all(each is None or (isinstance(each, int | float) and not isinstance(each, bool)) for each in found):
        raise base.FormatError(f"state {number} has {found!r:.60}; it must have only numbers; export the table again")
    try:
        return [float("nan") if each is None else float(each) for each in found]
    except OverflowError:
        raise base.FormatError(f"state {number} has a number too large for a float; export the table again") from None


def _or_none(numbers: NDArray[np.float64]) -> list[Any]:
    """Return numbers as lists with None for nan and 0.0 for -0.0."""
    found: list[Any] = np.where(np.isnan(numbers), np.array(None), numbers + 0.0).tolist()
    return found


def _encode_lines(table: base.Table, board: Board) -> bytes:
    lines = _encode(table, board).splitlines()[1:-1]
    return b"".join(line.removesuffix(b",") + b"\n" for line in lines)


def _decode_lines(content: bytes, board: Board) -> base.Table:
    states = b",".join(line for line in content.splitlines() if line.strip())
    if not states:
        raise base.unreadable_error("the file is empty")
    return _decode(b'{"board": "%s", "states": [%s]}' % (board.name.encode(), states), board)


FORMAT = base.Format(
    name="json",
    meaning="an object per state: board, outcome, values or action values, best cells",
    suffix=".json",
    endings=(".json",),
    kinds=(base.STATES,),
    encode=_encode,
    decode=_decode,
    max_bytes=lambda board: 10_000 + most_positions(board) * (300 + 100 * board.cells),  # 25 digits a number
)
LINES = replace(
    FORMAT,
    name="jsonl",
    meaning="the objects of json alone, a line each, without the board's name",
    suffix=".jsonl",
    endings=(".jsonl",),
    encode=_encode_lines,
    decode=_decode_lines,
)
