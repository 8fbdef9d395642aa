"""Executor of a study's chunks by threads of this process."""

import threading
import time
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from types import TracebackType
from typing import Self

from ttt_batch.base.processors import startable_threads
from ttt_batch.studies.learning.rooms import make_worker
from ttt_batch.studies.storage.declared import LAST
from ttt_batch.studies.storage.writing import StudyWriter
from ttt_batch.studies.work.chunks import Chunk, Done


class Threads:
    """Implementation of `Hands` by threads: the given number, or fewer if the system cannot start them."""

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
        # After Ctrl-C do not wait: threads may compile or train for long.
        self._pool.shutdown(wait=not isinstance(error, KeyboardInterrupt), cancel_futures=kind is not None)

    @property
    def wanted(self) -> int:
        """Return the number of further chunks to start.  One chunk more than there are threads waits in the queue."""
        return self.slots + 1 - len(self._begun)

    @property
    def busy(self) -> bool:
        """Return whether a chunk is unfinished."""
        return bool(self._begun)

    def begin(self, chunk: Chunk) -> None:
        """Start a chunk."""
        self._begun.add(self._pool.submit(self._learn, chunk))

    def ended(self, seconds: float) -> list[Done]:
        """Return the finished chunks, after waiting up to `seconds` for the first one."""
        done, self._begun = wait(self._begun, seconds, FIRST_COMPLETED)
        return [one.result() for one in done]

    def stop(self) -> None:
        """Make learners end as soon as possible."""
        self._ending.set()

    def _learn(self, chunk: Chunk) -> Done:
        if not hasattr(self._own, "room"):
            family = self._study.design.family
            self._own.room = make_worker(family, keep=self._study.keep == LAST, stop=self._ending.is_set)
        began = time.perf_counter()
        settings, seeds = self._study.design.settings, self._study.seeds
        learnt = [self._own.room.learn(settings[part.setting], seeds[part.seeds].tolist()) for part in chunk]
        return Done(chunk, learnt, time.perf_counter() - began)
