"""Costs of proofs of pattern networks: games and processor seconds to the first proof, seed by seed.

    python scripts/proofs.py [--seeds 10] [--long 300] [--larger 900] [--json FILE] [--picture FILE] [--page FILE]
    python scripts/proofs.py --from JSON [--larger 900 | --gravity 3] [--json FILE] [--picture FILE] [--page FILE]

A network learns one seat on one thread, and every so many games all games that its greedy moves let happen are
exhausted.  A seed counts as proved if every seat is, within the seconds of its row, learning and proving together; its
games are those of the seat that took more.  Kernels are compiled before.  `--long` is the limit of the hardest row.
`--larger` are the seconds for each of the larger boards, of one seed; with `--from`, only these are measured again.
`--gravity` are the seeds of boards with gravity; with `--from`, only these are measured again.
`--page` writes `data/proofs.md`, whose text is `scripts/pages/proofs.md`.
"""

import argparse
import functools
import os
import statistics
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from page_writer import add_page_options, fill, markdown_table, measured_on, read_report, say, write_from, write_report

from ttt_batch.analysis.warmup import environment_info
from ttt_batch.compiler.bits import NONE, ONE, nth_member, popcount, single
from ttt_batch.compiler.jit import kernel
from ttt_batch.compiler.numerics import below, draw, game_base, stream_key
from ttt_batch.core.text import SEATS, short_number
from ttt_batch.evaluation.prover import ALWAYS_WINS, CANNOT_LOSE, Goal, Proof, Prover
from ttt_batch.evaluation.search import mark_cell, reset, tied_cells
from ttt_batch.games.bitboards import Lines, make_lines, view_of
from ttt_batch.games.board import parse_board
from ttt_batch.ntuple.games import Aim
from ttt_batch.ntuple.learning import Net, learn_batches, make_errors, make_game, make_net
from ttt_batch.ntuple.network import NetAgent, make_network_agent
from ttt_batch.ntuple.objectives import BEST, BOTH, PLAYED
from ttt_batch.runs.config import make_pattern_config
from ttt_batch.training.network_trainer import PatternTrainer

Report = dict[str, Any]

FIRST_SEED = 11
"""Settings were chosen on seeds 1 to 8, but `every` of 5x5x4 as second on 11 to 16."""

BATCH, EPSILON = 16, 0.3
BUDGET, REFUTING, ENOUGH_LOST = 3_000_000, 65_536, 32
"""Positions that a proof enters at most, and at most about once it has found so many lost games."""

LOST_LINES, KEPT_LINES = 300, 1_000
"""Lost games that a proof looks for, and that games begin from: the latest."""

LATER = 30
"""Snapshots after the first proof that are proved, too, or not."""

LARGER = 900.0
"""Processor seconds for each of the larger boards."""

MATCH = 2_000
MATCH_STREAM = 1 << 40
"""Purpose of the random numbers of matches: none of the package's."""


class Case(NamedTuple):
    """A row: the seats to be proved, and how.

    every: games between two proofs.  share: of games that begin with moves of a lost one.  seconds: the limit.
    bar: what is asked for.
    """

    board: str
    seats: tuple[int, ...]
    goal: Goal
    every: int
    share: float
    seconds: float
    bar: str

    @property
    def text(self) -> str:
        """Return the claim to prove."""
        seats = "both" if len(self.seats) == 2 else ("first", "second")[self.seats[0]]
        found = f"{self.board}, {seats} {'always wins' if self.goal == ALWAYS_WINS else 'cannot lose'}"
        return found if self.share else f"{found}, no refutations"


def cases(long: float) -> list[Case]:
    """All rows; long: the seconds of the hardest."""
    return [
        Case("4x4x4", (0, 1), CANNOT_LOSE, 1_000, 0.0, 0.15, "all, 0.15 s at most"),
        Case("5x5x5", (0, 1), CANNOT_LOSE, 4_000, 0.0, 10.0, "all, median 2 s"),
        Case("4x5x4", (0, 1), CANNOT_LOSE, 1_000, 0.5, 10.0, "all, 10 s at most"),
        Case("6x5x4", (0,), ALWAYS_WINS, 1_000, 0.5, 3.0, "all, 3 s at most"),
        Case("6x5x4", (0,), ALWAYS_WINS, 2_000, 0.0, 20.0, "8 of 10, 20 s at most"),
        Case("5x5x4", (0,), CANNOT_LOSE, 1_000, 0.5, 4.0, "all, 4 s at most"),
        Case("5x5x4", (1,), CANNOT_LOSE, 2_000, 0.5, long, "5 of 10, 300 s at most"),
    ]


def larger_cases(seconds: float) -> list[Case]:
    """Boards beyond those that are asked for."""
    return [
        Case("4x4x4-misere", (0, 1), CANNOT_LOSE, 2_000, 0.5, seconds, ""),
        Case("6x6x4", (0,), ALWAYS_WINS, 2_000, 0.5, seconds, ""),
        Case("5x5x4-misere", (0,), CANNOT_LOSE, 2_000, 0.5, seconds, ""),
        Case("6x5x5", (0,), CANNOT_LOSE, 2_000, 0.5, seconds, ""),
        Case("6x6x5", (0,), CANNOT_LOSE, 2_000, 0.5, seconds, ""),
        Case("7x7x5", (1,), CANNOT_LOSE, 2_000, 0.5, seconds, ""),
    ]


def gravity_cases() -> list[Case]:
    """Boards with gravity, with the settings of `train` by default."""
    both, lost = (0, 1), 0.5
    return [
        Case("4x4x4-gravity", both, CANNOT_LOSE, 4_000, lost, 10.0, "all, 10 s at most"),
        Case("4x5x4-gravity", both, CANNOT_LOSE, 4_000, lost, 10.0, "all, 10 s at most"),
        Case("5x4x4-gravity", both, CANNOT_LOSE, 4_000, lost, 10.0, "all, 10 s at most"),
        Case("5x5x4-gravity", both, CANNOT_LOSE, 4_000, lost, 20.0, "all, 10 s at most"),
        Case("4x6x4-gravity", (1,), ALWAYS_WINS, 4_000, lost, 20.0, ""),
        Case("6x5x4-gravity", (0,), CANNOT_LOSE, 4_000, lost, 60.0, "median 20 s"),
        Case("6x5x4-gravity", (1,), CANNOT_LOSE, 4_000, lost, 60.0, "median 20 s"),
        Case("5x6x4-gravity", (0,), CANNOT_LOSE, 4_000, lost, 120.0, "median 60 s"),
        Case("5x6x4-gravity", (1,), CANNOT_LOSE, 4_000, lost, 120.0, "median 60 s"),
        Case("4x7x4-gravity", (0,), CANNOT_LOSE, 4_000, lost, 120.0, "median 60 s"),
        Case("4x7x4-gravity", (1,), CANNOT_LOSE, 4_000, lost, 120.0, "median 60 s"),
        Case("6x6x4-gravity", (1,), ALWAYS_WINS, 20_000, lost, 900.0, "8 of 10, 900 s at most"),
    ]


class Trial:
    """One network that learns a seat of a board, and is proved now and then."""

    def __init__(self, case: Case, seat: int, seed: int) -> None:
        self.case, self.seat = case, seat
        self.board = parse_board(case.board)
        self.lines, self.network = make_lines(self.board), network_of(case.board)
        wins = case.goal == ALWAYS_WINS
        aim = Aim(BOTH if wins else seat, 0.8, 0.98 if wins else 1.0, 0.0, BEST, EPSILON, case.share)
        self.net = make_net(self.lines, self.network, aim, seed)
        self.prover = Prover(self.board)
        self.lost = np.zeros((0, self.board.cells), np.int8)
        self.games, self.learning, self.proving = 0, 0.0, 0.0
        self._scratch = make_game(self.lines, self.network), make_errors(self.network, 1, BATCH)

    def go_on(self) -> Proof:
        """Learn for a while, and try to prove."""
        began = time.process_time()
        self.learn(self.case.every // BATCH * BATCH)
        learnt = time.process_time()
        agent, lost = make_network_agent(self.network, self.net.weights), LOST_LINES if self.case.share else 1
        proof = self.prover.prove(
            agent,
            self.seat,
            self.case.goal,
            budget=BUDGET,
            lost=lost,
            follow=lambda entered, found: found >= ENOUGH_LOST and entered >= REFUTING,
        )
        if self.case.share:
            self.lost = np.concatenate([self.lost, proof.lost])[-KEPT_LINES:]
        self.learning += learnt - began
        self.proving += time.process_time() - learnt
        return proof

    def learn(self, games: int) -> None:
        """Play so many games and learn from them."""
        span = self.games, self.games + games
        learn(self.net, self.lost, span, self._scratch)
        self.games += games


class GravityTrial:
    """One network on a board with gravity, which learns and is proved as in `train`."""

    def __init__(self, board: str, seat: int, goal: Goal, seed: int, **options: Any) -> None:
        self.board, self.seat, self.learning, self.proving = parse_board(board), seat, 0.0, 0.0
        objective = "win" if goal == ALWAYS_WINS else "safe"
        config = make_pattern_config(board=self.board, objective=objective, seat=SEATS[seat], seed=seed, **options)
        self.trainer = PatternTrainer(config, None, 1)
        self.network = self.trainer.network

    @property
    def games(self) -> int:
        """Games learnt."""
        return self.trainer.games

    def go_on(self) -> Proof:
        """Learn until the next proof, and try it."""
        began = time.process_time()
        self.trainer.advance(self.trainer.next_point(self.games), lambda: False)
        learnt = time.process_time()
        found = self.trainer.prove(lambda: False)
        self.learning += learnt - began
        self.proving += time.process_time() - learnt
        return found[self.seat]


def make_trial(case: Case, seat: int, seed: int) -> Trial | GravityTrial:
    """A new network for a seat of a row."""
    if "-gravity" in case.board:
        return GravityTrial(case.board, seat, case.goal, seed, prove_every=case.every)
    return Trial(case, seat, seed)


def learn(net: Net, lost: Any, games: tuple[int, int], scratch: Any) -> None:
    """Learn from games with a step size of 1 for all tuples together."""
    learn_batches(net, lost, 1.0 / net.network.offset.size, games, BATCH, *scratch)


@functools.cache
def network_of(board: str) -> Any:
    """The network of a board by default: made once for all seeds."""
    return make_pattern_config(board=board).network()


def first_proofs(case: Case, seed: int) -> Report:
    """Learn each seat until it is proved, or the time is up."""
    found: Report = {"games": 0, "learning": 0.0, "proving": 0.0, "positions": [], "proved": True}
    for seat in case.seats:
        trial = make_trial(case, seat, seed)
        while True:
            proof = trial.go_on()
            late = found["learning"] + found["proving"] + trial.learning + trial.proving > case.seconds
            if proof.status == "proved" or late:
                break
        found["games"] = max(found["games"], trial.games)
        found["learning"] += trial.learning
        found["proving"] += trial.proving
        found["positions"].append(proof.positions)
        found["proved"] &= proof.status == "proved" and not late
        if not found["proved"]:
            found["last"] = [proof.status, proof.positions, len(proof.lost)]
            break
    return found


def later_proofs(seed: int) -> float:
    """The share of snapshots of 5x5x5 that are proved in each seat after the first proof of it."""
    (case,) = (case for case in cases(0) if case.board == "5x5x5")
    held = 0
    for seat in case.seats:
        trial = Trial(case, seat, seed)
        while trial.go_on().status != "proved":
            pass
        held += sum(trial.go_on().status == "proved" for _ in range(LATER))
    return held / LATER / len(case.seats)


@kernel
def play_random(agent: NetAgent, lines: Lines, seat: int, key: Any, games: int, results: Any) -> None:
    """Play against random moves; count games won, drawn and lost in `results` (int64[3]), in place."""
    all_cells = (single(lines.cells - 1) << ONE) - ONE
    for game in range(games):
        reset(agent)
        first, second, result = NONE, NONE, 1
        for ply in range(lines.cells):
            mover = ply & 1
            own, other = (second, first) if mover else (first, second)
            view, cells = view_of(lines, own, other), all_cells & ~(own | other)
            if mover == seat:
                cells = tied_cells(agent, lines, own, other, view, ply)
            cell = nth_member(cells, below(draw(game_base(key, game), ply), popcount(cells)))
            if view.own & single(cell) != NONE:
                result = 0 if mover == seat else 2
                break
            mark_cell(agent, cell, mover)
            if mover:
                second |= single(cell)
            else:
                first |= single(cell)
        results[result] += 1


def against_random(seed: int, games: int = 20_000) -> list[list[float]]:
    """Shares won, drawn and lost on 5x5x5 in each seat, after learning the results of games with slips."""
    name = "5x5x5"
    board, network = parse_board(name), network_of(name)
    lines = make_lines(board)
    net = make_net(lines, network, Aim(BOTH, 0.0, 1.0, 0.0, PLAYED, 0.5, 0.0), seed)
    scratch = make_game(lines, network), make_errors(network, 1, BATCH)
    learn(net, np.zeros((0, board.cells), np.int8), (0, games), scratch)
    found = []
    for seat in (0, 1):
        results = np.zeros(3, np.int64)
        play_random(
            make_network_agent(network, net.weights), lines, seat, stream_key(seed, MATCH_STREAM), MATCH, results
        )
        found.append((results / MATCH).tolist())
    return found


def measure(seeds: int, long: float) -> Report:
    """Everything but the larger boards and those with gravity, row by row."""
    chosen = range(FIRST_SEED, FIRST_SEED + seeds)
    rows = measure_rows(cases(long), chosen)
    say("later snapshots, and matches, on 5x5x5")
    return {
        **environment_info(),
        "load": os.getloadavg()[0],
        "rows": rows,
        "later": [later_proofs(seed) for seed in chosen],
        "random": [against_random(seed) for seed in chosen],
    }


def measure_gravity(seeds: int, seconds: float) -> Report:
    """The boards with gravity.  seconds: most for a seed of any row, which has a limit of its own besides."""
    cases = [case._replace(seconds=min(case.seconds, seconds)) for case in gravity_cases()]
    rows = measure_rows(cases, range(FIRST_SEED, FIRST_SEED + seeds))
    return {**environment_info(), "load": os.getloadavg()[0], "rows": rows}


def measure_rows(chosen_cases: list[Case], chosen: range) -> list[Report]:
    """Rows of the first table.  chosen: seeds."""
    rows = []
    for case in chosen_cases:
        for seat in case.seats:
            warm = make_trial(case, seat, 0)
            warm.go_on()
        found = []
        for seed in chosen:
            found.append(first_proofs(case, seed))
            say(f"{case.text}, seed {seed}: {found[-1]}")
        shape = [int(warm.network.offset.size), int(warm.network.kind.size)]
        row = {"text": case.text, "cells": warm.board.cells, "bar": case.bar, "limit": case.seconds, "shape": shape}
        rows.append({**row, "seeds": found})
    return rows


def measure_larger(seconds: float) -> Report:
    """The larger boards, each in a process of its own, as many at once as there are processors."""
    chosen = larger_cases(seconds)
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        found = list(pool.map(first_proofs, chosen, [FIRST_SEED] * len(chosen)))
    rows = [{"text": case.text, **one} for case, one in zip(chosen, found, strict=True)]
    return {**environment_info(), "seconds": seconds, "rows": rows}


def summary(row: Report) -> list[object]:
    """A row of the first table."""
    seeds = row["seeds"]
    proved = [seed for seed in seeds if seed["proved"]]
    head = [row["text"], f"{row['shape'][1]:,}", f"{len(proved)} of {len(seeds)}"]
    if not proved:
        return [*head, "", "", ""]
    games = [seed["games"] for seed in proved]
    seconds = [seed["learning"] + seed["proving"] for seed in proved]
    return [
        *head,
        f"{short_number(statistics.median(games))} ({short_number(min(games))} to {short_number(max(games))})",
        f"{statistics.median(seconds):.2f} (to {max(seconds):.2f})",
        f"{statistics.median(seed['positions'][-1] for seed in proved):,.0f}",
    ]


def more(row: Report) -> list[object]:
    """A row of the second table."""
    proving = [seed["proving"] for seed in row["seeds"] if seed["proved"]]
    share = f"{statistics.median(proving):.2f}" if proving else ""
    return [row["text"], row["shape"][0], share, f"{row['limit']:g}", row["bar"]]


def beyond(row: Report) -> list[object]:
    """A row of the table of larger boards."""
    seconds = f"{row['learning'] + row['proving']:,.1f}"
    if row["proved"]:
        return [row["text"], "proved", short_number(row["games"]), seconds, f"{row['positions'][-1]:,}", ""]
    status, positions, lost = row["last"]
    return [row["text"], status, short_number(row["games"]), seconds, f"{positions:,}", lost]


def page(report: Report) -> str:
    """`data/proofs.md` of a report."""
    head = ["what", "weights", "proved", "games, median", "s, median", "positions"]
    won = np.median(np.array(report["random"]), axis=0)
    return fill(
        "proofs.md",
        machine=measured_on(report),
        load=f"{report['load']:.1f}",
        table=markdown_table(head, map(summary, report["rows"])),
        more=markdown_table(["what", "tuples", "of it proving, s", "limit, s", "asked"], map(more, report["rows"])),
        larger=markdown_table(
            ["what", "last proof", "games", "s", "its positions", "its lost games"],
            map(beyond, report["larger"]["rows"]),
        ),
        gravity=markdown_table(head, map(summary, report["gravity"]["rows"])),
        gravity_more=markdown_table(
            ["what", "tuples", "of it proving, s", "limit, s", "asked"], map(more, report["gravity"]["rows"])
        ),
        gravity_load=f"{report['gravity']['load']:.1f}",
        limit=f"{report['larger']['seconds']:g}",
        later=f"{100 * statistics.mean(report['later']):.1f} %",
        first=" / ".join(f"{share:.3f}" for share in won[0]),
        second=" / ".join(f"{share:.3f}" for share in won[1]),
    )


def draw_picture(report: Report, path: Path) -> None:
    """Games and seconds to the first proof over the cells of the board, a mark for each seed."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 4.8), layout="constrained")
    for axes, what in zip(figure.subplots(1, 2), ("games", "seconds"), strict=True):
        for number, row in enumerate(report["rows"]):
            proved = [seed for seed in row["seeds"] if seed["proved"]]
            heights = [s["games"] if what == "games" else s["learning"] + s["proving"] for s in proved]
            places = row["cells"] + np.linspace(-0.15, 0.15, len(proved)) + 0.4 * (number % 3 - 1)
            axes.plot(places, heights, "o", markersize=4, label=row["text"])
        axes.set(xlabel="cells of the board", ylabel=f"{what} to the first proof", yscale="log")
        axes.grid(True, which="major", alpha=0.3)
    figure.legend(*figure.axes[0].get_legend_handles_labels(), fontsize=8, loc="outside lower center", ncols=3)
    figure.savefig(path, dpi=120)


def main() -> None:
    """Measure, or take what was measured, and write what is wanted."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--long", type=float, default=300.0, metavar="SECONDS", help="limit of the hardest row")
    parser.add_argument("--larger", type=float, metavar="SECONDS", help=f"for each larger board; {LARGER:g} by default")
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--picture", type=Path, metavar="FILE", help="PNG or SVG; needs matplotlib")
    parser.add_argument("--gravity", type=int, metavar="SEEDS", help="for each board with gravity; 3 by default")
    parser.add_argument("--at-most", type=float, default=900.0, metavar="SECONDS", help="for a seed with gravity (900)")
    add_page_options(parser)
    options = parser.parse_args()
    if options.source is not None and (options.larger, options.gravity) != (None, None):
        report = read_report(options.source)
    elif write_from(options, page):
        return
    else:
        report = measure(options.seeds, options.long)
    if options.source is None or options.larger is not None:
        report["larger"] = measure_larger(LARGER if options.larger is None else options.larger)
    if options.source is None or options.gravity is not None:
        report["gravity"] = measure_gravity(3 if options.gravity is None else options.gravity, options.at_most)
    for row in report["rows"] + report["gravity"]["rows"]:
        print(*summary(row), sep=" | ")
    print("later snapshots proved:", report["later"], "against random play:", report["random"])
    for row in report["larger"]["rows"]:
        print(*beyond(row), sep=" | ")
    write_report(options, report, page, draw_picture)


if __name__ == "__main__":
    main()
