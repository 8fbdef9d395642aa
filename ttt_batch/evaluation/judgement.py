"""Judgements: the exact results that are recorded at every point of training, gathered by one kernel.

For the agent in each seat a list of the positions that its games can reach is read backwards: it is a sweep from final
positions up to the empty board.  Nothing is sampled.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_batch.base.intrinsics import FOUR, add_fours, divide_four, load_four, store_four
from ttt_batch.base.jit import inlined, kernel
from ttt_batch.evaluation.proof import ProofSpace, make_bench, reach
from ttt_batch.game.board import DRAW, FIRST_WINS
from ttt_batch.game.graph import Graph, edges_of, mover_of, n_unfinished
from ttt_batch.learners.base import Learner, state_value
from ttt_batch.simulation.policy import Choice, Policy


class Judgement(NamedTuple):
    """What is recorded of the tables at one point.

    unbeatable: bool[P], no opponent and no tie-break beats the agent in that seat.
    worst: int8[P], the worst result from that seat: 1 win, 0 draw, -1 loss.
    self_play: float64[3], first wins, draw, second wins of greedy self-play.
    versus_random: float64[P, 3], win, draw, loss of the agent in that seat against uniformly random moves.
    best_response: float64[P], wins - losses that the best opponent expects against the agent in that seat, whose rule
    breaks ties at random.
    optimal_share: float64[P], share of the positions where the agent may have to move in which every move it may pick
    keeps the game's value.
    value_error: float64[P], mean absolute distance of the values of unfinished positions from the true result's worth
    to each player; nan if the table has seen none of them.
    """

    unbeatable: Any
    worst: Any
    self_play: Any
    versus_random: Any
    best_response: Any
    optimal_share: Any
    value_error: Any


@inlined
def record_of(graph: Graph, edge: Any) -> Any:
    """Where the four numbers of the row that `edge` leads to begin."""
    return np.uint64(graph.child[np.uint64(edge)]) * np.uint64(FOUR)


@inlined
def average_best(graph: Graph, policy: Policy, row: Any, results: Any) -> None:
    """Give `row` the mean of the results after its best moves."""
    lo, _ = edges_of(graph, row)
    best = np.int64(policy.best[row])
    total = load_four(results, record_of(graph, policy.ordered[np.uint64(lo)]))
    if best > 1:
        for slot in range(lo + 1, lo + best):
            total = add_fours(total, load_four(results, record_of(graph, policy.ordered[np.uint64(slot)])))
        total = divide_four(total, np.float64(best))
    store_four(results, row * np.uint64(FOUR), total)


@inlined
def average_all(graph: Graph, row: Any, first_chooses: bool, results: Any) -> None:
    """Give `row` the mean of the results after all legal moves, and as the fourth number the best one for its mover.

    first_chooses: the mover is the first player.  A move that forfeits the game is never the best.
    """
    lo, hi = edges_of(graph, row)
    after = record_of(graph, lo)
    total, best = load_four(results, after), results[after + np.uint64(3)]
    for edge in range(lo + 1, hi):
        after = record_of(graph, edge)
        total = add_fours(total, load_four(results, after))
        reply = results[after + np.uint64(3)]
        best = reply if (reply > best if first_chooses else reply < best) else best
    store_four(results, row * np.uint64(FOUR), divide_four(total, np.float64(graph.legal[row])))
    results[row * np.uint64(FOUR) + np.uint64(3)] = best


@inlined
def set_forfeits(bench: ProofSpace, seat: Any) -> None:
    """Let no opponent of the agent in `seat` forfeit a game; 2 for the agent in both seats, which may."""
    for player in range(2):
        record = bench.forfeits[player] * FOUR
        for outcome in range(3):  # the other player wins, if it may happen
            bench.results[record + outcome] = (outcome == 2 - 2 * player) & (seat != 1 - player)


@inlined
def judge_seat(graph: Graph, bench: ProofSpace, seat: Any, n: Any, verdict: Judgement) -> None:
    """Fill `verdict` for the agent in `seat`, but its shares and errors; `bench.rows` holds the `n` rows reached."""
    results = bench.results
    set_forfeits(bench, seat)
    for i in range(n - 1, -1, -1):
        row = bench.rows[np.uint64(i)]
        if mover_of(graph, row) == seat:
            average_best(graph, bench.policy, row, results)
        else:
            average_all(graph, row, seat == 1, results)
    for outcome in range(3):
        verdict.versus_random[seat, outcome] = results[2 - outcome if seat else outcome]
    # Random moves find every way to lose, and every draw.
    loses, draws = verdict.versus_random[seat, 2] > 0.0, verdict.versus_random[seat, 1] > 0.0
    verdict.unbeatable[seat] = not loses
    verdict.worst[seat] = -1 if loses else (0 if draws else 1)
    verdict.best_response[seat] = results[3] if seat else 0.0 - results[3]


@inlined
def judge_self_play(graph: Graph, bench: ProofSpace, n: Any, verdict: Judgement) -> None:
    """Fill in self-play, whose games reach some of the rows that both seats reach; `bench.rows`: those of seat 1."""
    results = bench.results
    set_forfeits(bench, 2)
    for i in range(n - 1, -1, -1):
        row = bench.rows[np.uint64(i)]
        if bench.seen[0, row] != 0:
            average_best(graph, bench.policy, row, results)
    for outcome in range(3):
        verdict.self_play[outcome] = results[outcome]


@inlined
def value_errors(tables: Any, graph: Graph, solution: Any, worth: Any, errors: Any) -> None:
    """Write `Judgement.value_error` to `errors`; one pass for both players."""
    first, second = 0.0, 0.0
    n_first, n_second = np.int64(0), np.int64(0)
    for row in range(n_unfinished(graph)):
        result = solution[np.uint64(row)]
        outcome = DRAW if result == 0 else (FIRST_WINS if result > 0 else FIRST_WINS + 1)
        value = state_value(tables, graph, np.uint64(row), 0)
        if value == value:
            first += abs(value - worth[0, outcome])
            n_first += 1
        value = state_value(tables, graph, np.uint64(row), 1)
        if value == value:
            second += abs(value - worth[1, outcome])
            n_second += 1
    errors[0] = first / n_first if n_first else np.nan
    errors[1] = second / n_second if n_second else np.nan


@kernel
def judge_tables(
    tables: Any, graph: Graph, choice: Choice, bench: ProofSpace, listed: bool, verdict: Judgement
) -> None:
    """Judge `tables`: fill `verdict` (and the working space of `bench`) in place.

    listed: `bench.policy` holds the best moves of every row already, as it does when a batch begins.
    """
    n = np.int64(0)
    for seat in range(2):
        n, own, optimal = reach(tables, graph, choice, bench, seat, listed, False)
        judge_seat(graph, bench, seat, n, verdict)
        verdict.optimal_share[seat] = optimal / own if own else 1.0
    judge_self_play(graph, bench, n, verdict)
    value_errors(tables, graph, bench.solution, bench.worth, verdict.value_error)


def exact_judge(
    graph: Graph, learner: Learner, worth: NDArray[np.float64], solution: NDArray[np.int8] | None = None
) -> Callable[[Any], Judgement]:
    """Return the function that judges a learner's tables of an enumerated board.

    worth: float64[P, 4].  solution: int8[S], see `solution.solve`; solved here if not given.
    """
    bench = make_bench(graph, worth, solution)

    def judged(tables: Any) -> Judgement:
        verdict = make_judgement()
        judge_tables(tables, graph, learner.choice, bench, False, verdict)
        return verdict

    return judged


def make_judgement(*axes: int) -> Judgement:
    """An empty judgement, or many; axes: the lengths of those before a judgement's own."""
    return Judgement(
        unbeatable=np.zeros((*axes, 2), np.bool_),
        worst=np.zeros((*axes, 2), np.int8),
        self_play=np.zeros((*axes, 3)),
        versus_random=np.zeros((*axes, 2, 3)),
        best_response=np.zeros((*axes, 2)),
        optimal_share=np.zeros((*axes, 2)),
        value_error=np.zeros((*axes, 2)),
    )
