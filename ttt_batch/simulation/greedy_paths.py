"""Greedy paths: where greedy play leads from every row until chance decides a move.

Between explorations and ties a game follows the one best move of each row.  With these paths built once per batch, a
game jumps from one decision of chance to the next: about 0.9 jumps instead of 8.4 plies at epsilon 0.1.

A jump is a chain of loads (the decision, the move, the path after it) from tables that share the second cache, so they
are small: 63 KB on 3x3, 1.3 to 1.8 times the speed of a walk over wider ones.  A path holds the plies from its row's
own on, in 16-bit entries, padded to whole words.  A move is the place where its child's path begins.  An entry holds
the row and whether the game explores there, so that it is the index of the decision.
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


class GreedyPaths(NamedTuple):
    """A policy as `walk` needs it; a pure function of graph and policy.

    decision: uint32[2 * S]; at 2 * row for a greedy move, at 2 * row + 1 for an exploratory one: the number of
    moves to choose among (COUNT), EXPLORES, and the slot of the first of them in `move` (from bit SLOT on); 0 for
    final rows.
    move: uint16[2 * E], where the path of each move's child begins in `entry`; slots 0 to E - 1 are the policy's
    moves where it lists them, slots E to 2 * E - 1 all moves in cell order.
    entry: uint16; entry[begin[r] + p] is 2 * (where the path of row r stands at ply p) + (1 where that row's ply
    is p, so that a game due to explore at p explores there), for p from the ply of r to NEVER.  From the ply at which
    the path ends on, it stands in its last row: a final one, or one with several best moves.
    words: uint64, the same memory as `entry` four at a time, for copying; at most three a path.
    begin: uint16[S], see `entry`; every path ends, with NEVER, at the end of a word.
    """

    decision: Any
    move: Any
    entry: Any
    words: Any
    begin: Any


def make_paths(graph: Graph, policy: Policy) -> GreedyPaths:
    """The paths of a policy.  Raises BoardError if the board is too large."""
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
    paths = GreedyPaths(decision, move, entry, entry.view(np.uint64), begin.astype(np.uint16))
    pack_rows(graph, policy, paths)
    trace_paths(graph, policy, paths)
    return paths


@inlined
def pack_row(graph: Graph, policy: Policy, paths: GreedyPaths, row: int) -> None:
    """Pack the policy's moves of one row; `paths.decision` and `paths.move` are modified in place."""
    lo, _ = edges_of(graph, row)
    paths.decision[2 * row] = np.int64(policy.best[row]) | (lo << SLOT)
    for number in range(lo, lo + policy.best[row]):
        slot = np.uint64(number)
        paths.move[slot] = paths.begin[graph.child[policy.ordered[slot]]]


@kernel
def pack_rows(graph: Graph, policy: Policy, paths: GreedyPaths) -> None:
    """Pack the moves of every row; `paths` is modified in place."""
    for row in range(n_unfinished(graph)):
        pack_row(graph, policy, paths, row)


@kernel
def trace_paths(graph: Graph, policy: Policy, paths: GreedyPaths) -> None:
    """Build the path of every unfinished row from its child's; `paths.words` is modified in place.

    All rows: finding out which ones changed costs as much.  Whole words only: loading a word right after a part of it
    was stored waits for the store, 1.7 times as long.
    """
    words = paths.words
    for ply in range(graph.ply_start.shape[0] - 2, -1, -1):
        # The words at the end of a path that belong to a row of this ply; its own entry is in the first of them.
        n_words = (NEVER + 1 - ply + PER_WORD - 1) // PER_WORD
        shift = np.uint64(16 * ((ply - NEVER - 1) % PER_WORD))
        others = ~(np.uint64(0xFFFF) << shift)
        back = np.uint64(n_words)
        for row in range(np.int64(graph.ply_start[ply]), np.int64(graph.ply_start[ply + 1])):
            end = (np.uint64(paths.begin[np.uint64(row)]) + LENGTH) >> TO_WORDS
            explores_here = np.uint64(2 * row + 1) << shift
            if policy.best[np.uint64(row)] == 1:
                # If the child's path is a word shorter, the word before it is copied and never read.
                child_end = (np.uint64(paths.move[np.uint64(graph.first_edge[np.uint64(row)])]) + LENGTH) >> TO_WORDS
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
