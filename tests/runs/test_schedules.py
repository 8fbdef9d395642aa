"""Schedules of alpha and epsilon: how they are written, what they are worth, and what runs make of them."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.support import BY_EPSILON, Subject, bytes_of, mostly_slow, never
from oracle import naive
from oracle.boards import assert_same

import ttt_batch as ttt
from ttt_batch.core.errors import UsageError
from ttt_batch.runs.config import make_config
from ttt_batch.runs.options import parse_schedule
from ttt_batch.runs.schedules import value_at
from ttt_batch.training.trainers.base import TableTrainer
from ttt_batch.training.trainers.batched import Walking, make_trainer

# --- reading --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        (1, "1.0"),
        (0.1, "0.1"),
        ("0.30", "0.3"),
        ("1e-3", "0.001"),
        (" 0.3 -> 0.01 : linear", "0.3->0.01:linear"),
        ("1->1e-06:exp", "1.0->1e-06:exp"),
        ("1/n", "1/n"),
        ("1 / n", "1/n"),
        ("1/n^1", "1/n"),
        ("1/n^0.80", "1/n^0.8"),
        ("1/n^1e-7", "1/n^1e-07"),
    ],
)
def test_every_way_of_writing_has_one_canonical_form(written: float | str, canonical: str) -> None:
    schedule = parse_schedule("alpha", written, positive=True)
    assert schedule.text == canonical
    assert parse_schedule("alpha", canonical, positive=True) == schedule


def test_epsilon_may_be_zero_but_alpha_may_not() -> None:
    assert parse_schedule("epsilon", 0, positive=False).text == "0.0"
    assert parse_schedule("epsilon", "1->0:linear", positive=False).text == "1.0->0.0:linear"
    for value in (0, "0", "0.5->0:linear"):
        with pytest.raises(UsageError, match=r"alpha 0 is outside \(0, 1\]"):
            parse_schedule("alpha", value, positive=True)


@pytest.mark.parametrize("text", ["30%->1%:linear", "30 % -> 1 % : Linear", "0.3->.01:LINEAR", "3e-1->1e-2:linear"])
def test_percentages_and_freely_written_shapes(text: str) -> None:
    assert parse_schedule("epsilon", text, positive=False).text == "0.3->0.01:linear"
    assert parse_schedule("alpha", text.lower().replace("linear", "exponential"), positive=True).text == "0.3->0.01:exp"
    assert parse_schedule("epsilon", "70%", positive=False) == parse_schedule("epsilon", 0.7, positive=False)
    assert parse_schedule("alpha", "1/N", positive=True).text == "1/n"


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (1.5, r"epsilon 1\.5 is outside \[0, 1\]; give a number in it"),
        (-0.1, r"epsilon -0\.1 is outside"),
        ("nan", r"epsilon 'nan' is not a number"),
        (math.nan, r"epsilon nan is outside"),
        ("inf", r"epsilon 'inf' is not a number"),
        (math.inf, r"epsilon inf is outside"),
        ("", r"epsilon '' is not a number"),
        ("often", r"epsilon 'often' is not a number; give a number such as 0\.1 or 10%, or 0\.3->0\.01:linear"),
        ("0.3->0.1", r"epsilon '0\.3->0\.1' is not a number"),
        ("0.3->:linear", r"is not a number"),
        ("->0.3:linear", r"is not a number"),
        ("0.3->0.2->0.1:linear", r"epsilon '0\.3->0\.2' is not a number"),
        ("0.3->0.1:cubic", r"unknown shape of epsilon 'cubic'; choose linear or exp"),
        ("0.3->0.1:lin", r"unknown shape of epsilon 'lin' \(did you mean linear\?\)"),
        ("2->0.1:linear", r"epsilon 2 is outside \[0, 1\]"),
        ("0.3->-1:linear", r"epsilon -1 is outside \[0, 1\]"),
        ("0.3->0:exp", r"epsilon 0 is outside \(0, 1\]"),
        ("0->0.3:exp", r"epsilon 0 is outside \(0, 1\]"),
        ("1/n", r"only alpha can depend on visits"),
        ("1/n^0.8", r"only alpha can depend on visits"),
        (True, r"is not a number"),
    ],
)
def test_what_is_no_schedule_of_epsilon(value: float | str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse_schedule("epsilon", value, positive=False)


@pytest.mark.parametrize(
    "value", ["1/n^0", "1/n^-1", "1/n^2", "1/n^", "1/n^x", "2/n", "1/m", "1/n^nan", "0.5->1/n:exp"]
)
def test_what_is_no_schedule_of_alpha(value: str) -> None:
    with pytest.raises(UsageError, match=r"^alpha "):
        parse_schedule("alpha", value, positive=True)


def test_values_at_the_ends_and_between() -> None:
    linear = parse_schedule("alpha", "0.5->0.1:linear", positive=True).over(100)
    assert [value_at(linear, game) for game in (0, 25, 50)] == pytest.approx([0.5, 0.4, 0.3], abs=1e-15)
    assert [value_at(linear, game) for game in (100, 101, 10**15)] == pytest.approx([0.1] * 3, abs=1e-15)
    falling = parse_schedule("alpha", "0.4->0.004:exp", positive=True).over(100)
    found = [value_at(falling, game) for game in (0, 50, 100, 500)]
    assert found == pytest.approx([0.4, 0.04, 0.004, 0.004], rel=1e-14)
    rising = parse_schedule("alpha", "0.01->1:exp", positive=True).over(2)
    assert [value_at(rising, game) for game in (0, 1, 2)] == pytest.approx([0.01, 0.1, 1.0], rel=1e-14)
    constant = parse_schedule("alpha", 0.3, positive=True).over(10)
    assert [value_at(constant, game) for game in (0, 5, 10, 11)] == [0.3] * 4
    assert value_at(parse_schedule("alpha", "1/n^0.5", positive=True).over(10), 7) == 1.0


def test_a_horizon_belongs_to_schedules_by_games_only() -> None:
    assert ttt.train(64, batch=32, alpha="1/n").config.horizon == 0
    run = ttt.train(64, batch=32, epsilon="0.30->0.1:linear")
    assert (run.config.horizon, run.config.epsilon.text) == (64, "0.3->0.1:linear")


# --- runs by games ---------------------------------------------------------------------------------------

GAMES = 300


def scheduled(shape: str, game: int, games: int, first: float = 0.5) -> float:
    """Return alpha 0.5 -> 0.1 at a game; or epsilon, linearly from another number to 0.1."""
    share = min(game / float(games), 1.0)
    if shape == "linear":
        return first + (0.1 - first) * share
    return 0.5 * math.exp(math.log(0.1 / 0.5) * share)


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("batch", "shape"), [(1, "linear"), (1, "exp"), (40, "linear")])
@pytest.mark.parametrize("name", BY_EPSILON)
def test_games_equal_the_oracle_whose_alpha_stands_still_within_a_batch(
    name: str, batch: int, shape: str, tmp_path: Path
) -> None:
    path = tmp_path / "games.txt"
    epsilon = "0.6->0.1:linear" if batch == 1 else 0.4
    run = ttt.train(GAMES, learner=name, batch=batch, seed=5, alpha=f"0.5->0.1:{shape}", epsilon=epsilon, record=path)
    subject = Subject(name, seed=5, epsilon=0.4)
    oracle, games = subject.oracle(), [naive.parse_game(line) for line in path.read_text().splitlines()]
    assert len(games) == GAMES
    for first in range(0, GAMES, batch):
        oracle.alpha = scheduled(shape, first, GAMES)
        if batch > 1:
            oracle.fold(games[first : first + batch])
            continue
        if name == "expected-sarsa":
            oracle.epsilon = scheduled("linear", first, GAMES, 0.6)
        oracle.learn(games[first])
    subject.tables = run.tables
    assert_same(subject, oracle)


@pytest.mark.slow
@pytest.mark.parametrize("batch", [1, 500])
def test_epsilon_falls_as_written(batch: int, tmp_path: Path) -> None:
    path, games = tmp_path / "games.txt", 20_000
    ttt.train(games, batch=batch, epsilon="0.9->0.1:linear", seed=3, record=path)
    lines = path.read_text().splitlines()
    for first in range(0, games, 5_000):
        moves = [word for line in lines[first : first + 5_000] for word in line.split()]
        share = sum(word.endswith("!") for word in moves) / len(moves)
        middle = 0.9 - 0.8 * (first + 2_500) / games
        assert share == pytest.approx(middle, abs=0.02)  # longer games explore less, a little


BY_GAMES = {"alpha": "0.9->0.1:exp", "epsilon": "0.5->0.1:linear"}
BY_VISITS = {"alpha": "1/n^0.8", "epsilon": "0.5->0.1:exp"}


def learnt(stops: list[int], batch: int, threads: int = 1, block: int = 1024, **changes: Any) -> TableTrainer:
    trainer = make_trainer(make_config(batch=batch, seed=7, horizon=20_000, **changes), threads=threads, block=block)
    for stop in stops:
        trainer.advance(stop, never)
    return trainer


@pytest.mark.slow
@pytest.mark.parametrize("changes", [BY_GAMES, BY_VISITS], ids=["games", "visits"])
@pytest.mark.parametrize("name", ["td", "greedy-td"])
def test_neither_threads_nor_blocks_nor_stops_show(
    name: str, changes: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for batch, stop in ((1, 1_234), (3_000, 9_000)):
        whole = learnt([20_000], batch, learner=name, **changes)
        others = [learnt([stop, 20_000], batch, learner=name, **changes)]
        others.append(learnt([20_000], batch, block=7, learner=name, **changes))
        monkeypatch.setattr(Walking, "games_per_thread", 100)
        others.append(learnt([20_000], batch, threads=3, learner=name, **changes))
        monkeypatch.undo()
        for other in others:
            assert bytes_of(whole.tables) == bytes_of(other.tables)
            assert whole.visits.tobytes() == other.visits.tobytes()
            assert whole.outcomes.tolist() == other.outcomes.tolist()
        constant = learnt([20_000], batch, learner=name)
        assert bytes_of(constant.tables) != bytes_of(whole.tables)


# --- by visits --------------------------------------------------------------------------------------------


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("alpha", "power"), [("1/n", 1.0), ("1/n^0.8", 0.8)])
def test_td_by_visits_equals_a_direct_computation(alpha: str, power: float, tmp_path: Path) -> None:
    path = tmp_path / "games.txt"
    run = ttt.train(400, batch=1, seed=2, alpha=alpha, epsilon=0.4, record=path)
    board = naive.Board()
    worth = {naive.UNFINISHED: 0.0, naive.DRAW: 0.0, naive.FIRST: 1.0, naive.SECOND: -1.0}
    values = {position: worth[board.outcome(position)] for position in board.states()}
    visits = dict.fromkeys(values, 0)
    for line in path.read_text().splitlines():
        for step in reversed(naive.replay(board, naive.parse_game(line))):
            s = step.position
            children = [values[board.place(s, cell)] for cell in board.legal(s)]
            best = max(children) if naive.mover(s) == naive.FIRST else min(children)
            visits[s] += 1
            values[s] += float(visits[s]) ** -power * (best - values[s])
    by_code = {board.code(position): (values[position], visits[position]) for position in values}
    expected = np.array([by_code[code] for code in run.graph.code.tolist()])
    assert run.visits.tolist() == expected[:, 1].tolist()
    np.testing.assert_allclose(run.tables.value, expected[:, 0], rtol=0, atol=1e-14)


@pytest.mark.parametrize("name", mostly_slow(BY_EPSILON, "td", "backward-q"))
def test_a_batch_of_one_game_by_visits_is_the_sequential_algorithm(name: str, tmp_path: Path) -> None:
    path = tmp_path / "games.txt"
    run = ttt.train(300, learner=name, batch=1, seed=4, alpha="1/n^0.8", epsilon=0.4, record=path)
    subject = Subject(name, seed=4, epsilon=0.4)
    visits = np.zeros(subject.tables[0].size)
    subject.step = subject.step._replace(alpha=1.0, power=0.8, visits=visits)
    lines = path.read_text().splitlines()
    for line in lines:
        subject.fold([line])
    assert bytes_of(subject.tables) == bytes_of(run.tables)
    assert visits.tobytes() == run.visits.tobytes()
    given, _ = ttt.learn_from(lines, learner=name, seed=4, alpha="1/n^0.8", epsilon=0.4)
    assert bytes_of(given.tables) == bytes_of(run.tables)
    assert given.visits.tobytes() == run.visits.tobytes()


def test_visits_in_batches_are_arrivals(tmp_path: Path) -> None:
    path = tmp_path / "games.txt"
    run = ttt.train(2_000, batch=300, seed=2, alpha="1/n", record=path)
    subject = Subject("td")
    arrived = subject.counts(path.read_text().splitlines()).arrived
    n_open = run.graph.first_edge.size - 1
    assert run.visits[:n_open].tolist() == arrived[:n_open].tolist()
    assert not run.visits[n_open:].any()


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", BY_EPSILON)
def test_visits_are_kept_in_the_file_and_gone_on_from(name: str, tmp_path: Path) -> None:
    games, path = tmp_path / "games.txt", tmp_path / "run.h5"
    whole = ttt.train(200, learner=name, batch=1, seed=4, alpha="1/n", epsilon=0.5, record=games)
    lines = games.read_text().splitlines()
    half, _ = ttt.learn_from(lines[:100], learner=name, seed=4, alpha="1/n", epsilon=0.5, out=path)
    found = ttt.load(path)
    assert found.visits.tobytes() == half.visits.tobytes() and found.visits.any()
    assert found.config == half.config
    on, _ = ttt.learn_from(lines[100:], run=path)
    assert bytes_of(on.tables) == bytes_of(whole.tables)
    assert on.visits.tobytes() == whole.visits.tobytes()
    assert half.visits.tobytes() == found.visits.tobytes()
    started = ttt.train(100, learner=name, batch=10, alpha="1/n", start=path)
    assert (started.visits >= found.visits).all() and started.visits.sum() > found.visits.sum()


def test_a_run_without_visits_can_go_on_by_visits(tmp_path: Path) -> None:
    run = ttt.train(200, batch=10, seed=1)
    assert run.visits.size == 0
    started = ttt.train(100, batch=10, alpha="1/n", start=run)
    assert started.visits[0] == 100
    constant = ttt.train(100, batch=10, alpha=0.5, start=started)
    assert constant.visits.size == 0
    constant.save(tmp_path / "constant.h5")
    assert ttt.load(tmp_path / "constant.h5").visits.size == 0


def test_given_games_go_on_by_visits_from_a_run_without_them() -> None:
    run = ttt.train(200, batch=10, seed=1)
    on, _ = ttt.learn_from(["0 3 1 4 2"] * 3, run=run, alpha="1/n")
    assert on.visits.size == run.tables.value.size
    assert on.visits[0] == 3 and on.visits.sum() == 15


def test_given_games_know_no_schedule_by_games() -> None:
    with pytest.raises(UsageError, match=r"alpha 0\.5->0\.1:linear depends on the number of games of a run"):
        ttt.learn_from(["0 3 1 4 2"], learner="td", alpha="0.5->0.1:linear")
