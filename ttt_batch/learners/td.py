"""`td`, the default: Q-learning on afterstates with one table seen from the first player's side.

For every visited unfinished position, deepest first:

    V(s) += w(n) * (gamma * best over all children s' of V(s') - V(s))

with best = max where the first player moves and min where the second does, the children already folded.
Exploration needs no mask: the target does not depend on the move played, so in a deterministic two-player game
the values settle on the true ones.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_batch.base.jit import inlined
from ttt_batch.game.graph import Graph, edges_of, mover_of
from ttt_batch.learners.base import (
    Learner,
    Settings,
    Trajectory,
    begin,
    explored,
    fold,
    is_settled,
    learn,
    mark_parents,
    start_row,
    state_value,
)
from ttt_batch.learners.steps import Step, share_of, step_size
from ttt_batch.simulation.counts import Counts
from ttt_batch.simulation.policy import UNIFORM, Choice, score


class TdTables(NamedTuple):
    """value: float64[S], what a position is worth to the first player; a win 1, a loss -1."""

    value: Any


def start(graph: Graph, worth: NDArray[np.float64], _: np.random.Generator) -> TdTables:
    """Final positions hold their worth, unfinished ones 0."""
    return TdTables(worth[0, graph.outcome])


@score.register(TdTables)
def _score(tables: TdTables, graph: Graph, edge: int, mover: int) -> Any:
    value = tables.value[graph.child[edge]]
    return -value if mover else value


@state_value.register(TdTables)
def _state_value(tables: TdTables, graph: Graph, row: int, player: int) -> Any:
    return -tables.value[row] if player else tables.value[row]


@inlined
def _best_child(tables: TdTables, graph: Graph, row: int) -> Any:
    """The value of the child that is best for whoever moves in `row`."""
    value = tables.value
    lo, hi = edges_of(graph, row)
    best = value[graph.child[np.uint64(lo)]]
    if mover_of(graph, row):  # a loop for each player: no number has to change its sign
        for edge in range(lo + 1, hi):
            there = value[graph.child[np.uint64(edge)]]
            best = there if there < best else best
    else:
        for edge in range(lo + 1, hi):
            there = value[graph.child[np.uint64(edge)]]
            best = there if there > best else best
    return best


@fold.register(TdTables)
def _fold(tables: TdTables, graph: Graph, counts: Counts, step: Step, stale: Any) -> None:
    # A row that has reached its target needs no lesson until a child changes: 1.08 times as many games.  Every lesson
    # counts where visits do, and growing boards know no parents.
    value, reached = tables.value, counts.scratch
    keeps = step.power == 0.0 and graph.parent.shape[0] > 0
    for i in range(counts.n_visited[0] - 1, -1, -1):
        row = counts.visited[i]
        if keeps and reached[row] != 0.0:
            continue
        before = value[row]
        way = step.gamma * _best_child(tables, graph, row) - before
        value[row] = before + share_of(step, row, counts.arrived[row]) * way
        reached[row] = way == 0.0
        if value[row] != before:
            mark_parents(graph, row, stale, True)
            mark_parents(graph, row, reached, 0.0)


@inlined
def _note(graph: Graph, settled: Any, row: Any, steady: bool, changed: bool, doubtful: bool) -> None:
    """Keep `settled` (see `Trajectory`) after an update that `changed` the row or not.  steady: constant step size."""
    if settled is None:
        return
    if steady:  # where visits count, every lesson does
        settled[row] = not (changed or doubtful)
        if changed:
            mark_parents(graph, row, settled, False)


@learn.register(TdTables)
def _learn(tables: TdTables, graph: Graph, game: Trajectory, plies: int, step: Step) -> None:
    # With a constant step size a row whose lesson changed nothing needs none until a child changes; in the end nearly
    # all rows are so (1.4 times).  `settled` asks a little more, see `Trajectory`.
    value = tables.value
    moved = False  # the child, just now
    for ply in range(plies - 1, -1, -1):
        row = game.row[np.uint64(ply)]
        if is_settled(game.settled, row):
            moved = False
            continue
        before = value[row]
        value[row] = before + step_size(step, row, 1) * (step.gamma * _best_child(tables, graph, row) - before)
        changed = value[row] != before
        _note(graph, game.settled, row, step.power == 0.0, changed, moved or explored(game, ply))
        moved = changed


@begin.register(TdTables)
def _begin(tables: TdTables, graph: Graph, row: Any, worth: Any, key: Any) -> None:
    tables.value[row] = tables.value[start_row(graph, row)]


LEARNER = Learner(
    name="td",
    source="ours: Q-learning on afterstates; one shared table",
    rule="V(s) += w * (gamma * best child V(s') - V(s)), every visited position, deepest first",
    defaults=Settings(epsilon=0.3, alpha=0.5, gamma=1.0, draw_worth=(0.0, 0.0)),
    games=1_000_000,
    choice=Choice(UNIFORM, 0.0),
    zero_sum=True,
    occupied=False,
    final_rows=False,
    prefers_symmetry=True,
    tables=TdTables,
    fields={"value": ("S", "what the position is worth to the first player: a win 1, a loss -1")},
    start=start,
    settles=True,
)
