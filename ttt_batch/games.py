"""Games as text: a line of cell numbers per game, `!` behind an exploratory move, `#` before a comment.

Checked against the rules, with file and line, before anything is learnt from them.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

import numpy as np

from ttt_batch.board import EMPTY, UNFINISHED, Board
from ttt_batch.errors import TttBatchError
from ttt_batch.files import temporary_name
from ttt_batch.graph import Graph


class GamesError(TttBatchError):
    """A game that the rules do not allow, or a line that is no game."""


class Games(NamedTuple):
    """Played games one after the other.

    start: int64[B + 1]; the moves of game g are start[g] to start[g + 1] - 1.
    edge: uint32, the moves.  exploring: bool, which of them were exploratory.
    """

    start: Any
    edge: Any
    exploring: Any


@dataclass(frozen=True)
class ParsedGames:
    """games: the good ones.  skipped: file, line and reason of the others."""

    games: Games
    skipped: list[str]


def parse_games(
    lines: Iterable[str], graph: Graph, board: Board | None = None, *, name: str = "games", skip_bad: bool = False
) -> ParsedGames:
    """Read games, a line each; `name` is what messages call the source.

    board: given where a row of `graph` stands for all images of a position.

    Raises GamesError for the first illegal, unfinished or overlong game, unless `skip_bad`.
    """
    start, edges, exploring, skipped = _parse_lines(lines, lambda text: _parse_game(text, graph, board), name, skip_bad)
    return ParsedGames(Games(start, np.array(edges, np.uint32), exploring), skipped)


def _parse_lines(
    lines: Iterable[str], parse: Callable[[str], list[tuple[int, bool]]], name: str, skip_bad: bool
) -> tuple[Any, list[int], Any, list[str]]:
    """Where games start, their moves, which of them explored, and the lines left out."""
    starts, edges, exploring, skipped = [0], [], [], []
    for number, line in enumerate(lines, 1):
        text = line.split("#", 1)[0].strip()
        if not text:
            continue
        try:
            moves = parse(text)
        except GamesError as error:
            message = f"{name}, line {number}: {error}"
            if not skip_bad:
                raise GamesError(f"{message}; mend the line, or leave such lines out with --skip-bad") from None
            skipped.append(message)
            continue
        edges += [edge for edge, _ in moves]
        exploring += [explores for _, explores in moves]
        starts.append(len(edges))
    return np.array(starts, np.int64), edges, np.array(exploring, np.bool_), skipped


def _words(text: str) -> Iterator[tuple[str, int, bool]]:
    """The moves of a line: the word, the cell that it names, whether it explored."""
    for number, word in enumerate(text.split(), 1):
        digits, explores = (word[:-1], True) if word.endswith("!") else (word, False)
        if not (digits.isascii() and digits.isdigit() and len(digits) < 4):
            raise GamesError(f"move {number}, {word!r}, is not a cell number")
        yield word, int(digits), explores


class CellGames(NamedTuple):
    """Played games as cells of the board.

    start: int64[B + 1]; the moves of game g are start[g] to start[g + 1] - 1.
    cell: int64, the moves.  exploring: bool, which of them were exploratory.
    """

    start: Any
    cell: Any
    exploring: Any


@dataclass(frozen=True)
class ParsedCells:
    """games: the good ones.  skipped: file, line and reason of the others."""

    games: CellGames
    skipped: list[str]


def parse_cells(
    lines: Iterable[str], board: Board, *, occupied: bool, name: str = "games", skip_bad: bool = False
) -> ParsedCells:
    """`parse_games` by the rules of `board` alone, where its positions are not enumerated.

    occupied: choosing an occupied cell is a move, too, and loses.
    """

    def parse(text: str) -> list[tuple[int, bool]]:
        marks, over = [EMPTY] * board.cells, False
        moves: list[tuple[int, bool]] = []
        for word, cell, explores in _words(text):
            if over:
                raise GamesError(f"the game is over after {len(moves)} moves, but {word!r} follows")
            if cell >= board.cells or (marks[cell] != EMPTY and not occupied):
                raise GamesError(f"move {len(moves) + 1}, {word!r}, is not a free cell of the board")
            over = marks[cell] != EMPTY
            if not over:
                marks[cell] = 1 + len(moves) % 2
                over = board.outcome(tuple(marks)) != UNFINISHED
            moves.append((cell, explores))
        if not over:
            raise GamesError(f"the game is not finished after {len(moves)} moves")
        return moves

    start, cells, exploring, skipped = _parse_lines(lines, parse, name, skip_bad)
    return ParsedCells(CellGames(start, np.array(cells, np.int64), exploring), skipped)


def _parse_game(text: str, graph: Graph, board: Board | None) -> list[tuple[int, bool]]:
    row, n_open = 0, graph.first_edge.size - 1
    moves: list[tuple[int, bool]] = []
    shown = Shown(board)
    for word, cell, explores in _words(text):
        if row >= n_open:
            raise GamesError(f"the game is over after {len(moves)} moves, but {word!r} follows")
        lo, hi = int(graph.first_edge[row]), int(graph.first_edge[row + 1])
        found = np.flatnonzero(graph.cell[lo:hi] == shown.in_image(cell))
        if found.size == 0:
            raise GamesError(f"move {len(moves) + 1}, {word!r}, is not a free cell of the board")
        edge = lo + int(found[0])
        moves.append((edge, explores))
        shown.mark(cell)
        row = int(graph.child[edge])
    if row < n_open:
        raise GamesError(f"the game is not finished after {len(moves)} moves")
    return moves


class Shown:
    """How the image that a row stands for shows a game's cells; without a board every row stands for itself."""

    def __init__(self, board: Board | None) -> None:
        self._board = board
        self._marks = [EMPTY] * (board.cells if board else 0)
        self._image = tuple(range(len(self._marks)))
        self._plies = 0

    def in_image(self, cell: int) -> int:
        """The cell of the image that shows a cell of the game; one that is no cell stays one."""
        return self._image.index(cell) if cell in self._image else cell

    def in_game(self, cell: int) -> int:
        """The cell of the game that a cell of the image shows."""
        return self._image[cell] if self._board else cell

    def mark(self, cell: int) -> None:
        """Make a move of the game."""
        if self._board:
            self._marks[cell] = 1 + self._plies % 2
            self._plies += 1
            self._image = self._board.representative(tuple(self._marks))[1]


class GamesWriter:
    """Writes games to a file as they are played; the file appears whole, when the `with` block ends without an error.

    Raises GamesError for an existing file (unless `overwrite`) and for what the disk refuses.
    """

    def __init__(self, path: Path, board: Board | None = None, *, overwrite: bool = False) -> None:
        """board: given where a row stands for all images of a position."""
        self._path, self._board = path, board
        if path.exists() and not overwrite:
            raise GamesError(f"{path} exists; choose another file for the games, or replace it with --overwrite")
        self._temporary = temporary_name(path)

    def __enter__(self) -> Self:
        try:
            self._file = self._temporary.open("w", encoding="ascii")
        except OSError as error:
            raise self._refused(error) from None
        return self

    def write(self, games: Games, graph: Graph | None) -> None:
        """Append `games`, played on `graph`; without one their moves are cells of the board."""
        try:
            lines = _joined(games.edge, games) if graph is None else format_games(games, graph, self._board)
            self._file.write("".join(f"{line}\n" for line in lines))
        except OSError as error:
            raise self._refused(error) from None

    def _refused(self, error: OSError) -> GamesError:
        return GamesError(f"cannot write games to {self._path}: {error.strerror}; choose another file")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._file.close()  # what is still buffered may not fit on the disk
            if error is None:
                self._temporary.replace(self._path)
        except OSError as refusal:
            if error is None:
                raise self._refused(refusal) from None
        finally:
            self._temporary.unlink(missing_ok=True)


def format_games(games: Games, graph: Graph, board: Board | None = None) -> list[str]:
    """Write games as lines of text, without line ends.

    board: given where a row of `graph` stands for all images of a position.
    """
    if board is not None:
        return [_format_game(games, game, graph, board) for game in range(games.start.size - 1)]
    return _joined(graph.cell[games.edge], games)


def _joined(cells: Any, games: Games) -> list[str]:
    """A line per game of the cells of all moves."""
    words = [f"{cell}!" if e else str(cell) for cell, e in zip(cells, games.exploring, strict=True)]
    return [" ".join(words[a:b]) for a, b in zip(games.start[:-1], games.start[1:], strict=True)]


def _format_game(games: Games, game: int, graph: Graph, board: Board) -> str:
    """One game whose rows are images of its positions."""
    shown, words = Shown(board), []
    for move in range(int(games.start[game]), int(games.start[game + 1])):
        cell = shown.in_game(int(graph.cell[games.edge[move]]))
        words.append(f"{cell}!" if games.exploring[move] else str(cell))
        if cell < board.cells:
            shown.mark(cell)
    return " ".join(words)
