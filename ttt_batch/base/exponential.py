"""Exponential function with the same bits on every machine, which C libraries do not guarantee.

It uses additions and multiplications only.  Let k be the integer nearest to x / ln 2 and r = x - k ln 2.  Two parts of
ln 2 make r exact to the last bit.  Then e**x is 2**k times the Taylor polynomial of e**r up to r**13; as |r| <= 0.35,
the rest of the series is below 2**-57.  The error is less than a unit in the last place.
"""

import math
from typing import Any

import numpy as np

from ttt_batch.base.jit import inlined

LOWEST = -700.0
"""Lowest argument; below it the result is 0 instead of a probability under 1e-304."""

LOG2_E = 1.4426950408889634
LN2_HIGH, LN2_LOW = float.fromhex("0x1.62e42feep-1"), float.fromhex("0x1.a39ef35793c76p-33")
"""Two parts of ln 2; the first ends with 21 zero bits, so that k times it is exact."""

TERMS = np.array([1.0 / math.factorial(n) for n in range(14)])
POWERS = np.array([math.ldexp(1.0, -k) for k in range(1012)])
"""1 / n!, and 2**-k, which is exact."""


@inlined
def exponential(x: Any) -> Any:
    """Return e**x in [0, 1] for x <= 0, and 0 below -700 and for NaN.  x > 0 would read outside an array."""
    if not x >= LOWEST:
        return 0.0
    k = np.floor(x * LOG2_E + 0.5)
    r = (x - k * LN2_HIGH) - k * LN2_LOW
    total = TERMS[13]
    for n in range(12, -1, -1):
        total = TERMS[n] + r * total
    return total * POWERS[np.uint64(-k)]
