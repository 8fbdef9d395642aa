"""The text of games in pieces of whole lines, from a file, a FIFO, a terminal, or lines in memory.

A piece holds at most `PIECE` bytes and a line, so any amount of text is read in little memory.  A line ends with LF,
CR LF or CR.  A line that is too long for a game is cut to one byte more than a line may have.
"""

import io
import os
import re
import stat
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import cast

from ttt_batch.base.errors import GamesError, quoted
from ttt_batch.base.files import reason, shown

PIECE = 1 << 20
"""Bytes that are read at once: 55,000 games, which are learnt from in some 30 ms."""

LONGEST_LINE = 1 << 16
"""Bytes of a line at most, without its end.  The longest game has 64 moves; the rest is for a comment."""

LONGEST_BEGINNING = 1 << 12
"""Bytes that show what an ordinary file holds, before anything else is done."""

STANDARD_INPUT = "-"

UTF_8 = b"\xef\xbb\xbf"
WIDE_TEXT = (b"\xff\xfe", b"\xfe\xff")
"""How text in UTF-8 may begin, and how text in UTF-16 or UTF-32 does."""

FIRST_END = re.compile(rb"\n|\r\n|\r(?!\Z)")
"""A line's end.  A CR at the very end of what is read so far may be the first half of CR LF."""


class GameFile:
    """A file of games, or standard input for `-`; iterate over its pieces once.

    name: the file, for messages.  size: its bytes if they are known, else 0.  read: bytes read so far.

    Raises GamesError if it cannot be read, or is no text.
    """

    def __init__(self, path: str | Path, holds: str = "game") -> None:
        """holds: what a line is, for messages."""
        self._holds = holds
        self._path = Path(path)
        self._standard = str(path) == STANDARD_INPUT
        self.name = "standard input" if self._standard else shown(self._path)
        self.size = self.read = 0

    def waits(self) -> bool:
        """Whether a program or person is still writing: to a FIFO, a socket or a terminal."""
        mode = self._mode()
        return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or self.typed()

    def typed(self) -> bool:
        """Whether the games are typed at a terminal."""
        if not stat.S_ISCHR(self._mode()):
            return False
        with suppress(OSError):
            if self._standard:
                return sys.stdin.isatty()
            with self._path.open("rb", buffering=0) as file:
                return file.isatty()
        return False

    def check(self) -> None:
        """Raise GamesError for a file that is not there or is a folder, without opening it."""
        if self._standard:
            return
        try:
            folder = stat.S_ISDIR(self._path.stat().st_mode)
        except (OSError, ValueError) as error:
            raise self._refused(reason(error)) from None
        if folder:
            raise self._refused("it is a folder")

    def beginning(self) -> list[str]:
        """The first two lines that are not empty, of an ordinary file alone: others are read once."""
        if self._standard or not stat.S_ISREG(self._mode()):
            return []
        with suppress(OSError, ValueError), self._path.open("rb") as file:
            lines = file.read(LONGEST_BEGINNING).removeprefix(UTF_8).decode("utf-8", "replace").splitlines()
            return [line for line in lines if line.strip()][:2]
        return []

    def places(self) -> list[tuple[str, Path | int]]:
        """What is read, for `outputs.check_distinct`: a path, or the descriptor of standard input if it has one."""
        with suppress(OSError, ValueError):
            return [(self.name, sys.stdin.fileno())] if self._standard else [("GAMES", self._path)]
        return []

    def _mode(self) -> int:
        with suppress(OSError, ValueError):  # not there, or no file at all: reading says so
            return next((os.stat(place).st_mode for _, place in self.places()), 0)  # noqa: PTH116 - or a descriptor
        return 0

    def __iter__(self) -> Iterator[bytes]:
        try:
            if self._standard:
                yield from self._pieces(cast(io.BufferedReader, sys.stdin.buffer))
                return
            with self._path.open("rb") as file:
                status = os.fstat(file.fileno())
                self.size = status.st_size if stat.S_ISREG(status.st_mode) else 0
                yield from self._pieces(file)
        except (OSError, ValueError) as error:  # a name with a NUL is a ValueError
            raise self._refused(reason(error)) from None

    def _pieces(self, file: io.BufferedReader) -> Iterator[bytes]:
        def blocks() -> Iterator[bytes]:
            block = _beginning(file)
            self.read = len(block)
            if block.startswith(WIDE_TEXT):
                raise self._refused("it is text in UTF-16", "save it as UTF-8")
            text = block.removeprefix(UTF_8)
            while block:
                if b"\0" in text:
                    raise self._refused("it is not a text file")
                yield text
                text = block = file.read1(PIECE)
                self.read += len(block)

        return whole_lines(blocks())

    def _refused(self, why: str, remedy: str = "") -> GamesError:
        remedy = remedy or f"name a text file with a {self._holds} per line"
        return GamesError(f"cannot read {self._holds}s from {self.name}: {why}; {remedy}")


def _beginning(file: io.BufferedReader) -> bytes:
    """The first block, with a byte order mark whole if there is one."""
    block = more = file.read1(PIECE)
    while more and any(block != mark and mark.startswith(block) for mark in (UTF_8, *WIDE_TEXT)):
        more = file.read1(PIECE)
        block += more
    return block


def whole_lines(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """Cut text so that each piece ends with a line's end."""
    rest, dropping = b"", False
    for block in blocks:
        text = rest + block
        if dropping:
            found = FIRST_END.search(text)
            if found is None:
                rest = b"\r" if text.endswith(b"\r") else b""
                continue
            text, dropping = text[found.end() :], False
        end = max(text.rfind(b"\n"), text.rfind(b"\r", 0, -1)) + 1
        if end:
            yield text[:end]
        rest = text[end:]
        if len(rest) > LONGEST_LINE + 1:
            yield rest[: LONGEST_LINE + 1] + b"\n"
            rest, dropping = b"", True
    if rest and not dropping:
        yield rest + b"\n"


class GameLines:
    """Lines in memory, each of them one line whatever it holds; used like `GameFile`."""

    def __init__(self, lines: Iterable[str]) -> None:
        """Raises GamesError for what is no list of anything."""
        if not isinstance(lines, Iterable):
            raise GamesError(f"games {quoted(lines)} are none; give a file, or lines of text")
        self._lines = lines
        self.name, self.size, self.read = "games", 0, 0

    def check(self) -> None:
        """Nothing can be missing."""

    def beginning(self) -> list[str]:
        """Nothing is read ahead."""
        return []

    def places(self) -> list[tuple[str, Path | int]]:
        """There is no file."""
        return []

    def __iter__(self) -> Iterator[bytes]:
        piece = bytearray()
        for line in self._lines:
            if not isinstance(line, str):
                raise GamesError(f"{quoted(line)} is no line of text; give games as text, such as '4 0 2 1 6'")
            text = re.sub("[\r\n]", " ", line.rstrip("\r\n"))
            piece += text.encode("utf-8", "backslashreplace")[: LONGEST_LINE + 1] + b"\n"
            if len(piece) >= PIECE:
                self.read += len(piece)
                yield bytes(piece)
                piece.clear()
        self.read += len(piece)
        if piece:
            yield bytes(piece)
