"""Compiling everything beforehand: every job here runs the real thing on a handful of games.

A kernel's signature follows from the types of what it is called with, which nobody should have to list: each job
calls what a user calls, and whatever that compiles is in the cache from then on.  Jobs whose kernels are missing run
in processes of their own, as many at once as there are processors, since Numba compiles under a lock.  Two of them may
compile the same kernel; that costs no time, for the other one would have had to wait for it.
"""

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ttt_batch.analysis.matches import evaluate_grown
from ttt_batch.analysis.meetings import play_walk
from ttt_batch.analysis.tournament import series
from ttt_batch.base.errors import TttBatchError
from ttt_batch.base.kernel_cache import cached_kernels, check_cache, on_compile
from ttt_batch.base.processors import available_threads
from ttt_batch.base.quantities import Number, whole
from ttt_batch.base.streams import stream_key
from ttt_batch.base.subprocesses import module_command, module_environment
from ttt_batch.evaluation.exact_results import match
from ttt_batch.game.board import Board
from ttt_batch.game.enumeration import enumerate_graph
from ttt_batch.learners import LEARNERS
from ttt_batch.runs.loading import load
from ttt_batch.runs.run import Run
from ttt_batch.simulation.policy import random_policy
from ttt_batch.simulation.random_games import random_games
from ttt_batch.training.from_games import learn_from
from ttt_batch.training.train import train

ENUMERATED, GROWN = "2x5x3", "5x5x5"
"""Boards of more than nine cells: one whose positions are enumerated, one that grows."""

BEYOND = ", beyond 3x3"

GAMES = 4
"""Games of each training: more than a batch, so that the loop goes round."""

LEARNING: tuple[Callable[[str, Path], object], ...] = (
    lambda learner, folder: train(GAMES, learner=learner, batch=2),
    lambda learner, folder: train(GAMES, learner=learner, batch=2, record=folder / "games.txt"),
    lambda learner, folder: train(GAMES, learner=learner, batch=1),
    lambda learner, folder: train(GAMES, learner=learner, batch=1, record=folder / "games.txt"),
    lambda learner, folder: train(GAMES, learner=learner, batch=2, engine="flow"),
    lambda learner, folder: learn_from(["1 2 4 3 7"], learner=learner),
    lambda learner, folder: _ask(train(GAMES, learner=learner, batch=2)),
)
"""What each learner does with kernels of its own, a line each: given its name and an empty folder."""

LARGER: tuple[Callable[[str, Path], object], ...] = (
    lambda learner, folder: train(GAMES, learner=learner, board=ENUMERATED, batch=2),
    lambda learner, folder: train(GAMES, learner=learner, board=ENUMERATED, batch=2, record=folder / "games.txt"),
    lambda learner, folder: train(GAMES, learner=learner, board=ENUMERATED, batch=1),
    lambda learner, folder: train(GAMES, learner=learner, board=ENUMERATED, batch=1, opponent="random"),
    lambda learner, folder: train(GAMES, learner=learner, board=GROWN, batch=2),
    lambda learner, folder: train(GAMES, learner=learner, board=GROWN, opponent="random"),
    lambda learner, folder: train(GAMES, learner=learner, board=GROWN, batch=2, engine="flow"),
    lambda learner, folder: learn_from(["0 5 1 6 2 7 3 8 4"], learner=learner, board=GROWN),
    lambda learner, folder: _ask_grown(train(GAMES, learner=learner, board=GROWN), folder),
)
"""The same for boards of more than nine cells."""

OTHERS: dict[str, Callable[[], object]] = {
    "evaluation": lambda: _match(),
    "meetings": lambda: _meet(),
    "random play": lambda: random_games(Board(), GAMES),
}
"""What needs kernels and no learner, a line each."""


def _ask(run: Run) -> None:
    """Everything that the commands ask a run."""
    run.evaluation()
    run.judgement()
    run.move_values(0)
    run.candidates(0)


def _ask_grown(run: Run, folder: Path) -> None:
    """Everything that the commands ask a run on a growing board, and reading its file."""
    evaluate_grown(run, games=1, budget=1000)
    run.move_values(0)
    run.candidates(0)
    series(run, run, ("", ""), games=1)
    load(run.save(folder / "run.h5"))


def _match() -> None:
    graph = enumerate_graph(Board())
    match(graph, random_policy(graph), random_policy(graph))


def _meet() -> None:
    graph = enumerate_graph(Board())
    play_walk(graph, random_policy(graph), random_policy(graph), 1, stream_key(0))


def run_job(name: str) -> None:
    """Do what the job of that name does, compiling what it needs."""
    if name in OTHERS:
        OTHERS[name]()
        return
    learner, beyond, _ = name.partition(BEYOND)
    for work in LARGER if beyond else LEARNING:
        with tempfile.TemporaryDirectory() as folder:
            work(learner, Path(folder))


@dataclass(frozen=True)
class Warmth:
    """What there is after warming up.

    compiled: the jobs that had something to compile.  seconds: how long it took.
    kernels, size: compiled kernels in the cache, and their bytes.  cache: the folder.
    """

    compiled: list[str]
    seconds: float
    kernels: int
    size: int
    cache: Path


def warm_up(
    *,
    processes: Number | None = None,
    larger: bool | Collection[str] = True,
    report: Callable[[str, float, int, int], None] | None = None,
) -> Warmth:
    """Compile every kernel that the cache lacks.

    larger: also those that only boards of more than nine cells need; or for which learners.
    processes: how many at once; None for all processors.
    report: called with a job's name, its seconds, and how many jobs are done of how many, whenever one is; first of all
    with an empty name.  Not called where nothing has to be compiled.

    Raises UsageError, and TttBatchError where kernels cannot be kept, or a job fails.
    """
    started = time.perf_counter()
    at_once = available_threads() if processes is None else whole("processes", processes, 1, 1024)
    folder = check_cache()
    wanted = larger if isinstance(larger, Collection) else LEARNERS if larger else ()
    beyond = [name + BEYOND for name in wanted]
    # The longest first: begun last, one of them would go on alone while the other processors have nothing left to do.
    missing = [name for name in (*beyond, *LEARNERS, *OTHERS) if not _is_warm(name)]
    if missing:
        _run_jobs(missing, at_once, report or (lambda *_: None))
    sizes = []
    for path in cached_kernels():
        with suppress(FileNotFoundError):  # another process may clear the cache
            sizes.append(path.stat().st_size)
    return Warmth(missing, time.perf_counter() - started, len(sizes), sum(sizes), folder)


class _MissingKernel(Exception):
    """Instead of compiling."""


def _is_warm(name: str) -> bool:
    """Whether a job finds all its kernels in the cache, found out by running it; nothing is compiled."""

    def refuse() -> None:
        raise _MissingKernel

    forget = on_compile(refuse)
    try:
        run_job(name)
    except _MissingKernel:
        return False
    finally:
        forget()
    return True


def _run_jobs(names: list[str], processes: int, report: Callable[[str, float, int, int], None]) -> None:
    """Run each job in a process of its own, `processes` at a time."""
    waiting, running = list(names), dict[str, tuple[subprocess.Popen[str], float]]()
    report("", 0.0, 0, len(names))
    try:
        while waiting or running:
            while waiting and len(running) < processes:
                name = waiting.pop(0)
                process = subprocess.Popen(
                    module_command(__name__, name),
                    env=module_environment(),
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.PIPE,
                    text=True,
                )
                running[name] = process, time.perf_counter()
            time.sleep(0.02)
            for name, (process, began) in list(running.items()):
                if process.poll() is None:
                    continue
                _, said = process.communicate()
                del running[name]
                if process.returncode:
                    reason = (said.strip().splitlines() or [f"exit status {process.returncode}"])[-1]
                    raise TttBatchError(f"cannot compile the kernels of {name}: {reason}")
                report(name, time.perf_counter() - began, len(names) - len(waiting) - len(running), len(names))
    finally:
        for process, _ in running.values():
            process.kill()
            process.communicate()


if __name__ == "__main__":
    run_job(sys.argv[1])
