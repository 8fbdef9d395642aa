"""What differs between learners of tables and pattern networks in a study, but for how they learn: see `Family`.

How each family learns is in `learning.rooms`, and what can be kept of a learner in `storage.kept`.
"""

import functools
import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from ttt_batch.base.choices import unknown_name
from ttt_batch.base.errors import UsageError, option
from ttt_batch.game.board import Board
from ttt_batch.runs.config import Config
from ttt_batch.runs.patterns.config import PatternConfig
from ttt_batch.runs.run import Run
from ttt_batch.runs.schedules import Schedule
from ttt_batch.studies.designs.opponents import SELF, Opponent, RunOpponent

MAX_VALUES = 100_000
"""Values of one option, and settings of a study."""

MAX_VALUE = 4_096
"""Characters of a value, which may be the name of a file."""

AnyConfig = Config | PatternConfig


class Option(NamedTuple):
    """An option of which a study may have several values.

    read: one value, as a configuration keeps it; raises UsageError.  ranges: whether they are numbers, of which ranges
    are read; whole: only whole numbers.  most: values at most.  commas: whether a value may hold commas, so that only
    semicolons separate values.  longest: characters of a value at most.
    prefix: what stands before each number, also before a range of them, such as `softmax:`.
    """

    read: Callable[[Any], Any]
    ranges: bool = False
    whole: bool = False
    most: int = MAX_VALUES
    commas: bool = False
    longest: int = MAX_VALUE
    prefix: str = ""

    def read_number(self, number: float | str) -> Any:
        """A number of a range, or one of its ends, as a configuration keeps it.  Raises UsageError."""
        return self.read(f"{self.prefix}{number}" if self.prefix else number)


class Family(ABC):
    """A kind of learners that record the same statistics and have the same options.  A study holds one.

    name: `tables` or `networks`.
    default_learner: the one that learns if none is given.
    options: what shapes learning, in the order of a study's settings: the last ones vary fastest.
    numbers: the last options, of which any value goes with all others, but for those in `checked`.
    checked: options that may be refused beside others.
    other_names: names of the other family's options, and of the one of these that each means.
    """

    name: str
    default_learner: str
    options: Mapping[str, Option]
    numbers: tuple[str, ...]
    checked: tuple[str, ...]
    other_names: tuple[tuple[str, str], ...] = ()

    @functools.cached_property
    def first(self) -> int:
        """Options before the numbers."""
        return len(self.options) - len(self.numbers)

    def named(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Options under these learners' own names.  Raises UsageError for one given under both."""
        for other, name in self.other_names:
            if other in options and name in options:
                raise UsageError(f"{option(other)} and {option(name)} mean the same; leave one out")
        own = dict(self.other_names)
        return {own.get(name, name): value for name, value in options.items()}

    def check(self, name: str) -> None:
        """Raise UsageError for an option that these learners do not have."""
        if name not in self.options:
            self.refuse(name)
            raise unknown_name("option", name, self.options)

    @abstractmethod
    def refuse(self, name: str) -> None:
        """Raise UsageError for an option of the other family."""

    @abstractmethod
    def base(self, given: dict[str, Any]) -> "Setting":
        """The setting with these values of options before the numbers, and the defaults of all others.

        Raises UsageError and BoardError for what `train` would refuse.
        """

    @abstractmethod
    def numbered(self, base: "Setting", numbers: dict[str, Any]) -> "Setting":
        """A setting with other values of `numbers`.  Raises UsageError."""

    @abstractmethod
    def config_from(self, values: dict[str, Any]) -> AnyConfig:
        """The configuration with these plain values, see `Config.to_dict`.  Raises RunFileError."""

    @abstractmethod
    def homes(self, learners: Iterable[str]) -> tuple[str, ...]:
        """Return what tells another process about these learners, see `homes_of`.  Raises UsageError if none can."""

    @abstractmethod
    def points(self, config: Any, games: int) -> list[int]:
        """Games at the recorded points of a learner."""

    @abstractmethod
    def columns(self, *, exact: bool) -> tuple[str, ...]:
        """The statistics of a learner beside games, seconds and outcomes.  exact: as `exact` says."""

    @abstractmethod
    def exact(self, config: Any) -> bool:
        """Whether learners have exact results."""

    @abstractmethod
    def shortened(self, setting: "Setting", games: int) -> "Setting":
        """The same learner with fewer games, about so many."""

    @abstractmethod
    def effort(self, setting: "Setting") -> tuple[Any, ...]:
        """What decides how long a learner takes, in the main."""


@dataclass(frozen=True)
class Setting:
    """A configuration but for its seed, which is 0 here, and the games to learn from.

    opponent: None in self-play; `config` has the digest of a run.
    """

    family: Family = field(compare=False)
    config: Any
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
        """Every option with its value: text, a number or a pair of numbers; symmetry is a bool; "" for none."""
        opponent = SELF if self.opponent is None else written(self.opponent)
        values = {"games": self.games, "opponent": opponent}
        names = self.family.options
        return {name: values[name] if name in values else written(getattr(self.config, name)) for name in names}

    @property
    def points(self) -> list[int]:
        """Games at its recorded points."""
        return self.family.points(self.config, self.games)

    def config_for(self, seed: int) -> Any:
        """The configuration that `train` has for that seed."""
        return replace(self.config, seed=seed)


def written(value: Any) -> Any:
    """A value of an option as a person writes it: text or a number, a pair of them for draw worths."""
    if isinstance(value, Schedule):
        return value.plain
    return value.name if isinstance(value, Board | RunOpponent) else "" if value is None else value
