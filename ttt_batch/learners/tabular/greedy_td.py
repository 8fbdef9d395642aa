"""`greedy-td`: own afterstates, online, and only greedy moves update; also for 5x5, and while playing people.

Source: a published program whose listing is lost; epsilon, alpha, the start values, that only greedy moves update
and the 30,000 games are its own, ties to the first cell and the update at the end follow a well-known program with
the same numbers.  A player that moves greedily from its last afterstate p to the next, q, learns

    V(p) += alpha * (gamma * V(q) - V(p))

and when the game ends both players learn V(p) += alpha * (gamma * worth - V(p)) where p is not itself final.

In a batch, a visit updates through the replies that ended the game and through the share of greedy moves seen from
the others; all values are those from before the batch, so the number of updates may be fractional.
"""

from typing import NamedTuple

import numpy as np

from ttt_batch.compiler.jit import BoolArray, Float64Array, Int64
from ttt_batch.games.board import UNFINISHED
from ttt_batch.games.graph import Graph, edges_of, mover_of
from ttt_batch.learners.base import (
    Learner,
    Settings,
    Step,
    Trajectory,
    explored,
    fold,
    learn,
    mark_parents,
    share_of,
    step_size,
)
from ttt_batch.learners.values import own_afterstates, own_worth
from ttt_batch.simulation.policy import EXPLORING, FIRST_BEST, GREEDY, Choice, Counts

NEXT, SHARE = 0, 1
"""The two numbers of a row's scratch: mean value of the greedy continuations, and their share of all."""


@own_afterstates
class GreedyTdTables(NamedTuple):
    """value: float64[P, S], what an own afterstate is worth to each player; a win 1, a loss 0."""

    value: Float64Array


@fold.register(GreedyTdTables)
def _fold(tables: GreedyTdTables, graph: Graph, counts: Counts, step: Step, dirty: BoolArray) -> None:
    value, taken, ahead = tables.value, counts.taken, counts.scratch
    for i in range(counts.n_visited[0]):
        row = counts.visited[i]
        mover = mover_of(graph, row)
        greedy_sum, n_greedy = 0.0, 0
        lo, hi = edges_of(graph, row)
        for number in range(lo, hi):
            edge = np.uint64(number)
            n = taken[edge, GREEDY]
            if n != 0:
                greedy_sum += n * value[mover, graph.child[edge]]
                n_greedy += n
        ahead[2 * row + SHARE] = n_greedy / counts.arrived[row]
        if n_greedy != 0:
            ahead[2 * row + NEXT] = greedy_sum / n_greedy
    for i in range(1, counts.n_visited[0]):  # the empty board is not an afterstate
        row = counts.visited[i]
        player = 1 - mover_of(graph, row)
        updates, target_sum = 0.0, 0.0
        lo, hi = edges_of(graph, row)
        for number in range(lo, hi):
            edge = np.uint64(number)
            n = taken[edge, GREEDY] + taken[edge, EXPLORING]
            if n == 0:
                continue
            child = graph.child[edge]
            outcome = graph.outcome[child]
            if outcome != UNFINISHED:
                updates += n
                target_sum += n * step.worth[player, outcome]
            elif ahead[2 * child + SHARE] > 0.0:
                greedy = n * ahead[2 * child + SHARE]
                updates += greedy
                target_sum += greedy * ahead[2 * child + NEXT]
        if updates > 0.0:
            before = value[player, row]
            share = share_of(step, player * graph.code.shape[0] + row, updates)
            value[player, row] = before + share * (step.gamma * (target_sum / updates) - before)
            if value[player, row] != before:
                mark_parents(graph, row, dirty, True)


@learn.register(GreedyTdTables)
def _learn(tables: GreedyTdTables, graph: Graph, game: Trajectory, plies: Int64, step: Step) -> None:
    value = tables.value
    for ply in range(1, plies):
        row, player = game.row[ply], (ply - 1) & 1
        ends = ply + 1 == plies
        if ends or not explored(game, ply + 1):
            before = value[player, row]
            ahead = step.worth[player, graph.outcome[game.row[plies]]] if ends else value[player, game.row[ply + 2]]
            size = step_size(step, player * graph.code.shape[0] + row, 1)
            value[player, row] = before + size * (step.gamma * ahead - before)


LEARNER = Learner(
    name="greedy-td",
    source="published program, listing lost: own afterstates, only greedy moves update; our reading",
    rule="V(p) += alpha * (gamma * V(q) - V(p)) where the move from p to q was greedy, and at the end of the game",
    defaults=Settings(epsilon=0.1, alpha=0.99),
    games=30_000,
    choice=Choice(FIRST_BEST, 0.0),
    tables=GreedyTdTables,
    fields={"value": ("P,S", "what an own afterstate is worth to the player: a win 1, a loss 0")},
    start=lambda graph, worth, _: GreedyTdTables(own_worth(graph, worth)),
    start_value=0.5,
)
