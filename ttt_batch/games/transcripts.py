"""Games as lines of text, and the writer of files of games.

A cell is its number, which counts from 0 in game files, its name `b2`, or another word of `games.notation`.  A game may
end with `resigns` instead of a cell, if a learner may do so: the first player has lost it.  A result may follow.
`GamesWriter` keeps games in a file; `transcript_reader` reads whole files, thousands of lines at a time.  Lines
that it cannot read are read here, with a message for each fault.
"""

import codecs
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np

from ttt_batch.compiler.jit import BoolArray, Int8Array, Int64Array, Uint32Array, kernel
from ttt_batch.core.errors import GamesError, RunFileError, TakenError, UsageError, flag, quoted
from ttt_batch.core.files import exists, flush_folder, reason, shown, unused_paths, write_all
from ttt_batch.core.outputs import Draft, Lock, OutputKind
from ttt_batch.core.text import Number, count_text
from ttt_batch.games.bitboards import Places, make_places
from ttt_batch.games.board import MARKS, RESIGNS, Board
from ttt_batch.games.graph import Graph, edges_of
from ttt_batch.games.notation import CELLS, DRAWN, NUMBERS, OPEN, DigitReading, Word, line_words

Moves = list[tuple[int, bool]]
"""The cells of a game, from 0, and whether each move explored."""


class Games(NamedTuple):
    """Played games one after the other.

    start: int64[B + 1]; the moves of game g are start[g] to start[g + 1] - 1.
    move: uint32, edges of an enumerated graph; or cells of the board, also as int8.
    exploring: bool, which moves were exploratory.
    """

    start: Int64Array
    move: Int8Array | Uint32Array
    exploring: BoolArray


def games_space(games: int, plies: int, dtype: type = np.uint32) -> Games:
    """Return space for `games` games of `plies` moves on average."""
    return Games(np.zeros(games + 1, np.int64), np.zeros(games * plies, dtype), np.zeros(games * plies, np.bool_))


@kernel
def find_edges(
    graph: Graph, places: Places, origin: Int64Array, codes: Int64Array, games: Games, edge: Uint32Array
) -> None:
    """Write the edges of games of cells, which the rules allow, into `edge` (uint32), in place.

    places, origin: the images of which a row stands for one, see `make_places`, and `Board.images` as int64 array, each
    followed by the number that stands for resigning.
    codes: int64[images], scratch.
    """
    images = places.power.shape[1]
    for number in range(games.start.shape[0] - 1):
        row, image, player = np.int64(0), 0, 1
        codes[:] = 0
        for move in range(games.start[number], games.start[number + 1]):
            cell = np.int64(games.move[move])
            lo, hi = edges_of(graph, row)
            found = lo
            for other in range(lo, hi):
                if origin[image, graph.cell[other]] == cell:
                    found = other
            edge[move] = found
            row = np.int64(graph.child[found])
            if images > 1 and cell < places.power.shape[0]:  # the row stands for the one of lowest code
                image = 0
                for i in range(images):
                    codes[i] += player * places.power[cell, i]
                    image = i if codes[i] < codes[image] else image
                player = 3 - player


def on_graph(games: Games, graph: Graph, board: Board, symmetry: bool) -> Games:
    """Return games of cells as games on the rows of `graph`; with `symmetry` a row stands for all images."""
    edge = np.empty(games.move.size, np.uint32)
    origin = np.array([(*image, board.resignation) for image in board.images(symmetry)], np.int64)
    places, codes = make_places(board, symmetry), np.zeros(len(origin), np.int64)
    find_edges(graph, places, origin, codes, games, edge)
    return Games(games.start, edge, games.exploring)


def format_games(games: Games, graph: Graph, board: Board | None = None) -> list[str]:
    """Write games as lines of text, without line ends.

    board: given if a row of `graph` stands for all images of a position.
    """
    cells = graph.cell[games.move]
    if board is None:
        return joined(cells, games)
    played = (board.real_line(cells[a:b].tolist(), True) for a, b in pairwise(games.start))
    names = dict(enumerate([*map(str, range(board.cells)), RESIGNS]))
    return joined([names[cell] for line in played for cell in line], games)


def joined(cells: Iterable[object], games: Games) -> list[str]:
    """Return one line per game of its moves' `cells`."""
    words = [f"{cell}!" if e else str(cell) for cell, e in zip(cells, games.exploring, strict=True)]
    return [" ".join(words[a:b]) for a, b in pairwise(games.start)]


class WrongResultError(GamesError):
    """Error for a game whose result differs from the one in its line."""


def from_one() -> str:
    """Return the option for files whose cells count from 1, for messages."""
    return flag("cells_from", 1)


def checked_base(cells_from: Number) -> int:
    """Return 0 or 1, the first cell's number.  Raises UsageError for others."""
    if str(cells_from) not in ("0", "1"):
        raise UsageError(f"cells from {cells_from}: the numbers of cells count from 0 or from 1; choose one of them")
    return int(cells_from)


def parse_line(
    line: str, board: Board, *, occupied: bool, resigns: bool = False, reading: DigitReading = CELLS
) -> Moves:
    """Read a game; no moves for a line that is empty or a comment.

    occupied: choosing a cell that may not be marked is a move, too, and loses.
    resigns: the first player may resign where it has a choice.  reading: what digits mean.

    Raises GamesError for anything but a whole game that the rules allow, and for a result that is not the game's.
    """
    return list(moves_of(line, board, occupied=occupied, resigns=resigns, reading=reading))


def moves_of(
    line: str, board: Board, *, occupied: bool, resigns: bool, reading: DigitReading
) -> Iterator[tuple[int, bool]]:
    """Yield the moves of a line one by one; see `parse_line`."""
    own, other, full = 0, 0, (1 << board.cells) - 1  # cells of the player to move and of its opponent, as bits
    count, winner = 0, ""
    for word in line_words(line, board, reading):
        if winner:
            if not word.claim:
                raise GamesError(f"the game is over after {count_text(count, 'move')}, but {quoted(word.text)} follows")
            if word.claim not in (winner, OPEN):
                ends = "are a draw" if winner == DRAWN else f"let {winner} win"
                raise WrongResultError(f"the moves {ends}, but the line says {quoted(word.text)}")
            continue
        if word.claim and word.cell is None:
            raise _unfinished(count, f", but {quoted(word.text)} follows")
        mover, waiting = MARKS[1 + count % 2], MARKS[2 - count % 2]
        count += 1
        cell = _cell_of(word, count, mover, own | other, board, reading)
        if cell == board.resignation:
            if not resigns:
                raise GamesError(f"move {count}, {quoted(word.text)}, is a move of menace alone")
            if count % 2 == 0 or board.cells - count < 1:
                raise GamesError(
                    f"move {count}, {quoted(word.text)}, is a move of the first player where it has a choice"
                )
            winner = waiting
        elif board.open_among(full & ~(own | other)) >> cell & 1 == 0:
            if not occupied:
                raise _not_free(word, count) if (own | other) >> cell & 1 else _floating(word, count)
            winner = waiting
        else:
            own |= 1 << cell
            if any(own & (mask | fence) == mask for mask, fence in board.lines_through[cell]):
                winner = waiting if board.misere else mover
            elif own | other == full:
                winner = DRAWN
        own, other = other, own
        yield cell, word.explores
    if count and not winner:
        raise _unfinished(count)


def _cell_of(word: Word, number: int, mover: str, taken: int, board: Board, reading: DigitReading) -> int:
    """Return the cell of a move: for a column its lowest free cell, for resigning `Board.resignation`.

    Raises GamesError.
    """
    cell = word.cell
    if cell is None:
        kind = "cell number" if reading.moves == NUMBERS else "move"
        raise GamesError(f"move {number}, {quoted(word.text)}, is not a {kind}")
    if word.mark not in ("", mover):
        raise GamesError(f"move {number}, {quoted(word.text)}, is not {mover}'s: X and O take turns, and X begins")
    if word.resigns:
        return cell
    if word.column and cell in range(board.cols):
        column = range(cell + board.cells - board.cols, -1, -board.cols)
        return next((free for free in column if not taken >> free & 1), cell)
    if word.column or not 0 <= cell < board.cells:
        hint, first = "", reading.first
        if word.text[0].isdigit() and reading.moves == NUMBERS:
            hint = f": cells count from {first} in game files, {first} to {board.cells - 1 + first}"
            hint += f"; choose {from_one()} if these count from 1" if first == 0 else ""
        raise _not_free(word, number, hint)
    return cell


def _not_free(word: Word, number: int, hint: str = "") -> GamesError:
    return GamesError(f"move {number}, {quoted(word.text)}, is not a free cell of the board{hint}")


def _floating(word: Word, number: int) -> GamesError:
    return GamesError(f"move {number}, {quoted(word.text)}, has a free cell below it; with gravity a mark falls")


def _unfinished(count: int, end: str = "") -> GamesError:
    return GamesError(f"the game is not finished after {count_text(count, 'move')}{end}")


GAMES_FILE = OutputKind(GamesError, "record", "write games to")
_RECORD = OutputKind(GamesError, "record", "append games to")
"""Files of games that are written whole, and those that grow, as `outputs` speaks of them."""

_AT_ONCE = _BEGINNING = 1 << 16
"""Bytes of games that are written at once, and of a file that show whether it is text."""


class GamesWriter:
    """Writer of games as they are played; the file appears whole when the `with` block ends without an error.

    A lock keeps other processes away.  A full disk ends the recording, not the training: `failure` has the reason,
    nothing more is written, and the block raises it at its end.  If another program creates a file of that name, the
    games go into a new file beside it.

    file: the file of the games at the end.
    Raises GamesError for an existing file (unless `overwrite`), for one that is not ordinary, and if the disk fails
    at the beginning or at the end.
    """

    def __init__(
        self, path: Path, board: Board | None = None, *, overwrite: bool = False, say: Callable[[str], None]
    ) -> None:
        """Prepare the file; board: given if a row stands for all images.  say: called if the games go elsewhere."""
        self._path, self._board, self._overwrite, self._say = path, board, overwrite, say
        self._pending, self._written = bytearray(), False
        self.file: Path | None = None
        self.failure: GamesError | None = None

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            self._target = GAMES_FILE.place(self._path, overwrite=self._overwrite)
            stack.enter_context(GAMES_FILE.alone(self._target))
            with GAMES_FILE.refusing(self._path):
                self._draft = Draft(self._target)
            stack.callback(self._draft.close)
            self._held = stack.pop_all()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        with self._held:
            if kind is None:
                self.finish()

    def write(self, games: Games, graph: Graph | None) -> None:
        """Append `games`, played on `graph`; without one their moves are cells of the board."""
        if self.failure is not None:
            return
        lines = joined(games.move, games) if graph is None else format_games(games, graph, self._board)
        self._pending += "".join(f"{line}\n" for line in lines).encode("ascii")
        self._written = self._written or bool(self._pending)
        if len(self._pending) >= _AT_ONCE:
            self.flush()

    def flush(self) -> None:
        """Write what is pending; `failure` if the system refuses it."""
        try:
            with GAMES_FILE.refusing(self._path):
                self._draft.write(self._pending)
        except GamesError as error:
            self.failure = error
        self._pending = bytearray()

    def finish(self) -> None:
        """Let the file appear now, once, if any game was played.

        Raises GamesError if that fails, or if writing the games has failed.
        """
        if self.file is not None or not self._written:
            return
        self.flush()
        if self.failure is not None:
            raise self.failure
        with GAMES_FILE.refusing(self._path):
            self._draft.flush()
            self.file = self._publish()
            flush_folder(self.file.parent)

    def _publish(self) -> Path:
        """Give the file its name, or a free one beside it if that is taken; return which."""
        try:
            self._draft.publish(overwrite=self._overwrite)
        except OSError as error:
            if not os.path.lexists(self._target):  # the name is free: something else is wrong
                raise
            file = self._publish_beside()
            why = "another program has created it" if isinstance(error, FileExistsError) else reason(error)
            self._say(f"{shown(self._path)} is left as it is: {why}; the games are in {shown(file)}")
            return file
        return self._path

    def _publish_beside(self) -> Path:
        # Beside the file itself, which may be on another disk than a link to it.
        for path in unused_paths(self._target if self._path.is_symlink() else self._path):
            try:
                with Lock(path):
                    self._draft.publish(overwrite=False, target=path)
            except (FileExistsError, TakenError):
                continue
            except RunFileError as error:
                raise GamesError(str(error)) from None
            return path
        raise AssertionError("names do not run out")


class GameRecord:
    """A text file to which finished games are appended; call it with the cells of a game.

    resignation: the number that stands for resigning, if it may occur.

    Raises GamesError at once if `path` cannot be written, or holds something other than text.
    """

    def __init__(self, path: Path, resignation: int | None = None) -> None:
        self._path, self._resignation = path, resignation
        with _RECORD.refusing(path):
            if not exists(path):
                _RECORD.check(path, overwrite=False)
                return
            with _RECORD.place(path, overwrite=True).open("a+b", buffering=0) as file:
                file.seek(0)
                beginning = file.read(_BEGINNING)
            try:
                codecs.utf_8_decode(beginning, "strict", len(beginning) < _BEGINNING)
                binary = b"\0" in beginning
            except UnicodeError:
                binary = True
            if binary:
                raise _RECORD.refusal(path, f"it is not a text file; {_RECORD.with_option('name another file')}")

    def __call__(self, cells: Sequence[int]) -> None:
        """Append a game, whole or not at all.  Raises GamesError if the disk fails."""
        line = " ".join(RESIGNS if cell == self._resignation else str(cell) for cell in cells).encode() + b"\n"
        target = _RECORD.place(self._path, overwrite=True)
        alone = _RECORD.alone(target, patience=1.0, necessary=False)
        with alone, _RECORD.refusing(self._path), target.open("a+b", buffering=0) as file:
            size = file.seek(0, os.SEEK_END)
            if size:  # a last line without an end must not run into this one
                file.seek(-1, os.SEEK_END)
                line = line if file.read(1) == b"\n" else b"\n" + line
            try:
                write_all(file.fileno(), line)
            except OSError:
                file.truncate(size)
                raise
