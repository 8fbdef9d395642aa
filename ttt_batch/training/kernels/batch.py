"""A batch from start to end: find the best moves, play or draw the counts, fold."""

import functools
from typing import Any, NamedTuple

import numpy as np

from ttt_batch.base.jit import generic, inlined, kernel
from ttt_batch.game.graph import Graph, n_unfinished
from ttt_batch.learners.base import fold
from ttt_batch.learners.steps import Step, fill_weights, with_game
from ttt_batch.runs.batches import Batches, bounds_in_kernels
from ttt_batch.runs.schedules import EXPONENTIAL, LINEAR, Decay, value_at
from ttt_batch.simulation.chances import Probabilities
from ttt_batch.simulation.counts import Counts, clear_counts, complete_counts, complete_reached, empty_counts
from ttt_batch.simulation.exploration import N_SETS, Explorations, fill_explorations
from ttt_batch.simulation.flow import Rows, flow
from ttt_batch.simulation.greedy_paths import pack_row, trace_paths
from ttt_batch.simulation.lockstep import Lockstep, pack_moves
from ttt_batch.simulation.pieces import walk_chunk
from ttt_batch.simulation.policy import Choice, Policy, empty_policy, order_row, policy_among
from ttt_batch.simulation.walk import Walker


class Decays(NamedTuple):
    """How step size and epsilon change over the run, and scratch for refilling their tables.

    weight: float64[512], stack: int64[512].
    """

    alpha: Decay
    epsilon: Decay
    weight: Any
    stack: Any


class Learning(NamedTuple):
    """What every kernel that plays and learns takes: the tables, which change in place, and the settings."""

    tables: Any
    graph: Graph
    choice: Choice
    step: Step
    decays: Decays


class Workspace(NamedTuple):
    """Working space for batches; what remains in it after a batch follows from the tables.

    seat: the learner's seat, 0 or 1, against a rival; -1 in self-play.
    policy: the best moves of each row, the rival's included.
    stale: bool[U], rows whose best moves may have changed.
    rows: uint32[U], scratch.
    listed: int64[1], how many rows `rows` lists that changed in the last batch, if all have been ordered since; or -1.
    owned: bool[U], rows where the learner moves; the others are the rival's.
    ended: int64[S - U], games so far that ended in each final row.
    """

    seat: int
    policy: Policy
    counts: Counts
    stale: Any
    rows: Any
    listed: Any
    owned: Any
    ended: Any


def make_decays(alpha: Decay, epsilon: Decay) -> Decays:
    """The schedules of step size and exploration, with their scratch."""
    return Decays(alpha, epsilon, np.zeros(N_SETS), np.zeros(N_SETS, np.int64))


def make_workspace(graph: Graph, *, rival: Policy | Probabilities | None = None, seat: int = -1) -> Workspace:
    """Working space for one board, every row stale; with a `rival`, for the learner in `seat`."""
    policy = empty_policy(graph)
    n_open = graph.first_edge.size - 1
    owned = np.ones(n_open, dtype=np.bool_)
    if rival is not None:
        owned = (graph.ply[:n_open] & 1) == seat
        rival = policy_among(graph, rival.chance > 0.0) if isinstance(rival, Probabilities) else rival
        policy.ordered[:] = rival.ordered
        policy.best[:] = rival.best
    stale = np.ones(n_open, dtype=np.bool_)
    ended = np.zeros(graph.code.size - n_open, np.int64)
    rows, listed = np.zeros(n_open, np.uint32), np.full(1, -1, np.int64)
    return Workspace(seat, policy, empty_counts(graph), stale, rows, listed, owned, ended)


@inlined
def by_games(decay: Decay) -> Any:
    """Whether a schedule changes with the games played."""
    return decay.kind == LINEAR or decay.kind == EXPONENTIAL


@inlined
def step_at(decays: Decays, step: Step, seat: int, game: int) -> Any:
    """The `Step` of a batch that begins with `game`; its tabulated weights stay those of `step`."""
    alpha = value_at(decays.alpha, game) if by_games(decays.alpha) else step.alpha
    return with_game(step, alpha, value_at(decays.epsilon, game), seat, game)


@inlined
def set_explorations(decays: Decays, seat: int, explorations: Explorations, game: int) -> None:
    """Refill `explorations` for a batch that begins with `game`, if epsilon changes with the games."""
    if by_games(decays.epsilon):
        fill_explorations(explorations, value_at(decays.epsilon, game), seat, decays.weight, decays.stack)


@inlined
def batch_step(decays: Decays, step: Step, seat: int, game: int) -> Any:
    """The `Step` of a batch that begins with `game`; its weights are refilled in place if alpha changes."""
    now = step_at(decays, step, seat, game)
    if by_games(decays.alpha):
        fill_weights(now.alpha, now.weights)
    return now


@inlined
def order_among(tables: Any, graph: Graph, choice: Choice, work: Workspace, first: int, last: int) -> Any:
    """Find the best moves of the stale ones among rows `first` to `last - 1`; return how many changed.

    They are listed in `work.rows` from entry `first` on.  `work` is modified in place.
    """
    stale, rows = work.stale, work.rows
    n_stale, n_changed = first, np.int64(first)
    for row in range(first, last):  # a list first: a branch for each row would be mispredicted
        rows[n_stale] = row
        n_stale += stale[row]
        stale[row] = False
    for i in range(first, n_stale):
        row = rows[i]
        if work.owned[row] and order_row(tables, graph, choice, work.policy, row):
            rows[n_changed] = row
            n_changed += 1
    return n_changed - first


@inlined
def order_dirty(tables: Any, graph: Graph, choice: Choice, work: Workspace) -> Any:
    """Find the best moves of every stale row; return how many rows changed, listed in `work.rows`.

    `work` is modified in place.  What a judgement or `order_claimed` has done already is not done again.
    """
    if work.listed[0] >= 0:
        n_listed, work.listed[0] = work.listed[0], -1
        return n_listed
    return order_among(tables, graph, choice, work, 0, n_unfinished(graph))


@generic
def play_batch(way: Any, graph: Graph, decays: Decays, work: Workspace, n_changed: int, key: Any, bounds: Any) -> Any:
    """Fill `work.counts` with a batch of games, given the policy of `work`; `way` is modified in place.

    n_changed: the first `n_changed` rows in `work.rows` have other best moves than in the batch before.
    key: uint64, `stream_key(seed)`, or `stream_key(seed, FLOW)` if games are drawn.  bounds: (int, int), the first game
    and the first one after the last.
    """


@functools.partial(generic, inline=True)
def prepare_walk(way: Any, graph: Graph, decays: Decays, work: Workspace, n_changed: int, game: int) -> Any:
    """Get a way to walk ready for a batch that begins with `game`; it is modified in place.  n_changed: as above."""


@functools.partial(generic, inline=True)
def count_walked(way: Any, graph: Graph, work: Workspace, games: int) -> Any:
    """Fill `work.counts` with a batch of `games` games, given `way.drawn`, which is set back; both in place."""


@prepare_walk.register(Walker)
def _(way: Walker, graph: Graph, decays: Decays, work: Workspace, n_changed: int, game: int) -> None:
    set_explorations(decays, work.seat, way.explorations, game)
    for i in range(n_changed):
        pack_row(graph, work.policy, way.paths, work.rows[i])
    if n_changed:
        trace_paths(graph, work.policy, way.paths)


@prepare_walk.register(Lockstep)
def _(way: Lockstep, graph: Graph, decays: Decays, work: Workspace, n_changed: int, game: int) -> None:
    for i in range(n_changed):
        pack_moves(graph, work.policy, way, work.rows[i])
    way.epsilon[0] = value_at(decays.epsilon, game)


@count_walked.register(Walker)
def _(way: Walker, graph: Graph, work: Workspace, games: int) -> None:
    complete_counts(graph, work.policy, way.drawn, work.counts, games)


@count_walked.register(Lockstep)
def _(way: Lockstep, graph: Graph, work: Workspace, games: int) -> None:
    if way.by_row:
        complete_reached(graph, way.drawn, work.counts, games)
    else:
        complete_counts(graph, work.policy, way.drawn, work.counts, games)


@play_batch.register(Walker)
@play_batch.register(Lockstep)
def walk_batch(way: Any, graph: Graph, decays: Decays, work: Workspace, n_changed: int, key: Any, bounds: Any) -> None:
    """`play_batch` of every way to walk."""
    game, end = bounds
    prepare_walk(way, graph, decays, work, n_changed, game)
    walk_chunk(way, graph, key, game, end)
    count_walked(way, graph, work, end - game)


@play_batch.register(Rows)
def _flow(way: Rows, graph: Graph, decays: Decays, work: Workspace, _n_changed: int, key: Any, bounds: Any) -> None:
    game, end = bounds  # a batch's random numbers depend on its first game
    flow(graph, work.policy, value_at(decays.epsilon, game), work.seat, key, game, end - game, work.counts, way)


@kernel
def run_batches(
    way: Any, learning: Learning, work: Workspace, key: Any, batches: Batches, first_game: int, last_game: int
) -> None:
    """Play games `first_game` to `last_game - 1` and learn from them batch by batch, on one thread.

    way: one for which `play_batch` is registered.  key: see `play_batch`.
    `way`, `learning` and `work` are modified in place.
    """
    tables, graph, choice, step, decays = learning
    game = first_game
    while game < last_game:
        end = min(last_game, bounds_in_kernels(batches, game)[1])
        now = batch_step(decays, step, work.seat, game)
        n_changed = order_dirty(tables, graph, choice, work)
        play_batch(way, graph, decays, work, n_changed, key, (game, end))
        fold(tables, graph, work.counts, now, work.stale)
        clear_counts(graph, work.counts, work.ended)
        game = end


@kernel
def begin_walk(way: Any, learning: Learning, work: Workspace, game: int) -> Any:
    """Get ready for a batch that begins with `game`, to be walked in pieces; return its `Step`.

    way: a `Walker` or `Lockstep`.  `way`, `work` and `learning.step.weights` are modified in place.
    """
    tables, graph, choice, step, decays = learning
    prepare_walk(way, graph, decays, work, order_dirty(tables, graph, choice, work), game)
    return batch_step(decays, step, work.seat, game)


@kernel
def end_walk(way: Any, tables: Any, graph: Graph, step: Step, work: Workspace, games: int) -> None:
    """Learn from a batch of `games` that was walked in pieces, whose counts are all in `way.drawn`.

    `way.drawn`, `tables` and `work` are modified in place.
    """
    count_walked(way, graph, work, games)
    fold(tables, graph, work.counts, step, work.stale)
    clear_counts(graph, work.counts, work.ended)
