"""Agents made weaker: shares against the definition of softmax, and full strength that changes nothing."""

import math
import random
from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest
from helpers.players import FakeAgent

import ttt_batch as ttt
from ttt_batch.analysis.review import TEMPERATURE, HandicappedAgent, result_range, softmax_probabilities
from ttt_batch.core.errors import UsageError
from ttt_batch.games.board import Board
from ttt_batch.learners import LEARNERS
from ttt_batch.training.from_games import LearningRun

EMPTY_BOARD = Board().decode(0)
N = 20_000


def test_shares_by_the_definition():
    values = {0: 0.5, 4: -1.0, 8: 0.25}
    total = sum(math.exp(value / 0.3) for value in values.values())
    for cell, share in softmax_probabilities(values, 0.3).items():
        assert share == pytest.approx(math.exp(values[cell] / 0.3) / total, rel=1e-12)


def test_cells_never_seen_count_like_the_average():
    shares = softmax_probabilities({0: 0.2, 1: math.nan, 2: 0.6, 3: 0.4}, 0.1)
    assert shares[1] == pytest.approx(shares[3]) and sum(shares.values()) == pytest.approx(1)
    assert softmax_probabilities({0: math.nan, 5: math.nan}, 1.0) == {0: 0.5, 5: 0.5}


def test_shares_of_huge_and_far_values_are_finite():
    assert softmax_probabilities({0: 1e300, 1: -1e300, 2: math.nan}, 1e-9) == {0: 1.0, 1: 0.0, 2: 0.0}
    assert softmax_probabilities({0: 1e308, 1: 1e308, 2: math.nan}, 1.0)[2] == pytest.approx(1 / 3)


def picks(level: float, epsilon: float, agent: FakeAgent | None = None) -> Counter[int]:
    weakened = HandicappedAgent(agent or FakeAgent(choose=lambda position: [8]), level, epsilon, random.Random(7))
    return Counter(cell for _ in range(N) for cell in weakened.candidates(EMPTY_BOARD))


@pytest.mark.slow
@pytest.mark.parametrize(("level", "epsilon"), [(0.0, 0.0), (0.6, 0.0), (0.0, 1.0), (1.0, 0.25), (0.5, 0.3)])
def test_moves_have_the_shares_of_the_definition(level, epsilon):
    """epsilon of all moves random, of the others 1 - level by softmax, the rest by rule: here always the last cell."""
    soft = softmax_probabilities(FakeAgent().move_values(EMPTY_BOARD), TEMPERATURE * 2)
    found = picks(level, epsilon)
    for cell in range(9):
        p = epsilon / 9 + (1 - epsilon) * ((1 - level) * soft[cell] + level * (cell == 8))
        # Five standard deviations of a binomial; the seed is fixed.
        assert abs(found[cell] - N * p) <= 5 * math.sqrt(N * p * (1 - p)) + 1e-9, cell


def test_only_free_cells_are_drawn():
    position = (1, 2, 1, 0, 2, 0, 0, 0, 0)
    weakened = HandicappedAgent(FakeAgent(choose=lambda position: [0]), 0.0, 0.5, random.Random(1))
    assert {weakened.candidates(position)[0] for _ in range(500)} == {3, 5, 6, 7, 8}


def test_full_strength_draws_nothing_and_passes_everything_on():
    run, rng = ttt.train(1000), random.Random(1)
    strong = HandicappedAgent(run, 1.0, 0.0, rng)
    before = rng.getstate()
    for text in ("... ... ...", "X.. ... ...", "X.. .O. ..X"):
        position = run.position(text)
        assert strong.candidates(position) == run.candidates(position)
        np.testing.assert_equal(strong.move_values(position), run.move_values(position))
        assert strong.true_moves(position) == run.true_moves(position)
    assert rng.getstate() == before and strong.board is run.board


@pytest.mark.parametrize("name", list(LEARNERS))
def test_the_temperature_goes_by_the_learners_scale(name):
    """A whole game more is e**4 times as likely for every learner, whatever its numbers are."""
    learner = LEARNERS[name]
    agent = SimpleNamespace(worth=learner.worth(learner.defaults))
    for position in (EMPTY_BOARD, Board().decode(1)):
        player = sum(mark != 0 for mark in position) % 2
        ends = agent.worth[player, 1:]
        assert result_range(agent, position) == ends.max() - ends.min() > 0
        shares = softmax_probabilities({0: ends.max(), 1: ends.min()}, TEMPERATURE * result_range(agent, position))
        assert shares[0] / shares[1] == pytest.approx(math.exp(1 / TEMPERATURE))


def test_a_learning_run_has_the_scale_of_their_run():
    run = ttt.train(1000)
    assert result_range(LearningRun(run), EMPTY_BOARD) == result_range(run, EMPTY_BOARD) == 2
    run.worth[:] *= 3
    assert result_range(LearningRun(run), EMPTY_BOARD) == 6
    assert result_range(FakeAgent(), EMPTY_BOARD) == 2


@pytest.mark.slow
def test_a_weakened_agent_has_its_agents_scale_and_nobody_has_none():
    agent = FakeAgent()
    agent.worth = agent.worth * 5
    assert result_range(HandicappedAgent(agent), EMPTY_BOARD) == 10
    assert picks(0.0, 0.0, agent)[0] > picks(0.0, 0.0)[0] * 1.5  # the same values are smaller beside it
    with pytest.raises(AttributeError, match="worth"):
        result_range(SimpleNamespace(), EMPTY_BOARD)  # type: ignore[arg-type]


@pytest.mark.slow
def test_who_does_not_care_how_a_game_ends_still_moves():
    agent = FakeAgent()
    agent.worth[:] = 0.5
    assert result_range(agent, EMPTY_BOARD) == 1 and len(picks(0.0, 0.0, agent)) == 9


@pytest.mark.parametrize("value", [-0.01, 1.01, math.nan, math.inf, 2])
@pytest.mark.parametrize("name", ["level", "epsilon"])
def test_a_share_outside_0_to_1_is_refused_in_a_line(name, value):
    with pytest.raises(UsageError, match=f"^{name} .* is outside 0 to 1; ") as caught:
        HandicappedAgent(FakeAgent(), **{name: value})
    assert "\n" not in str(caught.value)


def test_boxes_are_drawn_from_alike_while_they_learn():
    run = ttt.train(300, learner="menace", seed=1)
    empty = (0,) * 9
    drawn = [HandicappedAgent(agent, rng=random.Random(0)) for agent in (run, LearningRun(run))]
    first, second = ([agent.candidates(empty) for _ in range(50)] for agent in drawn)
    assert first == second and len(set(map(tuple, first))) > 4
