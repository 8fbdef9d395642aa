"""What is recorded of a run: points, which are its tables judged during training, and where it comes from."""

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
"""When, for how long, and with what a run was made; it changes no result."""


class Size(NamedTuple):
    """What is recorded of a growing board, whose tables cannot be judged exactly: its positions so far."""

    positions: Any


Judge = Callable[[Any], Judgement | Size]
"""Given the tables, what is recorded of them; its fields are columns of the run file."""


def counting_judge(grown: GrowingTable) -> Judge:
    """Return what counts the positions of a growing board."""
    return lambda _: Size(np.array(grown.positions, np.int64))


def unbeatable_since(games: NDArray[np.int64], unbeatable: NDArray[np.bool_]) -> int | None:
    """Games at the first point from which on all of `unbeatable` (bool[T, P]) holds, or None."""
    failing = np.flatnonzero(~unbeatable.all(axis=1))
    first = int(failing[-1]) + 1 if failing.size else 0
    return int(games[first]) if first < games.size else None


class Recorder:
    """The recorded points of a run, judged as they come."""

    def __init__(self, judge: Judge, seats: int = 2) -> None:
        """seats: how many of them the agent plays, from the first on."""
        self._judge, self._seats = judge, seats
        self._points: list[dict[str, Any]] = []

    def restore(self, statistics: Mapping[str, NDArray[Any]]) -> None:
        """Take over the points of an earlier part of the run, as `statistics` gave them."""
        for i in range(statistics["games"].size):
            self._points.append({name: np.array(column[i]) for name, column in statistics.items()})

    def record(self, tables: Any, games: int, seconds: float, outcomes: NDArray[np.int64]) -> None:
        """Judge `tables` after `games` games."""
        point = {"games": np.int64(games), "seconds": np.float64(seconds), "outcomes": outcomes}
        self._points.append(point | self._judge(tables)._asdict())

    def statistics_now(
        self, tables: Any, games: int, seconds: float, outcomes: NDArray[np.int64]
    ) -> dict[str, NDArray[Any]]:
        """The recorded points, plus the current state as a provisional last point unless it is recorded already."""
        if games == self.last:
            return self.statistics()
        self.record(tables, games, seconds, outcomes)
        try:
            return self.statistics()
        finally:
            self._points.pop()

    @property
    def last(self) -> int:
        """Games at the last point; 0 before the first."""
        return int(self._points[-1]["games"]) if self._points else 0

    @property
    def since(self) -> int | None:
        """Games at the first point since which every one was unbeatable in its seats, or None."""
        since = None
        for point in reversed(self._points):
            if "unbeatable" not in point or not point["unbeatable"][: self._seats].all():
                break
            since = int(point["games"])
        return since

    def statistics(self) -> dict[str, NDArray[Any]]:
        """The points as columns, by the names of the run file; only games, seconds and outcomes while there is none."""
        if not self._points:
            return {"games": np.zeros(0, np.int64), "seconds": np.zeros(0), "outcomes": np.zeros((0, 3), np.int64)}
        return {name: np.stack([point[name] for point in self._points]) for name in self._points[0]}


def record_once(run: Run, seconds: float = 0.0, outcomes: NDArray[np.int64] | None = None) -> dict[str, NDArray[Any]]:
    """The statistics of a run that was not played here: one recorded point, its tables as they are."""
    recorder = Recorder(lambda _: verdict_of(run))
    recorder.record(run.tables, run.games, seconds, np.zeros(3, np.int64) if outcomes is None else outcomes)
    return recorder.statistics()


def verdict_of(run: Run) -> Judgement | Size:
    """What is recorded of a run as it is."""
    return run.judgement() if run.grown is None else Size(np.array(run.grown.positions, np.int64))


class Clock:
    """When a run was made, how long it took, and with what.

    before: seconds that it had taken when it was interrupted.
    """

    def __init__(self, before: float = 0.0) -> None:
        self._created = self.now()
        self._started = time.perf_counter() - before

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self._started

    @staticmethod
    def now() -> str:
        """The time of day in UTC."""
        return time.strftime(TIME, time.gmtime())

    def provenance(self, command: str) -> Provenance:
        """Start, end, duration, command, processor, and the versions of what the result depends on."""
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


def continued(past: Provenance, now: Provenance, noted: str) -> Provenance:
    """The provenance of a run that goes on: it was created when, and by the command with which, it began.

    past: empty if it begins now.  noted: the key for the command by which it goes on.
    """
    if not past:
        return now
    return past | now | {key: past[key] for key in ("created", "command") if key in past} | {noted: now["command"]}
