"""Learning curves: the recorded points of runs over the games that they had learnt from, drawn."""

import textwrap
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ttt_batch.app.plots.games_axis import games_axis, games_edges
from ttt_batch.app.plots.labels import Look, common_title, make_legend, make_look, safe_since, unbeatable_text, verdict
from ttt_batch.app.plots.series import PLAYED, Line, Panel, after_games, learning_panels, medians
from ttt_batch.app.plots.strips import BEATEN, draw_strips
from ttt_batch.app.plots.style import COLOURS, DRAW, LOSS, MARKERS, WIN, log_counts, new_figure, put_legend
from ttt_batch.base.choices import RESULTS, SEATS
from ttt_batch.runs.loading import AnyRun
from ttt_batch.runs.patterns.run import PatternRun

DASHES = ("-", "--")
"""Line styles by seat."""

STRIPS = ("unbeatable", "proof")
"""Panels of verdicts."""

ALONE, PROVED_COLOUR = "#000000", "#009E73"
MARKS_A_CURVE = 14
LEGEND_ENTRIES, FEW = 12, 4
LEGEND_WIDTH = 46
"""Runs that a legend names, those up to which their verdicts have lines of their own, and characters in a line."""

LINE, ENTRY, ROW = 10.5, 5.5, 135.0
"""Points that a line of the legend takes, an entry more than its lines, and that a row of panels has for it."""

NO_EXACT = "boards too large to enumerate have no\nexact results"
NO_EXACT_NETWORKS = "networks and boards too large to enumerate\nhave no exact results"


def curves_figure(runs: Sequence[AnyRun], names: Sequence[str]) -> Any:
    """Learning curves of `runs` in one figure.  Raises UsageError for a run without recorded points."""
    panels = learning_panels(runs)
    look = make_look(runs, make_legend(runs, names), len(COLOURS))
    rows, alone = (len(panels) + 2) // 2, len(panels) % 2 == 0  # the legend, in a row of its own
    handles, labels = zip(*_legend_entries(panels, look, runs), strict=True)
    needed = sum(ENTRY + LINE * (label.count("\n") + 1) for label in labels) / ROW
    ratios = [1.0] * (rows - 1) + [needed if alone else max(1.0, needed)]
    figure = new_figure(0.6 + 2.35 * sum(ratios))
    figure.suptitle(f"Learning curves: {common_title(runs)}", x=0.01, ha="left")
    grid = figure.subplots(rows, 2, squeeze=False, height_ratios=ratios)
    for axes, panel in zip(grid.flat, panels, strict=False):
        _draw_panel(axes, panel, look, runs)
        games_axis(axes, *_edges(panel))
    for axes in list(grid.flat)[len(panels) :]:
        axes.set_axis_off()
    put_legend(list(grid.flat)[len(panels)], handles, labels, handlelength=2.6, labelspacing=0.55)
    return figure


def _edges(panel: Panel) -> tuple[float, float]:
    """Where the axis of games begins and ends."""
    return games_edges(*_span(panel))


def _span(panel: Panel) -> tuple[int, int]:
    """Games at the first and at the last point of all curves."""
    return min(int(line.games[0]) for line in panel.lines), max(int(line.games[-1]) for line in panel.lines)


def _line_style(line: Line, look: Look) -> dict[str, Any]:
    """Colour by result for one run, by run for several; dashes by seat."""
    dash, style = DASHES[max(line.seat, 0)], look.style[line.run]
    if line.what:
        number = max(RESULTS.index(line.what) if line.what in RESULTS else PLAYED.index(line.what), 0)
        return {"color": (WIN, DRAW, LOSS)[number], "marker": MARKERS[number], "linestyle": dash}
    if len(look.style) == 1:
        return {"color": ALONE, "marker": MARKERS[4], "linestyle": dash}
    colour = COLOURS[style % len(COLOURS)]
    return {
        "color": colour,
        "marker": MARKERS[style % len(MARKERS)],
        "markerfacecolor": "white" if style // len(COLOURS) % 2 else colour,  # a second round of colours: open markers
        "linestyle": dash,
    }


def _marked(games: NDArray[np.int64], low: float, high: float, turn: float) -> list[int]:
    """Points of a curve that get a marker: first, last and some between, evenly from `low` to `high`.

    turn: 0 to 1, so that curves on top of each other have theirs in different places.
    """
    at = np.log(games / low) / max(np.log(high / low), 1e-9) * MARKS_A_CURVE + turn
    first = np.flatnonzero(np.diff(np.floor(at), prepend=-1) > 0)
    return sorted({0, *first.tolist(), games.size - 1})


def _draw_verdicts(axes: Any, panel: Panel, look: Look, runs: Sequence[AnyRun]) -> None:
    """The strips, with a star where both of a run's begin to hold for good."""

    def style(line: Line) -> dict[str, Any]:
        return {**_line_style(line, look), **({"color": PROVED_COLOUR} if len(runs) == 1 else {})}

    axes.set_title(panel.title)
    axes.set_ylabel("" if len(runs) == 1 else "pairs: first above second", fontsize=8.5, labelpad=12)
    middles = draw_strips(axes, panel, [numbers for _, numbers in look.entries], _edges(panel)[1], style)
    for number, since in _proofs(runs):
        if len(runs) > 1:
            line = next(line for line in panel.lines if line.run == number)
            axes.plot(
                [since],
                [middles[number]],
                marker="*",
                markersize=10,
                color=style(line)["color"],
                markeredgecolor="white",
                zorder=5,
                clip_on=False,
            )


def _draw_panel(axes: Any, panel: Panel, look: Look, runs: Sequence[AnyRun]) -> None:
    if panel.name in STRIPS:
        _draw_verdicts(axes, panel, look, runs)
        return
    one = len(runs) == 1
    low, high = _span(panel)
    crowds = [numbers for _, numbers in look.entries if len(numbers) > 1]
    crowded = {number for numbers in crowds for number in numbers}

    def draw(line: Line, **style: Any) -> None:
        every = _marked(line.games, low, max(high, low + 1), look.style[line.run] / len(COLOURS))
        axes.plot(line.games, line.value, markevery=every, **{**_line_style(line, look), **style})

    for line in panel.lines:
        draw(line, **({"marker": "", "linewidth": 0.6, "alpha": 0.45} if line.run in crowded else {}))
    for numbers in crowds:
        for middle in medians(panel, numbers):
            draw(middle, zorder=4)
    axes.set_title(panel.title)
    axes.set_ylabel(panel.unit)
    values = np.concatenate([line.value for line in panel.lines])
    top = float(np.nanmax(values, initial=0))
    if panel.name == "optimal_share":
        low = max(0.0, 10 * np.floor((np.nanmin(values) - 1) / 10))
        axes.set_ylim(low - 0.02 * (100 - low), 100 + 0.03 * (100 - low))
    elif panel.unit.startswith("%"):
        whole = one or panel.name == "in_play" or top > 50
        axes.set_ylim(*((-3, 103) if whole else (-0.03 * max(top, 1), 1.05 * max(top, 1))))
    elif panel.name in ("positions", "proof_positions"):
        log_counts(axes)
    else:
        axes.set_ylim(0, 1.08 * max(top, 1e-3))
    for _, since in _proofs(runs):
        if one:
            axes.axvspan(since, 1e30, color=PROVED_COLOUR, alpha=0.12, lw=0, zorder=0)
            axes.axvline(since, color=PROVED_COLOUR, lw=1.2, ls=":")


def _proofs(runs: Sequence[AnyRun]) -> Iterator[tuple[int, int]]:
    """Yield the number of each run that is unbeatable in all its seats for good, or proved, and since which game."""
    for number, run in enumerate(runs):
        since = safe_since(run)
        if since is not None:  # an imported run has a point before its first game, which is not drawn
            yield number, max(since, int(after_games(run.statistics)["games"][0]))


def _legend_entries(panels: Sequence[Panel], look: Look, runs: Sequence[AnyRun]) -> list[tuple[Any, str]]:
    """The signs of the legend, and what stands beside each."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    def sign(**style: Any) -> Any:
        return Line2D([], [], **style)

    def style_of(run: int, seat: int, what: str) -> dict[str, Any]:
        return _line_style(Line(run, seat, what, np.zeros(0, np.int64), np.zeros(0)), look)

    seats = sorted({line.seat for panel in panels for line in panel.lines if line.seat >= 0})
    networks = all(isinstance(run, PatternRun) for run in runs)
    one, entries = len(runs) == 1, []
    if one:
        there = any(panel.name == "versus_random" for panel in panels)
        meanings = ("agent wins; in play X wins", "draw", "agent loses; in play O wins") if there else PLAYED
        entries = [(sign(**style_of(0, 0, what)), name) for what, name in zip(RESULTS, meanings, strict=True)]
    for text, numbers in look.entries[:LEGEND_ENTRIES]:
        said = verdict([runs[number] for number in numbers])
        label = f"{text}: {said.replace('unbeatable since game', 'proved since')}"
        if len(look.entries) <= FEW or not said or len(label) > LEGEND_WIDTH or "\n" in said:
            label = "\n".join([textwrap.fill(text, LEGEND_WIDTH), *([said] if said else [])])
        entries.append((sign(**style_of(numbers[0], 0, "")), label))
    if len(look.entries) > LEGEND_ENTRIES:
        entries.append((sign(linestyle=""), f"and {len(look.entries) - LEGEND_ENTRIES} more"))
    if seats:
        for seat in seats:
            entries.append((sign(color="#444444", ls=DASHES[seat]), f"agent moves {SEATS[seat]}"))
        holds, fails = ("proved", "not proved") if networks else ("no opponent beats it", "can be beaten")
        entries.append((Patch(facecolor=PROVED_COLOUR if one else "#666666"), holds))
        entries.append((Patch(facecolor=BEATEN), fails))
    if any(len(numbers) > 1 for _, numbers in look.entries):
        entries.append((sign(color="#444444", linewidth=0.6), "a single seed (bold: the median)"))
    if seats and any(True for _ in _proofs(runs)):
        held = "proved as it was to be" if networks else unbeatable_text(runs)
        if one:
            entries.append((Patch(facecolor=PROVED_COLOUR, alpha=0.25), held))
        else:
            star = sign(color="#444444", marker="*", markersize=10, linestyle="")
            entries.append((star, f"{held} from here on"))
    exact = ["unbeatable" in run.statistics for run in runs]
    if not networks and not all(exact):
        which = NO_EXACT if not any(isinstance(run, PatternRun) for run in runs) else NO_EXACT_NETWORKS
        entries.append((sign(linestyle=""), which + (": only what all runs have" if any(exact) else "")))
    return entries
