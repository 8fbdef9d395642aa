"""Loop that trains a study: it gives chunks of learners to threads or workers and stores their results.

The results do not depend on the executor or the order.  Stored learners are never trained again.
"""

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ttt_batch.base.errors import LostStudyError, warn_python
from ttt_batch.base.files import shown
from ttt_batch.base.quantities import count_text
from ttt_batch.cluster.crew import WorkerPool
from ttt_batch.studies.learning.learnt import LearnerResults, joined_results
from ttt_batch.studies.storage.creation import move_aside
from ttt_batch.studies.storage.declared import DONE, FAILED
from ttt_batch.studies.storage.writing import StudyWriter
from ttt_batch.studies.work.by_threads import Threads
from ttt_batch.studies.work.by_workers import Workers
from ttt_batch.studies.work.chunks import Chunks, Done, Executor, Part

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
    with Threads(study, threads) if crew is None else Workers(study, crew) as hands:
        work = _Work(study, hands, progress, stop, say)
        try:
            work.go_on()
        except BaseException:
            with suppress(LostStudyError):  # the original error says more
                study.sync()
            raise
    return bool((study.state == DONE).all())


class _Work:
    """Run of a study's chunks on an executor, which stores their results."""

    def __init__(
        self,
        study: StudyWriter,
        hands: Executor,
        progress: Callable[[StudyProgress], None] | None,
        stop: Callable[[], bool],
        say: Callable[[str], None],
    ) -> None:
        self._study, self._hands, self._progress, self._stop, self._say = study, hands, progress, stop, say
        self._began, self._games, self._moved = time.perf_counter(), 0, False

    def go_on(self) -> None:
        """Train and store all missing learners, until all are done or `stop` ends it."""
        while True:
            self._moved = False
            self._learn_missing()
            self._keep(self._study.sync)
            if not self._moved or self._stop():  # after a move, train lost learners again
                return

    def _keep(self, store: Callable[[], object]) -> None:
        """Call `store`, in a new file if another program has removed or changed this one.  Raises StudyFileError."""
        try:
            store()
        except LostStudyError as error:
            lost, self._moved = move_aside(self._study), True
            again = f"; {count_text(lost, 'learner')} that it had {'is' if lost == 1 else 'are'} trained again"
            self._say(f"{error}; it is saved in {shown(self._study.path)} from now on{again if lost else ''}")
            store()
            self._report()  # the caller may have to name the file

    def _learn_missing(self) -> None:
        chunks, hands = Chunks(self._study, self._hands), self._hands
        todo, more, look = iter(chunks), True, self._began
        while more or hands.busy:
            if time.perf_counter() >= look:  # a report for each of 100,000 short chunks would be slow
                look = time.perf_counter() + LOOK_SECONDS
                self._report()
            if self._stop():
                more = False
                hands.stop()
            while more and chunks.wanted > 0:
                chunk = next(todo, None)
                more = chunk is not None
                if chunk is not None:
                    hands.begin(chunk)
            for done in hands.ended(LOOK_SECONDS):
                self._store(done, chunks)
        self._report()

    def _report(self) -> None:
        if self._progress is not None:
            self._progress(self._now())

    def _store(self, done: Done, chunks: Chunks) -> None:
        games, alike = 0, dict[Any, list[tuple[Part, LearnerResults]]]()
        for part, found in zip(done.chunk, done.learnt, strict=True):
            if found.learners:
                games += found.learners * self._study.design.settings[part.setting].games
                alike.setdefault(found.shapes, []).append((part, found))
            if found.failure is not None:
                # Record the failure for the other seeds of the part, too.  `--resume` tries all of them again.
                for seed in part.seeds[found.learners :]:
                    self._keep(partial(self._study.fail, part.setting, seed, found.failure))
        for several in alike.values():  # together, because a store takes 0.3 ms
            settings = [part.setting for part, found in several for _ in range(found.learners)]
            seeds = [seed for part, found in several for seed in part.seeds[: found.learners]]
            statistics = joined_results([found.statistics for _, found in several])
            tables = joined_results([found.tables for _, found in several])
            self._keep(partial(self._study.store_many, settings, seeds, statistics, tables))
        chunks.took(games, done.seconds)
        self._games += games

    def _now(self) -> StudyProgress:
        state = self._study.state
        done, failed = int(np.count_nonzero(state == DONE)), int(np.count_nonzero(state == FAILED))
        seconds = time.perf_counter() - self._began
        return StudyProgress(done, failed, state.size, self._games, seconds, self._study.path, self._hands.workers)
