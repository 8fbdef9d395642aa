"""What policies achieve against each other, at worst, and a shortest game that one can lose.

Each is one sweep up the rows; nothing is sampled.
"""

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


@kernel
def worst_results(graph: Graph, policy: Policy, seat: int, result: Any) -> None:
    """The agent's worst result from every row on, against any opponent and with every tie broken against it.

    result: int8[S], modified in place: 1 the agent wins, 0 draws, -1 loses; the agent sits in `seat` (0 or 1).
    """
    sign = 1 - 2 * seat
    for row in range(n_unfinished(graph), graph.code.shape[0]):
        result[row] = sign * final_result(graph.outcome[row])
    for row in range(n_unfinished(graph) - 1, -1, -1):
        lo, hi = edges_of(graph, row)
        worst = 1
        if mover_of(graph, row) == seat:
            for slot in range(lo, lo + policy.best[row]):
                worst = min(worst, result[graph.child[policy.ordered[slot]]])
        else:
            # An occupied cell loses for the opponent, so it changes no minimum.
            for edge in range(lo, hi):
                worst = min(worst, result[graph.child[edge]])
        result[row] = worst


@kernel
def shortest_losses(graph: Graph, policy: Policy, seat: int, worst: Any, plies: Any, follow: Any) -> None:
    """Find the shortest way to lose from every row in which the agent in `seat` can lose (`worst` is -1 there).

    worst: int8[S], as `worst_results` gives it.
    plies: int64[S], moves to the end, and follow: int64[U], the edge to take or -1; both are modified in place.
    """
    plies[:] = 0
    for row in range(n_unfinished(graph) - 1, -1, -1):
        lo, hi = edges_of(graph, row)
        own = mover_of(graph, row) == seat
        follow[row] = -1
        for slot in range(lo, lo + policy.best[row] if own else hi):
            edge = policy.ordered[slot] if own else slot
            child = graph.child[edge]
            if worst[child] == -1 and (follow[row] < 0 or plies[child] + 1 < plies[row]):
                follow[row] = edge
                plies[row] = plies[child] + 1


def losing_line(graph: Graph, policy: Policy, seat: int) -> list[int] | None:
    """Cells of a shortest game that the agent in `seat` can lose, or None if it cannot be beaten.

    Every move of the agent is one that its rule may pick.
    """
    worst = np.zeros(graph.code.size, np.int8)
    worst_results(graph, policy, seat, worst)
    if worst[0] >= 0:
        return None
    follow = np.zeros(graph.first_edge.size - 1, np.int64)
    shortest_losses(graph, policy, seat, worst, np.zeros(graph.code.size, np.int64), follow)
    line, row = [], 0
    while row < follow.size:
        line.append(int(graph.cell[follow[row]]))
        row = int(graph.child[follow[row]])
    return line
