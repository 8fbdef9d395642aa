"""Step sizes: how far `n` visits with one mean target move a value, and the settings a fold needs."""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_batch.base.jit import inlined, kernel
from ttt_batch.simulation.chances import WIDEST

TABULATED = 1024
"""Visits whose weight is tabulated; expm1 and log1p in the fold cost more than the fold itself."""


class Step(NamedTuple):
    """The numbers of a fold, as they stand for one batch.

    alpha: step size, (0, 1].  gamma: discount, [0, 1].
    weights: float64[1024], `visit_weight(alpha, n)` for small n.
    worth: float64[P, 4], what each outcome is worth to each player.
    power: 0, or p where the step size of a value's n-th visit is 1 / n**p.
    visits: float64, a number per entry of the table (none where `power` is 0): updates so far, kept by `share_of`.
    epsilon: probability of an exploratory move, [0, 1].  seat: the player that it holds for, -1 for both.
    game: the batch's first game.  chance: uint64[1], the key of the stream from which a rule itself may draw.
    lambda_, cut: of learners that have traces, beta: of those with a second table, see `Settings`.
    temperature: of play by softmax; 0 for epsilon-greedy play.  room: float64[64], scratch for the moves of a row.
    """

    alpha: float
    gamma: float
    weights: Any
    worth: Any
    power: float
    visits: Any
    epsilon: float
    seat: int
    game: int
    chance: Any
    lambda_: float
    cut: bool
    beta: float
    temperature: float
    room: Any


@inlined
def with_game(step: Step, alpha: float, epsilon: float, seat: Any, game: Any) -> Any:
    """The numbers of a batch that begins with `game`."""
    return Step(
        alpha,
        step.gamma,
        step.weights,
        step.worth,
        step.power,
        step.visits,
        epsilon,
        np.int64(seat),  # type: ignore[arg-type]
        np.int64(game),  # type: ignore[arg-type]
        step.chance,
        step.lambda_,
        step.cut,
        step.beta,
        step.temperature,
        step.room,
    )


@inlined
def is_learner(step: Step, mover: Any) -> Any:
    """Whether this player (0 or 1) is the learner, not a fixed opponent."""
    return step.seat < 0 or mover == step.seat


@inlined
def exploring_share(step: Step, mover: Any) -> Any:
    """The probability that a move of this player (0 or 1) is exploratory: 0 for a player that never explores."""
    return step.epsilon if is_learner(step, mover) else 0.0


@inlined
def visit_weight(alpha: float, n: float) -> Any:
    """Share of the way to the mean target that `n` steps of size `alpha` go: 1 - (1 - alpha)**n; n may be fractional.

    Exactly `alpha` for n = 1, so that a batch of one game is the sequential algorithm to the last bit.
    """
    if n == 1:
        return alpha
    if n == 0:
        return 0.0
    if alpha == 1.0 or n * alpha > 40.0:  # beyond 40 the formula rounds to 1, at 20 times the cost
        return 1.0
    return -math.expm1(n * math.log1p(-alpha))


@kernel
def fill_weights(alpha: float, weights: Any) -> None:
    """Tabulate `visit_weight`; `weights` (float64[N]) is modified in place."""
    for n in range(weights.shape[0]):
        weights[n] = visit_weight(alpha, float(n))


@inlined
def step_size(step: Step, entry: Any, n: float) -> Any:
    """The step size of table entry `entry` in this batch, counting its `n` visits."""
    if step.power == 0.0:
        return step.alpha
    before = step.visits[entry]
    step.visits[entry] = before + n
    return (before + 1.0) ** -step.power


@inlined
def share_of(step: Step, entry: Any, n: Any) -> Any:
    """Share of the way to its mean target that table entry `entry` goes in a batch that visits it `n` times.

    n: int, or float where visits are fractional.
    """
    if step.power == 0.0:
        whole = int(n)
        return step.weights[whole] if whole == n and whole < TABULATED else visit_weight(step.alpha, float(n))
    return visit_weight(step_size(step, entry, n), float(n))


def make_step(
    alpha: float,
    gamma: float,
    worth: NDArray[np.float64],
    power: float = 0.0,
    visits: NDArray[np.float64] | None = None,
    *,
    epsilon: float = 0.0,
    lambda_: float | None = None,
    cut: bool | None = None,
    beta: float | None = None,
    temperature: float | None = None,
    chance: Any = np.uint64(0),  # noqa: B008 - a number
) -> Step:
    """A step with its table filled, of self-play from game 0 on; `chance` is the key itself."""
    weights = np.zeros(TABULATED)
    fill_weights(alpha, weights)
    kept = np.zeros(0) if visits is None else visits
    drawn = np.array([chance], np.uint64)
    own = float(lambda_ or 0.0), bool(cut), float(beta or 0.0), float(temperature or 0.0), np.zeros(WIDEST)
    return Step(float(alpha), float(gamma), weights, worth, float(power), kept, float(epsilon), -1, 0, drawn, *own)
