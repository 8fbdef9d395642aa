"""Runs of tables: configuration, tables and recorded points, with evaluation and storage."""

import platform
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from ttt_batch.core import VERSION
from ttt_batch.core.resources import processor_name
from ttt_batch.core.text import count_text
from ttt_batch.runs.base import StoredRun
from ttt_batch.runs.config import Config
from ttt_batch.runs.evaluation import AnyEvaluation
from ttt_batch.runs.growing_table import GrowingTable, positions_in
from ttt_batch.runs.state import NO_CODE, NO_OUTCOME, KeptPoints, State
from ttt_batch.runs.storage.declaration import RunData


@dataclass(repr=False, eq=False)
class Run(AnyEvaluation, StoredRun):
    """Result of training a table, in memory or read from a file; equal runs, other fields: see `StoredRun`.

    tables: the learner's NamedTuple of arrays.
    visits: float64, updates so far of every entry of the table; empty unless the step size depends on visits.
    background: float64[codes, cells], the whole table of an imported file, with rows that cannot occur; or None.
    grown: the positions that play has reached, on a board too large to enumerate.
    batch_start: the state before the unfinished last batch; None if the last batch is complete.
    points: the tables at recorded points, if they are kept; not compared.
    """

    config: Config
    tables: Any
    games: int
    statistics: dict[str, NDArray[Any]]
    visits: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    background: NDArray[np.float64] | None = None
    grown: GrowingTable | None = None
    batch_start: State | None = None
    points: KeptPoints | None = None

    def verdict(self) -> str:
        """Return in words whether the run can be beaten at its last recorded point; on a growing board its positions.

        Empty if the last point was not recorded at the last game.
        """
        if self.games not in self.statistics["games"][-1:]:
            return ""
        if self.grown is not None:
            return count_text(int(self.statistics["positions"][-1]), "position")
        words = ["unbeatable" if unbeatable else "can be beaten" for unbeatable in self.statistics["unbeatable"][-1]]
        if len(self.seats) == len(set(words)) == 2:
            return f"{words[0]} as first, {words[1]} as second"
        return f"{words[0]} in both seats" if len(self.seats) == 2 else f"{words[0]} as {self.seats[0]}"

    @property
    def holds(self) -> NDArray[np.bool_] | None:
        """Return at which recorded points the agent is unbeatable in each of its seats; None on a growing board."""
        found = self.statistics.get("unbeatable")
        return None if found is None else found[:, : len(self.seats)]

    @property
    def from_games(self) -> bool:
        """Return whether the run learnt from given games."""
        return self.config.engine == "given"

    @property
    def symmetric(self) -> bool:
        """Return whether the agent plays alike in all images of a position."""
        return self.config.symmetry

    @property
    def made_elsewhere(self) -> bool:
        """Return whether the table was imported and has learnt from no game since then."""
        return not self.statistics["outcomes"][-1:].any()

    @property
    def positions(self) -> tuple[NDArray[np.int64], NDArray[np.int8]]:
        """Return codes and outcomes of the rows of a growing board; empty on other boards, which define their rows."""
        return (NO_CODE, NO_OUTCOME) if self.grown is None else (self.graph.code, self.graph.outcome)

    def learnt_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the tables, the positions of a growing board, and the visits."""
        return {**self.tables._asdict(), **dict(zip(("code", "outcome"), self.positions, strict=True))} | {
            "visits": self.visits
        }

    def data(self) -> RunData:
        """Return the contents of the run file."""
        tables, fields = self.tables._asdict(), dict(self.learner.fields)
        if self.visits.size:
            tables["visits"] = self.visits.reshape(self.tables[0].shape)
            fields["visits"] = (fields[self.tables._fields[0]][0], "how often the entry was updated")
        if self.background is not None:
            tables["background"] = self.background
            axes = ",".join(str(n) for n in self.background.shape)
            fields["background"] = (axes, "the imported table by code and cell, with rows that cannot occur")
        data = self._data(tables, fields)
        data.states |= {"code": self.graph.code, "outcome": self.graph.outcome}
        if self.learner.by_moves:
            data.states |= {"first_edge": self.graph.first_edge.astype(np.int32), "cell": self.graph.cell}
        if self.batch_start is not None:
            before = self.batch_start
            data.progress |= {"batch_games": np.array(before.games, np.int64), "batch_outcomes": before.outcomes}
            if self.grown is not None:
                data.progress["batch_positions"] = np.array(positions_in(before), np.int64)
                before = self.grown.padded(before)
            data.resume |= before.tables._asdict()
            if self.visits.size:
                data.resume["visits"] = before.visits.reshape(self.tables[0].shape)
        if self.points is not None:
            data.progress["point_games"] = self.points.games
            data.points |= self.points.tables._asdict()
        return data


TIME = "%Y-%m-%dT%H:%M:%SZ"

Provenance = dict[str, str | int | float]
"""Times, duration, command and versions of a run; they do not affect results."""


class Recorder:
    """Recorder of the points of a run.  seats: 1 if the agent plays only first, 2 if it plays both seats."""

    def __init__(self, seats: int = 2) -> None:
        self._seats = seats
        self._points: list[dict[str, Any]] = []

    def restore(self, statistics: Mapping[str, NDArray[Any]]) -> None:
        """Restore the points of an earlier part of the run from its `statistics`."""
        for i in range(statistics["games"].size):
            self._points.append({name: np.array(column[i]) for name, column in statistics.items()})

    def record(self, games: int, seconds: float, outcomes: NDArray[np.int64], judged: dict[str, Any]) -> None:
        """Add a point after `games` games.  judged: the other columns, see `Trainer.judge`."""
        point = {"games": np.int64(games), "seconds": np.float64(seconds), "outcomes": outcomes}
        self._points.append(point | judged)

    def drop_last(self) -> None:
        """Drop the last point, which was provisional."""
        del self._points[-1]

    @property
    def last(self) -> int:
        """Return the number of games at the last recorded point; 0 if there is none."""
        return int(self._points[-1]["games"]) if self._points else 0

    @property
    def since(self) -> int | None:
        """Return the games at the first point from which the agent stayed unbeatable in its seats, or None."""
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


def record_once(run: Run) -> dict[str, NDArray[Any]]:
    """Return statistics of a run played elsewhere: one recorded point of its current tables."""
    grown, recorder = run.grown, Recorder()
    judged = run.judgement()._asdict() if grown is None else {"positions": np.array(grown.positions, np.int64)}
    recorder.record(run.games, 0.0, np.zeros(3, np.int64), judged)
    return recorder.statistics()


class Clock:
    """Clock of a training, which also returns the training's provenance.

    past: the provenance of the training before its interruption, whose seconds count.
    """

    def __init__(self, past: Mapping[str, Any] = {}) -> None:
        self._created = self.now()
        self._started = time.perf_counter() - float(past.get("seconds", 0.0))

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
