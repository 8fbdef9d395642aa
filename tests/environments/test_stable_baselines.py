"""`VecEnv` of Stable-Baselines3 against its own `DummyVecEnv` over single environments, and under its algorithms."""

import numpy as np
import pytest

pytest.importorskip("stable_baselines3")

from stable_baselines3 import DQN, PPO
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.vec_env import DummyVecEnv, VecMonitor, VecNormalize

import ttt_batch as ttt
from ttt_batch.environments.gymnasium_envs import MNKEnv
from ttt_batch.environments.stable_baselines import MNKVecEnv

SMALL = {"n_steps": 16, "batch_size": 64, "n_epochs": 1, "device": "cpu", "seed": 1}


def one_by_one(n: int, *given: str | None, **options: str) -> DummyVecEnv:
    return DummyVecEnv([lambda i=i: MNKEnv(*given, first_env=i, seed=3, **options) for i in range(n)])


@pytest.mark.parametrize("observation", ["planes", "cells"])
@pytest.mark.parametrize(("board", "opponent"), [("3x3", "random"), ("4x4x3-gravity", None), ("3x3", "optimal")])
def test_games_are_those_of_single_environments(board: str, opponent: str | None, observation: str):
    n, chance, ends = 6, np.random.default_rng(1), 0
    ours = MNKVecEnv(n, board, opponent, seed=3, observation=observation)
    theirs = one_by_one(n, board, opponent, observation=observation)
    assert (ours.observation_space, ours.action_space) == (theirs.observation_space, theirs.action_space)
    assert (ours.reset() == theirs.reset()).all()
    for _ in range(60):
        masks = np.stack(ours.env_method("action_masks"))
        assert (masks == np.stack(theirs.env_method("action_masks"))).all()
        actions = np.array([chance.choice(np.flatnonzero(mask)) for mask in masks])
        actions = np.where(chance.random(n) < 0.05, chance.integers(0, masks.shape[1], n), actions)
        one, other = ours.step(actions), theirs.step(actions)
        for mine, its in zip(one[:3], other[:3], strict=True):
            assert mine.dtype == its.dtype
            assert mine.tolist() == its.tolist()
        for mine, its, over in zip(one[3], other[3], one[2], strict=True):
            assert ("terminal_observation" in mine) == over
            if over:
                assert (mine["terminal_observation"] == its["terminal_observation"]).all()
        ends += int(one[2].sum())
    assert ends > 10


def test_a_seed_counts_from_the_next_reset():
    first, second = MNKVecEnv(5, seed=7), MNKVecEnv(5, seed=8)
    shown = first.reset()
    second.reset()
    second.seed(7)
    assert (second.reset() == shown).all()
    assert second.batch.seed == 7
    second.reset()
    assert second.batch.game_numbers.tolist() == [1] * 5


def test_threads_change_nothing():
    one, two = (MNKVecEnv(2500, seed=7, threads=threads) for threads in (1, 2))
    assert two.batch.threads == 2
    assert (one.reset() == two.reset()).all()
    for _ in range(8):
        actions = one.batch.sample()
        for mine, its in zip(one.step(actions)[:3], two.step(actions)[:3], strict=True):
            assert (mine == its).all()


def test_infos_say_whose_reward_it_is():
    for view, winner in (("acted", 0), ("to-move", 1)):
        env = MNKVecEnv(1, opponent=None, terminal_view=view)
        env.reset()
        for cell in (0, 3, 1, 4, 2):
            _, rewards, over, infos = env.step(np.array([cell]))
        assert (rewards[0], over[0], infos[0]["seat"]) == (1, True, 0)
        assert infos[0]["terminal_observation"].reshape(2, 9)[winner].nonzero()[0].tolist() == [0, 1, 2]
    going_on = env.step(np.array([4]))[3][0]
    with pytest.raises(TypeError):
        going_on["seat"] = 1


def test_pictures_and_text(capsys: pytest.CaptureFixture[str]):
    assert MNKVecEnv(4, render_mode="rgb_array").render().shape == (144, 144, 3)
    MNKVecEnv(2, "3x3", None, render_mode="human").render()
    assert capsys.readouterr().out.count("X to move") == 2


def test_what_is_wrong_is_named():
    env = MNKVecEnv(2)
    with pytest.raises(ttt.UsageError, match="unknown render mode"):
        MNKVecEnv(2, render_mode="3d")
    with pytest.raises(ttt.UsageError, match="have no method 'undo'; call action_masks or render"):
        env.env_method("undo")
    with pytest.raises(ttt.UsageError, match="no attribute 'board' to set"):
        env.set_attr("board", "4x4x4")
    with pytest.raises(ttt.UsageError, match="actions are 'NoneType'"):
        env.step_wait()
    assert not env.has_attr("undo")


def test_algorithms_learn_on_it():
    for make in (VecMonitor, lambda env: VecNormalize(VecMonitor(env))):
        model = PPO("MlpPolicy", make(MNKVecEnv(8, seed=1)), **SMALL).learn(256)
        assert len(model.ep_info_buffer) > 20
    DQN("MlpPolicy", MNKVecEnv(8, seed=1), learning_starts=64, device="cpu", seed=1).learn(256)
    mean, _ = evaluate_policy(model, VecMonitor(MNKVecEnv(4, seed=2)), 20)
    assert -1 <= mean <= 1


def test_masked_policies_make_no_illegal_move():
    contrib = pytest.importorskip("sb3_contrib")
    env = MNKVecEnv(8, illegal="raise", seed=1)
    model = contrib.MaskablePPO("MlpPolicy", VecMonitor(env), **SMALL).learn(512)
    assert model.num_timesteps == 512
