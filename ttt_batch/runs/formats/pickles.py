"""Pickled dictionaries from position to value, a file for each player: `pickle` and `pickle-text`.

`pickle`: the key is a number in base 3 whose *most* significant digit is cell 0, with digits 0, 1, 2 for the second
player's mark, empty, the first player's mark (`policy_first.bin`, `policy_second.bin` of the program behind
`sutton-barto`).  The program's own keys are NumPy scalars.  This module writes equal Python floats, which load without
NumPy.
`pickle-text`: the key is the text that NumPy 1.14 and later print for the cells as floats, 1 for the first player's
mark, -1 for the second's, 0 for empty (`policy_p1` of the program behind `value-feed`).
Reading detects either format by the keys.  `plain_pickle` reads the file without executing it.
"""

import math
import pickle
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ttt_batch.game.board import EMPTY, FIRST, SECOND, Board
from ttt_batch.runs.formats.base import POSITION_VALUES, Format, FormatError, Table, marks_of_states
from ttt_batch.runs.formats.plain_pickle import read_dictionary

_DIGIT_OF_MARK = np.array([1, 2, 0])
_MARK_OF_DIGIT = np.array([SECOND, EMPTY, FIRST])
_NUMBER_OF_MARK = ("0.", "1.", "-1.")
_MARK_OF_NUMBER = {0.0: EMPTY, 1.0: FIRST, -1.0: SECOND}

_PROTOCOL = 2
"""Pickle protocol: every Python since 2.3 reads it, and later ones store plain numbers no better."""


def _encode_numbers(table: Table, board: Board) -> bytes:
    code, value = _entries(table)
    keys = _DIGIT_OF_MARK[marks_of_states(code, board.cells)] @ 3 ** np.arange(board.cells - 1, -1, -1)
    entries = dict(sorted(zip(keys.astype(np.float64).tolist(), value, strict=True)))
    return pickle.dumps(entries, protocol=_PROTOCOL)


def _encode_text(table: Table, board: Board) -> bytes:
    code, value = _entries(table)
    texts = map(_printed, marks_of_states(code, board.cells).tolist())
    return pickle.dumps(dict(zip(texts, value, strict=True)), protocol=_PROTOCOL)


def _entries(table: Table) -> tuple[NDArray[np.int64], list[float]]:
    """Return the codes that have a value, and the values."""
    code = np.flatnonzero(~np.isnan(table.value[0]))
    return code, table.value[0, code].tolist()


def _printed(marks: list[int]) -> str:
    """Return the cells as NumPy prints them, all as wide as the widest.  `MAX_CELLS` cells fit on NumPy's line."""
    width = 3 if SECOND in marks else 2
    return "[" + " ".join(_NUMBER_OF_MARK[mark].rjust(width) for mark in marks) + "]"


def _decode(content: bytes, board: Board) -> Table:
    entries = read_dictionary(content, 3**board.cells)
    if not entries:
        raise FormatError("the dictionary is empty; name a file of a trained table")
    value = np.full((1, 3**board.cells), np.nan)
    for key, number in entries.items():
        marks = _marks_of_text(key, board) if isinstance(key, str) else _marks_of_number(key, board)
        code = board.encode(marks)
        if not math.isfinite(number):
            raise FormatError(f"the value of key {key!r} is {number!r:.40}; a table holds finite numbers only")
        if not math.isnan(value[0, code]):
            raise FormatError(f"key {key!r} names the same position as another key; remove one of them")
        value[0, code] = number
    return Table(value)


def _marks_of_number(key: float, board: Board) -> tuple[int, ...]:
    if not (0 <= key < 3**board.cells and key == int(key)):
        raise FormatError(
            f"key {key!r:.40} is not a position: board {board.name} has whole numbers from 0 to {3**board.cells - 1}; "
            "give the table's own board"
        )
    digits = (int(key) // 3**power % 3 for power in range(board.cells - 1, -1, -1))
    return tuple(int(_MARK_OF_DIGIT[digit]) for digit in digits)


def _marks_of_text(key: str, board: Board) -> tuple[int, ...]:
    words = key.strip().removeprefix("[").removesuffix("]").split()
    try:
        marks = tuple(_MARK_OF_NUMBER[float(word)] for word in words)
    except (ValueError, KeyError):
        raise FormatError(f"key {key!r:.80} must be a board of the numbers 1, -1 and 0 in brackets; fix it") from None
    if len(marks) != board.cells:
        raise FormatError(
            f"key {key!r:.80} has {len(marks)} cells; board {board.name} has {board.cells}; give the table's own board"
        )
    return marks


NUMBERS = Format(
    name="pickle",
    meaning="a dict from base-3 number to value for each player; the files of the program behind sutton-barto",
    suffix=".bin",
    kinds=(POSITION_VALUES,),
    encode=_encode_numbers,
    decode=_decode,
    max_bytes=lambda board: 4096 + 256 * int(3**board.cells),  # the programs' own files take about a tenth
    per_player=True,
)
TEXT = replace(
    NUMBERS,
    name="pickle-text",
    meaning="a dict from NumPy's text of the cells to value for each player; the file of the program behind value-feed",
    suffix=".pkl",
    encode=_encode_text,
)
