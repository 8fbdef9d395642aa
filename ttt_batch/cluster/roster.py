"""List of workers: checks their versions before they get tasks, and reports when they join and leave."""

import time
import urllib.error
import urllib.request
from collections.abc import Callable
from contextlib import suppress
from operator import call
from pkgutil import resolve_name
from typing import Any

from ttt_batch.base.errors import ClusterError
from ttt_batch.base.quantities import count_text, size_text
from ttt_batch.cluster.identity import Identity, difference, worker_identity
from ttt_batch.cluster.place import CALL_SECONDS, ClusterConfig

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

    place: the cluster, named in messages.  say: called with a line about problems and changes of workers.  note: called
    with other information.  accepted: number of threads of each accepted worker, by its address.
    """

    def __init__(self, place: ClusterConfig, say: Callable[[str], None], note: Callable[[str], None]) -> None:
        self._place, self._say, self._note, self._here = place, say, note, worker_identity()
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
        """Return whether a worker is refused or not yet checked."""
        return bool(self._refused or self._asked)

    def note_result(self) -> None:
        """Restart the clocks of `look`: a task has ended, or the scheduler is back."""
        self._well = time.monotonic()
        self._examine_at = self._well + EXAMINE_SECONDS

    def forget(self) -> None:
        """Forget all workers, after the scheduler is gone."""
        self.accepted.clear()
        self._asked.clear()
        self._refused.clear()

    def look(self, client: Any, ready: Any) -> None:
        """Update the workers that have joined and left, and query the versions of new ones.

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
        """Check whether workers can work; raise ClusterError if they could not for PATIENCE seconds.

        Dask pauses a worker with too little free memory, maybe for good.  A new worker may run a task before its query.
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
            raise ClusterError(f"no worker {self._place} could work for a minute{why}{least}")

    def _tell(self, client: Any, now: float) -> None:
        """Report the workers that joined and left since the last report."""
        if now < self._tell_at or self._told == self.accepted.keys():
            return
        if self._told is None:  # report the first workers together
            if self._asked:
                return
            if not self.accepted:
                self._note(f"there is no worker {self._place} yet; waiting for workers")
            elif self._place.address:
                self._note(f"{self._count()} {self._place}{_openness(self._place)}{_dashboard(client)}")
        else:
            joined, left = self.accepted.keys() - self._told, self._told - self.accepted.keys()
            parts = [f"{_named(those)} {verb}" for those, verb in ((left, "gone"), (joined, "joined")) if those]
            self._say(f"{', '.join(parts)}; {self._count()} now")
        self._told, self._tell_at = set(self.accepted), now + TOLD_SECONDS

    def _count(self) -> str:
        workers = count_text(len(self.accepted), "worker")
        return workers if self.slots == len(self.accepted) else f"{workers} with {count_text(self.slots, 'thread')}"


def _named(workers: set[str]) -> str:
    return f"worker {min(workers)} has" if len(workers) == 1 else f"{len(workers):,} workers have"


def _openness(place: ClusterConfig) -> str:
    """Return a warning about a scheduler without certificates, for the end of a message."""
    return "; without TLS, whoever reaches its ports can run code there" if place.address.startswith("tcp:") else ""


def _dashboard(client: Any) -> str:
    """Return the link to the scheduler's dashboard for the end of a message, if its page answers."""
    with suppress(OSError, ValueError):  # the link is fetched from the scheduler, which may be gone
        link = str(client.dashboard_link)
        try:
            urllib.request.urlopen(link, timeout=1).close()
        except urllib.error.HTTPError as refused:
            refused.close()  # it holds the response
        else:
            return f"; dashboard: {link}"
    return ""
