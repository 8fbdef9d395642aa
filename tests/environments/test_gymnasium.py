"""Gymnasium's own checks, and both of its interfaces against `Batch` and against each other."""

import pickle
import subprocess
import sys
from copy import deepcopy

import numpy as np
import pytest

gymnasium = pytest.importorskip("gymnasium")

from gymnasium.utils.env_checker import check_env, data_equivalence  # noqa: E402
from gymnasium.vector import AutoresetMode, SyncVectorEnv  # noqa: E402

import ttt_batch as ttt  # noqa: E402
from ttt_batch.environments.gymnasium_envs import NAME, MNKEnv, MNKVectorEnv  # noqa: E402


@pytest.mark.parametrize("board", ["3x3", "6x7x4-gravity", "8x8x5"])
@pytest.mark.parametrize("opponent", ["random", None])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_an_environment_passes_the_checks(board: str, opponent: str | None):
    check_env(gymnasium.make(NAME, board=board, opponent=opponent).unwrapped, skip_render_check=True)
    for mode in MNKEnv.metadata["render_modes"]:
        shown = MNKEnv(board, opponent, render_mode=mode)
        shown.reset(seed=1)
        picture = shown.render()
        assert {"human": type(None), "ansi": str, "rgb_array": np.ndarray}[mode] is type(picture)


@pytest.mark.parametrize(
    "code",
    [
        'import ttt_batch.environments.gymnasium_envs; print(gymnasium.make_vec("ttt_batch/MNK-v0", num_envs=2))',
        'print(gymnasium.make("ttt_batch.environments.gymnasium_envs:ttt_batch/MNK-v0", board="4x4x4"))',
    ],
)
def test_importing_the_module_is_enough(code: str):
    done = subprocess.run([sys.executable, "-c", f"import gymnasium; {code}"], capture_output=True, text=True)
    assert "MNK" in done.stdout, done.stderr


def sub_environment(number: int, board: str, opponent: str | None):
    return lambda: MNKEnv(board, opponent, first_env=number)


@pytest.mark.parametrize("mode", list(AutoresetMode))
@pytest.mark.parametrize(("board", "opponent"), [("3x3", "random"), ("4x4x3-gravity", None), ("3x3", "optimal")])
def test_many_are_as_gymnasium_makes_many_of_one(mode: AutoresetMode, board: str, opponent: str | None):
    """Observations, rewards, ends and infos are those of Gymnasium's own `SyncVectorEnv` over single environments."""
    n = 6
    ours = gymnasium.make_vec(NAME, num_envs=n, board=board, opponent=opponent, autoreset_mode=mode)
    theirs = SyncVectorEnv([sub_environment(i, board, opponent) for i in range(n)], autoreset_mode=mode)
    assert ours.metadata["autoreset_mode"] is mode
    assert ours.observation_space == theirs.observation_space
    assert ours.action_space == theirs.action_space
    one, other = ours.reset(seed=3), theirs.reset(seed=[3] * n)
    assert data_equivalence(one[0], other[0])
    assert one[0] in ours.observation_space
    chance, ends = np.random.default_rng(1), 0
    for _ in range(60):
        masks = ours.unwrapped.batch.mask
        actions = np.array([chance.choice(np.flatnonzero(mask)) if mask.any() else 0 for mask in masks])
        actions = np.where(chance.random(n) < 0.05, chance.integers(0, masks.shape[1], n), actions)
        one, other = ours.step(actions), theirs.step(actions)
        for mine, its in zip(one[:4], other[:4], strict=True):
            assert mine.dtype == its.dtype
            assert mine.tolist() == its.tolist()
        assert one[4].keys() == other[4].keys()
        assert (one[4]["action_mask"] == other[4]["action_mask"]).all()
        if "final_obs" in one[4]:
            assert (one[4]["_final_obs"] == other[4]["_final_obs"]).all()
            for env in np.flatnonzero(one[2]):
                assert (one[4]["final_obs"][env] == other[4]["final_obs"][env]).all()
            assert data_equivalence(one[4]["final_info"], other[4]["final_info"])
        ends += int(one[2].sum())
        if mode is AutoresetMode.DISABLED and one[2].any():
            options = {"reset_mask": one[2]}
            one, other = ours.reset(options=dict(options)), theirs.reset(options=dict(options))
            assert (one[0] == other[0]).all()
            assert (one[1]["action_mask"] == other[1]["action_mask"]).all()
    assert ends > 10


def test_rewards_are_the_agents():
    """With best play as opponent nobody wins, and random agents mostly lose."""
    envs = gymnasium.make_vec(NAME, num_envs=500, opponent="optimal", autoreset_mode="same-step", illegal="raise")
    envs.reset(seed=1)
    total = np.zeros(500)
    for _ in range(20):
        rewards = envs.step(envs.unwrapped.batch.sample())[1]
        assert (rewards <= 0).all()
        total += rewards
    assert total.sum() < -500


def test_wrong_options_are_named():
    for given, message in [
        ({"autoreset_mode": "never"}, "unknown autoreset"),
        ({"render_mode": "3d"}, "unknown render mode"),
        ({"board": "9x9"}, "at most 64"),
    ]:
        with pytest.raises(ttt.UsageError, match=message):
            MNKVectorEnv(2, **given)
    with pytest.raises(ttt.UsageError, match="one for all environments"):
        MNKVectorEnv(2).reset(seed=[1, 2])
    with pytest.raises(ttt.UsageError, match="which must be an array of bool"):
        MNKVectorEnv(2).reset(options={"reset_mask": np.array([1, 0])})


def test_observations_are_copies_unless_the_caller_wants_none():
    for copy in (True, False):
        envs = MNKVectorEnv(2, copy=copy)
        assert np.shares_memory(envs.reset(seed=1)[0], envs.batch.planes) is not copy


WRONG_ACTIONS = {
    3.5: "action 3.5 is no whole number; give one from 0 to 8",
    float("nan"): "action nan is no whole number",
    None: "action None is no whole number",
    "3": "action '3' is no whole number",
    True: "action True is no whole number",
    9: "action 9 is none of this board; give one from 0 to 8",
    -1: "action -1 is none",
    2**70: "action 1180591620717411303424 is none",
}


@pytest.mark.parametrize("action", WRONG_ACTIONS)
def test_what_is_no_action_is_refused_before_anything_changes(action: object):
    single = MNKEnv(opponent=None)
    single.reset(seed=1)
    with pytest.raises(ttt.UsageError, match=WRONG_ACTIONS[action]):
        single.step(action)
    assert not single.batch.bitboards.any()
    for right in (3, np.int64(4), np.array(5), np.uint8(6)):
        single.step(right)
    assert int(single.batch.bitboards.sum()) == 0b1111000


def test_options_are_a_dictionary():
    with pytest.raises(ttt.UsageError, match="options are 'int'; give a dictionary"):
        MNKVectorEnv(2).reset(options=3)


@pytest.mark.parametrize("how", ["deepcopy", "pickle"])
def test_environments_are_copied_whole(how: str):
    for one in (MNKEnv("4x4x3"), MNKVectorEnv(5, "4x4x3")):
        one.reset(seed=3)
        one.step(np.arange(5) if isinstance(one, MNKVectorEnv) else 7)
        other = deepcopy(one) if how == "deepcopy" else pickle.loads(pickle.dumps(one))
        actions = one.batch.sample() if isinstance(one, MNKVectorEnv) else int(one.batch.sample()[0])
        assert data_equivalence(other.step(actions), one.step(actions))
        one.close()
        one.close()


def test_environments_in_processes_of_their_own_play_the_same_games():
    from gymnasium.vector import AsyncVectorEnv

    ours = MNKVectorEnv(3, "4x4x3")
    theirs = AsyncVectorEnv([sub_environment(i, "4x4x3", "random") for i in range(3)], context="spawn")
    try:
        assert data_equivalence(ours.reset(seed=3)[0], theirs.reset(seed=[3] * 3)[0])
        for _ in range(15):
            actions = ours.batch.sample()
            for mine, its in zip(ours.step(actions)[:4], theirs.step(actions)[:4], strict=True):
                assert mine.tolist() == its.tolist()
    finally:
        theirs.close()


def test_actions_of_several_lengths_are_refused():
    many = MNKVectorEnv(2)
    many.reset(seed=1)
    with pytest.raises(ttt.UsageError, match="actions are no array; give an integer for each environment"):
        many.step([1, [2]])
