"""Results with distances: the sweep against plain minimax that counts plies, on whole boards."""

import pytest
from helpers.players import best_play

import ttt_batch as ttt
from ttt_batch.games.board import EMPTY, parse_board
from ttt_batch.games.enumeration import enumerate_graph
from ttt_batch.games.solution import RESULTS, WORDS, Prospect, SolvedResult, solve, solve_in_plies, solved_result


@pytest.mark.parametrize("name", ["3x3", "3x3-misere", "2x3x2", "3x3x2-exact", "2x4x3"])
@pytest.mark.parametrize("occupied", [False, True])
def test_every_position_has_the_result_and_distance_of_plain_minimax(name, occupied):
    board = parse_board(name)
    graph = enumerate_graph(board, occupied)
    values = solve_in_plies(graph)
    for code, value in zip(graph.code.tolist(), values.tolist(), strict=True):
        if code >= 0:
            marks = board.decode(code)
            assert solved_result(value, marks.count(EMPTY)) == best_play(board, marks), board.format_position(marks)
    assert ((values > 0).astype(int) - (values < 0) == solve(graph)).all()


def test_nobody_knows_it_on_a_growing_board():
    run = ttt.train(10, board="5x5x5", batch=1)
    assert run.truth(0) is None and run.true_moves(0) is None and run.true_value(0) is None


def test_the_truth_as_a_player_sees_it_and_in_words():
    assert [(p.word, p.short, str(p)) for p in (Prospect(1, 3), Prospect(0, 9), Prospect(-1, 2))] == [
        ("win", "W3", "win in 3"),
        ("draw", "D", "draw"),
        ("loss", "L2", "loss in 2"),
    ]
    truths = [SolvedResult(1, 3), SolvedResult(0, 6), SolvedResult(-1, 1)]
    assert [str(truth) for truth in truths] == ["X wins in 3 plies", "a draw in 6 plies", "O wins in 1 ply"]
    assert [truth.seen_by(0) for truth in truths] == truths
    assert [truth.seen_by(1) for truth in truths] == [Prospect(-1, 3), Prospect(0, 6), Prospect(1, 1)]
    assert [truth.a_ply_earlier for truth in truths] == [SolvedResult(1, 4), SolvedResult(0, 7), SolvedResult(-1, 2)]
    assert RESULTS == ("win", "draw", "loss") == tuple(WORDS[result] for result in (1, 0, -1))
