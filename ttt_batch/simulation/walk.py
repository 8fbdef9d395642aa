"""The walk: play every game of a batch, a block of games at a time, from one decision of chance to the next.

The games of a block advance together, one decision a round; those that are over drop out.  A round has no branch to
mispredict: 1.8 times (epsilon 0.1) to 3 times (td) the speed of following one game to its end.  Only decisions are
counted; `counts.complete_counts` derives the greedy moves between them.  The random numbers of a game depend on its
number alone, so neither the block nor the order of games shows in the counts.

A round has two loops.  The first draws and chooses, which is arithmetic done several games at a time; the second counts
and looks up where the path leads (batches 1.06 to 1.36 times as fast as with one loop for both).  One word holds all
about a game: where it stands, which game it is, and which plies are still to explore (1.23 to 1.38 times as fast).
"""

from typing import Any, NamedTuple

import numpy as np

from ttt_batch.base.jit import inlined, kernel
from ttt_batch.base.streams import GOLDEN, S32, STRIDE, draw, game_base, mix
from ttt_batch.game.graph import Graph, n_unfinished
from ttt_batch.simulation.exploration import N_SETS, SET_BITS, SET_DRAW, SETS, Explorations, exploring_set
from ttt_batch.simulation.greedy_paths import COUNT, EXPLORES, SLOT, GreedyPaths
from ttt_batch.simulation.pieces import walk_chunk

BLOCK = 2048
"""Games walked together: 24 KB of state, inside the first cache."""

MAX_WALKED = 1 << 31
"""Games of a batch at most: decisions are counted in 32 bits, which halves the memory they need (walk 1.05 to 1.3
times as fast)."""

ZERO, PAIR = np.uint64(0), np.uint64(2)
U_COUNT, U_EXPLORES, U_SLOT = (np.uint64(n) for n in (COUNT, EXPLORES, SLOT))
S_EXPLORES = np.uint64(EXPLORES.bit_length() - 1)
LOWER = np.uint64(0xFFFFFFFF)
"""The half of a word that holds which game it is and where it explores; the upper one is its decision."""


class Walker(NamedTuple):
    """What one thread needs to walk; threads share the first two.

    explorations: for the epsilon of the present batch.  paths: of its policy.
    game: uint64[block], the games: their exploring plies to come, as a set (bits 0-8), their number in the block
    (bits 9-31) and their next decision (bits 32-63, `GreedyPaths.decision`).
    slot: uint32[block], the move they have chosen.
    opening: uint64[512], scratch: for each set of exploring plies the word of game 0 that begins with it; without a
    decision if it ends without one.
    drawn: uint32[2 * E], how often each slot of `GreedyPaths.move` was drawn, added to by `walk`.
    """

    explorations: Explorations
    paths: GreedyPaths
    game: Any
    slot: Any
    opening: Any
    drawn: Any


def make_walker(graph: Graph, explorations: Explorations, paths: GreedyPaths, block: int = BLOCK) -> Walker:
    """A walker for blocks of `block` games (at most 2**23: their numbers have 23 bits), nothing drawn."""
    game, opening = np.zeros(block, np.uint64), np.zeros(N_SETS, np.uint64)
    return Walker(
        explorations, paths, game, np.zeros(block, np.uint32), opening, np.zeros(2 * graph.child.size, np.uint32)
    )


@inlined
def entry_of(paths: GreedyPaths, explorations: Explorations, path: Any, exploring: Any) -> Any:
    """Where a game stands next: an index of `GreedyPaths.decision`, uint64.

    path: where the path begins that it follows.  exploring: its exploring plies to come, a set.  uint64 both.
    """
    return np.uint64(paths.entry[path + np.uint64(explorations.next_ply[exploring])])


@kernel
def walk(graph: Graph, walker: Walker, key: Any, first_game: int, last_game: int) -> None:
    """Play games `first_game` to `last_game - 1`; count each decision in `walker.drawn`, in place."""
    explorations, paths, games, slot, opening, drawn = walker
    final = PAIR * np.uint64(n_unfinished(graph))
    root = np.uint64(paths.begin[0])
    for members in range(N_SETS):
        exploring = np.uint64(members)
        entry = entry_of(paths, explorations, root, exploring)
        opening[exploring] = exploring | (np.uint64(paths.decision[entry]) << S32)
    for start in range(first_game, last_game, games.shape[0]):
        n_games = min(games.shape[0], last_game - start)
        first = game_base(key, start)
        for number in range(n_games):
            games[number] = draw(first + np.uint64(number) * STRIDE, SET_DRAW)
        playing = ZERO
        for number in range(n_games):
            opened = opening[exploring_set(explorations, games[number])]
            games[playing] = opened | (np.uint64(number) << SET_BITS)
            playing += np.uint64(opened > SETS)
        bases = first + GOLDEN  # draw number 1, 2, ... in each round
        while playing > ZERO:
            n_playing = np.int64(playing)
            for i in range(n_playing):
                decision, lower = games[i] >> S32, games[i] & LOWER
                bits = mix(bases + (lower >> SET_BITS) * STRIDE) >> S32
                slot[i] = (decision >> U_SLOT) + ((bits * (decision & U_COUNT)) >> S32)  # streams.below
                # If it explores, the lowest bit of the set is done with.
                games[i] = lower & (lower - ((decision & U_EXPLORES) >> S_EXPLORES))
            playing = ZERO
            for i in range(n_playing):
                chosen, lower = np.uint64(slot[i]), games[i]
                drawn[chosen] += 1
                entry = entry_of(paths, explorations, np.uint64(paths.move[chosen]), lower & SETS)
                games[playing] = lower | (np.uint64(paths.decision[entry]) << S32)
                playing += np.uint64(entry < final)
            bases += GOLDEN


@walk_chunk.register(Walker)
def _walk_piece(walker: Walker, graph: Graph, key: Any, first_game: int, last_game: int) -> None:
    walk(graph, walker, key, first_game, last_game)


# What did not pay: eight at a time in the loop that opens the games (the gathers of its tables take 1.2 to 1.5 times as
# long as single loads), counting through a buffer of decisions (+7 % at epsilon 0.1, -8 % elsewhere), counting in the
# word that holds where a move leads (batches 1.01 to 1.05 times as fast, for a copy a thread and counts to be emptied),
# blocks of 1,024 games (1 to 3 % slower) or 4,096 (+-1 %).
