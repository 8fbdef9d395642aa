"""What players with chances achieve, exactly: against each other, and against the best opponent.

Each is one sweep up the rows, as in `exact_results`; chances are float64[E], those of an unfinished row add up to 1.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ttt_batch.base.jit import kernel
from ttt_batch.evaluation.exact_results import DRAWN, LOSS, WIN, final_result
from ttt_batch.game.graph import Graph, edges_of, mover_of, n_unfinished
from ttt_batch.simulation.chances import Probabilities, write_chances
from ttt_batch.simulation.policy import Choice

Shares = tuple[float, float, float]
"""Win, draw and loss of a player."""

NO_RESPONDER = 2


@kernel
def chances_of_rows(how: Any, tables: Any, graph: Graph, choice: Choice, scratch: Any, chance: Any) -> None:
    """Write how likely a learner that plays by `how` makes each move into `chance` (float64[E]), in place.

    scratch: float64[128], see `write_chances`.
    """
    for row in range(n_unfinished(graph)):
        write_chances(how, tables, graph, choice, row, scratch)
        lo, hi = edges_of(graph, row)
        for edge in range(lo, hi):
            chance[edge] = scratch[2 * (edge - lo)] + scratch[2 * (edge - lo) + 1]


@kernel
def results_by_chances(graph: Graph, first: Any, second: Any, responder: int, result: Any) -> None:
    """Exact results from every row on.

    first, second: float64[E], the players' chances.  responder: the player (0 or 1) who makes the move with the most
    wins - losses instead, the first of equals; NO_RESPONDER for none.
    result: float64[S, 3], modified in place: probabilities that the first player wins, of a draw, that the second wins.
    """
    for row in range(n_unfinished(graph), graph.code.shape[0]):
        final = final_result(graph.outcome[row])
        for outcome in range(3):
            result[row, outcome] = 1.0 if outcome == 1 - final else 0.0
    for row in range(n_unfinished(graph) - 1, -1, -1):
        lo, hi = edges_of(graph, row)
        mover = mover_of(graph, row)
        if mover == responder:
            best, chosen, sign = -2.0, lo, 1.0 - 2.0 * mover
            for edge in range(lo, hi):
                child = graph.child[edge]
                gain = sign * (result[child, WIN] - result[child, LOSS])
                chosen = edge if gain > best else chosen
                best = gain if gain > best else best
            for outcome in range(3):
                result[row, outcome] = result[graph.child[chosen], outcome]
            continue
        wins, draws, losses = 0.0, 0.0, 0.0
        for edge in range(lo, hi):
            child, p = graph.child[edge], (second[edge] if mover else first[edge])
            wins += p * result[child, WIN]
            draws += p * result[child, DRAWN]
            losses += p * result[child, LOSS]
        result[row, WIN], result[row, DRAWN], result[row, LOSS] = wins, draws, losses


def chances_of(how: Any, tables: Any, graph: Graph, choice: Choice) -> Probabilities:
    """How likely a learner that plays by `how` (see `simulation.chances`) makes each move."""
    chance = np.zeros(graph.child.size)
    chances_of_rows(how, tables, graph, choice, np.zeros(128), chance)
    return Probabilities(chance)


def shares_against(graph: Graph, agent: Probabilities, opponent: Probabilities | None, seat: int) -> Shares:
    """Win, draw and loss of an agent in `seat` (0 or 1), from the empty board.

    opponent: its chances; None for the best one, who knows the agent's.
    """
    other: NDArray[np.float64] = agent.chance if opponent is None else opponent.chance
    first_chance, second_chance = (agent.chance, other) if seat == 0 else (other, agent.chance)
    result = np.zeros((graph.code.size, 3))
    results_by_chances(graph, first_chance, second_chance, NO_RESPONDER if opponent is not None else 1 - seat, result)
    first, drawn, second = result[0].tolist()
    return (first, drawn, second) if seat == 0 else (second, drawn, first)
