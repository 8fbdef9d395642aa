"""Loop that trains a study: it gives chunks of learners to a pool of threads or workers and stores their results.

The results do not depend on the pool or the order.  Stored learners are never trained again.
Workers get a chunk as plain data, and its results return as arrays.  A task's name is the digest of its computation,
so a scheduler that receives it twice runs it once.
"""

import hashlib
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

import numpy as np

from ttt_batch.cluster.config import worker_identity
from ttt_batch.cluster.worker_pool import RemoteTask, TaskResult, WorkerPool
from ttt_batch.core.errors import LostStudyError, warn_python
from ttt_batch.core.files import shown
from ttt_batch.core.resources import startable_threads
from ttt_batch.core.text import count_text
from ttt_batch.learners import homes_of, with_learners
from ttt_batch.runs.loading import run_from
from ttt_batch.runs.run import Run
from ttt_batch.runs.storage.writing import run_bytes
from ttt_batch.studies.designs.design import FAMILIES
from ttt_batch.studies.designs.methods import RunOpponent, Setting
from ttt_batch.studies.learning import LearnerResults, Worker, joined_results
from ttt_batch.studies.storage.layout import DONE, FAILED, LAST
from ttt_batch.studies.storage.writing import StudyWriter, move_aside


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
            seeds, begin = self._study.missing_seeds(number), 0
            while begin < seeds.size:
                part = Part(number, seeds[begin : begin + max(1, int(room / setting.games))].tolist())
                chunk.append(part)
                begin += len(part.seeds)
                room -= len(part.seeds) * setting.games
                self._left -= len(part.seeds) * setting.games
                if room < setting.games:
                    self._begun += 1
                    yield chunk
                    chunk, room = [], self._room()
        if chunk:
            yield chunk

    def _room(self) -> float:
        """Return the number of games of the next chunk."""
        return min(self._speed * self._pool.chunk_seconds, self._left / (2 * max(self._pool.slots, 1)))

    def took(self, games: int, seconds: float) -> None:
        """Record the duration of a chunk.  games: 0 if all its learners failed."""
        self._tried = True
        if games:
            self._speed = games / max(seconds, 1e-6)


class ThreadPool:
    """Pool of threads of this process, with the interface of `WorkerPool`, in a `with` block.

    The system may start fewer threads than asked for.
    chunk_seconds: desired duration of a chunk, short enough for frequent storing.
    """

    chunk_seconds = 0.5
    workers = None

    def __init__(self, threads: int) -> None:
        self.slots, self.ending = max(startable_threads(threads), 1), threading.Event()
        self._begun: dict[Future[Any], Any] = {}
        self._pool = ThreadPoolExecutor(self.slots)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.give_up()
        # After Ctrl-C do not wait: threads may compile or train for long.
        self._pool.shutdown(wait=not isinstance(error, KeyboardInterrupt), cancel_futures=kind is not None)

    @property
    def wanted(self) -> int:
        """Return the number of further tasks to begin.  One task more than there are threads waits in the queue."""
        return self.slots + 1 - len(self._begun)

    @property
    def busy(self) -> bool:
        """Return whether a task is unfinished."""
        return bool(self._begun)

    def begin(self, tag: Any, task: RemoteTask) -> None:
        """Start a task."""
        self._begun[self._pool.submit(task.function, *task.arguments)] = tag

    def ended(self, seconds: float) -> list[TaskResult]:
        """Return the finished tasks, after waiting up to `seconds` for the first one."""
        done, _ = wait(self._begun, seconds, FIRST_COMPLETED)
        return [TaskResult(self._begun.pop(one), one.result()) for one in done]

    def give_up(self) -> None:
        """Make tasks end as soon as possible."""
        self.ending.set()


_own = threading.local()


class Sent(NamedTuple):
    """Learners of one setting for a worker.

    family: name of the family.  config: from `Config.to_dict`.
    opponent: None in self-play, a name, or the bytes of a run's file.
    """

    family: str
    config: dict[str, Any]
    games: int
    opponent: str | bytes | None
    seeds: list[int]


def learn_parts(parts: Sequence[Sent], keep: bool) -> tuple[list[tuple[Any, ...]], float]:
    """Train the learners of a chunk on a worker, and return a `LearnerResults` for each part, and the seconds.

    A thread reuses its `Worker` for the next chunk.  The seconds exclude the one-time loading of kernels, which would
    make the next chunks far too small.
    """
    made_for = parts[0][0], keep
    room = getattr(_own, "room", None)
    if room is None or _own.made_for != made_for:
        room = _own.room = Worker(keep=keep, stop=lambda: False)
        _own.made_for = made_for
    began, prepared = time.perf_counter(), room.prepared
    learnt = [tuple(room.learn(_setting(part), part.seeds)) for part in map(Sent._make, parts)]
    return learnt, time.perf_counter() - began - (room.prepared - prepared)


def _setting(part: Sent) -> Setting:
    """Return the setting of a part, as in the study."""
    family, opponent = FAMILIES[part.family], part.opponent
    config = family.config_from(part.config)
    if not isinstance(opponent, bytes):
        return Setting(family, config, part.games, opponent)
    digest = part.config["opponent"]
    return Setting(family, config, part.games, RunOpponent(digest, digest, _opponent(opponent)))


@lru_cache(maxsize=4)
def _opponent(content: bytes) -> Run:
    return run_from(content)


class LocalTasks:
    """Maker of the tasks of a study's chunks for a pool of threads."""

    def __init__(self, study: StudyWriter, pool: ThreadPool) -> None:
        self._study, self._own, self._stop = study, threading.local(), pool.ending.is_set

    def task(self, chunk: Chunk) -> RemoteTask:
        """Return the task of a chunk."""
        return RemoteTask("", self._learn, (chunk,))

    def _learn(self, chunk: Chunk) -> tuple[list[LearnerResults], float]:
        """Train the learners of a chunk on a thread, as `learn_parts` does on a worker."""
        if not hasattr(self._own, "room"):
            self._own.room = Worker(keep=self._study.keep == LAST, stop=self._stop)
        began = time.perf_counter()
        settings, seeds = self._study.design.settings, self._study.seeds
        learnt = [self._own.room.learn(settings[part.setting], seeds[part.seeds].tolist()) for part in chunk]
        return learnt, time.perf_counter() - began


class RemoteTasks:
    """Maker of the tasks of a study's chunks for the workers of a cluster.

    Raises UsageError for a learner that workers cannot import.
    """

    def __init__(self, study: StudyWriter) -> None:
        self._study, self._keep = study, study.keep == LAST
        self._homes = homes_of(setting.config.learner for setting in study.design.settings)
        self._files: dict[str, bytes] = {}

    def task(self, chunk: Chunk) -> RemoteTask:
        """Return the task of a chunk."""
        parts, names = [], []
        for part in chunk:
            setting, seeds = self._study.design.settings[part.setting], self._study.seeds[part.seeds].tolist()
            opponent = self._opponent(setting)
            sent = Sent(setting.family.name, setting.config.to_dict(), setting.games, opponent, seeds)
            parts.append(tuple(sent))
            names.append((setting.key, seeds))
        digest = hashlib.sha256(repr((worker_identity(), self._keep, names)).encode()).hexdigest()[:32]
        return RemoteTask(f"learn-{digest}", with_learners, (self._homes, learn_parts, parts, self._keep))

    def _opponent(self, setting: Setting) -> str | bytes | None:
        """Return the opponent of a setting in the form of `Sent`."""
        opponent = setting.opponent
        if not isinstance(opponent, RunOpponent):
            return opponent
        if opponent.digest not in self._files:
            self._files[opponent.digest] = run_bytes(opponent.run.data())
        return self._files[opponent.digest]


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
    crew: WorkerPool | None = None,
    progress: Callable[[StudyProgress], None] | None = None,
    stop: Callable[[], bool] = lambda: False,
    say: Callable[[str], None] = warn_python,
) -> bool:
    """Train and store all missing learners, and return whether all learners are done.

    threads: number of threads of this process, unless `crew` is a pool of workers.
    progress: called about ten times a second.
    stop: called as often.  Once it returns True, no further chunk starts, and the running ones are stored.  Chunks of
    workers are cancelled.
    say: called with a line if another program has removed or changed the file and the study continues in a new one.
    Raises StudyFileError if a result cannot be stored, and ClusterError.  Earlier results are stored.
    """
    with ThreadPool(threads) if crew is None else nullcontext(crew) as pool:
        tasks = LocalTasks(study, pool) if isinstance(pool, ThreadPool) else RemoteTasks(study)
        work = _Work(study, pool, tasks, progress, stop, say)
        try:
            work.go_on()
        except BaseException:
            with suppress(LostStudyError):  # the original error says more
                study.sync()
            raise
        finally:
            if crew is not None:
                crew.give_up()
    return bool((study.state == DONE).all())


@dataclass
class _Work:
    """Run of a study's chunks on a pool, which stores their results.

    games: learnt from since it began.  moved: the study has a new file, without learners that the old one had.
    """

    study: StudyWriter
    pool: ThreadPool | WorkerPool
    tasks: LocalTasks | RemoteTasks
    progress: Callable[[StudyProgress], None] | None
    stop: Callable[[], bool]
    say: Callable[[str], None]
    began: float = field(default_factory=time.perf_counter)
    games: int = 0
    moved: bool = False

    def go_on(self) -> None:
        """Train and store all missing learners, until all are done or `stop` ends it."""
        while True:
            self.moved = False
            self._learn_missing()
            self._keep(self.study.sync)
            if not self.moved or self.stop():  # after a move, train lost learners again
                return

    def _keep(self, store: Callable[[], object]) -> None:
        """Call `store`, in a new file if another program has removed or changed this one.  Raises StudyFileError."""
        try:
            store()
        except LostStudyError as error:
            lost, self.moved = move_aside(self.study), True
            again = f"; {count_text(lost, 'learner')} that it had {'is' if lost == 1 else 'are'} trained again"
            self.say(f"{error}; it is saved in {shown(self.study.path)} from now on{again if lost else ''}")
            store()
            self._report()  # the caller may have to name the file

    def _learn_missing(self) -> None:
        pool = self.pool
        chunks = Chunks(self.study, pool)
        todo, more, look = iter(chunks), True, self.began
        while more or pool.busy:
            if time.perf_counter() >= look:  # a report for each of 100,000 short chunks would be slow
                look = time.perf_counter() + LOOK_SECONDS
                self._report()
            if self.stop():
                more = False
                pool.give_up()
            while more and chunks.wanted > 0:
                chunk = next(todo, None)
                more = chunk is not None
                if chunk is not None:
                    pool.begin(chunk, self.tasks.task(chunk))
            for ended in pool.ended(LOOK_SECONDS):
                chunks.took(*self._store(ended))
        self._report()

    def _report(self) -> None:
        if self.progress is not None:
            self.progress(self._now())

    def _store(self, ended: TaskResult) -> tuple[int, float]:
        """Store the results of a chunk; return its games, and the seconds that it took."""
        chunk: Chunk = ended.tag
        nothing = [LearnerResults({}, {}, ended.failure) for _ in chunk], 0.0
        learnt, seconds = nothing if ended.failure else ended.result
        games, alike = 0, dict[Any, list[tuple[Part, LearnerResults]]]()
        for part, found in zip(chunk, map(LearnerResults._make, learnt), strict=True):
            if found.learners:
                games += found.learners * self.study.design.settings[part.setting].games
                alike.setdefault(found.shapes, []).append((part, found))
            if found.failure is not None:
                # Record the failure for the other seeds of the part, too.  `--resume` tries all of them again.
                for seed in part.seeds[found.learners :]:
                    self._keep(partial(self.study.fail, part.setting, seed, found.failure))
        for several in alike.values():  # together, because a store takes 0.3 ms
            settings = [part.setting for part, found in several for _ in range(found.learners)]
            seeds = [seed for part, found in several for seed in part.seeds[: found.learners]]
            statistics = joined_results([found.statistics for _, found in several])
            tables = joined_results([found.tables for _, found in several])
            self._keep(partial(self.study.store_many, settings, seeds, statistics, tables))
        self.games += games
        return games, seconds

    def _now(self) -> StudyProgress:
        state = self.study.state
        done, failed = int(np.count_nonzero(state == DONE)), int(np.count_nonzero(state == FAILED))
        seconds = time.perf_counter() - self.began
        return StudyProgress(done, failed, state.size, self.games, seconds, self.study.path, self.pool.workers)
