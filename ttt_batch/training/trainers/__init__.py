"""Trainers that continue a run by games or by batches; board, batch and engine select one."""

from typing import Any

from ttt_batch.agents.adapter import OpponentPolicy
from ttt_batch.learners import learner_named
from ttt_batch.runs.config import Config
from ttt_batch.runs.options import OPPONENTS
from ttt_batch.runs.run import Run
from ttt_batch.simulation.action_probabilities import Probabilities
from ttt_batch.simulation.policy import Policy
from ttt_batch.training.trainers.base import (
    Growing,
    GrowingFlow,
    OneByOne,
    PlyByPly,
    TableTrainer,
    TrainerOptions,
    policy_of_opponent,
)
from ttt_batch.training.trainers.batched import Flowing, InLockstep, MixtureWalking, Walking


def choose_trainer(config: Config, opponent: Policy | Probabilities | None = None) -> type[TableTrainer]:
    """Return the trainer class for a configuration and a fixed opponent."""
    by_chances = TrainerOptions(config, opponent).by_chances
    if config.batch == 1:
        return OneByOne if config.small and not by_chances else PlyByPly
    if config.engine == "flow":
        return GrowingFlow if config.grown else Flowing
    if config.grown:
        return Growing
    return MixtureWalking if by_chances else Walking if config.small else InLockstep


def make_trainer(
    config: Config, *, opponent: Run | OpponentPolicy | Policy | Probabilities | str | None = None, **options: Any
) -> TableTrainer:
    """Return a trainer for `config`, new or from a `state`; options: see `TrainerOptions`.

    opponent: the fixed one; a learner without self-play meets by default the one named in its configuration.
    """
    if opponent is None and len(learner_named(config.learner).seats) == 1 and config.opponent in OPPONENTS:
        opponent = config.opponent
    policy = policy_of_opponent(opponent, config) if isinstance(opponent, Run | OpponentPolicy | str) else opponent
    return choose_trainer(config, policy)(TrainerOptions(config, policy, **options))
