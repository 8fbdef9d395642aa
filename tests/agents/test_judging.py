"""Agents judged exactly: against what runs say of themselves, against a naive oracle, and with every way to answer."""

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
from helpers.players import anything, assert_game_lost, lowest
from helpers.support import BOTH_SEATS, mostly_slow
from oracle import naive
from oracle.boards import variant_of

import ttt_batch as ttt
from ttt_batch.agents import at_board
from ttt_batch.agents.base import batch_at, batch_of, mover_words
from ttt_batch.agents.layers import LayerRules, Reached
from ttt_batch.core.errors import AgentError, UsageError
from ttt_batch.games.board import DRAW, EMPTY, Board, Position, parse_board
from ttt_batch.training.train import train

SEATS = ("first", "second")
Answer = Callable[[Any, Any, Any], Any]


def position_of(board: Board, boards: Any, to_move: Any, number: int) -> Position:
    """One position of a batch, by loops."""
    marks = {0: EMPTY, 1: 1 + int(to_move[number]), -1: 2 - int(to_move[number])}
    return tuple(marks[int(boards[number][cell // board.cols][cell % board.cols])] for cell in range(board.cells))


def as_callable(run: Any) -> Answer:
    """A run as a callable with probabilities, asked position by position."""

    def answer(boards: Any, to_move: Any, legal: Any) -> Any:
        chances = np.zeros(legal.shape)
        for number in range(len(boards)):
            cells = run.candidates(position_of(run.board, boards, to_move, number))
            chances[number, cells] = 1 / len(cells)
        return chances

    return answer


def policy_of(board: Board, answer: Answer) -> naive.Policy:
    """The exact chances of the cells that a callable answers."""

    @cache
    def policy(position: Position) -> dict[int, Fraction]:
        found = np.asarray(answer(*batch_at(board, position)))[0]
        if found.ndim == 0:
            return {int(found): Fraction(1)}
        return {cell: Fraction(one).limit_denominator(1000) for cell, one in enumerate(found.tolist()) if one}

    return policy


NAIVE = [(name, agent) for name in ("3x3", "2x4x3", "3x3-misere") for agent in (lowest, anything)]


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("name", "agent"), mostly_slow([*NAIVE, ("3x4x3", lowest)], *NAIVE[:4]))
def test_a_naive_oracle_says_the_same(name, agent):
    board = parse_board(name)
    judged, oracle, policy = ttt.judge(agent, name), variant_of(board), policy_of(board, agent)
    for seat, called in enumerate(SEATS):
        assert judged.unbeatable[called] == (naive.worst_case(oracle, policy, 1 + seat) >= 0)
    random = naive.uniform(oracle.legal)
    for shares, exact in (
        (judged.first, naive.result(oracle, policy, random)),
        (judged.second, naive.result(oracle, random, policy)[::-1]),
    ):
        np.testing.assert_allclose(shares, [float(share) for share in exact], atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("learner", BOTH_SEATS)
@pytest.mark.parametrize("seed", range(3))
def test_a_run_given_as_a_callable_is_judged_as_the_run(learner, seed):
    run = train(2000, learner=learner, seed=seed)
    own = run.evaluation()
    for agent in (as_callable(run), run):
        judged = ttt.judge(agent, illegal="loses")
        assert judged.unbeatable == own.unbeatable
        for seat in SEATS:
            np.testing.assert_allclose(getattr(judged, seat), getattr(own, seat), atol=1e-12)
            one, other = judged.losing_line[seat], own.losing_line[seat]
            assert (one and len(one)) == (other and len(other))  # a shortest one each


@pytest.mark.parametrize(("seed", "games"), [(100, 266), (104, 2000), (111, 266)])
def test_a_run_that_resigns_loses_there(seed, games):
    """The matchbox of a position that its own play reaches is empty."""
    run = train(games, learner="menace", seed=seed)
    judged, own = ttt.judge(run), run.evaluation()
    np.testing.assert_allclose(judged.first, own.first, atol=1e-12)
    assert sum(judged.first) == pytest.approx(1)


def test_a_losing_line_is_a_game_that_the_agent_plays_and_loses():
    board = parse_board("3x4x3")
    for agent in (lowest, anything):
        judged = ttt.judge(agent, "3x4x3")
        for seat, called in enumerate(SEATS):
            assert_game_lost(board, judged.losing_line[called], seat, policy_of(board, agent))


def test_an_agent_is_asked_layer_by_layer_about_real_positions_once():
    calls: list[tuple[int, bytes]] = []

    def agent(boards, to_move, legal):
        assert boards.dtype == to_move.dtype == np.int8 and legal.dtype == np.bool_
        assert boards.shape[1:] == (3, 3) and legal.shape == (len(boards), 9) and to_move.shape == (len(boards),)
        assert (legal == (boards.reshape(-1, 9) == 0)).all()
        marks = (boards == 1).sum((1, 2)), (boards == -1).sum((1, 2))
        assert (marks[1] - marks[0] == to_move).all()
        calls.append((len(boards), boards.tobytes() + to_move.tobytes()))
        return legal.argmax(1)

    ttt.judge(agent)
    assert len(calls) <= 5 + 4 + 1
    asked = [position for size, content in calls[:-1] for position in {content[9 * i : 9 * i + 9] for i in range(size)}]
    assert len(asked) == sum(size for size, _ in calls[:-1])  # no position twice, except in the last call
    assert calls[-1][0] == min(100, len(asked))


def test_symmetric_asks_about_one_image_and_says_so():
    asked: list[list[tuple[int, ...]]] = []

    def agent(boards, to_move, legal):
        both = [[*(board, board.T)] for board in boards]
        asked.append([min(tuple(np.rot90(one, k).ravel()) for one in two for k in range(4)) for two in both])
        return legal.argmax(1)

    whole = ttt.judge(agent)
    seen = [position for layer in asked[:-1] for position in layer]
    assert len(set(seen)) < len(seen)
    asked.clear()
    folded = ttt.judge(agent, symmetric=True)
    seen = [position for layer in asked[:-1] for position in layer]
    assert len(set(seen)) == len(seen)  # no two are images of each other
    assert folded.to_dict()["symmetric"] is True and whole.to_dict()["symmetric"] is False
    assert "up to symmetry" in str(folded) and "up to symmetry" not in str(whole)
    for name in ("optimal", "two-ply"):  # those play alike in all images
        one, other = ttt.judge(name), ttt.judge(name, symmetric=True)
        assert one.unbeatable == other.unbeatable
        np.testing.assert_allclose(one.first + one.second, other.first + other.second)


@pytest.mark.slow
def test_an_agent_that_errs_in_one_image_alone_is_caught():
    best = as_callable(train(200_000, learner="td", seed=1))
    assert all(ttt.judge(best).unbeatable.values())

    def agent(boards, to_move, legal):
        cells = np.asarray(best(boards, to_move, legal)).argmax(1)
        flat = boards.reshape(-1, 9)
        cells[(flat == np.negative([0, 0, 1, 0, 0, 0, 0, 0, 0])).all(1)] = 5  # an edge, where the middle holds
        return cells

    judged = ttt.judge(agent)
    assert judged.unbeatable == {"first": True, "second": False}
    assert judged.losing_line["second"][0] == 2


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", ["random", "one-ply", "two-ply", "optimal"])
def test_agents_by_name(name):
    judged = ttt.judge(name)
    assert all(judged.unbeatable.values()) == (name == "optimal")
    run = train(1000, seed=3)
    mine, theirs = ttt.judge(name, against=run), ttt.evaluate(run, name)
    np.testing.assert_allclose(mine.first, theirs.second[::-1], atol=1e-12)
    np.testing.assert_allclose(mine.second, theirs.first[::-1], atol=1e-12)


def test_against_oneself_and_each_other():
    alone = ttt.judge(anything, against="self")
    assert alone.against == "self"
    np.testing.assert_allclose(alone.first, (0.58492063, 0.12698413, 0.28809524))  # random play, exactly known
    np.testing.assert_allclose(alone.first, alone.second[::-1])
    pair = ttt.judge(lowest, against=anything), ttt.judge(anything, against=lowest)
    np.testing.assert_allclose(pair[0].first, pair[1].second[::-1])
    with at_board(lowest) as one, at_board(anything) as other:
        held = ttt.tournament([one, other])
    assert held.exact and held.names == ("lowest", "anything")
    np.testing.assert_allclose(held.meetings[0][1].exact, pair[0].first)


def test_what_is_certain_is_exactly_certain():
    highest = ttt.judge(lambda boards, to_move, legal: 8 - legal[:, ::-1].argmax(1), against=lowest)
    # X marks 8, 7, 6 and wins; as second it loses by the same, though both go on where they could have gone elsewhere.
    assert (highest.first, highest.second) == ((1, 0, 0), (0, 0, 1))


@pytest.mark.sampled(1)
@pytest.mark.parametrize("cells", [9, 40, 64])
def test_positions_there_and_back(cells):
    board = {9: Board(), 40: Board(5, 8, 5), 64: Board(8, 8, 5)}[cells]
    draw = np.random.default_rng(0)
    marks = draw.integers(0, 3, (50, cells))
    own, other = (
        np.array([sum(1 << cell for cell in range(cells) if row[cell] == mark) for row in marks], np.uint64)
        for mark in (1, 2)
    )
    batch = batch_of(board, own, other, 0)
    assert (mover_words(batch)[0] == own).all() and (mover_words(batch)[1] == other).all()
    assert [batch.position(i) for i in range(50)] == [tuple(row) for row in marks.tolist()]
    first, second, number = LayerRules(board).folded(own, other)
    for i in range(50):
        image = board.symmetries[number[i]]
        turned = tuple(batch.position(i)[cell] for cell in image)
        codes = [board.encode(tuple(batch.position(i)[cell] for cell in one)) for one in board.symmetries]
        assert board.encode(turned) == min(codes)
        assert batch_of(board, first[i : i + 1], second[i : i + 1], 0).position(0) == turned


def test_beyond_enumeration_the_search_asks_in_batches():
    sizes = []

    def agent(boards, to_move, legal):
        sizes.append(len(boards))
        return legal.argmax(1)

    judged = ttt.judge(agent, "5x5x4", games=50, budget=20_000)
    assert judged.verdicts["first"].status == judged.verdicts["second"].status == "refuted"
    assert max(sizes) > 50 and len(sizes) < 400
    assert judged.matches["random"]["first"].games == 50
    assert judged.to_dict()["symmetric"] is False and "can be beaten" in str(judged)
    again = ttt.judge(agent, "5x5x4", games=50, budget=20_000)
    assert again == judged  # the same seed
    with pytest.raises(UsageError, match="too large to enumerate"):
        ttt.judge(agent, "5x5x4", "optimal")
    assert ttt.judge(agent, "5x5x5", "random", games=5, budget=50).verdicts["first"].status == "undecided"


@pytest.mark.slow
def test_a_network_is_proved_by_the_search_as_by_its_own_proof():
    run = train(20_000, learner="patterns", board="3x4x3", seed=0)
    own, judged = ttt.evaluate(run, games=1), ttt.judge(run)
    for seat in SEATS:
        assert own.verdicts[seat].unbeatable == judged.unbeatable[seat]
    for against in ("optimal", "self", "Optimal"):
        assert ttt.evaluate(run, against).to_dict() == ttt.judge(run, against=against).to_dict()


def test_probabilities_are_played_as_they_are():
    def agent(boards, to_move, legal):
        weights = legal * np.arange(1, 10.0)
        return (weights / weights.sum(1, keepdims=True)).astype(np.float32)

    exact = ttt.judge(agent)
    with at_board(agent) as player, at_board(anything) as other:
        from ttt_batch.analysis.tournament import series

        played = series(player, other, ("one", "other"), games=20_000)
        shown = ttt.show(player, "5 1")
    assert [round(39 * move.probability, 4) for move in shown.moves] == [2.0, 3.0, 4.0, 6.0, 7.0, 8.0, 9.0]
    assert "as often as stands below" in str(shown) and "tells none" in str(shown)
    for meeting in played.meetings:
        assert all(abs(z) < 4 for z in meeting.deviations)
    np.testing.assert_allclose(played.meetings[0].exact, exact.first)


def test_an_answer_is_asked_again_in_other_company():
    def by_order(boards, to_move, legal):
        last = legal.shape[1] - 1 - legal[:, ::-1].argmax(1)
        return np.where(np.arange(len(legal)) % 2, legal.argmax(1), last)

    said = r"answered cell \d+, and in another batch cell \d+; an agent that draws its moves must return probabilities"
    again = pytest.raises(AgentError, match=said + r", and only evaluate\(samples=100\) judges it by its answers")
    with again:
        ttt.judge(by_order)
    players = [at_board(agent, "5x5x4") for agent in (by_order, "one-ply")]
    with again:
        ttt.tournament(players, games=2)


@pytest.mark.parametrize(
    ("board", "error", "words"),
    [("4x4", ttt.UsageError, "the run plays 3x3, not 4x4x4"), ("", ttt.BoardError, "board '' is not of the form")],
)
def test_a_board_that_is_given_counts(board, error, words):
    with pytest.raises(error, match=words):
        ttt.evaluate(train(10), lowest, board=board)


def worst(reached: Reached) -> int:
    """Return the agent's worst result over all moves that it may make: 1 a win, 0 a draw, -1 a loss."""
    drawn = any((layer.outcome == DRAW).any() for layer in reached.layers)
    return -1 if reached.losing_line() is not None else 0 if drawn else 1


def test_reached_positions_hold_the_worst_result():
    rules = LayerRules(Board())
    with at_board("optimal") as player:
        assert [worst(Reached(rules, player.answers, seat)) for seat in (0, 1)] == [0, 0]
    with at_board("optimal", "3x4x3") as player:
        assert worst(Reached(LayerRules(player.board), player.answers, 0)) == 1
    with at_board(lowest) as player:
        assert worst(Reached(rules, player.answers, 0)) == -1
