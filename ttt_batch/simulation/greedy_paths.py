"""Courses: where greedy play leads from every row while nothing is left to chance.

Between explorations and ties a game follows the one best move of each row.  Laying these courses out once per batch
lets a game jump from one decision of chance to the next: about 0.9 jumps instead of 8.4 plies at epsilon 0.1.

A jump is a chain of loads - the decision, the move, the course behind it - from tables that share the second cache, so
they are small: a course holds the plies from its row's own on, in 16-bit entries, padded to whole words (63 KB on 3x3;
32 bytes a row took 175 KB), a move is where its child's course begins, and an entry says beside the row whether the
game explores there, so that it is the index of the decision.  Together 1.3 to 1.8 times the speed of a walk over
wider tables.
"""

from typing import Any, NamedTuple

import numpy as np

from ttt_batch.base.errors import BoardError
from ttt_batch.base.jit import inlined, kernel
from ttt_batch.game.graph import Graph, edges_of, n_unfinished
from ttt_batch.simulation.exploration import NEVER
from ttt_batch.simulation.policy import Policy

COUNT, EXPLORES, SLOT = 63, 64, 7
"""A decision's bits: how many moves there are to choose among, whether it explores, and where the slot begins."""

EVERY_ENTRY = np.uint64(0x0001_0001_0001_0001)
PER_WORD = 4
"""Entries in a word of 64 bits."""

ONE, TWO, LENGTH = (np.uint64(n) for n in (1, 2, NEVER + 1))
TO_WORDS = np.uint64(PER_WORD.bit_length() - 1)


class Courses(NamedTuple):
    """A policy laid out for play; a pure function of graph and policy.

    decision: uint32[2 * S]; at 2 * row for a greedy move, at 2 * row + 1 for an exploratory one: the number of
    moves to choose among (COUNT), EXPLORES, and the slot of the first of them in `move` (from bit SLOT on); 0 for
    final rows.
    move: uint16[2 * E], where the course of each move's child begins in `entry`; slots 0 to E - 1 are the policy's
    moves where it lists them, slots E to 2 * E - 1 all moves in cell order.
    entry: uint16; entry[begin[r] + p] is 2 * (where the course of row r stands at ply p) + (1 where that row's ply
    is p, so that a game due to explore at p explores there), for p from the ply of r to NEVER.  From the ply at which
    the course ends on, it stands in its last row: a final one, or one with several best moves.
    words: uint64, the same memory as `entry` four at a time, for copying; at most three a course.
    begin: uint16[S], see `entry`; every course ends, with NEVER, at the end of a word.
    """

    decision: Any
    move: Any
    entry: Any
    words: Any
    begin: Any


def make_courses(graph: Graph, policy: Policy) -> Courses:
    """The courses of a policy.

    Raises BoardError where the board does not fit.
    """
    plies = int(graph.ply.max())
    words = (NEVER + 1 - graph.ply.astype(np.int64) + PER_WORD - 1) // PER_WORD
    begin = PER_WORD * np.cumsum(words) - (NEVER + 1)
    if plies > NEVER or max(2 * graph.code.size, PER_WORD * int(words.sum())) > 1 << 16:
        raise BoardError(
            f"a board of {graph.code.size:,} positions and {plies} plies cannot be walked yet; at most 32,768 and "
            f"{NEVER} plies: choose a board of up to {NEVER} cells"
        )
    n_open, n_edges = graph.first_edge.size - 1, graph.child.size
    entry = np.repeat(2 * np.arange(graph.code.size), PER_WORD * words).astype(np.uint16)
    decision = np.zeros(2 * graph.code.size, np.uint32)
    decision[1 : 2 * n_open : 2] = np.diff(graph.first_edge) | EXPLORES | ((n_edges + graph.first_edge[:-1]) << SLOT)
    move = np.tile(begin[graph.child].astype(np.uint16), 2)
    courses = Courses(decision, move, entry, entry.view(np.uint64), begin.astype(np.uint16))
    pack_rows(graph, policy, courses)
    lay_courses(graph, policy, courses)
    return courses


@inlined
def pack_row(graph: Graph, policy: Policy, courses: Courses, row: int) -> None:
    """Pack the policy's moves of one row; `courses.decision` and `courses.move` are modified in place."""
    lo, _ = edges_of(graph, row)
    courses.decision[2 * row] = np.int64(policy.best[row]) | (lo << SLOT)
    for number in range(lo, lo + policy.best[row]):
        slot = np.uint64(number)
        courses.move[slot] = courses.begin[graph.child[policy.ordered[slot]]]


@kernel
def pack_rows(graph: Graph, policy: Policy, courses: Courses) -> None:
    """Pack the moves of every row; `courses` is modified in place."""
    for row in range(n_unfinished(graph)):
        pack_row(graph, policy, courses, row)


@kernel
def lay_courses(graph: Graph, policy: Policy, courses: Courses) -> None:
    """Lay the course of every unfinished row from its child's; `courses.words` is modified in place.

    All rows anew: finding out which ones changed costs as much.  Whole words only: loading a word of which a part has
    just been stored alone waits for the store, 1.7 times as long.
    """
    words = courses.words
    for ply in range(graph.ply_start.shape[0] - 2, -1, -1):
        # Of the words that end a course, so many belong to a row of this ply, whose own entry is in the first.
        n_words = (NEVER + 1 - ply + PER_WORD - 1) // PER_WORD
        shift = np.uint64(16 * ((ply - NEVER - 1) % PER_WORD))
        others = ~(np.uint64(0xFFFF) << shift)
        back = np.uint64(n_words)
        for row in range(np.int64(graph.ply_start[ply]), np.int64(graph.ply_start[ply + 1])):
            end = (np.uint64(courses.begin[np.uint64(row)]) + LENGTH) >> TO_WORDS
            explores_here = np.uint64(2 * row + 1) << shift
            if policy.best[np.uint64(row)] == 1:
                # Where the child's course is a word shorter, what stands before it is copied and never read.
                child_end = (np.uint64(courses.move[np.uint64(graph.first_edge[np.uint64(row)])]) + LENGTH) >> TO_WORDS
                words[end - back] = (words[child_end - back] & others) | explores_here
                if n_words > 1:
                    words[end - ONE] = words[child_end - ONE]
                if n_words > 2:
                    words[end - TWO] = words[child_end - TWO]
            else:
                stays = np.uint64(2 * row) * EVERY_ENTRY
                words[end - back] = (stays & others) | explores_here
                if n_words > 1:
                    words[end - ONE] = stays
                if n_words > 2:
                    words[end - TWO] = stays
