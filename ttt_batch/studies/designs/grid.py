"""Settings of a study, and the grids that make them: each setting is a configuration but for its seed.

A grid holds every combination of its options' values, or, one at a time, each value with the first ones of all other
options.  Combinations are checked as `train` checks them.
"""

import functools
import hashlib
import itertools
import json
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from ttt_batch.base.choices import choose
from ttt_batch.base.errors import TttBatchError
from ttt_batch.learners import learner_named
from ttt_batch.runs.config import Config, check_batch, horizon_of, make_config
from ttt_batch.runs.run import Run
from ttt_batch.studies.designs.opponents import SELF, Opponent, RunOpponent
from ttt_batch.studies.designs.values import OPTIONS, listed, written
from ttt_batch.training.plan import check_rival

FULL, ONE_AT_A_TIME = SWEEPS = ("grid", "one-at-a-time")
_SWEEP_WORDS = {"full": FULL, "fullgrid": FULL, "all": FULL}

_NUMBERS = ("batch", "epsilon", "alpha", "gamma", "draw_worth", "games")
"""The last options, of which any value goes with all others, but for batches, which depend on the engine."""

_FIRST = len(OPTIONS) - len(_NUMBERS)
"""Options before those."""


def sweep_named(given: object) -> str:
    """The one of SWEEPS that is meant.  Raises UsageError."""
    return choose("sweep", given, SWEEPS, words=_SWEEP_WORDS)


def count_settings(counts: list[int], sweep: str) -> int:
    """Settings of a grid whose options have so many values each."""
    return math.prod(counts) if sweep == FULL else 1 + sum(counts) - len(counts)


@contextmanager
def placed(place: str) -> Iterator[None]:
    """Begin the message of an error raised meanwhile with `place`."""
    try:
        yield
    except TttBatchError as error:
        if not place:
            raise
        raise type(error)(f"{place}{error}") from None


@dataclass(frozen=True)
class Setting:
    """A configuration but for its seed, which is 0 here, and the games to learn from.

    opponent: None in self-play; `config` has the digest of a run.
    """

    config: Config
    games: int
    opponent: Opponent | None = field(default=None, compare=False)

    @functools.cached_property
    def key(self) -> str:
        """16 hex digits of the SHA-256 of all that determines the result but the seed."""
        values = {**self.config.to_dict(), "games": self.games}
        del values["seed"]
        text = json.dumps(values, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @property
    def rival(self) -> Run | str | None:
        """The fixed opponent as `Plan` has it, its file read if need be.  Raises RunFileError."""
        return self.opponent.run if isinstance(self.opponent, RunOpponent) else self.opponent

    @property
    def written(self) -> dict[str, Any]:
        """Every option with its value: text, a number or a pair of numbers; symmetry is a bool."""
        opponent = SELF if self.opponent is None else written(self.opponent)
        values = {"games": self.games, "opponent": opponent}
        return {name: values[name] if name in values else written(getattr(self.config, name)) for name in OPTIONS}

    def config_for(self, seed: int) -> Config:
        """The configuration that `train` has for that seed."""
        return replace(self.config, seed=seed)


@dataclass(frozen=True)
class Grid:
    """The values of each option given, of which the first is the base's, and how they are combined (of SWEEPS)."""

    values: Mapping[str, tuple[Any, ...]]
    sweep: str = FULL

    def combinations(self) -> Iterator[tuple[Any, ...]]:
        """The value of every option in the order of OPTIONS, None where it is left to its default."""
        lists = [self.values.get(name, (None,)) for name in OPTIONS]
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
        known: dict[tuple[Any, ...], Setting] = {}
        for combination in self.combinations():
            first = combination[:_FIRST]
            if (base := known.get(first)) is None:
                base = known[first] = self._base(first)
            given = zip(_NUMBERS, combination[_FIRST:], strict=True)
            numbers = {name: value for name, value in given if value is not None}
            games = numbers.pop("games", base.games)
            if "batch" in numbers:
                with placed(self._combined(combination)):
                    check_batch(numbers["batch"], base.config.engine)
            epsilon, alpha = (numbers.get(name, getattr(base.config, name)) for name in ("epsilon", "alpha"))
            config = replace(base.config, **numbers, horizon=horizon_of(epsilon, alpha, games))
            yield Setting(config, games, base.opponent)

    def _base(self, first: tuple[Any, ...]) -> Setting:
        """The setting with the values `first` of the first options, and the defaults of the learner's numbers."""
        given = {name: value for name, value in zip(OPTIONS, first, strict=False) if value is not None}
        opponent = given.pop("opponent", SELF)
        rival = None if opponent == SELF else opponent
        against = "" if rival is None else rival.digest if isinstance(rival, RunOpponent) else rival
        seat = given.pop("seat", "" if rival is None else "both")
        with placed(self._combined(first)):
            config = make_config(**given, opponent=against, seat=seat)
            played = rival.given if isinstance(rival, RunOpponent) else rival
            if played is not None:
                check_rival(played, config)
        return Setting(config, learner_named(config.learner).games, rival)

    def _combined(self, values: tuple[Any, ...]) -> str:
        """The values of those of the first options and `batch` that have several, as a message begins."""
        named = zip(OPTIONS, values[: _FIRST + 1], strict=False)
        several = [f"{name} {listed([value])}" for name, value in named if len(self.values.get(name, ())) > 1]
        return f"{', '.join(several)}: " if several else ""
