"""The walk: play every game of a batch, a block of games abreast, from one decision of chance to the next.

The games of a block advance together, one decision a round; those that are over drop out.  A round is
straight-line code without a branch to mispredict: 1.8 times (epsilon 0.1) to 3 times (td) the speed of
following one game to its end.  Only decisions are counted; `counts.complete` derives the greedy moves between them.

The random numbers of a game depend on its number alone: number n of its draws makes its n-th decision.  So neither
the block nor the order of games shows in the counts, and a plain walk ply by ply plays the same games.  In a round the
draws of all games wait for nothing but their bases, and a loop of its own computes them several at a time: 1.25 to 1.4
times.

What did not pay: one word of state a game (its number in the block instead of its base, +-1 %), counting through a
buffer of decisions (+7 % at epsilon 0.1, -8 % elsewhere; nothing once counts are 32 bits wide), blocks of 512 or 2,048
games (+-1 %).
"""

from typing import Any, NamedTuple

import numpy as np

from ttt_batch.compile import kernel
from ttt_batch.graph import Graph, n_unfinished
from ttt_batch.play.courses import COUNT, COUNT_BITS, Courses
from ttt_batch.play.explorations import SET_DRAW, Explorations, exploring_plies
from ttt_batch.streams import GOLDEN, S32, STRIDE, draw, game_base, mix

BLOCK = 1024
"""Games abreast: 24 KB of state, inside the first cache."""

MAX_WALKED = 1 << 31
"""Games of a batch at most: decisions are counted in 32 bits, which halves the memory they need (walk 1.05 to 1.3
times as fast)."""

ZERO, ONE, TWO, U15, U48, SLOT = (np.uint64(n) for n in (0, 1, 2, 15, 48, COUNT_BITS))
PLIES = np.uint64((1 << 40) - 1)


class Lane(NamedTuple):
    """What one thread needs to walk.

    base: uint64[block], where the random numbers of the games abreast start.
    state: uint64[block], their exploring plies to come (bits 0-39) and the entry of their next decision (48-63).
    bits: uint64[block], their draws of a round.
    drawn: uint32[2 * E], how often each slot of `Courses.move` was drawn, added to by `walk`.
    """

    base: Any
    state: Any
    bits: Any
    drawn: Any


def make_lane(graph: Graph, block: int = BLOCK) -> Lane:
    """A lane for `block` games abreast, nothing drawn."""
    base, state, bits = (np.zeros(block, np.uint64) for _ in range(3))
    return Lane(base, state, bits, np.zeros(2 * graph.child.size, np.uint32))


@kernel
def walk(
    graph: Graph, courses: Courses, explorations: Explorations, key: Any, first_game: int, last_game: int, lane: Lane
) -> None:
    """Play games `first_game` to `last_game - 1`; count each decision in `lane.drawn`, in place."""
    base, state, bits, drawn = lane.base, lane.state, lane.bits, lane.drawn
    final = TWO * np.uint64(n_unfinished(graph))
    root = np.uint64(courses.begin[0])
    for start in range(first_game, last_game, base.shape[0]):
        n_games = min(base.shape[0], last_game - start)
        first = game_base(key, start)
        for game in range(n_games):
            bits[game] = draw(first + np.uint64(game) * STRIDE, SET_DRAW)
        playing = ZERO
        for game in range(n_games):
            plies = exploring_plies(explorations, bits[game])
            entry = np.uint64(courses.entry[root + (plies & U15)])
            base[playing] = first + np.uint64(game) * STRIDE
            state[playing] = plies | (entry << U48)
            playing += np.uint64(entry < final)
        decisions = GOLDEN  # draw number 1, 2, ... in each round, as a distance from the games' bases
        while playing > ZERO:
            n_playing = np.int64(playing)
            for game in range(n_playing):
                bits[game] = mix(base[game] + decisions) >> S32
            playing = ZERO
            for game in range(n_playing):
                entry = state[game] >> U48
                decision = np.uint64(courses.decision[entry])
                plies = (state[game] & PLIES) >> ((entry & ONE) << TWO)  # an exploration is done with
                # streams.below, without leaving unsigned numbers
                slot = (decision >> SLOT) + ((bits[game] * (decision & COUNT)) >> S32)
                drawn[slot] += 1
                entry = np.uint64(courses.entry[np.uint64(courses.move[slot]) + (plies & U15)])
                base[playing] = base[game]
                state[playing] = plies | (entry << U48)
                playing += np.uint64(entry < final)
            decisions += GOLDEN
