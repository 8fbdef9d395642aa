"""A study at work: chunks of learners go to threads or workers, their results to the file as they come.

Who learns what, and in which order, shows in no result.  Whatever is stored is never learnt again.
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
from ttt_batch.base.quantities import counted
from ttt_batch.cluster.crew import Crew
from ttt_batch.studies.learning.learnt import Learnt, joined
from ttt_batch.studies.storage.creation import go_beside
from ttt_batch.studies.storage.declared import DONE, FAILED
from ttt_batch.studies.storage.writing import StudyWriter
from ttt_batch.studies.work.by_threads import Threads
from ttt_batch.studies.work.by_workers import Workers
from ttt_batch.studies.work.chunks import Chunks, Done, Hands, Part

LOOK_SECONDS = 0.1
"""How often progress is reported, and `stop` asked at least."""


@dataclass(frozen=True)
class StudyProgress:
    """Progress of a study.

    done, failed, total: learners.  games: learnt from since it began or was resumed, in `seconds`.
    path: the file that it is in now, another one once a program has taken or changed the first.
    workers: of a cluster, as many as there are now; None without one.
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
    crew: Crew | None = None,
    progress: Callable[[StudyProgress], None] | None = None,
    stop: Callable[[], bool] = lambda: False,
    say: Callable[[str], None] = warn_python,
) -> bool:
    """Learn all that a study lacks and store it; return whether it is whole, with no learner missing or failed.

    threads: how many learn in this process, unless there is a `crew` of workers.
    progress: called about ten times a second.  stop: called as often; whether to end as soon as the chunks that were
    begun are stored; those of workers are given up.
    say: called with a line if another program has taken or changed the file, and the study goes on in one beside it.
    Raises StudyFileError if a result cannot be stored, and ClusterError; the results before are stored.
    """
    with Threads(study, threads) if crew is None else Workers(study, crew) as hands:
        work = _Work(study, hands, progress, stop, say)
        try:
            work.go_on()
        except BaseException:
            with suppress(LostStudyError):  # it is said why the work has ended
                study.sync()
            raise
    return bool((study.state == DONE).all())


class _Work:
    """A study and whoever does its chunks, and what they have done."""

    def __init__(
        self,
        study: StudyWriter,
        hands: Hands,
        progress: Callable[[StudyProgress], None] | None,
        stop: Callable[[], bool],
        say: Callable[[str], None],
    ) -> None:
        self._study, self._hands, self._progress, self._stop, self._say = study, hands, progress, stop, say
        self._began, self._games, self._moved = time.perf_counter(), 0, False

    def go_on(self) -> None:
        """Train and store all missing learners, until nothing is missing or it is stopped."""
        while True:
            self._moved = False
            self._learn_missing()
            self._keep(self._study.sync)
            if not self._moved or self._stop():  # else learn again what the other file had lost
                return

    def _keep(self, store: Callable[[], object]) -> None:
        """Store; if another program has taken or changed the file, go on in one beside it.  Raises StudyFileError."""
        try:
            store()
        except LostStudyError as error:
            lost, self._moved = go_beside(self._study), True
            again = f"; {counted(lost, 'learner')} that it had {'is' if lost == 1 else 'are'} learnt again"
            self._say(f"{error}; it is saved in {shown(self._study.path)} from now on{again if lost else ''}")
            store()
            self._report()  # whoever follows may have to name the file

    def _learn_missing(self) -> None:
        chunks, hands = Chunks(self._study, self._hands), self._hands
        todo, more, look = iter(chunks), True, self._began
        while more or hands.busy:
            if time.perf_counter() >= look:  # it costs time, which 100,000 short chunks would feel
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
        games, alike = 0, dict[Any, list[tuple[Part, Learnt]]]()
        for part, found in zip(done.chunk, done.learnt, strict=True):
            if found.learners:
                games += found.learners * self._study.design.settings[part.setting].games
                alike.setdefault(found.shapes, []).append((part, found))
            if found.failure is not None:
                # What fails for one seed fails for all that are left of the part, or is tried again with --resume.
                for seed in part.seeds[found.learners :]:
                    self._keep(partial(self._study.fail, part.setting, seed, found.failure))
        for several in alike.values():  # at once: a setting alone takes 0.3 ms
            settings = [part.setting for part, found in several for _ in range(found.learners)]
            seeds = [seed for part, found in several for seed in part.seeds[: found.learners]]
            statistics = joined([found.statistics for _, found in several])
            tables = joined([found.tables for _, found in several])
            self._keep(partial(self._study.store_many, settings, seeds, statistics, tables))
        chunks.took(games, done.seconds)
        self._games += games

    def _now(self) -> StudyProgress:
        state = self._study.state
        done, failed = int(np.count_nonzero(state == DONE)), int(np.count_nonzero(state == FAILED))
        seconds = time.perf_counter() - self._began
        return StudyProgress(done, failed, state.size, self._games, seconds, self._study.path, self._hands.workers)
