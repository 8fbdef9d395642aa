"""Base classes of runs: solver access, equality, saving, frames and figures."""

import functools
from abc import abstractmethod
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ttt_batch.core.errors import BoardError, UsageError, flag, quoted
from ttt_batch.core.hooks import call_hook
from ttt_batch.core.outputs import Lock, named_file
from ttt_batch.core.results import make_frame, point_records
from ttt_batch.core.text import SEATS, Ties, check_ties, count_text
from ttt_batch.games.board import EMPTY, FIRST, FIRST_WINS, MAX_TABLE_CELLS, SECOND_WINS, UNFINISHED, Board, Position
from ttt_batch.games.enumeration import Space, check_enumerable, choose_space, enumerate_graph, too_large
from ttt_batch.games.graph import Graph, row_of
from ttt_batch.games.gravity_solver import LIMIT, can_solve, searched_moves
from ttt_batch.games.notation import lettered, read_position
from ttt_batch.games.solution import QUICKEST, SolvedResult, best_of, solve_in_plies, solved_result
from ttt_batch.learners.base import Learner
from ttt_batch.runs.state import KeptPoints
from ttt_batch.runs.storage.declaration import FORMAT, RunData
from ttt_batch.runs.storage.run_file import RUN_FILE, save_run

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

    from ttt_batch.runs.growing_table import GrowingTable

MOST_TEXT = 10_000
"""Characters stored of a text such as the command: a very long one must not make saving fail."""

OF_SEATS = "unbeatable", "worst", "value_error", "versus_random", "optimal_share", "best_response"
"""Statistics with an axis for the seats."""

OF_BOTH = "self_play"
"""The statistic that needs both seats."""


def played(name: str, array: NDArray[Any], own: NDArray[np.bool_], blank: float) -> NDArray[Any]:
    """Return a statistic [n, ..., points, (seats, ...)] with `blank` in seats that are not played.

    own: bool[n, seats], the seats that are played.
    """
    if name == OF_BOTH:
        kept = own.all(axis=1).reshape(-1, *(1,) * (array.ndim - 1))
    elif name in OF_SEATS:
        ends = 1 if name == "versus_random" else 0
        kept = own.reshape(len(own), *(1,) * (array.ndim - 2 - ends), 2, *(1,) * ends)
    else:
        return array
    return np.where(kept, array, blank)


class SolverAccess:
    """Board with the results of best play.

    On a board too large to enumerate final positions have one, and with gravity those that a search soon solves.

    Agents without a table, such as networks and third-party agents, use the positions that tables of the board have.

    own_ties: True for a player that breaks ties by its own rule, so that ties make no difference.
    generalises: True if the agent has values for all positions, not only those in a table.
    outside: True if the agent is not a run: it has no values, and its moves are asked for.
    learner: the learner of its table; None for agents without one.
    seats: in which it can play.  winning_seats: in which it was trained to always win, as only networks are.
    resigns: True if it may resign, as a learner with boxes does when a box is empty.
    by_beads: True if it draws its moves by beads from boxes.  occupied: True if it may choose occupied cells, and lose.
    gives: the kind of `move_values`: `value`, or `chance` for the probability of each move.
    sharpens: True if it can play by ties `sharp`, as tables of enumerated boards can.
    """

    board: Board
    own_ties: ClassVar[bool]
    learner: Learner | None = None
    generalises: ClassVar[bool] = False
    outside: ClassVar[bool] = False
    seats: tuple[str, ...] = SEATS
    winning_seats: tuple[str, ...] = ()
    resigns = by_beads = occupied = sharpens = False
    gives = "value"

    @property
    def exact(self) -> bool:
        """Return whether an evaluation of the agent is exact: it has moves for all positions of an enumerated board."""
        return self.enumerated and not self.generalises

    def drawn_shares(self, position: str | int | Position) -> dict[int, float] | None:
        """Return the probability of each cell if the agent always draws from them; None for other agents."""
        return None

    def sharp_cells(self, position: Position) -> list[int]:
        """Return the cells that the agent may pick with ties `sharp`, if it can play by them."""
        raise NotImplementedError

    @abstractmethod
    def candidates(self, position: Position) -> list[int]:
        """Return the cells that its choice rule may pick for the player to move, each equally likely."""

    @abstractmethod
    def move_values(self, position: Position) -> dict[int, float]:
        """Return the value or probability of each free cell for the player to move; NaN if never seen."""

    @functools.cached_property
    def graph(self) -> Graph:
        """Return positions and moves of the board, as tables of that board have them.  Raises BoardError."""
        self._needs_all("a list of positions")
        return enumerate_graph(self.board, symmetry=self.images_share)

    @functools.cached_property
    def enumerated(self) -> bool:
        """Return whether the board is small enough for a list of all positions."""
        return self.board.cells <= MAX_TABLE_CELLS and not self._space.grown

    @functools.cached_property
    def images_share(self) -> bool:
        """Return whether a row of the list stands for all images of a position."""
        return self._space.symmetry

    @functools.cached_property
    def worth(self) -> NDArray[np.float64]:
        """Return the worth of each outcome to each player, float64[P, 4]: a win 1, a loss -1."""
        worth = np.zeros((2, 4))
        worth[:, [FIRST_WINS, SECOND_WINS]] = [[1.0, -1.0], [-1.0, 1.0]]
        return worth

    @functools.cached_property
    def _space(self) -> Space:
        return choose_space(self.board, "auto", prefers=False)

    @functools.cached_property
    def solution(self) -> NDArray[np.int8]:
        """Return exact results, int8[S]: 1 first wins, 0 draw, -1 second wins.  Raises BoardError on growing boards."""
        return np.sign(self.solution_in_plies)

    @functools.cached_property
    def solution_in_plies(self) -> NDArray[np.int8]:
        """Return `solution` with distances (int8[S]), see `solution.solve_in_plies`.  Raises BoardError."""
        self._needs_all("a solution")
        return solve_in_plies(self.graph)

    def position(self, position: str | int | Position) -> Position:
        """Return the marks of a position given as text (see `notation`), code or marks.  Raises BoardError."""
        return read_position(position, self.board)

    def position_asked(self, position: str | int | Position) -> Position:
        """Return the marks of a position, as `position` does, for callers that return cells, which count from 0.

        Raises BoardError also for moves by digits, because these count from 1.
        """
        marks = self.position(position)
        if isinstance(position, str) and (letters := lettered(position, self.board)) is not None:
            raise BoardError(
                f"position {quoted(position)}: digits count cells from 1, but returned cells count from 0; "
                f"write {letters!r}, or the cells' marks"
            )
        return marks

    def _needs_all(self, what: str) -> None:
        check_enumerable(self.board, not self.enumerated, what)

    def _located(self, marks: Position) -> tuple[int, tuple[int, ...]]:
        """Return the row of a position on an enumerated board, and the position's cell for each cell of its image."""
        representative, image = self.board.representative(marks, self.images_share)
        return row_of(self.graph, self.board.encode(representative)), image

    def truth(self, position: str | int | Position) -> SolvedResult | None:
        """Return the result of best play from a position, whose plies are None if only the winner is known.

        Return None if the result is unknown.  Raises BoardError for a position that no game reaches.
        """
        marks = self.position(position)
        if not self.enumerated:
            outcome = self.board.outcome(marks)
            if outcome != UNFINISHED:
                return SolvedResult({FIRST_WINS: 1, SECOND_WINS: -1}.get(outcome, 0), 0)
            moves = searched_moves(self.board, marks)
            mover = (self.board.cells - marks.count(EMPTY)) % 2
            return None if moves is None else best_of(moves.values(), mover).a_ply_earlier
        return solved_result(int(self.solution_in_plies[self._located(marks)[0]]), marks.count(EMPTY))

    def true_moves(self, position: str | int | Position, limit: int = LIMIT) -> dict[int, SolvedResult] | None:
        """Return the result of best play after each move, by free cell; plies count from there, or are None.

        Empty for a final position, None if unknown.  Raises BoardError for a position that no game reaches.
        limit: of positions to search, on boards with gravity that are too large to enumerate.
        """
        marks = self.position_asked(position)
        if not self.enumerated and not can_solve(self.board):
            return None
        if self.board.outcome(marks) != UNFINISHED:
            return {}
        if not self.enumerated:
            found = searched_moves(self.board, marks, limit)
            return None if found is None else dict(found)
        truths = ((cell, self.truth(self.board.after(marks, cell))) for cell in self.board.open_cells(marks))
        return {cell: truth for cell, truth in truths if truth is not None}

    def true_value(self, position: str | int | Position) -> int | None:
        """Return the result of best play from a position: 1 first wins, 0 draw, -1 second wins; None if unknown."""
        truth = self.truth(position)
        return None if truth is None else truth.result

    def checked_ties(self, ties: object) -> Ties:
        """Return the rule for ties of that name.  Raises UsageError, BoardError for `sharp` on a growing board."""
        name = check_ties(ties)
        if name != "sharp" or self.sharpens or self.outside:
            return name
        if self.own_ties:
            raise UsageError(
                f"{flag('ties', 'sharp')} is for tables of positions; networks take wins in one, and any of their best "
                "moves: leave it out"
            )
        raise too_large(flag("ties", "sharp"), self.board, "give soonest or any")

    @property
    def usual_ties(self) -> Ties:
        """Return the ties of `play` and of a page: `sharp` if the agent can play by them, otherwise `soonest`."""
        return "sharp" if self.sharpens else "soonest"

    def best_cells(self, position: Position, cells: list[int], ties: Ties) -> list[int]:
        """Return those of `cells` that the tie rule `ties` keeps.  cells: all that the agent's own rule may pick."""
        if ties == "any" or self.own_ties:
            return cells
        return self.sharp_cells(position) if ties == "sharp" else self.soonest_cells(position, cells)

    def soonest_cells(self, position: Position, cells: list[int]) -> list[int]:
        """Return the soonest of the cells that the agent's rule may pick, see `ties`; an occupied one loses at once.

        With `own_ties` these are all cells.
        """
        if len(cells) < 2 or self.own_ties:
            return cells
        mover = (len(position) - position.count(EMPTY)) % 2
        truths = self.true_moves(position) if self.enumerated else None

        def number(cell: int) -> int:
            if position[cell] != EMPTY:
                return -QUICKEST
            if truths is None:
                return QUICKEST * (self.board.outcome(self.board.after(position, cell)) == FIRST + mover)
            result, plies = truths[cell].seen_by(mover)
            return result * (QUICKEST - (plies or 0))  # a sweep knows all plies

        numbers = [number(cell) for cell in cells]
        best = max(numbers)
        return cells if best == 0 else [cell for cell, here in zip(cells, numbers, strict=True) if here == best]


def unbeatable_since(games: NDArray[np.int64], unbeatable: NDArray[np.bool_]) -> int | None:
    """Return the games at the first point from which all of `unbeatable` (bool[T, P]) is True, or None."""
    failing = np.flatnonzero(~unbeatable.all(axis=1))
    first = int(failing[-1]) + 1 if failing.size else 0
    return int(games[first]) if first < games.size else None


@dataclass(repr=False, eq=False, kw_only=True)
class RunFacts:
    """Facts about the training and the file of a run.

    provenance: see `Provenance`.  interrupted: training was stopped early.
    full: training ended because there was no more room for positions.
    goal: number of games that training was to reach; 0 if unknown.
    notes: lines for the user about the file of the run.  version: that file's format, major and minor.
    size: that file's size in bytes, or 0.  file: the path to which training or learning saved the run, or None.
    """

    provenance: dict[str, str | int | float] = field(default_factory=dict)
    interrupted: bool = False
    full: bool = False
    goal: int = 0
    notes: tuple[str, ...] = ()
    version: tuple[int, int] = FORMAT
    size: int = 0
    file: Path | None = None


class StoredRun(SolverAccess, RunFacts):
    """Base class of runs of all learners: a configuration, what it has learnt, and the recorded points.

    Two runs are equal if configuration, games, what they have learnt and recorded points are equal, down to the bytes.
    `RunFacts` and the seconds of the points are not compared.

    config: `Config` or `PatternConfig`.  games: games learnt from.
    statistics: recorded points, an array per column (see `runs.storage`).
    grown, points, background: as in `Run`; None for networks.
    name: of the learner.  from_games: True if the run learnt from given games.
    symmetric: True if the agent plays alike in all images of a position.
    """

    name: str
    from_games: bool
    symmetric: bool
    config: Any
    games: int
    statistics: dict[str, NDArray[Any]]
    grown: "GrowingTable | None" = None
    points: KeptPoints | None = None
    background: NDArray[np.float64] | None = None

    def __repr__(self) -> str:
        """Return one line without the arrays."""
        title = f"{self.config.learner} on {self.board.name}, {count_text(self.games, 'game')}, seed {self.config.seed}"
        return f"<{type(self).__name__}: {'; '.join(filter(None, (title, self.verdict())))}>"

    def _repr_html_(self) -> str:
        """Return the same as a small table with the learning curve, for notebooks."""
        return str(call_hook("run_html", self))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, type(self)):
            return NotImplemented
        return (self.config, self.games) == (other.config, other.games) and self._bytes() == other._bytes()

    __hash__ = None  # type: ignore[assignment]  # its arrays can change

    def _bytes(self) -> dict[str, tuple[Any, ...]]:
        """Return dtype, shape and bytes of the arrays that must be equal in equal runs, by name."""
        points = {f"statistics/{name}": column for name, column in self.statistics.items() if name != "seconds"}
        return {name: (one.dtype, one.shape, one.tobytes()) for name, one in {**self.learnt_arrays(), **points}.items()}

    @property
    @abstractmethod
    def holds(self) -> NDArray[np.bool_] | None:
        """Return bool[T, seats]: the verdicts at the recorded points; None if there are none."""

    @property
    def since(self) -> int | None:
        """Return the games at the first point from which on a run is unbeatable in its seats, or proved; else None."""
        return None if self.holds is None else unbeatable_since(self.statistics["games"], self.holds)

    @abstractmethod
    def verdict(self) -> str:
        """Return in words what is known of the agent's play at its last recorded point; empty if nothing is."""

    @abstractmethod
    def learnt_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays that must be equal in equal runs, besides the recorded points, by name."""

    @abstractmethod
    def data(self) -> RunData:
        """Return the contents of the run file."""

    def _data(self, tables: dict[str, NDArray[Any]], fields: dict[str, tuple[str, str]]) -> RunData:
        """Return the contents of the run file that all runs have.  tables, fields: as in `RunData`."""
        return RunData(
            config=self.config.to_dict(),
            games=self.games,
            states={},
            tables=tables,
            table_fields=fields,
            statistics=self.statistics,
            provenance={
                name: value[:MOST_TEXT] if isinstance(value, str) else value for name, value in self.provenance.items()
            },
            progress={"goal": np.array(self.goal, np.int64)} if self.goal else {},
        )

    @property
    def own_statistics(self) -> dict[str, NDArray[Any]]:
        """Return the recorded points; NaN in a seat that the agent does not play, and then also for self-play."""
        own = np.array([[seat in self.seats for seat in SEATS]])
        if own.all():
            return self.statistics
        return {name: played(name, column[None], own, np.nan)[0] for name, column in self.statistics.items()}

    def save(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Write the run file; an existing file is replaced only with `overwrite`.

        Raises RunFileError, also while a training writes the file, and UsageError for an invalid name.
        """
        path = named_file("path", path)
        with Lock(RUN_FILE.place(path, overwrite=overwrite)):
            save_run(path, self.data(), overwrite=overwrite)
        return path

    def to_dict(self) -> dict[str, Any]:
        """Return plain values with stable keys, as `train --json` prints them."""
        return dict(call_hook("run_dict", self))

    def to_frame(self) -> "DataFrame":
        """Return the recorded points as a pandas DataFrame, a row each, indexed by the games learnt from.

        Columns of more than one number are split: `unbeatable.first`, `versus_random.second.loss`.
        Raises TttBatchError if pandas is missing.
        """
        return make_frame(point_records(self.own_statistics), "games")

    def plot(self, kind: str = "curves") -> "Figure":
        """Return a matplotlib Figure of the run's learning, without writing a file.

        kind: `curves`; for tables also `opening` or `coverage`.
        Raises UsageError, and TttBatchError if matplotlib is missing.
        """
        drawn: Figure = call_hook("figure", self, kind)
        return drawn
