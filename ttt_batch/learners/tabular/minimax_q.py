"""`minimax-q`: one shared table of action values; the first player maximises, the second minimises, illegal moves lose.

Source: a published program that keeps its table as CSV and trains for 10,000,000 games.  Every cell is an action;
choosing an occupied one ends the game and loses it.  Online, right after move a from s, with reward r (1 where the
first player wins, -1 where the second does, a draw its worth) and next position s':

    Q(s, a) += alpha * (target - Q(s, a)),   target = r at the end, else gamma * (max or min over a' of Q(s', a'))

with max where the first player moves in s' and min where the second does.  Online means that s' has its value from
before this game, and in a batch from before the batch.
"""

import math
from typing import NamedTuple

import numpy as np

from ttt_batch.compiler.jit import BoolArray, Float64Array, Int64, Integer, inlined
from ttt_batch.compiler.numerics import GOLDEN, draw, mix, unit
from ttt_batch.games.board import UNFINISHED
from ttt_batch.games.graph import Graph, edges_of, mover_of, n_unfinished
from ttt_batch.learners.base import (
    Learner,
    Settings,
    Step,
    Trajectory,
    begin,
    fold,
    learn,
    share_of,
    state_value,
    step_size,
)
from ttt_batch.simulation.policy import EXPLORING, FIRST_BEST, GREEDY, Choice, Counts, score


class MinimaxQTables(NamedTuple):
    """q: float64[E], what a move is worth to the first player; occupied cells are moves, too."""

    q: Float64Array


@score.register(MinimaxQTables)
def _score(tables: MinimaxQTables, graph: Graph, edge: Integer, mover: Int64) -> float:
    return -tables.q[edge] if mover else tables.q[edge]


@inlined
def _best(q: Float64Array, graph: Graph, row: Integer) -> float:
    """Return the best value of a move in `row` for its mover, from the first player's side."""
    sign = 1.0 - 2.0 * mover_of(graph, row)
    best = -np.inf
    lo, hi = edges_of(graph, row)
    for edge in range(lo, hi):
        here = sign * q[np.uint64(edge)]
        best = here if here > best else best
    return sign * best


@state_value.register(MinimaxQTables)
def _state_value(tables: MinimaxQTables, graph: Graph, row: np.uint64, player: Int64) -> float:
    best = _best(tables.q, graph, row)
    return -best if player else best


@fold.register(MinimaxQTables)
def _fold(tables: MinimaxQTables, graph: Graph, counts: Counts, step: Step, dirty: BoolArray) -> None:
    q, taken, n_open = tables.q, counts.taken, n_unfinished(graph)
    for i in range(counts.n_visited[0] - 1, -1, -1):
        row = counts.visited[i]
        sign = 1.0 - 2.0 * mover_of(graph, row)
        best, best_after = -np.inf, -np.inf
        first, first_after = -1, -1
        lo, hi = edges_of(graph, row)
        for number in range(lo, hi):
            edge = np.uint64(number)
            # No branch around unvisited edges: a share of 0 moves nothing, and costs less than a mispredicted branch.
            visits = taken[edge, GREEDY] + taken[edge, EXPLORING]
            child = graph.child[edge]
            ahead, worth = step.gamma * counts.scratch[child], step.worth[0, graph.outcome[child]]
            target = ahead if child < n_open else worth
            before = q[edge]
            here = sign * before
            first = number if here > best else first
            best = here if here > best else best
            q[edge] = before + share_of(step, edge, visits) * (target - before)
            here = sign * q[edge]
            first_after = number if here > best_after else first_after
            best_after = here if here > best_after else best_after
        # The row's best before it changed: the rows above fold with the values from before the batch.
        counts.scratch[row] = sign * best
        if first != first_after:  # the choice rule is the first best move; few of the visited rows change it
            dirty[row] = True


@learn.register(MinimaxQTables)
def _learn(tables: MinimaxQTables, graph: Graph, game: Trajectory, plies: Int64, step: Step) -> None:
    for ply in range(plies):
        edge, after = game.edge[ply], game.row[ply + 1]
        outcome = graph.outcome[after]
        over = outcome != UNFINISHED
        target = step.worth[0, outcome] if over else step.gamma * _best(tables.q, graph, after)
        tables.q[edge] += step_size(step, edge, 1) * (target - tables.q[edge])


@begin.register(MinimaxQTables)
def _begin(tables: MinimaxQTables, graph: Graph, row: Int64, worth: Float64Array, key: np.uint64) -> None:
    lo, hi = edges_of(graph, row)
    base = mix(key + np.uint64(graph.code[row]) * GOLDEN)  # by code and cell, whichever row a position has
    for edge in range(lo, hi):  # Box and Muller, "A note on the generation of random normal deviates", 1958
        cell = graph.cell[edge]
        u, v = unit(draw(base, 2 * cell)), unit(draw(base, 2 * cell + 1))
        tables.q[edge] = math.sqrt(-2.0 * math.log(1.0 - u)) * math.cos(2.0 * math.pi * v)


LEARNER = Learner(
    name="minimax-q",
    source="published program: shared action values, illegal moves lose, 10,000,000 games",
    rule="Q(s,a) += alpha * (target - Q(s,a)), target = r at the end, else gamma * best of Q(s',a'), online",
    defaults=Settings(epsilon=0.6, alpha=0.1, gamma=0.9),
    games=10_000_000,
    choice=Choice(FIRST_BEST, 0.0),
    zero_sum=True,
    occupied=True,
    tables=MinimaxQTables,
    fields={"q": ("E", "what the move is worth to the first player: a win 1, a loss -1")},
    start=lambda graph, _, rng: MinimaxQTables(rng.standard_normal(graph.child.size)),
)
