"""Calls shared out to threads, none of which the caller needs: what no other thread has begun, it does itself.

So nothing waits for threads that do not run, as in a copy of the process, which has none of them.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from typing import Any


def submit_call(pool: ThreadPoolExecutor, call: Future[Any], function: Callable[..., Any], *arguments: Any) -> None:
    """Let another thread make a call, if there is one.

    call: new; the caller keeps it beforehand, because an interrupt (Ctrl-C) may come when it is already queued.
    """
    with suppress(RuntimeError):  # no thread can start, or the interpreter is about to end
        pool.submit(_make_call, call, function, *arguments)


def _make_call(call: Future[Any], function: Callable[..., Any], *arguments: Any) -> None:
    """Make a call unless it has been cancelled."""
    if call.set_running_or_notify_cancel():
        try:
            call.set_result(function(*arguments))
        except BaseException as error:
            call.set_exception(error)


def share_calls(
    pool: ThreadPoolExecutor | None, function: Callable[..., Any], calls: Sequence[tuple[Any, ...]]
) -> list[Any]:
    """Return the results of calls of `function`, made by the caller and by threads of `pool`, if there is one.

    When it returns or raises, none of them runs any more.
    """
    first, *others = calls
    begun: list[Future[Any]] = []
    try:
        for arguments in others:
            begun.append(Future())
            if pool is not None:
                submit_call(pool, begun[-1], function, *arguments)
        found = [function(*first)]
        for arguments, call in zip(others, begun, strict=True):
            found.append(function(*arguments) if call.cancel() else call.result())
        return found
    finally:
        wait([call for call in begun if not call.cancel()])
