"""Best play: any of the moves that keep the game's value, each equally likely."""

import functools
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from ttt_batch.agents.base import Agent, Positions
from ttt_batch.agents.builtin import KernelAgent, policy_player
from ttt_batch.core.errors import BoardError
from ttt_batch.games.board import MAX_TABLE_CELLS, Board, Position
from ttt_batch.games.enumeration import choose_space, enumerate_graph, too_large
from ttt_batch.games.gravity_solver import GravitySolver, check_solvable
from ttt_batch.games.opening_book import read_book
from ttt_batch.games.solution import solve
from ttt_batch.simulation.policy import optimal_policy

MOST_ENTERED = 1_000_000_000
"""Positions that the search for a move may enter, which takes some minutes."""

SLOTS = 1 << 24
"""Slots of the table of a game's searches, 128 MiB."""

REMEMBERED = 100_000
"""Positions whose moves are remembered."""


class SearchingAgent(Agent):
    """Best play by search, on a board with gravity that is too large to enumerate.

    A move early in a game may take minutes where no opening book has it.  Beyond MOST_ENTERED it is a BoardError.
    """

    own = True
    name = "optimal"

    def __init__(self, board: Board) -> None:
        self._limit = MOST_ENTERED
        self._solver = GravitySolver(board, SLOTS, read_book(board))
        self._keeping = functools.lru_cache(REMEMBERED)(self._search)

    @contextmanager
    def within(self, limit: int) -> Iterator[None]:
        """Let the search for a move enter `limit` positions at most in the block; beyond them raise BoardError."""
        before, self._limit = self._limit, limit
        try:
            yield
        finally:
            self._limit = before

    def _search(self, position: Position) -> list[int]:
        found = self._solver.keeping(position, self._solver.entered + self._limit)
        if found is None:
            raise BoardError(
                f"best play on {self._solver.board.name} takes a search of more than {self._limit:,} positions for a "
                "move; choose a smaller board, such as 5x5x4-gravity"
            )
        return found

    def ask(self, batch: Positions) -> NDArray[np.float64]:
        """Return even probabilities of its moves (float64[n, cells])."""
        chances = np.zeros(batch.legal.shape)
        for number in range(batch.size):
            cells = self._keeping(batch.position(number))
            chances[number, cells] = 1 / len(cells)
        return chances


def optimal_agent(board: Board) -> Agent:
    """Return the agent on a board.  Raises BoardError on one that is too large to enumerate, and to search."""
    space = None if board.cells > MAX_TABLE_CELLS else choose_space(board, "auto", prefers=True)
    if space is None or space.grown:
        remedy = "choose random, one-ply, two-ply or a run"
        if board.rules != ["gravity"]:
            raise too_large("best play", board, remedy)
        check_solvable(board, "optimal", remedy)
        return SearchingAgent(board)
    graph = enumerate_graph(board, symmetry=space.symmetry)
    policy = optimal_policy(graph, solve(graph))
    return KernelAgent("optimal", board, policy_player(board, graph, policy, space.symmetry))


AGENT = optimal_agent
