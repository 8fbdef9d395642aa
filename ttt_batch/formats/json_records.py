"""`json`: a list of states, an object and a line per state; written only.

    {"board": "3x3", "rows": 3, "cols": 3, "k": 3, "states": [
    {"code": 0, "board": ".........", "to_move": "first", "outcome": "unfinished", "value": {...}, "best": [4]},
    ...

`value` is an object of the players' values, `{"first": 0.5, "second": 0.5}`.  `best` lists the cells that a greedy
agent may pick.
`to_move` is null where the game is over.  With action values, `q` is a list with a number for each cell instead of
`value`.  What the table has no entry for is null.
"""

import json

import numpy as np
from numpy.typing import NDArray

from ttt_batch.board import Board
from ttt_batch.formats.base import OUTCOMES, TO_MOVE, Format, Listing, Table, texts_of, to_move_of


def encode(table: Table, board: Board) -> bytes:
    """The file's bytes."""
    assert isinstance(table, Listing)
    head = {"board": board.name, "rows": board.rows, "cols": board.cols, "k": board.k}
    texts, movers = texts_of(table.code, board.cells), to_move_of(table, board.cells)
    value = None if table.value is None else _or_none(table.value.T)
    q = None if table.q is None else _or_none(table.q)
    lines = []
    for i, (code, outcome) in enumerate(zip(table.code.tolist(), table.outcome.tolist(), strict=True)):
        state: dict[str, object] = {
            "code": code,
            "board": texts[i],
            "to_move": TO_MOVE[movers[i]] or None,
            "outcome": OUTCOMES[outcome],
        }
        if value is not None:
            state["value"] = dict(zip(TO_MOVE[1:], value[i], strict=True))
        if q is not None:
            state["q"] = q[i]
        state["best"] = np.flatnonzero(table.best[i]).tolist()
        lines.append(json.dumps(state, allow_nan=False))
    return (json.dumps(head)[:-1] + ', "states": [\n' + ",\n".join(lines) + "\n]}\n").encode()


def _or_none(numbers: NDArray[np.float64]) -> list[list[float | None]]:
    """The numbers, float64[N, M], with None for nan and one kind of zero."""
    return [[None if number != number else number + 0.0 for number in row] for row in numbers.tolist()]


FORMAT = Format(
    name="json",
    meaning="an object per state: board, outcome, values or action values, best cells (written only)",
    suffix=".json",
    forms=(Listing,),
    encode=encode,
)
