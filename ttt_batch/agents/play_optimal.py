"""Best play: any of the moves that keep the game's value, each equally likely."""

import functools

import numpy as np
from numpy.typing import NDArray

from ttt_batch.agents.base import Agent, Positions
from ttt_batch.agents.builtin import KernelAgent, policy_player
from ttt_batch.games.board import MAX_TABLE_CELLS, Board
from ttt_batch.games.enumeration import choose_space, enumerate_graph, too_large
from ttt_batch.games.gravity_solver import GravitySolver, can_solve, cannot_solve
from ttt_batch.games.opening_book import read_book
from ttt_batch.games.solution import solve
from ttt_batch.simulation.policy import optimal_policy

SLOTS = 1 << 24
"""Slots of the table of a game's searches, 128 MiB."""

REMEMBERED = 100_000
"""Positions whose moves are remembered."""


class SearchingAgent(Agent):
    """Best play by search, on a board with gravity that is too large to enumerate.

    A move early in a game may take a minute where no opening book has it.
    """

    own = True
    name = "optimal"

    def __init__(self, board: Board) -> None:
        solver = GravitySolver(board, SLOTS, read_book(board))
        self._keeping = functools.lru_cache(REMEMBERED)(solver.keeping)

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
        if can_solve(board):
            return SearchingAgent(board)
        remedy = "choose random, one-ply, two-ply or a run"
        raise cannot_solve(board, remedy) if board.rules == ["gravity"] else too_large("best play", board, remedy)
    graph = enumerate_graph(board, symmetry=space.symmetry)
    policy = optimal_policy(graph, solve(graph))
    return KernelAgent("optimal", board, policy_player(board, graph, policy, space.symmetry))


AGENT = optimal_agent
