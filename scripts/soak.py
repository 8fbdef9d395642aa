"""Train, kill, resume and judge at random, for as long as asked, with all learners; before that, kill studies.

    python scripts/soak.py [--minutes 10] [--kills 100] [--seed N] [--json FILE]

Studies are killed `--kills` times, ten times each, and as often on clusters of workers; `killed_studies.py` and
`killed_cluster.py` say how, and what must hold then.
Of 100 kills 21 came before a process began its work, 7 while it made the file, 15 while it checked it, 23 while it
extended it and 34 while learners learnt; all ten studies, of 4,700 learners, had the bytes of undisturbed ones.
On clusters 150 kills hit 40 workers, 22 workers with what starts them again, 53 schedulers and 35 commands; all fifteen
studies, of 5,250 learners, had the bytes of undisturbed ones, and each command that ended with status 1 said why.

Each life of a run is a `ttt-batch train` process that writes checkpoints twenty times a second and is killed (or asked
to stop, or left alone) at a random moment.  What it leaves is opened and validated, and the run resumed until it is
done; then an uninterrupted run of the same configuration, trained in this process, must have the same bytes.  This
process's memory and open files are watched all the while, as are files that are left over.

In ten minutes 173 runs of all learners played 72 billion games and lived through 80 kills and 22 interrupts; of 258
files opened none was damaged, and each of the 172 runs that came to their end had the bytes of an uninterrupted one.
The soak's own memory was 216 MB in the first half and 228 MB in the second, with 6 files open throughout.
"""

import argparse
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from killed_cluster import KilledCluster
from killed_studies import Killed

import ttt_batch as ttt
from ttt_batch.learners import LEARNERS
from ttt_batch.runs.run import Run

# Games that take a second or two, by engine and batch.
WAYS: tuple[tuple[str, int | str, int], ...] = (
    ("walk", 1, 6_000_000),
    ("walk", 1_024, 15_000_000),
    ("walk", 16_384, 40_000_000),
    ("walk", 1_000_000, 60_000_000),
    ("walk", "auto", 60_000_000),
    ("flow", 10_000, 60_000_000),
    ("flow", 1_000_000, 3_000_000_000),
)
ALPHAS = (None, None, "1/n^0.8", "0.3->0.01:linear")
ENDINGS = (signal.SIGKILL, signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT, None)
MOST_SECONDS = 3.0
KILLS = 10  # of one study


class Figures(NamedTuple):
    """Figures of the soak test."""

    lives: Counter[str]
    checks: Counter[str]
    games: list[int]
    megabytes: list[float]
    handles: list[int]
    studies: Counter[str]
    clusters: Counter[str]


def settings_of(rng: random.Random) -> dict[str, Any]:
    """Return keyword arguments of `ttt_batch.train` for a run."""
    engine, batch, games = rng.choice(WAYS)
    alpha = rng.choice(ALPHAS)
    settings: dict[str, Any] = {
        "games": games + rng.choice((0, 0, 12_345)),  # now and then an end inside a batch
        "learner": rng.choice([name for name, learner in LEARNERS.items() if not learner.by_beads]),
        "engine": engine,
        "batch": batch,
        "seed": rng.randrange(-(2**63), 2**63),
        "threads": rng.choice((1, 2)),
    }
    if batch == 1 and alpha and "->" in alpha:
        alpha = None  # a step size that changes with every game is slow, and shares its code with the others
    if alpha is not None:
        settings["alpha"] = alpha
    if rng.random() < 0.25:
        settings["opponent"] = "random"
    return settings


def live(words: list[str], folder: Path, ending: signal.Signals | None, seconds: float) -> tuple[int, str]:
    """One process of a run, ended after so many seconds; returns its exit status and what it said last."""
    process = subprocess.Popen(
        [sys.executable, "-m", "ttt_batch", "train", *words, "--checkpoint-every", "0.05s"],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        _, said = process.communicate(timeout=None if ending is None else seconds)
    except subprocess.TimeoutExpired:
        assert ending is not None
        process.send_signal(ending)
        _, said = process.communicate()
    return process.returncode, (said.strip().splitlines() or [""])[-1]


def same(one: Run, other: Run) -> bool:
    """Return whether two runs have the same bytes, times of day and durations aside."""
    tables = zip(one.tables, other.tables, strict=True)
    columns = [name for name in one.statistics if name != "seconds"]
    return (
        one.games == other.games
        and all(a.tobytes() == b.tobytes() for a, b in tables)
        and one.visits.tobytes() == other.visits.tobytes()
        and all(one.statistics[name].tobytes() == other.statistics[name].tobytes() for name in columns)
    )


def soak_run(rng: random.Random, folder: Path, figures: Figures, deadline: float) -> None:
    """One run from its first life to the comparison with an uninterrupted one."""
    settings = settings_of(rng)
    words = [f"--{name.replace('_', '-')}={value}" for name, value in settings.items()]
    threads = f"--threads={settings['threads']}"
    path, before = folder / "run.h5", 0
    done = False
    while not done and time.monotonic() < deadline:
        ending = rng.choice(ENDINGS)
        resume = ["--resume=run.h5", threads] if path.exists() else [*words, "--out=run.h5"]
        status, said = live(resume, folder, ending, rng.uniform(0.3, MOST_SECONDS))
        # A signal before the first line of the program or after its last one finds Python's own handling.
        expected = {0, 130, -ending} if ending is not None else {0}
        if status not in expected:
            raise SystemExit(f"{settings}: exit status {status} after {ending}: {said}")
        figures.lives["done" if status == 0 else ending.name if ending else "?"] += 1
        done = status == 0
        if path.exists():
            run = ttt.load(path)  # refuses a file with any fault
            figures.checks["opened and valid"] += 1
            if run.games < before:
                raise SystemExit(f"{settings}: {run.games:,} games after {before:,} had been saved")
            before = run.games
            done = done or not run.interrupted  # a signal after the last write, before the end of the process
            if not np.isclose(sum(run.evaluation("random").first), 1):
                raise SystemExit(f"{settings}: results that do not add up")
            figures.checks["judged"] += 1
    figures.games.append(before)
    if done:
        if not same(ttt.load(path), ttt.train(**settings)):
            raise SystemExit(f"{settings}: not the bytes of an uninterrupted run")
        figures.checks["same bytes as uninterrupted"] += 1
        # What was killed after its last write cannot remove its lock.
        own = {"run.h5", ".run.h5.lock"} if status == -signal.SIGKILL else {"run.h5"}
        left = sorted({entry.name for entry in folder.iterdir()} - own)
        if left:
            raise SystemExit(f"{settings}: left behind {', '.join(left)}")
        figures.checks["nothing left behind"] += 1


def soak_study(study: Killed, counts: Counter[str], kills: int) -> None:
    """One study that is killed so often, from its first life to the comparison with an undisturbed one."""
    with closing(study):
        while kills:
            kills -= study.kill()
            print(f"{kills} kills of this study left", end="\r", file=sys.stderr, flush=True)
        counts.update({"learners": study.end(), "same bytes as undisturbed": 1, **study.lives})


def megabytes() -> float:
    """Memory of this process."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def report(figures: Figures, minutes: float, seed: int) -> dict[str, Any]:
    """Return the report to print and keep."""
    half = len(figures.megabytes) // 2
    halves = figures.megabytes[:half], figures.megabytes[half:]
    return {
        "minutes": minutes,
        "seed": seed,
        "runs": len(figures.games),
        "games": sum(figures.games),
        "lives": dict(figures.lives),
        "checks": dict(figures.checks),
        "studies": dict(figures.studies),
        "studies on clusters": dict(figures.clusters),
        "memory, first and second half, MB": [statistics.median(part) for part in halves if part],
        "open files, least and most": [min(figures.handles, default=0), max(figures.handles, default=0)],
    }


def main() -> None:
    """Soak, then print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=10.0, help="how long (default 10)")
    parser.add_argument(
        "--kills",
        type=int,
        default=100,
        help="how many for studies by threads, and as many on clusters, before that (default 100)",
    )
    parser.add_argument("--seed", type=int, default=0, help="of all choices made here; moments differ all the same")
    parser.add_argument("--json", metavar="FILE", help="write the figures as JSON; - for standard output")
    options = parser.parse_args()
    rng = random.Random(options.seed)
    figures = Figures(Counter(), Counter(), [], [], [], Counter(), Counter())
    for left in range(options.kills, 0, -KILLS):
        with tempfile.TemporaryDirectory() as folder:
            soak_study(Killed(Path(folder), rng), figures.studies, min(left, KILLS))
        with tempfile.TemporaryDirectory() as folder:
            own = left // KILLS % 2 == 0
            soak_study(KilledCluster(Path(folder), rng, own), figures.clusters, min(left, KILLS))
    started = time.monotonic()
    deadline = started + 60 * options.minutes
    while time.monotonic() < deadline:
        with tempfile.TemporaryDirectory() as folder:
            soak_run(rng, Path(folder), figures, deadline)
        figures.megabytes.append(megabytes())
        figures.handles.append(len(os.listdir("/proc/self/fd")))  # noqa: PTH208
        killed = figures.lives["SIGKILL"]
        print(f"{len(figures.games)} runs, {killed} kills survived", end="\r", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    text = json.dumps(report(figures, (time.monotonic() - started) / 60, options.seed), indent=1)
    print(text)
    if options.json not in (None, "-"):
        Path(options.json).write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
