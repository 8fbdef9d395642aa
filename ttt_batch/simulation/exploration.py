"""Which plies of a game explore, as a set of plies, and which random numbers decide its moves.

Each ply explores with probability epsilon, independently.  On boards of up to nine cells the set of exploring plies
has 512 possible values; Walker's alias method draws it from one random number (Vose, "A linear algorithm for generating
random numbers with a given distribution", IEEE Transactions on Software Engineering 17, 1991).  A game's number 0
is spent on that, and numbers 1, 2, ... on its decisions of chance.

On larger boards a game's numbers 2 * ply and 2 * ply + 1 decide whether it explores there and which move it takes.
"""

from typing import Any, NamedTuple

import numpy as np

from ttt_batch.base.jit import inlined, kernel
from ttt_batch.base.streams import GOLDEN, draw, unit

PLIES_AT_ONCE = 9
N_SETS = 1 << PLIES_AT_ONCE
SETS, SET_BITS = np.uint64(N_SETS - 1), np.uint64(PLIES_AT_ONCE)
SET_DRAW = 0
"""Number of the draw (`streams.draw`) that a game spends on its exploring plies; decisions take 1, 2, ..."""

NEVER = PLIES_AT_ONCE
"""The next ply of an empty set: by then every game is over."""

PLY_STRIDE = np.uint64(2 * int(GOLDEN) % 2**64)
"""How far a ply moves the counter on larger boards: two random numbers."""


class Explorations(NamedTuple):
    """The alias table for one epsilon, and the lowest ply of every set.

    column: uint64[512]; bits 9-63: the threshold, out of 2**55, below which a column keeps its own set of plies (bit p
    of its number is ply p); bits 0-8: the other set, which is its own if it always keeps that.
    next_ply: uint8[512], the lowest ply of every set, NEVER for the empty one; the same for every epsilon.
    """

    column: Any
    next_ply: Any


@inlined
def epsilon_at(epsilon: float, seat: int, ply: int) -> Any:
    """The probability that `ply` explores.

    seat: 0 or 1 if only the player in that seat explores, -1 if both do.
    """
    return epsilon if seat < 0 or ply & 1 == seat else 0.0


@kernel
def fill_explorations(table: Explorations, epsilon: float, seat: int, weight: Any, stack: Any) -> None:
    """Fill `table` in place for one epsilon, [0, 1].

    seat: see `epsilon_at`.  weight: float64[512], stack: int64[512]; scratch.
    """
    n_poor, first_rich = 0, N_SETS  # two stacks in one array, growing towards each other
    for members in range(N_SETS):
        p = 1.0
        for ply in range(PLIES_AT_ONCE):
            here = epsilon_at(epsilon, seat, ply)
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


@inlined
def exploring_set(table: Explorations, bits: Any) -> Any:
    """The exploring plies of one game as a set, bit p for ply p (uint64), from 64 random bits.

    The lowest nine choose a column, the others are compared with its threshold.
    """
    column = table.column[bits & SETS]
    return (bits if (bits | SETS) < column else column) & SETS


@inlined
def exploring_plies(table: Any, base: Any, epsilon: float, seat: int, plies: int) -> Any:
    """The exploring plies of the game whose counter is `base`, as a set (uint64).

    table: `Explorations`; or None on larger boards, where each of `plies` plies has a random number, compared with
    `epsilon`.  seat: see `epsilon_at`.
    """
    if table is not None:
        return exploring_set(table, draw(base, SET_DRAW))
    exploring = np.uint64(0)
    if epsilon > 0.0:
        for ply in range(plies):
            explores = unit(draw(base, 2 * ply)) < epsilon_at(epsilon, seat, ply)
            exploring |= np.uint64(explores) << np.uint64(ply)
    return exploring


@inlined
def next_counter(table: Any, counter: Any, by_chance: Any) -> Any:
    """The counter (uint64) of the number for the next move; the first is `base + GOLDEN`.

    table: see `exploring_plies`.  by_chance: whether this move used its number.
    """
    if table is None:
        return counter + PLY_STRIDE
    return counter + GOLDEN if by_chance else counter


@inlined
def explores_at(exploring: Any, ply: Any) -> Any:
    """Whether `ply` is in a set of plies (uint64, see `exploring_set`)."""
    return (exploring >> np.uint64(ply)) & np.uint64(1) != np.uint64(0)
