"""A batch from start to end: find the best moves, play or draw the counts, fold; also on growing boards.

The flow on a growing board: ply by ply, with a row added for every position that games arrive at.
A ply's moves are drawn as on an enumerated board (`simulation.flow`).  Then each move that was taken finds, or adds,
the row that it leads to.  Adding may need more room than there is, so that step can stop and continue.

What threads share of a large board's batch beside its games: they claim rows, a span of them at a time.
A row's best moves depend on no other row's.  A fold goes from the deepest ply up, so rows wait for those of deeper
plies alone.  One call a thread adds up, folds and clears.
"""

import functools
from typing import Any, NamedTuple

import numpy as np

from ttt_batch.compiler.intrinsics import claim
from ttt_batch.compiler.jit import (
    Bool,
    BoolArray,
    Float64Array,
    Int64,
    Int64Array,
    Tables,
    Uint32Array,
    generic,
    inlined,
    kernel,
)
from ttt_batch.games.graph import (
    FORFEIT,
    UNSEEN,
    Graph,
    Growth,
    edges_of,
    graph_cells,
    has_room,
    is_legal,
    mark,
    n_unfinished,
    show_code,
)
from ttt_batch.learners.base import Step, add_final, add_row, fill_weights, fold, with_game
from ttt_batch.runs.options import EXPONENTIAL, LINEAR, Decay
from ttt_batch.runs.schedules import Batches, bounds_in_kernels, value_at
from ttt_batch.simulation.action_probabilities import Probabilities
from ttt_batch.simulation.flow import Rows, batch_base, flow, flow_rows
from ttt_batch.simulation.lockstep import Lockstep, pack_moves
from ttt_batch.simulation.policy import (
    EXPLORING,
    GREEDY,
    Choice,
    Counts,
    Policy,
    clear_counts,
    complete_counts,
    complete_reached,
    empty_counts,
    empty_policy,
    list_best,
    order_row,
    policy_among,
)
from ttt_batch.simulation.walk import N_SETS, Explorations, Walker, fill_explorations, pack_row, trace_paths, walk_chunk


class Decays(NamedTuple):
    """Schedules of step size and epsilon over the run, and scratch for refilling their tables.

    weight: float64[512], stack: int64[512].
    """

    alpha: Decay
    epsilon: Decay
    weight: Float64Array
    stack: Int64Array


class Learning(NamedTuple):
    """Arguments of every kernel that plays and learns: the tables, which change in place, and the settings."""

    tables: Tables
    graph: Graph
    choice: Choice
    step: Step
    decays: Decays


class Workspace(NamedTuple):
    """Working space for batches; what remains in it after a batch follows from the tables.

    seat: the learner's seat, 0 or 1, against an opponent; -1 in self-play.
    policy: the best moves of each row, those of the opponent included.
    dirty: bool[U], rows whose best moves may have changed.
    rows: uint32[U], scratch.
    listed: int64[1], how many rows `rows` lists that changed in the last batch, if all have been ordered since; or -1.
    owned: bool[U], rows where the learner moves; the opponent moves in the others.
    ended: int64[S - U], games so far that ended in each final row.
    """

    seat: int
    policy: Policy
    counts: Counts
    dirty: BoolArray
    rows: Uint32Array
    listed: Int64Array
    owned: BoolArray
    ended: Int64Array


def make_decays(alpha: Decay, epsilon: Decay) -> Decays:
    """Return the schedules of step size and exploration, with their scratch."""
    return Decays(alpha, epsilon, np.zeros(N_SETS), np.zeros(N_SETS, np.int64))


def make_workspace(graph: Graph, *, opponent: Policy | Probabilities | None = None, seat: int = -1) -> Workspace:
    """Return the workspace of one board, every row dirty; with a `opponent`, for the learner in `seat`."""
    policy = empty_policy(graph)
    n_open = graph.first_edge.size - 1
    owned = np.ones(n_open, dtype=np.bool_)
    if opponent is not None:
        owned = (graph.ply[:n_open] & 1) == seat
        opponent = policy_among(graph, opponent.chance > 0.0) if isinstance(opponent, Probabilities) else opponent
        policy.ordered[:] = opponent.ordered
        policy.best[:] = opponent.best
    dirty = np.ones(n_open, dtype=np.bool_)
    ended = np.zeros(graph.code.size - n_open, np.int64)
    return Workspace(
        seat=seat,
        policy=policy,
        counts=empty_counts(graph),
        dirty=dirty,
        rows=np.zeros(n_open, np.uint32),
        listed=np.full(1, -1, np.int64),
        owned=owned,
        ended=ended,
    )


@inlined
def by_games(decay: Decay) -> bool:
    """Return whether a schedule changes with the games played."""
    return decay.kind == LINEAR or decay.kind == EXPONENTIAL


@inlined
def step_at(decays: Decays, step: Step, seat: Int64, game: Int64) -> Step:
    """Return the `Step` of a batch that begins with `game`; its tabulated weights stay those of `step`."""
    alpha = value_at(decays.alpha, game) if by_games(decays.alpha) else step.alpha
    return with_game(step, alpha, value_at(decays.epsilon, game), seat, game)


@inlined
def set_explorations(decays: Decays, seat: Int64, explorations: Explorations, game: Int64) -> None:
    """Fill `explorations` for a batch that begins with `game`, if epsilon changes with the games."""
    if by_games(decays.epsilon):
        fill_explorations(explorations, value_at(decays.epsilon, game), seat, decays.weight, decays.stack)


@inlined
def batch_step(decays: Decays, step: Step, seat: Int64, game: Int64) -> Step:
    """Return the `Step` of a batch that begins with `game`; its weights are refilled in place if alpha changes."""
    now = step_at(decays, step, seat, game)
    if by_games(decays.alpha):
        fill_weights(now.alpha, now.weights)
    return now


@inlined
def order_among(tables: Tables, graph: Graph, choice: Choice, work: Workspace, first: Int64, last: Int64) -> np.int64:
    """Find the best moves of the dirty rows from `first` to `last - 1`; return how many changed.

    They are listed in `work.rows` from entry `first` on.  `work` is modified in place.
    """
    dirty, rows = work.dirty, work.rows
    n_dirty, n_changed = first, np.int64(first)
    for row in range(first, last):  # a list first: a branch for each row would be mispredicted
        rows[n_dirty] = row
        n_dirty += dirty[row]
        dirty[row] = False
    for i in range(first, n_dirty):
        row = rows[i]
        if work.owned[row] and order_row(tables, graph, choice, work.policy, row):
            rows[n_changed] = row
            n_changed += 1
    return n_changed - first


@inlined
def order_dirty(tables: Tables, graph: Graph, choice: Choice, work: Workspace) -> np.int64:
    """Find the best moves of every dirty row; return how many rows changed, listed in `work.rows`.

    `work` is modified in place.  Rows that a judgement or `order_from_queue` has ordered are skipped.
    """
    if work.listed[0] >= 0:
        n_listed, work.listed[0] = work.listed[0], -1
        return n_listed
    return order_among(tables, graph, choice, work, 0, n_unfinished(graph))


@generic
def play_batch(sampler: Any, learning: Learning, work: Workspace, n_changed: int, key: Any, bounds: Any) -> Any:
    """Play a batch of games with the policy of `work` into `work.counts`; `sampler` changes in place.

    n_changed: the first `n_changed` rows in `work.rows` have other best moves than in the batch before.
    key: uint64, `stream_key(seed)`, or `stream_key(seed, FLOW)` if games are drawn.  bounds: (int, int), the first game
    and the first one after the last.
    """


@functools.partial(generic, inline=True)
def prepare_walk(sampler: Any, learning: Learning, work: Workspace, n_changed: int, game: int) -> Any:
    """Prepare the sampler in place for a batch from `game` on.  n_changed: as for `play_batch`."""


@functools.partial(generic, inline=True)
def count_walked(sampler: Any, graph: Graph, work: Workspace, games: int) -> Any:
    """Fill `work.counts` with a batch of `games` games from `sampler.drawn`, and reset `sampler.drawn`."""


@prepare_walk.register(Walker)
def _(sampler: Walker, learning: Learning, work: Workspace, n_changed: Int64, game: Int64) -> None:
    graph = learning.graph
    set_explorations(learning.decays, work.seat, sampler.explorations, game)
    for i in range(n_changed):
        pack_row(graph, work.policy, sampler.paths, work.rows[i])
    if n_changed:
        trace_paths(graph, work.policy, sampler.paths)


@prepare_walk.register(Lockstep)
def _(sampler: Lockstep, learning: Learning, work: Workspace, n_changed: Int64, game: Int64) -> None:
    for i in range(n_changed):
        pack_moves(learning.graph, work.policy, sampler, work.rows[i])
    sampler.epsilon[0] = value_at(learning.decays.epsilon, game)


@count_walked.register(Walker)
def _(sampler: Walker, graph: Graph, work: Workspace, games: Int64) -> None:
    complete_counts(graph, work.policy, sampler.drawn, work.counts, games)


@count_walked.register(Lockstep)
def _(sampler: Lockstep, graph: Graph, work: Workspace, games: Int64) -> None:
    if sampler.by_row:
        complete_reached(graph, sampler.drawn, work.counts, games)
    else:
        complete_counts(graph, work.policy, sampler.drawn, work.counts, games)


@play_batch.register(Walker)
@play_batch.register(Lockstep)
def walk_batch(
    sampler: Any, learning: Learning, work: Workspace, n_changed: Int64, key: np.uint64, bounds: tuple[Int64, Int64]
) -> None:
    """Run `play_batch` for every kind of walk."""
    game, end = bounds
    prepare_walk(sampler, learning, work, n_changed, game)
    walk_chunk(sampler, learning.graph, key, game, end)
    count_walked(sampler, learning.graph, work, end - game)


@play_batch.register(Rows)
def _flow(
    sampler: Rows, learning: Learning, work: Workspace, _: Int64, key: np.uint64, bounds: tuple[Int64, Int64]
) -> None:
    game, end = bounds  # a batch's random numbers depend on its first game
    graph, epsilon = learning.graph, value_at(learning.decays.epsilon, game)
    flow(graph, work.policy, epsilon, work.seat, key, game, end - game, work.counts, sampler)


@kernel
def run_batches(
    sampler: Any,
    learning: Learning,
    work: Workspace,
    key: np.uint64,
    batches: Batches,
    first_game: Int64,
    last_game: Int64,
) -> None:
    """Play games `first_game` to `last_game - 1` and learn from them batch by batch, on one thread.

    sampler: one for which `play_batch` is registered.  key: see `play_batch`.
    `sampler`, `learning` and `work` are modified in place.
    """
    tables, graph, choice, step, decays = learning
    game = first_game
    while game < last_game:
        end = min(last_game, bounds_in_kernels(batches, game)[1])
        now = batch_step(decays, step, work.seat, game)
        n_changed = order_dirty(tables, graph, choice, work)
        play_batch(sampler, learning, work, n_changed, key, (game, end))
        fold(tables, graph, work.counts, now, work.dirty)
        clear_counts(graph, work.counts, work.ended)
        game = end


@kernel
def begin_walk(sampler: Any, learning: Learning, work: Workspace, game: Int64) -> Step:
    """Get ready for a batch that begins with `game`, to be walked in pieces; return its `Step`.

    sampler: a `Walker` or `Lockstep`.  `sampler`, `work` and `learning.step.weights` are modified in place.
    """
    tables, graph, choice, step, decays = learning
    prepare_walk(sampler, learning, work, order_dirty(tables, graph, choice, work), game)
    return batch_step(decays, step, work.seat, game)


@kernel
def end_walk(sampler: Any, tables: Tables, graph: Graph, step: Step, work: Workspace, games: Int64) -> None:
    """Learn from a batch of `games` that was walked in pieces, whose counts are all in `sampler.drawn`.

    `sampler.drawn`, `tables` and `work` are modified in place.
    """
    count_walked(sampler, graph, work, games)
    fold(tables, graph, work.counts, step, work.dirty)
    clear_counts(graph, work.counts, work.ended)


@inlined
def order_legal(graph: Graph, policy: Policy, row: np.uint32) -> None:
    """List all legal moves of a row, for random play; `policy` is modified in place."""
    lo, hi = edges_of(graph, row)
    put = lo
    for edge in range(lo, hi):
        policy.ordered[put] = edge
        put += is_legal(graph, edge)
    policy.best[row] = put - lo


@inlined
def clear_reached(graph: Graph, counts: Counts, first: Int64, last: Int64) -> None:
    """Take what left the rows at `counts.visited[first:last]` from where it arrived: `arrive` adds it up again, once
    every row is there."""
    for i in range(first, last):
        lo, hi = edges_of(graph, counts.visited[i])
        for edge in range(lo, hi):
            games = counts.taken[edge, GREEDY] + counts.taken[edge, EXPLORING]
            counts.arrived[graph.child[edge]] -= games


@kernel
def draw_ply(
    learning: Learning,
    policy: Policy,
    random: Bool,
    key: np.uint64,
    batch: Int64,
    counts: Counts,
    room: Rows,
    first: Int64,
    last: Int64,
) -> None:
    """Draw which moves the games take that arrived at `counts.visited[first:last]`, all of one ply.

    random: the mover plays at random, without exploring.  key, batch: see `flow`.  policy, room: scratch.
    `counts.taken` of these rows is written, in place.
    """
    tables, graph, choice, _, decays = learning
    epsilon = 0.0 if random else value_at(decays.epsilon, batch)
    for i in range(first, last):
        if random:
            order_legal(graph, policy, counts.visited[i])
        else:
            list_best(tables, graph, choice, policy, counts.visited[i])
    flow_rows(graph, policy, epsilon, batch_base(key, batch), counts, room, first, last)
    clear_reached(graph, counts, first, last)


@kernel
def arrive(
    tables: Tables, graph: Graph, growth: Growth, counts: Counts, first: Int64, last: Int64, worth: Float64Array
) -> Any:
    """Let the games at `counts.visited[first:last]`, whose moves are drawn, arrive where these lead.

    Rows are added and listed after the others in `counts.visited`; everything is modified in place.
    Returns the first of `first` to `last` not done, for lack of room.
    """
    n_open = n_unfinished(graph)
    for i in range(first, last):
        if not has_room(graph, growth, graph_cells(growth)):
            return i
        row = counts.visited[i]
        ply = np.int64(graph.ply[row])
        lo, hi = edges_of(graph, row)
        for edge in range(lo, hi):
            games = counts.taken[edge, GREEDY] + counts.taken[edge, EXPLORING]
            if games == 0:
                continue
            child = np.int64(graph.child[edge])
            shared_final = growth.finals != 0 and child > n_open and child < n_open + FORFEIT
            if child == n_open + UNSEEN or shared_final:
                show_code(growth, graph.code[row])
                mark(growth, graph.cell[edge], ply & 1)
                if shared_final:
                    child = np.int64(add_final(tables, graph, growth, ply + 1, child, worth))
                else:
                    child = np.int64(add_row(tables, graph, growth, ply + 1, worth))
            if child < n_open and counts.arrived[child] == 0:
                counts.visited[counts.n_visited[0]] = child
                counts.n_visited[0] += 1
            counts.arrived[child] += games
    return last


ORDERED, FOLDED = 1 << 14, 1 << 11
"""Rows of a span, to order and to fold."""


class Spans(NamedTuple):
    """Spans of all rows of a board, each within one ply, in the order of a fold: deepest ply first, final rows last.

    first, last: int64[n], the first row of each span and the row after its end.
    after: int64[n], number of spans of deeper plies; 0 for final rows.
    n_visited: int64[n], scratch: number of visited rows in each span.
    """

    first: Int64Array
    last: Int64Array
    after: Int64Array
    n_visited: Int64Array


def make_spans(graph: Graph, size: int = FOLDED) -> Spans:
    """Return spans of at most `size` rows."""
    bounds = [*graph.ply_start.tolist(), graph.code.size]
    n_plies, spans = len(bounds) - 2, list[tuple[int, int, int]]()
    for ply in (*range(n_plies - 1, -1, -1), n_plies):
        after = len(spans) if ply < n_plies else 0
        spans += [(row, min(row + size, bounds[ply + 1]), after) for row in range(bounds[ply], bounds[ply + 1], size)]
    first, last, after = np.array(spans, np.int64).T.copy()
    return Spans(first, last, after, np.zeros(len(spans), np.int64))


@kernel
def order_from_queue(
    sampler: Lockstep, learning: Learning, work: Workspace, next_free: Int64Array, size: Int64
) -> None:
    """Find and lay out the best moves of dirty rows.  Each thread claims `size` rows at a time.

    next_free: int64[1], the first row that no thread has claimed.  It, `sampler` and `work` are modified in place.
    """
    n_open = n_unfinished(learning.graph)
    first = claim(next_free, size)
    while first < n_open:
        last = min(first + size, n_open)
        n_changed = order_among(learning.tables, learning.graph, learning.choice, work, first, last)
        for i in range(first, first + n_changed):
            pack_moves(learning.graph, work.policy, sampler, work.rows[i])
        first = claim(next_free, size)


@kernel
def fold_from_queue(
    drawn: Uint32Array,
    games: Int64,
    tables: Tables,
    graph: Graph,
    work: Workspace,
    step: Step,
    spans: Spans,
    next_free: Int64Array,
    done: Int64Array,
) -> None:
    """Learn from a batch of `games` games, of which arrivals were counted; other threads do so, too, span by span.

    drawn: uint32[threads, S], what each thread counted; set back to zero.
    next_free, done: int64[1], zero at first: the first span that no thread has claimed, and how many are folded.
    All but `graph` and `step` are modified in place; `work.counts` is empty before and after.
    """
    n_open, arrived = n_unfinished(graph), work.counts.arrived
    number = claim(next_free, 1)
    while number < spans.first.shape[0]:
        first, last = spans.first[number], spans.last[number]
        for thread in range(1, drawn.shape[0]):
            for row in range(first, last):
                drawn[0, row] += drawn[thread, row]
                drawn[thread, row] = 0
        if first >= n_open:
            for row in range(first, last):
                work.ended[row - n_open] += drawn[0, row]
                drawn[0, row] = 0
        else:
            visited, n = work.counts.visited[first:last], np.int64(0)
            if first == 0:
                drawn[0, 0] = games
            for row in range(first, last):  # without a branch: which rows are reached is unpredictable
                here = np.int64(drawn[0, row])
                visited[n] = row
                n += here != 0
                arrived[row] = here
                drawn[0, row] = 0
            spans.n_visited[number] = n
            own = Counts(visited, spans.n_visited[number : number + 1], work.counts.taken, arrived, work.counts.scratch)
            while claim(done, 0) < spans.after[number]:
                pass
            fold(tables, graph, own, step, work.dirty)
            for i in range(n):
                arrived[visited[i]] = 0
            claim(done, 1)
        number = claim(next_free, 1)
