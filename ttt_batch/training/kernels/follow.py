"""Many short runs in one kernel, judged at every recorded point: what a study is made of.

A call from Python takes longer than a judgement.  A batch begins with the best moves that a judgement needs, too: they
are listed once for both.
"""

from typing import Any, NamedTuple

from ttt_batch.base.jit import inlined, kernel
from ttt_batch.evaluation.judgement import Judgement, judge_tables
from ttt_batch.evaluation.proof import ProofSpace
from ttt_batch.game.board import DRAW, FIRST_WINS
from ttt_batch.game.graph import Graph, n_unfinished
from ttt_batch.learners.base import fold
from ttt_batch.runs.batches import Batches, bounds_in_kernels
from ttt_batch.simulation.counts import clear_counts
from ttt_batch.simulation.policy import Choice, Policy, list_best
from ttt_batch.training.kernels.batch import Learning, Workspace, batch_step, order_dirty, play_batch


class SeedBatch(NamedTuple):
    """What learners write on one after the other: all that a learner has learnt is in `places`.

    places: the arrays of the tables, and the visits.  starts: for each of them the content that learners begin with, in
    rows: one for each learner, or one for all.  ends: the same for what they end with, a row for each, or no row if
    nobody wants it.  All are bytes, uint8[...] and uint8[n, ...], so that tables of every kind are alike.
    policy: room for the best moves that all begin with.
    """

    places: Any
    starts: Any
    ends: Any
    policy: Policy


@kernel
def train_learners(
    way: Any,
    learning: Learning,
    work: Workspace,
    keys: Any,
    batches: Batches,
    points: Any,
    bench: ProofSpace,
    slate: SeedBatch,
    verdicts: Judgement,
    outcomes: Any,
) -> None:
    """Let one learner after the other play games 0 to `points[-1] - 1` as `run_batches` does; judge it at each point.

    keys: uint64[2, n], for each learner those of `play_batch` and `Step.chance`.  points: int64[T], games, ascending.
    bench: `bench.policy` is that of `work` in self-play, and one of its own against a rival.
    verdicts: `Judgement` with axes for learners and points before its own.  outcomes: int64[n, T, 3], first wins, draws
    and second wins.  Both are filled in place; `way`, `learning`, `work` and `slate` are modified in place.
    """
    tables, graph, choice, step, decays = learning
    for learner in range(keys.shape[1]):
        step.chance[0] = keys[1, learner]
        n_changed = take_place(tables, graph, choice, work, slate, learner)
        game = 0
        for point in range(points.shape[0]):
            while game < points[point]:
                end = min(points[point], bounds_in_kernels(batches, game)[1])
                now = batch_step(decays, step, work.seat, game)
                play_batch(way, graph, decays, work, n_changed, keys[0, learner], (game, end))
                fold(tables, graph, work.counts, now, work.stale)
                clear_counts(graph, work.counts, work.ended)
                game = end
                n_changed = order_dirty(tables, graph, choice, work)
            judge_tables(tables, graph, choice, bench, work.seat < 0, verdict_at(verdicts, learner, point))
            count_outcomes(graph, work.ended, outcomes[learner, point])
        for field in range(len(slate.places)):
            if slate.ends[field].shape[0]:
                copy_bytes(slate.places[field], slate.ends[field][learner])


@inlined
def copy_bytes(source: Any, target: Any) -> None:
    """Copy bytes; Numba's own assignment of slices would allocate."""
    for i in range(source.shape[0]):
        target[i] = source[i]


@inlined
def take_place(tables: Any, graph: Graph, choice: Choice, work: Workspace, slate: SeedBatch, learner: int) -> Any:
    """Get everything ready for the first batch of a learner; return how many rows `work.rows` lists as changed.

    The best moves of equal start tables are found once: it takes as long as a judgement.
    """
    own = slate.starts[0].shape[0] > 1
    for field in range(len(slate.places)):
        copy_bytes(slate.starts[field][learner if own else 0], slate.places[field])
    work.ended[:] = 0
    work.counts.scratch[:] = 0
    policy, kept = work.policy, slate.policy
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
        work.stale[row] = False
        work.rows[n] = row
        n += work.owned[row]
    return n


@inlined
def verdict_at(verdicts: Judgement, learner: int, point: int) -> Judgement:
    """The verdict of one learner at one point, to be filled in place."""
    return Judgement(
        verdicts.unbeatable[learner, point],
        verdicts.worst[learner, point],
        verdicts.self_play[learner, point],
        verdicts.versus_random[learner, point],
        verdicts.best_response[learner, point],
        verdicts.optimal_share[learner, point],
        verdicts.value_error[learner, point],
    )


@inlined
def count_outcomes(graph: Graph, ended: Any, outcomes: Any) -> None:
    """Fill `outcomes` (int64[3]) with first wins, draws and second wins among the games that `ended` counts by row."""
    outcomes[:] = 0
    for i in range(ended.shape[0]):
        outcome = graph.outcome[n_unfinished(graph) + i]
        outcomes[1 if outcome == DRAW else (0 if outcome == FIRST_WINS else 2)] += ended[i]
