"""The flow: how many games take each edge, drawn without playing them.

With the policy fixed the games of a batch are independent.  So of the `n` games that arrive at a row a binomial number
explores; those spread evenly over all its edges and the others over its best ones, both multinomially; each child
receives the sum.  One sweep in ply order fills the counts with exactly the distribution that `n` played games give, at
a cost that depends on the graph and not on `n`.

Every row of every batch owns a SplitMix64 sequence whose start is hashed from (key, batch, row), so the rows of a ply
can be drawn in any order; one thread draws them, since a batch takes about 1 ms and nine hand-overs 0.9 ms.

Few games choose their edges one by one, eight at a time in vector registers, and are counted in seven bits an edge of
one word: 64 to 127 games over five edges take 26 ns instead of 111 ns.  More games go edge by edge, each a binomial
share of what is left.  Many rows are drawn together, so that the binomial numbers of a round do not wait for each other
(`binomial`): batches of 10**9 games and more take 0.65 to 0.8 times as long, those of 10**6 0.85 to 1.
"""

from typing import Any, NamedTuple

import numpy as np

from ttt_batch.base.jit import inlined, kernel
from ttt_batch.base.streams import GOLDEN, S32, mix
from ttt_batch.game.graph import Graph, edges_of
from ttt_batch.simulation.binomial import FEW_TRIALS, Binomials, binomial, make_binomials, settle, try_first
from ttt_batch.simulation.counts import EXPLORING, GREEDY, Counts, list_visited
from ttt_batch.simulation.exploration import epsilon_at
from ttt_batch.simulation.policy import Policy

PACKED_EDGES, PACKED_GAMES = 9, 127
"""Edges and games that one word counts, in seven bits an edge."""

ONE_BY_ONE = 64
"""Games an edge up to which each game draws its own."""

AT_ONCE = 256
"""Rows drawn together, 19 KB; 16 take 1.1 times as long, 64 1.03 times."""

SEVEN, ALL_SEVEN, HALF = (np.uint64(n) for n in (7, 127, 0xFFFFFFFF))


class Rows(NamedTuple):
    """Rows of one ply that are drawn together, at most N; scratch.

    counter: uint64[N], of the last random number used.  exploring: int64[N], games that explore.
    numbers: the binomial numbers of one round, for the rows in `place` (int64[N]).
    slot, moves: int64[N], the first of the moves that their games have yet to choose among, and how many these are.
    """

    counter: Any
    exploring: Any
    numbers: Binomials
    place: Any
    slot: Any
    moves: Any


def make_rows(most: int = AT_ONCE) -> Rows:
    """Space for `most` rows drawn together."""
    exploring, place, slot, moves = np.zeros((4, most), np.int64)
    return Rows(np.zeros(most, np.uint64), exploring, make_binomials(most), place, slot, moves)


@inlined
def batch_base(key: Any, batch: Any) -> Any:
    """The number (uint64) that those of batch `batch` (int, from 0) are hashed from."""
    return mix(key + np.uint64(batch) * GOLDEN)


@inlined
def row_base(base: Any, row: Any) -> Any:
    """Counter (uint64) before the first number of `row` in the batch of `base`.

    Hashed, since a row may use any number of them; two of a batch overlap within 1,000 with a probability of 1e-9.
    """
    return mix(base + np.uint64(row) * GOLDEN)


@inlined
def packed_shares(games: Any, n: Any, counter: Any) -> Any:
    """Let each of `games` (at most PACKED_GAMES) choose one of `n` edges (at most PACKED_EDGES), evenly.

    Returns (uint64, seven bits an edge from the lowest on; counter of the last number used).  The choice is
    floor(n * bits / 2**64), so that no edge is off by more than 2**-64.
    """
    shares, n_edges = np.uint64(0), np.uint64(n)
    for game in range(1, ((games + 7) & -8) + 1):  # groups of eight, as in `binomial.successes_one_by_one`
        bits = mix(counter + np.uint64(game) * GOLDEN)
        chosen = ((bits >> S32) * n_edges + (((bits & HALF) * n_edges) >> S32)) >> S32
        shares += np.uint64(game <= games) << (chosen * SEVEN)
    return shares, counter + np.uint64(games) * GOLDEN


@inlined
def _draw_exploring(counts: Counts, rows: Rows, epsilon: float, start: Any, n_rows: Any) -> None:
    """Draw how many of the games at the rows `counts.visited[start:start + n_rows]` explore."""
    numbers, n = rows.numbers, np.int64(0)
    for i in range(n_rows):
        games = counts.arrived[counts.visited[start + i]]
        if games <= FEW_TRIALS:
            rows.exploring[i], rows.counter[i] = binomial(games, epsilon, rows.counter[i])
        else:
            rows.place[n] = i
            numbers.counter[n], numbers.trials[n], numbers.chance[n] = rows.counter[i], games, epsilon
            n += 1
    try_first(numbers, n)
    for i in range(n):
        place = rows.place[i]
        rows.exploring[place], rows.counter[place] = settle(numbers, i)


@inlined
def _send(graph: Graph, policy: Policy, counts: Counts, kind: Any, slot: Any, games: Any) -> None:
    """Let `games` take the move in `slot`, and arrive where it leads."""
    edge = np.int64(slot if kind == EXPLORING else policy.ordered[slot])
    counts.taken[edge, kind] += games
    counts.arrived[graph.child[edge]] += games


class Left(NamedTuple):
    """`games` of one row that have yet to choose among the `moves` from `slot` on."""

    slot: Any
    moves: Any
    games: Any


@inlined
def _choose(
    graph: Graph, policy: Policy, counts: Counts, rows: Rows, kind: Any, place: Any, left: Left, counter: Any, n: Any
) -> Any:
    """Let games of one row choose their moves until a binomial number of many trials is needed.

    That becomes number `n` of the round.  Returns how many numbers the round then has.
    place: of the row among those drawn together.  counter: of its last random number used.
    """
    slot, moves, games = left
    while moves > PACKED_EDGES and 0 < games <= FEW_TRIALS:
        share, counter = binomial(games, 1.0 / np.float64(moves), counter)
        _send(graph, policy, counts, kind, slot, share)
        slot, moves, games = slot + 1, moves - 1, games - share
    if moves == 1:
        _send(graph, policy, counts, kind, slot, games)
        games = np.int64(0)
    elif moves <= PACKED_EDGES and games <= ONE_BY_ONE * moves:
        while games > 0:
            now = min(games, PACKED_GAMES)
            shares, counter = packed_shares(now, moves, counter)
            games -= now
            for here in range(slot, slot + moves):
                _send(graph, policy, counts, kind, here, np.int64(shares & ALL_SEVEN))
                shares >>= SEVEN
    rows.counter[place] = counter
    if games == 0:
        return n
    rows.place[n], rows.slot[n], rows.moves[n] = place, slot, moves
    rows.numbers.counter[n], rows.numbers.trials[n] = counter, games
    return n + 1


@inlined
def _spread(graph: Graph, policy: Policy, counts: Counts, rows: Rows, start: Any, n_rows: Any, kind: Any) -> None:
    """Let the games of one kind at the rows `counts.visited[start:start + n_rows]` choose their moves, evenly."""
    numbers, n = rows.numbers, np.int64(0)
    for i in range(n_rows):
        row = counts.visited[start + i]
        lo, hi = edges_of(graph, row)
        exploring = rows.exploring[i]
        games = exploring if kind == EXPLORING else counts.arrived[row] - exploring
        moves = hi - lo if kind == EXPLORING else np.int64(policy.best[row])
        n = _choose(graph, policy, counts, rows, kind, i, Left(lo, moves, games), rows.counter[i], n)
    while n > 0:
        for i in range(n):
            numbers.chance[i] = 1.0 / np.float64(rows.moves[i])
        try_first(numbers, n)
        drawn, n = n, np.int64(0)
        for i in range(drawn):
            share, counter = settle(numbers, i)
            place, slot, moves, games = rows.place[i], rows.slot[i], rows.moves[i], numbers.trials[i]
            _send(graph, policy, counts, kind, slot, share)
            n = _choose(graph, policy, counts, rows, kind, place, Left(slot + 1, moves - 1, games - share), counter, n)


@kernel
def flow_rows(
    graph: Graph, policy: Policy, epsilon: float, base: Any, counts: Counts, rows: Rows, first: int, last: int
) -> None:
    """Draw where the games go that arrived at the rows `counts.visited[first:last]`, all of one ply.

    epsilon: the probability that a game explores there, [0, 1].  base: see `batch_base`.  rows: scratch.
    `counts.taken` of these rows is written, and `counts.arrived` of their children added to, in place.
    """
    taken, most = counts.taken, rows.place.shape[0]
    for start in range(first, last, most):
        n_rows = min(most, last - start)
        for i in range(n_rows):
            row = counts.visited[start + i]
            rows.counter[i], rows.exploring[i] = row_base(base, row), 0
            lo, hi = edges_of(graph, row)
            for edge in range(lo, hi):
                taken[edge, GREEDY] = 0
                taken[edge, EXPLORING] = 0
        if epsilon > 0.0:
            _draw_exploring(counts, rows, epsilon, start, n_rows)
        for kind in range(2):  # GREEDY, EXPLORING
            _spread(graph, policy, counts, rows, start, n_rows, kind)


@kernel
def flow(
    graph: Graph,
    policy: Policy,
    epsilon: float,
    seat: int,
    key: Any,
    batch: int,
    games: int,
    counts: Counts,
    rows: Rows,
) -> None:
    """Fill `counts` (nothing arrived) with `games` games of `policy`, in place, as `walk` and `complete` do.

    epsilon: probability of exploring at a ply, [0, 1].  seat: see `epsilon_at`.
    key: uint64, `stream_key(seed, streams.FLOW)`.  batch: number of the batch, from 0.  games: 1 to 10**15.
    rows: scratch; how many rows it has space for does not change the counts.
    """
    base = batch_base(key, batch)
    counts.arrived[0] = games
    n: Any = np.int64(0)  # a literal 0 would be a second signature to compile
    for ply in range(graph.ply_start.shape[0] - 1):
        first, n = n, list_visited(graph, counts, ply, n)
        flow_rows(graph, policy, epsilon_at(epsilon, seat, ply), base, counts, rows, first, n)
    counts.n_visited[0] = n


# What did not pay: splitting by halves (edges 0, 2, 4, ... from 1, 3, 5, ..., and so on), which shortens the chain of
# binomials from n - 1 to log2(n) (0 to 5 % slower); binomials from 16 games an edge on instead of 64 (1.2 to 1.5 times
# the time of `td` batches of 10**5 and 10**6; the same from 32 or 127 on).
