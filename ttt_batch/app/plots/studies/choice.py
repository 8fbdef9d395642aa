"""Which settings of a study a picture shows, and the words for them."""

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ttt_batch.app.plots.labels import setting_text
from ttt_batch.app.plots.studies.metrics import IN_SEATS, METRICS, PROVED, Metric, SeedSpread, at_end, spread
from ttt_batch.base.choices import choose, either
from ttt_batch.base.console import one_line, shortened
from ttt_batch.base.errors import UsageError, display_name, flag
from ttt_batch.base.files import shown
from ttt_batch.base.quantities import count_text, short_number
from ttt_batch.runs.runfile.declaration import EXACT_COLUMNS
from ttt_batch.studies.designs.family import written
from ttt_batch.studies.designs.networks import NETWORKS
from ttt_batch.studies.designs.opponents import SELF
from ttt_batch.studies.designs.tallies import TALLIES, TALLY
from ttt_batch.studies.designs.values import listed, values_of
from ttt_batch.studies.figures.holding import has_proofs, plays
from ttt_batch.studies.storage.declared import DONE, FAILED
from ttt_batch.studies.storage.reading import StudyFile

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
        """Choose the settings with these values of options.  only: options with values as a study's are given.

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
        """The values of an option that are meant.  Raises UsageError for one that no setting has."""
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
        """The study's file, for messages."""
        return shown(self.study.path)

    @property
    def states(self) -> NDArray[np.uint8]:
        """uint8[chosen settings, seeds]: what is known of their learners."""
        return self.study.state[self.settings]

    def having(self, metric: Metric) -> NDArray[np.bool_]:
        """bool[chosen settings]: which of them have such a number."""
        growing = self.study.array("growing")[self.settings]
        if metric.column in (PROVED, IN_SEATS):
            return has_proofs(self.study)[self.settings]
        if metric.column == "positions":
            return growing & (metric.column in self.study.header.arrays)
        return ~growing if metric.column in EXACT_COLUMNS else np.ones_like(growing)

    def seats_note(self, metric: Metric, settings: Sequence[int]) -> str:
        """Return the note about a metric's seats, empty for none."""
        both = plays(self.study)[settings].all(axis=1)
        if not both.any():
            return ""
        return f"{metric.note} (menace: as first)" if metric.note and not both.all() else metric.note

    def metric(self, given: str | None, default: str) -> Metric:
        """The metric of that name.  default: if none is given and all have it.

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
        """Why the chosen settings have nothing of that name."""
        networks = self.study.family is NETWORKS
        if column == "positions":
            return f"counts no positions: {'it has no tables' if networks else 'its boards are enumerated'}"
        if networks:
            return "makes no proofs" if column in (PROVED, IN_SEATS) else "has no exact results: it is of networks"
        if self.study.family is TALLIES:
            return f"has no exact results: {flag(TALLY, True)} judges no table"
        return "has no exact results, since its boards are too large to enumerate"

    def ends(self, metric: Metric) -> SeedSpread:
        """The spread of the seeds of every setting of the study at the end, float64[settings].

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
        """The chosen settings by their values of some options, in the order of these."""
        names = list(names)
        groups: dict[tuple[Any, ...], list[int]] = {}
        for i in self.settings:
            groups.setdefault(tuple(self.rows[i][name] for name in names), []).append(i)
        return dict(sorted(groups.items(), key=lambda item: [_rank(value) for value in item[0]]))

    def best(self, metric: Metric, groups: Sequence[Sequence[int]], most: int = LINES) -> list[int]:
        """Numbers of the `most` groups of settings with the best median of one setting, in order."""
        if len(groups) <= most:
            return list(range(len(groups)))
        middle = self.ends(metric).middle * (-1 if metric.rising else 1)
        middle = np.where(np.isnan(middle), np.inf, middle)
        return sorted(np.argsort([middle[group].min() for group in groups], kind="stable")[:most].tolist())

    # --- words --------------------------------------------------------------------------------------------------

    def value_text(self, name: str, value: Any) -> str:
        """A value as it stands at an axis that has the option's name."""
        if isinstance(value, float):
            return f"{value:.{DIGITS}g}" if name not in self._close else str(value)
        if name in ("games", "batch") and isinstance(value, int):
            return short_number(value)
        return shortened(one_line(listed([value])), LONGEST)

    @cached_property
    def _close(self) -> list[str]:
        """Options with values that look the same when they are rounded."""
        rounded = {
            name: [f"{value:.{DIGITS}g}" for value in axis if isinstance(value, float)]
            for name, axis in self.axes.items()
        }
        return [name for name, texts in rounded.items() if len(set(texts)) < len(texts)]

    def option_text(self, name: str, value: Any) -> str:
        """An option with its value as a legend names it; empty for what goes without saying."""
        text = self.value_text(name, value)
        if name == "opponent":
            return "self-play" if value == SELF else f"against {text}"
        if name == "games":
            return f"{text} games"
        if name in ("learner", "engine"):
            return text
        return (
            f"{display_name(name)} {text}"
            if isinstance(value, float)
            else shortened(setting_text(name, value), LONGEST)
        )

    def label(self, names: Iterable[str], values: Iterable[Any]) -> str:
        """Values of options as a legend names them; empty for none."""
        return ", ".join(filter(None, map(self.option_text, names, values)))

    def name_of(self, setting: int) -> str:
        """What tells a setting from the others; the title if there are none."""
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
        """What holds for the whole picture: seeds and games, what is not done, options that all settings share."""
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
        """Learners that failed or are missing; empty if there are none."""
        done, failed = (int(np.count_nonzero(self.states == state)) for state in (DONE, FAILED))
        missing = self.states.size - done - failed
        parts = [f"{count:,} {what}" for count, what in ((failed, "failed"), (missing, "missing")) if count]
        return f"{' and '.join(parts)} of {count_text(self.states.size, 'learner')}" if parts else ""


def left_out(drawn: int, of: int, what: str, metric: Metric) -> list[str]:
    """A note about lines that are not drawn.  metric: by which the others were chosen."""
    if drawn == of:
        return []
    return [
        f"only {drawn} of {of:,} {what}, those best by {metric.title} (of equal ones the first): the options metric "
        "and only choose others"
    ]


def is_number(value: Any) -> bool:
    """Whether an axis can have the value at its place."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def _rank(value: Any) -> tuple[bool, float]:
    return (False, float(value)) if is_number(value) else (True, 0.0)


def _few(names: Sequence[str], many: str) -> str:
    return " and ".join(names) if len(names) <= 2 else f"{len(names)} {many}"
