"""Ordinary files opened for reading: what has an end, does not wait for anybody, and takes the memory of what it holds.

Everything here raises what the system raises; the callers say it in their own words.
"""

import os
import stat
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
    _check(path.stat().st_mode)  # opening alone may do something to a device
    file = os.fdopen(os.open(path, _FLAGS), "rb")
    try:
        _check(os.fstat(file.fileno()).st_mode)
    except BaseException:
        file.close()
        raise
    return file


def size_of(file: BufferedReader) -> int:
    """Bytes of an open file: as many as are worth reading, whatever is written to it meanwhile.

    Python allocates all that it is asked to read, however little there is.
    """
    return os.fstat(file.fileno()).st_size


def _check(mode: int) -> None:
    if not stat.S_ISREG(mode):
        raise NotOrdinaryError(mode)
