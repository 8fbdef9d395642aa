"""Batches whose games workers share: the same bytes, whoever walks which games and whatever becomes of the workers."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.support import never

import ttt_batch as ttt
from ttt_batch.cluster.config import ClusterConfig, perform, worker_identity
from ttt_batch.cluster.worker_pool import RemoteTask, TaskResult, WorkerPool
from ttt_batch.core.errors import ClusterError, UsageError
from ttt_batch.runs.config import make_config
from ttt_batch.runs.run import Run
from ttt_batch.simulation.policy import Policy
from ttt_batch.training import remote as shares_module
from ttt_batch.training.remote import RemoteBatches
from ttt_batch.training.trainers.base import TableTrainer, policy_of_opponent
from ttt_batch.training.trainers.batched import InLockstep, Walking, make_trainer


class Workers:
    """A pool of workers in this process, which does a task when its result is asked for, the last one first."""

    def __init__(self, slots: int, fault: Callable[[int], Any] = lambda _: None) -> None:
        self.slots, self._fault, self._begun, self.done = slots, fault, list[tuple[Any, RemoteTask]](), 0

    def begin(self, tag: Any, task: RemoteTask) -> None:
        self._begun.append((tag, task))

    def give_up(self) -> None:
        self._begun.clear()

    def ended(self, _seconds: float) -> list[TaskResult]:
        if not self._begun:
            return []
        tag, task = self._begun.pop()
        self.done += 1
        if (fault := self._fault(self.done)) is not None:
            return fault if isinstance(fault, list) else [TaskResult(tag, None, fault)]
        return [TaskResult(tag, perform(worker_identity(), task.function, task.arguments))]


@pytest.fixture(autouse=True)
def small_batches_are_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    for way in (Walking, InLockstep):
        monkeypatch.setattr(way, "least_shared", (1_000, 1_000))
        monkeypatch.setattr(way, "stop_every", 900)
    shares_module._own.__dict__.clear()


def learnt(games: int, pool: Any = None, rival: Policy | None = None, said: Any = None, **options: Any) -> TableTrainer:
    config = make_config(**{"seed": 5, **options})
    shares = None if pool is None else RemoteBatches(pool, config, (said if said is not None else []).append)
    trainer = make_trainer(config, opponent=rival, games=games, shares=shares)
    trainer.advance(games, never)
    assert trainer.games == games
    return trainer


def assert_same(one: TableTrainer, other: TableTrainer) -> None:
    assert [array.tobytes() for array in one.tables] == [array.tobytes() for array in other.tables]
    assert one.outcomes.tolist() == other.outcomes.tolist()


@pytest.mark.parametrize("slots", [1, 2, 5])
@pytest.mark.parametrize(
    "options",
    [
        pytest.param({"batch": 2_345}, id="td"),
        pytest.param({"batch": "auto", "epsilon": "0.5->0.1:linear", "horizon": 9_999}, id="schedule"),
        pytest.param({"board": "2x5x3", "batch": 2_000}, id="larger"),
        pytest.param({"board": "3x4x3-gravity", "batch": 2_000}, id="gravity"),
        pytest.param(
            {"board": "2x5x3", "learner": "minimax-q", "batch": 1_500, "alpha": "1/n"},
            id="larger, by moves",
            marks=pytest.mark.slow,  # kernels of tables of moves on larger boards
        ),
    ],
)
def test_shares_do_not_show(slots: int, options: dict[str, Any]) -> None:
    pool = Workers(slots)
    assert_same(learnt(9_999, pool, **options), learnt(9_999, **options))
    assert pool.done >= 3 * slots


def test_the_policy_goes_once_a_batch_to_each_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shares after the first ones come without; a worker that has none yet asks for it, and the bytes are the same."""
    monkeypatch.setattr(shares_module, "SHARE_SECONDS", 1e-9)  # as many shares as there may be
    sent, late = [], Workers(3)

    class Watched(Workers):
        def begin(self, tag: Any, task: RemoteTask) -> None:
            sent.append(task.arguments[6] is not None)
            super().begin(tag, task)

    class Forgetful(Workers):
        def ended(self, seconds: float) -> list[TaskResult]:
            shares_module._own.__dict__.clear()
            return super().ended(seconds)

    class InOrder(Watched):
        def ended(self, seconds: float) -> list[TaskResult]:
            self._begun.reverse()
            found = super().ended(seconds)
            self._begun.reverse()
            return found

    alone = learnt(9_999, batch=2_000)
    assert_same(learnt(9_999, InOrder(2), batch=2_000), alone)
    assert sent == [True, True] + 4 * ([True, True] + 6 * [False])
    for pool in (late, Forgetful(3)):
        assert_same(learnt(9_999, pool, batch=2_000), alone)
    assert late.done > 3 + 4 * 12, "the last share comes first, without the policy"


@pytest.mark.parametrize("seat", ["first", "both"])
def test_against_an_opponent(seat: str) -> None:
    options = {"batch": 1_100, "opponent": "optimal", "seat": seat}
    rival = policy_of_opponent("optimal", make_config(**options))
    assert_same(learnt(5_000, Workers(2), rival, **options), learnt(5_000, None, rival, **options))


def test_what_workers_fail_at_is_walked_here() -> None:
    pool = Workers(3, lambda number: "3 workers died" if number % 4 == 1 else None)
    assert_same(learnt(9_999, pool, batch=2_000), learnt(9_999, batch=2_000))


def test_a_share_that_is_late_is_walked_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shares_module, "LATE_SECONDS", 0.0)
    pool = Workers(3, lambda number: [] if number % 3 == 0 else None)
    assert_same(learnt(9_999, pool, batch=2_000), learnt(9_999, batch=2_000))


def test_without_workers_it_goes_on_alone() -> None:
    def lost(number: int) -> None:
        if number == 4:
            raise ClusterError("the scheduler has been gone for a minute")

    said: list[str] = []
    assert_same(learnt(9_999, Workers(3, lost), said=said, batch=2_000), learnt(9_999, batch=2_000))
    assert said == ["the scheduler has been gone for a minute; training continues in this process alone"]


def test_it_is_stopped_within_a_batch() -> None:
    config = make_config(batch=5_000, seed=5)
    stopping = iter([False, False, True])
    trainer = make_trainer(config, games=20_000, shares=RemoteBatches(Workers(3), config, print))  # type: ignore[arg-type]
    trainer.advance(20_000, lambda: next(stopping, True))
    assert trainer.games == 0
    trainer.advance(20_000, never)
    assert_same(trainer, learnt(20_000, batch=5_000))


@pytest.fixture(scope="module")
def pool() -> Iterator[WorkerPool]:
    with WorkerPool(ClusterConfig(2), print) as pool:
        yield pool


def test_real_workers(pool: WorkerPool) -> None:
    for options in ({"batch": 4_000}, {"board": "2x5x3", "batch": 3_000}, {"board": "3x4x3-gravity", "batch": 3_000}):
        assert_same(learnt(9_999, pool, **options), learnt(9_999, **options))


def records(dask_scheduler: Any) -> tuple[int, set[str]]:
    """Of a scheduler: its spans, and the groups of its tasks."""
    return len(dask_scheduler.extensions["spans"].spans), set(dask_scheduler.task_groups)


@pytest.mark.slow
def test_the_scheduler_begins_no_record_for_each_batch(pool: WorkerPool) -> None:
    learnt(9_999, pool, batch=4_000)
    before = pool._client.run_on_scheduler(records)
    assert "walk" in before[1]
    learnt(9_999, pool, batch=1_000)
    assert pool._client.run_on_scheduler(records) == before


def same_run(one: Run, other: Run) -> bool:
    statistics = [name for name in one.statistics if name != "seconds"]
    return all(np.array_equal(one.statistics[name], other.statistics[name]) for name in statistics) and all(
        a.tobytes() == b.tobytes() for a, b in zip(one.tables, other.tables, strict=True)
    )


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2, 4])
def test_a_run_of_workers_is_the_run_of_one_thread(workers: int, tmp_path: Path) -> None:
    kept = {"games": 20_000, "batch": 4_000, "seed": 2}
    one = ttt.train(**kept, threads=1, out=tmp_path / "one.h5")
    assert same_run(one, ttt.train(**kept, workers=workers, out=tmp_path / "many.h5"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"batch": 1}, "one game cannot be shared"),
        ({"engine": "flow"}, "flow plays no games"),
        ({"board": "5x5x5", "batch": 64}, "the table of 5x5x5 grows"),
        ({"threads": 2}, "leave out threads"),
        ({"scheduler": "tcp://127.0.0.1:1"}, "leave out either"),
        ({"workers": 0}, "workers 0 is outside 1 .. 1,024"),
        ({"workers": None, "scheduler": "nowhere"}, "'nowhere' is not an address"),
    ],
)
def test_what_cannot_be_shared_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        ttt.train(**{"games": 5_000, "workers": 2, **options})


@pytest.mark.slow
def test_small_batches_are_walked_without_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Walking, "least_shared", (6_000, 6_000))
    said: list[str] = []
    run = ttt.train(5_000, batch=2_000, workers=2, warn=said.append)
    assert run.games == 5_000
    assert said == [
        "batches of up to 2,000 games are walked in this process alone: on 3x3 workers pay from 6,000 games a batch on"
    ]
