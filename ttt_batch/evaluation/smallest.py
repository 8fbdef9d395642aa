"""Search for the smallest certificate: the choice of moves that needs the fewest positions.

Small decisions are an integer program.  x_p says whether position p is listed, and y_m whether its move m is chosen:
a listed position has a move, and all positions that its move needs are listed.  HiGHS proves the least number.

Large neighbourhoods improve a choice where the whole program is too large.  A few positions are free to change their
moves, all others keep theirs, and the small program that is left is solved.  Moves which would add many positions are
left out of it.

A program of the first plies alone gives a lower bound, because every certificate lists as many positions there.

A part with one way in and no way out could be solved alone.  On none of six boards from 3x3 to 4x4x4 does such a part
leave a choice, so the program is not split.
"""

import functools
import itertools
import time
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_batch.compiler.jit import BoolArray, Float64Array, Int64, Int64Array, inlined, kernel
from ttt_batch.evaluation.decisions import Decisions, some_decisions
from ttt_batch.evaluation.integer_program import IntegerProgram, Solver

WHOLE_MOVES = 150_000
"""Number of moves up to which HiGHS gets the whole program; its linear relaxation takes a minute there."""

FIRST_SECONDS, WINDOW_SECONDS = 4.0, 2.0
"""Time limits of the first run of a whole program, and of a run of a neighbourhood."""

FEWEST_FREE, MOST_FREE = 50, 5_000
"""Limits of the number of free positions of a neighbourhood."""

GRACE = 5.0
"""Seconds after the time limit in which a run that overruns its own may still return its result."""

IN_VAIN = 20
"""Number of neighbourhoods without a better choice after which the next ones are twice as large."""

SWEEPS = 10
"""Number of greedy choices, each with costs by the one before."""


class Found(NamedTuple):
    """Best choice so far: int64[n], the move of each listed position, else -1; its cost, and a proved lower bound."""

    move: NDArray[np.int64]
    size: int
    bound: int


Follow = Callable[[Found], bool]
"""Callback that receives the best choice so far about ten times a second, and returns True to stop."""


@inlined
def added(decisions: Decisions, move: Int64, listed: BoolArray, least: Float64Array) -> float:
    """Return an estimate of the cost that a move adds: the sum of `least` (float64[n]) over needs not yet listed."""
    total = 0.0
    for place in range(decisions.first_need[move], decisions.first_need[move + 1]):
        total += 0.0 if listed[decisions.need[place]] else least[decisions.need[place]]
    return total


@inlined
def list_needs(decisions: Decisions, move: Int64, listed: BoolArray) -> None:
    """Mark all that a move needs in `listed` (bool[n]), in place."""
    for place in range(decisions.first_need[move], decisions.first_need[move + 1]):
        listed[decisions.need[place]] = True


@kernel
def list_forced(decisions: Decisions, listed: BoolArray) -> None:
    """Mark the positions that every choice lists in `listed` (bool[n], the start at first), in place.

    They are those that all moves of another one need.
    """
    for position in range(listed.shape[0]):
        first, last = decisions.first_move[position], decisions.first_move[position + 1]
        for place in range(decisions.first_need[first], decisions.first_need[first + 1]):
            count = 0
            for move in range(first, last):
                for other in range(decisions.first_need[move], decisions.first_need[move + 1]):
                    count += decisions.need[other] == decisions.need[place]
            if listed[position] and count == last - first:
                listed[decisions.need[place]] = True


@kernel
def estimate(decisions: Decisions, cost: Int64Array, listed: BoolArray, least: Float64Array) -> None:
    """Write what each position costs with all that it needs, if nothing is shared, into `least` (float64[n]), in place.

    What is `listed` (bool[n]) already costs nothing.
    """
    for position in range(cost.shape[0] - 1, -1, -1):
        lowest = np.inf
        for move in range(decisions.first_move[position], decisions.first_move[position + 1]):
            lowest = min(lowest, added(decisions, move, listed, least))
        least[position] = lowest + cost[position]


@kernel
def choose_greedily(decisions: Decisions, least: Float64Array, listed: BoolArray, chosen: Int64Array) -> None:
    """Write a choice into `chosen` (int64[n]), in place: in listed positions the move that adds least by estimate.

    listed: bool[n], the start's positions; then all that are listed, in place.
    """
    for position in range(chosen.shape[0]):
        chosen[position] = -1
        if listed[position]:
            lowest = np.inf
            for move in range(decisions.first_move[position], decisions.first_move[position + 1]):
                adds = added(decisions, move, listed, least)
                if adds < lowest:
                    lowest, chosen[position] = adds, move
            list_needs(decisions, chosen[position], listed)


@kernel
def mark_window(
    decisions: Decisions,
    chosen: Int64Array,
    free: BoolArray,
    least: Float64Array,
    slack: float,
    listed: BoolArray,
    reached: BoolArray,
    kept: BoolArray,
) -> None:
    """Mark a neighbourhood of a choice, in place: its positions in `reached` (bool[n]), its moves in `kept` (bool[m]).

    Listed positions that are not `free` keep their move.  The others have the moves that add at most `slack` or, if
    there are none, the least by estimate.
    chosen: int64[n], the choice.  listed: bool[n], its positions.  reached: the start's positions at first.
    """
    for position in range(chosen.shape[0]):
        if not reached[position]:
            continue
        limit = -1.0
        if free[position] or not listed[position]:
            limit = np.inf
            for move in range(decisions.first_move[position], decisions.first_move[position + 1]):
                limit = min(limit, added(decisions, move, listed, least))
            limit = max(limit, slack)
        for move in range(decisions.first_move[position], decisions.first_move[position + 1]):
            if move == chosen[position] or added(decisions, move, listed, least) <= limit:
                kept[move] = True
                list_needs(decisions, move, reached)


def program_of(decisions: Decisions, cost: NDArray[np.int64], most: int | None = None) -> IntegerProgram:
    """Return the integer program of decisions.  cost: int64[n], of each position.  most: greatest cost to look for.

    Its variables are x_p, then y_m of the moves of positions that have several.  For an only move x_p stands.
    """
    n, counts = decisions.first.size, np.diff(decisions.first_move)
    owner = np.arange(n).repeat(counts)
    several = counts[owner] > 1
    variable = np.where(several, n + np.cumsum(several) - 1, owner)
    choosing = np.flatnonzero(counts > 1)
    row_of = np.zeros(n, np.int64)
    row_of[choosing] = np.arange(choosing.size)
    # A row for each position and each of its needs: the moves that need it are chosen only if it is listed.
    of_move = np.arange(decisions.cell.size).repeat(np.diff(decisions.first_need))
    pairs, row = np.unique(owner[of_move] * n + decisions.need, return_inverse=True)
    n_rows = choosing.size + pairs.size + (most is not None)
    last = np.flatnonzero(cost) if most is not None else np.zeros(0, np.int64)
    rows = [row_of[owner[several]], row_of[choosing], choosing.size + np.arange(pairs.size), choosing.size + row]
    columns = [variable[several], choosing, pairs % n, variable[of_move], last]
    signs = [1.0, -1.0, 1.0, -1.0]
    entries = [np.full(some.size, sign) for some, sign in zip(rows, signs, strict=True)] + [cost[last].astype(float)]
    low, high = np.zeros(n_rows), np.full(n_rows, np.inf)
    high[: choosing.size] = 0
    if most is not None:
        low[-1], high[-1] = -np.inf, most
    size = n + int(several.sum())
    least, whole = np.zeros(size), np.arange(size) >= n
    least[decisions.start] = 1
    return IntegerProgram(
        cost=np.concatenate([cost.astype(float), np.zeros(size - n)]),
        row=np.concatenate([*rows, np.full(last.size, n_rows - 1)]),
        column=np.concatenate(columns),
        entry=np.concatenate(entries),
        low=low,
        high=high,
        least=least,
        whole=whole,
    )


def preferred_moves(decisions: Decisions, x: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the move that a solution of `program_of` gives each position, int64[n]."""
    n, counts = decisions.first.size, np.diff(decisions.first_move)
    owner = np.arange(n).repeat(counts)
    share = np.ones(owner.size)
    share[counts[owner] > 1] = x[n:]
    order = np.lexsort((-share, owner))
    wanted: NDArray[np.int64] = order[decisions.first_move[:-1]]
    return wanted


def deepest(decisions: Decisions, chosen: NDArray[np.int64]) -> int:
    """Return the most positions of a choice (int64[n]) that occur in one game."""
    depth = np.zeros(chosen.size, np.int64)
    for position in np.flatnonzero(chosen >= 0)[::-1]:
        needs = slice(decisions.first_need[chosen[position]], decisions.first_need[chosen[position] + 1])
        depth[position] = 1 + depth[decisions.need[needs]].max(initial=0)
    return int(depth.max(initial=0))


@kernel
def write_depths(decisions: Decisions, depth: Int64Array, of_move: Int64Array) -> None:
    """Write the least depth of a player from each position (int64[n]) and after each move (int64[m]), in place."""
    for position in range(depth.shape[0] - 1, -1, -1):
        lowest = np.int64(1 << 30)
        for move in range(decisions.first_move[position], decisions.first_move[position + 1]):
            of_move[move] = 0
            for place in range(decisions.first_need[move], decisions.first_need[move + 1]):
                of_move[move] = max(of_move[move], depth[decisions.need[place]])
            lowest = min(lowest, of_move[move])
        depth[position] = lowest + 1


@kernel
def mark_reached(decisions: Decisions, kept: BoolArray, reached: BoolArray) -> None:
    """Mark the positions that the kept moves (bool[m]) lead to in `reached` (bool[n], the start at first), in place."""
    for position in range(reached.shape[0]):
        if reached[position]:
            for move in range(decisions.first_move[position], decisions.first_move[position + 1]):
                if kept[move]:
                    list_needs(decisions, move, reached)


def shallow_decisions(decisions: Decisions) -> Decisions:
    """Return the decisions of the players with the least depth: the fewest positions to know in the longest game."""
    depth, of_move = np.zeros(decisions.first.size, np.int64), np.zeros(decisions.cell.size, np.int64)
    write_depths(decisions, depth, of_move)
    before = (decisions.ply.astype(np.int64) - decisions.ply.min(initial=0)) // 2
    left = depth[decisions.start].max(initial=0) - before - 1
    kept = of_move <= left.repeat(np.diff(decisions.first_move))
    reached = np.zeros(depth.size, np.bool_)
    reached[decisions.start] = True
    mark_reached(decisions, kept, reached)
    return some_decisions(decisions, reached, kept)


MOST_COUNTED = 200_000
"""Maximum of sets of positions of one ply that a count remembers."""


def count_choices(decisions: Decisions, size: int) -> int | None:
    """Return the number of choices that list `size` positions, the least possible; None if there are too many sets.

    It goes ply by ply.  Only the set of listed positions matters for what follows, so choices with the same set are
    counted together.  A set ends if even the positions that follow from it in any case are too many.
    """
    n = decisions.first.size
    needs = [sum(1 << int(need) for need in decisions.need[a:b]) for a, b in pairwise(decisions.first_need.tolist())]
    ways = [Counter(needs[a:b]) for a, b in pairwise(decisions.first_move.tolist())]
    always = [0] * n
    for position in range(n - 1, -1, -1):
        follow = [functools.reduce(int.__or__, (always[p] for p in _members(need)), 0) for need in ways[position]]
        always[position] = functools.reduce(int.__and__, follow) | 1 << position

    def least(listed: int) -> int:
        return functools.reduce(int.__or__, (always[position] for position in _members(listed)), 0).bit_count()

    counts = {(sum(1 << int(position) for position in decisions.start), 0): 1}
    total = 0
    while counts:
        following = Counter[tuple[int, int]]()
        for (listed, before), count in counts.items():
            used, sets = before + listed.bit_count(), Counter({0: count})
            for position in _members(listed):
                larger = Counter[int]()
                for (some, times), (need, moves) in itertools.product(sets.items(), ways[position].items()):
                    if used + least(some | need) <= size:
                        larger[some | need] += times * moves
                sets = larger
                if len(sets) > MOST_COUNTED:
                    return None
            total += sets.pop(0, 0) if used == size else 0
            for some, times in sets.items():
                following[some, used] += times
        if len(following) > MOST_COUNTED:
            return None
        counts = {key: count for key, count in following.items() if key[0]}
    return total


def _members(members: int) -> Iterator[int]:
    """Yield the positions of a set, given by its bits."""
    while members:
        yield (members & -members).bit_length() - 1
        members &= members - 1


class Smallest:
    """Search for the cheapest choice of decisions.

    cost: int64[n], of each position; by default 1.  The best choice so far is `found`.
    """

    def __init__(self, decisions: Decisions, cost: NDArray[np.int64] | None = None, *, seed: int = 0) -> None:
        self.decisions, n = decisions, decisions.first.size
        self.cost = np.ones(n, np.int64) if cost is None else cost
        self._random = np.random.default_rng(seed)
        self._start = np.zeros(n, np.bool_)
        self._start[decisions.start] = True
        forced = self._start.copy()
        list_forced(decisions, forced)
        self.found = Found(np.full(n, -1), int(self.cost.sum()), int(self.cost[forced].sum()))
        for _ in range(1 + SWEEPS):
            chosen = np.empty(n, np.int64)
            choose_greedily(decisions, self._estimate(), self._start.copy(), chosen)
            self._take(chosen)

    @property
    def minimal(self) -> bool:
        """Return whether no choice is cheaper than the one found."""
        return self.found.bound >= self.found.size

    def _estimate(self) -> NDArray[np.float64]:
        """Return what each position would add to the best choice, float64[n]."""
        least = np.zeros(self.cost.size)
        estimate(self.decisions, self.cost, self.found.move >= 0, least)
        return least

    def _take(self, wanted: NDArray[np.int64]) -> bool:
        """Keep a choice if it is as good as the best one; return whether it is better.

        wanted: int64[n], a move for each position that may be listed.
        """
        kept, listed = np.zeros(self.decisions.cell.size, np.bool_), self._start.copy()
        kept[wanted[wanted >= 0]] = True
        mark_reached(self.decisions, kept, listed)
        wanted[~listed] = -1
        size = int(self.cost[wanted >= 0].sum())
        better = size < self.found.size
        if size <= self.found.size:
            self.found = self.found._replace(move=wanted, size=size)
        return better

    def run(self, seconds: float, follow: Follow) -> None:
        """Search until the choice is proved minimal, the time is over, the solver dies or `follow` returns True."""
        end, stopped = time.monotonic() + seconds, False

        def stop() -> bool:
            nonlocal stopped
            stopped = stopped or follow(self.found) or time.monotonic() >= end + GRACE
            return stopped

        limit = FIRST_SECONDS
        plies = [*np.unique(self.decisions.ply)[:-1].tolist()]
        with Solver() as solver:
            while not (self.minimal or solver.ended or stop() or time.monotonic() >= end):
                limit = min(limit, end - time.monotonic())
                if self.decisions.cell.size <= WHOLE_MOVES:
                    self._solve_whole(solver, limit, stop)
                if plies and not self.minimal:
                    self._bound_plies(solver, plies, limit / 2, stop)
                if not self.minimal and (self.decisions.cell.size > WHOLE_MOVES or limit <= FIRST_SECONDS):
                    self._improve(solver, min(time.monotonic() + 2 * limit, end), stop)
                limit *= 2

    def _solve_whole(self, solver: Solver, seconds: float, stop: Callable[[], bool]) -> None:
        """Solve the whole program for some seconds, for a choice that is cheaper than the one found or as cheap."""
        answer = solver.solve(program_of(self.decisions, self.cost, self.found.size), seconds, stop)
        if answer is None:
            return
        self.found = self.found._replace(bound=min(self.found.size, max(self.found.bound, answer.bound)))
        if answer.x is not None:
            self._take(preferred_moves(self.decisions, answer.x))

    def _bound_plies(self, solver: Solver, plies: list[int], seconds: float, stop: Callable[[], bool]) -> None:
        """Raise the bound by the programs of the first plies, one ply more each time, until one takes too long."""
        end, every = time.monotonic() + seconds, np.ones(self.decisions.cell.size, np.bool_)
        while plies and (left := end - time.monotonic()) > 0:
            some = some_decisions(self.decisions, self.decisions.ply <= plies[0], every)
            if some.cell.size > WHOLE_MOVES:
                plies.clear()
                return
            answer = solver.solve(program_of(some, self.cost[: some.first.size]), left, stop)
            if answer is None:
                return
            self.found = self.found._replace(bound=max(self.found.bound, answer.bound))
            if not answer.optimal:
                return
            del plies[0]

    def _improve(self, solver: Solver, end: float, stop: Callable[[], bool]) -> None:
        """Solve neighbourhoods of the best choice until a time."""
        free, in_vain = FEWEST_FREE, 0
        while time.monotonic() < end and not stop():
            reached, kept = self._start.copy(), np.zeros(self.decisions.cell.size, np.bool_)
            listed, window = self.found.move >= 0, self._window(free)
            least, slack = self._estimate(), free / 10
            mark_window(self.decisions, self.found.move, window, least, slack, listed, reached, kept)
            some = some_decisions(self.decisions, reached, kept)
            answer = solver.solve(program_of(some, self.cost[reached], self.found.size), WINDOW_SECONDS, stop)
            if answer is None:
                return
            better = False
            if answer.x is not None:
                wanted = np.full(reached.size, -1)
                wanted[reached] = np.flatnonzero(kept)[preferred_moves(some, answer.x)]
                better = self._take(wanted)
            in_vain = 0 if better else in_vain + 1
            if not answer.optimal:
                free = max(FEWEST_FREE, free // 2)
            elif in_vain >= IN_VAIN:
                free, in_vain = min(MOST_FREE, 2 * free), 0

    def _window(self, size: int) -> NDArray[np.bool_]:
        """Return positions that may change their moves, bool[n]: those below a random one, and random ones."""
        decisions, chosen = self.decisions, self.found.move
        listed = np.flatnonzero(chosen >= 0)
        free = np.zeros(chosen.size, np.bool_)
        free[self._random.choice(listed, min(listed.size, size // 4))] = True
        below = [int(self._random.choice(listed))]
        for position in below:
            if len(below) > size:
                break
            if not free[position] or position == below[0]:
                free[position] = True
                move = chosen[position]
                below += decisions.need[decisions.first_need[move] : decisions.first_need[move + 1]].tolist()
        return free
