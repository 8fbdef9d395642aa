"""What `benchmark.py` measures of environments: a step of `Batch`, beside the same step in plain NumPy.

Both make the same moves on the same boards, with the reset in the same step, and write planes, mask, rewards and
`terminated`.  Only steps are timed, not the choice of actions.
"""

import time
from typing import Any

import numpy as np
from contestants import Contestant, Measure, Plan, Values, memory
from numpy.typing import NDArray

import ttt_batch as ttt
from ttt_batch.environments.rules import Rules, make_rules

N = 16_384
BOARDS = {"3x3": 15, "4x4x4": 15, "5x5x5": 20, "6x7x4-gravity": 50}
"""The boards of the comparison with NumPy, and how many times as fast the step has to be."""

SIZES = ("3x3", "4x4x4", "5x5x5", "6x6x5", "6x7x4", "6x7x4-gravity")
"""Boards up to 42 cells, each of which has to be within SLOWEST times of 3x3."""

SLOWEST, LONG_STEPS, CHUNK = 1.5, 10**8, 50


class NumpyBoards:
    """The same step in whole arrays: bitboards, lines by shift and mask, bits to bytes by shift and mask."""

    def __init__(self, n: int, board: str) -> None:
        self.rules: Rules = make_rules(ttt.parse_board(board))
        word = self.rules.full.dtype
        self.own, self.other = np.zeros((2, n), word)
        self.cells, self.moves = np.arange(self.rules.cells, dtype=word), np.arange(self.rules.actions, dtype=word)

    def step(self, actions: NDArray[np.int64]) -> tuple[NDArray[Any], ...]:
        """Make a move everywhere: planes, mask, rewards, terminated."""
        rules, own, other = self.rules, self.own, self.other
        taken = own | other
        free = rules.full & ~taken & ((taken >> rules.full.dtype.type(rules.below)) | rules.bottom)
        cell = free & (rules.column << actions.astype(own.dtype))
        if not cell.all():
            raise ValueError("an illegal action")
        marked, won = own | cell, np.zeros(own.size, np.bool_)
        for shifts, starts in zip(rules.shifts, rules.starts, strict=True):
            run = marked
            for shift in shifts[shifts != 0]:
                run = run & (run >> shift)
            won |= run & starts != 0
        over = won | (marked | other == rules.full)
        rewards = np.zeros((own.size, 2), np.float32)
        mover = np.bitwise_count(taken) & 1
        games = np.flatnonzero(won)
        rewards[games, mover[games]], rewards[games, 1 - mover[games]] = 1, -1
        self.own, self.other = np.where(over, 0, other).astype(own.dtype), np.where(over, 0, marked).astype(own.dtype)
        planes = np.stack([self.own, self.other], axis=1)[:, :, None] >> self.cells & own.dtype.type(1)
        mask = (~(self.own | self.other)[:, None] >> self.moves & own.dtype.type(1)).astype(np.bool_)
        return planes.astype(np.uint8), mask, rewards, over


def actions_of(batch: ttt.Batch, steps: int) -> list[NDArray[np.int64]]:
    """Random legal actions of that many steps from the start."""
    batch.reset(seed=1)
    found = []
    for _ in range(steps):
        found.append(batch.sample())
        batch.step(found[-1])
    return found


def stepped(board: str) -> Contestant:
    """Steps of `Batch`."""

    def prepare(plan: Plan) -> Measure:
        batch = ttt.Batch(N, board, 1, autoreset="same-step")
        actions = actions_of(batch, CHUNK)

        def measure() -> Values:
            spent, steps = 0.0, 0
            while spent < plan.seconds:
                batch.reset(seed=1)
                start = time.perf_counter()
                for one in actions:
                    batch.step(one)
                spent, steps = spent + time.perf_counter() - start, steps + N * CHUNK
            return {"games/s": steps / spent}

        measure()
        return measure

    return Contestant(prepare)


def in_numpy(board: str) -> Contestant:
    """The same steps in NumPy, after a check that they are the same."""

    def prepare(plan: Plan) -> Measure:
        batch = ttt.Batch(N, board, 1, autoreset="same-step")
        actions, boards = actions_of(batch, CHUNK), NumpyBoards(N, board)
        batch.reset(seed=1)
        for one in actions:
            seen, same = batch.step(one), boards.step(one)
            for mine, its in zip(seen, same, strict=True):
                if not np.array_equal(mine.reshape(its.shape), its):
                    raise SystemExit(f"NumPy's step on {board} differs")

        def measure() -> Values:
            spent, steps = 0.0, 0
            while spent < plan.seconds:
                boards.own, boards.other = np.zeros((2, N), boards.own.dtype)
                start = time.perf_counter()
                for one in actions[:20]:
                    boards.step(one)
                spent, steps = spent + time.perf_counter() - start, steps + N * 20
            return {"games/s": steps / spent}

        return measure

    return Contestant(prepare)


def against(opponent: str) -> Contestant:
    """Full turns on 3x3, with the reply of an opponent inside the kernel."""

    def prepare(plan: Plan) -> Measure:
        batch = ttt.Batch(N, "3x3", 1, opponent, "same-step")
        actions = actions_of(batch, CHUNK)

        def measure() -> Values:
            batch.reset(seed=1)
            start = time.perf_counter()
            for one in actions:
                batch.step(one)
            return {"games/s": N * CHUNK / (time.perf_counter() - start)}

        measure()
        return measure

    return Contestant(prepare)


def long_steps(plan: Plan) -> Measure:
    """What memory grows by over LONG_STEPS steps, from the first million on."""
    batch = ttt.Batch(N, "3x3", 1, autoreset="same-step")
    actions = batch.sample()

    def measure() -> Values:
        begun = 0.0
        for number in range(LONG_STEPS // N):
            batch.step(batch.sample(actions))
            begun = memory() if number == 64 else begun
        return {"megabytes": memory() - begun}

    return measure


def environment_contestants() -> dict[str, Contestant]:
    """Everything that is measured of environments, by name."""
    return {
        **{f"steps {board}": stepped(board) for board in dict.fromkeys((*BOARDS, *SIZES))},
        **{f"numpy steps {board}": in_numpy(board) for board in BOARDS},
        **{f"turns {opponent}": against(opponent) for opponent in ("random", "optimal")},
        "steps memory": Contestant(long_steps, "once"),
    }
