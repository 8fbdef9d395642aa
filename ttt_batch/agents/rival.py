"""An agent as the fixed opponent of a training: a policy over the rows of its board, and a digest of that.

The agent is asked before the first game about every position that games of the learner against it can reach, however
the learner plays; then it plays no part any more.  So a training against it has the same bytes on any number of
threads, and a resumed one can tell whether the agent is still the same.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_batch.agents.answers import Answered
from ttt_batch.agents.layers import LayerRules
from ttt_batch.agents.outsider import AgentAdapter
from ttt_batch.agents.positions import Words, position_codes
from ttt_batch.agents.reach import Reached
from ttt_batch.base.errors import AgentError
from ttt_batch.game.board import MAX_TABLE_CELLS
from ttt_batch.game.graph import Graph, rows_of_edges
from ttt_batch.runs.state import table_digest
from ttt_batch.simulation.chances import Probabilities, make_chances
from ttt_batch.simulation.policy import Policy, legal_edges, policy_among

EVEN = 1e-5
"""How far equal probabilities may be apart, as a share of them: float32 has seven digits."""


class OpponentPolicy(NamedTuple):
    """What an agent plays on a graph, in the positions that its play lets happen; in others any move.

    policy: its moves if they are equally likely, else how likely each is.
    digest: of these moves or probabilities, for a configuration.
    """

    policy: Policy | Probabilities
    digest: str


def opponent_policy(agent: AgentAdapter, graph: Graph, symmetry: bool) -> OpponentPolicy:
    """An agent as a fixed opponent on the rows of a graph of its board.

    symmetry: whether a row stands for all images of a position; then it is asked about that image alone.
    Raises AgentError.
    """
    chances = edge_chances(agent, graph, symmetry)
    if not are_even(graph, chances):
        return OpponentPolicy(make_chances(graph, chances), table_digest([chances]))
    allowed = chances > 0
    return OpponentPolicy(policy_among(graph, allowed), table_digest([allowed]))


def are_even(graph: Graph, chances: NDArray[np.float64]) -> bool:
    """Whether the moves that may be made in each row are equally likely; chances: float64[E]."""
    likely, row = chances > 0, rows_of_edges(graph)
    share = chances[likely] * np.bincount(row[likely])[row[likely]]
    return bool((np.abs(share - 1) <= EVEN).all())


def edge_chances(agent: AgentAdapter, graph: Graph, symmetry: bool) -> NDArray[np.float64]:
    """float64[E]: the probability of each move of an agent, in positions that its play does not let happen any move.

    symmetry: as for `opponent_policy`.  Raises AgentError.
    """
    rules, cells = LayerRules(agent.board, symmetry), agent.board.cells
    code, cell, chance = list[NDArray[np.int64]](), list[NDArray[np.int64]](), list[NDArray[np.float64]]()

    def answers(own: Words, other: Words, ply: int) -> Answered:
        chances = agent.answers(own, other, ply)
        source, moves = np.nonzero(chances)
        code.append(position_codes(*((other, own) if ply % 2 else (own, other)), cells)[source])
        cell.append(moves)
        chance.append(chances[source, moves])
        return chances

    for seat in (0, 1):
        Reached(rules, answers, seat)
    agent.ask_again()
    return _on_edges(agent, graph, np.concatenate(code), np.concatenate(cell), np.concatenate(chance))


def _on_edges(
    agent: AgentAdapter, graph: Graph, code: NDArray[np.int64], cell: NDArray[np.int64], chance: NDArray[np.float64]
) -> NDArray[np.float64]:
    """float64[E]: the chances of moves given as codes of positions and cells; rows without any make all alike.

    Raises AgentError for an occupied cell.
    """
    n_open = graph.first_edge.size - 1
    row = rows_of_edges(graph)
    order = np.argsort(graph.code[:n_open])
    rows = order[np.searchsorted(graph.code[:n_open], code, sorter=order)]
    edges, wanted = row * MAX_TABLE_CELLS + graph.cell, rows * MAX_TABLE_CELLS + cell
    places = np.searchsorted(edges, wanted).clip(max=edges.size - 1)
    wrong = np.flatnonzero(edges[places] != wanted)
    if wrong.size:
        where = agent.board.format_position(agent.board.decode(int(code[wrong[0]])))
        raise AgentError(
            f"in position {where!r} {agent.name} chose cell {int(cell[wrong[0]])}, which is occupied; an agent that "
            "does so cannot be an opponent or have a page"
        )
    chances = np.zeros(row.size)
    chances[places] = chance
    legal = legal_edges(graph) & (np.bincount(row, chances, n_open) == 0)[row]
    chances[legal] = (1 / np.bincount(row[legal], minlength=n_open).clip(1))[row[legal]]
    return chances
