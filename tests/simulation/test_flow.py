"""The flow against exact probabilities and against the walk; and wrong samplers against the same checks.

All draws have fixed seeds, so nothing here fails by chance.  Chi-squared sums are turned into standard scores
(Wilson and Hilferty, Proceedings of the National Academy of Sciences 17, 1931) and held to TOLERANCE.
"""

import hashlib
import itertools
import math
import statistics
from collections.abc import Callable
from decimal import Decimal, localcontext
from typing import Any

import numpy as np
import pytest
from helpers.support import assert_arrivals_add_up, without_jit
from oracle.streams import mixed

from ttt_batch.compiler.jit import kernel
from ttt_batch.compiler.numerics import FLOW, GOLDEN, mix, stream_key
from ttt_batch.games.board import Board
from ttt_batch.games.enumeration import enumerate_graph
from ttt_batch.games.graph import Graph
from ttt_batch.simulation.flow import (
    Binomials,
    binomial,
    flow,
    flow_rows,
    make_binomials,
    make_rows,
    probability_ratio,
    settle,
    try_first,
)
from ttt_batch.simulation.policy import (
    EXPLORING,
    GREEDY,
    Counts,
    Policy,
    complete_counts,
    empty_counts,
    legal_edges,
    policy_among,
)
from ttt_batch.simulation.walk import make_explorations, make_paths, make_walker, walk_from_queue

TOLERANCE = 4.5
KEY = stream_key(20, FLOW)


@kernel
def fill_binomials(n: int, p: float, key: Any, out: Any) -> None:
    """Binomial numbers from one sequence after another."""
    for i in range(out.shape[0]):
        out[i], _ = binomial(np.int64(n), p, mix(key + np.uint64(i) * GOLDEN))


@kernel
def fill_ratios(n: int, k: Any, mode: int, mean: float, out: Any) -> None:
    for i in range(k.shape[0]):
        out[i] = probability_ratio(n, k[i], mode, mean)


@kernel
def draw_one(n: int, p: float, counter: Any) -> Any:
    return binomial(n, p, counter)


def one_binomial(n: int, p: float, counter: int) -> tuple[int, int]:
    return draw_one(n, p, np.uint64(counter))  # type: ignore[no-any-return]


@kernel
def draw_together(numbers: Binomials, n: int) -> None:
    """Draw `n` numbers; what they are, and the counters behind them, in place."""
    try_first(numbers, n)
    for i in range(n):
        numbers.trials[i], numbers.counter[i] = settle(numbers, i)


def binomials(n: int, p: float, size: int, seed: int = 0) -> np.ndarray:
    out = np.zeros(size, np.int64)
    fill_binomials(n, p, stream_key(seed, FLOW), out)
    return out


# --- how the checks judge -------------------------------------------------------------------------------


def standard_score(chi_squared: float, degrees: float) -> float:
    """Return where a chi-squared sum lies among those of its degrees of freedom, as a standard normal number."""
    width = 2 / (9 * degrees)
    return float(((chi_squared / degrees) ** (1 / 3) - (1 - width)) / math.sqrt(width))


def share_score(observed: np.ndarray, expected: np.ndarray, least: float = 10) -> float:
    """Score of observed counts against expected ones; neighbours are joined until `least` is expected in each cell."""
    edges = np.unique(np.floor(np.cumsum(expected) / least).astype(np.int64), return_index=True)[1]
    o, e = np.add.reduceat(observed, edges), np.add.reduceat(expected, edges)
    o, e = np.append(o[1:-2], [o[-2] + o[-1], o[0]]), np.append(e[1:-2], [e[-2] + e[-1], e[0]])
    return standard_score(float(((o - e) ** 2 / e).sum()), o.size - 1)


def distribution(n: int, p: float) -> tuple[int, np.ndarray]:
    """The least count that matters and the probabilities from there on: their ratios, which are simple, normalised."""
    sd = math.sqrt(n * p * (1 - p))
    low, high = max(0, math.floor(n * p - 12 * sd - 3)), min(n, math.ceil(n * p + 12 * sd + 60))
    k = np.arange(low, high, dtype=np.float64)
    logs = np.append(0.0, np.cumsum(np.log((n - k) / (k + 1) * (p / (1 - p)))))
    weights = np.exp(logs - logs.max())
    return low, weights / weights.sum()


def distribution_score(draws: np.ndarray, n: int, p: float) -> float:
    """Score of binomial draws against the exact probabilities."""
    low, probabilities = distribution(n, p)
    assert draws.min() >= low and draws.max() < low + probabilities.size
    return share_score(np.bincount(draws - low, minlength=probabilities.size), draws.size * probabilities)


# --- the binomial sampler -------------------------------------------------------------------------------

ONE_BY_ONE = [(2, 0.5), (3, 1 / 3), (7, 0.1), (8, 0.5), (9, 1 / 9), (100, 0.99), (64, 0.02), (128, 0.5), (128, 1 / 9)]
INVERSION = [(129, 0.07), (129, 0.93), (1000, 0.001), (10**5, 9.99e-5), (10**9, 5e-9), (10**15, 3e-15)]
REJECTION = [(129, 0.1), (129, 0.5), (200, 0.92), (1000, 1 / 9), (1000, 0.0101), (10**5, 0.3), (10**6, 0.5)]
LONG_RANGE = [(10**6, 1.1e-5), (10**12, 1.3e-11), (10**15, 2e-14), (10**15, 2e-12)]


@pytest.mark.slow
@pytest.mark.parametrize(("n", "p"), ONE_BY_ONE + INVERSION + REJECTION + LONG_RANGE)
def test_binomial_numbers_have_their_exact_probabilities(n: int, p: float) -> None:
    assert abs(distribution_score(binomials(n, p, 300_000), n, p)) < TOLERANCE


@pytest.mark.slow
def test_numbers_drawn_together_are_those_drawn_one_by_one() -> None:
    kinds = [*ONE_BY_ONE, *INVERSION, *REJECTION, *LONG_RANGE, (0, 0.3), (10**15, 0.0), (10**15, 1.0), (10**9, 0.999)]
    n = 100 * len(kinds)
    numbers = make_binomials(n + 1)
    numbers.trials[:n], numbers.chance[:n] = np.array(kinds).repeat(100, axis=0).T
    numbers.counter[:n] = [mixed(i) for i in range(n)]
    expected = [one_binomial(int(kinds[i // 100][0]), kinds[i // 100][1], int(numbers.counter[i])) for i in range(n)]
    draw_together(numbers, n)
    assert 0 < numbers.settled[:n].mean() < 0.8 and not numbers.settled[n]
    assert list(zip(numbers.trials[:n].tolist(), numbers.counter[:n].tolist(), strict=True)) == expected


def test_the_exact_probabilities_are_exact() -> None:
    for n, p in ((9, 1 / 9), (129, 0.93), (1000, 0.0101)):
        low, probabilities = distribution(n, p)
        for k in range(low, low + probabilities.size):
            exact = math.exp(math.log(math.comb(n, k)) + k * math.log(p) + (n - k) * math.log1p(-p))
            assert probabilities[k - low] == pytest.approx(exact, rel=1e-10)


def test_certain_counts_are_certain() -> None:
    for n in (0, 1, 100, 1000, 10**6, 10**15):
        assert (binomials(n, 0.0, 20) == 0).all()
        assert (binomials(n, 1.0, 20) == n).all()
    assert (binomials(0, 0.3, 20) == 0).all()
    assert (binomials(10**15, 1e-30, 20) == 0).all()
    assert set(binomials(1, 0.5, 100).tolist()) == {0, 1}


@pytest.mark.sampled(1)
@pytest.mark.parametrize("p", [0.1, 1 / 9, 1 / 3, 0.5, 0.8])
@pytest.mark.parametrize("n", [10**6, 10**9, 10**12, 10**15])
def test_moments_and_shape_of_large_counts(n: int, p: float) -> None:
    size = 200_000
    draws = binomials(n, p, size)
    sd = math.sqrt(n * p * (1 - p))
    z = (draws - np.int64(n * p) - (n * p - int(n * p))) / sd
    assert abs(z.mean()) * math.sqrt(size) < TOLERANCE
    assert abs((z**2).mean() - 1) * math.sqrt(size / 2) < TOLERANCE
    assert abs((z**3).mean() - (1 - 2 * p) / sd) * math.sqrt(size / 15) < TOLERANCE
    assert abs((z**4).mean() - 3) * math.sqrt(size / 96) < TOLERANCE
    if n == 10**6:
        assert abs(distribution_score(draws, n, p)) < TOLERANCE
        return
    # From 10**9 on the normal distribution is as good as the exact one, and the last digits are as good as even.
    normal = statistics.NormalDist()
    bounds = [normal.inv_cdf(i / 400) for i in range(1, 400)]
    cells = np.bincount(np.searchsorted(bounds, z), minlength=400)
    assert abs(share_score(cells, np.full(400, size / 400))) < TOLERANCE
    far = [normal.cdf(-3.2) * size, (normal.cdf(-2.9) - normal.cdf(-3.2)) * size]
    for side in (z, -z):
        found = [(side < -3.2).sum(), ((side >= -3.2) & (side < -2.9)).sum()]
        assert all(abs(o - e) < TOLERANCE * math.sqrt(e) for o, e in zip(found, far, strict=True))
    for modulus in (2, 7, 64):
        digits = np.bincount(draws % modulus, minlength=modulus)
        assert abs(standard_score(((digits - size / modulus) ** 2).sum() * modulus / size, modulus - 1)) < TOLERANCE


def exact_log_factorial(k: int) -> Decimal:
    """log(k!), to forty digits behind the point where k is large: Stirling's series."""
    if k < 1000:
        return Decimal(math.factorial(k)).ln()
    x = Decimal(k)
    series = 1 / (12 * x) - 1 / (360 * x**3) + 1 / (1260 * x**5) - 1 / (1680 * x**7)
    return (
        (x + Decimal("0.5")) * x.ln()
        - x
        + (2 * Decimal("3.14159265358979323846264338327950288419717")).ln() / 2
        + series
    )


@pytest.mark.slow
@pytest.mark.parametrize(("n", "p"), [(130, 0.125), (700, 0.5), (4000, 0.0078125), (10**9, 0.25), (10**15, 0.5)])
def test_ratios_of_probabilities_keep_their_digits(n: int, p: float) -> None:
    """From the mode to eight standard deviations away, and to the ends where they are near; p and n p are exact."""
    mean, mode = n * p, int((n + 1) * p)
    sd = math.sqrt(mean * (1 - p))
    ks = sorted(
        {min(n, max(0, mode + round(x * sd))) for x in np.linspace(-8, 8, 41)} | ({0, 1, 2} if n < 200 else set())
    )
    found = np.zeros(len(ks))
    fill_ratios(n, np.array(ks), mode, mean, found)
    with localcontext() as context:
        context.prec = 60
        for k, ratio in zip(ks, found, strict=True):
            exact = exact_log_factorial(mode) + exact_log_factorial(n - mode) - exact_log_factorial(k)
            exact += (k - mode) * (Decimal(p) / (1 - Decimal(p))).ln() - exact_log_factorial(n - k)
            assert ratio == pytest.approx(float(exact.exp()), rel=3e-12), k


def rounded_normal(n: int, p: float, size: int) -> np.ndarray:
    rng = np.random.default_rng(3)
    drawn = np.rint(n * p + math.sqrt(n * p * (1 - p)) * rng.standard_normal(size))
    return np.clip(drawn, 0, n).astype(np.int64)


def test_wrong_samplers_are_found_out() -> None:
    """So each check above can fail."""
    for n, p in ((129, 0.1), (1000, 1 / 9)):
        assert distribution_score(rounded_normal(n, p, 300_000), n, p) > 2 * TOLERANCE
    for n, p in ((128, 1 / 9), (129, 0.07), (1000, 1 / 9), (10**5, 0.3)):
        assert distribution_score(binomials(n, 1.01 * p, 300_000), n, p) > 2 * TOLERANCE
    for n, p in ((10**9, 0.1), (10**15, 0.1)):
        z = (binomials(n, p * (1 + 2e-6 * math.sqrt(10**9 / n)), 200_000) - n * p) / math.sqrt(n * p * (1 - p))
        assert abs(z.mean()) * math.sqrt(z.size) > TOLERANCE


# --- the flow -------------------------------------------------------------------------------------------


def some_policy(graph: Graph, ties: float) -> Policy:
    """In each row one legal move, chosen at random, and each other one with probability `ties`."""
    rng = np.random.default_rng(4)
    legal = legal_edges(graph)
    liking = np.where(legal, rng.random(legal.size), -1)
    row = np.arange(graph.first_edge.size - 1).repeat(np.diff(graph.first_edge))
    favourite = liking == np.maximum.reduceat(liking, graph.first_edge[:-1])[row]
    return policy_among(graph, favourite | (legal & (rng.random(legal.size) < ties)))


class Case:
    """A policy on a board, its exact shares, and batches of it."""

    def __init__(
        self, epsilon: float, *, ties: float = 0.0, occupied: bool = False, seat: int = -1, board: Board | None = None
    ) -> None:
        self.epsilon, self.seat = epsilon, seat
        self.graph = enumerate_graph(board or Board(), occupied)
        self.policy = some_policy(self.graph, ties)

    def explores(self, row: int) -> float:
        return self.epsilon if self.seat in (-1, self.graph.ply[row] % 2) else 0.0

    def shares(self) -> np.ndarray:
        """float64[E, 2]: the exact probability that a game takes each edge, greedily and exploring."""
        graph, policy = self.graph, self.policy
        share, reached = np.zeros((graph.child.size, 2)), np.zeros(graph.code.size)
        reached[0] = 1
        for row in range(policy.best.size):
            lo, hi = graph.first_edge[row], graph.first_edge[row + 1]
            share[lo:hi, EXPLORING] = reached[row] * self.explores(row) / (hi - lo)
            best = policy.ordered[lo : lo + policy.best[row]]
            share[best, GREEDY] = reached[row] * (1 - self.explores(row)) / best.size
            np.add.at(reached, graph.child[lo:hi], share[lo:hi].sum(axis=1))
        return share

    def flows(self, games: int, batches: int, key: Any = KEY) -> list[Counts]:
        found = []
        for batch in range(batches):
            found.append(empty_counts(self.graph))
            flow(self.graph, self.policy, self.epsilon, self.seat, key, batch, games, found[-1], make_rows())
        return found

    def walked(self, games: int) -> Counts:
        explorations, paths = make_explorations(self.epsilon, self.seat), make_paths(self.graph, self.policy)
        counts, walker = empty_counts(self.graph), make_walker(self.graph, explorations, paths)
        walk_from_queue(self.graph, walker, stream_key(6), np.zeros(1, np.int64), games, games)
        complete_counts(self.graph, self.policy, walker.drawn, counts, games)
        return counts

    def slow_flow(self, games: int, split: Callable[[int, np.ndarray], np.ndarray]) -> Counts:
        """The flow written out, with any sampler: split(n, probabilities) spreads n games."""
        graph, policy, counts = self.graph, self.policy, empty_counts(self.graph)
        counts.arrived[0] = games
        for row in range(policy.best.size):
            n, p = int(counts.arrived[row]), self.explores(row)
            if n == 0:
                continue
            counts.visited[counts.n_visited[0]] = row
            counts.n_visited[0] += 1
            lo, hi = graph.first_edge[row], graph.first_edge[row + 1]
            greedy, exploring = split(n, np.array([1 - p, p]))
            best = policy.ordered[lo : lo + policy.best[row]]
            counts.taken[lo:hi, EXPLORING] = split(exploring, np.full(hi - lo, 1 / (hi - lo)))
            counts.taken[best, GREEDY] = split(greedy, np.full(best.size, 1 / best.size))
            np.add.at(counts.arrived, graph.child[lo:hi], counts.taken[lo:hi].sum(axis=1))
        return counts


def ply_cells(graph: Graph, taken: np.ndarray, games: float) -> list[np.ndarray]:
    """For each ply where its games went, by edge and kind, and how many were over before: each game is in one cell."""
    plies = []
    for ply in range(graph.ply_start.size - 1):
        edges = slice(*graph.first_edge[graph.ply_start[ply : ply + 2]])
        here = taken[edges].ravel()
        plies.append(np.append(here, max(0, games - here.sum())))
    return plies


def chi_squared(observed: np.ndarray, expected: np.ndarray, least: float) -> tuple[float, int]:
    """(sum, degrees of freedom); cells that expect less than `least` are one."""
    small = expected < least
    o, e = np.append(observed[~small], observed[small].sum()), np.append(expected[~small], expected[small].sum())
    if e[-1] < least:  # too few even together: judged by the others alone
        assert o[-1] <= e[-1] + 12 * math.sqrt(e[-1]) + 12
        o, e = o[:-1], e[:-1]
    return float(((o - e) ** 2 / e).sum()), o.size - 1


Scores = dict[tuple[str, int], float]


def flow_scores(case: Case, batches: list[Counts], games: int) -> Scores:
    """Scores of batches against exact shares, by what is looked at and the ply (plies depend on each other).

    pooled: all batches together, so means.  batchwise: the sum of their own chi-squared sums, so also variances.
    exploring: how many of a ply's games do, all rows together; wrong if rows do not draw independently.
    """
    sums: dict[tuple[str, int], list[float]] = {}

    def add(kind: str, ply: int, chi: float, degrees: float) -> None:
        before = sums.setdefault((kind, ply), [0.0, 0.0])
        sums[kind, ply] = [before[0] + chi, before[1] + degrees]

    expected = ply_cells(case.graph, case.shares(), 1.0)
    pooled = ply_cells(case.graph, np.sum([b.taken for b in batches], axis=0), len(batches) * games)
    for ply, (observed, share) in enumerate(zip(pooled, expected, strict=True)):
        if (share * games * len(batches) >= 5).sum() > 1:
            add("pooled", ply, *chi_squared(observed, share * games * len(batches), 5))
    for batch in batches:
        for ply, (observed, share) in enumerate(zip(ply_cells(case.graph, batch.taken, games), expected, strict=True)):
            if (share * games >= 5).sum() > 1:
                add("batchwise", ply, *chi_squared(observed, share * games, 5))
            rows = slice(*case.graph.ply_start[ply : ply + 2])
            p, n = case.explores(rows.start), int(batch.arrived[rows].sum())
            if n * p * (1 - p) > 5:
                edges = slice(case.graph.first_edge[rows.start], case.graph.first_edge[rows.stop])
                exploring = int(batch.taken[edges, EXPLORING].sum())
                add("exploring", ply, (exploring - n * p) ** 2 / (n * p * (1 - p)), 1)
    return {key: standard_score(chi, degrees) for key, (chi, degrees) in sums.items() if degrees}


def largest(scores: Scores, kind: str) -> float:
    """The score of a kind that lies furthest out."""
    return max((score for key, score in scores.items() if key[0] == kind), key=abs)


CASES = [
    Case(0.1, ties=0.0),
    Case(0.1, ties=0.5),
    Case(0.6, ties=0.2, occupied=True),
    Case(0.3, ties=0.3, seat=0),
    Case(0.01, ties=1.0, seat=1),
]


@pytest.mark.slow
@pytest.mark.parametrize("games", [1, 50, 3_000, 100_000, 3_000_000])
@pytest.mark.parametrize("case", CASES)
def test_counts_have_their_exact_distribution(case: Case, games: int) -> None:
    batches = case.flows(games, 60)
    for batch in batches[:3]:
        assert_arrivals_add_up(case.graph, batch, games)
    scores = flow_scores(case, batches, games)
    assert scores
    for key, score in scores.items():
        assert abs(score) < TOLERANCE, (key, score)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES[1:4])
def test_flow_and_walk_are_two_samples_of_one_distribution(case: Case) -> None:
    games = 400_000
    (flowed,), walked = case.flows(games, 1), case.walked(games)
    compared = 0
    plies = (ply_cells(case.graph, counts.taken, games) for counts in (flowed, walked))
    for a, b in zip(*plies, strict=True):
        chi, degrees = chi_squared(a, (a + b) / 2, 10)
        assert degrees == 0 or abs(standard_score(2 * chi, degrees)) < TOLERANCE
        compared += degrees
    assert compared > 500


def multinomial(seed: int, skew: float = 0.0) -> Callable[[int, np.ndarray], np.ndarray]:
    """A right sampler; a wrong one where `skew` takes a share off the last probability."""
    rng = np.random.default_rng(seed)

    def split(n: int, p: np.ndarray) -> np.ndarray:
        p = p.copy()
        p[0] += skew * p[-1]
        p[-1] *= 1 - skew
        return rng.multinomial(n, p / p.sum())

    return split


def shared_numbers(seed: int) -> Callable[[int, np.ndarray], np.ndarray]:
    """A wrong sampler: every row draws with the same random numbers."""
    return lambda n, p: np.random.default_rng(seed).multinomial(n, p / p.sum())


def rounded(seed: int) -> Callable[[int, np.ndarray], np.ndarray]:
    """A wrong sampler: expected numbers, rounded, with a normal error that is a fifth too small."""
    rng = np.random.default_rng(seed)

    def split(n: int, p: np.ndarray) -> np.ndarray:
        found, left = np.zeros(p.size, np.int64), n
        for i in range(p.size - 1):
            share = min(1.0, p[i] / p[i:].sum())
            drawn = round(left * share + 0.8 * math.sqrt(left * share * (1 - share)) * rng.standard_normal())
            found[i] = min(left, max(0, drawn))
            left -= found[i]
        found[-1] = left
        return found

    return split


@pytest.mark.slow
def test_wrong_flows_are_found_out() -> None:
    case, games, batches = CASES[1], 10_000, 5

    def scores(sampler: Callable[[int], Callable[[int, np.ndarray], np.ndarray]]) -> Scores:
        return flow_scores(case, [case.slow_flow(games, sampler(seed)) for seed in range(batches)], games)

    assert all(abs(score) < TOLERANCE for score in scores(multinomial).values())
    assert largest(scores(lambda seed: multinomial(seed, skew=0.05)), "pooled") > TOLERANCE
    assert largest(scores(shared_numbers), "exploring") > TOLERANCE
    assert largest(scores(rounded), "batchwise") < -TOLERANCE
    more = Case(case.epsilon * 1.01, ties=0.5).flows(100_000, 60)
    assert largest(flow_scores(case, more, 100_000), "pooled") > TOLERANCE


@pytest.mark.slow
def test_the_same_batch_again_and_other_batches() -> None:
    case, games = CASES[1], 200_000
    first, second = case.flows(games, 2)
    again = empty_counts(case.graph)
    again.taken[:] = -1  # edges of rows not visited may hold anything, and visited ones are written
    flow(case.graph, case.policy, case.epsilon, case.seat, KEY, 1, games, again, make_rows())
    visited = np.isin(np.arange(case.policy.best.size), again.visited[: again.n_visited[0]])
    edges = visited.repeat(np.diff(case.graph.first_edge))
    assert (again.arrived == second.arrived).all()
    assert (again.taken[edges] == second.taken[edges]).all() and (again.taken[~edges] == -1).all()
    again.arrived[:] = 0
    flow(case.graph, case.policy, case.epsilon, case.seat, KEY, 0, games, again, make_rows())
    assert (again.arrived == first.arrived).all()
    differing = first.taken != second.taken
    assert differing[np.minimum(first.taken, second.taken) > 1000].mean() > 0.9
    (other,) = case.flows(games, 1, stream_key(21, FLOW))
    assert (other.taken != first.taken)[first.taken > 1000].mean() > 0.9


def row_after_row(case: "Case", games: int) -> Counts:
    """Batch 0 of a flow as its description has it, each row to its end: random numbers, shares and all."""
    graph, policy, counts, start = case.graph, case.policy, empty_counts(case.graph), mixed(int(KEY))
    counts.arrived[0] = games
    for row in range(policy.best.size):
        counter = mixed(start + row * int(GOLDEN))
        arrived, epsilon = int(counts.arrived[row]), case.explores(row)
        exploring, counter = one_binomial(arrived, epsilon, counter) if epsilon else (0, counter)
        lo, hi = graph.first_edge[row : row + 2].tolist()
        moves = {GREEDY: policy.ordered[lo : lo + int(policy.best[row])].tolist(), EXPLORING: list(range(lo, hi))}
        for kind, left in ((GREEDY, arrived - exploring), (EXPLORING, exploring)):
            slots = moves[kind]
            counter %= 2**64
            while left and len(slots) > 1 and (len(slots) > 9 or left > 64 * len(slots)):
                counts.taken[slots[0], kind], counter = one_binomial(left, 1 / len(slots), counter)
                left -= int(counts.taken[slots[0], kind])
                slots = slots[1:]
            if len(slots) == 1:
                counts.taken[slots[0], kind] += left
                left = 0
            for _ in range(left):  # each game its own: floor(n * bits / 2**64)
                counter += int(GOLDEN)
                counts.taken[slots[len(slots) * mixed(counter) >> 64], kind] += 1
        np.add.at(counts.arrived, graph.child[lo:hi], counts.taken[lo:hi].sum(axis=1))
    return counts


@pytest.mark.slow
@pytest.mark.parametrize("kind", [{}, {"occupied": True}, {"board": Board(1, 11, 3)}])
@pytest.mark.parametrize("epsilon", [0.0, 0.2, 1.0])
def test_rows_drawn_abreast_are_those_drawn_one_after_another(epsilon: float, kind: dict[str, Any]) -> None:
    case = Case(epsilon, ties=0.4, **kind)
    for games in (20, 3000, 10**5, 10**9, 10**15):
        expected = row_after_row(case, games)
        for most in (1, 7, 256):
            counts = empty_counts(case.graph)
            flow(case.graph, case.policy, epsilon, -1, KEY, 0, games, counts, make_rows(most))
            assert (counts.taken == expected.taken).all() and (counts.arrived == expected.arrived).all()


@pytest.mark.slow
def test_rows_of_a_ply_can_be_drawn_in_any_order() -> None:
    case, games = CASES[1], 200_000
    graph, pieces, base = case.graph, empty_counts(case.graph), np.uint64(mixed(int(KEY)))
    (whole,) = case.flows(games, 1)
    pieces.arrived[0] = games
    n = 0
    for start, stop in itertools.pairwise(graph.ply_start.tolist()):
        rows = start + np.flatnonzero(pieces.arrived[start:stop])
        pieces.visited[n : n + rows.size] = rows
        bounds = [n, n + rows.size // 3, n + rows.size // 2, n + rows.size]
        for first, last in reversed(list(itertools.pairwise(bounds))):
            flow_rows(graph, case.policy, case.epsilon, base, pieces, make_rows(), first, last)
        n += rows.size
    assert (pieces.arrived == whole.arrived).all() and (pieces.taken == whole.taken).all()


@pytest.mark.slow
def test_rows_and_batches_draw_independently() -> None:
    """Exploring shares of the same row in successive batches, and of successive rows in a batch, are uncorrelated."""
    case, games = Case(0.5, ties=1.0), 2_000_000
    share = []
    for batch in case.flows(games, 200):
        n = batch.arrived[:400].astype(float)
        exploring = np.add.reduceat(batch.taken[:, EXPLORING], case.graph.first_edge[:400])
        exploring[-1] = batch.taken[case.graph.first_edge[399] : case.graph.first_edge[400], EXPLORING].sum()
        share.append((exploring - n / 2) / np.sqrt(n / 4))
    z = np.array(share)
    for a, b in ((z[1:], z[:-1]), (z[:, 1:], z[:, :-1]), (z[1:, 1:], z[:-1, :-1]), (z[:, 10:], z[:, :-10])):
        assert abs((a * b).sum() / math.sqrt(a.size)) < TOLERANCE
    assert abs(standard_score((z**2).sum(), z.size)) < TOLERANCE


@pytest.mark.slow
@pytest.mark.parametrize("seat", [-1, 0, 1])
@pytest.mark.parametrize("epsilon", [0.0, 1.0])
def test_never_and_always_exploring(epsilon: float, seat: int) -> None:
    case = Case(epsilon, ties=0.3, seat=seat)
    for games in (1, 100, 10**6):
        (counts,) = case.flows(games, 1)
        assert_arrivals_add_up(case.graph, counts, games)
        row = np.arange(case.policy.best.size).repeat(np.diff(case.graph.first_edge))
        exploring = np.array([case.explores(r) == 1 for r in range(case.policy.best.size)])[row]
        assert not counts.taken[exploring, GREEDY].any() and not counts.taken[~exploring, EXPLORING].any()


@pytest.mark.slow
@pytest.mark.parametrize("size", [(1, 1, 1), (1, 3, 3), (2, 2, 2), (2, 4, 2), (2, 5, 3)])
def test_other_boards(size: tuple[int, int, int]) -> None:
    graph = enumerate_graph(Board(*size))
    policy = some_policy(graph, 0.5)
    for games in (1, 1000, 10**10):
        counts = empty_counts(graph)
        flow(graph, policy, 0.3, -1, KEY, 0, games, counts, make_rows())
        assert_arrivals_add_up(graph, counts, games)


def digest() -> str:
    """A hash over numbers of every kind, drawn in every way on few rows."""
    found = hashlib.sha256()
    for n, p in [(9, 0.3), (128, 0.9), *INVERSION, *REJECTION, *LONG_RANGE, (10**15, 0.3)]:
        found.update(binomials(n, p, 25, seed=n).tobytes())
    graph = enumerate_graph(Board(2, 2, 2))
    for games in (5, 500, 10**5, 10**12):
        counts = empty_counts(graph)
        flow(graph, some_policy(graph, 0.5), 0.2, -1, KEY, games, games, counts, make_rows())
        found.update(counts.taken.tobytes() + counts.arrived.tobytes())
    return found.hexdigest()


@pytest.mark.slow
def test_plain_python_draws_the_same() -> None:
    assert without_jit(__file__, "digest()") == digest()
