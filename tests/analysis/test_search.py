"""The search for losing games: its verdicts against exact evaluation and the naive oracle, its cuts, and its limits."""

import dataclasses
import functools

import numpy as np
import pytest
from helpers.players import assert_game_lost
from helpers.proof_agents import can_fill
from helpers.support import BOTH_SEATS
from oracle import naive
from oracle.boards import variant_of

import ttt_batch as ttt
from ttt_batch.analysis import judge as searching
from ttt_batch.analysis.judge import search
from ttt_batch.core.errors import UsageError
from ttt_batch.core.text import SEATS
from ttt_batch.evaluation import prover
from ttt_batch.games.board import UNFINISHED, parse_board
from ttt_batch.runs.run import Run

pytestmark = pytest.mark.quick_learners("td")

TINY = ["2x3x2", "3x3-misere", "2x4x3-exact", "2x4x3-misere-exact", "1x6x4", "3x3-gravity", "2x4x3-misere-gravity"]


@functools.cache
def trained(learner: str, board: str = "3x3", games: int = 20_000, seed: int = 0, symmetry: str = "auto") -> Run:
    return ttt.train(games, learner=learner, board=board, seed=seed, symmetry=symmetry)


def is_beaten(run: Run, seat: int) -> bool:
    """By the naive oracle: every opponent's move and every one of the agent's candidates."""
    return naive.worst_case(variant_of(run.board), functools.cache(run.candidates), 1 + seat) < 0


def n_entered(run: Run, seat: int) -> int:
    """Positions that a search through the whole tree has to enter, counted by plain recursion."""
    board, seen = run.board, set[naive.Position]()
    filler = seat if board.misere else 1 - seat

    def enter(position: naive.Position) -> None:
        cut = not run.learner.occupied and not can_fill(board, position, filler)
        if run.config.symmetry:
            position = board.representative(position)[0]
        if board.outcome(position) != UNFINISHED or cut or position in seen:
            return
        seen.add(position)
        mover = naive.mover(position)
        cells = run.candidates(position) if mover == 1 + seat else board.open_cells(position)
        for cell in cells:
            enter((*position[:cell], mover, *position[cell + 1 :]))

    enter((0,) * board.cells)
    return len(seen)


def knowing(learner: str) -> Run:
    """A run whose table holds the truth, so that every tie is one of moves that are equally good."""
    run = trained(learner, games=40)
    graph, truth, name = run.graph, run.solution, run.tables._fields[0]
    if name == "q":
        sign = 1 if run.learner.zero_sum else (1 - 2 * (graph.ply[: graph.first_edge.size - 1] & 1))
        table = truth[graph.child] * np.repeat(
            np.broadcast_to(sign, graph.first_edge.size - 1), np.diff(graph.first_edge)
        )
    else:
        table = truth if run.learner.zero_sum else np.stack([truth, -truth])
    table = np.broadcast_to(table, run.tables[0].shape).astype(np.float64)  # double-q has two
    return dataclasses.replace(run, tables=run.tables._replace(**{name: table}))


@pytest.mark.slow
@pytest.mark.parametrize("learner", BOTH_SEATS)
def test_verdicts_are_those_of_exact_evaluation(learner: str) -> None:
    verdicts = set()
    for run in (trained(learner, games=40), trained(learner, games=20_000, seed=1), knowing(learner)):
        evaluation = run.evaluation()
        for number, seat in enumerate(SEATS):
            verdict = search(run, seat)
            assert verdict.unbeatable == evaluation.unbeatable[seat]
            verdicts.add(verdict.status)
            if verdict.line is None:
                assert verdict.positions == n_entered(run, number)
            else:
                assert_game_lost(run.board, verdict.line, number, run.candidates)
    assert verdicts == {"proved", "refuted"}


@pytest.mark.slow
@pytest.mark.parametrize("board", TINY)
@pytest.mark.parametrize("learner", ["td", "greedy-td"])
def test_verdicts_on_other_boards_are_those_of_the_oracle(learner: str, board: str) -> None:
    for games in (10, 20_000):
        run = trained(learner, board=board, games=games)
        for number, seat in enumerate(SEATS):
            verdict = search(run, seat)
            assert verdict.unbeatable == (not is_beaten(run, number)) == run.evaluation().unbeatable[seat]
            if verdict.line is None:
                assert verdict.positions == n_entered(run, number)
            else:
                assert_game_lost(run.board, verdict.line, number, run.candidates)


def test_images_of_a_position_are_entered_once() -> None:
    plain, shared = trained("td", games=400_000), trained("td", games=400_000, symmetry="on")
    for number, seat in enumerate(SEATS):
        verdict = search(shared, seat)
        assert verdict == prover.Proof("proved", n_entered(shared, number), None)
        assert verdict.positions < search(plain, seat).positions / 3
    poor = trained("td", games=40, symmetry="on")
    for number, seat in enumerate(SEATS):
        verdict = search(poor, seat)
        assert verdict.line is not None
        assert_game_lost(poor.board, verdict.line, number, poor.candidates)


def test_boards_with_no_line_to_fill_are_proved_at_once() -> None:
    run = trained("td", board="1x5x5", games=10)
    assert [search(run, seat) for seat in SEATS] == [prover.Proof("proved", 0, None)] * 2


@pytest.mark.parametrize(("board", "symmetry"), [("5x5x5", "off"), ("5x5x4", "on"), ("5x5x5-misere", "off")])
@pytest.mark.parametrize("learner", ["td", "greedy-td"])
def test_agents_that_know_little_of_a_large_board_are_refuted(learner: str, board: str, symmetry: str) -> None:
    run = trained(learner, board=board, games=300, symmetry=symmetry)
    assert run.grown is not None
    before = run.grown.used, run.grown.lost, [table.tobytes() for table in run.grown.compact()[1]]
    for number, seat in enumerate(SEATS):
        verdict = search(run, seat)
        assert verdict.status == "refuted" and verdict.unbeatable is False
        assert verdict.line is not None and verdict.positions < 10_000
        assert_game_lost(run.board, verdict.line, number, run.candidates)
        assert search(run, seat) == verdict
        assert search(run, seat, budget=5) == prover.Proof("undecided", 5, None)
    assert before == (run.grown.used, run.grown.lost, [table.tobytes() for table in run.grown.compact()[1]])


@pytest.mark.slow
@pytest.mark.parametrize("learner", ["td", "greedy-td"])
def test_a_large_board_can_be_searched_through(learner: str) -> None:
    run = trained(learner, board="2x9x9", games=300, symmetry="off")
    assert run.grown is not None
    statuses = [search(run, seat).status for seat in SEATS]
    assert "proved" in statuses
    for number, seat in enumerate(SEATS):
        if statuses[number] == "proved":
            assert search(run, seat).positions == n_entered(run, number)


def test_a_budget_is_enough_or_leaves_the_question_open(monkeypatch: pytest.MonkeyPatch) -> None:
    run = trained("td", games=400_000)
    whole = search(run, "second")
    assert whole.status == "proved" and whole.unbeatable is True
    assert search(run, "second", budget=whole.positions) == whole
    short = search(run, "second", budget=whole.positions - 1)
    assert short == prover.Proof("undecided", whole.positions - 1, None) and short.unbeatable is None
    monkeypatch.setattr(prover, "AT_ONCE", 7)  # interrupted and gone on with
    assert search(run, "second") == whole
    poor = trained("td", games=40)
    monkeypatch.setattr(prover, "AT_ONCE", 1)
    pieces = search(poor, "second")
    monkeypatch.undo()
    assert pieces == search(poor, "second")


def test_impossible_budgets_and_unknown_seats_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for budget in (0, -1, 1.5, 10**9):
        with pytest.raises(UsageError, match="budget"):
            search(trained("td", games=40), "first", budget=budget)  # type: ignore[arg-type]
    monkeypatch.setattr(searching, "free_memory", lambda: 1_000_000)
    with pytest.raises(UsageError, match=r"budget 100,000,000 takes 2\.1 GB of memory, 0\.0 GB are free"):
        search(trained("td", games=40), "first", budget=100_000_000)
    with pytest.raises(UsageError, match="unknown seat 'third'"):
        search(trained("td", games=40), "third")


def test_the_cut_looks_at_fences_and_at_moves_that_are_left() -> None:
    board = parse_board("1x6x3-exact")
    masks = np.array(board.line_masks, np.int64)
    assert masks[:, 1].tolist() == [0b1000, 0b10001, 0b100010, 0b100]
    run = trained("td", board="1x6x3-exact", games=200)
    for number, seat in enumerate(SEATS):
        verdict = search(run, seat)
        assert verdict.unbeatable == (not is_beaten(run, number))
