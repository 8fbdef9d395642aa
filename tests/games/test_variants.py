"""Variants: whoever makes a line loses (misere), longer lines do not count (exact); rules, values and learners."""

import itertools

import pytest
from helpers.support import mostly_slow
from oracle import naive
from oracle.boards import assert_same, oracle_of, random_games, variant_of

import ttt_batch as ttt
from ttt_batch.games.board import FIRST_WINS, SECOND_WINS, parse_board
from ttt_batch.games.enumeration import enumerate_graph
from ttt_batch.games.solution import solve

pytestmark = pytest.mark.quick_learners("td")

SMALL = ["1x5x3-exact", "1x6x2-exact", "2x4x2-exact", "2x4x3-misere", "2x4x3-misere-exact", "3x3x2-exact", "3x3-misere"]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", mostly_slow(SMALL, *(name for name in SMALL if name != "3x3x2-exact")))
def test_outcomes_follow_from_the_lengths_of_runs(name: str) -> None:
    """Of every way to put marks on the board, unless both players have lines."""
    board = parse_board(name)
    oracle, unclear = variant_of(board), 0
    for position in itertools.product(range(3), repeat=board.cells):
        makers = oracle.makers(position)
        if len(makers) > 1:
            unclear += 1
            assert board.outcome(position) in (FIRST_WINS, SECOND_WINS)
        else:
            assert board.outcome(position) == oracle.outcome(position), position
        lines = board.completed_lines(position)
        assert bool(lines) == bool(makers)
        assert {position[line[0]] for line in lines} == makers
        assert board.winning_cells(position) == {cell for line in lines for cell in line}
    assert unclear < 3**board.cells / 2


def test_a_longer_line_does_not_count() -> None:
    exact, usual = parse_board("1x7x3-exact"), parse_board("1x7x3")
    for text, wins in (("XXX....", True), ("XXXX...", False), ("XX.XX..", False), ("XXXOXXX", True), ("OXXX.X.", True)):
        position = tuple(".XO".index(mark) for mark in text)
        assert (exact.outcome(position) == FIRST_WINS) == wins
        assert (usual.outcome(position) == FIRST_WINS) == ("XXX" in text)
    crossing = parse_board("4x4x3-exact")
    text = "XXXXX...X......."
    position = tuple(".XO".index(mark) for mark in text)
    assert crossing.completed_lines(position) == [(0, 4, 8)], "four across do not count, three down do"


VALUED = [*SMALL, "3x3", "2x4x3", "2x3x2", "1x1", "3x1x3", "3x3-gravity", "3x4x3-gravity", "3x4x3-exact-gravity"]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", VALUED)
def test_values_are_those_of_the_oracle(name: str) -> None:
    """Also where a player may name an occupied cell, and loses."""
    board = parse_board(name)
    values = {board.encode(position): value for position, value in naive.game_values(variant_of(board)).items()}
    for occupied in (False, True):
        graph = enumerate_graph(board, occupied)
        ours = dict(zip(graph.code.tolist(), solve(graph).tolist(), strict=True))
        assert ours == values | ({-1: -1, -2: 1} if occupied else {})


@pytest.mark.slow
@pytest.mark.parametrize("learner", ["td", "sutton-barto", "value-feed", "greedy-td"])
@pytest.mark.parametrize("name", ["3x3-misere", "2x4x3-misere-exact", "3x3-gravity"])
def test_learners_take_the_outcomes_of_the_variant(name: str, learner: str) -> None:
    board = variant_of(parse_board(name))
    lines = random_games(board, 200, name)
    run, _ = ttt.learn_from(lines, learner=learner, board=name)
    oracle = oracle_of(run, board)
    for line in lines:
        oracle.learn(naive.parse_game(line))
    assert_same(run, oracle)
