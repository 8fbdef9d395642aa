"""Ctrl-C, SIGTERM and SIGHUP: the first requests a stop, the second stops."""

import _thread
import signal
import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

from ttt_batch.base.errors import InterruptedTraining


def heeded(*names: str) -> dict[int, Any]:
    """The signals of these names that the system has, with their handlers; not those that the program was started to
    ignore, as by nohup: it goes on ignoring them."""
    handlers = {number: signal.getsignal(number) for number in signal.Signals if number.name in names}
    return {number: handler for number, handler in handlers.items() if handler is not signal.SIG_IGN}


class Interrupt:
    """Turns the first Ctrl-C, SIGTERM or SIGHUP into a request to stop after the current batch.

    A second one, or one before any batch was learnt (kernels being compiled), stops at once.  An exception that arises
    while LLVM calls back, or something is finalised, is printed and dropped by Python; so the signal is sent again
    until it gets through.  After the end all of them are ignored for good: what remains is to print how it ended, and
    in one of twenty tries a further signal killed the process before that.
    message: how it ended, or a function that gives it then.

    Raises InterruptedTraining at the end if a signal stopped the work.  Ctrl-C that was taken as the way to leave (a
    game, a curve) is no error; SIGTERM and SIGHUP always are.
    """

    def __init__(self, message: str | Callable[[], str]) -> None:
        self.gently, self.message = False, message
        self._requested, self._stopped_by, self._leaving = False, 0, False
        self._over = threading.Lock()  # taken for good once nothing may be sent any more

    def requested(self) -> bool:
        """Whether to stop after the current batch."""
        return self._requested

    def _handle(self, number: int, _frame: FrameType | None) -> None:
        if self._leaving:
            return
        if self._requested or not self.gently:
            self._stopped_by = number
            raise KeyboardInterrupt
        self._requested = True

    def _dropped(self, dropped: Any) -> None:
        if issubclass(dropped.exc_type, KeyboardInterrupt):
            threading.Timer(0.02, self._send_again).start()
        else:
            self._hook_before(dropped)

    def _send_again(self) -> None:
        if not self._over.acquire(blocking=False):
            return  # what it was to interrupt has ended
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
        self._before = heeded("SIGINT", "SIGTERM", "SIGHUP")
        for number in self._before:
            signal.signal(number, self._handle)
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._leaving = True  # what comes from now on comes too late
        sys.unraisablehook = self._hook_before
        self._over.acquire()
        ended = kind is KeyboardInterrupt or (kind is None and self._stopped_by not in (0, signal.SIGINT))
        for number, handler in self._before.items():
            signal.signal(number, signal.SIG_IGN if ended or self._requested else handler)
        if ended:
            raise InterruptedTraining(self.message if isinstance(self.message, str) else self.message()) from None
