"""The flow: how many games take each edge, drawn without playing them.

With the policy fixed the games of a batch are independent, so of the `n` games that arrive at a row a binomial number
explores; those spread evenly over all its edges and the others over its best ones, both multinomially; each child
receives the sum.  One sweep in ply order fills the counts with exactly the distribution that `n` played games give, at
a cost that depends on the graph and not on `n`.

Every row of every batch owns a SplitMix64 sequence whose start is hashed from (key, batch, row), so the rows of a ply
can be drawn in any order and by anyone.  (Threads share nothing yet: a batch takes less than 2 ms, and nine hand-overs
of 0.1 ms would eat what they gain.)

A multinomial is drawn in two ways.  Few games choose their edges one by one, eight at a time in vector registers, and
are counted in seven bits an edge of one word: 64 to 127 games over five edges take 26 ns, 111 ns with a table
of counts in memory.  More games go edge by edge, each a binomial share of what is left.

What did not pay: splitting by halves (edges 0, 2, 4, ... from 1, 3, 5, ..., and so on), which shortens the chain of
binomials that wait for each other from n - 1 to log2(n) (0 to 5 % slower); binomials from 16 games an edge on instead
of 64 (1.2 to 1.5 times the time of `td` batches of 10**5 and 10**6; the same from 32 or 127 on).
"""

from typing import Any

import numpy as np

from ttt_batch.compile import inlined, kernel
from ttt_batch.graph import Graph, edges_of
from ttt_batch.play.binomial import binomial
from ttt_batch.play.counts import EXPLORING, GREEDY, Counts, list_visited
from ttt_batch.policy import Policy
from ttt_batch.streams import GOLDEN, S32, mix

PACKED_EDGES, PACKED_GAMES = 9, 127
"""Edges and games that one word counts, in seven bits an edge."""

ONE_BY_ONE = 64
"""Games an edge up to which each game draws its own."""

SEVEN, ALL_SEVEN, HALF = (np.uint64(n) for n in (7, 127, 0xFFFFFFFF))


@inlined
def batch_base(key: Any, batch: Any) -> Any:
    """Where the numbers of batch `batch` (int, from 0) are hashed from: uint64."""
    return mix(key + np.uint64(batch) * GOLDEN)


@inlined
def row_base(base: Any, row: Any) -> Any:
    """Counter (uint64) before the first number of `row` in the batch of `base`.

    Hashed, not a stride away: a row may use any number of them.  Two sequences of a batch meet within a thousand
    numbers with a probability of about 1e-9.
    """
    return mix(base + np.uint64(row) * GOLDEN)


@inlined
def packed_shares(games: Any, n: Any, counter: Any) -> Any:
    """Let each of `games` (at most PACKED_GAMES) choose one of `n` edges (at most PACKED_EDGES), evenly.

    Returns (uint64, seven bits an edge from the lowest on; counter behind the last number used).  The choice is
    floor(n * bits / 2**64), so that no edge is off by more than 2**-64.
    """
    shares, n_edges = np.uint64(0), np.uint64(n)
    for game in range(1, ((games + 7) & -8) + 1):  # groups of eight, as in `binomial.successes_one_by_one`
        bits = mix(counter + np.uint64(game) * GOLDEN)
        chosen = ((bits >> S32) * n_edges + (((bits & HALF) * n_edges) >> S32)) >> S32
        shares += np.uint64(game <= games) << (chosen * SEVEN)
    return shares, counter + np.uint64(games) * GOLDEN


@kernel
def flow_rows(graph: Graph, policy: Policy, epsilon: float, base: Any, counts: Counts, first: int, last: int) -> None:
    """Draw where the games go that arrived at the rows `counts.visited[first:last]`, all of one ply.

    epsilon: the probability that a game explores there, [0, 1].  base: see `batch_base`.
    `counts.taken` of these rows is written, and `counts.arrived` of their children added to, in place.
    """
    visited, taken, arrived = counts.visited, counts.taken, counts.arrived
    for i in range(first, last):
        row = visited[i]
        games = arrived[row]
        counter = row_base(base, row)
        lo, hi = edges_of(graph, row)
        for edge in range(lo, hi):
            taken[edge, GREEDY] = 0
            taken[edge, EXPLORING] = 0
        exploring: Any = np.int64(0)
        if epsilon > 0.0:
            exploring, counter = binomial(games, epsilon, counter)
        for kind in range(2):
            left: Any = exploring if kind == EXPLORING else games - exploring
            slot: Any = np.int64(lo)
            n: Any = np.int64(hi - lo if kind == EXPLORING else policy.best[row])
            while left > 0:
                if n == 1:
                    edge = slot if kind == EXPLORING else policy.ordered[slot]
                    taken[edge, kind] += left
                    arrived[graph.child[edge]] += left
                    left = 0
                elif n <= PACKED_EDGES and left <= ONE_BY_ONE * n:
                    now = min(left, PACKED_GAMES)
                    shares, counter = packed_shares(now, n, counter)
                    left -= now
                    for other in range(slot, slot + n):
                        edge = other if kind == EXPLORING else policy.ordered[other]
                        share = np.int64(shares & ALL_SEVEN)
                        shares >>= SEVEN
                        taken[edge, kind] += share
                        arrived[graph.child[edge]] += share
                else:
                    share, counter = binomial(left, 1.0 / n, counter)
                    edge = slot if kind == EXPLORING else policy.ordered[slot]
                    taken[edge, kind] = share
                    arrived[graph.child[edge]] += share
                    left -= share
                    slot += 1
                    n -= 1


@kernel
def flow(
    graph: Graph, policy: Policy, epsilon: float, seat: int, key: Any, batch: int, games: int, counts: Counts
) -> None:
    """Fill `counts` (nothing arrived) with `games` games of `policy`, in place; what `walk` and `complete` do.

    epsilon: probability of exploring at a ply, [0, 1].
    seat: 0 or 1 where only the player in that seat explores, -1 where both do.
    key: uint64, `stream_key(seed, streams.FLOW)`.  batch: number of the batch, from 0.  games: 1 to 10**15.
    """
    base = batch_base(key, batch)
    counts.arrived[0] = games
    n = 0
    for ply in range(graph.ply_start.shape[0] - 1):
        first, n = n, list_visited(graph, counts, ply, n)
        flow_rows(graph, policy, epsilon if seat < 0 or ply & 1 == seat else 0.0, base, counts, first, n)
    counts.n_visited[0] = n
