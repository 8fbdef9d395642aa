"""Figures of a study's settings over their seeds: proofs, games until the first proof, losses, errors and time.

A seed is proved at a recorded point where it is unbeatable in both seats.  A network is proved where it is proved in
all requested seats.  A seed settles at the point from which on it is proved at every point.

A seed that ends without the event is censored: its event happens later, at an unknown time.  Omitting such seeds would
make every setting look faster than it is.

    left(t) = product over all times s <= t of (1 - happened at s / at risk at s)

`scipy.stats.ecdf` computes the estimate, Greenwood's variance and the log(-log) bands.  The interval of a median starts
where the lower band reaches one half and ends where the upper band does (Brookmeyer and Crowley, 1982).  All seeds of a
setting have the same points, so the Kaplan-Meier median is an order statistic: the point by which half of the seeds are
proved.

The file is read once, in parts.  Memory holds two numbers for each learner and about twenty for each setting.  A
learner with boxes plays only the first seat, so results of its second seat are ignored.
"""

import functools
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_batch.core.errors import TttBatchError, UsageError, flag
from ttt_batch.core.results import SELF_PLAY, Printable
from ttt_batch.core.text import RESULTS, SEATS, choose
from ttt_batch.learners import LEARNERS
from ttt_batch.runs.base import OF_BOTH, OF_SEATS, played
from ttt_batch.runs.network_run import PROVED
from ttt_batch.runs.options import OWN
from ttt_batch.studies.designs.design import Design
from ttt_batch.studies.designs.methods import NETWORKS, TALLIES, TALLY
from ttt_batch.studies.designs.values import seed_runs
from ttt_batch.studies.storage.layout import COLUMNS, DONE, FAILED, MISSING, STATES
from ttt_batch.studies.storage.reading import Block, StudyFile

CONFIDENCE = 0.95

LEAST = 6
"""Least number of seeds for an interval of a median.

The smallest and the largest of five values enclose the median in 93.75 % of all samples, those of six in 96.9 %.
"""


class Survival(NamedTuple):
    """Share of the seeds without the event, over time.

    times: int64[n], distinct and ascending.  left: float64[n], the share after each time.
    low, high: float64[n], the confidence band of `left`.
    """

    times: NDArray[np.int64]
    left: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]


def survival(times: NDArray[np.int64], happened: NDArray[np.bool_]) -> Survival:
    """Return the Kaplan-Meier estimate.

    times: int64[seeds], at least one: the time of the event, or of the end of observation without it.
    happened: bool[seeds], whether the event happened.
    Raises TttBatchError if scipy is missing.
    """
    distinct, ranks = np.unique(times, return_inverse=True)
    counts = (np.bincount(ranks[which], minlength=distinct.size) for which in (happened, ~happened))
    return Survival(distinct, *_estimate(*(tuple(count.tolist()) for count in counts)))


@functools.lru_cache(4096)
def _estimate(happened: tuple[int, ...], censored: tuple[int, ...]) -> tuple[NDArray[np.float64], ...]:
    """Return the share left after each time and its band.  They depend only on the order of the times.

    happened, censored: number of seeds at each time.  Cached, because scipy takes 0.8 ms and many settings are alike.
    """
    stats = _stats()
    ranks = np.arange(len(happened))
    sample = stats.CensoredData(uncensored=np.repeat(ranks, happened), right=np.repeat(ranks, censored))
    found = stats.ecdf(sample).sf
    left = np.asarray(found.probabilities, np.float64)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # the band is undefined at shares of 0 and 1
        bands = found.confidence_interval(CONFIDENCE, method="log-log")
    known = (left > 0) & (left < 1)
    whole = (left, *(np.where(known, band.probabilities, left) for band in (bands.low, bands.high)))
    for array in whole:
        array.flags.writeable = False
    return whole


def interval_of_median(times: NDArray[np.int64], happened: NDArray[np.bool_]) -> tuple[int | None, int | None]:
    """Return the ends of the confidence interval of the median time.

    times, happened: as for `survival`.
    If the upper end lies beyond the last time, it is None.  If the lower end does, it is that last time.  Both ends
    are None for fewer than LEAST seeds.
    Raises TttBatchError if scipy is missing.
    """
    if times.size < LEAST:
        return None, None
    curve = survival(times, happened)
    ends = [curve.times[band <= 0.5] for band in (curve.low, curve.high)]
    return int(ends[0][0] if ends[0].size else curve.times[-1]), int(ends[1][0]) if ends[1].size else None


def missing_library() -> str:
    """Return a line with the command that installs scipy, empty if it is installed."""
    try:
        _stats()
    except TttBatchError as error:
        return str(error)
    return ""


def _stats() -> Any:
    try:
        from scipy import stats
    except ImportError as error:
        raise TttBatchError(
            f"confidence intervals need scipy ({error}); install it with: pip install 'ttt-batch[study]'"
        ) from None
    return stats


def quantiles(values: NDArray[np.float64], *shares: float, occurring: bool = False) -> Iterator[NDArray[np.float64]]:
    """Yield for each share the quantile of every row, float64[rows], ignoring NaN.  A row of only NaN gives NaN.

    values: float64[rows, seeds].
    occurring: return one of the values (NumPy's `inverted_cdf`), possibly infinite, instead of interpolating between
    two (`linear`).  If events that never happen have infinite times and all seeds have the same last point, this
    median equals the Kaplan-Meier median.
    """
    rows = np.sort(values, axis=1)  # NaN last
    count = np.count_nonzero(~np.isnan(rows), axis=1)
    last = np.maximum(count - 1, 0)
    for share in shares:
        place = np.ceil(share * count) - 1 if occurring else share * last
        low = place.astype(np.int64)
        one, other = (np.take_along_axis(rows, np.clip(at, 0, last)[:, None], axis=1)[:, 0] for at in (low, low + 1))
        with np.errstate(over="ignore", invalid="ignore"):  # a damaged file may hold infinite numbers
            between = one + (other - one) * (place - low)
        yield one if occurring else between


def first_proof(holds: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return float64[n]: the number of each learner's first point that holds, infinite without such a point.

    holds: bool[n, points], whether the learner is unbeatable in both seats at a point.
    """
    return np.where(holds.any(axis=1), holds.argmax(axis=1), np.inf)


def settled_since(holds: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return float64[n]: the first point from which on all hold, infinite without one.  holds: as for `first_proof`."""
    after = holds.shape[1] - (~holds[:, ::-1]).argmax(axis=1)
    return np.where(holds.all(axis=1), 0.0, np.where(holds[:, -1], after, np.inf))


def games_at(games: NDArray[np.int64], points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return float64[n]: the games at each row's point.  Infinite and NaN points stay unchanged.

    games: int64[n, points].  points: float64[n], numbers of points.
    """
    known = np.isfinite(points)
    return np.where(known, games[np.arange(points.size), np.where(known, points, 0).astype(np.int64)], points)


IN_SEATS, IN_ALL = "proved_seats", "proved"
"""Statistics that follow from others (`own_statistics`)."""


def own_statistics(study: StudyFile, block: Block) -> dict[str, NDArray[Any]]:
    """Return a block's statistics with NaN for seats that are not played, and for self-play unless both seats are.

    Add for learners with verdicts:
    IN_SEATS: float64[n, points, seats], 1 where a learner is proved in a seat, 0 where it is not, NaN for seats without
    a requested proof.
    IN_ALL: float64[n, points], 1 if all seats with a requested proof are proved, 0 if not, NaN without such
    seats.
    """
    found, own = dict(block.statistics), plays(study)[block.settings]
    found |= {name: played(name, found[name], own, np.nan) for name in (*OF_SEATS, OF_BOTH) if name in found}
    if "unbeatable" in found:
        found[IN_SEATS] = found["unbeatable"]
    elif "proof" in found:
        asked = _asked(study)[block.settings][:, None]
        found[IN_SEATS] = np.where(asked, np.where(found["proof"] == PROVED, 1.0, 0.0), np.nan)
    if IN_SEATS in found:
        found[IN_ALL] = np.fmin.reduce(found[IN_SEATS], axis=2)
    return found


def mean_of_seats(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return float64[...]: the mean over the played seats, NaN without any value.

    values: float64[..., seats], NaN for seats that are not played.
    """
    first, second = values[..., 0], values[..., 1]
    return np.where(np.isnan(second), first, (first + second) / 2)


def has_proofs(study: StudyFile) -> NDArray[np.bool_]:
    """Return bool[settings]: whether the learners of a setting have verdicts."""
    found = _asked(study).any(axis=1) if "proof" in study.header.arrays else ~study.array("growing")
    return np.asarray(found, np.bool_)


def plays(study: StudyFile) -> NDArray[np.bool_]:
    """Return bool[settings, seats]: the seats that learners play.  Learners with boxes do not play the second one."""
    names = study.array("learner")
    known = {name: LEARNERS[name].seats if name in LEARNERS else SEATS for name in np.unique(names).tolist()}
    return np.array([[seat in known[name] for seat in SEATS] for name in names.tolist()])


def _asked(study: StudyFile) -> NDArray[np.bool_]:
    """Return bool[settings, seats]: the seats in which networks are to be proved, all False without proofs."""
    seat, every = study.array(COLUMNS["seat"]), study.array("prove_every")
    asked = np.stack([(seat == name) | (seat == "both") for name in SEATS], axis=1)
    return np.asarray(asked & (every > 0)[:, None])


_LEARNERS = 1 << 17
"""Number of learners in a window, unless one setting has more."""

Columns = dict[str, NDArray[np.float64]]
"""Figures by their path in `Summary.figures`, float64[settings]; NaN where a setting lacks the figure.

The games of an event are infinite if fewer than half of the seeds got there.
`error`, which only ranks settings, is the median of the mean error of both players.
"""

_OTHERS = ("later", "holding", "loss", "error", "milliseconds", "positions", *(f"value_error.{seat}" for seat in SEATS))
"""Numbers of a learner besides its events."""


def _groups(study: StudyFile) -> list[str]:
    """Return the beginnings of the paths of figures of proofs: empty for all seats, and of networks for each seat."""
    return ["", *(f"seats.{seat}." for seat in SEATS)] if study.family is NETWORKS else [""]


def read_figures(study: StudyFile) -> tuple[Columns, dict[str, NDArray[np.float32]], dict[int, "Result"]]:
    """Return the columns of all settings, the point numbers at which events of learners happened, and counted results.

    The events are `first_proof` and `settling`, and for networks those of each seat.  Each is float32[settings, seeds]:
    infinite if the event never happened, NaN for learners without verdicts.
    The results are those of each setting with learners, by its number; empty if the study evaluates its learners.
    Raises StudyFileError.
    """
    groups, (settings, seeds) = _groups(study), study.state.shape
    names = [f"{group}{event}" for group in groups for event in ("first_proof", "settling")]
    events = {name: np.full((settings, seeds), np.nan, np.float32) for name in names}
    columns, results = Columns(), dict[int, Result]()
    step = max(1, _LEARNERS // seeds)
    for begin in range(0, settings, step):
        end = min(begin + step, settings)
        numbers = {name: np.full((end - begin, seeds), np.nan) for name in (*names, *_OTHERS)}
        counted: dict[int, list[NDArray[np.int64]]] = {}
        for block in study.blocks(begin, end, tables=False):
            for name, values in _numbers(study, block).items():
                numbers[name][block.settings - begin, block.seeds] = values
            for setting in np.unique(block.settings).tolist() if study.family is TALLIES else ():
                outcomes = block.statistics["outcomes"][block.settings == setting]
                counted.setdefault(setting, []).append(outcomes[:, -2:])
        for name, event in events.items():
            event[begin:end] = numbers[name]
        for path, column in _figures(numbers, groups).items():
            columns.setdefault(path, np.empty(settings))[begin:end] = column
        results |= {
            setting: _results(study.games[setting], np.concatenate(parts)) for setting, parts in counted.items()
        }
    for path in columns:
        if path.endswith(".games"):
            columns[path] = games_at(study.games, columns[path])
    return columns, events, results


def _numbers(study: StudyFile, block: Block) -> dict[str, NDArray[Any]]:
    """Return the available numbers of a block's n learners, each [n].

    Events are numbers of points.  later: how many points follow the first proof.  holding: how many of them hold.
    """
    last, own = {name: column[:, -1] for name, column in block.statistics.items()}, own_statistics(study, block)
    found = {"milliseconds": 1e3 * last["seconds"]}
    if "positions" in last:
        found["positions"] = last["positions"]
    if IN_SEATS in own:
        of_seats = np.moveaxis(own[IN_SEATS], 2, 0)
        for group, proved in zip(_groups(study), [own[IN_ALL], *of_seats], strict=False):
            holds, known = proved == 1, ~np.isnan(proved[:, 0])
            found[f"{group}first_proof"] = np.where(known, first_proof(holds), np.nan)
            found[f"{group}settling"] = np.where(known, settled_since(holds), np.nan)
        ever, holds = np.isfinite(found["first_proof"]), own[IN_ALL] == 1
        found["later"] = np.where(ever, holds.shape[1] - 1 - found["first_proof"], 0)
        found["holding"] = np.where(ever, holds.sum(axis=1) - 1, 0)
    if "versus_random" in last:
        found["loss"] = mean_of_seats(own["versus_random"][:, -1, :, RESULTS.index("loss")])
        found["error"] = last["value_error"].mean(axis=1)
        found |= {f"value_error.{seat}": last["value_error"][:, i] for i, seat in enumerate(SEATS)}
    return found


def _figures(numbers: Mapping[str, NDArray[np.float64]], groups: Sequence[str]) -> Columns:
    """Return the columns of some settings, with medians of times as numbers of points.

    numbers: by name, float64[settings, seeds].  groups: as `_groups` returns them.
    """
    found = _proofs(numbers, "")
    (found["settling.games"],) = quantiles(numbers["settling"], 0.5, occurring=True)
    found["later_points_that_hold"] = _ratio(np.nansum(numbers["holding"], axis=1), np.nansum(numbers["later"], axis=1))
    shares = {"median": 0.5, "lower_quartile": 0.25, "upper_quartile": 0.75}
    for name, figure in zip(shares, quantiles(numbers["loss"], *shares.values()), strict=True):
        found[f"loss_against_random.{name}"] = figure
    for name in (*(f"value_error.{seat}" for seat in SEATS), "milliseconds", "positions", "error"):
        (found[name],) = quantiles(numbers[name], 0.5)
    for group in groups[1:]:
        found |= _proofs(numbers, group)
    return found


def _proofs(numbers: Mapping[str, NDArray[np.float64]], group: str) -> Columns:
    """Return the columns about proofs in all seats, or in one."""
    events = [numbers[f"{group}{event}"] for event in ("first_proof", "settling")]
    known = np.count_nonzero(~np.isnan(events[0]), axis=1)
    ever, at_end = (_ratio(np.count_nonzero(np.isfinite(event), axis=1), known) for event in events)
    (games,) = quantiles(events[0], 0.5, occurring=True)
    return {f"{group}proved.ever": ever, f"{group}proved.at_end": at_end, f"{group}first_proof.games": games}


def _ratio(some: NDArray[Any], of: NDArray[Any]) -> NDArray[np.float64]:
    """Return the shares, NaN where `of` is 0."""
    return np.where(of > 0, some / np.maximum(of, 1), np.nan)


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


_COLUMNS = {
    "proof": "first_proof.games",
    "settling": "settling.games",
    "proved": "proved.ever",
    "holds": "later_points_that_hold",
    "loss": "loss_against_random.median",
    "error": "error",
    "time": "milliseconds",
}


def _keys(metric: str, columns: Columns) -> tuple[NDArray[np.float64], ...]:
    """Return the sort keys of the settings in ascending order, the main key first."""
    figure = columns[_COLUMNS[metric]]
    if metric in ("proof", "settling"):
        share = columns["proved.ever" if metric == "proof" else "proved.at_end"]
        return figure, np.where(np.isfinite(figure), 0.0, -share)
    return (-figure if metric in ("proved", "holds") else figure,)


SHARES = 0.5, 0.05, 0.95
"""Quantiles over the seeds: the median and the two ends of a range."""

Result = dict[str, Any]
"""Figures or results of one setting as plain values, as JSON has them."""


def _results(games: NDArray[np.int64], outcomes: NDArray[np.int64]) -> Result:
    """Return the results of a setting with learners.

    all_games, last_games: spreads over the seeds of the shares of games by result (SELF_PLAY), of all games and of
    those since the second to last recorded point.  since: number of games up to that point.
    games: int64[points], 0 after its last point.
    outcomes: int64[n, points, 3], up to its last two points (or the only one).
    """
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
    columns, events, results: from `read_figures`.
    """

    rows = "settings", "setting"

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
        interval as `interval_of_median` returns it.
        later_points_that_hold: share of proved points among those after the first proof, over all seeds.
        loss_against_random: probability of losing at the last point, mean of both seats; quartiles over the seeds.
        value_error: medians for both players at the last point.
        milliseconds: median of the measured training times up to the last point.
        positions: median number of positions in the table of a growing board, which lacks the figures above.
        seats: proofs of networks in each seat; those above cover all seats to be proved.
        results: of learners whose results alone were counted, as `_results` returns them.
        """
        found: Result = {
            "learners": self.learners([setting]),
            "points": int(self.points[setting]),
            "games": int(self.games[setting, self.points[setting] - 1]),
        }
        for path, column in self.columns.items():
            *groups, name = path.split(".")
            place, number = found, float(column[setting])
            for group in groups:
                place = place.setdefault(group, {})
            if name == "games":
                place |= self._median(".".join(groups), setting, number)
            elif path != "error":
                place[name] = None if np.isnan(number) else number
        if setting in self.results:
            found["results"] = self.results[setting]
        return found

    def _median(self, event: str, setting: int, median: float) -> dict[str, int | None]:
        """Return the median number of games to an event, and its interval."""
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
        *read_figures(study),
    )
