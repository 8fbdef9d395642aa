"""Courses: where greedy play leads from every row while nothing is left to chance.

Between explorations and ties a game follows the one best move of each row.  Laying these
courses out once per batch lets a game jump from one decision of chance to the next: about 0.9 jumps
instead of 8.4 plies at epsilon 0.1.  Moves are packed beside them, so that a decision
costs three dependent loads; one index per row and edge (`Graph`, `Policy`) took six and 1.8 times as long.
"""

from typing import Any, NamedTuple

import numpy as np

from ttt_batch.compile import inlined, kernel
from ttt_batch.errors import BoardError
from ttt_batch.graph import Graph, n_unfinished
from ttt_batch.play.explorations import PLIES_AT_ONCE
from ttt_batch.policy import Policy

WIDTH_BITS = 4
WIDTH = 1 << WIDTH_BITS
OFFSET_BITS = 6

U4, U6, U8, U15, U16, U32, U63, U255 = (np.uint64(n) for n in (4, 6, 8, 15, 16, 32, 63, 255))


class Courses(NamedTuple):
    """A policy laid out for play; a pure function of graph and policy.

    decision: uint64[U], a row's ply (bits 0-7), number of best moves (8-15), of moves (16-23) and first edge (32-63).
    move: uint32[E], the row's moves in the policy's order: child row (bits 6-31) and edge counted from the
    row's first (0-5).
    row: uint16[S * 16]; row[16 * r + p] is where the course of row r stands at ply p, and, from the ply at
    which the course
    ends on, its last row: a final one, or one with several best moves.  32 bytes a row, half a cache line.
    words: uint64[S * 4], the same memory as `row`, for copying.
    """

    decision: Any
    move: Any
    row: Any
    words: Any


def make_courses(graph: Graph, policy: Policy) -> Courses:
    """Courses of a policy, its moves packed and the courses of final rows laid.

    Raises BoardError where the board does not fit.
    """
    if graph.code.size > 1 << 16 or graph.ply.max() > PLIES_AT_ONCE:
        raise BoardError(
            f"a board of {graph.code.size:,} positions and {int(graph.ply.max())} plies cannot be played yet; "
            f"at most 65,536 positions and {PLIES_AT_ONCE} plies: choose a board of up to {PLIES_AT_ONCE} cells"
        )
    row = np.repeat(np.arange(graph.code.size, dtype=np.uint16), WIDTH)
    n_open = graph.first_edge.size - 1
    n_moves = np.diff(graph.first_edge)
    from_first = np.arange(graph.child.size) - graph.first_edge[:-1].repeat(n_moves)
    move = ((graph.child.astype(np.uint32) << OFFSET_BITS) | from_first).astype(np.uint32)
    courses = Courses(np.zeros(n_open, np.uint64), np.concatenate([move, move]), row, row.view(np.uint64))
    pack_rows(graph, policy, courses)
    return courses


@inlined
def pack_row(graph: Graph, policy: Policy, courses: Courses, row: int) -> None:
    """Pack the moves of one row; `courses.decision` and `courses.move` are modified in place."""
    lo, hi = graph.first_edge[row], graph.first_edge[row + 1]
    courses.decision[row] = (
        np.uint64(graph.ply[row])
        | (np.uint64(policy.best[row]) << U8)
        | (np.uint64(hi - lo) << U16)
        | (np.uint64(lo) << U32)
    )
    for slot in range(lo, lo + policy.best[row]):
        courses.move[slot] = courses.move[graph.child.shape[0] + policy.ordered[slot]]


@kernel
def pack_rows(graph: Graph, policy: Policy, courses: Courses) -> None:
    """Pack the moves of every row; `courses` is modified in place."""
    for row in range(n_unfinished(graph)):
        pack_row(graph, policy, courses, row)


@kernel
def lay_courses(graph: Graph, courses: Courses) -> None:
    """Lay the course of every unfinished row from its child's; `courses.row` is modified in place.

    All rows anew, 14 us on 3x3: finding out which ones changed costs as much.
    """
    for row in range(n_unfinished(graph) - 1, -1, -1):
        decision = courses.decision[row]
        start = np.uint64(row) << U4
        if (decision >> U8) & U255 == np.uint64(1):
            child = np.uint64(courses.move[decision >> U32]) >> U6
            to, source = start >> np.uint64(2), child << np.uint64(2)
            courses.words[to] = courses.words[source]
            courses.words[to + np.uint64(1)] = courses.words[source + np.uint64(1)]
            courses.words[to + np.uint64(2)] = courses.words[source + np.uint64(2)]
            courses.words[to + np.uint64(3)] = courses.words[source + np.uint64(3)]
            courses.row[start + (decision & U255)] = row
        else:
            for ply in range(WIDTH):
                courses.row[start + np.uint64(ply)] = row
