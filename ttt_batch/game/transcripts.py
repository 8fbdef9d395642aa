"""Games, and their lines of text: the cells in the order of play, `!` after an exploratory move, `#` before a comment.

A cell is its number, which counts from 0 in game files, or its name: `b2`, column letter and row number.  A game may
end with `resigns` instead of a cell, if a learner may do so: the first player has lost it.
`transcript_writer` keeps games in a file; `transcript_reader` reads whole files, thousands of lines at a time.  Lines
that it cannot read are read here, with a message for each fault.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ttt_batch.base.errors import TttBatchError, UsageError, option, quoted
from ttt_batch.base.jit import kernel
from ttt_batch.base.quantities import Number, counted
from ttt_batch.game.bitboards import Places, make_places
from ttt_batch.game.board import EMPTY, RESIGNS, UNFINISHED, Board, Position
from ttt_batch.game.graph import Graph, edges_of
from ttt_batch.game.notation import named_cell

DIGITS = 3
"""Digits of a cell's number at most."""

Moves = list[tuple[int, bool]]
"""The cells of a game, from 0, and whether each move explored."""


class GamesError(TttBatchError):
    """A game that the rules do not allow, or a line that is no game."""


class Games(NamedTuple):
    """Played games one after the other.

    start: int64[B + 1]; the moves of game g are start[g] to start[g + 1] - 1.
    move: uint32, edges of an enumerated graph; or cells of the board, also as int8.
    exploring: bool, which moves were exploratory.
    """

    start: Any
    move: Any
    exploring: Any


def games_space(games: int, plies: int, dtype: type = np.uint32) -> Games:
    """Space for `games` games of `plies` moves on average."""
    return Games(np.zeros(games + 1, np.int64), np.zeros(games * plies, dtype), np.zeros(games * plies, np.bool_))


@kernel
def find_edges(graph: Graph, places: Places, origin: Any, codes: Any, games: Games, edge: Any) -> None:
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
    """Games of cells as games on the rows of `graph`, whose rows stand for all images of a position with `symmetry`."""
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
    return joined(cells if board is None else _cells_in_game(cells, games, board), games)


def joined(cells: Any, games: Games) -> list[str]:
    """A line per game of the cells of all moves."""
    words = [f"{cell}!" if e else str(cell) for cell, e in zip(cells, games.exploring, strict=True)]
    return [" ".join(words[a:b]) for a, b in zip(games.start[:-1], games.start[1:], strict=True)]


def _cells_in_game(cells: Any, games: Games, board: Board) -> list[int | str]:
    """The game's cells of moves whose `cells` are those of the images that rows stand for, or the word to resign."""
    found: list[int | str] = []
    for start, end in zip(games.start[:-1], games.start[1:], strict=True):
        position: Position = (EMPTY,) * board.cells
        for cell in cells[start:end]:
            if cell == board.resignation:
                found.append(RESIGNS)
                continue
            own = board.representative(position)[1][cell]
            found.append(own)
            position = board.after(position, own)
    return found


def from_one() -> str:
    """The option for files whose cells count from 1, for messages."""
    return option("cells_from", 1)


def checked_base(cells_from: Number) -> int:
    """0 or 1, from which the numbers of cells count.  Raises UsageError for others."""
    if str(cells_from) not in ("0", "1"):
        raise UsageError(f"cells from {cells_from}: the numbers of cells count from 0 or from 1; choose one of them")
    return int(cells_from)


def parse_line(line: str, board: Board, *, occupied: bool, resigns: bool = False, cells_from: int = 0) -> Moves:
    """Read a game; no moves for a line that is empty or a comment.

    occupied: choosing an occupied cell is a move, too, and loses.  resigns: the first player may resign where it has a
    choice.  cells_from: the number of the first cell, 0 or 1.

    Raises GamesError for anything but a whole game that the rules allow.
    """
    marks, over = [EMPTY] * board.cells, False
    moves: Moves = []
    for number, (word, cell, explores) in enumerate(_words(line.partition("#")[0], board, cells_from), 1):
        if over:
            raise GamesError(f"the game is over after {counted(len(moves), 'move')}, but {quoted(word)} follows")
        if word == RESIGNS:
            if not resigns:
                raise GamesError(f"move {number}, {quoted(word)}, is a move of menace alone")
            if len(moves) % 2 or marks.count(EMPTY) < 2:
                raise GamesError(f"move {number}, {quoted(word)}, is a move of the first player where it has a choice")
            over = True
            moves.append((cell, explores))
            continue
        if cell not in range(board.cells) or (marks[cell] != EMPTY and not occupied):
            hint = _numbers_of_cells(board, cells_from) if word[0].isdigit() and cell not in range(board.cells) else ""
            raise GamesError(f"move {number}, {quoted(word)}, is not a free cell of the board{hint}")
        over = marks[cell] != EMPTY
        if not over:
            marks[cell] = 1 + len(moves) % 2
            over = board.outcome(tuple(marks)) != UNFINISHED
        moves.append((cell, explores))
    if moves and not over:
        raise GamesError(f"the game is not finished after {counted(len(moves), 'move')}")
    return moves


def _words(text: str, board: Board, cells_from: int) -> Iterator[tuple[str, int, bool]]:
    """The moves of a line: the word, the cell that it names (which may not exist), whether it explored."""
    for number, word in enumerate(text.split(), 1):
        name, explores = (word[:-1], True) if word.endswith("!") else (word, False)
        if name.isascii() and name.isdigit() and len(name) <= DIGITS:
            yield word, int(name) - cells_from, explores
            continue
        if name == RESIGNS:
            yield name, board.resignation, explores
            continue
        cell = named_cell(name, board)
        if cell is None:
            raise GamesError(f"move {number}, {quoted(word)}, is not a cell number")
        yield word, cell, explores


def _numbers_of_cells(board: Board, cells_from: int) -> str:
    """The end of a message about a number that no cell has."""
    numbers = f"cells count from {cells_from} in game files, {cells_from} to {board.cells - 1 + cells_from}"
    return f": {numbers}; choose {from_one()} if these count from 1" if cells_from == 0 else f": {numbers}"
