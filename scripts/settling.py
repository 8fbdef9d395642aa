"""How soon each learner is proved unbeatable in both seats, and whether it stays so: learner x engine x batch x alpha.

    python scripts/settling.py [--seeds 100] [--timed 20] [--games 1000000] [--only NAME ...] [--json FILE]
                               [--page FILE] [--from JSON]

Every run is judged exactly at its recorded points.  The games of a first proof follow from the seed alone, so they are
found in as many processes as there are processors; seconds (playing, learning and judging, with kernels loaded) are
measured afterwards, by one process alone, of the first `--timed` seeds up to their first proofs.  `--page` writes
`data/settling.md`, whose text is `scripts/pages/settling.md`.
"""

import argparse
import json
import math
import statistics
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from page_writer import add_page_options, fill, markdown_table, measured_on, write_from, write_page

from ttt_batch.analysis.bench import surroundings
from ttt_batch.base.errors import UsageError
from ttt_batch.base.processors import available_threads
from ttt_batch.evaluation.judgement import exact_judge
from ttt_batch.learners import LEARNERS
from ttt_batch.runs.batches import recorded_points
from ttt_batch.runs.config import make_config
from ttt_batch.runs.recorder import Recorder
from ttt_batch.training.trainers import make_trainer

WAYS: tuple[tuple[str, int | str], ...] = (
    ("walk", 1),
    ("walk", 1_024),
    ("walk", 16_384),
    ("walk", "auto"),
    ("flow", 1_024),
    ("flow", 16_384),
    ("flow", "auto"),
)
EPSILONS: tuple[tuple[str, float | None], ...] = (*((name, None) for name in LEARNERS), ("sutton-barto", 0.1))
ALPHAS = (None, "1/n", "0.3->0.001:exp")


class Case(NamedTuple):
    """What `make_config` is asked for, and how long a run is; None for the learner's own number."""

    learner: str
    epsilon: float | None
    alpha: str | None
    engine: str
    batch: int | str
    games: int


class Course(NamedTuple):
    """A run's recorded points: games, seconds so far, and whether it was unbeatable in both seats."""

    games: list[int]
    seconds: list[float]
    holds: list[bool]

    @property
    def first(self) -> int | None:
        """The point of the first proof."""
        return self.holds.index(True) if any(self.holds) else None

    @property
    def settled(self) -> int | None:
        """The point since which every one holds."""
        failing = [point for point, holds in enumerate(self.holds) if not holds]
        since = failing[-1] + 1 if failing else 0
        return since if since < len(self.holds) else None


def follow(case: Case, seed: int, until: int | None = None) -> Course:
    """Train and judge, one thread, up to `until` games (all of the run's without)."""
    config = make_config(
        learner=case.learner,
        epsilon=case.epsilon,
        alpha=case.alpha,
        engine=case.engine,
        batch=case.batch,
        seed=seed,
        horizon=case.games,
    )
    last = case.games if until is None else until
    trainer = make_trainer(config)
    recorder = Recorder(exact_judge(trainer.graph, trainer.learner, trainer.worth))
    course, spent = Course([], [], []), 0.0
    for point in recorded_points(trainer.batches):
        start = time.perf_counter()
        trainer.advance(min(point, last), lambda: False)
        recorder.record(trainer.tables, trainer.games, spent, trainer.outcomes)
        spent += time.perf_counter() - start
        course.games.append(trainer.games)
        course.seconds.append(spent)
        course.holds.append(recorder.since is not None)
        if trainer.games >= last:
            break
    return course


def cases(games: int, only: list[str]) -> Iterator[Case]:
    """Everything to be followed, as far as the learners allow it."""
    for alpha in ALPHAS:
        for learner, epsilon in EPSILONS:
            for engine, batch in WAYS:
                case = Case(learner, epsilon, alpha, engine, batch, games)
                name = " ".join(map(str, case))
                if only and not any(word in name for word in only):
                    continue
                try:
                    make_config(learner=learner, alpha=alpha, engine=engine, batch=batch, horizon=games)
                except UsageError:
                    continue  # a step size that the learner cannot have
                yield case


def seconds_to_proof(case: Case, courses: list[Course]) -> float:
    """Median seconds until the first proof, infinite if most seeds get none; these courses are run again."""
    follow(case, 0, 2)  # loads the kernels
    seconds = []
    for seed, course in enumerate(courses):
        if course.first is None:
            seconds.append(math.inf)
        else:
            seconds.append(follow(case, seed, course.games[course.first]).seconds[-1])
    return statistics.median(seconds)


def summary(case: Case, courses: list[Course], timed: int) -> dict[str, Any]:
    """The summary of a case's seeds; medians count a seed without a proof as infinitely late."""
    first = [math.inf if c.first is None else c.games[c.first] for c in courses]
    settled = [math.inf if c.settled is None else c.games[c.settled] for c in courses]
    later = [holds for c in courses if c.first is not None for holds in c.holds[c.first + 1 :]]
    config = make_config(learner=case.learner, epsilon=case.epsilon, alpha=case.alpha, horizon=case.games)
    return {
        "learner": case.learner,
        "epsilon": config.epsilon.text,
        "alpha": config.alpha.text,
        "engine": case.engine,
        "batch": case.batch,
        "games": case.games,
        "seeds": len(courses),
        "proved": statistics.mean(map(math.isfinite, first)),
        "first_proof_games": statistics.median(first),
        "first_proof_seconds": seconds_to_proof(case, courses[:timed]),
        "timed_seeds": min(timed, len(courses)),
        "later_points_that_hold": statistics.mean(later) if later else None,
        # The last point alone says little of a verdict that comes and goes.
        "settled_by_half": statistics.mean(since <= case.games / 2 for since in settled),
        "settled_games": statistics.median(settled),
    }


def shown(number: float | None, form: str = ",.0f") -> str:
    """Return the number in this form, or `-` if it never comes: infinite as measured, null in JSON."""
    return "-" if number is None or math.isinf(number) else format(number, form)


def milliseconds(seconds: float | None) -> float | None:
    """Return the seconds in milliseconds."""
    return None if seconds is None else 1e3 * seconds


def batch_name(batch: int | str) -> str:
    """Return a batch as it is written in the tables."""
    return batch if isinstance(batch, str) else f"{batch:,}"


def table(rows: list[dict[str, Any]]) -> str:
    """Return a row for each case, in Markdown."""
    head = ["learner", "epsilon", "alpha", "engine", "batch", "proved", "first proof", "ms", "then holds"]
    return markdown_table(
        [*head, "by half", "settled"],
        (
            (
                *(row["learner"], row["epsilon"], row["alpha"], row["engine"], batch_name(row["batch"])),
                f"{row['proved']:.0%}",
                shown(row["first_proof_games"]),
                shown(milliseconds(row["first_proof_seconds"]), ".3g"),
                shown(row["later_points_that_hold"], ".1%"),
                f"{row['settled_by_half']:.0%}",
                shown(row["settled_games"]),
            )
            for row in rows
        ),
    )


def settled(row: dict[str, Any]) -> str:
    """Return the share of seeds that settle by half of the games, and the median game since which they hold."""
    if row["proved"] == 0:
        return "never proved"
    games = shown(row["settled_games"])
    return f"{row['settled_by_half']:.0%}" + ("" if games == "-" else f", {games}")


def falling_table(rows: list[dict[str, Any]]) -> str:
    """Return the cases whose step size falls: a line for each setting, a column for each engine and batch."""
    settings = dict.fromkeys((row["learner"], row["epsilon"], row["alpha"]) for row in rows)
    ways = dict.fromkeys((row["engine"], row["batch"]) for row in rows)
    found = {(*(row[key] for key in ("learner", "epsilon", "alpha", "engine", "batch")),): settled(row) for row in rows}
    return markdown_table(
        ["learner", "epsilon", "alpha", *(f"{engine}, {batch_name(batch)}" for engine, batch in ways)],
        ((*setting, *(found.get((*setting, *way), "-") for way in ways)) for setting in settings),
    )


def page(report: dict[str, Any]) -> str:
    """Return the page of a report: the cases with a constant step size, then those whose step size falls."""
    rows = report["cases"]
    falls = {row["alpha"]: not row["alpha"].replace(".", "", 1).isdigit() for row in rows}
    return fill(
        "settling.md",
        machine=measured_on(report),
        games=f"{rows[0]['games']:,}",
        seeds=f"{rows[0]['seeds']:,}",
        timed=f"{rows[0]['timed_seeds']:,}",
        constant=table([row for row in rows if not falls[row["alpha"]]]),
        falling=falling_table([row for row in rows if falls[row["alpha"]]]),
    )


def parser() -> argparse.ArgumentParser:
    """Return the options."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--timed", type=int, default=20, help="seeds whose first proofs are timed; default 20")
    parser.add_argument("--games", type=int, default=1_000_000, help="games of a run; default 1,000,000")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="cases that contain NAME, e.g. auto")
    parser.add_argument("--json", metavar="FILE", help="write the numbers as JSON; - for standard output")
    add_page_options(parser)
    return parser


def main() -> None:
    """Follow every case, then print the table."""
    options = parser().parse_args()
    if write_from(options, page):
        return
    chosen = list(cases(options.games, options.only))
    if not chosen:
        raise SystemExit(f"no case contains {' or '.join(options.only)}")
    jobs = [(case, seed) for case in chosen for seed in range(options.seeds)]
    courses: dict[Case, list[Course]] = {case: [] for case in chosen}
    with ProcessPoolExecutor(available_threads()) as pool:
        found = pool.map(follow, *zip(*jobs, strict=True), chunksize=5)
        for number, ((case, _), course) in enumerate(zip(jobs, found, strict=True), start=1):
            courses[case].append(course)
            if number % (10 * options.seeds) == 0:
                print(f"{number:,} of {len(jobs):,} runs", file=sys.stderr, flush=True)
    rows = []
    for case in chosen:
        rows.append(summary(case, courses[case], options.timed))
        print(f"timed {len(rows)} of {len(chosen)} cases", file=sys.stderr, flush=True)
    # JSON has no infinity: what never comes becomes null.
    report = json.loads(json.dumps(surroundings() | {"cases": rows}), parse_constant=lambda _: None)
    text = json.dumps(report, indent=1)
    print(text if options.json == "-" else table(rows))
    if options.json not in (None, "-"):
        Path(options.json).write_text(text + "\n", encoding="utf-8")
    if options.page is not None:
        write_page(options, page(report))


if __name__ == "__main__":
    main()
