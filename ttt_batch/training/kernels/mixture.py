"""Batches of learners whose moves have chances of their own, or whose opponent's have (`simulation.chances`)."""

import functools
from typing import Any

import numpy as np

from ttt_batch.base.jit import generic, inlined, kernel
from ttt_batch.game.graph import Graph, edges_of, n_unfinished
from ttt_batch.runs.schedules import value_at
from ttt_batch.simulation.chances import Exploring, Softmax, copy_chances, spread
from ttt_batch.simulation.counts import list_visited
from ttt_batch.simulation.flow import batch_base
from ttt_batch.simulation.mixture import Mixture, complete_drawn, lay_out
from ttt_batch.simulation.mixture_flow import Streams, share_out
from ttt_batch.simulation.policy import Choice, order_row
from ttt_batch.training.kernels.batch import (
    Decays,
    Learning,
    Workspace,
    count_walked,
    list_changed,
    order_stale,
    play_batch,
    prepare,
    walk_batch,
)


@functools.partial(generic, inline=True)
def retune(how: Any, decays: Decays, game: int) -> Any:
    """Set what changes with the games in the way to play, in place; return whether all chances have changed."""


@retune.register(Softmax)
def _keep(how: Softmax, decays: Decays, game: int) -> Any:
    return False


@retune.register(Exploring)
def _set_epsilon(how: Exploring, decays: Decays, game: int) -> Any:
    before, how.epsilon[0] = how.epsilon[0], value_at(decays.epsilon, game)
    return how.epsilon[0] != before


@inlined
def find_chances(way: Any, learning: Learning, owned: Any, row: Any, chance: Any) -> None:
    """Write the chances of the moves of `row` into `chance` (float64[128], see `spread`), in place.

    way: what holds `how` and `rival`.  owned: whether the learner moves there, and not its opponent.
    """
    tables, graph, choice, _, _ = learning
    if owned:
        spread(way.how, tables, graph, choice, row, chance)
    else:
        copy_chances(way.rival, graph, row, chance)


@inlined
def lay_out_row(way: Mixture, learning: Learning, work: Workspace, row: Any) -> None:
    """Lay out the chances of one row; `way` is modified in place."""
    lo, hi = edges_of(learning.graph, row)
    find_chances(way, learning, work.owned[row], row, way.table.chance)
    way.columns[row] = lay_out(way.table, 2 * (hi - lo), way.column, 2 * lo)


@kernel
def lay_out_rows(way: Mixture, learning: Learning, work: Workspace) -> None:
    """Lay out the chances of every row, the opponent's, too; `way` is modified in place."""
    for row in range(n_unfinished(learning.graph)):
        lay_out_row(way, learning, work, row)


@list_changed.register(Mixture)
def _every_stale(way: Mixture, tables: Any, graph: Graph, choice: Choice, work: Workspace) -> Any:
    n = np.int64(0)
    for row in range(n_unfinished(graph)):
        work.rows[n] = row
        n += work.stale[row] & work.owned[row]
        work.stale[row] = False
    for i in range(n):
        order_row(tables, graph, choice, work.policy, work.rows[i])
    return n


@list_changed.register(Streams)
def _best_changed(way: Streams, tables: Any, graph: Graph, choice: Choice, work: Workspace) -> Any:
    return order_stale(tables, graph, choice, work)


@prepare.register(Mixture)
def _(way: Mixture, learning: Learning, work: Workspace, n_changed: int, game: int) -> None:
    if retune(way.how, learning.decays, game):
        for row in range(n_unfinished(learning.graph)):
            lay_out_row(way, learning, work, row)
    else:
        for i in range(n_changed):
            lay_out_row(way, learning, work, work.rows[i])


@count_walked.register(Mixture)
def _(way: Mixture, graph: Graph, work: Workspace, games: int) -> None:
    complete_drawn(graph, way.drawn, work.counts, games)
    if way.every:
        work.stale[:] = True
    else:  # a fold marks rows whose order changes, and a chance changes with every value
        for i in range(work.counts.n_visited[0]):
            work.stale[work.counts.visited[i]] = True


play_batch.register(Mixture)(walk_batch)


@play_batch.register(Streams)
def _flow(way: Streams, learning: Learning, work: Workspace, _n_changed: int, key: Any, bounds: Any) -> None:
    game, end = bounds
    graph, counts = learning.graph, work.counts
    retune(way.how, learning.decays, game)
    base = batch_base(key, game)
    counts.arrived[0] = end - game
    n: Any = np.int64(0)
    for ply in range(graph.ply_start.shape[0] - 1):
        first, n = n, list_visited(graph, counts, ply, n)
        for i in range(first, n):
            row = counts.visited[i]
            find_chances(way, learning, work.owned[row], row, way.table.chance)
            share_out(graph, way, base, counts, row)
    counts.n_visited[0] = n
