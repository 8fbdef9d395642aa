"""Positions and moves as people write them, read in several notations and written in one.

Rows:  X, O and `.` (or `-`, `_`), with `/`, `|`, spaces or nothing between the rows: `X.O/.X./...`
Moves: cells in the order of play, X first, with spaces or commas between: `5 1 9`, `X5 O1 X9`, `b2 a1 c3`.  A cell is
       its digit on boards of up to nine cells, and on any board its column letter and row number from the top left;
       the mark before it may be left out.  Where marks fall, a column's letter is enough, `d d c`, and on boards of
       more than nine cells its number, `4 4 3`, if there are two or more.
Code:  the position's number, `sum(mark[i] * 3**i)`, alone or after `code`: `12345`, `code 5`.

A number alone is the move to the cell of that number, if there is one: `5` is X in the centre of 3x3, and `code 5` the
position of that code.  Every other number is a code; on larger boards, whose cells have no digits, every number is one.

Moves as people write them in files of games: numbers, names, pairs and columns, with marks and results.
`5`, `b2`, `(1, 1)`, `1-1`, `11`, `r1c1` and, with gravity, `d` each name a cell; `X5` says whose move it is, too.  Move
numbers, brackets, quotes, arrows and headers such as `[Event "..."]` are ignored.  `DigitReading` interprets digits.
"""

import functools
import operator
import re
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from ttt_batch.core.errors import BoardError, quoted
from ttt_batch.core.text import DIGITS_MEAN
from ttt_batch.games.board import (
    EMPTY,
    FIRST,
    LETTERS,
    MARKS,
    RESIGNS,
    SECOND,
    UNFINISHED,
    Board,
    Position,
    column_name,
)

MOST_DIGITS = 9
"""Cells of the largest board on which a digit names a cell."""

NO_CELL = -1
"""The cell of a name that the board does not have."""


def read_position(position: str | int | Position, board: Board) -> Position:
    """Read a position given as text, as a code, or as the marks of all cells (0 to 2, row by row, or a list of rows).

    This is the one reader, for every command and every function.  Raises BoardError, in one line with the notations
    that there are, for anything else, for moves that the rules do not allow, and for a position that no game reaches.
    """
    given: Any = position
    try:
        if isinstance(given, str):
            return _parsed(given, board)
        marks = _marks(given, board) if isinstance(given, Iterable) else board.decode(operator.index(given))
        return check_possible(marks, board)
    except BoardError as error:
        raise BoardError(f"position {quoted(given)}: {error}; {notations(board)}") from None
    except (TypeError, ValueError):
        raise BoardError(f"position {quoted(given)} is neither text, a code nor marks; {notations(board)}") from None


def _marks(given: Iterable[Any], board: Board) -> Position:
    """Return the marks of all cells, given as whole numbers of any type in one list or in rows.

    Raises BoardError for other shapes and numbers, and TypeError or ValueError for rows of different lengths.
    """
    import numpy as np  # short commands do without

    array = np.array([*given])
    if array.ndim > 1 and array.shape != (board.rows, board.cols):
        raise BoardError(f"board {board.name} has {board.rows} rows of {board.cols} cells")
    marks = array.ravel().tolist()
    if len(marks) != board.cells or not {EMPTY, FIRST, SECOND}.issuperset(marks):
        raise BoardError(f"board {board.name} has {board.cells} cells, each {EMPTY}, {FIRST} or {SECOND}")
    return tuple(map(int, marks))


def may_be_position(text: str) -> bool:
    """Return whether a text may stand for a position of some board, by its form alone; one letter may be a name."""
    word = r"[xo._/|-]{2,}|code[ :=]*[0-9]*|[0-9]+|[xo]?(?:[1-9]|[ab]?[a-z][1-9][0-9]?)"
    words = text.replace(",", " ").split()
    columns = len(words) > 1 and all(re.fullmatch("[a-zA-Z]", each) for each in words)
    return columns or (words != [] and all(re.fullmatch(word, each, re.ASCII | re.IGNORECASE) for each in words))


def _parsed(text: str, board: Board) -> Position:
    words = text.replace(",", " ").split()
    if not words:
        raise BoardError("nothing is given")
    number = re.fullmatch(r"(?:code[ :=]*)?(0|[1-9][0-9]{0,30})", " ".join(words), re.IGNORECASE)
    columns = board.gravity and all(_column(word, board) is not None for word in words)
    is_move = columns or (number is not None and cell_of(number[1], board) is not None)
    if number and (len(words[0]) > len(number[1]) or len(words) > 1 or not is_move):
        return check_possible(board.decode(int(number[1])), board)
    if columns or re.search("[0-9]", text):
        return position_after(parse_moves(words, board), board)
    marks = re.sub("[-_]", ".", re.sub("[/|]", "", "".join(words)))
    for mark in marks:
        if mark.upper() not in MARKS:
            column = f", and no column from a to {column_name(board.cols - 1)}" if board.gravity else ""
            raise BoardError(f"{quoted(mark)} is none of X, O and '.'{column}")
    if len(marks) != board.cells:
        raise BoardError(f"{len(marks)} cells; board {board.name} has {board.cells}")
    return check_possible(tuple(map(MARKS.index, marks.upper())), board)


def lettered(text: str, board: Board) -> str | None:
    """Rewrite moves such as `5`, digits from 1, as column and row, `b2`; return None for other texts."""
    words = text.replace(",", " ").split()
    if not words or not all(re.fullmatch("[XO]?[a-z0-9]+", word, re.IGNORECASE) for word in words):
        return None
    if not any(re.fullmatch("[XO]?[1-9]", word, re.IGNORECASE) for word in words) or board.cells > MOST_DIGITS:
        return None
    try:
        cells = parse_moves(words, board)
    except BoardError:
        return None
    return " ".join(f"{LETTERS[cell % board.cols]}{cell // board.cols + 1}" for cell in cells)


def notations(board: Board) -> str:
    """Return how positions of this board may be written, for messages."""
    rows = "/".join(["." * board.cols] * board.rows)
    moves = moves_text(board, board.open_cells((EMPTY,) * board.cells)[:2])
    return f"write rows ({rows}), moves ({moves}) or a code (code 0)"


def parse_moves(words: Iterable[str], board: Board) -> list[int]:
    """Return the cells that words name, each with or without the mover's mark before it.

    Raises BoardError for a word that does not name a cell, and for the other player's mark.
    """
    cells: list[int] = []
    for number, word in enumerate(words, 1):
        # `o1` is a cell if the board has a column o, and else the first cell with O on it.
        cell, mark = cell_of(word, board), ""
        if cell is None and word[:1].upper() in MARKS[1:]:
            cell, mark = cell_of(word[1:], board), word[0].upper()
        if cell is None and (column := _column(word, board)) is not None:
            above = range(board.cells - board.cols + column, -1, -board.cols)
            cell, mark = next((cell for cell in above if cell not in cells), column), ""
        turn = MARKS[2 - number % 2]
        if cell is None:
            last = board.cell_name(board.cells - 1)
            raise BoardError(f"move {number}, {quoted(word)}, names no cell; there are {board.cell_name(0)} to {last}")
        if mark not in ("", turn):
            raise BoardError(f"move {number}, {quoted(word)}, is not {mark}'s: X and O take turns, and X begins")
        cells.append(cell)
    return cells


def _column(name: str, board: Board) -> int | None:
    """Return the column of a letter or, on boards of more than nine cells, of a number; None without gravity."""
    number = int(name) - 1 if re.fullmatch("[1-9][0-9]?", name) and board.cells > MOST_DIGITS else NO_CELL
    if re.fullmatch("[a-z]", name, re.IGNORECASE):
        number = LETTERS.index(name.lower())
    return number if board.gravity and 0 <= number < board.cols else None


def cell_of(name: str, board: Board) -> int | None:
    """Return the cell of a name: its digit on boards of up to nine cells, column letter and row number on any."""
    if re.fullmatch("[1-9]", name) and int(name) <= board.cells <= MOST_DIGITS:
        return int(name) - 1
    cell = named_cell(name, board)
    return None if cell == NO_CELL else cell


def named_cell(name: str, board: Board) -> int | None:
    """Return the cell of a column's letters and a row number; NO_CELL if the board is smaller, None for other names.

    The first of two letters is a or b: the last of 64 columns is `bl`.
    """
    pair = re.fullmatch("([ab]?)([a-z])([1-9][0-9]?)", name.lower())
    if pair is None:
        return None
    col, row = 26 * ("", "a", "b").index(pair[1]) + LETTERS.index(pair[2]), int(pair[3]) - 1
    return row * board.cols + col if row < board.rows and col < board.cols else NO_CELL


def position_after(cells: Iterable[int], board: Board) -> Position:
    """Return the position after moves from the empty board.  Raises BoardError for an illegal move."""
    marks: Position = (EMPTY,) * board.cells
    for number, cell in enumerate(cells, 1):
        if board.outcome(marks) != UNFINISHED:
            raise BoardError(f"move {number} comes after the end of the game")
        if board.gravity and cell < board.cols and marks[cell] != EMPTY:
            raise BoardError(f"move {number} goes to column {column_name(cell)}, which is full")
        if marks[cell] != EMPTY:
            raise BoardError(f"move {number} goes to cell {board.cell_name(cell)}, taken by {MARKS[marks[cell]]}")
        if board.floats(marks, cell):
            raise BoardError(f"move {number} goes to cell {board.cell_name(cell)}, and the cell below it is free")
        marks = board.after(marks, cell)
    return marks


def check_possible(position: Position, board: Board) -> Position:
    """Return a position that games may reach, as far as its marks and lines show without a search.

    Raises BoardError for a wrong number of marks, and for lines that the last move cannot have made.
    """
    first, second = position.count(FIRST), position.count(SECOND)
    if first - second not in (0, 1):
        raise BoardError(f"{first} X and {second} O: X moves first, so X has as many marks as O or one more")
    if any(mark != EMPTY and board.floats(position, cell) for cell, mark in enumerate(position)):
        raise BoardError("a mark stands above a free cell, and on this board marks fall")
    lines = board.completed_lines(position)
    if lines:
        last = FIRST if first > second else SECOND
        # The last move completed every line, so no line exists without it.
        without = ((*position[:cell], EMPTY, *position[cell + 1 :]) for cell in lines[0])
        if position[lines[0][0]] != last or all(board.completed_lines(before) for before in without):
            raise BoardError("no game reaches it: one that has a line is over")
    return position


def moves_text(board: Board, cells: Iterable[int], first: int = 0) -> str:
    """Write moves as `X1 O2 X4`; first: the player, 0 or 1, of the first of them."""
    return " ".join(f"{MARKS[1 + (first + ply) % 2]}{board.cell_name(cell)}" for ply, cell in enumerate(cells))


def rows_text(board: Board, position: Position) -> str:
    """Write a position as `X.O/.X./...`."""
    return board.format_position(position).replace(" ", "/")


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
    """Move or result in a line.

    cell: None if the word names no cell; a number outside the board for a cell that the board lacks.
    column: True if `cell` is a column.  mark: X, O or nothing.  claim: the result that the word may mean.
    resigns: True for resigning; `cell` is then `Board.resignation`.
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
    """Return the moves of a line without its comment, and last its result if it has one."""
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
    """Return digits without blanks as words, if each can only be a move; otherwise nothing."""
    most = (board.cols if reading.moves == COLUMNS else board.cells) - 1 + reading.first
    whole = len(text) > 1 and text.isascii() and text.isdigit()
    return text if whole and reading.moves in (NUMBERS, COLUMNS) and most <= 9 else ""


@functools.lru_cache(maxsize=64)
def _vocabulary(board: Board, reading: DigitReading) -> Callable[[str], Word]:
    """Return a cache of the meanings of words."""
    return functools.lru_cache(maxsize=1 << 12)(lambda text: _word(text, board, reading))


def _word(text: str, board: Board, reading: DigitReading) -> Word:
    """Return the meaning of a single word."""
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
    """Return the cell or column that a word names, and whether it is a column; None for other words."""
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
    """Return the cell of a pair of numbers; None if numbers do not mean rows and columns."""
    if reading.moves not in (ROW_COL, COL_ROW):
        return None
    row, col = (one, two) if reading.moves == ROW_COL else (two, one)
    return _cell(row - reading.first, col - reading.first, board, reading)


def _cell(row: int, col: int, board: Board, reading: DigitReading) -> int:
    """Return the cell in a row and a column, counted from 0; NO_CELL outside the board."""
    if not (0 <= row < board.rows and 0 <= col < board.cols):
        return NO_CELL
    return (board.rows - 1 - row if reading.up else row) * board.cols + col
