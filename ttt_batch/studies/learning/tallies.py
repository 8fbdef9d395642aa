"""Tables that learn in a study that counts their results, and judges none of them.

Learners with matchboxes that learn game by game are played by one kernel, many one after the other.  All others are
trainings like any other, looked at when a point is recorded.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ttt_batch.base.streams import PLAY, stream_key
from ttt_batch.learners import learner_named
from ttt_batch.learners.menace import MenaceTables
from ttt_batch.runs.config import Config
from ttt_batch.runs.recorder import Clock
from ttt_batch.simulation.chances import Chances, even_chances
from ttt_batch.studies.designs.family import Setting
from ttt_batch.studies.learning.learnt import Arrays, Room, joined
from ttt_batch.training.kernels.matchboxes import Hand, Matchboxes, make_hand, make_matchboxes, play_matchboxes
from ttt_batch.training.plan import rival_policy
from ttt_batch.training.trainers import make_trainer
from ttt_batch.training.trainers.base import start_tables

GAMES_AT_ONCE = 1 << 22
"""Games that one kernel may play: half a second, within which a study cannot be stopped."""

LEARNERS_AT_ONCE = 1 << 14
"""Learners of which a kernel may keep the beads: 140 MB."""

MOST_EXACT = 1 << 30
"""Games up to which beads, a million a game at most, are far from 2**53, above which not all whole numbers exist."""


class TallyRoom(Room):
    """Where they learn; what was made for boxes is used again."""

    def __init__(self, *, keep: bool, stop: Callable[[], bool]) -> None:
        super().__init__(keep=keep, stop=stop)
        self._made_for: Config | None = None
        self._boxes: Matchboxes | None = None
        self._hand: Hand | None = None

    def _at_once(self, setting: Setting) -> int:
        return min(max(GAMES_AT_ONCE // setting.games, 1), LEARNERS_AT_ONCE) if in_one_kernel(setting) else 1

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
        """What the kernel needs for a configuration, compiled."""
        config = setting.config
        assert setting.rival is not None  # whoever has boxes plays against somebody
        graph, rival = config.graph, rival_policy(setting.rival, config)
        chances = rival if isinstance(rival, Chances) else even_chances(graph, rival)
        start, worth = start_tables(config, graph, [0])[0], learner_named(config.learner).worth(config.settings)
        self._boxes = make_matchboxes(graph, start.q, chances.chance, worth[0])
        self._hand, self._made_for = make_hand(graph, self._boxes), config
        nothing = np.zeros(0, np.uint64), np.zeros(1, np.int64), np.zeros((0, 1, 3), np.int64)
        play_matchboxes(graph, self._boxes, self._hand, *nothing, np.empty((0, self._boxes.full.size)))

    def _one(self, setting: Setting, seed: int) -> tuple[Arrays, Arrays] | None:
        """The results, and the tables, of one training; None if it was stopped."""
        rival, config = setting.rival, setting.config_for(seed)
        clock = Clock()
        trainer = make_trainer(config, rival=None if rival is None else rival_policy(rival, config))
        found: list[Arrays] = []
        for point in setting.points:
            trainer.advance(point, self._stop)
            if trainer.games < point:
                if trainer.full:
                    raise MemoryError("the table is full")
                return None
            found.append({"outcomes": trainer.outcomes[None].astype(np.int64)})
        outcomes = joined(found)["outcomes"][None]
        if not self._keep:
            return _statistics(outcomes, clock.seconds), {}
        state = trainer.state()
        tables: dict[str, Any] = {**state.tables._asdict(), **({"visits": state.visits} if state.visits.size else {})}
        return _statistics(outcomes, clock.seconds), {name: array[None] for name, array in tables.items()}


def in_one_kernel(setting: Setting) -> bool:
    """Whether learners of a setting are `menace`, and learn game by game, as far as their beads stay exact."""
    config = setting.config
    boxed = learner_named(config.learner).tables is MenaceTables and config.batch == 1 and config.engine == "walk"
    return boxed and not config.start and setting.games <= MOST_EXACT


def _statistics(outcomes: Any, seconds: float) -> Arrays:
    """outcomes: int64[n, T, 3].  seconds: of each learner, up to its end."""
    several = np.full(outcomes.shape[:2], np.nan)
    several[:, -1] = seconds
    return {"seconds": several, "outcomes": outcomes}


def beads_of(config: Config, boxes: Matchboxes, ends: Any) -> Any:
    """float64[n, E]: the tables of n learners with these beads of each kind (float64[n, K])."""
    start = start_tables(config, config.graph, [0])[0].q
    return np.where(boxes.portion > 0.0, ends[:, boxes.kind], start)
