"""Random numbers, exponentials and softmax with the same bits on every machine.

Each seed has one SplitMix64 sequence (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA
2014, figure 15).  Game `g` uses its numbers `DRAWS * g` to `DRAWS * (g + 1) - 1`.  Any thread can therefore play any
game in any order and draw the same numbers.

C libraries do not guarantee the same bits of the exponential function.  That of this module uses additions and
multiplications only.  Let k be the integer nearest to x / ln 2 and r = x - k ln 2.  Two parts of ln 2 make r exact to
the last bit.  Then e**x is 2**k times the Taylor polynomial of e**r up to r**13; as |r| <= 0.35, the rest of the series
is below 2**-57.  The error is less than a unit in the last place.
"""

import math
from collections.abc import Mapping

import numpy as np

from ttt_batch.compiler.jit import Int64, Integer, inlined

DRAWS = 128
"""Random numbers per game: enough for a mask and a choice at each ply of a board of 36 cells."""

PLAY, FLOW, NEW_ROWS, RULE = 0, 1, 2, 3
"""Purposes of random numbers: games of a training, counts of moves in a batch, initial values of a growing board's new
rows, and draws of a learner's own rule (a batch uses the number of its first game)."""

PATTERNS = range(4, 7)
"""Purposes of games of pattern networks: safe as first, safe as second, and for both players."""

HUNTING = range(10, 12)
"""Purposes of hunts for games that a pattern network loses as first, and as second."""

OPPONENT, SAMPLED = 8, 9
"""Purposes in environments: moves of the opponent, and actions sampled for the caller."""

MATCHES = range(16, 64)
"""Purposes of matches against scripted players: one for each player and seat."""

MEETINGS = 64
"""First purpose of tournaments: runs number `first` and `second` use MEETINGS + (first << 20) + second.  All are below
RANDOM_PLAY for up to 1,316 runs."""

RANDOM_PLAY = 0x52414E44
"""Purpose of random play in bulk."""

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
MIX_2 = np.uint64(0x94D049BB133111EB)
STRIDE = np.uint64((DRAWS * 0x9E3779B97F4A7C15) % 2**64)
S11, S27, S30, S31, S32 = (np.uint64(n) for n in (11, 27, 30, 31, 32))
MASK_64 = 2**64 - 1


def stream_key(seed: int, purpose: int = PLAY) -> np.uint64:
    """Return the first counter of the sequence of `seed` (any int, modulo 2**64) for a `purpose`, e.g. PLAY."""

    def mix(z: int) -> int:
        z = ((z ^ (z >> 30)) * int(MIX_1)) & MASK_64
        z = ((z ^ (z >> 27)) * int(MIX_2)) & MASK_64
        return z ^ (z >> 31)

    return np.uint64(mix(mix(seed & MASK_64) ^ (purpose * int(GOLDEN) & MASK_64)))


@inlined
def game_base(key: np.uint64, game: Int64) -> np.uint64:
    """Return the counter (uint64) of draw 0 of `game` (int, from 0)."""
    return key + np.uint64(game) * STRIDE


@inlined
def mix(counter: np.uint64) -> np.uint64:
    """Return SplitMix64's output (uint64) for a counter."""
    z = counter
    z = (z ^ (z >> S30)) * MIX_1
    z = (z ^ (z >> S27)) * MIX_2
    return z ^ (z >> S31)


@inlined
def draw(base: np.uint64, number: Int64) -> np.uint64:
    """Return draw `number` (0 to DRAWS - 1) of the game with counter `base`: uint64, uniform over all 64 bits."""
    return mix(base + np.uint64(number) * GOLDEN)


@inlined
def unit(bits: np.uint64) -> float:
    """Return a float in [0, 1), a multiple of 2**-53, from 64 random bits."""
    return np.float64(np.int64(bits >> S11)) * 2.0**-53


@inlined
def below(bits: np.uint64, n: Integer) -> np.int64:
    """Return a number in 0 .. n - 1 (n < 2**16) from 64 random bits, each with probability 1/n * (1 +- n / 2**32)."""
    return np.int64(((bits >> S32) * np.uint64(n)) >> S32)


LOWEST = -700.0
"""Lowest argument; below it the result is 0 instead of a probability under 1e-304."""

LOG2_E = 1.4426950408889634
LN2_HIGH, LN2_LOW = float.fromhex("0x1.62e42feep-1"), float.fromhex("0x1.a39ef35793c76p-33")
"""Two parts of ln 2; the first ends with 21 zero bits, so that k times it is exact."""

TERMS = np.array([1.0 / math.factorial(n) for n in range(14)])
POWERS = np.array([math.ldexp(1.0, -k) for k in range(1012)])
"""1 / n!, and 2**-k, which is exact."""


@inlined
def exponential(x: float) -> float:
    """Return e**x in [0, 1] for x <= 0, and 0 below -700 and for NaN.  x > 0 would read outside an array."""
    if not x >= LOWEST:
        return 0.0
    k = np.floor(x * LOG2_E + 0.5)
    r = (x - k * LN2_HIGH) - k * LN2_LOW
    total = TERMS[13]
    for n in range(12, -1, -1):
        total = TERMS[n] + r * total
    return total * POWERS[np.uint64(-k)]


def softmax_probabilities(values: Mapping[int, float], temperature: float) -> dict[int, float]:
    """Return the probability of each cell, proportional to `exp(value / temperature)`; the sum is 1.

    A cell never seen (NaN) counts as the average of the seen cells.  If no cell was seen, all are equally likely.
    temperature: above 0.
    """
    seen = [value for value in values.values() if not math.isnan(value)]
    average = sum(value / len(seen) for value in seen)
    filled = {cell: average if math.isnan(value) else value for cell, value in values.items()}
    highest = max(filled.values(), default=0.0)
    weights = {cell: math.exp((value - highest) / temperature) for cell, value in filled.items()}
    total = math.fsum(weights.values())
    return {cell: weight / total for cell, weight in weights.items()}
