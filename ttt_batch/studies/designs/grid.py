"""Grids of a study, which make its settings: each setting is a configuration but for its seed.

A grid holds every combination of its options' values, or, one at a time, each value with the first ones of all other
options.  Combinations are checked as `train` checks them.
"""

import functools
import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from ttt_batch.base.choices import choose
from ttt_batch.base.errors import TttBatchError
from ttt_batch.studies.designs.family import Family, Setting
from ttt_batch.studies.designs.values import listed

FULL, ONE_AT_A_TIME = SWEEPS = ("grid", "one-at-a-time")
_SWEEP_WORDS = {"full": FULL, "fullgrid": FULL, "all": FULL}


def sweep_named(given: object) -> str:
    """The one of SWEEPS that is meant.  Raises UsageError."""
    return choose("sweep", given, SWEEPS, words=_SWEEP_WORDS)


def count_settings(counts: list[int], sweep: str) -> int:
    """Settings of a grid whose options have so many values each."""
    return math.prod(counts) if sweep == FULL else 1 + sum(counts) - len(counts)


@contextmanager
def placed(place: str | Callable[[], str]) -> Iterator[None]:
    """Begin the message of an error raised meanwhile with `place`."""
    try:
        yield
    except TttBatchError as error:
        where = place if isinstance(place, str) else place()
        if not where:
            raise
        raise type(error)(f"{where}{error}") from None


@dataclass(frozen=True)
class Grid:
    """The values of each option given, of which the first is the base's, and how they are combined (of SWEEPS).

    family: of its learners.
    """

    family: Family
    values: Mapping[str, tuple[Any, ...]]
    sweep: str = FULL

    def combinations(self) -> Iterator[tuple[Any, ...]]:
        """The value of every option of the family in order, None where it is left to its default."""
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
        """A setting for every combination; equal ones are not merged.  Raises UsageError for an impossible one."""
        family, names = self.family, [*self.family.options]
        known: dict[tuple[Any, ...], Setting] = {}
        for combination in self.combinations():
            first = combination[: family.first]
            with placed(functools.partial(self._combined, combination, len(first))):
                if (base := known.get(first)) is None:
                    base = known[first] = family.base(_given(names, first))
            with placed(functools.partial(self._combined, combination, len(names))):
                setting = family.numbered(base, _given(names[family.first :], combination[family.first :]))
            yield setting

    def _combined(self, values: tuple[Any, ...], count: int) -> str:
        """The values of those of the first `count` options that have several and may be refused together, as a message
        begins.
        """
        named = zip(self.family.options, values[:count], strict=False)
        checked = {*[*self.family.options][: self.family.first], *self.family.checked}
        several = [
            f"{name.rstrip('_')} {listed([value])}"
            for name, value in named
            if name in checked and len(self.values.get(name, ())) > 1
        ]
        return f"{', '.join(several)}: " if several else ""


def _given(names: Sequence[str], values: Sequence[Any]) -> dict[str, Any]:
    """The values that are not left to their defaults, by name."""
    return {name: value for name, value in zip(names, values, strict=False) if value is not None}
