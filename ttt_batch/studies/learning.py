"""What a study's learners compute: byte for byte what `train` records of the same setting and seed.

Short runs in batches on an enumerated board are played by one kernel, many one after the other, in working space that a
thread's learners share: to make a trainer takes as long as 100,000 games.  All others are trainings like any other.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_batch.evaluation.proof import Bench, make_bench
from ttt_batch.runs.config import SEATS_IN_TURN
from ttt_batch.runs.recorder import Clock
from ttt_batch.runs.run import Run
from ttt_batch.studies.designs.grid import Setting
from ttt_batch.studies.storage.layout import points_of
from ttt_batch.training.plan import Plan, rival_policy
from ttt_batch.training.session import Session
from ttt_batch.training.trainers import make_trainer, way_to_learn
from ttt_batch.training.trainers.batched import Batched, Followed

GAMES_AT_ONCE = 1 << 25
"""Games that one kernel may play: a second or two, within which a study cannot be stopped."""

LEARNERS_AT_ONCE = 64
"""Learners of which a kernel may have the start tables: 10 MB on 3x3."""

Arrays = dict[str, NDArray[Any]]


class Learnt(NamedTuple):
    """The results of n learners of a setting, the first of those asked for.

    statistics: arrays [n, points, ...] as `Recorder.statistics` has them for one, without games; seconds are NaN where
    they were not measured, and at the end the mean of those that learnt together.
    tables: arrays [n, ...] by name, if they are kept.
    failure: why the learner after the last one failed, None if it did not.
    """

    statistics: Arrays
    tables: Arrays
    failure: str | None = None

    @property
    def learners(self) -> int:
        """How many they are."""
        return len(self.statistics["outcomes"]) if self.statistics else 0

    @property
    def shapes(self) -> tuple[Any, ...]:
        """What arrays they have; results with the same can be `joined`."""
        return tuple((name, array.shape[1:]) for part in (self.statistics, self.tables) for name, array in part.items())


class Classroom:
    """Where one thread's learners learn, one after the other; what was made for a board is used again.

    keep: whether results include tables.  stop: whether to end as soon as may be.
    prepared: seconds that it took to make what is used again, kernels among it.
    """

    def __init__(self, *, keep: bool, stop: Callable[[], bool]) -> None:
        self._keep, self._stop = keep, stop
        self.prepared = 0.0
        self._trainer: Batched | None = None
        self._bench: Bench | None = None
        self._made_for: Any = None

    def learn(self, setting: Setting, seeds: Sequence[int]) -> Learnt:
        """Let the learners of some seeds learn, until one fails or `stop()` is true."""
        short = is_short(setting)
        at_once = min(max(GAMES_AT_ONCE // setting.games, 1), LEARNERS_AT_ONCE) if short else 1
        found: list[tuple[Arrays, Arrays]] = []
        failure = None
        for first in range(0, len(seeds), at_once):
            if self._stop():
                break
            several = seeds[first : first + at_once]
            try:
                learnt = self._in_kernel(setting, several) if short else self._in_session(setting, several[0])
            except Exception as error:
                failure = reason_of(error)
                break
            if learnt is None:
                break
            found.append(learnt)
        statistics, tables = (joined([arrays[part] for arrays in found]) for part in range(2))
        return Learnt(statistics, tables, failure)

    def _in_kernel(self, setting: Setting, seeds: Sequence[int]) -> tuple[Arrays, Arrays]:
        """Short runs of an enumerated board, in one kernel; arrays have an axis for the seeds before their own."""
        trainer, bench = self._trainer_for(setting)
        clock = Clock()
        points = np.array(points_of(trainer.batches, setting.games), np.int64)
        learnt = trainer.follow(seeds, points, bench, keep=self._keep)
        seconds = np.full((len(seeds), points.size), np.nan)
        seconds[:, -1] = clock.seconds / len(seeds)
        statistics = {"seconds": seconds, "outcomes": learnt.outcomes, **learnt.verdicts._asdict()}
        return statistics, tables_of(learnt) if self._keep else {}

    def _trainer_for(self, setting: Setting) -> tuple[Batched, Bench]:
        """A trainer with the numbers of a setting, and what judges its tables."""
        config, trainer, bench = setting.config, self._trainer, self._bench
        made_for = (*(getattr(config, name) for name in _LASTING), way_to_learn(config))
        if trainer is None or bench is None or made_for != self._made_for:
            clock = Clock()
            self._trainer = self._bench = None  # its room is free for the next one
            rival = None if setting.rival is None else rival_policy(setting.rival, config)
            made = make_trainer(config, rival=rival)
            assert isinstance(made, Batched)
            trainer, bench = made, make_bench(made.graph, made.worth)
            trainer.follow([0], np.ones(1, np.int64), bench, keep=False)  # compiles what it needs: that is no learning
            self._trainer, self._bench, self._made_for = trainer, bench, made_for
            self.prepared += clock.seconds
        elif config != trainer.config:
            trainer.take(config)
        return trainer, bench._replace(worth=trainer.worth)

    def _in_session(self, setting: Setting, seed: int) -> tuple[Arrays, Arrays] | None:
        """A run as `train` has it, its arrays as those of one of several; None if it was stopped."""
        config, rival = setting.config_for(seed), setting.rival
        plan = Plan(config, setting.games, rival, None, None, {})
        trainer = make_trainer(config, rival=None if rival is None else rival_policy(rival, config))
        run = Session(plan, trainer, Clock(), None, None, self._stop, lambda _: None, "", 1).train()
        if run.games < setting.games:
            if run.full:
                raise MemoryError("the table is full")
            return None
        statistics = {name: column[None] for name, column in run.statistics.items() if name != "games"}
        return statistics, {name: array[None] for name, array in tables_of(run).items()} if self._keep else {}


_LASTING = ("board", "learner", "symmetry", "engine", "opponent", "seat")
"""What a trainer is made for; the rest of a configuration are numbers."""


def is_short(setting: Setting) -> bool:
    """Whether a setting's runs are short ones of batches, in one seat or in self-play, on an enumerated board."""
    config = setting.config
    first, second = SEATS_IN_TURN[config.seat]
    batched = not config.grown and issubclass(way_to_learn(config), Batched)
    return batched and first == second and (setting.games <= GAMES_AT_ONCE or config.engine == "flow")


def tables_of(learnt: Run | Followed) -> Arrays:
    """The tables at the end, by name, with `visits` if there are any."""
    return {**learnt.tables._asdict(), **({"visits": learnt.visits} if learnt.visits.size else {})}


def joined(parts: list[Arrays]) -> Arrays:
    """Arrays of several learners, by name, one after the other."""
    return {name: np.concatenate([arrays[name] for arrays in parts]) for name in (parts or [{}])[0]}


def reason_of(error: Exception) -> str:
    """Why a learner failed, in a line."""
    if isinstance(error, MemoryError):
        return "not enough memory for this board or batch; choose a smaller one"
    return str(error) or type(error).__name__
