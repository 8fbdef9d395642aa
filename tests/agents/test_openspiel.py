"""OpenSpiel's policies and bots as agents, and ours as its policies: the same exploitability on both sides."""

import numpy as np
import pytest

import ttt_batch as ttt
from ttt_batch.agents import from_openspiel, to_openspiel
from ttt_batch.learners import LEARNERS

pyspiel = pytest.importorskip("pyspiel")
policies = pytest.importorskip("open_spiel.python.policy")

GAME = pyspiel.load_game("tic_tac_toe")


def judged_the_same(one, other):
    """Return whether two judgements are of the same play."""
    assert one.unbeatable == other.unbeatable
    np.testing.assert_allclose([*one.first, *one.second], [*other.first, *other.second], atol=1e-12)


def best_response(policy, seat: int) -> float:
    """Return the expectation of the best opponent of a pyspiel policy in a seat, by OpenSpiel's own states."""
    known: dict[str, float] = {}

    def value(state) -> float:
        if state.is_terminal():
            return state.player_return(1 - seat)
        seen = state.observation_string(0)
        if seen not in known:
            if state.current_player() == seat:
                moves = policy.action_probabilities(state).items()
                known[seen] = sum(chance * value(state.child(action)) for action, chance in moves if chance > 0)
            else:
                known[seen] = max(value(state.child(action)) for action in state.legal_actions())
        return known[seen]

    return value(policy.game.new_initial_state())


def test_their_policies_are_judged():
    judged_the_same(ttt.judge(from_openspiel(policies.UniformRandomPolicy(GAME))), ttt.judge("random"))
    judged_the_same(ttt.judge(from_openspiel(pyspiel.UniformRandomPolicy(GAME))), ttt.judge("random"))


@pytest.mark.parametrize("learner", [name for name in LEARNERS if name != "minimax-q"])
@pytest.mark.parametrize("games", [100, 10_000])
def test_the_best_response_is_ours(learner, games):
    for seed in range(3):
        same_best_response(ttt.train(games, learner=learner, seed=seed))


@pytest.mark.slow
def test_the_best_response_is_ours_on_hundreds_of_runs():
    """Runs of every length, from one that has learnt nothing to one that cannot be beaten."""
    values = set()
    for seed in range(30):
        for learner in LEARNERS:
            if learner not in ("minimax-q", "menace"):  # which forfeit games; OpenSpiel's have no such move
                values |= set(same_best_response(ttt.train(10 + 4**seed % 9973, learner=learner, seed=100 + seed)))
    assert {0.0, 1.0} <= values


def same_best_response(run) -> list[float]:
    """Compare the expectations of a run's best opponents by OpenSpiel's rules and by ours."""
    policy = to_openspiel(run)
    theirs = [best_response(policy, seat) for seat in (0, 1)]
    np.testing.assert_allclose(run.judgement().best_response, theirs, atol=1e-12)
    return theirs


@pytest.mark.slow
@pytest.mark.parametrize(
    ("learner", "games", "seed", "wanted"), [("td", 100_000, 0, 0.0), ("sutton-barto", 50, 2, 2.0)]
)
def test_exploitability_is_ours(learner, games, seed, wanted):
    """OpenSpiel's own figure, which walks through all histories: half a minute a policy."""
    run = ttt.train(games, learner=learner, seed=seed)
    found = pyspiel.nash_conv(GAME, as_table(to_openspiel(run)))
    assert found == pytest.approx(wanted, abs=1e-9)
    assert run.judgement().best_response.sum() == pytest.approx(wanted, abs=1e-9)


def as_table(policy):
    """The same as a table in C++, by information states."""
    table = {}

    def visit(state):
        if not state.is_terminal():
            table[state.information_state_string()] = list(policy.action_probabilities(state).items())
            for action in state.legal_actions():
                visit(state.child(action))

    visit(policy.game.new_initial_state())
    return pyspiel.TabularPolicy(table)


def test_their_own_bots_are_judged_by_the_policy_that_they_tell():
    from open_spiel.python.bots.uniform_random import UniformRandomBot

    chance, expected = np.random.RandomState(1), ttt.judge("random")
    judged_the_same(ttt.judge(from_openspiel([UniformRandomBot(seat, chance) for seat in (0, 1)])), expected)
    bots = [pyspiel.make_uniform_random_bot(seat, 1) for seat in (0, 1)]
    judged_the_same(ttt.judge(from_openspiel(bots)), expected)
    with pytest.raises(ttt.AgentError, match="Bot answered no action; return one from 0 to 8, or give a pair of bots"):
        ttt.judge(from_openspiel(bots[::-1]))
