"""Signal handling for Ctrl-C, SIGTERM and SIGHUP: the first requests a stop, the second stops at once."""

import _thread
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any

from ttt_batch.core.errors import InterruptedTraining

_DEAF = 0.25
"""Seconds for which signals are ignored after one has stopped the work."""


def active_handlers(*names: str) -> dict[int, Any]:
    """Return the handlers of the named signals, without signals ignored from the start, as by nohup."""
    handlers = {number: signal.getsignal(number) for number in signal.Signals if number.name in names}
    return {number: handler for number, handler in handlers.items() if handler is not signal.SIG_IGN}


class Interrupt:
    """Context manager that turns the first Ctrl-C, SIGTERM or SIGHUP into a request to stop after the current batch.

    A second signal stops at once, and so does one before the first batch (while kernels compile).  For a while, more
    signals are ignored, because they would interrupt the removal of temporary and lock files.  Python prints and drops
    an exception raised in an LLVM callback or a finaliser, so the signal is resent until it arrives.  After a stop all
    of these signals stay ignored: another one could kill the process before it prints its last message.
    message: the last message, or a function that returns it at the end.

    Raises InterruptedTraining at the end if a signal stopped the work.  Ctrl-C caught inside the block (to leave a game
    or a curve) is not an error; SIGTERM and SIGHUP always are.
    """

    def __init__(self, message: str | Callable[[], str]) -> None:
        self.gently, self.message = False, message
        self._requested, self._stopped_by, self._leaving = False, 0, False
        self._deaf_until = 0.0  # time.monotonic()
        self._over = threading.Lock()  # held from the end on, so that no more signals are sent

    def requested(self) -> bool:
        """Return whether to stop after the current batch."""
        return self._requested

    def _handle(self, number: int, _frame: FrameType | None) -> None:
        if self._leaving or time.monotonic() < self._deaf_until:
            return
        if self._requested or not self.gently:
            self._stopped_by, self._deaf_until = number, time.monotonic() + _DEAF
            raise KeyboardInterrupt
        self._requested = True

    def _dropped(self, dropped: Any) -> None:
        if issubclass(dropped.exc_type, KeyboardInterrupt):
            self._deaf_until = 0.0
            threading.Timer(0.02, self._send_again).start()
        elif not self._stopped_by:  # what a signal has cut off may fail to clean up
            self._hook_before(dropped)

    def _send_again(self) -> None:
        if not self._over.acquire(blocking=False):
            return  # the work has already ended
        try:
            number = signal.Signals(self._stopped_by or signal.SIGINT)
            if hasattr(signal, "pthread_kill"):  # unlike interrupt_main, it ends a wait
                signal.pthread_kill(threading.main_thread().ident or 0, number)
            else:
                _thread.interrupt_main(number)
        finally:
            self._over.release()

    def __enter__(self) -> "Interrupt":
        self._hook_before, sys.unraisablehook = sys.unraisablehook, self._dropped
        self._before = active_handlers("SIGINT", "SIGTERM", "SIGHUP")
        for number in self._before:
            signal.signal(number, self._handle)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, _error: BaseException | None, stack: TracebackType | None
    ) -> None:
        self._leaving = True  # later signals are too late
        if kind is KeyboardInterrupt:
            traceback.clear_frames(stack)  # while `_dropped` hides what LLVM's finalisers raise
        sys.unraisablehook = self._hook_before
        self._over.acquire()
        ended = kind is KeyboardInterrupt or (kind is None and self._stopped_by not in (0, signal.SIGINT))
        for number, handler in self._before.items():
            signal.signal(number, signal.SIG_IGN if ended or self._requested else handler)
        if ended:
            raise InterruptedTraining(self.message if isinstance(self.message, str) else self.message()) from None
