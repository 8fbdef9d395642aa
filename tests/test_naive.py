"""The naive oracle: what a batch means, in examples worked by hand.

Game by game the learners of the package are compared with it and with recorded games (`learners/test_learners.py`).
"""

import itertools

import pytest
from oracle import naive
from oracle.naive import FIRST, SECOND, Board, parse_game

BOARD = Board()


@pytest.mark.parametrize("line", ["0 3 1 4", "0 3 1 4 2 5", "0 0", "0 3 1 4 2!2"])
def test_only_whole_games_are_replayed(line: str) -> None:
    with pytest.raises((AssertionError, ValueError)):
        naive.replay(BOARD, parse_game(line))


def test_fold_weights() -> None:
    assert all(naive.fold_weight(percent / 100, 1) == percent / 100 for percent in range(101))
    assert naive.fold_weight(0.1, 3) == pytest.approx(0.271, abs=1e-15)
    assert naive.fold_weight(0.99, 0.5) == pytest.approx(0.9, abs=1e-15)
    assert naive.fold_weight(1.0, 0.5) == naive.fold_weight(1.0, 7) == 1.0
    assert naive.fold_weight(0.0, 7) == 0.0


@pytest.mark.parametrize("alpha", [0.1, 0.5, 1.0])
def test_a_fixed_target_folds_like_repeated_steps(alpha: float) -> None:
    """Taking an occupied cell has the same target for ever: three games in a batch are three in a row."""
    moves = parse_game("4 4")
    batch, sequence = naive.MinimaxQ(BOARD, alpha=alpha), naive.MinimaxQ(BOARD, alpha=alpha)
    batch.fold([moves] * 3)
    for _ in range(3):
        sequence.learn(moves)
    assert batch.Q[3**4, 4] == pytest.approx(sequence.Q[3**4, 4], abs=1e-14)
    assert batch.Q[3**4, 4] == pytest.approx(1 - (1 - alpha) ** 3 * (1 - naive.MinimaxQ(BOARD).Q[3**4, 4]))


def test_minimax_q_folds_from_before_the_batch() -> None:
    learner, fresh = naive.MinimaxQ(BOARD), naive.MinimaxQ(BOARD)
    learner.fold([parse_game("4 4")])
    target = 0.9 * min(fresh.Q[3**4, cell] for cell in range(9))
    assert learner.Q[0, 4] == fresh.Q[0, 4] + 0.1 * (target - fresh.Q[0, 4])


def test_td_folds_visits_with_one_target() -> None:
    learner = naive.TD(BOARD)
    learner.fold([parse_game("0 3 1 4 2"), parse_game("1! 3 0 4! 2")])
    before_win = BOARD.code((1, 1, 0, 2, 2, 0, 0, 0, 0))
    assert learner.V[before_win] == 0.75
    assert learner.V[BOARD.code((1, 1, 0, 2, 0, 0, 0, 0, 0))] == 0.0, "the second player has better replies"


def test_sutton_barto_folds_masked_means() -> None:
    learner = naive.SuttonBarto(BOARD, alpha=0.1)
    learner.fold([parse_game("0 3 1 4 2"), parse_game("0 3 1 4 2"), parse_game("0 3 1 4 8! 5")])
    s = BOARD.code((1, 1, 0, 2, 2, 0, 0, 0, 0))
    after = BOARD.code((1, 1, 0, 2, 2, 0, 0, 0, 1))
    assert learner.V[FIRST][s] == pytest.approx(0.5 + (1 - 0.9**2) * (1 - 0.5)), "its two greedy moves only"
    assert learner.V[SECOND][after] == pytest.approx(0.55)
    assert learner.V[SECOND][s] == pytest.approx(0.5 + (1 - 0.9**3) * (0.55 / 3 - 0.5)), "all three"


def test_value_feed_sees_through_the_reply() -> None:
    """The continuations of a reply are pooled over every way that led to it."""
    learner = naive.ValueFeed(BOARD, alpha=0.3, gamma=0.9)
    lines = ["0 3 1 4 2", "0 3 1 4 2", "1 3 0 4 8 5", "0 3 1 6 2"]
    learner.fold([parse_game(line) for line in lines])
    V = learner.V[FIRST]
    w1, w2, w3 = 0.3, 1 - 0.7**2, 1 - 0.7**3
    win, miss = w2 * 0.9, 0.0
    assert V[BOARD.code((1, 1, 1, 2, 2, 0, 0, 0, 0))] == pytest.approx(win)
    assert V[BOARD.code((1, 1, 0, 2, 2, 0, 0, 0, 1))] == miss
    four = (2 * win + 1 * miss) / 3  # what followed the reply at 4, in all three games that had it
    six = w1 * 0.9
    pair = (1 - 0.7**4) * 0.9 * (3 * four + 1 * six) / 4
    assert V[BOARD.code((1, 1, 0, 2, 0, 0, 0, 0, 0))] == pytest.approx(pair)
    assert V[BOARD.code((1, 0, 0, 0, 0, 0, 0, 0, 0))] == pytest.approx(w3 * 0.9 * pair)
    assert V[BOARD.code((0, 1, 0, 0, 0, 0, 0, 0, 0))] == pytest.approx(w1 * 0.9 * pair)


def test_backward_q_folds_the_expectation_of_set_and_pull() -> None:
    """The closed form against all orders of independent steps, each a set or a pull."""
    alpha, v, m, start, n = 0.1, 0.0, 0.5, 0.5, 3
    learner = naive.BackwardQ(BOARD, alpha=alpha)
    lines = ["0 3 1 4 8 5", "0 3 1 4 8 5", "0 3 1 4 8 2 5 7 6"]
    learner.fold([parse_game(line) for line in lines])
    expected = 0.0
    for sets in itertools.product((True, False), repeat=n):
        chance, value = 1.0, start
        for is_set in sets:
            chance *= 2 / 3 if is_set else 1 / 3
            value = v if is_set else value + alpha * (m - value)
        expected += chance * value
    assert learner.Q[BOARD.code((1, 1, 0, 2, 2, 0, 0, 0, 0)), 8] == pytest.approx(expected, abs=1e-15)


def test_backward_q_pools_the_replies_to_an_afterstate() -> None:
    """The shares are those of the afterstate, the same for both moves into it."""
    learner = naive.BackwardQ(BOARD, alpha=0.1)
    learner.fold([parse_game("0 3 1 4 8 5"), parse_game("0 3 8 4 1 2 5 7 6")])
    q = 0.5 + 0.1 * 0.5
    half = pytest.approx(0.5 + q * (0.1 * 0.5 * 0.5 / q - 0.5))
    assert learner.Q[BOARD.code((1, 1, 0, 2, 2, 0, 0, 0, 0)), 8] == half
    assert learner.Q[BOARD.code((1, 0, 0, 2, 2, 0, 0, 0, 1)), 1] == half


def test_backward_q_sets_where_every_reply_ended_the_game() -> None:
    learner = naive.BackwardQ(BOARD, alpha=0.1)
    learner.fold([parse_game("0 3 1 4 8 5")] * 2 + [parse_game("1 3 0 4 8 5")])
    assert learner.Q[BOARD.code((1, 1, 0, 2, 2, 0, 0, 0, 0)), 8] == 0.0
    assert learner.Q[BOARD.code((1, 1, 0, 2, 2, 0, 0, 0, 1)), 5] == 1.0, "the last move keeps its value"
    assert learner.Q[BOARD.code((1, 1, 0, 2, 0, 0, 0, 0, 0)), 4] == pytest.approx(0.5 + (1 - 0.9**3) * 0.5)


def test_greedy_td_folds_fractional_counts() -> None:
    """A reply counts with the share of greedy answers to it, wherever the games came from."""
    learner = naive.GreedyTD(BOARD, alpha=0.3)
    lines = ["0 3 1 4 2", "1 3 0 4 2", "1 3 0 4 8! 5", "0 3 1 6 2!"]
    learner.fold([parse_game(line) for line in lines])
    V = learner.V[FIRST]
    pair = BOARD.code((1, 1, 0, 2, 0, 0, 0, 0, 0))
    n = 3 * (2 / 3) + 1 * 0
    assert V[pair] == pytest.approx(0.5 + (1 - 0.7**n) * (1 - 0.5))
    assert V[BOARD.code((1, 1, 0, 2, 2, 0, 0, 0, 1))] == pytest.approx(0.5 + 0.3 * (0 - 0.5))
    assert V[BOARD.code((1, 0, 0, 0, 0, 0, 0, 0, 0))] == 0.5, "online: the pair counts as before the batch"
    shared = naive.GreedyTD(BOARD, alpha=0.3)
    shared.fold([parse_game("0 3 1 4 2"), parse_game("0 4 1 3 8! 5")])
    other_pair = BOARD.code((1, 1, 0, 0, 2, 0, 0, 0, 0))
    half = pytest.approx(0.5 + (1 - 0.7**0.5) * (1 - 0.5))
    assert [shared.V[FIRST][pair], shared.V[FIRST][other_pair]] == [half, half], "one reply, two ways to it"
    only = naive.GreedyTD(BOARD, alpha=0.3)
    only.fold([parse_game("0 3 1 4 2!")])
    assert pair not in only.V[FIRST], "zero n changes nothing"
