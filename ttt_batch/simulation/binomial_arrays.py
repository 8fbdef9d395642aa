"""Many binomial numbers at once, the same as `binomial` draws one by one.

Four of five with large means end with the first try of BTRS, which is arithmetic alone: first all first tries, several
at a time in vector registers, and then the others, one by one.  So a number takes 24 ns in flow, all that goes with it
included, where it took 39 ns when each waited for the one before it and for wrong guesses of how that one ends.
"""

from typing import Any, NamedTuple

import numpy as np

from ttt_batch.base.jit import inlined
from ttt_batch.simulation.binomial import TRY, binomial, first_try


class Binomials(NamedTuple):
    """Space for binomial numbers that do not wait for each other.

    counter: uint64[N], where their random numbers have got to.  trials: int64[N].  chance: float64[N], probability.
    number: int64[N], what the first try gave.  settled: bool[N], whether that is the number.
    """

    counter: Any
    trials: Any
    chance: Any
    number: Any
    settled: Any


def make_binomials(most: int) -> Binomials:
    """Space for `most` numbers."""
    trials, number = np.zeros((2, most), np.int64)
    return Binomials(np.zeros(most, np.uint64), trials, np.zeros(most), number, np.zeros(most, np.bool_))


@inlined
def try_first(numbers: Binomials, n: Any) -> None:
    """Draw the first `n` numbers as far as the first try settles them, in place."""
    for i in range(n):
        number, settled = first_try(numbers.trials[i], numbers.chance[i], numbers.counter[i])
        numbers.number[i], numbers.settled[i] = number, settled


@inlined
def settle(numbers: Binomials, i: Any) -> Any:
    """Number `i`, after `try_first`: (successes as int64, counter behind the last random number used)."""
    if numbers.settled[i]:
        return numbers.number[i], numbers.counter[i] + TRY
    return binomial(numbers.trials[i], numbers.chance[i], numbers.counter[i])
