"""Judgements: the exact results that are recorded at every point of training, gathered by one kernel.

Each is one sweep up the rows, from final positions to the empty board; nothing is sampled.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_batch.base.jit import kernel
from ttt_batch.evaluation.exact_results import best_response_values, expected_results, worst_results
from ttt_batch.game.board import DRAW, FIRST_WINS
from ttt_batch.game.graph import Graph, edges_of, mover_of, n_unfinished
from ttt_batch.game.solution import solve
from ttt_batch.learners.base import Learner, state_value
from ttt_batch.simulation.policy import Choice, Policy, empty_policy, order_rows, random_policy


@kernel
def optimal_share(graph: Graph, policy: Policy, seat: int, solution: Any, reached: Any) -> Any:
    """Share of the positions where the agent may have to move in `seat` in which every move it may pick keeps
    the game's value.

    solution: int8[S], as `solution.solve` gives it.  reached: bool[S], scratch.
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
            for edge in range(lo, hi):  # including final rows, which are not counted
                reached[graph.child[edge]] = True
    return optimal / total if total else 1.0


@kernel
def value_error(tables: Any, graph: Graph, player: int, solution: Any, worth: Any) -> Any:
    """Mean absolute distance of the values of unfinished positions from the true result's worth to `player`.

    nan if the table has seen none of them.
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
    """Judge `tables`: fill `verdict` (and the working space of `bench`) in place."""
    policy = bench.policy
    order_rows(tables, graph, choice, policy)
    expected_results(graph, policy, policy, bench.results)
    for outcome in range(3):
        verdict.self_play[outcome] = bench.results[0, outcome]
    for seat in range(2):
        if seat:
            expected_results(graph, bench.random, policy, bench.results)
        else:
            expected_results(graph, policy, bench.random, bench.results)
        for outcome in range(3):
            verdict.versus_random[seat, outcome] = bench.results[0, 2 - outcome if seat else outcome]
        worst_results(graph, policy, seat, bench.worst)
        verdict.worst[seat] = bench.worst[0]
        verdict.unbeatable[seat] = bench.worst[0] >= 0
        best_response_values(graph, policy, seat, bench.values)
        verdict.best_response[seat] = bench.values[0]
        verdict.optimal_share[seat] = optimal_share(graph, policy, seat, bench.solution, bench.reached)
        verdict.value_error[seat] = value_error(tables, graph, seat, bench.solution, bench.worth)


def exact_judge(
    graph: Graph, learner: Learner, worth: NDArray[np.float64], solution: NDArray[np.int8] | None = None
) -> Callable[[Any], Judgement]:
    """Return the function that judges a learner's tables of an enumerated board.

    worth: float64[P, 4].  solution: int8[S], see `solution.solve`; solved here if not given.
    """
    bench = make_bench(graph, worth, solve(graph) if solution is None else solution)

    def judged(tables: Any) -> Judgement:
        verdict = make_judgement()
        judge(tables, graph, learner.choice, bench, verdict)
        return verdict

    return judged


def make_judgement() -> Judgement:
    """An empty judgement."""
    return Judgement(
        unbeatable=np.zeros(2, np.bool_),
        worst=np.zeros(2, np.int8),
        self_play=np.zeros(3),
        versus_random=np.zeros((2, 3)),
        best_response=np.zeros(2),
        optimal_share=np.zeros(2),
        value_error=np.zeros(2),
    )


def make_bench(graph: Graph, worth: NDArray[np.float64], solution: NDArray[np.int8]) -> Bench:
    """Working space for `judge`."""
    rows = graph.code.size
    results, worst, values, reached = np.zeros((rows, 3)), np.zeros(rows, np.int8), np.zeros(rows), np.zeros(rows, bool)
    return Bench(empty_policy(graph), random_policy(graph), solution, worth, results, worst, values, reached)
