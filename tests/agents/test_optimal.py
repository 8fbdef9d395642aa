"""Best play by search: the moves of a sweep over all positions, and use as an opponent."""

import numpy as np

import ttt_batch as ttt
from ttt_batch.agents.base import batch_at
from ttt_batch.agents.external import at_board
from ttt_batch.agents.play_optimal import SearchingAgent
from ttt_batch.analysis.matches import play_scripted
from ttt_batch.games.enumeration import enumerate_graph
from ttt_batch.games.solution import solve


def test_it_plays_every_move_that_keeps_the_value():
    board = ttt.parse_board("3x4x3-gravity")
    graph, agent = enumerate_graph(board), SearchingAgent(board)
    values = solve(graph)
    for row in range(0, graph.first_edge.size - 1, 7):
        edges = slice(graph.first_edge[row], graph.first_edge[row + 1])
        keeps = graph.cell[edges][values[graph.child[edges]] == values[row]].tolist()
        (chances,) = agent.ask(batch_at(board, board.decode(int(graph.code[row]))))
        assert np.flatnonzero(chances).tolist() == keeps and chances[keeps].tolist() == [1 / len(keeps)] * len(keeps)


def test_it_is_an_opponent_on_boards_too_large_to_enumerate():
    """The second player wins 4x6 and so never loses it."""
    with at_board("optimal", "4x6x4-gravity") as agent:
        assert isinstance(agent.agent, SearchingAgent)
        assert play_scripted(agent, "two-ply", "second", games=5) == (5, 0, 0)
    batch = ttt.Batch(4, "4x6x4-gravity", 1, "optimal", "same-step", seat="first")
    rewards = np.concatenate(
        [seen.rewards[seen.terminated] for seen in (batch.step(batch.sample()) for _ in range(12))]
    )
    assert rewards.size and (rewards[:, 0] < 0).all()
