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
from gymnasium.wrappers.vector import DictInfoToList, RecordEpisodeStatistics  # noqa: E402

import ttt_batch as ttt  # noqa: E402
from ttt_batch.environments.gymnasium_envs import NAME, MNKEnv, MNKVectorEnv  # noqa: E402


@pytest.mark.sampled(1)
@pytest.mark.parametrize("board", ["3x3", "6x7x4-gravity", "8x8x5"])
@pytest.mark.parametrize("opponent", ["random", None])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_an_environment_passes_the_checks(board: str, opponent: str | None):
    check_env(gymnasium.make(NAME, board=board, opponent=opponent).unwrapped)
    for mode in MNKEnv.metadata["render_modes"]:
        shown = MNKEnv(board, opponent, render_mode=mode)
        shown.reset(seed=1)
        picture = shown.render()
        assert {"human": type(None), "ansi": str, "rgb_array": np.ndarray}[mode] is type(picture)


@pytest.mark.slow
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


@pytest.mark.sampled(1)
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
    assert data_equivalence(one, other)
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
        for key in ("action_mask", "seat"):
            assert data_equivalence(one[4][key], other[4][key])
            assert data_equivalence(one[4][f"_{key}"], other[4][f"_{key}"])
        assert (ours.unwrapped.action_masks() == np.array(theirs.call("action_masks"))).all()
        if "final_obs" in one[4]:
            assert (one[4]["_final_obs"] == other[4]["_final_obs"]).all()
            for env in np.flatnonzero(one[2]):
                assert (one[4]["final_obs"][env] == other[4]["final_obs"][env]).all()
            assert data_equivalence(one[4]["final_info"], other[4]["final_info"])
        ends += int(one[2].sum())
        if mode is AutoresetMode.DISABLED and one[2].any():
            options = {"reset_mask": one[2]}
            one, other = ours.reset(options=dict(options)), theirs.reset(options=dict(options))
            assert data_equivalence(one, other)
    assert ends > 10


def test_threads_change_nothing():
    one, two = (gymnasium.make_vec(NAME, num_envs=2500, seed=7, threads=threads) for threads in (1, 2))
    assert two.unwrapped.batch.threads == 2
    assert data_equivalence(one.reset(), two.reset())
    for _ in range(12):
        actions = one.unwrapped.batch.sample()
        assert data_equivalence(one.step(actions), two.step(actions))


def test_a_single_environment_takes_the_threads_of_many():
    one, two = (gymnasium.make(NAME, seed=7, threads=threads) for threads in (1, 2))
    assert data_equivalence(one.reset(), two.reset())
    assert data_equivalence(one.step(4), two.step(4))
    with pytest.raises(ttt.UsageError, match=r"threads 0 is outside 1 \.\. 1,024"):
        gymnasium.make(NAME, threads=0)


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


def two(**options: object) -> MNKVectorEnv:
    return MNKVectorEnv(2, **options)


@pytest.mark.parametrize(
    ("make", "given", "message"),
    [
        (two, {"autoreset_mode": "never"}, "unknown autoreset_mode 'never'"),
        (MNKVectorEnv, {"num_envs": 0}, "num_envs 0 is outside 1"),
        (two, {"render_mode": "3d"}, "unknown render mode"),
        (two, {"board": "9x9"}, "at most 64"),
        (MNKEnv, {"observation": "plane"}, r"unknown observation 'plane' \(did you mean planes\?\)"),
        (MNKEnv, {"observation": "canonical", "dtype": "uint8"}, "canonical observations of the dtype uint8"),
        (MNKEnv, {"dtype": "S3"}, r"planes observations of the dtype \|S3"),
        (MNKEnv, {"dtype": "float33"}, "dtype 'float33' is unknown"),
        (MNKEnv, {"terminal_view": "both"}, "unknown terminal_view 'both'"),
        (lambda **given: two().reset(**given), {"seed": [1, 2]}, "one for all environments"),
        (
            lambda **given: two().reset(**given),
            {"options": {"reset_mask": np.array([1, 0])}},
            "give an array of bool with the shape",
        ),
        (lambda **given: two().reset(**given), {"options": 3}, "options are 'int'; give a dictionary"),
        (lambda **given: MNKEnv().reset(**given), {"options": 3}, "options are 'int'; give a dictionary"),
    ],
)
def test_wrong_options_are_named(make, given: dict[str, object], message: str):
    with pytest.raises(ttt.UsageError, match=message):
        make(**given)


@pytest.mark.parametrize("make", [MNKEnv, lambda **options: MNKVectorEnv(2, **options)])
def test_wrong_seeds_are_refused_before_anything_changes(make):
    game = make(seed=3)
    for seed, message in {
        -1: "seed -1 is outside 0 ..",
        1.5: "seed 1.5 is no whole number",
        "7": "seed '7' is no",
    }.items():
        with pytest.raises(ttt.UsageError, match=message):
            game.reset(seed=seed)
    with pytest.raises(ttt.UsageError, match="seed 1180591620717411303424 is outside"):
        game.reset(seed=2**70)
    assert game.batch.seed == 3
    assert data_equivalence(game.reset(seed=np.int64(5)), make(seed=5).reset())


def opening(game, steps: int = 12) -> list[bytes]:
    """Return the observations of an environment from its first reset on."""
    seen, info = game.reset()
    shown = [np.asarray(seen).tobytes()]
    for _ in range(steps):
        mask = np.atleast_2d(info["action_mask"])
        action = mask.argmax(1)
        seen, _, over, _, info = game.step(action if np.ndim(info["action_mask"]) > 1 else int(action[0]))
        shown.append(np.asarray(seen).tobytes())
        if np.ndim(over) == 0 and over:
            seen, info = game.reset()
            shown.append(seen.tobytes())
    return shown


def test_environments_without_a_seed_are_different():
    """Each draws its own seed with `np_random`, which says how: a second generator draws the same one."""
    singles = SyncVectorEnv([lambda: gymnasium.make(NAME, board="4x4x3")] * 4).envs
    many = [gymnasium.make_vec(NAME, num_envs=3, board="4x4x3") for _ in range(2)]
    for games in (singles, many):
        assert len({tuple(opening(game)) for game in games}) == len(games)
    for game in (*singles, *many):
        inner = game.unwrapped
        drawn = gymnasium.utils.seeding.np_random(inner.np_random_seed)[0].integers(2**63)
        assert inner.batch.seed == drawn


@pytest.mark.parametrize("make", [MNKEnv, lambda *given, **options: MNKVectorEnv(3, *given, **options)])
def test_a_seed_gives_the_same_games_wherever_it_is_given(make):
    built, later = make("4x4x3", seed=9), make("4x4x3")
    later.reset(seed=9)
    later._untouched = True
    assert opening(built) == opening(later)


def test_the_seat_is_told():
    """The agent's, or without an opponent that of the player to move."""
    game = MNKEnv(seat="second")
    assert game.reset(seed=1)[1]["seat"] == 1
    assert game.step(int(game.action_masks().argmax()))[4]["seat"] == 1
    both = MNKEnv(opponent=None)
    assert [both.reset()[1]["seat"], both.step(4)[4]["seat"], both.step(0)[4]["seat"]] == [0, 1, 0]
    assert MNKVectorEnv(4).reset()[1]["seat"].tolist() == [0, 1, 0, 1]


def test_masks_are_found_through_wrappers():
    """As sb3-contrib's `MaskablePPO` asks for them."""
    game = gymnasium.make(NAME, opponent=None)
    _, info = game.reset()
    for action in (4, 0):
        masks = game.get_wrapper_attr("action_masks")()
        assert masks.dtype == np.bool_
        assert masks.tolist() == info["action_mask"].astype(bool).tolist()
        info = game.step(action)[4]
    masks[:] = False  # a copy
    assert game.get_wrapper_attr("action_masks")().sum() == 7


def test_text_says_how_a_game_has_ended():
    def after(*actions: int) -> str:
        game = MNKEnv(opponent=None, render_mode="ansi")
        game.reset()
        for action in actions:
            game.step(action)
        return game.render().splitlines()[-1]

    assert after(4) == "O to move"
    assert after(0, 3, 1, 4, 2) == "X has won"
    assert after(0, 3, 1, 4, 8, 5) == "O has won"
    assert after(0, 1, 2, 4, 3, 5, 7, 6, 8) == "a draw"
    assert after(4, 4) == "X has won"  # an illegal action loses
    many = MNKVectorEnv(2, opponent=None, render_mode="ansi")
    many.reset()
    for actions in ([0, 0], [3, 1], [1, 2], [4, 3], [2, 4]):
        many.step(actions)
    assert [text.splitlines()[-1] for text in many.render()] == ["X has won", "O to move"]


@pytest.mark.parametrize("seat", ["first", "second"])
def test_human_mode_prints_how_games_end_before_the_next_ones_begin(seat, capsys):
    """A single environment prints the end of a game, and then the next game."""
    one = MNKEnv(seat=seat, seed=5, render_mode="human")
    many = MNKVectorEnv(1, seat=seat, seed=5, render_mode="human", autoreset_mode="same-step")
    printed = ["", ""]
    for _ in range(4):
        for number, game in enumerate((one, many)):
            if number == 0 or not printed[number]:
                game.reset()
                printed[number] += capsys.readouterr().out
        over = False
        while not over:
            action = int(one.action_masks().argmax())
            over = one.step(action)[2]
            printed[0] += capsys.readouterr().out
            assert many.step([action])[2][0] == over
            printed[1] += capsys.readouterr().out
    one.reset()
    assert printed[0] + capsys.readouterr().out == printed[1]
    assert printed[1].count("has won") + printed[1].count("a draw") == 4


@pytest.mark.parametrize("make", [MNKEnv, lambda **options: MNKVectorEnv(1, **options)])
def test_human_mode_prints_the_opening_and_every_step(make, capsys):
    game = make(seat="second", render_mode="human")
    game.reset(seed=1)
    shown = capsys.readouterr().out
    assert shown.count("X") == 1
    assert shown.endswith("O to move\n\n")
    game.step(
        game.batch.sample() if game.batch.n == 1 and isinstance(game, MNKVectorEnv) else int(game.batch.sample()[0])
    )
    assert capsys.readouterr().out.count("to move") == 1


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
    for right in (3, np.int64(4), np.array(5), np.uint8(6), Tensor(7)):
        single.step(right)
    assert int(single.batch.bitboards.sum()) == 0b11111000


class Tensor:
    """Numbers of another library, which NumPy can read."""

    def __init__(self, numbers: object) -> None:
        self.numbers = numbers

    def __array__(self, dtype: object = None, copy: object = None) -> np.ndarray:
        return np.array(self.numbers, dtype)


@pytest.mark.slow
def test_lists_and_tensors_are_actions():
    given = [3, 1, 4], (3, 1, 4), Tensor([3, 1, 4]), Tensor(np.array([3, 1, 4], np.int32)), np.array([3, 1, 4])
    for actions in given:
        for many in (MNKVectorEnv(3, opponent=None), ttt.Batch(3)):
            many.step(actions)
            assert getattr(many, "batch", many).bitboards[:, 0].tolist() == [8, 2, 16]
    for mask in ([True, False, True], Tensor([True, False, True])):
        many.reset()
        many.step([0, 0, 0])
        many.reset(mask)
        assert many.bitboards[:, 0].tolist() == [0, 1, 0]
    envs = MNKVectorEnv(2, opponent=None)
    envs.step([0, 0])
    _, info = envs.reset(options={"reset_mask": [True, False]})
    assert info["_action_mask"].tolist() == [True, False]


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


@pytest.mark.slow
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
    with pytest.raises(ttt.UsageError, match="actions are 'list', no array of numbers; give an array of integers"):
        many.step([1, [2]])


KINDS = {
    "planes": [[[1, 0, 0], [0, 0, 0], [0, 0, 0]], [[0, 0, 0], [0, 1, 0], [0, 0, 0]]],
    "planes-float32": [[[1, 0, 0], [0, 0, 0], [0, 0, 0]], [[0, 0, 0], [0, 1, 0], [0, 0, 0]]],
    "canonical": [[1, 0, 0], [0, -1, 0], [0, 0, 0]],
    "cells": [[1, 0, 0], [0, 2, 0], [0, 0, 0]],
}


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(("observation", "dtype"), [*((kind, None) for kind in KINDS), ("cells", "float64")])
def test_kinds_of_observations(observation: str, dtype: str | None):
    """Of single environments and of many, also final ones, and after an illegal action."""
    check_env(MNKEnv(observation=observation, dtype=dtype))
    one = MNKEnv(opponent=None, observation=observation, dtype=dtype)
    one.reset()
    for cell in (0, 4):
        seen = one.step(cell)[0]
    assert seen.tolist() == KINDS[observation]
    assert seen.dtype == (dtype or {"planes": np.uint8, "planes-float32": np.float32}.get(observation, np.int8))
    many = MNKVectorEnv(4, opponent=None, observation=observation, dtype=dtype, autoreset_mode="same-step")
    theirs = SyncVectorEnv(
        [lambda: MNKEnv(opponent=None, observation=observation, dtype=dtype)] * 4,
        autoreset_mode=AutoresetMode.SAME_STEP,
    )
    many.reset()
    theirs.reset()
    assert many.observation_space == theirs.observation_space
    for actions in ([0, 0, 0, 4], [3, 1, 2, 4], [1, 2, 1, 3], [4, 3, 8, 6], [2, 4, 4, 4]):
        mine, its = many.step(np.array(actions)), theirs.step(np.array(actions))
        assert mine[0].tolist() == its[0].tolist()
        for env in np.flatnonzero(mine[2]):
            assert (mine[4]["final_obs"][env] == its[4]["final_obs"][env]).all()
    assert mine[2].tolist() == [True, False, False, False]


@pytest.mark.parametrize(("view", "seat"), [("to-move", 1), ("acted", 0)])
@pytest.mark.parametrize("mode", ["same-step", "next-step", "disabled"])
def test_terminal_views(mode: str, view: str, seat: int):
    """The first player completes the top row; with an opponent the view is always the agent's."""
    options = {"opponent": None, "terminal_view": view, "observation": "planes"}
    one, many = MNKEnv(**options), MNKVectorEnv(2, autoreset_mode=mode, **options)
    one.reset()
    many.reset()
    for cell in (0, 3, 1, 4, 2):
        single, double = one.step(cell), many.step(np.array([cell, 8 - cell]))
    final, seats = double[0][0], double[4]["seat"]
    if mode == "same-step":
        final, seats = double[4]["final_obs"][0], double[4]["final_info"]["seat"]
    assert single[1] == 1 and single[4]["seat"] == seat
    assert seats.tolist() == [seat, seat]
    for planes in (single[0], final):
        assert planes.reshape(2, 9)[seat].nonzero()[0].tolist() == [0, 1, 2]
    if mode == "disabled":  # the game that is not reset keeps its view
        seen, info = many.reset(options={"reset_mask": np.array([True, False])})
        assert (seen[0].sum(), seen[1].tolist()) == (0, double[0][1].tolist())
        assert info["seat"].tolist() == [0, 0]
    one.reset()
    one.step(4)
    seen, reward, over, _, info = one.step(4)  # an illegal action: its player is also the one to move
    assert (reward, over, info["seat"], seen[1].argmax()) == (-1, True, 1, 4)


def test_an_opponent_leaves_one_terminal_view():
    two = [MNKVectorEnv(8, seed=1, terminal_view=view) for view in ("to-move", "acted")]
    for env in two:
        env.reset()
    for _ in range(30):
        actions = two[0].batch.sample()
        first, second = (env.step(actions) for env in two)
        assert first[0].tolist() == second[0].tolist()
        assert first[4]["seat"].tolist() == second[4]["seat"].tolist()


def test_final_observations_are_those_of_their_step_whenever_they_are_read():
    """They are made when they are first read: here after further steps, in any way in which dictionaries are read."""
    ours, soon = (gymnasium.make_vec(NAME, num_envs=40, seed=1, autoreset_mode="same-step") for _ in range(2))
    chance, kept = np.random.default_rng(2), []
    ours.reset()
    soon.reset()
    for _ in range(8):
        actions = chance.integers(0, 9, 40)  # many are illegal and end the game
        info = soon.step(actions)[4]
        kept.append((ours.step(actions)[4], {key: info[key] for key in info}))
    ways = [
        dict,
        lambda info: {**info},
        lambda info: info | {},
        lambda info: {} | info,
        lambda info: pickle.loads(pickle.dumps(info)),
        deepcopy,
        lambda info: dict(info.items()),
        lambda info: {"final_obs": info.get("final_obs")} | info,
    ]
    for way, (late, read_before) in zip(ways, kept, strict=True):
        assert isinstance(late, dict) and list(late) == list(read_before)
        read = way(late)
        assert [str(one) for one in read["final_obs"]] == [str(one) for one in read_before["final_obs"]]
        assert read["final_obs"].dtype == object and read["final_obs"] is read["final_obs"]
        assert data_equivalence(read["final_info"], read_before["final_info"])
        assert "partial" not in repr(late)


@pytest.mark.skipif(
    gymnasium.__version__.startswith("1.1."), reason="its own two wrappers do not fit together, for any environment"
)
def test_wrappers_read_final_observations():
    options = {"num_envs": 8, "seed": 1, "autoreset_mode": "same-step"}
    plain = gymnasium.make_vec(NAME, **options)
    listed = DictInfoToList(RecordEpisodeStatistics(gymnasium.make_vec(NAME, **options)))
    plain.reset()
    listed.reset()
    ends = 0
    for _ in range(12):
        actions = plain.unwrapped.batch.sample()
        mine, lists = plain.step(actions), listed.step(actions)
        for env in np.flatnonzero(mine[2]):
            assert lists[4][env]["final_obs"].tolist() == mine[4]["final_obs"][env].tolist()
            assert 2 <= lists[4][env]["episode"]["l"] <= 5
            ends += 1
    assert ends > 8
