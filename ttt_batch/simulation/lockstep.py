"""Walk on boards of more than nine cells, with many games in lockstep, and a plain walk for recording.

It has no greedy paths: tracing them for a million rows takes longer than a batch.  A step waits for memory, so many
games wait at the same time, and a step loads little.  One word holds a row's first slot, number of moves and number of
best moves.  A move is stored as its child.  As in `walk`, only decisions are counted, or arrivals if the learner needs
no more, in a tenth of the memory.  The whole batch is in lockstep, so that a step reads the rows of one ply only.

The plain walk, `replay`, draws the same random numbers as `walk` and `lockstep`.  So it plays the same games, and
recording changes no count.
"""

from typing import Any, NamedTuple

import numpy as np

from ttt_batch.compiler.jit import Float64Array, Int64, Int64Array, Integer, Uint32Array, Uint64Array, inlined, kernel
from ttt_batch.compiler.numerics import GOLDEN, S32, STRIDE, below, game_base, mix, unit
from ttt_batch.games.graph import Graph, edges_of, n_unfinished
from ttt_batch.games.transcripts import Games
from ttt_batch.simulation.policy import Policy
from ttt_batch.simulation.walk import PLY_STRIDE, epsilon_at, explores_at, exploring_plies, next_counter, walk_chunk

AT_ONCE = 1 << 18
"""Games in lockstep at most, 28 bytes each."""

COUNT, SLOT = 63, 12
"""A row's word: how many best moves (bits 0-5), how many moves (6-11), and the slot of the first (from 12 on)."""


class Lockstep(NamedTuple):
    """A policy as games in lockstep need it, and where these stand.

    seat: see `epsilon_at`.  epsilon: float64[1], probability of exploring at a ply, [0, 1].
    by_row: whether arrivals are counted.
    word: int64[U], see COUNT.
    move: uint32[2 * E], the rows that moves lead to: slots 0 to E - 1 the policy's moves where it lists them, slots E
    to 2 * E - 1 all moves in cell order.
    drawn: uint32[2 * E + 1], how often each slot was chosen by chance, the last entry for moves that were the only
    choice; or uint32[S], how many games arrived in each row but the first.  Added to by `walk_in_lockstep`.
    base: uint64[block], row: uint32[block], the counters of the games' first numbers, and where the games stand.
    chance, explores, slot, decision: uint32[block], of the present ply; scratch.
    """

    seat: int
    epsilon: Float64Array
    by_row: bool
    word: Int64Array
    move: Uint32Array
    drawn: Uint32Array
    base: Uint64Array
    row: Uint32Array
    chance: Uint32Array
    explores: Uint32Array
    slot: Uint32Array
    decision: Uint32Array


def make_lockstep(
    graph: Graph, policy: Policy, seat: int = -1, *, by_row: bool = False, at_once: int = AT_ONCE
) -> Lockstep:
    """Return a sampler for the policy; the caller sets `epsilon`."""
    lockstep = Lockstep(
        seat,
        np.zeros(1),
        by_row,
        np.zeros(graph.first_edge.size - 1, np.int64),
        np.concatenate([graph.child, graph.child]),
        np.zeros(graph.code.size if by_row else 2 * graph.child.size + 1, np.uint32),
        np.zeros(at_once, np.uint64),
        *np.zeros((5, at_once), np.uint32),
    )
    pack_all_moves(graph, policy, lockstep)
    return lockstep


@inlined
def pack_moves(graph: Graph, policy: Policy, lockstep: Lockstep, row: Integer) -> None:
    """Write the layout of one row; `lockstep` is modified in place."""
    lo, hi = edges_of(graph, row)
    best = np.int64(policy.best[row])
    lockstep.word[row] = (lo << SLOT) | ((hi - lo) << 6) | best
    for slot in range(lo, lo + best):
        lockstep.move[slot] = graph.child[policy.ordered[slot]]


@kernel
def pack_all_moves(graph: Graph, policy: Policy, lockstep: Lockstep) -> None:
    """Write the layout of every row; `lockstep` is modified in place."""
    for row in range(n_unfinished(graph)):
        pack_moves(graph, policy, lockstep, row)


@walk_chunk.register(Lockstep)
def walk_in_lockstep(lockstep: Lockstep, graph: Graph, key: np.uint64, first_game: Int64, last_game: Int64) -> None:
    """Play games `first_game` to `last_game - 1`; count each decision or arrival in `lockstep.drawn`, in place."""
    seat, probability, by_row, word, move, drawn, base, rows, chance, explores, slots, decision = lockstep
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
            exploring, number = epsilon_at(probability[0], seat, ply), np.uint64(ply) * PLY_STRIDE
            for game in range(playing):
                chance[game] = mix(base[game] + number + GOLDEN) >> S32
                explores[game] = unit(mix(base[game] + number)) < exploring
            for game in range(playing):
                now = word[rows[game]]
                off = np.int64(explores[game])
                n = (now >> (6 * off)) & COUNT
                slot = (now >> SLOT) + off * n_edges + ((np.int64(chance[game]) * n) >> 32)  # numerics.below
                slots[game] = slot
                decision[game] = slot if (n > 1) | (off != 0) else nowhere
            left = 0
            for game in range(playing):
                child = move[np.uint64(slots[game])]
                drawn[np.uint64(child if by_row else decision[game])] += 1
                base[left] = base[game]
                rows[left] = child
                left += child < n_open
            playing = left
            ply += 1


def trimmed(games: Games) -> Games:
    """Return the games without the space after their last move."""
    end = int(games.start[-1])
    return Games(games.start, games.move[:end], games.exploring[:end])


@kernel
def replay(
    graph: Graph,
    policy: Policy,
    explorations: Any,
    epsilon: float,
    seat: Int64,
    key: np.uint64,
    first_game: Int64,
    last_game: Int64,
    games: Games,
) -> None:
    """Write games `first_game` to `last_game - 1` into `games`, in place.

    explorations, epsilon, seat: see `exploring_plies`.
    """
    move, plies = 0, graph.ply_start.shape[0] - 1
    for number in range(first_game, last_game):
        base = game_base(key, number)
        exploring = exploring_plies(explorations, base, epsilon, seat, plies)
        row, ply, counter = np.int64(0), 0, base + GOLDEN
        while row < n_unfinished(graph):
            lo, hi = edges_of(graph, row)
            explores, bits = explores_at(exploring, ply), mix(counter)
            counter = next_counter(explorations, counter, explores or policy.best[row] > 1)
            edge = lo + below(bits, hi - lo)
            if not explores:
                edge = np.int64(policy.ordered[lo + below(bits, policy.best[row])])
            games.move[move], games.exploring[move] = edge, explores
            move += 1
            ply += 1
            row = np.int64(graph.child[edge])
        games.start[number - first_game + 1] = move
