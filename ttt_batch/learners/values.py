"""Tables of state values and of action values: ranking of moves, value of a row, start of a new row.

Each decorator below registers `score`, `state_value` and `begin` for a class of tables.  A learner adds its start
values and its rule, `fold` and `learn`.

`q-learning`, `sarsa`, `expected-sarsa` and `double-q` learn action values at their mover's next turn.
Each player learns separately, and the opponent belongs to its environment.  For move e(t) of a game, with s' = s(t+2)
the mover's next turn (Sutton and Barto, Reinforcement Learning, 2nd edition, sections 6.4 to 6.7):

    Q(e(t)) += alpha * (target - Q(e(t))),   t ascending
    target = the result for the mover if the game is over by then, else gamma * the value of s' for it

The value of s' is the learner's `turn_value`.  A target reads only s', which is updated later, so this equals learning
during the game.

In a batch a move's target is the mean over the opponent's replies after it, with values of s' from before the batch,
for `sarsa` the mean over the moves taken there (`batch_turn_value`).

Against a fixed opponent, `sarsa` and `expected-sarsa` learn only from the learner's own moves, because their targets
follow the policy that is played.  The targets of the other rules hold for any policy, so they learn from all moves.
"""

import functools
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ttt_batch.compiler.jit import BoolArray, Float64Array, Int64, Integer, Tables, generic, inlined
from ttt_batch.games.board import UNFINISHED
from ttt_batch.games.graph import Graph, edges_of, mover_of
from ttt_batch.learners.base import (
    Learner,
    Settings,
    Step,
    Trajectory,
    begin,
    fold,
    is_learner,
    learn,
    share_of,
    start_row,
    state_value,
    step_size,
)
from ttt_batch.simulation.policy import EXPLORING, GREEDY, Counts, best_score, score

T = TypeVar("T", bound=type[Any])


def one_value(tables: T) -> T:
    """Register kernels for tables with `value`, float64[S], each row's value for the first player."""
    score.register(tables)(_one_score)
    state_value.register(tables)(_one_value)
    begin.register(tables)(_begin_as_shared)
    return tables


def own_values(tables: T) -> T:
    """Register kernels for tables with `value`, float64[P, S], each row's value for each player."""
    score.register(tables)(_own_score)
    state_value.register(tables)(_own_value)
    begin.register(tables)(_begin_as_shared)
    return tables


def own_afterstates(tables: T) -> T:
    """Register kernels as `own_values`, for learners that value a row only for the player who moved there.

    A row in which the player moves has the best value of the rows after its moves.
    """
    score.register(tables)(_own_score)
    state_value.register(tables)(_own_afterstate)
    begin.register(tables)(_begin_as_shared)
    return tables


def own_worth(graph: Graph, worth: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return start values (float64[P, S]): the worth of each row's outcome."""
    return np.ascontiguousarray(worth[:, graph.outcome])


def _one_score(tables: Tables, graph: Graph, edge: Integer, mover: Int64) -> float:
    value = tables.value[graph.child[edge]]
    return -value if mover else value


def _one_value(tables: Tables, graph: Graph, row: np.uint64, player: Int64) -> float:
    return -tables.value[row] if player else tables.value[row]


def _own_score(tables: Tables, graph: Graph, edge: Integer, mover: Int64) -> float:
    return tables.value[mover, graph.child[edge]]


def _own_value(tables: Tables, graph: Graph, row: np.uint64, player: Int64) -> float:
    return tables.value[player, row]


def _own_afterstate(tables: Tables, graph: Graph, row: np.uint64, player: Int64) -> float:
    if mover_of(graph, row) != player:
        return tables.value[player, row]
    best = best_score(tables, graph, row, player)
    return best if best > -np.inf else np.nan


@inlined
def _copy_row(value: Float64Array, row: Int64, origin: Int64) -> None:
    if value.ndim == 1:
        value[row] = value[origin]
    else:
        for player in range(value.shape[0]):
            value[player, row] = value[player, origin]


def _begin_as_shared(tables: Tables, graph: Graph, row: Int64, worth: Float64Array, key: np.uint64) -> None:
    _copy_row(tables.value, row, start_row(graph, row))


TURN, REPLIES = 0, 1
"""The numbers of a row's scratch: gamma times what it is worth to be on turn there, and the mean of what the replies
seen there give to the other player, whose move led to it.  A row's scratch has room for four."""


@functools.partial(generic, inline=True)
def learning_table(tables: Tables, graph: Graph, step: Step) -> Any:
    """Return the action values that this batch changes (float64[E]), and the number of their first table entry."""


@functools.partial(generic, inline=True)
def turn_value(tables: Tables, graph: Graph, row: Integer, edge: Integer, step: Step) -> Any:
    """Return the value of `row` for its mover, who takes `edge` there."""


@functools.partial(generic, inline=True)
def batch_turn_value(tables: Tables, graph: Graph, row: Integer, counts: Counts, step: Step) -> Any:
    """Return the value of `row` for its mover, weighted by a batch's counts, from the tables before that batch."""


@functools.partial(generic, inline=True)
def teaches(tables: Tables, step: Step, mover: Int64) -> Any:
    """Return whether the values of this player's moves (0 or 1) are learnt."""


def own_moves(tables: T, *, own_only: bool = False) -> T:
    """Register kernels for action values with a `turn_value`, a `batch_turn_value` and a `learning_table`.

    own_only: nothing is learnt from a fixed opponent's moves, whose values belong to another policy.  Rules whose
    targets do not depend on the policy learn from them, too.
    """
    teaches.register(tables)(_learner_teaches if own_only else _both_teach)
    state_value.register(tables)(best_move_value)
    fold.register(tables)(_fold)
    learn.register(tables)(_learn)
    return tables


def best_move_value(tables: Tables, graph: Graph, row: np.uint64, player: Int64) -> float:
    """Return the best score of a row's moves to the player who moves there, and NaN to the other: `state_value`."""
    return best_score(tables, graph, row, player) if mover_of(graph, row) == player else np.nan


def _both_teach(tables: Tables, step: Step, mover: Int64) -> bool:
    return True


def _learner_teaches(tables: Tables, step: Step, mover: Int64) -> bool:
    return is_learner(step, mover)


def _fold(tables: Tables, graph: Graph, counts: Counts, step: Step, dirty: BoolArray) -> None:
    q, first = learning_table(tables, graph, step)
    taken, scratch = counts.taken, counts.scratch
    for i in range(counts.n_visited[0] - 1, -1, -1):
        row = counts.visited[i]
        mover = mover_of(graph, row)
        own, turn, replies = teaches(tables, step, mover), 0.0, 0.0
        if own:
            turn = step.gamma * batch_turn_value(tables, graph, row, counts, step)  # before the row's own moves change
        lo, hi = edges_of(graph, row)
        for edge in range(lo, hi):
            n = taken[edge, GREEDY] + taken[edge, EXPLORING]
            if n == 0:
                continue
            child = graph.child[edge]
            outcome = graph.outcome[child]
            over = outcome != UNFINISHED
            target = step.worth[mover, outcome] if over else scratch[4 * child + REPLIES]
            replies += n * (step.worth[1 - mover, outcome] if over else scratch[4 * child + TURN])
            if own:
                q[edge] += share_of(step, first + edge, n) * (target - q[edge])
        scratch[4 * row + TURN] = turn
        scratch[4 * row + REPLIES] = replies / counts.arrived[row]
        if own:
            dirty[row] = True


def _learn(tables: Tables, graph: Graph, game: Trajectory, plies: Int64, step: Step) -> None:
    q, first = learning_table(tables, graph, step)
    for ply in range(plies):
        if not teaches(tables, step, ply & 1):
            continue
        edge = game.edge[ply]
        target = step.worth[ply & 1, graph.outcome[game.row[plies]]]
        if ply + 2 < plies:
            target = step.gamma * turn_value(tables, graph, game.row[ply + 2], game.edge[ply + 2], step)
        q[edge] += step_size(step, first + edge, 1) * (target - q[edge])


Q_FIELD = {"q": ("E", "what the move is worth to the player who makes it: a win 1, a loss -1")}


def one_q(tables: T, *, own_only: bool = False) -> T:
    """Register kernels for tables with `q`, float64[E], the values of moves.  own_only: as for `own_moves`."""
    score.register(tables)(move_value)
    learning_table.register(tables)(_learning_table)
    begin.register(tables)(_begin)
    return own_moves(tables, own_only=own_only)


def start_q(graph: Graph, worth: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the start values (float64[E]), the same for every move, even one that ends the game."""
    return np.full(graph.child.size, worth[0, UNFINISHED])


def q_learner(tables: Any, **own: Any) -> Learner:
    """Return a learner by tables of `one_q`, in which each player learns by itself.  own: fields of `Learner`."""
    return Learner(
        defaults=Settings(epsilon=0.1, alpha=0.1),
        prefers_symmetry=True,
        tables=tables,
        fields=Q_FIELD,
        start=lambda graph, worth, _: tables(start_q(graph, worth)),
        edge_scores="q",
        start_value=0.0,
        loss=-1.0,
        **own,
    )


def move_value(tables: Tables, graph: Graph, edge: Integer, mover: Int64) -> float:
    """Return a move's entry of `q`, float64[E]: a body of `score`."""
    return tables.q[edge]


def _learning_table(tables: Tables, graph: Graph, step: Step) -> tuple[Float64Array, Int64]:
    return tables.q, 0


def _begin(tables: Tables, graph: Graph, row: Int64, worth: Float64Array, key: np.uint64) -> None:
    lo, hi = edges_of(graph, row)
    for edge in range(lo, hi):
        tables.q[edge] = worth[0, UNFINISHED]
