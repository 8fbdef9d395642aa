"""Panels of a study's pictures: the settings shown, their metrics, legend and notes.

A metric is a number of every learner, and a spread sums up the seeds of a setting.  Numbers of the two seats are
averaged.  The seeds of a setting become a median and its quartiles; what is true or false of a seed becomes a share
with its 95 % interval (Wilson, 1927).
"""

import math
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_batch.analysis.matches import wilson
from ttt_batch.app.plots.curves import shares_in_play
from ttt_batch.app.plots.style import COLOURS, FIGURE_WIDTH, make_panels, new_figure, put_legend
from ttt_batch.core.console import one_line, shortened
from ttt_batch.core.errors import UsageError, display_name, flag
from ttt_batch.core.files import shown
from ttt_batch.core.text import RESULTS, choose, count_text, either, short_number
from ttt_batch.runs.options import option_text
from ttt_batch.runs.storage.declaration import EXACT_COLUMNS
from ttt_batch.studies import summary
from ttt_batch.studies.designs.methods import NETWORKS, SELF, TALLIES, TALLY, written
from ttt_batch.studies.designs.values import listed, values_of
from ttt_batch.studies.storage.layout import DONE, count_states
from ttt_batch.studies.storage.reading import StudyFile

LETTER = 0.068
"""Inches that a letter of a tick label or a legend takes, at most on average."""

ROW, GAP, NOTE = 0.175, 0.08, 0.155
"""Inches of a legend's row, between the legend and the notes, and of a line of notes."""

HANDLE = 0.55
"""Inches of a legend's sign with the space around it."""

NOTE_LETTERS, TITLE_LETTERS = 124, 92
MARGIN = 0.08
SLANT = 40
"""Degrees by which labels are turned that have no room side by side."""

BAND, BANDS = 0.2, 0.7
"""Largest opacity of a band, and of all together: eight bands must not hide each other."""


def make_canvas(
    title: str,
    count: int,
    legend: Sequence[tuple[Any, str]],
    notes: Sequence[str],
    *,
    columns: int = 2,
    height: float = 2.7,
    share: bool = False,
) -> tuple[Any, list[Any]]:
    """Return a figure with a title and the foot, and the axes of its `count` empty panels.

    legend: signs with their labels, a line each.  notes: parts of a sentence below it; empty ones are left out.
    columns: most panels side by side.  height: of a row of panels, in inches.
    share: all panels have the same axes.
    """
    columns = min(columns, count)
    rows = -(-count // columns)
    labels = [shortened(label, int((FIGURE_WIDTH - 0.3 - HANDLE) / LETTER)) for _, label in legend]
    widest = HANDLE + LETTER * max(map(len, labels), default=0)
    side = max(1, min(len(labels), int((FIGURE_WIDTH - 2 * MARGIN) / widest)))
    said = "; ".join(filter(None, notes))
    text = textwrap.wrap(f"{said[0].upper()}{said[1:]}.", NOTE_LETTERS, break_long_words=True)
    table = ROW * -(-len(labels) // side) + GAP if labels else 0.0
    foot = 2 * MARGIN + table + NOTE * len(text)
    whole = 0.35 + height * rows + foot
    figure = new_figure(whole, shortened(f"{title[0].upper()}{title[1:]}", TITLE_LETTERS))
    figure.get_layout_engine().set(rect=(0, foot / whole, 1, 1 - foot / whole))
    grid = make_panels(figure, rows, columns, count, sharex=share, sharey=share)
    left, top = MARGIN / FIGURE_WIDTH, (foot - MARGIN) / whole
    if labels:
        put_legend(figure, [sign for sign, _ in legend], labels, ncols=side, bbox_to_anchor=(left, top), borderpad=0)
    below = {"va": "top", "fontsize": 8, "color": "#444444", "linespacing": 1.35}
    figure.text(left, top - table / whole, "\n".join(text), **below).set_in_layout(False)
    return figure, grid[:count]


def keep_places(figure: Any) -> Any:
    """Lay the panels of a finished figure out, once and for all, and return it.

    The last bits of matplotlib's layout differ from time to time, in one figure of twenty, and so would the file.
    """
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    for axes in figure.axes:
        axes.set_position([round(number, 6) for number in axes.get_position().bounds])
    return figure


def band_style(number: int, count: int) -> dict[str, Any]:
    """Return the style of a line's band."""
    return {"color": COLOURS[number % len(COLOURS)], "alpha": min(BAND, BANDS / count), "lw": 0}


def panel_inches(columns: int) -> float:
    """Return the least width of a panel inside its axes, in inches."""
    return FIGURE_WIDTH / columns - 0.95


def readable(places: Sequence[float], widths: Sequence[float]) -> list[int]:
    """Return the numbers of the labels to write, the first among them, so that none touches another.

    places: where their middles are, ascending.  widths: of each, in the same unit.
    """
    found: list[int] = []
    for number, (place, width) in enumerate(zip(places, widths, strict=True)):
        if not found or place - width / 2 > places[found[-1]] + widths[found[-1]] / 2:
            found.append(number)
    return found


def slanted(labels: Sequence[str], inches: float) -> bool:
    """Return whether labels at 0, 1, 2 ... on a horizontal axis of `inches` do not fit side by side."""
    return max(map(len, labels)) * LETTER > inches / len(labels)


def room_below(labels: Sequence[str], inches: float) -> float:
    """Return the inches that such labels take below an axis beyond those of one line."""
    return max(map(len, labels)) * LETTER * math.sin(math.radians(SLANT)) if slanted(labels, inches) else 0.0


def name_places(axis: Any, labels: Sequence[str], inches: float, *, upright: bool = False) -> None:
    """Write labels at 0, 1, 2 ... of a horizontal or vertical axis: as many as have room, slanted if need be.

    inches: the axis's length.  upright: it is the vertical one.
    """
    turned = not upright and slanted(labels, inches)
    width = 0.19 * len(labels) / inches if upright or turned else 0.9
    shown = readable(range(len(labels)), [width] * len(labels))
    axis.set_ticks(shown, [labels[number] for number in shown])
    if turned:
        for text in axis.get_ticklabels():
            text.set(rotation=SLANT, ha="right", rotation_mode="anchor")


TIME, SHARE, PERCENT, NUMBER = "time", "share", "percent", "number"
"""Kinds of metrics: games until something, true or false of a seed (in %), other percentages, other numbers."""

WIN, DRAW, LOSS = (RESULTS.index(name) for name in ("win", "draw", "loss"))
_OF_SEATS = ("value_error", "versus_random", "optimal_share", "best_response")
QUARTILES = 0.5, 0.25, 0.75


class Metric(NamedTuple):
    """Number of every learner.

    title: its name.  unit: for an axis.  kind: see TIME.  rising: more is better.
    column: the statistic that it needs, or IN_ALL or IN_SEATS.
    of: an index on the last axis of that statistic, None for all, or a function of the statistic and the games.
    """

    title: str
    unit: str
    kind: str
    rising: bool
    column: str
    of: int | Callable[[NDArray[Any], NDArray[np.int64]], Any] | None = None

    def read(self, statistics: Mapping[str, NDArray[Any]], games: NDArray[np.int64]) -> Any:
        """Return float64[n, points], the mean of the played seats, or float64[n, 1] if it is of all points together.

        statistics: arrays [n, points, ...].  games: int64[n, points].
        """
        values = statistics[self.column]
        if callable(self.of):
            return self.of(values, games)
        values = values if self.of is None else values[..., self.of]
        scale = 100 if self.kind in (SHARE, PERCENT) else 1e3 if self.column == "seconds" else 1
        return scale * (summary.mean_of_seats(values) if self.column in _OF_SEATS else values)


def _ever(proved: NDArray[Any], games: NDArray[np.int64]) -> Any:
    return 100 * np.max(proved, axis=1, keepdims=True)


def _until(point: Callable[[NDArray[np.bool_]], NDArray[np.float64]]) -> Any:
    """Return a reader of the games at a point of the proofs."""

    def read(proved: NDArray[Any], games: NDArray[np.int64]) -> Any:
        return np.where(np.isnan(proved[:, :1]), np.nan, summary.games_at(games, point(proved == 1))[:, None])

    return read


def _in_play(what: str, result: int) -> Metric:
    """Return the share of a result among the latest half of the games."""

    def read(outcomes: NDArray[Any], games: NDArray[np.int64]) -> Any:
        distinct, which = np.unique(games, axis=0, return_inverse=True)
        found = np.full(games.shape, np.nan)
        for number, points in enumerate(distinct):
            own = which.reshape(-1) == number
            found[own] = shares_in_play({"games": points, "outcomes": outcomes[own]})[..., result]
        return found

    return Metric(f"{what} in play (latest half of the games)", _GAMES, PERCENT, True, "outcomes", read)


_SEEDS, _GAMES, _REACHED = "% of seeds", "% of games", "% of those reachable"

METRICS = {
    "proof": Metric("games to the first proof", "games", TIME, False, summary.IN_ALL, _until(summary.first_proof)),
    "settling": Metric("games to settling", "games", TIME, False, summary.IN_ALL, _until(summary.settled_since)),
    "proved": Metric("seeds proved at any point", _SEEDS, SHARE, True, summary.IN_ALL, _ever),
    "unbeatable": Metric("seeds unbeatable in every seat", _SEEDS, SHARE, True, summary.IN_ALL),
    "first": Metric("seeds unbeatable as first player", _SEEDS, SHARE, True, summary.IN_SEATS, 0),
    "second": Metric("seeds unbeatable as second player", _SEEDS, SHARE, True, summary.IN_SEATS, 1),
    "loss": Metric("losses against random play", _GAMES, PERCENT, False, "versus_random", LOSS),
    "error": Metric("values: distance from the truth", "mean, on its own scale", NUMBER, False, "value_error"),
    "optimal": Metric("positions played optimally", _REACHED, PERCENT, True, "optimal_share"),
    "response": Metric("what the best opponent gets", "its wins - losses", NUMBER, False, "best_response"),
    "draws": Metric("draws in greedy self-play", _GAMES, PERCENT, True, "self_play", DRAW),
    "play": _in_play("draws", DRAW),
    "first-wins": _in_play("first wins", WIN),
    "second-wins": _in_play("second wins", LOSS),
    "time": Metric("time of learning", "milliseconds", NUMBER, False, "seconds"),
    "positions": Metric("positions visited", "positions in the table", NUMBER, True, "positions"),
}
"""Metrics by name.  Those that need no exact results come last."""


class SeedSpread(NamedTuple):
    """Seeds in three numbers, each float64[...]: median and quartiles, or a share and its interval.

    NaN without seeds.
    """

    middle: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]


def _read(
    study: StudyFile, metrics: Sequence[Metric], settings: Sequence[int]
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], list[Any]]]:
    """Yield the numbers of settings and seeds (int64[n]) of learners, and their metrics [n, points], None if lacking.

    settings: those to read.
    """
    for whole in study.blocks(tables=False):
        own = np.isin(whole.settings, settings)
        statistics = {name: column[own] for name, column in whole.statistics.items()}
        block = whole._replace(settings=whole.settings[own], seeds=whole.seeds[own], statistics=statistics)
        statistics = summary.own_statistics(study, block)
        games = study.games[block.settings, : block.kind.points]
        read = [metric.read(statistics, games) if metric.column in statistics else None for metric in metrics]
        yield block.settings, block.seeds, read


def at_end(study: StudyFile, metric: Metric) -> NDArray[np.float64]:
    """Return the metric of every learner at its last point (float64[settings, seeds]); NaN for those without it."""
    values = np.full(study.state.shape, np.nan)
    for settings, seeds, (read,) in _read(study, [metric], range(len(values))):
        if read is not None:
            values[settings, seeds] = read[:, -1]
    return values


def over_games(study: StudyFile, metrics: Sequence[Metric], settings: Sequence[int]) -> dict[int, list[SeedSpread]]:
    """Return for each of `settings` with finished seeds the spread of each metric at its points."""
    parts: dict[int, list[list[Any]]] = {}
    for numbers, _, read in _read(study, metrics, settings):
        for setting in np.unique(numbers).tolist():
            parts.setdefault(setting, []).append([values[numbers == setting] for values in read])
    return {
        setting: [
            spread(np.concatenate(column).T, metric)
            for metric, column in zip(metrics, zip(*pieces, strict=True), strict=True)
        ]
        for setting, pieces in parts.items()
    }


def spread(values: NDArray[np.float64], metric: Metric) -> SeedSpread:
    """Sum up the seeds of each row; quartiles of times are times that occurred, or infinite.

    values: float64[rows, seeds], NaN for none.
    """
    if metric.kind != SHARE:
        return SeedSpread(*summary.quantiles(values, *QUARTILES, occurring=metric.kind == TIME))
    count = np.count_nonzero(~np.isnan(values), axis=1)
    known = np.where(count > 0, count, np.nan)
    hits = np.nansum(values, axis=1) / 100 + 0 * known
    return SeedSpread(*(100 * share for share in (hits / known, *wilson(hits, known))))


LINES = 8
"""Lines of a picture at most: more colours and markers are not told apart."""

LONGEST = 28
"""Characters of a value, such as the name of a file, that a picture shows."""

DIGITS = 4
"""Significant digits of numbers, unless that makes some look the same."""

_ALWAYS = ("engine", "batch", "epsilon", "alpha")
"""Options that a picture names though all settings have the same value, and nobody gave it."""


class Selection:
    """Settings of a study that a picture is about.

    study: the file.  settings: their numbers, in order.  rows: the options of every setting, as `Setting.written`.
    axes: options that differ among the chosen ones, with their values; numbers ascend.
    """

    def __init__(self, study: StudyFile, only: Sequence[tuple[str, Any]] = ()) -> None:
        """Choose the settings that have the values of `only`, which are given as for `study`.

        Raises UsageError for an option or value that the study does not have, and if no learner is done.
        """
        self.study = study
        self._ends: dict[Metric, SeedSpread] = {}
        self._options = study.design.family.options
        self.rows = [setting.written for setting in study.design.settings]
        allowed: dict[str, list[Any]] = {}
        for given, values in only:
            name = choose("option", given, self._options, words={"as": "seat", "lambda": "trace"})
            if name in allowed:
                raise UsageError(f"{flag('only')} has {name} twice; give all of its values together")
            allowed[name] = self._allowed(name, values)
        self.settings = [i for i, row in enumerate(self.rows) if all(row[name] in allowed[name] for name in allowed)]
        if not self.settings:
            raise UsageError(f"no setting of {self.name} has all of these values; leave one out")
        self.axes = {name: values for name in study.design.axes if len(values := self.values(name)) > 1}
        if not (self.states == DONE).any():
            raise UsageError(f"no learner {'of these settings ' if only else ''}in {self.name} is done: {self._left()}")

    def _allowed(self, name: str, given: Any) -> list[Any]:
        """Return the values chosen of an option.  Raises UsageError for one that no setting has."""
        there = list(dict.fromkeys(row[name] for row in self.rows))
        meant = [written(value) for value in values_of(name, given, self._options)]
        if name == "symmetry":
            meant = [{"on": True, "off": False}.get(value, value) for value in meant]
        for value in meant:
            if value not in there:
                raise UsageError(f"no setting of {self.name} has {name} {listed([value])}; choose from {listed(there)}")
        return meant

    def values(self, name: str, settings: Sequence[int] | None = None) -> list[Any]:
        """Return the values of an option among `settings`, or all chosen ones: numbers ascend before all else."""
        among = self.settings if settings is None else settings
        return sorted(dict.fromkeys(self.rows[i][name] for i in among), key=_rank)

    @property
    def name(self) -> str:
        """Return the study's file, for messages."""
        return shown(self.study.path)

    @property
    def states(self) -> NDArray[np.uint8]:
        """Return the states of the learners (uint8[chosen settings, seeds])."""
        return self.study.state[self.settings]

    def having(self, metric: Metric) -> NDArray[np.bool_]:
        """Return which of the settings have such a number (bool[chosen settings])."""
        growing = self.study.array("growing")[self.settings]
        if metric.column in (summary.IN_ALL, summary.IN_SEATS):
            return summary.has_proofs(self.study)[self.settings]
        if metric.column == "positions":
            return growing & (metric.column in self.study.header.arrays)
        return ~growing if metric.column in EXACT_COLUMNS else np.ones_like(growing)

    def seats_note(self, metric: Metric, settings: Sequence[int]) -> str:
        """Return the note about a metric's seats, empty for none."""
        both = summary.plays(self.study)[settings].all(axis=1)
        if metric.column not in _OF_SEATS or not both.any():
            return ""
        return "the two seats are averaged" + ("" if both.all() else " (menace: as first)")

    def metric(self, given: str | None, default: str) -> Metric:
        """Return the metric of that name.  default: the one to take if none is given and all have it.

        Raises UsageError, also for one that no chosen setting has.
        """
        if given is None:
            return METRICS[default if self.having(METRICS[default]).all() else "play"]
        found = METRICS[choose("metric", given, METRICS)]
        if not self.having(found).any():
            others = [name for name, metric in METRICS.items() if self.having(metric).any()]
            raise UsageError(f"{self.name} {self._lacks(found.column)}; choose {either(others)}")
        return found

    def _lacks(self, column: str) -> str:
        """Return the error for a metric that the chosen settings lack."""
        networks = self.study.family is NETWORKS
        if column == "positions":
            return f"counts no positions: {'it has no tables' if networks else 'its boards are enumerated'}"
        if networks and column in (summary.IN_ALL, summary.IN_SEATS):
            return "makes no proofs"
        if networks:
            return "has no exact results: it is of networks"
        if self.study.family is TALLIES:
            return f"has no exact results: {flag(TALLY, True)} judges no table"
        return "has no exact results, since its boards are too large to enumerate"

    def ends(self, metric: Metric) -> SeedSpread:
        """Return the spread of the seeds of every setting of the study at the end, float64[settings].

        Raises UsageError if no chosen learner has such a number.
        """
        if metric not in self._ends:
            self._ends[metric] = spread(at_end(self.study, metric), metric)
        found = self._ends[metric]
        if np.isnan(found.middle[self.settings]).all():
            raise UsageError(f"no learner that is done in {self.name} has {metric.title}; choose another metric")
        return found

    # --- lines --------------------------------------------------------------------------------------------------

    def grouped(self, names: Iterable[str]) -> dict[tuple[Any, ...], list[int]]:
        """Return the chosen settings by their values of some options, in the order of these."""
        names = list(names)
        groups: dict[tuple[Any, ...], list[int]] = {}
        for i in self.settings:
            groups.setdefault(tuple(self.rows[i][name] for name in names), []).append(i)
        return dict(sorted(groups.items(), key=lambda item: [_rank(value) for value in item[0]]))

    def best(self, metric: Metric, groups: Sequence[Sequence[int]], most: int = LINES) -> list[int]:
        """Return the numbers of the `most` groups of settings with the best median of one setting, in order."""
        if len(groups) <= most:
            return list(range(len(groups)))
        middle = self.ends(metric).middle * (-1 if metric.rising else 1)
        middle = np.where(np.isnan(middle), np.inf, middle)
        return sorted(np.argsort([middle[group].min() for group in groups], kind="stable")[:most].tolist())

    # --- words --------------------------------------------------------------------------------------------------

    def value_text(self, name: str, value: Any) -> str:
        """Return a value as written at an axis with the option's name."""
        if isinstance(value, float):
            short = f"{value:.{DIGITS}g}"
            alike = [other for other in self.axes.get(name, ()) if is_number(other) and f"{other:.{DIGITS}g}" == short]
            return short if len(alike) < 2 else str(value)
        if name in ("games", "batch") and isinstance(value, int):
            return short_number(value)
        return shortened(one_line(listed([value])), LONGEST)

    def option_text(self, name: str, value: Any) -> str:
        """Return an option with its value for a legend; empty for a default."""
        text = self.value_text(name, value)
        if name == "opponent":
            return "self-play" if value == SELF else f"against {text}"
        if name == "games":
            return f"{text} games"
        if name in ("learner", "engine"):
            return text
        return (
            f"{display_name(name)} {text}" if isinstance(value, float) else shortened(option_text(name, value), LONGEST)
        )

    def label(self, names: Iterable[str], values: Iterable[Any]) -> str:
        """Return the values of options for a legend; empty for none."""
        return ", ".join(filter(None, map(self.option_text, names, values)))

    def name_of(self, setting: int) -> str:
        """Return the options by which a setting differs from the others; the title if there are no others."""
        return self.label(self.axes, [self.rows[setting][name] for name in self.axes]) or self.title()

    def title(self, settings: Sequence[int] | None = None) -> str:
        """Return learners and boards of the settings that are drawn, as far as a title has room; of all if None.

        A setting without a learner that is done has nothing to draw.
        """
        among = self.settings if settings is None else settings
        drawn = [setting for setting in among if (self.study.state[setting] == DONE).any()]
        learners, boards = self.values("learner", drawn), self.values("board", drawn)
        return f"{_few(learners, 'learners')} on {_few(boards, 'boards')}"

    def facts(self) -> list[str]:
        """Return the facts of the whole picture: seeds, games, missing learners, and options shared by all settings."""
        games = [self.study.games[i, self.study.points[i] - 1] for i in self.settings]
        span = " to ".join(
            short_number(number).replace(" ", "\u00a0") for number in sorted({int(min(games)), int(max(games))})
        )
        points = {int(self.study.points[i]) for i in self.settings}
        recorded = count_text(points.pop(), "recorded point") if len(points) == 1 else "their own recorded points"
        settings, seeds = self.states.shape
        found = [f"{count_text(settings, 'setting')} with {count_text(seeds, 'seed')} each, {span} games, {recorded}"]
        shared = [self.label([name], self.values(name)) for name in self._options if self._is_shared(name)]
        left = self._left()
        return found + ([f"all: {', '.join(filter(None, shared))}"] if any(shared) else []) + ([left] if left else [])

    def _is_shared(self, name: str) -> bool:
        given = name in _ALWAYS or any(name in grid.values for grid in self.study.design.grids)
        return given and name not in ("learner", "board", "games") and len(self.values(name)) == 1

    def _left(self) -> str:
        """Return a note about failed and missing learners; empty without any."""
        parts = [f"{count:,} {name}" for name, count in count_states(self.states).items() if count and name != "done"]
        return f"{' and '.join(parts)} of {count_text(self.states.size, 'learner')}" if parts else ""


def left_out(drawn: int, of: int, what: str, metric: Metric) -> list[str]:
    """Return a note about lines that are not drawn.  metric: by which the others were chosen."""
    if drawn == of:
        return []
    return [
        f"only {drawn} of {of:,} {what}, those best by {metric.title} (of equal ones the first): the options metric "
        "and only choose others"
    ]


def is_number(value: Any) -> bool:
    """Return whether an axis can place the value as a number."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def _rank(value: Any) -> tuple[bool, float]:
    return (False, float(value)) if is_number(value) else (True, 0.0)


def _few(names: Sequence[str], many: str) -> str:
    return " and ".join(names) if len(names) <= 2 else f"{len(names)} {many}"
