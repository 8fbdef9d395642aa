"""The walk: play every game of a batch, a block of games abreast, from one decision of chance to the next.

The games of a block advance together, one decision a round; those that are over drop out.  A round is
straight-line code without a branch to mispredict: 1.8 times (epsilon 0.1) to 3 times (td) the speed of
following one game to its end.  Only decisions are counted; `counts.complete` derives the greedy moves between them.

The random numbers of a game depend on its number alone: number n of its draws makes its n-th decision.  So neither
the block nor the order of games shows in the counts, a plain walk ply by ply plays the same games, and in a round the
draws of all games wait for nothing but their bases.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ttt_batch.compile import kernel
from ttt_batch.graph import Graph, n_unfinished
from ttt_batch.play.courses import U4, U10, U15, U16, U32, U63, Courses
from ttt_batch.play.explorations import SET_DRAW, Explorations, exploring_plies
from ttt_batch.streams import GOLDEN, draw, game_base, mix

BLOCK = 1024
"""Games abreast: 16 KB of state, inside the first cache; 512 to 4,096 measure alike."""

ONE, U48 = np.uint64(1), np.uint64(48)
EDGE = np.uint64(0xFFFF)
HALF = np.uint64(0xFFFFFFFF)
PLIES = np.uint64((1 << 40) - 1)


def make_abreast(block: int = BLOCK) -> NDArray[np.uint64]:
    """Space for the state of `block` games, two words each: where a game's random numbers start, and its
    exploring plies to come (bits 0-39) with the row of its next decision (48-63).
    """
    return np.zeros(2 * block, np.uint64)


@kernel
def walk(
    graph: Graph,
    courses: Courses,
    explorations: Explorations,
    key: Any,
    first_game: int,
    last_game: int,
    abreast: Any,
    taken: Any,
) -> None:
    """Play games `first_game` to `last_game - 1`; add each decision to `taken`, in place.

    abreast: uint64[2 * block], scratch.
    taken: int64[E * 2], `counts.Counts.taken` as one dimension.

    All arrays have one dimension and what belongs together shares a word: a decision is a chain of three loads from
    the second cache, and the fewer instructions it takes, the more of them the processor overlaps.
    """
    final = np.uint64(n_unfinished(graph))
    block = abreast.shape[0] // 2
    for start in range(first_game, last_game, block):
        playing = np.uint64(0)
        for game in range(start, min(start + block, last_game)):
            base = game_base(key, game)
            plies = exploring_plies(explorations, draw(base, SET_DRAW))
            row = np.uint64(courses.row[plies & U15])
            abreast[playing] = base
            abreast[playing + ONE] = plies | (row << U48)
            playing += np.uint64(row < final) << ONE
        decisions = GOLDEN  # draw number 1, 2, ... in each round, as a distance from the games' bases
        while playing > 0:
            n_playing = playing
            playing = np.uint64(0)
            for game in range(np.uint64(0), n_playing, np.uint64(2)):
                base = abreast[game]
                plies = abreast[game + ONE]
                halves = courses.decision[plies >> U48]
                explores = np.uint64((plies & U15) == (halves & U15))
                plies = (plies & PLIES) >> (explores << np.uint64(2))
                decision = (halves >> (explores << np.uint64(5))) & HALF
                # streams.below, without leaving unsigned numbers
                chosen = ((mix(base + decisions) >> U32) * ((decision >> U4) & U63)) >> U32
                move = np.uint64(courses.move[(decision >> U10) + chosen])
                taken[((move & EDGE) << ONE) + explores] += 1
                row = np.uint64(courses.row[((move >> U16) << U4) + (plies & U15)])
                abreast[playing] = base
                abreast[playing + ONE] = plies | (row << U48)
                playing += np.uint64(row < final) << ONE
            decisions += GOLDEN
