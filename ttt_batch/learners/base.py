"""What every learner is made of: a NamedTuple of tables, the bodies of generic kernels for it, and a `Learner`."""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_batch.base.jit import generic, inlined
from ttt_batch.base.kernel_cache import in_package
from ttt_batch.game.board import DRAW, FIRST_WINS, SECOND_WINS, UNFINISHED
from ttt_batch.game.graph import Graph, n_unfinished
from ttt_batch.simulation.exploration import explores_at
from ttt_batch.simulation.policy import Choice

VALUE, PREFERENCE = "value", "preference"
"""What a learner's table may say of a move, see `Learner.number`."""


class Trajectory(NamedTuple):
    """One played game.

    row: uint32[plies + 1], the positions from the empty board to the final one.
    edge: uint32[plies], the moves.  exploring: uint64, which of them were exploratory: bit p for the move of ply p.
    settled: bool[U], False at first: rows that were played greedily and whose update changed nothing, until a child
    changes.  They need no update and no look at their best moves.  All False if step sizes depend on visits.  None if
    it is not kept: for other learners (`Learner.settles`), step sizes that change with the games, fixed opponents.
    """

    row: Any
    edge: Any
    exploring: Any
    settled: Any


def make_trajectory(plies: int, settling: int = 0) -> Trajectory:
    """Space for a game of up to `plies` plies, and for which of `settling` rows are settled, if any."""
    return Trajectory(
        np.zeros(plies + 1, np.uint32),
        np.zeros(plies, np.uint32),
        np.uint64(0),
        np.zeros(settling, np.bool_) if settling else None,
    )


@inlined
def with_exploring(game: Trajectory, exploring: Any) -> Any:
    """The same game with another set of exploratory moves."""
    return Trajectory(game.row, game.edge, exploring, game.settled)


@inlined
def explored(game: Trajectory, ply: Any) -> Any:
    """Whether the move of `ply` was exploratory."""
    return explores_at(game.exploring, ply)


@inlined
def is_settled(settled: Any, row: Any) -> Any:
    """Whether `row` needs no update and no look at its best moves; settled: see `Trajectory`."""
    if settled is None:
        return False
    return settled[row]


@generic
def fold(tables: Any, graph: Any, counts: Any, step: Any, stale: Any) -> Any:
    """Fold a batch's counts into `tables` (modified in place), deepest rows first.

    counts: only the rows in `counts.visited` hold anything.
    stale: bool[U], set for every row whose order of moves may have changed.
    """


@functools.partial(generic, inline=True)
def learn(tables: Any, graph: Any, game: Any, plies: Any, step: Any) -> Any:
    """Learn from one game of `plies` moves, sequentially; `tables` is modified in place.

    To the last bit what `fold` makes of a batch of this one game.  Changes only the entries of the game's positions and
    moves, and `game.settled`: `sequential` relies on it.
    """


@functools.partial(generic, inline=True)
def state_value(tables: Any, graph: Any, row: Any, player: Any) -> Any:
    """What `row` is worth to `player` (0 or 1) by the table, on the learner's own scale; NaN where never seen."""


@functools.partial(generic, inline=True)
def begin(tables: Any, graph: Any, row: Any, worth: Any, key: Any) -> Any:
    """Give a new row of a growing board, and its edges, their start values; `tables` is modified in place.

    worth: float64[P, 4].  key: uint64, for start values drawn by chance.  See `start_row`.
    """


@inlined
def start_row(graph: Graph, row: Any) -> Any:
    """The shared row (see `growing_graph`) that holds what `row` is worth at the start."""
    return n_unfinished(graph) + np.int64(graph.outcome[row])


@inlined
def mark_parents(graph: Graph, row: int, marks: Any, mark: Any) -> None:
    """Set `marks` (an entry a row) to `mark` for every row with a move into `row`, in place."""
    for i in range(np.int64(graph.first_parent[row]), np.int64(graph.first_parent[row + 1])):
        marks[graph.parent[i]] = mark


@dataclass(frozen=True)
class Settings:
    """A learner's numbers.

    epsilon: probability of an exploratory move, [0, 1].  alpha: step size, (0, 1].  gamma: discount, [0, 1].
    draw_worth: what a draw is worth to the first and to the second player, on the learner's own scale.
    start_value: what unfinished positions or moves start at; None for the learner's own start.
    lambda_: the share of a return that goes on to what came later, [0, 1].  cut: whether an exploratory move ends it.
    beta: the step size of a second table, (0, 1].  explore: `softmax:T` instead of epsilon.
    beads: of each kind in a box at the beginning, by the first player's turn, as text: `4,3,2,1`.
    rewards: beads that a win, a draw and a loss add to those drawn, as text: `3,1,-1`.
    None for learners that have no such number.
    """

    epsilon: float
    alpha: float
    gamma: float
    draw_worth: tuple[float, float]
    start_value: float | None = None
    lambda_: float | None = None
    cut: bool | None = None
    beta: float | None = None
    explore: str | None = None
    beads: str | None = None
    rewards: str | None = None


@dataclass(frozen=True)
class Learner:
    """One way to learn.

    name: as the command line writes it.  source: where it comes from, in a line.  rule: the update, in a line.
    defaults, games: its settings and the published number of games.  choice: how it picks among greedy moves.
    zero_sum: one table seen from the first player's side (a win 1, a loss -1), else each player's own (1 and 0).
    occupied: occupied cells are moves, too.  final_rows: it learns a value for each end of a game.
    prefers_symmetry: on boards too large to enumerate it does better with one row for all images of a position.
    tables: the NamedTuple of its arrays; fields: for each, its axes and meaning.
    start: makes the start tables for a graph, the worths and a seeded generator.
    start_by: makes them for a graph and the settings instead, if they depend on more than the worths.
    settles: its `learn` keeps `Trajectory.settled`.
    edge_scores: the table (float64[E]) whose entries are the scores of edges, if there is one; no update makes them NaN
    or larger than the largest of them and the worths.
    arrivals: its `fold` reads `counts.arrived` alone, not how often moves were taken, and the rows of a ply may be
    folded apart: several threads do.
    repeats: at its defaults it explores so seldom, and in steps so small, that most games repeat the one before.
    temperature: of the softmax of its scores by which it plays, and cannot play otherwise; None for any other learner.
    number: what its table says of a move: a `value`, or a `preference`, of which softmax makes chances.
    undiscounted: its rule has no discount, so gamma is 1.
    start_value: the number that unfinished positions or moves start at; None if there is no such number.
    loss: what a loss is worth.
    boxes: it plays first on 3x3 alone, a box for all images of a position, and draws moves by the beads in it; an empty
    box resigns.  It has rewards instead of worths, and no step size, so a game may move its values however far.
    """

    name: str
    source: str
    rule: str
    defaults: Settings
    games: int
    choice: Choice
    tables: type[Any]
    fields: dict[str, tuple[str, str]]
    start: Callable[[Graph, NDArray[np.float64], np.random.Generator], Any]
    zero_sum: bool = False
    occupied: bool = False
    final_rows: bool = False
    prefers_symmetry: bool = False
    settles: bool = False
    edge_scores: str | None = None
    arrivals: bool = False
    repeats: bool = False
    temperature: float | None = None
    number: str = VALUE
    undiscounted: bool = False
    start_value: float | None = None
    loss: float = 0.0
    boxes: bool = False
    start_by: Callable[[Graph, Settings], Any] | None = None

    def fresh(self, graph: Graph, settings: Settings, rng: np.random.Generator) -> Any:
        """The start tables for a graph, settings, and a seeded generator."""
        if self.start_by is not None:
            return self.start_by(graph, settings)
        return self.start(graph, self.worth(settings), rng)

    @property
    def by_chances(self) -> bool:
        """Whether it draws its moves from chances that it learns, and cannot play otherwise."""
        return self.temperature is not None or self.boxes

    @property
    def by_moves(self) -> bool:
        """Whether the entries of its (first) table are those of edges: E, or several times E."""
        return self.fields[self.tables._fields[0]][0].endswith("E")

    @property
    def by_arrivals(self) -> bool:
        """Whether it is enough to count arrivals.  Tables from outside have a `fold` that nothing is known of, even if
        all else of their learner is taken from one of the package."""
        return self.arrivals and in_package(self.tables)

    @property
    def lost(self) -> float:
        """What a loss is worth: -1 if one table is seen from the first player's side."""
        return -1.0 if self.zero_sum else self.loss

    def worth(self, settings: Settings) -> NDArray[np.float64]:
        """float64[P, 4]: what each outcome is worth to each player on this learner's scale.

        Unfinished: what positions or moves start at, 0 if that is no number.
        """
        if settings.rewards is not None:
            win, draw, loss = map(float, settings.rewards.split(","))
            return np.array([[0.0, win, loss, draw], [0.0, -win, -loss, -draw]])
        worth = np.zeros((2, 4))
        worth[:, DRAW] = settings.draw_worth
        worth[0, FIRST_WINS] = worth[1, SECOND_WINS] = 1.0
        worth[0, SECOND_WINS] = worth[1, FIRST_WINS] = self.lost
        if self.zero_sum:
            worth[1, DRAW] = -worth[0, DRAW]
        worth[:, UNFINISHED] = (self.start_value if settings.start_value is None else settings.start_value) or 0.0
        return worth
