"""Family of a study's learners with tables of positions."""

import functools
from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import takewhile
from typing import Any

from ttt_batch.base.choices import SWITCH_WORDS, choose, choose_seat
from ttt_batch.base.errors import UsageError
from ttt_batch.base.quantities import parse_int, parse_share
from ttt_batch.game.board import parse_board
from ttt_batch.game.state_space import WORDS
from ttt_batch.learners import homes_of, learner_named
from ttt_batch.runs.batches import MAX_GAMES, Batches, check_batch, parse_batch, record_schedule
from ttt_batch.runs.config import (
    DEFAULTS,
    ENGINES,
    OPPONENTS,
    Config,
    config_from_dict,
    horizon_of,
    make_config,
)
from ttt_batch.runs.explorations import SOFTMAX, check_numbers
from ttt_batch.runs.own_options import READ, parse_worths
from ttt_batch.runs.runfile.declaration import EXACT_COLUMNS
from ttt_batch.runs.schedules import parse_schedule
from ttt_batch.studies.designs.family import Method, Option, Setting
from ttt_batch.studies.designs.opponents import SELF, RunOpponent, read_opponent
from ttt_batch.training.patterns.train import check_tables
from ttt_batch.training.plan import check_opponent


def _switch(given: Any) -> str:
    if isinstance(given, bool):
        return "on" if given else "off"
    return choose("symmetry", given, WORDS, words=SWITCH_WORDS)


PREFIXES = {"explore": f"{SOFTMAX}:"}
"""Prefixes of an option's numbers."""

IN_BEADS = ("beads", "rewards")
"""Options that are lists of numbers."""

TABLE_OPTIONS: Mapping[str, Option] = {
    "learner": Option(lambda given: learner_named(given).name),
    "board": Option(parse_board),
    "symmetry": Option(_switch),
    "engine": Option(lambda given: choose("engine", given, ENGINES)),
    "opponent": Option(read_opponent),
    "seat": Option(lambda given: choose_seat(given, "both")),
    **{
        name: Option(
            read, ranges=name not in ("cut", *IN_BEADS), prefix=PREFIXES.get(name, ""), commas=name in IN_BEADS
        )
        for name, read in READ.items()
    },
    "batch": Option(parse_batch, ranges=True, whole=True),
    "epsilon": Option(lambda given: parse_schedule("epsilon", given, positive=False), ranges=True),
    "alpha": Option(lambda given: parse_schedule("alpha", given, positive=True), ranges=True),
    "gamma": Option(lambda given: parse_share("gamma", given, "give a number such as 0.9"), ranges=True),
    "draw_worth": Option(parse_worths, ranges=True, commas=True),
    "games": Option(lambda given: parse_int("games", given, 1, MAX_GAMES), ranges=True, whole=True),
}


def points_of(batches: Batches, games: int) -> list[int]:
    """Return the numbers of games at the recorded points of a learner with `games` games."""
    return [*takewhile(lambda point: point < games, record_schedule(batches)), games]


_known_points = functools.lru_cache(maxsize=1024)(points_of)


class Tables(Method):
    """Family of learners with tables."""

    name, default_learner, options = "tables", str(DEFAULTS["learner"]), TABLE_OPTIONS
    numbers = ("batch", "epsilon", "alpha", "gamma", "draw_worth", "games")
    checked = (
        "batch",
        "epsilon",
        "gamma",
    )  # they depend on the engine, the exploration and the learner

    def refuse(self, name: str) -> None:
        """Raise UsageError for an option of networks."""
        check_tables({name: None})

    def base(self, given: dict[str, Any]) -> Setting:
        """Return the setting with these values of the first options."""
        options = dict(given)
        boxes = learner_named(str(given.get("learner", self.default_learner))).boxes
        opponent = options.pop("opponent", OPPONENTS[0] if boxes else SELF)
        if boxes and opponent == SELF:
            raise UsageError(
                f"opponent self is not applicable to {given['learner']}, which plays first alone; choose random, "
                "optimal or a run"
            )
        rival = None if opponent == SELF else opponent
        against = "" if rival is None else rival.digest if isinstance(rival, RunOpponent) else rival
        seat = options.pop("seat", "" if rival is None else "first" if boxes else "both")
        config = make_config(**options, opponent=against, seat=seat)
        played = rival.given if isinstance(rival, RunOpponent) else rival
        if played is not None:
            check_opponent(played, config)
        return Setting(self, config, learner_named(config.learner).games, rival)

    def numbered(self, base: Setting, numbers: dict[str, Any]) -> Setting:
        """Return the setting with these values of `numbers`."""
        changed = dict(numbers)
        games = changed.pop("games", base.games)
        if "batch" in changed:
            check_batch(changed["batch"], base.config.engine)
        epsilon, alpha = (changed.get(name, getattr(base.config, name)) for name in ("epsilon", "alpha"))
        config = replace(base.config, **changed, horizon=horizon_of(epsilon, alpha, games))
        check_numbers(config)
        return Setting(self, config, games, base.opponent)

    def config_from(self, values: dict[str, Any]) -> Config:
        """Return the configuration with these plain values."""
        return config_from_dict(values)

    def homes(self, learners: Iterable[str]) -> tuple[str, ...]:
        """Return the modules and files of the learners."""
        return homes_of(learners)

    def points(self, config: Config, games: int) -> list[int]:
        """Return the numbers of games at the recorded points."""
        return _known_points(config.batches, games)

    def columns(self, *, exact: bool) -> tuple[str, ...]:
        """Return the exact statistics, or only the number of positions."""
        return EXACT_COLUMNS if exact else ("positions",)

    def exact(self, config: Config) -> bool:
        """Return whether the table has all positions from the start."""
        return not config.grown

    def shortened(self, setting: Setting, games: int) -> Setting:
        """Return the setting with fewer games."""
        return replace(setting, games=games)

    def effort(self, setting: Setting) -> tuple[Any, ...]:
        """Return the values that mainly determine the training time."""
        config = setting.config
        opponent = config.opponent
        return config.board, config.learner, config.symmetry, config.engine, config.batch, opponent, setting.games


TABLES = Tables()
