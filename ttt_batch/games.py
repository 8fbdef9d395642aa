"""Games as text: a line of cell numbers per game, `!` behind an exploratory move, `#` before a comment.

Checked against the rules, with file and line, before anything is learnt from them.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

import numpy as np

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


def parse_games(lines: Iterable[str], graph: Graph, *, name: str = "games", skip_bad: bool = False) -> ParsedGames:
    """Read games, a line each; `name` is what messages call the source.

    Raises GamesError for the first illegal, unfinished or overlong game, unless `skip_bad`.
    """
    starts, edges, exploring, skipped = [0], [], [], []
    for number, line in enumerate(lines, 1):
        text = line.split("#", 1)[0].strip()
        if not text:
            continue
        try:
            moves = _parse_game(text, graph)
        except GamesError as error:
            message = f"{name}, line {number}: {error}"
            if not skip_bad:
                raise GamesError(f"{message}; mend the line, or leave such lines out with --skip-bad") from None
            skipped.append(message)
            continue
        edges += [edge for edge, _ in moves]
        exploring += [explores for _, explores in moves]
        starts.append(len(edges))
    games = Games(np.array(starts, np.int64), np.array(edges, np.uint32), np.array(exploring, np.bool_))
    return ParsedGames(games, skipped)


def _parse_game(text: str, graph: Graph) -> list[tuple[int, bool]]:
    row, n_open = 0, graph.first_edge.size - 1
    moves: list[tuple[int, bool]] = []
    for word in text.split():
        digits, explores = (word[:-1], True) if word.endswith("!") else (word, False)
        if not (digits.isascii() and digits.isdigit() and len(digits) < 4):
            raise GamesError(f"move {len(moves) + 1}, {word!r}, is not a cell number")
        if row >= n_open:
            raise GamesError(f"the game is over after {len(moves)} moves, but {word!r} follows")
        lo, hi = int(graph.first_edge[row]), int(graph.first_edge[row + 1])
        found = np.flatnonzero(graph.cell[lo:hi] == int(digits))
        if found.size == 0:
            raise GamesError(f"move {len(moves) + 1}, {word!r}, is not a free cell of the board")
        edge = lo + int(found[0])
        moves.append((edge, explores))
        row = int(graph.child[edge])
    if row < n_open:
        raise GamesError(f"the game is not finished after {len(moves)} moves")
    return moves


class GamesWriter:
    """Writes games to a file as they are played; the file appears whole, when the `with` block ends without an error.

    Raises GamesError for an existing file (unless `overwrite`) and for what the disk refuses.
    """

    def __init__(self, path: Path, graph: Graph, *, overwrite: bool = False) -> None:
        self._path, self._graph = path, graph
        if path.exists() and not overwrite:
            raise GamesError(f"{path} exists; choose another file for the games, or replace it with --overwrite")
        self._temporary = temporary_name(path)

    def __enter__(self) -> Self:
        try:
            self._file = self._temporary.open("w", encoding="ascii")
        except OSError as error:
            raise self._refused(error) from None
        return self

    def write(self, games: Games) -> None:
        """Append `games`."""
        try:
            self._file.write("".join(f"{line}\n" for line in format_games(games, self._graph)))
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


def format_games(games: Games, graph: Graph) -> list[str]:
    """Write games as lines of text, without line ends."""
    words = [f"{cell}!" if e else str(cell) for cell, e in zip(graph.cell[games.edge], games.exploring, strict=True)]
    return [" ".join(words[a:b]) for a, b in zip(games.start[:-1], games.start[1:], strict=True)]
