"""Learning curves of a study: for each setting the median of its seeds over games, with a band between quartiles."""

from typing import Any

import numpy as np

from ttt_batch.app.plots.games_axis import games_axis, games_edges
from ttt_batch.app.plots.studies.canvas import band_style, line_sign, line_style, make_canvas
from ttt_batch.app.plots.studies.choice import Selection, left_out
from ttt_batch.app.plots.studies.metrics import METRICS, SHARE, over_games
from ttt_batch.app.plots.style import log_counts
from ttt_batch.studies.designs.networks import NETWORKS
from ttt_batch.studies.figures.holding import plays
from ttt_batch.studies.storage.declared import DONE

PANELS = (
    ("loss", "error", "unbeatable", "optimal"),
    ("unbeatable", "first", "second", "play"),
    ("play", "positions"),
    ("first-wins", "play", "second-wins"),
)
"""What is drawn of boards with exact results, of networks with proofs, of boards without either, and of a mixture or of
results alone: the first that all have."""

MARKS = 12
"""Markers of a line, evenly over the axis."""


def study_curves_figure(choice: Selection, metric: str | None = None) -> Any:
    """A line for each setting.  metric: by which those are chosen that are drawn, if there are too many."""
    ranking = choice.metric(metric, "proof" if choice.study.family is NETWORKS else "loss")
    shown = [choice.settings[i] for i in choice.best(ranking, [[setting] for setting in choice.settings])]
    drawn = [choice.settings.index(setting) for setting in shown]
    several = [[METRICS[name] for name in names] for names in PANELS]
    panels = next(tuple(one) for one in several if all(choice.having(metric)[drawn].all() for metric in one))
    if not plays(choice.study)[shown].all(axis=1).any():  # boxes have no values
        panels = tuple(name for name in panels if name is not METRICS["error"])
    count, seeds = len(shown), choice.study.seeds.size
    done = np.count_nonzero(choice.study.state[shown] == DONE, axis=1).tolist()
    legend = [
        (line_sign(i), choice.name_of(setting) + (f" ({done[i]} of {seeds} seeds)" if done[i] < seeds else ""))
        for i, setting in enumerate(shown)
    ]
    notes = [
        "line: median of the seeds (a share has none), band: from quartile to quartile",
        next((choice.seats_note(panel, shown) for panel in panels if panel.note), ""),
        *left_out(count, len(choice.settings), "settings", ranking),
        *choice.facts(),
    ]
    canvas = make_canvas(f"Learning curves: {choice.title(shown)}", len(panels), legend, notes, columns=2, height=2.6)
    ends = choice.study.games[shown, choice.study.points[shown] - 1]
    edges = games_edges(int(choice.study.games[shown, 0].min()), int(ends.max()))
    for axes, panel in zip(canvas.panels, panels, strict=True):
        axes.set_title(f"{panel.title[0].upper()}{panel.title[1:]}")
        axes.set_ylabel(panel.unit)
        games_axis(axes, *edges)
    tops = [0.0] * len(panels)
    for setting, spreads in over_games(choice.study, panels, shown):
        number = shown.index(setting)
        games = choice.study.games[setting, : choice.study.points[setting]]
        marked = _marked(np.log(games / edges[0]) / np.log(edges[1] / edges[0]), number / count)
        for i, (axes, panel, found) in enumerate(zip(canvas.panels, panels, spreads, strict=True)):
            if panel.kind != SHARE:
                axes.fill_between(games, found.low, found.high, **band_style(number, count))
            axes.plot(games, found.middle, **line_style(number), markevery=marked, zorder=3)
            tops[i] = max(tops[i], float(np.nanmax(found.high, initial=0)))
    for axes, panel, top in zip(canvas.panels, panels, tops, strict=True):
        if panel.kind == SHARE:
            axes.set_ylim(-3, 103)
        elif panel is METRICS["positions"]:
            log_counts(axes)
        else:
            axes.set_ylim(-0.03 * max(top, 1e-3), 1.08 * max(top, 1e-3))
    return canvas.figure


def _marked(at: Any, turn: float) -> list[int]:
    """Points with a marker: first, last, and some between, for each line at other places.  at: 0 to 1 on the axis."""
    slots = np.floor(at * MARKS + turn)
    return sorted({0, *np.flatnonzero(np.diff(slots, prepend=slots[0]) > 0).tolist(), at.size - 1})
