"""Proofs that an agent cannot lose, or always wins, by exhaustive search of its games, on boards of any size.

The opponent may make any move, and the agent any that its rule may pick.  The search itself is `search`.  This module
adds growing memory, threads, progress and early stops.

Threads share the positions reached, and each has its own stack.  An idle thread receives half of the moves at the
bottom of another's stack.  The positions reachable from the empty board do not depend on the order of the search.  So a
proof enters the same number of positions with any number of threads.  With several threads, refutations may vary.
"""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from ttt_batch.compiler.jit import compile_elsewhere
from ttt_batch.core.resources import free_memory, startable_threads
from ttt_batch.evaluation import search
from ttt_batch.evaluation.search import Claim, Positions, Slots, Walk
from ttt_batch.games.board import Board

Goal = Literal["cannot-lose", "always-wins"]
CANNOT_LOSE: Goal = "cannot-lose"
ALWAYS_WINS: Goal = "always-wins"
GOALS: tuple[Goal, ...] = get_args(Goal)
DOES: dict[Goal, str] = {CANNOT_LOSE: "cannot lose", ALWAYS_WINS: "always wins"}
"""What a player that reaches a goal does, in words."""

Status = Literal["proved", "refuted", "undecided"]

BUDGET = 100_000_000
"""Default maximum of positions that a proof enters, in about a minute."""

AT_ONCE = 1 << 16
"""Positions that a thread enters between two checks of progress and `stop`."""

WORTH_SHARING = 1 << 13
"""Positions that the first thread enters before others join it."""


@dataclass(frozen=True)
class Proof:
    """Result of a proof, or of a search, for an agent in one seat.

    status: `proved` (the agent reaches its goal against all opponents, with all tie-breaks), `refuted` or `undecided`.
    positions: number entered, with images merged.  line: the cells of the first lost game; None without one.
    Only of proofs, and not compared:
    lost: int8[n, cells], games in which the agent misses its goal, as cells in the order found, -1 after the end.
    full: whether memory ended the search.  seconds: duration.
    """

    status: Status
    positions: int
    line: list[int] | None
    lost: NDArray[np.int8] = field(default_factory=lambda: np.zeros((0, 0), np.int8), repr=False, compare=False)
    full: bool = field(default=False, repr=False, compare=False)
    seconds: float = field(default=0.0, repr=False, compare=False)

    @property
    def unbeatable(self) -> bool | None:
        """Return whether the agent reaches its goal against all opponents; None if undecided."""
        return None if self.status == "undecided" else self.status == "proved"


class Prover:
    """Prover of agents on one board, which reuses its memory.

    memory: bytes that the positions reached may take; None for half of the free memory at each proof.
    symmetric: merge images of a position; only correct for agents whose rule is the same in all of them.
    wide: use keys of two words even if one suffices.
    """

    def __init__(
        self, board: Board, memory: int | None = None, *, symmetric: bool = True, wide: bool | None = None
    ) -> None:
        self.board, self._memory, self._symmetric, self._wide = board, memory, symmetric, wide
        self._slots = np.zeros(0, np.uint64)
        self._needed: dict[tuple[int, Goal], int] = {}

    def prepare(self, agent: Any) -> None:
        """Let another process compile the kernels that `prove` needs for this agent."""
        positions = search.make_positions(self.board, symmetric=self._symmetric, wide=self._wide)
        walk = search.make_walk(self.board, positions, 1)
        task, stop = search.make_task(self.board, 0, 0), np.zeros(1, np.int64)
        begin = search.begin_at, agent, positions, walk, np.zeros(0, np.int8)
        compile_elsewhere(begin, (search.advance_search, agent, positions, walk, task, 0, 0, stop))

    def prove(
        self,
        agent: Any,
        seat: int,
        goal: Goal = CANNOT_LOSE,
        *,
        budget: int = BUDGET,
        lost: int = 1,
        threads: int = 1,
        occupied: bool = False,
        hunt: int = 0,
        follow: Callable[[int, int], bool] | None = None,
    ) -> Proof:
        """Prove that `agent` reaches its goal in a seat (0 or 1), or find games in which it misses it.

        agent: of a class with bodies for the kernels of `playing`; its scratch is modified.
        budget: maximum of positions to enter.
        lost: number of lost games to find, at least 1.  After the first losing move the other moves of a position are
        not tried.
        occupied: whether the agent may pick occupied cells, by which it loses; then no branch ends early.
        hunt: key of random numbers, below 2**63, by which to look for lost games that are far apart; 0 to look for them
        in order.
        follow: called with the positions entered and lost games found, every 65,536 positions of a thread.  Once it
        returns True, the search ends, `undecided` if no lost game was found.
        """
        began = time.perf_counter()
        positions = search.make_positions(self.board, symmetric=self._symmetric, wide=self._wide)
        limit = free_memory() // 2 if self._memory is None else self._memory
        slots = Slots(positions, self._slots, limit, self._needed.get((seat, goal), 0))
        task = search.make_task(self.board, seat, GOALS.index(goal), occupied=occupied, hunt=hunt)
        workers = [(agent, search.make_walk(self.board, positions, lost))]
        search.begin_at(agent, slots.positions, workers[0][1], np.zeros(0, np.int8))
        with ExitStack() as stack:
            walkers = _Hunt(task, slots, budget, workers, threads, stack)
            why = walkers.run(lost, follow)
        self._slots = slots.array
        self._needed[seat, goal] = walkers.count(search.KEPT)
        games = np.concatenate([walk.lost[: walk.at[search.LOST]] for _, walk in walkers.workers])[:lost]
        status: Status = "refuted" if len(games) else "proved" if why == search.DONE else "undecided"
        line = [int(cell) for cell in games[0] if cell >= 0] if len(games) else None
        seconds = time.perf_counter() - began
        return Proof(status, walkers.count(search.ENTERED), line, games, why == search.NO_ROOM, seconds)


class _Hunt:
    """Search by several threads, in rounds; between rounds the slots grow and idle threads receive moves."""

    def __init__(
        self,
        task: Claim,
        slots: Slots,
        budget: int,
        workers: Sequence[tuple[Any, Walk]],
        threads: int,
        stack: ExitStack,
    ) -> None:
        self._task, self._slots, self._budget = task, slots, budget
        self.workers, self._threads, self._stack = list(workers), threads, stack
        self._pool: ThreadPoolExecutor | None = None
        self._idle = np.zeros(1, np.int64)

    def count(self, what: int) -> int:
        """Return the sum over all walks of one entry of `Walk.at`."""
        return sum(int(walk.at[what]) for _, walk in self.workers)

    def run(self, lost: int, follow: Callable[[int, int], bool] | None) -> int:
        """Search until done or ended early; return the reason, `search.BUDGET_SPENT` if `follow()` was true."""
        busy = [0]
        while True:
            if self._threads > 1 and self.count(search.ENTERED) >= WORTH_SHARING:
                busy = self._share(busy)
            ends = self._round(busy)
            if search.ENOUGH in ends or self.count(search.LOST) >= lost:
                return search.ENOUGH
            busy = [number for number, why in zip(busy, ends, strict=True) if why != search.DONE]
            if not busy:
                return search.DONE
            if search.BUDGET_SPENT in ends and self.count(search.ENTERED) >= self._budget:
                return search.BUDGET_SPENT
            if search.NO_ROOM in ends and not self._make_room(len(busy)):
                return search.NO_ROOM
            if set(ends) == {search.NO_ROOM} and self.count(search.ENTERED) % AT_ONCE:
                continue
            if follow is not None and follow(self.count(search.ENTERED), self.count(search.LOST)):
                return search.BUDGET_SPENT

    def _make_room(self, busy: int) -> bool:
        """Grow the slots if few are left; return whether the busy threads have enough to continue."""
        needed = busy * self._task.lines.cells
        if self._slots.room - self.count(search.KEPT) < max(needed, self._slots.room // 8):
            self._slots.grow()
        return self._slots.room - self.count(search.KEPT) >= needed

    def _round(self, busy: Sequence[int]) -> list[int]:
        """Continue each busy walk for a while, in a thread each; return the reasons why they stopped."""
        budget = self._budget - self.count(search.ENTERED)
        room = (self._slots.room - self.count(search.KEPT)) // len(busy)
        self._idle[0] = len(busy) < self._threads and self._pool is not None

        def go_on(turn: int) -> int:
            agent, walk = self.workers[busy[turn]]
            until = AT_ONCE - int(walk.at[search.ENTERED]) % AT_ONCE  # independent of the slots, which may be reused
            until = min(until, budget // len(busy) + (turn < budget % len(busy)))
            if self._threads > 1 and self._pool is None:
                until = min(until, WORTH_SHARING)
            limits = int(walk.at[search.ENTERED]) + until, int(walk.at[search.KEPT]) + room
            why = search.advance_search(agent, self._slots.positions, walk, self._task, *limits, self._idle)
            if why in (search.DONE, search.ENOUGH):
                self._idle[0] = 1
            return int(why)

        if self._pool is None or len(busy) == 1:
            return [go_on(turn) for turn in range(len(busy))]
        others = [self._pool.submit(go_on, turn) for turn in range(1, len(busy))]
        return [go_on(0), *(other.result() for other in others)]

    def _share(self, busy: list[int]) -> list[int]:
        """Move work from busy to idle walks, up to the number of threads; return the walks that are then busy."""
        if self._pool is None:
            self._threads = 1 + startable_threads(self._threads - 1)
            self._pool = self._stack.enter_context(ThreadPoolExecutor(max(1, self._threads - 1)))
        while len(busy) < self._threads:
            bottoms = [(_bottom(self.workers[number][1]), number) for number in busy]
            depth, giver = min(bottoms)
            walk = self.workers[giver][1]
            if depth > walk.at[search.PLY]:
                break
            idle = next((number for number in range(len(self.workers)) if number not in busy), None)
            if idle is None:
                fresh = Walk(*map(np.zeros_like, walk))
                fresh.lost[:] = -1
                self.workers.append((search.copy_for_thread(self.workers[0][0]), fresh))
                idle = len(self.workers) - 1
            _hand_over(walk, *self.workers[idle], self._slots.positions, depth)
            busy = [*busy, idle]
        return busy


def _bottom(walk: Walk) -> int:
    """Return the lowest ply at which a walk has moves left, or one more than its current ply if it has none."""
    ply = int(walk.at[search.BASE])
    while ply <= walk.at[search.PLY] and walk.tried[ply] == walk.listed[ply]:
        ply += 1
    return ply


def _hand_over(walk: Walk, agent: Any, idle: Walk, positions: Positions, ply: int) -> None:
    """Move every other remaining move of `walk` at ply `ply` to the walk `idle`."""
    tried, listed = int(walk.tried[ply]), int(walk.listed[ply])
    moves = walk.moves[ply, tried:listed].copy()
    given = moves[1::2] if len(moves) > 1 else moves
    kept = moves[::2] if len(moves) > 1 else moves[:0]
    walk.moves[ply, tried : tried + len(kept)] = kept
    walk.listed[ply] = tried + len(kept)
    search.begin_at(agent, positions, idle, walk.played[:ply])
    idle.moves[ply, : len(given)] = given
    idle.tried[ply], idle.listed[ply], idle.at[search.ARRIVING] = 0, len(given), 0
