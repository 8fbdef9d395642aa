"""The drawing: a board as lines of text, plain or coloured, without side effects.

Everything is plain ASCII and at most NARROW columns wide on boards of up to six columns, WIDEST on any.  Colour only
adds to what brackets and letters say, and is told apart by every kind of colour vision.
"""

import re
from collections.abc import Collection, Sequence
from itertools import product

from ttt_batch.app.reports.layout import side_by_side
from ttt_batch.app.terminal.keys import MAX_DIGIT_CELLS
from ttt_batch.game.board import EMPTY, MARKS, Board, Game, column_name

NARROW = 40
"""Columns that everything should fit into: a telephone held upright."""

WIDEST = 80
"""Columns that everything does fit into: the classic terminal."""

# Blue and orange stay apart for every kind of colour vision, on black and on white: 33 and 208 of the 256 colours, for
# the terminal's own blue can hardly be seen on black.  Reverse adds to the brackets and never replaces them.
STYLES = {
    "key": "2",
    "X": "1;38;5;33",
    "O": "1;38;5;208",
    "marked": "7",
    "win": "38;5;231;48;5;26",
    "loss": "38;5;16;48;5;208",
    "best": "1",
}
"""Codes of the terminal by name of a style."""

Styles = Sequence[tuple[str, ...]] | None
"""Names of the styles of every cell; None for plain text."""

Labels = Sequence[str | tuple[str, ...]]
"""What stands in every cell: a line of text, or several, as many in each."""


def styled(text: str, *names: str) -> str:
    """`text` in the styles of these names; other names change nothing."""
    codes = ";".join(STYLES[name] for name in names if name in STYLES)
    return f"\x1b[{codes}m{text}\x1b[0m" if codes else text


def unstyled(text: str) -> str:
    """`text` without styles, to be measured."""
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def draw_grid(
    board: Board,
    labels: Labels,
    marked: Collection[int] = frozenset(),
    styles: Styles = None,
    cursor: int | None = None,
) -> list[str]:
    """Draw a label in each cell, in lines; the `marked` cells in brackets, the one at the `cursor` as `>X<`.

    Up to MAX_DIGIT_CELLS cells between rules, larger boards under column letters and beside row numbers.
    """
    texts = [(label,) if isinstance(label, str) else label for label in labels]
    signs = dict.fromkeys(marked, "[]")
    if cursor is not None:
        signs[cursor] = "><"
    if board.cells <= MAX_DIGIT_CELLS:
        return _draw_ruled(board, texts, signs, styles)
    return _draw_lettered(board, texts, signs, styles)


def _draw_ruled(board: Board, texts: list[tuple[str, ...]], signs: dict[int, str], styles: Styles) -> list[str]:
    """Between rules; roomy if NARROW allows it, else tighter.  Signs fill the room around a label."""
    width = max(len(line) for text in texts for line in text) + 2
    roomy = board.cols * (width + 1) - 1 <= NARROW
    if not roomy:
        width -= 0 if signs else 2
    rule = "+".join(["-" * width] * board.cols)
    lines: list[str] = []
    for row in range(board.rows):
        lines += [rule] if row and roomy else []
        for number in range(len(texts[0])):
            cells = []
            for cell in range(row * board.cols, (row + 1) * board.cols):
                label = texts[cell][number]
                if cell in signs and number == 0:
                    label = f"{signs[cell][0]}{label}{signs[cell][1]}"
                elif roomy:
                    label = f" {label}"
                cells.append(styled(label.ljust(width), *styles[cell]) if styles else label.ljust(width))
            lines.append(("|" if roomy else " ").join(cells).rstrip())
    return lines


def _draw_lettered(board: Board, texts: list[tuple[str, ...]], signs: dict[int, str], styles: Styles) -> list[str]:
    """Under column letters and beside row numbers, as roomy as NARROW allows; what passes WIDEST goes on below."""
    width, edge = max(len(line) for text in texts for line in text), len(str(board.rows))
    gap = next((gap for gap in (3, 2) if edge + 3 + board.cols * (width + gap) - gap <= NARROW), 1)
    at_once = (WIDEST - edge - 3 + gap) // (width + gap)
    lines: list[str] = []
    for first in range(0, board.cols, at_once):
        columns = range(first, min(first + at_once, board.cols))
        lines += [""] if first else []
        lines += _draw_letters(columns, edge, width, gap)
        for row in range(board.rows):
            for number in range(len(texts[0])):
                line, before = f"{row + 1 if number == 0 else '':>{edge}} ", ""
                for col in columns:
                    cell = row * board.cols + col
                    here = signs.get(cell, "") if number == 0 else ""
                    line += _between(before, here, 1 if col == first else gap)
                    text = texts[cell][number].ljust(width)
                    line += styled(text, *styles[cell]) if styles else text
                    before = here
                lines.append((line + _between(before, "", 1)).rstrip())
    return lines


def _between(before: str, after: str, gap: int) -> str:
    """What stands between two cells, of which the one before and the one after may have signs around them.

    In a gap of one column neighbours share a pair of brackets: `[X X X]`.
    """
    if gap == 1:
        if before == after:
            return " "
        return after[0] if after and before != "><" else before[1]
    return (before[1:] or " ") + " " * (gap - 2) + (after[:1] or " ")


def _draw_letters(columns: Sequence[int], edge: int, width: int, gap: int) -> list[str]:
    """The line of column letters; two of them, one letter below the other, if `aa` is too wide."""
    names = [column_name(col) for col in columns]
    depth = max(map(len, names))
    if depth < width + gap:
        return [(" " * (edge + 2) + "".join(name.ljust(width + gap) for name in names)).rstrip()]
    stacked = [name.rjust(depth) for name in names]
    return [
        (" " * (edge + 2) + "".join(name[line].ljust(width + gap) for name in stacked)).rstrip()
        for line in range(depth)
    ]


def draw_board(game: Game, colour: bool = False, cursor: int | None = None) -> list[str]:
    """Draw a game: marks, free cells, and in brackets the winning line or else the last move."""
    board = game.board
    marked = board.winning_cells(game.position) or frozenset(game.moves[-1:])
    labels, styles = [], []
    for cell, mark in enumerate(game.position):
        free = str(cell + 1) if board.cells <= MAX_DIGIT_CELLS else MARKS[EMPTY]
        labels.append(free if mark == EMPTY else MARKS[mark])
        styles.append(("key" if mark == EMPTY else labels[-1], "marked" if cell in marked or cell == cursor else ""))
    return draw_grid(board, labels, marked, styles if colour else None, cursor)


def draw_replay(game: Game) -> list[str]:
    """Draw every position of a game in order, the last move of each in brackets, as many side by side as NARROW holds.

    Free cells are dots on every board, and the move stands above each position.
    """
    board = game.board
    pictures = [_picture(Game(board, game.moves[:ply])) for ply in range(len(game.moves) + 1)]
    width = max(min(2 * board.cols + 1, WIDEST), *(len(line) for picture in pictures for line in picture))
    return side_by_side([[line.ljust(width) for line in picture] for picture in pictures], NARROW, "  ")


def _picture(game: Game) -> list[str]:
    """A position, a character and its brackets a cell, under the move that led to it; what passes WIDEST below."""
    board, marked, at_once = game.board, frozenset(game.moves[-1:]), (WIDEST - 1) // 2
    lines = [move_name(game, len(game.moves) - 1) if game.moves else "start"]
    for first, row in product(range(0, board.cols, at_once), range(board.rows)):
        line, before = "", ""
        for cell in range(row * board.cols + first, row * board.cols + min(first + at_once, board.cols)):
            here = "[]" if cell in marked else ""
            line += _between(before, here, 1) + MARKS[game.position[cell]]
            before = here
        lines.append((line + _between(before, "", 1)).rstrip())
    return lines


def move_name(game: Game, ply: int) -> str:
    """Number, mark and cell of a game's move: `3. X b2`."""
    return f"{ply + 1}. {MARKS[1 + ply % 2]} {game.board.cell_name(game.moves[ply])}"
