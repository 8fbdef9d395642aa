"""Figures of a study's settings over their seeds: proofs, games until the first proof, losses, errors and time.

A seed is proved at a recorded point where it is unbeatable in both seats.  A network is proved where it is proved in
all requested seats.  A seed settles at the point from which on it is proved at every point.  All seeds of a setting
have the same points, so a seed without a proof is censored at the last one.  The Kaplan-Meier median is then an order
statistic: the point by which half of the seeds are proved.
"""

import functools
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_batch.base.choices import SEATS
from ttt_batch.base.errors import TttBatchError
from ttt_batch.base.printable import Printable
from ttt_batch.runs.own_options import READ
from ttt_batch.studies.designs.design import Design
from ttt_batch.studies.designs.networks import NETWORKS
from ttt_batch.studies.designs.values import seed_runs
from ttt_batch.studies.figures.columns import Columns, read_columns
from ttt_batch.studies.figures.ranking import METRICS, is_any_good, metric_named, order_by
from ttt_batch.studies.figures.results import Results, read_results
from ttt_batch.studies.figures.survival import LEAST, interval_of_median, missing_library
from ttt_batch.studies.storage.declared import DONE, FAILED, MISSING
from ttt_batch.studies.storage.reading import StudyFile


class Median(NamedTuple):
    """A median number of games with its 95 % interval.

    games: None if fewer than half of the seeds had the event.  low, high: as `survival.interval_of_median` returns.
    """

    games: int | None
    low: int | None
    high: int | None


class SeatFigures(NamedTuple):
    """Figures of networks in one seat: `proved`, `at_end` and `proof` as in Figures."""

    proved: float | None
    at_end: float | None
    proof: Median

    def to_dict(self) -> dict[str, Any]:
        """Return plain values with stable keys."""
        return {"proved": {"ever": self.proved, "at_end": self.at_end}, "first_proof": self.proof._asdict()}


class Figures(NamedTuple):
    """Figures of a setting.  Figures that the setting lacks are None.

    setting: its number.  done, failed, missing: numbers of learners.
    points: number of recorded points of each learner.  games: number of games of each learner.
    proved, at_end: shares of the seeds that are proved at any recorded point, and at the last one.
    proof, settling: games to the first proof, and to settling.
    holds: share of the recorded points after the first proof, over all seeds, that are proved, too.
    loss: probability of losing to random play at the last point, mean of both seats: lower quartile, median and upper
    quartile over the seeds.
    value_error: medians for the first and the second player at the last point.
    milliseconds: median of the measured training times up to the last point.
    positions: median number of positions in the table of a growing board, which lacks figures about proofs and results.
    results: for learners of which only results were counted.  Figures about proofs and values are then None.
    seats: figures of networks for each seat, None for tables.  The figures above cover all seats to be proved.
    """

    setting: int
    done: int
    failed: int
    missing: int
    points: int
    games: int
    proved: float | None
    at_end: float | None
    proof: Median
    settling: Median
    holds: float | None
    loss: tuple[float | None, float | None, float | None]
    value_error: tuple[float | None, float | None]
    milliseconds: float | None
    positions: float | None
    seats: tuple[SeatFigures, ...] | None = None
    results: Results | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain values with stable keys."""
        low, median, high = self.loss
        own = [] if self.seats is None else [one.to_dict() for one in self.seats]
        seats = {"seats": dict(zip(SEATS, own, strict=True))} if own else {}
        return {
            "learners": {"done": self.done, "failed": self.failed, "missing": self.missing},
            "points": self.points,
            "games": self.games,
            "proved": {"ever": self.proved, "at_end": self.at_end},
            "first_proof": self.proof._asdict(),
            "settling": self.settling._asdict(),
            "later_points_that_hold": self.holds,
            "loss_against_random": {"median": median, "lower_quartile": low, "upper_quartile": high},
            "value_error": dict(zip(SEATS, self.value_error, strict=True)),
            "milliseconds": self.milliseconds,
            "positions": self.positions,
            **seats,
            **({} if self.results is None else {"results": self.results.to_dict()}),
        }


@dataclass(frozen=True, repr=False)
class Summary(Printable):
    """The figures of all settings of a study.

    design: its settings and seeds.  reasons: number of failed learners by reason.
    games: int64[settings, points], games at the points.  points: int64[settings], number of points.
    states: int64[settings, 3], numbers of learners that are MISSING, DONE and FAILED.
    columns, events: from `read_columns`.  results: from `read_results`.
    """

    design: Design
    reasons: Mapping[str, int]
    games: NDArray[np.int64]
    points: NDArray[np.int64]
    states: NDArray[np.int64]
    columns: Columns
    events: Mapping[str, NDArray[np.float32]]
    results: Mapping[int, Results]

    @functools.cached_property
    def note(self) -> str:
        """Return a line on what to install if intervals are missing despite enough seeds, or an empty string."""
        return missing_library() if self.states[:, DONE].max() >= LEAST else ""

    def figures(self, setting: int) -> Figures:
        """Return the figures of the setting with this number."""
        value = {name: _known(column[setting]) for name, column in self.columns.items()}
        states = self.states[setting].tolist()
        return Figures(
            setting=setting,
            done=states[DONE],
            failed=states[FAILED],
            missing=states[MISSING],
            points=int(self.points[setting]),
            games=int(self.games[setting, self.points[setting] - 1]),
            proved=value["proved"],
            at_end=value["at_end"],
            proof=self._median("proof", setting),
            settling=self._median("settling", setting),
            holds=value["holds"],
            loss=(value["loss_low"], value["loss"], value["loss_high"]),
            value_error=(value["error_first"], value["error_second"]),
            milliseconds=value["milliseconds"],
            positions=value["positions"],
            seats=tuple(self._seat(seat, setting) for seat in SEATS) if self.design.family is NETWORKS else None,
            results=self.results.get(setting),
        )

    def _seat(self, seat: str, setting: int) -> SeatFigures:
        proved, at_end = (_known(self.columns[f"{name}_{seat}"][setting]) for name in ("proved", "at_end"))
        return SeatFigures(proved, at_end, self._median(f"proof_{seat}", setting))

    def _median(self, event: str, setting: int) -> Median:
        median = self.columns[event][setting]
        if np.isnan(median):
            return Median(None, None, None)
        games = int(median) if np.isfinite(median) else None
        if self.note:
            return Median(games, None, None)
        points = self.events[event][setting]
        points = points[~np.isnan(points)]
        happened = np.isfinite(points)
        times = self.games[setting, np.where(happened, points, self.points[setting] - 1).astype(np.int64)]
        return Median(games, *interval_of_median(times, happened))

    def ranked(self, best: str | None = None) -> list[int]:
        """Return the numbers of the settings, the best first and equal ones in order.

        best: a metric (`ranking.METRICS`), or None for the order of the study.  Raises UsageError.
        """
        return list(range(self.points.size)) if best is None else order_by(metric_named(best), self.columns)

    def is_any_good(self, best: str, number: int) -> bool:
        """Return whether a setting has a figure of a metric, and its share is above 0.  Raises UsageError."""
        return is_any_good(metric_named(best), self.columns, number)

    def winner(self, best: str) -> tuple[str, int]:
        """Return the metric's full name and the number of the best setting.

        Raises UsageError, and TttBatchError if no setting has a usable figure of the metric.
        """
        metric, number = metric_named(best), self.ranked(best)[0]
        if not self.is_any_good(metric, number):
            raise TttBatchError(
                f"no setting is the best by {METRICS[metric]}: every figure is missing or 0; choose another metric"
            )
        return metric, number

    def to_dict(self, best: str | None = None) -> dict[str, Any]:
        """Return what `study --json` prints.  best: as for `ranked`.  Raises UsageError."""
        states = self.states.sum(axis=0).tolist()
        return {
            "seeds": seed_runs(self.design.seeds),
            "learners": {"done": states[DONE], "failed": states[FAILED], "missing": states[MISSING]},
            "reasons": dict(self.reasons),
            "best": None if best is None else metric_named(best),
            "note": self.note or None,
            "settings": [self.setting_facts(number) for number in self.ranked(best)],
        }

    def setting_facts(self, number: int) -> dict[str, Any]:
        """Return the number, key, options and figures of one setting as plain values."""
        setting = self.design.settings[number]
        options = {name: value for name, value in setting.written.items() if value != "" or name not in READ}
        return {"setting": number, "key": setting.key, "options": options, **self.figures(number).to_dict()}

    def records(self) -> tuple[list[dict[str, Any]], str]:
        """Return a row for each setting."""
        return self.to_dict()["settings"], "setting"


def summarise(study: StudyFile) -> Summary:
    """Return the figures of a study's learners that are done.  Raises StudyFileError."""
    states = [np.count_nonzero(study.state == state, axis=1) for state in (MISSING, DONE, FAILED)]
    reasons = Counter(reason for _, _, reason in study.failures())
    return Summary(
        study.design,
        dict(reasons.most_common()),
        study.games,
        study.points,
        np.stack(states, axis=1),
        *read_columns(study),
        read_results(study),
    )


def _known(number: np.float64) -> float | None:
    return None if np.isnan(number) else float(number)
