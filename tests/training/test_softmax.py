"""Training by softmax play: the naive oracle game by game, then batches, threads, interruptions and opponents."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.support import (
    assert_begun_anew_changes_nothing,
    assert_same_in_parts,
    command,
    mostly_slow,
    never,
    untaught,
)
from oracle import naive
from oracle import softmax as naive_softmax
from oracle.boards import action_values, assert_same, oracle_of, start_tables

import ttt_batch as ttt
from ttt_batch.compiler.numerics import stream_key
from ttt_batch.core.errors import UsageError
from ttt_batch.learners import LEARNERS
from ttt_batch.runs.config import make_config
from ttt_batch.simulation.action_probabilities import even_chances
from ttt_batch.training.trainers.base import policy_of_opponent
from ttt_batch.training.trainers.batched import make_trainer

GREEDY_ONES = ("td", "sutton-barto", "value-feed", "minimax-q", "backward-q", "greedy-td")

ORACLES: list[Any] = [
    *((name, temperature) for name in GREEDY_ONES for temperature in (0.05, 1.0)),
    ("td", 1e-6),
    ("value-feed", 0.3),
    ("expected-sarsa", 0.3),
    ("q-learning", 0.3),
]


def softened(run: ttt.Run, temperature: float, board: naive.Board | None = None) -> Any:
    """The naive learner of a run that plays by softmax, which is a part of the rule of `expected-sarsa`."""
    oracle = oracle_of(run, board or naive.Board(), start_tables(run))
    if run.config.learner == "expected-sarsa":
        oracle.temperature = temperature
    return oracle


@pytest.mark.slow
@pytest.mark.parametrize(("name", "temperature"), ORACLES)
def test_games_one_by_one_equal_the_oracle(name: str, temperature: float) -> None:
    run = ttt.train(1_500, learner=name, explore=f"softmax:{temperature}", batch=1, seed=4)
    oracle = softened(run, temperature)
    for number in range(run.games):
        oracle.learn(naive_softmax.play(oracle, temperature, int(stream_key(4)), number))
    assert_same(run, oracle)


@pytest.mark.slow
def test_batches_of_expected_sarsa_expect_what_softmax_play_does(tmp_path: Path) -> None:
    file = tmp_path / "games.txt"
    run = ttt.train(3_000, learner="expected-sarsa", explore="softmax:0.3", batch=300, seed=5, record=file)
    oracle, games = softened(run, 0.3), [naive.parse_game(line) for line in file.read_text().splitlines()]
    for start in range(0, 3_000, 300):
        oracle.fold(games[start : start + 300])
    expected = [oracle.Q[key] for key in action_values(run)]
    np.testing.assert_allclose(run.tables.q, expected, rtol=0, atol=1e-12)
    assert np.abs(run.tables.q).max() > 0.5


@pytest.mark.slow  # kernels of a growing board
def test_on_a_growing_board_too() -> None:
    run = ttt.train(60, board="5x5x4", symmetry="off", explore="softmax:0.1", seed=2)
    assert run.grown is not None
    oracle = oracle_of(run, naive.Board(5, 5, 4))
    for number in range(run.games):
        oracle.learn(naive_softmax.play(oracle, 0.1, int(stream_key(2)), number))
    assert_same(run, oracle)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["walk", "flow"])
def test_batches_on_a_growing_board(engine: str, tmp_path: Path) -> None:
    options: dict[str, Any] = {"board": "5x5x4", "explore": "softmax:0.2", "batch": 50, "engine": engine}
    whole = assert_same_in_parts(tmp_path / "run.h5", 300, (60, 120), **options)
    against = ttt.train(100, opponent="random", **options)
    assert whole.statistics["positions"][-1] > 300 and against.games == 100


def test_batches_of_one_game_equal_the_oracle() -> None:
    """Their games draw from alias tables; what is laid out again after a batch is what has changed."""
    walk = make_trainer(make_config(batch=2, explore="softmax:0.3", seed=8))
    walk.batches = walk.batches._replace(least=1, most=1)
    oracle = softened(untaught("td", explore="softmax:0.3"), 0.3)
    for number in range(400):
        oracle.learn(naive_softmax.play(oracle, 0.3, int(stream_key(8)), number, naive_softmax.drawn_slot))
    walk.advance(400, never)
    expected = [oracle.V[code] for code in walk.graph.code.tolist()]
    np.testing.assert_allclose(walk.tables.value, expected, rtol=0, atol=1e-12)
    assert np.abs(walk.tables.value[walk.graph.outcome == 0]).max() > 0.05


@pytest.mark.parametrize("options", mostly_slow([{}, {"learner": "minimax-q"}, {"board": "2x5x3"}], {}), ids=str)
def test_neither_threads_nor_blocks_nor_interruptions_show(options: dict[str, Any], tmp_path: Path) -> None:
    options = {"explore": "softmax:0.1", "batch": 1 << 17, "seed": 3, **options}
    whole = assert_same_in_parts(tmp_path / "run.h5", 300_000, (1000, 200_000), threads=2, **options)
    alone = ttt.train(300_000, threads=1, **options)
    for ours, theirs in zip(alone.tables, whole.tables, strict=True):
        assert ours.tobytes() == theirs.tobytes()
    wide = make_trainer(alone.config, threads=2, games=300_000)
    wide.advance(300_000, never)
    assert wide.tables[0].tobytes() == alone.tables[0].tobytes()


REMEMBERED: list[dict[str, Any]] = [
    {"learner": "td", "opponent": "random", "seat": "both"},
    {"learner": "value-feed"},
    {"learner": "minimax-q"},
    {"learner": "reinforce"},
]


@pytest.mark.parametrize("options", mostly_slow(REMEMBERED, REMEMBERED[0]), ids=str)
def test_what_stays_laid_out_is_what_the_tables_say(options: dict[str, Any]) -> None:
    """A trainer that goes on, and one made anew for every batch, which lays out every row."""
    explore = {} if options["learner"] == "reinforce" else {"explore": "softmax:0.1"}
    assert_begun_anew_changes_nothing(make_config(batch=128, **options, **explore))


@pytest.mark.slow
@pytest.mark.parametrize("batch", [1, 500])
def test_recorded_games_are_those_played_and_teach_the_same(batch: int, tmp_path: Path) -> None:
    file, options = tmp_path / "games.txt", {"explore": "softmax:0.02", "batch": batch}
    run = ttt.train(2_000, record=file, **options)
    assert run == ttt.train(2_000, **options)
    games = [naive.parse_game(line) for line in file.read_text().splitlines()]
    assert len(games) == 2_000
    oracle = softened(run, 0.02)
    for start in range(0, 2_000, batch):
        for moves in games[start : start + batch]:
            position = naive.Board().empty
            for cell, exploring in moves:
                assert exploring != (cell in oracle.candidates(position))
                position = naive.Board().place(position, cell)
        if batch == 1:
            oracle.learn(games[start])
        else:
            oracle.fold(games[start : start + batch])
    assert_same(run, oracle)


@pytest.mark.parametrize("engine", mostly_slow(["walk", "flow"], "walk"))
@pytest.mark.parametrize("seat", mostly_slow(["second", "both"], "both"))
def test_a_fixed_opponent_s_chances_are_those_of_its_moves(engine: str, seat: str) -> None:
    """One whose moves are equally likely, given by its moves and by its chances."""
    config = make_config(
        learner="td", explore="softmax:0.1", engine=engine, batch=1000, opponent="random", seat=seat, seed=6
    )
    policy = policy_of_opponent("random", config)
    one, other = (
        make_trainer(config, opponent=policy),
        make_trainer(config, opponent=even_chances(config.graph, policy)),
    )
    for trainer in (one, other):
        trainer.advance(20_000, never)
    assert one.tables.value.tobytes() == other.tables.value.tobytes()
    assert abs(one.outcomes - other.outcomes).sum() == 0 and one.outcomes.min() > 100


@pytest.mark.slow
def test_a_learner_by_epsilon_against_chances_explores_as_often_as_ever() -> None:
    config = make_config(
        learner="td", epsilon="0.4->0.1:linear", horizon=40_000, batch=500, opponent="random", seat="first"
    )
    policy = policy_of_opponent("random", config)
    games: list[Any] = []
    trainer = make_trainer(config, opponent=even_chances(config.graph, policy), record=games.append)
    trainer.advance(40_000, never)
    ply = np.concatenate(
        [
            np.arange(part.move.size) - part.start[np.repeat(np.arange(part.start.size - 1), np.diff(part.start))]
            for part in games
        ]
    )
    exploring = np.concatenate([part.exploring for part in games])
    own = exploring[ply % 2 == 0]
    half = own.size // 2
    assert not exploring[ply % 2 == 1].any()
    # Means of 0.325 and 0.175, of some 75,000 moves each: standard errors of 0.0017.
    assert abs(own[:half].mean() - 0.325) < 0.008 and abs(own[half:].mean() - 0.175) < 0.008


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--explore", "softmax"], "explore 'softmax' is not softmax:T"),
        (["--explore", "boltzmann:1"], "explore 'boltzmann:1' is not softmax:T"),
        (
            ["--explore", "softmax:1", "--epsilon", "0.1"],
            "--explore takes the place of --epsilon; leave one of them out",
        ),
        (["--explore", "softmax:1", "--workers", "2", "--batch", "10M"], "--workers"),
    ],
)
def test_bad_input_is_one_line(words: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = command(capsys, "train", "--games", "10", "--out", tmp_path / "run.h5", *words)
    assert status == 2 and not out and said in err and err.count("\n") == 1
    assert not (tmp_path / "run.h5").exists()


def test_the_configuration_says_how_a_run_explored(tmp_path: Path) -> None:
    run = ttt.train(300, explore=" Softmax : .5 ", out=tmp_path / "run.h5")
    assert run.config.explore == "softmax:0.5" and run.config.epsilon.text == "0.0"
    assert ttt.load(tmp_path / "run.h5") == run
    assert "explore" not in ttt.train(300).config.to_dict()
    with pytest.raises(UsageError, match=r"explore softmax:0\.5, not softmax:1\.0"):
        ttt.train(resume=run, more=10, explore="softmax:1")
    assert LEARNERS["td"].temperature is None


def test_epsilon_and_softmax_take_each_others_place_when_a_run_goes_on() -> None:
    run = ttt.train(200, seed=1)
    softmax = ttt.train(resume=run, fork=True, more=100, explore="softmax:0.1")
    assert (softmax.config.explore, softmax.config.epsilon.text) == ("softmax:0.1", "0.0")
    again = ttt.train(resume=softmax, fork=True, more=100, epsilon=0.2)
    assert (again.config.explore, again.config.epsilon.text) == (None, "0.2")
    given, _ = ttt.learn_from(["0 3 1 4 2"], run=softmax, epsilon=0.1)
    assert (given.config.explore, given.config.epsilon.text) == (None, "0.1")
    with pytest.raises(UsageError, match="leave one of them out"):
        ttt.train(resume=run, fork=True, more=100, explore="softmax:0.1", epsilon=0.2)
