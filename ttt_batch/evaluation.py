"""Exact results: what policies achieve against each other, against the best opponent, and whether they can be beaten.

Each is one sweep up the rows, from final positions to the empty board; nothing is sampled.  `judge` gathers what
is recorded at every point of training.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_batch.board import DRAW, FIRST_WINS
from ttt_batch.compile import inlined, kernel
from ttt_batch.graph import Graph, edges_of, mover_of, n_unfinished
from ttt_batch.learners.base import state_value
from ttt_batch.policy import Choice, Policy, order_rows

WIN, DRAWN, LOSS = 0, 1, 2
FIRST_SEAT = 0


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


@kernel
def worst_results(graph: Graph, policy: Policy, seat: int, result: Any) -> None:
    """What the agent is sure of from every row on when opponent *and* tie-breaks are against it.

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
            # An occupied cell is no worse for the agent than any other loss of its opponent's: it changes no minimum.
            for edge in range(lo, hi):
                worst = min(worst, result[graph.child[edge]])
        result[row] = worst


@kernel
def best_response_values(graph: Graph, policy: Policy, seat: int, value: Any) -> None:
    """What the best opponent expects (wins - losses) from every row on against `policy` in `seat`, ties as its
    rule breaks them.

    value: float64[S], modified in place, from the opponent's view, -1 to 1.
    """
    sign = 2 * seat - 1
    for row in range(n_unfinished(graph), graph.code.shape[0]):
        value[row] = sign * final_result(graph.outcome[row])
    for row in range(n_unfinished(graph) - 1, -1, -1):
        lo, hi = edges_of(graph, row)
        if mover_of(graph, row) == seat:
            total = 0.0
            for slot in range(lo, lo + policy.best[row]):
                total += value[graph.child[policy.ordered[slot]]]
            value[row] = total / policy.best[row]
        else:
            best = -1.0
            for edge in range(lo, hi):
                if value[graph.child[edge]] > best:
                    best = value[graph.child[edge]]
            value[row] = best


@kernel
def optimal_share(graph: Graph, policy: Policy, seat: int, solution: Any, reached: Any) -> Any:
    """Share of the positions where the agent may have to move in `seat` in which every move it may pick keeps
    the game's value.

    solution: int8[S], as `graph.solve` gives it.  reached: bool[S], scratch.
    """
    reached[:] = False
    reached[0] = True
    total, optimal = 0, 0
    for row in range(n_unfinished(graph)):
        if not reached[row]:
            continue
        lo, hi = edges_of(graph, row)
        if mover_of(graph, row) == seat:
            total += 1
            keeps = 1
            for slot in range(lo, lo + policy.best[row]):
                child = graph.child[policy.ordered[slot]]
                reached[child] = True
                if solution[child] != solution[row]:
                    keeps = 0
            optimal += keeps
        else:
            for edge in range(lo, hi):  # of final rows, forfeits among them, nobody asks
                reached[graph.child[edge]] = True
    return optimal / total if total else 1.0


@kernel
def value_error(tables: Any, graph: Graph, player: int, solution: Any, worth: Any) -> Any:
    """Mean absolute distance of the values of unfinished positions from the true result's worth to `player`.

    nan where the table has seen none of them.
    """
    total, seen = 0.0, 0
    for row in range(n_unfinished(graph)):
        value = state_value(tables, graph, row, player)
        if value == value:
            result = solution[row]
            outcome = DRAW if result == 0 else (FIRST_WINS if result > 0 else FIRST_WINS + 1)
            total += abs(value - worth[player, outcome])
            seen += 1
    return total / seen if seen else np.nan


class Judgement(NamedTuple):
    """What is recorded of the tables at one point.

    unbeatable: bool[P], no opponent and no tie-break beats the agent in that seat.
    worst: int8[P], the worst result from that seat: 1 win, 0 draw, -1 loss.
    self_play: float64[3], first wins, draw, second wins of greedy self-play.
    versus_random: float64[P, 3], win, draw, loss of the agent in that seat against uniformly random moves.
    best_response: float64[P], wins - losses that the best opponent expects against the agent in that seat.
    optimal_share, value_error: float64[P], see the functions of these names.
    """

    unbeatable: Any
    worst: Any
    self_play: Any
    versus_random: Any
    best_response: Any
    optimal_share: Any
    value_error: Any


class Bench(NamedTuple):
    """Working space of `judge` and what it compares with, made once for a graph."""

    policy: Policy
    random: Policy
    solution: Any
    worth: Any
    results: Any
    worst: Any
    values: Any
    reached: Any


@kernel
def judge(tables: Any, graph: Graph, choice: Choice, bench: Bench, verdict: Judgement) -> None:
    """Judge `tables`: fill `verdict` (and the working space of `bench`) in place.  0.4 ms on 3x3."""
    policy = bench.policy
    order_rows(tables, graph, choice, policy)
    expected_results(graph, policy, policy, bench.results)
    for outcome in range(3):
        verdict.self_play[outcome] = bench.results[0, outcome]
    for seat in range(2):
        if seat == FIRST_SEAT:
            expected_results(graph, policy, bench.random, bench.results)
        else:
            expected_results(graph, bench.random, policy, bench.results)
        for outcome in range(3):
            verdict.versus_random[seat, outcome] = bench.results[0, 2 - outcome if seat else outcome]
        worst_results(graph, policy, seat, bench.worst)
        verdict.worst[seat] = bench.worst[0]
        verdict.unbeatable[seat] = bench.worst[0] >= 0
        best_response_values(graph, policy, seat, bench.values)
        verdict.best_response[seat] = bench.values[0]
        verdict.optimal_share[seat] = optimal_share(graph, policy, seat, bench.solution, bench.reached)
        verdict.value_error[seat] = value_error(tables, graph, seat, bench.solution, bench.worth)


def make_judgement() -> Judgement:
    """An empty judgement."""
    return Judgement(
        np.zeros(2, np.bool_),
        np.zeros(2, np.int8),
        np.zeros(3),
        np.zeros((2, 3)),
        np.zeros(2),
        np.zeros(2),
        np.zeros(2),
    )


def make_bench(
    graph: Graph, policy: Policy, random: Policy, solution: NDArray[np.int8], worth: NDArray[np.float64]
) -> Bench:
    """Working space for `judge`; `policy` is overwritten by it."""
    n_rows = graph.code.size
    return Bench(
        policy,
        random,
        solution,
        worth,
        np.zeros((n_rows, 3)),
        np.zeros(n_rows, np.int8),
        np.zeros(n_rows),
        np.zeros(n_rows, np.bool_),
    )


def match(graph: Graph, first: Policy, second: Policy) -> tuple[float, float, float]:
    """Exact probabilities that the first player wins, of a draw, and that the second wins, from the empty board."""
    result = np.zeros((graph.code.size, 3))
    expected_results(graph, first, second, result)
    return tuple(result[0].tolist())


@kernel
def shortest_losses(graph: Graph, policy: Policy, seat: int, worst: Any, plies: Any, follow: Any) -> None:
    """Find the shortest way to lose from every row where the agent in `seat` can lose (`worst` is -1 there).

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
    """Cells of a shortest game that the agent in `seat` can lose, or None where it cannot be beaten.

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
