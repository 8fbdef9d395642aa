"""Step sizes: how far `n` visits with one mean target move a value, and the settings a fold needs."""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_batch.compile import inlined, kernel

TABULATED = 1024
"""Visits whose weight is tabulated; pow and log1p in the fold cost more than the fold itself."""


class Step(NamedTuple):
    """The numbers of a fold.

    alpha: step size, (0, 1].  gamma: discount, [0, 1].
    weights: float64[1024], `visit_weight(alpha, n)` for small n.
    worth: float64[P, 4], what each outcome is worth to each player.
    """

    alpha: float
    gamma: float
    weights: Any
    worth: Any


@inlined
def visit_weight(alpha: float, n: float) -> Any:
    """Share of the way to the mean target that `n` steps of size `alpha` go: 1 - (1 - alpha)**n; n may be fractional.

    Exactly `alpha` for n = 1, so that a batch of one game is the sequential algorithm to the last bit.
    """
    if n == 1:
        return alpha
    if n == 0:
        return 0.0
    if alpha == 1.0:
        return 1.0
    return -math.expm1(n * math.log1p(-alpha))


@kernel
def fill_weights(alpha: float, weights: Any) -> None:
    """Tabulate `visit_weight`; `weights` (float64[N]) is modified in place."""
    for n in range(weights.shape[0]):
        weights[n] = visit_weight(alpha, float(n))


@inlined
def weight(step: Step, n: int) -> Any:
    """`visit_weight(step.alpha, n)` for a whole number of visits."""
    return step.weights[n] if n < TABULATED else visit_weight(step.alpha, float(n))


@inlined
def weight_of_share(step: Step, n: float) -> Any:
    """`visit_weight(step.alpha, n)` where the number of visits may be fractional."""
    whole = int(n)
    return weight(step, whole) if whole == n else visit_weight(step.alpha, n)


def make_step(alpha: float, gamma: float, worth: NDArray[np.float64]) -> Step:
    """A step with its table filled."""
    weights = np.zeros(TABULATED)
    fill_weights(alpha, weights)
    return Step(float(alpha), float(gamma), weights, worth)
