"""Tables with one value a move, which each player sees from its own side: how they rank moves, and where they begin."""

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ttt_batch.game.board import UNFINISHED
from ttt_batch.game.graph import Graph, edges_of
from ttt_batch.learners.base import begin
from ttt_batch.learners.own_moves import learning_table, own_moves
from ttt_batch.simulation.policy import score

T = TypeVar("T", bound=type[Any])

Q_FIELD = {"q": ("E", "what the move is worth to the player who makes it: a win 1, a loss -1")}


def one_q(tables: T, *, own_only: bool = False) -> T:
    """For tables whose `q`, float64[E], is what each move is worth to its mover; own_only: see `own_moves`."""
    score.register(tables)(_score)
    learning_table.register(tables)(_learning_table)
    begin.register(tables)(_begin)
    return own_moves(tables, own_only=own_only)


def start_q(graph: Graph, worth: NDArray[np.float64]) -> NDArray[np.float64]:
    """float64[E]: every move, also one that ends the game, starts alike."""
    return np.full(graph.child.size, worth[0, UNFINISHED])


def _score(tables: Any, graph: Graph, edge: int, mover: int) -> Any:
    return tables.q[edge]


def _learning_table(tables: Any, graph: Graph, step: Any) -> Any:
    return tables.q, 0


def _begin(tables: Any, graph: Graph, row: Any, worth: Any, key: Any) -> None:
    lo, hi = edges_of(graph, row)
    for edge in range(lo, hi):
        tables.q[edge] = worth[0, UNFINISHED]
