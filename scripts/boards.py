"""Costs of larger boards: enumerating, solving, judging, proving, playing, growing; and the results of a table on 5x5.

    python scripts/boards.py [--games 1000000] [--once] [--json FILE] [--picture FILE] [--page FILE] [--from JSON]

Every figure is measured in a process of its own with compiled kernels; repeated ones are medians.  `--once` measures
each a single time, which shows that all can be measured.  The last part trains `greedy-td` on 5x5x5, what its source
reports, and says what it reaches against random moves, a player that takes wins, and one that blocks, too.  `--page`
writes `data/boards.md`, whose text is `scripts/pages/boards.md`.
"""

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from page_writer import add_page_options, fill, markdown_table, measured_on, write_from, write_json, write_page

import ttt_batch as ttt
from ttt_batch.analysis.judge import evaluate_sampled
from ttt_batch.analysis.warmup import environment_info
from ttt_batch.evaluation.judgement import exact_judge
from ttt_batch.games.board import parse_board
from ttt_batch.games.enumeration import GRAPHS, enumerate_graph
from ttt_batch.games.solution import solve
from ttt_batch.runs.config import make_config
from ttt_batch.training.trainers.base import TableTrainer
from ttt_batch.training.trainers.batched import make_trainer

BOARD, GROWN = "4x4x4", "5x5x5"
REPEATS = 5


def timed(work: Callable[[], Any], repeats: int) -> float:
    """Median seconds of `work`, once it has run."""
    work()
    seconds = []
    for _ in range(repeats):
        began = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - began)
    return statistics.median(seconds)


def enumerating(repeats: int) -> dict[str, float]:
    """Seconds to enumerate and solve 4x4x4 up to symmetry, and to judge a table."""
    board = parse_board(BOARD)

    def enumerate_again() -> None:
        GRAPHS.clear()
        enumerate_graph(board, False, True)

    trainer = make_trainer(make_config(board=BOARD))
    judged = exact_judge(trainer.graph, trainer.learner, trainer.worth)
    return {
        "4x4x4, enumerated up to symmetry, s": timed(enumerate_again, repeats),
        "4x4x4, solved, s": timed(lambda: solve(trainer.graph), repeats),
        "4x4x4, a policy judged in full, s": timed(lambda: judged(trainer.tables), repeats),
    }


def proving() -> dict[str, float]:
    """Seconds of playing and learning until `td` on 4x4x4 is proved unbeatable in both seats."""
    found = {}
    for name, options in {
        "flow, one batch of 10^7 at epsilon 1": {"engine": "flow", "batch": 10_000_000, "epsilon": 1.0},
        "walk, batches of 262,144 at epsilon 1": {"engine": "walk", "batch": 262_144, "epsilon": 1.0},
    }.items():
        config = make_config(board=BOARD, **options)  # type: ignore[arg-type]
        make_trainer(config).advance(int(config.batch), lambda: False)  # kernels
        trainer = make_trainer(config)
        judged = exact_judge(trainer.graph, trainer.learner, trainer.worth)
        seconds = 0.0
        while not judged(trainer.tables).unbeatable.all():
            if trainer.games >= 200_000_000:
                raise SystemExit(f"{name}: not proved after {trainer.games:,} games")
            began = time.perf_counter()
            trainer.advance(trainer.games + int(config.batch), lambda: False)
            seconds += time.perf_counter() - began
        found[f"4x4x4, td proved by {name}, s"] = seconds
        found[f"4x4x4, td proved by {name}, games"] = trainer.games
    return found


def walking(repeats: int) -> dict[str, float]:
    """Games a second of `td` on 4x4x4 at its defaults, once it has settled."""
    found = {}
    for batch in (16_384, 262_144):
        trainer = make_trainer(make_config(board=BOARD, batch=batch))
        trainer.advance(2_000_000 // batch * batch, lambda: False)
        games = 8 * batch if batch > 100_000 else 32 * batch

        def go(trainer: TableTrainer = trainer, games: int = games) -> None:
            trainer.advance(trainer.games + games, lambda: False)

        found[f"4x4x4, td, walk and fold, batch {batch:,}, games/s"] = games / timed(go, repeats)
    return found


def growing(games: int) -> dict[str, Any]:
    """`greedy-td` on 5x5x5: seconds, games a second and memory as the table grows."""
    ttt.train(100, learner="greedy-td", board=GROWN)
    began = time.perf_counter()
    ttt.train(30_000, learner="greedy-td", board=GROWN)
    headline = time.perf_counter() - began
    trainer = make_trainer(make_config(learner="greedy-td", board=GROWN), max_rows=50_000_000)
    curve = []
    total, at = 0.0, 10_000
    while at <= games:
        first, began = trainer.games, time.perf_counter()
        trainer.advance(at, lambda: False)
        spent = time.perf_counter() - began
        total += spent
        assert trainer.grown is not None
        curve.append(
            {
                "games": at,
                "microseconds a game": 1e6 * spent / (at - first),
                "positions": trainer.grown.positions,
                "peak MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3,
            }
        )
        at = games if at < games < round(at * 10**0.25) else round(at * 10**0.25)
    return {
        "5x5x5, greedy-td, 30,000 games, s": headline,
        f"5x5x5, greedy-td, {games:,} games, games/s": games / total,
        f"5x5x5, greedy-td, {games:,} games, peak MB": curve[-1]["peak MB"],
        "curve": curve,
    }


def reached(games: int) -> dict[str, Any]:
    """Return the wins, draws and losses of `greedy-td` on 5x5x5 after 30,000 games and after `games`."""
    found: dict[str, Any] = {}
    for number in (30_000, games):
        run = ttt.train(number, learner="greedy-td", board=GROWN)
        found[f"{number:,}"] = evaluate_sampled(run).to_dict()
    return found


VERDICTS = {"refuted": "can be beaten", "proved": "unbeatable", "undecided": "not decided"}
"""What a search says of a seat, in words."""

PARTS: dict[str, Callable[[int, int], dict[str, Any]]] = {
    "enumerating": lambda _, repeats: enumerating(repeats),
    "proving": lambda *_: proving(),
    "walking": lambda _, repeats: walking(repeats),
    "growing": lambda games, _: growing(games),
    "reached": lambda games, _: reached(games),
}
"""Parts by name, given the games on 5x5x5 and how often to repeat."""


def figure_rows(report: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Return the figures as they are printed: name, number, target."""
    found: dict[str, float] = report["figures"]
    walk = "4x4x4, td proved by walk, batches of 262,144 at epsilon 1"
    flow = "4x4x4, td proved by flow, one batch of 10^7 at epsilon 1"
    games = f"{report['curve'][-1]['games']:,}"
    large, folded = f"5x5x5, greedy-td, {games} games", "4x4x4, td, walk and fold, batch"
    seconds = "{:.2g} s".format
    return [
        ("4x4x4, enumerated up to symmetry", seconds(found["4x4x4, enumerated up to symmetry, s"]), "< 1"),
        ("4x4x4, solved", seconds(found["4x4x4, solved, s"]), "< 0.1"),
        (
            "4x4x4, everything recorded at a point judged",
            f"{found['4x4x4, a policy judged in full, s']:.3g} s",
            "< 0.1",
        ),
        (f"{flow}, {found[f'{flow}, games']:,} games", seconds(found[f"{flow}, s"]), "< 1"),
        (f"{walk}, {found[f'{walk}, games']:,} games", seconds(found[f"{walk}, s"]), "< 15"),
        *(
            (f"{folded} {batch}", f"{found[f'{folded} {batch}, games/s'] / 1e6:.2f} M games/s", f">= {least} M")
            for batch, least in (("16,384", 0.4), ("262,144", 0.8))
        ),
        ("5x5x5, greedy-td, 30,000 games", seconds(found["5x5x5, greedy-td, 30,000 games, s"]), "< 1.5"),
        (large, f"{found[f'{large}, games/s']:,.0f} games/s", ">= 50,000"),
        (f"{large}: peak", f"{found[f'{large}, peak MB'] / 1e3:.2f} GB", "< 2"),
    ]


def result_rows(report: dict[str, Any]) -> Iterator[list[str]]:
    """Yield what `greedy-td` on 5x5x5 reaches after each number of games, by seat."""
    for games, found in report["reached"].items():
        for seat in ("first", "second"):
            shares = (
                " / ".join(
                    f"{found['matches'][against][seat][result]['share']:.3f}" for result in ("win", "draw", "loss")
                )
                for against in ("random", "one-ply", "two-ply")
            )
            yield [games, seat, *shares, VERDICTS[found["verdict"][seat]]]


def page(report: dict[str, Any]) -> str:
    """Return the page of a report."""
    last = report["curve"][-1]
    return fill(
        "boards.md",
        machine=measured_on(report),
        figures=markdown_table(["figure", "measured", "target"], figure_rows(report)),
        results=markdown_table(
            ["games learnt", "seat", "against random", "one-ply", "two-ply", "search"], result_rows(report)
        ),
        curve=markdown_table(
            ["games", "microseconds a game", "positions", "peak"],
            (
                (f"{p['games']:,}", f"{p['microseconds a game']:.1f}", f"{p['positions']:,}", f"{p['peak MB']:,.0f} MB")
                for p in report["curve"]
            ),
        ),
        games=f"{last['games']:,}",
        positions=f"{last['positions'] / 1e6:.1f} million",
    )


def picture(curve: list[dict[str, float]], path: Path) -> None:
    """Draw the cost of a game as the table grows."""
    import matplotlib as mpl

    mpl.use("agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 3.6), layout="constrained")
    games = np.array([point["games"] for point in curve])
    axes.plot(games, [point["microseconds a game"] for point in curve], "o-", color="#0072b2")
    most = max(point["microseconds a game"] for point in curve)
    axes.set(xscale="log", xlabel="games learnt", ylabel="microseconds a game")
    axes.set(ylim=(0, 1.2 * most), xlim=(games[0] / 1.6, games[-1] * 1.6))
    axes.set_title("greedy-td on 5x5x5: what a game costs as the table grows")
    for point in curve[:: max(1, len(curve) // 4)]:
        axes.annotate(
            f"{point['positions'] / 1e6:.2g} M\npositions",
            (point["games"], point["microseconds a game"]),
            xytext=(0, -28),
            textcoords="offset points",
            ha="center",
            fontsize=8,
        )
    axes.grid(alpha=0.3)
    figure.savefig(path, dpi=150)


def parser() -> argparse.ArgumentParser:
    """Return the options."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--games", type=int, default=1_000_000, help="how far 5x5x5 is trained (default 1,000,000)")
    parser.add_argument("--once", action="store_true", help="measure each figure a single time")
    parser.add_argument("--json", metavar="FILE", help="write the figures as JSON")
    parser.add_argument("--picture", metavar="FILE", help="draw the cost of a game as the table grows")
    parser.add_argument("--part", choices=PARTS, help=argparse.SUPPRESS)
    add_page_options(parser)
    return parser


def main() -> None:
    """Measure each part in a process of its own, then print and keep the figures."""
    options = parser().parse_args()
    if write_from(options, page):
        return
    if options.part:
        print(json.dumps(PARTS[options.part](options.games, 1 if options.once else REPEATS)))
        return
    figures: dict[str, Any] = {**environment_info(), "figures": {}}
    for part in PARTS:
        with tempfile.TemporaryDirectory() as folder:
            words = [sys.executable, str(Path(__file__).resolve()), "--part", part, "--games", str(options.games)]
            words += ["--once"] * options.once
            done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=folder)
        if done.returncode:
            raise SystemExit(f"{part}: {done.stderr.strip()}")
        found = json.loads(done.stdout)
        print(json.dumps(found, indent=1), flush=True)
        if part == "reached":
            figures["reached"] = found
            continue
        if "curve" in found:
            figures["curve"] = found.pop("curve")
        figures["figures"].update(found)
    if options.json:
        write_json(Path(options.json), figures)
    if options.picture:
        picture(figures["curve"], Path(options.picture))
    if options.page is not None:
        write_page(options, page(figures))


if __name__ == "__main__":
    main()
