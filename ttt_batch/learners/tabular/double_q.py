"""`double-q`: two tables of moves' values, of which one says which move is best and the other what it is worth.

Source: van Hasselt 2010; Sutton and Barto, Reinforcement Learning, 2nd edition, section 6.7.  Each player learns by
itself and takes the opponent for a part of its environment.  Of tables A and B a fair coin says which one learns.  With
s' the mover's next turn after move a from s, and b the first of the moves in s' that are best by the table that learns:

    Q(s, a) += alpha * (target - Q(s, a))
    target = the result for the mover if the game is over by then, else gamma * Q_other(s', b)

A maximum over noisy values is too high on average; the other table's value of the same move is not.  The player plays
by the mean of A and B.

The book flips the coin at every step, and here it falls once a batch, from a stream of its own, under the number of the
batch's first game.  So coin and moves are independent.  In a batch the target is the mean over the replies seen; values
of later turns are those from before the batch.
"""

from typing import NamedTuple

import numpy as np

from ttt_batch.compiler.jit import Float64Array, Int64, Integer, inlined
from ttt_batch.compiler.numerics import draw, game_base
from ttt_batch.games.board import UNFINISHED
from ttt_batch.games.graph import Graph, edges_of
from ttt_batch.learners.base import Learner, Settings, Step, begin
from ttt_batch.learners.values import batch_turn_value, learning_table, own_moves, start_q, turn_value
from ttt_batch.simulation.policy import Counts, score

TOP = np.uint64(63)


@own_moves
class DoubleQTables(NamedTuple):
    """q: float64[2, E], what a move is worth to the player who makes it, by tables A and B; a win 1, a loss -1."""

    q: Float64Array


@score.register(DoubleQTables)
def _score(tables: DoubleQTables, graph: Graph, edge: Integer, mover: Int64) -> float:
    return 0.5 * (tables.q[0, edge] + tables.q[1, edge])


@inlined
def coin(step: Step) -> Int64:
    """Return the table that learns in this batch: 0 or 1."""
    return np.int64(draw(game_base(step.chance[0], step.game), 0) >> TOP)


@learning_table.register(DoubleQTables)
def _learning_table(tables: DoubleQTables, graph: Graph, step: Step) -> tuple[Float64Array, np.int64]:
    learning = coin(step)
    return tables.q[learning], learning * graph.child.shape[0]


@turn_value.register(DoubleQTables)
def _turn_value(tables: DoubleQTables, graph: Graph, row: np.uint32, edge: Integer, step: Step) -> float:
    learning = coin(step)
    lo, hi = edges_of(graph, row)
    best = lo
    for other in range(lo + 1, hi):
        best = other if tables.q[learning, other] > tables.q[learning, best] else best
    return tables.q[1 - learning, best]


@batch_turn_value.register(DoubleQTables)
def _batch_turn_value(tables: DoubleQTables, graph: Graph, row: np.uint32, counts: Counts, step: Step) -> float:
    return turn_value(tables, graph, row, 0, step)


@begin.register(DoubleQTables)
def _begin(tables: DoubleQTables, graph: Graph, row: Int64, worth: Float64Array, key: np.uint64) -> None:
    lo, hi = edges_of(graph, row)
    for edge in range(lo, hi):
        tables.q[0, edge] = worth[0, UNFINISHED]
        tables.q[1, edge] = worth[0, UNFINISHED]


LEARNER = Learner(
    name="double-q",
    source="van Hasselt 2010; Sutton and Barto 6.7: each player for itself, one coin a batch",
    rule="Q(s,a) += alpha * (target - Q(s,a)), target = r at the end, else gamma * Q_other(s'', argmax of Q(s'',a'))",
    defaults=Settings(epsilon=0.1, alpha=0.1),
    prefers_symmetry=True,
    tables=DoubleQTables,
    fields={"q": ("2,E", "by tables A and B, what the move is worth to the player who makes it: a win 1, a loss -1")},
    start=lambda graph, worth, _: DoubleQTables(np.tile(start_q(graph, worth), (2, 1))),
    start_value=0.0,
    loss=-1.0,
)
