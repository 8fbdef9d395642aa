"""A batch's games shared by the workers of a cluster: the policy goes out, counts come back and are added up.

A batch is a sum of whole numbers, so whoever walks which games shows in no result.  A worker makes a trainer of the
same configuration once, for its board and its space, and is given the best moves of every batch.
"""

import hashlib
import json
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ttt_batch.base.errors import ClusterError
from ttt_batch.cluster.crew import Crew, Ended, Task
from ttt_batch.game.graph import Graph, rows_of_edges
from ttt_batch.learners import homes_of, knowing
from ttt_batch.runs.config import Config, config_from_dict
from ttt_batch.simulation.policy import Policy
from ttt_batch.training.trainers import make_trainer
from ttt_batch.training.trainers.pieces import SharedBatch, split

SHARE_SECONDS = 1.0
"""What a share should take, at least: long beside its way there and back."""

MOST_SHARES = 4
"""Shares for each thread of a worker, at most: the fast ones take more of them."""

LATE, LATE_SECONDS = 1.5, 2.0
"""A share that takes so many times as long as all others, and so many seconds at least, is walked here."""

_own = threading.local()


class Shares:
    """The games of a run's batches for the workers of a crew.

    config: the run's.  say: called with a line if the workers are lost.
    Raises UsageError for a learner that workers cannot import.
    """

    def __init__(self, crew: Crew, config: Config, say: Callable[[str], None]) -> None:
        self._crew, self._config, self._say = crew, config.to_dict(), say
        self._homes = homes_of([config.learner])
        self._seconds = 0.0  # that a game takes a worker

    def walk(self, batch: SharedBatch, stop: Callable[[], bool]) -> bool | None:
        """Have a batch walked; False if `stop()` became true before its end, None if the workers are lost for good.

        If it is not True, nothing is counted.
        """
        try:
            walked = self._walk(batch, stop)
        except ClusterError as error:
            self._say(f"{error}; training goes on in this process alone")
            walked = None
        if not walked:
            batch.drawn[:] = 0
        return walked

    def _walk(self, batch: SharedBatch, stop: Callable[[], bool]) -> bool:
        crew = self._crew
        while not crew.slots:
            if stop():
                return False
            crew.ended(0.1)
        name, missing = self._begin(batch)
        began, waited_for = time.perf_counter(), 0.0
        while missing:
            if stop():
                crew.give_up()
                return False
            late = time.perf_counter() - began > max(LATE * waited_for, LATE_SECONDS)
            if len(missing) < crew.slots and waited_for and late:
                crew.give_up()
                for share in missing:
                    batch.walk_here(*share)
                return True
            for ended in crew.ended(0.1):
                if ended.tag in missing and self._take(batch, name, ended):
                    missing.remove(ended.tag)
                    waited_for = time.perf_counter() - began
        return True

    def _begin(self, batch: SharedBatch) -> tuple[str, set[tuple[int, int]]]:
        """Send all shares of a batch; return its name, and the first game and the one after the last of each.

        The policy goes with as many as are walked at first, so once a batch to each thread of a worker.  As a task that
        shares depend on, it would leave this process once.  But Dask gives all that depends on a task to the worker
        that did it: shares would have to be bound to workers, and wait at one that is stopped.
        """
        games, slots = batch.last - batch.first, self._crew.slots
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
        """Give a share of a batch called `name` to the workers, with or without the policy."""
        arguments = self._config, batch.turn, batch.first, name, policy, *share
        key = "-".join(map(str, (name, *share, *([] if policy is None else ["policy"]))))
        self._crew.begin(share, Task(key, knowing, (self._homes, walk_share, *arguments)))

    def _take(self, batch: SharedBatch, name: str, ended: Ended) -> bool:
        """Add what a share counted; if workers failed at it, it is walked here.

        False if it came to a worker that has no policy yet: it is sent again with that.
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


def walk_share(
    config: dict[str, Any],
    turn: int,
    game: int,
    name: str,
    policy: tuple[NDArray[np.uint8], NDArray[np.uint8]] | None,
    first: int,
    last: int,
) -> tuple[NDArray[np.uint32], float] | None:
    """Walk games `first` to `last - 1` of the batch that begins with `game`, on a worker; return counts and seconds.

    turn, name: of the batch.  policy: as `Shares` sends it; None if this thread may have it already.  If it has not,
    nothing is walked, and None returned.
    """
    began = time.perf_counter()
    if getattr(_own, "name", None) != name:
        if policy is None:
            return None
        _own.name = None
        meant = config_from_dict(config)
        moves = _unpacked(*policy, meant.graph)
        if getattr(_own, "made_for", None) != meant:
            _own.trainer = _own.made_for = None  # its room is free for the next one
            _own.trainer, _own.made_for = make_trainer(meant, rival=moves if meant.opponent else None), meant
        _own.trainer.take_batch(turn, game, moves)
        _own.name = name
    return _own.trainer.walk_some(turn, first, last), time.perf_counter() - began


def _packed(policy: Policy, graph: Graph) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """A policy as it is sent: how many best moves each row has, and the moves by their numbers within the row."""
    return policy.best.astype(np.uint8), (policy.ordered - _starts(graph)).astype(np.uint8)


def _unpacked(best: NDArray[np.uint8], order: NDArray[np.uint8], graph: Graph) -> Policy:
    return Policy((order + _starts(graph)).astype(np.uint32), best.astype(np.uint32))


def _starts(graph: Graph) -> NDArray[Any]:
    """int[E]: the first edge of each edge's row."""
    starts: NDArray[Any] = graph.first_edge[rows_of_edges(graph)]
    return starts
