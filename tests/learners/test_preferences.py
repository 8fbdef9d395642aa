"""`reinforce` and `actor-critic` against the naive oracle: game by game, in batches, and what pooling promises."""

import statistics
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.support import assert_same_in_parts, command
from oracle import naive
from oracle import softmax as naive_softmax
from oracle.gradient import Gradient

import ttt_batch as ttt
from ttt_batch.compiler.numerics import stream_key
from ttt_batch.core.errors import UsageError

CASES: list[tuple[str, dict[str, Any]]] = [
    ("reinforce", {}),
    ("reinforce", {"alpha": 1.0, "beta": 0.5, "draw_worth": (0.3, -0.2)}),
    ("actor-critic", {}),
    ("actor-critic", {"alpha": 0.7, "beta": 1.0, "gamma": 0.9, "start_value": 0.5}),
]


def oracle_of(name: str, options: dict[str, Any], board: naive.Board | None = None) -> Gradient:
    return Gradient(naive.Board() if board is None else board, critic=name == "actor-critic", **options)


def assert_same(run: ttt.Run, oracle: Gradient) -> None:
    """Every preference and value of a run is that of the oracle to the last bit."""
    graph = run.graph
    codes, n_open = graph.code.tolist(), graph.first_edge.size - 1
    rows = np.arange(n_open).repeat(np.diff(graph.first_edge.astype(np.int64)))
    moves = zip(rows.tolist(), graph.cell.tolist(), strict=True)
    theta, value = [oracle.Q[codes[row], cell] for row, cell in moves], [oracle.W[code] for code in codes[:n_open]]
    assert max(map(abs, theta)) > 0.1 and max(map(abs, value)) > 0.1
    assert run.tables.q.tolist() == theta and run.tables.value[:n_open].tolist() == value


@pytest.mark.slow
@pytest.mark.parametrize(("name", "options"), CASES)
def test_games_one_by_one_equal_the_oracle(name: str, options: dict[str, Any]) -> None:
    run = ttt.train(2_000, learner=name, batch=1, seed=5, **options)
    oracle = oracle_of(name, options)
    for number in range(2_000):
        oracle.learn(oracle.drawn_game(int(stream_key(5)), number))
    assert_same(run, oracle)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "options"), CASES)
def test_batches_equal_the_pooled_formulas(name: str, options: dict[str, Any], tmp_path: Path) -> None:
    run = ttt.train(1_200, learner=name, batch=100, seed=6, record=tmp_path / "games.txt", **options)
    oracle = oracle_of(name, options)
    games = [naive.parse_game(line) for line in (tmp_path / "games.txt").read_text().splitlines()]
    for start in range(0, 1_200, 100):
        for number in range(start, start + 3):
            assert oracle.drawn_game(int(stream_key(6)), number, naive_softmax.drawn_slot) == games[number]
        oracle.fold(games[start : start + 100])
    assert_same(run, oracle)


@pytest.mark.slow  # kernels of a growing board
def test_on_a_growing_board_too() -> None:
    options: dict[str, Any] = {"alpha": 1.0, "beta": 0.5}
    run = ttt.train(60, learner="reinforce", board="5x5x4", symmetry="off", seed=2, **options)
    assert run.grown is not None
    oracle = oracle_of("reinforce", options, naive.Board(5, 5, 4))
    for number in range(60):
        oracle.learn(oracle.drawn_game(int(stream_key(2)), number))
    assert_same(run, oracle)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["reinforce", "actor-critic"])
def test_against_a_fixed_opponent_only_own_moves_teach(name: str, tmp_path: Path) -> None:
    file = tmp_path / "games.txt"
    run = ttt.train(1_000, learner=name, batch=1, opponent="random", seat="second", record=file)
    oracle = oracle_of(name, {})
    for line in file.read_text().splitlines():
        moves = naive.parse_game(line)
        assert not any(exploring for _, exploring in moves[::2])
        oracle.learn(moves, seat=naive.SECOND)
    assert_same(run, oracle)


@pytest.mark.slow
def test_pooling_has_the_expectation_of_game_by_game_means() -> None:
    """After the first move to a corner, from which games go on to positions that other games reach, too."""
    board = naive.Board(2, 3, 3)
    learner = Gradient(board, critic=False)
    rng = np.random.default_rng(3)
    for code in range(3**board.cells):
        for cell in range(board.cells):
            learner.Q[code, cell] = float(rng.normal())
    after = board.place(board.empty, 0)
    differences: dict[bool, list[float]] = {False: [], True: []}
    for batch in range(600):
        games = [learner.drawn_game(batch, number) for number in range(24)]
        through = [learner.replay(moves)[-1].after for moves in games if moves[0][0] == 0]
        if not through:
            continue
        tally = learner.tally(games)
        plain = statistics.fmean(learner.worth(board.outcome(end), naive.FIRST) for end in through if end is not None)
        for even, found in differences.items():
            found.append(learner.pooled(tally, learner.W, after, naive.FIRST, even=even) - plain)
    errors = {even: statistics.stdev(found) / len(found) ** 0.5 for even, found in differences.items()}
    assert len(differences[False]) > 300 and errors[False] > 0
    assert abs(statistics.fmean(differences[False])) < 3 * errors[False]
    assert abs(statistics.fmean(differences[True])) > 8 * errors[True]


@pytest.mark.slow
@pytest.mark.parametrize("learner", ["reinforce", "actor-critic"])
def test_neither_threads_nor_interruptions_show(learner: str, tmp_path: Path) -> None:
    options: dict[str, Any] = {"learner": learner, "batch": 1 << 17, "seed": 1}
    run = assert_same_in_parts(tmp_path / "run.h5", 300_000, (1_000, 200_000), threads=2, **options)
    alone = ttt.train(300_000, threads=1, **options)
    assert [table.tobytes() for table in alone.tables] == [table.tobytes() for table in run.tables]


@pytest.mark.slow
def test_reinforce_learns_to_play() -> None:
    taught = ttt.train(300_000, learner="reinforce", alpha=0.5, batch=200)
    assert taught.statistics["versus_random"][-1, 0, 0] > 0.9  # 0.585 by random play
    assert taught.statistics["versus_random"][-1, 1, 2] < 0.1  # 0.585


@pytest.mark.slow
@pytest.mark.parametrize("name", ["reinforce", "actor-critic"])
def test_flow_learns_what_the_walk_learns(name: str) -> None:
    """Means over eight seeds of the first move's preferences, by both engines: within what seeds differ."""
    means = {}
    for engine in ("walk", "flow"):
        runs = [ttt.train(100_000, learner=name, batch=1_000, engine=engine, seed=seed) for seed in range(8)]
        means[engine] = np.array([run.tables.q[:9] for run in runs])
    spread = np.sqrt((means["walk"].var(0, ddof=1) + means["flow"].var(0, ddof=1)) / 8)
    assert (np.abs(means["walk"].mean(0) - means["flow"].mean(0)) < 5 * spread).all()
    assert spread.max() < 0.2 < np.abs(means["walk"].mean(0)).max()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["reinforce", "--gamma", "0.9"], "reinforce is not discounted: gamma 0.9 is not 1; leave --gamma out"),
        (
            ["reinforce", "--epsilon", "0.1"],
            "draws its moves from probabilities that it learns; leave --epsilon out",
        ),
        (["actor-critic", "--explore", "softmax:1"], "--explore is not an option of actor-critic"),
        (["actor-critic", "--beta", "0"], "beta 0 is outside (0, 1]; give a number in it"),
        (["td", "--beta", "0.1"], "--beta is not an option of td, only of reinforce, actor-critic; leave it out"),
    ],
)
def test_bad_input_is_one_line(words: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = command(capsys, "train", "--games", "10", "--out", tmp_path / "run.h5", "--learner", *words)
    assert status == 2 and not out and said in err and err.count("\n") == 1


def test_numbers_of_a_study_are_checked_too(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not discounted"):
        ttt.study(learner="reinforce", gamma=[0.9, 1.0], games=100, seeds=1, out=tmp_path / "study.h5")
