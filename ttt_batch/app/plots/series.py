"""The recorded points of runs as curves: data, nothing drawn.

Everything comes straight from the columns of `run.statistics`.  Shares in play are those of the latest half of the
games: the sum since the first game hides what changed, and from one point to the next there may be a single game.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_batch.base.choices import RESULTS
from ttt_batch.base.errors import UsageError
from ttt_batch.runs.loading import AnyRun
from ttt_batch.runs.patterns.run import PROVED, PatternRun
from ttt_batch.runs.runfile.declaration import EXACT_COLUMNS

PLAYED = ("X wins", "draw", "O wins")


class Line(NamedTuple):
    """A curve.  run: its number.  seat: 0 or 1, or -1 if it is of both.  what: `win` and so on, or empty.

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
    """The recorded points without one before the first game, which a logarithmic axis does not have."""
    learnt = statistics["games"] >= 1
    return {name: column[learnt] for name, column in statistics.items()}


def shares_in_play(statistics: Mapping[str, NDArray[Any]]) -> NDArray[np.float64]:
    """float64[..., T, 3]: first wins, draws, second wins in % of the games since the last point at or before half as
    many.

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
    """The curves of `runs` as data: what is recorded of every one of them.

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
    """The panels of proofs; none if nothing was tried."""
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
    """The median, seat by seat, of runs that were recorded at the same games; none if they were not."""
    found = []
    for seat in sorted({line.seat for line in panel.lines}):
        lines = [line for line in panel.lines if line.run in numbers and line.seat == seat]
        if lines and all(np.array_equal(line.games, lines[0].games) for line in lines):
            found.append(lines[0]._replace(value=np.median([line.value for line in lines], axis=0)))
    return found
