"""Corrections of players on boards with gravity: each is needed and right, and nothing but them is changed."""

import numpy as np
import pytest

import ttt_batch as ttt
from ttt_batch.agents.builtin import table_player
from ttt_batch.analysis.corrections import correct
from ttt_batch.core.errors import BoardError
from ttt_batch.evaluation.certificates import certify, fault_of
from ttt_batch.evaluation.prover import Goal
from ttt_batch.games.gravity_solver import GravitySolver
from ttt_batch.runs.base import StoredRun


@pytest.fixture(scope="module")
def networks() -> ttt.PatternRun:
    """Networks that have learnt little."""
    run = ttt.train(64, learner="patterns", board="4x4x4-gravity", prove_every=0, seed=1)
    assert isinstance(run, ttt.PatternRun)
    return run


@pytest.fixture(scope="module")
def table() -> ttt.Run:
    """A table that still gives the draw away: at some 1,500 positions, which take a second."""
    run = ttt.train(100_000, board="4x4x4-gravity", seed=1)
    assert isinstance(run, ttt.Run)
    return run


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["networks", "table"])
@pytest.mark.parametrize("seat", [0, 1])
def test_every_correction_is_needed_and_right(kind: str, seat: int, request: pytest.FixtureRequest) -> None:
    """In each corrected position the player might have given the draw away; the new move keeps it, as in its images."""
    run: StoredRun = request.getfixturevalue(kind)
    found = correct(run, table_player(run), seat, "cannot-lose", budget=10**6, follow=lambda *_: False)
    assert found.proof.status == "proved" and 0 < found.size <= found.agent.cell.size
    solver, seen = GravitySolver(run.board), set[tuple[int, ...]]()
    for first, second, cell in zip(*found.agent[1:4], strict=True):
        position = run.board.position_of(first, second)
        images = [tuple(position[cell] for cell in image) for image in run.board.images(run.symmetric)]
        seen.add(min(images))
        keeping = solver.keeping(position)
        assert cell in keeping and not set(run.candidates(position)) <= set(keeping)
    assert len(seen) == found.size
    assert fault_of(certify(found.agent, run.board, seat, "cannot-lose", symmetric=run.symmetric)) is None


def test_corrections_repeat(networks: ttt.PatternRun) -> None:
    """The same player has the same corrections, and the certificate says how many."""
    once, again = (ttt.prove(networks, seat="second", correct=True).corrections["second"] for _ in range(2))
    assert all(np.array_equal(a, b) for a, b in zip(once.agent[1:], again.agent[1:], strict=True))
    assert (once.size, once.proof.positions) == (again.size, again.proof.positions)


@pytest.mark.parametrize(
    ("goal", "budget", "status"), [("always-wins", 10**6, "refuted"), ("cannot-lose", 10, "undecided")]
)
def test_goals_and_budgets_out_of_reach(networks: ttt.PatternRun, goal: Goal, budget: int, status: str) -> None:
    """Best play draws, so nothing makes a player win always; and a budget ends the search without a proof."""
    found = ttt.prove(networks, seat="first", goal=goal, budget=budget, correct=True)
    assert found.found["first"].status == status and not found.proved


@pytest.mark.slow
@pytest.mark.parametrize("board", ["3x1x3-gravity", "3x3-gravity"])
def test_occupied_cells_are_corrected(board: str) -> None:
    """A player that picks them loses, also where its opponent can fill no line."""
    run = ttt.train(10, learner="minimax-q", board=board, seed=1)
    found = ttt.prove(run, correct=True)
    assert not ttt.prove(run).proved and found.proved
    for corrected in found.corrections.values():
        assert corrected.size
        for first, second, cell in zip(*corrected.agent[1:4], strict=True):
            assert run.board.is_open(run.board.position_of(first, second), int(cell))


def test_progress_and_stop(networks: ttt.PatternRun) -> None:
    """Both are asked after each lost game, however few positions lie between them."""
    told: list[tuple[int, int]] = []
    found = ttt.prove(networks, seat="second", correct=True, progress=lambda *now: told.append(now))
    assert found.proved and [lost for _, lost in told] == list(range(1, len(told) + 1))
    stopped = ttt.prove(networks, seat="second", correct=True, stop=lambda: True)
    assert stopped.found["second"].status == "undecided" and stopped.corrections["second"].size == 0


def test_boards_without_gravity_are_refused() -> None:
    run = ttt.train(100)
    with pytest.raises(BoardError, match=r"^correct=True needs best play by search, .* not 3x3: leave it out$"):
        ttt.prove(run, correct=True)
