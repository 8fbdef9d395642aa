"""Per-thread workers that train a study's learners, and the results of these.

Training of a study's tables of positions.
One kernel plays many short runs in batches on an enumerated board, in a workspace that a thread's learners share,
because making a trainer takes as long as 100,000 games.  All other runs use an ordinary training session.

Training of tables in a study that counts only results.
One kernel plays many learners with matchboxes that learn game by game.  All other learners use an ordinary trainer,
whose results are read at each recorded point.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_batch.compiler.numerics import PLAY, stream_key
from ttt_batch.evaluation.judgement import ProofSpace, make_proof_space
from ttt_batch.learners import learner_named
from ttt_batch.learners.menace import MenaceTables
from ttt_batch.runs.config import SEATS_IN_TURN, Config
from ttt_batch.runs.network_config import PatternConfig, make_pattern_config
from ttt_batch.runs.network_run import PatternRun
from ttt_batch.runs.run import Clock, Run
from ttt_batch.simulation.action_probabilities import Probabilities, even_chances
from ttt_batch.studies.designs.methods import NETWORKS, TABLES, TALLIES, Method, Setting
from ttt_batch.training.kernels.train_many import (
    BoxSampler,
    Matchboxes,
    make_box_sampler,
    make_matchboxes,
    play_matchboxes,
)
from ttt_batch.training.network_trainer import PatternTrainer
from ttt_batch.training.plan import Plan
from ttt_batch.training.session import Hooks, Session
from ttt_batch.training.trainers import choose_trainer, make_trainer
from ttt_batch.training.trainers.base import policy_of_opponent, start_tables
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


class Worker(ABC):
    """Per-thread worker: trains learners one after another and reuses its buffers.

    keep: whether results include tables.  stop: returns whether to end as soon as possible.
    prepared: seconds spent on reusable objects, including kernels.
    """

    def __init__(self, *, keep: bool, stop: Callable[[], bool]) -> None:
        self._keep, self._stop = keep, stop
        self.prepared = 0.0

    def learn(self, setting: Setting, seeds: Sequence[int]) -> LearnerResults:
        """Train the learners of these seeds, until one fails or `stop()` returns True."""
        at_once = self._at_once(setting)
        found: list[tuple[Arrays, Arrays]] = []
        failure = None
        for first in range(0, len(seeds), at_once):
            if self._stop():
                break
            try:
                learnt = self._learn(setting, seeds[first : first + at_once])
            except Exception as error:
                failure = failure_reason(error)
                break
            if learnt is None:
                break
            found.append(learnt)
        statistics, tables = (joined_results([arrays[part] for arrays in found]) for part in range(2))
        return LearnerResults(statistics, tables, failure)

    @abstractmethod
    def _at_once(self, setting: Setting) -> int:
        """Return the maximum number of a setting's learners to train together."""

    @abstractmethod
    def _learn(self, setting: Setting, seeds: Sequence[int]) -> tuple[Arrays, Arrays] | None:
        """Return statistics and tables, [n, ...] each, of learners trained together; None if stopped."""


def joined_results(parts: list[Arrays]) -> Arrays:
    """Concatenate the arrays of several learners by name."""
    return {name: np.concatenate([arrays[name] for arrays in parts]) for name in (parts or [{}])[0]}


def failure_reason(error: Exception) -> str:
    """Return the reason of a learner's failure in one line."""
    if isinstance(error, MemoryError):
        return "not enough memory for this board or batch; choose a smaller one"
    return str(error) or type(error).__name__


class NetworkWorker(Worker):
    """Per-thread worker that trains networks."""

    def __init__(self, *, keep: bool, stop: Callable[[], bool]) -> None:
        super().__init__(keep=keep, stop=stop)
        self._ready = False

    def _at_once(self, setting: Setting) -> int:
        return 1

    def _learn(self, setting: Setting, seeds: Sequence[int]) -> tuple[Arrays, Arrays] | None:
        if not self._ready:
            clock = Clock()
            config = make_pattern_config(learner=setting.config.learner, prove_every=1)
            _train(config, config.round, self._stop)  # compiles the kernels
            self.prepared, self._ready = clock.seconds, True
        run = _train(setting.config_for(seeds[0]), setting.games, self._stop)
        if run.interrupted:
            return None
        statistics = {name: column[None] for name, column in run.statistics.items() if name != "games"}
        return statistics, {name: array[None] for name, array in _weights_of(run).items()} if self._keep else {}


def _train(config: PatternConfig, games: int, stop: Callable[[], bool]) -> PatternRun:
    """Return the run of `train` with this configuration, unfinished if `stop()` returned True."""
    clock = Clock()
    with PatternTrainer(config, None, threads=1) as trainer:
        run: PatternRun = Session(Plan(config, games), trainer, clock, Hooks(stop=stop)).train()
        return run


def _weights_of(run: PatternRun) -> Arrays:
    """Return the final weights, and those of each seat's last proof, by name."""
    weights = run.learnt.weights
    return {"weight": weights, "proved": np.zeros(weights.shape[1:], np.int32) if run.proved is None else run.proved}


GAMES_AT_ONCE = 1 << 25
"""Limit of the games of one kernel call, one or two seconds in which a study cannot stop."""

LEARNERS_AT_ONCE = 64
"""Limit of the learners of one kernel call.  Their start tables take 10 MB on 3x3."""


class TableWorker(Worker):
    """Per-thread worker that trains tables and reuses its objects for a board."""

    def __init__(self, *, keep: bool, stop: Callable[[], bool]) -> None:
        super().__init__(keep=keep, stop=stop)
        self._trainer: Batched | None = None
        self._proof_space: ProofSpace | None = None
        self._made_for: Any = None

    def _at_once(self, setting: Setting) -> int:
        return min(max(GAMES_AT_ONCE // setting.games, 1), LEARNERS_AT_ONCE) if is_short(setting) else 1

    def _learn(self, setting: Setting, seeds: Sequence[int]) -> tuple[Arrays, Arrays] | None:
        return self._in_kernel(setting, seeds) if is_short(setting) else self._in_session(setting, seeds[0])

    def _in_kernel(self, setting: Setting, seeds: Sequence[int]) -> tuple[Arrays, Arrays]:
        """Train short runs on an enumerated board in one kernel call.  The first axis of the arrays is the seed."""
        trainer, proof_space = self._trainer_for(setting)
        clock = Clock()
        points = np.array(setting.points, np.int64)
        learnt = trainer.follow(seeds, points, proof_space, keep=self._keep)
        seconds = np.full((len(seeds), points.size), np.nan)
        seconds[:, -1] = clock.seconds / len(seeds)
        statistics = {"seconds": seconds, "outcomes": learnt.outcomes, **learnt.verdicts._asdict()}
        return statistics, final_tables(learnt) if self._keep else {}

    def _trainer_for(self, setting: Setting) -> tuple[Batched, ProofSpace]:
        """Return a trainer with the numbers of a setting, and the workspace that evaluates its tables."""
        config, trainer, proof_space = setting.config, self._trainer, self._proof_space
        made_for = (*(getattr(config, name) for name in _LASTING), choose_trainer(config))
        if trainer is None or proof_space is None or made_for != self._made_for:
            clock = Clock()
            self._trainer = self._proof_space = None  # frees memory for the next one
            opponent = None if setting.plan_opponent is None else policy_of_opponent(setting.plan_opponent, config)
            made = make_trainer(config, opponent=opponent)
            assert isinstance(made, Batched)
            trainer, proof_space = made, make_proof_space(made.graph, made.worth)
            trainer.follow([0], np.ones(1, np.int64), proof_space, keep=False)  # compiles the kernels
            self._trainer, self._proof_space, self._made_for = trainer, proof_space, made_for
            self.prepared += clock.seconds
        elif config != trainer.config:
            trainer.take(config)
        return trainer, proof_space._replace(worth=trainer.worth)

    def _in_session(self, setting: Setting, seed: int) -> tuple[Arrays, Arrays] | None:
        """Train one run as `train` does, and return its arrays with a first axis of length 1; None if stopped."""
        config, opponent = setting.config_for(seed), setting.plan_opponent
        plan = Plan(config, setting.games, opponent)
        trainer = make_trainer(config, opponent=None if opponent is None else policy_of_opponent(opponent, config))
        run = Session(plan, trainer, Clock(), Hooks(stop=self._stop)).train()
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
        self._sampler: BoxSampler | None = None

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
        assert self._boxes is not None and self._sampler is not None
        clock, boxes, points = Clock(), self._boxes, np.array(setting.points, np.int64)
        keys = np.array([stream_key(seed, PLAY) for seed in seeds], np.uint64)
        outcomes = np.zeros((len(seeds), points.size, 3), np.int64)
        ends = np.empty((len(seeds) if self._keep else 0, boxes.full.size))
        play_matchboxes(config.graph, boxes, self._sampler, keys, points, outcomes, ends)
        tables = {"q": beads_of(config, boxes, ends)} if self._keep else {}
        return _statistics(outcomes, clock.seconds / len(seeds)), tables

    def _make(self, setting: Setting) -> None:
        """Make the kernel's arguments for a setting, and compile it."""
        config = setting.config
        assert setting.plan_opponent is not None  # learners with boxes have an opponent
        graph, opponent = config.graph, policy_of_opponent(setting.plan_opponent, config)
        chances = opponent if isinstance(opponent, Probabilities) else even_chances(graph, opponent)
        start, worth = start_tables(config, graph, [0])[0], learner_named(config.learner).worth(config.settings)
        self._boxes = make_matchboxes(graph, start.q, chances.chance, worth[0])
        self._sampler, self._made_for = make_box_sampler(graph, self._boxes), config
        nothing = np.zeros(0, np.uint64), np.zeros(1, np.int64), np.zeros((0, 1, 3), np.int64)
        play_matchboxes(graph, self._boxes, self._sampler, *nothing, np.empty((0, self._boxes.full.size)))

    def _one(self, setting: Setting, seed: int) -> tuple[Arrays, Arrays] | None:
        """Return statistics and tables of one trained learner; None if stopped."""
        opponent, config = setting.plan_opponent, setting.config_for(seed)
        clock = Clock()
        trainer = make_trainer(config, opponent=None if opponent is None else policy_of_opponent(opponent, config))
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


_ROOMS: Mapping[str, type[Worker]] = {TABLES.name: TableWorker, NETWORKS.name: NetworkWorker, TALLIES.name: TallyWorker}


def make_worker(family: Method, *, keep: bool, stop: Callable[[], bool]) -> Worker:
    """Return a per-thread worker (`Worker`) for learners of a family."""
    return _ROOMS[family.name](keep=keep, stop=stop)
