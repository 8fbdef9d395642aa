"""Exact evaluation of a run against opponents: its policy, results and losing lines."""

import itertools
import math
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_batch.core.errors import BoardError, UsageError
from ttt_batch.core.results import Printable, by_name, rows_by
from ttt_batch.core.text import OPPONENT_HINTS, RESULTS, SEATS, Ties, check_ties, choose
from ttt_batch.evaluation.exact_results import Shares, chances_of, losing_line, match, shares_against
from ttt_batch.evaluation.judgement import Judgement, exact_judge
from ttt_batch.evaluation.ties import soonest_cells
from ttt_batch.games.board import EMPTY, Board, Position
from ttt_batch.games.enumeration import enumerate_graph
from ttt_batch.games.graph import Graph, rows_of_edges
from ttt_batch.learners import learner_named
from ttt_batch.runs.config import Config, can_meet, check_meeting
from ttt_batch.runs.q_values import LearntTables
from ttt_batch.runs.schedules import value_at
from ttt_batch.simulation.action_probabilities import BY_BEADS, Exploring, Probabilities, Softmax, even_chances
from ttt_batch.simulation.policy import (
    Policy,
    cell_sets,
    chosen_edges,
    legal_edges,
    optimal_policy,
    policy_among,
    random_policy,
)

AT_ONCE = 1 << 18
"""Rows that are transferred together: on 4x4 with eight images they take 100 MB."""


def transfer_policy(
    board: Board, own: Graph, picked: NDArray[np.bool_], graph: Graph, *, symmetry: bool
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Transfer the `picked` edges (bool[E]) of `own` to another graph of the same board.

    symmetry: True if a row of `own` stands for all images of a position.  Then every position gets the moves of its
    class, in the orientation of `Board.representative`.
    Returns bool[E], the edges picked in `graph`, and bool[U], its rows that lack an edge for some picked move.
    """
    n_own, n_rows = own.first_edge.size - 1, graph.first_edge.size - 1
    cells = cell_sets(own, picked)
    order = np.argsort(own.code[:n_own])
    codes, powers = own.code[:n_own][order], 3 ** np.arange(board.cells, dtype=np.int64)
    # Position of each cell in each image.
    places = np.argsort(np.array(board.images(symmetry)), axis=1)
    turned = np.pad(places, ((0, 0), (0, 1)), constant_values=board.resignation)  # resignation maps to itself
    found, lacks = np.zeros(graph.child.size, np.bool_), np.zeros(n_rows, np.bool_)
    for start in range(0, n_rows, AT_ONCE):
        stop = min(start + AT_ONCE, n_rows)
        images = (graph.code[start:stop, None] // powers % 3) @ powers[places].T
        number = images.argmin(1)
        wanted = cells[order[np.searchsorted(codes, images[np.arange(stop - start), number])]]
        edges = slice(int(graph.first_edge[start]), int(graph.first_edge[stop]))
        row = np.repeat(np.arange(stop - start), np.diff(graph.first_edge[start : stop + 1]))
        place = turned[number[row], graph.cell[edges]].astype(np.uint64)
        found[edges] = wanted[row] >> place & np.uint64(1) != 0
        lacks[start:stop] = np.bincount(row[found[edges]], minlength=stop - start) < np.bitwise_count(wanted)
    return found, lacks


EXACT_OPPONENTS = ("random", "optimal", "self")
"""Named opponents on enumerated boards; other runs are opponents too."""

NO_SHARES = (math.nan, math.nan, math.nan)
"""Results of games that cannot be played, because a player with boxes cannot move second."""


class JudgedAgent(NamedTuple):
    """An evaluated third-party agent.

    name: its name.  symmetric: True if it was queried for only one image of each position.  The verdict then holds
    for an agent that plays the same in all images.
    asked: number of positions queried; None for the package's own agents.
    """

    name: str
    board: Board
    symmetric: bool
    asked: int | None = None


class Samples(NamedTuple):
    """Settings and intervals of an evaluation of agents that draw by chance, by their shares of answers.

    answers: number of answers in each position.  seed: of Python's and NumPy's generators before the first answer.
    confidence: of the intervals.  intervals: (low, high) of wins, draws and losses, by seat; nan where shares are nan.
    """

    answers: int
    seed: int
    confidence: float
    intervals: dict[str, list[tuple[float, float]]]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values with stable keys, as `--json` prints them."""
        intervals = {seat: by_name(ends, RESULTS, ("low", "high")) for seat, ends in self.intervals.items()}
        return {"samples": self.answers, "seed": self.seed, "confidence": self.confidence, "intervals": intervals}


@dataclass(frozen=True)
class Evaluation(Printable):
    """Exact results of an agent against an opponent.

    first, second: probabilities (win, draw, loss) of the agent in that seat; nan if one of the two cannot play there.
    unbeatable, losing_line: by the seats in which the agent can play.
    unbeatable: True if no opponent and no tie-break beats the agent, independent of `against`.  None if samples found
    no loss, which is not a proof.
    losing_line: a shortest game that the agent can lose, as cells; None if it cannot lose.
    ties: tie rule of runs, see `ties`.
    run: the agent if it is a run; otherwise `agent` describes it.
    samples: for an agent that draws by chance, whose shares are estimates; else None.
    """

    against: str
    first: tuple[float, float, float]
    second: tuple[float, float, float]
    unbeatable: dict[str, bool | None]
    losing_line: dict[str, list[int] | None]
    ties: Ties = "any"
    run: "AnyEvaluation | None" = field(default=None, repr=False, compare=False)
    agent: JudgedAgent | None = field(default=None, compare=False)
    samples: Samples | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain values with stable keys, as `--json` prints them.

        Agents other than runs add `symmetric` and `asked`; runs that draw from action probabilities add `judged`.
        """
        agent = self.agent
        folded: dict[str, Any] = {} if agent is None else {"symmetric": agent.symmetric, "asked": agent.asked}
        sampled = {} if self.samples is None else self.samples.to_dict()
        if self.run is not None and self.run.config.by_chances:
            folded["judged"] = "best moves"
        return folded | {
            "against": self.against,
            "ties": self.ties,
            **by_name((self.first, self.second), SEATS, RESULTS),
            "unbeatable": self.unbeatable,
            "losing_line": self.losing_line,
            **sampled,
        }

    def records(self) -> tuple[list[dict[str, Any]], str]:
        """Return a row for each seat."""
        shares = by_name((self.first, self.second), SEATS, RESULTS)
        proved = rows_by("seat", {"unbeatable": self.unbeatable, "losing_line": self.losing_line})
        return [{"seat": row["seat"], "against": self.against} | shares[row["seat"]] | row for row in proved], "seat"


def _may_come(graph: Graph, chosen: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return the edges (bool[E]) of rows that a game can reach if the first player follows the `chosen` edges."""
    reached = np.zeros(graph.code.size, np.bool_)
    reached[0] = True
    for row, (lo, hi) in enumerate(itertools.pairwise(graph.first_edge.tolist())):
        if reached[row]:
            kept = slice(lo, hi) if graph.ply[row] % 2 else lo + np.flatnonzero(chosen[lo:hi])
            reached[graph.child[kept]] = True
    return reached[rows_of_edges(graph)]


class AnyEvaluation(LearntTables):
    """Tables with exact evaluation.  games: number of games that they have learnt from."""

    games: int

    def leaves(self, line: list[int], seat: int) -> int | None:
        """Return the ply at which an agent in `seat` (0 or 1) leaves `line` by the ties of `play`; None if never.

        Ties are `sharp` on an enumerated board, else `soonest`.
        line: the cells of a game that the agent may play by its rule.
        """
        marks: Position = (EMPTY,) * self.board.cells
        for ply, cell in enumerate(line):
            if ply % 2 == seat:
                kept = self.sharp_cells(marks) if self.sharpens else soonest_cells(self, marks, self.candidates(marks))
                if cell not in kept:
                    return ply
            if cell == self.board.resignation:
                return None
            marks = self.board.after(marks, cell)  # the last cell may be occupied
        return None

    def common_graph(self, other: "AnyEvaluation") -> Graph:
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
            picked &= _may_come(own, picked)  # a resignation in an unreachable position does not matter
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

    def evaluation(self, against: "str | AnyEvaluation" = "random", ties: Ties = "any") -> Evaluation:
        """Return exact results against `random` moves, `optimal` ones (uniform among the best), `self` or another run.

        ties: as for `candidates`; applies to both players if the opponent is a run.
        Raises UsageError for any other opponent or ties, BoardError for a run of another board or on a growing board.
        """
        self._needs_all("an exact evaluation")
        graph = self.graph
        if isinstance(against, AnyEvaluation):
            graph, name = self.common_graph(against), against.config.learner
            opponent = against.policy_on(graph, ties)
        else:
            name = choose("opponent", against, EXACT_OPPONENTS, hints=OPPONENT_HINTS, others="a run")
            if name == "self":
                opponent = self.policy_on(graph, ties)
            else:
                opponent = random_policy(graph) if name == "random" else optimal_policy(graph, self.solution)
        seats = against.seats if isinstance(against, AnyEvaluation) else self.seats if name == "self" else SEATS
        check_meeting(self.config.learner, self.seats, name, seats)
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


PLAYED_AGAINST = ("random", "best")
"""Opponents of the exploring policy: random moves, and the best opponent."""


@dataclass(frozen=True)
class PlayedEvaluation(Printable):
    """Exact results of a run's exploring policy, as it plays while it learns.

    how: `softmax:0.1`, `chances` for a learnt policy, or `epsilon 0.1` with the epsilon of the last game.
    random, best: (win, draw, loss) as first and as second player, against random moves and against the best opponent.
    A learner that cannot play second has only the first entry.
    """

    how: str
    random: tuple[Shares, ...]
    best: tuple[Shares, ...]
    run: AnyEvaluation | None = field(default=None, repr=False, compare=False)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values with stable keys, as `--json` prints them."""
        shares = by_name((self.random, self.best), PLAYED_AGAINST, SEATS, RESULTS)
        return {"judged": "as played", "how": self.how, **shares}

    def records(self) -> tuple[list[dict[str, Any]], str]:
        """Return a row for each opponent and seat."""
        whole = self.to_dict()
        rows = [
            {"against": one, "seat": seat, **shares} for one in PLAYED_AGAINST for seat, shares in whole[one].items()
        ]
        return rows, "seat"


def epsilon_after(config: Config, games: int) -> float:
    """Return the probability of an exploratory move after `games` games."""
    return float(value_at(config.epsilon.over(config.horizon), games))


def exploration_of(config: Config, games: int = 0) -> Any:
    """Return the exploration of a learner after `games` games, for `action_probabilities.write_chances`."""
    if learner_named(config.learner).by_beads:
        return BY_BEADS
    if config.temperature is not None:
        return Softmax(np.array([config.temperature]))
    return Exploring(np.array([epsilon_after(config, games)]))


def played_chances(run: AnyEvaluation) -> Probabilities:
    """Return the move probabilities of a run in its last game.  Raises BoardError on a growing board."""
    return chances_of(exploration_of(run.config, max(run.games - 1, 0)), run.tables, run.graph, run.learner.choice)


def evaluate_as_played(run: AnyEvaluation) -> PlayedEvaluation:
    """Return the exact shares of a run's exploring policy against random moves and the best opponent.

    Raises BoardError on a board too large to enumerate.
    """
    run._needs_all("an exact evaluation")
    graph, agent, config = run.graph, played_chances(run), run.config
    seats = range(len(run.seats))
    opponents = even_chances(graph, random_policy(graph)), None
    random, best = (tuple(shares_against(graph, agent, opponent, seat) for seat in seats) for opponent in opponents)
    epsilon = epsilon_after(config, max(run.games - 1, 0))
    how = config.explore or ("chances" if config.by_chances else f"epsilon {epsilon:g}")
    return PlayedEvaluation(how, random, best, run)
