"""Ctrl-C while other threads need a lock: it waits for the end of the call, so that no lock stays locked."""

import math
import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import Any

import pytest

import ttt_batch as ttt
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
    left = [number for number in HELD_SIGNALS if signal.getsignal(number) is not stop]
    for number, handler in before.items():
        signal.signal(number, handler)
    assert not left, "a block has left its own handlers"


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


def test_each_signal_is_handled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those held back come before one that comes too late to be held back."""
    handled: list[int] = []
    stop = signal.signal(signal.SIGINT, lambda number, _: handled.append(number))
    late = signal.signal(signal.SIGTERM, lambda number, _: handled.append(number))
    with uninterrupted():
        signal.raise_signal(signal.SIGINT)
        assert not handled
        with monkeypatch.context() as patch:
            patch.setattr(time, "monotonic", lambda: math.inf)
            signal.raise_signal(signal.SIGTERM)
        assert handled == [signal.SIGINT, signal.SIGTERM]
    assert handled == [signal.SIGINT, signal.SIGTERM]
    signal.signal(signal.SIGINT, stop)
    signal.signal(signal.SIGTERM, late)


def test_a_signal_that_comes_while_handlers_are_put_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is handled, and all of them are put back: the fixture looks."""
    put, ended = signal.signal, False

    def interrupted(number: int, handler: Any) -> Any:
        found = put(number, handler)
        if ended and number == HELD_SIGNALS[-1]:
            signal.raise_signal(number)
        return found

    with monkeypatch.context() as patch:
        patch.setattr(signal, "signal", interrupted)
        with pytest.raises(KeyboardInterrupt), uninterrupted():
            ended = True


def test_other_threads_handle_no_signals() -> None:
    done: list[bool] = []

    def run() -> None:
        with uninterrupted():
            done.append(True)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert done


def chunks() -> Callable[[], object]:
    """Return a function that gives the threads of a study a task, and waits for one."""
    pool = ThreadPool(2)

    def work() -> None:
        pool.begin(0, RemoteTask("", int, ()))
        pool.ended(0.1)

    return work


def steps() -> Callable[[], object]:
    """Return a function that makes a step of a batch of boards, with a helper."""
    batch = ttt.Batch(6500, "3x3", 1, "random", "same-step", threads=2)
    batch._team._helpers = [None]  # also on one processor

    def work() -> None:
        time.sleep(0.01)  # until the helper sleeps
        batch._team._ended = math.inf  # the last step was just now, which wakes it
        batch.step(batch.sample())

    return work


def resets() -> Callable[[], object]:
    """Return a function that starts all games of a batch anew, each thread its own."""
    return ttt.Batch(6500, "3x3", 1, "random", "same-step", threads=2).reset


@pytest.mark.parametrize("make", [chunks, steps, resets])
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
        for _ in range(100):
            with suppress(KeyboardInterrupt):
                work()
            until = time.monotonic() + 5
            while lost() and time.monotonic() < until:  # another thread may have it
                time.sleep(0.01)
            if len(taken) >= 5 or lost():
                break
    found = lost()
    for one in found:
        one.release()
    assert len(taken) >= 5 and not found
