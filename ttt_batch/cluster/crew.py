"""Worker pool on a Dask cluster, which returns results in any order and survives the faults of a cluster.

Dask sends tasks to workers, reassigns the tasks of a dead worker, and lets workers join at any time.  This module
checks workers before they get tasks.  It reconnects to a lost scheduler, submits the tasks again and reports events.
"""

import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

from ttt_batch.base.errors import ClusterError
from ttt_batch.cluster.forgetting import OFTEN, remove_records
from ttt_batch.cluster.identity import Refusal, perform, worker_identity
from ttt_batch.cluster.place import CALL_SECONDS, CONNECT_SECONDS, ClusterConfig, connect, quiet, start_workers
from ttt_batch.cluster.roster import PATIENCE, WorkerList

AHEAD = 4
"""Tasks submitted per thread of a worker.  Waiting tasks save idle time, and show an adaptive cluster that more workers
would have work."""

START_SECONDS = 2.0
"""Seconds between attempts to start missing workers of this machine."""


class RemoteTask(NamedTuple):
    """Call of an importable function of the package with plain data and arrays.

    key: name of its result; Dask runs tasks with equal keys only once.
    """

    key: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...]


class TaskResult(NamedTuple):
    """Result of a task, or the reason of its failure (one line, empty if there is a result)."""

    tag: Any
    result: Any
    failure: str = ""


@dataclass(eq=False)
class _Begun:
    """Submitted task.  allowed: the workers that may run it; empty for all."""

    tag: Any
    task: RemoteTask
    attempt: int = -1
    future: Any = None
    allowed: frozenset[str] = frozenset()


class WorkerPool:
    """Worker pool of a cluster, used in a `with` block.

    say: called with a line about problems and changes of workers or scheduler.  note: called with other information.
    Raises ClusterError if the scheduler does not answer, or workers cannot be started.
    """

    def __init__(
        self, place: ClusterConfig, say: Callable[[str], None], note: Callable[[str], None] | None = None
    ) -> None:
        self._place, self._say = place, say
        self._roster = WorkerList(place, say, note or (lambda _: None))
        self._begun: dict[str, _Begun] = {}
        self._kept: dict[str, Any] = {}
        self._to_send: list[_Begun] = []
        self._lost_at: float | None = None
        self._start_at = 0.0
        self._n_ended = 0

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            stack.enter_context(quiet())
            self._cluster = None if self._place.address else start_workers(self._place, stack)
            self._connect(stack, CONNECT_SECONDS)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @property
    def workers(self) -> int:
        """Return the number of accepted workers."""
        return len(self._roster.accepted)

    @property
    def slots(self) -> int:
        """Return the number of tasks that the workers run at the same time."""
        return self._roster.slots

    @property
    def wanted(self) -> int:
        """Return the number of further tasks to begin now."""
        return max(AHEAD * self.slots - len(self._begun), 0)

    def begin(self, tag: Any, task: RemoteTask) -> None:
        """Submit a task."""
        self._send(_Begun(tag, task))

    def ended(self, seconds: float) -> list[TaskResult]:
        """Return the tasks that have ended; wait up to about `seconds` for the first.

        Raises ClusterError after a minute without a scheduler or a working worker.
        """
        if not self._is_connected(seconds):
            return []
        self._roster.look(self._client, self._ready)
        self._start_again()
        self._send_again()
        ready = self._ready
        with ready.thread_condition:
            if not ready.has_ready():
                ready.thread_condition.wait(seconds)
        found = [ended for future, result in ready.next_batch(block=False) for ended in self._taken(future, result)]
        self._forget(len(found))
        return found

    def give_up(self) -> None:
        """Cancel all unfinished tasks."""
        with suppress(Exception):  # the scheduler may be gone
            self._client.cancel([begun.future for begun in self._begun.values()])
        self._begun.clear()
        self._to_send.clear()

    def _connect(self, stack: ExitStack, seconds: float) -> None:
        from distributed import as_completed

        self._connection = stack.enter_context(ExitStack())
        self._client = connect(self._cluster or self._place.address, self._connection, seconds)
        self._ready = as_completed(loop=self._client.loop, with_results=True, raise_errors=False)

    def _send(self, begun: _Begun) -> None:
        """Submit a task, with a new name at each attempt: the earlier result may be lost."""
        self._keep_group(begun.task.key)
        if begun.future is not None:
            self._begun.pop(begun.future.key, None)
        begun.attempt += 1
        # Restrict only if a worker must not run it: Dask does not queue restricted tasks at the scheduler.
        begun.allowed = frozenset(self._roster.accepted) if self._roster.doubtful else frozenset()
        task = begun.task
        begun.future = self._client.submit(
            perform,
            tuple(worker_identity()),
            task.function,
            task.arguments,
            key=f"{task.key}-{begun.attempt}" if begun.attempt else task.key,
            workers=list(begun.allowed) or None,
        )
        self._begun[begun.future.key] = begun
        self._ready.add(begun.future)

    def _keep_group(self, key: str) -> None:
        """Keep an empty task of the group of `key` at the scheduler until the end.

        When a group has no task left, Dask starts a new record (a span) for the next task and keeps the old one.  That
        costs about 10 KB per batch of a run.
        """
        group = key.partition("-")[0]
        if group not in self._kept or self._kept[group].status not in ("pending", "finished"):
            self._kept[group] = self._client.submit(bool, key=f"{group}-{uuid.uuid4().hex}")

    def _forget(self, n: int) -> None:
        """Count `n` more ended tasks; after every `OFTEN` tasks remove their records from the scheduler."""
        before, self._n_ended = self._n_ended, self._n_ended + n
        if before // OFTEN == self._n_ended // OFTEN:
            return
        client = self._client
        with suppress(OSError, TimeoutError):  # `run_on_scheduler` would wait for a stopped scheduler
            client.sync(client._run_on_scheduler, remove_records, [*self._kept], callback_timeout=CALL_SECONDS)

    def _start_again(self) -> None:
        """Start missing workers of this machine.

        Dask restarts a dead worker, but gives up if that takes too long or the worker dies while it starts.
        """
        cluster, now = self._cluster, time.monotonic()
        if cluster is None or self.workers == self._place.workers or now < self._start_at:
            return
        self._start_at = now + START_SECONDS
        for name, nanny in list(cluster.workers.items()):
            if nanny.status.name in ("failed", "closed"):  # it died in its first start, and would block a place
                cluster.worker_spec.pop(name, None)
        cluster.scale(self._place.workers)

    def _send_again(self) -> None:
        """Submit lost tasks again, and tasks restricted to workers that have left."""
        for begun in self._begun.values():
            if begun.allowed and not begun.allowed & self._roster.accepted.keys() and begun not in self._to_send:
                self._to_send.append(begun)
        sent, self._to_send = self._to_send, []
        for begun in sent:
            self._send(begun)

    def _taken(self, future: Any, result: Any) -> Iterator[TaskResult]:
        """Yield the result or failure of an ended future, if it belongs to a current task."""
        begun = self._begun.get(future.key)
        if self._roster.answered(future, result) or begun is None or begun.future is not future:
            return
        if future.status == "finished" and not isinstance(result, Refusal):
            del self._begun[future.key]
            self._roster.note_result()
            yield TaskResult(begun.tag, result)
        elif future.status == "error":
            del self._begun[future.key]
            yield TaskResult(begun.tag, None, _why(result[1]))
        else:  # lost with its scheduler, or refused by a worker not yet examined
            self._to_send.append(begun)

    def _is_connected(self, seconds: float) -> bool:
        """Return whether a scheduler is connected; if not, try once to reconnect.

        Raises ClusterError after PATIENCE seconds without a scheduler.  Dask's client reconnects, too, for a while, but
        loses its futures in any case.
        """
        now = time.monotonic()
        if self._client.status != "running" and self._lost_at is None:
            self._lost_at = now
            self._say(f"the scheduler {self._place} is gone; trying to reconnect")
            self._roster.forget()
        if self._client.status == "closed":
            self._connection.close()
            with suppress(ClusterError):
                self._connect(self._stack, max(seconds, 1.0))
                self._to_send = list(self._begun.values())
        if self._client.status == "running":
            if self._lost_at is not None:
                self._lost_at = None
                self._roster.note_result()
                self._say(f"the scheduler {self._place} is back")
            return True
        if self._lost_at is not None and now - self._lost_at > PATIENCE:
            raise ClusterError(f"the scheduler {self._place} has been gone for a minute")
        time.sleep(min(seconds, 0.1))
        return False


def _why(error: BaseException) -> str:
    """Return the reason of a task's failure, in a line."""
    from distributed import KilledWorker

    if isinstance(error, KilledWorker):
        return f"{error.allowed_failures + 1} workers died while running it; it may need more memory than they have"
    return str(error) or type(error).__name__
