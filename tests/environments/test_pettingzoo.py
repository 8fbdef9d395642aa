"""PettingZoo's own tests of the environment."""

import warnings

import numpy as np
import pytest

pettingzoo = pytest.importorskip("pettingzoo")

with warnings.catch_warnings():  # its tests import games of its own, with a warning where pygame is installed
    warnings.simplefilter("ignore")
    from pettingzoo.test import api_test, render_test, seed_test

import ttt_batch as ttt  # noqa: E402
from ttt_batch.environments.pettingzoo_env import NAME, env  # noqa: E402

BOARDS = ["3x3", "6x7x4-gravity", "4x4x3-misere"]


# It finds an empty board, all zeros, and observations that are dictionaries worth a word.
@pytest.mark.sampled(1)
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("board", BOARDS)
def test_it_passes_pettingzoos_tests(board: str, capsys: pytest.CaptureFixture[str]):
    api_test(env(board), num_cycles=200)
    seed_test(lambda: env(board), num_cycles=50)
    render_test(lambda render_mode: env(board, render_mode=render_mode))
    assert "to move" in capsys.readouterr().out


def test_a_game_is_told_to_both():
    game = env("3x3")
    game.reset(seed=1)
    for cell in (0, 3, 1, 4, 2):
        seen = game.observe(game.agent_selection)
        assert seen["action_mask"].sum() == 9 - seen["observation"].sum()
        assert not game.observe(next(a for a in game.agents if a != game.agent_selection))["action_mask"].any()
        game.step(cell)
    assert game.rewards == {"player_0": 1.0, "player_1": -1.0}
    assert all(game.terminations.values())
    assert np.flatnonzero(game.observe("player_1")["observation"][0]).tolist() == [3, 4]


def test_an_illegal_action_loses():
    game = env("3x3")
    game.reset()
    game.step(4)
    game.step(4)
    assert game.rewards == {"player_0": 1.0, "player_1": -1.0}


def test_what_is_wrong_is_named():
    game = env("3x3")
    with pytest.raises(ttt.UsageError, match=r"action 1\.5 is no whole number"):
        game.step(1.5)
    with pytest.raises(ttt.UsageError, match=r"unknown agent 'player_2'"):
        game.observe("player_2")
    with pytest.raises(ttt.UsageError, match="unknown agent"):
        game.action_space("me")
    with pytest.raises(ttt.UsageError, match="options are 'list'; give a dictionary"):
        game.reset(options=[])
    game.step(4)  # a game has begun without a reset, too
    assert game.observe("player_0")["observation"].sum() == 1


def test_nobody_moves_after_both_have_left():
    game = env("3x3")
    game.reset()
    for action in (0, 3, 1, 4, 2, None, None):
        game.step(action)
    assert game.agents == []
    with pytest.raises(ttt.UsageError, match="over for both agents; reset the environment"):
        game.step(None)


def test_text_says_how_a_game_has_ended(capsys: pytest.CaptureFixture[str]):
    game = env("3x3", render_mode="human")
    game.reset()
    assert capsys.readouterr().out.endswith("X to move\n\n")  # the board is shown before the first move, too
    for cell in (0, 3, 1, 4, 2):
        game.step(cell)
    assert capsys.readouterr().out.endswith("XXX\nOO.\n...\nX has won\n\n")


@pytest.mark.skipif(not hasattr(pettingzoo, "make"), reason="PettingZoo makes environments by name from 1.27 on")
def test_pettingzoo_makes_it_by_its_name():
    game = pettingzoo.make("aec", NAME, board="4x4x3", render_mode="ansi")
    game.reset()
    assert game.render().splitlines()[:4] == ["...."] * 4
    assert isinstance(game, type(env()))


def test_each_agent_sees_its_own_marks_first_also_after_a_forfeit():
    game = env("3x3")
    game.reset()
    for action in (0, 4, 4):
        game.step(action)
    assert game.rewards == {"player_0": -1.0, "player_1": 1.0}
    assert [game.observe(agent)["observation"][0].ravel().argmax() for agent in game.possible_agents] == [0, 4]


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(
    ("observation", "first", "second"),
    [
        ("planes", [1, 0, 0, 1], [0, 1, 1, 0]),
        ("planes-float32", [1, 0, 0, 1], [0, 1, 1, 0]),
        ("canonical", [1, -1], [-1, 1]),
        ("cells", [1, 2], [1, 2]),
    ],
)
def test_observations_are_those_that_are_asked_for(observation: str, first: list[int], second: list[int]):
    """The numbers of the first two cells, after each player has marked one, also when the game is over."""
    for dtype in (None, "float64"):
        game = env("1x4x2", observation=observation, dtype=dtype)
        api_test(game, num_cycles=50)
        game.reset()
        for cell in (0, 1, 1):
            for seat, agent in enumerate(game.possible_agents):
                seen = game.observe(agent)["observation"]
                assert game.observation_space(agent)["observation"].contains(seen)
                assert game.infos[agent] == {"seat": seat}
            game.step(cell)
        for agent, expected in zip(game.possible_agents, (first, second), strict=True):
            assert game.observe(agent)["observation"][..., :2].ravel().tolist() == expected
        assert all(game.terminations.values())
    with pytest.raises(ttt.UsageError, match="unknown observation 'pixels'"):
        env(observation="pixels")
