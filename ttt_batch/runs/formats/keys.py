"""Conversion of other programs' keys (numbers, text, tuples) to symbols, and the possible readings of the symbols.

A key becomes a row of symbols, one for each cell in order.  A number becomes its digits in base 3.  A `KeyReading`
gives the symbols of an empty cell, of the first player's mark and of the second player's mark.
"""

import functools
import itertools
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ttt_batch.core.errors import UsageError, flag, quoted
from ttt_batch.games.board import FIRST, SECOND, Board

EMPTY_SYMBOLS = (".", "-", "_", " ", "B", "E", "N", "*", "#", "?", "0")
"""Symbols of empty cells, the most usual first."""

UNKNOWN = -1
"""Symbol index in all cells of a key that is not a position."""

_OTHER_SPELLINGS = {"": " ", "NONE": " ", "NAN": " ", "EMPTY": " ", "SPACE": " ", "TRUE": "1", "FALSE": "0"}
_ROW_ENDS = str.maketrans("", "", "/|\n\r")
_SEPARATORS = str.maketrans("", "", "/|\n\r\t;:,[](){}'\"")
_SCALAR = re.compile(r"\b(?:np|numpy)\.\w+\(([^()]*)\)")
_JOINED = re.compile(r"-?\d")
_WRAPPER = re.compile(r"\s*(?:array\((?P<inside>.*?)(?:,\s*dtype=[^)]*)?\)|(?P<bare>.*))\s*", re.DOTALL)
_QUOTED = re.compile(r"'([^']*)'|\"([^\"]*)\"")
_LARGEST_MARK = 99
"""Largest integer that is read as a mark; larger ones are taken for the bytes of floats."""

_MOST_CHARACTERS = 60
"""Most characters a cell in a printed key."""


NOTHING = "nothing"
"""Beginning of a symbol that stands for one which the keys do not have."""


@dataclass(frozen=True)
class KeyReading:
    """One way to read keys.

    empty, first, second: symbols.  mover: `first` is the mark of the player to move, `second` that of the opponent.
    low: the first cell is the lowest digit of a number, else the highest.  numbers: keys are numbers.
    usual: X is the first player; this reading is kept unless another one is clearly better.
    """

    empty: str
    first: str
    second: str
    mover: bool = False
    low: bool = False
    numbers: bool = False
    usual: bool = False

    @property
    def option(self) -> str:
        """Return the reading in the syntax of `--keys`."""
        words = ["space" if word == " " else word for word in (self.empty, self.first, self.second)]
        return ",".join([*words, *["mover"] * self.mover, *["low"] * self.low])

    @property
    def meaning(self) -> str:
        """Return a description of the reading."""
        players = ("the player to move", "the other one") if self.mover else ("the first player", "the second")
        roles = {self.empty: "empty", self.first: players[0], self.second: players[1]}
        there = {word: role for word, role in roles.items() if not word.startswith(NOTHING)}
        text = ", ".join(f"{repr(word) if word == ' ' else word} {role}" for word, role in there.items())
        if not self.numbers:
            return f"marks: {text}"
        return f"numbers in base 3, first cell the {'lowest' if self.low else 'highest'} digit: {text}"


OURS = KeyReading("0", "1", "2", low=True, numbers=True)
"""Reading of this package's position codes."""


@dataclass(frozen=True)
class Symbols:
    """Keys as symbols, one for each cell.

    index: int8[K, cells], indices into `names`; UNKNOWN in all cells of a key that is not a position.
    names: the symbols.  numbers: True if the keys were numbers.
    """

    index: NDArray[np.int8]
    names: tuple[str, ...]
    numbers: bool


def parse_reading(text: str) -> KeyReading:
    """Parse `--keys`: three symbols and optionally `mover` and `low`, separated by commas.  Raises UsageError."""
    words = [word.strip() for word in text.split(",")]
    symbols = [_canonical(word) for word in words if word.lower() not in ("mover", "low")]
    flags = {word.lower() for word in words} & {"mover", "low"}
    if len(symbols) != 3 or len(set(symbols)) != 3:
        raise UsageError(
            f"{flag('keys')} {quoted(text)} does not name three symbols; give those of an empty cell, the first "
            "player and the second, such as 0,1,2 or space,X,O"
        )
    empty, first, second = symbols
    return KeyReading(empty, first, second, mover="mover" in flags, low="low" in flags)


def symbols_of(keys: Sequence[Any] | NDArray[np.int64], board: Board) -> Symbols:
    """Return the symbols of keys; numbers become base-3 digits with the first cell as the highest digit."""
    if isinstance(keys, np.ndarray):
        return _digits(keys, board)
    numbers = [_number(key) for key in keys]
    n_numbers = sum(number is not None for number in numbers)
    padded = all(isinstance(key, str) and len(key) == board.cells and set(key) <= set("012") for key in keys)
    if n_numbers * 2 > len(keys) and not padded:
        known = np.array([-1 if number is None else number for number in numbers], dtype=np.int64)
        if (known >= 3**board.cells).mean() <= 0.5:
            return _digits(known, board)
        keys = [str(number).zfill(board.cells) if number is not None else "" for number in known.tolist()]
    rows = [cells_of_key(key, board.cells) for key in keys]
    names = _names(rows)
    for first in (0, 1):  # a free cell may hold its number
        if len(names) > 3:
            blank = [tuple(" " if s == str(cell) else s for cell, s in enumerate(row, first)) for row in rows]
            if len(_names(blank)) <= 3:
                rows, names = blank, _names(blank)
    if len(names) > 3:
        names = _commonest(rows)
    index, number_of = np.full((len(rows), board.cells), UNKNOWN, np.int8), {name: i for i, name in enumerate(names)}
    for number, row in enumerate(rows):
        if len(row) == board.cells and number_of.keys() >= set(row):
            index[number] = [number_of[symbol] for symbol in row]
    return Symbols(index, names, False)


def readings(symbols: Symbols, board: Board, *, low_first: bool, by_moves: bool) -> Iterator[KeyReading]:
    """Yield the readings to try, the usual one first if there is one.

    low_first: in numbers where 0 is an empty cell, as in our codes, the first cell is usually the lowest digit; in all
    others it is the highest.  by_moves: the table is of moves, whose cells distinguish the two digit orders.
    """
    names = (*symbols.names, *(f"{NOTHING}{number}" for number in range(3)))[: max(3, len(symbols.names))]
    players = {"X", "O"} & set(names)
    zero = "0" if "X" in names and "O" not in names else "O"
    if players and not symbols.numbers:
        others = [name for name in names if name not in ("X", zero)]
        if len(others) == 1 or "X" in names:
            yield KeyReading(others[0], "X", zero, usual=True)
    usual = [name for name in names if name in EMPTY_SYMBOLS]
    numeric = all(name.lstrip("-").isdigit() for name in symbols.names)
    empties = [min(usual, key=EMPTY_SYMBOLS.index)] if usual and not numeric else list(names)
    # If a half turn of the board is a symmetry, both digit orders give the same values.
    turned = tuple(range(board.cells - 1, -1, -1)) in board.symmetries and not by_moves
    for mover, empty in itertools.product((False, True), empties):
        for first, second in itertools.permutations([name for name in names if name != empty]):
            low = low_first and empty == "0" and symbols.numbers
            one = KeyReading(empty, first, second, mover, low, symbols.numbers)
            yield one
            if symbols.numbers and not turned:
                yield replace(one, low=not low)


def key_codes(symbols: Symbols, reading: KeyReading, board: Board) -> NDArray[np.int64]:
    """Return the position codes of keys under a reading, int64[K]; -1 for a key that it does not read as a position."""
    marks_of_symbol = np.full(len(symbols.names) + 1, -1, dtype=np.int64)  # the last is for UNKNOWN
    for name, mark in ((reading.empty, 0), (reading.first, FIRST), (reading.second, SECOND)):
        if name in symbols.names:
            marks_of_symbol[symbols.names.index(name)] = mark
    index = symbols.index[:, ::-1] if reading.low and symbols.numbers else symbols.index
    marks = marks_of_symbol[index]
    wrong = (marks < 0).any(axis=1)
    n_first, n_second = np.count_nonzero(marks == FIRST, axis=1), np.count_nonzero(marks == SECOND, axis=1)
    lead = n_second - n_first if reading.mover else n_first - n_second  # the player to move may have one mark less
    wrong |= (lead != 0) & (lead != 1)
    if reading.mover:
        swapped = lead != 0
        marks[swapped] = np.array([0, SECOND, FIRST])[np.maximum(marks[swapped], 0)]
    powers = 3 ** np.arange(board.cells, dtype=np.int64)
    codes: NDArray[np.int64] = np.where(wrong, -1, marks @ powers)
    return codes


def plain_text(text: str) -> str:
    """Return a printed key with plain numbers, such as `0` for NumPy 2's `np.int64(0)`."""
    return _SCALAR.sub(r"\1", text) if "." in text else text


def is_position(key: Any, board: Board) -> bool:
    """Return whether a key may be a position: a number, or a symbol for each cell with at most three different ones."""
    if _number(key) is not None:
        return True
    cells = cells_of_key(key, board.cells)
    return len(cells) == board.cells and len(set(cells)) <= 3


def _digits(numbers: NDArray[np.int64], board: Board) -> Symbols:
    """Return the base-3 digits of numbers, the highest first."""
    powers = 3 ** np.arange(board.cells - 1, -1, -1, dtype=np.int64)
    inside = (numbers >= 0) & (numbers < 3**board.cells)
    index = (np.where(inside, numbers, 0)[:, None] // powers % 3).astype(np.int8)
    index[~inside] = UNKNOWN
    return Symbols(index, ("0", "1", "2"), True)


def _number(key: Any) -> int | None:
    """Return a key as an integer from 0 to 2**62 - 1; None if it is not one."""
    if isinstance(key, str):
        text = key.strip()
        if not (0 < len(text) <= 20 and re.fullmatch(r"\d+(\.0*)?", text)):
            return None
        key = int(text.partition(".")[0])
    if isinstance(key, np.generic):
        key = key.item()
    if isinstance(key, float) and abs(key) < 2.0**62 and key == int(key):
        key = int(key)
    return key if isinstance(key, int) and not isinstance(key, bool) and 0 <= key < 2**62 else None


def cells_of_key(key: Any, cells: int) -> tuple[str, ...]:
    """Return the symbols of a key; their number differs from `cells` if it is not a position."""
    if isinstance(key, str):
        return _cells_of_text(key, cells)
    if isinstance(key, np.ndarray):
        key = key.tolist()
    if isinstance(key, bytes):
        return _cells_of_bytes(key, cells)
    if not isinstance(key, tuple | list):
        return ()
    flat: list[Any] = []
    for each in key:
        if isinstance(each, tuple | list):
            flat += each
        elif isinstance(each, str) and len(key) < cells and len(each) > 1:
            flat += each  # a row as text
        else:
            flat.append(each)
    if len(flat) != cells or any(isinstance(each, tuple | list | dict | np.ndarray) for each in flat):
        return ()
    return tuple(_canonical(each) for each in flat)


def _cells_of_bytes(key: bytes, cells: int) -> tuple[str, ...]:
    """Return the symbols of bytes that hold ASCII text or a little-endian array of integers or floats."""
    if all(32 <= byte < 127 for byte in key):
        return _cells_of_text(key.decode("ascii"), cells)
    width = len(key) // cells
    if width not in (1, 2, 4, 8) or len(key) % cells:
        return ()
    numbers = np.frombuffer(key, f"<i{width}")
    if width > 1 and (abs(numbers) > _LARGEST_MARK).any():
        numbers = np.frombuffer(key, f"<f{width}")
    return tuple(map(_canonical, numbers.tolist()))


@functools.lru_cache(maxsize=1 << 16)
def _cells_of_text(text: str, cells: int) -> tuple[str, ...]:
    if len(text) == cells:
        return tuple(map(_canonical, text))
    if len(text) > _MOST_CHARACTERS * cells:
        return ()
    rows = text.translate(_ROW_ENDS)
    if len(rows) == cells:
        return tuple(map(_canonical, rows))
    text = plain_text(text)
    match = _WRAPPER.fullmatch(text)
    inside = text if match is None else match["inside"] or match["bare"] or ""
    parts = [one or other for one, other in _QUOTED.findall(inside)]
    if cells in (len(parts), len("".join(parts))) and re.search(r"\w", _QUOTED.sub("", inside)):
        return ()  # a move stands beside the marks
    if len(parts) != cells:
        parts = inside.split(",")
        if len(parts) == cells + 1 and "" in (parts[0], parts[-1]):  # a comma before each mark, or after it
            parts = parts[1:] if parts[0] == "" else parts[:-1]
        if len(parts) != cells or "[" in inside or "(" in inside:
            parts = [part for part in re.split(r"[\s,\[\]()]+", inside) if part]
    if len(parts) != cells and set(inside) <= set("-012"):
        parts = _JOINED.findall(inside)
    if len(parts) != cells:
        plain = inside.translate(_SEPARATORS)
        parts = list(plain if len(plain) == cells else plain.replace(" ", ""))
    return tuple(map(_canonical, parts)) if len(parts) == cells else ()


@functools.lru_cache(maxsize=4096)
def _canonical(symbol: Any) -> str:
    """Return a symbol in its canonical spelling: whole numbers without a fraction, letters in capitals."""
    text = str(symbol).strip("'\" \t\n").upper()
    try:
        number = float(text)
    except ValueError:
        return _OTHER_SPELLINGS.get(text, text)
    if number != number:
        return " "
    return str(int(number)) if abs(number) < 100 and number == int(number) else text


def _names(rows: list[tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(sorted({symbol for row in rows for symbol in set(row)}, key=_rank))


def _rank(symbol: str) -> tuple[bool, str]:
    return symbol not in EMPTY_SYMBOLS, symbol


def _commonest(rows: list[tuple[str, ...]]) -> tuple[str, ...]:
    """Return the three symbols that occur most often in the keys."""
    counted = Counter(itertools.chain.from_iterable(rows))
    return tuple(sorted([name for name, _ in counted.most_common(3)], key=_rank))
