"""Play on boards of more than nine cells, whose tables outgrow the caches: game by game, ply by ply.

Every move is picked from the tables as they are, so nothing has to be laid out before a batch, and rows may be added
on the way (`growing_graph`).  A game's numbers 2 * ply and 2 * ply + 1 decide whether it explores there and which move
it takes.  One thread plays: what is waited for is memory.
"""

from typing import Any, NamedTuple

import numpy as np

from ttt_batch.base.jit import inlined, kernel
from ttt_batch.base.streams import below, draw, game_base, unit
from ttt_batch.game.graph import Graph, edges_of, n_unfinished
from ttt_batch.game.growing_graph import (
    FORFEIT,
    LOST,
    UNSEEN,
    Growth,
    clear_board,
    graph_cells,
    has_room,
    is_legal,
    lowest_image,
    mark,
)
from ttt_batch.game.transcripts import Games
from ttt_batch.learners.base import Trajectory, explored, fold, learn, with_exploring
from ttt_batch.learners.growing_rows import add_final, add_row, forget_borrowed
from ttt_batch.runs.schedules import value_at
from ttt_batch.simulation.counts import EXPLORING, GREEDY, Counts
from ttt_batch.simulation.policy import Policy, pick
from ttt_batch.training.kernels.batch import Learning, batch_step, step_at


class Seats(NamedTuple):
    """Who plays: the fixed opponent's policy, and the learner's seat (0 or 1) in games of even and odd numbers.

    In self-play the seats are -1, and nobody asks for the opponent's policy.
    """

    rival: Policy
    even: int
    odd: int


class Span(NamedTuple):
    """Which games are played: `first` to `last - 1` of the stream of `key` (uint64), of a batch that begins with game
    `batch` where they are counted.
    """

    key: Any
    batch: int
    first: int
    last: int


@inlined
def rival_edge(graph: Graph, rival: Policy, row: Any, bits: Any) -> Any:
    """The fixed opponent's move; one without a policy moves at random."""
    lo, hi = edges_of(graph, row)
    if rival.best.shape[0] > 0:
        return np.int64(rival.ordered[lo + below(bits, rival.best[row])])
    legal = 0
    for edge in range(lo, hi):
        legal += is_legal(graph, edge)
    left = below(bits, legal)
    for edge in range(lo, hi):
        if is_legal(graph, edge):
            if left == 0:
                return np.int64(edge)
            left -= 1
    return np.int64(lo)


@inlined
def follow(tables: Any, graph: Graph, growth: Growth, image: Any, edge: Any, child: Any, ply: Any, worth: Any) -> Any:
    """Make a move of a game on a growing board, in place: (row that it leads to, image that this row shows).

    image: the one that the row shows from which the move is made.  ply: the move's.
    """
    n_open = n_unfinished(graph)
    if child == n_open + FORFEIT or child == n_open + FORFEIT + 1:
        return np.int64(child), image
    mark(growth, growth.origin[image, graph.cell[edge]], ply & 1)
    if child == n_open + UNSEEN:
        child = add_row(tables, graph, growth, ply + 1, worth)
    elif growth.finals and child > n_open and child < n_open + FORFEIT:
        child = add_final(tables, graph, growth, ply + 1, child, worth)
    return np.int64(child), lowest_image(growth)[1]


@inlined
def count_game(graph: Graph, game: Trajectory, plies: int, counts: Counts) -> None:
    """Add a played game to the counts of a batch, in place; `counts.visited` is in no order."""
    for ply in range(plies):
        row, edge = game.row[ply], game.edge[ply]
        if counts.arrived[row] == 0:
            counts.visited[counts.n_visited[0]] = row
            counts.n_visited[0] += 1
            lo, hi = edges_of(graph, row)
            for other in range(lo, hi):
                counts.taken[other, GREEDY] = 0
                counts.taken[other, EXPLORING] = 0
        counts.arrived[row] += 1
        counts.taken[edge, EXPLORING if explored(game, ply) else GREEDY] += 1
    counts.arrived[game.row[plies]] += 1


@kernel
def play_wide(
    learning: Learning,
    seats: Seats,
    growth: Any,
    game: Trajectory,
    counts: Any,
    outcomes: Any,
    may_grow: bool,
    span: Span,
    record: Games,
) -> Any:
    """Play the games of `span`; return the first one not played, for lack of room.

    growth: `Growth`, or None on an enumerated board.
    counts: where the games are counted (`Counts`, played with the tables as they are), or None to learn from each
    before the next.
    may_grow: whether to return where a game might need more room than there is; it plays on without otherwise.
    game: scratch.  outcomes: int64[4], games by outcome, added to.
    record: the games are written there, behind what `start[0]` says is there, unless it is empty.

    Everything but `seats` is modified in place.
    """
    tables, graph, choice, step, pace = learning
    n_open = n_unfinished(graph)
    recorded = np.int64(0)
    if record.start.shape[0] > 1:
        recorded = record.start[0]
    for number in range(span.first, span.last):
        if growth is not None:
            if may_grow and not has_room(graph, growth, graph_cells(growth) + 1):
                return number
            clear_board(growth)
        at = number if counts is None else span.batch
        epsilon = value_at(pace.epsilon, at)
        now = step_at(pace, step, at) if counts is None else step
        seat = seats.odd if number & 1 else seats.even
        base = game_base(span.key, number)
        row, ply, image, explored_at = np.int64(0), 0, np.int64(0), np.uint64(0)
        lost, complete = np.int64(0), True
        if growth is not None:
            lost = growth.used[LOST]
        while row < n_open:
            lo, hi = edges_of(graph, row)
            bits = draw(base, 2 * ply + 1)
            explores = False
            if seat >= 0 and ply & 1 != seat:
                edge = rival_edge(graph, seats.rival, row, bits)
            else:
                explores = epsilon > 0.0 and unit(draw(base, 2 * ply)) < epsilon
                if explores:
                    edge = lo + below(bits, hi - lo)
                else:
                    edge, _ = pick(tables, graph, choice, lo, hi, ply & 1, bits)
            game.row[ply], game.edge[ply] = row, edge
            explored_at |= np.uint64(explores) << np.uint64(ply)
            if record.start.shape[0] > 1:
                record.exploring[recorded + ply] = explores
                record.edge[recorded + ply] = edge
                if growth is not None:  # a borrowed row's edges are another's by the next game
                    record.edge[recorded + ply] = growth.origin[image, graph.cell[edge]]
            row = np.int64(graph.child[edge])
            if growth is not None:
                row, image = follow(tables, graph, growth, image, edge, row, ply, step.worth)
            ply += 1
        game.row[ply] = row
        outcomes[graph.outcome[row]] += 1
        if growth is not None:
            complete = growth.used[LOST] == lost
        if counts is None:
            learn(tables, graph, with_exploring(game, explored_at), ply, now)
            if growth is not None and not complete and step.visits.shape[0] > 0:
                forget_borrowed(graph, growth, step.visits)
        elif complete:  # a batch learns nothing from a game that left the table
            count_game(graph, with_exploring(game, explored_at), ply, counts)
        if record.start.shape[0] > 1:
            recorded += ply
            record.start[number - span.first + 1] = recorded
    return span.last


@kernel
def fold_wide(learning: Learning, counts: Counts, stale: Any, rows: Any, game: int) -> None:
    """Fold the counts of a batch that began with `game` into the tables and clear them; all in place.

    rows: uint32[U], scratch.  stale: bool[U], written to.
    """
    tables, graph, _, step, pace = learning
    now = batch_step(pace, step, game)
    n_visited, visited = counts.n_visited[0], counts.visited
    start, ply = 0, 0
    while start < n_visited:  # a fold takes the rows ply by ply
        for i in range(n_visited):
            if graph.ply[visited[i]] == ply:
                rows[start] = visited[i]
                start += 1
        ply += 1
    for i in range(n_visited):
        visited[i] = rows[i]
    fold(tables, graph, counts, now, stale)
    for i in range(n_visited):
        counts.arrived[visited[i]] = 0
    counts.n_visited[0] = 0
    for row in range(n_unfinished(graph), graph.code.shape[0]):
        counts.arrived[row] = 0
