"""Training of tables in a study that counts only results.

One kernel plays many learners with matchboxes that learn game by game.  All other learners use an ordinary trainer,
whose results are read at each recorded point.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ttt_batch.base.streams import PLAY, stream_key
from ttt_batch.learners import learner_named
from ttt_batch.learners.menace import MenaceTables
from ttt_batch.runs.config import Config
from ttt_batch.runs.recorder import Clock
from ttt_batch.simulation.chances import Probabilities, even_chances
from ttt_batch.studies.designs.family import Setting
from ttt_batch.studies.learning.learnt import Arrays, Worker, joined_results
from ttt_batch.training.kernels.matchboxes import (
    BoxSampler,
    Matchboxes,
    make_box_sampler,
    make_matchboxes,
    play_matchboxes,
)
from ttt_batch.training.plan import policy_of_opponent
from ttt_batch.training.trainers import make_trainer
from ttt_batch.training.trainers.base import start_tables

COUNTED_AT_ONCE = 1 << 22
"""Limit of the games of one kernel call, half a second in which a study cannot stop."""

COUNTED_LEARNERS_AT_ONCE = 1 << 14
"""Limit of the learners of one kernel call.  Their beads take 140 MB."""

MOST_EXACT = 1 << 30
"""Limit of games for exact beads: with at most a million beads a game they stay far below 2**53."""


class TallyWorker(Worker):
    """Per-thread worker that trains tables without evaluation and reuses its matchboxes."""

    def __init__(self, *, keep: bool, stop: Callable[[], bool]) -> None:
        super().__init__(keep=keep, stop=stop)
        self._made_for: Config | None = None
        self._boxes: Matchboxes | None = None
        self._hand: BoxSampler | None = None

    def _at_once(self, setting: Setting) -> int:
        return min(max(COUNTED_AT_ONCE // setting.games, 1), COUNTED_LEARNERS_AT_ONCE) if in_one_kernel(setting) else 1

    def _learn(self, setting: Setting, seeds: Sequence[int]) -> tuple[Arrays, Arrays] | None:
        return self._in_kernel(setting, seeds) if in_one_kernel(setting) else self._one(setting, seeds[0])

    def _in_kernel(self, setting: Setting, seeds: Sequence[int]) -> tuple[Arrays, Arrays]:
        config = setting.config
        if config != self._made_for:
            clock = Clock()
            self._make(setting)
            self.prepared += clock.seconds
        assert self._boxes is not None and self._hand is not None
        clock, boxes, points = Clock(), self._boxes, np.array(setting.points, np.int64)
        keys = np.array([stream_key(seed, PLAY) for seed in seeds], np.uint64)
        outcomes = np.zeros((len(seeds), points.size, 3), np.int64)
        ends = np.empty((len(seeds) if self._keep else 0, boxes.full.size))
        play_matchboxes(config.graph, boxes, self._hand, keys, points, outcomes, ends)
        tables = {"q": beads_of(config, boxes, ends)} if self._keep else {}
        return _statistics(outcomes, clock.seconds / len(seeds)), tables

    def _make(self, setting: Setting) -> None:
        """Make the kernel's arguments for a setting, and compile it."""
        config = setting.config
        assert setting.rival is not None  # learners with boxes have an opponent
        graph, rival = config.graph, policy_of_opponent(setting.rival, config)
        chances = rival if isinstance(rival, Probabilities) else even_chances(graph, rival)
        start, worth = start_tables(config, graph, [0])[0], learner_named(config.learner).worth(config.settings)
        self._boxes = make_matchboxes(graph, start.q, chances.chance, worth[0])
        self._hand, self._made_for = make_box_sampler(graph, self._boxes), config
        nothing = np.zeros(0, np.uint64), np.zeros(1, np.int64), np.zeros((0, 1, 3), np.int64)
        play_matchboxes(graph, self._boxes, self._hand, *nothing, np.empty((0, self._boxes.full.size)))

    def _one(self, setting: Setting, seed: int) -> tuple[Arrays, Arrays] | None:
        """Return statistics and tables of one trained learner; None if stopped."""
        rival, config = setting.rival, setting.config_for(seed)
        clock = Clock()
        trainer = make_trainer(config, rival=None if rival is None else policy_of_opponent(rival, config))
        found: list[Arrays] = []
        for point in setting.points:
            trainer.advance(point, self._stop)
            if trainer.games < point:
                if trainer.full:
                    raise MemoryError("the table is full")
                return None
            found.append({"outcomes": trainer.outcomes[None].astype(np.int64)})
        outcomes = joined_results(found)["outcomes"][None]
        if not self._keep:
            return _statistics(outcomes, clock.seconds), {}
        state = trainer.state()
        tables: dict[str, Any] = {**state.tables._asdict(), **({"visits": state.visits} if state.visits.size else {})}
        return _statistics(outcomes, clock.seconds), {name: array[None] for name, array in tables.items()}


def in_one_kernel(setting: Setting) -> bool:
    """Return whether a setting's learners are `menace`, learn game by game, and keep exact beads."""
    config = setting.config
    boxed = learner_named(config.learner).tables is MenaceTables and config.batch == 1 and config.engine == "walk"
    return boxed and not config.start and setting.games <= MOST_EXACT


def _statistics(outcomes: Any, seconds: float) -> Arrays:
    """Return the statistics.  outcomes: int64[n, T, 3].  seconds: total time of each learner."""
    several = np.full(outcomes.shape[:2], np.nan)
    several[:, -1] = seconds
    return {"seconds": several, "outcomes": outcomes}


def beads_of(config: Config, boxes: Matchboxes, ends: Any) -> Any:
    """Return float64[n, E]: the tables of n learners with these beads of each kind (float64[n, K])."""
    start = start_tables(config, config.graph, [0])[0].q
    return np.where(boxes.portion > 0.0, ends[:, boxes.kind], start)
