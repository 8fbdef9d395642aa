"""Scripted players and matches against them: what they may do, how often they win, and the command that says so."""

import functools
import json
import math
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.support import command
from oracle import naive
from oracle.boards import VariantBoard, variant_of
from oracle.streams import below, drawn

import ttt_batch as ttt
from ttt_batch.agents.builtin import adapter_of, table_player
from ttt_batch.analysis import matches
from ttt_batch.analysis.judge import SampledEvaluation, evaluate_sampled, judge_agent
from ttt_batch.analysis.matches import Shares, Tally, play_scripted, wilson
from ttt_batch.compiler.numerics import stream_key
from ttt_batch.core.errors import BoardError, UsageError
from ttt_batch.core.text import RESULTS, SCRIPTED, SEATS
from ttt_batch.games.bitboards import make_lines
from ttt_batch.games.board import UNFINISHED, parse_board
from ttt_batch.games.enumeration import enumerate_graph
from ttt_batch.games.notation import read_position
from ttt_batch.runs.evaluation import Evaluation
from ttt_batch.runs.network_run import PatternRun
from ttt_batch.runs.run import Run
from ttt_batch.simulation.policy import policy_over, scripted_edges

pytestmark = pytest.mark.quick_learners("td")

BOARDS = ["3x3", "3x3-misere", "2x4x3-exact", "2x4x2", "3x3-gravity"]


@functools.cache
def small_run(learner: str = "td", games: int = 200, board: str = "3x3") -> Run:
    return ttt.train(games, learner=learner, board=board, seed=3)


@functools.cache
def large_run() -> Run:
    return ttt.train(300, board="5x5x5", seed=1, symmetry="off")


def networks(games: int, **options: Any) -> PatternRun:
    run = ttt.train(games, learner="patterns", **options)
    assert isinstance(run, PatternRun)
    return run


def naive_cells(board: VariantBoard, position: naive.Position, player: str) -> list[int]:
    """Return the cells from which a scripted player picks, by its description."""
    mover, legal = naive.mover(position), board.legal(position)

    def put(mark: int, cell: int) -> naive.Position:
        return (*position[:cell], mark, *position[cell + 1 :])

    if player == "random":
        return legal
    wins = [cell for cell in legal if board.outcome(put(mover, cell)) == mover]
    if wins:
        return wins
    if board.misere:
        return [cell for cell in legal if not board.makers(put(mover, cell))] or legal
    other = naive.other(mover)
    blocks = [cell for cell in legal if other in board.makers(put(other, cell))]
    return blocks if blocks and player == "two-ply" else legal


@pytest.mark.slow
@pytest.mark.parametrize("player", SCRIPTED)
@pytest.mark.parametrize("name", BOARDS)
def test_scripted_players_pick_among_the_cells_of_their_description(name: str, player: str) -> None:
    board = parse_board(name)
    oracle = variant_of(board)
    graph = enumerate_graph(board)
    allowed = np.zeros(graph.child.size, np.bool_)
    scripted_edges(make_lines(board), graph, SCRIPTED.index(player), allowed)
    for row in range(0, graph.first_edge.size - 1, 3):
        edges = slice(int(graph.first_edge[row]), int(graph.first_edge[row + 1]))
        chosen = graph.cell[edges][allowed[edges]].tolist()
        assert chosen == naive_cells(oracle, board.decode(int(graph.code[row])), player)


@pytest.mark.parametrize(
    ("position", "cells"),
    [
        ("XX. OO. ...", {"one-ply": [2], "two-ply": [2]}),  # a win is always taken, before any block
        ("OO. XX. X..", {"one-ply": [2], "two-ply": [2]}),
        ("XX. O.. ...", {"one-ply": [2, 4, 5, 6, 7, 8], "two-ply": [2]}),  # and a block always made
        ("X.X .O. X.O", {"one-ply": [1, 3, 5, 7], "two-ply": [1, 3]}),  # one of two
    ],
)
def test_wins_are_taken_and_wins_of_the_other_blocked(position: str, cells: dict[str, list[int]]) -> None:
    graph, board = enumerate_graph(parse_board("3x3")), parse_board("3x3")
    marks = read_position(position, board)
    row = int(np.flatnonzero(graph.code == board.encode(marks))[0])
    for player, expected in cells.items():
        policy = policy_over(small_run().graph, small_run().board, SCRIPTED.index(player))
        edges = policy.ordered[graph.first_edge[row] :][: policy.best[row]]
        assert sorted(graph.cell[edges].tolist()) == expected


@pytest.mark.sampled(1)
@pytest.mark.parametrize("player", SCRIPTED)
@pytest.mark.parametrize("learner", ["td", "minimax-q"])
def test_exact_results_are_those_of_the_oracle(learner: str, player: str) -> None:
    run, board = small_run(learner), VariantBoard()

    def chances(cells: list[int]) -> dict[int, float]:
        return {cell: 1 / len(cells) for cell in cells}

    def agent(position: naive.Position) -> dict[int, float]:
        return chances(run.candidates(position))

    def scripted(position: naive.Position) -> dict[int, float]:
        return chances(naive_cells(board, position, player))

    found = judge_agent(run, player)
    assert found.against == player
    assert found.first == pytest.approx(naive.result(board, agent, scripted), abs=1e-12)
    assert found.second == pytest.approx(naive.result(board, scripted, agent)[::-1], abs=1e-12)
    assert found.losing_line == run.evaluation().losing_line
    if player == "random":
        assert found == run.evaluation()


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("learner", "board"), [("td", "3x3"), ("minimax-q", "3x3"), ("td", "3x3-misere")])
def test_matches_are_won_as_often_as_they_should_be(learner: str, board: str) -> None:
    run = small_run(learner, board=board)
    for player in SCRIPTED:
        exact = judge_agent(run, player)
        for seat, expected in zip(SEATS, (exact.first, exact.second), strict=True):
            tally = play_scripted(run, player, seat, games=40_000)
            assert tally.games == 40_000
            for result, chance in zip(RESULTS, expected, strict=True):
                deviation = math.sqrt(chance * (1 - chance) / 40_000)
                assert abs(tally.share(result)[0] - chance) <= 4.5 * deviation + 1e-12


def test_matches_depend_on_the_seed_and_on_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    run = large_run()
    assert run.grown is not None
    before = run.grown.used, run.grown.lost, run.tables.value.tobytes(), run.grown.compact()[1].value.tobytes()
    tallies = {
        (player, seat, seed): play_scripted(run, player, seat, games=100, seed=seed)
        for player in SCRIPTED
        for seat in SEATS
        for seed in (0, 1)
    }
    monkeypatch.setattr(matches, "AT_ONCE", 7)
    for (player, seat, seed), tally in tallies.items():
        assert tally.games == 100 and play_scripted(run, player, seat, games=100, seed=seed) == tally
    assert len(set(tallies.values())) > 6
    after = run.grown.used, run.grown.lost, run.tables.value.tobytes(), run.grown.compact()[1].value.tobytes()
    assert after == before


def by_hand(run: Run | PatternRun, player: str, seat: str, games: int, seed: int) -> Tally:
    """A match, from its description."""
    board, number = run.board, SEATS.index(seat)
    oracle = variant_of(board)
    key = int(stream_key(seed, 16 + 2 * SCRIPTED.index(player) + number))
    results = dict.fromkeys((1 + number, naive.DRAW, 2 - number), 0)
    for game in range(games):
        position: naive.Position = oracle.empty
        while oracle.outcome(position) == UNFINISHED:
            own = naive.mover(position) == 1 + number
            cells = run.candidates(position) if own else naive_cells(oracle, position, player)
            position = oracle.place(position, cells[below(drawn(key, game, naive.ply(position)), len(cells))])
        results[oracle.outcome(position)] += 1
    return Tally(*results.values())


@pytest.mark.sampled(3)
@pytest.mark.parametrize("player", SCRIPTED)
@pytest.mark.parametrize("seat", SEATS)
def test_matches_on_a_large_board_go_as_played_by_hand(seat: str, player: str) -> None:
    assert play_scripted(large_run(), player, seat, games=25, seed=5) == by_hand(large_run(), player, seat, 25, 5)


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("player", "seat"), [("random", "first"), ("two-ply", "second")])
def test_matches_of_networks_go_as_played_by_hand(pattern_run: PatternRun, player: str, seat: str) -> None:
    assert play_scripted(pattern_run, player, seat, games=20, seed=5) == by_hand(pattern_run, player, seat, 20, 5)


@pytest.mark.slow
@pytest.mark.parametrize("board", ["8x8x5", "4x4x4-misere"])
def test_matches_go_on_any_board(board: str) -> None:
    """Of 64 cells, too, which no code of a position holds."""
    run = networks(96, board=board, tuples="lines", prove_every=0)
    assert play_scripted(run, "one-ply", "second", games=4) == by_hand(run, "one-ply", "second", 4, 0)


def test_networks_are_judged_by_proofs_and_matches(pattern_run: PatternRun) -> None:
    found = evaluate_sampled(pattern_run, games=30)
    assert pattern_run.proved is not None
    assert [verdict.status for verdict in found.verdicts.values()] == ["proved", "proved"]
    entered = [pattern_run.proved_positions(seat) for seat in (0, 1)]
    assert [verdict.positions for verdict in found.verdicts.values()] == entered
    assert not any(tally.loss for tallies in found.matches.values() for tally in tallies.values())
    assert "always_wins" not in found.to_dict() and "unbeatable as second: no opponent" in str(found)
    few = evaluate_sampled(pattern_run, ["random"], games=1, budget=10)
    assert {verdict.status for verdict in few.verdicts.values()} == {"undecided"}


def test_networks_that_are_to_win_are_judged_by_that() -> None:
    run = networks(4000, board="3x4x3", prove_every=1000)  # the first player wins
    found = evaluate_sampled(run, ["random"], games=10)
    assert run.proved is not None and run.config.always_wins
    assert found.wins == {"first": found.verdicts["first"]} and found.to_dict()["always_wins"] == {"first": True}
    assert "always wins as first, against any opponent and with any tie-break" in str(found)
    assert found.matches["random"]["first"] == Tally(10, 0, 0)
    poor = evaluate_sampled(networks(32, board="3x4x3", prove_every=0), ["random"], games=10)
    assert poor.wins["first"].unbeatable is False and "not proved that it always wins as first" in str(poor)


# --- intervals ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("count", "games", "low", "high"),
    # Newcombe, "Two-sided confidence intervals for the single proportion", Statistics in Medicine 17, 1998, table I.
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_intervals_are_those_of_the_textbook(count: int, games: int, low: float, high: float) -> None:
    assert wilson(count, games) == pytest.approx((low, high), abs=5e-5)
    mirrored = wilson(games - count, games)
    assert mirrored == pytest.approx((1 - high, 1 - low), abs=5e-5)


def test_intervals_are_where_the_share_is_two_deviations_off() -> None:
    for count, games in ((3, 10), (500, 1000), (9999, 10_000)):
        for bound in wilson(count, games):
            off = abs(count / games - bound) / math.sqrt(bound * (1 - bound) / games)
            assert off == pytest.approx(1.959964, abs=1e-6)
    assert wilson(0, 1)[0] == 0.0 and wilson(1, 1)[1] == 1.0


def test_intervals_hold_the_truth_about_as_often_as_they_say() -> None:
    """By every possible count, weighted with its chance: no sample."""
    games, chance = 200, Fraction(3, 10)
    covered = sum(
        math.comb(games, count) * chance**count * (1 - chance) ** (games - count)
        for count in range(games + 1)
        if wilson(count, games)[0] <= chance <= wilson(count, games)[1]
    )
    assert 0.94 < covered < 0.96


# --- the command ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return large_run().save(tmp_path_factory.mktemp("runs") / "large.h5")


def test_evaluate_searches_and_plays_on_a_large_board(
    large: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(large.parent)
    status, out, _ = command(capsys, "evaluate", large.name, "--games", "200", "--seed", "2")
    assert status == 0 and not re.search(r"[^\n\x20-\x7e]", out)
    assert out.startswith("large.h5: td on 5x5x5, 300 games\nties: any move that its rule may pick (--ties any)\n\n")
    expected = evaluate_sampled(large_run(), games=200, seed=2)
    for seat in SEATS:
        line = expected.verdicts[seat].line
        assert line is not None
        moves = " ".join(f"{'XO'[ply % 2]}{large_run().board.cell_name(cell)}" for ply, cell in enumerate(line))
        assert f"can be beaten as {seat}:\n  {moves}\n" in out
    assert "\n200 games each, seed 2, with 95 % confidence intervals\n" in out
    for player in SCRIPTED:
        for seat in SEATS:
            share, low, high = expected.matches[player][seat].share("win")
            shown = rf"{share:.4f} \({low:.4f}-{high:.4f}\) "
            row = rf"against {player}\n +win +draw +loss\n(as first .*\n)?as {seat} +{shown}"
            assert re.search(row, out)


def test_evaluate_prints_json_with_stable_keys(large: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["evaluate", large, "--against", "two-ply", "--games", "50", "--budget", "3"]
    found = json.loads(command(capsys, *words, "--json")[1])
    assert found == evaluate_sampled(large_run(), ["two-ply"], games=50, budget=3).to_dict()
    assert found["unbeatable"] == found["losing_line"] == {"first": None, "second": None}
    assert found["verdict"] == {"first": "undecided", "second": "undecided"}
    assert found["positions"] == {"first": 3, "second": 3}
    assert (found["budget"], found["games"], found["seed"], found["confidence"]) == (3, 50, 0, 0.95)
    assert list(found["matches"]) == ["two-ply"]
    for seat in SEATS:
        results = found["matches"]["two-ply"][seat]
        assert sum(results[result]["games"] for result in RESULTS) == 50
        assert set(results["win"]) == {"games", "share", "low", "high"}
    out = command(capsys, *words)[1]
    assert "undecided as first within the budget: no way to beat it among 3 positions; --budget N searches on\n" in out
    assert "against random" not in out


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--against Self", "--against self needs an enumerated board; .*: choose random, one-ply or two-ply$"),
        (
            "--against optimal",
            "--against optimal needs an enumerated board; 5x5x5 is too large to enumerate",
        ),
        ("--against {large}", "another run needs an enumerated board; 5x5x5 is too large"),
        ("--against nobody", "unknown opponent 'nobody'; choose random, one-ply or two-ply$"),
        (
            "--against rnadom",
            r"unknown opponent 'rnadom' \(did you mean random\?\); choose random",
        ),
        ("--against minimax", "unknown opponent 'minimax'; choose random"),
        ("--games 0", "games 0 is outside 1 .. 1,000,000,000"),
        ("--budget 0", "budget 0 is outside 1 .. 500,000,000"),
        ("--seed 99999999999999999999", "seed 99,999,999,999,999,999,999 is outside"),
    ],
)
def test_what_a_large_board_cannot_do_costs_a_line(
    large: Path, words: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    status, out, err = command(capsys, "evaluate", large, *words.format(large=large).split())
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert re.search(message, err)


def test_evaluate_on_a_small_board_is_exact_against_scripted_players(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = "evaluate", small_run().save(tmp_path / "small.h5")
    for player in SCRIPTED:
        found = json.loads(command(capsys, *words, "--against", player, "--json")[1])
        assert found == judge_agent(small_run(), player).to_dict()
    assert "against two-ply, exactly" in command(capsys, *words, "--against", "two-ply")[1]
    for option, message in (
        *(
            (name, f"--{name} is for boards too large to enumerate; 3x3 is evaluated exactly; leave it out")
            for name in ("games", "seed", "budget")
        ),
        ("against", "unknown opponent '5'; choose one of: random, one-ply, two-ply, optimal, self"),
    ):
        status, _, err = command(capsys, *words, f"--{option}", "5")
        assert status == 2 and err.count("\n") == 1 and message in err


def test_bad_players_seats_and_boards_are_refused() -> None:
    with pytest.raises(UsageError, match="unknown player 'three-ply'; choose random, one-ply or two-ply"):
        play_scripted(small_run(), "three-ply", "first")
    with pytest.raises(UsageError, match="unknown seat 'third'"):
        play_scripted(small_run(), "random", "third")
    with pytest.raises(BoardError, match="too large to enumerate"):
        large_run().evaluation("random")


@pytest.mark.slow
def test_best_play_of_a_solved_board_is_an_opponent(monkeypatch: pytest.MonkeyPatch) -> None:
    """5x4x4-gravity is judged by search as by the sweep over all positions, exactly and by games."""
    run = networks(2000, board="5x4x4-gravity", seed=2)
    right = judge_agent(run, "optimal")
    assert isinstance(right, Evaluation)
    best = adapter_of("optimal", run.board)
    exact = {
        seat: matches.play_best(run, best, seat, games=1, seed=0, agent=table_player(run, "any")) for seat in SEATS
    }
    for seat in SEATS:
        assert isinstance(exact[seat], Shares)
        assert exact[seat] == pytest.approx(getattr(right, seat), abs=1e-12)
    monkeypatch.setattr(matches, "EXACT_POSITIONS", 1)
    for seat in SEATS:
        tally = matches.play_best(run, best, seat, games=400, seed=1, agent=table_player(run, "any"))
        assert isinstance(tally, Tally)
        for result in RESULTS:
            _, low, high = tally.share(result)
            assert low - 0.02 <= getattr(exact[seat], result) <= high + 0.02


@pytest.mark.slow
def test_evaluate_says_how_it_judged_against_best_play(monkeypatch: pytest.MonkeyPatch) -> None:
    """An agent that is not a run is judged, too; each text says what is exact and what was played."""
    found = ttt.evaluate("one-ply", "optimal", board="4x6x4-gravity", games=20)
    assert isinstance(found, SampledEvaluation) and set(found.matches) == {"optimal"}
    assert found.matches["optimal"]["first"].share("loss")[0] == 1  # the second player wins this board
    assert sum(one["games"] for one in found.to_dict()["matches"]["optimal"]["second"].values()) == 20
    monkeypatch.setattr(matches, "EXACT_POSITIONS", 10**6)
    assert "(exact)" in str(ttt.evaluate(networks(2000, board="5x5x4-gravity", seed=2), "optimal", games=20))
    with pytest.raises(BoardError, match="9x7x4-gravity has 7 x 10 = 70: choose random, one-ply or two-ply"):
        ttt.evaluate("one-ply", "optimal", board="9x7x4-gravity")
