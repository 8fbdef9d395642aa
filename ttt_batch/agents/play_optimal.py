"""Best play: any of the moves that keep the game's value, each equally likely."""

from ttt_batch.agents.builtin import KernelAgent, policy_player
from ttt_batch.games.board import MAX_TABLE_CELLS, Board
from ttt_batch.games.enumeration import choose_space, enumerate_graph, too_large
from ttt_batch.games.solution import solve
from ttt_batch.simulation.policy import optimal_policy


def optimal_agent(board: Board) -> KernelAgent:
    """Return the agent on a board.  Raises BoardError on a board that is too large to enumerate."""
    space = None if board.cells > MAX_TABLE_CELLS else choose_space(board, "auto", prefers=True)
    if space is None or space.grown:
        raise too_large("best play", board, "choose random, one-ply, two-ply or a run")
    graph = enumerate_graph(board, symmetry=space.symmetry)
    policy = optimal_policy(graph, solve(graph))
    return KernelAgent("optimal", board, policy_player(board, graph, policy, space.symmetry))


AGENT = optimal_agent
