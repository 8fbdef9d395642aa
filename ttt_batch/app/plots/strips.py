"""Verdicts as strips: of each run, one above the other for its two seats, filled where no opponent beats it.

A verdict leaps from one recorded point to the next, so that curves of several runs would hide each other; strips do
not.  Each stretch has the verdict of the point at its left end.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ttt_batch.app.plots.series import Line, Panel
from ttt_batch.base.choices import SEATS

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
    """Where each stretch of one verdict begins, how long it is, and the verdict.  end: where the last one ends."""
    turns = [0, *(np.flatnonzero(np.diff(holds)) + 1).tolist()]
    edges = [*games[turns].tolist(), end]
    for turn, start, stop in zip(turns, edges, edges[1:], strict=False):
        yield float(start), float(stop - start), bool(holds[turn])


def draw_strips(
    axes: Any, panel: Panel, groups: Sequence[Sequence[int]], end: float, style: Callable[[Line], dict[str, Any]]
) -> dict[int, float]:
    """Draw the strips of a panel whose values are 1 where no opponent wins, else 0; return the middle of each run's.

    groups: as for `rows_of`.  end: the right edge.  style: colour and marker of a line.
    """
    seats = {run: [line.seat for line in panel.lines if line.run == run] for group in groups for run in group}
    rows = rows_of(groups, seats)
    middles = {run: row + (len(seats[run]) - 1) / 2 for run, row in rows.items()}
    for line in panel.lines:
        row = rows[line.run] + seats[line.run].index(line.seat)
        for start, length, good in stretches(line.games, line.value > 0, end):
            colour = style(line)["color"] if good else BEATEN
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
        look = style(next(line for line in panel.lines if line.run == group[0]))
        middle = (middles[group[0]] + middles[group[-1]]) / 2
        axes.plot(
            [-0.025],
            [middle],
            transform=axes.get_yaxis_transform(),
            clip_on=False,
            **{**look, "linestyle": "", "markersize": 5},
        )
    return middles
