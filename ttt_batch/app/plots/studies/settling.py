"""Which share of the seeds was proved unbeatable by each game, and which had settled: Kaplan-Meier with its band."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ttt_batch.app.plots.games_axis import games_axis, games_edges
from ttt_batch.app.plots.studies.canvas import band_style, line_sign, make_canvas
from ttt_batch.app.plots.studies.choice import Selection, left_out
from ttt_batch.app.plots.studies.metrics import METRICS, at_end
from ttt_batch.app.plots.style import COLOURS
from ttt_batch.base.errors import UsageError, flag
from ttt_batch.studies.figures.survival import Survival, survival

TITLES = {"proof": "Proved by then", "settling": "Settled by then"}


def settling_figure(choice: Selection, metric: str | None = None) -> Any:
    """Steps for each setting.  metric: by which those are chosen that are drawn, if there are too many."""
    if not choice.having(METRICS["proof"]).any():
        raise UsageError(f"{choice.name} has no proofs to draw; choose {flag('kind', 'curves')}")
    ranking = choice.metric(metric, "proof")
    shown = [choice.settings[i] for i in choice.best(ranking, [[setting] for setting in choice.settings])]
    times = {panel: at_end(choice.study, METRICS[panel])[shown] for panel in TITLES}
    counts = [
        f" ({np.isfinite(proof).sum()}, {np.isfinite(settling).sum()} of {(~np.isnan(proof)).sum()})"
        for proof, settling in zip(*times.values(), strict=True)
    ]
    count = len(shown)
    legend = [(line_sign(i, **_dash(i)), f"{choice.name_of(setting)}{counts[i]}") for i, setting in enumerate(shown)]
    notes = [
        "unbeatable in every seat at a recorded point: proved; at that one and all later ones: settled",
        "in brackets: seeds proved and settled up to the end, of all",
        "Kaplan-Meier with 95 % bands (log-log); seeds without are censored at the end",
        *left_out(count, len(choice.settings), "settings", ranking),
        *choice.facts(),
    ]
    canvas = make_canvas(f"Proofs over games: {choice.title(shown)}", 2, legend, notes, height=3.0)
    ends = choice.study.games[shown, choice.study.points[shown] - 1]
    edges = games_edges(int(choice.study.games[shown, 0].min()), int(ends.max()))
    for axes, (panel, title) in zip(canvas.panels, TITLES.items(), strict=True):
        axes.set_title(title)
        axes.set_ylabel("% of seeds")
        axes.set_ylim(-3, 103)
        games_axis(axes, *edges)
        for i, (own, end) in enumerate(zip(times[panel], ends.tolist(), strict=True)):
            if not np.isnan(own).all():
                _draw(axes, steps_of(own, end), edges[0], end, i, count)
    return canvas.figure


def _dash(number: int) -> dict[str, Any]:
    """How a line without markers looks: a second round of colours is dashed."""
    return {"color": COLOURS[number % len(COLOURS)], "marker": "", "linestyle": "--" if number >= len(COLOURS) else "-"}


def steps_of(times: NDArray[np.float64], end: int) -> Survival:
    """The estimate from the times of seeds, infinite if it did not happen up to `end`, NaN if nothing is known."""
    known = times[~np.isnan(times)]
    happened = np.isfinite(known)
    return survival(np.where(happened, known, end).astype(np.int64), happened)


def _draw(axes: Any, steps: Survival, begin: float, end: int, number: int, count: int) -> None:
    """One curve of shares from `begin` to `end`."""
    games = np.concatenate([[begin], steps.times, [end]])

    def shares(left: NDArray[np.float64]) -> NDArray[np.float64]:
        return 100 * (1 - np.concatenate([[1.0], left, left[-1:]]))

    axes.fill_between(games, shares(steps.high), shares(steps.low), step="post", **band_style(number, count))
    axes.plot(games, shares(steps.left), drawstyle="steps-post", **_dash(number), zorder=3)
