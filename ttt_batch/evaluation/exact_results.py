"""Exact results of policies against each other and against the best opponent, by dynamic programming.

Each is one sweep up the rows; nothing is sampled.  Players that draw their moves have probabilities float64[E], which
add up to 1 in each unfinished row.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ttt_batch.compiler.jit import Float64Array, Int64, Int64Array, Tables, inlined, kernel
from ttt_batch.games.board import DRAW, FIRST_WINS
from ttt_batch.games.graph import Graph, edges_of, mover_of, n_unfinished
from ttt_batch.simulation.action_probabilities import Probabilities, write_chances
from ttt_batch.simulation.policy import Choice, Policy

WIN, DRAWN, LOSS = 0, 1, 2


@inlined
def final_result(outcome: np.int8) -> Int64:
    """Return the result of a final position for the first player: 1, 0 or -1."""
    return 1 if outcome == FIRST_WINS else (0 if outcome == DRAW else -1)


@kernel
def expected_results(graph: Graph, first: Policy, second: Policy, result: Float64Array) -> None:
    """Compute exact results of two policies from every row on.

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
    """Return exact probabilities of a first player's win, a draw and a second player's win, from the empty board."""
    result = np.zeros((graph.code.size, 3))
    expected_results(graph, first, second, result)
    return tuple(result[0].tolist())


NEVER = 1000
"""Moves to a loss where there is none; more than a board has cells."""


@kernel
def shortest_losses(graph: Graph, policy: Policy, seat: Int64, plies: Int64Array, follow: Int64Array) -> None:
    """Find the shortest way in which the agent in `seat` (0 or 1) can lose from every row on, over all tie-breaks.

    plies: int64[S], moves to the end, or NEVER, and follow: int64[U], the edge to take or -1; both modified in place.
    """
    for row in range(n_unfinished(graph), graph.code.shape[0]):
        plies[row] = 0 if final_result(graph.outcome[row]) == 2 * seat - 1 else NEVER
    for row in range(n_unfinished(graph) - 1, -1, -1):
        lo, hi = edges_of(graph, row)
        own = mover_of(graph, row) == seat
        plies[row], follow[row] = NEVER, -1
        # An occupied cell loses for the opponent, so it is never on the way.
        for slot in range(lo, lo + policy.best[row] if own else hi):
            edge = policy.ordered[slot] if own else slot
            if plies[graph.child[edge]] + 1 < plies[row]:
                plies[row], follow[row] = plies[graph.child[edge]] + 1, edge


def losing_line(graph: Graph, policy: Policy, seat: int) -> list[int] | None:
    """Return the cells of a shortest game that the agent in `seat` can lose, or None if it cannot be beaten.

    Every move of the agent is one that its rule may pick.
    """
    plies, follow = np.zeros(graph.code.size, np.int64), np.zeros(graph.first_edge.size - 1, np.int64)
    shortest_losses(graph, policy, seat, plies, follow)
    if follow[0] < 0:
        return None
    line, row = [], 0
    while row < follow.size:
        line.append(int(graph.cell[follow[row]]))
        row = int(graph.child[follow[row]])
    return line


Shares = tuple[float, float, float]
"""Win, draw and loss of a player."""

NO_RESPONDER = 2


@kernel
def chances_of_rows(
    how: Any, tables: Tables, graph: Graph, choice: Choice, scratch: Float64Array, chance: Float64Array
) -> None:
    """Write the probability of each move of a learner that plays by `how` into `chance` (float64[E]), in place.

    scratch: float64[128], see `write_chances`.
    """
    for row in range(n_unfinished(graph)):
        write_chances(how, tables, graph, choice, row, scratch)
        lo, hi = edges_of(graph, row)
        for edge in range(lo, hi):
            chance[edge] = scratch[2 * (edge - lo)] + scratch[2 * (edge - lo) + 1]


@kernel
def results_by_chances(
    graph: Graph, first: Float64Array, second: Float64Array, responder: Int64, result: Float64Array
) -> None:
    """Compute exact results from every row on.

    first, second: float64[E], probabilities of moves.  responder: the player (0 or 1) who makes the move with the most
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
    """Return the probability of each move of a learner that plays by `how` (see `simulation.action_probabilities`)."""
    chance = np.zeros(graph.child.size)
    chances_of_rows(how, tables, graph, choice, np.zeros(128), chance)
    return Probabilities(chance)


def shares_against(graph: Graph, agent: Probabilities, opponent: Probabilities | None, seat: int) -> Shares:
    """Return win, draw and loss of an agent in `seat` (0 or 1), from the empty board.

    opponent: its probabilities; None for the best response.
    """
    other: NDArray[np.float64] = agent.chance if opponent is None else opponent.chance
    first_chance, second_chance = (agent.chance, other) if seat == 0 else (other, agent.chance)
    result = np.zeros((graph.code.size, 3))
    results_by_chances(graph, first_chance, second_chance, NO_RESPONDER if opponent is not None else 1 - seat, result)
    first, drawn, second = result[0].tolist()
    return (first, drawn, second) if seat == 0 else (second, drawn, first)
