"""A figure of panels with a foot that has a legend and notes, and labels that leave each other room."""

import math
import textwrap
from collections.abc import Sequence
from typing import Any, NamedTuple

from ttt_batch.app.plots.style import COLOURS, FIGURE_WIDTH, MARKERS, new_figure, put_legend
from ttt_batch.base.console import shortened

LETTER = 0.068
"""Inches that a letter of a tick label or a legend takes, at most on average."""

ROW, GAP, NOTE = 0.175, 0.08, 0.155
"""Inches of a legend's row, between the legend and the notes, and of a line of notes."""

HANDLE = 0.55
"""Inches of a legend's sign with the space around it."""

NOTE_LETTERS, TITLE_LETTERS = 124, 92
MARGIN = 0.08
SLANT = 40
"""Degrees by which labels are turned that have no room side by side."""

BAND, BANDS = 0.2, 0.7
"""How opaque a band is at most, and all together: eight of them must not hide each other."""


class Canvas(NamedTuple):
    """panels: axes of each.  figure: what they are in, with a title and the foot."""

    figure: Any
    panels: list[Any]


def make_canvas(
    title: str,
    count: int,
    legend: Sequence[tuple[Any, str]],
    notes: Sequence[str],
    *,
    columns: int = 2,
    height: float = 2.7,
    share: bool = False,
) -> Canvas:
    """An empty figure with `count` panels.

    legend: signs with their labels, a line each.  notes: parts of a sentence below it; empty ones are left out.
    columns: panels side by side, if there are so many.  height: of a row of panels, in inches.
    share: whether all panels have the same axes.
    """
    columns = min(columns, count)
    rows = -(-count // columns)
    labels = [shortened(label, int((FIGURE_WIDTH - 0.3 - HANDLE) / LETTER)) for _, label in legend]
    widest = HANDLE + LETTER * max(map(len, labels), default=0)
    side = max(1, min(len(labels), int((FIGURE_WIDTH - 2 * MARGIN) / widest)))
    said = "; ".join(filter(None, notes))
    text = textwrap.wrap(f"{said[0].upper()}{said[1:]}.", NOTE_LETTERS, break_long_words=True)
    table = ROW * -(-len(labels) // side) + GAP if labels else 0.0
    foot = 2 * MARGIN + table + NOTE * len(text)
    whole = 0.35 + height * rows + foot
    figure = new_figure(whole)
    figure.get_layout_engine().set(rect=(0, foot / whole, 1, 1 - foot / whole))
    figure.suptitle(shortened(f"{title[0].upper()}{title[1:]}", TITLE_LETTERS), x=0.01, ha="left")
    grid = list(figure.subplots(rows, columns, squeeze=False, sharex=share, sharey=share).flat)
    for axes in grid[count:]:
        axes.set_axis_off()
    left, top = MARGIN / FIGURE_WIDTH, (foot - MARGIN) / whole
    if labels:
        put_legend(figure, [sign for sign, _ in legend], labels, ncols=side, bbox_to_anchor=(left, top), borderpad=0)
    below = {"va": "top", "fontsize": 8, "color": "#444444", "linespacing": 1.35}
    figure.text(left, top - table / whole, "\n".join(text), **below).set_in_layout(False)
    return Canvas(figure, grid[:count])


def keep_places(figure: Any) -> Any:
    """Lay the panels of a finished figure out, once and for all, and return it.

    The last bits of matplotlib's layout differ from time to time, in one figure of twenty, and so would the file.
    """
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    for axes in figure.axes:
        axes.set_position([round(number, 6) for number in axes.get_position().bounds])
    return figure


def line_style(number: int) -> dict[str, Any]:
    """Colour and marker of a line by its number, up to twice as many as there are colours."""
    colour = COLOURS[number % len(COLOURS)]
    return {
        "color": colour,
        "marker": MARKERS[number % len(MARKERS)],
        "markerfacecolor": "white" if number // len(COLOURS) % 2 else colour,
    }


def band_style(number: int, count: int) -> dict[str, Any]:
    """How the band of a line looks."""
    return {"color": COLOURS[number % len(COLOURS)], "alpha": min(BAND, BANDS / count), "lw": 0}


def line_sign(number: int, **changes: Any) -> Any:
    """The sign of a line in a legend."""
    from matplotlib.lines import Line2D

    return Line2D([], [], **{**line_style(number), **changes})


def panel_inches(columns: int) -> float:
    """How wide a panel is inside its axes, at least."""
    return FIGURE_WIDTH / columns - 0.95


def readable(places: Sequence[float], widths: Sequence[float]) -> list[int]:
    """Numbers of the labels to write, so that none touches another; the first is one of them.

    places: where their middles are, ascending.  widths: of each, in the same unit.
    """
    found: list[int] = []
    for number, (place, width) in enumerate(zip(places, widths, strict=True)):
        if not found or place - width / 2 > places[found[-1]] + widths[found[-1]] / 2:
            found.append(number)
    return found


def slanted(labels: Sequence[str], inches: float) -> bool:
    """Whether labels on a horizontal axis of so many inches, at 0, 1, 2 ..., have no room side by side."""
    return max(map(len, labels)) * LETTER > inches / len(labels)


def room_below(labels: Sequence[str], inches: float) -> float:
    """Inches that such labels take below an axis beyond those of one line."""
    return max(map(len, labels)) * LETTER * math.sin(math.radians(SLANT)) if slanted(labels, inches) else 0.0


def name_places(axis: Any, labels: Sequence[str], inches: float, *, upright: bool = False) -> None:
    """Write labels at 0, 1, 2 ... of a horizontal or vertical axis: as many as have room, slanted if need be.

    inches: the axis's length.  upright: it is the vertical one.
    """
    turned = not upright and slanted(labels, inches)
    width = 0.19 * len(labels) / inches if upright or turned else 0.9
    shown = readable(range(len(labels)), [width] * len(labels))
    axis.set_ticks(shown, [labels[number] for number in shown])
    if turned:
        for text in axis.get_ticklabels():
            text.set(rotation=SLANT, ha="right", rotation_mode="anchor")
