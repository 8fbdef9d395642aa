"""Printable kit of MENACE's matchboxes: boxes, rules, and the pages as HTML or PDF.

The kit is for a class without a computer.  The pages hold the boxes with their beads, and a first page with the rules.
They are a PDF, drawn by matplotlib, or an HTML page to print.
"""

import html
import io
import textwrap
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ttt_batch.app.plots.style import package_style
from ttt_batch.core.errors import UsageError, flag
from ttt_batch.core.files import shown
from ttt_batch.core.text import count_text
from ttt_batch.games.board import EMPTY, MARKS, Position
from ttt_batch.runs.config import GIVEN
from ttt_batch.runs.formats import EXPORT, check_targets
from ttt_batch.runs.loading import AnyRun
from ttt_batch.runs.run import Run

COLOURS = (
    ("white", "#FFFFFF"),
    ("sky blue", "#56B4E9"),
    ("yellow", "#F0E442"),
    ("orange", "#E69F00"),
    ("black", "#000000"),
    ("green", "#009E73"),
    ("red", "#D55E00"),
    ("blue", "#0072B2"),
    ("pink", "#CC79A7"),
)
"""A colour for each cell, by name: those of Okabe and Ito, and white.  The cell's number stands beside it, always."""

DARK = ("black", "green", "red", "blue")
"""Colours on which letters are white."""


class Box(NamedTuple):
    """Matchbox.

    number: from 1, in the order of the moves.  move: the first player's move that it serves, from 1.
    position: shown on it.  beads: by cell, for one cell of each kind; other cells of a kind have none.
    """

    number: int
    move: int
    position: Position
    beads: dict[int, int]

    @property
    def holds(self) -> str:
        """Return the number of beads in it."""
        total = sum(self.beads.values())
        return count_text(total, "bead") if total else "empty: resigns"


def boxes_of(run: Run) -> list[Box]:
    """Return the boxes of a run of `menace`; beads of large batches are rounded, halves up."""
    graph, q = run.graph, run.tables.q
    boxes: list[Box] = []
    for row in range(graph.legal.size):
        if graph.ply[row] % 2 or graph.legal[row] < 2:
            continue
        lo, hi = graph.first_edge[row : row + 2].tolist()
        kinds: dict[int, int] = {}
        for edge in range(lo, hi):
            if graph.code[graph.child[edge]] >= 0:
                kinds.setdefault(int(graph.child[edge]), edge)
        beads = {int(graph.cell[edge]): int(q[edge] + 0.5) for edge in kinds.values()}
        position = run.board.decode(int(graph.code[row]))
        boxes.append(Box(len(boxes) + 1, int(graph.ply[row]) // 2 + 1, position, beads))
    return boxes


class KitRules(NamedTuple):
    """Rules page of a kit.

    title: one line.  paragraphs: (heading, text).  beads: number of each cell's beads in all boxes.
    """

    title: str
    paragraphs: list[tuple[str, str]]
    beads: list[int]


def rules_of(run: Run, boxes: list[Box]) -> KitRules:
    """Return the rules of a run's kit, whose boxes these are."""
    win, draw, loss = (int(number) for number in (run.config.rewards or "").split(","))
    start = run.learner.fresh(run.graph, run.config.settings, np.random.default_rng(0)).q
    untouched = (
        "as at the beginning"
        if np.array_equal(run.tables.q, start, equal_nan=True)
        else "as in the table that was imported"
    )
    # Only given games and forks count on from those of the table that they begin with.
    apart = run.config.start and run.config.engine != GIVEN and not run.config.inherited
    games = f"after {count_text(run.games, 'game')}{' that began with another table' if apart else ''}"
    learnt = games if run.games else untouched
    return KitRules(
        f"MENACE: {len(boxes)} matchboxes that learn noughts and crosses",
        [
            (
                "Build",
                f"Cut out the {len(boxes)} labels and stick each on a matchbox. A number in a coloured circle is how "
                f"many beads of that cell's colour go into the box, {learnt}. Cells that a turn or a reflection of the "
                "board makes the same share the beads of one of them. Keep the boxes in the order of their numbers, by "
                "move.",
            ),
            ("Play", PLAY),
            ("Learn", _learn(win, draw, loss)),
            ("Write down", WRITE),
        ],
        [sum(box.beads.get(cell, 0) for box in boxes) for cell in range(len(COLOURS))],
    )


PLAY = (
    "The machine plays X and begins. Find the box with the position on the board; it may have to be turned or held to "
    "a mirror. Shake it, take out one bead without looking, and put X where the bead's cell is. Leave the box open "
    "with the bead beside it. If the box is empty, the machine resigns and has lost. Its last move, when one cell is "
    "free, needs no box."
)

WRITE = (
    "Write each game on a line of a text file: the cells in the order in which they were taken, from 1 at the top left "
    "to 9, such as 1 5 9 3 7 4 8; the word resigns where the machine gave up. Then a computer can learn from your "
    "games and judge them: ttt-batch learn-from games.txt --learner menace --cells-from 1"
)


def _learn(win: int, draw: int, loss: int) -> str:
    """Return in words how the open boxes change after a game."""
    words = [f"after a {name} {_given(number)}" for name, number in (("win", win), ("draw", draw), ("loss", loss))]
    return (
        f"At the end of a game {'; '.join(words)}: so in every open box, with beads of the colour that was drawn. "
        "Boxes that stayed closed remain as they are."
    )


def _given(number: int) -> str:
    if number >= 0:
        return "put the bead back" + (f" and add {count_text(number, 'more bead')}" if number else "")
    rest = f" and {count_text(-number - 1, 'more bead')} with it, as far as there are any" if number < -1 else ""
    return f"keep the bead out{rest}"


STYLE = """
@page { size: A4; margin: 15mm 13mm }
body { font: 10.5pt/1.5 sans-serif; max-width: 184mm; margin: 8mm auto; padding: 0 4mm; color: #000; background: #fff }
h1 { font-size: 15pt; line-height: 1.25 }
h2 { font-size: 11.5pt; margin: 5mm 0 1mm }
p { margin: 0 }
ul { display: flex; flex-wrap: wrap; gap: 2mm 8mm; list-style: none; padding: 0 }
ul, ol { margin: 3mm 0 }
ol { display: grid; grid-template-columns: repeat(auto-fill, 36mm); list-style: none; padding: 0; break-before: page }
ol > li { border: .2mm dashed #777; height: 52mm; box-sizing: border-box; padding: 2mm 3mm; break-inside: avoid }
ol > li > b { font-size: 12pt }
ol > li > span { float: right; font-size: 8.5pt }
ol > li > p { text-align: center; font-size: 7.5pt }
table { border-collapse: collapse; margin: 1.5mm auto }
td { border: .25mm solid #000; width: 9.4mm; height: 9.4mm; padding: 0; text-align: center; font: bold 17pt sans-serif }
tr:first-child td { border-top: 0 } tr:last-child td { border-bottom: 0 }
td:first-child { border-left: 0 } td:last-child { border-right: 0 }
i { display: inline-block; width: 7.4mm; height: 7.4mm; border: .25mm solid #000; border-radius: 50%;
  text-align: center; font: normal 9.5pt/7.4mm sans-serif; -webkit-print-color-adjust: exact; }
"""


def make_html(boxes: list[Box], rules: KitRules) -> str:
    """Return the kit: the rules and the labels."""
    colours = "\n".join(
        f".c{cell} {{ background: {colour}; color: {'#fff' if name in DARK else '#000'} }}"
        for cell, (name, colour) in enumerate(COLOURS)
    )
    paragraphs = "\n".join(
        f"<h2>{html.escape(head)}</h2>\n<p>{html.escape(text)}</p>" for head, text in rules.paragraphs
    )
    beads = "\n".join(
        f'<li><i class="c{cell}">{cell + 1}</i> {name}: {count:,}</li>'
        for cell, ((name, _), count) in enumerate(zip(COLOURS, rules.beads, strict=True))
    )
    labels = "\n".join(map(_label, boxes))
    title = html.escape(rules.title)
    return (
        f'<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        f"<title>{title}</title>\n<style>{STYLE}{colours}\n</style>\n<h1>{title}</h1>\n{paragraphs}\n"
        f"<h2>Beads of each cell, in all boxes together</h2>\n<ul>\n{beads}\n</ul>\n<ol>\n{labels}\n</ol>\n</html>\n"
    )


def _label(box: Box) -> str:
    """Return the label of a box: number, move, and position with the beads."""
    cells = ["" if mark == EMPTY else MARKS[mark] for mark in box.position]
    for cell, beads in box.beads.items():
        cells[cell] = f'<i class="c{cell}">{beads:,}</i>'
    rows = ("".join(f"<td>{cell}</td>" for cell in cells[first : first + 3]) for first in (0, 3, 6))
    table = "".join(f"<tr>{row}</tr>" for row in rows)
    return f"<li><b>{box.number}</b><span>move {box.move}</span><table>{table}</table><p>{box.holds}</p></li>"


WIDTH, HEIGHT = 210.0, 297.0
"""A4, in millimetres: every length on a sheet is one."""

INCH = 25.4
COLUMNS, ROWS = 5, 5
LABEL_WIDTH, LABEL_HEIGHT, CELL = 36.0, 52.0, 9.6
"""A label's size, which a matchbox of 53 mm by 36 mm has room for, and that of a cell on it."""

LEFT = (WIDTH - COLUMNS * LABEL_WIDTH) / 2
TOP = (HEIGHT - ROWS * LABEL_HEIGHT) / 2


def make_pdf(boxes: list[Box], rules: KitRules) -> bytes:
    """Return the kit: a page of rules, and the labels.  Raises TttBatchError if matplotlib is not installed."""
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
    """Return an empty page, and axes over all of it in millimetres from the top left."""
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
    """Draw the position, with the number of beads in the cell of each kind."""
    for line in range(1, 3):
        axes.plot([left + line * CELL] * 2, [top, top + 3 * CELL], color="black", linewidth=0.9)
        axes.plot([left, left + 3 * CELL], [top + line * CELL] * 2, color="black", linewidth=0.9)
    for cell, mark in enumerate(box.position):
        row, column = divmod(cell, 3)
        x, y = left + (column + 0.5) * CELL, top + (row + 0.5) * CELL
        if mark != EMPTY:
            axes.text(x, y, MARKS[mark], size=19, weight="bold", ha="center", va="center_baseline")
        elif cell in box.beads:
            _bead(axes, x, y, cell, f"{box.beads[cell]:,}")


def _bead(axes: Any, x: float, y: float, cell: int, text: str) -> None:
    """Draw a circle in the cell's colour with a number in it."""
    from matplotlib.patches import Circle

    axes.add_patch(Circle((x, y), 4.0, facecolor=COLOURS[cell][1], edgecolor="black", linewidth=0.7))
    ink = "white" if COLOURS[cell][0] in DARK else "black"
    axes.text(x, y, text, size=9 if len(text) < 4 else 6, color=ink, ha="center", va="center_baseline")


SUFFIXES = (".pdf", ".html")


def export_boxes(run: AnyRun, path: str | Path, *, overwrite: bool = False) -> Path:
    """Write the kit of a run with matchboxes to `path`, a .pdf or an .html file; return the path.

    Raises UsageError for a run without boxes and another ending, TttBatchError for a PDF without matplotlib, and
    FormatError if the file cannot be written or exists already (unless `overwrite`).
    """
    path = Path(path)
    if not isinstance(run, Run) or not run.by_beads:
        other = f"train {flag('learner', 'menace')}, or choose another format"
        raise UsageError(f"only menace has boxes, not {run.config.learner}; {other}")
    if path.suffix.lower() not in SUFFIXES:
        raise UsageError(f"cannot print boxes into {shown(path)}: a kit is a .pdf or an .html file; name one of these")
    check_targets([path], overwrite=overwrite)
    boxes = boxes_of(run)
    rules = rules_of(run, boxes)
    content = make_pdf(boxes, rules) if path.suffix.lower() == ".pdf" else make_html(boxes, rules).encode()
    EXPORT.write([path], [content], overwrite=overwrite)
    return path
