"""Runs of tables: policies, values and exact results of what was learnt, and the contents of the run file."""

import functools
import platform
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_batch.compiler.jit import compile_elsewhere
from ttt_batch.compiler.numerics import softmax_probabilities
from ttt_batch.core import VERSION
from ttt_batch.core.errors import BoardError, UsageError
from ttt_batch.core.resources import processor_name
from ttt_batch.core.text import OPPONENT_HINTS, SCRIPTED, SEATS, Ties, check_ties, choose, count_text
from ttt_batch.evaluation.exact_results import Shares, chances_of, expected_results, losing_line, match, shortest_losses
from ttt_batch.evaluation.judgement import Judgement, exact_judge
from ttt_batch.evaluation.ties import sharp_edges, soonest_edges
from ttt_batch.games.board import EMPTY, UNFINISHED, Position
from ttt_batch.games.enumeration import enumerate_graph
from ttt_batch.games.graph import Graph, rows_of_edges
from ttt_batch.learners import learner_named
from ttt_batch.learners.base import PREFERENCE, VALUE, Learner, row_at
from ttt_batch.runs.base import StoredRun
from ttt_batch.runs.config import GIVEN, Config, can_meet, check_meeting
from ttt_batch.runs.evaluation import EXACT_OPPONENTS, NO_SHARES, Evaluation, reachable_edges, transfer_policy
from ttt_batch.runs.growing_table import GrowingTable, positions_in
from ttt_batch.runs.state import NO_CODE, NO_OUTCOME, KeptPoints, State
from ttt_batch.runs.storage.declaration import RunData
from ttt_batch.simulation.action_probabilities import BY_BEADS
from ttt_batch.simulation.policy import (
    Policy,
    chosen_edges,
    empty_policy,
    legal_edges,
    optimal_policy,
    order_rows,
    policy_among,
    policy_over,
    random_policy,
    row_choices,
    write_scores,
)


class _Row(NamedTuple):
    """Row of a position, and the cells in that position to which its edges belong."""

    graph: Graph
    tables: Any
    row: int
    edges: range
    cells: list[int]


@dataclass(repr=False, eq=False)
class Run(StoredRun):
    """Result of training a table, in memory or read from a file; equal runs, other fields: see `StoredRun`.

    tables: the learner's NamedTuple of arrays.
    visits: float64, updates so far of every entry of the table; empty unless the step size depends on visits.
    background: float64[codes, cells], the whole table of an imported file, with rows that cannot occur; or None.
    grown: the positions that play has reached, on a board too large to enumerate.
    batch_start: the state before the unfinished last batch; None if the last batch is complete.
    points: the tables at recorded points, if they are kept; not compared.
    """

    config: Config
    tables: Any
    games: int
    statistics: dict[str, NDArray[Any]]
    visits: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    background: NDArray[np.float64] | None = None
    grown: GrowingTable | None = None
    batch_start: State | None = None
    points: KeptPoints | None = None

    own_ties: ClassVar[bool] = False

    def __post_init__(self) -> None:
        learner = self.learner
        self.board, self.name = self.config.board, learner.name
        self.seats, self.resigns = learner.seats, learner.resigns
        self.by_beads, self.occupied = learner.by_beads, learner.occupied
        self.symmetric = self.images_share = self.config.symmetry
        self.enumerated = self.sharpens = not self.config.grown
        self.from_games = self.config.engine == GIVEN
        self.gives = "chance" if learner.number == PREFERENCE else "value"

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for `pickle` and `copy` without the learner, whose functions cannot all be pickled."""
        return {name: value for name, value in vars(self).items() if name != "learner"}

    @functools.cached_property
    def learner(self) -> Learner:  # type: ignore[override]
        """Return the learner's description."""
        return learner_named(self.config.learner)

    def verdict(self) -> str:
        """Return in words whether the run can be beaten at its last recorded point; on a growing board its positions.

        Empty if the last point was not recorded at the last game.
        """
        if self.games not in self.statistics["games"][-1:]:
            return ""
        if self.grown is not None:
            return count_text(int(self.statistics["positions"][-1]), "position")
        words = ["unbeatable" if unbeatable else "can be beaten" for unbeatable in self.statistics["unbeatable"][-1]]
        if len(self.seats) == len(set(words)) == 2:
            return f"{words[0]} as first, {words[1]} as second"
        return f"{words[0]} in both seats" if len(self.seats) == 2 else f"{words[0]} as {self.seats[0]}"

    @property
    def holds(self) -> NDArray[np.bool_] | None:
        """Return at which recorded points the agent is unbeatable in each of its seats; None on a growing board."""
        found = self.statistics.get("unbeatable")
        return None if found is None else found[:, : len(self.seats)]

    @property
    def made_elsewhere(self) -> bool:
        """Return whether the table was imported and has learnt from no game since then."""
        return not self.statistics["outcomes"][-1:].any()

    @property
    def positions(self) -> tuple[NDArray[np.int64], NDArray[np.int8]]:
        """Return codes and outcomes of the rows of a growing board; empty on other boards, which define their rows."""
        return (NO_CODE, NO_OUTCOME) if self.grown is None else self.grown.compact_positions()

    def learnt_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the tables, the positions of a growing board, and the visits."""
        return {**self.tables._asdict(), **dict(zip(("code", "outcome"), self.positions, strict=True))} | {
            "visits": self.visits
        }

    def data(self) -> RunData:
        """Return the contents of the run file."""
        tables, fields = self.tables._asdict(), dict(self.learner.fields)
        if self.visits.size:
            tables["visits"] = self.visits.reshape(self.tables[0].shape)
            fields["visits"] = (fields[self.tables._fields[0]][0], "how often the entry was updated")
        if self.background is not None:
            tables["background"] = self.background
            axes = ",".join(str(n) for n in self.background.shape)
            fields["background"] = (axes, "the imported table by code and cell, with rows that cannot occur")
        data = self._data(tables, fields)
        code, outcome = (self.graph.code, self.graph.outcome) if self.grown is None else self.positions
        data.states |= {"code": code, "outcome": outcome}
        if self.learner.by_moves:
            data.states |= {"first_edge": self.graph.first_edge.astype(np.int32), "cell": self.graph.cell}
        if self.batch_start is not None:
            before = self.batch_start
            data.progress |= {"batch_games": np.array(before.games, np.int64), "batch_outcomes": before.outcomes}
            if self.grown is not None:
                data.progress["batch_positions"] = np.array(positions_in(before), np.int64)
                before = self.grown.padded(before)
            data.resume |= before.tables._asdict()
            if self.visits.size:
                data.resume["visits"] = before.visits.reshape(self.tables[0].shape)
        if self.points is not None:
            data.progress["point_games"] = self.points.games
            data.points |= self.points.tables._asdict()
        return data

    @functools.cached_property
    def graph(self) -> Graph:
        """Return positions and moves as this learner sees them; on a growing board only those that play has reached."""
        return self.config.graph if self.grown is None else self.grown.compact()[0]

    @functools.cached_property
    def worth(self) -> NDArray[np.float64]:
        """Return the worth of each outcome to each player, float64[P, 4]."""
        return self.learner.worth(self.config.settings)

    @functools.cached_property
    def policy(self) -> Policy:
        """Return the agent's policy by its learner's choice rule.  Raises BoardError on a growing board."""
        self._needs_all("a policy over all positions")
        policy = empty_policy(self.graph)
        order_rows(self.tables, self.graph, self.learner.choice, policy)
        return policy

    @functools.cached_property
    def soonest(self) -> Policy:
        """Return the policy with ties `soonest`, see `ties`.  Raises BoardError on a growing board."""
        chosen = chosen_edges(self.graph, self.policy)
        return policy_among(self.graph, soonest_edges(self.graph, chosen, self.solution_in_plies))

    @functools.cached_property
    def sharp(self) -> Policy:
        """Return the policy with ties `sharp`.  Raises BoardError on a growing board."""
        return policy_among(self.graph, self.sharp_edges)

    @functools.cached_property
    def sharp_edges(self) -> NDArray[np.bool_]:
        """Return the edges (bool[E]) that it may pick with ties `sharp`.  Raises BoardError on growing boards."""
        self.checked_ties("sharp")
        return sharp_edges(self.graph, self.policy, self.solution_in_plies)

    def sharp_cells(self, position: str | int | Position) -> list[int]:
        """Return the cells that the agent may pick in an unfinished position with ties `sharp`.  Raises BoardError."""
        row, image = self._located(self.position_asked(position))
        image = (*image, self.board.resignation)
        edges = range(int(self.graph.first_edge[row]), int(self.graph.first_edge[row + 1]))
        return sorted(image[int(self.graph.cell[edge])] for edge in edges if self.sharp_edges[edge])

    def _row(self, position: str | int | Position) -> _Row:
        """Return the row of an unfinished position and its cells.  Raises BoardError."""
        marks = self.position_asked(position)
        if self.grown is None:
            row, image = self._located(marks)  # rejects positions that no game reaches
        if self.board.outcome(marks) != UNFINISHED:
            raise BoardError(f"position {self.board.format_position(marks)!r} is final: there is nothing to choose")
        graph, tables = self.graph, self.tables
        if self.grown is not None:
            grown, ply = self.grown, self.board.cells - marks.count(EMPTY)
            graph, tables = grown.graph, grown.tables
            row, number = row_at(tables, graph, grown.growth, self.board.encode(marks), ply, self.worth)
            image = self.board.images(self.config.symmetry)[number]
        image = (*image, self.board.resignation)
        edges = range(int(graph.first_edge[row]), int(graph.first_edge[row + 1]))
        return _Row(graph, tables, row, edges, [image[int(graph.cell[edge])] for edge in edges])

    def move_values(self, position: str | int | Position) -> dict[int, float]:
        """Return the agent's value of each free cell for the player to move, on its learner's scale; nan if never seen.

        `reinforce` and `actor-critic` learn preferences of moves (`move_preferences`) instead of values.  For them this
        is the probability of each move, 0 to 1, by softmax, as in training.
        """
        numbers = self._move_numbers(position)
        return (
            numbers if self.learner.number == VALUE else softmax_probabilities(numbers, self.learner.temperature or 1.0)
        )

    def move_preferences(self, position: str | int | Position) -> dict[int, float]:
        """Return the learner's preference for each free cell.  Raises UsageError for a learner of values."""
        if self.learner.number != PREFERENCE:
            raise UsageError(f"{self.learner.name} keeps values of moves, not preferences; use move_values")
        return self._move_numbers(position)

    def _move_numbers(self, position: str | int | Position) -> dict[int, float]:
        """Return the table's number for each free cell, a value or a preference, see `Learner.number`."""
        asked, marks = self._row(position), self.position(position)
        scores = np.empty(len(asked.edges))
        write_scores(asked.tables, asked.graph, asked.row, asked.row + 1, scores)
        values = dict(zip(asked.cells, scores.tolist(), strict=True))
        return {cell: values[cell] for cell in sorted(values) if cell < len(marks) and self.board.is_open(marks, cell)}

    def value(self, position: str | int | Position) -> float:
        """Return the value of a position for the player to move, on its learner's scale.

        This is the best move's value, nan if no move was seen.  A learner of preferences returns the table's value of
        the position.  The value of a final position is its worth to the player who would move next.
        """
        marks = self.position(position)
        outcome = self.board.outcome(marks)
        if self.grown is None:
            self._located(marks)  # rejects positions that no game reaches
        if outcome != UNFINISHED:
            return float(self.worth[(self.board.cells - marks.count(EMPTY)) & 1, outcome])
        if self.learner.number == PREFERENCE:
            asked = self._row(marks)
            return float(asked.tables.value[asked.row])
        values = [value for value in self.move_values(marks).values() if value == value]
        return max(values) + 0.0 if values else float("nan")  # + 0.0 turns -0.0 into 0.0

    def drawn_shares(self, position: str | int | Position) -> dict[int, float] | None:
        """Return the probability of each cell in an unfinished position for a learner with boxes; None for others."""
        if not self.by_beads:
            return None
        asked = self._row(position)
        shares = dict(zip(asked.cells, self._bead_chances[asked.edges].tolist(), strict=True))
        return {cell: shares[cell] for cell in sorted(shares) if shares[cell] > 0.0}

    @functools.cached_property
    def _bead_chances(self) -> NDArray[np.float64]:
        """Return the probability (float64[E]) of drawing each move from its box."""
        chance: NDArray[np.float64] = chances_of(BY_BEADS, self.tables, self.graph, self.learner.choice).chance
        return chance

    def candidates(self, position: str | int | Position, ties: Ties = "any") -> list[int]:
        """Return the cells that the agent may pick, each equally likely.

        `minimax-q` may name occupied cells, and `menace` returns `Board.resignation` if its box is empty.
        ties: `any` for all moves that its rule may pick, `soonest` for the quickest wins and longest losses among
        them, or `sharp` for the best of them against random play.
        Raises BoardError, also for `sharp` on a growing board, and UsageError for other ties.
        """
        ties = self.checked_ties(ties)
        asked = self._row(position)
        chosen = np.zeros(len(asked.edges), np.bool_)
        row_choices(asked.tables, asked.graph, self.learner.choice, asked.row, chosen)
        cells = sorted(cell for cell, good in zip(asked.cells, chosen, strict=True) if good)
        if cells == [self.board.resignation]:
            return cells
        return self.best_cells(self.position(position), cells, ties)

    def leaves(self, line: list[int], seat: int) -> int | None:
        """Return the ply at which an agent in `seat` (0 or 1) leaves `line` by the ties of `play`; None if never.

        Ties are `sharp` on an enumerated board, else `soonest`.
        line: the cells of a game that the agent may play by its rule.
        """
        marks: Position = (EMPTY,) * self.board.cells
        for ply, cell in enumerate(line):
            if ply % 2 == seat:
                kept = self.sharp_cells(marks) if self.sharpens else self.soonest_cells(marks, self.candidates(marks))
                if cell not in kept:
                    return ply
            if cell == self.board.resignation:
                return None
            marks = self.board.after(marks, cell)  # the last cell may be occupied
        return None

    def common_graph(self, other: "Run") -> Graph:
        """Return a graph for both runs, of classes of images if both use symmetry, else of real positions.

        Raises BoardError if their boards differ or one of them grows.
        """
        if other.board != self.board:
            raise BoardError(
                f"one run plays {self.board.name}, the other {other.board.name}; compare runs of one board"
            )
        for run in (self, other):
            run._needs_all("a comparison")
        occupied, resigns = self.occupied or other.occupied, self.resigns or other.resigns
        return enumerate_graph(self.board, occupied, self.config.symmetry and other.config.symmetry, resigns=resigns)

    def policy_on(self, graph: Graph, ties: Ties = "any") -> Policy:
        """Return the agent's policy over the edges of this or another graph of its board; ties: as for `candidates`.

        Raises BoardError on a growing board, and UsageError for unknown ties or if the agent may choose a move that
        `graph` lacks (an occupied cell, resignation).
        """
        ties = check_ties(ties)
        policy = self.policy if ties == "any" else self.sharp if ties == "sharp" else self.soonest
        if graph is self.graph:
            return policy
        own = self.graph
        picked = chosen_edges(own, policy)
        if self.resigns and self.board.resignation not in graph.cell:
            picked &= reachable_edges(own, picked)  # a resignation in an unreachable position does not matter
        allowed, lacks = transfer_policy(self.board, own, picked, graph, symmetry=self.config.symmetry)
        if lacks.any():
            code = int(graph.code[lacks.argmax()])
            does = "resigns" if self.resigns else "still chooses occupied cells"
            raise UsageError(
                f"this run of {self.config.learner} {does}, e.g. in position "
                f"{self.board.format_position(self.board.decode(code))!r}, which only "
                f"{'its own' if self.resigns else 'minimax-q' + chr(39) + 's'} rules allow; train it for more "
                "games, or choose another opponent"
            )
        if self.resigns:  # in unreachable positions every move is allowed
            without = ~np.logical_or.reduceat(allowed, graph.first_edge[:-1])
            allowed |= without[rows_of_edges(graph)] & legal_edges(graph)
        return policy_among(graph, allowed)

    def judgement(self) -> Judgement:
        """Return the statistics of a recorded point for the current tables.  Raises BoardError on a growing board."""
        self._needs_all("an exact judgement")
        return exact_judge(self.graph, self.learner, self.worth, self.solution)(self.tables)

    def evaluation(self, against: "str | Run" = "random", ties: Ties = "any") -> Evaluation:
        """Return exact results against a player by name or another run.

        against: `random`, `one-ply`, `two-ply`, `optimal` (uniform among the best moves), `self` or a run.
        ties: as for `candidates`; applies to both players if the opponent is a run.
        Raises UsageError for any other opponent or ties, BoardError for a run of another board or on a growing board.
        """
        self._needs_all("an exact evaluation")
        graph = self.graph
        if isinstance(against, Run):
            graph, name = self.common_graph(against), against.config.learner
            opponent = against.policy_on(graph, ties)
        else:
            name = choose("opponent", against, EXACT_OPPONENTS, hints=OPPONENT_HINTS, others="a run")
            if name == "self":
                opponent = self.policy_on(graph, ties)
            elif name in SCRIPTED[1:]:
                opponent = policy_over(graph, self.board, SCRIPTED.index(name))
            else:
                opponent = random_policy(graph) if name == "random" else optimal_policy(graph, self.solution)
        seats = against.seats if isinstance(against, Run) else self.seats if name == "self" else SEATS
        check_meeting(self.config.learner, self.seats, name, seats)
        if graph is self.graph:
            several = expected_results, graph, opponent, opponent, np.zeros((1, 3))
            compile_elsewhere(several, (shortest_losses, graph, opponent, 0, *np.zeros((2, 1), np.int64)))
        agent = self.policy_on(graph, ties)
        first = match(graph, agent, opponent) if can_meet(self.seats, seats) else NO_SHARES
        return self.evaluated(name, first, match(graph, opponent, agent)[::-1], ties)

    def evaluated(self, against: str, first: Shares, second: Shares, ties: Ties) -> Evaluation:
        """Return the evaluation with these shares in both seats against an opponent, and losing lines of its own."""
        own = self.policy_on(self.graph, ties)
        found = {seat: losing_line(self.graph, own, SEATS.index(seat)) for seat in self.seats}
        lines = {seat: line and self.board.real_line(line, self.images_share) for seat, line in found.items()}
        return Evaluation(
            against=against,
            first=first,
            second=second if SEATS[1] in self.seats else NO_SHARES,
            unbeatable={seat: line is None for seat, line in lines.items()},
            losing_line=lines,
            ties=ties,
            run=self,
        )


TIME = "%Y-%m-%dT%H:%M:%SZ"

Provenance = dict[str, str | int | float]
"""Times, duration, command and versions of a run; they do not affect results."""


class Recorder:
    """Recorder of the points of a run.  seats: 1 if the agent plays only first, 2 if it plays both seats."""

    def __init__(self, seats: int = 2) -> None:
        self._seats = seats
        self._points: list[dict[str, Any]] = []

    def restore(self, statistics: Mapping[str, NDArray[Any]]) -> None:
        """Restore the points of an earlier part of the run from its `statistics`."""
        for i in range(statistics["games"].size):
            self._points.append({name: np.array(column[i]) for name, column in statistics.items()})

    def record(self, games: int, seconds: float, outcomes: NDArray[np.int64], judged: dict[str, Any]) -> None:
        """Add a point after `games` games.  judged: the other columns, see `Trainer.judge`."""
        point = {"games": np.int64(games), "seconds": np.float64(seconds), "outcomes": outcomes}
        self._points.append(point | judged)

    def drop_last(self) -> None:
        """Drop the last point, which was provisional."""
        del self._points[-1]

    @property
    def last(self) -> int:
        """Return the number of games at the last recorded point; 0 if there is none."""
        return int(self._points[-1]["games"]) if self._points else 0

    @property
    def since(self) -> int | None:
        """Return the games at the first point from which the agent stayed unbeatable in its seats, or None."""
        since = None
        for point in reversed(self._points):
            if "unbeatable" not in point or not point["unbeatable"][: self._seats].all():
                break
            since = int(point["games"])
        return since

    def statistics(self) -> dict[str, NDArray[Any]]:
        """Return the points as columns, named as in the run file; without points only games, seconds and outcomes."""
        if not self._points:
            return {"games": np.zeros(0, np.int64), "seconds": np.zeros(0), "outcomes": np.zeros((0, 3), np.int64)}
        return {name: np.stack([point[name] for point in self._points]) for name in self._points[0]}


def record_once(run: Run) -> dict[str, NDArray[Any]]:
    """Return statistics of a run played elsewhere: one recorded point of its current tables."""
    grown, recorder = run.grown, Recorder()
    judged = run.judgement()._asdict() if grown is None else {"positions": np.array(grown.positions, np.int64)}
    recorder.record(run.games, 0.0, np.zeros(3, np.int64), judged)
    return recorder.statistics()


class Clock:
    """Clock of a training, which also returns the training's provenance.

    past: the provenance of the training before its interruption, whose seconds count.
    """

    def __init__(self, past: Mapping[str, Any] = {}) -> None:
        self._created = self.now()
        self._started = time.perf_counter() - float(past.get("seconds", 0.0))

    @property
    def seconds(self) -> float:
        """Return the seconds since the start."""
        return time.perf_counter() - self._started

    @staticmethod
    def now() -> str:
        """Return the current date and time in UTC."""
        return time.strftime(TIME, time.gmtime())

    def provenance(self, command: str) -> Provenance:
        """Return start, end, duration, command, processor, and the versions of the software."""
        import numba  # takes 0.2 s: not for a run that is only read

        return {
            "created": self._created,
            "ended": self.now(),
            "command": command,
            "seconds": self.seconds,
            "processor": processor_name(),
            "ttt_batch_version": VERSION,
            "python_version": platform.python_version(),
            "numpy_version": np.__version__,
            "numba_version": numba.__version__,
        }


def resumed_provenance(past: Provenance, now: Provenance, noted: str) -> Provenance:
    """Return the provenance of a resumed run, which keeps its first `created` and `command`.

    past: empty for a new run.  noted: the key for the command that resumes it.
    """
    if not past:
        return now
    return past | now | {key: past[key] for key in ("created", "command") if key in past} | {noted: now["command"]}
