"""Play game by game and ply by ply on any board, with a cache of greedy moves; learn from given games.

On larger and growing boards every move is picked directly from the tables, so nothing is prepared before a batch, and
rows may be added during play.  One thread plays, because play waits for memory.

On boards of up to nine cells a cache holds each row's last best moves.  Greedy play follows the cache, and a check of
the table runs while the processor continues, so a ply waits only for the next row (games one by one 1.3 to 2.5 times as
fast).  One word per row holds all that play needs; several best moves are a set, so that ties are drawn without a
search.  Settled rows need no check, nor do rows with one move.  If a row's scores are adjacent, eight are compared
together and all best moves are found each time.
"""

import functools
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_batch.compiler.intrinsics import LANES, mask_above, masked_max
from ttt_batch.compiler.jit import (
    Bool,
    BoolArray,
    Float64Array,
    Int64,
    Int64Array,
    Integer,
    Tables,
    Uint8Array,
    Uint32Array,
    Uint64Array,
    generic,
    inlined,
    kernel,
)
from ttt_batch.compiler.numerics import GOLDEN, below, game_base, mix
from ttt_batch.games.graph import (
    FORFEIT,
    LOST,
    UNSEEN,
    Graph,
    Growth,
    clear_board,
    edges_of,
    graph_cells,
    has_room,
    is_legal,
    lowest_image,
    mark,
    n_unfinished,
)
from ttt_batch.games.transcripts import Games
from ttt_batch.learners.base import (
    Step,
    Trajectory,
    add_final,
    add_row,
    explored,
    fold,
    forget_borrowed,
    is_settled,
    learn,
    with_exploring,
    with_game,
)
from ttt_batch.runs.schedules import value_at
from ttt_batch.simulation.policy import EXPLORING, GREEDY, UNIFORM, Choice, Counts, Policy, best_set, leads, pick
from ttt_batch.simulation.walk import Explorations, explores_at, exploring_plies, next_counter
from ttt_batch.training.kernels.batch import Learning, batch_step, set_explorations, step_at

CELLS = 9
"""Moves of a row, and plies of a game, at most."""

SHORTEST = 5
"""Plies of a game on 3x3 at least."""

AMONG_AT, SET_AT, CHILD_AT = (np.uint64(n) for n in (4, 8, 17))
SLOT, SET = (np.uint64((1 << n) - 1) for n in (4, CELLS))
ONE, NINTH, MEMBER_BITS, SIZE = (np.uint64(n) for n in (1, LANES, 4, 15))


class GreedyCache(NamedTuple):
    """The best moves last seen.

    word: uint32[U]; the first of the moves that may be picked in a row (bits 0-3, counted from its first
    edge), how many they are (4-7), which (8-16, a bit each), and the child that the first leads to (from 17 on).
    member: uint8[512 * 16]; the members of each set of moves in rising order, and last of 16 entries how many they are.
    count: uint64[9], how many moves a row of each ply has.  None on boards like 3x3, see `is_like_3x3`.
    offset: uint64[9]; the first edge of a row is offset[ply] + row * the number of its moves.
    scores: float64[E], the table that holds the scores of edges, on boards like 3x3 with `window_decides`; else None.
    """

    word: Uint32Array
    member: Uint8Array
    count: Any
    offset: Uint64Array
    scores: Any = None


def make_cache(graph: Graph) -> GreedyCache:
    """Return a cache with the first move of each row."""
    child = graph.child[graph.first_edge[:-1]]
    word = (ONE << AMONG_AT) | (ONE << SET_AT) | (child.astype(np.uint64) << CHILD_AT)
    member = np.zeros((1 << CELLS, 16), np.uint8)
    for bits in range(1 << CELLS):
        slots = [slot for slot in range(CELLS) if bits >> slot & 1]
        member[bits, : len(slots)], member[bits, -1] = slots, len(slots)
    # All rows of a ply have equally many moves and stand next to each other: no need to look up where a row's begin.
    first = graph.ply_start[graph.ply_start < child.size].astype(np.int64)
    count, offset = np.zeros((2, CELLS), np.int64)
    count[: first.size] = np.diff(graph.first_edge)[first]
    offset[: first.size] = graph.first_edge[first] - first * count[: first.size]
    return GreedyCache(word.astype(np.uint32), member.ravel(), count.view(np.uint64), offset.view(np.uint64))


def has_even_plies(graph: Graph) -> bool:
    """Return whether all rows of a ply have equally many moves, as `GreedyCache` needs; not so where marks fall."""
    widths = np.diff(graph.first_edge)
    return bool((widths == widths[graph.ply_start[graph.ply[: widths.size]]]).all())


def is_like_3x3(graph: Graph) -> bool:
    """Return whether rows of ply p have 9 - p moves, no game ends before ply 5, and eight edges can be read at once.

    Play is faster without looking these up, and `intrinsics` may read eight scores.
    """
    rows = graph.first_edge.size - 1
    widths = np.diff(graph.first_edge)
    choices = graph.first_edge[:-1][widths > 1]
    return bool(
        graph.ply[:rows].max() == CELLS - 1
        and (widths == CELLS - graph.ply[:rows]).all()
        and (graph.ply[rows:] >= SHORTEST).all()
        and (choices + LANES <= graph.child.size).all()
    )


def window_decides(choice: Choice, worth: NDArray[np.float64], scores: NDArray[np.float64]) -> bool:
    """Return whether exactly the moves above `best - window` may be picked, now and later.

    That holds if ties are drawn, no score is NaN, and the window does not vanish by rounding at the largest score.
    worth: of final positions.  scores: float64[E], the current scores of edges.
    """
    largest = np.maximum(np.abs(worth).max(), np.abs(scores).max())
    if choice.tie != UNIFORM or not np.isfinite(largest):
        return False
    return bool(choice.window > 2 * np.spacing(largest))


@inlined
def moves_at(count: Uint64Array | None, ply: Int64) -> np.uint64:
    """Return the number of moves of a row of `ply` (uint64); count: see `GreedyCache`."""
    if count is None:
        return np.uint64(CELLS - ply)
    return count[ply]


@inlined
def may_be_over(count: Uint64Array | None, ply: Int64) -> Bool:
    """Return whether a game may be over before `ply`; count: see `GreedyCache`."""
    return count is not None or ply >= SHORTEST


@inlined
def best_of_eight(scores: Float64Array, choice: Choice, lo: np.uint64, count: np.uint64) -> np.uint64:
    """Return `best_now` for adjacent scores of a row with `window_decides`."""
    members = (ONE << count) - ONE
    best = masked_max(scores, lo, members)
    if count > NINTH:
        best = max(best, scores[lo + NINTH])
    limit = best - choice.window
    above = mask_above(scores, lo, limit)
    if count > NINTH:
        above |= np.uint64(scores[lo + NINTH] > limit) << NINTH
    return above & members


@inlined
def leads_by_table(
    learning: Learning, scores: Float64Array | None, lo: np.uint64, count: np.uint64, slot: np.uint64, mover: Int64
) -> bool:
    """Return whether move `slot` of the row is the only one that a greedy mover may pick.

    False with `scores` (see `GreedyCache`), as `best_now` is as quick then.
    lo, count: uint64, the row's first edge and its number of moves.
    """
    if scores is not None:
        return False
    first, last = np.int64(lo), np.int64(lo + count)
    return leads(learning.tables, learning.graph, learning.choice, first, last, np.int64(lo + slot), mover)


@inlined
def best_now(
    learning: Learning, scores: Float64Array | None, lo: np.uint64, count: np.uint64, mover: Int64
) -> np.uint64:
    """Return the moves of a row that a greedy mover may pick, as a set (uint64); parameters as for `leads_by_table`."""
    if scores is not None:
        return best_of_eight(scores, learning.choice, lo, count)
    first, last = np.int64(lo), np.int64(lo + count)
    return np.uint64(best_set(learning.tables, learning.graph, learning.choice, first, last, mover))


@inlined
def cached_move(
    learning: Learning,
    cache: GreedyCache,
    game: Trajectory,
    row: np.uint64,
    ply: Int64,
    explores: Bool,
    bits: np.uint64,
) -> tuple[np.uint64, np.uint64, Bool]:
    """Return one move of a learner: edge and child (uint64 both), and whether it used its random number.

    explores: True for an exploratory move.  bits: the random number for that, or for a tie.
    `cache` is updated in place.
    """
    word, child_of = np.uint64(cache.word[row]), learning.graph.child
    count = moves_at(cache.count, ply)
    lo = cache.offset[ply] + row * count
    edge, child, by_chance = lo + (word & SLOT), word >> CHILD_AT, explores
    if count == ONE:
        return edge, child, by_chance
    if explores:
        edge = lo + np.uint64(below(bits, count))
        return edge, np.uint64(child_of[edge]), by_chance
    among, best = (word >> AMONG_AT) & SLOT, (word >> SET_AT) & SET
    if not is_settled(game.settled, row):
        if among == ONE and leads_by_table(learning, cache.scores, lo, count, word & SLOT, ply & 1):
            return edge, child, by_chance
        now_best = best_now(learning, cache.scores, lo, count, ply & 1)
        if now_best != best:
            best = now_best
            members = best << MEMBER_BITS
            slot, among = np.uint64(cache.member[members]), np.uint64(cache.member[members | SIZE])
            edge = lo + slot
            child = np.uint64(child_of[edge])
            choices = slot | (among << AMONG_AT) | (best << SET_AT)
            cache.word[row] = np.uint32(choices | (child << CHILD_AT))
    if among != ONE:
        by_chance = True
        edge = lo + np.uint64(cache.member[(best << MEMBER_BITS) | np.uint64(below(bits, among))])
        child = np.uint64(child_of[edge])
    return edge, child, by_chance


class Shortcuts(NamedTuple):
    """Shortcuts for up to nine cells: cached greedy moves, and explorations of even and odd games.

    runner_up: float64[9], scratch; None unless games are expected to repeat themselves (`Learner.repeats`).
    """

    cache: GreedyCache
    even: Explorations
    odd: Explorations
    runner_up: Any


class BestMoves(NamedTuple):
    """Players that take their best moves: the learner in both seats, or in one against a fixed opponent.

    opponent: the fixed opponent's policy, not used in self-play.
    shortcuts: `Shortcuts` on boards of up to nine cells, else None.
    """

    opponent: Policy
    shortcuts: Any


class Span(NamedTuple):
    """Games to play: `first` to `last - 1` of the stream of `key` (uint64).

    batch: the first game of their batch, if they are counted.
    """

    key: np.uint64
    batch: int
    first: int
    last: int


@inlined
def opponent_move(graph: Graph, opponent: Policy, row: np.uint64, bits: np.uint64) -> tuple[Int64, Bool]:
    """Return the fixed opponent's edge, and whether it used its random number; without a policy it moves at random."""
    lo, hi = edges_of(graph, row)
    if opponent.best.shape[0] > 0:
        return np.int64(opponent.ordered[lo + below(bits, opponent.best[row])]), opponent.best[row] > 1
    legal: Integer = 0
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
def own_move(
    learning: Learning,
    shortcuts: Shortcuts | None,
    game: Trajectory,
    row: np.uint64,
    ply: Int64,
    explores: Bool,
    bits: np.uint64,
) -> tuple[np.uint64, np.uint64, Bool]:
    """Return the learner's edge and child, and whether it used its random number."""
    if shortcuts is not None:
        return cached_move(learning, shortcuts.cache, game, row, ply, explores, bits)
    tables, graph, choice, _, _ = learning
    lo, hi = edges_of(graph, row)
    edge: Int64 = lo + below(bits, hi - lo)
    if not explores:
        edge = pick(tables, graph, choice, lo, hi, ply & 1, bits)
    return np.uint64(edge), np.uint64(graph.child[edge]), True


@inlined
def follow_game(
    tables: Tables,
    graph: Graph,
    growth: Growth,
    image: np.int64,
    edge: Integer,
    child: Int64,
    ply: Int64,
    worth: Float64Array,
) -> tuple[np.int64, Any]:
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
def count_game(graph: Graph, game: Trajectory, plies: Int64, counts: Counts) -> None:
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


class Play(NamedTuple):
    """Games to play, and what they have in common.

    `counts` and `growth`, which may be None, stay arguments of their own: Numba removes branches on None for arguments
    only.
    seats: the learner's in games of even and odd numbers.  game: scratch.
    record: the games are written there, after those that end at `start[0]`, unless it is empty.
    """

    learning: Learning
    seats: tuple[int, int]
    game: Trajectory
    span: Span
    record: Games


@inlined
def settings_at(counts: Counts | None, span: Span, number: Int64) -> Int64:
    """Return the game by whose number schedules are read in game `number`: itself, or the first of its batch."""
    return number if counts is None else span.batch


@inlined
def plies_to_explore(
    shortcuts: Shortcuts | None, play: Play, seat: Int64, number: Int64, at: Int64, base: np.uint64
) -> np.uint64:
    """Return the exploring plies of a game as a set.  at: see `settings_at`.  base: see `game_base`."""
    decays = play.learning.decays
    if shortcuts is None:
        return exploring_plies(None, base, value_at(decays.epsilon, at), seat, play.game.edge.shape[0])
    explorations = shortcuts.odd if number & 1 else shortcuts.even
    set_explorations(decays, seat, explorations, at)
    return exploring_plies(explorations, base, 0.0, seat, 0)


@functools.partial(generic, inline=True)
def play_game(
    players: Any, play: Play, counts: Counts | None, growth: Growth | None, number: int, recorded: int
) -> Any:
    """Play game `number` and return (its number of plies, its exploring ones as a set).

    The game is written to `play.game`, and its cells on a growing board to `play.record` from move `recorded` on.
    counts, growth: see `play_games`.
    """


@play_game.register(BestMoves)
def _play_best(
    players: BestMoves, play: Play, counts: Counts | None, growth: Growth | None, number: Int64, recorded: Int64
) -> tuple[np.int64, np.uint64]:
    learning, seats, game, span, record = play
    tables, graph, _, step, _ = learning
    opponent, shortcuts = players
    seat, base = seats[number & 1], game_base(span.key, number)
    exploring = plies_to_explore(shortcuts, play, seat, number, settings_at(counts, span, number), base)
    counter = base + GOLDEN
    row, ply, image = np.uint64(0), np.int64(0), np.int64(0)
    while row < np.uint64(n_unfinished(graph)):
        bits, explores = mix(counter), explores_at(exploring, ply)
        if seat >= 0 and ply & 1 != seat:
            opponent_edge, by_chance = opponent_move(graph, opponent, row, bits)
            edge = np.uint64(opponent_edge)
            child = np.uint64(graph.child[edge])
        else:
            edge, child, by_chance = own_move(learning, shortcuts, game, row, ply, explores, bits)
        counter = next_counter(shortcuts, counter, by_chance)
        game.row[ply], game.edge[ply] = row, edge
        if growth is not None:
            if record.start.shape[0] > 1:  # a borrowed row's edges are another's by the next game
                record.move[recorded + ply] = growth.origin[image, graph.cell[edge]]
            after, image = follow_game(tables, graph, growth, image, edge, np.int64(child), ply, step.worth)
            child = np.uint64(after)
        row = child
        ply += 1
    game.row[ply] = row
    return ply, exploring


@inlined
def lost_positions(growth: Growth | None) -> np.int64:
    """Return how often a position was reached that a full growing board could not add."""
    if growth is None:
        return np.int64(0)
    return growth.used[LOST]


@kernel
def play_games(
    players: Any, play: Play, counts: Counts | None, growth: Growth | None, outcomes: Int64Array, may_grow: Bool
) -> Any:
    """Play the games of `play.span`; return the first one not played, for lack of room.

    players: of a class with a body for `play_game`.
    counts: where the games are counted (`Counts`, played with the tables as they are); None to learn from each game
    before the next.
    growth: `Growth`, or None on an enumerated board.
    outcomes: int64[4], games by outcome, added to.
    may_grow: whether to return if a game might need more room than there is; else it plays on without.
    Tables, counts, growth, outcomes, records and players' caches are modified in place.
    """
    learning, seats, game, span, record = play
    tables, graph, _, step, decays = learning
    recorded = record.start[0]
    for number in range(span.first, span.last):
        if growth is not None:
            if may_grow and not has_room(graph, growth, graph_cells(growth) + 1):
                return number
            clear_board(growth)
        lost = lost_positions(growth)
        plies, exploring = play_game(players, play, counts, growth, number, recorded)
        outcomes[graph.outcome[game.row[plies]]] += 1
        complete = lost_positions(growth) == lost
        played = with_exploring(game, exploring)
        if counts is None:
            now = step_at(decays, step, seats[number & 1], number)  # its tabulated weights are not needed
            learn(tables, graph, played, plies, now)
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
def fold_counted(
    learning: Learning, counts: Counts, dirty: BoolArray, rows: Uint32Array, seat: Int64, game: Int64
) -> None:
    """Fold the counts of a batch that began with `game` into the tables and clear them; all in place.

    rows: uint32[U], scratch.  dirty: bool[U], written to.  seat: the learner's, -1 in self-play.
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
    fold(tables, graph, counts, now, dirty)
    for i in range(n_visited):
        counts.arrived[visited[i]] = 0
    counts.n_visited[0] = 0
    for row in range(n_unfinished(graph), graph.code.shape[0]):
        counts.arrived[row] = 0


@kernel
def learn_given(
    tables: Tables,
    graph: Graph,
    step: Step,
    growth: Growth | None,
    games: Games,
    game: Trajectory,
    outcomes: Int64Array,
    first_game: Int64,
    may_grow: Bool,
) -> Any:
    """Learn from `games` from number `first_game` on; return the first one not learnt, for lack of room.

    growth: `Growth`, and games of cells; or None on an enumerated board, and games of edges.
    step: with the number of the first of `games`.
    may_grow: whether to return if a game might need more room than there is.
    game: scratch.  outcomes: int64[4], games by outcome, added to.  Everything but `games` is modified in place.
    """
    start, moves, exploring = games
    for number in range(first_game, start.shape[0] - 1):
        if growth is not None:
            if may_grow and not has_room(graph, growth, graph_cells(growth) + 1):
                return number
            clear_board(growth)
        row, ply, image, explored_at = np.int64(0), 0, np.int64(0), np.uint64(0)
        for move in range(start[number], start[number + 1]):
            edge = np.int64(moves[move])
            if growth is not None:
                lo, hi = edges_of(graph, row)
                for other in range(lo, hi):
                    if growth.origin[image, graph.cell[other]] == moves[move]:
                        edge = np.int64(other)
            game.row[ply], game.edge[ply] = row, edge
            explored_at |= np.uint64(exploring[move]) << np.uint64(ply)
            row = np.int64(graph.child[edge])
            if growth is not None:
                row, image = follow_game(tables, graph, growth, image, edge, row, ply, step.worth)
            ply += 1
        game.row[ply] = row
        outcomes[graph.outcome[row]] += 1
        now = with_game(step, step.alpha, step.epsilon, -1, step.game + number)
        learn(tables, graph, with_exploring(game, explored_at), ply, now)
    return start.shape[0] - 1
