"""Parts of every learner: tables, generic kernels, settings, step sizes, and rows of growing boards.

On a growing board a row is added to the graph and to the learner's tables at once, at its start value.  With a full
table a position borrows one of a few rows that are cleared after the game, so what is learnt there is lost.
"""

import functools
import math
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_batch.compiler.jit import (
    Bool,
    BoolArray,
    Float64Array,
    Int64,
    Integer,
    Tables,
    Uint32Array,
    Uint64Array,
    generic,
    inlined,
    kernel,
)
from ttt_batch.compiler.settings import in_package
from ttt_batch.core.text import SEATS
from ttt_batch.games.board import DRAW, FIRST_WINS, SECOND_WINS, UNFINISHED
from ttt_batch.games.graph import (
    EDGES,
    FINALS,
    LOST,
    N_SHARED,
    ROWS,
    Graph,
    Growth,
    clear_board,
    expand,
    find_row,
    has_room,
    link,
    lowest_image,
    n_borrowed,
    n_unfinished,
    remember,
    show_code,
)
from ttt_batch.simulation.action_probabilities import WIDEST
from ttt_batch.simulation.policy import UNIFORM, Choice, Counts
from ttt_batch.simulation.walk import explores_at

TABULATED = 1024
"""Visits whose weight is tabulated; expm1 and log1p in the fold cost more than the fold itself."""


class Step(NamedTuple):
    """The numbers of a fold, as they stand for one batch.

    alpha: step size, (0, 1].  gamma: discount, [0, 1].
    weights: float64[1024], `visit_weight(alpha, n)` for small n.
    worth: float64[P, 4], what each outcome is worth to each player.
    power: 0, or p where the step size of a value's n-th visit is 1 / n**p.
    visits: float64, a number per entry of the table (none where `power` is 0): updates so far, kept by `share_of`.
    epsilon: probability of an exploratory move, [0, 1].  seat: the player that it holds for, -1 for both.
    game: the batch's first game.  chance: uint64[1], the key of the stream from which a rule itself may draw.
    lambda_, cut: of learners that have traces, beta: of those with a second table, see `Settings`.
    temperature: of play by softmax; 0 for epsilon-greedy play.  room: float64[64], scratch for the moves of a row.
    """

    alpha: float
    gamma: float
    weights: Float64Array
    worth: Float64Array
    power: float
    visits: Float64Array
    epsilon: float
    seat: int
    game: int
    chance: Uint64Array
    lambda_: float
    cut: bool
    beta: float
    temperature: float
    room: Float64Array


@inlined
def with_game(step: Step, alpha: float, epsilon: float, seat: Int64, game: Int64) -> "Step":
    """Return the numbers of a batch that begins with `game`."""
    return Step(
        alpha=alpha,
        gamma=step.gamma,
        weights=step.weights,
        worth=step.worth,
        power=step.power,
        visits=step.visits,
        epsilon=epsilon,
        seat=np.int64(seat),  # type: ignore[arg-type]
        game=np.int64(game),  # type: ignore[arg-type]
        chance=step.chance,
        lambda_=step.lambda_,
        cut=step.cut,
        beta=step.beta,
        temperature=step.temperature,
        room=step.room,
    )


@inlined
def is_learner(step: Step, mover: Int64) -> bool:
    """Return whether this player (0 or 1) is the learner, not a fixed opponent."""
    return step.seat < 0 or mover == step.seat


@inlined
def exploring_share(step: Step, mover: Int64) -> float:
    """Return the probability of an exploratory move of this player (0 or 1); 0 for one that never explores."""
    return step.epsilon if is_learner(step, mover) else 0.0


@inlined
def visit_weight(alpha: float, n: float) -> float:
    """Return the combined size of `n` steps of size `alpha` towards their mean target: 1 - (1 - alpha)**n, n real.

    It is exactly `alpha` for n = 1, so a batch of one game equals the sequential algorithm to the last bit.
    """
    if n == 1:
        return alpha
    if n == 0:
        return 0.0
    if alpha == 1.0 or n * alpha > 40.0:  # beyond 40 the formula rounds to 1, at 20 times the cost
        return 1.0
    return -math.expm1(n * math.log1p(-alpha))


@kernel
def fill_weights(alpha: float, weights: Float64Array) -> None:
    """Tabulate `visit_weight`; `weights` (float64[N]) is modified in place."""
    for n in range(weights.shape[0]):
        weights[n] = visit_weight(alpha, float(n))


@inlined
def step_size(step: Step, entry: Integer, n: float) -> float:
    """Return the step size of a table entry in this batch; add `n` to its visits if they matter."""
    if step.power == 0.0:
        return step.alpha
    before = step.visits[entry]
    step.visits[entry] = before + n
    return (before + 1.0) ** -step.power


@inlined
def share_of(step: Step, entry: Integer, n: float) -> float:
    """Return the combined step size of a table entry towards its mean target, for `n` visits in a batch.

    n: int, or float where visits are fractional.
    """
    if step.power == 0.0:
        whole = int(n)
        return step.weights[whole] if whole == n and whole < TABULATED else visit_weight(step.alpha, float(n))
    return visit_weight(step_size(step, entry, n), float(n))


def make_step(
    alpha: float,
    gamma: float,
    worth: NDArray[np.float64],
    power: float = 0.0,
    visits: NDArray[np.float64] | None = None,
    *,
    epsilon: float = 0.0,
    temperature: float | None = None,
    chance: Any = np.uint64(0),  # noqa: B008 - a number
    **own: Any,
) -> Step:
    """Return a step for self-play from game 0, with `weights` filled.

    chance: the key, not an array of it.  own: `OwnNumbers`, of which a step has some; kernels read 0 for None.
    """
    weights = np.zeros(TABULATED)
    fill_weights(alpha, weights)
    return Step(
        alpha=float(alpha),
        gamma=float(gamma),
        weights=weights,
        worth=worth,
        power=float(power),
        visits=np.zeros(0) if visits is None else visits,
        epsilon=float(epsilon),
        seat=-1,
        game=0,
        chance=np.array([chance], np.uint64),
        temperature=float(temperature or 0.0),
        room=np.zeros(WIDEST),
        **{name: kind(own.get(name) or 0) for name, kind in Step.__annotations__.items() if hasattr(OwnNumbers, name)},
    )


VALUE, PREFERENCE = "value", "preference"
"""Numbers that a learner's table may hold of a move, see `Learner.number`."""


class Trajectory(NamedTuple):
    """One played game.

    row: uint32[plies + 1], the positions from the empty board to the final one.
    edge: uint32[plies], the moves.  exploring: uint64, which of them were exploratory: bit p for the move of ply p.
    settled: bool[U], False at first: rows that were played greedily and whose update changed nothing, until a child
    changes.  They need no update and no look at their best moves.  All False if step sizes depend on visits.  None if
    it is not kept: for other learners (`Learner.settles`), step sizes that change with the games, fixed opponents.
    """

    row: Uint32Array
    edge: Uint32Array
    exploring: np.uint64
    settled: BoolArray | None


def make_trajectory(plies: int, settling: int = 0) -> Trajectory:
    """Return space for a game of up to `plies` plies, and for the settled ones of `settling` rows."""
    return Trajectory(
        row=np.zeros(plies + 1, np.uint32),
        edge=np.zeros(plies, np.uint32),
        exploring=np.uint64(0),
        settled=np.zeros(settling, np.bool_) if settling else None,
    )


@inlined
def with_exploring(game: Trajectory, exploring: np.uint64) -> "Trajectory":
    """Return the same game with another set of exploratory moves."""
    return Trajectory(game.row, game.edge, exploring, game.settled)


@inlined
def explored(game: Trajectory, ply: Int64) -> bool:
    """Return whether the move of `ply` was exploratory."""
    return explores_at(game.exploring, ply)


@inlined
def is_settled(settled: BoolArray | None, row: Integer) -> bool:
    """Return whether `row` needs neither an update nor a search for its best moves; settled: see `Trajectory`."""
    if settled is None:
        return False
    return settled[row]


@generic
def fold(tables: Tables, graph: Graph, counts: Counts, step: Step, dirty: BoolArray) -> Any:
    """Fold a batch's counts into `tables` (modified in place), deepest rows first.

    counts: `counts.taken` is undefined outside the rows in `counts.visited`.
    dirty: bool[U], set to True for every row whose ranking of moves may have changed.
    """


@functools.partial(generic, inline=True)
def learn(tables: Tables, graph: Graph, game: Trajectory, plies: Int64, step: Step) -> Any:
    """Learn from one game of `plies` moves, sequentially; `tables` is modified in place.

    To the last bit what `fold` makes of a batch of this one game.  Changes only the entries of the game's positions and
    moves, and `game.settled`: `sequential` relies on it.
    """


@functools.partial(generic, inline=True)
def state_value(tables: Tables, graph: Graph, row: Integer, player: Int64) -> Any:
    """Return the value of `row` for `player` (0 or 1) on the learner's own scale; NaN if unvisited."""


@functools.partial(generic, inline=True)
def begin(tables: Tables, graph: Graph, row: Integer, worth: Float64Array, key: np.uint64) -> Any:
    """Give a new row of a growing board, and its edges, their start values; `tables` is modified in place.

    worth: float64[P, 4].  key: uint64, for start values drawn by chance.  See `start_row`.
    """


@inlined
def start_row(graph: Graph, row: Int64) -> np.int64:
    """Return the shared row (see `games.graph`) with the start value of `row`."""
    return n_unfinished(graph) + np.int64(graph.outcome[row])


@inlined
def mark_parents(graph: Graph, row: Integer, marks: BoolArray | Float64Array, mark: Bool | float) -> None:
    """Set `marks` (one entry per row) to `mark` for every row with a move into `row`, in place."""
    for i in range(np.int64(graph.first_parent[row]), np.int64(graph.first_parent[row + 1])):
        marks[graph.parent[i]] = mark


@dataclass(frozen=True)
class Numbers:
    """Numbers that every learner has.

    epsilon: probability of an exploratory move, [0, 1].  alpha: step size, (0, 1].  gamma: discount, [0, 1].
    draw_worth: worth of a draw to the first and the second player, on the learner's own scale.
    """

    epsilon: float
    alpha: float
    gamma: float = 1.0
    draw_worth: tuple[float, float] = (0.0, 0.0)


@dataclass(frozen=True)
class OwnNumbers:
    """Numbers that only some learners have; None for those that lack it.

    start_value: start of unfinished positions or moves; None for the learner's own start.
    lambda_: of the lambda-return, [0, 1].  cut: True if an exploratory move ends the return.
    beta: the step size of a second table, (0, 1].  explore: `softmax:T` instead of epsilon.
    beads: initial beads of each kind in a box, a number for each turn of the first player: `4,3,2,1`.
    rewards: beads that a win, a draw and a loss add to those drawn, as text: `3,1,-1`.
    """

    start_value: float | None = None
    lambda_: float | None = None
    cut: bool | None = None
    beta: float | None = None
    explore: str | None = None
    beads: str | None = None
    rewards: str | None = None


@dataclass(frozen=True)
class Settings(OwnNumbers, Numbers):
    """Numbers of a learner."""


BEST = Choice(UNIFORM, 0.0)


@dataclass(frozen=True)
class Learner:
    """Learning rule with its tables and defaults.

    name: its name on the command line.  source: the publication.  rule: the update; both in one line.
    defaults, games: its settings and the published number of games.  choice: rule among greedy moves.
    zero_sum: one table from the first player's side (a win 1, a loss -1), otherwise one per player (1 and 0).
    occupied: it may choose occupied cells, too.  final_rows: it learns a value for each final position.
    prefers_symmetry: on growing boards it learns better with one row for all images of a position.
    tables: the NamedTuple of its arrays; fields: for each, its axes and meaning.
    start: makes the start tables for a graph, the worths and a seeded generator.
    start_by: makes them from a graph and the settings instead, if they depend on more than the worths.
    settles: its `learn` updates `Trajectory.settled`.
    edge_scores: the table (float64[E]) of the scores of edges, if there is one.  An update never makes a score NaN, or
    larger than all scores and worths.
    arrivals: its `fold` reads only `counts.arrived`, so threads may fold rows of a ply separately.
    repeats: with its defaults most games repeat the one before.
    temperature: that of its softmax policy, if it always plays one; otherwise None.
    number: what its table holds for a move: a `value`, or a `preference`, the input of softmax.
    undiscounted: its rule has no discount, so gamma is 1.
    start_value: the start of unfinished positions or moves; None if it is not one number.
    loss: worth of a loss.
    seats: those that it can play; with one alone it needs an opponent.  resigns: it may resign instead of moving.
    """

    name: str
    source: str
    rule: str
    defaults: Settings
    _: KW_ONLY
    games: int = 1_000_000
    choice: Choice = BEST
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
    seats: tuple[str, ...] = SEATS
    resigns: bool = False
    start_by: Callable[[Graph, Settings], Any] | None = None

    def fresh(self, graph: Graph, settings: Settings, rng: np.random.Generator) -> Any:
        """Return the start tables for a graph, settings, and a seeded generator."""
        if self.start_by is not None:
            return self.start_by(graph, settings)
        return self.start(graph, self.worth(settings), rng)

    @property
    def by_beads(self) -> bool:
        """Return True for MENACE: on 3x3, with one box for all images of a position, it draws moves by beads.

        It has rewards instead of worths and no step size, so a game may change values by any amount.
        """
        return self.defaults.beads is not None

    @property
    def by_chances(self) -> bool:
        """Return True if it always draws its moves from learnt probabilities."""
        return self.temperature is not None or self.by_beads

    @property
    def by_moves(self) -> bool:
        """Return True if its (first) table has entries for edges: E, or several times E."""
        return self.fields[self.tables._fields[0]][0].endswith("E")

    @property
    def by_arrivals(self) -> bool:
        """Return True if `fold` needs only arrivals; False for learners from outside, whose `fold` may read more."""
        return self.arrivals and in_package(self.tables)

    @property
    def lost(self) -> float:
        """Return the worth of a loss: -1 with one table from the first player's side."""
        return -1.0 if self.zero_sum else self.loss

    def worth(self, settings: Settings) -> NDArray[np.float64]:
        """Return the worth of each outcome to each player on this learner's scale (float64[P, 4]).

        The worth of unfinished is the start value of positions or moves, 0 without one.
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


@inlined
def borrow_row(
    tables: Tables, graph: Graph, growth: Growth, code: Int64, image: Int64, ply: Int64, worth: Float64Array
) -> np.int64:
    """Reset the borrowed row for unfinished positions of `ply` to the game's position, in place; return the row.

    code, image: the lowest code of the position's images, and the image that has it.
    """
    row = n_unfinished(graph) - n_borrowed(growth) + ply * growth.rows_a_ply
    graph.code[row], graph.ply[row] = code, ply
    graph.first_edge[row + 1] = expand(graph, growth, ply, image, np.int64(graph.first_edge[row]))
    begin(tables, graph, row, worth, growth.key)
    return row


@inlined
def enter_row(
    tables: Tables, graph: Graph, growth: Growth, code: Int64, row: Int64, ply: Int64, worth: Float64Array
) -> Int64:
    """Give the position of the game, with this lowest code, a row of its own, in place; return the row."""
    graph.code[row], graph.ply[row] = code, ply
    remember(growth, code, row)
    begin(tables, graph, row, worth, growth.key)
    link(graph, growth, row, ply)
    return row


@inlined
def add_row(tables: Tables, graph: Graph, growth: Growth, ply: Int64, worth: Float64Array) -> Int64:
    """Add a row for the unfinished position of the game, in place; return it, or a borrowed one in a full table."""
    code, image = lowest_image(growth)
    if not has_room(graph, growth, 1):
        growth.used[LOST] += 1
        return borrow_row(tables, graph, growth, code, image, ply, worth)
    row = growth.used[ROWS]
    edge = expand(graph, growth, ply, image, growth.used[EDGES])
    graph.first_edge[row + 1] = edge
    growth.used[ROWS], growth.used[EDGES] = row + 1, edge
    return enter_row(tables, graph, growth, code, row, ply, worth)


@inlined
def add_final(tables: Tables, graph: Graph, growth: Growth, ply: Int64, shared: Int64, worth: Float64Array) -> Int64:
    """Add a row for the final position of the game, in place; return it, or the borrowed last row if the table is full.

    ply: marks on the board.  shared: the row of all final positions with this outcome.
    """
    if not has_room(graph, growth, 1):
        growth.used[LOST] += 1
        row = np.int64(graph.code.shape[0] - 1)
        graph.ply[row], graph.outcome[row] = ply, graph.outcome[shared]
        begin(tables, graph, row, worth, growth.key)
        return row
    row = n_unfinished(graph) + N_SHARED + growth.used[FINALS]
    graph.outcome[row] = graph.outcome[shared]
    growth.used[FINALS] += 1
    return enter_row(tables, graph, growth, lowest_image(growth)[0], row, ply, worth)


@kernel
def row_at(tables: Tables, graph: Graph, growth: Growth, code: Int64, ply: Int64, worth: Float64Array) -> Any:
    """Return the row (a borrowed one if none exists) and the image of an unfinished position.  `growth` is scratch."""
    show_code(growth, code)
    lowest, image = lowest_image(growth)
    row = find_row(graph, growth, lowest)
    if row < 0:
        row = borrow_row(tables, graph, growth, lowest, image, ply, worth)
    return np.int64(row), image


@kernel
def add_first(tables: Tables, graph: Graph, growth: Growth, worth: Float64Array) -> None:
    """Add the empty board, in place."""
    clear_board(growth)
    add_row(tables, graph, growth, 0, worth)


@kernel
def begin_rows(tables: Tables, graph: Graph, first: Int64, worth: Float64Array, key: np.uint64) -> None:
    """Give the unfinished rows from `first` on, and all final ones, their start values; `tables` changes in place."""
    for row in range(first, n_unfinished(graph)):
        begin(tables, graph, row, worth, key)
    for row in range(n_unfinished(graph) + N_SHARED, graph.code.shape[0]):
        begin(tables, graph, row, worth, key)


@inlined
def forget_borrowed(graph: Graph, growth: Growth, visits: Float64Array) -> None:
    """Set the visits (one per entry of the table, in place) of all borrowed rows back to none."""
    n_open, n_rows, n_edges = n_unfinished(graph), graph.code.shape[0], graph.child.shape[0]
    if visits.shape[0] == n_edges or visits.shape[0] == 2 * n_edges:  # more than twice the rows, in any case
        for start in range(0, visits.shape[0], n_edges):
            for edge in range(np.int64(graph.first_edge[n_open - n_borrowed(growth)]), n_edges):
                visits[start + edge] = 0.0
        return
    for start in range(0, visits.shape[0], n_rows):
        for row in range(n_open - n_borrowed(growth), n_open):
            visits[start + row] = 0.0
        visits[start + n_rows - 1] = 0.0 if growth.finals else visits[start + n_rows - 1]
