"""e**x of plus and times only: the same bits on every machine, which C libraries do not promise.

With k the whole number nearest to x / ln 2 and r = x - k ln 2 (ln 2 in two parts, so that the difference is right to
the last bit), e**x is 2**k times the Taylor polynomial of e**r up to r**13; |r| is at most 0.35, where the rest of the
series is below 2**-57.  It differs from the true value by less than a unit in the last place.
"""

import math
from typing import Any

import numpy as np

from ttt_batch.base.jit import inlined

LOWEST = -700.0
"""What lies below it gives 0: less than 1e-304 of a chance."""

LOG2_E = 1.4426950408889634
LN2_HIGH, LN2_LOW = float.fromhex("0x1.62e42feep-1"), float.fromhex("0x1.a39ef35793c76p-33")
"""ln 2; the first part has 21 zeros at its end, so that k times it is exact."""

TERMS = np.array([1.0 / math.factorial(n) for n in range(14)])
POWERS = np.array([math.ldexp(1.0, -k) for k in range(1012)])
"""1 / n!, and 2**-k: exact."""


@inlined
def exponential(x: Any) -> Any:
    """e**x for x <= 0, in [0, 1]; 0 below -700 and for NaN.  A number above 0 would read memory that is not its own."""
    if not x >= LOWEST:
        return 0.0
    k = np.floor(x * LOG2_E + 0.5)
    r = (x - k * LN2_HIGH) - k * LN2_LOW
    total = TERMS[13]
    for n in range(12, -1, -1):
        total = TERMS[n] + r * total
    return total * POWERS[np.uint64(-k)]
