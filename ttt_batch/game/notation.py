"""Positions and moves as people write them: read in several notations, written in one.

Rows:  X, O and `.` (or `-`, `_`), with `/`, `|`, spaces or nothing between the rows: `X.O/.X./...`
Moves: cells in the order of play, X first, with spaces or commas between: `5 1 9`, `X5 O1 X9`, `b2 a1 c3`.  A cell is
       its digit on boards of up to nine cells, and on any board its column letter and row number from the top left;
       the mark before it may be left out.
Code:  the position's number, `sum(mark[i] * 3**i)`, alone or after `code`: `12345`, `code 5`.

A number alone is the move to the cell of that number, if there is one: `5` is X in the centre of 3x3, and `code 5` the
position of that code.  Every other number is a code; on larger boards, whose cells have no digits, every number is one.
"""

import operator
import re
from collections.abc import Iterable
from typing import Any

from ttt_batch.base.errors import BoardError, quoted
from ttt_batch.game.board import EMPTY, FIRST, LETTERS, MARKS, SECOND, UNFINISHED, Board, Position

MOST_DIGITS = 9
"""Cells of the largest board on which a digit names a cell."""

NO_CELL = -1
"""The cell of a name that the board does not have."""


def read_position(position: str | int | Position, board: Board) -> Position:
    """Read a position given as text (see above), as a code, or as the marks of all cells (0 to 2, row by row).

    This is the one reader, for every command and every function.  Raises BoardError, in one line with the notations
    that there are, for anything else, for moves that the rules do not allow, and for a position that no game reaches.
    """
    given: Any = position
    try:
        if isinstance(given, str):
            return _parsed(given, board)
        several = isinstance(given, Iterable)
        marks = tuple(map(operator.index, given)) if several else board.decode(operator.index(given))
        if len(marks) != board.cells or not {EMPTY, FIRST, SECOND}.issuperset(marks):
            raise BoardError(f"board {board.name} has {board.cells} cells, each {EMPTY}, {FIRST} or {SECOND}")
        return check_possible(marks, board)
    except TypeError:
        raise BoardError(f"position {quoted(given)} is no text, code or marks; {notations(board)}") from None
    except BoardError as error:
        raise BoardError(f"position {quoted(given)}: {error}; {notations(board)}") from None


def may_be_position(text: str) -> bool:
    """Return whether a text may stand for a position of some board, by its form alone."""
    word = r"[xo._/|-]{2,}|code[ :=]*[0-9]*|[0-9]+|[xo]?(?:[1-9]|[ab]?[a-z][1-9][0-9]?)"
    words = text.replace(",", " ").split()
    return words != [] and all(re.fullmatch(word, each, re.ASCII | re.IGNORECASE) for each in words)


def _parsed(text: str, board: Board) -> Position:
    words = text.replace(",", " ").split()
    if not words:
        raise BoardError("nothing is given")
    number = re.fullmatch(r"(?:code[ :=]*)?(0|[1-9][0-9]{0,30})", " ".join(words), re.IGNORECASE)
    if number and (len(words[0]) > len(number[1]) or len(words) > 1 or cell_of(number[1], board) is None):
        return check_possible(board.decode(int(number[1])), board)
    if re.search("[0-9]", text):
        return position_after(parse_moves(words, board), board)
    return check_possible(_position_of("".join(words), board), board)


def lettered(text: str, board: Board) -> str | None:
    """Return moves that name a cell by its digit, which counts from 1, with letters instead; None for other texts."""
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
    """How positions of this board may be written, for messages."""
    rows = "/".join(["." * board.cols] * board.rows)
    moves = moves_text(board, range(min(2, board.cells)))
    return f"write rows ({rows}), moves ({moves}) or a code (code 0)"


def _position_of(rows: str, board: Board) -> Position:
    """Read rows of X, O and `.` without spaces; numbers of marks are not checked."""
    marks = re.sub("[-_]", ".", re.sub("[/|]", "", rows.upper()))
    for mark in marks:
        if mark not in MARKS:
            raise BoardError(f"{quoted(mark)} is none of X, O and '.'")
    if len(marks) != board.cells:
        raise BoardError(f"{len(marks)} cells; board {board.name} has {board.cells}")
    return tuple(map(MARKS.index, marks))


def parse_moves(words: Iterable[str], board: Board) -> list[int]:
    """The cells that words name, each with or without the mark of the player whose turn it is before it.

    Raises BoardError for a word that names no cell, and for the other player's mark.
    """
    cells = []
    for number, word in enumerate(words, 1):
        # `o1` is a cell if the board has a column o, and else the first cell with O on it.
        cell, mark = cell_of(word, board), ""
        if cell is None and word[:1].upper() in MARKS[1:]:
            cell, mark = cell_of(word[1:], board), word[0].upper()
        turn = MARKS[2 - number % 2]
        if cell is None:
            last = board.cell_name(board.cells - 1)
            raise BoardError(f"move {number}, {quoted(word)}, names no cell; there are {board.cell_name(0)} to {last}")
        if mark not in ("", turn):
            raise BoardError(f"move {number}, {quoted(word)}, is not {mark}'s: X and O take turns, and X begins")
        cells.append(cell)
    return cells


def cell_of(name: str, board: Board) -> int | None:
    """The cell of a name: its digit on boards of up to nine cells, column letter and row number on any."""
    if re.fullmatch("[1-9]", name) and int(name) <= board.cells <= MOST_DIGITS:
        return int(name) - 1
    cell = named_cell(name, board)
    return None if cell == NO_CELL else cell


def named_cell(name: str, board: Board) -> int | None:
    """The cell of a column's letters and a row number; NO_CELL if the board is smaller, None for anything else.

    The first of two letters is a or b: the last of 64 columns is `bl`.
    """
    pair = re.fullmatch("([ab]?)([a-z])([1-9][0-9]?)", name.lower())
    if pair is None:
        return None
    col, row = 26 * ("", "a", "b").index(pair[1]) + LETTERS.index(pair[2]), int(pair[3]) - 1
    return row * board.cols + col if row < board.rows and col < board.cols else NO_CELL


def position_after(cells: Iterable[int], board: Board) -> Position:
    """The position after moves from the empty board.  Raises BoardError for a move that the rules do not allow."""
    marks: Position = (EMPTY,) * board.cells
    for number, cell in enumerate(cells, 1):
        if board.outcome(marks) != UNFINISHED:
            raise BoardError(f"move {number} comes after the end of the game")
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
    if board.gravity and any(mark != EMPTY and board.floats(position, cell) for cell, mark in enumerate(position)):
        raise BoardError("a mark stands above a free cell, and on this board marks fall")
    lines = board.completed_lines(position)
    if lines:
        last = FIRST if first > second else SECOND
        # The last move made every line, so without it there is none.
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
