"""Games one by one of players whose moves have chances of their own, on any board, growing ones, too.

A game's number `ply` decides its move at that ply: the first slot up to which the chances add up to more than that
number, taken as a float in [0, 1).  In batches on growing boards it draws from an alias table, as in
`simulation.mixture`, so that games are those of an enumerated board.
"""

from typing import Any

import numpy as np

from ttt_batch.base.jit import inlined, kernel
from ttt_batch.base.streams import draw, game_base, unit
from ttt_batch.game.graph import edges_of, n_unfinished
from ttt_batch.game.growing_graph import clear_board, graph_cells, has_room, is_legal
from ttt_batch.game.transcripts import Games
from ttt_batch.learners.base import Trajectory, explored, learn, with_exploring
from ttt_batch.learners.growing_rows import forget_borrowed
from ttt_batch.simulation.counts import Counts
from ttt_batch.simulation.flow import batch_base
from ttt_batch.simulation.mixture import lay_out, slot_drawn, slot_reached
from ttt_batch.simulation.mixture_flow import Streams, share_out
from ttt_batch.training.kernels.batch import Learning, step_at
from ttt_batch.training.kernels.games import Span, count_game, follow_game, lost_positions
from ttt_batch.training.kernels.growing_flow import clear_reached
from ttt_batch.training.kernels.mixture import find_chances, retune


@inlined
def find_any_chances(way: Streams, learning: Learning, owned: Any, row: Any) -> None:
    """Write the chances of the moves of `row` into `way.table.chance`; an opponent without chances moves at random."""
    graph, chance = learning.graph, way.table.chance
    if owned or way.rival.chance.shape[0] > 0:
        find_chances(way, learning.tables, graph, learning.choice, owned, row, chance)
        return
    lo, hi = edges_of(graph, row)
    legal = 0
    for edge in range(lo, hi):
        legal += is_legal(graph, edge)
    for edge in range(lo, hi):
        chance[2 * (edge - lo)] = 1.0 / legal if is_legal(graph, edge) else 0.0
        chance[2 * (edge - lo) + 1] = 0.0


@inlined
def play_drawn(
    way: Streams,
    learning: Learning,
    seat: int,
    growth: Any,
    game: Trajectory,
    counts: Any,
    base: Any,
    record: Games,
    at: Any,
) -> Any:
    """Play one game: (its number of plies, its exploring ones as a set).

    It is written to `game`, and its cells on a growing board to `record` from move `at` on.
    counts: None outside a batch.  base: `game_base`.
    """
    graph = learning.graph
    row, ply, image, exploring = np.int64(0), np.int64(0), np.int64(0), np.uint64(0)
    while row < n_unfinished(graph):
        lo, hi = edges_of(graph, row)
        find_any_chances(way, learning, seat < 0 or ply & 1 == seat, row)
        bits, n_slots = draw(base, ply), 2 * (hi - lo)
        if counts is None:
            slot = slot_reached(way.table.chance, n_slots, unit(bits))
        else:
            n = np.uint64(lay_out(way.table, n_slots, way.column, np.int64(0)))
            slot = np.int64(slot_drawn(way.column, np.uint64(0), n, bits))
        edge = lo + (slot >> 1)
        exploring |= np.uint64(slot & 1) << np.uint64(ply)
        game.row[ply], game.edge[ply] = row, edge
        child = np.int64(graph.child[edge])
        if growth is not None:
            if record.start.shape[0] > 1:  # a borrowed row's edges are another's by the next game
                record.move[at + ply] = growth.origin[image, graph.cell[edge]]
            child, image = follow_game(learning.tables, graph, growth, image, edge, child, ply, learning.step.worth)
        row = child
        ply += 1
    game.row[ply] = row
    return ply, exploring


@kernel
def play_drawn_games(
    way: Streams,
    learning: Learning,
    seats: Any,
    growth: Any,
    game: Trajectory,
    counts: Any,
    outcomes: Any,
    may_grow: bool,
    span: Span,
    record: Games,
) -> Any:
    """Play the games of `span`; return the first one not played, for lack of room.

    way: how both players play; modified in place.  seats: (int, int), the learner's in games of even and odd numbers.
    For the rest see `games.play_network_games`.
    """
    tables, graph, _, step, decays = learning
    recorded = record.start[0]
    for number in range(span.first, span.last):
        if growth is not None:
            if may_grow and not has_room(graph, growth, graph_cells(growth) + 1):
                return number
            clear_board(growth)
        lost = lost_positions(growth)
        at = number if counts is None else span.batch
        retune(way.how, decays, at)
        seat = seats[1] if number & 1 else seats[0]
        plies, exploring = play_drawn(
            way, learning, seat, growth, game, counts, game_base(span.key, number), record, recorded
        )
        outcomes[graph.outcome[game.row[plies]]] += 1
        complete = lost_positions(growth) == lost
        played = with_exploring(game, exploring)
        if counts is None:
            learn(tables, graph, played, plies, step_at(decays, step, seat, at))
            if growth is not None and not complete and step.visits.shape[0] > 0:
                forget_borrowed(graph, growth, step.visits)
        elif complete:  # a batch learns nothing from a game that left the table
            count_game(graph, played, plies, counts)
        if record.start.shape[0] > 1:
            for ply in range(plies):
                if growth is None:
                    record.move[recorded + ply] = game.edge[ply]
                record.exploring[recorded + ply] = explored(played, ply)
            recorded += plies
            record.start[number - span.first + 1] = recorded
    return span.last


@kernel
def draw_mixed_ply(
    way: Streams, learning: Learning, owned: bool, key: Any, batch: int, counts: Counts, first: int, last: int
) -> None:
    """`growing_flow.draw_ply` of players whose moves have chances.  owned: whether the learner moves."""
    retune(way.how, learning.decays, batch)
    base = batch_base(key, batch)
    for i in range(first, last):
        find_any_chances(way, learning, owned, counts.visited[i])
        share_out(learning.graph, way, base, counts, counts.visited[i])
    clear_reached(learning.graph, counts, first, last)
