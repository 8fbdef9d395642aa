"""Opponents of `Batch` that are asked outside the kernel: callables, files, networks of other libraries."""

import copy
from pathlib import Path

import numpy as np
import pytest
from helpers.players import anything, lowest
from helpers.support import mostly_slow

import ttt_batch as ttt

OPTIONS = {"record": True, "keep_last": True}


def played(batch: ttt.Batch, steps: int) -> list[bytes]:
    seen = []
    for _ in range(steps):
        step = batch.step(batch.sample())
        seen += [array.tobytes() for array in step] + [batch.bitboards.tobytes()]
    return seen


@pytest.mark.sampled(1)
@pytest.mark.parametrize("board", mostly_slow(["3x3", "4x4x3-gravity"], "3x3"))
@pytest.mark.parametrize("autoreset", ["same-step", "next-step"])
def test_its_answers_are_played(board: str, autoreset: str):
    batch, games = ttt.Batch(200, board, 1, lowest, autoreset, **OPTIONS), 0
    rules = batch.board
    seats = batch.seats.copy()
    for _ in range(4 * rules.cells):
        over = batch.step(batch.sample()).terminated
        for seat, line in zip(seats[over], batch.games(), strict=True):
            position, moves = (0,) * rules.cells, [int(cell) for cell in line.split()]
            for ply, cell in enumerate(moves):
                if ply % 2 != seat:
                    assert cell == min(rules.open_cells(position))
                position = (*position[:cell], 1 + ply % 2, *position[cell + 1 :])
            assert rules.outcome(position) != 0
            games += 1
        seats = batch.seats.copy()
    assert games > 300


@pytest.mark.slow
def test_probabilities_are_drawn_by_game():
    """As often as inside the kernel, and the same however environments and threads are split."""
    batch = ttt.Batch(20_000, "3x3", 5, anything, "same-step", seat="second")
    count = np.zeros(3)
    for _ in range(12):
        seen = batch.step(batch.sample())
        count += [(seen.rewards[seen.terminated, 0] == value).sum() for value in (1, 0, -1)]
    within = ttt.Batch(20_000, "3x3", 6, "random", "same-step", seat="second")
    expected = np.zeros(3)
    for _ in range(12):
        seen = within.step(within.sample())
        expected += [(seen.rewards[seen.terminated, 0] == value).sum() for value in (1, 0, -1)]
    assert np.abs(count / count.sum() - expected / expected.sum()).max() < 0.01
    whole = ttt.Batch(2500, "3x3", 7, anything, "same-step", threads=3)
    part = ttt.Batch(100, "3x3", 7, anything, "same-step", first_env=2400)
    played(whole, 10)
    played(part, 10)
    assert (whole.bitboards[2400:] == part.bitboards).all()
    assert (whole.rewards[2400:] == part.rewards).all()
    again = copy.deepcopy(whole)
    assert played(again, 5) == played(whole, 5)
    whole.reset(seed=7)
    assert played(whole, 5) == played(ttt.Batch(2500, "3x3", 7, anything, "same-step"), 5)


def test_an_opponent_may_be_a_file_or_an_agent_at_a_board():
    Path("mine.py").write_text("def agent(board):\n    return int((board == 0).argmax())\n")
    from_file = ttt.Batch(20, "3x3", 3, "mine.py:agent", "same-step")
    seated = ttt.Batch(20, "3x3", 3, ttt.agents.at_board(lowest), "same-step")
    assert played(from_file, 6) == played(seated, 6)


def test_what_is_wrong_changes_nothing():
    answers = [8]

    def agent(boards: np.ndarray, to_move: np.ndarray, legal: np.ndarray) -> np.ndarray:
        return np.full(len(boards), answers[-1])

    batch = ttt.Batch(3, "3x3", 1, agent, "same-step", seat="first")
    batch.step([0, 1, 2])
    before = batch.bitboards
    with pytest.raises(ttt.AgentError, match=r"agent answered cell 8, which is occupied"):
        batch.step([3, 3, 3])
    assert (batch.bitboards == before).all()
    answers.append(7)
    batch.step([3, 3, 3])
    assert (batch.bitboards[:, 1] == (1 << 8) + (1 << 7)).all()
    with pytest.raises(ttt.UsageError, match="the opponent plays 4x4x4"):
        ttt.Batch(2, "3x3", opponent=ttt.agents.at_board(lowest, "4x4x4"))
    with pytest.raises(ttt.UsageError, match="takes 2 arguments"):
        ttt.Batch(2, "3x3", opponent=lambda one, two: 0)
