"""Benchmark of this machine, `ttt-batch bench`: takes about 15 seconds.

Each round measures every subject for about a tenth of a second.  Other load on the machine then slows all subjects
alike, and the spread over the rounds shows how much.  `scripts/benchmark.py` compares with other programs.
"""

import contextlib
import functools
import platform
import statistics
import textwrap
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numba
import numpy as np

from ttt_batch.analysis.warmup import warm_up
from ttt_batch.base.errors import TttBatchError, UsageError
from ttt_batch.base.kernel_cache import JIT_DISABLED
from ttt_batch.base.processors import available_threads, processor_name, thread_count
from ttt_batch.base.quantities import Number, parse_float
from ttt_batch.base.version import VERSION
from ttt_batch.evaluation.judgement import exact_judge
from ttt_batch.game.board import Board
from ttt_batch.learners import LEARNERS
from ttt_batch.runs.config import make_config
from ttt_batch.runs.recorder import TIME, Recorder
from ttt_batch.simulation.random_games import play_random_games
from ttt_batch.training.trainers import make_trainer
from ttt_batch.training.trainers.base import Trainer

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
    if JIT_DISABLED:
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


def _learning(trainer: Trainer) -> Steps:
    """Return a function that trains the given number of further batches."""
    return lambda n: trainer.advance(trainer.games + n * int(trainer.config.batch), lambda: False)


def _judge(trainer: Trainer, n: int) -> None:
    """Evaluate and record the current tables `n` times."""
    recorder, outcomes = Recorder(exact_judge(trainer.graph, trainer.learner, trainer.worth)), trainer.outcomes
    for _ in range(n):
        recorder.record(trainer.tables, trainer.games, 0.0, outcomes)


def _time(work: Steps, n: int) -> float:
    start = time.perf_counter()
    work(n)
    return time.perf_counter() - start


def _steps_in(seconds: float, work: Steps) -> int:
    """Return the number of steps that take about `seconds`, at least 1.  Doubling the number also warms caches up."""
    n = 1
    while (spent := _time(work, n)) < seconds / 2:
        n *= 2
    return max(1, round(n * seconds / spent))


def environment_info() -> dict[str, Any]:
    """Return the machine, the versions and the date."""
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
