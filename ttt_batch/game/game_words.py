"""Moves as people write them in files of games: numbers, names, pairs and columns, with marks and results.

`5`, `b2`, `(1, 1)`, `1-1`, `11`, `r1c1` and, with gravity, `d` each name a cell; `X5` says whose move it is, too.  Move
numbers, brackets, quotes, arrows and headers such as `[Event "..."]` are left out.  `DigitReading` says what digits mean.
"""

import functools
import re
from collections.abc import Callable
from typing import NamedTuple

from ttt_batch.base.choices import DIGITS_MEAN
from ttt_batch.game.board import LETTERS, RESIGNS, Board
from ttt_batch.game.notation import NO_CELL, named_cell

DIGITS = 3
"""Digits of a cell's number at most."""

NUMBERS, ROW_COL, COL_ROW, COLUMNS = DIGITS_MEAN

X_WINS, O_WINS, DRAWN, OPEN = "X", "O", "draw", "*"
"""Results at the end of a line; the last one says nothing."""


class DigitReading(NamedTuple):
    """Meaning of the digits in a file of games.

    moves: one of `DIGITS_MEAN`.  first: the number of the first cell, row or column, 0 or 1.
    up: rows count from the bottom, as they do on boards with gravity elsewhere.
    """

    moves: str = NUMBERS
    first: int = 0
    up: bool = False


CELLS = DigitReading()
"""The usual reading: numbers of cells, from 0."""


class Word(NamedTuple):
    """A move or a result in a line.

    cell: None if the word names none; a number outside the board if the board does not have it.
    column: `cell` is a column.  mark: X, O or nothing.  claim: the result that the word may stand for.
    resigns: it is the word for that, and `cell` is the board's number for it.
    """

    text: str
    cell: int | None
    column: bool = False
    explores: bool = False
    mark: str = ""
    claim: str = ""
    resigns: bool = False


_PLAIN = re.compile(r"[\s\d!]*")
_HEADER = re.compile(r'\s*\[\s*\w+\s+"[^"]*"\s*\]\s*')
_LABEL = re.compile(r"\s*(?:game\s*#?\s*)?\d+\s*:\s+", re.IGNORECASE)
_NUMBERING = re.compile(r"(?<!\S)\d+\.(?:\.\.)?(?=\s|[a-z(\[]|$)", re.IGNORECASE)
_NUMBERING_IN_BRACKETS = re.compile(r"(?<!\S)\d+\)(?=\s)")
_NOISE = re.compile(r"\{[^{}]*\}|-{0,2}>|=>|→")
_RESULT = re.compile(
    r"(?:^|(?<=[\s,;|:=(]))(?:(?:result|outcome) ?[:=]? ?)?(?:"
    r"(?P<drawn>1/2-1/2|0\.5-0\.5|½-½|½|draws?|drawn|tied?)|(?P<open>\*)|"
    r"(?P<winner>[xo]) ?(?:wins?|won)|(?:winner|won by) ?[:=]? ?(?P<named>[xo])) ?\)?[.!]?$",
    re.IGNORECASE,
)
_MAY_HOLD_RESULT = re.compile(r"[wdt½*]|/2|\.5", re.IGNORECASE)
_TOKEN = re.compile(
    r"[(\[]\s*(?P<row>[0-9]{1,2})\s*(?:[,;:]|\s)\s*(?P<col>[0-9]{1,2})\s*[)\]](?P<explores>!?)"
    r"""|[^\s,;|()\[\]"']+"""
)
_SHORT_RESULTS = {"1-0": X_WINS, "0-1": O_WINS}


def is_header(line: str) -> bool:
    """Return whether a line is a header in brackets, `[Event "..."]`."""
    return _HEADER.fullmatch(line) is not None


def begins_numbered(line: str) -> bool:
    """Return whether a line begins with the first move's number, `1.` or `1)`."""
    return re.match(r"\s*1(?:\.(?!\d)|\)\s)", line) is not None


def line_words(line: str, board: Board, reading: DigitReading) -> list[Word]:
    """The moves of a line without its comment, and last its result if it has one."""
    text = line.partition("#")[0]
    result = None
    if not _PLAIN.fullmatch(text):
        if is_header(text):
            return []
        text = _LABEL.sub("", text, count=1) if _LABEL.match(text) else text
        text = _NUMBERING.sub(" ", text)
        if re.match(r"\s*1\)\s", text):
            text = _NUMBERING_IN_BRACKETS.sub(" ", text)
        text = _NOISE.sub(" ", text).rstrip()
        result = _RESULT.search(text) if _MAY_HOLD_RESULT.search(text) else None
        if result is not None:
            text = text[: result.start()]
    words = _split(text, board, reading)
    if len(words) == 1 and (digits := _glued(words[0].text, board, reading)):
        words = list(map(_vocabulary(board, reading), digits))
    if result is not None:
        winner = (result["winner"] or result["named"] or "").upper()
        claim = winner or (DRAWN if result["drawn"] else OPEN)
        words.append(Word(result.group().strip(" ()"), None, claim=claim))
    return words


def _split(text: str, board: Board, reading: DigitReading) -> list[Word]:
    words: list[Word] = []
    known, mark = _vocabulary(board, reading), ""
    for found in _TOKEN.finditer(text):
        if found["row"]:
            cell = _pair(int(found["row"]), int(found["col"]), board, reading)
            word = Word(found.group(), cell, explores=found["explores"] == "!")
        else:
            word = known(found.group())
            if word.cell is None and not mark and (whose := word.text.rstrip(":=").upper()) in ("X", "O"):
                mark = whose
                continue
        words.append(word._replace(mark=mark) if mark and not word.mark else word)
        mark = ""
    if mark:  # that of the winner, or nothing
        words.append(word._replace(claim=mark if word.text == mark else ""))
    return words


def _glued(text: str, board: Board, reading: DigitReading) -> str:
    """Digits without blanks between, where each can only be a move of its own; else nothing."""
    most = (board.cols if reading.moves == COLUMNS else board.cells) - 1 + reading.first
    whole = len(text) > 1 and text.isascii() and text.isdigit()
    return text if whole and reading.moves in (NUMBERS, COLUMNS) and most <= 9 else ""


@functools.lru_cache(maxsize=64)
def _vocabulary(board: Board, reading: DigitReading) -> Callable[[str], Word]:
    """What words mean, each looked up once."""
    return functools.lru_cache(maxsize=1 << 12)(lambda text: _word(text, board, reading))


def _word(text: str, board: Board, reading: DigitReading) -> Word:
    """What a word means, alone."""
    name, explores = (text[:-1], True) if text.endswith("!") else (text, False)
    if name == RESIGNS:
        return Word(text, board.resignation, explores=explores, resigns=True)
    found, mark = _place(name, board, reading), ""
    if (found is None or found == (NO_CELL, False)) and name[:1] in {"X", "O", "x", "o"}:
        # `o1` is a cell if the board has a column o, and else the first cell with O on it.
        other = _place(name[1:].lstrip(":="), board, reading)
        if other is not None:
            found, mark = other, name[0].upper()
    cell, column = (None, False) if found is None else found
    return Word(text, cell, column, explores, mark, _SHORT_RESULTS.get(text, ""))


def _place(name: str, board: Board, reading: DigitReading) -> tuple[int, bool] | None:
    """The cell or column that a word names, and whether it is a column; None if it names none."""
    if name.isascii() and name.isdigit():
        if reading.moves in (NUMBERS, COLUMNS):
            return (int(name) - reading.first, reading.moves == COLUMNS) if len(name) <= DIGITS else None
        cell = _pair(int(name[0]), int(name[1]), board, reading) if len(name) == 2 else None
        return None if cell is None else (cell, False)
    if pair := re.fullmatch(r"(\d{1,2})[-:/](\d{1,2})", name, re.ASCII):
        cell = _pair(int(pair[1]), int(pair[2]), board, reading)
        return None if cell is None else (cell, False)
    if pair := re.fullmatch(r"r(\d{1,2})c(\d{1,2})", name, re.ASCII | re.IGNORECASE):
        return _cell(int(pair[1]) - reading.first, int(pair[2]) - reading.first, board, reading), False
    if (named := named_cell(name, board)) is not None:
        row, col = divmod(named, board.cols)
        return NO_CELL if named == NO_CELL else _cell(row, col, board, reading), False
    if board.gravity and re.fullmatch("[a-z]", name, re.IGNORECASE):
        return LETTERS.index(name.lower()), True
    return None


def _pair(one: int, two: int, board: Board, reading: DigitReading) -> int | None:
    """The cell of a pair of numbers; None if numbers do not stand for rows and columns."""
    if reading.moves not in (ROW_COL, COL_ROW):
        return None
    row, col = (one, two) if reading.moves == ROW_COL else (two, one)
    return _cell(row - reading.first, col - reading.first, board, reading)


def _cell(row: int, col: int, board: Board, reading: DigitReading) -> int:
    """The cell in a row and a column, counted from 0; NO_CELL outside the board."""
    if not (0 <= row < board.rows and 0 <= col < board.cols):
        return NO_CELL
    return (board.rows - 1 - row if reading.up else row) * board.cols + col
