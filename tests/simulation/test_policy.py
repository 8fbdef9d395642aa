"""Choice rules: which moves a table lets a learner pick, by plain definitions; and that nothing old stays in it."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle.streams import below, drawn

from ttt_batch.compiler.jit import kernel
from ttt_batch.compiler.numerics import draw, game_base, stream_key
from ttt_batch.games.board import Board
from ttt_batch.games.enumeration import enumerate_graph
from ttt_batch.games.graph import Graph, edges_of, mover_of
from ttt_batch.games.solution import solve
from ttt_batch.learners import LEARNERS
from ttt_batch.learners.base import Learner
from ttt_batch.learners.tabular.td import TdTables
from ttt_batch.simulation.policy import (
    FIRST_BEST,
    LAST_BEST,
    UNIFORM,
    Choice,
    Policy,
    chosen_edges,
    empty_policy,
    legal_edges,
    optimal_policy,
    order_rows,
    pick,
    policy_among,
    random_policy,
    write_scores,
)

SMALL = Board(2, 3, 2)
CHOICES = [Choice(tie, window) for tie in (UNIFORM, FIRST_BEST, LAST_BEST) for window in (0.0, 0.01, 0.3)]


def plain_score(learner: Learner, tables: Any, graph: Graph, row: int, edge: int) -> float:
    """Return how a learner's table ranks a move for the player who takes it."""
    mover = int(graph.ply[row]) & 1
    if "q" in learner.fields:
        value = (
            float(tables.q[edge]) if tables.q.ndim == 1 else 0.5 * (float(tables.q[0, edge]) + float(tables.q[1, edge]))
        )
    elif learner.zero_sum:
        value = float(tables.value[graph.child[edge]])
    else:
        return float(tables.value[mover, graph.child[edge]])
    return -value if learner.zero_sum and mover else value


def plain_candidates(scores: list[float], choice: Choice) -> list[int]:
    """Return which of the moves with these scores may be picked, by the definition of the choice rule."""
    seen = [score for score in scores if not math.isnan(score)]
    if not seen:
        return list(range(len(scores)))
    best = max(seen)
    if choice.tie == FIRST_BEST:
        return [scores.index(best)]
    if choice.tie == LAST_BEST:
        return [len(scores) - 1 - scores[::-1].index(best)]
    return [move for move, score in enumerate(scores) if score == best or score > best - choice.window]


def plain_policy(learner: Learner, choice: Choice, tables: Any, graph: Graph) -> list[list[int]]:
    """The edges that may be picked in every row."""
    chosen = []
    for row in range(graph.first_edge.size - 1):
        edges = range(int(graph.first_edge[row]), int(graph.first_edge[row + 1]))
        scores = [plain_score(learner, tables, graph, row, edge) for edge in edges]
        chosen.append([edges[move] for move in plain_candidates(scores, choice)])
    return chosen


def listed(policy: Policy, graph: Graph) -> list[list[int]]:
    """The edges that a policy lists for every row."""
    starts = graph.first_edge[:-1].tolist()
    return [policy.ordered[start : start + n].tolist() for start, n in zip(starts, policy.best.tolist(), strict=True)]


def refill(tables: Any, rng: np.random.Generator, share: float, step: float) -> None:
    """Give some entries one of a few numbers, so that ties are common; in place."""
    for array in tables:
        changed = rng.random(array.shape) < share
        array[changed] = rng.integers(0, 4, array.shape)[changed] * step


def started(name: str, board: Board) -> tuple[Learner, Graph, Any, Policy]:
    learner = LEARNERS[name]
    graph = enumerate_graph(board, learner.occupied)
    tables = learner.start(graph, learner.worth(learner.defaults), np.random.default_rng(0))
    return learner, graph, tables, empty_policy(graph)


@pytest.mark.parametrize("choice", CHOICES, ids=str)
@pytest.mark.parametrize("name", ["td", "value-feed", "minimax-q", "backward-q"])
def test_every_choice_rule_works_on_every_kind_of_table(name: str, choice: Choice) -> None:
    learner, graph, tables, policy = started(name, SMALL)
    rng = np.random.default_rng(4)
    for share, step in ((0.0, 1.0), (0.3, 0.1), (1.0, 0.1), (1.0, 0.004), (1.0, 1.0)):
        refill(tables, rng, share, step)
        order_rows(tables, graph, choice, policy)
        assert listed(policy, graph) == plain_policy(learner, choice, tables, graph)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", LEARNERS)
def test_the_policy_is_that_of_the_definition(name: str) -> None:
    """Also where rows are passed over because their order did not change since the last time."""
    learner, graph, tables, policy = started(name, Board())
    rng = np.random.default_rng(5)
    for share, step in ((0, 1), (1, 0.005), (0.02, 0.005), (0.3, 0.005), (0.02, 0.004), (0.9, 0.5), (0, 1)):
        refill(tables, rng, share, step)
        for array in tables:
            if np.isnan(array).any() or name == "value-feed":
                array[rng.random(array.shape) < 0.3] = np.nan
        order_rows(tables, graph, learner.choice, policy)
        assert listed(policy, graph) == plain_policy(learner, learner.choice, tables, graph)


LARGE = 1e20  # a window of 0.3 is nothing next to it
TIES = [0.25, 0.5, 0.495, 0.49, math.nextafter(0.49, 1), LARGE, math.nextafter(LARGE, math.inf)]
NUMBERS = st.sampled_from([0.0, -0.0, -1.0, 1e-300, math.nan, *TIES])
LINE = Board(1, 3, 2)


@pytest.mark.slow
@settings(max_examples=300)
@given(
    before=st.lists(NUMBERS, min_size=20, max_size=20),
    after=st.lists(NUMBERS, min_size=20, max_size=20),
    choice=st.sampled_from(CHOICES),
)
def test_any_numbers_in_any_order(before: list[float], after: list[float], choice: Choice) -> None:
    learner, graph, tables, policy = started("td", LINE)
    assert 10 < tables.value.size <= 20
    for values in (before, after):
        tables = TdTables(np.array(values[: tables.value.size]))
        order_rows(tables, graph, choice, policy)
        assert listed(policy, graph) == plain_policy(learner, choice, tables, graph)


@kernel
def pick_moves(tables: Any, graph: Any, choice: Any, row: Any, key: Any, picked: Any) -> None:
    """Pick in `row` once for every game from 0 on; `picked` (int64) is modified in place."""
    lo, hi = edges_of(graph, row)
    for game in range(picked.shape[0]):
        bits = draw(game_base(key, game), 1)
        picked[game] = pick(tables, graph, choice, lo, hi, mover_of(graph, row), bits)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["td", "value-feed", "backward-q", "minimax-q"])
def test_picking_straight_from_the_tables_is_drawing_from_the_list(name: str) -> None:
    learner, graph, tables, policy = started(name, Board())
    refill(tables, np.random.default_rng(6), 0.5, 0.004)
    order_rows(tables, graph, learner.choice, policy)
    moves = listed(policy, graph)
    key = stream_key(11)
    draws = [drawn(key, game, 1) for game in range(40)]
    picked = np.zeros(40, np.int64)
    for row in range(0, len(moves), 11):
        pick_moves(tables, graph, learner.choice, row, key, picked)
        assert picked.tolist() == [moves[row][below(bits, len(moves[row]))] for bits in draws]


def test_picks_are_spread_evenly() -> None:
    learner, graph, tables, _ = started("td", Board())
    picked = np.zeros(90_000, np.int64)
    pick_moves(tables, graph, learner.choice, 0, stream_key(1), picked)
    counts = np.bincount(picked, minlength=9)
    assert counts.size == 9
    assert ((counts - 10_000) ** 2 / 10_000).sum() < 26  # chi-squared of 8 degrees of freedom: 1 in 1,000


@pytest.mark.parametrize("name", LEARNERS)
def test_scores_are_those_of_the_mover(name: str) -> None:
    learner, graph, tables, _ = started(name, Board())
    rng = np.random.default_rng(7)
    for array in tables:
        array[...] = rng.normal(size=array.shape)
    for row in range(0, graph.first_edge.size - 1, 101):
        edges = range(int(graph.first_edge[row]), int(graph.first_edge[row + 1]))
        scores = np.zeros(len(edges))
        write_scores(tables, graph, row, row + 1, scores)
        assert scores.tolist() == [plain_score(learner, tables, graph, row, edge) for edge in edges]


def test_policies_that_come_from_no_table() -> None:
    for occupied in (False, True):
        graph = enumerate_graph(Board(), occupied)
        rows = np.arange(graph.first_edge.size - 1).repeat(np.diff(graph.first_edge))
        legal = legal_edges(graph)
        assert legal.sum() == 16_167
        assert np.bincount(rows[legal]).tolist() == graph.legal.tolist()
        solution = solve(graph)
        keeps = legal & (solution[graph.child] == solution[rows])
        for policy, allowed in (
            (random_policy(graph), legal),
            (optimal_policy(graph, solution), keeps),
            (policy_among(graph, keeps), keeps),
        ):
            for row, moves in enumerate(listed(policy, graph)):
                edges = np.arange(graph.first_edge[row], graph.first_edge[row + 1])
                assert moves == edges[allowed[edges]].tolist()
        assert listed(empty_policy(graph), graph) == [
            list(range(a, b)) for a, b in zip(graph.first_edge[:-1], graph.first_edge[1:], strict=True)
        ]


@pytest.mark.parametrize("likely", [0.2, 0.5, 0.8])
def test_a_policy_lists_the_allowed_edges_of_each_row_first(likely: float) -> None:
    """Rows may have all or none."""
    graph, rng = enumerate_graph(Board(3, 3, 3)), np.random.default_rng(0)
    allowed = rng.random(graph.child.size) < likely
    policy = policy_among(graph, allowed)
    for row in range(graph.first_edge.size - 1):
        edges = list(range(*graph.first_edge[row : row + 2]))
        ordered = sorted(edges, key=lambda edge: not allowed[edge])
        assert policy.ordered[edges].tolist() == ordered
        assert policy.best[row] == np.count_nonzero(allowed[edges])
    assert np.array_equal(chosen_edges(graph, policy), allowed)
