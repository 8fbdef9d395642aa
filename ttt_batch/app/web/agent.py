"""An agent of somebody's own on the page: its moves, asked for when the page is written, and what is known of it."""

from typing import Any

import numpy as np

from ttt_batch.agents.judging import judge_exactly
from ttt_batch.agents.known import named_agent
from ttt_batch.agents.outsider import AgentAdapter
from ttt_batch.agents.player import Player
from ttt_batch.agents.rival import are_even, edge_chances
from ttt_batch.app.web.about import PROOF, known_facts, rules_text
from ttt_batch.app.web.packing import PagePart
from ttt_batch.app.web.table import moves_part
from ttt_batch.base.choices import SEATS
from ttt_batch.game.state_space import check_enumerable
from ttt_batch.simulation.policy import policy_among


def agent_part(agent: AgentAdapter) -> PagePart:
    """The part of an agent's moves, without values.  Raises BoardError on a board too large, and AgentError."""
    check_enumerable(agent.board, not agent.exact, "a page of an agent")
    graph, seated = agent.graph, _seated(agent)
    chances = edge_chances(seated, graph, agent.images_share)
    policy, uneven = policy_among(graph, chances > 0), None if are_even(graph, chances) else chances
    return moves_part(graph, policy, np.zeros(0, "<i2"), 0.0, uneven)


def _seated(agent: AgentAdapter) -> AgentAdapter:
    """The agent as the page asks it: one image of each position alone if rows stand for all; no move may be illegal."""
    return AgentAdapter(agent.agent, agent.board, symmetric=agent.images_share, loses=None)


def about_agent(agent: AgentAdapter) -> dict[str, Any]:
    """Plain values for the page, as `about.about` gives them for a table."""
    evaluation = judge_exactly(_seated(agent), Player(named_agent("random", agent.board), agent.board))
    verdict = [f"{'unbeatable' if good else 'can be beaten'} as {seat}" for seat, good in evaluation.unbeatable.items()]
    alike = "one image of each position, for all of them" if agent.images_share else "every position"
    return {
        "learner": agent.name,
        "introduction": "The agent was asked for its moves in every position that its play lets happen, and plays them "
        "here as likely as it said.",
        "rules": rules_text(agent.board),
        "verdict": ", ".join(verdict),
        "proof": PROOF,
        "against": "Against random moves",
        "results": {seat: list(getattr(evaluation, seat)) for seat in SEATS},
        "losing_line": evaluation.losing_line,
        "facts": known_facts([("Agent", agent.name), ("Board", agent.board.name), ("Asked about", alike)]),
    }
