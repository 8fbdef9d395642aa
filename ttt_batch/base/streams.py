"""Random numbers as a pure function of (seed, game, draw): counter-based, so there is no state to lose.

One SplitMix64 sequence per seed (Steele, Lea and Flood, "Fast splittable pseudorandom number
generators", OOPSLA 2014, figure 15); game `g` owns its numbers `DRAWS * g` to `DRAWS * (g + 1) - 1`.  Any thread
can therefore play any game, in any order, and draw what it would have drawn alone.
"""

from typing import Any

import numpy as np

from ttt_batch.base.jit import inlined

DRAWS = 128
"""Numbers that each game owns: enough for a mask and a choice at each ply of a board of 36 cells."""

PLAY, FLOW, NEW_ROWS, RULE = 0, 1, 2, 3
"""Purposes of numbers: games of a training; how many games of a batch take each move; values of a growing board's new
rows; what a learner's own rule draws, a batch's under the number of its first game."""

PATTERNS = range(4, 7)
"""Purposes of games of pattern networks: safe as first, safe as second, and for both players."""

OPPONENT, SAMPLED = 8, 9
"""Purposes of environments' numbers: moves of the opponent, and actions that are drawn for the caller."""

MATCHES = range(16, 64)
"""Purposes of matches against scripted players: one for each player and seat."""

MEETINGS = 64
"""First purpose of tournaments: MEETINGS + (first << 20) + second for the numbers of two runs.  All are below
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
    """Return where the sequence of `seed` (any int, modulo 2**64) starts for a `purpose`, one of those above."""

    def mix(z: int) -> int:
        z = ((z ^ (z >> 30)) * int(MIX_1)) & MASK_64
        z = ((z ^ (z >> 27)) * int(MIX_2)) & MASK_64
        return z ^ (z >> 31)

    return np.uint64(mix(mix(seed & MASK_64) ^ (purpose * int(GOLDEN) & MASK_64)))


@inlined
def game_base(key: Any, game: Any) -> Any:
    """Counter (uint64) of draw 0 of `game` (int, from 0)."""
    return key + np.uint64(game) * STRIDE


@inlined
def mix(counter: Any) -> Any:
    """SplitMix64's output for a counter: uint64."""
    z = counter
    z = (z ^ (z >> S30)) * MIX_1
    z = (z ^ (z >> S27)) * MIX_2
    return z ^ (z >> S31)


@inlined
def draw(base: Any, number: Any) -> Any:
    """Draw `number` (0 to DRAWS - 1) of the game whose counter is `base`: uint64, uniform over all 64 bits."""
    return mix(base + np.uint64(number) * GOLDEN)


@inlined
def unit(bits: Any) -> Any:
    """A float in [0, 1), a multiple of 2**-53, from 64 random bits."""
    return np.float64(np.int64(bits >> S11)) * 2.0**-53


@inlined
def below(bits: Any, n: Any) -> Any:
    """A number in 0 .. n - 1 from 64 random bits (n < 2**16); no value is off by more than n / 2**32."""
    return np.int64(((bits >> S32) * np.uint64(n)) >> S32)
