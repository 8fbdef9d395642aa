"""Work out what large clusters would give, from what the steps cost, and check that by a simulation.

    python scripts/scaling.py [--quick] [--json FILE] [--page FILE] [--from JSON]

Costs are processor seconds of the client (which sends, receives and stores) and of the scheduler, a process of its own.
The simulation has the real client, the real scheduler and dummy workers (`dummy_workers.py`), many in one process.
"""

import argparse
import functools
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
import psutil
from cluster_contestants import MODULES
from dask_processes import Processes, kill_all
from dummy_workers import seem_to_learn, seem_to_walk
from page_writer import add_page_options, fill, markdown_table, measured_on, say, write_from, write_report

from ttt_batch.analysis.warmup import environment_info
from ttt_batch.cluster.config import ClusterConfig
from ttt_batch.cluster.worker_pool import RemoteTask, WorkerPool
from ttt_batch.runs.config import make_config
from ttt_batch.studies import work
from ttt_batch.studies.designs.design import make_design
from ttt_batch.studies.storage.writing import create_study
from ttt_batch.studies.work import StudyProgress, Worker, run_study
from ttt_batch.training.remote import MOST_SHARES, _packed
from ttt_batch.training.trainers.batched import SharedBatch, make_trainer

Report = dict[str, Any]
GAMES, BATCH = 100_000, 16_384
LEARNERS, RUN_GAMES = 10**7, 10**12
PLANNED = (10, 100, 1000)
LONG_CHUNK = 5.0
IN_ONE_PROCESS = 50
"""Dummy workers: one process has one interpreter lock."""

RUN_BATCHES = (10**7, 10**8, 10**9)
BRIEF: Report = {
    "simulated": (2,),
    "waves": 2,
    "chunk": 0.5,
    "instant": 8,
    "walked": 1 << 22,
    "shares": 2,
    "repeats": 1,
}
WHOLE: Report = {
    "simulated": (10, 50, 100, 200),
    "waves": 4,
    "chunk": 2.0,
    "instant": 60,
    "walked": 1 << 23,
    "shares": 8,
    "repeats": 5,
}
"""Amounts; of the repeats the fastest one counts, since the machine is shared."""


# --- measured costs -----------------------------------------------------------------------------------------------


def learner_cost(repeats: int, seeds: int = 128) -> tuple[float, int]:
    """Seconds that a learner takes one thread, and the bytes of its results."""
    (setting,) = make_design({"games": GAMES, "batch": BATCH}, seeds, "grid").settings
    room = Worker(keep=False, stop=lambda: False)
    room.learn(setting, [0])
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        learnt = room.learn(setting, range(seeds))
        times.append(time.perf_counter() - start)
    return min(times) / seeds, sum(array.nbytes for array in learnt.statistics.values()) // seeds


class Look(NamedTuple):
    """How far a study is: learners that are stored, and processor seconds so far."""

    when: float
    learners: int
    client: float
    scheduler: float
    dummies: float


@contextmanager
def cluster(workers: int, folder: Path) -> Iterator[tuple[WorkerPool, psutil.Process, list[psutil.Process]]]:
    """A pool of dummy workers, all of them there; the scheduler's process, and those of the workers."""
    program = [sys.executable, str(Path(__file__).with_name("dummy_workers.py"))]
    with Processes(folder / "dask", environment=MODULES) as dask, ExitStack() as stack:
        dummies = []
        for first in range(0, workers, IN_ONE_PROCESS):
            words = [dask.address, min(IN_ONE_PROCESS, workers - first), GAMES, BATCH]
            dummies.append(
                subprocess.Popen([*program, *map(str, words)], env=os.environ | MODULES, stderr=subprocess.DEVNULL)
            )
            stack.callback(kill_all, dummies[-1])
        with WorkerPool(ClusterConfig(address=dask.address), lambda _: None) as pool:
            while pool.workers < workers:
                pool.ended(0.1)
            yield pool, psutil.Process(dask.scheduler.pid), [psutil.Process(dummy.pid) for dummy in dummies]


def processor_seconds(*processes: psutil.Process) -> float:
    """Return the processor seconds that processes have used so far."""
    return float(sum(sum(process.cpu_times()[:2]) for process in processes))


def simulate(
    workers: int, chunk: float, chunks: int, learner: float, folder: Path, *, hurry: bool = False, waves: float = 0
) -> Report:
    """A study on dummy workers: learners a second, and processor seconds a chunk of the client and the scheduler.

    chunk: seconds of one.  chunks: how many there are for a worker, at least.  learner: seconds of one.
    hurry: dummy workers answer at once.  waves: chunks a worker after which the study is stopped; 0: at its end.
    """
    each = max(int(chunk / learner), 1)
    design = make_design({"games": GAMES, "batch": BATCH}, workers * each * chunks, "grid")
    looks: list[Look] = []
    begun: list[Look] = []

    with (
        cluster(workers, folder) as (pool, scheduler, dummies),
        create_study(folder / "s.h5", design, overwrite=True) as study,
    ):

        def look(now: StudyProgress) -> None:
            used = time.process_time(), processor_seconds(scheduler), processor_seconds(*dummies)
            looks.append(Look(time.perf_counter(), now.done, *used))
            # From the second chunk of each worker on: before that the speed has to be found.
            if not begun and now.done >= (workers * each if waves else 0):
                begun.append(looks[-1])

        def enough() -> bool:
            return bool(waves and begun and looks[-1].learners >= begun[0].learners + (waves - 1) * workers * each)

        task = functools.partial(seem_to_learn, learner, hurry)
        with mock.patch.object(WorkerPool, "chunk_seconds", chunk), mock.patch.object(work, "learn_remotely", task):
            run_study(study, threads=1, workers=pool, progress=look, stop=enough)
    first = begun[0]
    seconds, learners, client, its, dummy = (after - before for before, after in zip(first, looks[-1], strict=True))
    return {
        "workers": workers,
        "learners/s": learners / seconds,
        "client": client * each / learners,
        "scheduler": its * each / learners,
        "busy": [client / seconds, its / seconds, dummy / seconds],
        "start": first.when - looks[0].when,
    }


class Tap:
    """Stands for a run's workers: a batch is walked here, and what would be sent and received is measured."""

    def __init__(self) -> None:
        self.walking = self.packing = self.adding = 0.0
        self.sent: Any = None
        self.counts = 0

    def walk(self, batch: SharedBatch, _stop: Any) -> bool:
        """As `Shares.walk`."""
        times = [time.perf_counter()]
        self.sent = _packed(batch.policy, batch.graph)
        times.append(time.perf_counter())
        batch.walk_here(batch.first, batch.last)
        times.append(time.perf_counter())
        batch.drawn[:] += np.zeros_like(batch.drawn)
        times.append(time.perf_counter())
        self.packing, self.walking, self.adding = np.diff(times).tolist()
        self.counts = batch.drawn.size
        return True


def run_costs(walked: int, shares: int, repeats: int, folder: Path) -> Report:
    """Measure a batch of td on 4x4x4: walking, learning, and sending a share there and back."""
    tap, config = Tap(), make_config(board="4x4x4", learner="td", batch=walked)
    trainer = make_trainer(config, threads=1, games=1 << 40, shares=tap)  # type: ignore[arg-type]
    batches = []
    for _ in range(1 + repeats):  # the first one has all to compile
        start = time.perf_counter()
        trainer.advance(trainer.games + walked, lambda: False)
        learning = time.perf_counter() - start - tap.walking - tap.adding
        batches.append((tap.walking, learning, tap.adding))
    walking, learning, adding = np.min(batches[1:], axis=0).tolist()
    with cluster(2, folder) as (pool, scheduler, _):
        its = processor_seconds(scheduler)
        way, later = (way_of_shares(pool, shares, policy, tap.counts) for policy in (tap.sent, None))
        its = processor_seconds(scheduler) - its
    return {
        "games/s": walked / walking,
        "learning": learning,
        "adding": adding,
        "sent": sum(array.nbytes for array in tap.sent),
        "received": 4 * tap.counts,
        "way": way,
        "later way": later,
        "scheduler": its / shares / 2,
    }


def way_of_shares(pool: WorkerPool, shares: int, policy: Any, counts: int) -> float:
    """Seconds that pass for each of some shares that cost nothing but their way."""
    began = time.perf_counter()
    for number in range(shares):
        pool.begin(number, RemoteTask(f"walk-{number}-{policy is None}", seem_to_walk, (policy, counts)))
    ended = 0
    while ended < shares:
        ended += len(pool.ended(0.1))
    return (time.perf_counter() - began) / shares


def measure(amounts: Report, folder: Path) -> Report:
    """All costs, and the simulations."""
    say("a learner, and a batch on 4x4x4")
    learner, size = learner_cost(amounts["repeats"])
    run = run_costs(amounts["walked"], amounts["shares"], amounts["repeats"], folder)
    say("chunks of two sizes that cost nothing but their way")
    chunk = amounts["chunk"]
    short, long = (
        simulate(2, seconds, amounts["instant"], learner, folder, hurry=True) for seconds in (chunk / 4, chunk)
    )
    in_long, in_short = chunk / learner, chunk / 4 / learner
    a_learner = max((long["client"] - short["client"]) / (in_long - in_short), 0.0)
    costs = {
        "chunk": chunk,
        "learner": learner,
        "bytes": size,
        "client a learner": a_learner,
        "client a chunk": max(long["client"] - a_learner * in_long, 0.0),
        "scheduler a chunk": long["scheduler"],
    }
    simulated = []
    for workers in amounts["simulated"]:
        say(f"{workers} dummy workers")
        simulated.append(simulate(workers, chunk, 8, learner, folder, waves=1 + amounts["waves"]))
    return {"study": costs, "run": run, "simulated": simulated}


# --- the model ----------------------------------------------------------------------------------------------------


def limits(study: Report, chunk: float) -> tuple[float, float]:
    """Learners a second that the client can take, and the scheduler, in chunks of so many seconds."""
    each = chunk / study["learner"]
    return each / (study["client a chunk"] + study["client a learner"] * each), each / study["scheduler a chunk"]


def modelled(study: Report, workers: int, chunk: float) -> tuple[float, str]:
    """Learners a second, and who is the limit."""
    client, scheduler = limits(study, chunk)
    rates = {"the workers": workers / study["learner"], "the client": client, "the scheduler": scheduler}
    limit = min(rates, key=rates.__getitem__)
    return rates[limit], limit


def batch_seconds(run: Report, workers: int, batch: int) -> tuple[float, float]:
    """Seconds of a batch of a single run, and of those what passes outside of the workers."""
    walking = batch / run["games/s"] / workers
    shares = workers * min(max(int(walking), 1), MOST_SHARES)
    ways = workers * run["way"] + (shares - workers) * run["later way"]
    outside = run["learning"] + ways + shares * run["adding"]
    return walking + outside, outside


# --- the page -----------------------------------------------------------------------------------------------------


def page(report: Report) -> str:
    """Return the page of a report."""
    study, run = report["study"], report["run"]
    client, scheduler = (limit * study["learner"] for limit in limits(study, study["chunk"]))
    costs = [
        ("a learner of td, 3x3, 100,000 games, on a worker", f"{study['learner'] * 1e3:.2f} ms"),
        ("its results", f"{study['bytes']:,} bytes"),
        ("client, a chunk: building, sending, receiving, storing", f"{study['client a chunk'] * 1e3:.2f} ms"),
        ("client, and for each learner in it", f"{study['client a learner'] * 1e6:.2f} us"),
        ("scheduler, a chunk", f"{study['scheduler a chunk'] * 1e3:.2f} ms"),
        ("4x4x4, td: games a second on a worker", f"{run['games/s'] / 1e6:.2f} M"),
        ("4x4x4, td: policy and learning, a batch", f"{run['learning'] * 1e3:.0f} ms"),
        ("4x4x4: a policy as it is sent", f"{run['sent'] / 1e6:.1f} MB"),
        ("4x4x4: counts as they come back", f"{run['received'] / 1e6:.1f} MB"),
        ("4x4x4: a share there and back, with the policy", f"{run['way'] * 1e3:.0f} ms"),
        ("4x4x4: the same, without", f"{run['later way'] * 1e3:.0f} ms"),
        ("4x4x4: counts added up, a share", f"{run['adding'] * 1e3:.1f} ms"),
        ("4x4x4: scheduler, a share", f"{run['scheduler'] * 1e3:.0f} ms"),
    ]
    studies = []
    for workers in PLANNED:
        for chunk in (study["chunk"], LONG_CHUNK):
            rate, limit = modelled(study, workers, chunk)
            ideal = workers / study["learner"]
            studies.append((workers, f"{chunk:g} s", took(LEARNERS / rate), f"{rate / ideal:.0%}", limit))
    runs = []
    for workers in PLANNED:
        for batch in RUN_BATCHES:
            whole, outside = batch_seconds(run, workers, batch)
            runs.append((workers, f"{batch:,}", took(whole * RUN_GAMES / batch), f"{1 - outside / whole:.0%}"))
    checks = []
    for found in report["simulated"]:
        rate, _ = modelled(study, found["workers"], study["chunk"])
        checks.append(
            (
                found["workers"],
                f"{rate:,.0f}",
                f"{found['learners/s']:,.0f}",
                f"{found['learners/s'] / rate:.2f}",
                f"{found['client'] * 1e3:.1f} ms",
                f"{found['scheduler'] * 1e3:.1f} ms",
                ", ".join(f"{share:.0%}" for share in found["busy"]),
            )
        )
    apart = [
        found["learners/s"] / modelled(study, found["workers"], study["chunk"])[0] for found in report["simulated"]
    ]
    return fill(
        "scaling.md",
        machine=measured_on(report),
        costs=markdown_table(("cost", "measured"), costs),
        studies=markdown_table(("workers", "chunk", "10^7 learners take", "of the ideal", "limit"), studies),
        client=f"{client:,.0f}",
        scheduler=f"{scheduler:,.0f}",
        chunk=f"{study['chunk']:g}",
        most=f"{study['learner'] / study['client a learner']:,.0f}" if study["client a learner"] else "any number of",
        traffic=f"{1000 * study['bytes'] / study['learner'] / 1e6:,.0f}",
        runs=markdown_table(("workers", "batch", "10^12 games take", "of it walking"), runs),
        checks=markdown_table(
            (
                "workers",
                "model, learners/s",
                "simulated",
                "simulated / model",
                "client a chunk",
                "scheduler a chunk",
                "busy: client, scheduler, dummies",
            ),
            checks,
        ),
        most_simulated=f"{report['simulated'][-1]['workers']}",
        apart=f"{min(apart):.2f} to {max(apart):.2f}",
    )


def took(seconds: float) -> str:
    """A time that a person can grasp."""
    for size, name in ((86400, "days"), (3600, "hours"), (60, "minutes")):
        if seconds >= 2 * size:
            return f"{seconds / size:,.1f} {name}"
    return f"{seconds:.0f} seconds"


def parser() -> argparse.ArgumentParser:
    """Return the options."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="few workers, short chunks")
    parser.add_argument("--json", metavar="FILE", type=Path, help="write everything as JSON")
    add_page_options(parser)
    return parser


def main() -> None:
    """Measure, simulate, write."""
    options = parser().parse_args()
    if write_from(options, page):
        return
    with tempfile.TemporaryDirectory() as folder:
        report = environment_info() | measure(BRIEF if options.quick else WHOLE, Path(folder))
    write_report(options, report, page)


if __name__ == "__main__":
    main()
