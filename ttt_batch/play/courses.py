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

U2, U4, U10, U15, U16, U32, U63 = (np.uint64(n) for n in (2, 4, 10, 15, 16, 32, 63))


class Courses(NamedTuple):
    """A policy laid out for play; a pure function of graph and policy.

    decision: uint64[U], two halves of one form, for a greedy move (low 32 bits) and an exploratory one: the row's ply
    (bits 0-3), the number of moves to choose among (4-9) and the first of them in `move` (10-31).
    move: uint32[2 * E], first the policy's moves where it lists them, then all moves in cell order: the edge
    (bits 0-15) and its child row (16-31).
    row: uint16[S * 16]; row[16 * r + p] is where the course of row r stands at ply p, and, from the ply at which the
    course ends on, its last row: a final one, or one with several best moves.  32 bytes a row, half a cache line.
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
    plies = int(graph.ply.max())
    if max(graph.code.size, graph.child.size) > 1 << 16 or plies > PLIES_AT_ONCE:
        raise BoardError(
            f"a board of {graph.code.size:,} positions, {graph.child.size:,} moves and {plies} plies cannot be played "
            f"yet; at most 65,536 of either and {PLIES_AT_ONCE} plies: choose a board of up to {PLIES_AT_ONCE} cells"
        )
    row = np.repeat(np.arange(graph.code.size, dtype=np.uint16), WIDTH)
    n_open = graph.first_edge.size - 1
    move = (graph.child.astype(np.uint32) << 16) | np.arange(graph.child.size, dtype=np.uint32)
    courses = Courses(np.zeros(n_open, np.uint64), np.concatenate([move, move]), row, row.view(np.uint64))
    pack_rows(graph, policy, courses)
    return courses


@inlined
def pack_row(graph: Graph, policy: Policy, courses: Courses, row: int) -> None:
    """Pack the moves of one row; `courses.decision` and `courses.move` are modified in place."""
    lo, hi = graph.first_edge[row], graph.first_edge[row + 1]
    n_edges, ply = graph.child.shape[0], np.uint64(graph.ply[row])
    greedy = ply | (np.uint64(policy.best[row]) << U4) | (np.uint64(lo) << U10)
    exploring = ply | (np.uint64(hi - lo) << U4) | (np.uint64(n_edges + lo) << U10)
    courses.decision[row] = greedy | (exploring << U32)
    for slot in range(lo, lo + policy.best[row]):
        courses.move[slot] = courses.move[n_edges + policy.ordered[slot]]


@kernel
def pack_rows(graph: Graph, policy: Policy, courses: Courses) -> None:
    """Pack the moves of every row; `courses` is modified in place."""
    for row in range(n_unfinished(graph)):
        pack_row(graph, policy, courses, row)


@kernel
def lay_courses(graph: Graph, courses: Courses) -> None:
    """Lay the course of every unfinished row from its child's; `courses.row` is modified in place.

    All rows anew, 9 us on 3x3: finding out which ones changed costs as much.
    """
    one = np.uint64(1)
    for row in range(n_unfinished(graph) - 1, -1, -1):
        decision = courses.decision[row]
        start = np.uint64(row) << U4
        if (decision >> U4) & U63 == one:
            child = np.uint64(courses.move[(decision & np.uint64(0xFFFFFFFF)) >> U10]) >> U16
            to, source = start >> U2, child << U2
            courses.words[to] = courses.words[source]
            courses.words[to + one] = courses.words[source + one]
            courses.words[to + U2] = courses.words[source + U2]
            courses.words[to + np.uint64(3)] = courses.words[source + np.uint64(3)]
            courses.row[start + (decision & U15)] = row
        else:
            for ply in range(WIDTH):
                courses.row[start + np.uint64(ply)] = row
