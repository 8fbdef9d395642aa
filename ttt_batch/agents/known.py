"""The package's own agents: runs of any kind, `random`, `optimal`, `one-ply` and `two-ply`."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ttt_batch.agents.agent import Agent
from ttt_batch.agents.player import Player
from ttt_batch.agents.positions import Positions, Words, as_cells, mover_words
from ttt_batch.agents.scripted import Scripted, player_number
from ttt_batch.agents.tables import cells_of, table_player
from ttt_batch.base.bits import popcount
from ttt_batch.base.choices import Ties
from ttt_batch.base.jit import kernel
from ttt_batch.game.board import Board
from ttt_batch.game.enumeration import enumerate_graph
from ttt_batch.game.graph import Graph, rows_of_edges
from ttt_batch.game.lines import Lines, make_lines
from ttt_batch.game.solution import solve
from ttt_batch.game.state_space import check_enumerable, choose_space
from ttt_batch.runs.loading import AnyRun
from ttt_batch.runs.run import Run
from ttt_batch.simulation.policy import Policy, chosen_edges, optimal_policy


def alike(chances: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return rows of 0 and 1 divided by their sums; a row without a cell stays as it is."""
    equal: NDArray[np.float64] = chances / chances.sum(1, keepdims=True).clip(min=1)
    return equal


class PolicyAgent(Agent):
    """A policy over all positions of a board, or over all up to symmetry."""

    own = True

    def __init__(self, name: str, board: Board, graph: Graph, symmetry: bool, policy: Policy) -> None:
        """symmetry: whether a row of `graph` stands for all images of a position."""
        self.name = name
        self.resigns = bool((graph.cell == board.resignation).any())
        self.loses = not self.resigns and bool((graph.code < 0).any())
        self._images = np.array(board.images(symmetry))
        self._powers = 3 ** np.arange(board.cells, dtype=np.int64)
        n_open = graph.first_edge.size - 1
        self._order = np.argsort(graph.code[:n_open])
        self._codes = graph.code[:n_open][self._order]
        chosen = chosen_edges(graph, policy)
        self._cells = np.zeros(n_open, np.uint64)
        np.bitwise_or.at(
            self._cells, rows_of_edges(graph)[chosen], np.uint64(1) << graph.cell[chosen].astype(np.uint64)
        )

    def ask(self, batch: Positions) -> NDArray[np.float64]:
        """float64[n, cells]: each of its moves is equally likely; zeros where it resigns."""
        flat = batch.boards.reshape(batch.size, -1).astype(np.int64)
        marks = np.where(flat == 0, 0, 1 + (flat.clip(max=0) + batch.to_move[:, None]) % 2)
        codes = np.stack([marks[:, image] @ self._powers for image in self._images])
        number = codes.argmin(0)
        lowest = codes[number, np.arange(batch.size)]
        row = self._order[np.searchsorted(self._codes, lowest)]
        chances = np.zeros(flat.shape)
        # Image cell i holds what stands on cell image[i].
        np.put_along_axis(chances, self._images[number], as_cells(self._cells[row], flat.shape[1]), axis=1)
        # Resigning is no cell; an occupied one loses as well.  On the empty board there is none.
        resigns = np.flatnonzero(~chances.any(1) & flat.any(1))
        chances[resigns, (flat[resigns] != 0).argmax(1)] = 1
        return alike(chances)


@kernel
def move_cells(player: Any, lines: Lines, own: Any, other: Any, cells: Any) -> None:
    """Write what a player picks among in each position into `cells` (uint64[n]).

    own, other: uint64[n], the marks of the player to move and of its opponent.
    """
    for number in range(own.shape[0]):
        ply = popcount(own[number] | other[number])
        cells[number] = cells_of(player, lines, own[number], other[number], ply)


class KernelAgent(Agent):
    """A player for kernels: a scripted one, a table that grew, or networks."""

    own = True

    def __init__(self, name: str, board: Board, player: Any, *, loses: bool = False) -> None:
        """player: of a class with a body for `tables.cells_of`."""
        self.name, self.loses, self._player, self._lines = name, loses, player, make_lines(board)

    def ask(self, batch: Positions) -> NDArray[np.float64]:
        """float64[n, cells]: each of its moves is equally likely."""
        own, other = mover_words(batch)
        cells: Words = np.zeros_like(own)
        move_cells(self._player, self._lines, own, other, cells)
        chances = as_cells(cells, self._lines.cells).astype(np.float64)
        return alike(chances)


def agent_of_run(run: AnyRun, ties: Ties = "any", name: str = "") -> Agent:
    """A run as an agent; ties: as for `Run.candidates`."""
    name = name or run.config.learner
    if isinstance(run, Run) and run.grown is None:
        agent = PolicyAgent(name, run.board, run.graph, run.config.symmetry, run.policy_on(run.graph, ties))
        agent.seats = run.seats
        return agent
    loses = isinstance(run, Run) and run.learner.occupied
    return KernelAgent(name, run.board, table_player(run, ties), loses=loses)


def playing_agent(run: AnyRun, ties: Ties = "any") -> Any:
    """Return a run as `play_agents` takes it: an agent for kernels, or a player to ask if it may resign."""
    if isinstance(run, Run) and run.learner.boxes:
        return Player(agent_of_run(run, ties), run.board)
    return table_player(run, ties)


def named_agent(name: str, board: Board) -> Agent:
    """One of `AGENT_NAMES`.  Raises UsageError, and BoardError for `optimal` on a board too large to enumerate."""
    if name != "optimal":
        return KernelAgent(name, board, Scripted(player_number(name)))
    space = choose_space(board, "auto", prefers=True)
    check_enumerable(board, space.grown, "the agent optimal")
    graph = enumerate_graph(board, symmetry=space.symmetry)
    return PolicyAgent(name, board, graph, space.symmetry, optimal_policy(graph, solve(graph)))
