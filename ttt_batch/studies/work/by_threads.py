"""Chunks of a study by threads of this process."""

import threading
import time
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from types import TracebackType
from typing import Self

from ttt_batch.base.processors import startable_threads
from ttt_batch.studies.learning.rooms import make_room
from ttt_batch.studies.storage.declared import LAST
from ttt_batch.studies.storage.writing import StudyWriter
from ttt_batch.studies.work.chunks import Chunk, Done


class Threads:
    """`Hands` that are threads: as many as wanted, or as the system starts."""

    chunk_seconds = 0.5
    workers = None

    def __init__(self, study: StudyWriter, threads: int) -> None:
        self.slots = max(startable_threads(threads), 1)
        self._study, self._own, self._ending = study, threading.local(), threading.Event()
        self._begun: set[Future[Done]] = set()
        self._pool = ThreadPoolExecutor(self.slots)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self.stop()
        # After Ctrl-C at once: what threads compile or learn just now may take long.
        self._pool.shutdown(wait=not isinstance(error, KeyboardInterrupt), cancel_futures=kind is not None)

    @property
    def wanted(self) -> int:
        """One chunk more than there are threads waits for its turn."""
        return self.slots + 1 - len(self._begun)

    @property
    def busy(self) -> bool:
        """Whether a chunk is begun."""
        return bool(self._begun)

    def begin(self, chunk: Chunk) -> None:
        """Take a chunk."""
        self._begun.add(self._pool.submit(self._learn, chunk))

    def ended(self, seconds: float) -> list[Done]:
        """What was done meanwhile; waits up to so many seconds if there is nothing."""
        done, self._begun = wait(self._begun, seconds, FIRST_COMPLETED)
        return [one.result() for one in done]

    def stop(self) -> None:
        """Let learners end as soon as may be."""
        self._ending.set()

    def _learn(self, chunk: Chunk) -> Done:
        if not hasattr(self._own, "room"):
            family = self._study.design.family
            self._own.room = make_room(family, keep=self._study.keep == LAST, stop=self._ending.is_set)
        began = time.perf_counter()
        settings, seeds = self._study.design.settings, self._study.seeds
        learnt = [self._own.room.learn(settings[part.setting], seeds[part.seeds].tolist()) for part in chunk]
        return Done(chunk, learnt, time.perf_counter() - began)
