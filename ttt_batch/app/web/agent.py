"""An agent of somebody's own on the page: its moves, asked for when the page is written, and what is known of it."""

from typing import Any

import numpy as np

from ttt_batch.agents.judging import judge_exactly
from ttt_batch.agents.known import named_agent
from ttt_batch.agents.outsider import Outsider
from ttt_batch.agents.player import Player
from ttt_batch.agents.rival import rival_of
from ttt_batch.app.web.about import PROOF, known_facts, rules_text
from ttt_batch.app.web.packing import Part
from ttt_batch.app.web.table import moves_part
from ttt_batch.base.choices import SEATS
from ttt_batch.game.state_space import check_enumerable


def agent_part(agent: Outsider) -> Part:
    """The part of an agent's moves, without values.  Raises BoardError on a board too large, and AgentError."""
    check_enumerable(agent.board, not agent.exact, "a page of an agent")
    policy = rival_of(agent, agent.graph, agent.images_share, "a page").policy
    return moves_part(agent.graph, policy, np.zeros(0, "<i2"), 0.0)


def about_agent(agent: Outsider) -> dict[str, Any]:
    """Plain values for the page, as `about.about` gives them for a table."""
    judged = Outsider(agent.agent, agent.board, symmetric=agent.images_share)
    evaluation = judge_exactly(judged, Player(named_agent("random", agent.board), agent.board))
    verdict = [f"{'unbeatable' if good else 'can be beaten'} as {seat}" for seat, good in evaluation.unbeatable.items()]
    alike = "one image of each position, for all of them" if agent.images_share else "every position"
    return {
        "learner": agent.name,
        "introduction": "The agent was asked for its move in every position that its play lets happen.",
        "rules": rules_text(agent.board),
        "verdict": ", ".join(verdict),
        "proof": PROOF,
        "against": "Against random moves",
        "results": {seat: list(getattr(evaluation, seat)) for seat in SEATS},
        "losing_line": evaluation.losing_line,
        "facts": known_facts([("Agent", agent.name), ("Board", agent.board.name), ("Asked about", alike)]),
    }
