"""Policies, which order each row's moves with the best ones first, and the counts that play returns.

An agent's table fixes its policy through its choice rule.  Ordered once per batch, a greedy move and an exploratory one
are the same operation: draw among the row's first `c` edges, with `c` the number of best moves or of all of them.  The
order (best edges in cell order, then the rest in cell order) is a pure function of the tables, so nothing hidden
outlives a batch.
"""

import functools
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_batch.compiler.bits import NONE, ONE
from ttt_batch.compiler.jit import (
    BoolArray,
    Float64Array,
    Int64,
    Int64Array,
    Integer,
    Tables,
    Uint32Array,
    generic,
    inlined,
    kernel,
)
from ttt_batch.compiler.numerics import below
from ttt_batch.games.bitboards import Lines, make_lines, marks_of, scripted_cells
from ttt_batch.games.board import DRAW, FIRST_WINS, SECOND_WINS, Board
from ttt_batch.games.graph import Graph, edges_of, mover_of, n_unfinished, rows_of_edges

UNIFORM, FIRST_BEST, LAST_BEST = 0, 1, 2


class Choice(NamedTuple):
    """Choice rule of a greedy learner.

    tie: UNIFORM (each candidate equally likely), FIRST_BEST or LAST_BEST in cell order.
    window: candidates score above `best - window`; 0 means exactly the best.
    """

    tie: int
    window: float


class Policy(NamedTuple):
    """Moves that may be played in every unfinished row, all equally likely.

    ordered: uint32[E]; the moves of row r are ordered[first_edge[r]] and the best[r] - 1 entries after it; the
    others are unused.
    best: uint32[U], number of these moves (at least 1).
    """

    ordered: Uint32Array
    best: Uint32Array


@functools.partial(generic, inline=True)
def score(tables: Tables, graph: Graph, edge: Integer, mover: Int64) -> Any:
    """Return the table's score of `edge` for the player who takes it (`mover`, 0 or 1): float, NaN if unvisited."""


@inlined
def ties(choice: Choice, score_: float, best: float) -> bool:
    """Return whether a move of this score ties with the best: equal, or above `best - window`.  False for NaN."""
    return (score_ >= best) | (score_ > best - choice.window)


@inlined
def best_moves(
    tables: Tables, graph: Graph, choice: Choice, lo: Int64, hi: Int64, mover: Int64
) -> tuple[Integer, float, Int64, Int64]:
    """Return the best of the edges `lo` to `hi - 1` of a row for its mover: (n, best score, first edge, last edge).

    n: number of edges that a greedy mover may pick, those from first to last whose score `ties` with the best.  0 if
    all moves are unvisited; then all may be picked.
    Selections instead of branches, because the best move is unpredictable.
    """
    best, first, last = -np.inf, lo, lo
    if choice.tie == UNIFORM and choice.window == 0.0:  # the most common rule needs one pass less
        n: Integer = 0
        for edge in range(lo, hi):
            s = score(tables, graph, np.uint64(edge), mover)
            n = 1 if s > best else n + (s == best)
            first = edge if s > best else first
            best = s if s > best else best
        return n, best, first, hi - 1
    for edge in range(lo, hi):
        s = score(tables, graph, np.uint64(edge), mover)
        first = edge if s > best else first
        last = edge if s >= best else last
        best = s if s > best else best
    if choice.tie == FIRST_BEST:
        last = first
    elif choice.tie == LAST_BEST:
        first = last
    else:
        first, last = lo, hi - 1
    n = 0
    for edge in range(first, last + 1):
        n += ties(choice, score(tables, graph, np.uint64(edge), mover), best)
    return n, best, first, last


@inlined
def leads(tables: Tables, graph: Graph, choice: Choice, lo: Int64, hi: Int64, edge: Integer, mover: Int64) -> bool:
    """Return whether of the edges `lo` to `hi - 1` of a row `edge` is the only one that a greedy mover may pick.

    The loop does not stop early, which would be one more branch to predict.  False for ties, unless the first of
    equals is taken, since ties are common then (greedy-td one by one 1.4 times as fast).
    """
    leading = score(tables, graph, edge, mover)
    n: Integer = 0
    if choice.window != 0.0:
        for other in range(lo, hi):
            n += ties(choice, score(tables, graph, np.uint64(other), mover), leading)
    elif choice.tie == FIRST_BEST:
        for other in range(lo, hi):
            s = score(tables, graph, np.uint64(other), mover)
            n += (s > leading) | ((s >= leading) & (other <= edge))
    else:
        for other in range(lo, hi):
            n += score(tables, graph, np.uint64(other), mover) >= leading
    return n == 1


@inlined
def best_but(tables: Tables, graph: Graph, lo: Int64, hi: Int64, edge: np.uint32, mover: Int64) -> float:
    """Return the best score of the edges `lo` to `hi - 1` except `edge`; -inf if all are unvisited."""
    best = -np.inf
    for other in range(lo, hi):
        s = score(tables, graph, np.uint64(other), mover)
        best = s if (s > best) & (other != edge) else best
    return best


@inlined
def best_score(tables: Tables, graph: Graph, row: Integer, mover: Int64) -> float:
    """Return the best score of the moves of `row`; -inf if all are unvisited."""
    best = -np.inf
    lo, hi = edges_of(graph, row)
    for edge in range(lo, hi):
        s = score(tables, graph, np.uint64(edge), mover)
        best = s if s > best else best
    return best


@inlined
def is_ordered(tables: Tables, graph: Graph, choice: Choice, policy: Policy, row: Integer) -> bool:
    """Return whether a row's list is still that of `list_best`; False if a quick test cannot tell.

    Most changed values leave the best move the best.  One row in eight has ties, so the loops have no branch for them.
    """
    lo, hi = edges_of(graph, row)
    mover, n_best, favourite = mover_of(graph, row), policy.best[row], policy.ordered[lo]
    if choice.window != 0.0 or choice.tie != UNIFORM:
        return n_best == 1 and leads(tables, graph, choice, lo, hi, favourite, mover)
    leading, n, equal = score(tables, graph, favourite, mover), 0, 1
    for edge in range(lo, hi):
        n += score(tables, graph, np.uint64(edge), mover) >= leading
    for slot in range(lo + 1, lo + n_best):
        equal += score(tables, graph, policy.ordered[slot], mover) == leading
    return (n == n_best) & (equal == n_best)


@inlined
def order_row(tables: Tables, graph: Graph, choice: Choice, policy: Policy, row: Integer) -> bool:
    """List the best moves of one row; `policy` is modified in place.  Return whether they have changed."""
    if is_ordered(tables, graph, choice, policy, row):
        return False
    list_best(tables, graph, choice, policy, row)
    return True


@inlined
def list_best(tables: Tables, graph: Graph, choice: Choice, policy: Policy, row: Integer) -> None:
    """List the best moves of one row, even if the list is up to date; `policy` is modified in place."""
    lo, hi = edges_of(graph, row)
    mover = mover_of(graph, row)
    n, best, first, last = best_moves(tables, graph, choice, lo, hi, mover)
    policy.ordered[lo] = first
    if n == 1 and choice.window == 0.0:
        policy.best[row] = 1
        return
    if n == 0:
        for edge in range(lo, hi):
            policy.ordered[edge] = edge
        policy.best[row] = hi - lo
        return
    put = lo
    for edge in range(first, last + 1):
        policy.ordered[put] = edge  # overwritten by the next one unless it is among the best
        put += ties(choice, score(tables, graph, np.uint64(edge), mover), best)
    policy.best[row] = n


@inlined
def pick(tables: Tables, graph: Graph, choice: Choice, lo: Int64, hi: Int64, mover: Int64, bits: np.uint64) -> Int64:
    """Return the edge that a draw from the list of `list_best` would pick, directly from the tables.

    lo, hi: the row's first edge and the one after its last.  bits: uint64, the random number to use.
    """
    n, best, first, last = best_moves(tables, graph, choice, lo, hi, mover)
    if n == 0:
        return lo + below(bits, hi - lo)
    left = below(bits, n)
    for edge in range(first, last + 1):
        if ties(choice, score(tables, graph, np.uint64(edge), mover), best):
            if left == 0:
                return edge
            left -= 1
    return first


@inlined
def best_set(tables: Tables, graph: Graph, choice: Choice, lo: Int64, hi: Int64, mover: Int64) -> np.int64:
    """Return the edges `lo` to `hi - 1` (at most 63) that a greedy mover may pick: int64, bit i for edge lo + i.

    These are the moves of `list_best`.  Two passes without branches: play waits for them if a cached move fails.
    """
    best, bits = -np.inf, np.int64(0)
    for edge in range(lo, hi):
        s = score(tables, graph, np.uint64(edge), mover)
        best = s if s > best else best
    for edge in range(hi - 1, lo - 1, -1):
        bits = (bits << 1) | np.int64(ties(choice, score(tables, graph, np.uint64(edge), mover), best))
    if choice.tie == FIRST_BEST:
        bits &= -bits
    elif choice.tie == LAST_BEST:
        while bits & (bits - 1) != 0:
            bits &= bits - 1
    return bits if bits != 0 else (np.int64(1) << (hi - lo)) - 1


@kernel
def order_rows(tables: Tables, graph: Graph, choice: Choice, policy: Policy) -> None:
    """List the best moves of every row; `policy` is modified in place."""
    for row in range(n_unfinished(graph)):
        list_best(tables, graph, choice, policy, row)


@kernel
def write_scores(tables: Tables, graph: Graph, first: Int64, last: Int64, scores: Float64Array) -> None:
    """Write the score of every move of the rows `first` to `last - 1` for its mover, in place.

    scores: float64, a number per edge, from the first edge of row `first` on.
    """
    start = np.int64(graph.first_edge[first])
    for row in range(first, last):
        lo, hi = edges_of(graph, row)
        mover = mover_of(graph, row)
        for edge in range(lo, hi):
            scores[edge - start] = score(tables, graph, edge, mover)


def edge_scores(tables: Tables, graph: Graph) -> NDArray[np.float64]:
    """Return the score of every move for the player who makes it (float64[E])."""
    scores = np.empty(graph.child.size)
    write_scores(tables, graph, 0, graph.first_edge.size - 1, scores)
    return scores


@kernel
def row_choices(tables: Tables, graph: Graph, choice: Choice, row: Int64, chosen: BoolArray) -> None:
    """Write whether its mover may pick each move of `row` into `chosen` (bool, one an edge), in place."""
    lo, hi = edges_of(graph, row)
    mover = mover_of(graph, row)
    n, best, first, last = best_moves(tables, graph, choice, lo, hi, mover)
    for edge in range(lo, hi):
        good = edge >= first and edge <= last and ties(choice, score(tables, graph, edge, mover), best)
        chosen[edge - lo] = good or n == 0


def empty_policy(graph: Graph) -> Policy:
    """Return a policy that allows every move, in cell order (for graphs without occupied cells: random play)."""
    n_open = graph.first_edge.size - 1
    return Policy(np.arange(graph.child.size, dtype=np.uint32), np.diff(graph.first_edge).astype(np.uint32)[:n_open])


UNLISTED = Policy(np.zeros(0, np.uint32), np.zeros(0, np.uint32))
"""A policy without a list of moves: random play on a growing board; also where no policy is needed."""


def policy_among(graph: Graph, allowed: NDArray[np.bool_]) -> Policy:
    """Return the policy uniform over the `allowed` (bool[E]) edges; every unfinished row needs at least one."""
    best = np.add.reduceat(allowed, graph.first_edge[:-1], dtype=np.uint32)
    leading, ordered = _leading(graph, best), np.empty(allowed.size, np.uint32)
    ordered[leading], ordered[~leading] = np.flatnonzero(allowed), np.flatnonzero(~allowed)
    return Policy(ordered, best)


def _leading(graph: Graph, n: NDArray[np.uint32]) -> NDArray[np.bool_]:
    """Return bool[E], True for the first `n` (uint32[U]) edges of each row."""
    some = n > 0  # rows with edges to mark
    steps, starts = np.zeros(graph.child.size + 1, np.int8), graph.first_edge[:-1][some]  # 4x4 has 50 million edges
    steps[starts] += 1
    steps[starts + n[some]] -= 1
    return steps[:-1].cumsum(dtype=np.int8).astype(np.bool_)


def chosen_edges(graph: Graph, policy: Policy) -> NDArray[np.bool_]:
    """Return the edges that a policy may pick (bool[E])."""
    chosen = np.zeros(graph.child.size, np.bool_)
    # In whole arrays: larger boards have a million rows.
    chosen[policy.ordered[_leading(graph, policy.best)]] = True
    return chosen


def cell_sets(graph: Graph, chosen: NDArray[np.bool_]) -> NDArray[np.uint64]:
    """Return the cells of the `chosen` edges (bool[E]) of each unfinished row, a bit each (uint64[U])."""
    cells = np.zeros(graph.first_edge.size - 1, np.uint64)
    np.bitwise_or.at(cells, rows_of_edges(graph)[chosen], np.uint64(1) << graph.cell[chosen].astype(np.uint64))
    return cells


def legal_edges(graph: Graph) -> NDArray[np.bool_]:
    """Return the edges that are legal moves (bool[E]), all except those of occupied cells."""
    return np.asarray((graph.code >= 0)[graph.child])


def random_policy(graph: Graph) -> Policy:
    """Return the policy uniform over all legal moves."""
    if (graph.legal == np.diff(graph.first_edge)).all():
        return empty_policy(graph)
    return policy_among(graph, legal_edges(graph))


def optimal_policy(graph: Graph, solution: NDArray[np.int8]) -> Policy:
    """Return the uniform policy over legal moves that keep the game's value (solution: as from `solution.solve`)."""
    return policy_among(graph, legal_edges(graph) & (solution[graph.child] == solution[rows_of_edges(graph)]))


@kernel
def scripted_edges(lines: Lines, graph: Graph, plies: Int64, allowed: BoolArray) -> None:
    """Write whether a scripted player picks among each edge of an enumerated board into `allowed` (bool[E])."""
    for row in range(n_unfinished(graph)):
        first, second = marks_of(graph.code[row], lines.cells)
        own, other = (second, first) if mover_of(graph, row) else (first, second)
        cells = scripted_cells(lines, np.uint64(own), np.uint64(other), plies)
        lo, hi = edges_of(graph, row)
        for edge in range(lo, hi):
            allowed[edge] = cells >> np.uint64(graph.cell[edge]) & ONE != NONE


def policy_over(graph: Graph, board: Board, plies: int) -> Policy:
    """Return a scripted player's policy on a graph of all positions.  plies: RANDOM, ONE_PLY or TWO_PLY."""
    allowed = np.zeros(graph.child.size, np.bool_)
    scripted_edges(make_lines(board), graph, plies, allowed)
    return policy_among(graph, allowed)


GREEDY, EXPLORING = 0, 1


class Counts(NamedTuple):
    """Counts of one batch.

    visited: uint32[U], the unfinished rows that games reached, in row order: the first `n_visited` entries.  A sweep
    looks at no other row (a branch for each row that most batches do not reach cost 5 us a sweep).
    n_visited: int64[1].
    taken: int64[E, 2], how often each edge was taken GREEDY and EXPLORING; edges of other rows hold anything, and so do
    all where a learner needs no more than what arrived (`Learner.arrivals`).
    arrived: int64[S], how many games passed through or ended in each row.
    scratch: float64[S * 4], zeros at first, for folds alone: what a row hands to the rows above, or to the next fold.
    """

    visited: Uint32Array
    n_visited: Int64Array
    taken: Int64Array
    arrived: Int64Array
    scratch: Float64Array


def empty_counts(graph: Graph) -> Counts:
    """Return counts without a visited row."""
    return Counts(
        np.zeros(graph.first_edge.size - 1, np.uint32),
        np.zeros(1, np.int64),
        np.zeros((graph.child.size, 2), np.int64),
        np.zeros(graph.code.size, np.int64),
        np.zeros(4 * graph.code.size),
    )


@inlined
def list_visited(graph: Graph, counts: Counts, ply: Int64, n: np.int64) -> np.int64:
    """Append the rows of `ply` that games reached to the `n` listed in `counts.visited`; return the new number.

    The loop has no branch, which would be mispredicted.
    """
    for row in range(np.int64(graph.ply_start[ply]), np.int64(graph.ply_start[ply + 1])):
        counts.visited[np.uint64(n)] = row
        n += counts.arrived[np.uint64(row)] != 0
    return n


@kernel
def complete_counts(graph: Graph, policy: Policy, drawn: Uint32Array, counts: Counts, games: Int64) -> None:
    """Fill `counts` for `games` games with what was drawn and what follows from it, in one sweep down the rows.

    If a row has a single greedy move, all games that arrived and did not explore took it.
    drawn: uint32[2 * E], see `walk.Walker`; set back to zero.
    `counts` (nothing arrived) and `drawn` are modified in place.
    """
    visited, taken, arrived = counts.visited, counts.taken, counts.arrived
    n_edges = np.uint64(graph.child.shape[0])
    arrived[0] = games
    n: Any = np.int64(0)
    for ply in range(graph.ply_start.shape[0] - 1):
        first, n = n, list_visited(graph, counts, ply, n)
        for i in range(first, n):
            row = visited[i]
            rest = arrived[row]
            lo, hi = edges_of(graph, row)
            for number in range(lo, hi):
                edge = np.uint64(number)
                exploring = np.int64(drawn[n_edges + edge])
                drawn[n_edges + edge] = 0
                taken[edge, GREEDY] = 0
                taken[edge, EXPLORING] = exploring
                arrived[graph.child[edge]] += exploring
                rest -= exploring
            if policy.best[row] == 1:
                taken[policy.ordered[lo], GREEDY] = rest
                arrived[graph.child[policy.ordered[lo]]] += rest
            else:
                for number in range(lo, lo + policy.best[row]):
                    slot = np.uint64(number)
                    greedy = np.int64(drawn[slot])
                    drawn[slot] = 0
                    taken[policy.ordered[slot], GREEDY] = greedy
                    arrived[graph.child[policy.ordered[slot]]] += greedy
    counts.n_visited[0] = n


@inlined
def complete_reached(graph: Graph, drawn: Uint32Array, counts: Counts, games: Int64) -> None:
    """Fill `counts` except `taken`, for `games` games that reached each row as often as in `drawn`.

    drawn: uint32[S], set back to zero.  `counts` (empty at first) and `drawn` are modified in place.
    """
    for number in range(drawn.shape[0]):
        row = np.uint64(number)
        counts.arrived[row] = np.int64(drawn[row])
        drawn[row] = 0
    counts.arrived[0] = games
    n: Any = np.int64(0)
    for ply in range(graph.ply_start.shape[0] - 1):
        n = list_visited(graph, counts, ply, n)
    counts.n_visited[0] = n


@kernel
def clear_counts(graph: Graph, counts: Counts, ended: Int64Array) -> None:
    """Clear `counts`, and add the ends of its games to `ended` (int64[S - U], games by final row); both in place."""
    for i in range(counts.n_visited[0]):
        counts.arrived[counts.visited[i]] = 0
    counts.n_visited[0] = 0
    n_open = n_unfinished(graph)
    for final in range(ended.shape[0]):
        ended[final] += counts.arrived[n_open + final]
        counts.arrived[n_open + final] = 0


def outcomes_of(graph: Graph, ended: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return first wins, draws and second wins (int64[3]) of games with these ends (`ended` as in `clear_counts`)."""
    outcome = graph.outcome[graph.first_edge.size - 1 :]
    return np.array([ended[outcome == result].sum() for result in (FIRST_WINS, DRAW, SECOND_WINS)], np.int64)
