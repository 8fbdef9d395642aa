"""Tables of values: how they rank a move, what a row is worth by them, and how a new row begins.

Each decorator below registers `score`, `state_value` and `begin` for a class of tables.  What is left to a learner are
its start values and its rule, `fold` and `learn`.
"""

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ttt_batch.base.jit import inlined
from ttt_batch.game.graph import Graph, mover_of
from ttt_batch.learners.base import begin, start_row, state_value
from ttt_batch.simulation.policy import best_score, score

T = TypeVar("T", bound=type[Any])


def one_value(tables: T) -> T:
    """For tables whose `value`, float64[S], is what each row is worth to the first player."""
    score.register(tables)(_one_score)
    state_value.register(tables)(_one_value)
    begin.register(tables)(_begin_as_shared)
    return tables


def own_values(tables: T) -> T:
    """For tables whose `value`, float64[P, S], is what each row is worth to each player."""
    score.register(tables)(_own_score)
    state_value.register(tables)(_own_value)
    begin.register(tables)(_begin_as_shared)
    return tables


def own_afterstates(tables: T) -> T:
    """As `own_values`, for learners that value a row only for the player who moved there.

    A row in which the player moves is worth the best of the rows that its moves lead to.
    """
    score.register(tables)(_own_score)
    state_value.register(tables)(_own_afterstate)
    begin.register(tables)(_begin_as_shared)
    return tables


def own_worth(graph: Graph, worth: NDArray[np.float64]) -> NDArray[np.float64]:
    """float64[P, S], start values: every row holds what its outcome is worth."""
    return np.ascontiguousarray(worth[:, graph.outcome])


def _one_score(tables: Any, graph: Graph, edge: int, mover: int) -> Any:
    value = tables.value[graph.child[edge]]
    return -value if mover else value


def _one_value(tables: Any, graph: Graph, row: int, player: int) -> Any:
    return -tables.value[row] if player else tables.value[row]


def _own_score(tables: Any, graph: Graph, edge: int, mover: int) -> Any:
    return tables.value[mover, graph.child[edge]]


def _own_value(tables: Any, graph: Graph, row: int, player: int) -> Any:
    return tables.value[player, row]


def _own_afterstate(tables: Any, graph: Graph, row: int, player: int) -> Any:
    if mover_of(graph, row) != player:
        return tables.value[player, row]
    best = best_score(tables, graph, row, player)
    return best if best > -np.inf else np.nan


@inlined
def _copy_row(value: Any, row: Any, origin: Any) -> None:
    if value.ndim == 1:
        value[row] = value[origin]
    else:
        for player in range(value.shape[0]):
            value[player, row] = value[player, origin]


def _begin_as_shared(tables: Any, graph: Graph, row: Any, worth: Any, key: Any) -> None:
    _copy_row(tables.value, row, start_row(graph, row))
