"""Signals of the process that runs the tests, for `conftest` and for its own test."""

import signal

import pytest


def heed_signals(config: pytest.Config) -> None:
    """Have the programs that tests start heed Ctrl-C and a hang-up where this process ignores them (`nohup pytest &`).

    A program goes on ignoring what its parent ignores, and begins with the system's way for what its parent handles.
    So this process handles them, by doing nothing; workers, which their parent starts, do so for a hang-up.
    """
    for name in ("SIGINT", "SIGHUP"):
        number = getattr(signal, name, None)  # Windows has no SIGHUP
        started_to_work = name == "SIGHUP" and hasattr(config, "workerinput")
        if number is not None and (started_to_work or signal.getsignal(number) is signal.SIG_IGN):
            signal.signal(number, lambda *_: None)
