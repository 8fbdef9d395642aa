"""Family of pattern networks in a study."""

import functools
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from ttt_batch.base.choices import PATTERN_LEARNERS, choose, choose_seat, find_name
from ttt_batch.base.errors import UsageError
from ttt_batch.base.quantities import parse_int
from ttt_batch.game.board import parse_board
from ttt_batch.learners import LEARNERS
from ttt_batch.patterns.network import SHARING
from ttt_batch.patterns.tuples import MAX_TEXT, text_of_tuples
from ttt_batch.runs.patterns.config import (
    NUMBERS,
    OBJECTIVES,
    PatternConfig,
    default_weights,
    make_pattern_config,
    pattern_config_from,
)
from ttt_batch.runs.runfile.declaration import NETWORK_COLUMNS
from ttt_batch.studies.designs.family import Method, Option, Setting
from ttt_batch.training.patterns.train import GAMES, MAX_NETWORK_GAMES, check_networks, last_game, with_first_proof_by
from ttt_batch.training.patterns.trainer import next_point, whole_rounds

MOST_POINTS = 100_000
"""Limit of the recorded points of a learner, one for each proof."""


def _number(name: str, *, whole: bool = False) -> Option:
    return Option(functools.partial(NUMBERS[name], name), ranges=True, whole=whole)


def _learner(given: Any) -> str:
    if (table := find_name(given, LEARNERS)) is not None:
        raise UsageError(f"learner {table} learns a table, and this study is of networks; make a separate study")
    return choose("learner", given, PATTERN_LEARNERS)


NETWORK_OPTIONS: Mapping[str, Option] = {
    "learner": Option(_learner),
    "board": Option(parse_board),
    "tuples": Option(text_of_tuples, commas=True, longest=MAX_TEXT),
    "sharing": Option(lambda given: choose("sharing", given, SHARING)),
    "objective": Option(lambda given: choose("objective", given, OBJECTIVES)),
    "seat": Option(lambda given: choose_seat(given, "both")),
    "batch": _number("batch", whole=True),
    "prove_every": _number("prove_every", whole=True),
    "epsilon": _number("epsilon"),
    "alpha": _number("alpha"),
    "gamma": _number("gamma"),
    "trace": _number("trace"),
    "games": Option(lambda given: parse_int("games", given, 1, MAX_NETWORK_GAMES), ranges=True, whole=True),
}
"""Options of networks.  The choice of final weights is not included because no statistic depends on it."""


class Networks(Method):
    """Family of pattern networks.  Their games continue to the end of the last proof, as in `train`."""

    name, default_learner, options = "networks", PATTERN_LEARNERS[0], NETWORK_OPTIONS
    numbers = ("batch", "prove_every", "epsilon", "alpha", "gamma", "trace", "games")
    checked = ("batch", "prove_every", "games")
    other_names = (("lambda_", "trace"),)

    def refuse(self, name: str) -> None:
        """Raise UsageError for an option of tables."""
        check_networks({name: None}, {})

    def base(self, given: dict[str, Any]) -> Setting:
        """Return the setting with these values of the first options."""
        return Setting(self, make_pattern_config(**given), GAMES)

    def numbered(self, base: Setting, numbers: dict[str, Any]) -> Setting:
        """Return the setting with these values of `numbers`."""
        changed = dict(numbers)
        games = changed.pop("games", base.games)
        config = replace(base.config, **changed)
        config = replace(config, keep=default_weights(config.prove_every))
        config = with_first_proof_by(config, games, given="prove_every" in changed)
        _check_points(config, games)
        return Setting(self, config, last_game(config, games))

    def config_from(self, values: dict[str, Any]) -> PatternConfig:
        """Return the configuration with these plain values."""
        return pattern_config_from(values)

    def homes(self, learners: Iterable[str]) -> tuple[str, ...]:
        """Return an empty tuple, because every process has these learners."""
        del learners
        return ()

    def points(self, config: PatternConfig, games: int) -> list[int]:
        """Return the numbers of games at the recorded points."""
        points = [next_point(config, 0)]
        while points[-1] < games:
            points.append(next_point(config, points[-1]))
        return [*points[:-1], games]

    def columns(self, *, exact: bool) -> tuple[str, ...]:
        """Return the statistics of proofs."""
        del exact
        return NETWORK_COLUMNS

    def exact(self, config: PatternConfig) -> bool:
        """Return False."""
        del config
        return False

    def shortened(self, setting: Setting, games: int) -> Setting:
        """Return the shortened setting, without proofs if the first one would come later."""
        config = setting.config
        if config.prove_every > games:
            config = replace(config, prove_every=0, keep=default_weights(0))
        return replace(setting, config=config, games=last_game(config, games))

    def effort(self, setting: Setting) -> tuple[Any, ...]:
        """Return the values that mainly determine the training time."""
        config = setting.config
        shape = config.board, config.learner, config.tuples, config.sharing, config.objective, config.seat
        return *shape, config.batch, config.prove_every, setting.games


NETWORKS = Networks()


def _check_points(config: PatternConfig, games: int) -> None:
    """Raise UsageError for more than MOST_POINTS proofs."""
    if config.prove_every and (proofs := games // whole_rounds(config, config.prove_every)) > MOST_POINTS:
        raise UsageError(
            f"{games:,} games with a proof every {config.prove_every:,} are {proofs:,} recorded points; a study has "
            f"at most {MOST_POINTS:,} for each learner: prove less often"
        )
