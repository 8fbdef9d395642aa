"""Games as text: a line of cell numbers per game, `!` after an exploratory move, `#` before a comment.

They are made here.  `transcript_writer` keeps them in a file, `transcript_reader` reads them, and `transcript_notation`
defines a line.
"""

from typing import Any, NamedTuple

import numpy as np

from ttt_batch.base.errors import TttBatchError
from ttt_batch.base.jit import kernel
from ttt_batch.game.bitboards import Places, make_places
from ttt_batch.game.board import EMPTY, Board, Position
from ttt_batch.game.graph import Graph, edges_of


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


class CellGames(NamedTuple):
    """Played games as cells of the board.

    start: int64[B + 1]; the moves of game g are start[g] to start[g + 1] - 1.
    cell: int8, the moves.  exploring: bool, which of them were exploratory.
    """

    start: Any
    cell: Any
    exploring: Any


@kernel
def find_edges(graph: Graph, places: Places, origin: Any, codes: Any, games: CellGames, edge: Any) -> None:
    """Write the edges of games that the rules allow into `edge` (uint32), in place.

    places, origin: the images of which a row stands for one, see `make_places`, and `Board.images` as int64 array.
    codes: int64[images], scratch.
    """
    images = places.power.shape[1]
    for number in range(games.start.shape[0] - 1):
        row, image, player = np.int64(0), 0, 1
        codes[:] = 0
        for move in range(games.start[number], games.start[number + 1]):
            cell = np.int64(games.cell[move])
            lo, hi = edges_of(graph, row)
            found = lo
            for other in range(lo, hi):
                if origin[image, graph.cell[other]] == cell:
                    found = other
            edge[move] = found
            row = np.int64(graph.child[found])
            if images > 1:  # the row stands for the one of lowest code
                image = 0
                for i in range(images):
                    codes[i] += player * places.power[cell, i]
                    image = i if codes[i] < codes[image] else image
                player = 3 - player


def on_graph(games: CellGames, graph: Graph, board: Board, symmetry: bool) -> Games:
    """Games on the rows of `graph`, whose rows stand for all images of a position with `symmetry`."""
    edge, images = np.empty(games.cell.size, np.uint32), board.images(symmetry)
    places, codes = make_places(board, symmetry), np.zeros(len(images), np.int64)
    find_edges(graph, places, np.array(images, np.int64), codes, games, edge)
    return Games(games.start, edge, games.exploring)


def format_games(games: Games, graph: Graph, board: Board | None = None) -> list[str]:
    """Write games as lines of text, without line ends.

    board: given if a row of `graph` stands for all images of a position.
    """
    cells = graph.cell[games.edge]
    return joined(cells if board is None else _cells_in_game(cells, games, board), games)


def joined(cells: Any, games: Games) -> list[str]:
    """A line per game of the cells of all moves."""
    words = [f"{cell}!" if e else str(cell) for cell, e in zip(cells, games.exploring, strict=True)]
    return [" ".join(words[a:b]) for a, b in zip(games.start[:-1], games.start[1:], strict=True)]


def _cells_in_game(cells: Any, games: Games, board: Board) -> list[int]:
    """The game's cells of moves whose `cells` are those of the images that rows stand for."""
    found: list[int] = []
    for start, end in zip(games.start[:-1], games.start[1:], strict=True):
        position: Position = (EMPTY,) * board.cells
        for cell in cells[start:end]:
            found.append(board.representative(position)[1][cell])
            position = board.after(position, found[-1])
    return found
