"""What threads share of a large board's batch beside its games: they claim rows, a span of them at a time.

A row's best moves depend on no other row's.  A fold goes from the deepest ply up, so rows wait for those of deeper
plies alone.  One call a thread adds up, folds and clears: with a call for every ply, and the rest on one thread, a
batch took 1.2 times as long (`td` on 4x4x4, 262,144 games, two threads).
"""

from typing import Any, NamedTuple

import numpy as np

from ttt_batch.base.intrinsics import claim
from ttt_batch.base.jit import kernel
from ttt_batch.game.graph import Graph, n_unfinished
from ttt_batch.learners.base import fold
from ttt_batch.learners.steps import Step
from ttt_batch.simulation.counts import Counts
from ttt_batch.simulation.lockstep import Lockstep, pack_moves
from ttt_batch.training.kernels.batch import Learning, Workspace, order_among

ORDERED, FOLDED = 1 << 14, 1 << 11
"""Rows of a span, to order and to fold."""


class Spans(NamedTuple):
    """All rows of a board in spans, in the order of a fold: within a ply, the deepest one first; final rows at the end.

    first, last: int64[n], the first row of each and the one after its last.
    after: int64[n], how many spans are of deeper plies; 0 for final rows.
    n_visited: int64[n], scratch: how many rows of each games reached.
    """

    first: Any
    last: Any
    after: Any
    n_visited: Any


def make_spans(graph: Graph, size: int = FOLDED) -> Spans:
    """Spans of at most `size` rows."""
    bounds = [*graph.ply_start.tolist(), graph.code.size]
    n_plies, spans = len(bounds) - 2, list[tuple[int, int, int]]()
    for ply in (*range(n_plies - 1, -1, -1), n_plies):
        after = len(spans) if ply < n_plies else 0
        spans += [(row, min(row + size, bounds[ply + 1]), after) for row in range(bounds[ply], bounds[ply + 1], size)]
    first, last, after = np.array(spans, np.int64).T.copy()
    return Spans(first, last, after, np.zeros(len(spans), np.int64))


@kernel
def order_from_queue(way: Lockstep, learning: Learning, work: Workspace, next_free: Any, size: int) -> None:
    """Find the best moves of stale rows, and lay them out; other threads do so, too: `size` rows are claimed at a time.

    next_free: int64[1], the first row that no thread has claimed.  It, `way` and `work` are modified in place.
    """
    n_open = n_unfinished(learning.graph)
    first = claim(next_free, size)
    while first < n_open:
        last = min(first + size, n_open)
        n_changed = order_among(learning.tables, learning.graph, learning.choice, work, first, last)
        for i in range(first, first + n_changed):
            pack_moves(learning.graph, work.policy, way, work.rows[i])
        first = claim(next_free, size)


@kernel
def fold_from_queue(
    drawn: Any,
    games: int,
    tables: Any,
    graph: Graph,
    work: Workspace,
    step: Step,
    spans: Spans,
    next_free: Any,
    done: Any,
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
            fold(tables, graph, own, step, work.stale)
            for i in range(n):
                arrived[visited[i]] = 0
            claim(done, 1)
        number = claim(next_free, 1)
