"""The kit as a PDF of A4 pages, drawn by matplotlib."""

import io
import textwrap
from typing import Any

from ttt_batch.app.kit.boxes import COLOURS, DARK, Box
from ttt_batch.app.kit.rules import KitRules
from ttt_batch.app.plots.style import package_style
from ttt_batch.game.board import EMPTY

WIDTH, HEIGHT = 210.0, 297.0
"""A4, in millimetres: every length on a sheet is one."""

INCH = 25.4
COLUMNS, ROWS = 5, 5
LABEL_WIDTH, LABEL_HEIGHT, CELL = 36.0, 52.0, 9.6
"""A label's size, which a matchbox of 53 mm by 36 mm has room for, and that of a cell on it."""

LEFT = (WIDTH - COLUMNS * LABEL_WIDTH) / 2
TOP = (HEIGHT - ROWS * LABEL_HEIGHT) / 2


def make_pdf(boxes: list[Box], rules: KitRules) -> bytes:
    """The kit: a page of rules, and the labels.  Raises TttBatchError if matplotlib is not installed."""
    with package_style():
        from matplotlib.backends.backend_pdf import PdfPages

        file = io.BytesIO()
        facts: dict[str, Any] = {"Title": rules.title, "Creator": "ttt-batch", "CreationDate": None}
        with PdfPages(file, metadata=facts) as pages:
            pages.savefig(_first_page(rules))
            for first in range(0, len(boxes), COLUMNS * ROWS):
                pages.savefig(_labels(boxes[first : first + COLUMNS * ROWS]))
        return file.getvalue()


def _page() -> tuple[Any, Any]:
    """An empty page, and axes over all of it, in millimetres from the top left."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH / INCH, HEIGHT / INCH))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, WIDTH), ylim=(HEIGHT, 0))
    axes.axis("off")
    return figure, axes


def _first_page(rules: KitRules) -> Any:
    figure, axes = _page()
    axes.text(20, 28, rules.title, size=14, weight="bold")
    y = 44.0
    for heading, text in rules.paragraphs:
        axes.text(20, y, heading, size=11, weight="bold")
        lines = textwrap.wrap(text, 92)
        axes.text(20, y + 4, "\n".join(lines), size=10, va="top", linespacing=1.5)
        y += 14 + 5.6 * len(lines)
    axes.text(20, y, "Beads of each cell, in all boxes together", size=11, weight="bold")
    for cell, ((name, _), count) in enumerate(zip(COLOURS, rules.beads, strict=True)):
        row, column = divmod(cell, 3)
        x, place = 26 + 56 * column, y + 12 + 14 * row
        _bead(axes, x, place, cell, str(cell + 1))
        axes.text(x + 7, place, f"{name}: {count:,}", size=10, va="center")
    return figure


def _labels(boxes: list[Box]) -> Any:
    from matplotlib.patches import Rectangle

    figure, axes = _page()
    for place, box in enumerate(boxes):
        row, column = divmod(place, COLUMNS)
        x, y = LEFT + column * LABEL_WIDTH, TOP + row * LABEL_HEIGHT
        cut: dict[str, Any] = {"fill": False, "edgecolor": "0.45", "linewidth": 0.5, "linestyle": (0, (4, 3))}
        axes.add_patch(Rectangle((x, y), LABEL_WIDTH, LABEL_HEIGHT, **cut))
        axes.text(x + 3, y + 6.5, f"{box.number}", size=11, weight="bold")
        axes.text(x + LABEL_WIDTH - 3, y + 6.5, f"move {box.move}", size=8, ha="right")
        _board(axes, x + (LABEL_WIDTH - 3 * CELL) / 2, y + 11.5, box)
        axes.text(x + LABEL_WIDTH / 2, y + 48, box.holds, size=6.5, ha="center")
    return figure


def _board(axes: Any, left: float, top: float, box: Box) -> None:
    """The position, with the number of beads in the cell of each kind."""
    for line in range(1, 3):
        axes.plot([left + line * CELL] * 2, [top, top + 3 * CELL], color="black", linewidth=0.9)
        axes.plot([left, left + 3 * CELL], [top + line * CELL] * 2, color="black", linewidth=0.9)
    for cell, mark in enumerate(box.position):
        row, column = divmod(cell, 3)
        x, y = left + (column + 0.5) * CELL, top + (row + 0.5) * CELL
        if mark != EMPTY:
            axes.text(x, y, "XO"[mark - 1], size=19, weight="bold", ha="center", va="center_baseline")
        elif cell in box.beads:
            _bead(axes, x, y, cell, f"{box.beads[cell]:,}")


def _bead(axes: Any, x: float, y: float, cell: int, text: str) -> None:
    """A circle in the cell's colour with a number in it."""
    from matplotlib.patches import Circle

    axes.add_patch(Circle((x, y), 4.0, facecolor=COLOURS[cell][1], edgecolor="black", linewidth=0.7))
    ink = "white" if COLOURS[cell][0] in DARK else "black"
    axes.text(x, y, text, size=9 if len(text) < 4 else 6, color=ink, ha="center", va="center_baseline")
