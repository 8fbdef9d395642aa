"""Learning curves: the recorded points of runs over games, drawn.

Curves are first made as data.  Everything comes straight from the columns of `run.statistics`.  Shares in play are
those of the latest half of the games: the sum since the first game hides what changed, and from one point to the next
there may be a single game.

Verdicts are strips, one for each seat of a run, filled where no opponent beats it.  A verdict leaps from one recorded
point to the next, so that curves of several runs would hide each other; strips do not.  Each stretch has the verdict of
the point at its left end.
"""

import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_batch.app.plots import style
from ttt_batch.core.errors import UsageError
from ttt_batch.core.text import RESULTS, SEATS, short_number
from ttt_batch.runs.loading import AnyRun
from ttt_batch.runs.network_run import PROVED, PatternRun
from ttt_batch.runs.storage.declaration import EXACT_COLUMNS


def games_edges(low: float, high: float) -> tuple[float, float]:
    """Return the limits of the axis: a little beyond the first and the last point of all curves."""
    span = max(high / low, 1.0)
    edge = max(span**0.03, 1.05) if span > 1 else 2.0
    return low / edge, high * edge


def games_axis(axes: Any, low: float, high: float) -> None:
    """Make the horizontal axis one of games from `low` to `high`."""
    axes.set_xscale("log")
    axes.set_xlim(low, high)
    ticks = [tick for tick in style.log_ticks(low, high, 6) if tick >= 1]
    axes.set_xticks(ticks, [short_number(tick) for tick in ticks])
    axes.set_xticks([], minor=True)
    axes.set_xlabel("games learnt from")


PLAYED = ("X wins", "draw", "O wins")


class Line(NamedTuple):
    """Curve of a panel.  run: its number.  seat: 0, 1, or -1 for both.  what: `win` and so on, or empty.

    games: int64[T].  value: float64[T], in the panel's unit.
    """

    run: int
    seat: int
    what: str
    games: NDArray[np.int64]
    value: NDArray[np.float64]


class Panel(NamedTuple):
    """One of the pictures side by side: its title, the name of its vertical axis with the unit, and curves."""

    name: str
    title: str
    unit: str
    lines: list[Line]


def after_games(statistics: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Return the recorded points without one before the first game, which a logarithmic axis lacks."""
    learnt = statistics["games"] >= 1
    return {name: column[learnt] for name, column in statistics.items()}


def shares_in_play(statistics: Mapping[str, NDArray[Any]]) -> NDArray[np.float64]:
    """Return first wins, draws and second wins in % (float64[..., T, 3]) of recent games.

    These are the games since the last point with at most half as many.

    statistics: of one run, or `outcomes` int64[..., T, 3] of several with the same `games`.
    nan if no results were counted, as for an imported table.
    """
    games, outcomes = statistics["games"], statistics["outcomes"]
    known = np.concatenate([np.zeros_like(outcomes[..., :1, :]), outcomes], axis=-2)
    latest = (outcomes - known[..., np.searchsorted(games, games // 2, side="right"), :]).astype(np.float64)
    total = latest.sum(axis=-1, keepdims=True)
    shares: NDArray[np.float64] = 100 * np.divide(latest, total, out=np.full_like(latest, np.nan), where=total > 0)
    return shares


def learning_panels(runs: Sequence[AnyRun]) -> list[Panel]:
    """Return the curves of `runs` as data: the statistics that all of them have.

    Of a single run wins, draws and losses; of several what tells them apart best, losses and draws.
    Raises UsageError for a run without recorded points after its first game.
    """
    points = [after_games(run.own_statistics) for run in runs]
    for run, columns in zip(runs, points, strict=True):
        if not columns["games"].size:
            raise UsageError(f"a run of {run.config.learner} has learnt from no games and has no curve; train it first")
    exact = [all(name in columns for name in EXACT_COLUMNS) for columns in points]
    networks = [run for run in runs if isinstance(run, PatternRun)]
    panels = _exact_panels(points) if all(exact) else []
    one = len(runs) == 1
    results, played = list(enumerate(PLAYED)), [shares_in_play(columns) for columns in points]
    panels.append(
        Panel(
            "in_play",
            f"{'Results' if one else 'Draws'} in play, latest half of the games",
            "% of games",
            [
                Line(number, -1, what if one else "", columns["games"], shares[:, result])
                for result, what in results
                if one or what == "draw"
                for number, (columns, shares) in enumerate(zip(points, played, strict=True))
            ],
        )
    )
    if len(networks) == len(runs):
        panels += _proof_panels(networks, points)
    elif not any(exact) and not networks:
        lines = [
            Line(number, -1, "", columns["games"], columns["positions"].astype(np.float64))
            for number, columns in enumerate(points)
        ]
        panels.append(Panel("positions", "Positions visited", "positions in the table", lines))
    return panels


def _exact_panels(points: Sequence[Mapping[str, NDArray[Any]]]) -> list[Panel]:
    """Return the panels of exact results, without what is not known, such as the results of a seat not played."""

    def lines(column: str, scale: float, result: int | None = None) -> list[Line]:
        what = RESULTS[result] if result is not None and one else ""
        return [
            Line(number, seat, what, columns["games"], scale * values.T[seat].astype(np.float64))
            for number, columns in enumerate(points)
            for values in [columns[column] if result is None else columns[column][:, :, result]]
            for seat in range(2)
            if not np.isnan(values[:, seat].astype(np.float64)).all()
        ]

    one = len(points) == 1
    title = "Against random play, exactly" if one else "Lost against random play, exactly"
    against = [line for result in (range(3) if one else (2,)) for line in lines("versus_random", 100, result)]
    panels = [
        Panel("versus_random", title, "% of games", against),
        Panel("unbeatable", "Against the best opponent (ties any)", "", lines("unbeatable", 1)),
        Panel("optimal_share", "Positions played optimally", "% of those reachable", lines("optimal_share", 100)),
        Panel("value_error", "Values: distance from the truth", "mean, on its own scale", lines("value_error", 1)),
    ]
    return [panel for panel in panels if panel.lines]


def _proof_panels(runs: Sequence[PatternRun], points: Sequence[Mapping[str, NDArray[Any]]]) -> list[Panel]:
    """Draw the panels of proofs; none if nothing was tried."""
    if not any(columns["proof_positions"].any() for columns in points):
        return []
    goals = {"always wins" if run.config.always_wins else "cannot lose" for run in runs}
    proof, positions = list[Line](), list[Line]()
    for number, (run, columns) in enumerate(zip(runs, points, strict=True)):
        for seat in run.config.seats:
            entered = columns["proof_positions"][:, seat].astype(np.float64)
            entered[entered == 0] = np.nan  # none was tried
            proof.append(Line(number, seat, "", columns["games"], (columns["proof"][:, seat] == PROVED) * 1.0))
            positions.append(Line(number, seat, "", columns["games"], entered))
    return [
        Panel("proof", f"Proved: {goals.pop()}" if len(goals) == 1 else "Proved", "", proof),
        Panel("proof_positions", "Size of the proofs", "positions entered", positions),
    ]


def medians(panel: Panel, numbers: Sequence[int]) -> list[Line]:
    """Return the median, seat by seat, of runs that were recorded at the same games; none if they were not."""
    found = []
    for seat in sorted({line.seat for line in panel.lines}):
        lines = [line for line in panel.lines if line.run in numbers and line.seat == seat]
        if lines and all(np.array_equal(line.games, lines[0].games) for line in lines):
            found.append(lines[0]._replace(value=np.median([line.value for line in lines], axis=0)))
    return found


BEATEN = "#E2E2E2"
"""Fills what can be beaten: pale, whatever the colour of what cannot."""

HIGH, PAIR, GROUP = 0.84, 0.5, 0.9
"""Height of a strip of one row, and rows left free between the strips of two runs, and more between two entries."""


def rows_of(groups: Sequence[Sequence[int]], seats: Mapping[int, Sequence[int]]) -> dict[int, float]:
    """Return the row of each run's first strip, from the top; the next row is that of another seat.

    groups: runs that belong together, in the order of the legend.  seats: of each run, those that have a strip.
    """
    found, row = {}, 0.0
    for group in groups:
        for run in group:
            found[run] = row
            row += len(seats[run]) + PAIR
        row += GROUP if len(group) > 1 else 0
    return found


def stretches(games: NDArray[np.int64], holds: NDArray[np.bool_], end: float) -> Iterator[tuple[float, float, bool]]:
    """Return start, length and verdict of each stretch of one verdict.  end: of the last one."""
    turns = [0, *(np.flatnonzero(np.diff(holds)) + 1).tolist()]
    edges = [*games[turns].tolist(), end]
    for turn, start, stop in zip(turns, edges, edges[1:], strict=False):
        yield float(start), float(stop - start), bool(holds[turn])


def draw_strips(
    axes: Any, panel: Panel, groups: Sequence[Sequence[int]], end: float, look_of: Callable[[Line], dict[str, Any]]
) -> dict[int, float]:
    """Draw the strips of a panel whose values are 1 where no opponent wins, else 0; return the middle of each run's.

    groups: as for `rows_of`.  end: the right edge.  look_of: colour and marker of a line.
    """
    seats = {run: [line.seat for line in panel.lines if line.run == run] for group in groups for run in group}
    rows = rows_of(groups, seats)
    middles = {run: row + (len(seats[run]) - 1) / 2 for run, row in rows.items()}
    for line in panel.lines:
        row = rows[line.run] + seats[line.run].index(line.seat)
        for start, length, good in stretches(line.games, line.value > 0, end):
            colour = look_of(line)["color"] if good else BEATEN
            axes.broken_barh([(start, length)], (row - HIGH / 2, HIGH), facecolor=colour, linewidth=0)
    last = max(row + len(seats[run]) - 1 for run, row in rows.items())
    axes.set_ylim(last + 0.7, -0.7)
    axes.grid(visible=False)
    if len(rows) == 1:
        axes.set_yticks(range(len(seats[groups[0][0]])), [f"as {SEATS[seat]}" for seat in seats[groups[0][0]]])
        axes.tick_params(axis="y", length=0)
        return middles
    axes.set_yticks([])
    for group in groups:  # each entry of the legend by its own sign, left of its strips
        look = look_of(next(line for line in panel.lines if line.run == group[0]))
        middle = (middles[group[0]] + middles[group[-1]]) / 2
        axes.plot(
            [-0.025],
            [middle],
            transform=axes.get_yaxis_transform(),
            clip_on=False,
            **{**look, "linestyle": "", "markersize": 5},
        )
    return middles


DASHES = ("-", "--")
"""Line styles by seat."""

STRIPS = ("unbeatable", "proof")
"""Panels of verdicts."""

ALONE, PROVED_COLOUR = "#000000", "#009E73"
LEGEND_ENTRIES, FEW = 12, 4
LEGEND_WIDTH = 46
"""Runs that a legend names, those up to which their verdicts have lines of their own, and characters in a line."""

LINE, ENTRY, ROW = 10.5, 5.5, 135.0
"""Points that a line of the legend takes, an entry more than its lines, and that a row of panels has for it."""

NO_EXACT = "boards too large to enumerate have no\nexact results"
NO_EXACT_NETWORKS = "networks and boards too large to enumerate\nhave no exact results"


def curves_figure(runs: Sequence[AnyRun], names: Sequence[str]) -> Any:
    """Draw the learning curves of `runs` in one figure.  Raises UsageError for a run without recorded points."""
    panels = learning_panels(runs)
    look = style.make_look(runs, style.make_legend(runs, names), len(style.COLOURS))
    rows, alone = (len(panels) + 2) // 2, len(panels) % 2 == 0  # the legend, in a row of its own
    handles, labels = zip(*_legend_entries(panels, look, runs), strict=True)
    needed = sum(ENTRY + LINE * (label.count("\n") + 1) for label in labels) / ROW
    ratios = [1.0] * (rows - 1) + [needed if alone else max(1.0, needed)]
    figure = style.new_figure(0.6 + 2.35 * sum(ratios), f"Learning curves: {style.common_title(runs)}")
    grid = style.make_panels(figure, rows, 2, len(panels), height_ratios=ratios)
    for axes, panel in zip(grid, panels, strict=False):
        _draw_panel(axes, panel, look, runs)
        games_axis(axes, *games_edges(*_span(panel)))
    style.put_legend(grid[len(panels)], handles, labels, handlelength=2.6, labelspacing=0.55)
    return figure


def _span(panel: Panel) -> tuple[int, int]:
    """Return the games at the first and at the last point of all curves."""
    return min(int(line.games[0]) for line in panel.lines), max(int(line.games[-1]) for line in panel.lines)


def _line_style(look: style.Look, run: int, seat: int = 0, what: str = "") -> dict[str, Any]:
    """Colour by result for one run, by run for several; dashes by seat.  run, seat, what: of a `Line`."""
    dash = {"linestyle": DASHES[max(seat, 0)]}
    if what:
        number = (RESULTS if what in RESULTS else PLAYED).index(what)
        return {"color": (style.WIN, style.DRAW, style.LOSS)[number], "marker": style.MARKERS[number], **dash}
    if len(look.style) == 1:
        return {"color": ALONE, "marker": style.MARKERS[4], **dash}
    return {**style.line_style(look.style[run]), **dash}


STAR: dict[str, Any] = {"marker": "*", "markersize": 10}
"""Look of the sign of a proof."""


def _draw_verdicts(axes: Any, panel: Panel, look: style.Look, runs: Sequence[AnyRun]) -> None:
    """Draw the strips, with a star where both of a run's begin to hold for good."""

    def look_of(line: Line) -> dict[str, Any]:
        found = _line_style(look, line.run, line.seat, line.what)
        return {**found, "color": PROVED_COLOUR} if len(runs) == 1 else found

    axes.set_title(panel.title)
    axes.set_ylabel("" if len(runs) == 1 else "pairs: first above second", fontsize=8.5, labelpad=12)
    middles = draw_strips(axes, panel, [numbers for _, numbers in look.entries], games_edges(*_span(panel))[1], look_of)
    for number, since in _proofs(runs):
        if len(runs) > 1:
            line = next(line for line in panel.lines if line.run == number)
            above = {"markeredgecolor": "white", "zorder": 5, "clip_on": False}
            axes.plot([since], [middles[number]], color=look_of(line)["color"], **STAR, **above)


def _draw_panel(axes: Any, panel: Panel, look: style.Look, runs: Sequence[AnyRun]) -> None:
    if panel.name in STRIPS:
        _draw_verdicts(axes, panel, look, runs)
        return
    one = len(runs) == 1
    low, high = _span(panel)
    crowds = [numbers for _, numbers in look.entries if len(numbers) > 1]
    crowded = {number for numbers in crowds for number in numbers}

    def draw(line: Line, **more: Any) -> None:
        every = style.marked_points(line.games, low, max(high, low + 1), look.style[line.run] / len(style.COLOURS))
        own = _line_style(look, line.run, line.seat, line.what)
        axes.plot(line.games, line.value, markevery=every, **{**own, **more})

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
        style.log_counts(axes)
    else:
        axes.set_ylim(0, 1.08 * max(top, 1e-3))
    for _, since in _proofs(runs):
        if one:
            axes.axvspan(since, 1e30, color=PROVED_COLOUR, alpha=0.12, lw=0, zorder=0)
            axes.axvline(since, color=PROVED_COLOUR, lw=1.2, ls=":")


def _proofs(runs: Sequence[AnyRun]) -> Iterator[tuple[int, int]]:
    """Yield the number of each run that is unbeatable in all its seats for good, or proved, and since which game."""
    for number, run in enumerate(runs):
        since = run.since
        if since is not None:  # an imported run has a point before its first game, which is not drawn
            yield number, max(since, int(after_games(run.statistics)["games"][0]))


def _legend_entries(panels: Sequence[Panel], look: style.Look, runs: Sequence[AnyRun]) -> list[tuple[Any, str]]:
    """Return the signs of the legend, and what stands beside each."""
    from matplotlib.patches import Patch

    seats = sorted({line.seat for panel in panels for line in panel.lines if line.seat >= 0})
    networks = all(run.generalises for run in runs)
    one, entries = len(runs) == 1, []
    if one:
        there = any(panel.name == "versus_random" for panel in panels)
        meanings = ("agent wins; in play X wins", "draw", "agent loses; in play O wins") if there else PLAYED
        for what, name in zip(RESULTS, meanings, strict=True):
            entries.append((style.line_sign(**_line_style(look, 0, what=what)), name))
    for text, numbers in look.entries[:LEGEND_ENTRIES]:
        said = style.verdict([runs[number] for number in numbers])
        label = f"{text}: {said.replace('unbeatable since game', 'proved since')}"
        if len(look.entries) <= FEW or not said or len(label) > LEGEND_WIDTH or "\n" in said:
            label = "\n".join([textwrap.fill(text, LEGEND_WIDTH), *([said] if said else [])])
        entries.append((style.line_sign(**_line_style(look, numbers[0])), label))
    if len(look.entries) > LEGEND_ENTRIES:
        entries.append((style.line_sign(linestyle=""), f"and {len(look.entries) - LEGEND_ENTRIES} more"))
    if seats:
        entries += [(style.line_sign(color="#444444", ls=DASHES[seat]), f"agent moves {SEATS[seat]}") for seat in seats]
        holds, fails = ("proved", "not proved") if networks else ("no opponent beats it", "can be beaten")
        entries.append((Patch(facecolor=PROVED_COLOUR if one else "#666666"), holds))
        entries.append((Patch(facecolor=BEATEN), fails))
    if any(len(numbers) > 1 for _, numbers in look.entries):
        entries.append((style.line_sign(color="#444444", linewidth=0.6), "a single seed (bold: the median)"))
    if seats and any(True for _ in _proofs(runs)):
        held = "proved as it was to be" if networks else style.unbeatable_text(runs)
        if one:
            entries.append((Patch(facecolor=PROVED_COLOUR, alpha=0.25), held))
        else:
            star = style.line_sign(color="#444444", **STAR, linestyle="")
            entries.append((star, f"{held} from here on"))
    exact = ["unbeatable" in run.statistics for run in runs]
    if not networks and not all(exact):
        which = NO_EXACT if not any(run.generalises for run in runs) else NO_EXACT_NETWORKS
        entries.append((style.line_sign(linestyle=""), which + (": only what all runs have" if any(exact) else "")))
    return entries
