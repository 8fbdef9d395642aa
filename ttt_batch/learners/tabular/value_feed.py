"""`value-feed`: the final reward fed back through each player's own afterstates, discounted.

Source: a published program that saves its first player as `policy_p1`.  After a game each player runs over its
own afterstates, the final one included, from last to first, with r the reward at first:

    V(s) += alpha * (gamma * r - V(s));   r = V(s)

A win is worth 1, a loss 0, a draw 0.1 to the first player (who therefore plays to win) and 0.5 to the second.
A greedy move goes to the best afterstate seen before, the last of equals; if none was seen, every move is possible.

In a batch, an afterstate's target through a reply is the mean value of the next own afterstate over all continuations
seen from that reply.  Those values are updated first.
"""

from typing import NamedTuple

import numpy as np

from ttt_batch.compiler.jit import BoolArray, Float64Array, Int64, Integer, inlined
from ttt_batch.games.graph import Graph, edges_of, mover_of, n_unfinished
from ttt_batch.learners.base import Learner, Settings, Step, Trajectory, fold, learn, mark_parents, share_of, step_size
from ttt_batch.learners.values import own_afterstates
from ttt_batch.simulation.policy import EXPLORING, GREEDY, LAST_BEST, Choice, Counts


@own_afterstates
class ValueFeedTables(NamedTuple):
    """value: float64[P, S], what an own afterstate is worth to each player; nan where never updated."""

    value: Float64Array


@inlined
def _step_towards(value: Float64Array, player: Integer, row: Integer, share: float, target: float) -> bool:
    """Move one value `share` of the way to `target`, from 0 where it was never seen; return whether it changed."""
    before = value[player, row]
    origin = before if before == before else 0.0
    value[player, row] = origin + share * (target - origin)
    return value[player, row] != before


@fold.register(ValueFeedTables)
def _fold(tables: ValueFeedTables, graph: Graph, counts: Counts, step: Step, dirty: BoolArray) -> None:
    value, taken, ahead = tables.value, counts.taken, counts.scratch
    n_rows = graph.code.shape[0]
    for row in range(n_unfinished(graph), graph.code.shape[0]):
        visits = counts.arrived[row]
        if visits != 0:
            player = 1 - mover_of(graph, row)
            target = step.gamma * step.worth[player, graph.outcome[row]]
            if _step_towards(value, player, row, share_of(step, player * n_rows + row, visits), target):
                mark_parents(graph, row, dirty, True)
    for i in range(counts.n_visited[0] - 1, -1, -1):
        row = counts.visited[i]
        visits = counts.arrived[row]
        mover, waiting = np.uint64(mover_of(graph, row)), np.uint64(1 - mover_of(graph, row))
        own_sum, waiting_sum = 0.0, 0.0
        lo, hi = edges_of(graph, row)
        for number in range(lo, hi):
            edge = np.uint64(number)
            n = taken[edge, GREEDY] + taken[edge, EXPLORING]
            if n != 0:
                child = graph.child[edge]
                own_sum += n * value[mover, child]
                outcome = graph.outcome[child]
                waiting_sum += n * (step.worth[waiting, outcome] if outcome != 0 else ahead[child])
        ahead[row] = own_sum / visits
        if row != 0:
            target = step.gamma * (waiting_sum / visits)
            if _step_towards(value, waiting, row, share_of(step, np.int64(waiting) * n_rows + row, visits), target):
                mark_parents(graph, row, dirty, True)


@learn.register(ValueFeedTables)
def _learn(tables: ValueFeedTables, graph: Graph, game: Trajectory, plies: Int64, step: Step) -> None:
    value, outcome = tables.value, graph.outcome[game.row[plies]]
    reward, other = step.worth[(plies - 1) & 1, outcome], step.worth[plies & 1, outcome]
    for ply in range(plies, 0, -1):  # the two players by turns, each with a reward of its own
        player, row = np.uint64((ply - 1) & 1), game.row[np.uint64(ply)]
        size = step_size(step, np.int64(player) * graph.code.shape[0] + row, 1)
        _step_towards(value, player, row, size, step.gamma * reward)
        reward, other = other, value[player, row]


LEARNER = Learner(
    name="value-feed",
    source="published program: the final reward fed back through own afterstates, discounted",
    rule="V(s) += alpha * (gamma * r - V(s)), r = V(s), over own afterstates from last to first, r the reward at first",
    defaults=Settings(epsilon=0.3, alpha=0.3, gamma=0.9, draw_worth=(0.1, 0.5)),
    games=100_000,
    choice=Choice(LAST_BEST, 0.0),
    final_rows=True,
    tables=ValueFeedTables,
    fields={
        "value": ("P,S", "what an own afterstate is worth to the player, nan where never updated: a win 1, a loss 0")
    },
    start=lambda graph, _worth, _: ValueFeedTables(np.full((2, graph.code.size), np.nan)),
)
