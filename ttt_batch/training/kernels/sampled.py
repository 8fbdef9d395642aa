"""Batches and games of learners, or against opponents, that draw moves by action probabilities.

Games one by one of players whose moves have chances of their own, on any board, growing ones, too.
A game's number `ply` decides its move at that ply: the first slot up to which the chances add up to more than that
number, taken as a float in [0, 1).  In batches on growing boards it draws from an alias table, as in
`simulation.sampled`, so that games are those of an enumerated board.
"""

import functools
from typing import Any

import numpy as np

from ttt_batch.compiler.jit import (
    Bool,
    BoolArray,
    Int64,
    Integer,
    generic,
    inlined,
    kernel,
)
from ttt_batch.compiler.numerics import draw, game_base, unit
from ttt_batch.games.graph import Graph, Growth, edges_of, is_legal, n_unfinished
from ttt_batch.learners.base import mark_parents
from ttt_batch.runs.schedules import value_at
from ttt_batch.simulation.action_probabilities import Beads, Exploring, Softmax, copy_chances, write_chances
from ttt_batch.simulation.flow import batch_base
from ttt_batch.simulation.policy import Counts, list_visited
from ttt_batch.simulation.sampled import Mixture, Streams, complete_drawn, lay_out, share_out, slot_drawn, slot_reached
from ttt_batch.training.kernels.batch import (
    Decays,
    Learning,
    Workspace,
    clear_reached,
    count_walked,
    play_batch,
    prepare_walk,
    walk_batch,
)
from ttt_batch.training.kernels.games import Play, follow_game, play_game, settings_at


@functools.partial(generic, inline=True)
def retune(how: Any, decays: Decays, game: int) -> Any:
    """Set what changes with the games in the way to play, in place; return whether all chances have changed."""


@retune.register(Beads)
@retune.register(Softmax)
def _keep(how: Beads | Softmax, decays: Decays, game: Int64) -> bool:
    return False


@retune.register(Exploring)
def _set_epsilon(how: Exploring, decays: Decays, game: int) -> Any:
    before, how.epsilon[0] = how.epsilon[0], value_at(decays.epsilon, game)
    return how.epsilon[0] != before


@inlined
def find_chances(sampler: Mixture | Streams, learning: Learning, owned: Bool, row: Integer) -> None:
    """Write the chances of the moves of `row` into `sampler.table.chance` (see `write_chances`), in place.

    owned: whether the learner moves there.  An opponent without probabilities moves at random.
    """
    graph, chance = learning.graph, sampler.table.chance
    if owned:
        write_chances(sampler.how, learning.tables, graph, learning.choice, row, chance)
    elif sampler.opponent.chance.shape[0] > 0:
        copy_chances(sampler.opponent, graph, row, chance)
    else:
        lo, hi = edges_of(graph, row)
        legal: Integer = 0
        for edge in range(lo, hi):
            legal += is_legal(graph, edge)
        for edge in range(lo, hi):
            chance[2 * (edge - lo)] = 1.0 / legal if is_legal(graph, edge) else 0.0
            chance[2 * (edge - lo) + 1] = 0.0


@inlined
def lay_out_row(sampler: Mixture, learning: Learning, owned: BoolArray, row: Integer) -> None:
    """Write the layout of one row's probabilities; `sampler` is modified in place."""
    lo, hi = edges_of(learning.graph, row)
    find_chances(sampler, learning, owned[row], row)
    sampler.columns[row] = lay_out(sampler.table, 2 * (hi - lo), sampler.column, 2 * lo)


@kernel
def lay_out_rows(sampler: Mixture, learning: Learning, owned: BoolArray) -> None:
    """Write the layout of all rows, the opponent's, too; `sampler` is modified in place.  owned: see `Workspace`."""
    for row in range(n_unfinished(learning.graph)):
        lay_out_row(sampler, learning, owned, row)
        sampler.dirty[row] = False


@prepare_walk.register(Mixture)
def _(sampler: Mixture, learning: Learning, work: Workspace, n_changed: Int64, game: Int64) -> None:
    dirty, rows, n = sampler.dirty, work.rows, np.int64(0)
    every = retune(sampler.how, learning.decays, game) or game == 0  # tables may have been replaced before that game
    for row in range(n_unfinished(learning.graph)):  # a list first, as in `order_among`
        rows[n] = row
        n += (dirty[row] or every) and work.owned[row]
        dirty[row] = False
    for i in range(n):
        lay_out_row(sampler, learning, work.owned, rows[i])


@count_walked.register(Mixture)
def _(sampler: Mixture, graph: Graph, work: Workspace, games: Int64) -> None:
    complete_drawn(graph, sampler.drawn, work.counts, games)
    # A chance changes with every value, not only with a row's order: what a fold may change are entries of rows that
    # were visited, which rank their own moves or those of the rows above.
    for i in range(work.counts.n_visited[0]):
        row = work.counts.visited[i]
        sampler.dirty[row] = True
        mark_parents(graph, row, sampler.dirty, True)
    for row in range(n_unfinished(graph), graph.code.shape[0]):
        if work.counts.arrived[row] != 0:
            mark_parents(graph, row, sampler.dirty, True)


play_batch.register(Mixture)(walk_batch)


@play_batch.register(Streams)
def _flow(
    sampler: Streams, learning: Learning, work: Workspace, _: Int64, key: np.uint64, bounds: tuple[Int64, Int64]
) -> None:
    game, end = bounds
    graph, counts = learning.graph, work.counts
    retune(sampler.how, learning.decays, game)
    base = batch_base(key, game)
    counts.arrived[0] = end - game
    n: Any = np.int64(0)
    for ply in range(graph.ply_start.shape[0] - 1):
        first, n = n, list_visited(graph, counts, ply, n)
        for i in range(first, n):
            row = counts.visited[i]
            find_chances(sampler, learning, work.owned[row], row)
            share_out(graph, sampler, base, counts, row)
    counts.n_visited[0] = n


@play_game.register(Streams)
def _draw_game(
    sampler: Streams, play: Play, counts: Counts | None, growth: Growth | None, number: Int64, recorded: Int64
) -> tuple[np.int64, np.uint64]:
    learning, seats, game, span, record = play
    tables, graph, _, step, decays = learning
    retune(sampler.how, decays, settings_at(counts, span, number))
    seat, base = seats[number & 1], game_base(span.key, number)
    row, ply, image, exploring = np.int64(0), np.int64(0), np.int64(0), np.uint64(0)
    while row < n_unfinished(graph):
        lo, hi = edges_of(graph, row)
        find_chances(sampler, learning, seat < 0 or ply & 1 == seat, row)
        bits, n_slots = draw(base, ply), 2 * (hi - lo)
        if counts is None:
            slot = slot_reached(sampler.table.chance, n_slots, unit(bits))
        else:
            n = np.uint64(lay_out(sampler.table, n_slots, sampler.column, np.int64(0)))
            slot = np.int64(slot_drawn(sampler.column, np.uint64(0), n, bits))
        edge = lo + (slot >> 1)
        exploring |= np.uint64(slot & 1) << np.uint64(ply)
        game.row[ply], game.edge[ply] = row, edge
        child = np.int64(graph.child[edge])
        if growth is not None:
            if record.start.shape[0] > 1:  # a borrowed row's edges are another's by the next game
                record.move[recorded + ply] = growth.origin[image, graph.cell[edge]]
            child, image = follow_game(tables, graph, growth, image, edge, child, ply, step.worth)
        row = child
        ply += 1
    game.row[ply] = row
    return ply, exploring


@kernel
def draw_mixed_ply(
    sampler: Streams,
    learning: Learning,
    owned: Bool,
    key: np.uint64,
    batch: Int64,
    counts: Counts,
    first: Int64,
    last: Int64,
) -> None:
    """Run `draw_ply` for players with action probabilities.  owned: True if the learner moves."""
    graph = learning.graph
    retune(sampler.how, learning.decays, batch)
    base = batch_base(key, batch)
    for i in range(first, last):
        find_chances(sampler, learning, owned, counts.visited[i])
        share_out(graph, sampler, base, counts, counts.visited[i])
    clear_reached(graph, counts, first, last)
