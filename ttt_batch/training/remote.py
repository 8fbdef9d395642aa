"""Distribution of a batch's games to the workers of a cluster, which receive the policy and return counts.

The counts are whole numbers and are added up, so the result does not depend on how the games are divided.  A worker
makes a trainer of the same configuration once, for its board and workspace, and receives the best moves of every batch.
"""

import hashlib
import json
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ttt_batch.cluster.worker_pool import RemoteTask, TaskResult, WorkerPool
from ttt_batch.core.errors import ClusterError
from ttt_batch.games.graph import Graph, rows_of_edges
from ttt_batch.learners import homes_of, with_learners
from ttt_batch.runs.config import Config, config_from_dict
from ttt_batch.simulation.policy import Policy
from ttt_batch.training.trainers.batched import SharedBatch, make_trainer, split

SHARE_SECONDS = 1.0
"""Least time that a chunk should take, to be long compared with its transfer."""

MOST_SHARES = 4
"""Maximum of chunks for each thread of a worker.  With several, fast threads do more of them."""

LATE, LATE_SECONDS = 1.5, 2.0
"""A chunk is walked in this process after LATE times the time of all others, but not before LATE_SECONDS."""

_own = threading.local()


class RemoteBatches:
    """Distributor of a run's batches to a pool of workers.

    config: the run's.  say: called with one line if the workers are lost.
    Raises UsageError if workers cannot import the learner.
    """

    def __init__(self, workers: WorkerPool, config: Config, say: Callable[[str], None]) -> None:
        self._workers, self._config, self._say = workers, config.to_dict(), say
        self._homes = homes_of([config.learner])
        self._seconds = 0.0  # per game on a worker

    def walk(self, batch: SharedBatch, stop: Callable[[], bool]) -> bool | None:
        """Walk a batch on the workers; return whether it was completed, or None if the workers are lost for good.

        It is not completed if `stop()` becomes true before its end.  Only a completed batch is counted.
        """
        try:
            walked = self._walk(batch, stop)
        except ClusterError as error:
            self._say(f"{error}; training continues in this process alone")
            walked = None
        if not walked:
            batch.drawn[:] = 0
        return walked

    def _walk(self, batch: SharedBatch, stop: Callable[[], bool]) -> bool:
        workers = self._workers
        while not workers.slots:
            if stop():
                return False
            workers.ended(0.1)
        name, missing = self._begin(batch)
        began, waited_for = time.perf_counter(), 0.0
        while missing:
            if stop():
                workers.give_up()
                return False
            late = time.perf_counter() - began > max(LATE * waited_for, LATE_SECONDS)
            if len(missing) < workers.slots and waited_for and late:
                workers.give_up()
                for share in missing:
                    batch.walk_here(*share)
                return True
            for ended in workers.ended(0.1):
                if ended.tag in missing and self._take(batch, name, ended):
                    missing.remove(ended.tag)
                    waited_for = time.perf_counter() - began
        return True

    def _begin(self, batch: SharedBatch) -> tuple[str, set[tuple[int, int]]]:
        """Send all chunks of a batch; return its name, and each chunk as (first game, game after the last).

        Only the first chunks, one for each thread of a worker, carry the policy.  A Dask task for the policy would
        transfer it only once.  But Dask runs dependent tasks on the worker that has their input, so chunks would have
        to be bound to workers and would wait for a stopped one.
        """
        games, slots = batch.last - batch.first, self._workers.slots
        each = min(max(int(self._seconds * games / slots / SHARE_SECONDS), 1), MOST_SHARES)
        best, order = _packed(batch.policy, batch.graph)
        digest = hashlib.sha256(json.dumps(self._config, sort_keys=True).encode())
        digest.update(best.data)
        digest.update(order.data)
        name = f"walk-{digest.hexdigest()[:32]}"
        shares = {(batch.first + first, batch.first + last) for first, last in split(games, each * slots)}
        self._policy = best, order
        for number, share in enumerate(sorted(shares)):
            self._send(batch, name, share, self._policy if number < slots else None)
        return name, shares

    def _send(
        self, batch: SharedBatch, name: str, share: tuple[int, int], policy: tuple[NDArray[np.uint8], ...] | None
    ) -> None:
        """Send a chunk of the batch `name` to the workers, with or without the policy."""
        arguments = self._config, batch.turn, batch.first, name, policy, *share
        key = "-".join(map(str, (name, *share, *([] if policy is None else ["policy"]))))
        self._workers.begin(share, RemoteTask(key, with_learners, (self._homes, walk_remotely, *arguments)))

    def _take(self, batch: SharedBatch, name: str, ended: TaskResult) -> bool:
        """Add a chunk's counts; if workers failed, walk it in this process.  Return whether the chunk is done.

        If its worker did not have the policy, the chunk is sent again with it and is not done.
        """
        first, last = ended.tag
        if ended.failure:
            batch.walk_here(first, last)
        elif ended.result is None:
            self._send(batch, name, ended.tag, self._policy)
            return False
        else:
            drawn, seconds = ended.result
            batch.drawn[:] += drawn
            self._seconds = seconds / (last - first)
        return True


def walk_remotely(
    config: dict[str, Any],
    turn: int,
    game: int,
    name: str,
    policy: tuple[NDArray[np.uint8], NDArray[np.uint8]] | None,
    first: int,
    last: int,
) -> tuple[NDArray[np.uint32], float] | None:
    """Walk games `first` to `last - 1` of the batch that begins with `game`, on a worker; return counts and seconds.

    turn, name: of the batch.  policy: a result of `_packed`, or None if this thread may already have it.
    Return None, without walking, if the thread lacks the policy.
    """
    began = time.perf_counter()
    if getattr(_own, "name", None) != name:
        if policy is None:
            return None
        _own.name = None
        meant = config_from_dict(config)
        moves = _unpacked(*policy, meant.graph)
        if getattr(_own, "made_for", None) != meant:
            _own.trainer = _own.made_for = None  # free its memory for the next one
            _own.trainer, _own.made_for = make_trainer(meant, opponent=moves if meant.opponent else None), meant
        _own.trainer.take_batch(turn, game, moves)
        _own.name = name
    return _own.trainer.walk_some(turn, first, last), time.perf_counter() - began


def _packed(policy: Policy, graph: Graph) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Return a policy as bytes: the number of best moves of each row, and the moves as indices within the row."""
    return policy.best.astype(np.uint8), (policy.ordered - _starts(graph)).astype(np.uint8)


def _unpacked(best: NDArray[np.uint8], order: NDArray[np.uint8], graph: Graph) -> Policy:
    return Policy((order + _starts(graph)).astype(np.uint32), best.astype(np.uint32))


def _starts(graph: Graph) -> NDArray[Any]:
    """Return int[E]: the first edge of each edge's row."""
    starts: NDArray[Any] = graph.first_edge[rows_of_edges(graph)]
    return starts
