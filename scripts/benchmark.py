"""Measure the figures that the README gives, beside a textbook C program built in the same run.

    python scripts/benchmark.py [--quick] [--only NAME ...] [--json FILE]

All contestants are measured in turn, round after round, so that whatever else the machine does falls on all of them
alike; a ratio is taken within a round, and the median over the rounds is reported with its spread.  The table goes to
standard output, progress to standard error; `--json -` swaps the table for JSON.
"""

import argparse
import contextlib
import json
import math
import operator
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numba
import numpy as np

import ttt_batch
from ttt_batch.config import make_config
from ttt_batch.learners import LEARNERS
from ttt_batch.recorder import unbeatable_since
from ttt_batch.trainer import Trainer
from ttt_batch.training import available_threads, train

TEXTBOOK = Path(__file__).with_name("textbook.c")
BATCH, LARGE_BATCH = 16_384, 1_000_000
WARM_GAMES, SETTLE_GAMES, SLICES = 100 * BATCH, 1_000_000, 8

# Runs a command and prints its seconds and peak memory.  In a process of its own: a child's peak starts from that
# of the process it was forked from, and this one holds Numba.
WATCH = """
import json, os, subprocess, sys, time
start = time.perf_counter()
child = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
_, status, usage = os.wait4(child.pid, 0)
seconds = time.perf_counter() - start
peak = usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024) / 1e6
print(json.dumps({"seconds": seconds, "megabytes": peak}))
sys.exit(status != 0)
"""

Values = dict[str, float]
Measure = Callable[[], Values]
Target = tuple[str, float] | None


class Plan(NamedTuple):
    """How much to measure.

    folder: for files made on the way.  rounds, cold_rounds, seeds: how often a contestant is measured, one that
    compiles everything, and `td`.  seconds: work per measurement.
    """

    folder: Path
    rounds: int
    cold_rounds: int
    seeds: int
    seconds: float


class Contestant(NamedTuple):
    """prepare: builds and warms what is needed and returns the measurement.  rounds: how often, a field of the plan."""

    prepare: Callable[[Plan], Measure]
    rounds: str = "rounds"


class Figure(NamedTuple):
    """A number to report: a quantity of a contestant, or its ratio to the same quantity of another one.

    over: the contestant to divide by, round by round.  target: comparison and bound.  summary: what the rounds come to.
    """

    name: str
    contestant: str
    quantity: str
    unit: str
    over: str | None = None
    target: Target = None
    summary: Callable[[list[float]], float] = statistics.median


def textbook(plan: Plan) -> Measure:
    """The C program: sequential `backward-q`, timed by itself."""
    program = plan.folder / "textbook"
    subprocess.run(["gcc", "-O2", "-o", str(program), str(TEXTBOOK)], check=True)

    def measure() -> Values:
        command = [str(program), str(round(1_500_000 * plan.seconds)), "1"]
        lines = subprocess.check_output(command, text=True).splitlines()
        values = {name: float(value) for name, value in map(str.split, lines)}
        return values | {"games/s": values["games"] / values["seconds"]}

    return measure


def learning(learner: str, batch: int, epsilon: float | None = None) -> Contestant:
    """One thread that learns on and on, kernels and tables warm."""

    def prepare(plan: Plan) -> Measure:
        trainer = warm_trainer(learner, batch, epsilon)
        games = games_in(trainer, plan.seconds)
        return lambda: {"games/s": games / advance(trainer, games)}

    return Contestant(prepare)


def threads(batch: int) -> Contestant:
    """The same games on one and on two threads, slice by slice in turn, and whether the tables agree."""

    def prepare(plan: Plan) -> Measure:
        trainers = [warm_trainer("sutton-barto", batch, 0.1, threads=n) for n in (1, 2)]
        games = games_in(trainers[0], plan.seconds / SLICES)
        advance(trainers[1], trainers[0].games - trainers[1].games)

        def measure() -> Values:
            seconds = [0.0, 0.0]
            for turn in range(SLICES):
                for i in (0, 1) if turn % 2 else (1, 0):
                    seconds[i] += advance(trainers[i], games)
            one, two = (b"".join(array.tobytes() for array in trainer.tables) for trainer in trainers)
            rates = [SLICES * games / spent for spent in seconds]
            return {"one": rates[0], "two": rates[1], "two/one": rates[1] / rates[0], "same": float(one == two)}

        return measure

    return Contestant(prepare)


def settling(_plan: Plan) -> Measure:
    """`td` at its defaults, one more seed each time: from which game on it is unbeatable in both seats."""
    seeds = iter(range(1 << 31))

    def measure() -> Values:
        points = train(SETTLE_GAMES, learner="td", seed=next(seeds), threads=1).statistics
        since = unbeatable_since(points["games"], points["unbeatable"])
        return {"games": math.inf if since is None else float(since)}

    return measure


def command(*arguments: str, cold: bool = False) -> Contestant:
    """A whole `ttt-batch` command from start to finish; cold: with an empty kernel cache each time."""
    beside = Path(sys.executable).with_name("ttt-batch")
    program = [str(beside)] if beside.exists() else [sys.executable, "-m", "ttt_batch"]
    watcher = [sys.executable, "-I", "-S", "-c", WATCH, *program, *arguments]

    def prepare(plan: Plan) -> Measure:
        def measure() -> Values:
            with tempfile.TemporaryDirectory(dir=plan.folder) as folder:
                out = ["--out", str(Path(folder, "run.h5"))] if arguments[0] == "train" else []
                environment = os.environ | ({"TTT_BATCH_CACHE_DIR": folder} if cold else {})
                done = subprocess.run([*watcher, *out], env=environment, capture_output=True, text=True)
            if done.returncode:
                raise SystemExit(f"ttt-batch {' '.join(arguments)} failed: {done.stderr.strip()}")
            return dict(json.loads(done.stdout))

        if not cold:
            measure()  # fills the kernel cache and the system's file cache
        return measure

    return Contestant(prepare, "cold_rounds" if cold else "rounds")


def warm_trainer(learner: str, batch: int, epsilon: float | None, threads: int = 1) -> Trainer:
    """A trainer with compiled kernels, past the first batches, whose tables change most."""
    trainer = Trainer(make_config(learner=learner, epsilon=epsilon, batch=batch), threads=threads)
    advance(trainer, math.ceil(WARM_GAMES / batch) * batch)
    return trainer


def advance(trainer: Trainer, games: int) -> float:
    """Learn from `games` more games; return the seconds."""
    start = time.perf_counter()
    trainer.advance(trainer.games + games, lambda: False)
    return time.perf_counter() - start


def games_in(trainer: Trainer, seconds: float) -> int:
    """Games, in whole batches, that `trainer` learns from in about `seconds`."""
    batch = trainer.config.batch
    batches = math.ceil(WARM_GAMES / batch)
    return max(1, int(batches * seconds / advance(trainer, batches * batch))) * batch


def contestants() -> dict[str, Contestant]:
    """Everything that can be measured, by name."""
    return {
        "textbook": Contestant(textbook),
        "sutton-barto 0.1": learning("sutton-barto", BATCH, 0.1),
        **{f"{name} batched": learning(name, BATCH) for name in LEARNERS},
        **{f"{name} sequential": learning(name, 1) for name in LEARNERS},
        f"threads {BATCH}": threads(BATCH),
        f"threads {LARGE_BATCH}": threads(LARGE_BATCH),
        "settling": Contestant(settling, "seeds"),
        "help": command("--help"),
        "train 100k": command("train", "--games", "100000"),
        "train 10M": command("train", "--games", "10000000"),
        "train 10M cold": command("train", "--games", "10000000", cold=True),
    }


def figures() -> Iterator[Figure]:
    """What is reported, in order, with its targets."""

    def speed(name: str, contestant: str, target: Target = None) -> Iterator[Figure]:
        yield Figure(name, contestant, "games/s", "games/s")
        yield Figure(f"{name} / textbook", contestant, "games/s", "x", "textbook", target)

    yield Figure("textbook C, backward-q", "textbook", "games/s", "games/s")
    yield from speed("sutton-barto, epsilon 0.1, batch 16,384", "sutton-barto 0.1", (">=", 20))
    for learner in LEARNERS:
        # The target is for the five published presets; `td`, whose settled values tie everywhere, is shown beside them.
        preset = None if learner == "td" else (">=", 12)
        yield from speed(f"{learner}, batch 16,384", f"{learner} batched", preset)
    for learner in LEARNERS:
        target = (">=", 4) if learner == "backward-q" else None
        yield from speed(f"{learner}, sequential", f"{learner} sequential", target)
    for batch in (BATCH, LARGE_BATCH):
        name, pair = f"two threads, batch {batch:,}", f"threads {batch}"
        yield Figure(name, pair, "two", "games/s")
        # Never slower, less 3 % for the noise of the measurement.
        yield Figure(f"{name} / one thread", pair, "two/one", "x", target=(">=", 0.97))
        yield Figure(f"{name}: same bytes (1 = yes)", pair, "same", "", target=(">=", 1), summary=min)
    yield Figure("td unbeatable for good, slowest seed", "settling", "games", "games", None, ("<=", 50_000), max)
    yield Figure("td unbeatable for good, median seed", "settling", "games", "games")
    yield Figure("ttt-batch --help", "help", "seconds", "s", target=("<", 0.3))
    yield Figure("train --games 100000", "train 100k", "seconds", "s")
    for name, contestant, most in (("", "train 10M", 2.5), (", first run ever", "train 10M cold", 25)):
        yield Figure(f"train --games 10000000{name}", contestant, "seconds", "s", target=("<", most))
        yield Figure(f"train --games 10000000{name}: peak", contestant, "megabytes", "MB", target=("<", 300))


def choose(wanted: list[str]) -> list[Figure]:
    """The figures whose name contains one of `wanted` (all without), as far as this machine can measure them."""
    possible = list(figures())
    if shutil.which("gcc") is None:
        say("no C compiler (gcc) found: the textbook program and the ratios to it are left out")
        possible = [figure for figure in possible if "textbook" not in (figure.contestant, figure.over)]
    chosen = [f for f in possible if not wanted or any(word.lower() in f.name.lower() for word in wanted)]
    if not chosen:
        names = "\n  ".join(figure.name for figure in possible)
        raise SystemExit(f"no figure that can be measured here contains {' or '.join(wanted)}; there are\n  {names}")
    return chosen


def measure_all(chosen: list[Figure], plan: Plan) -> dict[str, list[Values]]:
    """Measure in turn what the figures need, round after round; return the values by contestant."""
    needed = {name for figure in chosen for name in (figure.contestant, figure.over)}
    running = {name: contestant for name, contestant in contestants().items() if name in needed}
    say(f"preparing {', '.join(running)}")
    measures = {name: contestant.prepare(plan) for name, contestant in running.items()}
    rounds = {name: getattr(plan, contestant.rounds) for name, contestant in running.items()}
    values: dict[str, list[Values]] = {name: [] for name in running}
    for number in range(max(rounds.values())):
        say(f"round {number + 1} of {max(rounds.values())}")
        for name in running:
            if number < rounds[name]:
                values[name].append(measures[name]())
    return values


def results(chosen: list[Figure], values: dict[str, list[Values]]) -> Iterator[dict[str, Any]]:
    """Each figure with its values per round, what they come to, and whether the target is reached."""
    compare = {">=": operator.ge, "<=": operator.le, "<": operator.lt}
    for figure in chosen:
        rounds = [value[figure.quantity] for value in values[figure.contestant]]
        if figure.over is not None:
            others = [value[figure.quantity] for value in values[figure.over]]
            rounds = [a / b for a, b in zip(rounds, others, strict=True)]
        value = figure.summary(rounds)
        spread = {"median": statistics.median(rounds), "min": min(rounds), "max": max(rounds), "rounds": rounds}
        aim: dict[str, Any] = {"target": None, "reached": None}
        if figure.target is not None:
            sign, bound = figure.target
            aim = {"target": f"{sign} {bound:g}", "reached": compare[sign](value, bound)}
        yield {"figure": figure.name, "unit": figure.unit, "value": value, **spread, **aim}


def surroundings() -> dict[str, Any]:
    """What is measured, on what, and when."""
    processor = platform.processor() or platform.machine()
    with contextlib.suppress(OSError, StopIteration):
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        processor = next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    versions = {"ttt-batch": ttt_batch.__version__, "python": platform.python_version()}
    versions |= {"numpy": np.__version__, "numba": numba.__version__}
    if shutil.which("gcc"):
        versions["gcc"] = subprocess.check_output(["gcc", "-dumpfullversion"], text=True).strip()
    machine = {"processor": processor, "cores": available_threads(), "system": platform.platform()}
    return {"machine": machine, "versions": versions, "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}


def show(number: float) -> str:
    """A number in three or four digits, thousands by commas, millions as M."""
    if number >= 1e6:
        return "never" if math.isinf(number) else f"{number / 1e6:,.2f} M"
    return f"{number:,.0f}" if number >= 1000 or number == int(number) else f"{number:.3g}"


def table(report: dict[str, Any]) -> str:
    """The report for people."""
    rows = [("figure", "measured", "spread", "target", "reached")]
    for entry in report["figures"]:
        measured = f"{show(entry['value'])} {entry['unit']}"
        spread = f"{show(entry['min'])} .. {show(entry['max'])}"
        reached = {None: "", True: "yes", False: "NO"}[entry["reached"]]
        rows.append((entry["figure"], measured, spread, entry["target"] or "", reached))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    where = report["machine"]
    used = ", ".join(f"{name} {version}" for name, version in report["versions"].items())
    return "\n".join([f"{where['processor']}, {where['cores']} cores; {used}; {report['date']}", "", *lines])


def say(message: str) -> None:
    """A line of progress."""
    print(message, file=sys.stderr, flush=True)


def main() -> None:
    """Measure, then print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="less work per measurement, 20 seeds instead of 100")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="figures whose name contains NAME")
    parser.add_argument("--json", metavar="FILE", help="write everything as JSON; - for standard output")
    options = parser.parse_args()
    chosen = choose(options.only)
    amounts = (5, 1, 20, 0.3) if options.quick else (5, 2, 100, 1.0)
    with tempfile.TemporaryDirectory() as folder:
        values = measure_all(chosen, Plan(Path(folder), *amounts))
    report = surroundings() | {"quick": options.quick, "figures": list(results(chosen, values)), "measurements": values}
    # JSON has no infinity: a seed that never settles becomes null.
    text = json.dumps(json.loads(json.dumps(report), parse_constant=lambda _: None), indent=1)
    print(text if options.json == "-" else table(report))
    if options.json not in (None, "-"):
        Path(options.json).write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
