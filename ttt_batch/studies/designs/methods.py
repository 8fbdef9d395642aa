"""Methods of a study: tables, counted tables and networks, with their options and their opponents.

`studies.work` trains the learners of each method, and `studies.storage.layout` names the tables that a study can
keep.  Counted tables are not evaluated: an evaluation takes as long as thousands of games, and its figures need more
space, which a million short runs cannot afford.
"""

import functools
import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import count, takewhile
from pathlib import Path
from typing import Any

from ttt_batch.agents.adapter import OpponentPolicy
from ttt_batch.agents.builtin import named_agent
from ttt_batch.core.errors import RunFileError, UsageError, flag, quoted
from ttt_batch.core.files import shown
from ttt_batch.core.text import AGAINST, PATTERN_LEARNERS, Option, find_name
from ttt_batch.games.board import Board
from ttt_batch.learners import LEARNERS, learner_named
from ttt_batch.ntuple.network import MAX_TEXT, text_of_tuples
from ttt_batch.runs.config import (
    DEFAULTS,
    Config,
    PatternConfig,
    default_weights,
    horizon_of,
    make_config,
    make_pattern_config,
)
from ttt_batch.runs.loading import load, run_from
from ttt_batch.runs.lookup import name_or_run
from ttt_batch.runs.options import NETWORK_GAMES, OPPONENTS, OPTIONS, OWN, Schedule
from ttt_batch.runs.run import Run
from ttt_batch.runs.schedules import POINTS, Batches, record_schedule
from ttt_batch.runs.state import table_digest
from ttt_batch.runs.storage.declaration import EXACT_COLUMNS, NETWORK_COLUMNS
from ttt_batch.runs.storage.run_file import run_image
from ttt_batch.training.network_trainer import last_game, next_point, whole_rounds, with_first_proof_by
from ttt_batch.training.plan import opponent_name, policy_against
from ttt_batch.training.trainers.base import check_opponent

SELF = "self"


@dataclass(frozen=True)
class RunOpponent:
    """Run as an opponent.

    digest: digest of its tables, as in `Config.opponent`.  Opponents with equal digests are equal.
    name: its file, or the digest of a run without a file.  given: the run, if it is already in memory.
    """

    digest: str
    name: str = field(compare=False)
    given: Run | None = field(default=None, compare=False, repr=False)

    @functools.cached_property
    def run(self) -> Run:
        """Return the run, and read it if necessary.  Raises RunFileError if its file is missing or has other tables."""
        if self.given is not None:
            return self.given
        if self.name == self.digest:
            raise RunFileError(
                f"the opponent {self.digest} was a run without a file; give that run again with {flag('opponent')}"
            )
        run = load(self.name)
        if table_digest(run.tables) != self.digest:
            raise RunFileError(
                f"{shown(Path(self.name))} is not the run that the study has as its opponent; name that run's file "
                f"with {flag('opponent')}"
            )
        return run

    @functools.cached_property
    def _content(self) -> bytes:
        return run_image(self.run.data()).getvalue()

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the whole run, because workers do not have its file."""
        return _unpickled, (self.digest, self._content)


@functools.lru_cache(maxsize=4)
def _unpickled(digest: str, content: bytes) -> RunOpponent:
    return RunOpponent(digest, digest, run_from(content))


Opponent = str | RunOpponent
"""Opponent: one of AGAINST, or a run."""


@functools.lru_cache(maxsize=8)
def _policy_of(agent: str, learner: str, board: Board, symmetry: bool) -> OpponentPolicy | str:
    """Return a built-in agent as a fixed opponent of a learner; one of OPPONENTS as its name.  Raises BoardError."""
    if agent in OPPONENTS:
        return agent
    return policy_against(named_agent(agent, board), make_config(learner=learner, board=board, symmetry=symmetry))


def read_opponent(given: Any) -> Opponent:
    """Return the opponent for a name, a run, or the file of a run, which it reads.

    Raises UsageError, and RunFileError if the file is missing or damaged.
    """
    if isinstance(given, RunOpponent):
        return given
    if isinstance(given, Run):
        run, path = given, given.file
    else:
        if callable(given):
            raise UsageError("opponent is a function, and studies take no agents of one's own; give a name or a run")
        meant = name_or_run("opponent", given, AGAINST)
        if isinstance(meant, str):
            return meant
        run, path = load(meant), meant
    digest = table_digest(run.tables)
    name = digest if path is None else str(path)
    try:
        name.encode()
    except UnicodeEncodeError:
        raise UsageError(
            f"opponent {quoted(name)}: a study cannot store its name, which is not text; rename it"
        ) from None
    return RunOpponent(digest, f"./{name}" if name in AGAINST else name, run)


class Method(ABC):
    """Kind of learners with the same statistics and options.  All learners of a study are of one method.

    name: `tables`, `networks` or `tallies`.
    default_learner: the learner if the option is not given.
    options: the options of learning, in the order of a study's settings.  The last ones vary fastest.
    numbers: the last options.  Any of their values is compatible with all others, except for options in `checked`.
    checked: options whose values may be incompatible with those of others.
    columns: statistics of learners with exact results (True) and without, besides those of all learners.
    """

    name: str
    default_learner: str
    options: Mapping[str, Option]
    numbers: tuple[str, ...]
    checked: tuple[str, ...]
    columns: Mapping[bool, tuple[str, ...]]

    def __reduce__(self) -> str:
        return self.name.upper()  # the name of the only object of its class, in this module

    @abstractmethod
    def base(self, given: dict[str, Any]) -> "Setting":
        """Return the setting with these values of the options before `numbers`, and defaults for all others.

        Raises UsageError and BoardError for values that `train` would refuse.
        """

    @abstractmethod
    def numbered(self, base: "Setting", numbers: dict[str, Any]) -> "Setting":
        """Return the setting `base` with other values of `numbers`.  Raises UsageError."""

    @abstractmethod
    def points(self, config: Any, games: int) -> list[int]:
        """Return the numbers of games at the recorded points of a learner."""


@dataclass(frozen=True)
class Setting:
    """Configuration with seed 0 as a placeholder, and number of games.

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
    def plan_opponent(self) -> Run | OpponentPolicy | str | None:
        """Return the fixed opponent in the form of `Plan`, and read its file if necessary.  Raises RunFileError."""
        if isinstance(self.opponent, str):
            return _policy_of(self.opponent, self.config.learner, self.config.board, self.config.symmetry)
        return None if self.opponent is None else self.opponent.run

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


TABLE_NUMBERS = ("batch", "epsilon", "alpha", "gamma", "draw_worth", "games")
TABLE_NAMES = ("learner", "board", "symmetry", "engine", "opponent", "seat", *OWN, *TABLE_NUMBERS)
TABLE_OPTIONS: Mapping[str, Option] = {name: OPTIONS[name] for name in TABLE_NAMES} | {
    "learner": replace(OPTIONS["learner"], read=lambda given: learner_named(given).name),
    "opponent": replace(OPTIONS["opponent"], read=read_opponent),
}


@functools.lru_cache(maxsize=1024)
def points_of(batches: Batches, games: int, points: int = POINTS) -> list[int]:
    """Return the numbers of games at the recorded points of a learner with `games` games."""
    return [*takewhile(lambda point: point < games, record_schedule(batches, points)), games]


class Tables(Method):
    """Learners with tables.  All record the usual number of points, so that those of two boards compare."""

    name, default_learner, options = "tables", str(DEFAULTS["learner"]), TABLE_OPTIONS
    numbers = TABLE_NUMBERS
    checked = ("batch", "epsilon", "gamma")  # they depend on the engine, the exploration and the learner
    columns: Mapping[bool, tuple[str, ...]] = {True: EXACT_COLUMNS, False: ("positions",)}

    def base(self, given: dict[str, Any]) -> Setting:
        """Return the setting with these values of the first options."""
        options = dict(given)
        alone = len(learner_named(str(given.get("learner", self.default_learner))).seats) == 1
        opponent = options.pop("opponent", OPPONENTS[0] if alone else SELF)
        if alone and opponent == SELF:
            raise UsageError(
                f"opponent self is not applicable to {given['learner']}, which plays first alone; choose random, "
                "one-ply, two-ply, optimal or a run"
            )
        met = None if opponent == SELF else opponent
        seat = options.pop("seat", "" if met is None else "first" if alone else "both")
        against = "" if met is None else met.digest if isinstance(met, RunOpponent) else OPPONENTS[0]
        config = make_config(**options, opponent=against, seat=seat, points=POINTS)
        played: Run | OpponentPolicy | str | None = met.given if isinstance(met, RunOpponent) else None
        if isinstance(met, str):
            played = _policy_of(met, config.learner, config.board, config.symmetry)
            config = replace(config, opponent=opponent_name(played))
        if played is not None:
            check_opponent(played, config)
        return Setting(self, config, learner_named(config.learner).games, met)

    def numbered(self, base: Setting, numbers: dict[str, Any]) -> Setting:
        """Return the setting with these values of `numbers`."""
        changed = dict(numbers)
        games = changed.pop("games", base.games)
        epsilon, alpha = (changed.get(name, getattr(base.config, name)) for name in ("epsilon", "alpha"))
        config = replace(base.config, **changed, horizon=horizon_of(epsilon, alpha, games))
        return Setting(self, config, games, base.opponent)

    def points(self, config: Config, games: int) -> list[int]:
        """Return the numbers of games at the recorded points."""
        return points_of(config.batches, games, config.points)


TABLES = Tables()

TALLY = "tally"
"""Name of the option of a study, or key of its description, that selects this family."""

STEPS = (1, 2, 5)
"""Multiples of powers of ten at which learners without batches record a point."""


class Tallies(Tables):
    """Learners of `Tables`, with the same keys, whose results are counted."""

    name = "tallies"
    columns: Mapping[bool, tuple[str, ...]] = {True: (), False: ()}

    def points(self, config: Config, games: int) -> list[int]:
        """Return the recorded points, for batches those of `Tables`, because they are ends of batches."""
        if config.batch != 1:
            return super().points(config, games)
        steps = (step * 10**power for power in count() for step in STEPS)
        return [*takewhile(lambda point: point < games, steps), games]


TALLIES = Tallies()

MOST_POINTS = 100_000
"""Limit of the recorded points of a learner, one for each proof."""


def _network_learner(given: Any) -> str:
    if (table := find_name(given, LEARNERS)) is not None:
        raise UsageError(f"learner {table} learns a table, and this study is of networks; make a separate study")
    return str(OPTIONS["learner"].parse(given, networks=True))


NETWORK_NUMBERS = ("batch", "prove_every", "epsilon", "alpha", "gamma", "trace", "games")
NETWORK_NAMES = ("learner", "board", "tuples", "sharing", "objective", "seat", *NETWORK_NUMBERS)
NETWORK_OPTIONS: Mapping[str, Option] = {
    name: replace(OPTIONS[name], read=OPTIONS[name].networks) for name in NETWORK_NAMES
} | {
    "learner": replace(OPTIONS["learner"], read=_network_learner),
    "tuples": replace(OPTIONS["tuples"], read=text_of_tuples, longest=MAX_TEXT),
}


class Networks(Method):
    """Learners of networks, which train to the end of the last proof, as in `train`.

    The choice of final weights is not an option, because no statistic depends on it.
    """

    name, default_learner, options = "networks", PATTERN_LEARNERS[0], NETWORK_OPTIONS
    numbers = NETWORK_NUMBERS
    checked = ("batch", "prove_every", "games")
    columns: Mapping[bool, tuple[str, ...]] = {True: (), False: NETWORK_COLUMNS}

    def base(self, given: dict[str, Any]) -> Setting:
        """Return the setting with these values of the first options."""
        return Setting(self, make_pattern_config(**given), NETWORK_GAMES)

    def numbered(self, base: Setting, numbers: dict[str, Any]) -> Setting:
        """Return the setting with these values of `numbers`."""
        changed = dict(numbers)
        games = changed.pop("games", base.games)
        config = replace(base.config, **changed)
        config = replace(config, keep=default_weights(config.prove_every))
        config = with_first_proof_by(config, games, given="prove_every" in changed)
        if config.prove_every and (proofs := games // whole_rounds(config, config.prove_every)) > MOST_POINTS:
            raise UsageError(
                f"{games:,} games with a proof every {config.prove_every:,} are {proofs:,} recorded points; a study "
                f"has at most {MOST_POINTS:,} for each learner: prove less often"
            )
        return Setting(self, config, last_game(config, games))

    def points(self, config: PatternConfig, games: int) -> list[int]:
        """Return the numbers of games at the recorded points."""
        points = [next_point(config, 0)]
        while points[-1] < games:
            points.append(next_point(config, points[-1]))
        return [*points[:-1], games]


NETWORKS = Networks()
