"""Pictures of studies: curves, settling, sensitivity and heat maps.

Sensitivity shows how a metric depends on the step size or another option, with a line for each setting of the others,
as Sutton and Barto do (2018, figures 2.6 and 6.3).
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_batch.app.plots.curves import games_axis, games_edges
from ttt_batch.app.plots.studies import canvas
from ttt_batch.app.plots.style import COLOURS, ink_on, line_sign, line_style, log_counts, log_ticks, marked_points
from ttt_batch.core.errors import UsageError, display_name, flag, quoted
from ttt_batch.core.text import choose, short_number
from ttt_batch.studies.designs.methods import NETWORKS
from ttt_batch.studies.storage.layout import DONE
from ttt_batch.studies.storage.reading import StudyFile
from ttt_batch.studies.summary import Survival, plays, survival

PANELS = (
    ("loss", "error", "unbeatable", "optimal"),
    ("unbeatable", "first", "second", "play"),
    ("play", "positions"),
    ("first-wins", "play", "second-wins"),
)
"""Metrics to draw, of which the first that all settings have is taken: for boards with exact results, networks with
proofs, boards without either, and a mixture or results alone."""


def _chosen(choice: canvas.Selection, metric: str | None, default: str) -> tuple[list[int], list[str]]:
    """Return the settings to draw, the best by a metric if there are too many, and a note about the others."""
    ranking = choice.metric(metric, default)
    shown = [choice.settings[i] for i in choice.best(ranking, [[setting] for setting in choice.settings])]
    return shown, canvas.left_out(len(shown), len(choice.settings), "settings", ranking)


def study_curves_figure(choice: canvas.Selection, metric: str | None = None) -> Any:
    """Return a figure with a line for each setting.  metric: selects the settings if there are too many."""
    shown, others = _chosen(choice, metric, "proof" if choice.study.family is NETWORKS else "loss")
    drawn = [choice.settings.index(setting) for setting in shown]
    several = [[canvas.METRICS[name] for name in names] for names in PANELS]
    panels = next(one for one in several if all(choice.having(metric)[drawn].all() for metric in one))
    if not plays(choice.study)[shown].all(axis=1).any():  # boxes have no values
        panels = [panel for panel in panels if panel is not canvas.METRICS["error"]]
    count, seeds, legend = len(shown), choice.study.seeds.size, []
    for i, setting in enumerate(shown):
        done = np.count_nonzero(choice.study.state[setting] == DONE)
        some = f" ({done} of {seeds} seeds)" if done < seeds else ""
        legend.append((line_sign(**line_style(i)), choice.name_of(setting) + some))
    notes = [
        "line: median of the seeds (a share has none), band: from quartile to quartile",
        next(filter(None, (choice.seats_note(panel, shown) for panel in panels)), ""),
        *others,
        *choice.facts(),
    ]
    heading = f"Learning curves: {choice.title(shown)}"
    figure, places = canvas.make_canvas(heading, len(panels), legend, notes, columns=2, height=2.6)
    edges, found = _edges(choice, shown), canvas.over_games(choice.study, panels, shown)
    for i, (axes, panel) in enumerate(zip(places, panels, strict=True)):
        axes.set_title(f"{panel.title[0].upper()}{panel.title[1:]}")
        axes.set_ylabel(panel.unit)
        games_axis(axes, *edges)
        top = 1e-3
        for number, setting in enumerate(shown):
            if setting not in found:
                continue
            games, spread = choice.study.games[setting, : choice.study.points[setting]], found[setting][i]
            if panel.kind != canvas.SHARE:
                axes.fill_between(games, spread.low, spread.high, **canvas.band_style(number, count))
            marked = marked_points(games, *edges, number / count)
            axes.plot(games, spread.middle, **line_style(number), markevery=marked, zorder=3)
            top = max(top, float(np.nanmax(spread.high, initial=0)))
        if panel.kind == canvas.SHARE:
            axes.set_ylim(-3, 103)
        elif panel is canvas.METRICS["positions"]:
            log_counts(axes)
        else:
            axes.set_ylim(-0.03 * top, 1.08 * top)
    return figure


def _edges(choice: canvas.Selection, shown: Sequence[int]) -> tuple[float, float]:
    """Return the ends of an axis of games."""
    games, points = choice.study.games[shown], choice.study.points[shown]
    return games_edges(int(games[:, 0].min()), int(games[np.arange(len(shown)), points - 1].max()))


TITLES = {"proof": "Proved by then", "settling": "Settled by then"}


def settling_figure(choice: canvas.Selection, metric: str | None = None) -> Any:
    """Draw the steps of each setting.  metric: chooses the settings to draw, if there are too many."""
    if not choice.having(canvas.METRICS["proof"]).any():
        raise UsageError(f"{choice.name} has no proofs to draw; choose {flag('kind', 'curves')}")
    shown, others = _chosen(choice, metric, "proof")
    times = {panel: canvas.at_end(choice.study, canvas.METRICS[panel])[shown] for panel in TITLES}
    legend = []
    for i, (setting, proof, settling) in enumerate(zip(shown, *times.values(), strict=True)):
        counts = f"({np.isfinite(proof).sum()}, {np.isfinite(settling).sum()} of {(~np.isnan(proof)).sum()})"
        legend.append((line_sign(**_dash(i)), f"{choice.name_of(setting)} {counts}"))
    notes = [
        "unbeatable in every seat at a recorded point: proved; at that one and all later ones: settled",
        "in brackets: seeds proved and settled up to the end, of all",
        "Kaplan-Meier with 95 % bands (log-log); seeds without are censored at the end",
        *others,
        *choice.facts(),
    ]
    figure, panels = canvas.make_canvas(f"Proofs over games: {choice.title(shown)}", 2, legend, notes, height=3.0)
    edges = _edges(choice, shown)
    for axes, (panel, title) in zip(panels, TITLES.items(), strict=True):
        axes.set_title(title)
        axes.set_ylabel("% of seeds")
        axes.set_ylim(-3, 103)
        games_axis(axes, *edges)
        for i, (setting, own) in enumerate(zip(shown, times[panel], strict=True)):
            if not np.isnan(own).all():
                end = int(choice.study.games[setting, choice.study.points[setting] - 1])
                _draw(axes, steps_of(own, end), edges[0], end, i, len(shown))
    return figure


def _dash(number: int) -> dict[str, Any]:
    """Return the style of a line without markers: the second round of colours is dashed."""
    return {"color": COLOURS[number % len(COLOURS)], "marker": "", "linestyle": "--" if number >= len(COLOURS) else "-"}


def steps_of(times: NDArray[np.float64], end: int) -> Survival:
    """Return the estimate from the times of seeds.  Times are infinite after `end`, and NaN if they are not known."""
    known = times[~np.isnan(times)]
    happened = np.isfinite(known)
    return survival(np.where(happened, known, end).astype(np.int64), happened)


def _draw(axes: Any, steps: Survival, begin: float, end: int, number: int, count: int) -> None:
    """Draw one curve of shares from `begin` to `end`."""
    games = np.concatenate([[begin], steps.times, [end]])

    def shares(left: NDArray[np.float64]) -> NDArray[np.float64]:
        return 100 * (1 - np.concatenate([[1.0], left, left[-1:]]))

    axes.fill_between(games, shares(steps.high), shares(steps.low), step="post", **canvas.band_style(number, count))
    axes.plot(games, shares(steps.left), drawstyle="steps-post", **_dash(number), zorder=3)


TOGETHER, MOST_PANELS = 4, 6
"""Lines up to which one panel holds all, and panels beyond which there are none by option."""

ABOVE = 1.9
"""Position of `never` on a logarithmic axis, as a factor of the last games."""


class HorizontalAxis(NamedTuple):
    """The horizontal axis: an option, its values, where each stands, and whether they are numbers, on what scale."""

    option: str
    values: list[Any]
    at: list[float]
    numeric: bool
    log: bool


def sensitivity_figure(choice: canvas.Selection, metric: str | None = None) -> Any:
    """Return a figure of a final metric over step size, or over the first option with several numbers or values."""
    measured, place = choice.metric(metric, "proof"), horizontal_axis(choice)
    others = [option for option in choice.axes if option != place.option]
    split = _split(choice, others, len(choice.grouped(others)))
    inner = [option for option in others if option != split]
    found = choice.ends(measured)
    lines = {key: own for key, own in choice.grouped(inner).items() if not np.isnan(found.middle[own]).all()}
    several = len(lines)
    lines = {[*lines][number]: [*lines.values()][number] for number in choice.best(measured, [*lines.values()])}
    drawn = [setting for own in lines.values() for setting in own]
    # Earlier lines have larger markers, which stay visible around later ones.
    styles = [{**line_style(i), "markersize": 4.0 + 0.5 * (len(lines) - 1 - i)} for i in range(len(lines))]
    signs = [(line_sign(**style), choice.label(inner, key)) for style, key in zip(styles, lines, strict=True)]
    notes = [
        _axis_meaning(measured, place),
        choice.seats_note(measured, drawn),
        *canvas.left_out(len(lines), several, "lines", measured),
        *choice.facts(),
    ]
    heading = f"{measured.title} by {place.option.replace('_', ' ')}: {choice.title(drawn)}"
    values = choice.values(split) if split else [None]
    columns = 2 if len(values) > 1 else 1
    names, inches = [choice.value_text(place.option, value) for value in place.values], canvas.panel_inches(columns)
    height = 3.2 + (0.0 if place.numeric else canvas.room_below(names, inches))
    legend = signs if inner else []
    figure, panels = canvas.make_canvas(heading, len(values), legend, notes, columns=columns, height=height, share=True)
    ceiling = ABOVE * float(choice.study.games[choice.settings].max()) if measured.kind == canvas.TIME else math.inf
    seen = canvas.SeedSpread(*(np.minimum(part, ceiling) for part in found))
    for number, (axes, value) in enumerate(zip(panels, values, strict=True)):
        for i, (settings, style) in enumerate(zip(lines.values(), styles, strict=True)):
            own = [s for s in settings if split is None or choice.rows[s][split] == value]
            _draw_line(axes, place, seen, {choice.rows[s][place.option]: s for s in own}, style, (i, len(lines)))
        if split:
            axes.set_title(choice.label([split], [value]))
        if number % columns == 0:
            axes.set_ylabel(measured.unit)
        if number + columns >= len(values):
            axes.set_xlabel(display_name(place.option))
            axes.xaxis.set_tick_params(labelbottom=True)
    _horizontal(panels[0], place, names, inches)
    numbers = np.concatenate([part[drawn] for part in seen])
    _vertical(panels[0], measured, numbers[~np.isnan(numbers)], ceiling)
    return figure


def horizontal_axis(choice: canvas.Selection) -> HorizontalAxis:
    """Return the horizontal axis: alpha if it differs, else the first option, rather one of numbers, that differs."""
    numeric = [name for name, values in choice.axes.items() if sum(map(canvas.is_number, values)) > 1]
    name = "alpha" if "alpha" in choice.axes else next(iter([*numeric, *choice.axes]), "alpha")
    values = choice.values(name)
    if len(values) == 1 or not all(map(canvas.is_number, values)):
        return HorizontalAxis(name, values, [float(i) for i in range(len(values))], False, False)
    log = len(values) > 2 and values[0] > 0 and _unevenness(np.log(values)) < _unevenness(np.array(values))
    return HorizontalAxis(name, values, [float(value) for value in values], True, log)


def _unevenness(values: NDArray[np.float64]) -> float:
    steps = np.diff(values)
    return float(steps.std() / steps.mean())


def _split(choice: canvas.Selection, others: Sequence[str], groups: int) -> str | None:
    """Return the option whose values have panels of their own: the first one that leaves several lines in each."""
    if groups <= TOGETHER or len(others) < 2:
        return None
    return next((name for name in others if len(choice.axes[name]) <= MOST_PANELS), None)


def _draw_line(
    axes: Any,
    place: HorizontalAxis,
    found: canvas.SeedSpread,
    own: dict[Any, int],
    style: dict[str, Any],
    which: tuple[int, int],
) -> None:
    """Draw one line with its band.  own: the setting of each value that has one.  which: its number, and of how many.

    Values that are not numbers have marks side by side instead.
    """
    there = [i for i, value in enumerate(place.values) if value in own and not np.isnan(found.middle[own[value]])]
    middle, low, high = (part[[own[place.values[i]] for i in there]] for part in found)
    at, (number, count) = np.array([place.at[i] for i in there]), which
    if place.numeric and len(there) > 1:
        axes.fill_between(at, low, high, **canvas.band_style(number, count))
        axes.plot(at, middle, **style, zorder=3)
        return
    if not place.numeric:
        at = at + (number - (count - 1) / 2) * 0.6 / max(count, 2)
    axes.vlines(at, low, high, color=style["color"], alpha=0.6, lw=1.4)
    axes.plot(at, middle, **style, linestyle="", zorder=3)


def _horizontal(axes: Any, place: HorizontalAxis, labels: Sequence[str], inches: float) -> None:
    """Scale and labels of the horizontal axis; the panels share it."""
    if not place.numeric:
        canvas.name_places(axes.xaxis, labels, inches)
        axes.set_xlim(-0.6 + place.at[0], place.at[-1] + 0.6)
        return
    if place.log:
        axes.set_xscale("log")
    on_scale = np.log(place.at) if place.log else np.array(place.at)
    room = 0.05 * (on_scale[-1] - on_scale[0])
    edges = on_scale[0] - room, on_scale[-1] + room
    axes.set_xlim(*(np.exp(edges) if place.log else edges))
    inches_at = (on_scale - edges[0]) / (edges[1] - edges[0]) * inches
    shown = canvas.readable(inches_at.tolist(), [canvas.LETTER * (len(label) + 1) for label in labels])
    axes.set_xticks([place.at[i] for i in shown], [labels[i] for i in shown])
    axes.set_xticks([], minor=True)


def _vertical(axes: Any, metric: canvas.Metric, numbers: NDArray[np.float64], ceiling: float) -> None:
    """Scale and labels of the vertical axis; the panels share it."""
    top, least = float(numbers.max()), float(numbers.min())
    if metric.kind == canvas.TIME:
        axes.set_yscale("log")
        last = min(top, ceiling / ABOVE)
        low = min(least, last)
        never = top >= ceiling
        ticks = {tick: short_number(tick) for tick in log_ticks(low / 1.5, last * 1.05, 5)}
        if never:
            ticks[ceiling] = "never"
        axes.set_ylim(low / 1.5, ceiling * 1.25 if never else last * 1.3)
        axes.set_yticks([*ticks], [*ticks.values()])
        axes.set_yticks([], minor=True)
    elif metric.kind == canvas.SHARE:
        axes.set_ylim(-3, 103)
    elif metric.rising and metric.kind != canvas.NUMBER:
        room = max(100 - least, 1.0)
        axes.set_ylim(max(least - 0.05 * room, -3), 100 + 0.03 * room)
    else:
        low = min(least, 0.0)
        span = max(top - low, 1e-6)
        axes.set_ylim(low - 0.03 * span, top + 0.08 * span)


def _axis_meaning(metric: canvas.Metric, place: HorizontalAxis) -> str:
    """Return the meaning of lines and bands."""
    line, band = ("line", "band") if place.numeric else ("mark", "bar")
    if metric.kind == canvas.SHARE:
        return f"{line}: share of the seeds, {band}: its 95 % interval (Wilson)"
    if metric.kind == canvas.TIME:
        return f"{line}: median of the seeds, {band}: from quartile to quartile, never: not up to the last game"
    return f"{line}: median of the seeds at the end, {band}: from quartile to quartile"


MOST_HEAT_PANELS, MOST_CELLS = 6, 100
"""Panels of a picture, and cells in a row or column of a panel, at most."""

WIDE = 8
"""Columns up to which two panels stand side by side."""

LETTERS, LARGEST, SMALLEST = 5.5, 9.0, 5.0
"""Letters that a cell must have room for, and sizes of letters in points, below which there are none."""

BAR = 0.75
"""Inches that the bar of colours takes."""

NEVER, NOTHING = "#E2E2E2", "#FFFFFF"


def heat_figure(choice: canvas.Selection, metric: str | None = None) -> Any:
    """Return a figure with a cell for each pair of values of two options: that of sensitivity, and another one.

    Others that differ make panels.  Raises UsageError if fewer than two differ, or for too many panels or cells.
    """
    measured = choice.metric(metric, "proof")
    across, up = _axes(choice)
    others = [axis for axis in choice.axes if axis not in (across, up)]
    groups = choice.grouped(others)
    if len(groups) > MOST_HEAT_PANELS:
        raise UsageError(
            f"{choice.name} has {len(groups):,} combinations of {', '.join(others)}; a picture of {across} and {up} "
            f"has room for {MOST_HEAT_PANELS}: choose some with {flag('only', 'OPTION=VALUES')}"
        )
    columns, rows = choice.values(across), choice.values(up)
    for axis, values in ((across, columns), (up, rows)):
        if len(values) > MOST_CELLS:
            raise UsageError(
                f"{len(values):,} values of {axis} are too many for a picture, which has room for {MOST_CELLS}; choose "
                f"some with {flag('only', f'{axis}=VALUES')}"
            )
    names = [choice.value_text(across, value) for value in columns]
    row_names = [choice.value_text(up, value) for value in rows]
    side = 2 if len(groups) > 1 and len(columns) <= WIDE else 1
    inches = canvas.panel_inches(side) - BAR / side - canvas.LETTER * max(map(len, row_names))
    size = min(LARGEST, inches / len(columns) * 72 / (0.6 * LETTERS))
    high = max(1.0, min(0.42, max(0.16, 9 / len(rows))) * len(rows))
    found = choice.ends(measured).middle
    narrow = ["the cells are too narrow for numbers"] if size < SMALLEST else []
    notes = [_colour_meaning(measured), choice.seats_note(measured, choice.settings), *narrow, *choice.facts()]
    heading = f"{measured.title} by {display_name(across)} and {display_name(up)}: {choice.title()}"
    height = high + 0.75 + canvas.room_below(names, inches)
    figure, panels = canvas.make_canvas(heading, len(groups), [], notes, columns=side, height=height)
    scale, image = _scale(measured, found[choice.settings]), None
    for number, (axes, (key, settings)) in enumerate(zip(panels, groups.items(), strict=True)):
        cells = np.full((len(rows), len(columns)), -1)
        for setting in settings:
            cells[rows.index(choice.rows[setting][up]), columns.index(choice.rows[setting][across])] = setting
        image = _draw_cells(axes, cells, found, measured, scale, size)
        canvas.name_places(axes.xaxis, names, inches)
        canvas.name_places(axes.yaxis, row_names, high, upright=True)
        axes.set_title(choice.label(others, key))
        axes.set_xlabel(display_name(across))
        if number % side == 0:
            axes.set_ylabel(display_name(up))
    _colour_bar(panels, image, measured, scale)
    return figure


def _axes(choice: canvas.Selection) -> tuple[str, str]:
    """Return the options of columns and rows.  Raises UsageError without two."""
    if len(choice.axes) < 2:
        alone = next(iter(choice.axes), None)
        what = f"only {alone} differs" if alone else "no option differs"
        raise UsageError(
            f"a heat map has two options that differ, and {what} in {choice.name}; choose {flag('kind', 'sensitivity')}"
        )
    across = horizontal_axis(choice).option
    others = [axis for axis in choice.axes if axis != across]
    numeric = [axis for axis in others if any(map(canvas.is_number, choice.axes[axis]))]
    return across, (numeric or others)[0]


def _scale(metric: canvas.Metric, values: NDArray[np.float64]) -> Any:
    """Return the function from numbers to colours."""
    from matplotlib.colors import LogNorm, Normalize

    finite = values[np.isfinite(values)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (1.0, 2.0)
    if metric.kind == canvas.TIME:
        return LogNorm(low / 1.05, high * 1.05)
    if metric.kind == canvas.SHARE:
        return Normalize(0, 100)
    low = min(low, 0.0) if metric.kind == canvas.NUMBER or not metric.rising else low
    return Normalize(low, max(high, low + 1e-3 * max(abs(low), 1e-3)))


def _draw_cells(
    axes: Any, cells: NDArray[np.int64], found: NDArray[np.float64], metric: canvas.Metric, scale: Any, size: float
) -> Any:
    """Draw one panel.  cells: the setting of each, or -1.  size: of letters, in points."""
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
            colour, text = ink_on(colours(scale(value))), write(value)
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


def number_writer(metric: canvas.Metric, values: NDArray[np.float64]) -> Any:
    """Return a writer of numbers: games with a unit, others with two digits of the largest."""
    top = float(np.abs(values).max(initial=0))
    if metric.kind == canvas.TIME or top >= 1000:
        return short_number
    decimals = int(np.clip(1 - np.floor(np.log10(top)), 0, 4)) if top > 0 else 0
    return lambda value: f"{value:.{decimals}f}"


def _colour_bar(panels: list[Any], image: Any, metric: canvas.Metric, scale: Any) -> None:
    bar = panels[0].figure.colorbar(image, ax=panels, aspect=25, pad=0.02, fraction=0.06)
    bar.outline.set_visible(False)
    if metric.kind == canvas.TIME:
        ticks = log_ticks(scale.vmin, scale.vmax, 6)
        bar.set_ticks(ticks, labels=[short_number(tick) for tick in ticks])
        bar.set_ticks([], minor=True)


def _colour_meaning(metric: canvas.Metric) -> str:
    """Return the meaning of numbers and colours."""
    better = "more is better" if metric.rising else "less is better"
    if metric.kind == canvas.SHARE:
        return f"share of the seeds in %; {better}"
    if metric.kind == canvas.TIME:
        return f"median of the seeds; {better}; never (grey): fewer than half of the seeds up to the last game"
    return f"median of the seeds at the end, {metric.unit}; {better}"


KINDS: dict[str, Callable[[canvas.Selection, str | None], Any]] = {
    "curves": study_curves_figure,
    "sensitivity": sensitivity_figure,
    "settling": settling_figure,
    "heat": heat_figure,
}
"""Kinds of pictures of a study."""


def study_figure(
    study: StudyFile,
    kind: str = "curves",
    *,
    metric: str | None = None,
    only: Mapping[str, Any] | Sequence[tuple[str, Any]] | None = None,
) -> Any:
    """Return the matplotlib Figure of a study; to be drawn and saved within `style.package_style`.

    kind: of KINDS.  metric: of `summary.METRICS`, what `sensitivity` and `heat` show, and by which the others choose
    eight settings if there are more.  only: options with values, as a study's values are given, or such pairs; settings
    with other values are left out.
    Raises UsageError, and StudyFileError if the file cannot be read.
    """
    draw = KINDS[choose("kind of plot", kind, KINDS)]
    pairs: Any = list(only.items()) if isinstance(only, Mapping) else only or ()
    if not isinstance(pairs, Sequence) or not all(isinstance(pair, tuple | list) and len(pair) == 2 for pair in pairs):
        raise UsageError(f"only {quoted(only)} are no options with values; give them as {{'alpha': '0.1,0.2'}}")
    return canvas.keep_places(draw(canvas.Selection(study, pairs), metric))
