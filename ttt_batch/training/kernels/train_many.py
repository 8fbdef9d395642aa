"""Many short runs in one kernel, judged at every recorded point: what a study is made of.

A call from Python takes longer than a judgement.  A batch begins with the best moves that a judgement needs, too: they
are listed once for both, and only where they may have changed, because that takes longest in a judgement.

Many learners with matchboxes, one after the other, each game by game against the same opponent; results are counted.
They play the games of `mixture_games` and learn as the learner `menace` does, to the last bit, several times as fast: a
kind of beads is one number, what a box holds in all is kept beside it, and the opponent's chances are added up once.
That a box's beads are added up in another order changes nothing, since whole numbers and quarters have exact sums.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_batch.compiler.jit import (
    BoolArray,
    Float64Array,
    Int64,
    Int64Array,
    Tables,
    Uint8Array,
    Uint32Array,
    Uint64Array,
    inlined,
    kernel,
)
from ttt_batch.compiler.numerics import draw, game_base, unit
from ttt_batch.evaluation.judgement import Judgement, ProofSpace, judge_tables
from ttt_batch.games.board import DRAW, FIRST_WINS
from ttt_batch.games.graph import Graph, edges_of, n_unfinished, rows_of_edges
from ttt_batch.learners.base import fold
from ttt_batch.runs.schedules import Batches, bounds_in_kernels
from ttt_batch.simulation.policy import Choice, Policy, clear_counts, list_best
from ttt_batch.training.kernels.batch import Learning, Workspace, batch_step, order_dirty, play_batch


@kernel
def order_now(tables: Tables, graph: Graph, choice: Choice, work: Workspace) -> None:
    """List the best moves of dirty rows for a judgement and for the next batch; `work` is modified in place."""
    work.listed[0] = order_dirty(tables, graph, choice, work)


class SeedBatch(NamedTuple):
    """Tables that learners use one after the other.

    places: the tables, one array a field.  starts: their content at the start, a row for each learner, or one for all.
    ends: the same for the final content, a row for each, or no row if it is not kept.  All are bytes, uint8[...] and
    uint8[n, ...], so that tables of every kind are alike.
    policy: space for the common first best moves.
    """

    places: tuple[Uint8Array, ...]
    starts: tuple[Uint8Array, ...]
    ends: tuple[Uint8Array, ...]
    policy: Policy


@kernel
def train_learners(
    sampler: Any,
    learning: Learning,
    work: Workspace,
    keys: Uint64Array,
    batches: Batches,
    points: Int64Array,
    space: ProofSpace,
    seed_batch: SeedBatch,
    verdicts: Judgement,
    outcomes: Int64Array,
) -> None:
    """Let one learner after the other play games 0 to `points[-1] - 1` as `run_batches` does; judge it at each point.

    keys: uint64[2, n], for each learner those of `play_batch` and `Step.chance`.  points: int64[T], games, ascending.
    space: `space.policy` is that of `work` in self-play, and one of its own against an opponent.
    verdicts: `Judgement` with axes for learners and points before its own.  outcomes: int64[n, T, 3], first wins, draws
    and second wins.  Both are filled in place; `sampler`, `learning`, `work` and `seed_batch` are modified in place.
    """
    tables, graph, choice, step, decays = learning
    for learner in range(keys.shape[1]):
        step.chance[0] = keys[1, learner]
        n_changed = take_place(tables, graph, choice, work, seed_batch, learner)
        game = 0
        for point in range(points.shape[0]):
            while game < points[point]:
                end = min(points[point], bounds_in_kernels(batches, game)[1])
                now = batch_step(decays, step, work.seat, game)
                play_batch(sampler, learning, work, n_changed, keys[0, learner], (game, end))
                fold(tables, graph, work.counts, now, work.dirty)
                clear_counts(graph, work.counts, work.ended)
                game = end
                n_changed = order_dirty(tables, graph, choice, work)
            judge_tables(tables, graph, choice, space, work.seat < 0, verdict_at(verdicts, learner, point), (0, 2))
            count_outcomes(graph, work.ended, outcomes[learner, point])
        for field in range(len(seed_batch.places)):
            if seed_batch.ends[field].shape[0]:
                copy_bytes(seed_batch.places[field], seed_batch.ends[field][learner])


@inlined
def copy_bytes(source: Uint32Array | Uint8Array, target: Uint32Array | Uint8Array) -> None:
    """Copy bytes; Numba's own assignment of slices would allocate."""
    for i in range(source.shape[0]):
        target[i] = source[i]


@inlined
def take_place(
    tables: Tables, graph: Graph, choice: Choice, work: Workspace, seed_batch: SeedBatch, learner: Int64
) -> Int64:
    """Get everything ready for the first batch of a learner; return how many rows `work.rows` lists as changed.

    The best moves of equal start tables are found once: it takes as long as a judgement.
    """
    own = seed_batch.starts[0].shape[0] > 1
    for field in range(len(seed_batch.places)):
        copy_bytes(seed_batch.starts[field][learner if own else 0], seed_batch.places[field])
    work.ended[:] = 0
    work.counts.scratch[:] = 0
    policy, kept = work.policy, seed_batch.policy
    if own or learner == 0:
        for row in range(n_unfinished(graph)):
            if work.owned[row]:
                list_best(tables, graph, choice, policy, row)
        if not own:
            copy_bytes(policy.best, kept.best)
            copy_bytes(policy.ordered, kept.ordered)
    else:
        copy_bytes(kept.best, policy.best)
        copy_bytes(kept.ordered, policy.ordered)
    n = 0
    for row in range(n_unfinished(graph)):
        work.dirty[row] = False
        work.rows[n] = row
        n += work.owned[row]
    return n


@inlined
def verdict_at(verdicts: Judgement, learner: Int64, point: Int64) -> Judgement:
    """Return the judgement of one learner at one point, to be filled in place."""
    return Judgement(
        unbeatable=verdicts.unbeatable[learner, point],
        worst=verdicts.worst[learner, point],
        self_play=verdicts.self_play[learner, point],
        versus_random=verdicts.versus_random[learner, point],
        best_response=verdicts.best_response[learner, point],
        optimal_share=verdicts.optimal_share[learner, point],
        value_error=verdicts.value_error[learner, point],
    )


@inlined
def count_outcomes(graph: Graph, ended: Int64Array, outcomes: Int64Array) -> None:
    """Fill `outcomes` (int64[3]) with first wins, draws and second wins among the games that `ended` counts by row."""
    outcomes[:] = 0
    for i in range(ended.shape[0]):
        outcome = graph.outcome[n_unfinished(graph) + i]
        outcomes[1 if outcome == DRAW else (0 if outcome == FIRST_WINS else 2)] += ended[i]


MOST_PLIES = 10
"""Of a game: nine moves, or fewer and resigning."""


class Matchboxes(NamedTuple):
    """All that learners with the same settings share.

    kind: int64[E], the number of the kind that an edge of a box belongs to; of no meaning for others, and to resign.
    portion: float64[E], what one edge has of the beads of its kind; 0 for edges to resign.
    holds: bool[U], which rows are boxes.
    full, filled: float64[K] and float64[U], beads of each kind and in each box at the beginning.
    reached: float64[E], the chances of the opponent's moves up to each edge of its row, infinite at the last edge that
    has a chance; of no meaning for other rows.
    reward: float64[4], beads for each outcome.
    """

    kind: Int64Array
    portion: Float64Array
    holds: BoolArray
    full: Float64Array
    filled: Float64Array
    reached: Float64Array
    reward: Float64Array


class BoxSampler(NamedTuple):
    """One learner's beads, and its present game.

    beads: float64[K].  inside: float64[U], beads in each box.  row, kind: int64[MOST_PLIES], boxes opened in a game,
    and the kinds drawn.
    """

    beads: Float64Array
    inside: Float64Array
    row: Int64Array
    kind: Int64Array


def make_matchboxes(
    graph: Graph, q: NDArray[np.float64], chance: NDArray[np.float64], reward: NDArray[np.float64]
) -> Matchboxes:
    """Return the boxes of learners that begin with `q` (float64[E], as in `MenaceTables`).

    chance: float64[E], of the opponent's moves.  reward: float64[4], by outcome.
    """
    row, child = rows_of_edges(graph), graph.child.astype(np.int64)
    boxed = np.flatnonzero(~np.isnan(q) & (graph.code[child] >= 0))
    _, own, alike = np.unique(row[boxed] * graph.code.size + child[boxed], return_inverse=True, return_counts=True)
    kind, portion = np.zeros(child.size, np.int64), np.zeros(child.size)
    full, filled, holds = np.zeros(alike.size), np.zeros(graph.legal.size), np.zeros(graph.legal.size, np.bool_)
    kind[boxed], portion[boxed] = own.reshape(-1), (1.0 / alike)[own.reshape(-1)]
    full[kind[boxed]], holds[row[boxed]] = q[boxed], True
    np.add.at(filled, row[boxed], q[boxed] * portion[boxed])
    reached = np.empty(child.size)
    for first, last in zip(graph.first_edge[:-1], graph.first_edge[1:], strict=True):
        reached[first:last] = np.add.accumulate(chance[first:last])  # one after the other
        reached[max(np.flatnonzero(chance[first:last]), default=0) + first] = np.inf
    return Matchboxes(kind=kind, portion=portion, holds=holds, full=full, filled=filled, reached=reached, reward=reward)


def make_box_sampler(graph: Graph, boxes: Matchboxes) -> BoxSampler:
    """Return the arrays of one learner."""
    return BoxSampler(np.zeros(boxes.full.size), np.zeros(boxes.filled.size), *np.zeros((2, MOST_PLIES), np.int64))


@inlined
def drawn_edge(graph: Graph, boxes: Matchboxes, sampler: BoxSampler, row: Int64, reach: float) -> Int64:
    """Return the edge whose bead is drawn from a box, or the last one of its row, to resign, if it is empty."""
    lo, hi = edges_of(graph, row)
    inside, total, last = sampler.inside[row], 0.0, hi - 1
    if inside > 0.0:
        for edge in range(lo, hi):
            share = sampler.beads[boxes.kind[edge]] * boxes.portion[edge]
            if share > 0.0:
                total, last = total + share / inside, edge
                if total > reach:
                    break
    return last


@inlined
def opponent_edge(graph: Graph, boxes: Matchboxes, row: Int64, reach: float) -> np.int64:
    """Return the edge that the opponent takes, or the only one of a row without a box."""
    edge = np.int64(graph.first_edge[row])
    while boxes.reached[edge] <= reach:
        edge += 1
    return edge


@inlined
def play_boxes_game(graph: Graph, boxes: Matchboxes, sampler: BoxSampler, base: np.uint64) -> np.int64:
    """Play a game and learn from it; return its outcome (int64)."""
    row, ply, opened = np.int64(0), np.int64(0), np.int64(0)
    while row < n_unfinished(graph):
        reach = unit(draw(base, ply))
        if boxes.holds[row]:
            edge = drawn_edge(graph, boxes, sampler, row, reach)
            sampler.row[opened], sampler.kind[opened] = row, boxes.kind[edge]
            opened += 1
        else:
            edge = opponent_edge(graph, boxes, row, reach)
        row = np.int64(graph.child[edge])
        ply += 1
    outcome = np.int64(graph.outcome[row])
    if graph.code[row] < 0:
        opened -= 1  # resigning draws no bead
    for i in range(opened):
        kind, box = sampler.kind[i], sampler.row[i]
        before = sampler.beads[kind]
        after = max(before + boxes.reward[outcome], 0.0)
        sampler.beads[kind] = after
        sampler.inside[box] += after - before
    return outcome


@inlined
def copy_array(one: Float64Array, other: Float64Array) -> None:
    """Copy an array into another one."""
    for i in range(one.shape[0]):
        other[i] = one[i]


@kernel
def play_matchboxes(
    graph: Graph,
    boxes: Matchboxes,
    sampler: BoxSampler,
    keys: Uint64Array,
    points: Int64Array,
    outcomes: Int64Array,
    ends: Float64Array,
) -> None:
    """Let one learner after the other play games 0 to `points[-1] - 1`, and count the results.

    keys: uint64[n], the learners' streams.  points: int64[T], games, ascending.
    outcomes: int64[n, T, 3], first wins, draws and second wins up to each point.  ends: float64[n, K], the beads of
    each kind at the end, or float64[0, K] if they are not kept.  Both are filled in place; `sampler` is modified.
    """
    for learner in range(keys.shape[0]):
        copy_array(boxes.full, sampler.beads)
        copy_array(boxes.filled, sampler.inside)
        wins, draws, game = np.int64(0), np.int64(0), np.int64(0)
        for point in range(points.shape[0]):
            while game < points[point]:
                outcome = play_boxes_game(graph, boxes, sampler, game_base(keys[learner], game))
                wins += outcome == FIRST_WINS
                draws += outcome == DRAW
                game += 1
            outcomes[learner, point, 0] = wins
            outcomes[learner, point, 1] = draws
            outcomes[learner, point, 2] = game - wins - draws
        if ends.shape[0] > 0:
            copy_array(sampler.beads, ends[learner])
