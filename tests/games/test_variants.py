"""Variants: whoever makes a line loses (misere), longer lines do not count (exact); rules, names and known answers."""

import itertools

import numpy as np
import pytest
from helpers.support import mostly_slow
from oracle import naive
from oracle.boards import VariantBoard, oracle_of, position_values, random_games, variant_of

import ttt_batch as ttt
from ttt_batch.games.board import DRAW, FIRST_WINS, SECOND_WINS, UNFINISHED, Board, parse_board
from ttt_batch.games.enumeration import enumerate_graph
from ttt_batch.games.solution import solve

pytestmark = pytest.mark.quick_learners("td")

SMALL = ["1x5x3-exact", "1x6x2-exact", "2x4x2-exact", "2x4x3-misere", "2x4x3-misere-exact", "3x3x2-exact", "3x3-misere"]


def plain(board: Board) -> VariantBoard:
    return variant_of(board)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", mostly_slow(SMALL, *(name for name in SMALL if name != "3x3x2-exact")))
def test_outcomes_follow_from_the_lengths_of_runs(name: str) -> None:
    """Of every way to put marks on the board, unless both players have lines."""
    board = parse_board(name)
    oracle, unclear = plain(board), 0
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


@pytest.mark.parametrize("name", ["3x3-misere", "3x4x3-exact", "2x5x3-misere-exact", "3x4x3-misere"])
@pytest.mark.parametrize("symmetry", [False, True])
def test_the_outcome_of_every_row_is_that_of_the_board(name: str, symmetry: bool) -> None:
    board = parse_board(name)
    graph = enumerate_graph(board, False, symmetry)
    rows = range(0, graph.code.size, max(1, graph.code.size // 8_000))
    for row in rows:
        assert board.outcome(board.decode(int(graph.code[row]))) == graph.outcome[row]
    assert set(np.unique(graph.outcome).tolist()) == {UNFINISHED, FIRST_WINS, SECOND_WINS, DRAW}


def test_misere_swaps_who_wins_and_nothing_else() -> None:
    for name in ("3x3", "2x5x3"):
        usual, misere = enumerate_graph(parse_board(name)), enumerate_graph(parse_board(f"{name}-misere"))
        swapped = np.array([UNFINISHED, SECOND_WINS, FIRST_WINS, DRAW])
        np.testing.assert_array_equal(misere.outcome, swapped[usual.outcome])
        for field in ("code", "ply", "first_edge", "child", "cell", "parent"):
            np.testing.assert_array_equal(getattr(misere, field), getattr(usual, field))


def test_exact_differs_only_where_lines_are_longer() -> None:
    usual, exact = enumerate_graph(parse_board("2x5x3")), enumerate_graph(parse_board("2x5x3-exact"))
    assert np.isin(usual.code[usual.outcome == UNFINISHED], exact.code[exact.outcome == UNFINISHED]).all()
    board = parse_board("2x5x3-exact")
    assert exact.code.size > usual.code.size, "games go on past four in a row"
    longer = sorted(set(exact.code.tolist()) - set(usual.code.tolist()))
    runs = [max(length for _, length in plain(board).runs(board.decode(code))) for code in longer]
    assert min(runs) >= 4
    # A line cannot grow longer than the shorter sides of 3x3 allow.
    np.testing.assert_array_equal(
        enumerate_graph(parse_board("3x3")).outcome, enumerate_graph(parse_board("3x3-exact")).outcome
    )


@pytest.mark.parametrize("name", [*SMALL, "3x3", "2x4x3", "3x3-gravity", "3x4x3-exact-gravity"])
def test_values_are_those_of_the_oracle(name: str) -> None:
    board = parse_board(name)
    values = naive.game_values(plain(board))
    graph = enumerate_graph(board)
    ours = dict(zip(graph.code.tolist(), solve(graph).tolist(), strict=True))
    assert ours == {board.encode(position): value for position, value in values.items()}


def test_misere_3x3_is_a_draw() -> None:
    assert solve(enumerate_graph(parse_board("3x3-misere")))[0] == 0
    assert solve(enumerate_graph(parse_board("3x3-misere"), False, True))[0] == 0


def test_td_masters_misere() -> None:
    run = ttt.train(60_000, board="3x3-misere", batch=1_024)
    assert run.evaluation().unbeatable == {"first": True, "second": True}
    oracle = plain(run.board)
    assert [naive.worst_case(oracle, run.candidates, seat) for seat in (1, 2)] == [0, 0]


@pytest.mark.parametrize("learner", ["td", "sutton-barto", "value-feed", "greedy-td"])
@pytest.mark.parametrize("name", ["3x3-misere", "2x4x3-misere-exact", "3x3-gravity"])
def test_learners_take_the_outcomes_of_the_variant(name: str, learner: str) -> None:
    board = plain(parse_board(name))
    lines = random_games(board, 200, name)
    run, _ = ttt.learn_from(lines, learner=learner, board=name)
    oracle = oracle_of(run, board)
    for line in lines:
        oracle.learn(naive.parse_game(line))
    theirs = [oracle.V] if learner == "td" else [oracle.V[1], oracle.V[2]]
    for ours, table in zip(position_values(run), theirs, strict=True):
        assert set(table) <= set(ours)
        if learner == "value-feed":
            assert set(table) == set(ours)
        assert all(table[code] == value for code, value in ours.items())


@pytest.mark.parametrize("text", ["3x3-misere", "3x4x3-exact", "2x5x3-misere-exact", "5x5x4-exact", "1x11x3-misere"])
def test_names_of_variants(text: str) -> None:
    board = parse_board(text)
    assert board.name == text and parse_board(board.name) == board
    assert (board.misere, board.exact) == ("misere" in text, "exact" in text)
    assert parse_board(text.upper().replace("X", "x")) == board


@pytest.mark.parametrize("text", ["3x3-exact-misere", "3x3-misere-misere", "3x3 wild", "3x3-", "3x3-wild", "-misere"])
def test_texts_that_are_no_variant(text: str) -> None:
    with pytest.raises(ttt.BoardError, match="ROWSxCOLUMNS") as caught:
        parse_board(text)
    assert len(str(caught.value).splitlines()) == 1
