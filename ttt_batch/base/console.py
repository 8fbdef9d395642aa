"""What a text stream can show, and how text is written to it.

A terminal obeys control characters, and Unicode has characters that turn the direction of a line or take no room: with
them the name of a file could clear the screen, or forge a line of its own.  So text that others wrote is shown with
escapes for what cannot be printed, as Python writes them: `\\x1b`, `\\n`, `\\u202e`; bytes of a name that are no text
as `\\udcff`.  Results go through `put`, messages through `tell`, which both do so.
"""

import os
import re
import shlex
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from typing import Any, TextIO

LONGEST = 1000
"""Characters of a message; of a longer one, such as one about a number of 5,000 digits, the middle is left out."""

_COLOUR = re.compile(r"(\x1b\[[0-9;]{0,20}m)")


def one_line(text: str) -> str:
    """Return `text` on one line, every character that cannot be printed as an escape.

    A second time changes nothing more.
    """
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in text)


def all_lines(text: str, *, colour: bool = False) -> str:
    """Return `text` with its line ends, and with our own colours if `colour`; otherwise as `one_line`."""
    if colour:
        return "".join(part if number % 2 else all_lines(part) for number, part in enumerate(_COLOUR.split(text)))
    return "\n".join(map(one_line, text.split("\n")))


def shortened(text: str, width: int) -> str:
    """Return `text` in at most `width` characters: of a longer one its beginning and its end."""
    return text if len(text) <= width else f"{text[: width * 2 // 3 - 5]} ... {text[len(text) - width // 3 :]}"


def for_shell(name: str) -> str:
    """Return `name` as one word of a command to copy; `$'...'` holds what cannot be printed."""
    if name.isprintable():
        return shlex.quote(name)
    found = []
    for character in name:
        if character.isprintable():
            found.append(f"\\{character}" if character in "\\'" else character)
        else:  # octal digits end after three, so what follows is never taken for one more
            found += [f"\\{byte:03o}" for byte in character.encode("utf-8", "surrogateescape")]
    return f"$'{''.join(found)}'"


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
    """Write the lines of a result and flush them.  Raises OSError if the stream takes no more.

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


class _Unclosed:
    """A stream that others may write to and cannot close."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def close(self) -> None:
        """Leave it open."""


@contextmanager
def printing_aside() -> Iterator[None]:
    """Meanwhile what code of others prints goes to standard error, so that results stay what they are.

    Both streams are as before afterwards, whatever that code did with them.
    """
    stream: Any = sys.stderr if sys.stderr is None else _Unclosed(sys.stderr)
    with redirect_stdout(stream), redirect_stderr(stream):
        yield


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
