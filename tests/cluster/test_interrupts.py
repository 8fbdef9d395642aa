"""Ctrl-C while Dask works: it waits for the end of the call."""

import signal
from typing import Any

import pytest

from ttt_batch.cluster import worker_pool
from ttt_batch.cluster.config import ClusterConfig
from ttt_batch.cluster.worker_pool import WorkerPool


class Pool(WorkerPool):
    """A pool whose scheduler is a client that gets Ctrl-C while it cancels."""

    def __init__(self) -> None:
        super().__init__(ClusterConfig(1), lambda _: None)
        self._client, self.ended_calls = self, 0

    def cancel(self, _: object) -> None:
        signal.raise_signal(signal.SIGINT)
        self.ended_calls += 1


def test_a_pool_ends_its_call() -> None:
    pool = Pool()
    with pytest.raises(KeyboardInterrupt):
        pool.give_up()
    assert pool.ended_calls == 1


def test_a_start_that_is_interrupted_ends_what_it_began(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second Ctrl-C does not keep it from that."""
    ended: list[str] = []

    def end(name: str) -> None:
        if not ended:
            signal.raise_signal(signal.SIGINT)
        ended.append(name)

    def start(_: ClusterConfig, stack: Any) -> None:
        stack.callback(end, "folder")
        stack.callback(end, "workers")
        raise KeyboardInterrupt

    monkeypatch.setattr(worker_pool, "start_workers", start)
    with pytest.raises(KeyboardInterrupt), Pool():
        pass
    assert ended == ["workers", "folder"]
