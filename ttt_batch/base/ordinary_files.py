"""Ordinary files opened for reading: they have an end, never wait for a writer, and need as much memory as they hold.

Everything here raises what the system raises; the callers word it.
"""

import os
import stat
from contextlib import ExitStack
from io import BufferedReader
from pathlib import Path

_FLAGS = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)
"""Without waiting, should a pipe take a file's place between looking and opening."""


class NotOrdinaryError(Exception):
    """A folder, a pipe or a device; `folder` says whether it is the first."""

    def __init__(self, mode: int) -> None:
        super().__init__("it is not an ordinary file")
        self.folder = stat.S_ISDIR(mode)


def open_ordinary(path: Path) -> BufferedReader:
    """Open an ordinary file.  Raises NotOrdinaryError, and OSError as the system has it."""
    _check(path.stat())  # opening alone may do something to a device
    with ExitStack() as stack:
        file = stack.enter_context(os.fdopen(os.open(path, _FLAGS), "rb"))
        _check(os.fstat(file.fileno()))
        stack.pop_all()
        return file


def size_of(file: BufferedReader) -> int:
    """Bytes of an open file: no more are worth reading, even if some are appended meanwhile.

    Python allocates all that a read asks for, however little there is.
    """
    return os.fstat(file.fileno()).st_size


def _check(status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise NotOrdinaryError(status.st_mode)
