"""Records of a run: points, with the verdict on its tables during training, and provenance."""

import platform
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from ttt_batch.base.processors import processor_name
from ttt_batch.base.version import VERSION
from ttt_batch.evaluation.judgement import Judgement
from ttt_batch.runs.growing_table import GrowingTable
from ttt_batch.runs.run import Run

TIME = "%Y-%m-%dT%H:%M:%SZ"

Provenance = dict[str, str | int | float]
"""Times, duration, command and versions of a run; they do not affect results."""


class Size(NamedTuple):
    """Record of a growing board, whose tables cannot be judged exactly: its number of positions so far."""

    positions: Any


Judge = Callable[[Any], Judgement | Size]
"""Function from tables to their record, whose fields are columns of the run file."""


def counting_judge(grown: GrowingTable) -> Judge:
    """Return a judge that counts the positions of a growing board."""
    return lambda _: Size(np.array(grown.positions, np.int64))


def unbeatable_since(games: NDArray[np.int64], unbeatable: NDArray[np.bool_]) -> int | None:
    """Return the games at the first point from which all of `unbeatable` (bool[T, P]) is True, or None."""
    failing = np.flatnonzero(~unbeatable.all(axis=1))
    first = int(failing[-1]) + 1 if failing.size else 0
    return int(games[first]) if first < games.size else None


class Recorder:
    """Recorder of the points of a run, which judges the tables at each point."""

    def __init__(self, judge: Judge, seats: int = 2) -> None:
        """Start without points.  seats: 1 if the agent plays only first, 2 if it plays both seats."""
        self._judge, self._seats = judge, seats
        self._points: list[dict[str, Any]] = []

    def restore(self, statistics: Mapping[str, NDArray[Any]]) -> None:
        """Restore the points of an earlier part of the run from its `statistics`."""
        for i in range(statistics["games"].size):
            self._points.append({name: np.array(column[i]) for name, column in statistics.items()})

    def record(self, tables: Any, games: int, seconds: float, outcomes: NDArray[np.int64]) -> None:
        """Judge `tables` after `games` games, and add the point."""
        point = {"games": np.int64(games), "seconds": np.float64(seconds), "outcomes": outcomes}
        self._points.append(point | self._judge(tables)._asdict())

    def statistics_now(
        self, tables: Any, games: int, seconds: float, outcomes: NDArray[np.int64]
    ) -> dict[str, NDArray[Any]]:
        """Return the recorded points, with the current state as a provisional last point if it is not recorded yet."""
        if games == self.last:
            return self.statistics()
        self.record(tables, games, seconds, outcomes)
        try:
            return self.statistics()
        finally:
            self._points.pop()

    @property
    def last(self) -> int:
        """Return the games at the last point; 0 before the first."""
        return int(self._points[-1]["games"]) if self._points else 0

    @property
    def since(self) -> int | None:
        """Return the games at the first point from which the agent was unbeatable in its seats, or None."""
        since = None
        for point in reversed(self._points):
            if "unbeatable" not in point or not point["unbeatable"][: self._seats].all():
                break
            since = int(point["games"])
        return since

    def statistics(self) -> dict[str, NDArray[Any]]:
        """Return the points as columns, named as in the run file; without points only games, seconds and outcomes."""
        if not self._points:
            return {"games": np.zeros(0, np.int64), "seconds": np.zeros(0), "outcomes": np.zeros((0, 3), np.int64)}
        return {name: np.stack([point[name] for point in self._points]) for name in self._points[0]}


def record_once(run: Run, seconds: float = 0.0, outcomes: NDArray[np.int64] | None = None) -> dict[str, NDArray[Any]]:
    """Return statistics of a run played elsewhere: one recorded point of its current tables."""
    recorder = Recorder(lambda _: verdict_of(run))
    recorder.record(run.tables, run.games, seconds, np.zeros(3, np.int64) if outcomes is None else outcomes)
    return recorder.statistics()


def verdict_of(run: Run) -> Judgement | Size:
    """Return the record of a run's current tables."""
    return run.judgement() if run.grown is None else Size(np.array(run.grown.positions, np.int64))


class Clock:
    """Clock of a training, which returns its provenance.

    before: seconds that the training had taken before its interruption.
    """

    def __init__(self, before: float = 0.0) -> None:
        self._created = self.now()
        self._started = time.perf_counter() - before

    @property
    def seconds(self) -> float:
        """Return the seconds since the start."""
        return time.perf_counter() - self._started

    @staticmethod
    def now() -> str:
        """Return the current date and time in UTC."""
        return time.strftime(TIME, time.gmtime())

    def provenance(self, command: str) -> Provenance:
        """Return start, end, duration, command, processor, and the versions of the software."""
        return {
            "created": self._created,
            "ended": self.now(),
            "command": command,
            "seconds": self.seconds,
            "processor": processor_name(),
            "ttt_batch_version": VERSION,
            "python_version": platform.python_version(),
            "numpy_version": np.__version__,
            "numba_version": numba.__version__,
        }


def resumed_provenance(past: Provenance, now: Provenance, noted: str) -> Provenance:
    """Return the provenance of a resumed run, which keeps its first `created` and `command`.

    past: empty for a new run.  noted: the key for the command that resumes it.
    """
    if not past:
        return now
    return past | now | {key: past[key] for key in ("created", "command") if key in past} | {noted: now["command"]}
