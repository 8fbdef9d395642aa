"""Figures of a study's settings over their seeds: proofs, games until the first proof, losses, errors and time.

A seed is proved at a recorded point where it is unbeatable in both seats.  A network is proved where it is proved in
all requested seats.  A seed settles at the point from which on it is proved at every point.  All seeds of a setting
have the same points, so a seed without a proof is censored at the last one.  The Kaplan-Meier median is then an order
statistic: the point by which half of the seeds are proved.

Design of the repetition of a study's best setting, beside the default, on fresh seeds.
The best of many settings looks better than it is, because luck on its seeds helped to select it.
"""

import functools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_batch.core.errors import TttBatchError, UsageError, flag
from ttt_batch.core.results import SELF_PLAY, Printable
from ttt_batch.core.text import SEATS, choose, parse_int
from ttt_batch.runs.options import OWN
from ttt_batch.studies.designs.design import Design, Request, make_designs
from ttt_batch.studies.designs.methods import NETWORKS, TALLIES, TALLY, Setting
from ttt_batch.studies.designs.values import MAX_SEEDS, seed_runs
from ttt_batch.studies.statistics import LEAST, Columns, interval_of_median, missing_library, quantiles, read_columns
from ttt_batch.studies.storage.layout import DONE, FAILED, MISSING, STATES
from ttt_batch.studies.storage.reading import StudyFile

METRICS: Mapping[str, str] = {
    "proof": "median games to the first proof",
    "settling": "median games to settling",
    "proved": "share of seeds proved at any point",
    "holds": "share of points after the first proof that hold",
    "loss": "median loss against random",
    "error": "median value error, mean of both players",
    "time": "median milliseconds of learning",
}
"""Metrics by name.  Higher shares are better, and lower values of the others."""

DEFAULT_METRIC = "proof"

_HINTS = {"games": "proof", "first": "proof", "settled": "settling", "share": "proved", "seconds": "time", "ms": "time"}
"""Words that users may type instead of a metric's name, with the metric to suggest."""


def metric_named(given: object) -> str:
    """Return the name in METRICS that `given` stands for.  Raises UsageError."""
    return choose("metric", given, METRICS, hints=_HINTS)


def check_counted(best: object, confirm: object) -> None:
    """Raise UsageError if a study without evaluation is to be ranked by a metric other than time."""
    if best is None and confirm is None:
        return
    metric = metric_named(DEFAULT_METRIC if best is None else best)
    if metric != "time":
        raise UsageError(
            f"{flag(TALLY, True)} judges no table, so there is no {METRICS[metric]} to rank by; give "
            f"{flag('best', 'time')}, or leave out {flag('best')} and {flag('confirm')}"
        )


def _keys(metric: str, columns: Columns) -> tuple[NDArray[np.float64], ...]:
    """Return the sort keys of the settings in ascending order, the main key first."""
    if metric in ("proof", "settling"):
        games, share = columns[metric], columns["proved" if metric == "proof" else "at_end"]
        return games, np.where(np.isfinite(games), 0.0, -share)
    if metric in ("proved", "holds"):
        return (-columns[metric],)
    return (columns["milliseconds" if metric == "time" else metric],)


SHARES = 0.5, 0.05, 0.95
"""Quantiles over the seeds: the median and the two ends of a range."""


Result = dict[str, Any]
"""Figures or results of one setting as plain values, as JSON has them."""


def read_results(study: StudyFile) -> Mapping[int, Result]:
    """Return the results of each setting with learners, by its number.  Empty if the study evaluates its learners.

    all_games, last_games: spreads over the seeds of the shares of games by result (SELF_PLAY), of all games and of
    those since the second to last recorded point.  since: number of games up to that point.  Raises StudyFileError.
    """
    if study.family is not TALLIES:
        return {}
    return {setting: _results(study.games[setting], parts) for setting, parts in _by_setting(study)}


def _by_setting(study: StudyFile) -> Iterator[tuple[int, NDArray[np.int64]]]:
    """Yield each setting's number and int64[n, points, 3]: outcomes up to its last two points (or the only one)."""
    number, parts = -1, list[NDArray[np.int64]]()
    for block in study.blocks(tables=False):  # in the order of settings
        for setting in np.unique(block.settings).tolist():
            if setting != number and parts:
                yield number, np.concatenate(parts)
                parts = []
            number = setting
            parts.append(block.statistics["outcomes"][block.settings == setting][:, -2:])
    if parts:
        yield number, np.concatenate(parts)


def _results(games: NDArray[np.int64], outcomes: NDArray[np.int64]) -> Result:
    """Return the results of a setting.  games: int64[points], 0 after its last point.  outcomes: of `_by_setting`."""
    own = games[games > 0]
    since = int(own[-2]) if own.size > 1 else 0
    before = outcomes[:, 0] if own.size > 1 else 0
    every, last = outcomes[:, -1] / own[-1], (outcomes[:, -1] - before) / (own[-1] - since)
    return {"all_games": _spreads(every), "last_games": {"since": since, **_spreads(last)}}


def _spreads(shares: NDArray[np.float64]) -> dict[str, dict[str, float]]:
    """Return the median and the 5 % and 95 % quantiles of each column of float64[n, 3], by its result."""
    rows = np.stack([*quantiles(shares.T, *SHARES)], axis=1).tolist()
    return {
        name: dict(zip(("median", "low", "high"), row, strict=True)) for name, row in zip(SELF_PLAY, rows, strict=True)
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
    results: Mapping[int, Result]

    @functools.cached_property
    def note(self) -> str:
        """Return a line on what to install if intervals are missing despite enough seeds, or an empty string."""
        return missing_library() if self.states[:, DONE].max() >= LEAST else ""

    def learners(self, settings: Sequence[int] | slice = slice(None)) -> dict[str, int]:
        """Return the number of learners of some settings in each of STATES."""
        counts = self.states[settings].sum(axis=0)
        return {name: int(counts[state]) for name, state in STATES.items()}

    def figures(self, setting: int) -> Result:
        """Return the figures of the setting with this number as plain values; figures that it lacks are None.

        learners: number of learners by state.  points, games: of each learner.
        proved: shares of the seeds that are proved at any recorded point (`ever`), and at the last one (`at_end`).
        first_proof, settling: median number of games, None if fewer than half of the seeds had the event, and its 95 %
        interval as `statistics.interval_of_median` returns it.
        later_points_that_hold: share of proved points among those after the first proof, over all seeds.
        loss_against_random: probability of losing at the last point, mean of both seats; quartiles over the seeds.
        value_error: medians for both players at the last point.
        milliseconds: median of the measured training times up to the last point.
        positions: median number of positions in the table of a growing board, which lacks the figures above.
        seats: proofs of networks in each seat; those above cover all seats to be proved.
        results: of learners whose results alone were counted, as `read_results` returns them.
        """
        value = {
            name: None if np.isnan(column[setting]) else float(column[setting]) for name, column in self.columns.items()
        }
        own = {}
        if self.design.family is NETWORKS:
            own["seats"] = {seat: self._proofs(setting, value, f"_{seat}") for seat in SEATS}
        if setting in self.results:
            own["results"] = self.results[setting]
        return {
            "learners": self.learners([setting]),
            "points": int(self.points[setting]),
            "games": int(self.games[setting, self.points[setting] - 1]),
            **self._proofs(setting, value),
            "settling": self._median("settling", setting),
            "later_points_that_hold": value["holds"],
            "loss_against_random": {
                name: value[column]
                for name, column in (
                    ("median", "loss"),
                    ("lower_quartile", "loss_low"),
                    ("upper_quartile", "loss_high"),
                )
            },
            "value_error": {seat: value[f"error_{seat}"] for seat in SEATS},
            "milliseconds": value["milliseconds"],
            "positions": value["positions"],
            **own,
        }

    def _proofs(self, setting: int, value: Mapping[str, float | None], seat: str = "") -> Result:
        """Return the figures about proofs, for all seats together or for one (`_first`, `_second`)."""
        return {
            "proved": {"ever": value[f"proved{seat}"], "at_end": value[f"at_end{seat}"]},
            "first_proof": self._median(f"proof{seat}", setting),
        }

    def _median(self, event: str, setting: int) -> dict[str, int | None]:
        """Return the median number of games to an event, and its interval."""
        median = self.columns[event][setting]
        ends: tuple[int | None, int | None] = (None, None)
        if not np.isnan(median) and not self.note:
            points = self.events[event][setting]
            points = points[~np.isnan(points)]
            happened = np.isfinite(points)
            times = self.games[setting, np.where(happened, points, self.points[setting] - 1).astype(np.int64)]
            ends = interval_of_median(times, happened)
        return {"games": int(median) if np.isfinite(median) else None, "low": ends[0], "high": ends[1]}

    def ranked(self, best: str | None = None) -> list[int]:
        """Return the numbers of the settings, the best first, equal ones in order, and those without a figure last.

        Settings without a finite median number of games follow those with one, ordered by the share of the seeds that
        are proved or have settled.
        best: a metric (`METRICS`), or None for the order of the study.  Raises UsageError.
        """
        if best is None:
            return list(range(self.points.size))
        keys = [np.where(np.isnan(key), np.inf, key) for key in _keys(metric_named(best), self.columns)]
        return [int(number) for number in np.lexsort(keys[::-1])]

    def is_any_good(self, best: str, number: int) -> bool:
        """Return whether a setting has a figure of a metric, and its share is above 0.  Raises UsageError."""
        metric = metric_named(best)
        first, *more = (float(key[number]) for key in _keys(metric, self.columns))
        if metric in ("proved", "holds"):
            return first < 0
        return bool(np.isfinite(first)) or any(share < 0 for share in more)

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
        return {
            "seeds": seed_runs(self.design.seeds),
            "learners": self.learners(),
            "reasons": dict(self.reasons),
            "best": None if best is None else metric_named(best),
            "note": self.note or None,
            "settings": [self.setting_facts(number) for number in self.ranked(best)],
        }

    def setting_facts(self, number: int) -> dict[str, Any]:
        """Return the number, key, options and figures of one setting as plain values."""
        setting = self.design.settings[number]
        options = {name: value for name, value in setting.written.items() if value != "" or name not in OWN}
        return {"setting": number, "key": setting.key, "options": options, **self.figures(number)}

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


TASK = ("board", "opponent", "seat", "prove_every", "games")
"""Options that define the task and the points of proofs.  All others define the method."""


class Confirmation(NamedTuple):
    """Best setting of a study, and the design of its repetition.

    metric: the metric of the ranking.  settings: number of ranked settings.
    winner: figures of the best setting in the study.
    design: the winner, then the default unless both are the same, on fresh seeds.
    """

    metric: str
    settings: int
    winner: Result
    design: Design


def confirm(summary: Summary, count: Any, best: str | None = None) -> Confirmation:
    """Return the confirmation of a study: its best setting and the default, on the `count` seeds after its largest.

    The default is the winner with `train`'s defaults for every option that the study varies.  It keeps the options
    that the study fixes, and the winner's board, opponent, seat, games and interval of proofs.
    best: a metric (`METRICS`), DEFAULT_METRIC by default.
    Raises UsageError for an invalid metric or count, and TttBatchError if no setting has a usable figure of it.
    """
    seeds = fresh_seeds(count)
    study = summary.design
    metric, number = summary.winner(DEFAULT_METRIC if best is None else best)
    given = {name for grid in study.grids for name in grid.values}
    tally = {TALLY: True} if study.family is TALLIES else {}
    winner = _options(study.settings[number])
    default = {name: winner[name] for name in winner if name in TASK or name in given - study.axes.keys()}
    default.setdefault("learner", [study.family.default_learner])
    first = max(study.seeds) + 1
    requests = [Request(winner | tally), Request(default | tally, place=lambda name: "the default of this study: ")]
    design = make_designs(requests, range(first, first + seeds))
    return Confirmation(metric, len(study.settings), summary.figures(number), design)


def fresh_seeds(count: Any) -> int:
    """Return `count` as the number of seeds of a confirmation.  Raises UsageError."""
    return parse_int("confirm", count, 1, MAX_SEEDS)


def _options(setting: Setting) -> dict[str, list[Any]]:
    """Return a setting's options, each value in a list; leave out an empty seat (no opponent)."""
    values = setting.written | ({} if setting.opponent is None else {"opponent": setting.opponent})
    return {name: [value] for name, value in values.items() if value != ""}
