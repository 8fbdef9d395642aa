"""What two fixed policies achieve against each other: one sweep up the rows, nothing is sampled."""

from typing import Any

import numpy as np

from ttt_batch.base.jit import inlined, kernel
from ttt_batch.game.board import DRAW, FIRST_WINS
from ttt_batch.game.graph import Graph, edges_of, mover_of, n_unfinished
from ttt_batch.simulation.policy import Policy

WIN, DRAWN, LOSS = 0, 1, 2


@inlined
def final_result(outcome: int) -> Any:
    """Result of a final position for the first player: 1, 0 or -1."""
    return 1 if outcome == FIRST_WINS else (0 if outcome == DRAW else -1)


@kernel
def expected_results(graph: Graph, first: Policy, second: Policy, result: Any) -> None:
    """Exact results of two policies from every row on.

    result: float64[S, 3], modified in place: probabilities that the first player wins, of a draw, that the second wins.
    """
    for row in range(graph.code.shape[0] - 1, n_unfinished(graph) - 1, -1):
        final = final_result(graph.outcome[row])
        for outcome in range(3):
            result[row, outcome] = 1.0 if outcome == 1 - final else 0.0
    for row in range(n_unfinished(graph) - 1, -1, -1):
        lo, _ = edges_of(graph, row)
        ordered = second.ordered if mover_of(graph, row) else first.ordered
        n = second.best[row] if mover_of(graph, row) else first.best[row]
        wins, draws, losses = 0.0, 0.0, 0.0
        for slot in range(lo, lo + n):
            child = graph.child[ordered[slot]]
            wins += result[child, WIN]
            draws += result[child, DRAWN]
            losses += result[child, LOSS]
        result[row, WIN], result[row, DRAWN], result[row, LOSS] = wins / n, draws / n, losses / n


def match(graph: Graph, first: Policy, second: Policy) -> tuple[float, float, float]:
    """Exact probabilities that the first player wins, of a draw, and that the second wins, from the empty board."""
    result = np.zeros((graph.code.size, 3))
    expected_results(graph, first, second, result)
    return tuple(result[0].tolist())
