"""A cache of greedy moves: what each row's best moves were last time, on boards of up to nine cells.

Greedy play follows the cache, and a look at the table verifies it while the processor already goes on: a ply only waits
for the next row (games one by one 1.3 to 2.5 times as fast).  All that play needs to know of a row stands in one word;
several best moves stand there as a set, so that a tie is drawn without looking for them (td 1.25, backward-q 1.1 times
as fast).  Settled rows need no look (td 1.2 times, 1.4 without the update either), nor do rows with one move.  If the
scores of a row stand next to each other, eight are looked at together, and all best moves are found each time: if the
cached move fails, its successor is there (backward-q 1.1 times).
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_batch.base.intrinsics import LANES, mask_above, masked_max
from ttt_batch.base.jit import inlined
from ttt_batch.base.streams import below
from ttt_batch.game.graph import Graph
from ttt_batch.learners.base import is_settled
from ttt_batch.simulation.policy import UNIFORM, Choice, best_set, leads
from ttt_batch.training.kernels.batch import Learning

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
    """

    word: Any
    member: Any
    count: Any
    offset: Any


def make_cache(graph: Graph) -> GreedyCache:
    """A cache that holds the first move of each row."""
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


def is_like_3x3(graph: Graph) -> bool:
    """Whether rows of ply p have 9 - p moves, no game ends before ply 5, and choices have eight edges to read from on.

    Play is faster if it need not look these up, and `intrinsics` may read eight scores.
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
    """Whether exactly the moves above `best - window` may be picked, now and later.

    So it is if ties are drawn, no score is NaN, and the window is not lost in rounding next to the largest score.
    worth: of the ends of games.  scores: float64[E], what each edge scores now.
    """
    largest = np.maximum(np.abs(worth).max(), np.abs(scores).max())
    if choice.tie != UNIFORM or not np.isfinite(largest):
        return False
    return bool(choice.window > 2 * np.spacing(largest))


@inlined
def moves_at(count: Any, ply: int) -> Any:
    """How many moves a row of `ply` has (uint64); count: see `GreedyCache`."""
    if count is None:
        return np.uint64(CELLS - ply)
    return count[ply]


@inlined
def may_be_over(count: Any, ply: int) -> Any:
    """Whether a game may be over before `ply`; count: see `GreedyCache`."""
    return count is not None or ply >= SHORTEST


@inlined
def best_of_eight(scores: Any, choice: Choice, lo: Any, count: Any) -> Any:
    """`best_now` if the scores of a row stand next to each other and `window_decides`."""
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
def leads_by_table(learning: Learning, scores: Any, lo: Any, count: Any, slot: Any, mover: int) -> Any:
    """Whether move `slot` of the row is the only one that a greedy mover may pick.

    False if there are `scores`: `best_now` is as quick then.  scores: see `move`.
    lo, count: uint64, the row's first edge and its number of moves.
    """
    if scores is not None:
        return False
    first, last = np.int64(lo), np.int64(lo + count)
    return leads(learning.tables, learning.graph, learning.choice, first, last, np.int64(lo + slot), mover)


@inlined
def best_now(learning: Learning, scores: Any, lo: Any, count: Any, mover: int) -> Any:
    """The moves of a row that a greedy mover may pick, as a set (uint64); for the rest see `leads_by_table`."""
    if scores is not None:
        return best_of_eight(scores, learning.choice, lo, count)
    first, last = np.int64(lo), np.int64(lo + count)
    return np.uint64(best_set(learning.tables, learning.graph, learning.choice, first, last, mover))


@inlined
def cached_move(
    learning: Learning, scores: Any, cache: GreedyCache, settled: Any, row: Any, ply: int, explores: Any, bits: Any
) -> Any:
    """One move of a learner: (edge, child, whether chance had a part), both uint64.

    scores: float64[E], what each edge scores, on boards like 3x3 if `window_decides`; None: found by `score`.
    settled: see `Trajectory`.
    explores: whether the move is exploratory.  bits: the random number for that, or for a tie.
    `cache` is brought up to date in place.
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
    if not is_settled(settled, row):
        if among == ONE and leads_by_table(learning, scores, lo, count, word & SLOT, ply & 1):
            return edge, child, by_chance
        now_best = best_now(learning, scores, lo, count, ply & 1)
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
