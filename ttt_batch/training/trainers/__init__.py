"""Trainers: they continue a run game by game or batch by batch; board, batch and engine decide how."""

from collections.abc import Callable
from typing import Any

from ttt_batch.game.growing_graph import MAX_ROWS
from ttt_batch.game.transcripts import Games
from ttt_batch.learners import learner_named
from ttt_batch.runs.config import OPPONENTS, Config
from ttt_batch.runs.state import State
from ttt_batch.simulation.chances import Chances
from ttt_batch.simulation.policy import Policy
from ttt_batch.simulation.walk import BLOCK
from ttt_batch.training.plan import rival_policy
from ttt_batch.training.trainers.base import Task, Trainer
from ttt_batch.training.trainers.batched import Flowing
from ttt_batch.training.trainers.growing import Growing, GrowingFlow
from ttt_batch.training.trainers.lockstep import InLockstep
from ttt_batch.training.trainers.mixture import (
    MixtureFlowing,
    MixtureGames,
    MixtureGrowing,
    MixtureGrowingFlow,
    MixtureWalking,
)
from ttt_batch.training.trainers.one_by_one import OneByOne
from ttt_batch.training.trainers.pieces import piecewise_from
from ttt_batch.training.trainers.ply_by_ply import PlyByPly
from ttt_batch.training.trainers.walk import Walking

WAYS: dict[str, dict[str, type[Trainer]]] = {
    "small": {"games": OneByOne, "walk": Walking, "flow": Flowing},
    "large": {"games": PlyByPly, "walk": InLockstep, "flow": Flowing},
    "grown": {"games": PlyByPly, "walk": Growing, "flow": GrowingFlow},
}
"""How to learn, by the kind of board (small and large ones are enumerated), then game by game or in batches."""

MIXED: dict[bool, dict[str, type[Trainer]]] = {
    False: {"games": MixtureGames, "walk": MixtureWalking, "flow": MixtureFlowing},
    True: {"games": MixtureGames, "walk": MixtureGrowing, "flow": MixtureGrowingFlow},
}
"""How to learn if moves have chances of their own, by whether the board grows."""


def way_to_learn(config: Config, rival: Policy | Chances | None = None) -> type[Trainer]:
    """The class of trainers for a configuration, and for a fixed opponent."""
    if config.by_chances or isinstance(rival, Chances):
        ways = MIXED[config.grown]
    else:
        ways = WAYS["grown" if config.grown else "small" if config.small else "large"]
    batches = "flow" if config.engine == "flow" else "walk"
    return ways["games" if config.batch == 1 else batches]


KERNELS: dict[type[Trainer], int] = {OneByOne: 5, Walking: 12, Flowing: 11}
"""How many kernels self-play on a small board and its judgement compile if none are cached."""


def kernels_needed(config: Config, games: int, threads: int) -> int:
    """How many kernels a training by self-play of `games` games compiles if none are cached; 0 if that is not known."""
    way = way_to_learn(config)
    needed = KERNELS.get(way, 0) if config.small else 0
    first = piecewise_from(config.batches, threads, Walking.games_per_thread, Walking.stop_every)
    if way is Walking and first < games:  # walked in pieces by three kernels more; all batches, by one fewer
        needed += 3 if first else 2
    return needed


def make_trainer(
    config: Config,
    *,
    rival: Policy | Chances | None = None,
    state: State | None = None,
    record: Callable[[Games], None] | None = None,
    threads: int = 1,
    block: int = BLOCK,
    max_rows: int = MAX_ROWS,
    games: int = 0,
    shares: Any = None,
) -> Trainer:
    """A trainer for `config`, from the first game on or from `state`; for the parameters see `Task`.

    A learner that never plays itself plays the opponent that its configuration names, unless `rival` is given.
    """
    if rival is None and learner_named(config.learner).boxes and config.opponent in OPPONENTS:
        rival = rival_policy(config.opponent, config)
    return way_to_learn(config, rival)(Task(config, rival, state, record, threads, block, max_rows, games, shares))
