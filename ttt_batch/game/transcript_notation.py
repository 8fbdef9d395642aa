"""A line of a game file: the cells in the order of play, `!` after an exploratory move, `#` before a comment.

A cell is its number, which counts from 0 in game files, or its name: `b2`, column letter and row number.
`transcript_reader` reads whole files, thousands of lines at a time.  Lines that it cannot read are read here, with a
message for each fault.
"""

from collections.abc import Iterator

from ttt_batch.base.errors import UsageError, option, quoted
from ttt_batch.base.quantities import Number
from ttt_batch.base.wording import counted
from ttt_batch.game.board import EMPTY, UNFINISHED, Board
from ttt_batch.game.notation import named_cell
from ttt_batch.game.transcripts import GamesError

DIGITS = 3
"""Digits of a cell's number at most."""

Moves = list[tuple[int, bool]]
"""The cells of a game, from 0, and whether each move explored."""


def from_one() -> str:
    """The option for files whose cells count from 1, for messages."""
    return option("cells_from", 1)


def checked_base(cells_from: Number) -> int:
    """0 or 1, from which the numbers of cells count.  Raises UsageError for others."""
    if str(cells_from) not in ("0", "1"):
        raise UsageError(f"cells from {cells_from}: the numbers of cells count from 0 or from 1; choose one of them")
    return int(cells_from)


def parse_line(line: str, board: Board, *, occupied: bool, cells_from: int = 0) -> Moves:
    """Read a game; no moves for a line that is empty or a comment.

    occupied: choosing an occupied cell is a move, too, and loses.  cells_from: the number of the first cell, 0 or 1.

    Raises GamesError for anything but a whole game that the rules allow.
    """
    marks, over = [EMPTY] * board.cells, False
    moves: Moves = []
    for number, (word, cell, explores) in enumerate(_words(line.partition("#")[0], board, cells_from), 1):
        if over:
            raise GamesError(f"the game is over after {counted(len(moves), 'move')}, but {quoted(word)} follows")
        if cell not in range(board.cells) or (marks[cell] != EMPTY and not occupied):
            hint = _numbers_of_cells(board, cells_from) if word[0].isdigit() and cell not in range(board.cells) else ""
            raise GamesError(f"move {number}, {quoted(word)}, is not a free cell of the board{hint}")
        over = marks[cell] != EMPTY
        if not over:
            marks[cell] = 1 + len(moves) % 2
            over = board.outcome(tuple(marks)) != UNFINISHED
        moves.append((cell, explores))
    if moves and not over:
        raise GamesError(f"the game is not finished after {counted(len(moves), 'move')}")
    return moves


def _words(text: str, board: Board, cells_from: int) -> Iterator[tuple[str, int, bool]]:
    """The moves of a line: the word, the cell that it names (which may not exist), whether it explored."""
    for number, word in enumerate(text.split(), 1):
        name, explores = (word[:-1], True) if word.endswith("!") else (word, False)
        if name.isascii() and name.isdigit() and len(name) <= DIGITS:
            yield word, int(name) - cells_from, explores
            continue
        cell = named_cell(name, board)
        if cell is None:
            raise GamesError(f"move {number}, {quoted(word)}, is not a cell number")
        yield word, cell, explores


def _numbers_of_cells(board: Board, cells_from: int) -> str:
    """The end of a message about a number that no cell has."""
    numbers = f"cells count from {cells_from} in game files, {cells_from} to {board.cells - 1 + cells_from}"
    return f": {numbers}; choose {from_one()} if these count from 1" if cells_from == 0 else f": {numbers}"
