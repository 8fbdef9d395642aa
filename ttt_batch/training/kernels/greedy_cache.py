"""Favourites: what each row's best moves were last time, on boards of up to nine cells.

Greedy play follows them, and a look at the table behind it verifies them while the processor already goes on: what
each ply waits for is to know the next row (games one by one 1.3 to 2.5 times as fast).  All that play needs to know of
a row stands in one word; several best moves stand there as a set, so that a tie is drawn without looking for them (td
1.25, backward-q 1.1 times).  Rows that a learner calls settled need no look (td 1.2 times, no lesson either 1.4); nor
do rows with one move.  Where the scores of a row stand next to each other, eight are looked at together, and all best
moves are found each time: where the favourite fails, its successor is there (backward-q 1.1 times).
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_batch.base.jit import inlined
from ttt_batch.base.simd import LANES, exceeding, highest
from ttt_batch.base.streams import below
from ttt_batch.game.graph import Graph
from ttt_batch.learners.base import Trajectory, is_settled
from ttt_batch.simulation.policy import UNIFORM, Choice, best_set, leads

CELLS = 9
"""Moves of a row, and plies of a game, at most."""

SHORTEST = 5
"""Plies of a game on 3x3 at least."""

AMONG_AT, SET_AT, CHILD_AT = (np.uint64(n) for n in (4, 8, 17))
SLOT, SET = (np.uint64((1 << n) - 1) for n in (4, CELLS))
ONE, NINTH, MEMBER_BITS, SIZE = (np.uint64(n) for n in (1, LANES, 4, 15))


class Favourites(NamedTuple):
    """What play goes by until a look at the tables tells otherwise.

    word: uint32[U]; a row's favourite: the first of the moves that may be picked (bits 0-3, counted from its first
    edge), how many they are (4-7), which (8-16, a bit each), and the child that the favourite leads to (from 17 on).
    member: uint8[512 * 16]; the members of each set of moves in rising order, and last of 16 entries how many they are.
    count: uint64[9], how many moves a row of each ply has.  None on boards like 3x3, see `is_like_3x3`.
    offset: uint64[9]; the first edge of a row is offset[ply] + row * the number of its moves.
    """

    word: Any
    member: Any
    count: Any
    offset: Any


def make_favourites(graph: Graph) -> Favourites:
    """The first move of each row for its favourite."""
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
    return Favourites(word.astype(np.uint32), member.ravel(), count.view(np.uint64), offset.view(np.uint64))


def is_like_3x3(graph: Graph) -> bool:
    """Whether rows of ply p have 9 - p moves, no game ends before ply 5, and choices have eight edges to read from on.

    What play then knows without looking it up makes it faster, and `simd` may read eight scores.
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
    """Whether exactly the moves above `best - window` may be picked, as long as play goes on from here.

    That is where equals are drawn among, no score is NaN, and the window is not lost in rounding next to the largest.
    worth: of the ends of games.  scores: float64[E], what each edge scores now.
    """
    largest = np.maximum(np.abs(worth).max(), np.abs(scores).max())
    if choice.tie != UNIFORM or not np.isfinite(largest):
        return False
    return bool(choice.window > 2 * np.spacing(largest))


@inlined
def moves_at(count: Any, ply: int) -> Any:
    """How many moves a row of `ply` has (uint64); count: see `Favourites`."""
    if count is None:
        return np.uint64(CELLS - ply)
    return count[ply]


@inlined
def may_be_over(count: Any, ply: int) -> Any:
    """Whether a game may be over before `ply`; count: see `Favourites`."""
    return count is not None or ply >= SHORTEST


@inlined
def best_of_eight(scores: Any, choice: Choice, lo: Any, count: Any) -> Any:
    """`best_now` where the scores of a row stand next to each other and `window_decides`."""
    members = (ONE << count) - ONE
    best = highest(scores, lo, members)
    if count > NINTH:
        best = max(best, scores[lo + NINTH])
    limit = best - choice.window
    above = exceeding(scores, lo, limit)
    if count > NINTH:
        above |= np.uint64(scores[lo + NINTH] > limit) << NINTH
    return above & members


@inlined
def is_favourite(
    tables: Any, graph: Graph, choice: Choice, scores: Any, lo: Any, count: Any, slot: Any, mover: int
) -> Any:
    """Whether move `slot` of the row is the only one that a greedy mover may pick.

    Not asked (False) where `scores` are given: `best_now` is as quick then.  scores: see `move`.
    lo, count: uint64, the row's first edge and its number of moves.
    """
    if scores is not None:
        return False
    first = np.int64(lo)
    return leads(tables, graph, choice, first, first + np.int64(count), first + np.int64(slot), mover)


@inlined
def best_now(tables: Any, graph: Graph, choice: Choice, scores: Any, lo: Any, count: Any, mover: int) -> Any:
    """The moves of a row that a greedy mover may pick, as a set (uint64, a bit each); arguments: see `is_favourite`."""
    if scores is not None:
        return best_of_eight(scores, choice, lo, count)
    first = np.int64(lo)
    return np.uint64(best_set(tables, graph, choice, first, first + np.int64(count), mover))


@inlined
def move(
    tables: Any,
    graph: Graph,
    choice: Choice,
    scores: Any,
    favourites: Favourites,
    game: Trajectory,
    row: Any,
    ply: int,
    explores: Any,
    bits: Any,
) -> Any:
    """One move of a learner: (edge, child, whether chance had a part), both uint64.

    scores: float64[E], what each edge scores, on boards like 3x3 where `window_decides`; None: `score` is asked.
    explores: whether the move is exploratory.  bits: the random number for that, or for a tie.
    `favourites` is modified in place where the table tells otherwise.
    """
    word = np.uint64(favourites.word[row])
    count = moves_at(favourites.count, ply)
    lo = favourites.offset[ply] + row * count
    edge, child, by_chance = lo + (word & SLOT), word >> CHILD_AT, explores
    if count == ONE:
        return edge, child, by_chance
    if explores:
        edge = lo + np.uint64(below(bits, count))
        return edge, np.uint64(graph.child[edge]), by_chance
    among, best = (word >> AMONG_AT) & SLOT, (word >> SET_AT) & SET
    if not is_settled(game.settled, row):
        sole = among == ONE
        if sole and is_favourite(tables, graph, choice, scores, lo, count, word & SLOT, ply & 1):
            return edge, child, by_chance
        now_best = best_now(tables, graph, choice, scores, lo, count, ply & 1)
        if now_best != best:
            best = now_best
            members = best << MEMBER_BITS
            slot, among = np.uint64(favourites.member[members]), np.uint64(favourites.member[members | SIZE])
            edge = lo + slot
            child = np.uint64(graph.child[edge])
            choices = slot | (among << AMONG_AT) | (best << SET_AT)
            favourites.word[row] = np.uint32(choices | (child << CHILD_AT))
    if among != ONE:
        by_chance = True
        edge = lo + np.uint64(favourites.member[(best << MEMBER_BITS) | np.uint64(below(bits, among))])
        child = np.uint64(graph.child[edge])
    return edge, child, by_chance
