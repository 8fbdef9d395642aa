"""Agents that draw by chance without telling their probabilities, judged by their answers."""

import random
from typing import Any

import numpy as np
import pytest
from helpers.players import anything, assert_game_lost, lowest

import ttt_batch as ttt
from ttt_batch.agents import at_board
from ttt_batch.agents.base import Agent, Positions, batch_at
from ttt_batch.agents.builtin import agent_of_run
from ttt_batch.analysis.matches import wilson
from ttt_batch.core.errors import AgentError, UsageError
from ttt_batch.games.board import Position, parse_board
from ttt_batch.training.train import train

SEATS = ("first", "second")


def drawn(chances: Any) -> Any:
    """A cell for each row of probabilities, by NumPy's own generator."""
    return (chances.cumsum(1) > np.random.random((len(chances), 1)) * chances.sum(1, keepdims=True)).argmax(1)  # noqa: NPY002


def anyhow(boards: Any, to_move: Any, legal: Any) -> Any:
    """Uniformly random play, drawn."""
    return drawn(anything(boards, to_move, legal))


@pytest.fixture(scope="module")
def best() -> Agent:
    run = train(200_000, seed=1)
    assert all(run.evaluation().unbeatable.values())
    return agent_of_run(run)


def mixed(best: Agent, epsilon: float) -> tuple[Any, Any]:
    """An unbeatable agent that moves at random so often: drawn, and its probabilities."""

    def told(boards: Any, to_move: Any, legal: Any) -> Any:
        return (1 - epsilon) * best.ask(Positions(boards, to_move, legal)) + epsilon * anything(boards, to_move, legal)

    return lambda *batch: drawn(told(*batch)), told


def assert_covers(found: Any, exact: Any) -> None:
    """Each exact share lies in its interval, and a game with its line loses."""
    for seat in SEATS:
        for share, low_high, truth in zip(
            getattr(found, seat), found.samples.intervals[seat], getattr(exact, seat), strict=True
        ):
            low, high = low_high
            assert 0 <= low <= share <= high <= 1 and low <= truth <= high
            assert (low, high) == tuple(map(float, wilson(share * found.samples.answers, found.samples.answers)))


@pytest.mark.slow
@pytest.mark.parametrize("against", ["random", "self", "optimal"])
def test_the_intervals_of_random_play_cover_its_exact_results(against):
    exact = ttt.judge(anything, against=against)
    whole = [ttt.judge(anyhow, against=against, samples=5, seed=seed) for seed in range(20)]
    for found in whole:
        assert_covers(found, exact)
        assert found.against == against and found.unbeatable == {"first": False, "second": False}
    for seat in SEATS:  # the shares are right on the average, so they miss nothing
        shares = np.array([getattr(found, seat) for found in whole])
        wrong = shares.mean(0) - getattr(exact, seat)
        assert (np.abs(wrong) <= 4 * shares.std(0) / np.sqrt(len(whole)) + 1e-12).all()


@pytest.mark.slow
def test_an_agent_that_errs_now_and_then_is_seen_to_allow_a_losing_line(best):
    agent, told = mixed(best, 0.05)
    found, exact = ttt.judge(agent, samples=30), ttt.judge(told)
    assert_covers(found, exact)
    board = parse_board("3x3")

    def picks(position: Position) -> Any:
        return np.flatnonzero(told(*batch_at(board, position))[0])

    for seat, called in enumerate(SEATS):
        assert found.unbeatable[called] is False
        assert_game_lost(board, found.losing_line[called], seat, picks)


def test_what_no_answer_loses_is_not_proved(best):
    exact = ttt.judge(mixed(best, 0)[1])
    found = ttt.judge(mixed(best, 0)[0], samples=3)
    assert found.unbeatable == {"first": None, "second": None}
    assert found.losing_line == {"first": None, "second": None}
    assert_covers(found, exact)
    text = str(found)
    assert "not proved as first: no way to beat it among its answers" in text and "unbeatable" not in text
    assert "3 answers in each position, seed 0, with 95 % confidence intervals" in text


def test_a_deterministic_agent_gets_its_exact_results_and_line():
    found, exact = ttt.judge(lowest, samples=4), ttt.judge(lowest)
    for seat in SEATS:
        np.testing.assert_allclose(getattr(found, seat), getattr(exact, seat), atol=1e-12)
    assert found.losing_line == exact.losing_line and found.unbeatable == exact.unbeatable
    assert "can be beaten as first" in str(found) and "not proved" not in str(found)


def test_probabilities_that_differ_from_call_to_call_are_averaged():
    def visits(boards, to_move, legal):  # as of a tree search, none of which is its policy
        noise = legal * np.random.random(legal.shape)  # noqa: NPY002
        return noise / noise.sum(1, keepdims=True)

    with pytest.raises(AgentError, match=r"only evaluate\(samples=100\) judges it by its answers"):
        ttt.judge(visits)
    assert_covers(ttt.judge(visits, samples=10), ttt.judge(anything))


@pytest.mark.slow
def test_the_seed_decides_where_the_agent_draws_from_python_or_numpy():
    def by_python(board):
        return random.choice(np.flatnonzero(board == 0))

    for agent in (anyhow, by_python):
        one, same, other = (ttt.judge(agent, samples=2, seed=seed).to_dict() for seed in (7, 7, 8))
        assert one == same and one != other
    random.seed(1)
    np.random.seed(1)  # noqa: NPY002
    before = random.random(), np.random.random()  # noqa: NPY002
    random.seed(1)
    np.random.seed(1)  # noqa: NPY002
    ttt.judge(anyhow, samples=1)
    assert before == (random.random(), np.random.random())  # noqa: NPY002


def test_each_position_is_asked_about_so_often():
    asked: dict[bytes, int] = {}

    def agent(boards, to_move, legal):
        for board in boards:
            asked[board.tobytes()] = asked.get(board.tobytes(), 0) + 1
        return anyhow(boards, to_move, legal)

    told: list[int] = []
    found = ttt.judge(agent, samples=3, progress=told.append)
    assert set(asked.values()) == {3} and found.to_dict()["asked"] == len(asked)
    assert told[0] == 0 and told == sorted(told) and told[-1] == 3 * len(asked)
    assert f"asked about {len(asked):,} positions" in str(found)
    folded = ttt.judge(agent, samples=3, symmetric=True)
    assert folded.to_dict()["asked"] < len(asked) / 5


@pytest.mark.slow
def test_either_side_may_draw():
    run = train(20_000, seed=1)
    told, drew = ttt.evaluate(run, anything), ttt.evaluate(run, anyhow, samples=50, seed=3)
    assert_covers(drew, told)
    assert drew.unbeatable == told.unbeatable and drew.samples.seed == 3
    assert "50 answers in each position, seed 3" in str(drew)
    assert_covers(ttt.judge(anyhow, against=run, samples=50), ttt.judge(anything, against=run))
    assert_covers(ttt.judge(anyhow, against=anyhow, samples=50), ttt.judge(anything, against="random"))
    with at_board(anyhow) as seated:
        with pytest.raises(AgentError):
            ttt.judge(seated)
        assert_covers(ttt.judge(seated, samples=20), ttt.judge(anything))  # what it answered before is forgotten


def test_matches_are_played_anew_where_there_are_too_many_positions():
    sizes: list[int] = []

    def agent(boards, to_move, legal):
        sizes.append(len(boards))
        return anyhow(boards, to_move, legal)

    for board in ("4x4x3", "5x5x4"):
        found = ttt.judge(agent, board, "random", samples=40, budget=20, seed=2)
        assert found == ttt.judge(agent, board, "random", samples=40, budget=20, seed=2)
        games = found.matches["random"]["first"]
        assert (found.games, games.games, found.samples) == (40, 40, 40)
        assert found.to_dict()["samples"] == 40 and found.to_dict()["unbeatable"]["first"] is not True
    # A position that several games come to, such as the empty board, is asked about for each.
    assert sizes.count(40) >= 2


def test_a_lost_game_is_a_line_that_the_agent_allows():
    found = ttt.judge(anyhow, "4x4x3", "two-ply", samples=60, budget=1)
    board = parse_board("4x4x3")
    for seat, called in enumerate(SEATS):
        assert found.verdicts[called].status == "refuted"
        assert_game_lost(board, found.verdicts[called].line, seat, board.open_cells)
    safe = ttt.judge("random", "5x5x5", "random", games=5, budget=50)
    unsure = ttt.judge(anyhow, "5x5x5", "random", samples=2, games=1, budget=1)
    assert safe.verdicts["first"].status == "undecided"
    assert all(one.status != "proved" for one in unsure.verdicts.values())


def test_a_forfeit_ends_the_line():
    def corner(boards, to_move, legal):
        return np.zeros(len(boards), int)

    found = ttt.judge(corner, "4x4x3", "random", samples=5, budget=1, illegal="loses")
    assert found.verdicts["second"].line[-1] == 0 or len(found.verdicts["second"].line) == 2
    assert found.verdicts["first"].line[0] == found.verdicts["first"].line[-1] == 0


@pytest.mark.parametrize(
    ("player", "options", "said"),
    [
        ("random", {}, "samples=10 is for your own agents with random moves"),
        (anyhow, {"samples": 0}, "samples"),
        (anyhow, {"samples": "many"}, "samples"),
        (anyhow, {"games": 5}, "games is for boards too large to enumerate"),
        (anyhow, {"budget": 5}, "budget is for boards too large to enumerate"),
        (anyhow, {"board": "4x4x3", "against": "optimal"}, "is for boards of up to 12 cells with samples"),
    ],
)
def test_misuse_is_one_line(player, options, said):
    with pytest.raises(UsageError) as failed:
        ttt.judge(player, **{"samples": 10, **options})
    assert said in str(failed.value)


def test_a_run_needs_no_samples():
    run = train(1000)
    for against in ("random", "self", run):
        with pytest.raises(UsageError, match="the move probabilities of these players are known; leave it out"):
            ttt.evaluate(run, against, samples=10)
    with pytest.raises(UsageError, match="leave samples out"):
        ttt.evaluate(run, as_played=True, samples=10)
