"""Games as text: a line of cell numbers per game, `!` behind an exploratory move, `#` before a comment.

Made here.  `transcript_writer` keeps them in a file, `transcript_reader` reads them, and `transcript_notation` knows
what a line may say.
"""

from typing import Any, NamedTuple

import numpy as np

from ttt_batch.base.errors import TttBatchError
from ttt_batch.base.jit import kernel
from ttt_batch.game.bitboards import Places, make_places
from ttt_batch.game.board import EMPTY, Board
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
            if images > 1:  # which of them the row stands for: the one of lowest code
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


class GameImage:
    """How the image that a row stands for shows a game's cells; without a board every row stands for itself."""

    def __init__(self, board: Board | None) -> None:
        self._board = board
        self._marks = [EMPTY] * (board.cells if board else 0)
        self._image = tuple(range(len(self._marks)))
        self._plies = 0

    def in_game(self, cell: int) -> int:
        """The cell of the game that a cell of the image shows."""
        return self._image[cell] if self._board else cell

    def mark(self, cell: int) -> None:
        """Make a move of the game."""
        if self._board:
            self._marks[cell] = 1 + self._plies % 2
            self._plies += 1
            self._image = self._board.representative(tuple(self._marks))[1]


def format_games(games: Games, graph: Graph, board: Board | None = None) -> list[str]:
    """Write games as lines of text, without line ends.

    board: given where a row of `graph` stands for all images of a position.
    """
    if board is not None:
        return [_format_game(games, game, graph, board) for game in range(games.start.size - 1)]
    return joined(graph.cell[games.edge], games)


def joined(cells: Any, games: Games) -> list[str]:
    """A line per game of the cells of all moves."""
    words = [f"{cell}!" if e else str(cell) for cell, e in zip(cells, games.exploring, strict=True)]
    return [" ".join(words[a:b]) for a, b in zip(games.start[:-1], games.start[1:], strict=True)]


def _format_game(games: Games, game: int, graph: Graph, board: Board) -> str:
    """One game whose rows are images of its positions."""
    image, words = GameImage(board), []
    for move in range(int(games.start[game]), int(games.start[game + 1])):
        cell = image.in_game(int(graph.cell[games.edge[move]]))
        words.append(f"{cell}!" if games.exploring[move] else str(cell))
        if cell < board.cells:
            image.mark(cell)
    return " ".join(words)
