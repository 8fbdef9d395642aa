"""Which plies of a game explore, drawn nine plies at a time.

Each ply explores with probability epsilon, independently, so the set of exploring plies among nine has 512 possible
values; Walker's alias method draws it from one random number (Vose, "A linear algorithm for generating random
numbers with a given distribution", IEEE Transactions on Software Engineering 17, 1991).
"""

from typing import Any, NamedTuple

import numpy as np

from ttt_batch.compile import inlined, kernel

PLIES_AT_ONCE = 9
N_SETS = 1 << PLIES_AT_ONCE
SET_DRAW = 0
"""Number of the draw (`streams.draw`) that a game spends on its exploring plies; decisions take 1, 2, ..."""

NEVER = PLIES_AT_ONCE
"""Ends a packed set of plies: by then every game is over."""


class Explorations(NamedTuple):
    """The alias table for one epsilon.

    threshold: uint64[512], out of 2**55, below which a column keeps its own set of plies.
    own, other: uint64[512], sets of plies, packed four bits a ply in rising order and closed by NEVER.
    """

    threshold: Any
    own: Any
    other: Any


@inlined
def packed_plies(members: int) -> Any:
    """The set bits of `members` (0 to 511) in rising order, four bits each, closed by NEVER: uint64."""
    packed, shift = np.uint64(0), np.uint64(0)
    for ply in range(PLIES_AT_ONCE):
        if (members >> ply) & 1:
            packed |= np.uint64(ply) << shift
            shift += np.uint64(4)
    return packed | (np.uint64(NEVER) << shift)


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
        table.own[members] = packed_plies(members)
        table.other[members] = table.own[members]
        table.threshold[members] = np.uint64(1) << np.uint64(55)
        if weight[members] < 1.0:
            stack[n_poor] = members
            n_poor += 1
        else:
            first_rich -= 1
            stack[first_rich] = members
    while n_poor > 0 and first_rich < N_SETS:
        n_poor -= 1
        poor, rich = stack[n_poor], stack[first_rich]
        table.threshold[poor] = np.uint64(weight[poor] * 2.0**55)
        table.other[poor] = table.own[rich]
        weight[rich] -= 1.0 - weight[poor]
        if weight[rich] < 1.0:
            first_rich += 1
            stack[n_poor] = rich
            n_poor += 1


def make_explorations(epsilon: float, seat: int = -1) -> Explorations:
    """A filled table; see `fill_explorations`."""
    table = Explorations(*(np.zeros(N_SETS, np.uint64) for _ in range(3)))
    fill_explorations(table, epsilon, seat, np.zeros(N_SETS), np.zeros(N_SETS, np.int64))
    return table


def set_probabilities(table: Explorations) -> dict[int, float]:
    """Probability of each packed set under `table`: what the draw really does, for checks."""
    found: dict[int, float] = {}
    for threshold, own, other in zip(*(array.tolist() for array in table), strict=True):
        found[own] = found.get(own, 0.0) + threshold / 2**55 / N_SETS
        found[other] = found.get(other, 0.0) + (1 - threshold / 2**55) / N_SETS
    return found


@inlined
def exploring_plies(table: Explorations, bits: Any) -> Any:
    """The exploring plies of one game, packed (uint64), from 64 random bits."""
    column = np.int64(bits & np.uint64(N_SETS - 1))
    keep = (bits >> np.uint64(PLIES_AT_ONCE)) < table.threshold[column]
    return table.own[column] if keep else table.other[column]
