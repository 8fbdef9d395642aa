"""Python programs at a pseudo-terminal of their own."""

import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pexpect

import ttt_batch

SECONDS = 300
"""No program takes this long; kernels may have to be compiled."""


@contextmanager
def at_a_terminal(*words: str | Path, rows: int = 24, columns: int = 80, **environment: str) -> Iterator[Any]:
    """Python with these words at a terminal of this size; it may import the helpers."""
    paths = os.pathsep.join([str(Path(__file__).parents[1]), str(Path(ttt_batch.__file__).parents[1])])
    with warnings.catch_warnings():
        # From Python 3.12 on a fork of a process with threads (NumPy's) warns.
        warnings.filterwarnings("ignore", "This process .* is multi-threaded", DeprecationWarning)
        child = pexpect.spawn(
            sys.executable,
            [str(word) for word in words],
            env=os.environ | {"TERM": "xterm", "PYTHONPATH": paths} | environment,
            encoding="utf-8",
            timeout=SECONDS,
            dimensions=(rows, columns),
        )
    child.delaybeforesend = None
    try:
        yield child
    finally:
        child.close(force=True)


def ended(child: Any) -> int:
    """Wait for the end of a program and return its exit status, -1 if a signal ended it."""
    child.expect(pexpect.EOF)
    child.wait()
    return int(child.exitstatus if child.exitstatus is not None else -1)
