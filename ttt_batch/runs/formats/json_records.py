"""Lists of states as text: `json`, with an object and a line per state, and `jsonl`, with these lines only.

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

import json
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ttt_batch.base.choices import SEATS
from ttt_batch.game.board import Board
from ttt_batch.runs.formats import base
from ttt_batch.runs.formats.base import MORE, OUTCOMES, STATES, TO_MOVE, UNSAID, Format, FormatError, Table


def _encode(table: Table, board: Board) -> bytes:
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
        state = {"code": code, "board": texts[i], "to_move": TO_MOVE[movers[i]], "outcome": OUTCOMES[outcomes[i]]}
        state |= {
            name: numbers[i],
            **{key: array[i] for key, array in more.items()},
            "best": np.flatnonzero(table.best[i]).tolist(),
        }
        lines.append(json.dumps(state, allow_nan=False))
    return (json.dumps(head)[:-1] + ', "states": [\n' + ",\n".join(lines) + "\n]}\n").encode()


def reject_constant(name: str) -> None:
    """Raise ValueError for NaN and infinity, which JSON does not allow."""
    raise ValueError(f"{name} is not a JSON number")


def _decode(content: bytes, board: Board) -> Table:
    try:
        whole = json.loads(content, parse_constant=reject_constant)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise FormatError(f"the file is not valid JSON from {place} on; export it again") from None
    except (ValueError, RecursionError):
        raise base.unreadable_error("the file is not valid JSON") from None
    states = whole.get("states") if isinstance(whole, dict) else None
    if not isinstance(states, list) or not all(isinstance(state, dict) for state in states):
        raise FormatError("the file has no list of states; name one that was exported as json")
    base.check_board(str(whole.get("board", "")), board)
    actions = bool(states) and "q" in states[0]
    width = board.cells if actions else 2
    code, outcome = np.zeros(len(states), np.int64), np.zeros(len(states), np.int8)
    table, best = np.zeros((len(states), width)), np.zeros((len(states), board.cells), np.bool_)
    for number, state in enumerate(states):
        code[number] = _whole(state.get("code"), 3**board.cells, number)
        table[number] = _state_numbers(state, actions, width, number)
        outcome[number] = _outcome(state, number)
        listed = state.get("best", [])
        if not isinstance(listed, list):
            raise FormatError(f"state {number}: best {listed!r:.40} is not a list of cells; export the table again")
        for cell in listed:
            best[number, _whole(cell, board.cells, number)] = True
    if not actions:
        return Table(table.T, code=code, outcome=outcome, best=best)
    more = {name: _beside(states, name, board.cells) for name in MORE if name in states[0]}
    return Table(q=table, code=code, outcome=outcome, best=best, more=more)


def _outcome(state: dict[str, Any], number: int) -> int:
    """Return the outcome of a state, UNSAID if the file has none."""
    found = state.get("outcome")
    if found is not None and found not in OUTCOMES:
        raise FormatError(f"state {number}: outcome {found!r:.40} must be one of {', '.join(OUTCOMES)}; fix the entry")
    return UNSAID if found is None else OUTCOMES.index(found)


def _whole(value: Any, end: int, state: int) -> int:
    """Return `value`, an integer from 0 to `end` - 1.  Raises FormatError for another value."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < end:
        raise FormatError(
            f"state {state}: {value!r:.40} is not a whole number from 0 to {end - 1}; export the table again"
        )
    return value


def _beside(states: list[dict[str, Any]], name: str, cells: int) -> NDArray[np.float64]:
    """Return the array of MORE under a name: a number for each state and cell, or for each state."""
    if MORE[name]:
        return np.array([_state_numbers(state, True, cells, i, name) for i, state in enumerate(states)])
    return np.array([_listed([state.get(name)], i) for i, state in enumerate(states)])[:, 0]


def _state_numbers(state: dict[str, Any], actions: bool, width: int, number: int, name: str = "q") -> list[float]:
    """Return the values of both players, or of every cell, with nan for null."""
    found = state.get(name) if actions else state.get("value")
    if not actions and isinstance(found, dict):
        found = [found.get(player) for player in SEATS]
    if not isinstance(found, list) or len(found) != width:
        what = f"{name}, a number for each of {width} cells" if actions else "value, a number for each player"
        raise FormatError(f"state {number} has no {what}; export the table again")
    return _listed(found, number)


def _listed(found: list[Any], number: int) -> list[float]:
    """Return the numbers of a list, with nan for null."""
    if not all(each is None or (isinstance(each, int | float) and not isinstance(each, bool)) for each in found):
        raise FormatError(f"state {number} has {found!r:.60}; it must have only numbers; export the table again")
    try:
        return [float("nan") if each is None else float(each) for each in found]
    except OverflowError:
        raise FormatError(f"state {number} has a number too large for a float; export the table again") from None


def _or_none(numbers: NDArray[np.float64]) -> list[Any]:
    """Return numbers, float64[N, M] or float64[N], as lists with None for nan and 0.0 for -0.0."""

    def one(number: float) -> float | None:
        return None if number != number else number + 0.0

    return [[one(number) for number in row] if numbers.ndim > 1 else one(row) for row in numbers.tolist()]


def _encode_lines(table: Table, board: Board) -> bytes:
    lines = _encode(table, board).splitlines()[1:-1]
    return b"".join(line.removesuffix(b",") + b"\n" for line in lines)


def _decode_lines(content: bytes, board: Board) -> Table:
    states = b",".join(line for line in content.splitlines() if line.strip())
    if not states:
        raise base.unreadable_error("the file is empty")
    return _decode(b'{"board": "%s", "states": [%s]}' % (board.name.encode(), states), board)


FORMAT = Format(
    name="json",
    meaning="an object per state: board, outcome, values or action values, best cells",
    suffix=".json",
    kinds=(STATES,),
    encode=_encode,
    decode=_decode,
    max_bytes=lambda board: 10_000 + base.most_states(board) * (300 + 100 * board.cells),  # 25 digits a number
)
LINES = replace(
    FORMAT,
    name="jsonl",
    meaning="the objects of json alone, a line each, without the board's name",
    suffix=".jsonl",
    encode=_encode_lines,
    decode=_decode_lines,
)
