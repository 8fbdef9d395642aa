"""Ctrl-C and other signals held back while locks are taken that other threads need."""

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from types import FrameType
from typing import Any

HELD_SIGNALS = [number for number in signal.Signals if number.name in ("SIGINT", "SIGTERM", "SIGHUP")]

HELD_SECONDS = 30.0
"""Seconds in a block after which a new signal is handled at once, after those held back: the block may never end."""


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Hold back Ctrl-C, SIGTERM and SIGHUP, and handle them at the end of the block.

    Their handlers may raise KeyboardInterrupt between any two steps.  If that happens just after Dask or a pool of
    threads has taken a lock, the lock stays locked.  Every thread that needs it then waits for ever.
    """
    if threading.current_thread() is not threading.main_thread():  # Python handles signals in the main thread
        yield
        return
    handlers: dict[int, Any] = {
        number: handler for number in HELD_SIGNALS if callable(handler := signal.getsignal(number))
    }
    arrived: list[tuple[int, FrameType | None]] = []
    until = time.monotonic() + HELD_SECONDS

    def hand_on() -> None:
        while arrived:
            number, frame = arrived.pop(0)
            handlers[number](number, frame)

    def hold(number: int, frame: FrameType | None) -> None:
        arrived.append((number, frame))
        if time.monotonic() > until:
            hand_on()

    with ExitStack() as stack:  # it puts all handlers back, even if one of them raises meanwhile
        stack.callback(hand_on)
        for number, handler in handlers.items():
            stack.callback(signal.signal, number, handler)
        for number in handlers:
            signal.signal(number, hold)
        yield
