"""Studies on workers: the bytes are those of threads, whoever learns, joins or leaves, and nothing remains of them."""

import importlib
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest
from dask_processes import LOOPBACK, Processes, descendants, runs, wait_until
from helpers.studyfiles import same_results
from helpers.support import mostly_slow

import ttt_batch as ttt
from ttt_batch.cluster import worker_pool
from ttt_batch.learners import LEARNERS
from ttt_batch.studies.storage.layout import DONE
from ttt_batch.studies.storage.reading import open_study

VARIED: dict[str, Any] = {"alpha": ["0.1", "0.5"], "games": [2000], "batch": ["64", "500"], "seeds": 5}

MEASURED = "provenance/reasons", "provenance/progress", "seconds"
"""What differs from one study to the next."""


def same(one: Path, other: Path) -> bool:
    with open_study(one) as ours:
        assert (ours.state == DONE).all()
    return same_results(one, other, MEASURED)


@pytest.mark.slow
def test_workers_do_not_show(tmp_path: Path, dask: Processes, told: list[str], by_threads: Any) -> None:
    """Learners, engines, opponents (one is a run, whose file workers do not have) and boards; tables are kept."""
    ttt.train(500, seed=3, out=tmp_path / "rival.h5")
    asked: dict[str, Any] = {
        "learner": ["td", "minimax-q"],
        "engine": ["walk", "flow"],
        "opponent": ["self", "random", str(tmp_path / "rival.h5")],
        **{"games": 400, "batch": 100, "seeds": 3, "keep": "last"},
    }
    plain = by_threads(**asked)  # first: then workers find the kernels
    ttt.study(out=tmp_path / "s.h5", scheduler=dask.address, warn=told.append, **asked).close()
    assert same(tmp_path / "s.h5", plain)
    assert told[0].endswith(f"at {dask.address}; without TLS, whoever reaches its ports can run code there")
    assert all("\n" not in line for line in told)


@pytest.mark.slow
def test_workers_do_not_show_in_networks(tmp_path: Path, dask: Processes, told: list[str], by_threads: Any) -> None:
    asked: dict[str, Any] = {"learner": ["patterns", "ntuple-td"], "seat": ["first", "both"], "prove_every": 100}
    asked |= {"board": ["3x3", "4x4x4-gravity"], "games": 200, "seeds": 3, "keep": "last"}
    plain = by_threads(**asked)  # first: then workers find the kernels
    ttt.study(out=tmp_path / "s.h5", scheduler=dask.address, warn=told.append, **asked).close()
    assert same(tmp_path / "s.h5", plain)


@pytest.mark.slow
def test_workers_do_not_show_on_any_board(tmp_path: Path, dask: Processes, told: list[str], by_threads: Any) -> None:
    asked: dict[str, Any] = {"board": ["3x4x4", "3x3-misere", "4x4x4", "4x4x4-gravity"], "games": [300]}
    asked |= {"batch": 100, "seeds": 2}
    plain = by_threads(**asked)  # first: then workers find the kernels
    ttt.study(out=tmp_path / "s.h5", scheduler=dask.address, warn=told.append, **asked).close()
    assert same(tmp_path / "s.h5", plain)


@pytest.mark.parametrize("workers", mostly_slow([1, 2, 4], 2))
def test_a_cluster_of_ones_own(workers: int, tmp_path: Path, by_threads: Any, start: Any) -> None:
    """It listens on the loopback only, and leaves neither processes nor files."""
    aside, here = tmp_path / "aside", tmp_path / "here"
    aside.mkdir()
    here.mkdir()
    plain = by_threads(**VARIED)
    words = [f"--{name}={','.join(value) if isinstance(value, list) else value}" for name, value in WORDS.items()]
    process = start(
        [sys.executable, "-m", "ttt_batch", "study", *words, "--out=s.h5", f"--workers={workers}", "--quiet"],
        cwd=here,
        env={**os.environ, "TMPDIR": str(aside)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    started, listening = set[psutil.Process](), set[tuple[int, str]]()
    while process.poll() is None:
        for one in [psutil.Process(process.pid), *descendants(process.pid)]:
            started.add(one)
            listening |= listened(one)
        time.sleep(0.2)
    _, said = process.communicate()
    assert (process.returncode, said) == (0, "")
    assert {address for _, address in listening} == {LOOPBACK} and len(listening) > workers
    assert wait_until(lambda: not any(runs(one) for one in started), 60)
    assert [entry.name for entry in here.iterdir()] == ["s.h5"]
    assert same(here / "s.h5", plain)


WORDS = {**VARIED, "games": "2000"}


def listened(process: psutil.Process) -> set[tuple[int, str]]:
    """Ports and addresses at which a process listens."""
    try:
        found = process.net_connections("tcp")
    except psutil.Error:
        return set()
    return {(one.laddr.port, one.laddr.ip) for one in found if one.status == psutil.CONN_LISTEN}


@pytest.mark.slow
def test_tasks_are_released(tmp_path: Path, dask: Processes, told: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The scheduler never has more of them than are given out, and none in the end."""
    from distributed import Client

    monkeypatch.setattr(worker_pool.WorkerPool, "chunk_seconds", 0.0)
    seen: list[int] = []
    with Client(dask.address, set_as_default=False) as client:

        def tasks() -> int:
            return int(client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks)))

        asked: dict[str, Any] = {**VARIED, "games": 100, "seeds": 50}
        asked |= {"scheduler": dask.address, "progress": lambda _: seen.append(tasks()), "warn": told.append}
        ttt.study(out=tmp_path / "s.h5", **asked).close()
        assert wait_until(lambda: tasks() == 0, 60)
    assert 0 < max(seen) <= 2 * (worker_pool.AHEAD * 2 + 2), "those on their way, and as many that are being forgotten"


@pytest.mark.slow
def test_what_the_scheduler_keeps_of_ended_tasks_does_not_grow(
    tmp_path: Path, dask: Processes, told: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from distributed import Client

    def kept(dask_scheduler: Any) -> tuple[int, int, int]:
        """Entries of the last record, names, and messages to a worker."""
        from dask.utils import key_split

        *_, last = dask_scheduler.extensions["spans"].spans.values()
        messages = max(len(stream.recent_message_log) for stream in dask_scheduler.stream_comms.values())
        return len(last.metadata["collections"]), key_split.cache_info().currsize, messages

    monkeypatch.setattr(worker_pool.WorkerPool, "chunk_seconds", 0.0)
    monkeypatch.setattr(worker_pool, "OFTEN", 20)
    asked: dict[str, Any] = {**VARIED, "games": 100, "seeds": 40, "scheduler": dask.address, "warn": told.append}
    ttt.study(out=tmp_path / "s.h5", **asked).close()
    with Client(dask.address, set_as_default=False) as client:
        entries, names, messages = client.run_on_scheduler(kept)
    assert 0 < entries < 60 and names < 60 and messages < 100, "of 160 learners, each a task"


@pytest.mark.slow
def test_workers_join_and_leave(tmp_path: Path, dask: Processes, told: list[str], by_threads: Any) -> None:
    """One joins, and another is killed: its chunk is learnt by others."""
    asked = {**VARIED, "games": 20_000, "seeds": 120}
    leaving = dask.workers[0]

    def change(now: Any) -> None:
        if now.done and len(dask.workers) == 2:
            dask.start_worker("--no-nanny")
        if now.workers == 3 or now.done > now.total / 2:
            leaving.kill()

    ttt.study(out=tmp_path / "s.h5", scheduler=dask.address, progress=change, warn=told.append, **asked).close()
    leaving.wait()
    dask.workers.remove(leaving)
    assert same(tmp_path / "s.h5", by_threads(**asked))


@pytest.mark.slow
def test_a_learner_from_a_module(tmp_path: Path, dask: Processes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers import it from their own path."""
    example = Path(__file__).parents[2] / "scripts" / "examples" / "own_learner.py"
    definitions = example.read_text(encoding="utf-8").partition("def main")[0]
    (tmp_path / "own_learner.py").write_text(f"{definitions}\nregister(MONTE_CARLO)\n", encoding="utf-8")
    (tmp_path / "ask.py").write_text(ASK)
    for words in (["--threads=1", "one.h5"], ["--workers=1", "other.h5"]):
        done = subprocess.run(
            [sys.executable, "ask.py", *words], cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False
        )
        assert done.returncode == 0, done.stderr
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "own_learner", raising=False)  # another test may have read the example itself
    importlib.import_module("own_learner")
    try:
        assert same(tmp_path / "one.h5", tmp_path / "other.h5")
    finally:
        LEARNERS.pop("monte-carlo")
        sys.modules.pop("own_learner")


ASK = """
import sys

import own_learner

import ttt_batch as ttt

if __name__ == "__main__":
    name, value = sys.argv[1].removeprefix("--").split("=")
    ttt.study(out=sys.argv[2], learner="monte-carlo", games=500, batch=100, seeds=3, **{name: int(value)})
"""
