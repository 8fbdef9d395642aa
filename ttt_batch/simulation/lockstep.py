"""The walk on boards of more than nine cells: many games abreast, one ply a round.

Courses would not pay: laying them out for a million rows takes longer than a batch.  What a step waits for is memory,
so games wait together, and a step asks for little: one word says where a row's moves stand, how many there are and how
many are best; a move is its child; and as in `walk` only decisions are counted.  Per game on 4x4x4 at a batch of
262,144: 4.6 us one game after the other, 1.9 us abreast, 0.6 us with all of this.

A game's numbers 2 * ply and 2 * ply + 1 decide whether it explores there and which move it takes.
"""

from typing import Any, NamedTuple

import numpy as np

from ttt_batch.base.jit import inlined, kernel
from ttt_batch.base.streams import GOLDEN, S32, STRIDE, below, draw, game_base, mix, unit
from ttt_batch.game.graph import Graph, edges_of, n_unfinished
from ttt_batch.game.transcripts import Games
from ttt_batch.simulation.policy import Policy

BLOCK = 4096
"""Games abreast."""

COUNT, SLOT = 63, 12
"""A row's word: how many best moves (bits 0-5), how many moves (6-11), and the slot of the first (from 12 on)."""


class Strides(NamedTuple):
    """A policy laid out for strides.

    word: int64[U], see COUNT.
    move: uint32[2 * E], the rows that moves lead to: slots 0 to E - 1 the policy's moves where it lists them, slots E
    to 2 * E - 1 all moves in cell order.
    drawn: uint32[2 * E + 1], how often each slot was chosen by chance, added to by `stride`; the last one is for moves
    that were the only choice.
    base: uint64[block], row: uint32[block], where the numbers of the games abreast start, and where they stand.
    """

    word: Any
    move: Any
    drawn: Any
    base: Any
    row: Any
    chance: Any
    explores: Any
    slot: Any
    decision: Any


def make_strides(graph: Graph, policy: Policy, block: int = BLOCK) -> Strides:
    """The policy laid out, nothing drawn."""
    n_open, n_edges = graph.first_edge.size - 1, graph.child.size
    strides = Strides(
        np.zeros(n_open, np.int64),
        np.concatenate([graph.child, graph.child]),
        np.zeros(2 * n_edges + 1, np.uint32),
        np.zeros(block, np.uint64),
        *np.zeros((5, block), np.uint32),
    )
    pack_strides(graph, policy, strides)
    return strides


@inlined
def pack_stride(graph: Graph, policy: Policy, strides: Strides, row: Any) -> None:
    """Lay out one row; `strides` is modified in place."""
    lo, hi = edges_of(graph, row)
    best = np.int64(policy.best[row])
    strides.word[row] = (lo << SLOT) | ((hi - lo) << 6) | best
    for slot in range(lo, lo + best):
        strides.move[slot] = graph.child[policy.ordered[slot]]


@kernel
def pack_strides(graph: Graph, policy: Policy, strides: Strides) -> None:
    """Lay out every row; `strides` is modified in place."""
    for row in range(n_unfinished(graph)):
        pack_stride(graph, policy, strides, row)


@kernel
def restride(
    graph: Graph, policy: Policy, epsilon: float, seat: int, key: Any, first_game: int, last_game: int, games: Games
) -> None:
    """Write the games that `stride` plays into `games`, in place: the plain walk, for recording."""
    move = 0
    for number in range(first_game, last_game):
        base = game_base(key, number)
        row, ply = np.int64(0), 0
        while row < n_unfinished(graph):
            lo, hi = edges_of(graph, row)
            exploring = epsilon if seat < 0 or ply & 1 == seat else 0.0
            explores = unit(draw(base, 2 * ply)) < exploring
            bits = draw(base, 2 * ply + 1)
            edge = lo + below(bits, hi - lo)
            if not explores:
                edge = np.int64(policy.ordered[lo + below(bits, policy.best[row])])
            games.edge[move], games.exploring[move] = edge, explores
            move += 1
            ply += 1
            row = np.int64(graph.child[edge])
        games.start[number - first_game + 1] = move


@kernel
def stride(
    graph: Graph, strides: Strides, epsilon: float, seat: int, key: Any, first_game: int, last_game: int
) -> None:
    """Play games `first_game` to `last_game - 1`; count each decision in `strides.drawn`, in place.

    epsilon: probability of exploring at a ply, [0, 1].
    seat: 0 or 1 where only the player in that seat explores, -1 where both do.
    """
    word, move, drawn, base, rows, chance, explores, slots, decision = strides
    n_open, n_edges = n_unfinished(graph), graph.child.shape[0]
    nowhere = np.int64(2 * n_edges)
    for start in range(first_game, last_game, base.shape[0]):
        playing = min(base.shape[0], last_game - start)
        first = game_base(key, start)
        for game in range(playing):
            base[game] = first + np.uint64(game) * STRIDE
            rows[game] = 0
        ply = 0
        while playing > 0:
            exploring = epsilon if seat < 0 or ply & 1 == seat else 0.0
            number = np.uint64(2 * ply) * GOLDEN
            for game in range(playing):
                chance[game] = mix(base[game] + number + GOLDEN) >> S32
                explores[game] = unit(mix(base[game] + number)) < exploring
            for game in range(playing):
                now = word[rows[game]]
                off = np.int64(explores[game])
                n = (now >> (6 * off)) & COUNT
                slot = (now >> SLOT) + off * n_edges + ((np.int64(chance[game]) * n) >> 32)  # streams.below
                slots[game] = slot
                decision[game] = slot if (n > 1) | (off != 0) else nowhere
            left = 0
            for game in range(playing):
                drawn[np.uint64(decision[game])] += 1
                child = move[np.uint64(slots[game])]
                base[left] = base[game]
                rows[left] = child
                left += child < n_open
            playing = left
            ply += 1
