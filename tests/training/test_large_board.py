"""Enumerated boards of more than nine cells, and some on which marks fall: games, tables and their shares."""

import functools
import itertools
import math
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.support import BOTH_SEATS, BY_EPSILON, assert_same_in_parts
from oracle import naive
from oracle.boards import assert_same, oracle_of, start_tables, variant_of

import ttt_batch as ttt
from ttt_batch.compiler.numerics import stream_key
from ttt_batch.core.errors import BoardError, UsageError
from ttt_batch.games.board import DRAW, FIRST_WINS, SECOND_WINS, parse_board
from ttt_batch.games.enumeration import enumerate_graph
from ttt_batch.games.graph import Graph
from ttt_batch.games.solution import solve
from ttt_batch.learners import LEARNERS
from ttt_batch.runs.config import make_config
from ttt_batch.runs.schedules import make_batches
from ttt_batch.simulation.flow import flow, make_rows
from ttt_batch.simulation.policy import empty_counts, random_policy
from ttt_batch.training.kernels.batch import Learning, make_decays, make_spans, run_batches
from ttt_batch.training.trainers import batched
from ttt_batch.training.trainers.batched import InLockstep, make_trainer

pytestmark = pytest.mark.quick_learners("td")

BOARD = "2x5x3"
PLAIN = naive.Board(2, 5, 3)


def bytes_of(run: ttt.Run) -> list[bytes]:
    outcomes = run.statistics["outcomes"].tobytes(), run.statistics["games"].tobytes()
    return [*(table.tobytes() for table in run.tables), run.visits.tobytes(), *outcomes]


def games_of(path: Path, board: naive.Board = PLAIN, *, occupied: bool = False) -> list[naive.Moves]:
    """The games of a file, each a real one."""
    games = [naive.parse_game(line) for line in path.read_text().splitlines()]
    for moves in games:
        naive.replay(board, moves, occupied_loses=occupied)
    return games


def result_of(board: naive.Board, moves: naive.Moves) -> int:
    """Return who won: 1, 2, or 3 for a draw."""
    last = naive.replay(board, moves, occupied_loses=True)[-1]
    return naive.other(naive.mover(last.position)) if last.after is None else board.outcome(last.after)


def random_shares(graph: Graph) -> np.ndarray:
    """Exact chances that the first player wins, of a draw and that the second wins, all moves at random."""
    n_open = graph.first_edge.size - 1
    chance = np.zeros(graph.code.size)
    chance[0] = 1.0
    width = np.diff(graph.first_edge.astype(np.int64))
    sources = np.arange(n_open).repeat(width)
    for ply in range(int(graph.ply.max()) + 1):
        edges = np.flatnonzero(graph.ply[sources] == ply)
        np.add.at(chance, graph.child[edges], chance[sources[edges]] / width[sources[edges]])
    return np.array([chance[graph.outcome == outcome].sum() for outcome in (FIRST_WINS, DRAW, SECOND_WINS)])


# --- what is learnt -----------------------------------------------------------------------------------------------


@pytest.mark.sampled(3)
@pytest.mark.parametrize("board", [BOARD, "3x3-gravity"])
@pytest.mark.parametrize("batch", [1, 200])
@pytest.mark.parametrize("name", BY_EPSILON)
def test_recorded_games_teach_what_the_oracle_learns(name: str, batch: int, board: str, tmp_path: Path) -> None:
    """Every greedy move is one that the oracle could pick then, and the tables are its own to the last bit.

    Where marks fall, rows of a ply have different numbers of moves.
    """
    path, occupied, plain = tmp_path / "games.txt", LEARNERS[name].occupied, variant_of(parse_board(board))
    options: dict[str, Any] = {"learner": name, "board": board, "seed": 4}
    run = ttt.train(500, **options, batch=batch, epsilon=0.4, record=path)
    assert bytes_of(ttt.train(500, **options, batch=batch, epsilon=0.4)) == bytes_of(run), "recording changes nothing"
    games = games_of(path, plain, occupied=occupied)
    oracle = oracle_of(run, plain, start_tables(run))
    explored = [exploratory for moves in games for _, exploratory in moves]
    assert 0.3 < sum(explored) / len(explored) < 0.5
    for start in range(0, 500, batch):
        for moves in games[start : start + batch]:
            for step in naive.replay(plain, moves, occupied_loses=occupied):
                assert step.exploratory or step.cell in oracle.candidates(step.position)
        if batch == 1:
            oracle.learn(games[start])
        else:
            oracle.fold(games[start : start + batch])
    assert_same(run, oracle)
    results = [result_of(plain, moves) for moves in games]
    assert run.statistics["outcomes"][-1].tolist() == [results.count(FIRST_WINS), results.count(3), results.count(2)]
    if batch == 1:
        given, skipped = ttt.learn_from(path.read_text().splitlines(), **options, epsilon=0.4)
        assert not skipped and bytes_of(given)[:-2] == bytes_of(run)[:-2]


@pytest.mark.slow
@pytest.mark.parametrize("alpha", ["1/n", "0.5->0.1:linear"])
@pytest.mark.parametrize("batch", [1, 150])
def test_schedules_reach_every_batch(alpha: str, batch: int, tmp_path: Path) -> None:
    """By visits or by games: `td` by the oracle, its step size set for every batch."""
    path = tmp_path / "games.txt"
    run = ttt.train(450, board=BOARD, batch=batch, alpha=alpha, epsilon="0.8->0.2:linear", record=path)
    games = games_of(path)
    oracle = naive.TD(PLAIN)
    if alpha == "1/n":
        visits: dict[int, int] = {}
        for start in range(0, 450, batch):
            tally = oracle.tally(games[start : start + batch])
            for position in tally.deepest_first():
                if PLAIN.outcome(position) == naive.UNFINISHED:
                    s, n = PLAIN.code(position), tally.visits[position]
                    weight = naive.fold_weight(1.0 / (visits.get(s, 0) + 1.0), n)
                    visits[s] = visits.get(s, 0) + n
                    oracle.V[s] += weight * (oracle._best(position) - oracle.V[s])
        rows = {code: row for row, code in enumerate(run.graph.code.tolist())}
        assert {code: int(run.visits[rows[code]]) for code in visits} == visits
        assert run.visits.sum() == sum(visits.values())
    else:
        for start in range(0, 450, batch):
            oracle.alpha = 0.5 + (0.1 - 0.5) * (start / 450)
            oracle.fold(games[start : start + batch])
    for code, value in zip(run.graph.code.tolist(), run.tables.value.tolist(), strict=True):
        assert value == pytest.approx(oracle.V[code], rel=1e-12, abs=1e-15)
    early, late = ([e for moves in part for _, e in moves] for part in (games[:150], games[-150:]))
    assert np.mean(early) > 0.55 > 0.5 > np.mean(late)


@pytest.mark.parametrize("by_row", [True, False])
@pytest.mark.parametrize("block", [1, 7, 64])
def test_how_many_games_go_abreast_does_not_show(block: int, by_row: bool) -> None:
    """Games in lockstep against the trainer's, whose block is thousands; nor does it what is counted."""
    from ttt_batch.learners.base import make_step
    from ttt_batch.simulation.lockstep import make_lockstep
    from ttt_batch.training.kernels.batch import make_workspace

    config = make_config(board=BOARD, batch=100, seed=3)
    trainer = make_trainer(config)
    trainer.advance(350, lambda: False)
    graph, learner = config.graph, LEARNERS["td"]
    work = make_workspace(graph)
    step = make_step(0.5, 1.0, trainer.worth)
    decays = make_decays(config.alpha.over(0), config.epsilon.over(0))
    tables = learner.start(graph, trainer.worth, np.random.default_rng(0))
    way = make_lockstep(graph, work.policy, at_once=block, by_row=by_row)
    learning = Learning(tables, graph, learner.choice, step, decays)
    run_batches(way, learning, work, stream_key(3), make_batches(100), 0, 350)
    assert tables.value.tobytes() == trainer.tables.value.tobytes()


SHARED: list[dict[str, Any]] = [
    *({"learner": name} for name in BOTH_SEATS),
    {"symmetry": "on", "batch": "auto"},
    {"alpha": "1/n^0.8", "epsilon": "0.5->0.1:linear"},
    {"alpha": "0.5->0.1:linear", "learner": "backward-q"},
    *({"opponent": "optimal", "seat": "both", "learner": name} for name in ("td", "greedy-td")),
    {"opponent": "random", "seat": "second"},
]


def share_everything(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Let threads share short batches, in odd pieces, and the smallest sweep; return what will be shared."""
    shared, share = set(), InLockstep._share

    def noting(trainer: InLockstep, function: Any, parts: Any) -> None:
        if len(parts) > 1:
            shared.add(function.__name__)
        share(trainer, function, parts)

    monkeypatch.setattr(InLockstep, "_share", noting)
    for owner, name, value in (
        (InLockstep, "games_per_thread", 500),
        (InLockstep, "claim", 77),
        (InLockstep, "stop_every", 1_111),
        (InLockstep, "by_moves", 1),
        (batched, "ORDERED", 3),
        (batched, "make_spans", functools.partial(make_spans, size=3)),
        (batched, "WORTH_SHARING", 10),
    ):
        monkeypatch.setattr(owner, name, value)
    return shared


@pytest.mark.slow
@pytest.mark.parametrize("options", SHARED, ids=str)
def test_threads_do_not_show(options: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor do the pieces of one: batches are shared out in walking, adding up, ordering and, by td, folding."""
    options = {"board": BOARD, "batch": 5_000, "seed": 2, **options}
    whole = ttt.train(12_000, **options, threads=1)
    alone = ttt.train(12_000, **options, threads=1, record=tmp_path / "1.txt")
    shared = share_everything(monkeypatch)
    assert bytes_of(ttt.train(12_000, **options, threads=1)) == bytes_of(whole) == bytes_of(alone)
    assert not shared
    for threads, path in ((3, None), (2, tmp_path / "2.txt")):
        assert bytes_of(ttt.train(12_000, **options, threads=threads, record=path)) == bytes_of(whole)
    assert (tmp_path / "2.txt").read_bytes() == (tmp_path / "1.txt").read_bytes()
    name = options.get("learner", "td")
    last = "fold_from_queue" if name == "td" else "_add_part"
    assert shared == (
        {"order_from_queue", "walk_from_queue", last} if name in BY_EPSILON else set()
    )  # others share apart


def test_helping_threads_have_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counts of a thread's own may be large: there are no more helpers than half of the free memory holds."""
    share_everything(monkeypatch)
    config = make_config(board=BOARD, batch=5_000, learner="greedy-td")
    each = 28 * (1 << 18) + 4 * (2 * config.graph.child.size + 1)
    for free, helpers in ((0, 0), (2 * each - 1, 0), (4 * each, 2), (1 << 40, 7)):
        monkeypatch.setattr(batched, "free_memory", lambda free=free: free)
        trainer = make_trainer(config, threads=8)
        assert isinstance(trainer, InLockstep) and len(trainer._helpers) == helpers


@pytest.mark.parametrize("threads", [1, 2])
def test_a_batch_that_is_stopped_half_way_was_not_played(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    config = make_config(board=BOARD, batch=20_000, seed=7)
    whole = {games: make_trainer(config) for games in (20_000, 40_000, 60_000)}
    for games, trainer in whole.items():
        trainer.advance(games, lambda: False)
    share_everything(monkeypatch)
    trainer, asked = make_trainer(config, threads=threads), itertools.count(1)
    for last in (100_000, 60_000):
        trainer.advance(last, lambda last=last: last == 100_000 and next(asked) > 25)
        assert trainer.tables.value.tobytes() == whole[trainer.games].tables.value.tobytes()
        assert trainer.outcomes.tolist() == whole[trainer.games].outcomes.tolist()
    assert trainer.games == 60_000 and next(asked) > 26


# --- shares and counts ----------------------------------------------------------------------------------------------


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("options", "games"), [({"batch": 16_384}, 200_000), ({"batch": 1}, 30_000)], ids=str)
@pytest.mark.parametrize("symmetry", ["off", "on"])
def test_random_play_has_the_exact_shares(symmetry: str, options: dict[str, Any], games: int) -> None:
    graph = enumerate_graph(parse_board("3x4x3"))
    shares = random_shares(graph)
    assert shares.sum() == pytest.approx(1)
    run = ttt.train(games, board="3x4x3", epsilon=1.0, symmetry=symmetry, seed=5, **options)
    assert_shares(run.statistics["outcomes"][-1], shares, games)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("symmetry", ["off", "on"])
def test_flow_has_the_exact_shares(symmetry: str) -> None:
    shares, games = random_shares(enumerate_graph(parse_board("3x4x3"))), 10**9
    run = ttt.train(games, board="3x4x3", engine="flow", batch=games // 4, epsilon=1.0, symmetry=symmetry)
    assert_shares(run.statistics["outcomes"][-1], shares, games)


def test_shares_are_those_of_the_oracle() -> None:
    anyone = naive.uniform(PLAIN.legal)
    exact = [float(share) for share in naive.result(PLAIN, anyone, anyone)]
    assert random_shares(enumerate_graph(parse_board(BOARD))) == pytest.approx(exact, abs=1e-12)
    assert random_shares(enumerate_graph(parse_board(BOARD), False, True)) == pytest.approx(exact, abs=1e-12)


def assert_shares(outcomes: np.ndarray, shares: np.ndarray, games: int) -> None:
    assert outcomes.sum() == games
    for found, share in zip(outcomes.tolist(), shares.tolist(), strict=True):
        assert abs(found - games * share) < 5 * math.sqrt(games * share * (1 - share))


@pytest.mark.slow
@pytest.mark.parametrize("symmetry", [False, True])
def test_flow_loses_no_game(symmetry: bool) -> None:
    """As many games leave a row as arrive, and all end."""
    graph = enumerate_graph(parse_board("1x11x3"), False, symmetry)
    counts, games = empty_counts(graph), 123_457
    flow(graph, random_policy(graph), 0.3, -1, stream_key(1), 0, games, counts, make_rows())
    visited = counts.visited[: counts.n_visited[0]]
    arrived = np.zeros(graph.code.size, np.int64)
    arrived[0] = games
    for row in visited.tolist():
        edges = slice(int(graph.first_edge[row]), int(graph.first_edge[row + 1]))
        assert (counts.taken[edges] >= 0).all() and counts.taken[edges].sum() == counts.arrived[row] > 0
        np.add.at(arrived, graph.child[edges], counts.taken[edges].sum(axis=1))
    np.testing.assert_array_equal(arrived, counts.arrived)
    assert counts.arrived[graph.first_edge.size - 1 :].sum() == games
    explored = sum(int(counts.taken[graph.first_edge[r] : graph.first_edge[r + 1], 1].sum()) for r in visited.tolist())
    moves = int(counts.arrived[visited].sum())
    assert abs(explored - 0.3 * moves) < 5 * math.sqrt(0.3 * 0.7 * moves)


@pytest.mark.slow
def test_td_proves_what_3x4x3_is_worth() -> None:
    """The first player wins; so the second cannot but lose to the best opponent."""
    for engine, batch, games in (("flow", 10**6, 4 * 10**6), ("walk", 16_384, 500_000)):
        run = ttt.train(games, board="3x4x3", engine=engine, batch=batch, epsilon=1.0)
        assert run.statistics["worst"][-1].tolist() == [1, -1]
        assert run.tables.value[0] == pytest.approx(1.0)
        evaluation = run.evaluation("optimal")
        assert evaluation.first == (1, 0, 0) and evaluation.losing_line["first"] is None
        line = evaluation.losing_line["second"]
        assert line is not None and len(line) % 2 == 1


# --- parts, opponents, beginnings ----------------------------------------------------------------------------------


CASES: list[dict[str, Any]] = [
    *({"learner": name, "batch": batch} for name in BOTH_SEATS for batch in (1, 300)),
    *({"learner": "td", "batch": "auto", "engine": engine} for engine in ("walk", "flow")),
    {"learner": "greedy-td", "engine": "flow", "batch": 300},
    {"alpha": "1/n^0.8", "batch": 300},
    {"learner": "backward-q", "alpha": "1/n", "batch": 1},
    *({"opponent": "optimal", "seat": "both", "batch": batch} for batch in (1, 300)),
    {"opponent": "random", "seat": "second", "batch": 300, "engine": "flow"},
    {"learner": "minimax-q", "opponent": "random", "seat": "first", "batch": 1},
    {"learner": "value-feed", "symmetry": "on", "batch": 300},
]


@pytest.mark.slow
@pytest.mark.parametrize("options", CASES, ids=str)
def test_a_run_in_parts_is_the_run_in_one(options: dict[str, Any], tmp_path: Path) -> None:
    options = {"board": BOARD, "seed": 3, **options}
    assert_same_in_parts(tmp_path / "run.h5", 2_500, (299, 300, 1_050, 2_400), **options)


@pytest.mark.slow
@pytest.mark.parametrize("batch", [1, 100])
@pytest.mark.parametrize("seat", ["first", "second", "both"])
@pytest.mark.parametrize("opponent", ["random", "optimal", "td", "greedy-td"])
def test_an_opponent_plays_its_own_way(opponent: str, seat: str, batch: int, tmp_path: Path) -> None:
    """In batches, or games, in turn where the learner sits in both seats; a fixed opponent never explores."""
    path = tmp_path / "games.txt"
    rival: ttt.Run | str = opponent
    if opponent in LEARNERS:
        rival = ttt.train(300, learner=opponent, board=BOARD, batch=20, seed=9)
    run = ttt.train(400, board=BOARD, batch=batch, epsilon=0.5, seed=1, opponent=rival, seat=seat, record=path)
    values = naive_values() if opponent == "optimal" else {}
    explored = replied = 0
    for number, moves in enumerate(games_of(path)):
        learner = {"first": 1, "second": 2, "both": 1 + number // batch % 2}[seat]
        for step in naive.replay(PLAIN, moves):
            if naive.mover(step.position) == learner:
                explored += step.exploratory
                continue
            assert not step.exploratory
            replied += 1
            if opponent == "optimal":
                assert step.after is not None
                assert values[PLAIN.code(step.after)] == values[PLAIN.code(step.position)]
            elif isinstance(rival, ttt.Run):
                assert step.cell in rival.candidates(step.position)
    assert explored > 300 and replied > 300
    assert int(run.statistics["outcomes"][-1].sum()) == 400


def naive_values() -> dict[int, int]:
    graph = enumerate_graph(parse_board(BOARD))
    return dict(zip(graph.code.tolist(), solve(graph).tolist(), strict=True))


def test_a_run_may_start_from_another() -> None:
    first = ttt.train(600, board=BOARD, batch=100)
    for batch in (1, 100):
        rest = ttt.train(100, board=BOARD, batch=batch, start=first, seed=5)
        fresh = ttt.train(100, board=BOARD, batch=batch, seed=5)
        assert rest.tables.value.tobytes() != fresh.tables.value.tobytes()
        untouched = rest.tables.value == first.tables.value
        assert 0.5 < untouched.mean() < 1


@pytest.mark.slow
def test_answers_are_about_the_real_board() -> None:
    run, rng = ttt.train(3_000, board=BOARD, batch=100), random.Random(4)
    oracle = oracle_of(run, PLAIN)
    oracle.V.update(dict(zip(run.graph.code.tolist(), run.tables.value.tolist(), strict=True)))
    unfinished = [position for position in PLAIN.states() if PLAIN.outcome(position) == naive.UNFINISHED]
    for position in rng.sample(unfinished, 100):
        assert run.candidates(position) == oracle.candidates(position)
    anyone, agent = naive.uniform(PLAIN.legal), naive.uniform(oracle.candidates)
    exact = [float(share) for share in naive.result(PLAIN, agent, anyone)]
    assert run.evaluation().first == pytest.approx(exact, abs=1e-12)


def test_what_cannot_be_is_refused(tmp_path: Path) -> None:
    run = ttt.train(10, board=BOARD, batch=5)
    with pytest.raises(UsageError, match="the same board"):
        ttt.train(10, board="5x2x3", opponent=run)
    with pytest.raises(UsageError, match="walk"):
        ttt.train(10, board=BOARD, engine="flow", record=tmp_path / "games.txt")
    with pytest.raises(BoardError, match=r"may be used: symmetry='on' needs 1/4 of it, or raise max_memory$"):
        ttt.train(10, board=BOARD, max_memory="100kB")
    with pytest.raises(UsageError, match=r"max.memory"):
        ttt.train(10, board=BOARD, max_memory="a lot")
    with pytest.raises(UsageError, match="board"):
        run.save(tmp_path / "run.h5")
        ttt.train(resume=tmp_path / "run.h5", more=10, board="3x4x3")
