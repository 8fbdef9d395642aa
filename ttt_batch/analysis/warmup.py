"""Kernel warm-up: fills the cache by running every feature on a handful of games.

Each job calls the public functions, so the cache then holds every kernel that they need.  Jobs with missing kernels run
in separate processes, one per processor, because Numba compiles under a lock.  Two of them may compile the same kernel;
that costs no time, since one would otherwise wait for the other.
"""

import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ttt_batch.agents.known import named_agent
from ttt_batch.agents.outsider import AgentAdapter
from ttt_batch.analysis.matches import evaluate_sampled
from ttt_batch.analysis.outsiders import judge_adapter
from ttt_batch.analysis.playing import play_walk
from ttt_batch.analysis.proving import prove
from ttt_batch.analysis.tournament import series
from ttt_batch.base.errors import TttBatchError
from ttt_batch.base.files import shown
from ttt_batch.base.kernel_cache import cached_kernels, check_cache, on_compile
from ttt_batch.base.processors import module_command, module_environment, thread_count
from ttt_batch.base.quantities import Number, count_text
from ttt_batch.base.streams import stream_key
from ttt_batch.evaluation.exact_results import match
from ttt_batch.game.board import Board
from ttt_batch.game.enumeration import enumerate_graph
from ttt_batch.game.graph import Graph
from ttt_batch.learners import LEARNERS, learner_named
from ttt_batch.patterns.nets import WORTH_SHARING
from ttt_batch.runs.loading import load
from ttt_batch.simulation.policy import Policy, random_policy
from ttt_batch.simulation.random_games import play_random_games
from ttt_batch.studies.study import study
from ttt_batch.training.from_games import learn_from
from ttt_batch.training.train import train, train_table
from ttt_batch.training.trainers.walk import Walking

ENUMERATED, GROWN = "2x5x3", "5x5x5"
"""Boards of more than nine cells: one with enumerated positions, one with a growing table."""

BEYOND = ", beyond 3x3"

GAMES = 4
"""Games of each training: more than one batch, so that the training loop repeats."""

IN_PIECES = 2 * Walking.games_per_thread
"""Games of a batch that is large enough to be split between two threads."""

SMALL: tuple[dict[str, Any], ...] = (
    {"batch": 2},
    {"batch": 1},
    {"batch": 2, "engine": "flow"},
    {"batch": IN_PIECES, "games": IN_PIECES, "threads": 2},
)
LARGE: tuple[dict[str, Any], ...] = (
    {"board": ENUMERATED, "batch": 2},
    {"board": ENUMERATED, "batch": 1},
    {"board": ENUMERATED, "batch": 1, "opponent": "random"},
    {"board": GROWN, "batch": 2},
    {"board": GROWN, "opponent": "random"},
    {"board": GROWN, "batch": 2, "engine": "flow"},
)
"""Trainings that need kernels specific to a learner, on 3x3 and on larger boards."""

STUDIED: dict[bool, tuple[dict[str, Any], ...]] = {
    False: ({"batch": 2}, {"batch": 2, "engine": "flow"}),
    True: ({"board": ENUMERATED, "batch": 2},),
}
"""The same for studies, by whether the board is larger than 3x3."""

OTHERS: dict[str, Callable[[], object]] = {
    "agents": lambda: _judge_agents(),
    "evaluation": lambda: match(*_random_players()),
    "meetings": lambda: play_walk(*_random_players(), 1, stream_key(0)),
    "random play": lambda: play_random_games(Board(), GAMES),
}
"""Jobs that need kernels but no learner, by name."""

NETWORKS = "pattern networks"


def _random_players() -> tuple[Graph, Policy, Policy]:
    graph = enumerate_graph(Board())
    return graph, random_policy(graph), random_policy(graph)


def _learn(learner: str, folder: Path, *, large: bool) -> None:
    """Run every feature that compiles kernels for a learner.  large: on boards of more than nine cells."""
    for options in LARGE if large else SMALL:
        run = train_table(**{"games": GAMES, "learner": learner, **options})
        if options.get("board") != GROWN and not {"engine", "opponent", "games"} & options.keys():
            train(GAMES, learner=learner, **options, record=folder / "games.txt", overwrite=True)
        run.move_values(0)
        run.candidates(0)
    for options in STUDIED[large]:
        study(out=folder / "study.h5", learner=learner, games=GAMES, seeds=1, threads=1, overwrite=True, **options)
    if large:
        learn_from(["0 5 1 6 2 7 3 8 4"], learner=learner, board=GROWN)
        evaluate_sampled(run, games=1, budget=1000)
        series(run, run, ("", ""), games=1)
        load(run.save(folder / "run.h5"))
    else:
        learn_from(["1 2 4 3 7"], learner=learner)
        run.evaluation()
        run.judgement()


def _judge_agents() -> None:
    """Run every feature that takes third-party agents."""
    agent = AgentAdapter(named_agent("two-ply", Board()), Board())
    judge_adapter(agent)
    series(agent, agent, ("", ""), games=1)


def _learn_networks(folder: Path) -> None:
    """Run every feature that compiles kernels for networks."""
    shared: dict[str, Any] = {"objective": "plain", "batch": WORTH_SHARING, "threads": 2, "prove_every": 0}
    train(GAMES, learner="patterns", board=ENUMERATED, **shared)
    run = train(GAMES, learner="patterns", board="3x3", prove_every=GAMES)
    run.move_values((0,) * 9)
    learn_from(["1 2 4 3 7"], run=run)
    evaluate_sampled(run, games=1, budget=1000)
    prove(run, budget=1000, threads=1, certificate=folder / "certificate.npz")


def _learn_boxes(learner: str) -> None:
    """Train a learner with boxes game by game and in batches with either engine, and evaluate it."""
    for options in ({"batch": 1}, {"batch": 20}, {"batch": 20, "engine": "flow"}):
        run = train(GAMES, learner=learner, threads=1, **options)
    run.evaluation()
    run.move_values((0,) * 9)
    learn_from(["1 2 4 3 7"], run=run)


def run_job(name: str) -> None:
    """Run the job of this name, which compiles the kernels it needs."""
    if name in OTHERS:
        OTHERS[name]()
        return
    learner, beyond, _ = name.partition(BEYOND)
    with tempfile.TemporaryDirectory() as folder:
        if name == NETWORKS:
            _learn_networks(Path(folder))
        elif learner_named(learner).boxes:
            _learn_boxes(learner)
        else:
            _learn(learner, Path(folder), large=bool(beyond))


@dataclass(frozen=True)
class WarmupResult:
    """Result of `warm_up`.

    compiled: names of the jobs with missing kernels.  seconds: total duration.
    kernels, bytes: number and total size of the cached kernels.  cache: the folder.
    """

    compiled: list[str]
    seconds: float
    kernels: int
    bytes: int
    cache: Path


def warm_up(
    *,
    processes: Number | None = None,
    learners: Collection[str] | None = None,
    larger: bool | Collection[str] = True,
    report: Callable[[str, float, int, int], None] | None = None,
) -> WarmupResult:
    """Compile every kernel that is missing from the cache.

    processes: number that run at once; None for all processors.  learners: names; None for all.
    larger: include the kernels for boards of more than nine cells, or the names of the learners that need them.
    report: if anything must be compiled, called as (name, seconds, done, total): after each job, and once before the
    first one with an empty name.
    Raises UsageError, and TttBatchError if the cache cannot be written or a job fails.
    """
    started = time.perf_counter()
    at_once = thread_count(processes, "processes")
    folder = check_cache()
    named = LEARNERS if learners is None else learners
    wanted = larger if isinstance(larger, Collection) else named if larger else ()
    beyond = [*([NETWORKS] if wanted else []), *(name + BEYOND for name in wanted if not LEARNERS[name].boxes)]
    # Longest first, so that no long job runs alone at the end while other processors are idle.
    missing = [name for name in (*beyond, *named, *OTHERS) if not _is_warm(name)]
    if missing:
        _run_jobs(missing, at_once, report or (lambda *_: None))
    sizes = []
    for path in cached_kernels():
        with suppress(FileNotFoundError):  # another process may clear the cache
            sizes.append(path.stat().st_size)
    return WarmupResult(missing, time.perf_counter() - started, len(sizes), sum(sizes), folder)


class _MissingKernel(Exception):
    """Raised instead of compiling a missing kernel."""


def _is_warm(name: str) -> bool:
    """Return whether the cache holds all kernels of a job.  Runs the job without compiling."""

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


def _run_jobs(names: list[str], at_once: int, report: Callable[[str, float, int, int], None]) -> None:
    """Run each job in a separate process, `at_once` at a time."""
    processes: list[subprocess.Popen[str]] = []
    ended = threading.Event()

    def compile_in_child(name: str) -> float:
        """Run a job in a child process; return its seconds."""
        began, pipe, nothing = time.perf_counter(), subprocess.PIPE, subprocess.DEVNULL
        command, environment = module_command(__name__, name), module_environment()
        process = subprocess.Popen(command, env=environment, stdin=nothing, stdout=nothing, stderr=pipe, text=True)
        processes.append(process)
        if ended.is_set():  # the pool was stopped while the process started
            process.kill()
        lines = process.communicate()[1].strip().splitlines() or [f"exit status {process.returncode}"]
        if process.returncode:
            raise TttBatchError(f"cannot compile the kernels of {name}: {lines[-1]}")
        return time.perf_counter() - began

    report("", 0.0, 0, len(names))
    with ThreadPoolExecutor(at_once) as pool:
        jobs = {pool.submit(compile_in_child, name): name for name in names}
        try:
            for done, job in enumerate(as_completed(jobs), 1):
                report(jobs[job], job.result(), done, len(names))
        finally:
            ended.set()
            pool.shutdown(wait=False, cancel_futures=True)
            for process in processes:
                process.kill()


def warmup_summary(warmth: WarmupResult) -> dict[str, Any]:
    """Return the output of `warmup --json`."""
    return asdict(warmth) | {"cache": str(warmth.cache)}


def warmup_text(warmth: WarmupResult) -> str:
    """Return the output of `warmup`."""
    if warmth.compiled:
        first = f"compiled in {warmth.seconds:.1f} s, for {', '.join(warmth.compiled)}"
    else:
        first = f"all kernels are already compiled (checked in {warmth.seconds:.1f} s)"
    kernels = f"{count_text(warmth.kernels, 'kernel')}, {warmth.bytes / 1e6:.1f} MB"
    return f"{first}\n{kernels}, in {shown(warmth.cache)}"


if __name__ == "__main__":
    run_job(sys.argv[1])
