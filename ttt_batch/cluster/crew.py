"""Tasks on the workers of a Dask cluster: results come back in any order, through every fault that a cluster has.

Dask brings tasks to workers, gives them to others when a worker dies, and lets workers join at any time.  What is left
is done here: workers are tried before they get work, a lost scheduler is looked for and given its tasks again, and what
happens is told in a line each.
"""

import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

from ttt_batch.base.errors import ClusterError
from ttt_batch.cluster.forgetting import OFTEN, forget
from ttt_batch.cluster.identity import Refusal, identity, perform
from ttt_batch.cluster.place import CALL_SECONDS, CONNECT_SECONDS, Place, connect, quiet, start_workers
from ttt_batch.cluster.roster import PATIENCE, Roster

AHEAD = 4
"""Tasks that are given out for each thread of a worker: some wait at the scheduler, which has the next one at hand at
once, and an adaptive cluster sees that more workers would have work."""

START_SECONDS = 2.0
"""How often it is seen to that missing workers of this machine are started."""


class Task(NamedTuple):
    """A function of the package by its importable name, with plain data and arrays.

    key: names its result: tasks with equal keys are done once, whoever asks.
    """

    key: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...]


class Ended(NamedTuple):
    """The result of a task, or why there is none (one line; empty if there is a result)."""

    tag: Any
    result: Any
    failure: str = ""


@dataclass(eq=False)
class _Begun:
    """A task on its way.  allowed: the workers that it was restricted to, if any."""

    tag: Any
    task: Task
    attempt: int = -1
    future: Any = None
    allowed: frozenset[str] = frozenset()


class Crew:
    """The workers of a cluster, inside a `with` block.

    say: called with a line if something happens to workers or scheduler; note: also if all is as it should be.
    Raises ClusterError if there is no scheduler, or workers cannot be started.
    """

    def __init__(self, place: Place, say: Callable[[str], None], note: Callable[[str], None] | None = None) -> None:
        self._place, self._say = place, say
        self._roster = Roster(place, say, note or (lambda _: None))
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
        """How many may have work."""
        return len(self._roster.accepted)

    @property
    def slots(self) -> int:
        """Tasks that they do at the same time."""
        return self._roster.slots

    @property
    def wanted(self) -> int:
        """How many tasks more should be begun now."""
        return max(AHEAD * self.slots - len(self._begun), 0)

    def begin(self, tag: Any, task: Task) -> None:
        """Give a task to the workers."""
        self._send(_Begun(tag, task))

    def ended(self, seconds: float) -> list[Ended]:
        """What has ended meanwhile; waits up to about so many seconds if there is nothing.

        Raises ClusterError if for a minute there was no scheduler or no worker that can work.
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
        """Let no task be done that is not done yet."""
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
        """Give a task to the scheduler, under another name than before: what it has of that one may be lost."""
        self._keep_group(begun.task.key)
        if begun.future is not None:
            self._begun.pop(begun.future.key, None)
        begun.attempt += 1
        # Only where somebody must not have it: Dask lets no restricted task wait at the scheduler.
        begun.allowed = frozenset(self._roster.accepted) if self._roster.doubtful else frozenset()
        task = begun.task
        begun.future = self._client.submit(
            perform,
            tuple(identity()),
            task.function,
            task.arguments,
            key=f"{task.key}-{begun.attempt}" if begun.attempt else task.key,
            workers=list(begun.allowed) or None,
        )
        self._begun[begun.future.key] = begun
        self._ready.add(begun.future)

    def _keep_group(self, key: str) -> None:
        """Let the scheduler have a task of the group of `key`, which does nothing, until the end.

        Once all tasks of a group are gone, Dask begins a new record (a span) for the next one, and keeps the old ones,
        each of about 10 KB: as many as a run has batches.
        """
        group = key.partition("-")[0]
        if group not in self._kept or self._kept[group].status not in ("pending", "finished"):
            self._kept[group] = self._client.submit(bool, key=f"{group}-{uuid.uuid4().hex}")

    def _forget(self, n: int) -> None:
        """Note that `n` tasks more have ended; let the scheduler forget such tasks now and then."""
        before, self._n_ended = self._n_ended, self._n_ended + n
        if before // OFTEN == self._n_ended // OFTEN:
            return
        client = self._client
        with suppress(OSError, TimeoutError):  # `run_on_scheduler` would wait for a stopped scheduler
            client.sync(client._run_on_scheduler, forget, [*self._kept], callback_timeout=CALL_SECONDS)

    def _start_again(self) -> None:
        """Let workers of this machine be started that are missing.

        Dask restarts one that dies, but gives it up if it is not back after a while, or dies while it starts.
        """
        cluster, now = self._cluster, time.monotonic()
        if cluster is None or self.workers == self._place.workers or now < self._start_at:
            return
        self._start_at = now + START_SECONDS
        for name, nanny in list(cluster.workers.items()):
            if nanny.status.name in ("failed", "closed"):  # it died as it first started: it would keep its place
                cluster.worker_spec.pop(name, None)
        cluster.scale(self._place.workers)

    def _send_again(self) -> None:
        """Give tasks again that were lost, or that may be done only by workers that have left."""
        for begun in self._begun.values():
            if begun.allowed and not begun.allowed & self._roster.accepted.keys() and begun not in self._to_send:
                self._to_send.append(begun)
        sent, self._to_send = self._to_send, []
        for begun in sent:
            self._send(begun)

    def _taken(self, future: Any, result: Any) -> Iterator[Ended]:
        """What a future that ended stands for, if it is a task that has ended."""
        begun = self._begun.get(future.key)
        if self._roster.answered(future, result) or begun is None or begun.future is not future:
            return
        if future.status == "finished" and not isinstance(result, Refusal):
            del self._begun[future.key]
            self._roster.note_result()
            yield Ended(begun.tag, result)
        elif future.status == "error":
            del self._begun[future.key]
            yield Ended(begun.tag, None, _why(result[1]))
        else:  # it was lost with its scheduler, or refused by a worker that had not been asked yet
            self._to_send.append(begun)

    def _is_connected(self, seconds: float) -> bool:
        """Whether there is a scheduler; if not, it is looked for once.  Raises ClusterError after PATIENCE seconds.

        Dask's client looks for it, too, for a while; its futures are lost in any case.
        """
        now = time.monotonic()
        if self._client.status != "running" and self._lost_at is None:
            self._lost_at = now
            self._say(f"the scheduler {self._place} is gone; it is looked for")
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
    """Why a task failed, in a line."""
    from distributed import KilledWorker

    if isinstance(error, KilledWorker):
        return f"{error.allowed_failures + 1} workers died while they had it; it may need more memory than they have"
    return str(error) or type(error).__name__
