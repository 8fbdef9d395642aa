"""Who works: workers are asked what they are before they get work, and it is told when they come and go."""

import time
import urllib.error
import urllib.request
from collections.abc import Callable
from contextlib import suppress
from operator import call
from pkgutil import resolve_name
from typing import Any

from ttt_batch.base.errors import ClusterError
from ttt_batch.base.quantities import counted, size_text
from ttt_batch.cluster.identity import Identity, difference, identity
from ttt_batch.cluster.place import CALL_SECONDS, Place

LOOK_SECONDS = 0.5
"""How often workers are counted."""

EXAMINE_SECONDS = 10.0
"""Without a result for so long, workers are asked how they are."""

FIRST_SECONDS, TOLD_SECONDS = 2.0, 5.0
"""When workers are told of first, and how often at most that some joined or left."""

PATIENCE = 60.0
"""Seconds without a scheduler, or without a worker that can work, after which the work ends."""

_IDENTITY = f"{identity.__module__}:{identity.__name__}"


class Roster:
    """The workers of a cluster.

    place: what it is called.  say: called with a line if something happens to workers; note: if all is as it should be.
    accepted: the threads of each worker that may have work, by its address.
    """

    def __init__(self, place: Place, say: Callable[[str], None], note: Callable[[str], None]) -> None:
        self._place, self._say, self._note, self._here = place, say, note, identity()
        self.accepted: dict[str, int] = {}
        self._asked: dict[str, tuple[Any, Any]] = {}
        self._threads: dict[str, int] = {}
        self._refused: set[str] = set()
        self._told: set[str] | None = None
        self._look_at, self._tell_at = 0.0, time.monotonic() + FIRST_SECONDS
        self.note_result()

    @property
    def slots(self) -> int:
        """Tasks that they do at the same time."""
        return sum(self.accepted.values())

    @property
    def doubtful(self) -> bool:
        """Whether there is a worker that must not have work."""
        return bool(self._refused or self._asked)

    def note_result(self) -> None:
        """All is well: a task has ended, or the scheduler is there again."""
        self._well = time.monotonic()
        self._examine_at = self._well + EXAMINE_SECONDS

    def forget(self) -> None:
        """The scheduler is gone, and whoever it had."""
        self.accepted.clear()
        self._asked.clear()
        self._refused.clear()

    def look(self, client: Any, ready: Any) -> None:
        """Notice who has joined and left; questions to new ones are added to `ready`, which yields the answers.

        Raises ClusterError if nobody could work for PATIENCE seconds.
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
                client.cancel(list(self._asked.pop(worker)))  # else the scheduler keeps the question
            self._refused &= there.keys()
            for worker in there.keys() - self.accepted.keys() - self._asked.keys() - self._refused:
                # By name: a function of the package ends a worker that cannot load it.
                alone = {"workers": [worker], "pure": False, "priority": 10}
                found = client.submit(resolve_name, _IDENTITY, **alone)
                self._asked[worker] = client.submit(call, found, **alone), found  # kept: released too soon, it is lost
                ready.add(self._asked[worker][0])
        if now >= self._examine_at or not self.accepted:
            self._examine(client, now)
        self._tell(client, now)

    def answered(self, future: Any, result: Any) -> bool:
        """Whether a future is an answer to `look`; its worker is accepted or refused then."""
        worker = next((worker for worker, (asked, _) in self._asked.items() if asked is future), None)
        if worker is None:
            return False
        del self._asked[worker]
        if future.status == "finished":
            why = difference(self._here, Identity(*result))
        elif future.status == "error":
            why = f"it cannot load ttt-batch as it is here: {result[1]}"
        else:
            return True  # it is gone, or asked again
        if why:
            self._refused.add(worker)
            self._say(f"worker {worker} is refused: {why}; install the same there")
        else:
            self.accepted[worker] = self._threads.get(worker, 1)
        return True

    def _examine(self, client: Any, now: float) -> None:
        """See whether anybody can work.

        A worker that has too little memory left is paused, maybe for good.  One that has just joined may have been
        given a task before its question.
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
            why = f": {counted(len(limits), 'worker')} paused, with a memory limit of " if limits else ""
            least = size_text(min(limits)) if limits else ""
            raise ClusterError(f"no worker {self._place} could work for a minute{why}{least}")

    def _tell(self, client: Any, now: float) -> None:
        """Tell who joined and left since that was told last."""
        if now < self._tell_at or self._told == self.accepted.keys():
            return
        if self._told is None:  # the first ones are told together
            if self._asked:
                return
            if not self.accepted:
                self._note(f"there is no worker {self._place} yet; some are waited for")
            elif self._place.address:
                self._note(f"{self._count()} {self._place}{_openness(self._place)}{_dashboard(client)}")
        else:
            joined, left = self.accepted.keys() - self._told, self._told - self.accepted.keys()
            parts = [f"{_named(those)} {verb}" for those, verb in ((left, "gone"), (joined, "joined")) if those]
            self._say(f"{', '.join(parts)}; {self._count()} now")
        self._told, self._tell_at = set(self.accepted), now + TOLD_SECONDS

    def _count(self) -> str:
        workers = counted(len(self.accepted), "worker")
        return workers if self.slots == len(self.accepted) else f"{workers} with {counted(self.slots, 'thread')}"


def _named(workers: set[str]) -> str:
    return f"worker {min(workers)} has" if len(workers) == 1 else f"{len(workers):,} workers have"


def _openness(place: Place) -> str:
    """Return a warning about a scheduler without certificates, for the end of a message."""
    return "; without TLS, whoever reaches its ports can run code there" if place.address.startswith("tcp:") else ""


def _dashboard(client: Any) -> str:
    """Where the scheduler's dashboard is, if a page answers there."""
    with suppress(OSError, ValueError):  # Dask asks the scheduler for the link, which may have gone just now
        link = str(client.dashboard_link)
        try:
            urllib.request.urlopen(link, timeout=1).close()
        except urllib.error.HTTPError as refused:
            refused.close()  # it holds the answer's body
        else:
            return f"; dashboard: {link}"
    return ""
