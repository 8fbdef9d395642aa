"""Every learner against the naive oracle, to the last bit: game by game, in batches, and in the recorded games."""

import random
from typing import Any

import numpy as np
import pytest
from helpers.support import BOTH_SEATS, Subject, recorded
from oracle import naive
from oracle.boards import assert_same

from ttt_batch.simulation.policy import empty_policy, order_rows

OPTIONS: dict[str, list[dict[str, Any]]] = {
    "td": [{}, {"alpha": 1.0}, {"alpha": 0.3, "gamma": 0.9, "draw_worth": (0.25, 0.25)}],
    "sutton-barto": [{}, {"alpha": 1.0, "gamma": 0.95}, {"alpha": 0.3, "draw_worth": (0.2, 0.7)}],
    "value-feed": [{}, {"alpha": 0.2, "gamma": 1.0}, {"alpha": 1.0, "draw_worth": (0.3, 0.1)}],
    "minimax-q": [{}, {"alpha": 1.0, "gamma": 1.0}, {"alpha": 0.7, "draw_worth": (-0.2, -0.2)}],
    "backward-q": [{}, {"alpha": 0.5, "gamma": 0.9}, {"alpha": 1.0, "draw_worth": (0.25, 0.75)}],
    "greedy-td": [{}, {"alpha": 0.3, "gamma": 0.9}, {"alpha": 1.0, "draw_worth": (0.1, 0.6)}],
    "q-learning": [{}, {"alpha": 1.0}, {"alpha": 0.3, "gamma": 0.9, "draw_worth": (0.2, 0.4), "start_value": 1.0}],
    "sarsa": [{}, {"alpha": 1.0}, {"alpha": 0.3, "gamma": 0.9, "draw_worth": (0.2, 0.4), "start_value": 1.0}],
    "expected-sarsa": [{}, {"epsilon": 0.0}, {"alpha": 0.3, "gamma": 0.9, "epsilon": 0.4, "start_value": -0.5}],
    "double-q": [{}, {"alpha": 1.0}, {"alpha": 0.3, "gamma": 0.9, "draw_worth": (0.2, 0.4), "start_value": 1.0}],
    "td-lambda": [{}, {"lambda_": 0.0, "gamma": 0.9}, {"alpha": 0.3, "gamma": 0.95, "cut": True, "start_value": 0.5}],
    "reinforce": [{}, {"alpha": 1.0, "beta": 0.5}, {"alpha": 0.3, "draw_worth": (0.25, -0.5), "start_value": 0.5}],
    "actor-critic": [{}, {"alpha": 0.7, "gamma": 0.9, "beta": 1.0}, {"alpha": 1.0, "draw_worth": (0.25, -0.5)}],
}
CASES = [
    pytest.param(name, options, id=f"{name}-{i}", marks=[pytest.mark.slow] if i == 1 else [])
    for name in BOTH_SEATS
    for i, options in enumerate(OPTIONS[name])
]


def played(subject: Subject, oracle: naive.Learner, games: int, seed: int) -> list[str]:
    """Games played and learnt by the oracle, as text."""
    rng, lines = random.Random(seed), []
    for _ in range(games):
        moves = oracle.play(rng, 0.4)
        oracle.learn(moves)
        lines.append(naive.format_game(moves))
    return lines


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("name", "options"), CASES)
def test_games_one_by_one_equal_the_oracle(name: str, options: dict[str, Any]) -> None:
    subject = Subject(name, **options)
    oracle = subject.oracle()
    lines = played(subject, oracle, 1_000, seed=1)
    subject.learn(lines)
    assert_same(subject, oracle)


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("name", "options"), CASES)
def test_batches_equal_the_oracle(name: str, options: dict[str, Any]) -> None:
    subject = Subject(name, **options)
    oracle = subject.oracle()
    rng = random.Random(2)
    for size in (1, 2, 3, 40, 300):
        games = [oracle.play(rng, 0.4) for _ in range(size)]
        oracle.fold(games)
        subject.fold([naive.format_game(moves) for moves in games])
        assert_same(subject, oracle)


@pytest.mark.slow
@pytest.mark.parametrize("name", BOTH_SEATS)
def test_a_batch_of_one_game_is_the_sequential_algorithm(name: str) -> None:
    one, other = Subject(name), Subject(name)
    lines = played(one, one.oracle(), 300, seed=3)
    for line in lines:
        one.learn([line])
        other.fold([line])
    for ours, theirs in zip(one.tables, other.tables, strict=True):
        assert ours.tobytes() == theirs.tobytes()


@pytest.mark.slow
@pytest.mark.parametrize("name", BOTH_SEATS)
def test_a_fold_reports_every_row_whose_best_moves_change(name: str) -> None:
    subject = Subject(name)
    oracle = subject.oracle()
    rng = random.Random(4)
    subject.fold([naive.format_game(oracle.play(rng, 0.5)) for _ in range(200)])
    graph, changed_rows = subject.graph, 0
    for _ in range(20):
        before = best_moves(subject)
        dirty = subject.fold([naive.format_game(oracle.play(rng, 0.5)) for _ in range(50)])
        changed = np.array([ours != theirs for ours, theirs in zip(before, best_moves(subject), strict=True)])
        assert changed.size == graph.first_edge.size - 1
        assert dirty[changed].all()
        changed_rows += int(changed.sum())
    assert changed_rows > 0


def best_moves(subject: Subject) -> list[list[int]]:
    """The edges that each row's mover may pick, from scratch."""
    policy = empty_policy(subject.graph)
    order_rows(subject.tables, subject.graph, subject.learner.choice, policy)
    starts = subject.graph.first_edge[:-1].tolist()
    ordered = policy.ordered.tolist()
    return [ordered[lo : lo + n] for lo, n in zip(starts, policy.best.tolist(), strict=True)]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["sutton-barto", "value-feed", "greedy-td"])
def test_recorded_games_of_value_programs(name: str) -> None:
    data = recorded(name)
    subject = Subject(name, alpha=0.1) if name == "sutton-barto" else Subject(name)
    subject.learn(data["games"].tolist())
    expected = data["V"][:, subject.graph.code]
    known = ~np.isnan(expected)
    assert known.sum() > 300
    assert (subject.tables.value[known] == expected[known]).all()
    if name == "value-feed":
        assert np.isnan(subject.tables.value[~known]).all()


@pytest.mark.parametrize(("name", "least"), [("minimax-q", 1_001), ("backward-q", 16_167)])
def test_recorded_games_of_programs_with_action_values(name: str, least: int) -> None:
    data, subject = recorded(name), Subject(name)
    graph = subject.graph
    rows = np.arange(graph.first_edge.size - 1).repeat(np.diff(graph.first_edge))

    def of_edges(values: np.ndarray) -> np.ndarray:
        """The entries of an array by code and cell, nan where the program has none."""
        found = np.full((3**9, 9), np.nan)
        found[data["code"] if "code" in data else np.arange(3**9)] = values
        return found[graph.code[rows], graph.cell]

    if "Q0" in data:  # where its random numbers began
        start = of_edges(data["Q0"])
        subject.tables.q[~np.isnan(start)] = start[~np.isnan(start)]
    subject.learn(data["games"].tolist())
    expected = of_edges(data["Q"])
    known = ~np.isnan(expected)
    assert known.sum() >= least
    assert (subject.tables.q[known] == expected[known]).all()


@pytest.mark.slow  # kernels of another learner
def test_worked_example_of_backward_q() -> None:
    subject = Subject("backward-q")
    game = subject.parse(["0 1 2 3 4 5 6"])
    assert subject.tables.q[game.move].tolist() == [0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 1.0]
    subject.learn(["0 1 2 3 4 5 6"])
    assert subject.tables.q[game.move].tolist() == pytest.approx([0.5005, 0.495, 0.505, 0.45, 0.55, 0, 1], abs=1e-15)
