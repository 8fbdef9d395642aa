"""How a metric depends on the step size, or on another option: a line for each setting of the others.

The picture of Sutton and Barto (2018, figures 2.6 and 6.3).
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_batch.app.plots.labels import log_ticks
from ttt_batch.app.plots.studies.canvas import (
    LETTER,
    band_style,
    line_sign,
    line_style,
    make_canvas,
    name_places,
    panel_inches,
    readable,
    room_below,
)
from ttt_batch.app.plots.studies.choice import Selection, is_number, left_out
from ttt_batch.app.plots.studies.metrics import NUMBER, SHARE, TIME, Metric, SeedSpread
from ttt_batch.base.errors import display_name
from ttt_batch.base.quantities import short_number

TOGETHER, MOST_PANELS = 4, 6
"""Lines up to which one panel holds all, and panels beyond which there are none by option."""

ABOVE = 1.9
"""Where `never` stands above the last games of a logarithmic axis, as a factor."""


class HorizontalAxis(NamedTuple):
    """The horizontal axis: an option, its values, where each stands, and whether they are numbers, on what scale."""

    option: str
    values: list[Any]
    at: list[float]
    numeric: bool
    log: bool


def sensitivity_figure(choice: Selection, metric: str | None = None) -> Any:
    """A metric at the end over step size, or the first option with several numbers, or with several values."""
    measured = choice.metric(metric, "proof")
    place = horizontal_axis(choice)
    others = [option for option in choice.axes if option != place.option]
    groups = choice.grouped(others)
    split = _split(choice, others, len(groups))
    found = choice.ends(measured)
    lines = {
        key: own
        for key, own in choice.grouped([option for option in others if option != split]).items()
        if not np.isnan(found.middle[own]).all()
    }
    kept = choice.best(measured, list(lines.values()))
    keys = [list(lines)[number] for number in kept]
    drawn = [setting for key in keys for setting in lines[key]]
    inner = [option for option in others if option != split]
    panels = choice.values(split) if split else [None]
    legend = (
        [(line_sign(i, markersize=_size(i, len(keys))), choice.label(inner, key)) for i, key in enumerate(keys)]
        if inner
        else []
    )
    notes = [
        _axis_meaning(measured, place),
        choice.seats_note(measured, drawn),
        *left_out(len(keys), len(lines), "lines", measured),
        *choice.facts(),
    ]
    heading = f"{measured.title} by {place.option.replace('_', ' ')}: {choice.title(drawn)}"
    columns = 2 if len(panels) > 1 else 1
    names, inches = [choice.value_text(place.option, value) for value in place.values], panel_inches(columns)
    height = 3.2 + (0.0 if place.numeric else room_below(names, inches))
    canvas = make_canvas(heading, len(panels), legend, notes, columns=columns, height=height, share=True)
    ceiling = _ceiling(choice) if measured.kind == TIME else math.inf
    for number, (axes, value) in enumerate(zip(canvas.panels, panels, strict=True)):
        for i, key in enumerate(keys):
            own = [s for s in lines[key] if split is None or choice.rows[s][split] == value]
            _draw_line(axes, place, found, {choice.rows[s][place.option]: s for s in own}, i, len(keys), ceiling)
        if split:
            axes.set_title(choice.label([split], [value]))
        if number % columns == 0:
            axes.set_ylabel(measured.unit)
        if number + columns >= len(panels):
            axes.set_xlabel(display_name(place.option))
            axes.xaxis.set_tick_params(labelbottom=True)
    _horizontal(canvas.panels, place, names, inches)
    _vertical(canvas.panels, measured, _numbers([s for key in keys for s in lines[key]], found, ceiling), ceiling)
    return canvas.figure


def horizontal_axis(choice: Selection) -> HorizontalAxis:
    """The horizontal axis: alpha if it differs, else the first option of numbers that does, else the first one."""
    numeric = [name for name, values in choice.axes.items() if sum(map(is_number, values)) > 1]
    name = "alpha" if "alpha" in choice.axes else next(iter([*numeric, *choice.axes]), "alpha")
    values = choice.values(name)
    if len(values) == 1 or not all(map(is_number, values)):
        return HorizontalAxis(name, values, [float(i) for i in range(len(values))], False, False)
    log = len(values) > 2 and values[0] > 0 and _unevenness(np.log(values)) < _unevenness(np.array(values))
    return HorizontalAxis(name, values, [float(value) for value in values], True, log)


def _unevenness(values: NDArray[np.float64]) -> float:
    steps = np.diff(values)
    return float(steps.std() / steps.mean())


def _split(choice: Selection, others: Sequence[str], groups: int) -> str | None:
    """The option whose values have panels of their own: the first one that leaves several lines in each."""
    if groups <= TOGETHER or len(others) < 2:
        return None
    return next((name for name in others if len(choice.axes[name]) <= MOST_PANELS), None)


def _draw_line(
    axes: Any, place: HorizontalAxis, found: SeedSpread, own: dict[Any, int], number: int, count: int, ceiling: float
) -> None:
    """One line with its band.  own: the setting of each value that has one."""
    there = [i for i, value in enumerate(place.values) if value in own and not np.isnan(found.middle[own[value]])]
    settings = [own[place.values[i]] for i in there]
    middle, low, high = (np.minimum(part[settings], ceiling) for part in found)
    at = np.array([place.at[i] for i in there])
    style = {**line_style(number), "markersize": _size(number, count)}
    if place.numeric and len(there) > 1:
        axes.fill_between(at, low, high, **band_style(number, count))
        axes.plot(at, middle, **style, zorder=3)
        return
    if not place.numeric:
        at = at + (number - (count - 1) / 2) * 0.6 / max(count, 2)
    axes.vlines(at, low, high, color=style["color"], alpha=0.6, lw=1.4)
    axes.plot(at, middle, **style, linestyle="", zorder=3)


def _size(number: int, count: int) -> float:
    """A marker's size: earlier lines have larger ones, which are seen around those of later ones on top of them."""
    return 4.0 + 0.5 * (count - 1 - number)


def _numbers(settings: Sequence[int], found: SeedSpread, ceiling: float) -> NDArray[np.float64]:
    """All numbers of some settings that are drawn."""
    numbers: NDArray[np.float64] = np.concatenate([np.minimum(part[settings], ceiling) for part in found])
    return numbers[~np.isnan(numbers)]


def _ceiling(choice: Selection) -> float:
    """Where times that never came are drawn."""
    return ABOVE * float(choice.study.games[choice.settings].max())


def _horizontal(panels: Sequence[Any], place: HorizontalAxis, labels: Sequence[str], inches: float) -> None:
    """Scale and labels of the horizontal axis; the panels share it."""
    from matplotlib.ticker import NullLocator

    axes = panels[0]
    if not place.numeric:
        name_places(axes.xaxis, labels, inches)
        axes.set_xlim(-0.6 + place.at[0], place.at[-1] + 0.6)
        return
    if place.log:
        axes.set_xscale("log")
    on_scale = np.log(place.at) if place.log else np.array(place.at)
    room = 0.05 * (on_scale[-1] - on_scale[0])
    edges = on_scale[0] - room, on_scale[-1] + room
    axes.set_xlim(*(np.exp(edges) if place.log else edges))
    inches_at = (on_scale - edges[0]) / (edges[1] - edges[0]) * inches
    shown = readable(inches_at.tolist(), [LETTER * (len(label) + 1) for label in labels])
    axes.set_xticks([place.at[i] for i in shown], [labels[i] for i in shown])
    axes.xaxis.set_minor_locator(NullLocator())


def _vertical(panels: Sequence[Any], metric: Metric, numbers: NDArray[np.float64], ceiling: float) -> None:
    """Scale and labels of the vertical axis; the panels share it."""
    from matplotlib.ticker import NullLocator

    axes, top, least = panels[0], float(numbers.max()), float(numbers.min())
    if metric.kind == TIME:
        axes.set_yscale("log")
        last = min(top, ceiling / ABOVE)
        low = min(least, last)
        never = top >= ceiling
        ticks = log_ticks(low / 1.5, last * 1.05, 5)
        axes.set_ylim(low / 1.5, ceiling * 1.25 if never else last * 1.3)
        axes.set_yticks(
            [*ticks, *([ceiling] if never else [])], [*map(short_number, ticks), *(["never"] if never else [])]
        )
        axes.yaxis.set_minor_locator(NullLocator())
    elif metric.kind == SHARE:
        axes.set_ylim(-3, 103)
    elif metric.rising and metric.kind != NUMBER:
        room = max(100 - least, 1.0)
        axes.set_ylim(max(least - 0.05 * room, -3), 100 + 0.03 * room)
    else:
        low = min(least, 0.0)
        span = max(top - low, 1e-6)
        axes.set_ylim(low - 0.03 * span, top + 0.08 * span)


def _axis_meaning(metric: Metric, place: HorizontalAxis) -> str:
    """What lines and bands are."""
    line, band = ("line", "band") if place.numeric else ("mark", "bar")
    if metric.kind == SHARE:
        return f"{line}: share of the seeds, {band}: its 95 % interval (Wilson)"
    if metric.kind == TIME:
        return f"{line}: median of the seeds, {band}: from quartile to quartile, never: not up to the last game"
    return f"{line}: median of the seeds at the end, {band}: from quartile to quartile"
