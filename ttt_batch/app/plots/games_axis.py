"""The horizontal axis of curves: games learnt from, on a logarithmic scale."""

from typing import Any

from ttt_batch.app.plots.labels import log_ticks
from ttt_batch.base.quantities import short_number


def games_edges(low: float, high: float) -> tuple[float, float]:
    """Where the axis begins and ends: a little beyond the first and the last point of all curves."""
    span = max(high / low, 1.0)
    edge = max(span**0.03, 1.05) if span > 1 else 2.0
    return low / edge, high * edge


def games_axis(axes: Any, low: float, high: float) -> None:
    """Make the horizontal axis one of games from `low` to `high`."""
    from matplotlib.ticker import FixedLocator, NullLocator

    axes.set_xscale("log")
    axes.set_xlim(low, high)
    ticks = [tick for tick in log_ticks(low, high, 6) if tick >= 1]
    axes.xaxis.set_major_locator(FixedLocator(ticks))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xticks(ticks, [short_number(tick) for tick in ticks])
    axes.set_xlabel("games learnt from")
