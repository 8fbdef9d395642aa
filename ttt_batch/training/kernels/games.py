"""Play game by game and ply by ply, under any circumstances: any board, opponent, schedule, and games to be recorded.

On larger boards and growing ones every move is picked from the tables as they are, so nothing is prepared before a
batch, and rows may be added on the way (`growing_graph`).  One thread plays: memory is what play waits for.
"""

from typing import Any, NamedTuple

import numpy as np

from ttt_batch.base.jit import inlined, kernel
from ttt_batch.base.streams import GOLDEN, below, game_base, mix
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
from ttt_batch.simulation.exploration import Explorations, explores_at, exploring_plies, next_counter
from ttt_batch.simulation.policy import Policy, pick
from ttt_batch.training.kernels.batch import Learning, batch_step, set_explorations, step_at
from ttt_batch.training.kernels.greedy_cache import GreedyCache, cached_move


class Seats(NamedTuple):
    """Who plays: the fixed opponent's policy, and the learner's seat (0 or 1) in games of even and odd numbers.

    In self-play the seats are -1, and the opponent's policy is not used.
    """

    rival: Policy
    even: int
    odd: int


class Shortcuts(NamedTuple):
    """For boards of up to nine cells: the best moves last seen, and what explores in games of even and odd numbers."""

    cache: GreedyCache
    even: Explorations
    odd: Explorations


class Span(NamedTuple):
    """Which games are played: `first` to `last - 1` of the stream of `key` (uint64).

    batch: the first game of their batch, if they are counted.
    """

    key: Any
    batch: int
    first: int
    last: int


@inlined
def opponent_move(graph: Graph, rival: Policy, row: Any, bits: Any) -> Any:
    """The fixed opponent's move: (edge, whether chance had a part).  One without a policy moves at random."""
    lo, hi = edges_of(graph, row)
    if rival.best.shape[0] > 0:
        return np.int64(rival.ordered[lo + below(bits, rival.best[row])]), rival.best[row] > 1
    legal = 0
    for edge in range(lo, hi):
        legal += is_legal(graph, edge)
    left = below(bits, legal)
    for edge in range(lo, hi):
        if is_legal(graph, edge):
            if left == 0:
                return np.int64(edge), True
            left -= 1
    return np.int64(lo), True


@inlined
def own_move(learning: Learning, shortcuts: Any, game: Trajectory, row: Any, ply: Any, explores: Any, bits: Any) -> Any:
    """The learner's move: (edge, child, whether chance had a part)."""
    if shortcuts is not None:
        return cached_move(learning, None, shortcuts.cache, game.settled, row, ply, explores, bits)
    tables, graph, choice, _, _ = learning
    lo, hi = edges_of(graph, row)
    edge = lo + below(bits, hi - lo)
    if not explores:
        edge = pick(tables, graph, choice, lo, hi, ply & 1, bits)
    return np.uint64(edge), np.uint64(graph.child[edge]), True


@inlined
def follow_game(
    tables: Any, graph: Graph, growth: Growth, image: Any, edge: Any, child: Any, ply: Any, worth: Any
) -> Any:
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


@inlined
def play_game(
    learning: Learning,
    rival: Policy,
    seat: int,
    shortcuts: Any,
    growth: Any,
    game: Trajectory,
    exploring: Any,
    counter: Any,
    record: Games,
    at: Any,
) -> Any:
    """Play one game and return its number of plies; it is written to `game`, and to `record` from move `at` on.

    exploring, counter: see `exploring_plies` and `next_counter`.  For the rest see `play_games`.
    """
    tables, graph, _, step, _ = learning
    row, ply, image = np.uint64(0), np.int64(0), np.int64(0)
    while row < np.uint64(n_unfinished(graph)):
        bits, explores = mix(counter), explores_at(exploring, ply)
        if seat >= 0 and ply & 1 != seat:
            rival_edge, by_chance = opponent_move(graph, rival, row, bits)
            edge = np.uint64(rival_edge)
            child = np.uint64(graph.child[edge])
        else:
            edge, child, by_chance = own_move(learning, shortcuts, game, row, ply, explores, bits)
        counter = next_counter(shortcuts, counter, by_chance)
        game.row[ply], game.edge[ply] = row, edge
        if growth is not None:
            if record.start.shape[0] > 1:  # a borrowed row's edges are another's by the next game
                record.move[at + ply] = growth.origin[image, graph.cell[edge]]
            after, image = follow_game(tables, graph, growth, image, edge, np.int64(child), ply, step.worth)
            child = np.uint64(after)
        row = child
        ply += 1
    game.row[ply] = row
    return ply


@inlined
def lost_positions(growth: Any) -> Any:
    """How often a position was reached for which a growing board had no room."""
    if growth is None:
        return np.int64(0)
    return growth.used[LOST]


@kernel
def play_games(
    learning: Learning,
    seats: Seats,
    shortcuts: Any,
    growth: Any,
    game: Trajectory,
    counts: Any,
    outcomes: Any,
    may_grow: bool,
    span: Span,
    record: Games,
) -> Any:
    """Play the games of `span`; return the first one not played, for lack of room.

    shortcuts: `Shortcuts` on boards of up to nine cells, else None.
    growth: `Growth`, or None on an enumerated board.
    counts: where the games are counted (`Counts`, played with the tables as they are); None to learn from each game
    before the next.
    may_grow: whether to return if a game might need more room than there is; else it plays on without.
    game: scratch.  outcomes: int64[4], games by outcome, added to.
    record: the games are written there, after those that end at `start[0]`, unless it is empty.
    Everything but `seats` is modified in place.
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
        seat = seats.odd if number & 1 else seats.even
        base = game_base(span.key, number)
        if shortcuts is None:
            exploring = exploring_plies(None, base, value_at(decays.epsilon, at), seat, game.edge.shape[0])
        else:
            explorations = shortcuts.odd if number & 1 else shortcuts.even
            set_explorations(decays, seat, explorations, at)
            exploring = exploring_plies(explorations, base, 0.0, seat, 0)
        plies = play_game(
            learning, seats.rival, seat, shortcuts, growth, game, exploring, base + GOLDEN, record, recorded
        )
        outcomes[graph.outcome[game.row[plies]]] += 1
        complete = lost_positions(growth) == lost
        played = with_exploring(game, exploring)
        if counts is None:
            learn(tables, graph, played, plies, step_at(decays, step, seat, at))  # its tabulated weights are not needed
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
def fold_counted(learning: Learning, counts: Counts, stale: Any, rows: Any, seat: int, game: int) -> None:
    """Fold the counts of a batch that began with `game` into the tables and clear them; all in place.

    rows: uint32[U], scratch.  stale: bool[U], written to.  seat: the learner's, -1 in self-play.
    """
    tables, graph, _, step, decays = learning
    now = batch_step(decays, step, seat, game)
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
