"""What an agent's games can reach, and whether it can be beaten there; nothing else of a judgement is computed.

The agent sits in one seat.  Its games go on by every move of the opponent, and by its own best moves.  Most tables
reach a tenth of the positions; those of td, which have many ties, half of them.  Judgements by sweeps over all rows
took 2 to 8 times as long.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_batch.base.aligned import zeros
from ttt_batch.base.intrinsics import FOUR
from ttt_batch.base.jit import inlined, kernel
from ttt_batch.evaluation.exact_results import worst_results
from ttt_batch.game.board import UNFINISHED
from ttt_batch.game.graph import Graph, edges_of
from ttt_batch.game.solution import ends_alone, solve
from ttt_batch.learners.base import Learner
from ttt_batch.simulation.policy import Choice, Policy, empty_policy, list_best


class ProofSpace(NamedTuple):
    """Working space of `prove` and `judgement.judge_tables` and what they compare with, made once for a graph.

    policy: the best moves of each row that was reached.
    solution: int8[S], as `solution.solve` gives it.  worth: float64[P, 4].
    results: float64[4 S + 4], four numbers a row: the probabilities that the first player wins, of a draw, that the
    second wins, against random moves; and the first player's expectation against the best opponent.  For one agent
    after the other: three times as much would leave no room in the second cache.
    forfeits: int64[P], the row in which each player forfeits; S, whose four numbers mean nothing, if nobody can.
    safe: uint8[P, U], 1 for rows from which not even the worst agent loses: a quarter of those that td's tables reach.
    rows: uint32[U + 1], the rows reached, in order.  seen: uint8[P, S], 1 for rows that games reach.
    """

    policy: Policy
    solution: Any
    worth: Any
    results: Any
    forfeits: Any
    safe: Any
    rows: Any
    seen: Any


@inlined
def list_seen(graph: Graph, bench: ProofSpace, seat: Any, ply: Any, unsafe: Any, n: Any) -> Any:
    """Append the rows of `ply` that were seen, in order, to the first `n` of `bench.rows`; return their new number.

    unsafe: leave out safe rows.  No branch: it would often be mispredicted.
    """
    rows, seen, safe = bench.rows, bench.seen[seat], bench.safe[seat]
    for number in range(np.int64(graph.ply_start[ply]), np.int64(graph.ply_start[ply + 1])):
        row = np.uint64(number)
        rows[np.uint64(n)] = number
        n += np.int64(seen[row]) & (1 - np.int64(safe[row])) if unsafe else np.int64(seen[row])
    return n


@inlined
def reach(tables: Any, graph: Graph, choice: Choice, bench: ProofSpace, seat: Any, listed: Any, proving: Any) -> Any:
    """List in `bench.rows` the rows that games can reach; return (how many, the agent's, those played optimally).

    seat: the agent's, 0 or 1.  listed: whether `bench.policy` holds the best moves of these rows already.
    proving: give up at the first move by which the agent may lose against best play; how many is -1 then.  Safe rows
    are left out unless moves are listed: to list them takes longest.

    Rows are marked first, and a ply is listed when the one above it is done: to list each row as it is met takes twice
    as long, since the processor has to wait for the place of one before it can look whether the next was seen.
    """
    rows, seen, solution, policy = bench.rows, bench.seen[seat], bench.solution, bench.policy
    for number in range(seen.shape[0]):  # Numba's own way would allocate
        seen[np.uint64(number)] = 0
    seen[0] = 1
    sign = np.int64(1 - 2 * seat)
    n, own, optimal = np.int64(0), np.int64(0), np.int64(0)
    for ply in range(graph.ply_start.shape[0] - 1):
        first, n = n, list_seen(graph, bench, seat, ply, proving and not listed, n)
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
            if proving and worst < 0:
                return np.int64(-1), own, optimal
            optimal += worst == sign * np.int64(solution[row])
    return n, own, optimal


@kernel
def prove_tables(tables: Any, graph: Graph, choice: Choice, bench: ProofSpace, listed: bool, unbeatable: Any) -> None:
    """Fill `unbeatable` (bool[P], in place) with what `judgement.judge_tables` writes there.

    bench: modified in place.  listed: as for `reach`.
    An agent can be beaten if, and only if, a move that it may pick leads from a position that its games reach to one
    that is lost by the solution.  At the first such move the search ends.
    """
    for seat in range(2):
        lost = np.int64(bench.solution[0]) * (1 - 2 * seat) < 0
        unbeatable[seat] = not lost and reach(tables, graph, choice, bench, seat, listed, True)[0] >= 0


def exact_prover(
    graph: Graph, learner: Learner, solution: NDArray[np.int8] | None = None
) -> Callable[[Any], NDArray[np.bool_]]:
    """Return the function that gives `Judgement.unbeatable` of a learner's tables, and nothing else.

    graph: of an enumerated board.  solution: int8[S], see `solution.solve`; solved here if not given.
    """
    bench = make_bench(graph, np.zeros((2, 4)), solution)

    def proved(tables: Any) -> NDArray[np.bool_]:
        unbeatable = np.zeros(2, np.bool_)
        prove_tables(tables, graph, learner.choice, bench, False, unbeatable)
        return unbeatable

    return proved


def make_bench(graph: Graph, worth: NDArray[np.float64], solution: NDArray[np.int8] | None = None) -> ProofSpace:
    """Working space for a graph; worth: float64[P, 4].  solution: int8[S], solved here if not given."""
    policy, worst = empty_policy(graph), np.zeros((2, graph.code.size), np.int8)
    for seat in range(2):
        worst_results(graph, policy, seat, worst[seat])
    return ProofSpace(
        policy=policy,
        solution=solve(graph) if solution is None else solution,
        worth=worth,
        results=_results_of_ends(graph),
        forfeits=np.array([np.append(graph.code, player).tolist().index(player) for player in (-1, -2)]),
        safe=(worst[:, : graph.first_edge.size - 1] >= 0).astype(np.uint8),
        rows=np.zeros(graph.first_edge.size, np.uint32),
        seen=np.zeros((2, graph.code.size), np.uint8),
    )


def _results_of_ends(graph: Graph) -> NDArray[np.float64]:
    """`ProofSpace.results` with what final rows hold."""
    results = zeros((graph.code.size + 1, FOUR), np.float64)  # aligned: no four numbers lie in two lines of memory
    final = np.flatnonzero(graph.outcome != UNFINISHED)
    result = ends_alone(graph.outcome, 1)[final]
    results[final, 1 - result] = 1
    results[final, 3] = result
    return results.reshape(-1)
