"""Per-thread worker that trains a study's learners, and their results.

One kernel plays many short runs of tables in batches on an enumerated board, in a workspace that a thread's learners
share, because making a trainer takes as long as 100,000 games.  Another one plays many learners with matchboxes that
learn game by game and are only counted.  All other learners use an ordinary training session, one after another.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_batch.compiler.numerics import PLAY, stream_key
from ttt_batch.evaluation.judgement import ProofSpace, make_proof_space
from ttt_batch.learners import learner_named
from ttt_batch.learners.tabular.menace import MenaceTables
from ttt_batch.runs.config import SEATS_IN_TURN, Config, make_pattern_config
from ttt_batch.runs.network_run import PatternRun
from ttt_batch.runs.run import Clock, Run
from ttt_batch.simulation.action_probabilities import Probabilities, even_chances
from ttt_batch.studies.designs.methods import NETWORKS, TABLES, TALLIES, Setting
from ttt_batch.training.kernels.train_many import (
    Matchboxes,
    make_box_sampler,
    make_matchboxes,
    play_matchboxes,
)
from ttt_batch.training.network_trainer import PatternTrainer
from ttt_batch.training.plan import Plan
from ttt_batch.training.session import Hooks, Session
from ttt_batch.training.trainers import choose_trainer, make_trainer
from ttt_batch.training.trainers.base import TableTrainer, policy_of_opponent, start_tables
from ttt_batch.training.trainers.batched import Batched, TrainedLearner

Arrays = dict[str, NDArray[Any]]


class LearnerResults(NamedTuple):
    """Results of n learners of a setting, for the first n seeds of the request.

    statistics: arrays [n, points, ...], each learner's as in a run of `train`, without games.  Seconds are NaN where
    not measured, and at the end the mean of the learners trained together.
    tables: arrays [n, ...] by name, if kept.
    failure: reason of the failure of the next learner, None if it did not fail.
    """

    statistics: Arrays
    tables: Arrays
    failure: str | None = None

    @property
    def learners(self) -> int:
        """Return the number of learners."""
        return len(self.statistics["outcomes"]) if self.statistics else 0

    @property
    def shapes(self) -> tuple[Any, ...]:
        """Return names and shapes of the arrays.  Results with equal shapes can be `joined_results`."""
        return tuple((name, array.shape[1:]) for part in (self.statistics, self.tables) for name, array in part.items())


GAMES_AT_ONCE, LEARNERS_AT_ONCE = 1 << 25, 64
"""Limits of one kernel call: games, for one or two seconds in which a study cannot stop, and learners, whose start
tables take 10 MB on 3x3."""

COUNTED_AT_ONCE, COUNTED_LEARNERS_AT_ONCE = 1 << 22, 1 << 14
"""The same limits for matchboxes: half a second, and 140 MB of beads."""

MOST_EXACT = 1 << 30
"""Limit of games for exact beads: with at most a million beads a game they stay far below 2**53."""

_LASTING = ("board", "learner", "symmetry", "engine", "opponent", "seat")
"""Fields of a configuration that need a new trainer.  The other fields are numbers."""


class Worker:
    """Per-thread worker: trains learners one after another and reuses its buffers.

    keep: whether results include tables.  stop: returns whether to end as soon as possible.
    prepared: seconds spent on reusable objects, including kernels.
    """

    def __init__(self, *, keep: bool, stop: Callable[[], bool]) -> None:
        self._keep, self._stop = keep, stop
        self.prepared = 0.0
        self._made_for: Any = None  # the learners that the reusable objects fit
        self._made: Any = None

    def learn(self, setting: Setting, seeds: Sequence[int]) -> LearnerResults:
        """Train the learners of these seeds, until one fails or `stop()` returns True."""
        at_once, learn = 1, self._in_session
        if in_one_kernel(setting):
            at_once, learn = min(COUNTED_AT_ONCE // setting.games, COUNTED_LEARNERS_AT_ONCE), self._in_boxes
        elif is_short(setting):
            at_once, learn = min(GAMES_AT_ONCE // setting.games, LEARNERS_AT_ONCE), self._in_kernel
        at_once, found, failure = max(at_once, 1), list[tuple[Arrays, Arrays]](), None
        for first in range(0, len(seeds), at_once):
            if self._stop():
                break
            try:
                learnt = learn(setting, seeds[first : first + at_once])
            except Exception as error:
                failure = failure_reason(error)
                break
            if learnt is None:
                break
            found.append(learnt)
        statistics, tables = (joined_results([arrays[part] for arrays in found]) for part in range(2))
        return LearnerResults(statistics, tables, failure)

    def _in_session(self, setting: Setting, seeds: Sequence[int]) -> tuple[Arrays, Arrays] | None:
        """Train one learner as `train` does; return its arrays with a first axis of length 1, None if stopped."""
        if setting.family is NETWORKS and self._made_for is not NETWORKS:
            self._made_for, clock = NETWORKS, Clock()
            config = make_pattern_config(learner=setting.config.learner, prove_every=1)
            short = replace(setting, config=config, games=config.round)
            self._in_session(short, seeds)  # compiles the kernels
            self.prepared += clock.seconds
        config, opponent, clock = setting.config_for(seeds[0]), setting.plan_opponent, Clock()
        networks = setting.family is NETWORKS
        with (
            PatternTrainer(config, None, threads=1)
            if networks
            else make_trainer(config, opponent=setting.plan_opponent) as trainer
        ):
            if setting.family is TALLIES:
                outcomes = []
                for point in setting.points:
                    trainer.advance(point, self._stop)
                    outcomes.append(trainer.outcomes)
                    if trainer.games < point:
                        break
                run = trainer.run({})
                statistics = _counted(np.stack(outcomes)[None], clock.seconds)
            else:
                run = Session(Plan(config, setting.games, opponent), trainer, clock, Hooks(stop=self._stop)).train()
                statistics = {name: column[None] for name, column in run.statistics.items() if name != "games"}
        if run.full:
            raise MemoryError("the table is full")
        if run.games < setting.games or run.interrupted:
            return None
        return statistics, {name: array[None] for name, array in final_tables(run).items()} if self._keep else {}

    def _in_kernel(self, setting: Setting, seeds: Sequence[int]) -> tuple[Arrays, Arrays]:
        """Train short runs on an enumerated board in one kernel call.  The first axis of the arrays is the seed."""
        trainer, proof_space = self._trainer_for(setting)
        clock = Clock()
        points = np.array(setting.points, np.int64)
        learnt = trainer.follow(seeds, points, proof_space, keep=self._keep)
        statistics = _counted(learnt.outcomes, clock.seconds / len(seeds)) | learnt.verdicts._asdict()
        return statistics, final_tables(learnt) if self._keep else {}

    def _trainer_for(self, setting: Setting) -> tuple[Batched, ProofSpace]:
        """Return a trainer with the numbers of a setting, and the workspace that evaluates its tables."""
        config = setting.config
        made_for = (*(getattr(config, name) for name in _LASTING), choose_trainer(config))
        if made_for != self._made_for:
            clock, self._made, self._made_for = Clock(), None, None  # frees memory for the next one
            trainer = make_trainer(config, opponent=setting.plan_opponent)
            assert isinstance(trainer, Batched)
            self._made = trainer, make_proof_space(trainer.graph, trainer.worth)
            trainer.follow([0], np.ones(1, np.int64), self._made[1], keep=False)  # compiles the kernels
            self._made_for = made_for
            self.prepared += clock.seconds
        trainer, proof_space = self._made
        if config != trainer.config:
            trainer.take(config)
        return trainer, proof_space._replace(worth=trainer.worth)

    def _in_boxes(self, setting: Setting, seeds: Sequence[int]) -> tuple[Arrays, Arrays]:
        """Train learners with matchboxes in one kernel call.  The first axis of the arrays is the seed."""
        config = setting.config
        if config != self._made_for:
            clock = Clock()
            self._make_boxes(setting)
            self.prepared += clock.seconds
        boxes, sampler = self._made
        clock, points = Clock(), np.array(setting.points, np.int64)
        keys = np.array([stream_key(seed, PLAY) for seed in seeds], np.uint64)
        outcomes = np.zeros((len(seeds), points.size, 3), np.int64)
        ends = np.empty((len(seeds) if self._keep else 0, boxes.full.size))
        play_matchboxes(config.graph, boxes, sampler, keys, points, outcomes, ends)
        tables = {"q": beads_of(config, boxes, ends)} if self._keep else {}
        return _counted(outcomes, clock.seconds / len(seeds)), tables

    def _make_boxes(self, setting: Setting) -> None:
        """Make the kernel's arguments for a setting, and compile it."""
        config = setting.config
        assert setting.plan_opponent is not None  # learners with boxes have an opponent
        graph, opponent = config.graph, policy_of_opponent(setting.plan_opponent, config)
        chances = opponent if isinstance(opponent, Probabilities) else even_chances(graph, opponent)
        start, worth = start_tables(config, graph, [0])[0], learner_named(config.learner).worth(config.settings)
        boxes = make_matchboxes(graph, start.q, chances.chance, worth[0])
        sampler = make_box_sampler(graph, boxes)
        self._made, self._made_for = (boxes, sampler), config
        nothing = np.zeros(0, np.uint64), np.zeros(1, np.int64), np.zeros((0, 1, 3), np.int64)
        play_matchboxes(graph, boxes, sampler, *nothing, np.empty((0, boxes.full.size)))


def is_short(setting: Setting) -> bool:
    """Return whether a setting's runs are short ones in batches, in one seat or self-play, on an enumerated board."""
    config = setting.config
    if setting.family is not TABLES or config.grown or not issubclass(choose_trainer(config), Batched):
        return False
    first, second = SEATS_IN_TURN[config.seat]
    return first == second and (setting.games <= GAMES_AT_ONCE or config.engine == "flow")


def in_one_kernel(setting: Setting) -> bool:
    """Return whether a setting's learners are counted, are `menace`, learn game by game, and keep exact beads."""
    config = setting.config
    if setting.family is not TALLIES or learner_named(config.learner).tables is not MenaceTables:
        return False
    return config.batch == 1 and config.engine == "walk" and not config.start and setting.games <= MOST_EXACT


def joined_results(parts: list[Arrays]) -> Arrays:
    """Concatenate the arrays of several learners by name."""
    return {name: np.concatenate([arrays[name] for arrays in parts]) for name in (parts or [{}])[0]}


def failure_reason(error: Exception) -> str:
    """Return the reason of a learner's failure in one line."""
    if isinstance(error, MemoryError):
        return "not enough memory for this board or batch; choose a smaller one"
    return str(error) or type(error).__name__


def final_tables(learnt: Run | PatternRun | TrainedLearner) -> Arrays:
    """Return the final tables by name, with `visits` if present; of networks the last weights and the proved ones."""
    if isinstance(learnt, PatternRun):
        weights, proved = learnt.learnt.weights, learnt.proved
        return {"weight": weights, "proved": np.zeros(weights.shape[1:], np.int32) if proved is None else proved}
    return {**learnt.tables._asdict(), **({"visits": learnt.visits} if learnt.visits.size else {})}


def _counted(outcomes: NDArray[np.int64], seconds: float) -> Arrays:
    """Return statistics.  outcomes: int64[n, T, 3].  seconds: total time of each learner."""
    several = np.full(outcomes.shape[:2], np.nan)
    several[:, -1] = seconds
    return {"seconds": several, "outcomes": outcomes}


def beads_of(config: Config, boxes: Matchboxes, ends: Any) -> Any:
    """Return float64[n, E]: the tables of n learners with these beads of each kind (float64[n, K])."""
    start = start_tables(config, config.graph, [0])[0].q
    return np.where(boxes.portion > 0.0, ends[:, boxes.kind], start)
