"""Output to terminals and other text streams.

A terminal obeys control characters, and Unicode characters can reverse a line or take no room.  With them the name of
a file could clear the screen or forge a line.  `print_lines` for results and `print_message` for messages therefore
write unprintable characters as Python's escapes: `\\x1b`, `\\n`, `\\u202e`, and `\\udcff` for undecodable bytes of a
name.
"""

import os
import re
import shlex
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from typing import Any, TextIO

LONGEST_LINE = 1000
"""Maximum number of characters of a message; a longer one, e.g. with a number of 5,000 digits, loses its middle."""

_COLOUR = re.compile(r"(\x1b\[[0-9;]{0,20}m)")


def one_line(text: str) -> str:
    """Return `text` on one line, with escapes for unprintable characters.

    A second call changes nothing.
    """
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in text)


def all_lines(text: str, *, colour: bool = False) -> str:
    """Return `text` escaped as in `one_line`, but with its line ends, and with our colour codes if `colour`."""
    if colour:
        return "".join(part if number % 2 else all_lines(part) for number, part in enumerate(_COLOUR.split(text)))
    return "\n".join(map(one_line, text.split("\n")))


def shortened(text: str, width: int) -> str:
    """Return `text` in at most `width` characters; a longer text keeps its beginning and end."""
    return text if len(text) <= width else f"{text[: width * 2 // 3 - 5]} ... {text[len(text) - width // 3 :]}"


def for_shell(name: str) -> str:
    """Return `name` quoted as one word of a shell command; `$'...'` encodes unprintable characters."""
    if name.isprintable():
        return shlex.quote(name)
    found = []
    for character in name:
        if character.isprintable():
            found.append(f"\\{character}" if character in "\\'" else character)
        else:  # three octal digits, so that a following digit is not read as part of it
            found += [f"\\{byte:03o}" for byte in character.encode("utf-8", "surrogateescape")]
    return f"$'{''.join(found)}'"


def is_live(stream: TextIO, environ: Mapping[str, str] = os.environ) -> bool:
    """Return whether a stream is a terminal that can move the cursor.

    Windows' own terminals can, without setting TERM.
    """
    term = environ.get("TERM", "xterm" if os.name == "nt" else "")
    return stream.isatty() and term not in ("", "dumb", "unknown")


def wants_colour(stream: TextIO, environ: Mapping[str, str] = os.environ) -> bool:
    """Return whether to write colour: on a terminal as in `is_live`, unless NO_COLOR is set (no-color.org)."""
    return is_live(stream, environ) and not environ.get("NO_COLOR")


def print_lines(text: str, stream: TextIO, *, end: str = "\n", colour: bool = False) -> None:
    """Write the lines of a result and flush them.  Raises OSError if the stream cannot be written.

    colour: keep our colour codes in the text.
    """
    stream.write(all_lines(text, colour=colour) + end)
    stream.flush()


def print_message(message: str, *, end: str = "\n") -> None:
    """Write a message as one line to standard error.  After a failed write, standard error is discarded."""
    if sys.stderr is None:  # in programs without a terminal
        return
    try:
        sys.stderr.write(shortened(one_line(message), LONGEST_LINE) + end)
        sys.stderr.flush()
    except OSError:
        discard_output(sys.stderr)


def is_broken(stream: TextIO) -> bool:
    """Return whether flushing a stream fails: its reader has closed it, or the disk is full."""
    try:
        stream.flush()
    except OSError:
        return True
    return False


def discard_output(stream: TextIO) -> None:
    """Discard all further output to a stream, including Python's output at exit."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


class _Unclosed:
    """Wrapper of a stream that ignores `close`."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def close(self) -> None:
        """Leave the stream open."""


@contextmanager
def redirect_prints() -> Iterator[None]:
    """Redirect the prints of third-party code to standard error within the block, to keep them out of results.

    Both streams are restored afterwards, even if that code replaced or closed them.
    """
    stream: Any = sys.stderr if sys.stderr is None else _Unclosed(sys.stderr)
    with redirect_stdout(stream), redirect_stderr(stream):
        yield


class Notice:
    """Status line on a terminal until `wipe`; other streams get no output.

    It needs no import, so it appears at once.  The cursor stays at the beginning of the line.
    """

    def __init__(self, text: str, stream: TextIO) -> None:
        self._stream = stream if text and is_live(stream) else None
        room = shutil.get_terminal_size().columns - 5
        self._write(f"{one_line(text)[:room]} ...\r")

    def wipe(self) -> None:
        """Clear the line."""
        self._write("\x1b[K")
        self._stream = None

    def _write(self, text: str) -> None:
        if self._stream is not None:
            with suppress(OSError, ValueError):  # the terminal may be gone
                self._stream.write(text)
                self._stream.flush()
