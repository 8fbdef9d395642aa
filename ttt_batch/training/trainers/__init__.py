"""Trainers that continue a run by games or by batches; board, batch and engine select one."""

from collections.abc import Callable
from typing import Any

from ttt_batch.games.graph import MAX_ROWS
from ttt_batch.games.transcripts import Games
from ttt_batch.learners import learner_named
from ttt_batch.runs.config import OPPONENTS, Config
from ttt_batch.runs.state import State
from ttt_batch.simulation.action_probabilities import Probabilities
from ttt_batch.simulation.policy import Policy
from ttt_batch.simulation.walk import BLOCK
from ttt_batch.training.trainers.base import TableTrainer, TrainerOptions, policy_of_opponent
from ttt_batch.training.trainers.batched import Flowing, InLockstep, Walking
from ttt_batch.training.trainers.ply_by_ply import (
    Growing,
    GrowingFlow,
    MixtureFlowing,
    MixtureGames,
    MixtureGrowing,
    MixtureGrowingFlow,
    MixtureWalking,
    OneByOne,
    PlyByPly,
)

WAYS: dict[str, dict[str, type[TableTrainer]]] = {
    "small": {"games": OneByOne, "walk": Walking, "flow": Flowing},
    "large": {"games": PlyByPly, "walk": InLockstep, "flow": Flowing},
    "grown": {"games": PlyByPly, "walk": Growing, "flow": GrowingFlow},
}
"""Trainer classes by kind of board (small and large ones are enumerated), and by games or the engine of batches."""

MIXED: dict[bool, dict[str, type[TableTrainer]]] = {
    False: {"games": MixtureGames, "walk": MixtureWalking, "flow": MixtureFlowing},
    True: {"games": MixtureGames, "walk": MixtureGrowing, "flow": MixtureGrowingFlow},
}
"""Trainer classes for moves with unequal probabilities, by whether the board grows."""


def choose_trainer(config: Config, opponent: Policy | Probabilities | None = None) -> type[TableTrainer]:
    """Return the trainer class for a configuration and a fixed opponent."""
    if config.by_chances or isinstance(opponent, Probabilities):
        ways = MIXED[config.grown]
    else:
        ways = WAYS["grown" if config.grown else "small" if config.small else "large"]
    batches = "flow" if config.engine == "flow" else "walk"
    return ways["games" if config.batch == 1 else batches]


def make_trainer(
    config: Config,
    *,
    opponent: Policy | Probabilities | None = None,
    state: State | None = None,
    record: Callable[[Games], None] | None = None,
    threads: int = 1,
    block: int = BLOCK,
    max_rows: int = MAX_ROWS,
    games: int = 0,
    shares: Any = None,
) -> TableTrainer:
    """Return a trainer for `config`, new or from `state`; for the parameters see `TrainerOptions`.

    A learner without self-play meets the opponent named in its configuration, unless `opponent` is given.
    """
    if opponent is None and learner_named(config.learner).boxes and config.opponent in OPPONENTS:
        opponent = policy_of_opponent(config.opponent, config)
    return choose_trainer(config, opponent)(
        TrainerOptions(config, opponent, state, record, threads, block, max_rows, games, shares)
    )
