"""How well networks learn Connect Four in ten minutes, and how many corrections make them win every game.

    python scripts/connect_four.py [--seeds 3] [--seconds 600] [--json FILE] [--picture FILE] [--page FILE]
    python scripts/connect_four.py --from JSON [--picture FILE] [--page FILE]

A network learns as `train --board connect4 --learner patterns --keep average` does, on one thread, for `--seconds` of
processor time, hunts for lost games included.  Four times on the way it plays games against `two-ply`.  At the end, and
with the first seed half-way, `ttt_batch.analysis.corrections` corrects a copy until it wins every game, which is a
proof.  The network itself then plays against best play.  `--page` writes `data/connect4.md`, whose text is
`scripts/pages/connect4.md`.
"""

import argparse
import os
from pathlib import Path
from typing import Any

import numpy as np
from page_writer import add_page_options, fill, markdown_table, measured_on, read_report, say, write_report
from proofs import GravityTrial

from ttt_batch.agents.builtin import table_player
from ttt_batch.analysis.corrections import Corrected, correct, sets_of
from ttt_batch.analysis.matches import play_scripted
from ttt_batch.analysis.warmup import environment_info
from ttt_batch.core.text import short_number
from ttt_batch.evaluation.prover import ALWAYS_WINS
from ttt_batch.games.board import DRAW, FIRST_WINS, SECOND_WINS, UNFINISHED
from ttt_batch.games.gravity_solver import gravity_solver
from ttt_batch.runs.network_run import PatternRun
from ttt_batch.training.network_trainer import PatternTrainer

Report = dict[str, Any]

FIRST_SEED = 11
MARKS, CORRECTED = (0.1, 0.2, 0.5, 1.0), 0.5
"""Shares of the time after which a network is measured, and from which on that of the first seed is corrected.

Earlier it has too many mistakes: to correct one takes longer than to learn more.
"""

TWO_PLY_GAMES, BEST_GAMES = 20_000, 5_000
MOST = 1 << 28
"""Positions that a walk enters at most."""


def measure(board: str, seeds: int, seconds: float, games: tuple[int, int]) -> Report:
    """Measure each seed.  games: against `two-ply`, and against best play."""
    make_trial(board, 0).go_on()
    found = [measure_seed(board, FIRST_SEED + n, seconds, games, each_time=n == 0) for n in range(seeds)]
    return {**environment_info(), "load": os.getloadavg()[0], "board": board, "seconds": seconds, "seeds": found}


def measure_seed(board: str, seed: int, seconds: float, games: tuple[int, int], *, each_time: bool) -> Report:
    """Learn for some seconds, and measure at each of `MARKS`.  each_time: correct the network
    not only at the end."""
    trial, hunted, lost, points = make_trial(board, seed), 0, 0, list[Report]()
    for mark in MARKS:
        while (spent := trial.learning + trial.proving) < mark * seconds:
            proof = trial.go_on()
            hunted, lost = hunted + proof.positions, lost + len(proof.lost)
        run = run_of(trial.trainer)
        point: Report = {"seconds": spent, "games": trial.games, "hunted": hunted, "lost": lost}
        point["two_ply"] = list(play_scripted(run, "two-ply", "first", games=games[0]))
        hunted = lost = 0
        if mark >= (CORRECTED if each_time else MARKS[-1]):
            corrected = correct(run, table_player(run), 0, ALWAYS_WINS, budget=MOST, follow=lambda *_: False)
            point["corrected"] = facts_of(corrected)
            point["best"] = against_best(run, corrected, games[1])
        say(f"seed {seed}: {point}")
        points.append(point)
    return {"seed": seed, "points": points}


def make_trial(board: str, seed: int) -> GravityTrial:
    """Return a new network that learns to win as first, and plays with an average of its weights."""
    return GravityTrial(board, 0, ALWAYS_WINS, seed, keep="average")


def run_of(trainer: PatternTrainer) -> PatternRun:
    """Return the network as it is now."""
    columns = {"games": np.array([trainer.games]), "outcomes": trainer.outcomes[np.newaxis]}
    return trainer.run(columns | {name: array[np.newaxis] for name, array in trainer.glance().items()})


def facts_of(corrected: Corrected) -> Report:
    """Return the number of corrections, also by the marks on the board, and the size and duration of the proof."""
    agent, proof = corrected.agent, corrected.proof
    plies = np.bitwise_count(agent.first) + np.bitwise_count(agent.second)
    by_ply = {str(ply): int((plies == ply).sum()) for ply in np.unique(plies)}
    found = {"status": proof.status, "positions": proof.positions, "wall": proof.seconds}
    return found | {"count": corrected.size, "with_images": int(plies.size), "by_ply": by_ply}


def against_best(run: PatternRun, corrected: Corrected, games: int) -> list[int]:
    """Return games won, drawn and lost by the network as first against best play.

    Best play picks evenly among the moves that keep the result.  Before the network's first mistake, which is in a
    corrected position, it has lost and all its moves are equally good.
    """
    board, solver, rng = run.board, gravity_solver(run.board), np.random.default_rng(0)
    agent, results = corrected.agent, {FIRST_WINS: 0, DRAW: 0, SECOND_WINS: 0}
    listed = set(zip(agent.first.tolist(), agent.second.tolist(), strict=True))
    for _ in range(games):
        position, erred = (0,) * board.cells, False
        while board.outcome(position) == UNFINISHED:
            if (board.cells - position.count(0)) % 2 == 0:
                erred |= tuple(map(int, sets_of(position))) in listed
                cells = run.candidates(position)
            else:
                cells = solver.keeping(position) if erred else board.open_cells(position)
            position = board.after(position, int(rng.choice(cells)))
        results[board.outcome(position)] += 1
    return list(results.values())


def page(report: Report) -> str:
    """Return `data/connect4.md` of a report."""
    first = report["seeds"][0]["points"]
    last = [(seed["seed"], seed["points"][-1]) for seed in report["seeds"]]
    missed = [missed_in(point["two_ply"]) for _, point in last]
    by_ply = first[-1]["corrected"]["by_ply"]
    plies = sorted(by_ply, key=int)
    ends = "seed", "games", "not won against `two-ply`", "corrected positions", "positions of the proof", "against best"
    steps = "s", "games", "positions per lost game", "not won against `two-ply`", "corrected positions", "proof"
    return fill(
        "connect4.md",
        machine=measured_on(report),
        load=f"{report['load']:.1f}",
        minutes=f"{report['seconds'] / 60:g}",
        seeds=markdown_table(ends, (end_row(seed, point) for seed, point in last)),
        curve=markdown_table(steps, map(step_row, first)),
        plies=markdown_table(["moves before", *plies], [["corrected, with images", *(by_ply[ply] for ply in plies)]]),
        missed=f"{min(missed)} to {max(missed)}",
    )


def end_row(seed: int, point: Report) -> list[object]:
    """Return the row of a seed after its last game."""
    corrected, best = point["corrected"], point["best"]
    shares = " / ".join(f"{number / sum(best):.4f}" for number in best)
    games = short_number(point["games"])
    return [seed, games, missed_in(point["two_ply"]), f"{corrected['count']:,}", f"{corrected['positions']:,}", shares]


def step_row(point: Report) -> list[object]:
    """Return the row of a seed on its way."""
    rarity, corrected = point["hunted"] / max(1, point["lost"]), point.get("corrected")
    sizes = [f"{corrected[name]:,}" for name in ("count", "positions")] if corrected else ["", ""]
    return [
        f"{point['seconds']:.0f}",
        short_number(point["games"]),
        f"{rarity:,.0f}",
        missed_in(point["two_ply"]),
        *sizes,
    ]


def missed_in(tally: list[int]) -> int:
    """Return the games not won."""
    return tally[1] + tally[2]


def draw_picture(report: Report, path: Path) -> None:
    """Draw corrections, and games not won against `two-ply`, over the games learnt."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    for seed in report["seeds"]:
        points = seed["points"]
        games = [point["games"] / 1e6 for point in points]
        label = f"seed {seed['seed']}"
        left.plot(games, [missed_in(point["two_ply"]) for point in points], "o-", label=label)
        corrected = [
            (g, point["corrected"]["count"]) for g, point in zip(games, points, strict=True) if "corrected" in point
        ]
        right.plot(*zip(*corrected, strict=True), "o-", label=label)
    left.set(xlabel="million games", ylabel="not won of 20,000 against two-ply", ylim=(0, None))
    right.set(xlabel="million games", ylabel="corrected positions", ylim=(0, None))
    for axes in (left, right):
        axes.grid(True, alpha=0.3)
    left.legend()
    figure.savefig(path, dpi=120)


def parser() -> argparse.ArgumentParser:
    """Return the parser of the script's options."""
    found = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    found.add_argument("--seeds", type=int, default=3)
    found.add_argument("--seconds", type=float, default=600.0, help="processor time of each seed (600)")
    found.add_argument("--board", default="connect4", help="another board that the first player wins")
    found.add_argument("--games", type=int, nargs=2, default=(TWO_PLY_GAMES, BEST_GAMES), help="of the two matches")
    found.add_argument("--json", type=Path, metavar="FILE")
    found.add_argument("--picture", type=Path, metavar="FILE", help="PNG or SVG; needs matplotlib")
    add_page_options(found)
    return found


def main() -> None:
    """Measure, or take what was measured, and write what is wanted."""
    options = parser().parse_args()
    if options.source is not None:
        report = read_report(options.source, "seeds", "seconds")
    else:
        report = measure(options.board, options.seeds, options.seconds, tuple(options.games))
    write_report(options, report, page, draw_picture)


if __name__ == "__main__":
    main()
