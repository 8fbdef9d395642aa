"""Best play by search: the moves of a sweep over all positions, and use as an opponent."""

import numpy as np
import pytest
from helpers.support import command

import ttt_batch as ttt
from ttt_batch.agents import play_optimal
from ttt_batch.agents.base import batch_at
from ttt_batch.agents.external import at_board
from ttt_batch.agents.play_optimal import SearchingAgent
from ttt_batch.analysis.matches import play_scripted
from ttt_batch.core.errors import BoardError
from ttt_batch.games.enumeration import enumerate_graph
from ttt_batch.games.solution import solve


@pytest.mark.slow
def test_it_plays_every_move_that_keeps_the_value():
    board = ttt.parse_board("3x4x3-gravity")
    graph, agent = enumerate_graph(board), SearchingAgent(board)
    values = solve(graph)
    for row in range(0, graph.first_edge.size - 1, 7):
        edges = slice(graph.first_edge[row], graph.first_edge[row + 1])
        keeps = graph.cell[edges][values[graph.child[edges]] == values[row]].tolist()
        (chances,) = agent.ask(batch_at(board, board.decode(int(graph.code[row]))))
        assert np.flatnonzero(chances).tolist() == keeps and chances[keeps].tolist() == [1 / len(keeps)] * len(keeps)


@pytest.mark.slow
def test_it_is_judged_in_little_time_or_refused(capsys):
    """A board whose first move takes too long is refused by the limit of its search, not begun."""
    status, out, _ = command(capsys, "evaluate", "optimal", "--board", "4x6x4-gravity", "--budget", 50, "--games", 2)
    assert status == 0 and "undecided as first within the budget" in out
    for board, says in (
        ("7x8x4-gravity", "best play on 7x8x4-gravity takes a search of more than 6,000,000 positions for a move"),
        (
            "8x8x4-gravity",
            "optimal needs best play by search, on boards with columns x (rows + 1) up to 64; 8x8x4-gravity has 8 x",
        ),
    ):
        status, out, err = command(capsys, "evaluate", "optimal", "--board", board, "--games", 1)
        assert (status, out) == (2, "") and says in err and len(err.splitlines()) == 1


def test_a_limit_holds_in_its_block_only():
    board = ttt.parse_board("3x4x3-gravity")
    agent, start = SearchingAgent(board), batch_at(board, (0,) * 12)
    with (
        pytest.raises(BoardError, match="of more than 3 positions for a move; choose a smaller board, such as 5x5x4"),
        agent.within(3),
    ):
        agent.ask(start)
    assert agent.ask(start).sum() == 1


@pytest.mark.slow
def test_a_game_ends_where_a_move_takes_too_long(monkeypatch, capsys):
    monkeypatch.setattr(play_optimal, "MOST_ENTERED", 1000)
    for words in ("play optimal --as second", "evaluate random --against optimal"):
        status, _, err = command(capsys, *words.split(), "--board", "7x8x4-gravity", "--quiet")
        assert status == 2 and "best play on 7x8x4-gravity takes a search of more than 1,000 positions for a" in err


@pytest.mark.slow
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
