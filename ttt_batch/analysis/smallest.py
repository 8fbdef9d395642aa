"""Smallest proofs: how few positions an agent needs to know to reach its goal, with a proved lower bound."""

import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, TypedDict, Unpack

import numpy as np
from numpy.typing import NDArray

from ttt_batch.agents.base import as_cells
from ttt_batch.agents.builtin import table_player
from ttt_batch.analysis.judge import certificate_files, run_facts
from ttt_batch.core.errors import UsageError, flag
from ttt_batch.core.results import Printable, progress_callback, stop_callback
from ttt_batch.core.text import (
    IMAGES,
    SEATS,
    WEIGHTS,
    Number,
    check_switches,
    choose,
    choose_seat,
    given_options,
    parse_seconds,
    with_options,
)
from ttt_batch.evaluation.certificates import Certificate, ClosureLayer, certify_moves, tied_in, write_certificate
from ttt_batch.evaluation.decisions import LIST_ALL, Decisions, distinct_moves, list_decisions
from ttt_batch.evaluation.integer_program import check_scipy
from ttt_batch.evaluation.prover import CANNOT_LOSE, GOALS, Goal
from ttt_batch.evaluation.smallest import Found, Smallest, count_choices, deepest, shallow_decisions
from ttt_batch.games.board import Board, parse_board
from ttt_batch.runs.importing import run_of_moves
from ttt_batch.runs.loading import AnyRun, load_any
from ttt_batch.runs.lookup import find_run
from ttt_batch.runs.run import Run

MOST_SECONDS = 1e7
"""Longest time limit: 115 days."""

COUNTED_CELLS = 9
"""Number of cells of the largest board whose smallest players are counted."""


@dataclass(frozen=True)
class SmallestProof(Printable):
    """Smallest certificate found.

    seat: `first` or `second`.  images: `merge` or `separate`.  weigh: what was made smallest, see `smallest_proof`.
    harmless: whether positions are listed in which no line can beat the agent any more.
    positions: number listed.  depth: the most of them in one game.  cost: positions, with `beads` matchboxes.
    bound: proved lower bound of the cost, with `depth` among the players of this depth, which no player undercuts.
    candidates: number of positions to choose from.
    players: number of players of this cost that differ in a move, or None if they were not counted.
    certificate: the moves, without positions in which no line can beat the agent.
    """

    board: Board
    seat: str
    goal: Goal
    images: str
    weigh: str
    harmless: bool
    positions: int
    depth: int
    cost: int
    bound: int
    candidates: int
    players: int | None
    certificate: Certificate
    seconds: float = field(compare=False)

    rows: ClassVar[tuple[str, str]] = ("moves", "position")

    @property
    def minimal(self) -> bool:
        """Return whether no certificate has a lower cost."""
        return self.cost == self.bound

    def to_dict(self) -> dict[str, Any]:
        """Return plain values with stable keys, as `--json` prints them."""
        listed = self.certificate
        names = ["seat", "goal", "images", "weigh", "harmless", "positions", "depth", "cost", "bound", "minimal"]
        names += ["candidates", "players", "seconds"]
        moves = zip(listed.first.tolist(), listed.second.tolist(), listed.move.tolist(), strict=True)
        return {
            "board": self.board.name,
            **{name: getattr(self, name) for name in names},
            "moves": [
                {"position": self.board.format_position(self.board.position_of(first, second)), "cell": cell}
                for first, second, cell in moves
            ],
        }

    def to_run(self) -> Run:
        """Return a run of `q-learning` that plays these moves, and anything where a move is not listed.

        Raises BoardError for a board that is too large to enumerate.
        """
        return run_of_moves(self.certificate)


class SmallestOptions(TypedDict, total=False):
    """Options of `smallest_proof`: what is proved, and what is smallest."""

    seat: str
    goal: str
    images: str
    weigh: str
    harmless: bool
    within: AnyRun | str | Path | Sequence[AnyRun | str | Path] | None
    time_limit: Number | None
    count: bool


SmallestProgress = Callable[[int, int], None] | bool | None
"""Callback that receives the cost and the bound, or True for a line on a terminal."""


DEFAULTS = SmallestOptions(seat="first", goal=CANNOT_LOSE, images="merge", weigh="positions", harmless=False)
DEFAULTS |= SmallestOptions(within=(), time_limit=600, count=False)


@with_options(SmallestOptions, DEFAULTS)
def smallest_proof(
    board: Board | str | None = None,
    *,
    certificate: str | Path | None = None,
    overwrite: bool = False,
    progress: SmallestProgress = None,
    stop: Callable[[], bool] | None = None,
    **options: Unpack[SmallestOptions],
) -> SmallestProof:
    """Find the certificate with the fewest positions, and prove how few are possible; needs SciPy.

    board: 3x3 by default, or that of `within`.  seat: `first` or `second`.  goal: `cannot-lose` or `always-wins`.
    images: `merge` lets a position stand for its images under the board's symmetries; `separate` does not.
    weigh: `positions`; `depth`, first the most moves to remember in one game, then positions; or `beads`, the
    matchboxes that MENACE needs, which has none where one cell is free.
    harmless: list positions in which no line can beat the agent any more, too.
    within: a run or its file, or several of one board; use only moves that one of them may play.  Images are merged
    only if each shares them itself.
    time_limit: seconds, or text such as `10min`, the default.  Afterwards the best certificate so far is the result.
    If the time ends while a large board's positions are listed, there is no result.
    count: count the players with the lowest cost, on boards of up to 9 cells.
    certificate: an `.npz` to write.  progress: see `SmallestProgress`.  stop: called as often, about ten times a
    second; once it returns True, the search ends.
    Raises BoardError for a board with too many positions, UsageError, also if no player can reach the goal or the
    time ends while positions are listed, CertificateError and RunFileError.
    """
    began, asked = time.perf_counter(), given_options(smallest_proof, options)
    given: Any = DEFAULTS | asked
    seat, goal = choose_seat(given["seat"]), choose("goal", given["goal"], GOALS)
    weigh, merged = choose("weigh", given["weigh"], WEIGHTS), choose("images", given["images"], IMAGES) == "merge"
    harmless, count, within = given["harmless"], given["count"], given["within"]
    check_switches(harmless=harmless, count=count)
    seconds = parse_seconds(flag("time_limit"), given["time_limit"], MOST_SECONDS)
    halted = stop_callback(stop)
    named = [*within] if isinstance(within, Iterable) and not isinstance(within, str | bytes) else [within]
    sources = [find_run(one) for one in named if not isinstance(one, AnyRun)]
    runs = [one if isinstance(one, AnyRun) else load_any(find_run(one)) for one in named]
    files = certificate_files(certificate, (seat,), sources, overwrite=overwrite)
    if asked.get("images") == "merge" and not all(run.symmetric for run in runs):
        raise UsageError(
            f"{flag('images', 'merge')} needs runs that share images; train with {flag('symmetry', 'on')}, or choose "
            "separate"
        )
    check_scipy()
    aim = _Aim(_board_of(board, runs), seat, GOALS[GOALS.index(goal)], merged, harmless, runs)
    with progress_callback(progress, "shrinking") as report:

        def follow(found: Found) -> bool:
            if report is not None:
                report(found.size, found.bound)
            return halted()

        search = aim.search(weigh, began + seconds)
        search.run(seconds - (time.perf_counter() - began), follow)
    found, players = search.found, None
    if count and search.minimal and weigh == "positions" and aim.board.cells <= COUNTED_CELLS:
        players = count_choices(
            distinct_moves(aim.decisions(dominated=True), aim.board, symmetric=aim.merged), found.size
        )
    listed = aim.certify(search, {"smallest": weigh, "bound": found.bound})
    for file in files.values():
        write_certificate(listed, file, overwrite=overwrite)
    return SmallestProof(
        board=aim.board,
        seat=seat,
        goal=aim.goal,
        images="merge" if aim.merged else "separate",
        weigh=weigh,
        harmless=harmless,
        positions=int((found.move >= 0).sum()),
        depth=deepest(search.decisions, found.move),
        cost=found.size,
        bound=found.bound,
        candidates=search.decisions.first.size,
        players=players,
        certificate=listed,
        seconds=time.perf_counter() - began,
    )


def _board_of(board: Board | str | None, runs: Sequence[AnyRun]) -> Board:
    """Return the board to prove on.  Raises UsageError if a run plays another one."""
    whose = runs[0].board if runs and board is None else parse_board("3x3" if board is None else board)
    for run in runs:
        if run.board != whose:
            raise UsageError(f"a run plays {run.board.name}, not {whose.name}; name runs of one board")
    return whose


class _Aim:
    """Player that is wanted, and the moves that it may choose among; parameters as for `smallest_proof`."""

    def __init__(
        self, board: Board, seat: str, goal: Goal, merged: bool, harmless: bool, within: Sequence[AnyRun]
    ) -> None:
        self.board, self.seat, self.goal, self.within = board, seat, goal, within
        self.merged = merged and all(run.symmetric for run in within)
        self._listed = LIST_ALL if harmless and goal == CANNOT_LOSE else GOALS.index(goal)

    def decisions(self, *, dominated: bool = False, until: float = math.inf) -> Decisions:
        """Return the decisions; dominated, until: see `list_decisions`.  Raises UsageError if none reach the goal."""
        number, allowed, players = SEATS.index(self.seat), None, [table_player(run) for run in self.within]
        if players:

            def allowed(layer: ClosureLayer) -> NDArray[np.uint64]:
                cells = np.zeros(layer.first.size, np.uint64)
                for player in players:
                    cells |= tied_in(player, self.board, layer)
                return cells

        how: dict[str, Any] = {"symmetric": self.merged, "allowed": allowed, "until": until}
        found = list_decisions(self.board, number, self._listed, dominated=dominated, **how)
        if found is not None:
            return found
        whose = f" with moves of {' and '.join(run.config.learner for run in self.within)}" if players else ""
        who = f"{self.board.name}: the {self.seat} player{whose}"
        if self.goal == CANNOT_LOSE:
            raise UsageError(f"{who} cannot avoid every loss; choose the other seat{' or another run' * bool(whose)}")
        draw = list_decisions(self.board, number, GOALS.index(CANNOT_LOSE), **how)
        why = "the game is lost" if draw is None else "the game is a draw"
        raise UsageError(f"{who} cannot always win: {why}; give {flag('goal', CANNOT_LOSE)} or another board")

    def search(self, weigh: str, until: float) -> Smallest:
        """Return the search for what `weigh` asks for; until: see `list_decisions`."""
        decisions = self.decisions(until=until)
        if weigh == "depth":
            return Smallest(shallow_decisions(decisions))
        if weigh == "beads":
            free = ~as_cells(decisions.first | decisions.second, self.board.cells)
            return Smallest(decisions, (self.board.open_among(free).sum(1) > 1).astype(np.int64))
        return Smallest(decisions)

    def certify(self, search: Smallest, source: dict[str, Any]) -> Certificate:
        """Return the certificate of what was found, which it checks."""
        decisions, move = search.decisions, search.found.move
        at = np.flatnonzero(move >= 0)
        pairs = zip(decisions.first[at].tolist(), decisions.second[at].tolist(), strict=True)
        cell = dict(zip(pairs, decisions.cell[move[at]].tolist(), strict=True))

        def choose_listed(layer: ClosureLayer) -> NDArray[np.uint8]:
            pairs = zip(layer.first.tolist(), layer.second.tolist(), strict=True)
            return np.array([cell[pair] for pair in pairs], np.uint8)

        facts = [run_facts(run) for run in self.within]
        about = source | (facts[0] if len(facts) == 1 else {"runs": facts} if facts else {})
        number = SEATS.index(self.seat)
        return certify_moves(choose_listed, self.board, number, self.goal, symmetric=self.merged, source=about)
