"""Going on with a run: its state, its new end, and its configuration.

Batches begin and points are recorded at games that follow from the configuration alone.  So a run that ended within a
batch goes on from that batch's beginning, and a point recorded only because the run ended there is dropped: the result
is that of a run without the interruption.
"""

import hashlib
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ttt_batch.base.errors import RunFileError, UsageError, command_with, option
from ttt_batch.base.quantities import Number, whole
from ttt_batch.base.wording import counted
from ttt_batch.runs.batches import MAX_GAMES, recorded_points
from ttt_batch.runs.config import Config, make_config
from ttt_batch.runs.run import Run
from ttt_batch.runs.state import State


def table_digest(tables: Any) -> str:
    """The first 16 hex digits of the SHA-256 of a run's tables: what stands for them in a configuration."""
    digest = hashlib.sha256()
    for array in tables:
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()[:16]


def resumable_state(run: Run, name: str) -> State:
    """The state from which `run` (called `name`) goes on.

    Raises UsageError if its games were not played here, and RunFileError if its parts contradict each other.
    """
    if run.config.engine == "given":
        raise UsageError(
            f"{name} learnt from given games or was imported; go on with {command_with('learn-from', 'run')}, or begin "
            f"with {command_with('train', 'start')}"
        )
    if run.batch_start is not None:
        return run.batch_start
    points, outcomes = run.statistics["games"], run.statistics["outcomes"]
    if not points.size or points[-1] != run.games or outcomes[-1].sum() != run.games:
        raise RunFileError(
            f"{name} cannot go on: its last recorded point is not that of its {counted(run.games, 'game')}"
        )
    return State(run.games, run.tables, run.visits, outcomes[-1], *run.positions)


def goal_of(run: Run, name: str, more: Number | None, until: Number | None) -> int:
    """Games that a resumed run goes on to.  Raises UsageError if it has them already."""
    if more is not None and until is not None:
        raise UsageError(f"{option('more')} and {option('until')} mean the same; leave one out")
    if more is not None:
        return whole("until", run.games + whole("more", more, 1, MAX_GAMES), 1, MAX_GAMES)
    goal = run.goal if until is None else whole("until", until, 1, MAX_GAMES)
    if goal <= run.games:
        asked = counted(run.games, "game") + (", all it was asked for" if until is None else "")
        raise UsageError(f"{name} has {asked}; go on with {option('more', 'N')}, or {option('until')} a larger number")
    return goal


def differing_settings(before: Config, given: dict[str, Any], *, horizon: int) -> tuple[Config, str]:
    """The configuration `before` with the settings `given`, and the differences in words.

    horizon: games over which a schedule runs that `before` did not have.  Raises UsageError for impossible values.
    """
    values = {field.name: getattr(before, field.name) for field in fields(before)}
    config = make_config(**{**values, "horizon": before.horizon or horizon, **given})
    changes = [
        f"{name} {'none' if old == '' else old}, not {'none' if new == '' else new}"
        for (name, old), new in zip(before.written.items(), config.written.values(), strict=True)
        if new != old
    ]
    return config, "; ".join(changes)


def kept_points(run: Run, games: int) -> dict[str, NDArray[Any]]:
    """The recorded points of `run` up to `games` but for a last one that is there only because the run ended."""
    points = run.statistics["games"]
    kept = points <= games
    if kept.any():
        last = int(points[kept][-1])
        due = next(point for point in recorded_points(run.config.batches) if point >= last)
        # What a fork has of its parent stays: those points follow from the parent's configuration.
        inherited = int(run.config.start.partition("@")[2] or 0)
        kept[points == last] = due == last or last <= inherited
    return {name: column[kept] for name, column in run.statistics.items()}
