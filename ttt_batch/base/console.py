"""What a text stream can show, and how text is written to it.

Results go through `put`, messages through `tell`: both escape what a terminal would obey.
"""

import os
import shutil
import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import TextIO

from ttt_batch.base.escapes import all_lines, one_line, shortened

LONGEST = 1000
"""Characters of a message; of a longer one, such as one about a number of 5,000 digits, the middle is left out."""


def is_live(stream: TextIO, environ: Mapping[str, str] = os.environ) -> bool:
    """Whether a stream shows moving pictures: a terminal that can do more than print lines.

    Windows' own terminals can, and do not set TERM.
    """
    term = environ.get("TERM", "xterm" if os.name == "nt" else "")
    return stream.isatty() and term not in ("", "dumb", "unknown")


def wants_colour(stream: TextIO, environ: Mapping[str, str] = os.environ) -> bool:
    """Whether to write colour: to a terminal that is not dumb, unless NO_COLOR is set (no-color.org)."""
    return is_live(stream, environ) and not environ.get("NO_COLOR")


def put(text: str, stream: TextIO, *, end: str = "\n", colour: bool = False) -> None:
    """Write the lines of a result and flush them.  Raises OSError where the stream takes no more.

    colour: the text may hold colours of ours.
    """
    stream.write(all_lines(text, colour=colour) + end)
    stream.flush()


def tell(message: str, *, end: str = "\n") -> None:
    """Write a message, one line on standard error.  Once its reader has gone, nothing more is written."""
    if sys.stderr is None:  # in programs without a terminal
        return
    try:
        sys.stderr.write(shortened(one_line(message), LONGEST) + end)
        sys.stderr.flush()
    except OSError:
        silence(sys.stderr)


def escape_what_it_lacks(stream: TextIO) -> None:
    """Let a stream write characters that its encoding lacks (`LANG=C`) as escapes, rather than fail."""
    with suppress(AttributeError, OSError, ValueError):
        stream.reconfigure(errors="backslashreplace")  # type: ignore[attr-defined]


def refuses(stream: TextIO) -> bool:
    """Whether a stream takes no more: its reader has gone, or its disk is full; what it still holds is lost."""
    try:
        stream.flush()
    except OSError:
        return True
    return False


def silence(stream: TextIO) -> None:
    """Discard everything that is still written to a stream, also what Python writes when it ends."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


class Notice:
    """A line on a terminal that shows what is being done, until it is wiped; elsewhere nothing.

    It needs no import, so it appears at once.  The cursor stays at its beginning.
    """

    def __init__(self, text: str, stream: TextIO) -> None:
        self._stream = stream if text and is_live(stream) else None
        room = shutil.get_terminal_size().columns - 5
        self._write(f"{one_line(text)[:room]} ...\r")

    def wipe(self) -> None:
        """Take the line away."""
        self._write("\x1b[K")
        self._stream = None

    def _write(self, text: str) -> None:
        if self._stream is not None:
            with suppress(OSError, ValueError):  # the terminal may be gone
                self._stream.write(text)
                self._stream.flush()
