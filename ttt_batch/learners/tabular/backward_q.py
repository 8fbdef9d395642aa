"""`backward-q`: shared action values, each move pulled to the same player's next move.

Source: a published program that keeps its table as raw doubles.  Q(s, a) is the worth to the player who moves in s.
Every legal move within 0.01 of the best is a candidate.  After a game of moves 0 .. n - 1, from the end:

    the last move keeps its value;
    Q(s[n-2], a[n-2]) = the final position's worth to the player who made that move;
    Q(s[t], a[t]) += alpha * (gamma * Q(s[t+2], a[t+2]) - Q(s[t], a[t]))   for t = n - 3 .. 0

In a batch some replies to a move end the game and set its value, others pull it.  With p the share that sets, v the
mean value set, m the mean pull target and q = p + alpha * (1 - p), one step in expectation goes q of the way to F =
(p * v + alpha * (1 - p) * m) / q, and n steps go 1 - (1 - q)**n.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_batch.compiler.jit import BoolArray, Float64Array, Int64
from ttt_batch.games.board import UNFINISHED
from ttt_batch.games.graph import Graph, edges_of, mover_of, rows_of_edges
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
    visit_weight,
)
from ttt_batch.learners.values import best_move_value, move_value
from ttt_batch.simulation.policy import EXPLORING, GREEDY, UNIFORM, Choice, Counts, score

WINDOW = 0.01
SEEN, SHARE, SET, PULL = 0, 1, 2, 3
"""The four numbers of a row's scratch: the mean value of the moves taken from it, and for the move that led to it
the share of replies that ended the game, the mean value they set, and the mean target of the others."""


class BackwardQTables(NamedTuple):
    """q: float64[E], what a legal move is worth to the player who makes it."""

    q: Float64Array


def start_action_values(graph: Graph, worth: NDArray[np.float64], _: np.random.Generator) -> BackwardQTables:
    """Return the worth of the position after each move to its mover: for a final one, of its result."""
    mover = graph.ply[rows_of_edges(graph)] & 1
    return BackwardQTables(worth[mover, graph.outcome[graph.child]])


score.register(BackwardQTables)(move_value)
state_value.register(BackwardQTables)(best_move_value)


@fold.register(BackwardQTables)
def _fold(tables: BackwardQTables, graph: Graph, counts: Counts, step: Step, dirty: BoolArray) -> None:
    q, taken, scratch = tables.q, counts.taken, counts.scratch
    for i in range(counts.n_visited[0] - 1, -1, -1):
        row = counts.visited[i]
        visits = counts.arrived[row]
        before = 1 - mover_of(graph, row)  # the player whose move led here
        value_sum, set_sum, pull_sum, ended = 0.0, 0.0, 0.0, 0
        lo, hi = edges_of(graph, row)
        for number in range(lo, hi):
            edge = np.uint64(number)
            n = taken[edge, GREEDY] + taken[edge, EXPLORING]
            if n == 0:
                continue
            child = graph.child[edge]
            outcome = graph.outcome[child]
            if outcome != UNFINISHED:
                ended += n
                set_sum += n * step.worth[before, outcome]
            else:
                share = scratch[4 * child + SHARE]
                if share == 1.0:
                    q[edge] = scratch[4 * child + SET]
                elif share == 0.0:
                    q[edge] += share_of(step, edge, n) * (scratch[4 * child + PULL] - q[edge])
                else:
                    alpha = step_size(step, edge, n * (1.0 - share))
                    rate = share + alpha * (1.0 - share)
                    goal = (share * scratch[4 * child + SET] + alpha * (1.0 - share) * scratch[4 * child + PULL]) / rate
                    q[edge] += visit_weight(rate, float(n)) * (goal - q[edge])
                pull_sum += n * scratch[4 * child + SEEN]
            value_sum += n * q[edge]
        scratch[4 * row + SEEN] = value_sum / visits
        scratch[4 * row + SHARE] = ended / visits
        if ended != 0:
            scratch[4 * row + SET] = set_sum / ended
        if ended != visits:
            scratch[4 * row + PULL] = step.gamma * (pull_sum / (visits - ended))
        dirty[row] = True


@learn.register(BackwardQTables)
def _learn(tables: BackwardQTables, graph: Graph, game: Trajectory, plies: Int64, step: Step) -> None:
    q = tables.q
    # What the later moves are worth, those of the same player and of the other by turns.
    ahead = q[game.edge[plies - 1]]
    other = ahead
    if plies >= 2:
        other = step.worth[plies & 1, graph.outcome[game.row[plies]]]
        q[game.edge[plies - 2]] = other
    for ply in range(plies - 3, -1, -1):
        edge = game.edge[np.uint64(ply)]
        before = q[edge]
        ahead = before + step_size(step, edge, 1) * (step.gamma * ahead - before)
        q[edge] = ahead
        ahead, other = other, ahead


@begin.register(BackwardQTables)
def _begin(tables: BackwardQTables, graph: Graph, row: Int64, worth: Float64Array, key: np.uint64) -> None:
    lo, hi = edges_of(graph, row)
    for edge in range(lo, hi):
        tables.q[edge] = worth[mover_of(graph, row), graph.outcome[graph.child[edge]]]


LEARNER = Learner(
    name="backward-q",
    source="published program: shared action values, each move pulled to the same player's next one",
    rule="Q(s,a) += alpha * (gamma * Q(s'',a'') - Q(s,a)), backwards; the loser's last move is set to the result",
    defaults=Settings(epsilon=0.3, alpha=0.1, draw_worth=(0.5, 0.5)),
    choice=Choice(UNIFORM, WINDOW),
    tables=BackwardQTables,
    fields={"q": ("E", "what the move is worth to the player who makes it: a win 1, a loss 0")},
    start=start_action_values,
    edge_scores="q",
    start_value=0.5,
)
