"""Two options of a study against each other: a metric as colour, with its number in each cell."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_batch.app.plots.labels import log_ticks
from ttt_batch.app.plots.studies.canvas import LETTER, make_canvas, name_places, panel_inches, room_below
from ttt_batch.app.plots.studies.choice import Selection, is_number
from ttt_batch.app.plots.studies.metrics import NUMBER, SHARE, TIME, Metric
from ttt_batch.app.plots.studies.sensitivity import horizontal_axis
from ttt_batch.base.errors import UsageError, display_name, flag
from ttt_batch.base.quantities import short_number

MOST_HEAT_PANELS, MOST_CELLS = 6, 100
"""Panels of a picture, and cells in a row or column of a panel, at most."""

WIDE = 8
"""Columns up to which two panels stand side by side."""

LETTERS, LARGEST, SMALLEST = 5.5, 9.0, 5.0
"""Letters that a cell must have room for, and sizes of letters in points, below which there are none."""

BAR = 0.75
"""Inches that the bar of colours takes."""

NEVER, NOTHING = "#E2E2E2", "#FFFFFF"


class HeatCells(NamedTuple):
    """The cells of every panel, and how large they are.

    across, up: the options of columns and rows.  columns, rows: their values, and how those are written.
    side: panels side by side.  inches, high: width and height of a panel, in inches.  size: of letters, in points.
    """

    across: str
    up: str
    columns: dict[Any, str]
    rows: dict[Any, str]
    side: int
    inches: float
    high: float
    size: float


def heat_figure(choice: Selection, metric: str | None = None) -> Any:
    """Cells for two options: that of a picture of sensitivity, and another one, rather of numbers.

    Others that differ make panels.  Raises UsageError if fewer than two differ, or for too many panels or cells.
    """
    measured = choice.metric(metric, "proof")
    across, up = _axes(choice)
    others = [axis for axis in choice.axes if axis not in (across, up)]
    panels = choice.grouped(others)
    if len(panels) > MOST_HEAT_PANELS:
        raise UsageError(
            f"{choice.name} has {len(panels):,} combinations of {', '.join(others)}; a picture of {across} and {up} "
            f"has room for {MOST_HEAT_PANELS}: choose some with {flag('only', 'OPTION=VALUES')}"
        )
    grid = _grid(choice, across, up, len(panels))
    found = choice.ends(measured).middle
    narrow = ["the cells are too narrow for numbers"] if grid.size < SMALLEST else []
    notes = [_colour_meaning(measured), choice.seats_note(measured, choice.settings), *narrow, *choice.facts()]
    heading = f"{measured.title} by {display_name(across)} and {display_name(up)}: {choice.title()}"
    height = grid.high + 0.75 + room_below([*grid.columns.values()], grid.inches)
    canvas = make_canvas(heading, len(panels), [], notes, columns=grid.side, height=height)
    scale = _scale(measured, found[choice.settings])
    image = None
    for number, (axes, (key, settings)) in enumerate(zip(canvas.panels, panels.items(), strict=True)):
        cells = np.full((len(grid.rows), len(grid.columns)), -1)
        for setting in settings:
            row = choice.rows[setting]
            cells[[*grid.rows].index(row[up]), [*grid.columns].index(row[across])] = setting
        image = _draw_cells(axes, cells, found, measured, scale, grid.size)
        name_places(axes.xaxis, [*grid.columns.values()], grid.inches)
        name_places(axes.yaxis, [*grid.rows.values()], grid.high, upright=True)
        axes.set_title(choice.label(others, key))
        axes.set_xlabel(display_name(across))
        if number % grid.side == 0:
            axes.set_ylabel(display_name(up))
    _colour_bar(canvas, image, measured, scale)
    return canvas.figure


def _grid(choice: Selection, across: str, up: str, panels: int) -> HeatCells:
    """The cells for two options.  panels: how many.  Raises UsageError for too many cells."""
    columns, rows = ({value: choice.value_text(axis, value) for value in choice.values(axis)} for axis in (across, up))
    for axis, texts in ((across, columns), (up, rows)):
        if len(texts) > MOST_CELLS:
            raise UsageError(
                f"{len(texts):,} values of {axis} are too many for a picture, which has room for {MOST_CELLS}; choose "
                f"some with {flag('only', f'{axis}=VALUES')}"
            )
    side = 2 if panels > 1 and len(columns) <= WIDE else 1
    inches = panel_inches(side) - BAR / side - LETTER * max(map(len, rows.values()))
    size = min(LARGEST, inches / len(columns) * 72 / (0.6 * LETTERS))
    high = max(1.0, min(0.42, max(0.16, 9 / len(rows))) * len(rows))
    return HeatCells(across, up, columns, rows, side, inches, high, size)


def _axes(choice: Selection) -> tuple[str, str]:
    """The options of columns and rows.  Raises UsageError if there are no two."""
    if len(choice.axes) < 2:
        alone = next(iter(choice.axes), None)
        what = f"only {alone} differs" if alone else "no option differs"
        raise UsageError(
            f"a heat map has two options that differ, and {what} in {choice.name}; choose {flag('kind', 'sensitivity')}"
        )
    across = horizontal_axis(choice).option
    others = [axis for axis in choice.axes if axis != across]
    numeric = [axis for axis in others if any(map(is_number, choice.axes[axis]))]
    return across, (numeric or others)[0]


def _scale(metric: Metric, values: NDArray[np.float64]) -> Any:
    """From numbers to colours."""
    from matplotlib.colors import LogNorm, Normalize

    finite = values[np.isfinite(values)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (1.0, 2.0)
    if metric.kind == TIME:
        return LogNorm(low / 1.05, high * 1.05)
    if metric.kind == SHARE:
        return Normalize(0, 100)
    low = min(low, 0.0) if metric.kind == NUMBER or not metric.rising else low
    return Normalize(low, max(high, low + 1e-3 * max(abs(low), 1e-3)))


def _draw_cells(
    axes: Any, cells: NDArray[np.int64], found: NDArray[np.float64], metric: Metric, scale: Any, size: float
) -> Any:
    """One panel.  cells: the setting of each, or -1.  size: of letters, in points."""
    from matplotlib import colormaps
    from matplotlib.patches import Rectangle

    values = np.where(cells >= 0, found[cells], np.nan)
    rows, columns = (np.arange(length + 1) - 0.5 for length in cells.shape)
    shown = np.where(np.isfinite(values), values, np.nan)
    image = axes.pcolormesh(
        columns, rows, shown, cmap="cividis", norm=scale, edgecolors="white", linewidth=min(1, 2 * size / 9)
    )
    axes.grid(visible=False)
    colours = colormaps["cividis"]
    axes.tick_params(length=0)
    axes.spines[["left", "bottom"]].set_visible(False)
    write = number_writer(metric, found[np.isfinite(found)])
    for (row, column), value in np.ndenumerate(values):
        colour, text = NOTHING, ""
        if np.isfinite(value):
            red, green, blue, _ = colours(scale(value))
            colour, text = ("#000000" if 0.3 * red + 0.59 * green + 0.11 * blue > 0.5 else "#FFFFFF"), write(value)
        elif cells[row, column] >= 0:
            never = np.isinf(value)
            fill: dict[str, Any] = (
                {"facecolor": NEVER} if never else {"facecolor": NOTHING, "hatch": "////", "edgecolor": "#AAAAAA"}
            )
            axes.add_patch(Rectangle((column - 0.5, row - 0.5), 1, 1, lw=0, **fill))
            colour, text = "#000000", "never" if never else "none"
        if text and size >= SMALLEST:
            box = {"facecolor": NOTHING, "lw": 0, "pad": 1} if text == "none" else None
            axes.text(column, row, text, ha="center", va="center", color=colour, fontsize=size, bbox=box)
    axes.set_xlim(columns[0], columns[-1])
    axes.set_ylim(rows[0], rows[-1])
    return image


def number_writer(metric: Metric, values: NDArray[np.float64]) -> Any:
    """How numbers are written: games with a unit, others with as many decimals as the largest needs for two digits."""
    top = float(np.abs(values).max(initial=0))
    if metric.kind == TIME or top >= 1000:
        return short_number
    decimals = int(np.clip(1 - np.floor(np.log10(top)), 0, 4)) if top > 0 else 0
    return lambda value: f"{value:.{decimals}f}"


def _colour_bar(canvas: Any, image: Any, metric: Metric, scale: Any) -> None:
    from matplotlib.ticker import FixedFormatter, FixedLocator, NullLocator

    bar = canvas.panels[0].figure.colorbar(image, ax=canvas.panels, aspect=25, pad=0.02, fraction=0.06)
    bar.outline.set_visible(False)
    if metric.kind == TIME:
        ticks = log_ticks(scale.vmin, scale.vmax, 6)
        bar.ax.yaxis.set_major_locator(FixedLocator(ticks))
        bar.ax.yaxis.set_major_formatter(FixedFormatter([short_number(tick) for tick in ticks]))
        bar.ax.yaxis.set_minor_locator(NullLocator())


def _colour_meaning(metric: Metric) -> str:
    """What numbers and colours are."""
    better = "more is better" if metric.rising else "less is better"
    if metric.kind == SHARE:
        return f"share of the seeds in %; {better}"
    if metric.kind == TIME:
        return f"median of the seeds; {better}; never (grey): fewer than half of the seeds up to the last game"
    return f"median of the seeds at the end, {metric.unit}; {better}"
