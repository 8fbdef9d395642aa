"""Recorded points: the tables judged during training, as columns of the run file."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_batch.evaluation.judgement import Judgement, exact_judge
from ttt_batch.runs.growing_table import GrowingTable
from ttt_batch.runs.run import Run


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

    def __init__(self, judge: Judge) -> None:
        self._judge = judge
        self._points: list[tuple[int, float, NDArray[np.int64], dict[str, Any]]] = []

    def restore(self, statistics: Mapping[str, NDArray[Any]]) -> None:
        """Take over the points of an earlier part of the run, as `statistics` gave them."""
        columns = {name: column for name, column in statistics.items() if name not in ("games", "seconds", "outcomes")}
        for i in range(statistics["games"].size):
            verdict = {name: np.array(column[i]) for name, column in columns.items()}
            point = statistics["games"][i], statistics["seconds"][i], statistics["outcomes"][i]
            self._points.append((int(point[0]), float(point[1]), point[2].copy(), verdict))

    def record(self, tables: Any, games: int, seconds: float, outcomes: NDArray[np.int64]) -> None:
        """Judge `tables` after `games` games."""
        self._points.append((games, seconds, outcomes, self._judge(tables)._asdict()))

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
        return self._points[-1][0] if self._points else 0

    @property
    def since(self) -> int | None:
        """Games at the first point since which every one was unbeatable in both seats, or None."""
        if not self._points or "unbeatable" not in self._points[-1][3]:
            return None
        return unbeatable_since(
            np.array([point[0] for point in self._points]), np.stack([point[3]["unbeatable"] for point in self._points])
        )

    def statistics(self) -> dict[str, NDArray[Any]]:
        """The points as columns, by the names of the run file; only games, seconds and outcomes while there is none."""
        columns: dict[str, NDArray[Any]] = {
            "games": np.array([point[0] for point in self._points], np.int64),
            "seconds": np.array([point[1] for point in self._points], np.float64),
            "outcomes": np.array([point[2] for point in self._points], np.int64).reshape(-1, 3),
        }
        if self._points:
            for name in self._points[0][3]:
                columns[name] = np.stack([point[3][name] for point in self._points])
        return columns


def record_once(run: Run, seconds: float = 0.0, outcomes: NDArray[np.int64] | None = None) -> dict[str, NDArray[Any]]:
    """The statistics of a run that was not played here: one recorded point, its tables as they are."""
    recorder = Recorder(judge_of(run))
    recorder.record(run.tables, run.games, seconds, np.zeros(3, np.int64) if outcomes is None else outcomes)
    return recorder.statistics()


def judge_of(run: Run) -> Judge:
    """Return what judges tables of the board and learner of `run`."""
    if run.grown is not None:
        return counting_judge(run.grown)
    return exact_judge(run.graph, run.learner, run.worth, run.solution)
