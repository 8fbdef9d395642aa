"""What a text stream can show: asked in one place, so that every command gives the same answer."""

import contextlib
import os
import shutil
from collections.abc import Mapping
from typing import TextIO


def is_live(stream: TextIO, environ: Mapping[str, str] = os.environ) -> bool:
    """Whether a stream shows moving pictures: a terminal that can do more than print lines.

    Windows' own terminals can, and do not set TERM.
    """
    term = environ.get("TERM", "xterm" if os.name == "nt" else "")
    return stream.isatty() and term not in ("", "dumb", "unknown")


def wants_colour(stream: TextIO, environ: Mapping[str, str] = os.environ) -> bool:
    """Whether to write colour: to a terminal that is not dumb, unless NO_COLOR is set (no-color.org)."""
    return is_live(stream, environ) and not environ.get("NO_COLOR")


class Notice:
    """A line on a terminal that says what is being done, until it is wiped; elsewhere nothing.

    It takes nothing that would have to be imported, so it is there at once.  The cursor stays at its beginning.
    """

    def __init__(self, text: str, stream: TextIO) -> None:
        self._stream = stream if text and is_live(stream) else None
        room = shutil.get_terminal_size().columns - 5
        self._write(f"{text[:room]} ...\r")

    def wipe(self) -> None:
        """Take the line away."""
        self._write("\x1b[K")
        self._stream = None

    def _write(self, text: str) -> None:
        if self._stream is not None:
            with contextlib.suppress(OSError, ValueError):  # the terminal may be gone
                self._stream.write(text)
                self._stream.flush()
