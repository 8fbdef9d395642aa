"""Flow: counts of the games that take each edge, drawn as exact binomial numbers without playing the games.

With the policy fixed the games of a batch are independent.  So of the `n` games that arrive at a row a binomial number
explores.  These spread uniformly over all its edges, and the others over its best ones.  One sweep in ply order gives
the counts exactly the distribution of `n` played games, at a cost that depends on the graph and not on `n`.

Every row of every batch owns a SplitMix64 sequence whose start is hashed from (key, batch, row), so the rows of a ply
can be drawn in any order.  One thread draws them: a batch takes about 1 ms, and passing nine plies to threads 0.9 ms.

Few games choose their edges one by one, eight at a time in vector registers.  One word counts them, seven bits an edge:
64 to 127 games over five edges take 26 ns instead of 111 ns.  For more games each edge gets a binomial share of the
games left.  Many rows are drawn together, so that their binomial numbers do not wait for each other (`Binomials`):
batches of 10**9 games and more take 0.65 to 0.8 times as long, those of 10**6 0.85 to 1.

Binomial numbers are exact for any count up to 10**15.  Few trials are drawn one by one, small means by inversion, and
all others by BTRS, transformed rejection with a squeeze (Hörmann, "The generation of binomial random variates", Journal
of Statistical Computation and Simulation 46, 1993).

BTRS uses the ratio f(k) / f(m) of two binomial probabilities.  With log-gammas, that is a difference of numbers near
10**16, which has no correct digit.  With deviances (Loader, "Fast and accurate computation of binomial probabilities",
2000) it is right to 3e-12 at n = 10**15, out to eight standard deviations:

    f(k) = sqrt(n / (2 pi k (n - k))) exp(s(n) - s(k) - s(n - k) - D(k, np) - D(n - k, nq)),
    D(k, mean) = k log(k / mean) - (k - mean),   s(k) = log(k!) - log(sqrt(2 pi k) (k / e)**k),

where D is a series in the small distance k - np.

Uniform numbers are 2**-52 apart, which limits exactness.  Inversion gives each outcome its probability to within that.
BTRS spreads them over about 2.8 sigma integers, with a relative error of at most sigma * 2**-50 (1.4e-8 at n = 10**15
and p = 1/2).  Trials drawn one by one succeed with probability p to within 2**-64.  n * p is rounded: at n = 10**15 the
mean is off by up to 1/16, which is 4e-9 standard deviations.

`exp`, `log1p` and `sqrt` are those of `math`: Numba and Python agreed in all of 400,000 values tried, while NumPy's
`exp` and `log1p` differed in one of 22.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from ttt_batch.compiler.jit import (
    Bool,
    BoolArray,
    Float64Array,
    Int64,
    Int64Array,
    Integer,
    Uint64Array,
    inlined,
    kernel,
)
from ttt_batch.compiler.numerics import GOLDEN, S32, mix
from ttt_batch.games.graph import Graph, edges_of
from ttt_batch.simulation.policy import EXPLORING, GREEDY, Counts, Policy, list_visited
from ttt_batch.simulation.walk import epsilon_at

FEW_TRIALS = 128
"""Most trials that are drawn one by one: 20 ns, half of what the other ways take."""

SMALL_MEAN = 10.0
"""Means below it use inversion, 30 to 45 ns; BTRS, 30 to 50 ns, is valid from 10 on."""

FURTHEST = 64
"""No count of a mean below 10 exceeds this with probability 2**-64 or more (Poisson of mean 10: 4e-30)."""

S11, ONE = np.uint64(11), np.uint64(1)
TRY = np.uint64(2 * int(GOLDEN) % 2**64)
"""Stride of the counter for a try of BTRS: two random numbers."""

TABULATED = 16
STIRLING = np.array(
    [0.0]
    + [math.lgamma(k + 1.0) - (k + 0.5) * math.log(k) + k - 0.5 * math.log(2 * math.pi) for k in range(1, TABULATED)]
)
"""s(k) for small k, whose series is not exact; 0 for k = 0, for which `_size` makes the formula right."""

SERIES = 0.1
"""Up to this v (see `_deviance`) the seven terms of the series are exact to the last bit or two."""


@inlined
def uniform(bits: np.uint64) -> float:
    """Return a number strictly between 0 and 1 from 64 random bits: an odd multiple of 2**-53."""
    return np.float64((bits >> S11) | ONE) * 2.0**-53


@inlined
def _deviance(distance: float, mean: float) -> float:
    """Return D(k, mean) for k = mean + distance >= 0; distance * v + 2 k (v**3 / 3 + v**5 / 5 + ...) if v is small."""
    k = mean + distance
    v = distance / (mean + k)
    if abs(v) <= SERIES:
        w = v * v
        tail = 1 / 3 + w * (1 / 5 + w * (1 / 7 + w * (1 / 9 + w * (1 / 11 + w * (1 / 13 + w * (1 / 15))))))
        return distance * v + 2.0 * k * v * w * tail
    if k <= 0.0:
        return -distance
    return k * math.log1p(distance / mean) - distance


@inlined
def _stirling(k: Int64) -> float:
    """Return s(k), the error of Stirling's formula for log(k!)."""
    if k < TABULATED:
        return STIRLING[k]
    x = 1.0 / np.float64(k)
    w = x * x
    return x * (1 / 12 - w * (1 / 360 - w * (1 / 1260 - w * (1 / 1680))))


@inlined
def _size(k: Int64) -> float:
    """Return the k of sqrt(2 pi k) in Stirling's formula; 1 / (2 pi) for 0, so that s(0) = 0 gives 0! = 1."""
    return np.float64(k) if k > 0 else 1.0 / (2.0 * math.pi)


@inlined
def _exponent(n: Int64, k: Int64, mean: float) -> float:
    """Return -log f(k), without the root and without the terms that do not depend on k; mean = n p."""
    distance = np.float64(k) - mean
    return _stirling(k) + _stirling(n - k) + _deviance(distance, mean) + _deviance(-distance, np.float64(n) - mean)


@inlined
def probability_ratio(n: Int64, k: Int64, mode: Int64, mean: float) -> float:
    """Return f(k) / f(mode); mean = n p."""
    root = math.sqrt(_size(mode) * _size(n - mode) / (_size(k) * _size(n - k)))
    return root * math.exp(_exponent(n, mode, mean) - _exponent(n, k, mean))


@inlined
def successes_one_by_one(n: Int64, p: float, counter: np.uint64) -> tuple[np.int64, np.uint64]:
    """Return `binomial` with one random number per trial; p <= 1/2.

    Trials run in groups of eight without a loop for the rest: up to 7 trials take 3 ns instead of 9.
    """
    threshold = np.uint64(p * 2.0**64)
    successes: Integer = 0
    for trial in range(1, ((n + 7) & -8) + 1):
        successes += (mix(counter + np.uint64(trial) * GOLDEN) < threshold) & (trial <= n)
    return np.int64(successes), counter + np.uint64(n) * GOLDEN


@kernel
def binomial_by_inversion(n: Int64, p: float, counter: np.uint64) -> tuple[np.int64, np.uint64]:
    """Return `binomial` by inversion; n >= 64, p <= 1/2, n * p < 10."""
    odds = p / (1.0 - p)
    none = math.exp(n * math.log1p(-p))
    while True:
        counter += GOLDEN
        u = uniform(mix(counter))
        k, probability = 0, none
        while u > probability and k < FURTHEST:
            u -= probability
            k += 1
            probability *= (n - k + 1) / k * odds
        if k < FURTHEST:  # else rounding left u above the sum of all probabilities: draw again
            return np.int64(k), counter


@inlined
def _hat(n: Int64, p: float) -> tuple[float, float, float, float, float, float]:
    """Return BTRS's constants, with Hörmann's names: (spq, a, b, v_r, whole, part).

    The hat is valid if n p >= 10 and p <= 1/2, and finite otherwise.  The centre n p + 1/2 is whole + part: near
    10**15 a double has only three fractional bits.
    """
    mean = n * p
    spq = math.sqrt(mean * (1.0 - p))
    b = 1.15 + 2.53 * spq
    a = -0.0873 + 0.0248 * b + 0.01 * p
    whole = np.floor(mean + 0.5)
    return spq, a, b, 0.92 - 4.2 / b, whole, mean + 0.5 - whole


@inlined
def _try(a: float, b: float, part: float, counter: np.uint64) -> tuple[float, float, float]:
    """Return the next try of BTRS, from the next two random numbers: (its distance from `whole`, us, v)."""
    u = uniform(mix(counter + GOLDEN)) - 0.5
    us = 0.5 - abs(u)
    return np.floor((2.0 * a / us + b) * u + part), us, uniform(mix(counter + TRY))


@inlined
def _fits(us: float, v: float, v_r: float) -> bool:
    """Return whether the squeeze accepts a try, as it does four of five if n p is large."""
    return (us >= 0.07) & (v <= v_r)


@kernel
def binomial_by_rejection(n: Int64, p: float, counter: np.uint64) -> tuple[np.int64, np.uint64]:
    """Return `binomial` by rejection; n > 128, p <= 1/2, n * p >= 10.

    This is Hörmann's BTRS except for the ratio of probabilities (see the module's docstring) and the centre (`_hat`).
    """
    spq, a, b, v_r, whole, part = _hat(n, p)
    centre = np.int64(whole)
    while True:
        step, us, v = _try(a, b, part, counter)
        counter += TRY
        if _fits(us, v, v_r):
            return centre + np.int64(step), counter
        if step < -whole or step > np.float64(n - centre):  # compared as floats: far out it exceeds every integer
            continue
        k = centre + np.int64(step)
        mode = np.int64(np.floor((n + 1) * p))
        if v * (2.83 + 5.1 / b) * spq / (a / (us * us) + b) <= probability_ratio(n, k, mode, n * p):
            return k, counter


@inlined
def first_try(n: Int64, p: float, counter: np.uint64) -> tuple[Int64, Bool]:
    """Return the number of BTRS's first try, and whether it is accepted; the caller adds TRY then.

    It has no branch, so a loop can do several at a time (`Binomials`).
    """
    rare = p if p <= 0.5 else 1.0 - p
    _, a, b, v_r, whole, part = _hat(n, rare)
    step, us, v = _try(a, b, part, counter)
    fits = (n > FEW_TRIALS) & (n * rare >= SMALL_MEAN) & _fits(us, v, v_r)
    successes = np.int64(whole if fits else 0.0) + np.int64(step if fits else 0.0)
    return (successes if p <= 0.5 else n - successes), fits


@inlined
def binomial(n: Int64, p: float, counter: np.uint64) -> tuple[np.int64, np.uint64]:
    """Return the successes of `n` independent trials, each with probability `p`.

    n: int64, 0 to 10**15.  p: float, [0, 1].
    counter: uint64, of the last random number used; the next one is mix(counter + GOLDEN).
    Returns (successes as int64, counter of the last number used).
    """
    # Successes and failures are symmetric, and 1 - p is exact from 1/2 on.
    rare = p if p <= 0.5 else 1.0 - p
    if n <= FEW_TRIALS:
        successes, counter = successes_one_by_one(n, rare, counter)
    elif n * rare < SMALL_MEAN:
        successes, counter = binomial_by_inversion(n, rare, counter)
    else:
        successes, counter = binomial_by_rejection(n, rare, counter)
    return (successes if p <= 0.5 else n - successes), counter


class Binomials(NamedTuple):
    """Space for N binomial numbers, the same as `binomial` draws one by one.

    Four of five with large means end with the first try of BTRS, which is arithmetic alone.  So all first tries are
    made first, several at a time in vector registers, and then the other numbers are drawn one by one: 24 ns a number
    in flow, all included, instead of 39 ns.

    counter: uint64[N], of the last random number used.  trials: int64[N].  chance: float64[N], probability.
    number: int64[N], from the first try.  settled: bool[N], whether that was accepted.
    """

    counter: Uint64Array
    trials: Int64Array
    chance: Float64Array
    number: Int64Array
    settled: BoolArray


def make_binomials(most: int) -> Binomials:
    """Return space for `most` numbers."""
    trials, number = np.zeros((2, most), np.int64)
    return Binomials(np.zeros(most, np.uint64), trials, np.zeros(most), number, np.zeros(most, np.bool_))


@inlined
def try_first(numbers: Binomials, n: Int64) -> None:
    """Make the first try for each of the first `n` numbers, in place."""
    for i in range(n):
        number, settled = first_try(numbers.trials[i], numbers.chance[i], numbers.counter[i])
        numbers.number[i], numbers.settled[i] = number, settled


@inlined
def settle(numbers: Binomials, i: Int64) -> tuple[np.int64, np.uint64]:
    """Return number `i`, after `try_first`: (successes as int64, counter of the last random number used)."""
    if numbers.settled[i]:
        return numbers.number[i], numbers.counter[i] + TRY
    return binomial(numbers.trials[i], numbers.chance[i], numbers.counter[i])


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

    counter: Uint64Array
    exploring: Int64Array
    numbers: Binomials
    place: Int64Array
    slot: Int64Array
    moves: Int64Array


def make_rows(most: int = AT_ONCE) -> Rows:
    """Return space for `most` rows drawn together."""
    exploring, place, slot, moves = np.zeros((4, most), np.int64)
    return Rows(np.zeros(most, np.uint64), exploring, make_binomials(most), place, slot, moves)


@inlined
def batch_base(key: np.uint64, batch: Int64) -> np.uint64:
    """Return the base (uint64) of the random numbers of `batch` (int, from 0)."""
    return mix(key + np.uint64(batch) * GOLDEN)


@inlined
def row_base(base: np.uint64, row: np.uint32) -> np.uint64:
    """Return the counter (uint64) before the first number of `row` in the batch of `base`.

    It is a hash, since a row may use any number of them.  On 3x3 the probability that any two rows of a batch start
    within 1,000 numbers is 1e-9.
    """
    return mix(base + np.uint64(row) * GOLDEN)


@inlined
def packed_shares(games: Int64, n: Int64, counter: np.uint64) -> tuple[np.uint64, np.uint64]:
    """Let each of `games` (at most PACKED_GAMES) choose one of `n` edges (at most PACKED_EDGES), evenly.

    Returns (uint64, games per edge, seven bits each from the lowest on; counter of the last number used).  The choice
    is floor(n * bits / 2**64): no probability is off by more than 2**-64.
    """
    shares, n_edges = np.uint64(0), np.uint64(n)
    for game in range(1, ((games + 7) & -8) + 1):  # groups of eight, as in `successes_one_by_one`
        bits = mix(counter + np.uint64(game) * GOLDEN)
        chosen = ((bits >> S32) * n_edges + (((bits & HALF) * n_edges) >> S32)) >> S32
        shares += np.uint64(game <= games) << (chosen * SEVEN)
    return shares, counter + np.uint64(games) * GOLDEN


@inlined
def _draw_exploring(counts: Counts, rows: Rows, epsilon: float, start: Int64, n_rows: Int64) -> None:
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
def _send(graph: Graph, policy: Policy, counts: Counts, kind: Int64, slot: Int64, games: Int64) -> None:
    """Let `games` take the move in `slot`, and arrive where it leads."""
    edge = np.int64(slot if kind == EXPLORING else policy.ordered[slot])
    counts.taken[edge, kind] += games
    counts.arrived[graph.child[edge]] += games


class Left(NamedTuple):
    """`games` of one row that have yet to choose among the `moves` from `slot` on."""

    slot: Int64
    moves: Int64
    games: Int64


@inlined
def _choose(
    graph: Graph,
    policy: Policy,
    counts: Counts,
    rows: Rows,
    kind: Int64,
    place: Int64,
    left: Left,
    counter: np.uint64,
    n: np.int64,
) -> np.int64:
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
def _spread(graph: Graph, policy: Policy, counts: Counts, rows: Rows, start: Int64, n_rows: Int64, kind: Int64) -> None:
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
    graph: Graph, policy: Policy, epsilon: float, base: np.uint64, counts: Counts, rows: Rows, first: Int64, last: Int64
) -> None:
    """Draw the moves of the games at the rows `counts.visited[first:last]`, all of one ply.

    epsilon: the probability that a game explores there, [0, 1].  base: see `batch_base`.  rows: scratch.
    Writes `counts.taken` of these rows and adds to `counts.arrived` of their children, in place.
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
    seat: Int64,
    key: np.uint64,
    batch: Int64,
    games: Int64,
    counts: Counts,
    rows: Rows,
) -> None:
    """Fill `counts` (empty at first) with `games` games of `policy`, in place, as a walk does.

    epsilon: probability of exploring at a ply, [0, 1].  seat: see `epsilon_at`.
    key: uint64, `stream_key(seed, numerics.FLOW)`.  batch: number of the batch, from 0.  games: 1 to 10**15.
    rows: scratch; how many rows it has space for does not change the counts.
    """
    base = batch_base(key, batch)
    counts.arrived[0] = games
    n: Any = np.int64(0)  # a literal 0 would be a second signature to compile
    for ply in range(graph.ply_start.shape[0] - 1):
        first, n = n, list_visited(graph, counts, ply, n)
        flow_rows(graph, policy, epsilon_at(epsilon, seat, ply), base, counts, rows, first, n)
    counts.n_visited[0] = n
