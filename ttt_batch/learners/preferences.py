"""Gradient ascent of action preferences, shared by `reinforce` and `actor-critic`.

Source: Sutton and Barto, Reinforcement Learning, 2nd edition, sections 13.2 to 13.5.  A row's moves are drawn from
pi = softmax(theta).  V is the value of a position for its mover, a baseline.  After a game, for every move
a from s, with pi and V from before the game:

    delta = target - V(s)
    theta(s, b) += alpha * delta * (1[b = a] - pi(b | s))   for every move b of s
    V(s) += beta * delta

The target is the result for the mover if the game is over by its next turn, otherwise the learner's `turn_worth`.

In a batch with n visits of s, theta(s, b) goes 1 - (1 - alpha)**n times the mean over them of delta * (1[b = a] -
pi(b)), and V(s) as far, by beta, to the mean target.  A move's target is the mean over the games after it.
A fixed opponent's moves are not drawn from pi, so nothing is learnt from them.
"""

import functools
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ttt_batch.compiler.jit import BoolArray, Float64Array, Int64, Tables, generic, inlined
from ttt_batch.compiler.numerics import exponential
from ttt_batch.games.board import UNFINISHED
from ttt_batch.games.graph import Graph, edges_of, mover_of, n_unfinished
from ttt_batch.learners.base import (
    PREFERENCE,
    Learner,
    Settings,
    Step,
    Trajectory,
    begin,
    fold,
    is_learner,
    learn,
    share_of,
    state_value,
    step_size,
    visit_weight,
)
from ttt_batch.learners.values import move_value
from ttt_batch.simulation.policy import EXPLORING, GREEDY, Counts, score

T = TypeVar("T", bound=type[Any])

FIELDS = {
    "q": ("E", "theta, the preference for the move: it is made with the chance e**theta over the sum for its position"),
    "value": ("S", "what the position is worth to the player who moves there: a win 1, a loss -1"),
}


@functools.partial(generic, inline=True)
def turn_worth(tables: Tables, step: Step, value: float, result: float) -> Any:
    """Return the worth of being on turn in a position of this value, with this result of the games after it."""


def preferences(tables: T) -> T:
    """Register kernels for tables with a `turn_worth`, preferences `q` (float64[E]) and `value` (float64[S])."""
    score.register(tables)(move_value)
    state_value.register(tables)(_state_value)
    fold.register(tables)(_fold)
    learn.register(tables)(_learn)
    begin.register(tables)(_begin)
    return tables


def preference_learner(tables: Any, **own: Any) -> Learner:
    """Return a learner by tables of `preferences`.  own: what it alone is."""
    return Learner(
        defaults=Settings(epsilon=0.0, alpha=0.1, beta=0.1),
        prefers_symmetry=True,
        tables=tables,
        fields=FIELDS,
        start=lambda graph, worth, _: tables(np.zeros(graph.child.size), start_preferences(graph, worth)),
        start_value=0.0,
        loss=-1.0,
        temperature=1.0,
        number=PREFERENCE,
        **own,
    )


def start_preferences(graph: Graph, worth: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return float64[S]: the learners' start value for unfinished positions, the result for final ones."""
    return np.ascontiguousarray(worth[graph.ply.astype(np.int64) & 1, graph.outcome])


def _state_value(tables: Tables, graph: Graph, row: np.uint64, player: Int64) -> float:
    return tables.value[row] if mover_of(graph, row) == player else np.nan


@inlined
def _find_chances(theta: Float64Array, lo: Int64, hi: Int64, chance: Float64Array) -> None:
    """Write pi of the edges `lo` to `hi - 1` of a row into `chance` (float64[64]), in place."""
    highest, total = -np.inf, 0.0
    for edge in range(lo, hi):
        highest = theta[edge] if theta[edge] > highest else highest
    for edge in range(lo, hi):
        chance[edge - lo] = exponential(theta[edge] - highest)
        total += chance[edge - lo]
    for edge in range(lo, hi):
        chance[edge - lo] /= total


def _learn(tables: Tables, graph: Graph, game: Trajectory, plies: Int64, step: Step) -> None:
    theta, value = tables.q, tables.value
    for ply in range(plies):
        if not is_learner(step, ply & 1):
            continue
        row, taken = game.row[ply], np.int64(game.edge[ply])
        target = step.worth[ply & 1, graph.outcome[game.row[plies]]]
        if ply + 2 < plies:
            target = turn_worth(tables, step, value[game.row[ply + 2]], target)
        delta = target - value[row]
        lo, hi = edges_of(graph, row)
        _find_chances(theta, lo, hi, step.room)
        for edge in range(lo, hi):
            way = (1.0 if edge == taken else 0.0) - step.room[edge - lo]
            theta[edge] += step_size(step, edge, 1) * delta * way
        value[row] += step.beta * delta


@inlined
def _target(graph: Graph, scratch: Float64Array, step: Step, edge: Int64, player: Int64) -> float:
    """Return a move's worth for a player: the result if it ends the game, otherwise the value from its child."""
    child = graph.child[edge]
    outcome = graph.outcome[child]
    return step.worth[player, outcome] if outcome != UNFINISHED else scratch[4 * child + player]


@inlined
def _fold_preferences(
    tables: Tables, graph: Graph, counts: Counts, step: Step, row: np.uint32, before: float, target: float
) -> None:
    """Move the preferences of one row, in place.  before: its value.  target: the mean of its moves' targets.

    The mean of delta * (1[b = a] - pi(b)) is the share of b among the moves taken times its delta, less pi(b) times the
    mean delta; of one visit the terms of the definition are formed as it has them, to the last bit.
    """
    theta, taken, visits = tables.q, counts.taken, counts.arrived[row]
    lo, hi = edges_of(graph, row)
    mover, chance, mean = mover_of(graph, row), step.room, target - before
    _find_chances(theta, lo, hi, chance)
    for edge in range(lo, hi):
        n, share = taken[edge, GREEDY] + taken[edge, EXPLORING], share_of(step, edge, visits)
        if visits == 1:
            theta[edge] += share * mean * (n - chance[edge - lo])
        else:
            own = n * (_target(graph, counts.scratch, step, edge, mover) - before) if n != 0 else 0.0
            theta[edge] += share * (own / visits - chance[edge - lo] * mean)


def _fold(tables: Tables, graph: Graph, counts: Counts, step: Step, dirty: BoolArray) -> None:
    value, taken, scratch = tables.value, counts.taken, counts.scratch  # hand: what a row gives to each player
    for i in range(counts.n_visited[0] - 1, -1, -1):
        row = counts.visited[i]
        mover, before, visits = mover_of(graph, row), value[row], counts.arrived[row]
        own, others = 0.0, 0.0
        lo, hi = edges_of(graph, row)
        for edge in range(lo, hi):
            n = taken[edge, GREEDY] + taken[edge, EXPLORING]
            if n != 0:
                own += n * _target(graph, scratch, step, edge, mover)
                others += n * _target(graph, scratch, step, edge, 1 - mover)
        target = own / visits
        if is_learner(step, mover):
            _fold_preferences(tables, graph, counts, step, row, before, target)
            value[row] = before + visit_weight(step.beta, float(visits)) * (target - before)
            dirty[row] = True
        scratch[4 * row + mover] = turn_worth(tables, step, before, target)
        scratch[4 * row + 1 - mover] = others / visits


def _begin(tables: Tables, graph: Graph, row: Int64, worth: Float64Array, key: np.uint64) -> None:
    tables.value[row] = worth[0, UNFINISHED]
    if row < n_unfinished(graph):
        lo, hi = edges_of(graph, row)
        for edge in range(lo, hi):
            tables.q[edge] = 0.0
