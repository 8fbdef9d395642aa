"""Ctrl-C while Dask or threads work: it waits for the end of the call, so that no lock stays locked."""

import math
import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import Any

import pytest
from dask_processes import wait_until

import ttt_batch as ttt
from ttt_batch.cluster import worker_pool
from ttt_batch.cluster.config import ClusterConfig
from ttt_batch.cluster.worker_pool import WorkerPool
from ttt_batch.core import signals
from ttt_batch.core.signals import HELD_SIGNALS, uninterrupted
from ttt_batch.studies.work import RemoteTask, ThreadPool


@pytest.fixture(autouse=True)
def handlers() -> Any:
    """Let each of the signals raise its number."""

    def stop(number: int, _: FrameType | None) -> None:
        raise KeyboardInterrupt(number)

    before = {number: signal.signal(number, stop) for number in HELD_SIGNALS}
    yield
    assert all(signal.getsignal(number) is stop for number in HELD_SIGNALS), "a block has left its own handlers"
    for number, handler in before.items():
        signal.signal(number, handler)


class Pool(WorkerPool):
    """A pool whose scheduler is a client that gets Ctrl-C while it cancels."""

    def __init__(self) -> None:
        super().__init__(ClusterConfig(1), lambda _: None)
        self._client, self.ended_calls = self, 0

    def cancel(self, _: object) -> None:
        signal.raise_signal(signal.SIGINT)
        self.ended_calls += 1


@pytest.mark.parametrize("number", HELD_SIGNALS)
def test_a_signal_is_handled_at_the_end_of_the_block(number: int) -> None:
    reached = False
    with pytest.raises(KeyboardInterrupt) as raised, uninterrupted():
        signal.raise_signal(number)
        reached = True
    assert reached and raised.value.args == (number,)


def test_an_error_of_the_block_is_not_lost() -> None:
    with pytest.raises(KeyboardInterrupt) as raised, uninterrupted():
        signal.raise_signal(signal.SIGINT)
        raise OSError("gone")
    assert isinstance(raised.value.__context__, OSError)
    with pytest.raises(OSError, match="gone"), uninterrupted():
        raise OSError("gone")


def test_who_ignores_a_signal_still_does() -> None:
    stop = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    with uninterrupted():
        signal.raise_signal(signal.SIGTERM)
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN
    signal.signal(signal.SIGTERM, stop)


def test_what_takes_too_long_can_be_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signals, "HELD_SECONDS", -1.0)
    reached = False
    with pytest.raises(KeyboardInterrupt), uninterrupted():
        signal.raise_signal(signal.SIGINT)
        reached = True
    assert not reached


def test_other_threads_handle_no_signals() -> None:
    done: list[bool] = []

    def run() -> None:
        with uninterrupted():
            done.append(True)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert done


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


def chunks() -> Callable[[], object]:
    """Return what gives the threads of a study a task, and waits for one."""
    pool = ThreadPool(2)

    def work() -> None:
        pool.begin(0, RemoteTask("", int, ()))
        pool.ended(0.1)

    return work


def steps() -> Callable[[], object]:
    """Return what makes a step of a batch of boards, with a helper."""
    batch = ttt.Batch(6500, "3x3", 1, "random", "same-step", threads=2)
    batch._team._helpers = [None]  # also on one processor

    def work() -> None:
        time.sleep(0.01)  # until the helper sleeps
        batch._team._ended = math.inf  # the last step was just now, which wakes it
        batch.step(batch.sample())

    return work


@pytest.mark.parametrize("make", [chunks, steps])
def test_a_pool_of_threads_loses_no_lock(make: Callable[[], Callable[[], object]], monkeypatch: Any) -> None:
    """Ctrl-C comes just after each was taken; a thread that waited for one would keep the program from ending."""
    work, taken, me, enter = make(), list[Any](), threading.get_ident(), threading.Condition.__enter__
    work()

    def take(condition: threading.Condition) -> bool:
        got = enter(condition)
        if threading.get_ident() == me:
            taken.append(condition)
            signal.raise_signal(signal.SIGINT)
        return got

    def lost() -> list[Any]:
        return [one for one in taken if one._is_owned()]

    with monkeypatch.context() as patch:
        patch.setattr(threading.Condition, "__enter__", take)
        while len(taken) < 5 and not lost():
            with suppress(KeyboardInterrupt):
                work()
            wait_until(lambda: not lost(), 5)  # one that another thread has
    assert not lost()
