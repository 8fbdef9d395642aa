"""The walk: play every game of a batch, a block of games abreast, from one decision of chance to the next.

The games of a block advance together, one decision a round; those that are over drop out.  A round is
straight-line code without a branch to mispredict: 1.8 times (epsilon 0.1) to 3 times (td) the speed of
following one game to its end.  Only decisions are counted; `counts.complete` derives the greedy moves between them.

The random numbers of a game depend on its number and the ply alone (number 1 + ply of its draws decides at a
ply), so neither
the block nor the order of games shows in the counts, and a plain walk ply by ply plays the same games.
"""

from typing import Any, NamedTuple

import numpy as np

from ttt_batch.compile import kernel
from ttt_batch.graph import Graph, n_unfinished
from ttt_batch.play.courses import OFFSET_BITS, U4, U8, U15, U32, U63, U255, Courses
from ttt_batch.play.explorations import SET_DRAW, Explorations, exploring_plies
from ttt_batch.streams import draw, game_base

BLOCK = 1024
"""Games abreast: 18 KB of state, well inside the first cache; 512 to 4,096 measure alike."""

ONE, TWO, THREE = np.uint64(1), np.uint64(2), np.uint64(3)


class Abreast(NamedTuple):
    """The games of a block that are still being played.

    base: uint64[block], where a game's random numbers start.  plies: uint64[block], its exploring plies to come.
    row: uint16[block], the row of its next decision.
    """

    base: Any
    plies: Any
    row: Any


def make_abreast(block: int = BLOCK) -> Abreast:
    """Space for `block` games."""
    return Abreast(np.zeros(block, np.uint64), np.zeros(block, np.uint64), np.zeros(block, np.uint16))


@kernel
def walk(
    graph: Graph,
    courses: Courses,
    explorations: Explorations,
    key: Any,
    first_game: int,
    last_game: int,
    abreast: Abreast,
    taken: Any,
) -> None:
    """Play games `first_game` to `last_game - 1`; add each decision to `taken`, in place.

    taken: int64[E * 2], `counts.Counts.taken` as one dimension (a second index costs registers here).
    """
    final = np.uint16(n_unfinished(graph))
    n_edges = np.uint64(graph.child.shape[0])
    block = abreast.row.shape[0]
    for start in range(first_game, last_game, block):
        playing = np.uint64(0)
        for game in range(start, min(start + block, last_game)):
            base = game_base(key, game)
            plies = exploring_plies(explorations, draw(base, SET_DRAW))
            row = courses.row[plies & U15]
            abreast.base[playing] = base
            abreast.plies[playing] = plies
            abreast.row[playing] = row
            playing += np.uint64(row < final)
        while playing > 0:
            n_playing = playing
            playing = np.uint64(0)
            for game in range(n_playing):
                base = abreast.base[game]
                plies = abreast.plies[game]
                decision = courses.decision[abreast.row[game]]
                ply = decision & U15
                explores = np.uint64((plies & U15) == ply)
                plies >>= explores << TWO
                n_moves = (decision >> (U8 + (explores << THREE))) & U255
                first_edge = decision >> U32
                # streams.below, without leaving unsigned numbers
                chosen = ((draw(base, ONE + ply) >> U32) * n_moves) >> U32
                move = np.uint64(courses.move[first_edge + chosen + explores * n_edges])
                taken[((first_edge + (move & U63)) << ONE) + explores] += 1
                row = courses.row[((move >> np.uint64(OFFSET_BITS)) << U4) + (plies & U15)]
                abreast.base[playing] = base
                abreast.plies[playing] = plies
                abreast.row[playing] = row
                playing += np.uint64(row < final)
