"""Printable kit of MENACE's matchboxes: boxes, rules, and the pages as HTML or PDF.

The kit is for a class without a computer.  The pages hold the boxes with their beads, and a first page with the rules.
They are a PDF, drawn by matplotlib, or an HTML page to print.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ttt_batch.app import sheets
from ttt_batch.core.errors import UsageError, flag
from ttt_batch.core.text import count_text
from ttt_batch.games.board import EMPTY, MARKS, Position
from ttt_batch.learners.tabular.menace import COLOURS, has_box
from ttt_batch.runs.config import GIVEN
from ttt_batch.runs.loading import AnyRun
from ttt_batch.runs.run import Run

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
    for row in np.flatnonzero(has_box(graph)).tolist():
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


STYLE = """ul { display: flex; flex-wrap: wrap; gap: 2mm 8mm; list-style: none; padding: 0 }
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
    beads = "\n".join(
        f'<li><i class="c{cell}">{cell + 1}</i> {name}: {count:,}</li>'
        for cell, ((name, _), count) in enumerate(zip(COLOURS, rules.beads, strict=True))
    )
    labels = "\n".join(map(_label, boxes))
    pieces = f"<h2>Beads of each cell, in all boxes together</h2>\n<ul>\n{beads}\n</ul>\n<ol>\n{labels}\n</ol>"
    return sheets.html_page(rules.title, rules.paragraphs, f"{STYLE}{colours}\n", pieces)


def _label(box: Box) -> str:
    """Return the label of a box: number, move, and position with the beads."""
    cells = ["" if mark == EMPTY else MARKS[mark] for mark in box.position]
    for cell, beads in box.beads.items():
        cells[cell] = f'<i class="c{cell}">{beads:,}</i>'
    rows = ("".join(f"<td>{cell}</td>" for cell in cells[first : first + 3]) for first in (0, 3, 6))
    table = "".join(f"<tr>{row}</tr>" for row in rows)
    return f"<li><b>{box.number}</b><span>move {box.move}</span><table>{table}</table><p>{box.holds}</p></li>"


COLUMNS, ROWS = 5, 5
LABEL_WIDTH, LABEL_HEIGHT, CELL = 36.0, 52.0, 9.6
"""A label's size, which a matchbox of 53 mm by 36 mm has room for, and that of a cell on it."""

LEFT = (sheets.WIDTH - COLUMNS * LABEL_WIDTH) / 2
TOP = (sheets.HEIGHT - ROWS * LABEL_HEIGHT) / 2


def pages_of_kit(boxes: list[Box], rules: KitRules) -> Iterator[Any]:
    """Yield the figures of the kit: a page of rules, and the labels."""
    yield _first_page(rules)
    for first in range(0, len(boxes), COLUMNS * ROWS):
        yield _labels(boxes[first : first + COLUMNS * ROWS])


def _first_page(rules: KitRules) -> Any:
    figure, axes, y = sheets.text_page(rules.title, rules.paragraphs)
    axes.text(20, y, "Beads of each cell, in all boxes together", size=11, weight="bold")
    for cell, ((name, _), count) in enumerate(zip(COLOURS, rules.beads, strict=True)):
        row, column = divmod(cell, 3)
        x, place = 26 + 56 * column, y + 12 + 14 * row
        _bead(axes, x, place, cell, str(cell + 1))
        axes.text(x + 7, place, f"{name}: {count:,}", size=10, va="center")
    return figure


def _labels(boxes: list[Box]) -> Any:
    figure, axes = sheets.empty_page()
    for place, box in enumerate(boxes):
        row, column = divmod(place, COLUMNS)
        x, y = LEFT + column * LABEL_WIDTH, TOP + row * LABEL_HEIGHT
        sheets.draw_cut(axes, x, y, LABEL_WIDTH, LABEL_HEIGHT)
        axes.text(x + 3, y + 6.5, f"{box.number}", size=11, weight="bold")
        axes.text(x + LABEL_WIDTH - 3, y + 6.5, f"move {box.move}", size=8, ha="right")
        _board(axes, x + (LABEL_WIDTH - 3 * CELL) / 2, y + 11.5, box)
        axes.text(x + LABEL_WIDTH / 2, y + 48, box.holds, size=6.5, ha="center")
    return figure


def _board(axes: Any, left: float, top: float, box: Box) -> None:
    """Draw the position, with the number of beads in the cell of each kind."""
    sheets.draw_lines(axes, left, top, 3, 3, CELL)
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


def export_boxes(run: AnyRun, path: str | Path, *, overwrite: bool = False) -> Path:
    """Write the kit of a run with matchboxes to `path`, a .pdf or an .html file; return the path.

    Raises UsageError for a run without boxes and another ending, TttBatchError for a PDF without matplotlib, and
    FormatError if the file cannot be written or exists already (unless `overwrite`).
    """
    path = Path(path)
    if not isinstance(run, Run) or not run.by_beads:
        other = f"train {flag('learner', 'menace')}, or choose another format"
        raise UsageError(f"only menace has boxes, not {run.config.learner}; {other}")
    sheets.check_sheets(path, "boxes", overwrite=overwrite)
    boxes = boxes_of(run)
    rules = rules_of(run, boxes)
    pages = pages_of_kit(boxes, rules)
    sheets.write_sheets(path, rules.title, pages, lambda: make_html(boxes, rules), overwrite=overwrite)
    return path
