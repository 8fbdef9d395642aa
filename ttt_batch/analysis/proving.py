"""Proofs that a run's agent cannot lose or always wins, with tables or networks, and certificates of them.

The search is exact if it exhausts the game tree, on boards of any size.  `evaluation.search` has the search for any
agent; this module registers the kernels that play a learner's tables.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ttt_batch.agents.builtin import TablePlayer, agent_cells, make_table_agent, seat_number, table_player
from ttt_batch.compiler.jit import Int64, Int64Array
from ttt_batch.core.errors import CertificateError, UsageError, flag
from ttt_batch.core.outputs import check_distinct, named_file
from ttt_batch.core.resources import free_memory, thread_count
from ttt_batch.core.results import Printable, progress_callback
from ttt_batch.core.text import SEATS, Number, Ties, choose, choose_seat, parse_int
from ttt_batch.evaluation.certificates import (
    Certificate,
    certify,
    check_holds,
    check_match,
    check_name,
    check_path,
    goal_of_certificate,
    load_certificate,
    write_certificate,
)
from ttt_batch.evaluation.prover import (
    ALWAYS_WINS,
    BUDGET,
    CANNOT_LOSE,
    GOALS,
    Goal,
    Proof,
    Prover,
    Status,
    prove_agent,
)
from ttt_batch.evaluation.search import copy_for_thread, mark_cell, reset, tied_cells, unmark_cell
from ttt_batch.games.bitboards import Lines, LineView
from ttt_batch.games.board import Board
from ttt_batch.ntuple.network import NetAgent
from ttt_batch.runs.loading import AnyRun, load_any
from ttt_batch.runs.lookup import find_run
from ttt_batch.runs.network_run import PatternRun
from ttt_batch.runs.run import Run
from ttt_batch.runs.state import table_digest

SEARCH_BUDGET = 2_000_000
"""Default limit of the positions that a search enters: some seconds and 32 MB."""

MAX_SEARCH_BUDGET = 500_000_000

LEAST_MEMORY = 1 << 20
"""Least bytes for the positions of a search: it lists more positions than it enters, even with a tiny budget."""


class TableAgent(NamedTuple):
    """Agent with tables, and the code of its current position: int64[1], modified in place."""

    agent: TablePlayer
    code: Int64Array


@reset.register(TableAgent)
def _reset(table: TableAgent) -> None:
    table.code[0] = 0


@mark_cell.register(TableAgent)
def _mark(table: TableAgent, cell: Int64, player: Int64) -> None:
    table.code[0] += (1 + player) * table.agent.growth.places.power[cell, 0]


@unmark_cell.register(TableAgent)
def _unmark(table: TableAgent, cell: Int64, player: Int64) -> None:
    table.code[0] -= (1 + player) * table.agent.growth.places.power[cell, 0]


@tied_cells.register(TableAgent)
def _picks(
    table: TableAgent, _lines: Lines, _own: np.uint64, _other: np.uint64, _view: LineView, ply: Int64
) -> np.uint64:
    return np.uint64(agent_cells(table.agent, table.code[0], ply))


@copy_for_thread.register(TableAgent)
def _spare(table: TableAgent) -> TableAgent:
    """Return a full copy: positions without a row of their own use one of the tables' rows as scratch."""
    return _copied(table)  # type: ignore[no-any-return]


def _copied(part: Any) -> Any:
    """Return a deep copy of a NamedTuple of arrays."""
    if isinstance(part, tuple):
        return type(part)(*map(_copied, part))
    return part.copy() if isinstance(part, np.ndarray) else part


@dataclass(frozen=True)
class SearchResult:
    """Result of a search for an agent in one seat.

    status: `proved` (no opponent and no tie-break beats it), `refuted`, or `undecided` within the budget.
    positions: number of entered positions.  line: if refuted, the cells of a game that the agent can lose; else None.
    """

    status: Status
    positions: int
    line: list[int] | None

    @property
    def unbeatable(self) -> bool | None:
        """Return whether the agent is unbeatable in this seat; None if undecided."""
        return None if self.status == "undecided" else self.status == "proved"


def search(
    run: Run, seat: str, *, budget: Number = SEARCH_BUDGET, ties: Ties = "any", agent: TablePlayer | None = None
) -> SearchResult:
    """Search for a game that a run's agent can lose in a seat, `first` or `second`.

    budget: most positions to enter, 1 to 500,000,000; each takes up to 32 bytes.
    ties: as for `Run.candidates`.  agent: result of `make_table_agent` for the run and these ties, if available.
    Raises UsageError.  The run does not change.
    """
    budget, number = parse_int("budget", budget, 1, MAX_SEARCH_BUDGET), seat_number(seat)
    size = 8 << (2 * budget).bit_length()
    if size > free_memory():
        raise UsageError(
            f"budget {budget:,} takes {size / 1e9:.1f} GB of memory, {free_memory() / 1e9:.1f} GB are free; "
            "give a smaller one"
        )
    table = TableAgent(agent or make_table_agent(run, ties), np.zeros(1, np.int64))
    proof = prove_agent(
        table,
        run.board,
        number,
        memory=max(2 * size, LEAST_MEMORY),
        budget=budget,
        symmetric=run.config.symmetry,
        occupied=run.learner.occupied,
    )
    return SearchResult(proof.status, proof.positions, proof.line)


MAX_BUDGET = 10**12


@dataclass(frozen=True)
class Proofs(Printable):
    """Results of the proofs of a run.

    goal: `cannot-lose` or `always-wins`.  ties: the rule of play, see `ties`.
    found: proofs by seat.  certificates: by seat, the file and the number of positions that it lists.
    """

    goal: Goal
    ties: Ties
    found: dict[str, Proof]
    certificates: dict[str, tuple[Path, int]]
    run: AnyRun = field(repr=False, compare=False)

    @property
    def board(self) -> Board:
        """Return the run's board."""
        return self.run.board

    @property
    def proved(self) -> bool:
        """Return whether the agent provably reaches its goal in every seat."""
        return all(proof.status == "proved" for proof in self.found.values())

    def to_dict(self) -> dict[str, Any]:
        """Return plain values with stable keys, as `--json` prints them."""
        return {
            "goal": self.goal,
            "ties": self.ties,
            "verdict": {seat: proof.status for seat, proof in self.found.items()},
            "positions": {seat: proof.positions for seat, proof in self.found.items()},
            "losing_line": {seat: proof.line for seat, proof in self.found.items()},
            "seconds": {seat: proof.seconds for seat, proof in self.found.items()},
            "certificate": {seat: str(path) for seat, (path, _) in self.certificates.items()},
            "certificate_positions": {seat: size for seat, (_, size) in self.certificates.items()},
        }

    def records(self) -> tuple[list[dict[str, Any]], str]:
        """Return a row for each seat."""
        rows = [
            {"seat": seat, "verdict": proof.status, "positions": proof.positions, "losing_line": proof.line}
            for seat, proof in self.found.items()
        ]
        return rows, "seat"


def prove(
    run: AnyRun | str | Path,
    *,
    seat: str | None = None,
    goal: str | None = None,
    budget: Number = BUDGET,
    ties: Ties = "any",
    threads: Number | None = None,
    certificate: str | Path | None = None,
    overwrite: bool = False,
    trust: bool = False,
    progress: Callable[[int, int], None] | bool | None = None,
    stop: Callable[[], bool] | None = None,
) -> Proofs:
    """Prove that a run's agent reaches its goal against every opponent, or find a game in which it misses it.

    run: a run or the name of its file.
    seat: `first`, `second` or `both`.  goal: `cannot-lose` or `always-wins`.  By default networks take the seat and
    goal of their training, and tables take `both` and `cannot-lose`.
    budget: most positions to enter in each seat.  ties: as for `Run.candidates`.  threads: None for all processors.
    certificate: an `.npz` to write if a seat is proved; with two seats `-first` and `-second` are added to its name.
    trust: read a file that another program has changed.
    progress: True for a line on standard error, or a function as for `Prover.prove`.  stop: as there.
    Raises RunFileError, CertificateError if a certificate cannot be written, and UsageError, also if a certificate
    would replace the run.
    """
    source = None
    if not isinstance(run, Run | PatternRun):
        source = find_run(run)
        run = load_any(source, trust=trust)
    wanted, aim = _seats(run, seat), _goal(run, goal)
    most, at_once = parse_int("budget", budget, 1, MAX_BUDGET), thread_count(threads)
    files = _files(certificate, wanted, source, overwrite=overwrite)
    agent = table_player(run, ties)
    player: Any = agent if isinstance(agent, NetAgent) else TableAgent(agent, np.zeros(1, np.int64))
    prover, found, written = Prover(run.board), dict[str, Proof](), dict[str, tuple[Path, int]]()
    how = {"symmetric": _merges_images(run), "occupied": isinstance(run, Run) and run.learner.occupied}
    for name in wanted:
        number = SEATS.index(name)
        with progress_callback(progress, "proving") as follow:
            found[name] = prover.prove(
                player, number, aim, budget=most, threads=at_once, progress=follow, stop=stop, **how
            )
        if found[name].status == "proved" and name in files:
            listed = _certificate(run, player, number, aim)
            write_certificate(listed, files[name], overwrite=overwrite)
            written[name] = files[name], int(listed.move.size)
    return Proofs(aim, ties, found, written, run)


def _seats(run: AnyRun, seat: str | None) -> tuple[str, ...]:
    if seat is None:
        seat = "both" if isinstance(run, Run) else run.config.seat
    seat = choose_seat(seat, "both")
    return SEATS if seat == "both" else (seat,)


def _goal(run: AnyRun, goal: str | None) -> Goal:
    if goal is None:
        return CANNOT_LOSE if isinstance(run, Run) or not run.config.always_wins else ALWAYS_WINS
    return GOALS[GOALS.index(choose("goal", goal, GOALS))]


def _merges_images(run: AnyRun) -> bool:
    """Return whether the agent makes the same moves in all images of a position."""
    return run.config.symmetry if isinstance(run, Run) else run.config.sharing != "none"


def _files(
    given: str | Path | None, seats: tuple[str, ...], source: Path | None, *, overwrite: bool
) -> dict[str, Path]:
    """Return the certificate file of each seat, checked before the proof begins.  source: the run's file, if any."""
    if given is None:
        return {}
    path = named_file("certificate", given)
    check_name(path)
    files = {seat: path if len(seats) == 1 else path.with_name(f"{path.stem}-{seat}{path.suffix}") for seat in seats}
    check_distinct(
        [(flag("certificate"), file) for file in files.values()], [] if source is None else [("run", source)]
    )
    for file in files.values():
        check_path(file, overwrite=overwrite)
    return files


def check_certificate(path: Path, run: AnyRun | None) -> tuple[str, list[str]]:
    """Return a certificate's claim and a list of its errors, at most one.

    run: the run that it must belong to, if given.  The claim is empty if the file cannot be read as a certificate.
    """
    claim = ""
    try:
        certificate = load_certificate(path)
        claim = goal_of_certificate(certificate)
        check_holds(certificate, path)
        if run is not None:
            check_match(certificate, run.board, _source(run))
    except CertificateError as error:
        return claim, [str(error)]
    return claim, []


def _certificate(run: AnyRun, player: Any, seat: int, goal: Goal) -> Certificate:
    return certify(player, run.board, seat, goal, symmetric=_merges_images(run), source=_source(run))


def _source(run: AnyRun) -> dict[str, Any]:
    """Return the facts by which a certificate identifies its run."""
    arrays = run.tables if isinstance(run, Run) else run.agent.weights
    return {
        "learner": run.config.learner,
        "board": run.board.name,
        "games": run.games,
        "seed": run.config.seed,
        "digest": table_digest(arrays),
    }
