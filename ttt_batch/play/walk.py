"""The walk: play every game of a batch, a block of games abreast, from one decision of chance to the next.

The games of a block advance together, one decision a round; those that are over drop out.  A round is
straight-line code without a branch to mispredict: 1.8 times (epsilon 0.1) to 3 times (td) the speed of
following one game to its end.  Only decisions are counted; `counts.complete` derives the greedy moves between them.

The random numbers of a game depend on its number alone: number n of its draws makes its n-th decision.  So neither
the block nor the order of games shows in the counts, and a plain walk ply by ply plays the same games.

A round has two loops: the first draws and chooses, which is arithmetic alone and done several games at a time; the
second counts and looks up where the course leads: whole batches 1.06 (epsilon 0.01) to 1.36 times (td) as fast as
with one loop for both.

What did not pay: one word of state a game (its number in the block instead of its base, +-1 %), counting through a
buffer of decisions (+7 % at epsilon 0.1, -8 % elsewhere; nothing once counts are narrow), counting in the word that
says where a move leads (walks 1.02 to 1.14 times, batches 1.01 to 1.05 times as fast, for a copy a thread and counts
that have to be emptied), blocks of 512 or 2,048 games (+-1 %).
"""

from typing import Any, NamedTuple

import numpy as np

from ttt_batch.compile import kernel
from ttt_batch.graph import Graph, n_unfinished
from ttt_batch.play.courses import COUNT, EXPLORES, SLOT, Courses
from ttt_batch.play.explorations import NEXT_PLY, SET_DRAW, Explorations, exploring_plies
from ttt_batch.streams import GOLDEN, S32, STRIDE, draw, game_base, mix

BLOCK = 1024
"""Games abreast: 24 KB of state, inside the first cache."""

MAX_WALKED = 1 << 31
"""Games of a batch at most: decisions are counted in 32 bits, which halves the memory they need (walk 1.05 to 1.3
times as fast)."""

ZERO, TWO = np.uint64(0), np.uint64(2)
U_COUNT, U_EXPLORES, U_SLOT = (np.uint64(n) for n in (COUNT, EXPLORES, SLOT))
FROM_EXPLORES = np.uint64(EXPLORES.bit_length() - 1 - 2)


class Lane(NamedTuple):
    """What one thread needs to walk.

    base: uint64[block], where the random numbers of the games abreast start.
    plies: uint64[block], their exploring plies to come.
    decision: uint32[block], their next decision (`Courses.decision`).
    slot, ply: uint32[block], the move they have chosen and the ply at which they explore next.
    drawn: uint32[2 * E], how often each slot of `Courses.move` was drawn, added to by `walk`.
    """

    base: Any
    plies: Any
    decision: Any
    slot: Any
    ply: Any
    drawn: Any


def make_lane(graph: Graph, block: int = BLOCK) -> Lane:
    """A lane for `block` games abreast, nothing drawn."""
    base, plies = np.zeros((2, block), np.uint64)
    decision, slot, ply = np.zeros((3, block), np.uint32)
    return Lane(base, plies, decision, slot, ply, np.zeros(2 * graph.child.size, np.uint32))


@kernel
def walk(
    graph: Graph, courses: Courses, explorations: Explorations, key: Any, first_game: int, last_game: int, lane: Lane
) -> None:
    """Play games `first_game` to `last_game - 1`; count each decision in `lane.drawn`, in place."""
    base, plies, decision, slot, ply, drawn = lane
    final = TWO * np.uint64(n_unfinished(graph))
    root = np.uint64(courses.begin[0])
    for start in range(first_game, last_game, base.shape[0]):
        n_games = min(base.shape[0], last_game - start)
        first = game_base(key, start)
        for game in range(n_games):
            plies[game] = draw(first + np.uint64(game) * STRIDE, SET_DRAW)
        playing = ZERO
        for game in range(n_games):
            exploring = exploring_plies(explorations, plies[game])
            entry = np.uint64(courses.entry[root + (exploring & NEXT_PLY)])
            base[playing] = first + np.uint64(game) * STRIDE
            plies[playing] = exploring
            decision[playing] = courses.decision[entry]
            playing += np.uint64(entry < final)
        draws = GOLDEN  # draw number 1, 2, ... in each round, as a distance from the games' bases
        while playing > ZERO:
            n_playing = np.int64(playing)
            for game in range(n_playing):
                now = np.uint64(decision[game])
                bits = mix(base[game] + draws) >> S32
                slot[game] = (now >> U_SLOT) + ((bits * (now & U_COUNT)) >> S32)  # streams.below
                left = plies[game] >> ((now & U_EXPLORES) >> FROM_EXPLORES)  # an exploration is done with
                plies[game] = left
                ply[game] = left & NEXT_PLY
            playing = ZERO
            for game in range(n_playing):
                chosen = np.uint64(slot[game])
                drawn[chosen] += 1
                entry = np.uint64(courses.entry[np.uint64(courses.move[chosen]) + np.uint64(ply[game])])
                base[playing] = base[game]
                plies[playing] = plies[game]
                decision[playing] = courses.decision[entry]
                playing += np.uint64(entry < final)
            draws += GOLDEN
