"""Entry point of the training of pattern networks, and checks of its options."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ttt_batch.base.choices import PATTERN_LEARNERS, find_name
from ttt_batch.base.errors import UsageError, command_with, flag, quoted
from ttt_batch.base.quantities import Number, parse_int
from ttt_batch.runs.patterns.config import PatternConfig, PatternOptions, make_pattern_config
from ttt_batch.runs.patterns.run import PatternRun
from ttt_batch.runs.recorder import Clock
from ttt_batch.training.patterns.session import Callbacks, PatternSession
from ttt_batch.training.patterns.trainer import PatternTrainer, next_point, whole_rounds
from ttt_batch.training.plan import goal_of

GAMES = 100_000
"""Default number of games."""

MAX_NETWORK_GAMES = 10**15

LONGEST = 60
"""Maximum of characters of a setting in a message; tuples may be very long."""

SHARED = ("learner", "board", "epsilon", "alpha", "gamma", "batch", "seed")
"""Options that tables and pattern networks share."""


def train_patterns(
    games: Number | None,
    options: dict[str, Any],
    seat: str | None,
    before: PatternRun | None,
    name: str,
    more: Number | None,
    until: Number | None,
    followers: Callbacks,
) -> PatternRun:
    """Train pattern networks, with proofs to the end of the last proof, and return the run without saving it.

    options: `AllOptions` without the seat.  before: the run to continue, if any, called `name` in messages.
    games, more, until, errors: as for `training.train.train_command`.
    """
    options = options if seat is None else options | {"seat": seat}
    if before is None:
        asked = parse_int("games", GAMES if games is None else games, 1, MAX_NETWORK_GAMES)
        config = make_pattern_config(**options)
        config = with_first_proof_by(config, asked, given="prove_every" in options)
    else:
        if before.config.start:
            raise UsageError(
                f"{name} learnt from given games, which a training does not repeat; continue with "
                f"{command_with('learn-from', 'run')}, or train a new run"
            )
        config, asked = before.config, goal_of(before, name, more, until, unfinished=before.lacks_proof)
        _check_unchanged(config, options, name)
    clock = Clock(0.0 if before is None else float(before.provenance.get("seconds", 0.0)))
    end = last_game(config, asked)
    with PatternTrainer(config, before, followers.threads) as trainer:
        return PatternSession(config, end, before, trainer, clock, followers).train()


def with_first_proof_by(config: PatternConfig, games: int, *, given: bool) -> PatternConfig:
    """Return the configuration of a run of `games` games, with its first proof at the end if that would come later.

    given: whether the user chose the interval of proofs.  Then raise UsageError instead of changing it.
    """
    if config.prove_every <= games:
        return config
    if given:
        every = flag("prove_every", config.prove_every)
        raise UsageError(f"{games:,} games end before the first proof of {every}; give more games, or prove more often")
    return replace(config, prove_every=games)


def is_network(learner: object) -> bool:
    """Return whether a learner, in any spelling, uses pattern networks."""
    return find_name(learner, PATTERN_LEARNERS) is not None


def network_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options with `lambda_` renamed to `trace`, its name for networks.  Raises UsageError if both are given."""
    if "lambda_" in options and "trace" in options:
        raise UsageError(f"{flag('lambda_')} and {flag('trace')} mean the same; leave one out")
    return {"trace" if name == "lambda_" else name: value for name, value in options.items()}


def check_networks(options: Mapping[str, object], given: Mapping[str, object]) -> None:
    """Raise UsageError for given options and parameters that pattern networks do not support.

    options: `training.train.TrainOptions`.  given: parameters of `train` that networks do not support.
    """
    others = [name for name in options if name not in (*SHARED, *PatternOptions.__annotations__)]
    for name in [*(name for name, value in given.items() if value), *others]:
        raise UsageError(f"{flag(name)} is for tables of positions, which pattern networks are not; leave it out")


def check_tables(options: Mapping[str, object]) -> None:
    """Raise UsageError for options that only pattern networks support."""
    for name in PatternOptions.__annotations__:
        if name in options:
            remedy = f"add {flag('learner', 'patterns')}, or leave it out"
            raise UsageError(f"{flag(name)} is for pattern networks; {remedy}")


def last_game(config: PatternConfig, games: int) -> int:
    """Round up `games` to a whole round of batches, or with proofs to the next proof."""
    return next_point(config, games - 1) if config.prove_every else whole_rounds(config, games)


def _check_unchanged(config: PatternConfig, options: dict[str, Any], name: str) -> None:
    """Raise UsageError for settings that differ from those of the continued run."""
    given = {name: value for name, value in options.items() if value is not None}
    learner = given.get("learner", config.learner)
    if learner not in PATTERN_LEARNERS:
        raise UsageError(
            f"{name} was trained with learner {config.learner}, not {quoted(str(learner))}; leave that out"
        )
    asked, trained = make_pattern_config(**{**config.to_dict(), **given}).to_dict(), config.to_dict()
    for key, value in asked.items():
        if value != trained[key]:
            said, were = (
                str(one) if len(str(one)) <= LONGEST else f"{str(one)[:LONGEST]} ..." for one in (value, trained[key])
            )
            raise UsageError(f"{name} was trained with {flag(key)} {were}, not {said}; leave that out")
