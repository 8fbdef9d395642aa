"""Worker pool on a Dask cluster, which returns results in any order and survives the faults of a cluster.

Dask sends tasks to workers, reassigns the tasks of a dead worker, and lets workers join at any time.  This module
checks workers before they get tasks.  It reconnects to a lost scheduler, submits the tasks again and reports events.
"""

import math
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from operator import call
from pkgutil import resolve_name
from typing import Any, NamedTuple, Self

from ttt_batch.cluster.config import (
    CALL_SECONDS,
    CONNECT_SECONDS,
    ClusterConfig,
    Identity,
    Refusal,
    connect,
    difference,
    perform,
    quiet,
    start_workers,
    worker_identity,
)
from ttt_batch.core.errors import ClusterError
from ttt_batch.core.signals import uninterrupted
from ttt_batch.core.text import count_text, size_text

OFTEN = 50
"""Ended tasks per removal: the arguments of a task with 200 short learners take 10 KB."""


def remove_records(groups: Sequence[str], dask_scheduler: Any = None) -> None:
    """Remove records of ended tasks of these groups; Dask calls this on the scheduler.

    - duplicates in the record (the span) of a group, where each call of `submit` adds an entry;
    - the cached groups of the last 100,000 task names;
    - the last 1,000 messages to each worker and client, kept for debugging, which contain the tasks' arguments.
    """
    from dask.utils import key_split

    key_split.cache_clear()
    for stream in (*dask_scheduler.stream_comms.values(), *dask_scheduler.client_comms.values()):
        with suppress(AttributeError):
            stream.recent_message_log.clear()
    for group in groups:
        with suppress(AttributeError, KeyError, TypeError):  # the group or its record does not exist
            entries = dask_scheduler.extensions["spans"].spans[dask_scheduler.task_groups[group].span_id].metadata
            kept: list[Any] = []
            for entry in entries["collections"]:
                if entry not in kept:
                    kept.append(entry)
            entries["collections"][:] = kept


LOOK_SECONDS = 0.5
"""Seconds between counts of the workers."""

EXAMINE_SECONDS = 10.0
"""Seconds without a result after which the state of the workers is queried."""

FIRST_SECONDS, TOLD_SECONDS = 2.0, 5.0
"""Seconds until the first report of workers, and the minimum between reports of changes."""

PATIENCE = 60.0
"""Seconds without a scheduler or a working worker after which the work ends."""

_IDENTITY = f"{worker_identity.__module__}:{worker_identity.__name__}"


class WorkerList:
    """List of the workers of a cluster.

    config: the cluster, named in messages.  say: called with a line about problems and changes of workers.
    note: called with other information.  accepted: number of threads of each accepted worker, by its address.
    """

    def __init__(self, config: ClusterConfig, say: Callable[[str], None], note: Callable[[str], None]) -> None:
        self._config, self._say, self._note, self._here = config, say, note, worker_identity()
        self.accepted: dict[str, int] = {}
        self._asked: dict[str, tuple[Any, Any]] = {}
        self._threads: dict[str, int] = {}
        self._refused: set[str] = set()
        self._told: set[str] | None = None
        self._look_at, self._tell_at = 0.0, time.monotonic() + FIRST_SECONDS
        self.note_result()

    @property
    def slots(self) -> int:
        """Return the number of tasks that the accepted workers run at the same time."""
        return sum(self.accepted.values())

    @property
    def doubtful(self) -> bool:
        """Return whether any worker is refused or unchecked."""
        return bool(self._refused or self._asked)

    def note_result(self) -> None:
        """Restart the timeouts of `look`: a task has ended or the scheduler is back."""
        self._well = time.monotonic()
        self._examine_at = self._well + EXAMINE_SECONDS

    def forget(self) -> None:
        """Forget all workers, after the scheduler is gone."""
        self.accepted.clear()
        self._asked.clear()
        self._refused.clear()

    def look(self, client: Any, ready: Any) -> None:
        """Update the list of workers, and query the versions of new ones.

        The queries are added to `ready`, which yields their results for `answered`.
        Raises ClusterError if no worker could work for PATIENCE seconds.
        """
        now = time.monotonic()
        if now < self._look_at:
            return
        self._look_at = now + LOOK_SECONDS
        with suppress(OSError, TimeoutError):
            self._threads = there = client.nthreads(callback_timeout=CALL_SECONDS)
            for worker in self.accepted.keys() - there.keys():
                del self.accepted[worker]
            for worker in self._asked.keys() - there.keys():
                client.cancel(list(self._asked.pop(worker)))  # else the scheduler keeps the query
            self._refused &= there.keys()
            for worker in there.keys() - self.accepted.keys() - self._asked.keys() - self._refused:
                # By name: unpickling a function of the package would end a worker that cannot import it.
                alone = {"workers": [worker], "pure": False, "priority": 10}
                found = client.submit(resolve_name, _IDENTITY, **alone)
                self._asked[worker] = client.submit(call, found, **alone), found  # a released future is cancelled
                ready.add(self._asked[worker][0])
        if now >= self._examine_at or not self.accepted:
            self._examine(client, now)
        self._tell(client, now)

    def answered(self, future: Any, result: Any) -> bool:
        """Return whether a future is a query of `look`; if so, accept or refuse its worker."""
        worker = next((worker for worker, (asked, _) in self._asked.items() if asked is future), None)
        if worker is None:
            return False
        del self._asked[worker]
        if future.status == "finished":
            why = difference(self._here, Identity(*result))
        elif future.status == "error":
            why = f"it cannot load this ttt-batch: {result[1]}"
        else:
            return True  # the worker is gone, or queried again
        if why:
            self._refused.add(worker)
            self._say(f"worker {worker} is refused: {why}; install the same version there")
        else:
            self.accepted[worker] = self._threads.get(worker, 1)
        return True

    def _examine(self, client: Any, now: float) -> None:
        """Raise ClusterError if no worker could work for PATIENCE seconds.

        Dask pauses a worker with too little free memory, maybe for good.  A new worker may work before it is accepted.
        """
        self._examine_at = now + EXAMINE_SECONDS
        limits = []
        with suppress(OSError, TimeoutError):
            for worker, found in client.scheduler_info(n_workers=-1)["workers"].items():
                busy = found.get("metrics", {}).get("task_counts", {}).get("executing", 0) > 0
                paused = found.get("status") == "paused"
                if (busy and worker not in self._refused) or (worker in self.accepted and not paused):
                    self._well = now
                elif paused:
                    limits.append(found["memory_limit"])
        if now - self._well > PATIENCE:
            why = f": {count_text(len(limits), 'worker')} paused, with a memory limit of " if limits else ""
            least = size_text(min(limits)) if limits else ""
            raise ClusterError(f"no worker {self._config} could work for a minute{why}{least}")

    def _tell(self, client: Any, now: float) -> None:
        """Report the workers that joined and left since the last report."""
        if now < self._tell_at or self._told == self.accepted.keys():
            return
        if self._told is None:  # report the first workers together
            if self._asked:
                return
            if not self.accepted:
                self._note(f"there is no worker {self._config} yet; waiting for workers")
            elif self._config.address:
                open_to_all = "; without TLS, whoever reaches its ports can run code there"
                warning = open_to_all if self._config.address.startswith("tcp:") else ""
                self._note(f"{self._count()} {self._config}{warning}{_dashboard(client)}")
        else:
            joined, left = self.accepted.keys() - self._told, self._told - self.accepted.keys()
            parts = [f"{_named(those)} {verb}" for those, verb in ((left, "gone"), (joined, "joined")) if those]
            self._say(f"{', '.join(parts)}; {self._count()} now")
        self._told, self._tell_at = set(self.accepted), now + TOLD_SECONDS

    def tell_first(self, client: Any) -> None:
        """Report the first workers if the work has ended before they were reported."""
        if self._told is None and self.accepted:
            self._asked.clear()
            self._tell(client, math.inf)

    def _count(self) -> str:
        workers = count_text(len(self.accepted), "worker")
        return workers if self.slots == len(self.accepted) else f"{workers} with {count_text(self.slots, 'thread')}"


def _named(workers: set[str]) -> str:
    return f"worker {min(workers)} has" if len(workers) == 1 else f"{len(workers):,} workers have"


def _dashboard(client: Any) -> str:
    """Return the link to the scheduler's dashboard for the end of a message, if its page answers."""
    import urllib.error  # here, because it takes 12 ms of every training
    import urllib.request

    with suppress(OSError, ValueError):  # the link is fetched from the scheduler, which may be gone
        link = str(client.dashboard_link)
        try:
            urllib.request.urlopen(link, timeout=1).close()
        except urllib.error.HTTPError as refused:
            refused.close()  # it holds the response
        else:
            return f"; dashboard: {link}"
    return ""


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
    """Result of a task, or the reason for its failure (one line, empty if there is a result)."""

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

    Ctrl-C is handled when a call ends; see `uninterrupted`.  The start of workers can be interrupted.

    say: called with a line about problems and changes of workers or scheduler.  note: called with other information.
    chunk_seconds: desired duration of a task that could be divided: long compared with its transfer.
    begun: unfinished tasks.
    Raises ClusterError if the scheduler does not answer, or workers cannot be started.
    """

    chunk_seconds = 2.0

    def __init__(
        self, config: ClusterConfig, say: Callable[[str], None], note: Callable[[str], None] | None = None
    ) -> None:
        self._config, self._say = config, say
        self._worker_list = WorkerList(config, say, note or (lambda _: None))
        self.begun: dict[str, _Begun] = {}
        self._kept: dict[str, Any] = {}
        self._to_send: list[_Begun] = []
        self._lost_at: float | None = None
        self._start_at = 0.0
        self._n_ended = 0

    def __enter__(self) -> Self:
        self._stack = stack = ExitStack()
        try:
            stack.enter_context(quiet())
            self._cluster = None if self._config.address else start_workers(self._config, stack)
            self._connect(stack, CONNECT_SECONDS)
        except BaseException:
            with uninterrupted():
                stack.close()
            raise
        return self

    @uninterrupted()
    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:
            self._worker_list.tell_first(self._client)
        self._stack.close()

    @property
    def workers(self) -> int:
        """Return the number of accepted workers."""
        return len(self._worker_list.accepted)

    @property
    def slots(self) -> int:
        """Return the number of tasks that the workers run at the same time."""
        return self._worker_list.slots

    @property
    def wanted(self) -> int:
        """Return the number of further tasks to begin now."""
        return max(AHEAD * self.slots - len(self.begun), 0)

    @uninterrupted()
    def begin(self, tag: Any, task: RemoteTask) -> None:
        """Submit a task."""
        self._send(_Begun(tag, task))

    @uninterrupted()
    def ended(self, seconds: float) -> list[TaskResult]:
        """Return the tasks that have ended; wait up to about `seconds` for the first.

        Raises ClusterError after a minute without a scheduler or a working worker.
        """
        if not self._is_connected(seconds):
            return []
        self._worker_list.look(self._client, self._ready)
        self._start_again()
        self._send_again()
        ready = self._ready
        with ready.thread_condition:
            if not ready.has_ready():
                ready.thread_condition.wait(seconds)
        found = [ended for future, result in ready.next_batch(block=False) for ended in self._taken(future, result)]
        self._forget(len(found))
        return found

    @uninterrupted()
    def give_up(self) -> None:
        """Cancel all unfinished tasks."""
        with suppress(Exception):  # the scheduler may be gone
            self._client.cancel([begun.future for begun in self.begun.values()])
        self.begun.clear()
        self._to_send.clear()

    def _connect(self, stack: ExitStack, seconds: float) -> None:
        from distributed import as_completed

        self._connection = stack.enter_context(ExitStack())
        self._client = connect(self._cluster or self._config.address, self._connection, seconds)
        self._ready = as_completed(loop=self._client.loop, with_results=True, raise_errors=False)

    def _send(self, begun: _Begun) -> None:
        """Submit a task, with a new name at each attempt: the earlier result may be lost."""
        self._keep_group(begun.task.key)
        if begun.future is not None:
            self.begun.pop(begun.future.key, None)
        begun.attempt += 1
        # Restrict only if a worker must not run it: Dask does not queue restricted tasks at the scheduler.
        begun.allowed = frozenset(self._worker_list.accepted) if self._worker_list.doubtful else frozenset()
        task = begun.task
        begun.future = self._client.submit(
            perform,
            tuple(worker_identity()),
            task.function,
            task.arguments,
            key=f"{task.key}-{begun.attempt}" if begun.attempt else task.key,
            workers=list(begun.allowed) or None,
        )
        self.begun[begun.future.key] = begun
        self._ready.add(begun.future)

    def _keep_group(self, key: str) -> None:
        """Keep an empty task in the group of `key` on the scheduler until the end.

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
        if cluster is None or self.workers == self._config.workers or now < self._start_at:
            return
        self._start_at = now + START_SECONDS
        for name, nanny in list(cluster.workers.items()):
            if nanny.status.name in ("failed", "closed"):  # it died in its first start, and would block a place
                cluster.worker_spec.pop(name, None)
        cluster.scale(self._config.workers)

    def _send_again(self) -> None:
        """Submit lost tasks again, and tasks restricted to workers that have left."""
        for begun in self.begun.values():
            if begun.allowed and not begun.allowed & self._worker_list.accepted.keys() and begun not in self._to_send:
                self._to_send.append(begun)
        sent, self._to_send = self._to_send, []
        for begun in sent:
            self._send(begun)

    def _taken(self, future: Any, result: Any) -> Iterator[TaskResult]:
        """Yield the result or failure of an ended future, if it belongs to a current task."""
        begun = self.begun.get(future.key)
        if self._worker_list.answered(future, result) or begun is None or begun.future is not future:
            return
        if future.status == "finished" and not isinstance(result, Refusal):
            del self.begun[future.key]
            self._worker_list.note_result()
            yield TaskResult(begun.tag, result)
        elif future.status == "error":
            del self.begun[future.key]
            yield TaskResult(begun.tag, None, _why(result[1]))
        else:  # lost with its scheduler, or refused by a worker not yet examined
            self._to_send.append(begun)

    def _is_connected(self, seconds: float) -> bool:
        """Return whether a scheduler is connected; if not, try once to reconnect.

        Raises ClusterError after PATIENCE seconds without a scheduler.  Dask's client also tries for a while, but it
        loses its futures in any case.
        """
        now = time.monotonic()
        if self._client.status != "running" and self._lost_at is None:
            self._lost_at = now
            self._say(f"the scheduler {self._config} is gone; trying to reconnect")
            self._worker_list.forget()
        if self._client.status == "closed":
            self._connection.close()
            with suppress(ClusterError):
                self._connect(self._stack, max(seconds, 1.0))
                self._to_send = list(self.begun.values())
        if self._client.status == "running":
            if self._lost_at is not None:
                self._lost_at = None
                self._worker_list.note_result()
                self._say(f"the scheduler {self._config} is back")
            return True
        if self._lost_at is not None and now - self._lost_at > PATIENCE:
            raise ClusterError(f"the scheduler {self._config} has been gone for a minute")
        time.sleep(min(seconds, 0.1))
        return False


def _why(error: BaseException) -> str:
    """Return the reason for a task's failure, in one line."""
    from distributed import KilledWorker

    if isinstance(error, KilledWorker):
        return f"{error.allowed_failures + 1} workers died while running it; it may need more memory than they have"
    return str(error) or type(error).__name__
