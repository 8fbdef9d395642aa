"""Layout of reports: rows of numbers in columns, JSON, and boards side by side."""

import itertools
import json
import math
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ttt_batch.core.console import one_line
from ttt_batch.core.text import ALL_LEARNERS, count_text
from ttt_batch.games.board import FIRST, MARKS, SECOND, Board, Game, Position, column_name
from ttt_batch.games.notation import moves_text

NAME_WIDTH = 2 + max(map(len, ALL_LEARNERS))
"""The column of learners' names."""

REPORT_WIDTH = 80
"""Columns of a report."""

GAP = "   "
"""Between boards that stand side by side."""

COMPILED = " (compiling included)"
"""After seconds in which kernels were compiled."""


def to_json(value: Any) -> str:
    """Render plain values as JSON in printable ASCII; numbers that JSON lacks become null, and no zero has a sign."""
    return json.dumps(_finite(value), indent=2).replace("\x7f", "\\u007f")


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value + 0.0 if math.isfinite(value) else None  # of the two zeros only the one without a sign
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return value


def row(label: str, *cells: Any) -> str:
    """Return a line of a table: a label, and cells of nine columns, numbers with four digits."""
    return f"{label:<28}" + "".join(f"{cell if isinstance(cell, str) else format(cell, 'z.4f'):>9}" for cell in cells)


def aligned(rows: Sequence[Sequence[str]], sides: str, gap: str) -> list[str]:
    """Return rows of cells as lines of one length, each column as wide as its longest cell.

    sides: `<` or `>`, where the cells of each column stand; the last is that of all further ones.
    """
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    places = [f"{side}{width}" for side, width in zip(sides.ljust(len(widths), sides[-1]), widths, strict=False)]
    return [gap.join(map(format, cells, places)) for cells in rows]


def cut(name: str, width: int) -> str:
    """Return a name in at most `width` columns; a longer one keeps its beginning and end."""
    return name if len(name) <= width else f"{name[: width // 2 - 2]}..{name[len(name) - (width - width // 2) :]}"


def hanging(label: str, text: str, indent: int, width: int = REPORT_WIDTH) -> list[str]:
    """Return a label and its text in lines of `width`, indented after the first; no word is cut."""
    return textwrap.wrap(
        text,
        width,
        initial_indent=f"{label:<{indent}}",
        subsequent_indent=" " * indent,
        break_long_words=False,
        break_on_hyphens=False,
    ) or [label]


def paragraphs(text: str) -> list[str]:
    """Return a docstring as lines of a report: prose is filled, indented formulas keep their lines."""
    lines: list[str] = []
    for paragraph in text.strip().split("\n\n"):
        lines += [""] if lines else []
        if paragraph.startswith(" "):
            lines += [part for line in paragraph.split("\n") for part in hanging("    ", line.strip(), 4)]
        else:
            lines += hanging("", " ".join(paragraph.split()), 0)
    return lines


def draw_labels(board: Board, labels: Sequence[str]) -> list[str]:
    """Draw one label per cell, up to nine between rules; more with column letters above and row numbers beside them."""
    letters = [column_name(col) for col in range(board.cols)]
    width = max(map(len, labels if board.cells <= 9 else [*labels, *letters]))
    rows = [labels[row * board.cols : (row + 1) * board.cols] for row in range(board.rows)]
    if board.cells <= 9:
        lines = ["|".join(f" {label.center(width)} " for label in row) for row in rows]
        rule = "+".join(["-" * (width + 2)] * board.cols)
        return [line for row in lines for line in (rule, row)][1:]
    edge = len(str(board.rows))
    return [
        f"{'':{edge}}" + "".join(f" {letter.center(width)}" for letter in letters),
        *(
            f"{number:>{edge}}" + "".join(f" {label.center(width)}" for label in row)
            for number, row in enumerate(rows, 1)
        ),
    ]


def plain(board: Board, position: Position, last: int = -1) -> list[str]:
    """Return a position as rows of marks, the cell of the last move in brackets."""
    marks = [f"[{MARKS[mark]}]" if cell == last else f" {MARKS[mark]} " for cell, mark in enumerate(position)]
    return ["".join(marks[row * board.cols : (row + 1) * board.cols]) for row in range(board.rows)]


def pictures(board: Board, position: Position, cells: Iterable[int]) -> list[list[str]]:
    """Draw the position after each of the moves, as `plain` does; an illegal move leaves no mark."""
    found = []
    for cell in cells:
        if cell != board.resignation and board.is_open(position, cell):
            position = board.after(position, cell)
        found.append(plain(board, position, cell))
    return found


def side_by_side(blocks: Sequence[Sequence[str]], width: int = REPORT_WIDTH, gap: str = GAP) -> list[str]:
    """Place blocks of lines side by side, as many as fit into `width` columns, and the others below them."""
    bands: list[list[Sequence[str]]] = [[]]
    used = 0
    for block in blocks:
        wide = max(map(len, block)) + len(gap)
        if bands[-1] and used + wide > width + len(gap):
            bands.append([])
            used = 0
        bands[-1].append(block)
        used += wide
    lines = []
    for band in bands:
        widths = [max(map(len, block)) for block in band]
        for cells in itertools.zip_longest(*band, fillvalue=""):
            lines.append(gap.join(f"{cell:<{wide}}" for cell, wide in zip(cells, widths, strict=True)).rstrip())
        lines.append("")
    return lines[:-1]


def line_of_play(board: Board, cells: Sequence[int]) -> list[str]:
    """Return a game as moves and as boards side by side, and who forfeits it by an occupied cell."""
    game = Game(board, tuple(cells))
    lines = [moves_text(board, cells)]
    if game.forfeited and not game.resigned:
        who = MARKS[FIRST + SECOND - game.mover]
        why = board.why_closed(game.position, cells[-1])
        lines.append(f"{who} forfeits by choosing {board.cell_name(cells[-1])}, {why}")
    lines += ["", *side_by_side(pictures(board, Game(board).position, cells), REPORT_WIDTH - 6, "  "), ""]
    return [f"  {line}".rstrip() for line in lines]


Facts = Iterable[tuple[str, str | int | float]]
"""Facts with their names."""


def facts_text(facts: Facts) -> str:
    """Return facts with their names, a block of lines each, without empty ones; fractions have two decimals."""
    lines = [(one_line(name), one_line(_shown(value))) for name, value in facts]
    width = max(len(name) for name, _ in lines) + 2
    whole = ("file", "command")  # to be pasted, so without line ends
    blocks = [
        [f"{name:<{width}}{text}"] if name in whole else hanging(name, text, width) for name, text in lines if text
    ]
    return "\n".join(line for block in blocks for line in block)


def file_text(information: Mapping[str, Any], facts: Facts, more: Facts = ()) -> str:
    """Return the text of `info`: the file, facts about it, its recorded points with `more` of them, and provenance."""
    size = f"{count_text(information['bytes'], 'byte')}, format {information['format']}"
    return facts_text(
        [
            ("file", f"{information['file']} ({size})"),
            *facts,
            ("statistics", count_text(information["recorded_points"], "recorded point")),
            *more,
            *((name.replace("_", " "), value) for name, value in information["provenance"].items()),
        ]
    )


def _shown(value: str | int | float) -> str:
    return f"{value:,.2f}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else value
