"""Play by chances against plain play, move by move, and against the shares that the chances give."""

import math
from typing import Any

import numpy as np
import pytest
from oracle.softmax import alias_table, drawn_slot, exponential
from oracle.streams import drawn

from ttt_batch.compiler import numerics as own
from ttt_batch.compiler.jit import kernel
from ttt_batch.core.errors import UsageError
from ttt_batch.games.board import Board
from ttt_batch.games.enumeration import enumerate_graph
from ttt_batch.games.graph import Graph, rows_of_edges
from ttt_batch.games.transcripts import games_space
from ttt_batch.runs.config import make_config
from ttt_batch.simulation.action_probabilities import Probabilities, even_chances, make_chances
from ttt_batch.simulation.lockstep import trimmed
from ttt_batch.simulation.policy import EXPLORING, GREEDY, clear_counts, random_policy
from ttt_batch.simulation.sampled import lay_out, make_alias_table, replay_mixture, slot_drawn
from ttt_batch.simulation.walk import walk_from_queue
from ttt_batch.training.kernels.batch import Learning, Workspace, play_batch
from ttt_batch.training.kernels.sampled import lay_out_rows
from ttt_batch.training.trainers.batched import Batched, MixtureWalking, make_trainer


@kernel
def exponentials(x: Any, results: Any) -> None:
    """`exponential` of many numbers."""
    for i in range(x.shape[0]):
        results[i] = own.exponential(x[i])


@kernel
def slots_drawn(table: Any, n_slots: int, column: Any, bits: Any, slots: Any) -> None:
    """Return the slots that random numbers draw from the probabilities in `table`."""
    n = lay_out(table, n_slots, column, np.int64(0))
    for i in range(bits.shape[0]):
        slots[i] = slot_drawn(column, np.uint64(0), np.uint64(n), bits[i])


@kernel
def play_once(way: Any, learning: Learning, work: Workspace, key: Any, games: int) -> None:
    """A batch from game 0 on, all rows laid out."""
    play_batch(way, learning, work, 0, key, (0, games))


@pytest.mark.slow
def test_the_exponential_is_that_of_the_definition_and_within_a_unit_of_the_true_one() -> None:
    rng = np.random.default_rng(1)
    x = -np.concatenate([rng.exponential(1.0, 4_000), rng.uniform(0, 701, 4_000), 10.0 ** rng.uniform(-20, 3, 4_000)])
    x = np.concatenate([x, [-0.0, 0.0, -math.log(2) / 2, -700.0, -700.1, -1e300, -math.inf, math.nan]])
    found = np.zeros(x.size)
    exponentials(x, found)
    assert found.tolist() == [exponential(one) for one in x.tolist()]
    near = x >= -700
    true = np.array([math.exp(one) for one in x[near].tolist()])
    assert (np.abs(found[near] - true) <= 1.0 * np.spacing(true)).all()
    assert found[-8] == found[-7] == 1.0 and not found[-4:].any()


def some_chances(rng: np.random.Generator, n: int) -> np.ndarray:
    """Chances of n slots, some of them 0, some tiny."""
    weights = rng.exponential(1.0, n) ** rng.choice([1, 8, 40]) * (rng.random(n) < 0.7)
    weights[rng.integers(n)] += 1e-3
    return weights / weights.sum()


@pytest.mark.slow
def test_a_row_s_columns_are_the_alias_table_of_its_chances() -> None:
    rng = np.random.default_rng(2)
    for n in (1, 2, 3, 18, 100):
        for _ in range(40):
            chances = some_chances(rng, n)
            table, column, slots = make_alias_table(), np.zeros(128, np.uint64), np.zeros(200, np.int64)
            table.chance[:n] = chances
            bits = rng.integers(0, 2**64, 200, np.uint64)
            slots_drawn(table, n, column, bits, slots)
            plain = [(number, False, chance) for number, chance in enumerate(chances.tolist())]
            assert slots.tolist() == [drawn_slot(plain, number)[0] for number in bits.tolist()]


def test_columns_hold_the_chances_to_the_last_of_32_bits() -> None:
    rng = np.random.default_rng(3)
    for n in (1, 2, 7, 18):
        for _ in range(100):
            chances = [chance for chance in some_chances(rng, n).tolist() if chance > 0]
            found = [0.0] * len(chances)
            for own_slot, (threshold, other) in enumerate(alias_table(chances)):
                found[own_slot] += (threshold if other != own_slot else 2**32) / 2**32 / len(chances)
                found[other] += (1 - threshold / 2**32) / len(chances) if other != own_slot else 0.0
            assert max(abs(a - b) for a, b in zip(found, chances, strict=True)) < 2**-31


def chances_on(graph: Graph, seed: int) -> Probabilities:
    """A player with chances of every kind; some moves are never made."""
    rng, row = np.random.default_rng(seed), rows_of_edges(graph)
    weight = rng.exponential(1.0, row.size) ** 3 * (rng.random(row.size) < 0.8)
    weight[graph.first_edge[:-1]] += 1e-6
    return make_chances(graph, weight / np.add.reduceat(weight, graph.first_edge[:-1])[row])


class Match:
    """A batch of a learner, by softmax at temperature 0.2 or epsilon-greedily, as second against a fixed player.

    chance: float64[E, 2], how likely each move is, by kind, from the definitions.
    """

    def __init__(self, board: str, engine: str, seed: int, *, softmax: bool = True) -> None:
        how = {"explore": "softmax:0.2"} if softmax else {"epsilon": 0.3}
        options = {"learner": "backward-q", "board": board, "engine": engine, "batch": 64, "seed": seed}
        config = make_config(**options, **how, opponent="random", seat="second")
        self.graph = config.graph
        rival = chances_on(self.graph, seed)
        self.trainer: Any = make_trainer(config, opponent=rival)
        assert isinstance(self.trainer, MixtureWalking if engine == "walk" else Batched)
        q = self.trainer.tables.q
        q[:] = np.random.default_rng(seed).choice([0.0, 0.3, 0.5, 0.505, 1.0, -3.0], q.size)
        self.way, self.work = self.trainer._samplers[0], self.trainer._works[0]
        if engine == "walk":
            lay_out_rows(self.way, self.trainer._learning, self.work.owned)
        self.chance = np.zeros((q.size, 2))
        for row in range(self.graph.first_edge.size - 1):
            lo, hi = self.graph.first_edge[row : row + 2].tolist()
            good = q[lo:hi] > q[lo:hi].max() - 0.01
            if self.graph.ply[row] % 2 == 0:
                self.chance[lo:hi, GREEDY] = rival.chance[lo:hi]
            elif softmax:
                share = np.exp((q[lo:hi] - q[lo:hi].max()) / 0.2)
                self.chance[np.arange(lo, hi), np.where(good, GREEDY, EXPLORING)] = share / share.sum()
            else:
                self.chance[lo:hi, GREEDY] = 0.7 * good / good.sum()
                self.chance[lo:hi, EXPLORING] = 0.3 / (hi - lo)

    def played(self, games: int) -> np.ndarray:
        """int64[E, 2]: how often each move was taken, by kind, by a batch of games from game 0 on."""
        trainer, counts = self.trainer, self.work.counts
        play_once(self.way, trainer._learning, self.work, trainer._key, games)
        rows = counts.visited[: counts.n_visited[0]]
        assert (rows == np.flatnonzero(counts.arrived[: counts.visited.size])).all()
        seen = np.isin(rows_of_edges(self.graph), rows)
        taken: np.ndarray = np.where(seen[:, None], counts.taken, 0)
        arrived = np.bincount(self.graph.child, taken.sum(axis=1), self.graph.code.size)
        arrived[0] = games
        assert (arrived == counts.arrived).all()
        clear_counts(self.graph, counts, self.work.ended)
        return taken

    def expected(self) -> np.ndarray:
        """float64[E, 2]: the probability that a game takes each move, by kind."""
        arrive, taken = np.zeros(self.graph.code.size), np.zeros(self.chance.shape)
        arrive[0] = 1.0
        for row in range(self.graph.first_edge.size - 1):
            lo, hi = self.graph.first_edge[row : row + 2].tolist()
            taken[lo:hi] = arrive[row] * self.chance[lo:hi]
            np.add.at(arrive, self.graph.child[lo:hi], taken[lo:hi].sum(axis=1))
        return taken


def surprise(taken: np.ndarray, expected: np.ndarray, games: int) -> float:
    """Return how far counts are from what is expected of each move, as a standard score.

    The squares' sum over moves that are frequent enough, each against its row's games, turned into a score by Wilson
    and Hilferty's rule (see `test_flow`) with as many degrees of freedom as there are such moves.
    """
    often = expected * games >= 10
    assert often.sum() > 100 and not taken[expected == 0].any()
    z = (taken - expected * games)[often] / np.sqrt(expected * games * (1 - expected))[often]
    n = int(often.sum())
    return float(((z @ z / n) ** (1 / 3) - (1 - 2 / (9 * n))) / math.sqrt(2 / (9 * n)))


CASES = [
    ("3x3", "walk", True),
    ("3x3", "flow", True),
    *(pytest.param("3x3", engine, False, marks=pytest.mark.slow) for engine in ("walk", "flow")),
    *(pytest.param("2x5x3", engine, True, marks=pytest.mark.slow) for engine in ("walk", "flow")),
]


@pytest.mark.slow
@pytest.mark.parametrize(("board", "engine", "softmax"), CASES)
def test_counts_have_the_shares_that_the_chances_give(board: str, engine: str, softmax: bool) -> None:
    match = Match(board, engine, 7, softmax=softmax)
    games = 400_000
    taken, expected = match.played(games), match.expected()
    # Moves down one path rise and fall together, so the score spreads wider than a normal one; seen here: 3 at most.
    assert abs(surprise(taken, expected, games)) < 8
    wrong = match.chance[:, ::-1] if softmax else match.chance
    skewed = np.where(wrong > 0, wrong + 0.01, 0)
    match.chance = (
        skewed / np.add.reduceat(skewed.sum(1), match.graph.first_edge[:-1])[rows_of_edges(match.graph), None]
    )
    wanted = np.where(match.expected() > 0, match.expected(), expected)
    assert abs(surprise(np.where(wanted > 0, taken, 0), wanted, games)) > 20


@pytest.mark.slow
def test_the_walk_plays_what_a_plain_walk_plays_and_so_does_its_record() -> None:
    match = Match("3x3", "walk", 3)
    graph, games, key = match.graph, 3_000, match.trainer._key
    plain, moves = np.zeros(match.chance.shape, np.int64), []
    slots_of: dict[int, Any] = {}
    for number in range(games):
        row, ply = 0, 0
        while row < graph.first_edge.size - 1:
            lo, hi = graph.first_edge[row : row + 2].tolist()
            if row not in slots_of:
                laid = chances_in_columns(match.way, row, 2 * lo, 2 * (hi - lo))
                assert np.abs(laid - match.chance[lo:hi].ravel()).max() < 2**-31
                slots_of[row] = laid
            slot = drawn_from_columns(match.way, row, 2 * lo, drawn(int(key), number, ply))
            plain[lo + slot // 2, slot % 2] += 1
            moves.append((lo + slot // 2, bool(slot % 2)))
            row, ply = int(graph.child[lo + slot // 2]), ply + 1
    assert (match.played(games) == plain).all()
    space = games_space(games, 9)
    replay_mixture(graph, match.way, key, 0, games, space)
    recorded = trimmed(space)
    assert list(zip(recorded.move.tolist(), recorded.exploring.tolist(), strict=True)) == moves
    one = match.played(games)
    for first, last in ((2_000, 3_000), (0, 1), (1, 2_000)):
        walk_from_queue(graph, match.way, key, np.array([first]), last - first, last)
    assert (match.way.drawn.reshape(-1, 2) == one).all()


def drawn_from_columns(way: Any, row: int, at: int, bits: int) -> int:
    """The slot that 64 random bits take, from the layout as `Mixture` describes it."""
    word = int(way.column[at + ((bits >> 32) * int(way.columns[row]) >> 32)])
    return word >> 8 & 255 if bits % 2**32 < word >> 32 else word & 255


def chances_in_columns(way: Any, row: int, at: int, n_slots: int) -> np.ndarray:
    """Return the probability that the columns of a row give to each slot."""
    found, n = np.zeros(n_slots), int(way.columns[row])
    for word in way.column[at : at + n].tolist():
        threshold, own_slot, other = word >> 32, word >> 8 & 255, word & 255
        found[own_slot] += threshold / 2**32 / n
        found[other] += (1 - threshold / 2**32) / n
    return found


def test_even_chances_are_those_of_the_policy() -> None:
    graph = enumerate_graph(Board())
    chance = even_chances(graph, random_policy(graph)).chance
    assert (chance == 1 / np.diff(graph.first_edge)[rows_of_edges(graph)]).all()


@pytest.mark.parametrize("wrong", ["negative", "nan", "too few", "not one"])
def test_chances_that_are_none(wrong: str) -> None:
    graph = enumerate_graph(Board(2, 2, 2))
    chance = even_chances(graph, random_policy(graph)).chance.copy()
    if wrong == "too few":
        chance = chance[1:]
    else:
        chance[0] = {"negative": -0.25, "nan": np.nan, "not one": 0.3}[wrong]
    with pytest.raises(UsageError, match="chances"):
        make_chances(graph, chance)
