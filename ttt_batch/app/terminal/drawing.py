"""Boards as lines of text, plain or coloured, with hints.

Text is plain ASCII and at most NARROW columns wide on boards of up to six columns, WIDEST on any.  Colour only repeats
brackets and letters, and suits every kind of colour vision.

Hints are the agent's value or probability of each free cell, and its exact result if known.  Letters mark wins, draws
and losses; with colour, wins are on blue and losses on orange.
"""

import math
import re
from collections.abc import Collection, Mapping, Sequence
from itertools import product
from typing import NamedTuple

from ttt_batch.agents.adapter import PlayingAgent
from ttt_batch.analysis.review import move_results
from ttt_batch.app.reports.layout import side_by_side
from ttt_batch.app.terminal.keys import MAX_DIGIT_CELLS
from ttt_batch.core.text import Ties, percent
from ttt_batch.games.board import EMPTY, MARKS, Board, Game, column_name
from ttt_batch.games.gravity_solver import LIMIT, QUICK_LIMIT, can_solve
from ttt_batch.games.solution import Prospect, in_plies

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

Labels = Sequence[str | tuple[str, ...]]
"""Text of every cell: a line, or the same number of lines in each."""


def styled(text: str, *names: str) -> str:
    """Return `text` in the styles of these names; other names change nothing."""
    codes = ";".join(STYLES[name] for name in names if name in STYLES)
    return f"\x1b[{codes}m{text}\x1b[0m" if codes else text


def unstyled(text: str) -> str:
    """Return `text` without styles, to measure it."""
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def draw_grid(
    board: Board,
    labels: Labels,
    marked: Collection[int] = frozenset(),
    styles: Sequence[tuple[str, ...]] = (),
    cursor: int | None = None,
) -> list[str]:
    """Draw a label in each cell, in lines; the `marked` cells in brackets, the one at the `cursor` as `>X<`.

    Up to MAX_DIGIT_CELLS cells between rules, larger boards under column letters and beside row numbers.
    styles: names of the styles of every cell; none for plain text.
    """
    texts = [(label,) if isinstance(label, str) else label for label in labels]
    signs = dict.fromkeys(marked, "[]")
    if cursor is not None:
        signs[cursor] = "><"
    draw = _draw_ruled if board.cells <= MAX_DIGIT_CELLS else _draw_lettered
    return draw(board, texts, signs, styles or [()] * board.cells)


Texts = Sequence[tuple[str, ...]]


def _draw_ruled(board: Board, texts: Texts, signs: dict[int, str], styles: Texts) -> list[str]:
    """Draw labels between rules, with more space if NARROW allows it.  Signs fill the space around a label."""
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
                cells.append(styled(label.ljust(width), *styles[cell]))
            lines.append(("|" if roomy else " ").join(cells).rstrip())
    return lines


def _draw_lettered(board: Board, texts: Texts, signs: dict[int, str], styles: Texts) -> list[str]:
    """Draw under column letters and beside row numbers, at most NARROW wide; columns beyond WIDEST follow below."""
    width, edge = max(len(line) for text in texts for line in text), len(str(board.rows))
    gap = next((gap for gap in (3, 2) if edge + 3 + board.cols * (width + gap) - gap <= NARROW), 1)
    at_once = (WIDEST - edge - 3 + gap) // (width + gap)
    lines: list[str] = []
    for first in range(0, board.cols, at_once):
        columns = range(first, min(first + at_once, board.cols))
        lines += [""] if first else []
        lines += _draw_letters(columns, edge, width, gap)
        for row in range(board.rows):
            cells = range(row * board.cols + columns[0], row * board.cols + columns[-1] + 1)
            for number in range(len(texts[0])):
                shown = {cell: styled(texts[cell][number].ljust(width), *styles[cell]) for cell in cells}
                edging = f"{row + 1 if number == 0 else '':>{edge}} "
                lines.append((edging + _joined(shown, {} if number else signs, gap)).rstrip())
    return lines


def _joined(texts: Mapping[int, str], signs: Mapping[int, str], gap: int) -> str:
    """Return a row of cells with the signs around some of them, and a column before the first."""
    line, before = "", ""
    for cell, text in texts.items():
        here = signs.get(cell, "")
        line += _between(before, here, gap if line else 1) + text
        before = here
    return line + _between(before, "", 1)


def _between(before: str, after: str, gap: int) -> str:
    """Return the text between two cells, either of which may have signs around it.

    In a gap of one column neighbours share a pair of brackets: `[X X X]`.
    """
    if gap == 1:
        if before == after:
            return " "
        return after[0] if after and before != "><" else before[1]
    return (before[1:] or " ") + " " * (gap - 2) + (after[:1] or " ")


def _draw_letters(columns: Sequence[int], edge: int, width: int, gap: int) -> list[str]:
    """Return the line of column letters; two lines, one letter below the other, if `aa` is too wide."""
    names = [column_name(col) for col in columns]
    depth = max(map(len, names))
    lines = [names] if depth < width + gap else zip(*(name.rjust(depth) for name in names), strict=True)
    return [(" " * (edge + 2) + "".join(text.ljust(width + gap) for text in line)).rstrip() for line in lines]


LARGE = {
    "X": ("XX   XX", " XX XX ", "  XXX  ", " XX XX ", "XX   XX"),
    "O": (" OOOOO ", "OO   OO", "OO   OO", "OO   OO", " OOOOO "),
}
"""Large marks, to be read from the back of a room."""


def draw_board(game: Game, colour: bool = False, cursor: int | None = None, *, large: bool = False) -> list[str]:
    """Draw a game: marks, free cells, and in brackets the winning line or else the last move.

    large: as LARGE; one line becomes five.
    """
    board = game.board
    marked = board.winning_cells(game.position) or frozenset(game.moves[-1:])
    labels, styles = [], []
    for cell, mark in enumerate(game.position):
        free = str(cell + 1) if board.cells <= MAX_DIGIT_CELLS and board.is_open(game.position, cell) else MARKS[EMPTY]
        labels.append(free if mark == EMPTY else MARKS[mark])
        styles.append(("key" if mark == EMPTY else labels[-1], "marked" if cell in marked or cell == cursor else ""))
    shown: Labels = labels
    if large:
        blank = " " * 7
        shown = [LARGE.get(label, (blank, blank, label.center(7), blank, blank)) for label in labels]
    return draw_grid(board, shown, marked, styles if colour else (), cursor)


def draw_replay(game: Game) -> list[str]:
    """Draw every position of a game in order, the last move of each in brackets, as many side by side as NARROW holds.

    Free cells are dots on every board, and the move stands above each position.
    """
    pictures = [_picture(Game(game.board, game.moves[:ply])) for ply in range(len(game.moves) + 1)]
    width = max(min(2 * game.board.cols + 1, WIDEST), *(len(line) for picture in pictures for line in picture))
    return side_by_side([[line.ljust(width) for line in picture] for picture in pictures], NARROW, "  ")


def _picture(game: Game) -> list[str]:
    """Return a position as lines under the move that led to it; columns beyond WIDEST follow below."""
    board, signs, at_once = game.board, dict.fromkeys(game.moves[-1:], "[]"), (WIDEST - 1) // 2
    lines = [move_name(game, len(game.moves) - 1) if game.moves else "start"]
    for first, row in product(range(0, board.cols, at_once), range(board.rows)):
        cells = range(row * board.cols + first, row * board.cols + min(first + at_once, board.cols))
        lines.append(_joined({cell: MARKS[game.position[cell]] for cell in cells}, signs, 1).rstrip())
    return lines


def move_name(game: Game, ply: int) -> str:
    """Return number, mark and cell of a game's move: `3. X b2`."""
    return f"{ply + 1}. {MARKS[1 + ply % 2]} {game.board.cell_name(game.moves[ply])}"


PLY = "(a ply is one move of either player)"
"""Explains the word where plies are first counted."""


class Hints(NamedTuple):
    """Values and exact results of a position's moves.

    values: of the free cells that were visited, in cell order, for the player to move; or probabilities.
    truths: exact result of each free cell; None if unknown.
    gives: kind of the values, `value` or `chance`.
    """

    values: Mapping[int, float]
    truths: Mapping[int, Prospect] | None = None
    gives: str = "value"

    @property
    def best(self) -> list[int]:
        """Return the cells of the highest value; none if no cell was visited."""
        return [cell for cell, value in self.values.items() if value == max(self.values.values())]

    def shown(self, cell: int) -> str:
        """Return a cell's value in few columns, or its probability in per cent."""
        value = self.values[cell]
        if self.gives == "chance":
            return percent(value)
        return f"{value:+.1e}" if abs(value) >= 1000 else f"{round(value, 2) + 0.0:+.2f}"  # 0.0 adds no minus


def hints_of(agent: PlayingAgent, game: Game, limit: int = LIMIT) -> Hints:
    """Return an agent's values of the moves of an unfinished position, with the exact results.

    limit: of positions to search for the exact results, as for `true_moves`.
    """
    values = sorted(agent.move_values(game.position).items())
    visited = {cell: value for cell, value in values if game.position[cell] == EMPTY and not math.isnan(value)}
    return Hints(visited, move_results(agent, game.position, limit), agent.gives)


def query_once(agent: PlayingAgent, ties: Ties) -> None:
    """Query an agent once before the screen opens, because compiling and enumerating may print lines.

    ties: tie rule of the game.
    """
    game = Game(agent.board)
    hints_of(agent, game, QUICK_LIMIT)
    agent.candidates(game.position)
    if ties == "sharp" and agent.sharpens:
        agent.sharp_cells(game.position)


def draw_hints(game: Game, hints: Hints, colour: bool = False) -> list[str]:
    """Draw the hints for the player to move over the board, and a legend."""
    what = "What the agent gives" if hints.gives == "value" else "The agent's chance of"
    title = f"{what} each cell for {MARKS[game.mover]}:"
    legend = [*draw_highest(game, hints), *draw_legend(game, hints, colour)]
    return [title, "", *draw_values(game, hints, colour), "", *legend]


def draw_values(
    game: Game, hints: Hints, colour: bool = False, cursor: int | None = None, marked: Collection[int] = ()
) -> list[str]:
    """Draw the board with the value of each free cell, `?` if never visited, above the truth.

    The `marked` cells stand in brackets.
    """
    best = hints.best
    labels: list[str | tuple[str, ...]] = []
    styles = []
    for cell, mark in enumerate(game.position):
        text = hints.shown(cell) if cell in hints.values else "?"
        text = text if game.board.is_open(game.position, cell) else MARKS[mark]
        truth = hints.truths.get(cell) if hints.truths is not None else None
        labels.append(text if hints.truths is None else (text, truth.short if truth is not None else ""))
        look = MARKS[mark] if mark != EMPTY else truth.word if truth is not None else ""
        inverse = cell == cursor or (cell in best and hints.truths is None)
        styles.append((look, "best" if cell in best else "", "marked" if inverse else ""))
    return draw_grid(game.board, labels, marked, styles if colour else (), cursor)


def draw_highest(game: Game, hints: Hints) -> list[str]:
    """Name the cells of the highest value, in a line; none if no cell was visited."""
    best = hints.best
    cells = " ".join(game.board.cell_name(cell) for cell in best) if len(best) < 10 else f"{len(best)} cells"
    return [f"Highest: {cells}"] if best else []


def draw_legend(game: Game, hints: Hints, colour: bool = False) -> list[str]:
    """Say what the values and the signs below them mean, in lines of at most 40 columns."""
    lines = ["? = never seen"] if len(hints.values) < len(game.board.open_cells(game.position)) else []
    if hints.gives == "chance":
        lines += ["Per cent: how likely the agent is to", "take the cell; it keeps no values."]
    if hints.truths is None and can_solve(game.board):
        return [*lines, "The true results are not known yet:", "too many cells are free."]
    if hints.truths is None:
        return [*lines, "The true results of this board are", "unknown: it has too many positions."]
    win, loss = ("W3", "win in 3 plies"), ("L2", "loss in 2")
    if not in_plies(hints.truths.values()):
        win, loss = ("W", "win (W3 in 3 plies)"), ("L", "loss")
    signs = (*win, "win"), ("D", "draw", "draw"), (*loss, "loss")
    parts = [f"{styled(sign, style) if colour else sign} {meaning}" for sign, meaning, style in signs]
    return [*lines, f"Below each {hints.gives} the truth:", ", ".join(parts), PLY]
