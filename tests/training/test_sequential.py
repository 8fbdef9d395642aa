"""Games one by one against play without a cache: every move looked up anew, in plain Python, and the same tables."""

from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest
from helpers.support import BY_EPSILON, assert_begun_anew_changes_nothing
from oracle.streams import below, drawn, drawn_set, plies_of

import ttt_batch as ttt
from ttt_batch.compiler.intrinsics import mask_above, masked_max
from ttt_batch.compiler.numerics import RULE, stream_key
from ttt_batch.games.transcripts import Games
from ttt_batch.learners import LEARNERS
from ttt_batch.learners.base import make_step, make_trajectory
from ttt_batch.runs.config import make_config
from ttt_batch.simulation.policy import FIRST_BEST, LAST_BEST, edge_scores, row_choices
from ttt_batch.simulation.walk import SET_DRAW, make_explorations
from ttt_batch.training.kernels.games import is_like_3x3, learn_given, make_cache, window_decides
from ttt_batch.training.trainers.batched import make_trainer

STOPS = (1, 2, 40, 700, 2_500)

CASES: list[dict[str, Any]] = [
    *({"learner": name, "epsilon": epsilon} for name in BY_EPSILON for epsilon in (0.0, 0.03, 0.6)),
    {"learner": "td", "alpha": 0.1, "epsilon": 0.1},
    {"learner": "td", "alpha": 1.0, "gamma": 0.9, "epsilon": 0.3},
    {"learner": "td", "alpha": "1/n", "epsilon": 0.3},
    {"learner": "td", "symmetry": True, "epsilon": 0.2},
    {"learner": "sutton-barto", "alpha": 0.9, "epsilon": 0.01},
    {"learner": "sutton-barto", "symmetry": True, "epsilon": 0.01},
    {"learner": "backward-q", "board": "2x3x2", "epsilon": 0.01},
    {"learner": "backward-q", "symmetry": True, "epsilon": 0.3},
    {"learner": "backward-q", "draw_worth": (0.5, 1e100), "epsilon": 0.3},
    {"learner": "backward-q", "board": "2x2x2", "epsilon": 0.3},
    {"learner": "backward-q", "board": "3x3x2", "epsilon": 0.3},
    {"learner": "backward-q", "board": "1x9x2", "epsilon": 0.3},
    {"learner": "backward-q", "board": "1x9x5", "epsilon": 0.3},
    {"learner": "minimax-q", "board": "1x9x3", "epsilon": 0.02},
]

BOARDS = ("1x1x1", "1x2x2", "2x2x2", "2x3x2", "2x4x3", "3x3x2", "3x3x3", "1x9x1", "1x9x2", "1x9x3", "1x9x5", "1x9x9")
"""Small boards: with and without nine cells, with games of a ply and games of nine."""


@numba.njit
def compared(values: Any, start: int, limit: float) -> Any:
    """`mask_above` as kernels call it."""
    return mask_above(values, np.uint64(start), limit)


@numba.njit
def highest_among(values: Any, start: int, members: int) -> Any:
    """`masked_max` as kernels call it."""
    return masked_max(values, np.uint64(start), np.uint64(members))


def in_python(instruction: Any) -> Any:
    """An instruction as it is without the JIT."""
    return getattr(instruction, "plain", instruction)


class Plain:
    """Plays and learns game by game; what may be picked is found out from the table at every move."""

    def __init__(self, options: dict[str, Any]) -> None:
        self.config = make_config(batch=1, **options)
        self.graph, self.learner = self.config.graph, LEARNERS[self.config.learner]
        worth = self.learner.worth(self.config.settings)
        alpha = self.config.alpha
        self.tables = self.learner.start(self.graph, worth, np.random.default_rng(self.config.seed))
        visits = np.zeros(self.tables[0].size if alpha.power else 0)
        own = {"lambda_": self.config.lambda_, "cut": self.config.cut, "chance": stream_key(self.config.seed, RULE)}
        epsilon = self.config.epsilon.start
        self.step = make_step(alpha.start, self.config.gamma, worth, alpha.power, visits, epsilon=epsilon, **own)
        self.columns = make_explorations(self.config.epsilon.start).column.tolist()
        self.key = int(stream_key(self.config.seed))
        self.game = make_trajectory(int(self.graph.ply.max()))
        self.outcomes = np.zeros(4, np.int64)

    def candidates(self, row: int) -> list[int]:
        lo, hi = self.graph.first_edge[row : row + 2].tolist()
        chosen = np.zeros(hi - lo, np.bool_)
        row_choices(self.tables, self.graph, self.learner.choice, row, chosen)
        return [int(lo + slot) for slot in np.flatnonzero(chosen)]

    def play(self, number: int) -> tuple[list[int], list[bool]]:
        exploring_at = plies_of(drawn_set(self.columns, drawn(self.key, number, SET_DRAW)))
        row, edges, exploring, decision = 0, [], [], 1
        while row < self.graph.first_edge.size - 1:
            explores = len(edges) in exploring_at
            lo, hi = self.graph.first_edge[row : row + 2].tolist()
            among = list(range(lo, hi)) if explores else self.candidates(row)
            edges.append(among[below(drawn(self.key, number, decision), len(among))])
            exploring.append(explores)
            decision += explores or len(among) > 1
            row = int(self.graph.child[edges[-1]])
        return edges, exploring

    def learn(self, number: int) -> None:
        edges, exploring = self.play(number)
        games = Games(np.array([0, len(edges)]), np.array(edges, np.uint32), np.array(exploring, np.bool_))
        step = self.step._replace(game=number)
        learn_given(self.tables, self.graph, step, None, games, self.game, self.outcomes, 0, False)


@pytest.mark.slow
@pytest.mark.parametrize("options", CASES, ids=str)
def test_play_by_the_cache_is_play_by_the_table(options: dict[str, Any]) -> None:
    plain = Plain(options)
    trainer = make_trainer(plain.config)
    number = 0
    for stop in STOPS:
        trainer.advance(stop, lambda: False)
        while number < stop:
            plain.learn(number)
            number += 1
        for ours, theirs in zip(trainer.tables, plain.tables, strict=True):
            assert ours.tobytes() == theirs.tobytes(), stop
    assert trainer.visits.tobytes() == plain.step.visits.tobytes()


@pytest.mark.parametrize("symmetry", [False, True])
@pytest.mark.parametrize("learner", ["backward-q", "minimax-q"])
@pytest.mark.parametrize("board", BOARDS)
def test_what_the_cache_knows_of_a_board(board: str, learner: str, symmetry: bool) -> None:
    """Where a row begins, by multiplication, and if the board is like 3x3.

    That is: nine cells, five in a game at least, and where there is a choice, eight edges to read.
    """
    graph = make_config(learner=learner, board=board, symmetry=symmetry).graph
    cache = make_cache(graph)
    rows = np.arange(graph.first_edge.size - 1)
    ply, widths = graph.ply[rows].astype(np.int64), np.diff(graph.first_edge)
    count = cache.count[ply].astype(np.int64)
    assert (count == widths).all()
    assert (cache.offset[ply].astype(np.int64) + rows * count == graph.first_edge[:-1]).all()
    assert is_like_3x3(graph) == (learner != "minimax-q" and board in ("3x3x3", "1x9x3", "1x9x5", "1x9x9"))
    if is_like_3x3(graph):
        assert (graph.first_edge[:-1][widths > 1] + 8 <= graph.child.size).all()


def test_eight_are_compared_as_one_by_one() -> None:
    rng = np.random.default_rng(1)
    values = rng.choice([-np.inf, -1.0, -0.0, 0.0, 1e-300, 0.5, 1.0, np.inf, np.nan], 4_000)
    for start in range(values.size - 8 + 1):
        limit = values[start] if start % 2 else 0.5
        expected = sum(1 << lane for lane in range(8) if values[start + lane] > limit)
        assert compared(values, start, limit) == in_python(mask_above)(values, np.uint64(start), limit) == expected


def test_the_highest_of_eight() -> None:
    rng = np.random.default_rng(2)
    values = rng.choice([-np.inf, -1.0, 0.0, 1e-300, 0.5, np.nextafter(0.5, 1), np.inf], 1_000)
    for start in range(values.size - 8 + 1):
        members = int(rng.integers(512))  # the ninth bit means nothing
        chosen = [values[start + lane] for lane in range(8) if members >> lane & 1]
        expected = max(chosen, default=-np.inf)
        assert (
            highest_among(values, start, members)
            == in_python(masked_max)(values, np.uint64(start), members)
            == expected
        )


@pytest.mark.parametrize(("largest", "decides"), [(1.0, True), (1e12, True), (1e14, False), (1e100, False)])
def test_a_window_decides_unless_it_is_lost_in_rounding(largest: float, decides: bool) -> None:
    choice = LEARNERS["backward-q"].choice
    small, large = np.array([0.0, 1.0]), np.array([0.0, -largest])
    assert window_decides(choice, large, small) == window_decides(choice, small, large) == decides
    if decides:
        assert np.nextafter(largest, np.inf) - choice.window < largest


def test_a_window_decides_only_among_numbers_and_where_equals_are_drawn_among() -> None:
    choice, small = LEARNERS["backward-q"].choice, np.array([0.0, 1.0])
    assert window_decides(choice, small, small)
    assert not window_decides(choice._replace(window=0.0), small, small)
    for tie in (FIRST_BEST, LAST_BEST):
        assert not window_decides(choice._replace(tie=tie), small, small)
    for odd in (np.nan, np.inf, -np.inf):
        assert not window_decides(choice, small, np.array([0.0, odd]))


@pytest.mark.slow  # kernels of another learner
def test_tables_may_begin_far_beyond_the_worths(tmp_path: Path) -> None:
    """Games that are recorded are played another way."""
    first = ttt.train(300, learner="backward-q", batch=1, draw_worth=(0.5, 1e18), epsilon=0.3)
    options: dict[str, Any] = {"learner": "backward-q", "batch": 1, "start": first, "epsilon": 0.3}
    plain, recorded = ttt.train(3_000, **options), ttt.train(3_000, **options, record=tmp_path / "games.txt")
    assert plain.tables.q.tobytes() == recorded.tables.q.tobytes() and np.abs(plain.tables.q).max() > 1e14


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, learner in LEARNERS.items() if learner.edge_scores])
def test_scores_by_edge_are_what_the_learner_scores(name: str) -> None:
    with np.load(Path(__file__).parents[1] / "recorded" / "backward-q.npz") as file:
        run, _ = ttt.learn_from(file["games"].tolist(), learner=name)
    table = getattr(run.tables, LEARNERS[name].edge_scores or "")
    assert np.unique(table).size > 20 and edge_scores(run.tables, run.graph).tobytes() == table.tobytes()


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", BY_EPSILON)
def test_a_lesson_changes_only_what_the_game_met(name: str) -> None:
    """What lets a game repeat itself: all other moves of its rows score as before."""
    plain = Plain({"learner": name, "epsilon": 0.5})
    changes = 0
    for number in range(300):
        before = [table.copy() for table in plain.tables]
        edges, _ = plain.play(number)
        plain.learn(number)
        met = {"S": {0, *plain.graph.child[edges].tolist()}, "E": set(edges)}
        for field, ours, theirs in zip(plain.learner.fields, plain.tables, before, strict=True):
            axes = plain.learner.fields[field][0]
            same = (ours == theirs) | np.isnan(ours)
            changed = set(np.flatnonzero(~same.reshape(-1, ours.shape[-1]).all(axis=0)).tolist())
            assert changed <= met[axes[-1]]
            changes += len(changed)
    assert changes > 300


REMEMBERING = ("td", "sutton-barto")
"""Learners for the quick tests: one that leaves something for its next fold, one whose games repeat themselves."""

MEMORIES: list[Any] = [
    *({"learner": name, "batch": batch} for name in REMEMBERING for batch in (1, 128)),
    *(
        pytest.param({"learner": name, "batch": batch}, marks=pytest.mark.slow)
        for name in sorted(LEARNERS.keys() - REMEMBERING)
        for batch in (1, 128)
    ),
    {"learner": "td", "batch": 128, "engine": "flow"},
    {"learner": "td", "batch": 128, "gamma": 0.9, "alpha": 1.0},
    {"learner": "td", "batch": 128, "alpha": "0.2->0.9:linear", "horizon": 5_000},
    {"learner": "td", "batch": 1, "alpha": "0.2->0.9:linear", "horizon": 5_000},
    {"learner": "td", "batch": 128, "alpha": "1/n"},
    {"learner": "td", "batch": 128, "opponent": "random", "seat": "both"},
    {"learner": "td", "batch": 1, "opponent": "optimal", "seat": "both"},
    {"learner": "td", "batch": 128, "board": "2x5x3"},
    {"learner": "td", "batch": 128, "board": "2x5x3", "engine": "flow"},
]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("options", MEMORIES, ids=str)
def test_what_is_remembered_between_batches_changes_nothing(options: dict[str, Any]) -> None:
    """Favourites, settled rows and whatever folds leave for the next: a trainer made anew has none of them."""
    assert_begun_anew_changes_nothing(make_config(**options))
