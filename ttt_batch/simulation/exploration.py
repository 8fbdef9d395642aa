"""Which plies of a game explore, drawn nine plies at a time.

Each ply explores with probability epsilon, independently, so the set of exploring plies among nine has 512 possible
values; Walker's alias method draws it from one random number (Vose, "A linear algorithm for generating random
numbers with a given distribution", IEEE Transactions on Software Engineering 17, 1991).
"""

from typing import Any, NamedTuple

import numpy as np

from ttt_batch.base.jit import inlined, kernel

PLIES_AT_ONCE = 9
N_SETS = 1 << PLIES_AT_ONCE
SETS, SET_BITS = np.uint64(N_SETS - 1), np.uint64(PLIES_AT_ONCE)
SET_DRAW = 0
"""Number of the draw (`streams.draw`) that a game spends on its exploring plies; decisions take 1, 2, ..."""

NEVER = PLIES_AT_ONCE
"""The next ply of an empty set: by then every game is over."""


class Explorations(NamedTuple):
    """The alias table for one epsilon, and the lowest ply of every set.

    column: uint64[512]; bits 9-63: the threshold, out of 2**55, below which a column keeps its own set of plies, bit p
    of the column's number being ply p; bits 0-8: the other set.  A column that always keeps its own is one whose
    other set is its own.
    next_ply: uint8[512], the lowest ply of every set, NEVER for the empty one; the same whatever epsilon is.
    """

    column: Any
    next_ply: Any


@kernel
def fill_explorations(table: Explorations, epsilon: float, seat: int, weight: Any, stack: Any) -> None:
    """Fill `table` in place for one epsilon, [0, 1].

    seat: 0 or 1 where only the player in that seat explores, -1 where both do.
    weight: float64[512], stack: int64[512]; scratch.
    """
    n_poor, first_rich = 0, N_SETS  # two stacks in one array, growing towards each other
    for members in range(N_SETS):
        p = 1.0
        for ply in range(PLIES_AT_ONCE):
            here = epsilon if seat < 0 or ply & 1 == seat else 0.0
            p *= here if (members >> ply) & 1 else 1.0 - here
        weight[members] = p * N_SETS
        table.column[members] = members
        if weight[members] < 1.0:
            stack[n_poor] = members
            n_poor += 1
        else:
            first_rich -= 1
            stack[first_rich] = members
    while n_poor > 0 and first_rich < N_SETS:
        n_poor -= 1
        poor, rich = stack[n_poor], stack[first_rich]
        table.column[poor] = (np.uint64(weight[poor] * 2.0**55) << SET_BITS) | np.uint64(rich)
        weight[rich] -= 1.0 - weight[poor]
        if weight[rich] < 1.0:
            first_rich += 1
            stack[n_poor] = rich
            n_poor += 1


def make_explorations(epsilon: float, seat: int = -1) -> Explorations:
    """A filled table; see `fill_explorations`."""
    lowest = [(members & -members).bit_length() - 1 for members in range(1, N_SETS)]
    table = Explorations(np.zeros(N_SETS, np.uint64), np.array([NEVER, *lowest], np.uint8))
    fill_explorations(table, epsilon, seat, np.zeros(N_SETS), np.zeros(N_SETS, np.int64))
    return table


def set_probabilities(table: Explorations) -> dict[int, float]:
    """Probability of each set of plies (bit p for ply p) under `table`: what the draw really does, for checks."""
    found: dict[int, float] = {}
    for own, column in enumerate(table.column.tolist()):
        keeps = (column >> PLIES_AT_ONCE) / 2**55
        for members, share in ((own, keeps), (column % N_SETS, 1 - keeps)):
            found[members] = found.get(members, 0.0) + share / N_SETS
    return found


@inlined
def exploring_set(table: Explorations, bits: Any) -> Any:
    """The exploring plies of one game as a set, bit p for ply p (uint64), from 64 random bits.

    The lowest nine choose a column, the others are compared with its threshold: in one word with the other set, a
    load and a selection less than from arrays of their own.
    """
    column = table.column[bits & SETS]
    return (bits if (bits | SETS) < column else column) & SETS


@inlined
def explores_at(exploring: Any, ply: Any) -> Any:
    """Whether `ply` is in a set of plies (uint64, see `exploring_set`)."""
    return (exploring >> np.uint64(ply)) & np.uint64(1) != np.uint64(0)
