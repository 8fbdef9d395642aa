"""Judgements: the exact results that are recorded at every point of training, computed by one kernel.

For the agent in each seat the kernel lists the positions that its games can reach, by every move of the opponent and
its own best moves, and sweeps over them from final positions up to the empty board.  Nothing is sampled.  Most tables
reach a tenth of the positions, those of td half of them; sweeps over all rows would take 2 to 8 times as long.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_batch.compiler.intrinsics import FOUR, add_fours, divide_four, load_four, store_four, zeros
from ttt_batch.compiler.jit import (
    Bool,
    BoolArray,
    Float64Array,
    Int8Array,
    Int64,
    Int64Array,
    Integer,
    Tables,
    Uint8Array,
    Uint32Array,
    compile_elsewhere,
    entry_point,
    inlined,
    kernel,
)
from ttt_batch.core.resources import startable_threads
from ttt_batch.games.board import DRAW, FIRST_WINS, UNFINISHED
from ttt_batch.games.graph import Graph, edges_of, mover_of, n_unfinished
from ttt_batch.games.solution import ends_alone, solve
from ttt_batch.learners.base import Learner, state_value
from ttt_batch.simulation.policy import Choice, Policy, empty_policy, list_best


class ProofSpace(NamedTuple):
    """Workspace of `judge_tables` for a graph.

    policy: the best moves of each reached row.
    solution: int8[S], as `solution.solve` returns it.  worth: float64[P, 4].
    results: float64[4 S + 4], four numbers a row: the probabilities that the first player wins, of a draw, that the
    second wins, against random moves; and the first player's expectation against the best opponent.  The seats
    use it in turn, so that it fits into the second-level cache.
    forfeits: int64[P], the row in which each player forfeits; S, whose numbers are unused, if there is none.
    rows: uint32[U + 1], the rows reached, in order.  seen: uint8[P, S], 1 for rows that games reach.
    """

    policy: Policy
    solution: Int8Array
    worth: Float64Array
    results: Float64Array
    forfeits: Int64Array
    rows: Uint32Array
    seen: Uint8Array


@inlined
def list_seen(graph: Graph, space: ProofSpace, seat: Int64, ply: Int64, n: np.int64) -> np.int64:
    """Append the rows of `ply` that were seen, in order, to the first `n` of `space.rows`; return their new number.

    No branch: it would often be mispredicted.
    """
    rows, seen = space.rows, space.seen[seat]
    for number in range(np.int64(graph.ply_start[ply]), np.int64(graph.ply_start[ply + 1])):
        row = np.uint64(number)
        rows[np.uint64(n)] = number
        n += np.int64(seen[row])
    return n


@inlined
def reach(
    tables: Tables, graph: Graph, choice: Choice, space: ProofSpace, seat: Int64, listed: Bool
) -> tuple[np.int64, np.int64, np.int64]:
    """List in `space.rows` the rows that games can reach.

    Return (number of rows, number with the agent to move, number of these that it plays optimally).
    seat: the agent's, 0 or 1.  listed: `space.policy` already holds the best moves of these rows.

    Rows are marked first and listed ply by ply.  To list each row when it is found takes twice as long, because the
    processor must know a row's place in the list before it can test the next one.
    """
    rows, seen, solution, policy = space.rows, space.seen[seat], space.solution, space.policy
    for number in range(seen.shape[0]):  # Numba's own way would allocate
        seen[np.uint64(number)] = 0
    seen[0] = 1
    sign = np.int64(1 - 2 * seat)
    n, own, optimal = np.int64(0), np.int64(0), np.int64(0)
    for ply in range(graph.ply_start.shape[0] - 1):
        first, n = n, list_seen(graph, space, seat, ply, n)
        if ply & 1 != seat:
            for i in range(first, n):
                lo, hi = edges_of(graph, rows[np.uint64(i)])
                for edge in range(lo, hi):
                    seen[np.uint64(graph.child[np.uint64(edge)])] = 1
            continue
        own += n - first
        if not listed:
            for i in range(first, n):
                list_best(tables, graph, choice, policy, rows[np.uint64(i)])
        for i in range(first, n):
            row = rows[np.uint64(i)]
            lo, _ = edges_of(graph, row)
            worst = np.int64(1)
            for slot in range(lo, lo + np.int64(policy.best[row])):
                child = np.uint64(graph.child[policy.ordered[np.uint64(slot)]])
                worst = min(worst, sign * np.int64(solution[child]))
                seen[child] = 1
            optimal += worst == sign * np.int64(solution[row])
    return n, own, optimal


def make_proof_space(graph: Graph, worth: NDArray[np.float64], solution: NDArray[np.int8] | None = None) -> ProofSpace:
    """Return the workspace of a graph; worth: float64[P, 4].  solution: int8[S], solved here if not given."""
    results = zeros((graph.code.size + 1, FOUR), np.float64)  # aligned: no four numbers lie in two lines of memory
    final = np.flatnonzero(graph.outcome != UNFINISHED)
    result = ends_alone(graph.outcome, 1)[final]
    results[final, 1 - result], results[final, 3] = 1, result
    return ProofSpace(
        policy=empty_policy(graph),
        solution=solve(graph) if solution is None else solution,
        worth=worth,
        results=results.reshape(-1),
        forfeits=np.array([np.argmax(np.append(graph.code, player) == player) for player in (-1, -2)]),
        rows=np.zeros(graph.first_edge.size, np.uint32),
        seen=np.zeros((2, graph.code.size), np.uint8),
    )


class Judgement(NamedTuple):
    """Exact results of tables at one recorded point.

    unbeatable: bool[P], no opponent and no tie-break beats the agent in that seat.
    worst: int8[P], the worst result from that seat: 1 win, 0 draw, -1 loss.
    self_play: float64[3], first wins, draw, second wins of greedy self-play.
    versus_random: float64[P, 3], win, draw, loss of the agent in that seat against uniformly random moves.
    best_response: float64[P], wins - losses that the best opponent expects against the agent in that seat, which
    breaks ties at random.
    optimal_share: float64[P], share of the positions where the agent may have to move in which every move it may pick
    keeps the game's value.
    value_error: float64[P], mean absolute distance of the values of unfinished positions from the exact result's worth
    to each player; nan if all are unvisited.
    """

    unbeatable: BoolArray
    worst: Int8Array
    self_play: Float64Array
    versus_random: Float64Array
    best_response: Float64Array
    optimal_share: Float64Array
    value_error: Float64Array


@inlined
def record_of(graph: Graph, edge: Integer) -> np.uint64:
    """Return the index of the four numbers of the row that `edge` leads to."""
    return np.uint64(graph.child[np.uint64(edge)]) * np.uint64(FOUR)


@inlined
def average_best(graph: Graph, policy: Policy, row: np.uint32, results: Float64Array) -> None:
    """Set the results of `row` to the mean over its best moves."""
    lo, _ = edges_of(graph, row)
    best = np.int64(policy.best[row])
    total = load_four(results, record_of(graph, policy.ordered[np.uint64(lo)]))
    if best > 1:
        for slot in range(lo + 1, lo + best):
            total = add_fours(total, load_four(results, record_of(graph, policy.ordered[np.uint64(slot)])))
        total = divide_four(total, np.float64(best))
    store_four(results, row * np.uint64(FOUR), total)


@inlined
def average_all(graph: Graph, row: np.uint32, first_chooses: Bool, results: Float64Array) -> None:
    """Set the results of `row` to the mean over all legal moves, but the fourth number to the best one for its mover.

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
def set_forfeits(space: ProofSpace, seat: Int64) -> None:
    """Set the results of forfeits; an opponent of the agent in `seat` never forfeits (all 0).  seat 2: self-play."""
    for player in range(2):
        record = space.forfeits[player] * FOUR
        for outcome in range(3):  # the other player wins, if it may happen
            space.results[record + outcome] = (outcome == 2 - 2 * player) & (seat != 1 - player)


@inlined
def judge_seat(graph: Graph, space: ProofSpace, seat: Int64, n: Int64, verdict: Judgement) -> None:
    """Fill `verdict` for the agent in `seat`, but its shares and errors; `space.rows` holds the `n` rows reached."""
    results = space.results
    set_forfeits(space, seat)
    for i in range(n - 1, -1, -1):
        row = space.rows[np.uint64(i)]
        if mover_of(graph, row) == seat:
            average_best(graph, space.policy, row, results)
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
def judge_self_play(graph: Graph, space: ProofSpace, n: Int64, verdict: Judgement) -> None:
    """Fill in self-play, whose games reach some of the rows that both seats reach; `space.rows`: those of a seat."""
    results = space.results
    set_forfeits(space, 2)
    for i in range(n - 1, -1, -1):
        row = space.rows[np.uint64(i)]
        if space.seen[0, row] != 0:
            average_best(graph, space.policy, row, results)
    for outcome in range(3):
        verdict.self_play[outcome] = results[outcome]


@inlined
def value_errors(tables: Tables, graph: Graph, solution: Int8Array, worth: Float64Array, errors: Float64Array) -> None:
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
    tables: Tables, graph: Graph, choice: Choice, space: ProofSpace, listed: Bool, verdict: Judgement, seats: Any
) -> None:
    """Judge `tables`: fill `verdict` (and the working space of `space`) in place.

    listed: `space.policy` holds the best moves of every row already, as it does when a batch begins.
    seats: the first, and the one after the last.  Self-play is judged with seat 0, errors of values with seat 1.
    """
    n = np.int64(0)
    for seat in range(seats[0], seats[1]):
        n, own, optimal = reach(tables, graph, choice, space, seat, listed)
        judge_seat(graph, space, seat, n, verdict)
        verdict.optimal_share[seat] = optimal / own if own else 1.0
    if seats[0] == 0:
        judge_self_play(graph, space, n, verdict)
    if seats[1] == 2:
        value_errors(tables, graph, space.solution, space.worth, verdict.value_error)


def exact_judge(
    graph: Graph, learner: Learner, worth: NDArray[np.float64], solution: NDArray[np.int8] | None = None
) -> Callable[[Any], Judgement]:
    """Return the function that judges a learner's tables of an enumerated board, on one thread.

    worth: float64[P, 4].  solution: int8[S], see `solution.solve`; solved here if not given.
    """
    space = make_proof_space(graph, worth, solution)

    def judged(tables: Any) -> Judgement:
        verdict = make_judgement()
        judge_tables(tables, graph, learner.choice, space, False, verdict, (0, 2))
        return verdict

    return judged


LARGE = 1 << 15
"""Unfinished rows from which on a judgement takes milliseconds, so that a second thread pays."""


def listed_judge(
    tables: Tables, graph: Graph, choice: Choice, worth: NDArray[np.float64], policy: Policy, threads: int, *others: Any
) -> Callable[[Any], Judgement]:
    """Return the function that judges tables like `tables`, whose best moves `policy` holds at each call.

    threads: of two or more, two judge a large board, a seat each.  others: calls that the caller makes before it.
    """
    space = make_proof_space(graph, worth)._replace(policy=policy)
    call = judge_tables, tables, graph, choice, space, True, make_judgement(), (0, 2)
    compile_elsewhere(*others, call)
    judge = functools.cache(functools.partial(entry_point, *call))  # not before it is needed
    parts, pool = [(space, (0, 2))], None
    if threads > 1 and graph.legal.size >= LARGE and startable_threads(1):
        from concurrent.futures import ThreadPoolExecutor  # loads `logging`, too

        other = space._replace(results=zeros(space.results.shape, np.float64), rows=np.zeros_like(space.rows))
        other.results[:] = space.results
        parts, pool = [(space, (0, 1)), (other, (1, 2))], ThreadPoolExecutor(1)

    def judged(tables: Any) -> Judgement:
        verdict = make_judgement()
        here, *rest = ((tables, graph, choice, one, True, verdict, seats) for one, seats in parts)
        begun = [pool.submit(judge(), *part) for part in rest] if pool else []
        judge()(*here)
        for one in begun:
            one.result()
        return verdict

    return judged


def make_judgement(*axes: int) -> Judgement:
    """Return an empty judgement, or many; axes: lengths of the axes before a judgement's own."""
    return Judgement(
        unbeatable=np.zeros((*axes, 2), np.bool_),
        worst=np.zeros((*axes, 2), np.int8),
        self_play=np.zeros((*axes, 3)),
        versus_random=np.zeros((*axes, 2, 3)),
        best_response=np.zeros((*axes, 2)),
        optimal_share=np.zeros((*axes, 2)),
        value_error=np.zeros((*axes, 2)),
    )
