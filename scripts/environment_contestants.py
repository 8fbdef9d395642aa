"""Subjects of `benchmark.py` with environments: a step of `Batch` beside the same step in NumPy, plain and tuned.

All make the same moves on the same boards, with the reset in the same step, and write planes, mask, rewards and
`terminated`.  Only steps are timed, not the choice of actions, by the core's time: what other processes take of it
is not counted.  Steps on several threads go by the clock.
"""

import math
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from contestants import TWO_CORES, Contestant, Measure, Plan, Values, memory, run_peer
from numpy.typing import NDArray
from numpy_boards import PlainBoards, TunedBoards
from peers import REPLAYS, WAYS

import ttt_batch as ttt
from ttt_batch.environments.batch import AUTORESET

N, MADE, SHARED = 16_384, 4_096, 65_536
"""Boards of most measurements, of `make_vec`, and of steps on several threads."""

PEERS = (
    "pgx-steps",
    "gymnasium-steps",
    *(f"{peer}-{board}-{envs}" for peer in ("pgx", "envpool") for board, envs in REPLAYS),
)
clock = time.process_time
BOARDS = {"3x3": 15, "4x4x4": 15, "5x5x5": 20, "6x7x4-gravity": 50}
"""The boards of the comparison with NumPy, and how many times as fast as plain NumPy the step has to be."""

IN_NUMPY = {"plain": PlainBoards, "tuned": TunedBoards}

SIZES = ("3x3", "4x4x4", "5x5x5", "6x6x5", "6x7x4", "6x7x4-gravity")
"""Boards up to 42 cells, each of which has to be within SLOWEST times of 3x3."""

SLOWEST, LONG_STEPS, CHUNK, ONE_BY_ONE = 1.5, 10**8, 50, 100_000

TURNS = [("random", "3x3"), ("optimal", "3x3"), ("random", "6x7x4-gravity"), ("one-ply", "4x4x4")]
"""Opponents that reply in full turns, and boards."""

DRAWS = ("3x3", "6x7x4-gravity")
"""Boards on which random actions are drawn."""


def actions_of(batch: ttt.Batch, steps: int) -> list[NDArray[np.int64]]:
    """Random legal actions of that many steps from the start."""
    batch.reset(seed=1)
    found = []
    for _ in range(steps):
        found.append(batch.sample())
        batch.step(found[-1])
    return found


def stepped(board: str, envs: int = N) -> Contestant:
    """Steps of `Batch`.  The rate is repeated under each of EnvPool's ways, for the ratios to these."""

    def prepare(plan: Plan) -> Measure:
        batch = ttt.Batch(envs, board, 1, autoreset="same-step")
        actions = actions_of(batch, CHUNK)

        def measure() -> Values:
            spent, steps = 0.0, 0
            while spent < plan.seconds:
                batch.reset(seed=1)
                start = clock()
                for one in actions:
                    batch.step(one)
                spent, steps = spent + clock() - start, steps + envs * CHUNK
            return dict.fromkeys(("games/s", *WAYS), steps / spent)

        measure()
        return measure

    return Contestant(prepare)


def in_numpy(kind: str, board: str) -> Contestant:
    """The same steps in NumPy, after a check that they are the same."""

    def prepare(plan: Plan) -> Measure:
        batch = ttt.Batch(N, board, 1, autoreset="same-step")
        actions, boards = actions_of(batch, CHUNK), IN_NUMPY[kind](N, batch.board)
        batch.reset(seed=1)
        for one in actions:
            for mine, its in zip(batch.step(one), boards.step(one), strict=True):
                if not np.array_equal(mine.reshape(its.shape), its):
                    raise SystemExit(f"NumPy's {kind} step on {board} differs")

        def measure() -> Values:
            boards = IN_NUMPY[kind](N, batch.board)
            start, steps = clock(), 0
            while steps < CHUNK * N and (steps == 0 or clock() - start < 2 * plan.seconds):
                boards.step(actions[steps // N])
                steps += N
            return {"games/s": steps / (clock() - start)}

        return measure

    return Contestant(prepare)


def against(opponent: str, board: str) -> Contestant:
    """Full turns, with the reply of an opponent inside the kernel."""

    def prepare(plan: Plan) -> Measure:
        batch = ttt.Batch(N, board, 1, opponent, "same-step")
        actions = actions_of(batch, CHUNK)

        def measure() -> Values:
            batch.reset(seed=1)
            start = clock()
            for one in actions:
                batch.step(one)
            return {"games/s": N * CHUNK / (clock() - start)}

        measure()
        return measure

    return Contestant(prepare)


def in_gymnasium(mode: str) -> Contestant:
    """Steps of `make_vec` between two measurements of `Batch`, with the resets that the mode leaves to the caller."""

    def prepare(_: Plan) -> Measure:
        import gymnasium

        from ttt_batch.environments.gymnasium_envs import NAME

        batch = ttt.Batch(MADE, "3x3", 1, "random", mode)
        envs = gymnasium.make_vec(NAME, num_envs=MADE, autoreset_mode=mode, seed=1)

        def step_batch(actions: NDArray[np.int64]) -> None:
            seen = batch.step(actions)
            if mode == "disabled":
                batch.reset(seen.terminated)

        def step_envs(actions: NDArray[np.int64]) -> None:
            over = envs.step(actions)[2]
            if mode == "disabled":
                envs.reset(options={"reset_mask": over})

        actions = []
        for _ in range(CHUNK):
            actions.append(batch.sample())
            step_batch(actions[-1])

        def time_of(games: Any, step: Callable[[NDArray[np.int64]], None]) -> float:
            games.reset(seed=1)
            start = clock()
            for one in actions:
                step(one)
            return clock() - start

        def measure() -> Values:
            before, made, after = time_of(batch, step_batch), time_of(envs, step_envs), time_of(batch, step_batch)
            return {"games/s": MADE * CHUNK / made, "of Batch": (before + after) / 2 / made}

        measure()
        return measure

    return Contestant(prepare)


def in_threads(opponent: str | None) -> Contestant:
    """Steps of many boards on two threads beside one, by the clock.

    Two batches of half as many boards that step at once show the speed that both cores can reach at that moment.
    """

    def prepare(_: Plan) -> Measure:
        one, two = (ttt.Batch(SHARED, "3x3", 1, opponent, "same-step", threads=threads) for threads in (1, 2))
        half = SHARED // 2
        halves = [ttt.Batch(half, "3x3", 1, opponent, "same-step", first_env=first) for first in (0, half)]
        actions = actions_of(one, CHUNK)
        parts = [[given[first : first + half].copy() for given in actions] for first in (0, half)]

        def steps(batch: ttt.Batch, actions: list[NDArray[np.int64]]) -> None:
            for given in actions:
                batch.step(given)

        def seconds(batch: ttt.Batch, actions: list[NDArray[np.int64]]) -> float:
            batch.reset(seed=1)
            start = time.perf_counter()
            steps(batch, actions)
            return time.perf_counter() - start

        def seconds_at_once() -> float:
            for batch in halves:
                batch.reset(seed=1)
            other = threading.Thread(target=steps, args=(halves[1], parts[1]))
            start = time.perf_counter()
            other.start()
            steps(halves[0], parts[0])
            other.join()
            return time.perf_counter() - start

        def measure() -> Values:
            alone, shared = seconds(one, actions), seconds(two, actions)
            at_once = alone / seconds_at_once()
            free = alone / shared if at_once >= TWO_CORES else math.nan
            return {"games/s": SHARED * CHUNK / shared, "two/one": alone / shared, "two/one, free": free}

        measure()
        return measure

    return Contestant(prepare)


def drawn(board: str) -> Contestant:
    """Random legal actions."""

    def prepare(plan: Plan) -> Measure:
        batch = ttt.Batch(N, board, 1, autoreset="same-step")
        actions = actions_of(batch, 4)[-1]

        def measure() -> Values:
            start, drawn = clock(), 0
            while clock() - start < plan.seconds:
                batch.sample(actions)
                drawn += N
            return {"games/s": drawn / (clock() - start)}

        return measure

    return Contestant(prepare)


def alone(draws: bool) -> Contestant:
    """One game of 3x3: random actions, or steps with actions that were drawn before."""

    def prepare(plan: Plan) -> Measure:
        batch = ttt.Batch(1, "3x3", 1, autoreset="same-step")
        actions = actions_of(batch, ONE_BY_ONE)

        def measure() -> Values:
            batch.reset(seed=1)
            start = clock()
            for one in actions:
                if draws:
                    batch.sample(one)
                else:
                    batch.step(one)
            return {"games/s": ONE_BY_ONE / (clock() - start)}

        measure()
        return measure

    return Contestant(prepare)


def peer_steps(name: str) -> Contestant:
    """Another program's steps; see `peers.py`.

    By the core's time, too, or by the clock if that is shorter, as it may be with several threads.
    """

    def rate(values: Values) -> float:
        return float(values["games"] / min(values["seconds"], values["cpu seconds"]))

    def prepare(plan: Plan) -> Measure:
        def measure() -> Values:
            values = run_peer(plan.peers, name, 2 * plan.seconds)
            if "ways" in values:
                return {way: rate(one) for way, one in values["ways"].items()}
            return {"games/s": rate(values)}

        return measure

    return Contestant(prepare, "peer_rounds", dear=True)


def long_steps(plan: Plan) -> Measure:
    """Return the growth of memory over LONG_STEPS steps, from the first million on."""
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
        **{f"steps {board} {envs}": stepped(board, envs) for board, envs in REPLAYS},
        **{f"{kind} NumPy steps {board}": in_numpy(kind, board) for kind in IN_NUMPY for board in BOARDS},
        **{name: peer_steps(name) for name in PEERS},
        **{f"turns {opponent} {board}": against(opponent, board) for opponent, board in TURNS},
        **{f"draws {board}": drawn(board) for board in DRAWS},
        **{f"alone {what}": alone(what == "draws") for what in ("steps", "draws")},
        **{f"make_vec {mode}": in_gymnasium(mode) for mode in AUTORESET},
        **{f"steps in threads {opponent}": in_threads(opponent) for opponent in (None, "random")},
        "steps memory": Contestant(long_steps, "once"),
    }
