"""Kernel warm-up, and a benchmark of this machine.

Each job calls the public functions, so the cache then holds every kernel that they need.  Jobs with missing kernels run
in separate processes, one per processor, because Numba compiles under a lock.  Two of them may compile the same kernel;
that costs no time, since one would otherwise wait for the other.

The benchmark, `ttt-batch bench`, takes about 15 seconds.  Each round measures every subject for about a tenth of a
second.  Other load on the machine then slows all subjects alike, and the spread over the rounds shows how much.
`scripts/benchmark.py` compares with other programs.
"""

import contextlib
import functools
import platform
import statistics
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ttt_batch.agents.adapter import AgentAdapter
from ttt_batch.agents.builtin import named_agent
from ttt_batch.analysis.judge import evaluate_sampled, judge_agent, prove
from ttt_batch.analysis.matches import play_walk
from ttt_batch.analysis.tournament import series
from ttt_batch.compiler import kernel_cache
from ttt_batch.compiler.kernel_cache import cached_kernels, check_cache
from ttt_batch.compiler.numerics import stream_key
from ttt_batch.compiler.settings import is_jit_disabled, on_compile
from ttt_batch.core import VERSION
from ttt_batch.core.errors import TttBatchError, UsageError
from ttt_batch.core.files import shown
from ttt_batch.core.resources import available_threads, module_environment, processor_name, thread_count
from ttt_batch.core.text import Number, count_text, parse_float
from ttt_batch.evaluation.exact_results import match
from ttt_batch.evaluation.judgement import exact_judge
from ttt_batch.games.board import Board
from ttt_batch.games.enumeration import enumerate_graph
from ttt_batch.games.graph import Graph
from ttt_batch.games.gravity_solver import GravitySolver
from ttt_batch.learners import LEARNERS, learner_named
from ttt_batch.ntuple.learning import WORTH_SHARING
from ttt_batch.runs.config import make_config
from ttt_batch.runs.loading import load
from ttt_batch.runs.run import TIME, Recorder, Run
from ttt_batch.simulation.policy import Policy, random_policy
from ttt_batch.simulation.random_games import play_random_games
from ttt_batch.studies.study import study
from ttt_batch.training.from_games import learn_from
from ttt_batch.training.train import train
from ttt_batch.training.trainers.base import TableTrainer
from ttt_batch.training.trainers.batched import Walking, make_trainer

ENUMERATED, GROWN = "2x5x3", "5x5x5"
"""Boards of more than nine cells: one with enumerated positions, one with a growing table."""

BEYOND = ", beyond 3x3"

GAMES = 4
"""Games of each training: more than one batch, so that the training loop repeats."""

IN_PIECES = Walking.stop_every + 1
"""Games of a batch that is walked in pieces, with the kernels that two threads would share."""

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
        run = train(**{"games": GAMES, "learner": learner, **options})
        assert isinstance(run, Run)
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
    """Run every feature that takes third-party agents, and the search of boards with gravity."""
    agent = AgentAdapter(named_agent("two-ply", Board()), Board())
    judge_agent(agent, "optimal")
    series(agent, agent, ("", ""), games=1)
    GravitySolver(Board(2, 2, 2, gravity=True)).solve((0,) * 4)


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
    kernel_cache.may_start = False  # the jobs use every processor
    learner, beyond, _ = name.partition(BEYOND)
    with tempfile.TemporaryDirectory() as folder:
        if name in OTHERS:
            OTHERS[name]()
        elif name == NETWORKS:
            _learn_networks(Path(folder))
        elif learner_named(learner).by_beads:
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
    report: called as (name, seconds, done, total) after each job, and once before all jobs with an empty name; not
    called if no kernel is missing.
    Raises UsageError, and TttBatchError if the cache cannot be written or a job fails.
    """
    started = time.perf_counter()
    at_once = thread_count(processes, "processes")
    folder = check_cache()
    named = LEARNERS if learners is None else learners
    wanted = larger if isinstance(larger, Collection) else named if larger else ()
    beyond = [*([NETWORKS] if wanted else []), *(name + BEYOND for name in wanted if not LEARNERS[name].by_beads)]
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
        command, environment = [sys.executable, "-m", __name__, name], module_environment()
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


ROUNDS = 5
SECONDS, LEAST_SECONDS, MOST_SECONDS = 15.0, 0.1, 3600.0
BATCH, LARGE_BATCH, RANDOM_GAMES = 16_384, 1_000_000, 100_000

COLUMNS = {
    ("walk", BATCH): f"walk, by {BATCH:,}",
    ("walk", 1): "walk, one by one",
    ("flow", LARGE_BATCH): f"flow, by {LARGE_BATCH:,}",
}
"""Measured pairs of engine and batch, with their column titles."""

Steps = Callable[[int], object]
"""Function that runs the given number of steps of the measured work."""


@dataclass(frozen=True)
class Figure:
    """Measurements of one subject, one value per round.

    work: random play, learning, threads (also learning) or evaluation.
    learner, engine, batch: as in `Config`, or None.  threads: number used.
    unit: games/s, or ms per evaluation.
    """

    work: str
    learner: str | None = None
    engine: str | None = None
    batch: int | None = None
    threads: int = 1
    unit: str = "games/s"
    rounds: list[float] = field(default_factory=list)

    @property
    def median(self) -> float:
        """Return the median over the rounds."""
        return statistics.median(self.rounds)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values with stable keys."""
        plain = vars(self).copy()
        rounds = plain.pop("rounds")
        return plain | {"median": self.median, "min": min(rounds), "max": max(rounds), "rounds": rounds}


def measure_machine(
    *, seconds: Number = SECONDS, threads: Number | None = None, progress: Callable[[int, int], None] | None = None
) -> list[Figure]:
    """Measure random play, learning by learner and engine, learning on 1, 2, 4, ... threads, and evaluation.

    Call `compile_bench` first: the first measurements would otherwise include compilation.
    seconds: approximate duration, 0.1 to 3600; below 2 a measurement is a single batch.
    threads: the largest number; None for all processors.
    progress: called with (done, total) before each measurement and after the last one.
    Raises UsageError, and TttBatchError if Numba's compiler is switched off.
    """
    time_to_take, most = check_bench(seconds, threads)
    subjects = list(_subjects(most))
    report, total = progress or (lambda *_: None), len(subjects) * (ROUNDS + 1)
    # Counting the steps that fit into a slot takes 1.5 slots on average.
    slot, steps = time_to_take / (len(subjects) * (ROUNDS + 1.5)), list[int]()
    for done in range(total):
        report(done, total)
        figure, size, work = subjects[done % len(subjects)]
        if done < len(subjects):
            steps.append(_steps_in(slot, work))
            continue
        n = steps[done % len(subjects)]
        spent = _time(work, n)
        figure.rounds.append(1e3 * spent / n if figure.unit == "ms" else n * size / spent)
    report(total, total)
    return [figure for figure, _, _ in subjects]


def check_bench(seconds: Number, threads: Number | None) -> tuple[float, int]:
    """Return the validated seconds and largest number of threads.  Raises the errors of `bench`."""
    limits = f"{LEAST_SECONDS:g} .. {MOST_SECONDS:g}"
    number = parse_float("seconds", seconds, f"one in {limits}, e.g. 15")
    if not LEAST_SECONDS <= number <= MOST_SECONDS:
        raise UsageError(f"seconds {number:g} is outside {limits}; give a number in it")
    if is_jit_disabled():
        raise TttBatchError("NUMBA_DISABLE_JIT is set: there is no compiled kernel to measure; unset it first")
    return number, thread_count(threads)


def compile_bench(report: Callable[[str, float, int, int], None] | None = None) -> None:
    """Compile or load every kernel that `bench` needs.  report: as in `warmup.warm_up`."""
    # Without a cache, kernels are compiled in this process when `bench` counts its first steps.
    with contextlib.suppress(TttBatchError):
        warm_up(learners=LEARNERS, larger=False, report=report)


def _subjects(most: int) -> Iterator[tuple[Figure, int, Steps]]:
    """Yield each subject: an empty figure, the games per step, and the work."""
    yield Figure("random play"), RANDOM_GAMES, lambda n: play_random_games(Board(), n * RANDOM_GAMES)
    for learner in LEARNERS:
        for engine, batch in COLUMNS:
            figure = Figure("learning", learner, engine, batch)
            yield figure, batch, _learning(make_trainer(make_config(learner=learner, engine=engine, batch=batch)))
    config = make_config(batch=LARGE_BATCH)
    for n_threads in thread_counts(most):
        figure = Figure("threads", config.learner, config.engine, LARGE_BATCH, n_threads)
        yield figure, LARGE_BATCH, _learning(make_trainer(config, threads=n_threads))
    trainer = make_trainer(make_config())
    trainer.advance(100_000, lambda: False)
    yield Figure("evaluation", trainer.config.learner, unit="ms"), 1, functools.partial(_judge, trainer)


def thread_counts(most: int) -> list[int]:
    """Return [1, 2, 4, ...] up to `most`, which always ends the list."""
    powers = [1 << exponent for exponent in range(most.bit_length())]
    return powers if powers[-1] == most else [*powers, most]


def _learning(trainer: TableTrainer) -> Steps:
    """Return a function that trains the given number of further batches."""
    return lambda n: trainer.advance(trainer.games + n * int(trainer.config.batch), lambda: False)


def _judge(trainer: TableTrainer, n: int) -> None:
    """Evaluate and record the current tables `n` times."""
    recorder, outcomes = Recorder(), trainer.outcomes
    evaluate = exact_judge(trainer.graph, trainer.learner, trainer.worth)
    for _ in range(n):
        recorder.record(trainer.games, 0.0, outcomes, evaluate(trainer.tables)._asdict())


def _time(work: Steps, n: int) -> float:
    start = time.perf_counter()
    work(n)
    return time.perf_counter() - start


def _steps_in(seconds: float, work: Steps) -> int:
    """Return the number of steps that take about `seconds`, at least 1.  Doubling the number also warms caches up."""
    work(1)  # loads the compiled kernels, which may take longer than `seconds`
    n = 1
    while (spent := _time(work, n)) < seconds / 2:
        n *= 2
    return max(1, round(n * seconds / spent))


def environment_info() -> dict[str, Any]:
    """Return the machine, the versions and the date."""
    import numba

    versions = {"ttt-batch": VERSION, "python": platform.python_version()}
    return {
        "machine": {"processor": processor_name(), "cores": available_threads(), "system": platform.platform()},
        "versions": versions | {"numpy": np.__version__, "numba": numba.__version__},
        "date": time.strftime(TIME, time.gmtime()),
    }


def bench_summary(figures: list[Figure]) -> dict[str, Any]:
    """Return the output of `bench --json`."""
    return environment_info() | {"figures": [figure.to_dict() for figure in figures]}


def bench_text(figures: list[Figure]) -> str:
    """Return the output of `bench`: tables at most 80 columns wide."""
    about = environment_info()
    used = ", ".join(f"{name} {version}" for name, version in about["versions"].items())
    learning = {(f.learner, f.engine, f.batch): f for f in figures if f.work == "learning"}
    threads = [figure for figure in figures if figure.work == "threads"]
    lines = [
        *textwrap.wrap("{processor}, {cores} cores available".format(**about["machine"]), 80),
        *textwrap.wrap(f"{used}; {about['date']}", 80),
        "",
        f"Games per second: the median of {ROUNDS} measurements, and the lowest and highest.",
        "",
        _row("learning, 1 thread", *COLUMNS.values()),
        *(_row(name, *(_cell(learning[name, *way]) for way in COLUMNS)) for name in LEARNERS),
        "",
        _row("threads", f"{threads[0].learner}, walk, by {LARGE_BATCH:,}", "", "times one thread"),
        *(_row(str(f.threads), _cell(f), "", f"{f.median / threads[0].median:.2f}") for f in threads),
        "",
        _row("random play", _cell(figures[0]), "1 thread, without learning"),
        _row("one evaluation", _cell(figures[-1]), "exact, of a whole table"),
    ]
    return "\n".join(lines)


def _row(label: str, *cells: str) -> str:
    return (f"{label:<20}" + "".join(f"{cell:<20}" for cell in cells)).rstrip()


def _cell(figure: Figure) -> str:
    """Return the median and the range of a figure in the median's unit, with three digits of the median."""
    sizes = {" G": 1e9, " M": 1e6, " k": 1e3, "": 1.0}
    unit, size = (" ms", 1.0) if figure.unit == "ms" else next(u for u in sizes.items() if figure.median >= u[1])
    middle, low, high = (number / size for number in (figure.median, min(figure.rounds), max(figure.rounds)))
    digits = 2 if middle < 10 else 1 if middle < 100 else 0
    return f"{middle:.{digits}f}{unit}  {low:.{digits}f}-{high:.{digits}f}"
