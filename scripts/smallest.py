"""Measure how few positions a player needs to know: smallest certificates of many boards, and their lower bounds.

    python scripts/smallest.py [--seconds 60] [--only NAME] [--json FILE] [--page FILE] [--from JSON]

`--seconds` is the time limit of each search; large boards have ten times as long.  `--only` measures the cases whose
name contains a text, and keeps the others of `--json`.  `--page` writes `data/smallest.md`, whose text is
`scripts/pages/smallest.md`.
"""

import argparse
import functools
import json
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from check_certificate import Checker, read
from page_writer import add_page_options, fill, markdown_table, measured_on, say, write_from, write_json, write_page

import ttt_batch as ttt
from ttt_batch.analysis.warmup import environment_info
from ttt_batch.evaluation.certificates import write_certificate
from ttt_batch.evaluation.decisions import LIST_ALL, list_decisions
from ttt_batch.evaluation.prover import DOES
from ttt_batch.evaluation.smallest import Smallest
from ttt_batch.games.board import Board, Position
from ttt_batch.games.enumeration import enumerate_graph
from ttt_batch.games.solution import solve


class Case(NamedTuple):
    """Something to make smallest: a board, options of `smallest_proof`, and options of `train` for `within`.

    large: it gets ten times as long.  runs: number of runs for `within`, by seed.
    """

    board: str
    options: dict[str, Any]
    within: dict[str, Any] | None = None
    large: bool = False
    runs: int = 1

    @property
    def name(self) -> str:
        """Return its name in the report."""
        words = [self.board, *(str(value) if value is not True else name for name, value in self.options.items())]
        return " ".join([*words, *([f"within {self.runs} {self.within['learner']}"] if self.within else [])])


WINS = {"goal": "always-wins"}

CASES = [
    *(
        Case("3x3", {"seat": seat, "images": images, "harmless": harmless})
        for seat in ("first", "second")
        for images in ("merge", "separate")
        for harmless in (False, True)
    ),
    *(Case("3x3", {"seat": seat, "weigh": weigh}) for seat in ("first", "second") for weigh in ("depth", "beads")),
    *(Case("3x3-misere", {"seat": seat}) for seat in ("first", "second")),
    *(Case(board, WINS) for board in ("3x4x3", "4x3x3", "4x4x3", "3x5x3")),
    *(Case(board, {"seat": seat}, large=True) for board in ("4x4x4-gravity", "4x4x4") for seat in ("first", "second")),
    *(Case("3x3", {"seat": seat}, {"learner": "td", "games": 1_000_000}) for seat in ("first", "second")),
    Case("5x5x5", {}, {"learner": "patterns"}, large=True),
    Case("4x5x4", {}, {"learner": "patterns"}, large=True),
    Case("6x5x4", WINS, {"learner": "patterns", "seat": "first", "objective": "win"}, large=True),
    Case("6x5x4", WINS, {"learner": "patterns", "seat": "first", "objective": "win"}, large=True, runs=4),
]


def measure(case: Case, seconds: float) -> dict[str, Any]:
    """Return the result of a case, after the independent checker has accepted its certificate."""
    runs = []
    if case.within is not None:
        runs = [ttt.train(board=case.board, threads=1, seed=seed, **case.within) for seed in range(case.runs)]
    limit = 10 * seconds if case.large else seconds
    found = ttt.smallest_proof(case.board, within=runs, time_limit=limit, **case.options)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "proof.npz"
        write_certificate(found.certificate, file)
        Checker(read(file)).check()
    result = {name: value for name, value in found.to_dict().items() if name not in ("moves", "players")}
    if runs:
        seat = case.options.get("seat", "first")
        with tempfile.TemporaryDirectory() as folder:
            proof = ttt.prove(runs[0], seat=seat, goal=result["goal"], certificate=Path(folder) / "run.npz")
        result |= {"learner": runs[0].config.learner, "games": runs[0].games, "runs": len(runs)}
        result["listed_by_run"] = proof.to_dict()["certificate_positions"].get(seat)
    return result | {"limit": limit}


@functools.cache
def rows_of_3x3() -> tuple[Any, Any, dict[int, int]]:
    """Return the graph of 3x3, the solution of each row, and the row of each code."""
    graph = enumerate_graph(Board(), False, False)
    return graph, solve(graph), {code: row for row, code in enumerate(graph.code.tolist())}


def keeping_wins(layer: Any) -> Any:
    """Return the moves that keep the value of each position of a layer of 3x3, as sets of cells (uint64[n])."""
    board, found = Board(), []
    graph, solution, rows = rows_of_3x3()
    for first, second in zip(layer.first.tolist(), layer.second.tolist(), strict=True):
        row = rows[board.encode(board.position_of(first, second))]
        edges = slice(*graph.first_edge[row : row + 2])
        good = graph.cell[edges][solution[graph.child[edges]] == solution[row]]
        found.append(sum(1 << int(cell) for cell in good))
    return np.array(found, np.uint64)


def published(seconds: float) -> list[dict[str, Any]]:
    """Return the sizes on 3x3 by the definition of a published result: no move gives a win away, images merged.

    That result counts the full boards, too, that the opponent's last mark completes.
    """
    found = []
    for number, seat in enumerate(("first", "second")):
        decisions = list_decisions(Board(), number, LIST_ALL, allowed=keeping_wins, dominated=True)
        assert decisions is not None
        for what, some in (("positions", decisions), ("positions and full boards", with_full_boards(decisions))):
            search = Smallest(some)
            search.run(seconds, lambda _: False)
            found.append({"seat": seat, "counted": what, "size": search.found.size, "bound": search.found.bound})
    return found


def with_full_boards(decisions: Any) -> Any:
    """Return decisions of 3x3 in which a move needs the full board, too, that the only reply to it completes."""
    board, full = Board(), dict[Position, int]()
    needs, n = [], decisions.first.size
    owner = np.arange(n).repeat(np.diff(decisions.first_move))
    for move, position in enumerate(owner.tolist()):
        need = decisions.need[decisions.first_need[move] : decisions.first_need[move + 1]].tolist()
        marks = board.position_of(decisions.first[position], decisions.second[position])
        after = board.after(marks, int(decisions.cell[move]))
        free = board.open_cells(after)
        if len(free) == 1 and board.outcome(after) == 0:
            last = board.representative(board.after(after, free[0]))[0]
            need = [n + full.setdefault(last, len(full))]
        needs.append(need)
    needs += [[] for _ in full]
    ends = np.cumsum([0, *map(len, needs)])
    return decisions._replace(
        first=np.concatenate([decisions.first, np.zeros(len(full), np.uint64)]),
        second=np.concatenate([decisions.second, np.zeros(len(full), np.uint64)]),
        ply=np.concatenate([decisions.ply, np.full(len(full), board.cells, np.int8)]),
        first_move=np.concatenate([decisions.first_move, decisions.first_move[-1] + 1 + np.arange(len(full))]),
        cell=np.concatenate([decisions.cell, np.zeros(len(full), np.uint8)]),
        first_need=ends,
        need=np.array([one for need in needs for one in need], np.int64),
    )


def size_rows(results: dict[str, Any]) -> Iterator[list[str]]:
    """Yield a row for each result without a learner."""
    for result in results.values():
        if "learner" in result:
            continue
        what = {"positions": "", "depth": f"; {result['depth']} a game", "beads": f"; {result['cost']} matchboxes"}
        size = f"**{result['positions']:,}**{what[result['weigh']]}"
        yield [
            result["board"],
            f"{result['seat']} {DOES[result['goal']]}",
            "merged" if result["images"] == "merge" else "separate",
            "listed" if result["harmless"] else "left out",
            size,
            "minimal" if result["minimal"] else f"at least {result['bound']:,}",
            f"{result['candidates']:,}",
            f"{result['seconds']:.1f}",
        ]


def learnt_rows(results: dict[str, Any]) -> Iterator[list[str]]:
    """Yield a row for each result of a learnt player."""
    of_runs = "", ", moves of several runs"
    for result in results.values():
        if "learner" in result:
            listed = result["listed_by_run"]
            yield [
                result["board"],
                f"{result['learner']}, {result['seat']} {DOES[result['goal']]}{of_runs[result['runs'] > 1]}",
                "-" if listed is None else f"{listed:,}",
                f"**{result['positions']:,}**",
                "minimal" if result["minimal"] else f"at least {result['bound']:,}",
                f"{result['candidates']:,}",
                f"{result['seconds']:.1f}",
            ]


def page(report: dict[str, Any]) -> str:
    """Return the page `data/smallest.md`."""
    sizes = ["board", "player", "images", "harmless", "positions", "proved", "chosen among", "s"]
    learnt = ["board", "player", "its own certificate", "smallest", "proved", "chosen among", "s"]
    known = [
        [one["seat"], one["counted"], f"{one['size']}", "minimal" if one["size"] == one["bound"] else one["bound"]]
        for one in report["published"]
    ]
    return fill(
        "smallest.md",
        machine=measured_on(report),
        sizes=markdown_table(sizes, size_rows(report["results"])),
        learnt=markdown_table(learnt, learnt_rows(report["results"])),
        published=markdown_table(["seat", "counted", "smallest", "proved"], known),
    )


def parser() -> argparse.ArgumentParser:
    """Return the parser of the script's options."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--seconds", type=float, default=60, help="time limit of a search")
    options.add_argument("--only", default="", metavar="NAME", help="measure the cases whose name contains this")
    options.add_argument("--json", type=Path, metavar="FILE", help="write what was measured, after each case")
    add_page_options(options)
    return options


def main() -> None:
    """Measure all cases, or write the page of what an earlier run measured."""
    options = parser().parse_args()
    if write_from(options, page):
        return
    report: dict[str, Any] = {**environment_info(), "results": {}}
    if options.only and options.json is not None and options.json.exists():
        report |= {"results": json.loads(options.json.read_text(encoding="utf-8"))["results"]}
    report["published"] = published(options.seconds)
    for case in CASES:
        if options.only in case.name:
            began = time.perf_counter()
            result = report["results"][case.name] = measure(case, options.seconds)
            seconds = time.perf_counter() - began
            say(f"{case.name}: {result['positions']:,}, at least {result['bound']:,}; {seconds:.0f} s")
            if options.json is not None:
                write_json(options.json, report)
    write_page(options, page(report))


if __name__ == "__main__":
    main()
