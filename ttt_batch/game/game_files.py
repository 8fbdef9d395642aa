"""What a file of games means: its layout, and whether numbers are cells, rows and columns, counted from 0 or from 1.

Every reading is tried on the first games, and on more of them until one reading has more good games than the others.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import tee
from typing import NamedTuple

from ttt_batch.base.choices import DIGITS_MEAN, choose
from ttt_batch.base.errors import BoardError, GamesError, flag, worded
from ttt_batch.base.quantities import Number
from ttt_batch.game.board import Board
from ttt_batch.game.game_layouts import lines_of, with_a_game_a_line
from ttt_batch.game.game_words import COL_ROW, COLUMNS, NUMBERS, ROW_COL, DigitReading
from ttt_batch.game.position_lines import is_labelled
from ttt_batch.game.transcript_source import LONGEST_LINE
from ttt_batch.game.transcripts import checked_base, moves_of

LOOKED_AT = 200
"""Different games that decide, unless two readings have as many good ones."""

MOST_UNDECIDED = 1 << 26
"""Bytes that are read in search of a game that decides."""


class GamesFound(NamedTuple):
    """A file of games that is understood.

    pieces: its text, a game a line.  reading: what digits mean.  said: what was taken, if that is not the usual.
    """

    pieces: Iterator[bytes]
    reading: DigitReading
    said: str


def find_games(
    source: Iterable[bytes],
    board: Board,
    *,
    name: str,
    occupied: bool,
    resigns: bool,
    moves: str | None = None,
    cells_from: Number | None = None,
    asks: bool = True,
) -> GamesFound:
    """Find out what a file of games means.

    moves, cells_from: what the person says about digits.  asks: refuse two readings that remain, instead of 0.
    Raises GamesError for positions with results, and with the option that decides if nothing else does; UsageError.
    """
    given = DigitReading(*_given(board, moves, cells_from)), moves is not None, cells_from is not None
    pieces, layout = with_a_game_a_line(source, board)
    kept, ahead = tee(pieces)
    trial = _Trial(board, occupied, resigns, _readings(board, *given))
    size = 0
    for piece in ahead:
        size += len(piece)
        if trial.decided(lines_of(piece), name) or size > MOST_UNDECIDED:
            break
    del ahead
    reading = trial.settled(name, asks=asks)
    usual = given[0]._replace(up=False)
    if reading == usual and not layout:
        return GamesFound(kept, reading, "")
    return GamesFound(kept, reading, f"{name}: {'; '.join(filter(None, (layout, _told(reading))))}")


def refuse_positions(line: str, name: str) -> None:
    """Raise GamesError for a line of a file of positions with results."""
    if is_labelled(line):
        how = worded(f"ttt-batch evaluate RUN --positions {name}", f"evaluate(run, positions={name!r})")
        raise GamesError(
            f"{name} holds positions with results, not moves, so nothing can be learnt from it; to judge by them: {how}"
        )


def _given(board: Board, moves: str | None, cells_from: Number | None) -> tuple[str, int]:
    """What the person says, or else the usual.  Raises UsageError."""
    way = NUMBERS if moves is None else choose("moves", moves, DIGITS_MEAN)
    if way == COLUMNS and not board.gravity:
        raise BoardError(
            f"{flag('moves', COLUMNS)} is for boards with gravity, and the board is {board.name}; choose another"
        )
    return way, 0 if cells_from is None else checked_base(cells_from)


def _readings(board: Board, given: DigitReading, way: bool, first: bool) -> list[DigitReading]:
    """The readings that are tried, the usual first.  way, first: whether the person says which."""
    ways = [given.moves] if way else [NUMBERS, *([COLUMNS] if board.gravity else []), ROW_COL]
    if not way and (board.gravity or board.rows != board.cols):
        ways.append(COL_ROW)  # of other boards the reflection is as good: rows first, as matrices count
    firsts, ups = [given.first] if first else [0, 1], [False, True] if board.gravity else [False]
    return [DigitReading(moves, number, up) for up in ups for moves in ways for number in firsts]


class _Trial:
    """Counts the good games of each reading, and remembers which readings find the same moves."""

    def __init__(self, board: Board, occupied: bool, resigns: bool, readings: list[DigitReading]) -> None:
        self._board, self._occupied, self._resigns = board, occupied, resigns
        self._good = dict.fromkeys(readings, 0)
        self._trace = dict.fromkeys(readings, 0)
        self._seen: set[str] = set()
        self._first = ""
        self._padded = self._printed = False

    def decided(self, lines: Iterable[str], name: str) -> bool:
        """Try some lines; whether enough were tried, and one reading is the best.  Raises GamesError for positions."""
        for line in lines:
            text = line.partition("#")[0].strip()
            if not text or text in self._seen or len(line) > LONGEST_LINE:
                continue
            if len(self._seen) < 2:
                refuse_positions(text, name)
            self._first = self._first or text
            self._seen.add(text)
            self._padded = self._padded or re.search(r"\b0\d\b", text) is not None
            self._printed = self._printed or re.match(r"\s*[xX]\s*:?\d", text) is not None
            for reading in self._good:
                moves, whole = self._tried(text, reading)
                self._good[reading] += whole
                self._trace[reading] = hash((self._trace[reading], moves if whole else None))
            if len(self._seen) >= LOOKED_AT and len(best := self._best()) == 1:
                return True
            if len(self._seen) == LOOKED_AT:
                self._good = {reading: self._good[reading] for reading in best}
        return False

    def settled(self, name: str, *, asks: bool) -> DigitReading:
        """The reading that is taken.  Raises GamesError if several remain, and the person is to decide."""
        best = self._best()
        if len(best) > 1 and not any(self._good.values()):  # the messages are to be about the likeliest
            return max(best, key=lambda reading: len(self._tried(self._first, reading)[0]))
        if self._padded and any(reading.moves == ROW_COL for reading in best):
            best = [reading for reading in best if reading.moves != NUMBERS]
        if self._printed and self._board.cells <= 9 and len(best) > 1:  # as this program prints moves
            best = [reading for reading in best if reading.first == 1] or best
        if len(best) == 1 or (not asks and best[0].moves == NUMBERS):
            return best[0]
        one, two = best[:2]
        choices = [
            worded(f"{flag('moves', reading.moves)}", f"moves={reading.moves!r}")
            if one.moves != two.moves
            else flag("cells_from", reading.first)
            for reading in (one, two)
        ]
        raise GamesError(
            f"{name}: the games can be read in two ways, {_told(one)} or {_told(two)}; choose {' or '.join(choices)}"
        )

    def _best(self) -> list[DigitReading]:
        """The readings with the most good games, one of those that find the same moves."""
        most = max(self._good.values())
        rivals = [reading for reading, good in self._good.items() if good == most]
        if most == 0:
            return rivals
        found: dict[int, DigitReading] = {}
        for reading in rivals:
            found.setdefault(self._trace[reading], reading)
        return list(found.values())

    def _tried(self, line: str, reading: DigitReading) -> tuple[tuple[int, ...], bool]:
        """The cells of a line up to its first fault, and whether it is a whole game."""
        cells: list[int] = []
        rules = {"occupied": self._occupied, "resigns": self._resigns}
        try:
            for cell, _ in moves_of(line, self._board, reading=reading, **rules):
                cells.append(cell)
        except GamesError:
            return tuple(cells), False
        return tuple(cells), bool(cells)


def _told(reading: DigitReading) -> str:
    """A reading in words."""
    end = ", rows from the bottom" if reading.up else ""
    if reading.moves == NUMBERS:
        return f"cells count from {reading.first}{end}"
    moves = {ROW_COL: "row and column", COL_ROW: "column and row", COLUMNS: "columns"}[reading.moves]
    return f"moves are {moves}, counted from {reading.first}{end}"
