"""The walk against a plain walk, ply by ply in plain Python, and against the shares that the definitions give."""

import itertools
import math
from typing import Any

import numpy as np
import pytest
from helpers.support import BY_EPSILON, assert_arrivals_add_up
from oracle.streams import below, drawn, drawn_set, plies_of

from ttt_batch.compiler import numerics
from ttt_batch.compiler.numerics import stream_key
from ttt_batch.core.text import SCRIPTED
from ttt_batch.games.board import DRAW, FIRST_WINS, SECOND_WINS, Board
from ttt_batch.games.enumeration import enumerate_graph
from ttt_batch.games.graph import Graph
from ttt_batch.learners import LEARNERS
from ttt_batch.runs.config import make_config
from ttt_batch.simulation.policy import (
    EXPLORING,
    GREEDY,
    Counts,
    Policy,
    clear_counts,
    complete_counts,
    empty_counts,
    empty_policy,
    order_rows,
    outcomes_of,
    random_policy,
)
from ttt_batch.simulation.walk import (
    N_SETS,
    PLIES_AT_ONCE,
    SET_DRAW,
    Explorations,
    make_explorations,
    make_paths,
    make_walker,
    walk_from_queue,
)
from ttt_batch.training.trainers.base import TableTrainer
from ttt_batch.training.trainers.batched import make_trainer

EPSILONS = [0.0, 1e-9, 0.01, 0.1, 0.3, 0.5, 0.6, 0.999, 1.0]
BLOCKS = [1, 7, 1024]


# --- the plain walk -------------------------------------------------------------------------------------


def plain_walk(graph: Graph, policy: Policy, epsilon: float, seed: int, first: int, last: int) -> np.ndarray:
    """int64[E, 2]: how often each edge was taken, greedily and exploring, by games `first` to `last - 1`."""
    key = int(stream_key(seed))
    table = make_explorations(epsilon)
    columns = table.column.tolist()
    first_edge, child, ply_of = graph.first_edge.tolist(), graph.child.tolist(), graph.ply.tolist()
    ordered, best = policy.ordered.tolist(), policy.best.tolist()
    taken = np.zeros((len(child), 2), np.int64)
    for game in range(first, last):
        exploring = plies_of(drawn_set(columns, drawn(key, game, SET_DRAW)))
        row, decision = 0, 1
        while row < len(best):
            explores = ply_of[row] in exploring
            bits = drawn(key, game, decision)
            decision += explores or best[row] > 1  # the draws of a game are numbered by what chance decides
            if explores:
                edge = first_edge[row] + below(bits, first_edge[row + 1] - first_edge[row])
            else:
                edge = ordered[first_edge[row] + below(bits, best[row])]
            taken[edge, EXPLORING if explores else GREEDY] += 1
            row = child[edge]
    return taken


def walked(graph: Graph, policy: Policy, epsilon: float, seed: int, first: int, last: int, block: int = 1024) -> Counts:
    """The completed counts of the same games."""
    walker = make_walker(graph, make_explorations(epsilon), make_paths(graph, policy), block)
    walk_from_queue(graph, walker, stream_key(seed), np.array([first]), last - first, last)
    return completed(graph, policy, walker.drawn, last - first)


def completed(graph: Graph, policy: Policy, drawn: np.ndarray, games: int) -> Counts:
    """Return the counts of a batch: zero for rows without a visit, which `complete_counts` leaves alone."""
    counts = empty_counts(graph)
    complete_counts(graph, policy, drawn, counts, games)
    assert not drawn.any()
    return counts


def trained(name: str, games: int = 20_000) -> tuple[Graph, Policy, TableTrainer]:
    """A learner's policy after some training."""
    trainer = make_trainer(make_config(learner=name, batch=1000, seed=5))
    trainer.advance(games, lambda: False)
    policy = empty_policy(trainer.graph)
    order_rows(trainer.tables, trainer.graph, trainer.learner.choice, policy)
    return trainer.graph, policy, trainer


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", BY_EPSILON)
def test_the_walk_plays_what_a_plain_walk_plays(name: str) -> None:
    graph, policy, trainer = trained(name)
    for epsilon, first in ((trainer.config.settings.epsilon, 0), (0.05, 123_456_789_012)):
        last = first + 1_500
        expected = plain_walk(graph, policy, epsilon, 9, first, last)
        assert expected[:, GREEDY].any() and expected[:, EXPLORING].any()
        for block in BLOCKS:
            counts = walked(graph, policy, epsilon, 9, first, last, block)
            assert (counts.taken == expected).all()
            assert_arrivals_add_up(graph, counts, last - first)


@pytest.mark.parametrize("epsilon", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("name", ["td", "value-feed", "minimax-q", "backward-q"])
def test_the_first_batch_of_a_fresh_table_is_a_plain_walk(name: str, epsilon: float) -> None:
    graph, policy, _ = trained(name, games=0)
    expected = plain_walk(graph, policy, epsilon, -3, 0, 500)
    counts = walked(graph, policy, epsilon, -3, 0, 500, block=64)
    assert (counts.taken == expected).all()
    assert expected[:, EXPLORING].any() == (epsilon > 0)
    assert expected[:, GREEDY].any() == (epsilon < 1)


@pytest.mark.slow
@pytest.mark.parametrize("size", [(1, 3, 3), (2, 3, 2), (2, 2, 2), (2, 4, 2), (3, 3, 2), (1, 1, 1)])
def test_other_boards_are_walked_like_a_plain_walk(size: tuple[int, int, int]) -> None:
    graph = enumerate_graph(Board(*size))
    policy = Policy(np.arange(graph.child.size, dtype=np.int32), np.ones(graph.first_edge.size - 1, np.int32))
    policy.best[::2] = np.diff(graph.first_edge)[::2]
    expected = plain_walk(graph, policy, 0.4, 1, 0, 400)
    for block in (3, 1024):
        assert (walked(graph, policy, 0.4, 1, 0, 400, block).taken == expected).all()


def test_as_many_games_abreast_as_may_be_asked_for() -> None:
    graph, policy, _ = trained("td")
    games = (1 << 20) + 1000
    wide, narrow = (walked(graph, policy, 0.3, 5, 7, games, block) for block in (1 << 20, 1 << 10))
    assert (wide.taken == narrow.taken).all()


def test_pieces_of_a_batch_add_up_to_the_batch() -> None:
    graph, policy, _ = trained("td")
    walker = make_walker(graph, make_explorations(0.1), make_paths(graph, policy), 100)
    for first, last in ((700, 1000), (0, 1), (450, 700), (1, 450)):
        walk_from_queue(graph, walker, stream_key(2), np.array([first]), last - first, last)
    counts = completed(graph, policy, walker.drawn, 1000)
    assert (counts.taken == walked(graph, policy, 0.1, 2, 0, 1000).taken).all()


def test_counts_are_used_again_batch_after_batch() -> None:
    graph, policy, _ = trained("minimax-q")
    walker = make_walker(graph, make_explorations(0.6), make_paths(graph, policy))
    counts, ended = empty_counts(graph), np.zeros(graph.code.size - policy.best.size, np.int64)
    total = np.zeros(3, np.int64)
    for first, last in ((0, 3000), (3000, 3010), (3010, 5000)):
        walk_from_queue(graph, walker, stream_key(1), np.array([first]), last - first, last)
        complete_counts(graph, policy, walker.drawn, counts, last - first)
        fresh = walked(graph, policy, 0.6, 1, first, last)
        visited = counts.visited[: counts.n_visited[0]]
        assert (visited == fresh.visited[: fresh.n_visited[0]]).all()
        assert (counts.arrived == fresh.arrived).all()
        edges = np.isin(np.arange(policy.best.size).repeat(np.diff(graph.first_edge)), visited)
        assert (counts.taken[edges] == fresh.taken[edges]).all()
        total += [counts.arrived[graph.outcome == outcome].sum() for outcome in (FIRST_WINS, DRAW, SECOND_WINS)]
        clear_counts(graph, counts, ended)
        assert not counts.arrived.any() and counts.n_visited[0] == 0
    assert ended.sum() == 5000
    assert (outcomes_of(graph, ended) == total).all()


# --- shares ---------------------------------------------------------------------------------------------


def set_probabilities(table: Explorations) -> dict[int, float]:
    """Probability of each set of plies (bit p for ply p) under `table`: what the draw really does."""
    found: dict[int, float] = {}
    for own, column in enumerate(table.column.tolist()):
        keeps = (column >> PLIES_AT_ONCE) / 2**55
        for members, share in ((own, keeps), (column % N_SETS, 1 - keeps)):
            found[members] = found.get(members, 0.0) + share / N_SETS
    return found


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_every_set_of_exploring_plies_has_its_exact_probability(epsilon: float) -> None:
    found = {plies_of(members): p for members, p in set_probabilities(make_explorations(epsilon)).items()}
    assert set(found) == {frozenset(s) for k in range(10) for s in itertools.combinations(range(9), k)}
    for plies, probability in found.items():
        expected = epsilon ** len(plies) * (1 - epsilon) ** (9 - len(plies))
        assert probability == pytest.approx(expected, abs=1e-12)
        if expected == 0:
            assert probability == 0
    assert sum(found.values()) == pytest.approx(1, abs=1e-12)


def test_random_play_has_the_known_shares() -> None:
    games = 2_000_000
    graph = enumerate_graph(Board())
    counts = walked(graph, random_policy(graph), 1.0, 0, 0, games)
    for outcome, share in ((FIRST_WINS, 737 / 1260), (DRAW, 8 / 63), (SECOND_WINS, 121 / 420)):
        found = counts.arrived[graph.outcome == outcome].sum() / games
        assert abs(found - share) < 4 * math.sqrt(share * (1 - share) / games)


def standard_score(chi_squared: float, degrees: int) -> float:
    """Return how many standard deviations a chi-squared sum of many degrees of freedom lies from its mean."""
    return (chi_squared - degrees) / math.sqrt(2 * degrees)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("epsilon", [0.1, 0.6])
@pytest.mark.parametrize("name", ["td", "minimax-q"])
def test_each_edge_gets_its_share(name: str, epsilon: float) -> None:
    """Row by row: how many explore, and how explorations and tie draws spread over the edges."""
    games = 1_000_000
    graph, policy, _ = trained(name)
    counts = walked(graph, policy, epsilon, 77, 0, games)
    n_open = policy.best.size
    n_edges, arrived = np.diff(graph.first_edge), counts.arrived[:n_open]
    sums: dict[str, list[Any]] = {"explores": [0.0, 0], "exploring": [0.0, 0], "greedy": [0.0, 0]}

    def add(kind: str, observed: np.ndarray, expected: np.ndarray, degrees: int) -> None:
        sums[kind][0] += float(((observed - expected) ** 2 / expected).sum())
        sums[kind][1] += degrees

    for row in np.flatnonzero(arrived):
        edges = slice(graph.first_edge[row], graph.first_edge[row + 1])
        taken = counts.taken[edges]
        n_greedy, n_exploring = taken.sum(axis=0)
        shares = np.array([1 - epsilon, epsilon])
        if arrived[row] * min(shares) >= 5:
            add("explores", np.array([n_greedy, n_exploring]), arrived[row] * shares, 1)
        if n_exploring >= 5 * n_edges[row] and n_edges[row] > 1:
            add("exploring", taken[:, EXPLORING], np.full(n_edges[row], n_exploring / n_edges[row]), n_edges[row] - 1)
        best = policy.ordered[edges][: policy.best[row]]
        assert counts.taken[best, GREEDY].sum() == n_greedy
        if policy.best[row] > 1 and n_greedy >= 5 * best.size:
            add("greedy", counts.taken[best, GREEDY], np.full(best.size, n_greedy / best.size), best.size - 1)
    assert sums["explores"][1] > 100 and sums["exploring"][1] > 500
    for kind, (chi_squared, degrees) in sums.items():
        if degrees:
            assert abs(standard_score(chi_squared, degrees)) < 4, kind
    assert sums["greedy"][1] > 50 or LEARNERS[name].choice.tie != 0


def test_games_and_seeds_have_streams_of_their_own() -> None:
    graph = enumerate_graph(Board())
    one = walked(graph, random_policy(graph), 1.0, 0, 0, 1000).taken
    for seed, first in ((0, 1000), (1, 0), (-1, 0), (2**63 - 1, 0)):
        other = walked(graph, random_policy(graph), 1.0, seed, first, first + 1000).taken
        assert (one != other).any()


def test_purposes_have_streams_of_their_own() -> None:
    meetings = [numerics.MEETINGS + (first << 20) + second for first in range(40) for second in range(40)]
    purposes = [numerics.PLAY, numerics.FLOW, numerics.NEW_ROWS, *numerics.MATCHES, *meetings, numerics.RANDOM_PLAY]
    assert len({int(stream_key(7, purpose)) for purpose in purposes}) == len(purposes)
    assert len(numerics.MATCHES) >= 2 * len(SCRIPTED)
    # What earlier versions drew stays what it is.
    assert (numerics.PLAY, numerics.FLOW, numerics.NEW_ROWS, numerics.RANDOM_PLAY) == (0, 1, 2, 0x52414E44)
    assert (numerics.MATCHES[0], numerics.MEETINGS) == (16, 64)
