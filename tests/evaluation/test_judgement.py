"""Exact evaluation: the known answers of 3x3, and the naive oracle for policies of randomly filled tables."""

import functools
import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest
from helpers import sweeps
from helpers.support import BOTH_SEATS
from oracle import naive

import ttt_batch as ttt
from ttt_batch.evaluation.exact_results import NEVER, expected_results, losing_line, match, shortest_losses
from ttt_batch.evaluation.judgement import (
    Judgement,
    ProofSpace,
    exact_judge,
    judge_tables,
    make_judgement,
    make_proof_space,
)
from ttt_batch.games.board import DRAW, FIRST_WINS, SECOND_WINS, UNFINISHED, Board
from ttt_batch.games.enumeration import enumerate_graph
from ttt_batch.games.graph import Graph
from ttt_batch.games.solution import solve
from ttt_batch.learners import LEARNERS
from ttt_batch.learners.base import Learner
from ttt_batch.learners.tabular.td import TdTables
from ttt_batch.simulation.policy import (
    Policy,
    chosen_edges,
    empty_policy,
    optimal_policy,
    order_rows,
    random_policy,
)

NAIVE = naive.Board()
VALUES = naive.game_values(NAIVE)
GRAPH = enumerate_graph(Board())
FIRST, SECOND = 0, 1
MARK = (naive.FIRST, naive.SECOND)

Table = tuple[str, int]
"""A learner and the seed of the numbers in its table."""
TABLES: list[Table] = [(name, seed) for name in BOTH_SEATS for seed in (1, 2)]


# --- known answers --------------------------------------------------------------------------------------


def test_random_play_against_random_play() -> None:
    random = random_policy(GRAPH)
    assert match(GRAPH, random, random) == pytest.approx((737 / 1260, 8 / 63, 121 / 420), abs=1e-12)


def test_optimal_play_against_random_play() -> None:
    random, optimal = random_policy(GRAPH), optimal_policy(GRAPH, solve(GRAPH))
    assert match(GRAPH, optimal, random) == pytest.approx((0.967811, 0.032189, 0), abs=5e-7)
    assert match(GRAPH, random, optimal) == pytest.approx((0, 0.222516, 0.777484), abs=5e-7)
    assert match(GRAPH, optimal, optimal) == (0, 1, 0)


# --- policies of tables with random numbers in them ------------------------------------------------------


def fill(learner: Learner, graph: Graph, seed: int) -> Any:
    """Tables of a few distinct numbers, so that ties are common, and of some holes where a learner has them."""
    rng = np.random.default_rng(seed)
    tables = learner.start(graph, learner.worth(learner.defaults), rng)
    for array in tables:
        holes = np.isnan(array).any()
        array[...] = rng.integers(0, 4, array.shape) * (0.005 if learner.choice.window else 0.25)
        if holes:
            array[rng.random(array.shape) < 0.5] = np.nan
    return tables


class Agent(NamedTuple):
    learner: Learner
    graph: Graph
    tables: Any
    policy: Policy

    def row(self, position: naive.Position) -> int:
        return int(np.flatnonzero(self.graph.code == NAIVE.code(position))[0])

    def rule(self, position: naive.Position) -> list[int]:
        """The cells that the policy may pick, for the oracle."""
        row = self.row(position)
        start = self.graph.first_edge[row]
        return [int(cell) for cell in self.graph.cell[self.policy.ordered[start : start + self.policy.best[row]]]]


@functools.cache
def agent(table: Table) -> Agent:
    name, seed = table
    learner = LEARNERS[name]
    graph = enumerate_graph(Board(), learner.occupied)
    tables, policy = fill(learner, graph, seed), empty_policy(graph)
    order_rows(tables, graph, learner.choice, policy)
    return Agent(learner, graph, tables, policy)


@functools.cache
def rule_of(table: Table) -> naive.Rule:
    cells = {position: agent(table).rule(position) for position in open_positions()}
    return cells.__getitem__


@functools.cache
def open_positions() -> list[naive.Position]:
    return [position for position in NAIVE.states() if NAIVE.outcome(position) == naive.UNFINISHED]


def floats(rule: naive.Rule) -> naive.Policy:
    return lambda position: {cell: 1 / len(list(rule(position))) for cell in rule(position)}


def starts(graph: Graph) -> Iterator[tuple[int, naive.Position]]:
    """Some unfinished rows, the first among them, with their positions."""
    for row in range(0, graph.first_edge.size - 1, 97):
        yield row, NAIVE.position(int(graph.code[row]))


@pytest.mark.sampled(1)
@pytest.mark.parametrize("table", TABLES, ids=str)
def test_expected_results_are_those_of_the_oracle(table: Table) -> None:
    one, other = agent(table), agent((table[0], table[1] + 10))
    result = np.zeros((one.graph.code.size, 3))
    expected_results(one.graph, one.policy, other.policy, result)
    first, second = floats(rule_of(table)), floats(rule_of((table[0], table[1] + 10)))
    for row, position in starts(one.graph):
        expected = naive.result(NAIVE, first, second, position)
        assert result[row] == pytest.approx(expected, abs=1e-12)
    assert match(one.graph, one.policy, other.policy) == tuple(result[0])
    assert result.sum(axis=1) == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("seat", [FIRST, SECOND])
@pytest.mark.parametrize("table", TABLES, ids=str)
def test_an_agent_can_lose_where_the_oracle_says_so(table: Table, seat: int) -> None:
    one = agent(table)
    plies, follow = np.zeros(one.graph.code.size, np.int64), np.zeros(one.graph.first_edge.size - 1, np.int64)
    shortest_losses(one.graph, one.policy, seat, plies, follow)
    found = {position: plies[row] < NEVER for row, position in starts(one.graph)}
    expected = {position: naive.worst_case(NAIVE, rule_of(table), MARK[seat], position) < 0 for position in found}
    assert found == expected
    assert len(set(found.values())) > 1
    assert ((follow >= 0) == (plies[: follow.size] < NEVER)).all()


@pytest.mark.sampled(2)
@pytest.mark.parametrize("seat", [FIRST, SECOND])
@pytest.mark.parametrize("table", TABLES, ids=str)
def test_best_responses_are_those_of_the_oracle(table: Table, seat: int) -> None:
    one = agent(table)
    value = sweeps.best_responses(one.graph, chosen_edges(one.graph, one.policy), seat)
    for row, position in starts(one.graph):
        win, _, loss = naive.best_response(NAIVE, floats(rule_of(table)), naive.other(MARK[seat]), position)
        assert value[row] == pytest.approx(win - loss, abs=1e-12)


@pytest.mark.parametrize("seat", [FIRST, SECOND])
@pytest.mark.parametrize("table", TABLES, ids=str)
def test_the_optimal_share_is_that_of_its_definition(table: Table, seat: int) -> None:
    one, rule = agent(table), rule_of(table)
    agents, optimal = 0, 0
    reached, waiting = {NAIVE.empty}, [NAIVE.empty]
    while waiting:
        position = waiting.pop()
        if NAIVE.outcome(position) != naive.UNFINISHED:
            continue
        to_move = naive.mover(position) == MARK[seat]
        cells = list(rule(position)) if to_move else NAIVE.legal(position)
        lost = {naive.FIRST: -1, naive.SECOND: 1}[naive.mover(position)]
        if to_move:
            after = [VALUES[NAIVE.place(position, c)] if position[c] == 0 else lost for c in cells]
            agents += 1
            optimal += all(value == VALUES[position] for value in after)
        for cell in cells:
            if position[cell] == 0 and (child := NAIVE.place(position, cell)) not in reached:
                reached.add(child)
                waiting.append(child)
    found = exact_judge(one.graph, one.learner, np.zeros((2, 4)))(one.tables).optimal_share[seat]
    assert found == optimal / agents
    assert 0 < found < 1


@pytest.mark.parametrize("seat", [FIRST, SECOND])
@pytest.mark.parametrize("table", TABLES, ids=str)
def test_the_losing_line_is_a_shortest_game_that_the_agent_loses(table: Table, seat: int) -> None:
    one, rule = agent(table), rule_of(table)
    line = losing_line(one.graph, one.policy, seat)
    assert (line is None) == (naive.worst_case(NAIVE, rule, MARK[seat]) >= 0)
    if line is None:
        return
    position: naive.Position = NAIVE.empty
    for number, cell in enumerate(line):
        assert NAIVE.outcome(position) == naive.UNFINISHED
        to_move = naive.mover(position) == MARK[seat]
        assert cell in (rule(position) if to_move else NAIVE.legal(position))
        if position[cell] != 0:
            assert to_move and number == len(line) - 1
            assert len(line) == shortest_loss(rule, MARK[seat])
            return
        position = NAIVE.place(position, cell)
    assert NAIVE.outcome(position) == naive.other(MARK[seat])
    assert len(line) == shortest_loss(rule, MARK[seat])


def shortest_loss(rule: naive.Rule, mark: int) -> int:
    """Plies of the shortest game that an agent can lose, breadth first."""
    level, plies = {NAIVE.empty}, 0
    while True:
        plies += 1
        following = set()
        for position in level:
            to_move = naive.mover(position) == mark
            for cell in rule(position) if to_move else NAIVE.legal(position):
                if position[cell] != 0:
                    return plies
                child = NAIVE.place(position, cell)
                outcome = NAIVE.outcome(child)
                if outcome == naive.other(mark):
                    return plies
                if outcome == naive.UNFINISHED:
                    following.add(child)
        level = following


def judged(name: str, graph: Graph, tables: Any) -> Judgement:
    learner = LEARNERS[name]
    return exact_judge(graph, learner, learner.worth(learner.defaults))(tables)


@pytest.mark.parametrize("name", ["td", "minimax-q"])
def test_a_judgement_is_made_of_the_parts(name: str) -> None:
    one = agent((name, 1))
    verdict = judged(name, one.graph, one.tables)
    random = random_policy(one.graph)
    assert verdict.self_play == pytest.approx(match(one.graph, one.policy, one.policy))
    assert verdict.versus_random[FIRST] == pytest.approx(match(one.graph, one.policy, random))
    assert verdict.versus_random[SECOND] == pytest.approx(match(one.graph, random, one.policy)[::-1])
    for seat in (FIRST, SECOND):
        worst = naive.worst_case(NAIVE, rule_of((name, 1)), MARK[seat])
        assert verdict.worst[seat] == worst and verdict.unbeatable[seat] == (worst >= 0)
        win, _, loss = naive.best_response(NAIVE, floats(rule_of((name, 1))), naive.other(MARK[seat]))
        assert verdict.best_response[seat] == pytest.approx(win - loss)


# --- distance from the truth ------------------------------------------------------------------------------


def own_value(name: str) -> Callable[[Agent, int, int], float]:
    """Return the worth of a row to a player by a learner's table, from its definition."""

    def children(one: Agent, row: int) -> np.ndarray:
        return one.graph.child[one.graph.first_edge[row] : one.graph.first_edge[row + 1]]

    def edges(one: Agent, row: int) -> np.ndarray:
        q = one.tables.q if one.tables.q.ndim == 1 else one.tables.q.mean(axis=0)
        return q[one.graph.first_edge[row] : one.graph.first_edge[row + 1]]

    def moves(one: Agent, row: int, player: int) -> bool:
        return bool(one.graph.ply[row] & 1 == player)

    def td(one: Agent, row: int, player: int) -> float:
        return float(one.tables.value[row]) * (1 - 2 * player)

    def sutton_barto(one: Agent, row: int, player: int) -> float:
        return float(one.tables.value[player, row])

    def afterstates(one: Agent, row: int, player: int) -> float:
        if not moves(one, row, player):
            return float(one.tables.value[player, row])
        seen = [v for v in one.tables.value[player, children(one, row)].tolist() if v == v]
        return max(seen, default=math.nan)

    def minimax_q(one: Agent, row: int, player: int) -> float:
        best = edges(one, row).min() if one.graph.ply[row] & 1 else edges(one, row).max()
        return float(best) * (1 - 2 * player)

    def backward_q(one: Agent, row: int, player: int) -> float:
        return float(edges(one, row).max()) if moves(one, row, player) else math.nan

    def baseline(one: Agent, row: int, player: int) -> float:
        return float(one.tables.value[row]) if moves(one, row, player) else math.nan

    return {
        "td": td,
        "sutton-barto": sutton_barto,
        "value-feed": afterstates,
        "minimax-q": minimax_q,
        "backward-q": backward_q,
        "greedy-td": afterstates,
        **dict.fromkeys(("q-learning", "sarsa", "expected-sarsa", "double-q"), backward_q),
        "td-lambda": td,
        "reinforce": baseline,
        "actor-critic": baseline,
    }[name]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", BOTH_SEATS)
def test_the_value_error_is_the_mean_distance_from_the_true_results(name: str) -> None:
    one = agent((name, 1))
    worth, solution = one.learner.worth(one.learner.defaults), solve(one.graph)
    for player in (FIRST, SECOND):
        distances = []
        for row in np.flatnonzero(one.graph.outcome == UNFINISHED).tolist():
            value = own_value(name)(one, row, player)
            if value == value:
                truth = worth[player, {1: FIRST_WINS, 0: DRAW, -1: SECOND_WINS}[int(solution[row])]]
                distances.append(abs(value - truth))
        found = judged(name, one.graph, one.tables).value_error[player]
        assert found == pytest.approx(math.fsum(distances) / len(distances), rel=1e-12)
        assert len(distances) > 2000


def test_the_solved_game_and_random_play_as_tables() -> None:
    """Of the second one the best opponents win 191 of 192 games as first, and 881 of 945 as second."""
    solved = judged("td", GRAPH, TdTables(solve(GRAPH).astype(np.float64)))
    assert solved.value_error.tolist() == solved.best_response.tolist() == [0, 0]
    assert solved.optimal_share.tolist() == [1, 1] and solved.unbeatable.tolist() == [True, True]
    random = judged("td", GRAPH, TdTables(np.zeros(GRAPH.code.size)))
    assert random.best_response == pytest.approx([881 / 945 - 1 / 135, 191 / 192], abs=1e-12)
    assert random.worst.tolist() == [-1, -1] and (random.optimal_share < 1).all()


@pytest.mark.slow  # kernels of another learner
def test_values_that_were_never_seen_have_no_error() -> None:
    learner = LEARNERS["value-feed"]
    unseen = learner.start(GRAPH, learner.worth(learner.defaults), np.random.default_rng(0))
    assert np.isnan(judged("value-feed", GRAPH, unseen).value_error).all()


# --- the whole judgement, to the last bit -----------------------------------------------------------------

BOARDS = [
    (Board(), False),
    (Board(), True),
    (Board(misere=True), False),
    (Board(2, 4, 3, exact=True), False),
    (Board(1, 3, 1), False),
    (Board(3, 3, 2), True),
]
"""Boards, and whether images of a position are one row."""


def noisy(learner: Learner, graph: Graph, worth: np.ndarray, rng: np.random.Generator) -> Any:
    """Tables of rounded random numbers: with many ties or none, with holes, and near the solution or far from it."""
    digits, near, unseen = int(rng.integers(0, 4)), rng.choice([0.0, 1.0, 20.0]), rng.choice([0.0, 0.3, 1.0])
    solution, sign = solve(graph), np.where(graph.ply & 1, 1, -1)
    tables = learner.start(graph, worth, rng)
    for array in tables:
        holes, truth = np.isnan(array).any(), solution
        if array.shape[-1] == graph.child.size:
            movers = np.where(learner.zero_sum, 1, -sign[: np.diff(graph.first_edge).size])
            truth = solution[graph.child] * movers.repeat(np.diff(graph.first_edge))
        elif array.ndim == 2:
            truth = np.stack([solution, -solution])
        array[...] = np.round(near * truth + rng.standard_normal(array.shape), digits)
        if holes:
            array[rng.random(array.shape) < unseen] = np.nan
    return tables


def assert_judged_alike(learner: Learner, graph: Graph, space: ProofSpace, tables: Any) -> Judgement:
    """The kernel's judgement of tables is that of whole sweeps, whoever lists the best moves."""
    policy = empty_policy(graph)
    expected = sweeps.judgement(tables, graph, learner, space.worth, space.solution)
    order_rows(tables, graph, learner.choice, policy)
    for listed, one in ((False, space), (True, space._replace(policy=policy))):
        verdict = make_judgement()
        judge_tables(tables, graph, learner.choice, one, listed, verdict, (0, 2))
        for name, found, known in zip(verdict._fields, verdict, expected, strict=True):
            assert found.dtype == known.dtype and found.tobytes() == known.tobytes(), (name, found, known)
    return expected


@pytest.mark.slow
@pytest.mark.parametrize(
    ("tables", "games"),
    [(4, (300, 30_000)), (100, (10, 100, 1000, 10_000, 100_000, 1_000_000))],
)
@pytest.mark.parametrize("name", BOTH_SEATS)
def test_judgements_are_those_of_whole_sweeps(name: str, tables: int, games: tuple[int, ...]) -> None:
    """Random tables on every board, with the same working space; trained ones on 3x3.  All slow ones: thousands."""
    learner, rng = LEARNERS[name], np.random.default_rng(1)
    flags, gamma = set(), 1.0 if learner.undiscounted else 0.9
    for board, symmetry in BOARDS:
        graph = enumerate_graph(board, learner.occupied, symmetry)
        space = make_proof_space(graph, learner.worth(learner.defaults))
        for _ in range(tables):
            space.worth[:, DRAW] = rng.uniform(-1, 1, 2)
            found = assert_judged_alike(learner, graph, space, noisy(learner, graph, space.worth, rng))
            flags.add(tuple(found.unbeatable.tolist()))
    assert len(flags) > 1
    for n in games:
        for batch in (1, 64):
            run = ttt.train(n, learner=name, seed=n, batch=batch, gamma=gamma, draw_worth=(0.3, 0.4))
            assert_judged_alike(learner, run.graph, make_proof_space(run.graph, run.worth), run.tables)
