"""Loop that trains a study: it gives chunks of learners to a pool of threads or workers and stores their results.

The results do not depend on the pool or the order.  Stored learners are never trained again.
A task's name is the digest of its computation, so a scheduler that receives it twice runs it once.
"""

import hashlib
import pickle
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

import numpy as np

from ttt_batch.cluster.config import worker_identity
from ttt_batch.cluster.worker_pool import RemoteTask, TaskResult, WorkerPool
from ttt_batch.core.errors import LostStudyError, warn_python
from ttt_batch.core.files import shown
from ttt_batch.core.resources import startable_threads
from ttt_batch.core.text import count_text
from ttt_batch.learners import homes_of, with_learners
from ttt_batch.studies.designs.methods import Setting
from ttt_batch.studies.learning import LearnerResults, Worker, joined_results
from ttt_batch.studies.storage.layout import DONE, LAST, count_states
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

    The system may start fewer threads than asked for.
    chunk_seconds: desired duration of a chunk, short enough for frequent storing.  begun: tags of unfinished tasks.
    ending: set to make tasks end as soon as possible.
    """

    chunk_seconds = 0.5
    workers = None

    def __init__(self, threads: int) -> None:
        self.slots, self.ending = max(startable_threads(threads), 1), threading.Event()
        self.begun: dict[Future[Any], Any] = {}
        self.give_up = self.ending.set
        super().__init__(self.slots)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.give_up()
        # After Ctrl-C do not wait: threads may compile or train for long.
        self.shutdown(wait=not isinstance(error, KeyboardInterrupt), cancel_futures=kind is not None)

    @property
    def wanted(self) -> int:
        """Return the number of further tasks to begin.  One task more than there are threads waits in the queue."""
        return self.slots + 1 - len(self.begun)

    def begin(self, tag: Any, task: RemoteTask) -> None:
        """Start a task."""
        self.begun[self.submit(task.function, *task.arguments)] = tag

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
    """Train the learners of a chunk on a worker, as `learn_parts` does.  parts: pickled, for a worker of any version
    to answer that it differs.
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
    homes = () if crew is None else homes_of(setting.config.learner for setting in study.design.settings)
    with ThreadPool(threads) if crew is None else nullcontext(crew) as pool:
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
    return bool((study.state == DONE).all())


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
                alike.setdefault(found.shapes, []).append((part, found))
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
