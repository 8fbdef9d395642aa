"""Agents for tests of what people see: one that does as it is told, and one that knows the truth by plain minimax."""

import functools
import io
import math
import random
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from ttt_batch.games.board import DRAW, EMPTY, FIRST, FIRST_WINS, SECOND_WINS, UNFINISHED, Board, Position
from ttt_batch.games.solution import SolvedResult
from ttt_batch.runs.base import SolverAccess

RESULTS = {FIRST_WINS: 1, DRAW: 0, SECOND_WINS: -1}


class FakeAgent(SolverAccess):
    """Plays the first free cell, or the cells it is told; values are a tenth of the cell, one unseen."""

    own_ties = enumerated = False

    def __init__(self, board: Board | None = None, choose: Callable[[Position], list[int]] | None = None) -> None:
        self.board = board or Board()
        self.choose = choose
        self.worth = np.zeros((2, 4))
        self.worth[0, FIRST_WINS] = self.worth[1, SECOND_WINS] = 1
        self.worth[0, SECOND_WINS] = self.worth[1, FIRST_WINS] = -1

    def candidates(self, position: Position) -> list[int]:
        return self.choose(position) if self.choose else self.board.open_cells(position)[:1]

    def move_values(self, position: Position) -> dict[int, float]:
        return {cell: math.nan if cell == 3 else (cell - 4) / 10 for cell in self.board.open_cells(position)}

    def true_moves(self, position: Position, limit: int = 0) -> dict[int, SolvedResult] | None:
        return None


class KnowingAgent(FakeAgent):
    """The same, and it knows the truth."""

    enumerated = True

    def true_moves(self, position: Position, limit: int = 0) -> dict[int, SolvedResult] | None:
        return {
            cell: SolvedResult(*best_play(self.board, after)) for cell, after in moves_of(self.board, position).items()
        }


def moves_of(board: Board, position: Position) -> dict[int, Position]:
    """Every position one move further, by cell; none where the game is over."""
    if board.outcome(position) != UNFINISHED:
        return {}
    mover = FIRST + (board.cells - position.count(EMPTY)) % 2
    free = board.open_cells(position)
    return {cell: tuple(mover if i == cell else mark for i, mark in enumerate(position)) for cell in free}


@functools.cache
def best_play(board: Board, position: Position) -> tuple[int, int]:
    """Result for the first player and plies to the end: whoever wins hurries, whoever loses tarries."""
    children = [best_play(board, after) for after in moves_of(board, position).values()]
    if not children:
        return RESULTS[board.outcome(position)], 0
    sign = -1 if (board.cells - position.count(EMPTY)) % 2 else 1
    result = sign * max(sign * value for value, _ in children)
    plies = [n for value, n in children if value == result]
    return result, 1 + (min(plies) if result == sign else max(plies))


def lowest(boards: Any, to_move: Any, legal: Any) -> Any:
    """An agent that takes the lowest free cell."""
    return legal.argmax(1)


def anything(boards: Any, to_move: Any, legal: Any) -> Any:
    """An agent that tells the probabilities of uniformly random play."""
    return legal / legal.sum(1, keepdims=True)


def uneven(boards: Any, to_move: Any, legal: Any) -> Any:
    """An agent that draws a free cell, the likelier the higher its number."""
    weights = legal * np.arange(1.0, legal.shape[1] + 1)
    return weights / weights.sum(1, keepdims=True)


def random_game(board: Board, rng: random.Random) -> list[int]:
    """The cells of a game of random moves."""
    position, cells = (EMPTY,) * board.cells, list[int]()
    while board.outcome(position) == UNFINISHED:
        cells.append(rng.choice(board.open_cells(position)))
        position = board.after(position, cells[-1])
    return cells


def assert_game_lost(board: Board, game: Sequence[int], seat: int, picks: Callable[[Position], Iterable[int]]) -> None:
    """Check that an agent in a seat (0, 1) that may pick these cells can come to play a game, and loses it.

    It may also lose by an occupied cell, as the last move.
    """
    position = (EMPTY,) * board.cells
    for ply, cell in enumerate(game):
        assert board.outcome(position) == UNFINISHED
        own = ply % 2 == seat
        assert not own or cell in picks(position)
        if not board.is_open(position, cell):
            assert own and ply == len(game) - 1
            return
        position = board.after(position, cell)
    assert board.outcome(position) == SECOND_WINS - seat


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True
