"""An agent as the fixed opponent of a training: a policy over the rows of its board, and a digest of that.

The agent is asked before the first game about every position that games of the learner against it can reach, however
the learner plays; then it plays no part any more.  So a training against it has the same bytes on any number of
threads, and a resumed one can tell whether the agent is still the same.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_batch.agents.answers import Chances, where
from ttt_batch.agents.layers import Rules
from ttt_batch.agents.outsider import Outsider
from ttt_batch.agents.positions import Words, as_cells, batch_of, codes_of
from ttt_batch.agents.reach import Reached
from ttt_batch.base.errors import AgentError
from ttt_batch.game.board import MAX_TABLE_CELLS, UNFINISHED
from ttt_batch.game.graph import Graph, rows_of_edges
from ttt_batch.runs.state import table_digest
from ttt_batch.simulation.policy import Policy, legal_edges, policy_among

EVEN = 1e-6
"""How far equal probabilities may be apart."""


class Rival(NamedTuple):
    """What an agent plays on a graph, in the positions that its play lets happen; in others any move.

    digest: of these moves, for a configuration.
    """

    policy: Policy
    digest: str


def rival_of(agent: Outsider, graph: Graph, symmetry: bool, use: str = "an opponent to train against") -> Rival:
    """An agent as a fixed opponent on the rows of a graph of its board.  use: what for, in messages.

    symmetry: whether a row stands for all images of a position; then it is asked about that image alone.
    Raises AgentError, also for an agent whose moves are not equally likely.
    """
    rules, code, cell = Rules(agent.board, symmetry), list[NDArray[np.int64]](), list[NDArray[np.int8]]()

    def answers(own: Words, other: Words, ply: int) -> Chances:
        chances = agent.answers(own, other, ply)
        _check_equal(agent, own, other, ply, chances, use)
        return chances

    for seat in (0, 1):
        reached = Reached(rules, answers, seat)
        for ply, moves in enumerate(reached.allowed):
            if ply % 2 == seat:
                layer = reached.layers[ply]
                source, cells = np.nonzero(as_cells(moves, agent.board.cells))
                codes = codes_of(layer.first, layer.second, agent.board.cells)
                code.append(codes[layer.outcome == UNFINISHED][source])
                cell.append(cells.astype(np.int8))
    agent.ask_again()
    allowed = _edges(graph, np.concatenate(code), np.concatenate(cell))
    return Rival(policy_among(graph, allowed), table_digest([allowed]))


def _check_equal(agent: Outsider, own: Words, other: Words, ply: int, chances: Chances, use: str) -> None:
    """Raise AgentError unless all moves that the agent may make in a position are equally likely."""
    lowest = np.where(chances > 0, chances, 1.0).min(1)
    uneven = np.flatnonzero(chances.max(1) - lowest > EVEN)
    if uneven.size:
        batch = batch_of(agent.board, own[uneven[:1]], other[uneven[:1]], ply % 2)
        raise AgentError(
            f"in position {where(agent.board, batch, 0)} {agent.name} answered unequal probabilities; {use} makes "
            "each of an agent's moves equally often: have it return a cell"
        )


def _edges(graph: Graph, code: NDArray[np.int64], cell: NDArray[np.int8]) -> NDArray[np.bool_]:
    """bool[E]: the moves given as codes of positions and cells, and all moves of rows without any of them."""
    n_open = graph.first_edge.size - 1
    row = rows_of_edges(graph)
    order = np.argsort(graph.code[:n_open])
    rows = order[np.searchsorted(graph.code[:n_open], code, sorter=order)]
    allowed = np.zeros(row.size, np.bool_)
    allowed[np.searchsorted(row * MAX_TABLE_CELLS + graph.cell, rows * MAX_TABLE_CELLS + cell)] = True
    silent = np.bincount(row[allowed], minlength=n_open) == 0
    edges: NDArray[np.bool_] = allowed | (silent[row] & legal_edges(graph))
    return edges
