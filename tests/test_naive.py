"""The naive oracle against the recorded games, textbook answers and examples worked by hand."""

import itertools
import math
import random
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.support import mostly_slow
from oracle import naive
from oracle.naive import DRAW, FIRST, SECOND, UNFINISHED, Board, Moves, parse_game
from oracle.textbook import ORACLES

pytestmark = pytest.mark.quick_learners(*ORACLES)  # nothing is compiled

RECORDED = Path(__file__).parent / "recorded"
BOARD = Board()

LARGER = [Board(3, 4, 3), Board(4, 4, 4), Board(2, 3, 2)]
OPTIONS: dict[str, list[dict[str, Any]]] = {
    "td": [{}, {"alpha": 0.3, "gamma": 0.9}, {"alpha": 1.0}],
    "sutton-barto": [{}, {"alpha": 0.37, "gamma": 0.95, "draw_worth": (0.2, 0.7)}, {"alpha": 1.0}],
    "value-feed": [{}, {"alpha": 0.2}, {"alpha": 1.0, "gamma": 1.0, "draw_worth": (0.0, 0.3)}],
    "minimax-q": [{}, {"alpha": 0.43, "gamma": 1.0, "draw": 0.1}, {"alpha": 1.0}],
    "backward-q": [{}, {"alpha": 0.43, "gamma": 0.9, "draw_worth": (0.3, 0.6)}, {"alpha": 1.0}],
    "greedy-td": [{}, {"alpha": 0.3, "gamma": 0.9, "draw_worth": (0.1, 0.4)}, {"alpha": 1.0}],
}
CASES = [(name, options) for name, several in OPTIONS.items() for options in several]


def recorded(name: str) -> tuple[dict[str, Any], list[Moves]]:
    """The arrays of a recorded file, each read once, and its games."""
    with np.load(RECORDED / f"{name}.npz") as file:
        arrays = {key: file[key] for key in file.files}
    return arrays, [parse_game(str(line)) for line in arrays["games"]]


def tables(learner: Any) -> list[naive.Table[Any]]:
    """The learner's tables, whatever they are called."""
    table = learner.Q if hasattr(learner, "Q") else learner.V
    return [table] if isinstance(table, naive.Table) else [table[FIRST], table[SECOND]]


# --- rules ---------------------------------------------------------------------------------------------


def test_states_of_3x3() -> None:
    states = BOARD.states()
    outcomes = Counter(BOARD.outcome(position) for position in states)
    assert len(states) == 5478
    assert outcomes == {UNFINISHED: 4520, FIRST: 626, SECOND: 316, DRAW: 16}
    assert sum(len(BOARD.legal(position)) for position in states) == 16167
    plies = Counter(states.values())
    assert [plies[ply] for ply in range(10)] == [1, 9, 72, 252, 756, 1260, 1520, 1140, 390, 78]
    assert all(naive.ply(position) == ply for position, ply in states.items())
    assert all(BOARD.position(BOARD.code(position)) == position for position in states)


@pytest.mark.parametrize(
    ("board", "states", "unfinished"),
    mostly_slow([(BOARD, 765, 627), (Board(3, 4, 3), 28275, 20088)], (BOARD, 765, 627)),
)
def test_states_up_to_symmetry(board: Board, states: int, unfinished: int) -> None:
    images = {board.canonical(position) for position in board.states()}
    assert len(images) == states
    assert sum(board.outcome(position) == UNFINISHED for position in images) == unfinished


def test_codes_lines_and_movers() -> None:
    assert Board(3, 3, 3).lines == [
        (0, 1, 2),
        (0, 3, 6),
        (0, 4, 8),
        (1, 4, 7),
        (2, 4, 6),
        (2, 5, 8),
        (3, 4, 5),
        (6, 7, 8),
    ]
    assert [len(Board(*shape).lines) for shape in ((4, 4, 4), (4, 4, 3), (3, 4, 3), (5, 5, 5))] == [
        10,
        24,
        14,
        12,
    ]
    position = BOARD.place(BOARD.place(BOARD.empty, 1), 8)
    assert position == (0, 1, 0, 0, 0, 0, 0, 0, 2)
    assert BOARD.code(position) == 3 + 2 * 3**8
    assert naive.mover(position) == FIRST
    assert [len(Board(*shape).symmetries) for shape in ((3, 3, 3), (3, 4, 3))] == [8, 4]


def test_game_lines() -> None:
    assert parse_game("4 7! 1") == [(4, False), (7, True), (1, False)]
    assert naive.format_game(parse_game("4 7! 10")) == "4 7! 10"


@pytest.mark.parametrize("line", ["0 3 1 4", "0 3 1 4 2 5", "0 0", "0 3 1 4 2!2"])
def test_only_whole_games_are_replayed(line: str) -> None:
    with pytest.raises((AssertionError, ValueError)):
        naive.replay(BOARD, parse_game(line))


# --- exact evaluation ----------------------------------------------------------------------------------


def test_number_of_games() -> None:
    assert naive.count_games(BOARD) == (131184, 77904, 46080)


def test_game_values() -> None:
    values = naive.game_values(BOARD)
    assert len(values) == 5478
    assert values[BOARD.empty] == 0
    unfinished = Counter(v for position, v in values.items() if BOARD.outcome(position) == UNFINISHED)
    assert unfinished == {1: 2310, 0: 1052, -1: 1158}
    assert naive.game_values(Board(2, 3, 2))[(0,) * 6] == 1


def test_random_against_random() -> None:
    anyone = naive.uniform(BOARD.legal)
    assert naive.result(BOARD, anyone, anyone) == (Fraction(737, 1260), Fraction(8, 63), Fraction(121, 420))


def test_best_responses_to_random() -> None:
    anyone = naive.uniform(BOARD.legal)
    first = naive.best_response(BOARD, anyone, FIRST)
    second = naive.best_response(BOARD, anyone, SECOND)
    assert first == (Fraction(191, 192), Fraction(1, 192), 0)
    assert second == (Fraction(881, 945), Fraction(19, 315), Fraction(1, 135))


def test_optimal_play_against_random() -> None:
    anyone, optimal = naive.uniform(BOARD.legal), naive.uniform(naive.optimal_rule(BOARD))
    assert [float(x) for x in naive.result(BOARD, optimal, anyone)] == pytest.approx([0.967811, 0.032189, 0], abs=5e-7)
    assert [float(x) for x in naive.result(BOARD, anyone, optimal)] == pytest.approx([0, 0.222516, 0.777484], abs=5e-7)
    assert naive.result(BOARD, optimal, optimal) == (0, 1, 0)


def test_worst_cases() -> None:
    optimal = naive.optimal_rule(BOARD)
    assert [naive.worst_case(BOARD, optimal, seat) for seat in (FIRST, SECOND)] == [0, 0]
    assert [naive.worst_case(BOARD, BOARD.legal, seat) for seat in (FIRST, SECOND)] == [-1, -1]
    assert naive.worst_case(Board(2, 3, 2), naive.optimal_rule(Board(2, 3, 2)), FIRST) == 1


def test_an_occupied_choice_loses() -> None:
    def rule(position: naive.Position) -> list[int]:
        return [0]

    always = naive.uniform(rule)
    assert naive.worst_case(BOARD, rule, SECOND, start=(1, 0, 0, 0, 0, 0, 0, 0, 0)) == -1
    assert naive.result(BOARD, always, always) == (1, 0, 0)
    assert naive.best_response(BOARD, always, FIRST) == (1, 0, 0)


# --- recorded games ------------------------------------------------------------------------------------


def test_recorded_sutton_barto() -> None:
    arrays, games = recorded("sutton-barto")
    learner = naive.SuttonBarto(BOARD, alpha=0.1)
    for moves in games:
        greedy = [step for step in naive.replay(BOARD, moves) if not step.exploratory]
        assert all(step.cell in learner.candidates(step.position) for step in greedy)
        learner.learn(moves)
    codes = [BOARD.code(position) for position in BOARD.states()]
    for player, column in ((FIRST, arrays["V"][0]), (SECOND, arrays["V"][1])):
        assert {code for code in range(3**9) if not math.isnan(column[code])} == set(codes)
        assert all(learner.V[player][code] == column[code] for code in codes)


def test_recorded_value_feed() -> None:
    arrays, games = recorded("value-feed")
    learner = naive.ValueFeed(BOARD, alpha=0.3, gamma=0.9)
    for moves in games:
        learner.learn(moves)
    for player, column in ((FIRST, arrays["V"][0]), (SECOND, arrays["V"][1])):
        assert learner.V[player] == {code: column[code] for code in range(3**9) if not math.isnan(column[code])}


def test_recorded_minimax_q() -> None:
    arrays, games = recorded("minimax-q")
    before = {(int(s), a): arrays["Q0"][row, a] for row, s in enumerate(arrays["code"]) for a in range(9)}
    after = {(int(s), a): arrays["Q"][row, a] for row, s in enumerate(arrays["code"]) for a in range(9)}
    learner = naive.MinimaxQ(BOARD, alpha=0.1, gamma=0.9, start=before)
    for moves in games:
        learner.learn(moves)
    assert dict(learner.Q) == after


def test_recorded_backward_q() -> None:
    arrays, games = recorded("backward-q")
    learner = naive.BackwardQ(BOARD, alpha=0.1)
    for moves in games:
        learner.learn(moves)
    assert all(learner.Q[s, a] == arrays["Q"][s, a] for s in range(3**9) for a in range(9))


def test_recorded_greedy_td() -> None:
    arrays, games = recorded("greedy-td")
    learner = naive.GreedyTD(BOARD, alpha=0.99)
    for moves in games:
        greedy = [step for step in naive.replay(BOARD, moves) if not step.exploratory]
        assert all([step.cell] == learner.candidates(step.position) for step in greedy)
        learner.learn(moves)
    for player, column in ((FIRST, arrays["V"][0]), (SECOND, arrays["V"][1])):
        assert learner.V[player] == {code: column[code] for code in range(3**9) if not math.isnan(column[code])}


def test_recorded_greedy_td_5x5() -> None:
    arrays, games = recorded("greedy-td-5x5")
    learner = naive.GreedyTD(Board(5, 5, 5), alpha=0.99)
    for moves in games:
        learner.learn(moves)
    for player, suffix in ((FIRST, "0"), (SECOND, "1")):
        expected = zip(arrays[f"code{suffix}"], arrays[f"value{suffix}"], strict=True)
        assert learner.V[player] == {int(code): value for code, value in expected}


# --- choice rules --------------------------------------------------------------------------------------


def test_start_candidates() -> None:
    """On a fresh table everything ties, and `value-feed` has seen nothing."""
    every = list(range(9))
    for name in ("td", "sutton-barto", "value-feed", "backward-q"):
        assert naive.LEARNERS[name](BOARD).candidates(BOARD.empty) == every
    assert naive.GreedyTD(BOARD).candidates(BOARD.empty) == [0]


def test_ties_and_windows() -> None:
    feed = naive.ValueFeed(BOARD)
    feed.V[FIRST].update({3**2: -0.5, 3**5: -0.5, 3**7: -0.6})
    assert feed.candidates(BOARD.empty) == [5], "unseen afterstates, worth 0, are not candidates"
    q = naive.BackwardQ(BOARD)
    q.Q.update({(0, 3): 0.6, (0, 4): 0.591, (0, 5): 0.6 - 0.01})
    assert q.candidates(BOARD.empty) == [3, 4]
    flat = {(code, cell): float(cell == 8) for code in (0, 3**8) for cell in range(9)}
    minimax = naive.MinimaxQ(BOARD, start=flat)
    assert minimax.candidates(BOARD.empty) == [8]
    assert minimax.candidates(BOARD.position(3**8)) == [0], "the second player takes the first minimum"
    minimax.Q[3**8, 8] = -1.0
    assert minimax.candidates(BOARD.position(3**8)) == [8], "occupied cells are actions too"
    td = naive.TD(BOARD)
    assert td.candidates(BOARD.position(BOARD.code((1, 1, 0, 2, 2, 0, 0, 0, 0)))) == [2]
    assert td.candidates(BOARD.position(BOARD.code((1, 1, 0, 2, 2, 0, 1, 0, 0)))) == [5]


# --- worked examples -----------------------------------------------------------------------------------


def test_worked_example_of_backward_q() -> None:
    moves = parse_game("0 1 4 2 3 5 6")
    learner = naive.BackwardQ(BOARD)
    keys = [(BOARD.code(step.position), step.cell) for step in naive.replay(BOARD, moves)]
    assert [learner.Q[key] for key in keys] == [0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 1]
    learner.learn(moves)
    assert [learner.Q[key] for key in keys] == pytest.approx([0.5005, 0.495, 0.505, 0.45, 0.55, 0, 1], abs=1e-15)


def test_start_rows_of_backward_q() -> None:
    learner = naive.BackwardQ(BOARD, draw_worth=(0.2, 0.7))
    row = [learner.Q[BOARD.code((1, 1, 0, 2, 2, 0, 0, 0, 0)), cell] for cell in range(9)]
    assert row == [-1, -1, 1, -1, -1, 0.5, 0.5, 0.5, 0.5]
    won = [learner.Q[BOARD.code((1, 1, 1, 2, 2, 0, 0, 0, 0)), cell] for cell in range(9)]
    assert won == [-1, -1, -1, -1, -1, 1, 1, 1, 1]
    assert learner.Q[BOARD.code((1, 2, 1, 2, 1, 1, 2, 0, 2)), 7] == 0.2


def test_sutton_barto_masks_only_own_exploration() -> None:
    moves = parse_game("0 3! 1 4 2!")
    learner = naive.SuttonBarto(BOARD, alpha=0.1)
    learner.learn(moves)
    codes = [BOARD.code(step.position) for step in naive.replay(BOARD, moves)]
    first, second = [learner.V[FIRST][c] for c in codes], [learner.V[SECOND][c] for c in codes]
    assert first[4] == 0.5, "the first player explored its winning move"
    assert second[4] == pytest.approx(0.5 + 0.1 * (0 - 0.5)), "the second player learns from it"
    assert second[3] == pytest.approx(0.5 + 0.1 * (0.45 - 0.5))
    assert second[1] == 0.5, "the second player explored its first move"
    assert second[0] == 0.5, "so nothing came up from below"


def test_value_feed_feeds_both_players() -> None:
    moves = parse_game("0 3 1 4 2")
    learner = naive.ValueFeed(BOARD)
    learner.learn(moves)
    own = [BOARD.code(step.after) for step in naive.replay(BOARD, moves) if step.after is not None]
    values = [0.27, 0.27 * 0.27, 0.27**3]
    assert [learner.V[FIRST][c] for c in (own[4], own[2], own[0])] == pytest.approx(values, abs=1e-15)
    assert learner.V[SECOND] == {own[3]: 0.0, own[1]: 0.0}
    assert set(learner.V[FIRST]) == {own[0], own[2], own[4]}


# --- batches -------------------------------------------------------------------------------------------


def assert_same(one: Any, two: Any) -> None:
    """Equal to the last bit, and for `value-feed` seen in the same places."""
    for left, right in zip(tables(one), tables(two), strict=True):
        assert all(left[key].hex() == right[key].hex() for key in left.keys() | right.keys())
        if isinstance(one, naive.ValueFeed):
            assert left.keys() == right.keys()


@pytest.mark.parametrize(("name", "options"), CASES)
def test_a_batch_of_one_game_is_the_sequential_algorithm(name: str, options: dict[str, Any]) -> None:
    rng = random.Random(f"{name} {options}")
    make: Callable[..., naive.Learner] = naive.LEARNERS[name]
    for board, games in [(BOARD, 100), *((larger, 12) for larger in LARGER)]:
        one, two = make(board, **options), make(board, **options)
        for _ in range(games):
            moves = one.play(rng, epsilon=rng.choice((0.0, 0.3, 0.6)))
            one.learn(moves)
            two.fold([moves])
        assert_same(one, two)


def test_fold_weights() -> None:
    assert all(naive.fold_weight(percent / 100, 1) == percent / 100 for percent in range(101))
    assert naive.fold_weight(0.1, 3) == pytest.approx(0.271, abs=1e-15)
    assert naive.fold_weight(0.99, 0.5) == pytest.approx(0.9, abs=1e-15)
    assert naive.fold_weight(1.0, 0.5) == naive.fold_weight(1.0, 7) == 1.0
    assert naive.fold_weight(0.0, 7) == 0.0


@pytest.mark.parametrize("name", naive.LEARNERS)
def test_a_batch_is_counts(name: str) -> None:
    """The order of its games does not matter, and a second batch builds on the first."""
    rng = random.Random(name)
    make = naive.LEARNERS[name]
    one, two = make(BOARD), make(BOARD)
    for _ in range(2):
        games = [one.play(rng, epsilon=0.4) for _ in range(60)]
        one.fold(games)
        two.fold(rng.sample(games, len(games)))
        assert_same(one, two)
    assert any(table for table in tables(one))


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
