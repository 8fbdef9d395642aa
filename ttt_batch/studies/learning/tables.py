"""Training of a study's tables of positions.

One kernel plays many short runs in batches on an enumerated board, in a workspace that a thread's learners share,
because making a trainer takes as long as 100,000 games.  All other runs use an ordinary training session.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ttt_batch.evaluation.proof import ProofSpace, make_bench
from ttt_batch.runs.config import SEATS_IN_TURN
from ttt_batch.runs.recorder import Clock
from ttt_batch.runs.run import Run
from ttt_batch.studies.designs.family import Setting
from ttt_batch.studies.learning.learnt import Arrays, Worker
from ttt_batch.training.plan import Plan, policy_of_opponent
from ttt_batch.training.session import Session
from ttt_batch.training.trainers import choose_trainer, make_trainer
from ttt_batch.training.trainers.batched import Batched, TrainedLearner

GAMES_AT_ONCE = 1 << 25
"""Limit of the games of one kernel call, one or two seconds in which a study cannot stop."""

LEARNERS_AT_ONCE = 64
"""Limit of the learners of one kernel call.  Their start tables take 10 MB on 3x3."""


class TableWorker(Worker):
    """Per-thread worker that trains tables and reuses its objects for a board."""

    def __init__(self, *, keep: bool, stop: Callable[[], bool]) -> None:
        super().__init__(keep=keep, stop=stop)
        self._trainer: Batched | None = None
        self._bench: ProofSpace | None = None
        self._made_for: Any = None

    def _at_once(self, setting: Setting) -> int:
        return min(max(GAMES_AT_ONCE // setting.games, 1), LEARNERS_AT_ONCE) if is_short(setting) else 1

    def _learn(self, setting: Setting, seeds: Sequence[int]) -> tuple[Arrays, Arrays] | None:
        return self._in_kernel(setting, seeds) if is_short(setting) else self._in_session(setting, seeds[0])

    def _in_kernel(self, setting: Setting, seeds: Sequence[int]) -> tuple[Arrays, Arrays]:
        """Train short runs on an enumerated board in one kernel call.  The first axis of the arrays is the seed."""
        trainer, bench = self._trainer_for(setting)
        clock = Clock()
        points = np.array(setting.points, np.int64)
        learnt = trainer.follow(seeds, points, bench, keep=self._keep)
        seconds = np.full((len(seeds), points.size), np.nan)
        seconds[:, -1] = clock.seconds / len(seeds)
        statistics = {"seconds": seconds, "outcomes": learnt.outcomes, **learnt.verdicts._asdict()}
        return statistics, final_tables(learnt) if self._keep else {}

    def _trainer_for(self, setting: Setting) -> tuple[Batched, ProofSpace]:
        """Return a trainer with the numbers of a setting, and the workspace that evaluates its tables."""
        config, trainer, bench = setting.config, self._trainer, self._bench
        made_for = (*(getattr(config, name) for name in _LASTING), choose_trainer(config))
        if trainer is None or bench is None or made_for != self._made_for:
            clock = Clock()
            self._trainer = self._bench = None  # frees memory for the next one
            rival = None if setting.rival is None else policy_of_opponent(setting.rival, config)
            made = make_trainer(config, rival=rival)
            assert isinstance(made, Batched)
            trainer, bench = made, make_bench(made.graph, made.worth)
            trainer.follow([0], np.ones(1, np.int64), bench, keep=False)  # compiles the kernels
            self._trainer, self._bench, self._made_for = trainer, bench, made_for
            self.prepared += clock.seconds
        elif config != trainer.config:
            trainer.take(config)
        return trainer, bench._replace(worth=trainer.worth)

    def _in_session(self, setting: Setting, seed: int) -> tuple[Arrays, Arrays] | None:
        """Train one run as `train` does, and return its arrays with a first axis of length 1; None if stopped."""
        config, rival = setting.config_for(seed), setting.rival
        plan = Plan(config, setting.games, rival, None, None, {})
        trainer = make_trainer(config, rival=None if rival is None else policy_of_opponent(rival, config))
        run = Session(plan, trainer, Clock(), None, None, self._stop, lambda _: None, "", 1).train()
        if run.games < setting.games:
            if run.full:
                raise MemoryError("the table is full")
            return None
        statistics = {name: column[None] for name, column in run.statistics.items() if name != "games"}
        return statistics, {name: array[None] for name, array in final_tables(run).items()} if self._keep else {}


_LASTING = ("board", "learner", "symmetry", "engine", "opponent", "seat")
"""Fields of a configuration that need a new trainer.  The other fields are numbers."""


def is_short(setting: Setting) -> bool:
    """Return whether a setting's runs are short ones in batches, in one seat or self-play, on an enumerated board."""
    config = setting.config
    first, second = SEATS_IN_TURN[config.seat]
    batched = not config.grown and issubclass(choose_trainer(config), Batched)
    return batched and first == second and (setting.games <= GAMES_AT_ONCE or config.engine == "flow")


def final_tables(learnt: Run | TrainedLearner) -> Arrays:
    """Return the final tables by name, with `visits` if present."""
    return {**learnt.tables._asdict(), **({"visits": learnt.visits} if learnt.visits.size else {})}
