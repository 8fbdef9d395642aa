"""What a study learns: its settings, and the seeds that all of them have.

Everything is counted before it is made, so a study of any size that is too large costs no time.
"""

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from ttt_batch.base.choices import SWITCH_WORDS, choose, unknown_name
from ttt_batch.base.errors import RunFileError, UsageError, option
from ttt_batch.base.quantities import counted
from ttt_batch.studies.designs.families import OPTION_NAMES, family_for
from ttt_batch.studies.designs.family import MAX_VALUES, Family, Setting
from ttt_batch.studies.designs.grid import FULL, Grid, count_settings, placed, sweep_named
from ttt_batch.studies.designs.tallies import TALLIES, TALLY
from ttt_batch.studies.designs.values import (
    MAX_SEEDS,
    Pieces,
    listed,
    pieces_of,
    seed_pieces,
    seed_runs,
    values_of,
)

MAX_SETTINGS, MAX_LEARNERS = MAX_VALUES, MAX_SEEDS

DEFAULT_SEEDS = 100


class Request(NamedTuple):
    """One grid as a person asked for it.  options: by name, as given.  place: where an option stands, for messages."""

    options: Mapping[str, Any]
    sweep: str = FULL
    place: Callable[[str], str] = lambda name: ""


@dataclass(frozen=True)
class Design:
    """The learners of a study: every setting with every seed.

    settings: all different, in order.  seeds: all different, in order.  grids: what made the settings.
    """

    settings: tuple[Setting, ...]
    seeds: tuple[int, ...]
    grids: tuple[Grid, ...]

    @property
    def family(self) -> Family:
        """That of all learners."""
        return self.settings[0].family

    @property
    def learners(self) -> int:
        """How many there are."""
        return len(self.settings) * len(self.seeds)

    @functools.cached_property
    def axes(self) -> dict[str, tuple[Any, ...]]:
        """Options given that differ among the settings, with their values as `Setting.written` has them, in order.

        Settings differ in these.  Options left to their defaults follow from them, and are none.
        """
        given = [name for name in self.family.options if any(name in grid.values for grid in self.grids)]
        rows = [setting.written for setting in self.settings]
        values = {name: tuple(dict.fromkeys(row[name] for row in rows)) for name in given}
        return {name: several for name, several in values.items() if len(several) > 1}

    @functools.cached_property
    def shared(self) -> dict[str, Any]:
        """Options that have the same value in all settings, as `Setting.written` has it."""
        rows = [setting.written for setting in self.settings]
        return {
            name: value for name, value in rows[0].items() if value != "" and all(row[name] == value for row in rows)
        }

    def extended(
        self, *, name: str = "the study", seeds: Any = None, sweep: str | None = None, **options: Any
    ) -> "Design":
        """This design with more: those given must hold all that it has of them, in any order.

        What is there keeps its place, so new settings and seeds come last.  name: of the study, for messages.
        Raises UsageError if something would be left out, naming the option, and as `make_design`.
        """
        family, values, wanted_options = self.family, {}, _named(options)
        if TALLY in wanted_options and _tallies(wanted_options) != (family is TALLIES):
            has = "only counts results" if family is TALLIES else "judges its learners"
            raise UsageError(f"{name} {has}, and goes on so; leave {option(TALLY, True)} out, or make another study")
        wanted_options.pop(TALLY, None)
        for key, given in family.named(wanted_options).items():
            family.check(key)
            values[key] = values_of(key, given, family.options)
        grids = []
        for grid in self.grids:
            united = {key: _united(name, key, grid.values.get(key, ()), new) for key, new in values.items()}
            grids.append(Grid(family, {**grid.values, **united}, sweep_named(grid.sweep if sweep is None else sweep)))
        wanted = None if seeds is None else seed_pieces(seeds)
        settings = sum(count_settings([len(several) for several in grid.values.values()], grid.sweep) for grid in grids)
        _check_count(settings, len(self.seeds) if wanted is None else wanted.count)
        more = self.seeds if wanted is None else tuple(wanted.values())
        return self.extended_to(Design(_merged(grids), more, tuple(grids)), name=name)

    def extended_to(self, wider: "Design", *, name: str = "the study") -> "Design":
        """The design `wider`, with what is here in its place.

        name: of the study, for messages.  Raises UsageError if `wider` lacks a setting or seed of this design.
        """
        seeds = _united(name, "seeds", self.seeds, wider.seeds, seed_runs)
        new = {setting: setting for setting in wider.settings}
        if lost := [setting for setting in self.settings if setting not in new]:
            raise _left_out(name, self.settings, lost, wider.settings)
        kept = [new.pop(setting) for setting in self.settings]
        return replace(wider, settings=(*kept, *new.values()), seeds=seeds)

    def in_order(self, keys: Sequence[str]) -> "Design":
        """This design with its settings in the order of `keys`, as a study's file has them.

        Raises RunFileError unless the keys are those of its settings.
        """
        settings = {setting.key: setting for setting in self.settings}
        if len(keys) != len(settings) or set(keys) != settings.keys():
            raise RunFileError("the study's settings are not those that its description makes; was it changed?")
        return replace(self, settings=tuple(settings[key] for key in keys))


def make_design(options: Mapping[str, Any], seeds: Any = None, sweep: str = FULL) -> Design:
    """The design with all values of `options` (see `values`; None for the default) and all `seeds`.

    seeds: how many, from 0 on, or which, such as `5,7` or `100..199`; None for DEFAULT_SEEDS.
    sweep: `grid`, or `one-at-a-time`.
    Raises UsageError for an option or value that does not exist, a combination that `train` would refuse, and too many
    learners, before any is made; RunFileError for an opponent that cannot be read.
    """
    return make_designs([Request(_named(options), sweep_named(sweep))], seeds)


def make_designs(requests: Sequence[Request], seeds: Any = None, place: str = "") -> Design:
    """The design with the settings of several grids, equal ones merged.  place: where the seeds stand, for messages.

    The names of the options and sweeps must be exact.  Raises as `make_design`.
    """
    grids, family = [_taken_apart(request) for request in requests], _family_of(requests)
    with placed(place):
        wanted = seed_pieces(DEFAULT_SEEDS if seeds is None else seeds)
    settings = 0
    for request, pieces in zip(requests, grids, strict=True):
        settings += count_settings([several.count for several in pieces.values()], request.sweep)
    _check_count(settings, wanted.count)
    made = []
    for request, pieces in zip(requests, grids, strict=True):
        values = {}
        for name in pieces:
            with placed(request.place(name)):
                values[name] = tuple(pieces[name].values())
        made.append(Grid(family, values, request.sweep))
    return Design(_merged(made, [request.place("") for request in requests]), tuple(wanted.values()), tuple(made))


def _family_of(requests: Sequence[Request]) -> Family:
    """The family of the learners of several grids.  Raises UsageError if they are of both."""
    families = [_family(request) for request in requests]
    for request, family in zip(requests, families, strict=True):
        if family is not families[0]:
            raise UsageError(
                f"{request.place('learner')}this grid has learners of {family.name}, the first one those of "
                f"{families[0].name}, and their results differ; a study holds one kind: make two studies"
            )
    return families[0]


def _family(request: Request) -> Family:
    with placed(request.place(TALLY)):
        tally = _tallies(request.options)
    with placed(request.place("learner")):
        return family_for(request.options.get("learner"), tally=tally)


def _taken_apart(request: Request) -> dict[str, Pieces]:
    """What was given for each option of a grid, in the order of its family's options.  Raises UsageError."""
    family = _family(request)
    given = family.named({name: value for name, value in request.options.items() if name != TALLY})
    for name in given:
        with placed(request.place(name)):
            family.check(name)
    pieces = {}
    for name in (name for name in family.options if name in given):
        with placed(request.place(name)):
            pieces[name] = pieces_of(name, given[name], family.options[name])
    return pieces


def _merged(grids: Sequence[Grid], places: Sequence[str] = ()) -> tuple[Setting, ...]:
    """The settings of all grids, each once, in order.  places: where each grid stands, for messages."""
    settings: dict[Setting, None] = {}
    for grid, place in zip(grids, places or [""] * len(grids), strict=True):
        with placed(place):
            settings.update(dict.fromkeys(grid.settings()))
    return tuple(settings)


def _named(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options given.  Raises UsageError for one that no study has."""
    names = (*OPTION_NAMES, TALLY)
    for name in options:
        if name not in names:
            raise unknown_name("option", name, names)
    return {name: options[name] for name in names if options.get(name) is not None}


def _tallies(options: Mapping[str, Any]) -> bool:
    """Whether results are to be counted and no table judged.  Raises UsageError."""
    given = options.get(TALLY, False)
    return given if isinstance(given, bool) else choose(TALLY, given, ("on", "off"), words=SWITCH_WORDS) == "on"


def _check_count(settings: int, seeds: int) -> None:
    """Raise UsageError for more settings or learners than a study may have."""
    if settings > MAX_SETTINGS:
        raise UsageError(
            f"{_big(settings)} settings are too many; a study has at most {MAX_SETTINGS:,}: give fewer values"
        )
    if settings * seeds > MAX_LEARNERS:
        raise UsageError(
            f"{settings:,} settings with {seeds:,} seeds are {_big(settings * seeds)} learners; a study has at most "
            f"{MAX_LEARNERS:,}: give fewer values or seeds"
        )


def _big(number: int) -> str:
    return f"{number:,}" if number < 10**15 else f"{number:.2g}" if number < 10**300 else "countless"


def _united(
    study: str,
    name: str,
    old: tuple[Any, ...],
    new: tuple[Any, ...],
    shown: Callable[[Any], Sequence[Any]] = list,
) -> tuple[Any, ...]:
    """All values, the old ones first, as the new objects.  Raises UsageError if a new one is missing among them."""
    rest = {value: value for value in new}
    if any(value not in rest for value in old):
        raise _loses(study, name, shown(old), shown(new))
    return *(rest.pop(value) for value in old), *rest.values()


def _left_out(study: str, settings: Sequence[Setting], lost: Sequence[Setting], wider: Sequence[Setting]) -> UsageError:
    """The error for settings that a wider design lacks, naming an option if one has values that it lacks."""
    for name in settings[0].family.options:
        old = dict.fromkeys(setting.written[name] for setting in lost)
        new = dict.fromkeys(setting.written[name] for setting in wider)
        if not old.keys() <= new.keys():
            every = dict.fromkeys(setting.written[name] for setting in settings)
            return _loses(study, name, list(every), list(new))
    several = "; ".join(f"{name} {listed([value])}" for name, value in lost[0].written.items() if value != "")
    return UsageError(
        f"{study} studies {counted(len(lost), 'setting')} that would be left out, among them {several}; keep them"
    )


def _loses(study: str, name: str, old: Sequence[Any], new: Sequence[Any]) -> UsageError:
    return UsageError(
        f"{study} studies {name} {listed(old)}; {listed(new)} alone would leave some out: give those, too"
    )
