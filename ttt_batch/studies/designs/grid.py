"""Grids of a study, and the settings that they make.  A setting is a configuration without its seed.

A grid contains every combination of its options' values.  With `one-at-a-time` it combines each value with the first
values of all other options.  Combinations must pass the checks of `train`.
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
from ttt_batch.studies.designs.family import Method, Setting
from ttt_batch.studies.designs.values import listed

FULL, ONE_AT_A_TIME = SWEEPS = ("grid", "one-at-a-time")
_SWEEP_WORDS = {"full": FULL, "fullgrid": FULL, "all": FULL}


def sweep_named(given: object) -> str:
    """Return the name in SWEEPS that `given` stands for.  Raises UsageError."""
    return choose("sweep", given, SWEEPS, words=_SWEEP_WORDS)


def count_settings(counts: list[int], sweep: str) -> int:
    """Return the number of settings of a grid.  counts: number of values of each option."""
    return math.prod(counts) if sweep == FULL else 1 + sum(counts) - len(counts)


@contextmanager
def placed(place: str | Callable[[], str]) -> Iterator[None]:
    """Prepend `place` to the message of an error raised in the block."""
    try:
        yield
    except TttBatchError as error:
        where = place if isinstance(place, str) else place()
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
        """Return values of a combination as the start of a message.

        Include those of the first `count` options that have several values and may be incompatible.
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
    """Return the values that are not None, by name."""
    return {name: value for name, value in zip(names, values, strict=False) if value is not None}
