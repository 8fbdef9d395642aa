"""Subjects of `benchmark.py` with clusters: studies on workers beside the same without Dask, starts, and memory.

Every process is started and warmed for a measurement, outside of what is timed, and has ended when the next one begins.
"""

import math
import multiprocessing
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

from contestants import TWO_CORES, Contestant, Measure, Plan, Values, environment

from ttt_batch.cluster.config import ClusterConfig, check_installed
from ttt_batch.cluster.worker_pool import RemoteTask, TaskResult, WorkerPool
from ttt_batch.core.errors import TttBatchError
from ttt_batch.studies.designs.design import make_design
from ttt_batch.studies.storage.writing import create_study
from ttt_batch.studies.work import run_study

GAMES, BATCH, WARM = 100_000, 16_384, 64
SHORT_GAMES, SHORT_CHUNK = 1_000, 0.05
MODULES = {"PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path])}
"""For processes that are to find what this one finds."""

# Prints the seconds until two workers may have work.  In a process of its own: Dask is imported once.
START = """
import time
start = time.perf_counter()
from ttt_batch.cluster.worker_pool import WorkerPool
from ttt_batch.cluster.config import ClusterConfig
with WorkerPool(ClusterConfig(2), print) as cluster:
    while cluster.workers < 2:
        cluster.ended(0.05)
    print(time.perf_counter() - start)
"""


def learn(path: str, seeds: int, cluster: WorkerPool | None = None, games: int = GAMES) -> float:
    """Let `seeds` learners of td learn in a study, on one thread without a cluster; return the seconds."""
    design = make_design({"games": games, "batch": BATCH}, seeds, "grid")
    with create_study(path, design, overwrite=True) as study:
        start = time.perf_counter()
        run_study(study, threads=1, workers=cluster)
        return time.perf_counter() - start


@contextmanager
def warm_cluster(place: ClusterConfig, path: str) -> Iterator[WorkerPool]:
    """A cluster whose workers are there and have loaded their kernels."""
    with WorkerPool(place, lambda _: None) as cluster:
        while cluster.workers < (place.workers or 1):
            cluster.ended(0.05)
        learn(path, WARM * cluster.workers, cluster)
        learn(path, WARM * cluster.workers, cluster)
        yield cluster


def learn_by(cluster: WorkerPool, path: str, seeds: int) -> tuple[float, float]:
    """As `learn`; return the seconds, and in which share of them a worker was learning, on average."""
    learning, usual = list[float](), WorkerPool.ended

    def ended(self: WorkerPool, seconds: float) -> list[TaskResult]:
        found = usual(self, seconds)
        learning.extend(one.result[1] for one in found if not one.failure)
        return found

    with mock.patch.object(WorkerPool, "ended", ended):
        spent = learn(path, seeds, cluster)
    return spent, sum(learning) / cluster.workers / spent


def learn_at_once(pool: ProcessPoolExecutor, folder: Path, seeds: int) -> float:
    """Let each of two processes do a study, which share nothing; return the seconds."""
    start = time.perf_counter()
    list(pool.map(learn, [str(folder / f"alone-{number}.h5") for number in (0, 1)], [seeds, seeds]))
    return time.perf_counter() - start


def studies(plan: Plan) -> Measure:
    """The same study on one thread, on one worker and on two, and beside it two processes that share nothing.

    What is compared is measured in turn: thread, worker, thread, and processes, two workers, processes.
    """
    path = str(plan.folder / "study.h5")
    learn(path, WARM)
    seeds = max(int(50 * plan.seconds * WARM / learn(path, WARM)), WARM)

    def measure() -> Values:
        before = learn(path, seeds)
        with warm_cluster(ClusterConfig(1), path) as cluster:
            one, one_learns = learn_by(cluster, path, seeds)
        thread = (before + learn(path, seeds)) / 2
        with ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as pool:
            learn_at_once(pool, plan.folder, WARM)
            first = learn_at_once(pool, plan.folder, seeds)
            with warm_cluster(ClusterConfig(2), path) as cluster:
                two, two_learn = learn_by(cluster, path, 2 * seeds)
            processes = (first + learn_at_once(pool, plan.folder, seeds)) / 2
        return {
            "games/s": seeds * GAMES / one,
            "one/thread": thread / one,
            "one learns": one_learns,
            "two learn": two_learn,
            "two/one": 2 * one / two,
            "processes/thread": 2 * thread / processes,
            "two/processes": processes / two,
            "two/processes, free": processes / two if 2 * thread / processes >= TWO_CORES else math.nan,
        }

    return measure


def start(plan: Plan) -> Measure:
    """Seconds until two workers of this machine are ready, Dask's import among them."""

    def measure() -> Values:
        command = [sys.executable, "-c", START]
        return {"seconds": float(subprocess.check_output(command, env=environment(), cwd=plan.folder, text=True))}

    measure()
    return measure


def worker_memory(plan: Plan) -> Measure:
    """Megabytes that a worker of this machine holds after a study of 3x3, and the most that it ever held."""

    def measure() -> Values:
        with warm_cluster(ClusterConfig(1), str(plan.folder / "study.h5")) as cluster:
            cluster.begin("status", RemoteTask("status", Path.read_text, (Path("/proc/self/status"),)))
            while not (ended := cluster.ended(0.1)):
                pass
        lines = dict(line.split(":", 1) for line in ended[0].result.splitlines())
        return {name: int(lines[f"Vm{name}"].split()[0]) * 1024 / 1e6 for name in ("RSS", "HWM")}

    return measure


def scheduler_tasks(dask_scheduler: Any = None) -> int:
    """Return how many tasks a scheduler knows; run there."""
    return len(dask_scheduler.tasks)


def scheduler(plan: Plan) -> Measure:
    """A study of 100,000 short learners in small chunks: what the scheduler, in a process of its own, holds meanwhile.

    grown: megabytes, the last tenth of the time beside the second one.  tasks: the most at any moment.
    """

    def measure() -> Values:
        from dask_processes import Processes
        from distributed import Client

        with Processes(plan.folder / "dask", environment=MODULES) as dask, Client(dask.address) as client:
            dask.start_worker("--no-nanny")
            held, tasks = [], []

            def look(*_: object) -> None:
                pages = int(Path(f"/proc/{dask.scheduler.pid}/statm").read_text().split()[1])
                held.append(pages * os.sysconf("SC_PAGE_SIZE") / 1e6)
                tasks.append(client.run_on_scheduler(scheduler_tasks))

            path = str(plan.folder / "short.h5")
            design = make_design({"games": SHORT_GAMES, "batch": "auto"}, plan.short_learners, "grid")
            with (
                warm_cluster(ClusterConfig(address=dask.address), path) as cluster,
                create_study(path, design, overwrite=True) as study,
                mock.patch.object(WorkerPool, "chunk_seconds", SHORT_CHUNK),
            ):
                run_study(study, threads=1, workers=cluster, progress=look)
        tenth = max(len(held) // 10, 1)
        grown = statistics.median(held[-tenth:]) - statistics.median(held[tenth : 2 * tenth])
        return {"grown": grown, "megabytes": held[-1], "tasks": max(tasks)}

    return measure


def cluster_contestants() -> dict[str, Contestant]:
    """Return the subjects of clusters, by name."""
    return {
        "cluster studies": Contestant(studies, "cluster_rounds"),
        "cluster start": Contestant(start, "cluster_rounds"),
        "cluster worker": Contestant(worker_memory, "once"),
        "cluster scheduler": Contestant(scheduler, "once"),
    }


def can_run_clusters() -> bool:
    """Return whether Dask is installed."""
    try:
        check_installed(local=True)
    except TttBatchError:
        return False
    return True
