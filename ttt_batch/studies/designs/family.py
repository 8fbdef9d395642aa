"""Base class of the kinds of learners in a study, and the settings made of their options.

`learning.rooms` holds the training of each family, and `storage.kept` the tables that a study can keep.
"""

import functools
import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from ttt_batch.base.choices import unknown_name
from ttt_batch.base.errors import UsageError, flag
from ttt_batch.game.board import Board
from ttt_batch.runs.config import Config
from ttt_batch.runs.patterns.config import PatternConfig
from ttt_batch.runs.run import Run
from ttt_batch.runs.schedules import Schedule
from ttt_batch.studies.designs.opponents import SELF, Opponent, RunOpponent

MAX_VALUES = 100_000
"""Limit of the values of one option, and of the settings of a study."""

MAX_VALUE = 4_096
"""Limit of the characters of a value, which may be a file name."""

AnyConfig = Config | PatternConfig


class Option(NamedTuple):
    """Option that may have several values in a study.

    read: converts one value to its form in a configuration; raises UsageError.
    ranges: the values are numbers and may be given as ranges.  whole: only whole numbers.
    most: maximum number of values.  longest: maximum number of characters of a value.
    commas: a value may contain commas, so only semicolons separate values.
    prefix: text before each number or range of numbers, such as `softmax:`.
    """

    read: Callable[[Any], Any]
    ranges: bool = False
    whole: bool = False
    most: int = MAX_VALUES
    commas: bool = False
    longest: int = MAX_VALUE
    prefix: str = ""

    def read_number(self, number: float | str) -> Any:
        """Return a number of a range, or one of its ends, in its form in a configuration.  Raises UsageError."""
        return self.read(f"{self.prefix}{number}" if self.prefix else number)


class Method(ABC):
    """Kind of learners with the same statistics and options.  All learners of a study are of one family.

    name: `tables`, `networks` or `tallies`.
    default_learner: the learner if the option is not given.
    options: the options of learning, in the order of a study's settings.  The last ones vary fastest.
    numbers: the last options.  Any of their values is compatible with all others, except for options in `checked`.
    checked: options whose values may be incompatible with those of others.
    other_names: pairs of an option's name in the other family and the name of the same option in this one.
    """

    name: str
    default_learner: str
    options: Mapping[str, Option]
    numbers: tuple[str, ...]
    checked: tuple[str, ...]
    other_names: tuple[tuple[str, str], ...] = ()

    @functools.cached_property
    def first(self) -> int:
        """Return the number of options before `numbers`."""
        return len(self.options) - len(self.numbers)

    def named(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return the options under this family's names.  Raises UsageError for an option given under both names."""
        for other, name in self.other_names:
            if other in options and name in options:
                raise UsageError(f"{flag(other)} and {flag(name)} mean the same; leave one out")
        own = dict(self.other_names)
        return {own.get(name, name): value for name, value in options.items()}

    def check(self, name: str) -> None:
        """Raise UsageError for an option that these learners lack."""
        if name not in self.options:
            self.refuse(name)
            raise unknown_name("option", name, self.options)

    @abstractmethod
    def refuse(self, name: str) -> None:
        """Raise UsageError for an option of the other family."""

    @abstractmethod
    def base(self, given: dict[str, Any]) -> "Setting":
        """Return the setting with these values of the options before `numbers`, and defaults for all others.

        Raises UsageError and BoardError for values that `train` would refuse.
        """

    @abstractmethod
    def numbered(self, base: "Setting", numbers: dict[str, Any]) -> "Setting":
        """Return the setting `base` with other values of `numbers`.  Raises UsageError."""

    @abstractmethod
    def config_from(self, values: dict[str, Any]) -> AnyConfig:
        """Return the configuration with these plain values of `Config.to_dict`.  Raises RunFileError."""

    @abstractmethod
    def homes(self, learners: Iterable[str]) -> tuple[str, ...]:
        """Return the modules and files of these learners (`homes_of`).  Raises UsageError if one cannot be imported."""

    @abstractmethod
    def points(self, config: Any, games: int) -> list[int]:
        """Return the numbers of games at the recorded points of a learner."""

    @abstractmethod
    def columns(self, *, exact: bool) -> tuple[str, ...]:
        """Return the statistics of a learner besides games, seconds and outcomes.  exact: as `exact` returns."""

    @abstractmethod
    def exact(self, config: Any) -> bool:
        """Return whether learners have exact results."""

    @abstractmethod
    def shortened(self, setting: "Setting", games: int) -> "Setting":
        """Return the setting with about `games` games, fewer than it has."""

    @abstractmethod
    def effort(self, setting: "Setting") -> tuple[Any, ...]:
        """Return the values that mainly determine a learner's training time."""


@dataclass(frozen=True)
class Setting:
    """Configuration without its seed, which is 0 here, and the number of games.

    opponent: None in self-play.  If it is a run, `config` contains its digest.
    """

    family: Method = field(compare=False)
    config: Any
    games: int
    opponent: Opponent | None = field(default=None, compare=False)

    @functools.cached_property
    def key(self) -> str:
        """Return 16 hex digits of the SHA-256 of all values that determine the result, without the seed."""
        values = {**self.config.to_dict(), "games": self.games}
        del values["seed"]
        text = json.dumps(values, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @property
    def rival(self) -> Run | str | None:
        """Return the fixed opponent in the form of `Plan`, and read its file if necessary.  Raises RunFileError."""
        return self.opponent.run if isinstance(self.opponent, RunOpponent) else self.opponent

    @property
    def written(self) -> dict[str, Any]:
        """Return every option with its value: text, a number or a pair of numbers, a bool for symmetry, "" for None."""
        opponent = SELF if self.opponent is None else written(self.opponent)
        values = {"games": self.games, "opponent": opponent}
        names = self.family.options
        return {name: values[name] if name in values else written(getattr(self.config, name)) for name in names}

    @property
    def points(self) -> list[int]:
        """Return the numbers of games at the recorded points."""
        return self.family.points(self.config, self.games)

    def config_for(self, seed: int) -> Any:
        """Return the configuration of `train` for this seed."""
        return replace(self.config, seed=seed)


def written(value: Any) -> Any:
    """Return a value of an option as users write it: text, a number, or a pair of numbers for draw worths."""
    if isinstance(value, Schedule):
        return value.plain
    return value.name if isinstance(value, Board | RunOpponent) else "" if value is None else value
