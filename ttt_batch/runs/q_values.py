"""Learnt tables with their board and learner: policies, values and preferences of positions and moves."""

import functools
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ttt_batch.compiler.numerics import softmax_probabilities
from ttt_batch.core.errors import BoardError, UsageError
from ttt_batch.core.text import Ties, check_ties
from ttt_batch.evaluation.exact_results import chances_of
from ttt_batch.evaluation.ties import SolvedAgent, best_cells, check_sharp, sharp_edges, soonest_policy
from ttt_batch.games.board import EMPTY, UNFINISHED, Position
from ttt_batch.games.graph import Graph
from ttt_batch.learners import learner_named
from ttt_batch.learners.base import PREFERENCE, VALUE, Learner, row_at
from ttt_batch.runs.base import SolverAccess
from ttt_batch.simulation.action_probabilities import BY_BEADS
from ttt_batch.simulation.policy import Policy, empty_policy, order_rows, policy_among, row_choices, write_scores

if TYPE_CHECKING:
    from ttt_batch.runs.config import Config
    from ttt_batch.runs.growing_table import GrowingTable


class _Row(NamedTuple):
    """Row of a position, and the cells in that position to which its edges belong."""

    graph: Graph
    tables: Any
    row: int
    edges: range
    cells: list[int]


class LearntTables(SolverAccess):
    """Learnt tables with their board and learner.

    config: of their training.  tables: the learner's NamedTuple of arrays.
    grown: the positions that play has reached, on a board too large to enumerate; else None.
    """

    config: "Config"
    tables: Any
    grown: "GrowingTable | None"

    own_ties = False

    @property
    def enumerated(self) -> bool:
        """Return whether the rows are all positions of the board, not only those that play has reached."""
        return self.grown is None

    @property
    def images_share(self) -> bool:
        """Return whether a row stands for all images of a position."""
        return self.config.symmetry

    @functools.cached_property
    def learner(self) -> Learner:  # type: ignore[override]
        """Return the learner's description."""
        return learner_named(self.config.learner)

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
        return soonest_policy(self.graph, self.policy, self.solution_in_plies)

    @functools.cached_property
    def sharp(self) -> Policy:
        """Return the policy with ties `sharp`.  Raises BoardError on a growing board."""
        return policy_among(self.graph, self.sharp_edges)

    @functools.cached_property
    def sharp_edges(self) -> NDArray[np.bool_]:
        """Return the edges (bool[E]) that it may pick with ties `sharp`.  Raises BoardError on growing boards."""
        check_sharp(self)
        return sharp_edges(self.graph, self.policy, self.solution_in_plies)

    @property
    def sharpens(self) -> bool:
        """Return whether the agent can play by ties `sharp`, which needs an enumerated board."""
        return self.grown is None

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

    @property
    def gives(self) -> str:
        """Return the kind of `move_values`: `value`, or `chance` for a learner of preferences."""
        return "chance" if self.learner.number == PREFERENCE else "value"

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
        return {cell: values[cell] for cell in sorted(values) if cell < len(marks) and marks[cell] == EMPTY}

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
        if (ties := check_ties(ties)) == "sharp":
            check_sharp(self)
        asked = self._row(position)
        chosen = np.zeros(len(asked.edges), np.bool_)
        row_choices(asked.tables, asked.graph, self.learner.choice, asked.row, chosen)
        cells = sorted(cell for cell, good in zip(asked.cells, chosen, strict=True) if good)
        if cells == [self.board.resignation]:
            return cells
        return best_cells(self, self.position(position), cells, ties)


class PlayingAgent(SolvedAgent, Protocol):
    """Protocol of an agent that plays and shows its values, such as a run; it may have exact values."""

    @property
    def worth(self) -> NDArray[np.float64]:
        """Return the worth of each outcome to each player, float64[P, 4], on the scale of its values."""

    def candidates(self, position: Position) -> list[int]:
        """Return the cells that its choice rule may pick for the player to move, each equally likely."""

    @property
    def gives(self) -> str:
        """Return the kind of `move_values`: `value` or `chance`."""

    @property
    def outside(self) -> bool:
        """Return True if it is not a run: it has no values, and its moves are asked for."""

    def drawn_shares(self, position: Position) -> dict[int, float] | None:
        """Return the probability of each cell if it always draws from them; None for other agents."""

    def move_values(self, position: Position) -> dict[int, float]:
        """Return the value or probability of each free cell for the player to move; NaN if never seen."""


class AgentProxy:
    """Proxy of another agent, which may change; board and worth of outcomes stay."""

    def __init__(self, agent: PlayingAgent) -> None:
        self._agent, self.board, self.worth, self.own_ties = agent, agent.board, agent.worth, agent.own_ties

    def __getattr__(self, name: str) -> Any:
        if name == "_agent":  # not set yet, in a copy
            raise AttributeError(name)
        return getattr(self._agent, name)

    def drawn_shares(self, position: Position) -> dict[int, float] | None:
        """Return None: `candidates` has drawn already."""
        return None
