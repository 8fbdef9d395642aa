"""Design of a study: grids of options, the settings that they make, and the seeds.

Settings and seeds are counted before they are made, so a design beyond the limits is refused at once.

A setting is a configuration without its seed.  A grid contains every combination of its options' values.  With
`one-at-a-time` it combines each value with the first values of all other options.  Combinations must pass the checks of
`train`.
"""

import functools
import itertools
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from ttt_batch.core.errors import RunFileError, TttBatchError, UsageError, flag
from ttt_batch.core.text import MAX_VALUES, PATTERN_LEARNERS, SWITCH_WORDS, Option, choose, count_text, unknown_name
from ttt_batch.learners import any_learner, learner_named
from ttt_batch.runs.config import DEFAULTS, own_option_values
from ttt_batch.runs.options import OWN
from ttt_batch.studies.designs.methods import NETWORKS, TABLES, TALLIES, TALLY, Method, Setting
from ttt_batch.studies.designs.values import MAX_SEEDS, listed, seed_runs, seeds_of, values_of
from ttt_batch.training.plan import check_options, network_options

FULL, ONE_AT_A_TIME = SWEEPS = ("grid", "one-at-a-time")
_SWEEP_WORDS = {"full": FULL, "fullgrid": FULL, "all": FULL}


def sweep_named(given: object) -> str:
    """Return the name in SWEEPS that `given` stands for.  Raises UsageError."""
    return choose("sweep", given, SWEEPS, words=_SWEEP_WORDS)


@contextmanager
def placed(place: str | Callable[[str], str]) -> Iterator[None]:
    """Prepend `place`, or what it returns for the message, to the message of an error raised in the block."""
    try:
        yield
    except TttBatchError as error:
        where = place if isinstance(place, str) else place(str(error))
        if not where:
            raise
        raise type(error)(f"{where}{error}") from None


@dataclass(frozen=True)
class Grid:
    """Values of the given options, and their combination (of SWEEPS).

    family: family of the learners.  values: by option, the value of the base setting first.
    """

    family: Method
    values: Mapping[str, tuple[Any, ...]]
    sweep: str = FULL

    def combinations(self) -> Iterator[tuple[Any, ...]]:
        """Yield the value of every option of the family in order, None for a default."""
        lists = [self.values.get(name, (None,)) for name in self.family.options]
        if self.sweep == FULL:
            yield from itertools.product(*lists)
            return
        base = tuple(values[0] for values in lists)
        yield base
        for i, values in enumerate(lists):
            for value in values[1:]:
                yield *base[:i], value, *base[i + 1 :]

    def settings(self) -> Iterator[Setting]:
        """Yield a setting for every combination, without merging equal ones.  Raises UsageError for an invalid one."""
        family, known = self.family, dict[tuple[Any, ...], Setting]()
        for combination in self.combinations():
            values = zip(family.options, combination, strict=True)
            given = {name: value for name, value in values if value is not None}
            numbers = {name: given.pop(name) for name in family.numbers if name in given}
            first = tuple(given.items())
            with placed(functools.partial(self._combined, given)):
                if (base := known.get(first)) is None:
                    base = known[first] = family.base(given)
            with placed(functools.partial(self._combined, given | numbers)):
                setting = family.numbered(base, numbers)
            yield setting

    def _combined(self, given: Mapping[str, Any], message: str) -> str:
        """Return a message prefix with values of a combination: of options with several, which may be incompatible.

        A learner and a board that the message names itself are left out.
        """
        free = set(self.family.numbers) - set(self.family.checked)
        free |= {name for name in ("learner", "board") if listed([given.get(name)]) in re.split(r"[^\w-]+", message)}
        names = [name for name in given if name not in free and len(self.values[name]) > 1]
        several = ", ".join(f"{name.rstrip('_')} {listed([given[name]])}" for name in names)
        return f"{several}: " if several else ""


OPTION_NAMES = tuple(dict.fromkeys(name for family in (TABLES, NETWORKS, TALLIES) for name in family.options))
"""Options of all families."""

_LEARNER = {"learner": Option(read=any_learner)}


def family_for(learners: Any, *, tally: bool = False) -> Method:
    """Return the family of one or several learners.

    learners: the given values of the option, None for the default.
    tally: count results without evaluating tables.
    Raises UsageError for an unknown learner, for learners of both tables and networks, and for networks with `tally`.
    """
    names = () if learners is None else values_of("learner", learners, _LEARNER)
    networks = [name for name in names if name in PATTERN_LEARNERS]
    tables = [name for name in names if name not in networks]
    if networks and tables:
        raise UsageError(
            f"learner {listed(names)}: a study holds learners of tables or of networks, whose results differ; choose "
            f"{listed(tables)}, or {listed(networks)}"
        )
    if networks and tally:
        raise UsageError(f"learner {listed(networks)} is proved, not tallied; leave {flag(TALLY, True)} out")
    return NETWORKS if networks else TALLIES if tally else TABLES


MAX_SETTINGS, MAX_LEARNERS = MAX_VALUES, MAX_SEEDS

DEFAULT_SEEDS = 100


class Request(NamedTuple):
    """Request for one grid.  options: values by name.  place: returns a message prefix that locates an option."""

    options: Mapping[str, Any]
    sweep: str = FULL
    place: Callable[[str], str] = lambda name: ""


@dataclass(frozen=True)
class Design:
    """The learners of a study: every setting with every seed.

    settings: distinct, in order.  seeds: distinct, in order.  grids: sources of the settings.
    """

    settings: tuple[Setting, ...]
    seeds: tuple[int, ...]
    grids: tuple[Grid, ...]

    @property
    def family(self) -> Method:
        """Return the family of all learners."""
        return self.settings[0].family

    @property
    def learners(self) -> int:
        """Return the number of learners."""
        return len(self.settings) * len(self.seeds)

    @functools.cached_property
    def axes(self) -> dict[str, tuple[Any, ...]]:
        """Return the given options that differ among the settings, with their `Setting.written` values, in order.

        Settings differ in these.  Default values of other options follow from them and are not included.
        """
        given = [name for name in self.family.options if any(name in grid.values for grid in self.grids)]
        rows = [setting.written for setting in self.settings]
        values = {name: tuple(dict.fromkeys(row[name] for row in rows)) for name in given}
        return {name: several for name, several in values.items() if len(several) > 1}

    @functools.cached_property
    def shared(self) -> dict[str, Any]:
        """Return the options with the same value in all settings, with their `Setting.written` values."""
        rows = [setting.written for setting in self.settings]
        return {
            name: value for name, value in rows[0].items() if value != "" and all(row[name] == value for row in rows)
        }

    def extended(
        self, *, name: str = "the study", seeds: Any = None, sweep: str | None = None, **options: Any
    ) -> "Design":
        """Return this design extended by the given values and seeds, which must include its own, in any order.

        Existing settings and seeds keep their places, and new ones follow.  name: name of the study in messages.
        Raises UsageError with the option's name if a value would be left out, and as `make_design` does.
        """
        family, given = self.family, _named(options)
        if TALLY in given and _tallies(given) != (family is TALLIES):
            has = "only counts results" if family is TALLIES else "evaluates its learners"
            raise UsageError(f"{name} {has}, which is fixed; leave {flag(TALLY, True)} out, or make another study")
        new, grids = _values(family, given), []
        for grid in self.grids:
            united = {key: _united(name, key, grid.values.get(key, ()), values) for key, values in new.items()}
            grids.append(Grid(family, {**grid.values, **united}, sweep_named(grid.sweep if sweep is None else sweep)))
        return self.extended_to(_made(grids, self.seeds if seeds is None else seeds_of(seeds)), name=name)

    def extended_to(self, wider: "Design", *, name: str = "the study") -> "Design":
        """Return the design `wider` with the settings and seeds of this design first.

        name: name of the study in messages.  Raises UsageError if `wider` lacks a setting or seed of this design.
        """
        seeds = _united(name, "seeds", self.seeds, wider.seeds, seed_runs)
        new = {setting: setting for setting in wider.settings}
        if lost := [setting for setting in self.settings if setting not in new]:
            raise _left_out(name, self.settings, lost, wider.settings)
        kept = [new.pop(setting) for setting in self.settings]
        return replace(wider, settings=(*kept, *new.values()), seeds=seeds)

    def in_order(self, keys: Sequence[str]) -> "Design":
        """Return this design with its settings in the order of `keys` from a study's file.

        Raises RunFileError unless the keys are those of its settings.
        """
        settings = {setting.key: setting for setting in self.settings}
        if len(keys) != len(settings) or set(keys) != settings.keys():
            raise RunFileError("the study's settings differ from those of its description; was it changed?")
        return replace(self, settings=tuple(settings[key] for key in keys))


def make_design(options: Mapping[str, Any], seeds: Any = None, sweep: str = FULL) -> Design:
    """Return the design with all values of `options` (as `values` reads them; None for a default) and all `seeds`.

    seeds: the number of seeds from 0 on, or the seeds, such as `5,7` or `100..199`; None for DEFAULT_SEEDS.
    sweep: `grid`, or `one-at-a-time`.
    Raises UsageError for an unknown option or value, a combination that `train` would refuse, or too many learners.
    Raises RunFileError for an opponent that cannot be read.
    """
    return make_designs([Request(_named(options), sweep_named(sweep))], seeds)


def make_designs(requests: Sequence[Request], seeds: Any = None, place: str = "") -> Design:
    """Return the design with the settings of several grids, with equal ones merged.

    The names of the options and sweeps must be exact.  place: place of the seeds, as the start of a message.
    Raises as `make_design` does.
    """
    with placed(place):  # before the values are read, among which are files of opponents
        wanted = seeds_of(DEFAULT_SEEDS if seeds is None else seeds)
    grids: list[Grid] = []
    for request in requests:
        grids.append(_grid(request))
        if grids[-1].family is not grids[0].family:
            raise UsageError(
                f"{request.place('learner')}this grid has learners of {grids[-1].family.name}, the first one those of "
                f"{grids[0].family.name}, and their results differ; a study holds one kind: make two studies"
            )
        _count(grids)  # before the values of a thousand grids are read
    return _made(grids, wanted, [request.place("") for request in requests])


def _grid(request: Request) -> Grid:
    """Return the grid that is asked for, with its values in the order of the family.  Raises as `make_design` does."""
    with placed(request.place(TALLY)):
        tally = _tallies(request.options)
    with placed(request.place("learner")):
        family = family_for(request.options.get("learner"), tally=tally)
    values = _values(family, request.options, request.place)
    for name in [name for name in values if name in OWN and family is not NETWORKS]:
        with placed(request.place(name)):  # the check of a setting knows no line
            for learner in values.get("learner", (DEFAULTS["learner"],)):
                own_option_values(learner_named(learner), {name: values[name][0]})
    return Grid(family, {name: values[name] for name in family.options if name in values}, request.sweep)


def _values(
    family: Method, options: Mapping[str, Any], place: Callable[[str], str] = lambda name: ""
) -> dict[str, tuple[Any, ...]]:
    """Return the values of the given options.  place: as in `Request`.  Raises UsageError, and RunFileError."""
    given, found = {name: value for name, value in options.items() if name != TALLY}, {}
    named = network_options(given) if family is NETWORKS else given
    for key, (name, value) in zip(given, named.items(), strict=True):
        with placed(place(key)):
            if name not in family.options:
                check_options([name], networks=family is NETWORKS)
            found[name] = tuple(values_of(name, value, family.options))
    return found


def _made(grids: Sequence[Grid], seeds: Sequence[int], places: Sequence[str] = ()) -> Design:
    """Return the design of grids, with equal settings merged.  places: of the grids, as the start of messages.

    Raises UsageError, before any setting is made for more settings or learners than a study may have.
    """
    count, settings = _count(grids), dict[Setting, None]()
    if count * len(seeds) > MAX_LEARNERS:
        raise UsageError(
            f"{count:,} settings with {len(seeds):,} seeds are {count * len(seeds):,} learners; a study has at most "
            f"{MAX_LEARNERS:,}: give fewer values or seeds"
        )
    for grid, place in zip(grids, places or [""] * len(grids), strict=True):
        with placed(place):
            settings.update(dict.fromkeys(grid.settings()))
    return Design(tuple(settings), tuple(seeds), tuple(grids))


def _count(grids: Sequence[Grid]) -> int:
    """Return the number of settings, of which some may be equal.  Raises UsageError for more than a study may have."""
    count = 0
    for grid in grids:
        counts = [len(values) for values in grid.values.values()]
        count += math.prod(counts) if grid.sweep == FULL else 1 + sum(counts) - len(counts)
    if count > MAX_SETTINGS:
        number = f"{count:,}" if count < 10**15 else f"{count:.2g}" if count < 10**300 else "countless"
        raise UsageError(f"{number} settings are too many; a study has at most {MAX_SETTINGS:,}: give fewer values")
    return count


def _named(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that are not None.  Raises UsageError for an unknown one."""
    names = (*OPTION_NAMES, TALLY)
    for name in options:
        if name not in names:
            raise unknown_name("option", name, names)
    return {name: options[name] for name in names if options.get(name) is not None}


def _tallies(options: Mapping[str, Any]) -> bool:
    """Return whether to count results without evaluating tables.  Raises UsageError."""
    given = options.get(TALLY, False)
    return given if isinstance(given, bool) else choose(TALLY, given, ("on", "off"), words=SWITCH_WORDS) == "on"


def _united(
    study: str, name: str, old: tuple[Any, ...], new: tuple[Any, ...], shown: Callable[[Any], Sequence[Any]] = list
) -> tuple[Any, ...]:
    """Return all values of `new`, those of `old` first.  Raises UsageError if `new` lacks one of `old`."""
    rest = {value: value for value in new}
    if any(value not in rest for value in old):
        raise _loses(study, name, shown(old), shown(new))
    return *(rest.pop(value) for value in old), *rest.values()


def _left_out(study: str, settings: Sequence[Setting], lost: Sequence[Setting], wider: Sequence[Setting]) -> UsageError:
    """Return the error for settings that a wider design lacks.  It names an option whose values are missing, if any."""
    for name in settings[0].family.options:
        old = dict.fromkeys(setting.written[name] for setting in lost)
        new = dict.fromkeys(setting.written[name] for setting in wider)
        if not old.keys() <= new.keys():
            every = dict.fromkeys(setting.written[name] for setting in settings)
            return _loses(study, name, list(every), list(new))
    several = "; ".join(f"{name} {listed([value])}" for name, value in lost[0].written.items() if value != "")
    return UsageError(
        f"{study} studies {count_text(len(lost), 'setting')} that would be left out, among them {several}; keep them"
    )


def _loses(study: str, name: str, old: Sequence[Any], new: Sequence[Any]) -> UsageError:
    return UsageError(
        f"{study} studies {name} {listed(old)}; {listed(new)} alone would leave some out: give those, too"
    )
