"""Training against a fixed player, and how learners choose among their moves in play."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.support import bytes_of, games_of, never
from oracle import naive
from oracle.boards import action_values, oracle_of

import ttt_batch as ttt
from ttt_batch.core.errors import BoardError, UsageError
from ttt_batch.games.graph import Graph
from ttt_batch.games.solution import solve
from ttt_batch.games.transcripts import Games
from ttt_batch.learners import LEARNERS
from ttt_batch.runs.config import make_config
from ttt_batch.runs.run import Run
from ttt_batch.simulation.policy import chosen_edges, optimal_policy, random_policy
from ttt_batch.training.trainers.base import TableTrainer
from ttt_batch.training.trainers.batched import Walking, make_trainer

TAUGHT = [(name, batch) for name in ("sarsa", "expected-sarsa", "q-learning") for batch in (1, 50)]
SEATS = {"first": (0, 0), "second": (1, 1), "both": (0, 1)}


@pytest.fixture(scope="module")
def rival() -> Run:
    return ttt.train(200, batch=20, seed=9)


@pytest.fixture(scope="module")
def rivals(rival: Run) -> dict[str, Any]:
    return {"random": "random", "optimal": "optimal", "run": rival}


def chosen_by(opponent: Any, graph: Graph) -> np.ndarray:
    """bool[E]: the moves that a fixed opponent may play."""
    if opponent == "random":
        policy = random_policy(graph)
    elif opponent == "optimal":
        policy = optimal_policy(graph, solve(graph))
    else:
        policy = opponent.policy_on(graph)
    return chosen_edges(graph, policy)


def plies_of(games: Games) -> tuple[np.ndarray, np.ndarray]:
    """The number of the game and the ply of every move."""
    lengths = np.diff(games.start)
    number = np.arange(lengths.size).repeat(lengths)
    return number, np.arange(games.move.size) - games.start[number]


def results_of(games: Games, graph: Graph) -> np.ndarray:
    return graph.outcome[graph.child[games.move[games.start[1:] - 1]]]


# --- a fixed opponent -------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("batch", [1, 100])
@pytest.mark.parametrize("seat", SEATS)
@pytest.mark.parametrize("opponent", ["random", "optimal", "run"])
@pytest.mark.parametrize("name", ["td", "value-feed", "minimax-q"])
def test_only_the_learner_learns_to_choose(
    name: str, opponent: str, seat: str, batch: int, rivals: dict[str, Any], tmp_path: Path
) -> None:
    path, total = tmp_path / "games.txt", 1_050
    fixed = rivals[opponent]
    run = ttt.train(
        total, learner=name, batch=batch, epsilon=0.3, seed=4, opponent=fixed, seat=seat, record=path, block=50
    )
    assert run.config.seat == seat
    games = games_of(path.read_text().splitlines(), run.graph)
    number, ply = plies_of(games)
    learners = np.array(SEATS[seat])[number // batch % 2]  # the learner's seat in each game
    own = ply % 2 == learners
    assert not games.exploring[~own].any()
    share = games.exploring[own].mean()
    assert abs(share - 0.3) < 4.5 * math.sqrt(0.21 / own.sum())
    assert chosen_by(fixed, run.graph)[games.move[~own]].all()
    results = results_of(games, run.graph)
    assert run.statistics["outcomes"][-1].tolist() == [int((results == n).sum()) for n in (1, 3, 2)]
    if opponent == "optimal":
        seats = np.array(SEATS[seat])[np.arange(total) // batch % 2]
        assert not (results == seats + 1).any()
    again = ttt.train(total, learner=name, batch=batch, epsilon=0.3, seed=4, opponent=fixed, seat=seat, threads=2)
    assert bytes_of(again.tables) == bytes_of(run.tables)


@pytest.mark.slow  # kernels of other learners
@pytest.mark.parametrize(("name", "batch"), TAUGHT)
def test_rules_that_follow_the_policy_learn_nothing_from_the_opponent_s_moves(
    name: str, batch: int, tmp_path: Path
) -> None:
    """In both seats in turn; the others learn from all moves."""
    path, total = tmp_path / "games.txt", 1_000
    run = ttt.train(total, learner=name, batch=batch, epsilon=0.3, seed=4, opponent="random", record=path)
    oracle = oracle_of(run, naive.Board())
    games = [naive.parse_game(line) for line in path.read_text().splitlines()]
    for number, start in enumerate(range(0, total, batch)):
        if name in ("sarsa", "expected-sarsa"):
            oracle.only = 1 + number % 2
        if batch == 1:
            oracle.learn(games[start])
        else:
            oracle.fold(games[start : start + batch])
    expected = [oracle.Q[key] for key in action_values(run)]
    np.testing.assert_allclose(run.tables.q, expected, rtol=0, atol=0 if batch == 1 else 1e-12)
    assert np.count_nonzero(run.tables.q) > 100


def test_a_random_opponent_plays_every_cell_alike(tmp_path: Path) -> None:
    for batch in (1, 9_000):
        path = tmp_path / f"{batch}.txt"
        run = ttt.train(9_000, batch=batch, opponent="random", seat="second", record=path)
        first = [int(line[0]) for line in path.read_text().splitlines()]
        counts = np.bincount(first, minlength=9)
        assert np.abs(counts - 1_000).max() < 4.5 * math.sqrt(9_000 * 8 / 81)
        assert run.config.opponent == "random"


@pytest.mark.parametrize("batch", [1, 4_000])
@pytest.mark.parametrize("seat", SEATS)
def test_the_threads_and_stops_do_not_show(seat: str, batch: int, rival: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    config = make_config(learner="td", batch=batch, opponent="0" * 16, seat=seat, seed=5)
    whole = make_trainer(config, opponent=rival.policy)
    whole.advance(20_000, never)
    monkeypatch.setattr(Walking, "games_per_thread", 100)
    other = make_trainer(config, opponent=rival.policy, threads=3, block=17)
    for stop in (8_000, 12_000, 20_000):
        other.advance(stop, never)
    assert bytes_of(whole.tables) == bytes_of(other.tables)
    assert whole.outcomes.tolist() == other.outcomes.tolist()
    assert whole.outcomes.sum() == 20_000


def test_both_seats_are_the_default_and_a_rival_may_be_a_file(rival: Run, tmp_path: Path) -> None:
    rival.save(tmp_path / "rival.h5")
    runs = [
        ttt.train(500, batch=50, opponent=given, out=tmp_path / f"{number}.h5")
        for number, given in enumerate((rival, tmp_path / "rival.h5", str(tmp_path / "rival.h5")))
    ]
    assert len({run.config for run in runs}) == 1 and runs[0].config.seat == "both"
    assert all(bytes_of(run.tables) == bytes_of(runs[0].tables) for run in runs)
    assert ttt.load(tmp_path / "0.h5").config == runs[0].config


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", LEARNERS)
def test_every_learner_gets_better_against_random(name: str) -> None:
    fresh = ttt.train(100, learner=name, batch=100, seed=1)
    run = ttt.train(60_000, learner=name, batch=100, opponent="random", seat="first", seed=1)
    assert run.evaluation("random").first[0] > max(0.85, fresh.evaluation("random").first[0])


def test_misuse_is_refused(rival: Run, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="needs an opponent"):
        ttt.train(10, batch=10, seat="first")
    with pytest.raises(UsageError, match="unknown seat 'third'"):
        ttt.train(10, batch=10, opponent="random", seat="third")
    with pytest.raises(UsageError, match="unknown opponent 'nobody'"):
        ttt.train(10, batch=10, opponent="nobody")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("boards", [("3x3", "2x2"), ("2x2", "3x3"), ("3x3", "3x3x2")])
def test_a_rival_of_another_board_is_refused(boards: tuple[str, str]) -> None:
    other = ttt.train(10, batch=10, board=boards[1])
    with pytest.raises((BoardError, UsageError)):
        ttt.train(10, batch=10, board=boards[0], opponent=other)


def test_a_rival_that_names_occupied_cells_is_refused_where_they_are_no_moves() -> None:
    """A fresh `minimax-q` picks occupied cells in most positions; only its own kind can play that."""
    hopeless = ttt.train(10, learner="minimax-q", batch=10, seed=3)
    with pytest.raises(UsageError, match="still chooses occupied cells"):
        ttt.train(2_000, learner="td", batch=100, opponent=hopeless, seat="both")
    run = ttt.train(2_000, learner="minimax-q", batch=100, opponent=hopeless, seat="both")
    assert run.games == 2_000


# --- how they choose --------------------------------------------------------------------------------------


def first_moves(name: str, games: int, change: Any = None, batch: int | None = None, **options: Any) -> np.ndarray:
    """int64[9]: how often each cell was the first move of a batch played by one table."""
    recorded: list[Games] = []
    config = make_config(learner=name, batch=batch or games, epsilon=options.pop("epsilon", 0.0), seed=2, **options)
    trainer = make_trainer(config, record=recorded.append)
    if change is not None:
        change(trainer)
    trainer.advance(games, never)
    counts = np.zeros(9, np.int64)
    for part in recorded:
        counts += np.bincount(trainer.graph.cell[part.move[part.start[:-1]]], minlength=9)
    assert counts.sum() == games
    return counts


def assert_even(counts: np.ndarray, cells: list[int]) -> None:
    games, p = counts.sum(), 1 / len(cells)
    assert set(np.flatnonzero(counts).tolist()) == set(cells)
    assert np.abs(counts[cells] - games * p).max() < 4 * math.sqrt(games * p * (1 - p))


GAMES = 100_000


@pytest.mark.parametrize("name", ["td", "sutton-barto", "backward-q", "value-feed"])
def test_fresh_tables_tie_everywhere_and_are_drawn_evenly(name: str) -> None:
    assert_even(first_moves(name, GAMES), list(range(9)))


@pytest.mark.slow  # kernels of another learner
def test_greedy_td_takes_the_first_of_equals() -> None:
    assert first_moves("greedy-td", 1_000).tolist() == [1_000] + [0] * 8


def raised(name: str, cells: dict[int, float]) -> Any:
    """Set the first player's values of first moves."""

    def change(trainer: TableTrainer) -> None:
        graph = trainer.graph
        for edge in range(9):
            cell = int(graph.cell[edge])
            if cell in cells:
                if "q" in trainer.learner.fields:
                    trainer.tables.q[edge] = cells[cell]
                else:
                    trainer.tables.value[..., graph.child[edge]] = cells[cell]

    return change


@pytest.mark.slow  # kernels of another learner
def test_other_rules_take_the_first_or_the_last_of_equals() -> None:
    cells = {2: 0.75, 5: 0.75, 7: 0.75}
    assert first_moves("greedy-td", 100, raised("greedy-td", cells))[2] == 100
    assert first_moves("value-feed", 100, raised("value-feed", cells))[7] == 100
    only_seen = {3: 0.0, 4: -0.5}  # what was never seen is not even looked at
    assert first_moves("value-feed", 100, raised("value-feed", only_seen))[3] == 100
    far = dict.fromkeys((2, 5, 7), 9.0)
    assert first_moves("minimax-q", 100, raised("minimax-q", far))[2] == 100


@pytest.mark.slow  # kernels of another learner
def test_the_window_of_backward_q() -> None:
    low = dict.fromkeys(range(9), 0.25)
    inside = low | {1: 0.75, 4: 0.745, 6: 0.7401}
    assert_even(first_moves("backward-q", GAMES, raised("backward-q", inside)), [1, 4, 6])
    border = low | {1: 0.75, 4: 0.75 - 0.01, 6: 0.7399}  # strictly above the best less 0.01
    assert first_moves("backward-q", 1_000, raised("backward-q", border))[1] == 1_000


@pytest.mark.slow  # kernels of another learner
def test_outcome_shares_of_backward_q_in_play() -> None:
    trainer = make_trainer(make_config(learner="backward-q", epsilon=0.3, batch=1, seed=1))
    trainer.advance(1_000_000, never)
    first, draws, second = (100 * trainer.outcomes / 1_000_000).tolist()
    assert first == pytest.approx(45.4, abs=0.4)
    assert second == pytest.approx(14.6, abs=0.4)
    assert draws == pytest.approx(40.0, abs=0.4)
