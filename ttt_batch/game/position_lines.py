"""Lines of positions with results, as public sets have them: `x,x,x,x,o,o,x,o,o,positive`."""

import re
from collections.abc import Iterable, Mapping
from itertools import chain
from typing import NamedTuple

from ttt_batch.base.errors import BoardError, GamesError, quoted
from ttt_batch.game.board import EMPTY, Board, Position
from ttt_batch.game.game_layouts import lines_of
from ttt_batch.game.notation import check_possible, rows_text

MARKS_OF = {"x": 1, "o": 2, "b": 0, ".": 0, "-": 0, "_": 0, "": 0}
"""Marks by their letters."""

FEWEST = 4
"""Cells of a position at least, so that no line of a game looks like one."""

LABELS: Mapping[str, frozenset[int]] = {
    **dict.fromkeys(("positive", "win", "won", "x", "xwins", "1", "1.0", "true", "first"), frozenset({1})),
    **dict.fromkeys(("loss", "lose", "lost", "o", "owins", "-1", "-1.0", "second"), frozenset({-1})),
    **dict.fromkeys(("draw", "tie", "drawn", "0", "0.0"), frozenset({0})),
    **dict.fromkeys(("negative", "false"), frozenset({0, -1})),
}
"""Results of the first player that a label allows, 1 a win; `negative` is anything but a win."""


def fields_of(line: str) -> list[str]:
    """The fields of a line without quotes, in lower case; marks that stand together are one."""
    separator = next((sign for sign in ",;\t" if sign in line), None)
    return [field.strip().strip("\"'").strip().lower() for field in line.strip().split(separator)]


def is_labelled(line: str) -> bool:
    """Return whether a line holds a position, a field for each cell, and then a result."""
    *marks, label = fields_of(line)
    return (
        len(marks) >= FEWEST
        and {"x", "o"} <= set(marks)
        and MARKS_OF.keys() >= set(marks)
        and re.sub(r"\s", "", label) in LABELS
    )


KNOWN_BOARDS = {9: "3x3", 42: "6x7x4-gravity"}
"""Boards of public sets, by their cells; an agent without a board plays there."""

LABELLED_LOOKED_AT = 200
"""Positions that show in which order the cells of a board with gravity are written."""


class Labelled(NamedTuple):
    """A position of a file.

    line: its number.  marks: those of all cells.  allowed: the first player's results that its label allows, or None.
    """

    line: int
    marks: Position
    allowed: frozenset[int] | None


class LabelledPositions(NamedTuple):
    """A file of positions.

    positions: those that a game may reach.  left_out: how many others there are.  shown: one of them, with the reason.
    """

    positions: list[Labelled]
    left_out: int
    shown: str | None


def board_meant(lines: Iterable[str]) -> str | None:
    """The board of a public set that begins with these lines, by its number of cells; None if there is no such set."""
    return next((KNOWN_BOARDS.get(len(fields_of(line)) - 1) for line in lines if is_labelled(line)), None)


def read_positions(pieces: Iterable[bytes], board: Board, name: str) -> LabelledPositions:
    """Read positions of a board: in each line a field for each cell, or rows such as X.O/.X./..., and maybe a result.

    Marks are x, o and b or `.` for a free cell.  A header is left out.
    Raises GamesError for what is no position, and BoardError for one of another board.
    """
    rows: list[tuple[int, list[int], frozenset[int] | None]] = []
    for number, line in enumerate(chain.from_iterable(map(lines_of, pieces)), 1):
        text = line.partition("#")[0].strip()
        if text and not (not rows and is_names(text)):
            try:
                rows.append((number, *_read_line(text, board, name)))
            except GamesError as error:
                raise GamesError(f"{name}, line {number}: {error}") from None
    if not rows:
        raise GamesError(f"{name}: no positions; give a line such as x,x,x,x,o,o,x,o,o,positive per position")
    order = _order(board, [marks for _, marks, _ in rows[:LABELLED_LOOKED_AT]])
    kept: list[Labelled] = []
    shown, left_out = None, 0
    for number, written, allowed in rows:
        marks = tuple(written[place] for place in order)
        try:
            kept.append(Labelled(number, check_possible(marks, board), allowed))
        except BoardError as error:
            left_out += 1
            shown = shown or f"line {number}: {rows_text(board, marks)}: {error}"
    return LabelledPositions(kept, left_out, shown)


def is_names(line: str) -> bool:
    """Return whether a line may be a header: its fields are names, and none is a mark."""
    fields = fields_of(line)
    return (
        len(fields) > 1 and not any(field in MARKS_OF for field in fields) and re.search("[a-z]{2}", line) is not None
    )


def _read_line(text: str, board: Board, name: str) -> tuple[list[int], frozenset[int] | None]:
    """The marks of a line, and what its label allows."""
    fields = fields_of(text)
    if len(fields) <= 2:  # the marks stand together
        fields = [*re.sub("[/|]", "", fields[0]), *fields[1:]]
    if len(fields) not in (board.cells, board.cells + 1):
        cells = len(fields) - (fields[-1] in LABELS)
        meant = KNOWN_BOARDS.get(cells, f"a board of {cells} cells")
        raise BoardError(
            f"{name} holds positions of {cells} cells, and the board is {board.name}; name a run or an agent of {meant}"
        )
    marks = fields[: board.cells]
    for cell, mark in enumerate(marks, 1):
        if mark not in MARKS_OF:
            raise GamesError(f"field {cell}, {quoted(mark)}, is no mark; write x, o, and b for a free cell")
    return [MARKS_OF[mark] for mark in marks], _allowed(fields[-1]) if len(fields) > board.cells else None


def _allowed(label: str) -> frozenset[int]:
    found = LABELS.get(re.sub(r"\s", "", label))
    if found is None:
        raise GamesError(f"label {quoted(label)} is no result; write win, draw or loss of X, or positive or negative")
    return found


def _order(board: Board, written: list[list[int]]) -> list[int]:
    """Where in a line the mark of each cell stands.

    On a board with gravity it is the order in which the fewest marks float: column by column from the bottom as in the
    public set, or row by row.
    """
    rows, cols = board.rows, board.cols
    by_rows = list(range(board.cells))
    if not board.gravity:
        return by_rows
    grid = [(row, col) for row in range(rows) for col in range(cols)]
    orders = [
        [col * rows + rows - 1 - row for row, col in grid],
        by_rows,
        [(rows - 1 - row) * cols + col for row, col in grid],
        [col * rows + row for row, col in grid],
    ]

    def floating(order: list[int]) -> int:
        boards = (tuple(marks[place] for place in order) for marks in written)
        return sum(board.floats(marks, cell) for marks in boards for cell, mark in enumerate(marks) if mark != EMPTY)

    return min(orders, key=floating)
