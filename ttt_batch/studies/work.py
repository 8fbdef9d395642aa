"""Training of a study: chunks of learners go to a pool of threads or workers, and their results into the file.

The results do not depend on the pool or the order.  Stored learners are never trained again.
A task's name is the digest of its computation, so a scheduler that receives it twice runs it once.

One kernel plays many short runs of tables in batches on an enumerated board, in a workspace that a thread's learners
share, because making a trainer takes as long as 100,000 games.  Another one plays many learners with matchboxes that
learn game by game and are only counted.  All other learners use an ordinary training session, one after another.
"""

import hashlib
import pickle
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_batch.cluster.config import worker_identity
from ttt_batch.cluster.worker_pool import RemoteTask, TaskResult, WorkerPool
from ttt_batch.compiler.numerics import PLAY, stream_key
from ttt_batch.core.errors import LostStudyError, warn_python
from ttt_batch.core.files import shown
from ttt_batch.core.resources import startable_threads
from ttt_batch.core.signals import uninterrupted
from ttt_batch.core.text import count_text
from ttt_batch.evaluation.judgement import ProofSpace, make_proof_space
from ttt_batch.learners import homes_of, learner_named, with_learners
from ttt_batch.learners.tabular.menace import MenaceTables
from ttt_batch.runs.config import SEATS_IN_TURN, Config, make_pattern_config
from ttt_batch.runs.network_run import PatternRun
from ttt_batch.runs.run import Clock, Run
from ttt_batch.simulation.action_probabilities import Probabilities, even_chances
from ttt_batch.studies.designs.methods import NETWORKS, TABLES, TALLIES, Setting
from ttt_batch.studies.storage.layout import DONE, LAST, count_states
from ttt_batch.studies.storage.writing import StudyWriter, move_aside
from ttt_batch.training.kernels.train_many import Matchboxes, make_box_sampler, make_matchboxes, play_matchboxes
from ttt_batch.training.network_trainer import PatternTrainer
from ttt_batch.training.plan import Plan
from ttt_batch.training.session import Hooks, Session
from ttt_batch.training.trainers.base import policy_of_opponent, start_tables
from ttt_batch.training.trainers.batched import Batched, TrainedLearner, choose_trainer, make_trainer

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
            except MemoryError:
                failure = "not enough memory for this board or batch; choose a smaller one"
                break
            except Exception as error:
                failure = str(error) or type(error).__name__
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
        with (
            PatternTrainer(config, None, threads=1)
            if setting.family is NETWORKS
            else make_trainer(config, opponent=opponent)
        ) as trainer:
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


def final_tables(learnt: Run | PatternRun | TrainedLearner) -> Arrays:
    """Return the final tables by name, with `visits` if present; of networks the last weights and the proved ones."""
    if isinstance(learnt, PatternRun):
        weights, proved = learnt.learnt.weights, learnt.proved
        return {"weight": weights, "proved": np.zeros(weights.shape[1:], np.int32) if proved is None else proved}
    visits = {"visits": learnt.visits.reshape(learnt.tables[0].shape)} if learnt.visits.size else {}
    return {**learnt.tables._asdict(), **visits}


def _counted(outcomes: NDArray[np.int64], seconds: float) -> Arrays:
    """Return statistics.  outcomes: int64[n, T, 3].  seconds: total time of each learner."""
    several = np.full(outcomes.shape[:2], np.nan)
    several[:, -1] = seconds
    return {"seconds": several, "outcomes": outcomes}


def beads_of(config: Config, boxes: Matchboxes, ends: Any) -> Any:
    """Return float64[n, E]: the tables of n learners with these beads of each kind (float64[n, K])."""
    start = start_tables(config, config.graph, [0])[0].q
    return np.where(boxes.portion > 0.0, ends[:, boxes.kind], start)


class Part(NamedTuple):
    """Learners of one setting: the numbers of the setting and of their seeds."""

    setting: int
    seeds: list[int]


Chunk = list[Part]
"""Learners that a pool gets at once, of one or several settings."""


class Chunks:
    """Iterable of chunks of a study's missing learners, smaller at the end.

    Chunks that run at the same time have at most half of the remaining games.  So all slots stay busy until the end.
    """

    def __init__(self, study: StudyWriter, pool: "ThreadPool | WorkerPool") -> None:
        self._study, self._pool = study, pool
        self._speed = 0.0  # games a second
        self._begun, self._tried = 0, False
        games = np.array([setting.games for setting in study.design.settings], float)
        self._left = float(np.count_nonzero(study.state != DONE, axis=1) @ games)

    @property
    def wanted(self) -> int:
        """Return the number of chunks to start: at most one for each slot until the first is finished."""
        wanted = self._pool.wanted
        return wanted if self._tried else min(wanted, self._pool.slots - self._begun)

    def __iter__(self) -> Iterator[Chunk]:
        chunk: Chunk = []
        room = 1.0  # games left in the chunk; 1 makes a chunk of one learner
        for number, setting in enumerate(self._study.design.settings):
            seeds, begin = np.flatnonzero(self._study.state[number] != DONE), 0
            while begin < seeds.size:
                part = Part(number, seeds[begin : begin + max(1, int(room / setting.games))].tolist())
                chunk.append(part)
                begin += len(part.seeds)
                room -= len(part.seeds) * setting.games
                self._left -= len(part.seeds) * setting.games
                if room < setting.games:
                    self._begun += 1
                    yield chunk
                    chunk = []
                    room = min(self._speed * self._pool.chunk_seconds, self._left / (2 * max(self._pool.slots, 1)))
        if chunk:
            yield chunk

    def took(self, games: int, seconds: float) -> None:
        """Record the duration of a chunk.  games: 0 if all its learners failed."""
        self._tried = True
        if games:
            self._speed = games / max(seconds, 1e-6)


class ThreadPool(ThreadPoolExecutor):
    """Pool of threads of this process, with the interface of `WorkerPool`, in a `with` block.

    The system may start fewer threads than asked for.  Ctrl-C is handled when a call ends; see `uninterrupted`.
    chunk_seconds: desired duration of a chunk, short enough for frequent storing.  begun: tags of unfinished tasks.
    ending: set to make tasks end as soon as possible.
    """

    chunk_seconds = 0.5
    workers = None

    def __init__(self, threads: int) -> None:
        self.slots, self.ending = max(startable_threads(threads), 1), threading.Event()
        self.begun: dict[Future[Any], Any] = {}
        super().__init__(self.slots)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, *_: object) -> None:
        self.give_up()
        # After Ctrl-C do not wait: threads may compile or train for long.
        self.shutdown(wait=not isinstance(error, KeyboardInterrupt), cancel_futures=kind is not None)

    @property
    def wanted(self) -> int:
        """Return the number of further tasks to begin.  One task more than there are threads waits in the queue."""
        return self.slots + 1 - len(self.begun)

    @uninterrupted()
    def give_up(self) -> None:
        """Let all tasks end as soon as possible."""
        self.ending.set()

    @uninterrupted()
    def begin(self, tag: Any, task: RemoteTask) -> None:
        """Start a task."""
        self.begun[self.submit(task.function, *task.arguments)] = tag

    @uninterrupted()
    def ended(self, seconds: float) -> list[TaskResult]:
        """Return the finished tasks, after waiting up to `seconds` for the first one."""
        done, _ = wait(self.begun, seconds, FIRST_COMPLETED)
        return [TaskResult(self.begun.pop(one), one.result()) for one in done]


_own = threading.local()


def never() -> bool:
    """Return False: do not stop."""
    return False


def learn_parts(
    parts: Sequence[tuple[Setting, list[int]]], keep: bool, stop: Callable[[], bool]
) -> tuple[list[LearnerResults], float]:
    """Train the learners of a chunk; return the results of each part, and the seconds.

    parts: settings with their seeds.  A thread reuses its `Worker` for the next chunk.
    The seconds exclude the one-time loading of kernels, which would make the next chunks far too small.
    """
    if getattr(_own, "made_for", None) != (keep, stop):
        _own.worker, _own.made_for = Worker(keep=keep, stop=stop), (keep, stop)
    began, prepared = time.perf_counter(), _own.worker.prepared
    learnt = [_own.worker.learn(setting, seeds) for setting, seeds in parts]
    return learnt, time.perf_counter() - began - (_own.worker.prepared - prepared)


def learn_remotely(parts: bytes, keep: bool) -> tuple[list[LearnerResults], float]:
    """Train the learners of a chunk on a worker, as `learn_parts` does.

    parts: pickled, so that a worker of another version can first answer that it differs.
    """
    return learn_parts(pickle.loads(parts), keep, never)


LOOK_SECONDS = 0.1
"""Time between reports of progress, and longest time between calls of `stop`."""


@dataclass(frozen=True)
class StudyProgress:
    """Progress of a study.

    done, failed, total: numbers of learners.
    games: number of games since the start or resumption, in `seconds`.
    path: the current file, a new one if another program has removed or changed the first.
    workers: current number of workers of a cluster; None without one.
    """

    done: int
    failed: int
    total: int
    games: int
    seconds: float
    path: Path
    workers: int | None = None


def run_study(
    study: StudyWriter,
    *,
    threads: int,
    workers: WorkerPool | None = None,
    progress: Callable[[StudyProgress], None] | None = None,
    stop: Callable[[], bool] = lambda: False,
    say: Callable[[str], None] = warn_python,
) -> None:
    """Train and store all missing learners.

    threads: number of threads of this process, unless `workers` are given.
    progress: called about ten times a second.
    stop: called as often.  Once it returns True, no further chunk starts, and the running ones are stored.  Chunks of
    workers are cancelled.
    say: called with a line if another program has removed or changed the file and the study continues in a new one.
    Raises StudyFileError if a result cannot be stored, and ClusterError.  Earlier results are stored.
    """
    homes = () if workers is None else homes_of(setting.config.learner for setting in study.design.settings)
    with ThreadPool(threads) if workers is None else nullcontext(workers) as pool:
        work = _Work(study, pool, homes, progress, stop, say, time.perf_counter())
        try:
            while True:
                work.moved = False
                work.learn_missing()
                work.keep(study.sync)
                if not work.moved or stop():  # after a move, train lost learners again
                    break
        except BaseException:
            with suppress(LostStudyError):  # the original error says more
                study.sync()
            raise
        finally:
            pool.give_up()


@dataclass
class _Work:
    """Run of a study's chunks on a pool, which stores their results.

    homes: modules of learners that workers import.  began: time.  games: learnt from since then.
    moved: the study has a new file, without learners that the old one had.
    """

    study: StudyWriter
    pool: ThreadPool | WorkerPool
    homes: tuple[str, ...]
    progress: Callable[[StudyProgress], None] | None
    stop: Callable[[], bool]
    say: Callable[[str], None]
    began: float
    games: int = 0
    moved: bool = False

    def keep(self, store: Callable[[], object]) -> None:
        """Call `store`, in a new file if another program has removed or changed this one.  Raises StudyFileError."""
        try:
            store()
        except LostStudyError as error:
            lost, self.moved = move_aside(self.study), True
            again = f"; {count_text(lost, 'learner')} that it had {'is' if lost == 1 else 'are'} trained again"
            self.say(f"{error}; it is saved in {shown(self.study.path)} from now on{again if lost else ''}")
            store()
            self._report()  # the caller may have to name the file

    def learn_missing(self) -> None:
        """Train and store the missing learners, until all are done or `stop` ends it."""
        pool = self.pool
        chunks = Chunks(self.study, pool)
        todo, more, look = iter(chunks), True, self.began
        while more or pool.begun:
            if time.perf_counter() >= look:  # a report for each of 100,000 short chunks would be slow
                look = time.perf_counter() + LOOK_SECONDS
                self._report()
            if self.stop():
                more = False
                pool.give_up()
            while more and chunks.wanted > 0:
                if (chunk := next(todo, None)) is None:
                    more = False
                else:
                    pool.begin(chunk, self._task(chunk))
            for ended in pool.ended(LOOK_SECONDS):
                chunks.took(*self._store(ended))
        self._report()

    def _task(self, chunk: Chunk) -> RemoteTask:
        """Return the task of a chunk.  Its name is the digest of what it computes."""
        settings, seeds, keep = self.study.design.settings, self.study.seeds, self.study.keep == LAST
        parts = [(settings[part.setting], seeds[part.seeds].tolist()) for part in chunk]
        if isinstance(self.pool, ThreadPool):
            return RemoteTask("", learn_parts, (parts, keep, self.pool.ending.is_set))
        names = [(setting.key, seeds) for setting, seeds in parts]
        digest = hashlib.sha256(repr((worker_identity(), keep, names)).encode()).hexdigest()[:32]
        sent = self.homes, learn_remotely, pickle.dumps(parts), keep
        return RemoteTask(f"learn-{digest}", with_learners, sent)

    def _report(self) -> None:
        if self.progress is not None:
            state, seconds = self.study.state, time.perf_counter() - self.began
            count, path = count_states(state), self.study.path
            now = StudyProgress(
                count["done"], count["failed"], state.size, self.games, seconds, path, self.pool.workers
            )
            self.progress(now)

    def _store(self, ended: TaskResult) -> tuple[int, float]:
        """Store the results of a chunk; return its games, and the seconds that it took."""
        chunk: Chunk = ended.tag
        nothing = [LearnerResults({}, {}, ended.failure) for _ in chunk], 0.0
        learnt, seconds = nothing if ended.failure else ended.result
        games, alike = 0, dict[Any, list[tuple[Part, LearnerResults]]]()
        for part, found in zip(chunk, learnt, strict=True):
            if found.learners:
                games += found.learners * self.study.design.settings[part.setting].games
                arrays = [*found.statistics.items(), *found.tables.items()]
                alike.setdefault(tuple((name, array.shape[1:]) for name, array in arrays), []).append((part, found))
            if found.failure is not None:
                # Record the failure for the other seeds of the part, too.  `--resume` tries all of them again.
                for seed in part.seeds[found.learners :]:
                    self.keep(partial(self.study.fail, part.setting, seed, found.failure))
        for several in alike.values():  # together, because a store takes 0.3 ms
            settings = [part.setting for part, found in several for _ in range(found.learners)]
            seeds = [seed for part, found in several for seed in part.seeds[: found.learners]]
            statistics = joined_results([found.statistics for _, found in several])
            tables = joined_results([found.tables for _, found in several])
            self.keep(partial(self.study.store_many, settings, seeds, statistics, tables))
        self.games += games
        return games, seconds
