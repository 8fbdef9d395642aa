"""A run: tables bound to their board and learner, ready to be asked, judged and saved."""

import functools
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_batch.base import hooks
from ttt_batch.base.choices import OPPONENT_HINTS, SEATS, Ties, check_ties, choose
from ttt_batch.base.errors import BoardError, RunFileError, UsageError
from ttt_batch.base.files import shown
from ttt_batch.base.frames import make_frame, point_records
from ttt_batch.base.lock import Lock
from ttt_batch.base.printable import Printable
from ttt_batch.base.wording import counted
from ttt_batch.evaluation.best_response import losing_line
from ttt_batch.evaluation.exact_results import match
from ttt_batch.evaluation.judgement import Judgement, exact_judge
from ttt_batch.evaluation.ties import soonest_cells, soonest_policy
from ttt_batch.game.board import EMPTY, MAX_CELLS, UNFINISHED, Board, Position
from ttt_batch.game.enumeration import enumerate_graph
from ttt_batch.game.graph import Graph, row_of, rows_of_edges
from ttt_batch.game.notation import read_position
from ttt_batch.game.solution import RESULTS, Truth, solve_in_plies, truth_of
from ttt_batch.game.state_space import Space, check_enumerable
from ttt_batch.learners import learner_named
from ttt_batch.learners.base import Learner
from ttt_batch.learners.growing_rows import row_at
from ttt_batch.runs.config import Config
from ttt_batch.runs.consistency import config_of, grown_of, misfits
from ttt_batch.runs.growing_table import Grown, positions_in
from ttt_batch.runs.lookup import find_run
from ttt_batch.runs.runfile import FORMAT, RUN_FILE, RunData, load_run, save_run
from ttt_batch.runs.state import State
from ttt_batch.simulation.policy import (
    Policy,
    chosen_edges,
    empty_policy,
    optimal_policy,
    order_rows,
    policy_among,
    random_policy,
    row_choices,
    row_scores,
)

MOST_TEXT = 10_000
"""Characters that are kept of a command and the like: a training of hours must not end at how it was called."""

OPPONENTS = ("random", "optimal", "self")


@dataclass(frozen=True)
class Evaluation(Printable):
    """Exact results of an agent against an opponent.

    first, second: probabilities (win, draw, loss) of the agent in that seat.
    unbeatable: whether no opponent and no tie-break beats the agent in a seat, whoever `against` is.
    losing_line: a shortest game that the agent can lose in a seat, as cells; None where it cannot.
    ties: which of the moves that their rules may pick runs play, see `ties`.
    run: the agent itself.
    """

    against: str
    first: tuple[float, float, float]
    second: tuple[float, float, float]
    unbeatable: dict[str, bool]
    losing_line: dict[str, list[int] | None]
    ties: Ties = "any"
    run: "Run | None" = field(default=None, repr=False, compare=False)

    def to_dict(self) -> dict[str, Any]:
        """Plain values with stable keys, as `--json` prints them."""
        return {
            "against": self.against,
            "ties": self.ties,
            "first": dict(zip(RESULTS, self.first, strict=True)),
            "second": dict(zip(RESULTS, self.second, strict=True)),
            "unbeatable": self.unbeatable,
            "losing_line": self.losing_line,
        }

    def records(self) -> tuple[list[dict[str, Any]], str]:
        """Return a row for each seat."""
        rows = [
            {
                "seat": seat,
                "against": self.against,
                **dict(zip(RESULTS, shares, strict=True)),
                "unbeatable": self.unbeatable[seat],
                "losing_line": self.losing_line[seat],
            }
            for seat, shares in zip(SEATS, (self.first, self.second), strict=True)
        ]
        return rows, "seat"


class _Asked(NamedTuple):
    """A row that a person asks about, with the cells of the position asked for that its edges mark."""

    graph: Graph
    tables: Any
    row: int
    edges: range
    cells: list[int]


@dataclass(repr=False, eq=False)
class Run:
    """The result of training, in memory or read from a file.

    Two runs are equal if configuration, games, tables and recorded points are, down to the bytes; when, where and how
    fast they came about does not matter.

    tables: the learner's NamedTuple of arrays.  games: games learnt from.  interrupted: training was stopped early.
    visits: float64, updates so far of every entry of the table; empty unless the step size depends on visits.
    background: float64[codes, cells], the whole table of an imported file, with rows that cannot occur; or None.
    goal: games that were asked for; 0 where nothing was.
    grown: the positions that play has come to, on a board too large to enumerate.
    full: training ended because its positions had no more room.
    batch_start: where the run stood before the batch within which it ends; None where it ends with a batch.
    statistics: recorded points, an array per column (see `runfile`).  provenance: where the run comes from.
    notes: lines for the person about the file that it was read from.  version: that file's format, major and minor.
    size: that file's bytes; 0 where it was not read from one.
    file: where training or learning has saved it; None where it has not.
    """

    config: Config
    tables: Any
    games: int
    statistics: dict[str, NDArray[Any]]
    provenance: dict[str, str | int | float] = field(default_factory=dict)
    interrupted: bool = False
    visits: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    background: NDArray[np.float64] | None = None
    goal: int = 0
    grown: Grown | None = None
    full: bool = False
    batch_start: State | None = None
    notes: tuple[str, ...] = ()
    version: tuple[int, int] = FORMAT
    size: int = 0
    file: Path | None = None

    def __repr__(self) -> str:
        """In a line, without its arrays."""
        config, games = self.config, counted(self.games, "game")
        return f"<Run: {config.learner} on {config.board.name}, {games}, seed {config.seed}>"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Run):
            return NotImplemented
        return (
            self.config == other.config and self.games == other.games and _same_bytes(self._result(), other._result())
        )

    __hash__ = None  # type: ignore[assignment]  # its arrays can change

    def _result(self) -> dict[str, NDArray[Any]]:
        """What has to be equal in equal runs, by name."""
        recorded = {f"statistics/{name}": column for name, column in self.statistics.items() if name != "seconds"}
        codes, outcomes = self.positions
        rows = {"code": codes, "outcome": outcomes, "visits": self.visits}
        return {**self.tables._asdict(), **rows, **recorded}

    def to_frame(self) -> Any:
        """Return the recorded points as a pandas DataFrame, a row each, named by the games learnt from.

        Columns of more than one number are split: `unbeatable.first`, `versus_random.second.loss`.
        Raises TttBatchError if pandas is missing.
        """
        return make_frame(point_records(self.statistics), "games")

    def plot(self, kind: str = "curves") -> Any:
        """Return a matplotlib Figure of how the run learnt; nothing is written.

        kind: `curves`, `opening` or `coverage`.  Raises UsageError, and TttBatchError if matplotlib is missing.
        """
        return hooks.call("figure", self, kind)

    @functools.cached_property
    def board(self) -> Board:
        """The board."""
        return self.config.board

    @functools.cached_property
    def learner(self) -> Learner:
        """The learner's description."""
        return learner_named(self.config.learner)

    @functools.cached_property
    def graph(self) -> Graph:
        """Positions and moves of the board, as this learner sees them; on a growing board those it has come to."""
        return self.config.graph if self.grown is None else self.grown.compact()[0]

    @functools.cached_property
    def worth(self) -> NDArray[np.float64]:
        """float64[P, 4]: what each outcome is worth to each player."""
        return self.learner.worth(self.config.settings)

    @functools.cached_property
    def solution(self) -> NDArray[np.int8]:
        """int8[S]: the true result of every position, 1 first wins, 0 draw, -1 second wins.  Raises BoardError."""
        return np.sign(self.solution_in_plies)

    @functools.cached_property
    def solution_in_plies(self) -> NDArray[np.int8]:
        """int8[S]: the true result of every position with its distance, as `solution.solve_in_plies` gives it.

        Raises BoardError.
        """
        self._needs_all("a solution")
        return solve_in_plies(self.graph)

    @functools.cached_property
    def policy(self) -> Policy:
        """What the agent may play, by its learner's choice rule.  Raises BoardError on a growing board."""
        self._needs_all("a policy over all positions")
        policy = empty_policy(self.graph)
        order_rows(self.tables, self.graph, self.learner.choice, policy)
        return policy

    @functools.cached_property
    def soonest(self) -> Policy:
        """The policy with ties `soonest`, see `ties`.  Raises BoardError on a growing board."""
        return soonest_policy(self.graph, self.policy, self.solution_in_plies)

    def position(self, position: str | int | Position) -> Position:
        """Read a position given as text (rows, moves or a code, see `notation`), code or marks.  Raises BoardError."""
        return read_position(position, self.board)

    @property
    def positions(self) -> tuple[NDArray[np.int64], NDArray[np.int8]]:
        """Codes and outcomes of the rows of a growing board; empty on others, whose rows follow from the board."""
        if self.grown is None:
            return np.zeros(0, np.int64), np.zeros(0, np.int8)
        return self.graph.code, self.graph.outcome

    def visits_or_zeros(self) -> NDArray[np.float64]:
        """Updates so far of every entry of the table, zeros where they were not counted."""
        return self.visits if self.visits.size else np.zeros(self.tables[0].size)

    def _needs_all(self, what: str) -> None:
        check_enumerable(self.board, Space(self.grown is not None, self.config.symmetry), what)

    def _located(self, marks: Position) -> tuple[int, tuple[int, ...]]:
        """The row of a position on an enumerated board, and which cell stands on each cell of its image."""
        representative, image = self.board.representative(marks, self.config.symmetry)
        return row_of(self.graph, self.board.encode(representative)), image

    def _asked(self, position: str | int | Position) -> "_Asked":
        """An unfinished position: its row among tables and graph, and its cells.  Raises BoardError."""
        marks = self.position(position)
        if self.grown is None:
            row, image = self._located(marks)  # refuses what no game reaches
        if self.board.outcome(marks) != UNFINISHED:
            raise BoardError(f"position {self.board.format_position(marks)!r} is final: there is nothing to choose")
        if self.grown is None:
            graph, tables = self.graph, self.tables
        else:
            grown, ply = self.grown, self.board.cells - marks.count(EMPTY)
            graph, tables = grown.graph, grown.tables
            row, number = row_at(tables, graph, grown.growth, self.board.encode(marks), ply, self.worth)
            image = self.board.images(self.config.symmetry)[number]
        edges = range(int(graph.first_edge[row]), int(graph.first_edge[row + 1]))
        return _Asked(graph, tables, row, edges, [image[int(graph.cell[edge])] for edge in edges])

    def move_values(self, position: str | int | Position) -> dict[int, float]:
        """The agent's value of each free cell for the player to move, on its learner's scale; nan where never seen."""
        asked, marks = self._asked(position), self.position(position)
        scores = np.empty(len(asked.edges))
        row_scores(asked.tables, asked.graph, asked.row, scores)
        values = dict(zip(asked.cells, scores.tolist(), strict=True))
        return {cell: values[cell] for cell in sorted(values) if marks[cell] == EMPTY}

    def value(self, position: str | int | Position) -> float:
        """What a position is worth to the player to move, on its learner's scale: the value of the best move,
        nan where none was seen.

        Of a final position: its worth to the player who would move next.
        """
        marks = self.position(position)
        outcome = self.board.outcome(marks)
        if self.grown is None:
            self._located(marks)  # refuses what no game reaches
        if outcome != UNFINISHED:
            return float(self.worth[(self.board.cells - marks.count(EMPTY)) & 1, outcome])
        values = [value for value in self.move_values(marks).values() if value == value]
        return max(values) if values else float("nan")

    def candidates(self, position: str | int | Position, ties: Ties = "any") -> list[int]:
        """Cells that the agent may pick, each equally likely; `minimax-q` may name occupied ones.

        ties: `any` of the moves that its rule may pick, or `soonest`, of them the quickest wins and longest losses.
        Raises BoardError, and UsageError for other ties.
        """
        ties = check_ties(ties)
        asked = self._asked(position)
        chosen = np.zeros(len(asked.edges), np.bool_)
        row_choices(asked.tables, asked.graph, self.learner.choice, asked.row, chosen)
        cells = sorted(cell for cell, good in zip(asked.cells, chosen, strict=True) if good)
        return cells if ties == "any" else soonest_cells(self, self.position(position), cells)

    def leaves(self, line: list[int], seat: int) -> int | None:
        """How many moves of `line` an agent in `seat` (0 or 1) follows with ties `soonest`; None if all.

        line: the cells of a game that the agent may play by its rule.
        """
        marks: Position = (EMPTY,) * self.board.cells
        for ply, cell in enumerate(line):
            if ply % 2 == seat:
                cells = self._cells_of_policy(marks) if self.grown is None else self.candidates(marks)
                if cell not in soonest_cells(self, marks, cells):
                    return ply
            marks = self.board.after(marks, cell)  # the last one may be occupied
        return None

    def _cells_of_policy(self, marks: Position) -> list[int]:
        """What `candidates` gives, by the whole policy: for those who have it, and no kernel for a single row."""
        row, image = self._located(marks)
        first, n = int(self.graph.first_edge[row]), int(self.policy.best[row])
        return [image[int(self.graph.cell[edge])] for edge in self.policy.ordered[first : first + n]]

    def _real(self, line: list[int] | None) -> list[int] | None:
        """A game given as cells of the images that rows stand for, as cells of one board."""
        if line is None or not self.config.symmetry:
            return line
        marks: Position = (EMPTY,) * self.board.cells
        cells = []
        for cell in line:
            _, image = self.board.representative(marks)
            cells.append(image[cell])
            marks = self.board.after(marks, image[cell])
        return cells

    def truth(self, position: str | int | Position) -> Truth | None:
        """Who wins with best play from a position, and after how many plies; None on a growing board, where nobody
        knows.

        Raises BoardError for a position that no game reaches.
        """
        if self.grown is not None:
            return None
        marks = self.position(position)
        return truth_of(int(self.solution_in_plies[self._located(marks)[0]]), marks.count(EMPTY))

    def true_moves(self, position: str | int | Position) -> dict[int, Truth] | None:
        """The truth behind each move: by free cell the result of best play after it, plies counted from there.

        Empty for a final position, None on a growing board.  Raises BoardError for a position that no game reaches.
        """
        marks = self.position(position)
        if self.grown is not None:
            return None
        if self.board.outcome(marks) != UNFINISHED:
            return {}
        free = [cell for cell, here in enumerate(marks) if here == EMPTY]
        found = {cell: self.truth(self.board.after(marks, cell)) for cell in free}
        return {cell: truth for cell, truth in found.items() if truth is not None}

    def true_value(self, position: str | int | Position) -> int | None:
        """The result of best play from a position: 1 first wins, 0 draw, -1 second wins; None where it is not known."""
        truth = self.truth(position)
        return None if truth is None else truth.result

    def common_graph(self, other: "Run") -> Graph:
        """Positions and moves as both runs see them.

        Raises BoardError where they play different boards, one of them grows, or only one of them takes all images of a
        position for one.
        """
        if other.board != self.board:
            raise BoardError(
                f"one run plays {self.board.name}, the other {other.board.name}; compare runs of one board"
            )
        self._needs_all("a comparison")
        if other.config.symmetry != self.config.symmetry:
            raise BoardError(
                "one run takes all images of a position for one, the other does not; compare runs of one symmetry"
            )
        return enumerate_graph(self.board, self.learner.occupied or other.learner.occupied, self.config.symmetry)

    def policy_on(self, graph: Graph, ties: Ties = "any") -> Policy:
        """The agent's policy over the edges of this or another graph of the same board; ties: as for `candidates`.

        Raises UsageError where it may choose an occupied cell and `graph` has no such moves, and for other ties.
        """
        ties = check_ties(ties)
        policy = self.policy if ties == "any" else self.soonest
        if graph is self.graph:
            return policy
        own = self.graph
        picked = chosen_edges(own, policy)
        # Edges go by row, and by cell within a row.
        sought = rows_of_edges(own)[picked] * MAX_CELLS + own.cell[picked]
        known = rows_of_edges(graph) * MAX_CELLS + graph.cell
        edge = np.minimum(np.searchsorted(known, sought), known.size - 1)
        lacking = np.flatnonzero(known[edge] != sought)
        if lacking.size:
            code = int(graph.code[sought[lacking[0]] // MAX_CELLS])
            raise UsageError(
                f"this run of {self.config.learner} still chooses occupied cells, e.g. in position "
                f"{self.board.format_position(self.board.decode(code))!r}, which only minimax-q's "
                "rules allow; train it for more games, or choose another opponent"
            )
        allowed = np.zeros(graph.child.size, dtype=np.bool_)
        allowed[edge] = True
        return policy_among(graph, allowed)

    def judgement(self) -> Judgement:
        """Everything that is recorded at a point of training, for the tables as they are.

        Raises BoardError on a growing board.
        """
        self._needs_all("an exact judgement")
        return exact_judge(self.graph, self.learner, self.worth, self.solution)(self.tables)

    def evaluation(self, against: "str | Run" = "random", ties: Ties = "any") -> Evaluation:
        """Exact results against `random` moves, `optimal` ones (uniform among the best), `self`, or another run.

        ties: as for `candidates`, for both where the opponent is a run, too.
        Raises UsageError for any other opponent or ties and BoardError for a run of another board, or on a growing
        board.
        """
        self._needs_all("an exact evaluation")
        graph = self.graph
        if isinstance(against, Run):
            graph = self.common_graph(against)
            name, opponent = against.config.learner, against.policy_on(graph, ties)
        else:
            name = choose("opponent", against, OPPONENTS, hints=OPPONENT_HINTS, others="a run")
            if name == "random":
                opponent = random_policy(graph)
            elif name == "optimal":
                opponent = optimal_policy(graph, self.solution)
            else:
                opponent = self.policy_on(graph, ties)
        own, agent = self.policy_on(self.graph, ties), self.policy_on(graph, ties)
        lines = {seat: self._real(losing_line(self.graph, own, number)) for number, seat in enumerate(SEATS)}
        second = match(graph, opponent, agent)
        return Evaluation(
            against=name,
            first=match(graph, agent, opponent),
            second=(second[2], second[1], second[0]),
            unbeatable={seat: line is None for seat, line in lines.items()},
            losing_line=lines,
            ties=ties,
            run=self,
        )

    def save(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Write the run file; an existing file is kept unless `overwrite`.

        Raises RunFileError, also where a training is writing it.
        """
        path = Path(path)
        with Lock(RUN_FILE.place(path, overwrite=overwrite)):
            save_run(path, self.data(), overwrite=overwrite)
        return path

    def data(self) -> RunData:
        """What the run file holds."""
        states = {"code": self.graph.code, "outcome": self.graph.outcome}
        if any(axes == "E" for axes, _ in self.learner.fields.values()):
            states |= {"first_edge": self.graph.first_edge.astype(np.int32), "cell": self.graph.cell}
        tables, fields = self.tables._asdict(), dict(self.learner.fields)
        if self.visits.size:
            tables["visits"] = self.visits.reshape(self.tables[0].shape)
            fields["visits"] = (fields[self.tables._fields[0]][0], "how often the entry was updated")
        if self.background is not None:
            tables["background"] = self.background
            axes = ",".join(str(n) for n in self.background.shape)
            fields["background"] = (axes, "the imported table by code and cell, with rows that cannot occur")
        progress: dict[str, NDArray[Any]] = {"goal": np.array(self.goal, np.int64)} if self.goal else {}
        resume: dict[str, NDArray[Any]] = {}
        if self.batch_start is not None:
            before = self.batch_start
            progress |= {"batch_games": np.array(before.games, np.int64), "batch_outcomes": before.outcomes}
            if self.grown is not None:
                progress["batch_positions"] = np.array(positions_in(before), np.int64)
                before = self.grown.padded(before)
            resume = before.tables._asdict()
            if self.visits.size:
                resume["visits"] = before.visits.reshape(self.tables[0].shape)
        return RunData(
            config=self.config.to_dict(),
            games=self.games,
            states=states,
            tables=tables,
            table_fields=fields,
            statistics=self.statistics,
            provenance={
                name: value[:MOST_TEXT] if isinstance(value, str) else value for name, value in self.provenance.items()
            },
            progress=progress,
            resume=resume,
        )


def _same_bytes(one: dict[str, NDArray[Any]], other: dict[str, NDArray[Any]]) -> bool:
    """Whether two sets of arrays have the same names, types, shapes and bytes."""
    return one.keys() == other.keys() and all(
        array.dtype == other[name].dtype
        and array.shape == other[name].shape
        and array.tobytes() == other[name].tobytes()
        for name, array in one.items()
    )


def load(path: str | Path, *, trust: bool = False) -> Run:
    """Read a run file; `.h5` may be left out of its name.

    trust: open a file that another program changed, whose digest is wrong; every other check applies.
    Raises RunFileError where it is damaged, foreign, too new or does not fit its own board.
    """
    path = find_run(path)
    data = load_run(path, trust=trust)
    for misfit in misfits(data):
        raise RunFileError(f"{shown(path)}: {misfit}")
    config = config_of(data)
    learner = learner_named(config.learner)
    run = Run(config, None, data.games, data.statistics, data.provenance, notes=data.notes, version=data.version)
    run.size = data.size
    if config.alpha.power:
        run.visits = data.tables["visits"].ravel()
    run.background = data.tables.get("background")
    run.tables = learner.tables(**{name: data.tables[name] for name in learner.tables._fields})
    if config.grown:
        run.grown = grown_of(config, data)
        run.tables, run.visits = run.grown.compact()[1:]
    run.goal = int(data.progress.get("goal", 0))
    run.batch_start = _batch_start(run, data, shown(Path(path)))
    run.interrupted = run.games < run.goal
    return run


def _batch_start(run: Run, data: RunData, name: str) -> State | None:
    """Where the run stood before the batch within which it ends, if it does."""
    needed = {*run.tables._fields, *(["visits"] if run.visits.size else [])}
    found = set(data.resume)
    noted = {"batch_games", "batch_outcomes"} & set(data.progress)
    if not found and not noted:
        return None
    games = int(data.progress.get("batch_games", -1))
    if found != needed or len(noted) != 2 or not 0 <= games < run.games:
        raise RunFileError(f"{name}: what it keeps of the batch within which it ends is not whole; the file is damaged")
    visits = data.resume["visits"].ravel() if run.visits.size else np.zeros(0)
    tables = run.learner.tables(**{name: data.resume[name] for name in run.tables._fields})
    state = State(games, tables, visits, data.progress["batch_outcomes"])
    if run.grown is None:
        return state
    rows, finals = data.progress.get("batch_positions", np.zeros(2, np.int64)).tolist()
    if not 0 < rows <= run.grown.used.rows or not 0 <= finals <= run.grown.used.finals:
        raise RunFileError(f"{name}: progress/batch_positions are not among those of the run; the file is damaged")
    return run.grown.cut(state, rows, finals)
