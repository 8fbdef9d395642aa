"""Batches of learners whose moves have chances of their own, or whose opponent's have (`simulation.chances`)."""

import functools
from typing import Any

import numpy as np

from ttt_batch.base.jit import generic, inlined, kernel
from ttt_batch.game.graph import Graph, edges_of, n_unfinished
from ttt_batch.learners.base import mark_parents
from ttt_batch.runs.schedules import value_at
from ttt_batch.simulation.chances import Beads, Exploring, Softmax, copy_chances, write_chances
from ttt_batch.simulation.counts import list_visited
from ttt_batch.simulation.flow import batch_base
from ttt_batch.simulation.mixture import Mixture, complete_drawn, lay_out
from ttt_batch.simulation.mixture_flow import Streams, share_out
from ttt_batch.simulation.policy import Choice
from ttt_batch.training.kernels.batch import Decays, Workspace, count_walked, play_batch, prepare_walk, walk_batch


@functools.partial(generic, inline=True)
def retune(how: Any, decays: Decays, game: int) -> Any:
    """Set what changes with the games in the way to play, in place; return whether all chances have changed."""


@retune.register(Softmax)
def _keep(how: Softmax, decays: Decays, game: int) -> Any:
    return False


@retune.register(Beads)
def _keep_beads(how: Beads, decays: Decays, game: int) -> Any:
    return False


@retune.register(Exploring)
def _set_epsilon(how: Exploring, decays: Decays, game: int) -> Any:
    before, how.epsilon[0] = how.epsilon[0], value_at(decays.epsilon, game)
    return how.epsilon[0] != before


@inlined
def find_chances(way: Any, tables: Any, graph: Graph, choice: Choice, owned: Any, row: Any, chance: Any) -> None:
    """Write the chances of the moves of `row` into `chance` (float64[128], see `write_chances`), in place.

    way: what holds `how` and `rival`.  owned: whether the learner moves there, and not its opponent.
    """
    if owned:
        write_chances(way.how, tables, graph, choice, row, chance)
    else:
        copy_chances(way.rival, graph, row, chance)


@inlined
def lay_out_row(way: Mixture, graph: Graph, owned: Any, row: Any) -> None:
    """Lay out the chances of one row; `way` is modified in place."""
    lo, hi = edges_of(graph, row)
    find_chances(way, way.tables, graph, way.choice, owned[row], row, way.table.chance)
    way.columns[row] = lay_out(way.table, 2 * (hi - lo), way.column, 2 * lo)


@kernel
def lay_out_rows(way: Mixture, graph: Graph, owned: Any) -> None:
    """Lay out the chances of every row, the opponent's, too; `way` is modified in place.  owned: see `Workspace`."""
    for row in range(n_unfinished(graph)):
        lay_out_row(way, graph, owned, row)
        way.stale[row] = False


@prepare_walk.register(Mixture)
def _(way: Mixture, graph: Graph, decays: Decays, work: Workspace, n_changed: int, game: int) -> None:
    stale, rows, n = way.stale, work.rows, np.int64(0)
    every = retune(way.how, decays, game) or game == 0  # tables may have been replaced before the first game
    for row in range(n_unfinished(graph)):  # a list first, as in `order_among`
        rows[n] = row
        n += (stale[row] or every) and work.owned[row]
        stale[row] = False
    for i in range(n):
        lay_out_row(way, graph, work.owned, rows[i])


@count_walked.register(Mixture)
def _(way: Mixture, graph: Graph, work: Workspace, games: int) -> None:
    complete_drawn(graph, way.drawn, work.counts, games)
    # A chance changes with every value, not only with a row's order: what a fold may change are entries of rows that
    # were visited, which rank their own moves or those of the rows above.
    for i in range(work.counts.n_visited[0]):
        row = work.counts.visited[i]
        way.stale[row] = True
        mark_parents(graph, row, way.stale, True)
    for row in range(n_unfinished(graph), graph.code.shape[0]):
        if work.counts.arrived[row] != 0:
            mark_parents(graph, row, way.stale, True)


play_batch.register(Mixture)(walk_batch)


@play_batch.register(Streams)
def _flow(way: Streams, graph: Graph, decays: Decays, work: Workspace, _n_changed: int, key: Any, bounds: Any) -> None:
    game, end = bounds
    counts = work.counts
    retune(way.how, decays, game)
    base = batch_base(key, game)
    counts.arrived[0] = end - game
    n: Any = np.int64(0)
    for ply in range(graph.ply_start.shape[0] - 1):
        first, n = n, list_visited(graph, counts, ply, n)
        for i in range(first, n):
            row = counts.visited[i]
            find_chances(way, way.tables, graph, way.choice, work.owned[row], row, way.table.chance)
            share_out(graph, way, base, counts, row)
    counts.n_visited[0] = n
