"""Ctrl-C and other signals held back while locks are taken that other threads need."""

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

HELD_SIGNALS = [number for number in signal.Signals if number.name in ("SIGINT", "SIGTERM", "SIGHUP")]

HELD_SECONDS = 30.0
"""Seconds for which a signal is held back.  A call that takes longer may never end."""


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Hold back Ctrl-C, SIGTERM and SIGHUP, and handle them at the end of the block.

    Their handlers may raise KeyboardInterrupt between any two steps.  One that comes just after a lock was taken, in
    Dask or in a pool of threads, leaves it locked: other threads then wait for ever, and so does who waits for them.
    """
    if threading.current_thread() is not threading.main_thread():  # Python handles signals in the main thread
        yield
        return
    before = {number: signal.getsignal(number) for number in HELD_SIGNALS}
    handlers: dict[int, Any] = {number: handler for number, handler in before.items() if callable(handler)}
    arrived: list[tuple[int, FrameType | None]] = []
    began = time.monotonic()

    def hold(number: int, frame: FrameType | None) -> None:
        if time.monotonic() - began > HELD_SECONDS:
            handlers[number](number, frame)
        arrived.append((number, frame))

    try:
        for number in handlers:
            signal.signal(number, hold)
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        for number, frame in arrived:
            handlers[number](number, frame)
