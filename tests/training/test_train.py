"""The training loop: neither threads, blocks, pieces nor stops show in the result; and what a run can be asked."""

import itertools
import math
import pickle
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.support import BY_EPSILON, bytes_of, never

import ttt_batch as ttt
from ttt_batch.core.errors import BoardError, RunFileError, UsageError
from ttt_batch.evaluation.judgement import exact_judge
from ttt_batch.learners import LEARNERS
from ttt_batch.runs.base import unbeatable_since
from ttt_batch.runs.config import make_config
from ttt_batch.runs.run import Run
from ttt_batch.runs.schedules import batch_bounds, make_batches, record_schedule
from ttt_batch.training.kernels.batch import run_batches
from ttt_batch.training.session import Session
from ttt_batch.training.trainers import batched
from ttt_batch.training.trainers.base import TableTrainer
from ttt_batch.training.trainers.batched import Walking, choose_trainer, make_trainer


def learnt(name: str, games: int, *, threads: int = 1, block: int = 1024, **changes: Any) -> TableTrainer:
    """A trainer after `games` games."""
    trainer = make_trainer(make_config(learner=name, **{"seed": 7, **changes}), threads=threads, block=block)
    trainer.advance(games, never)
    assert trainer.games == games
    return trainer


def assert_same(one: TableTrainer, other: TableTrainer) -> None:
    assert bytes_of(one.tables) == bytes_of(other.tables)
    assert one.outcomes.tolist() == other.outcomes.tolist()
    assert one.outcomes.sum() == one.games


# --- which way to learn ---------------------------------------------------------------------------------


@pytest.mark.parametrize("board", ["3x3", "4x4x4", "5x5x5"])
def test_each_board_batch_and_engine_has_its_way(board: str) -> None:
    kinds = {"3x3": "PlyByPly Walking Batched", "4x4x4": "PlyByPly InLockstep Batched"}
    expected = kinds.get(board, "PlyByPly Growing Growing").split()
    asked = ({"batch": 1}, {"batch": 2}, {"batch": 2, "engine": "flow"})
    assert [choose_trainer(make_config(board=board, **options)).__name__ for options in asked] == expected
    assert choose_trainer(make_config(board=board, batch="auto")).__name__ == expected[1]


# --- the same bytes -------------------------------------------------------------------------------------


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", LEARNERS)
def test_threads_change_no_byte(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    alone = learnt(name, 600_000, batch=300_000)
    monkeypatch.setattr(Walking, "games_per_thread", 10_000)
    monkeypatch.setattr(Walking, "claim", 1_000)
    walked_by, both, one_at_a_time = set(), threading.Barrier(2), threading.Lock()
    walk = batched.walk_from_queue

    def spying_walk(*arguments: Any) -> None:
        *known, next_free, size, _ = arguments
        with one_at_a_time:  # some games for each, or a thread held up would get none; the others are raced for
            own = int(next_free[0])
            next_free[0] += size
        both.wait(60)
        walk(*known, np.array([own]), size, own + size)
        walk(*arguments)
        if known[1].drawn.any():
            walked_by.add(threading.get_ident())

    monkeypatch.setattr(batched, "walk_from_queue", spying_walk)
    assert_same(alone, learnt(name, 600_000, batch=300_000, threads=2))
    assert len(walked_by) == 2
    fresh = learnt(name, 300_000, batch=300_000)
    assert bytes_of(fresh.tables) != bytes_of(alone.tables)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("threads", [1, 2, 3, 5])
def test_neither_threads_nor_pieces_show(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for batch, games in ((90_001, 200_000), ("auto", 40_000)):
        alone = learnt("td", games, batch=batch)
        with monkeypatch.context() as patch:
            for name, value in (("games_per_thread", 500), ("stop_every", 7_777), ("claim", 234)):
                patch.setattr(Walking, name, value)
            assert_same(alone, learnt("td", games, batch=batch, threads=threads))


def test_the_first_batch_is_walked_in_pieces_if_a_later_one_will_be(monkeypatch: pytest.MonkeyPatch) -> None:
    """So all kernels are compiled at the start."""
    monkeypatch.setattr(Walking, "games_per_thread", 1_000)
    monkeypatch.setattr(batched, "WORTH_HELP", 1)
    config, begun = make_config(batch="auto", seed=3), []
    begin = batched.begin_walk
    monkeypatch.setattr(batched, "begin_walk", lambda *arguments: begun.append(arguments[-1]) or begin(*arguments))
    states = []
    for games, expected in ((40_000, [0]), (30_000, [])):
        trainer = make_trainer(config, threads=2, games=games)
        trainer.advance(10_000, lambda: False)
        assert begun == expected
        begun.clear()
        states.append(trainer.state())
    assert bytes_of(states[0].tables) == bytes_of(states[1].tables)


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("learner", "batch", "engine"),
    [
        ("td", 64, "walk"),
        ("td", 64, "flow"),
        ("sutton-barto", "auto", "walk"),
        ("sutton-barto", "auto", "flow"),
        ("minimax-q", 4_000, "walk"),
        ("td", 1, "walk"),
        ("sutton-barto", 1, "walk"),
        pytest.param("minimax-q", 1, "walk", marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("large", [False, True])
def test_judgements_between_batches_do_not_show(
    learner: str, batch: Any, engine: str, large: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are those of the tables alone, once or twice at a point or not at all, also by two threads."""
    for module in ("evaluation.judgement", "training.trainers.base"):
        monkeypatch.setattr(f"ttt_batch.{module}.LARGE", 0 if large else 1 << 15)
    games = [batch_bounds(make_batches(batch), number)[1] for number in (0, 100, 5_000, 9_000, 19_999)]
    config = make_config(learner=learner, batch=batch, engine=engine, seed=7)
    judged, alone = make_trainer(config, threads=2), make_trainer(config)
    judge, exact = judged.evaluate, exact_judge(judged.graph, judged.learner, judged.worth)
    for number, last in enumerate(games):
        judged.advance(last, never)
        for _ in range(number % 3):
            found, expected = judge(judged.tables), exact(judged.tables)
            assert type(found) is type(expected) and bytes_of(found) == bytes_of(expected)
    alone.advance(games[-1], never)
    assert_same(judged, alone)


@pytest.mark.parametrize("name", LEARNERS)
def test_the_number_of_games_abreast_changes_no_byte(name: str) -> None:
    wide = learnt(name, 5_000, batch=1_024)
    for block in (1, 100):
        assert_same(wide, learnt(name, 5_000, batch=1_024, block=block))


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", BY_EPSILON)
def test_sequential_games_are_batches_of_one(name: str) -> None:
    """`play_self`, which `batch=1` uses, and `run_batches` are two programs for one algorithm."""
    for epsilon, games in ((None, 2_500), (0.0, 500), (1.0, 500)):
        sequential = learnt(name, games, batch=1, epsilon=epsilon)
        in_batches = make_trainer(make_config(learner=name, batch=2, seed=7, epsilon=epsilon))
        way, work = in_batches._samplers[0], in_batches._works[0]
        run_batches(way, in_batches._learning, work, in_batches._key, make_batches(1), 0, games)
        assert bytes_of(sequential.tables) == bytes_of(in_batches.tables)
        assert sequential.outcomes.tolist() == in_batches.outcomes.tolist()
        untouched = make_trainer(make_config(learner=name, batch=1, seed=7))
        assert bytes_of(sequential.tables) != bytes_of(untouched.tables)


@pytest.mark.parametrize(("engine", "batch"), [("walk", 1), ("walk", 1_000), ("walk", "auto"), ("flow", 1_000)])
def test_where_advance_stops_does_not_show(engine: str, batch: int | str) -> None:
    straight = learnt("td", 7_168, engine=engine, batch=batch)
    in_steps = make_trainer(make_config(learner="td", engine=engine, batch=batch, seed=7))
    stops = [batch_bounds(in_steps.batches, game)[1] for game in (900, 1_000, 5_800)]
    for last in (*stops, 7_168):
        in_steps.advance(last, never)
    assert_same(straight, in_steps)


def test_everything_in_the_configuration_shows() -> None:
    seen = {b"".join(bytes_of(learnt("td", 3_000, batch=1_000).tables))}
    for changes in ({"seed": 8}, {"batch": 500}, {"epsilon": 0.31}, {"alpha": 0.51}, {"gamma": 0.99}):
        seen.add(b"".join(bytes_of(learnt("td", 3_000, **{"batch": 1_000, **changes}).tables)))
    seen.add(b"".join(bytes_of(learnt("td", 3_000, batch=1_000, draw_worth=(0.1, 0.1)).tables)))
    assert len(seen) == 7


# --- recorded points ------------------------------------------------------------------------------------


@pytest.mark.parametrize("batch", [1, 16_384, 10**9])
def test_points_are_dense_at_first_and_eight_an_octave_later(batch: int) -> None:
    points = list(itertools.islice(record_schedule(make_batches(batch)), 300))
    assert points[:32] == [batch * number for number in range(1, 33)]
    assert all(point % batch == 0 for point in points)
    ratios = [later / point for point, later in itertools.pairwise(points[32:])]
    assert all(1 < ratio < 1.12 for ratio in ratios)
    assert math.prod(ratios[100:108]) == pytest.approx(2, rel=1e-3)


def test_a_longer_run_records_the_same_points_first() -> None:
    runs = [ttt.train(games, batch=1_000, seed=3) for games in (20_500, 40_000, 41_000)]
    for run in runs:
        expected = list(
            itertools.takewhile(lambda point, run=run: point < run.games, record_schedule(make_batches(1_000)))
        )
        assert run.statistics["games"].tolist() == [*expected, run.games]
        assert {column.shape[0] for column in run.statistics.values()} == {len(expected) + 1}
    for shorter, longer in itertools.pairwise(runs):
        common = int(np.searchsorted(longer.statistics["games"], shorter.games))
        assert common >= 20
        for name, column in shorter.statistics.items():
            if name != "seconds":
                assert column[:common].tobytes() == longer.statistics[name][:common].tobytes(), name


def test_statistics_are_those_of_the_tables_at_their_point() -> None:
    run = ttt.train(12_000, batch=1_000, seed=3)
    for point in (0, 5, 11):
        games = int(run.statistics["games"][point])
        there = ttt.train(games, batch=1_000, seed=3)
        for name, value in there.judgement()._asdict().items():
            assert run.statistics[name][point].tobytes() == value.tobytes(), name
        assert run.statistics["outcomes"][point].sum() == games
    assert (np.diff(run.statistics["seconds"]) >= 0).all()


def test_since_when_a_run_is_unbeatable() -> None:
    games = np.array([10, 20, 30, 40])
    good, bad, half = [True, True], [False, False], [True, False]
    for verdicts, expected in (
        ([bad, good, good, good], 20),
        ([good, good, half, good], 40),
        ([good] * 4, 10),
        ([good, good, good, half], None),
        ([bad] * 4, None),
    ):
        assert unbeatable_since(games, np.array(verdicts)) == expected


@pytest.mark.sampled(2)
@pytest.mark.parametrize("seed", range(5))
def test_td_is_unbeatable_within_50_000_games_and_stays_so(seed: int) -> None:
    run = ttt.train(300_000, seed=seed)
    since = unbeatable_since(run.statistics["games"], run.statistics["unbeatable"])
    assert since is not None and since <= 50_000
    assert not run.statistics["unbeatable"][0].all()
    assert run.statistics["value_error"][-1] == pytest.approx(run.statistics["value_error"][-1, ::-1])
    assert (np.diff(run.statistics["value_error"][:, 0]) <= 0).all()
    assert run.evaluation("optimal").first == (0.0, 1.0, 0.0)


# --- progress and stopping ------------------------------------------------------------------------------


def test_progress_tells_of_every_recorded_point() -> None:
    told = []
    run = ttt.train(40_000, batch=1_000, progress=told.append)
    assert [now.games for now in told if now.recorded] == run.statistics["games"].tolist()
    assert all(sum(now.outcomes) == now.games for now in told)
    assert {now.total for now in told} == {40_000}
    assert told[-1].games == 40_000
    points = run.statistics["games"]
    for now in told:
        if now.recorded:
            until = points <= now.games
            assert now.unbeatable_since == unbeatable_since(points[until], run.statistics["unbeatable"][until])
    assert list(now.outcomes) == run.statistics["outcomes"][-1].tolist()


@pytest.mark.parametrize("after", [1, 3, 10])
def test_a_stopped_run_is_a_run_of_that_many_games(after: int) -> None:
    asked = itertools.count(1)
    run = ttt.train(10_000_000, batch=1_000, seed=4, stop=lambda: next(asked) > after)
    assert run.interrupted
    assert 0 < run.games < 10_000_000
    assert run.games % 1_000 == 0
    whole = ttt.train(run.games, batch=1_000, seed=4)
    assert not whole.interrupted
    assert bytes_of(run.tables) == bytes_of(whole.tables)
    for name, column in whole.statistics.items():
        if name != "seconds":
            assert column.tobytes() == run.statistics[name].tobytes()


@pytest.mark.parametrize("threads", [1, 2])
def test_a_batch_that_is_stopped_half_way_was_not_played(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Walking, "games_per_thread", 1_000)
    monkeypatch.setattr(Walking, "stop_every", 2_000)
    trainer = make_trainer(make_config(learner="td", batch=20_000, seed=7), threads=threads)
    asked = itertools.count(1)
    trainer.advance(100_000, lambda: next(asked) > 13)
    assert trainer.games in (20_000, 40_000)
    assert_same(learnt("td", trainer.games, batch=20_000), trainer)
    trainer.advance(60_000, never)
    assert_same(learnt("td", 60_000, batch=20_000), trainer)


def test_stopping_before_the_first_batch_learns_nothing_and_writes_nothing(tmp_path: Path) -> None:
    run = ttt.train(1_000_000, stop=lambda: True, out=tmp_path / "run.h5")
    assert run.interrupted and run.games == 0
    assert not run.tables.value[run.graph.outcome == 0].any()
    assert not list(tmp_path.iterdir())


# --- bad settings ---------------------------------------------------------------------------------------

BAD: list[tuple[dict[str, Any], str]] = [
    ({"gamma": math.nan}, "nan"),
    ({"draw_worth": (0.5, math.inf)}, "inf"),
    ({"batch": math.nan}, "nan"),
    ({"games": 10**16}, "10,000,000,000,000,000"),
    ({"games": True}, "True"),
    ({"block": 0}, "0"),
    ({"seed": 2**63}, "9,223,372,036,854,775,808"),
]
"""What Python alone can give; `app/test_usage.py` has what can be typed, too."""


@pytest.mark.parametrize(("options", "value"), BAD, ids=[str(options)[:40] for options, _ in BAD])
def test_bad_settings_are_refused_by_value_before_any_work(options: dict[str, Any], value: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        ttt.train(**{"games": 10, "out": tmp_path / "run.h5", **options})
    assert value in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("name", "end"), [("epsilon", 0.0), ("epsilon", 1.0), ("alpha", 5e-324), ("gamma", 0.0)])
def test_the_ends_of_the_intervals_are_allowed(name: str, end: float) -> None:
    run = ttt.train(100, batch=50, **{name: end})
    assert run.games == 100 and np.isfinite(run.tables.value).all()


@pytest.mark.parametrize("seed", [-(2**63), -1, 2**63 - 1])
def test_every_64_bit_seed_is_allowed(seed: int) -> None:
    assert bytes_of(ttt.train(200, seed=seed).tables) != bytes_of(ttt.train(200, seed=0).tables)


# --- what a run can be asked ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def run() -> Run:
    return ttt.train(100_000, seed=1)


@pytest.fixture(scope="module")
def occupying() -> Run:
    """A run whose agent may choose occupied cells."""
    return ttt.train(2_000, learner="minimax-q", seed=1)


def test_values_are_those_of_the_solved_game(run: Run) -> None:
    assert run.value("... ... ...") == pytest.approx(0, abs=0.01)
    assert run.move_values("XX. OO. ...")[2] == 1.0
    assert run.move_values("XX. OO. X..")[5] == 1.0
    assert run.value("XX. OO. ...") == 1.0
    assert run.value("XX. OO. X..") == 1.0
    assert run.candidates("XX. OO. ...") == [2]
    assert run.candidates("XX. OO. X..") == [5]


def test_the_value_of_a_final_position_is_its_worth(run: Run) -> None:
    assert run.value("XXX OO. ...") == -1.0  # to the second player, who would move next
    assert run.value("OOO XX. X..") == -1.0
    assert run.value("XOX XOO OXX") == 0.0


def test_move_values_name_the_free_cells_alone(run: Run, occupying: Run) -> None:
    for agent in (run, occupying):
        assert list(agent.move_values("XO. .X. ...")) == [2, 3, 5, 6, 7, 8]
        assert list(agent.move_values(0)) == list(range(9))


def test_candidates_are_what_the_rule_may_pick(occupying: Run) -> None:
    graph, table = occupying.graph, occupying.tables.q
    for row in range(0, 4520, 37):
        edges = np.arange(9 * row, 9 * row + 9)
        extreme = np.argmin if graph.ply[row] & 1 else np.argmax
        assert occupying.candidates(int(graph.code[row])) == [int(extreme(table[edges]))]


def test_questions_that_have_no_answer(run: Run, occupying: Run) -> None:
    for question in (run.value, run.move_values, run.candidates):
        with pytest.raises(BoardError, match="no game reaches it"):
            question("XXX OOO ...")
        with pytest.raises(BoardError, match="5 cells"):
            question("XO.X.")
        with pytest.raises(BoardError, match="19682"):
            question(3**9)
        with pytest.raises(BoardError, match="outside"):
            question(-1)
        with pytest.raises(BoardError, match="'Z'"):
            question("Z.. ... ...")
    for question in (run.move_values, run.candidates, occupying.move_values):
        with pytest.raises(BoardError, match="final"):
            question("XXX OO. ...")
    with pytest.raises(UsageError, match=r"'nobody'.*random, one-ply, two-ply, optimal, self, a run"):
        run.evaluation("nobody")
    with pytest.raises(BoardError, match="3x3"):
        run.evaluation(ttt.train(50, board="2x3x2"))


def test_evaluations_agree_between_themselves(run: Run, occupying: Run) -> None:
    random, optimal, itself = (run.evaluation(against) for against in ("random", "optimal", "self"))
    assert random.against == "random" and random.first[0] > 0.96 and random.second[0] > 0.77
    assert optimal.first == optimal.second == (0.0, 1.0, 0.0)
    assert itself.first == itself.second == (0.0, 1.0, 0.0)
    assert random.unbeatable == {"first": True, "second": True}
    assert random.losing_line == {"first": None, "second": None}
    assert run.evaluation("one-ply").to_dict() == ttt.evaluate(run, "one-ply").to_dict()

    there, back = run.evaluation(occupying), occupying.evaluation(run)
    assert there.against == "minimax-q" and back.against == "td"
    assert there.first == pytest.approx(back.second[::-1], abs=1e-15)
    assert there.second == pytest.approx(back.first[::-1], abs=1e-15)
    assert there.unbeatable == random.unbeatable
    assert back.unbeatable == occupying.evaluation().unbeatable == {"first": False, "second": False}
    for agent in (run, occupying):
        for against in ("random", "optimal", "self"):
            for results in (agent.evaluation(against).first, agent.evaluation(against).second):
                assert sum(results) == pytest.approx(1, abs=1e-12)


def test_a_run_against_itself_is_its_self_play(run: Run, occupying: Run) -> None:
    for agent in (run, occupying):
        itself, other = agent.evaluation("self"), agent.evaluation(agent)
        assert (itself.first, itself.second) == (other.first, other.second)
        assert itself.first == tuple(agent.judgement().self_play)
        assert itself.second == itself.first[::-1]


# --- files ----------------------------------------------------------------------------------------------


def test_an_existing_file_stays_unless_told(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    path.write_text("precious")
    with pytest.raises(RunFileError, match="overwrite=True"):
        run.save(path)
    with pytest.raises(RunFileError, match="overwrite=True"):
        ttt.train(10**15, out=path)
    assert path.read_text() == "precious"
    run.save(path, overwrite=True)
    assert ttt.load(path).games == run.games


@pytest.mark.parametrize("name", ["td", "reinforce", "menace"])
def test_a_run_is_pickled_before_and_after_its_use(name: str) -> None:
    run = ttt.train(50, learner=name)
    for _ in range(2):
        assert pickle.loads(pickle.dumps(run)) == run and run.candidates(0)


@pytest.mark.parametrize(("waited", "counts"), [(1000.0, True), (None, False), (True, False)])
def test_only_a_callback_that_waits_on_purpose_shortens_slices(
    waited: Any, counts: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A callback that is merely slow would otherwise be called after every batch."""
    seen: list[float] = []
    monkeypatch.setattr(Session, "_resize_slice", lambda session, games, seconds, waited: seen.append(waited))
    ttt.train(4096, seed=1, progress=lambda now: waited)
    assert seen and all(told == (waited if counts else 0.0) for told in seen)
