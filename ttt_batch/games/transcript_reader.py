"""Reader of games from text: a kernel reads some three million games of 3x3 a second.

It reads digits, column letters, blanks, `!`, comments and line ends, and applies the rules of the board.  It stops at
any line that is not a plain game; `transcripts.parse_line` then reads that line, or says what is wrong with it.

The text of games in pieces of whole lines, from a file, a FIFO, a terminal, or lines in memory.
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
from typing import NamedTuple, cast

import numpy as np

from ttt_batch.compiler.jit import Bool, Int64, Int64Array, Uint8Array, inlined, kernel
from ttt_batch.core.errors import GamesError, flag, quoted
from ttt_batch.core.files import reason, shown
from ttt_batch.games.bitboards import Places, completes, make_places
from ttt_batch.games.board import MAX_CODED_CELLS, Board
from ttt_batch.games.notation import CELLS, DIGITS, NUMBERS, DigitReading
from ttt_batch.games.transcripts import Games, Moves, WrongResultError, from_one, games_space, parse_line

PIECE = 1 << 20
"""Bytes that are read at once: 55,000 games, which are learnt from in some 30 ms."""

LONGEST_LINE = 1 << 16
"""Bytes of a line at most, without its end.  The longest game has 64 moves; the rest is for a comment."""

LONGEST_BEGINNING = 1 << 12
"""Bytes that show what an ordinary file holds, before anything else is done."""

STANDARD_INPUT = "-"

UTF_8 = b"\xef\xbb\xbf"
WIDE_TEXT = (b"\xff\xfe", b"\xfe\xff")
"""Possible beginnings of text in UTF-8, and beginnings of text in UTF-16 or UTF-32."""

FIRST_END = re.compile(rb"\n|\r\n|\r(?!\Z)")
"""A line's end.  A CR at the very end of what is read so far may be the first half of CR LF."""


class GameFile:
    """File of games, or standard input for `-`; iterate over its chunks once.

    name: the file, for messages.  size: its bytes if known, otherwise 0.  read: bytes read so far.

    Raises GamesError if it cannot be read, or is not text.
    """

    def __init__(self, path: str | Path, holds: str = "game") -> None:
        """Open lazily; holds: the kind of a line, for messages."""
        self._holds = holds
        self._path = Path(path)
        self._standard = str(path) == STANDARD_INPUT
        self.name = "standard input" if self._standard else shown(self._path)
        self.size = self.read = 0

    def waits(self) -> bool:
        """Return True if a program or user may still write: to a FIFO, a socket or a terminal."""
        mode = self._mode()
        return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or self.typed()

    def typed(self) -> bool:
        """Return True if the games are typed at a terminal."""
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
        """Return the first two lines with text, of an ordinary file only, since others are read once."""
        if self._standard or not stat.S_ISREG(self._mode()):
            return []
        with suppress(OSError, ValueError), self._path.open("rb") as file:
            lines = file.read(LONGEST_BEGINNING).removeprefix(UTF_8).decode("utf-8", "replace").splitlines()
            return [line for line in lines if line.strip()][:2]
        return []

    def places(self) -> list[tuple[str, Path | int]]:
        """Return the source for `outputs.check_distinct`: a path, or the descriptor of standard input if it has one."""
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
    """Return the first block, with a whole byte order mark."""
    block = more = file.read1(PIECE)
    while more and any(block != mark and mark.startswith(block) for mark in (UTF_8, *WIDE_TEXT)):
        more = file.read1(PIECE)
        block += more
    return block


def whole_lines(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the text in chunks of whole lines."""
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
    """Lines in memory, each a single line; used like `GameFile`."""

    def __init__(self, lines: Iterable[str]) -> None:
        """Take the lines.  Raises GamesError for an object that is not iterable."""
        if not isinstance(lines, Iterable):
            raise GamesError(f"games {quoted(lines)} are none; give a file, or lines of text")
        self._lines = lines
        self.name, self.size, self.read = "games", 0, 0

    def check(self) -> None:
        """Do nothing: lines in memory exist."""

    def beginning(self) -> list[str]:
        """Return nothing, as no line is read ahead."""
        return []

    def places(self) -> list[tuple[str, Path | int]]:
        """Return nothing, as there is no file."""
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


TAB, NEWLINE, RETURN, SPACE, BANG, HASH = (ord(sign) for sign in "\t\n\r !#")
ZERO, NINE, A, Z = (ord(sign) for sign in "09az")
LOWER = ord("a") ^ ord("A")
POSITION, LINES, GAMES = range(3)
"""Entries of the `at` of `scan`: the next byte, lines read so far, games found in this chunk."""

SHOWN = 1_000
"""Bad lines that are kept with their reasons; more of them are only counted."""


class ReaderRules(NamedTuple):
    """Parameters of the reading kernel: the board, whether occupied cells may be chosen, the first cell's number."""

    places: Places
    rows: int
    cols: int
    occupied: int
    first: int


class Skipped(list[str]):
    """The first bad lines with their reasons, a message each; total: how many there were."""

    total: int = 0

    def add(self, message: str) -> None:
        """Count a bad line."""
        self.total += 1
        if self.total <= SHOWN:
            self.append(message)


@inlined
def read_number(text: Uint8Array, position: Int64, most: Int64) -> tuple[Int64, Int64, Int64]:
    """Read up to `most` digits; return the number, its digits and the byte after it, 0 and 0 digits without any."""
    number, begin = np.int64(0), position
    sign = np.int64(text[position])
    while sign >= ZERO and sign <= NINE and position - begin < most:
        number = 10 * number + sign - ZERO
        position += 1
        sign = np.int64(text[position])
    return number, position - begin, position


@inlined
def read_cell(text: Uint8Array, rules: ReaderRules, position: Int64) -> tuple[Int64, Int64]:
    """Read a word; return its cell, -1 for other words, and the byte after it."""
    sign = np.int64(text[position])
    letter = sign | LOWER
    if letter < A or letter > Z:
        number, digits, after = read_number(text, position, DIGITS)
        return number - rules.first if digits > 0 else np.int64(-1), after
    row, digits, after = read_number(text, position + 1, 2)
    plain = text[position + 1] != ZERO and row > 0 and row <= rules.rows and letter - A < rules.cols
    return (row - 1) * rules.cols + letter - A if plain else np.int64(-1), after


@kernel
def scan(text: Uint8Array, rules: ReaderRules, found: Games, at: Int64Array) -> bool:
    """Read games from `at[POSITION]` to the end of the text; return True if it stopped at a line that it cannot read.

    text: uint8, whole lines.  found: games are appended, with room for a move for every byte.
    at: int64[3], see `POSITION`, changed in place.
    """
    places, size = rules.places, text.shape[0]
    cells = places.power.shape[0]
    full = (np.int64(1) << cells) - 1
    position, lines, games = at[POSITION], at[LINES], at[GAMES]
    good: Bool = True
    move = found.start[games]
    while position < size and good:
        first_byte, first_move = position, move
        over: Bool = False
        own, other = np.int64(0), np.int64(0)  # cells of the mover and of the opponent, as bits
        while True:
            sign = text[position]
            while sign in (SPACE, TAB):
                position += 1
                sign = text[position]
            if sign in (NEWLINE, RETURN, HASH):
                break
            cell, position = read_cell(text, rules, position)
            explores = text[position] == BANG
            position += explores
            good = text[position] in (SPACE, TAB, NEWLINE, RETURN, HASH) and not over and cell >= 0 and cell < cells
            if not good:
                break
            if ((own | other) >> cell) & 1 != 0:
                good = rules.occupied != 0
                over = True
            else:
                own |= np.int64(1) << cell
                over = completes(places, cell, own) or own | other == full
            found.move[move], found.exploring[move] = cell, explores
            own, other = other, own
            move += 1
        while good and text[position] not in (NEWLINE, RETURN):  # a comment
            position += 1
        good = good and (over or move == first_move) and position - first_byte <= LONGEST_LINE
        if good:
            position += 2 if text[position] == RETURN and position + 1 < size and text[position + 1] == NEWLINE else 1
            lines += 1
            games += move > first_move
            found.start[games] = move
        else:
            position, move = first_byte, first_move
    at[POSITION], at[LINES], at[GAMES] = position, lines, games
    return not good


class GameReader:
    """Reader of games of a board, chunk by chunk.

    occupied: an occupied cell is a legal move, and loses.  resigns: the first player may resign.
    reading: meaning of digits.  The kernel reads only numbers of cells, without gravity, on up to 39 cells.
    name: the source, for messages.  skip_bad: skip lines that are not games, and list them in `skipped`.
    games: number of good ones so far.
    """

    def __init__(
        self,
        board: Board,
        *,
        occupied: bool,
        resigns: bool = False,
        reading: DigitReading = CELLS,
        name: str = "games",
        skip_bad: bool = False,
    ) -> None:
        self._resigns = resigns
        self._board, self._occupied, self._reading = board, occupied, reading
        self._name, self._skip_bad = name, skip_bad
        self._rules = None
        if reading.moves == NUMBERS and not board.gravity and board.cells <= MAX_CODED_CELLS:
            self._rules = ReaderRules(make_places(board, False), board.rows, board.cols, int(occupied), reading.first)
        self._found = games_space(1, 1, np.int8)
        self._at = np.zeros(3, np.int64)
        self.skipped, self.games = Skipped(), 0

    def read(self, pieces: Iterable[bytes]) -> Iterator[Games]:
        """Yield the games of each chunk of whole lines; they are valid until the next chunk is read.

        Raises GamesError for the first line that is not a whole legal game, unless such lines are skipped.
        """
        for piece in pieces:
            if self._found.move.size < len(piece):
                self._found = games_space(len(piece), 1, np.int8)
            at, found = self._at, self._found
            at[POSITION] = at[GAMES] = 0
            text = np.frombuffer(piece, np.uint8)
            while at[POSITION] < len(piece) if self._rules is None else scan(text, self._rules, found, at):
                self._take_line(piece)
            self.games += int(at[GAMES])
            last = int(found.start[at[GAMES]])
            yield Games(found.start[: at[GAMES] + 1], found.move[:last], found.exploring[:last])

    def _take_line(self, piece: bytes) -> None:
        """Read the line at which the kernel stopped."""
        at, found = self._at, self._found
        begin = int(at[POSITION])
        ending = FIRST_END.search(piece, begin)
        end, at[POSITION] = ending.span() if ending else (len(piece) - 1, len(piece))  # a CR at the very end
        at[LINES] += 1
        line = piece[begin:end].decode("utf-8", "backslashreplace")
        try:
            if end - begin > LONGEST_LINE:
                raise GamesError(f"the line is longer than {LONGEST_LINE:,} bytes")
            moves = self._parsed(line, self._reading)
        except GamesError as error:
            message = f"{self._name}, line {at[LINES]}: {error}"
            if not self._skip_bad:
                raise GamesError(f"{message}{self._way_out(line, message)}") from None
            self.skipped.add(message)
            return
        if moves:
            first = int(found.start[at[GAMES]])
            at[GAMES] += 1
            found.start[at[GAMES]] = first + len(moves)
            for i, (cell, explores) in enumerate(moves, first):
                found.move[i], found.exploring[i] = cell, explores

    def _way_out(self, line: str, message: str) -> str:
        """Return the end of a message about a bad line: what it is if its cells count from 1, and a remedy."""
        remedy = f"fix the line, or leave such lines out with {flag('skip_bad', True)}"
        if self._reading.first == 1 or from_one() in message:
            return f"; {remedy}"
        try:
            whole = bool(self._parsed(line, self._reading._replace(first=1)))
        except WrongResultError as error:
            return f" (counted from 1, {error}); {remedy}"
        except GamesError:
            whole = False
        return f"; counted from 1 it is a whole game: choose {from_one()}, {remedy}" if whole else f"; {remedy}"

    def _parsed(self, line: str, reading: DigitReading) -> Moves:
        """Return the moves of a line.  Raises GamesError."""
        return parse_line(line, self._board, occupied=self._occupied, resigns=self._resigns, reading=reading)
