"""Runs judged as they play while they learn, against the naive oracle and the program as a person drives it."""

import json
from pathlib import Path
from typing import Any

import pytest
from helpers.support import command
from oracle import naive
from oracle import softmax as naive_softmax
from oracle.boards import oracle_of, position_values

import ttt_batch as ttt
from ttt_batch.core.errors import BoardError, UsageError
from ttt_batch.runs.evaluation import PlayedEvaluation, evaluate_as_played

pytestmark = pytest.mark.slow  # kernels of chances for these tests alone

BOARD = naive.Board()

CASES: list[dict[str, Any]] = [
    {"learner": "td", "explore": "softmax:0.3"},
    {"learner": "td", "epsilon": "0.4->0.2:linear"},
    {"learner": "reinforce"},
    {"learner": "minimax-q", "explore": "softmax:0.5"},
]


def policy_of(run: ttt.Run) -> naive.Policy:
    """The chances of a run's moves, from the definitions and its values."""
    learner = run.config.learner
    if learner == "reinforce":
        cells, graph = {}, run.graph
        for row, code in enumerate(graph.code[: graph.first_edge.size - 1].tolist()):
            lo, hi = graph.first_edge[row : row + 2].tolist()
            cells[code] = dict(zip(graph.cell[lo:hi].tolist(), run.tables.q[lo:hi].tolist(), strict=True))
        return lambda position: by_softmax(cells[BOARD.code(position)], 1.0)
    oracle: Any = oracle_of(run, BOARD)
    if learner == "td":
        oracle.V.update(position_values(run)[0])
    if run.config.explore is not None:
        temperature = float(run.config.explore.partition(":")[2])
        return lambda position: by_softmax(naive_softmax.scores_of(oracle, position), temperature)

    epsilon = 0.4 - 0.2 * 4_999 / 5_000  # of the last game

    def epsilon_greedy(position: naive.Position) -> dict[int, float]:
        best, legal = oracle.candidates(position), BOARD.legal(position)
        return {cell: epsilon / len(legal) + (1 - epsilon) * (cell in best) / len(best) for cell in legal}

    return epsilon_greedy


def by_softmax(scores: dict[int, float], temperature: float) -> dict[int, float]:
    return {cell: chance for cell, _, chance in naive_softmax.softmax(scores, [], temperature)}


@pytest.mark.parametrize("options", CASES, ids=str)
def test_shares_are_those_of_the_chances(options: dict[str, Any]) -> None:
    run = ttt.train(5_000, batch=500, seed=2, **options)
    policy, evaluation = policy_of(run), evaluate_as_played(run)
    uniform = naive.uniform(BOARD.legal)
    random = naive.result(BOARD, policy, uniform), naive.result(BOARD, uniform, policy)[::-1]
    assert evaluation.random[0] == pytest.approx([float(share) for share in random[0]], abs=1e-12)
    assert evaluation.random[1] == pytest.approx([float(share) for share in random[1]], abs=1e-12)
    for seat, agent in enumerate((naive.FIRST, naive.SECOND)):
        best = naive.best_response(BOARD, policy, naive.other(agent))
        win, _, loss = evaluation.best[seat]
        assert loss - win == pytest.approx(best[0] - best[2], abs=1e-12)
        assert sum(evaluation.best[seat]) == pytest.approx(1, abs=1e-12) and 0 < loss < 1
    greedy = run.evaluation().first
    assert evaluation.random[0][0] < greedy[0]


def test_as_a_person_asks_for_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "run.h5"
    run = ttt.train(2_000, explore="softmax:0.1", out=file)
    status, out, _ = command(capsys, "evaluate", file)
    assert status == 0 and "judged: its best moves; the chances that it plays by: --as-played" in out
    status, out, _ = command(capsys, "evaluate", file, "--as-played")
    assert status == 0 and "judged: as it plays while it learns, by softmax:0.1" in out
    assert "against the best, exactly" in out and "unbeatable" not in out
    status, out, _ = command(capsys, "evaluate", file, "--as-played", "--json")
    found, evaluation = json.loads(out), ttt.evaluate(run, as_played=True)
    assert isinstance(evaluation, PlayedEvaluation) and found == evaluation.to_dict()
    assert found["judged"] == "as played" and set(found["best"]["second"]) == {"win", "draw", "loss"}
    assert json.loads(command(capsys, "evaluate", file, "--json")[1])["judged"] == "best moves"
    for words in (["--against", "optimal"], ["--games", "10"], ["--ties", "soonest"]):
        status, out, err = command(capsys, "evaluate", file, "--as-played", *words)
        assert status == 2 and not out and f"leave {words[0]} out" in err and err.count("\n") == 1
    status, _, err = command(capsys, "evaluate", "random", "--as-played")
    assert status == 2 and "--as-played is for runs of tables" in err


@pytest.mark.slow  # kernels of a growing board
def test_not_on_a_board_too_large_to_enumerate() -> None:
    with pytest.raises(BoardError, match="too large to enumerate"):
        ttt.evaluate(ttt.train(5, board="5x5x4"), as_played=True)
    with pytest.raises(UsageError, match="runs of tables"):
        ttt.evaluate(ttt.train(5, learner="ntuple-td"), as_played=True)
