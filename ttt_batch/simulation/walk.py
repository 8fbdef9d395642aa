"""Walk: play every game of a batch, a block of games at a time, from one random decision to the next.

The games of a block advance together, one decision a round; finished games drop out.  A round has no branch to
mispredict: 1.8 times (epsilon 0.1) to 3 times (td) the speed of following one game to its end.  Only decisions are
counted; `policy.complete_counts` derives the greedy moves between them.  The random numbers of a game depend only on
its number, so neither the block nor the order of games changes the counts.

A round has two loops.  The first draws and chooses, which is arithmetic on several games at a time.  The second counts
and looks up where the path leads.  One word holds a game's state: its next decision, number and plies to explore.

Threads and processes walk any games of a batch separately, and their counts add up.  A sampler (`walk.Walker`,
`lockstep.Lockstep`) holds what they share, which is only read, and what each needs for itself: the states of its games
and its counts `drawn`.

Each ply explores with probability epsilon, independently.  On boards of up to nine cells the set of exploring plies
has 512 possible values.  Walker's alias method draws it from one random number (Vose, "A linear algorithm for
generating random numbers with a given distribution", IEEE Transactions on Software Engineering 17, 1991).  Number 0 of
a game draws this set, and numbers 1, 2, ... its random decisions.  On larger boards numbers 2 * ply and 2 * ply + 1
decide whether the game explores at a ply and which move it takes.

Between explorations and ties a game follows the one best move of each row.  `GreedyPaths`, built once per batch, hold
where these moves lead, so a game jumps to its next random decision: about 0.9 jumps instead of 8.4 plies at epsilon
0.1.

A jump is a chain of loads (the decision, the move, the path after it) from tables that share the second cache, so they
are small: 63 KB on 3x3, 1.3 to 1.8 times the speed of a walk over wider ones.  A path holds the plies from its row's
own on, in 16-bit entries, padded to whole words.  A move is the place where its child's path begins.  An entry holds
the row and whether the game explores there, so that it is the index of the decision.
"""

from typing import Any, NamedTuple

import numpy as np

from ttt_batch.compiler.intrinsics import claim
from ttt_batch.compiler.jit import (
    Bool,
    Float64Array,
    Int64,
    Int64Array,
    Integer,
    Uint8Array,
    Uint16Array,
    Uint32Array,
    Uint64Array,
    generic,
    inlined,
    kernel,
)
from ttt_batch.compiler.numerics import GOLDEN, S32, STRIDE, draw, game_base, mix, unit
from ttt_batch.core.errors import BoardError
from ttt_batch.games.graph import Graph, edges_of, n_unfinished
from ttt_batch.simulation.policy import Policy


@generic
def walk_chunk(sampler: Any, graph: Graph, key: np.uint64, first_game: Int64, last_game: Int64) -> Any:
    """Play games `first_game` to `last_game - 1` of the sampler's batch; add to `sampler.drawn`, in place.

    key: uint64, `stream_key(seed)`.
    """


@kernel
def walk_from_queue(
    graph: Graph, sampler: Any, key: np.uint64, next_free: Int64Array, size: Int64, last_game: Int64
) -> None:
    """Run `walk_chunk` on games shared with other threads: `size` at a time, claimed from `next_free` on.

    next_free: int64[1], the first unclaimed game, modified in place.  last_game: see `walk_chunk`.
    """
    first = claim(next_free, size)
    while first < last_game:
        walk_chunk(sampler, graph, key, first, min(first + size, last_game))
        first = claim(next_free, size)


PER_THREAD = {"drawn", "game", "opening", "base", "row", "chance", "explores", "slot", "decision"}
"""Fields of samplers that each thread has for itself."""


def second_sampler(sampler: Any) -> Any:
    """Return the sampler of another thread for the same batch, with own zero arrays."""
    return sampler._replace(
        **{name: np.zeros_like(getattr(sampler, name)) for name in PER_THREAD & set(sampler._fields)}
    )


PLIES_AT_ONCE = 9
N_SETS = 1 << PLIES_AT_ONCE
SETS, SET_BITS = np.uint64(N_SETS - 1), np.uint64(PLIES_AT_ONCE)
SET_DRAW = 0
"""Number of the draw (`numerics.draw`) that a game spends on its exploring plies; decisions take 1, 2, ..."""

NEVER = PLIES_AT_ONCE
"""The next ply of an empty set: by then every game is over."""

PLY_STRIDE = np.uint64(2 * int(GOLDEN) % 2**64)
"""Stride of the counter for a ply on larger boards: two random numbers."""


class Explorations(NamedTuple):
    """Alias table of sets of plies (bit p for ply p) for one epsilon, and the lowest ply of every set.

    column: uint64[512].  Bits 9-63 hold a threshold out of 2**55.  A number below it gives the set equal to the
    column's index, any other the set in bits 0-8.
    next_ply: uint8[512], the lowest ply of every set, NEVER for the empty one; the same for every epsilon.
    """

    column: Uint64Array
    next_ply: Uint8Array


@inlined
def epsilon_at(epsilon: float, seat: Int64, ply: Int64) -> float:
    """Return the probability that `ply` explores.

    seat: 0 or 1 if only the player in that seat explores, -1 if both do.
    """
    return epsilon if seat < 0 or ply & 1 == seat else 0.0


@kernel
def fill_explorations(
    table: Explorations, epsilon: float, seat: Int64, weight: Float64Array, stack: Int64Array
) -> None:
    """Fill `table` in place for one epsilon, [0, 1].

    seat: see `epsilon_at`.  weight: float64[512], stack: int64[512]; scratch.
    """
    n_poor, first_rich = 0, N_SETS  # two stacks in one array, growing towards each other
    for members in range(N_SETS):
        p = 1.0
        for ply in range(PLIES_AT_ONCE):
            here = epsilon_at(epsilon, seat, ply)
            p *= here if (members >> ply) & 1 else 1.0 - here
        weight[members] = p * N_SETS
        table.column[members] = members
        if weight[members] < 1.0:
            stack[n_poor] = members
            n_poor += 1
        else:
            first_rich -= 1
            stack[first_rich] = members
    while n_poor > 0 and first_rich < N_SETS:
        n_poor -= 1
        poor, rich = stack[n_poor], stack[first_rich]
        table.column[poor] = (np.uint64(weight[poor] * 2.0**55) << SET_BITS) | np.uint64(rich)
        weight[rich] -= 1.0 - weight[poor]
        if weight[rich] < 1.0:
            first_rich += 1
            stack[n_poor] = rich
            n_poor += 1


def make_explorations(epsilon: float, seat: int = -1) -> Explorations:
    """Return a filled table; see `fill_explorations`."""
    lowest = [(members & -members).bit_length() - 1 for members in range(1, N_SETS)]
    table = Explorations(np.zeros(N_SETS, np.uint64), np.array([NEVER, *lowest], np.uint8))
    fill_explorations(table, epsilon, seat, np.zeros(N_SETS), np.zeros(N_SETS, np.int64))
    return table


@inlined
def exploring_set(table: Explorations, bits: np.uint64) -> np.uint64:
    """Return the exploring plies of one game as a set, bit p for ply p (uint64), from 64 random bits.

    The lowest nine bits choose a column; the rest is compared with its threshold.
    """
    column = table.column[bits & SETS]
    return (bits if (bits | SETS) < column else column) & SETS


@inlined
def exploring_plies(
    table: Explorations | None, base: np.uint64, epsilon: float, seat: Int64, plies: Int64
) -> np.uint64:
    """Return the exploring plies of the game whose counter is `base`, as a set (uint64).

    table: `Explorations`; or None on larger boards, where each of `plies` plies has a random number, compared with
    `epsilon`.  seat: see `epsilon_at`.
    """
    if table is not None:
        return exploring_set(table, draw(base, SET_DRAW))
    exploring = np.uint64(0)
    if epsilon > 0.0:
        for ply in range(plies):
            explores = unit(draw(base, 2 * ply)) < epsilon_at(epsilon, seat, ply)
            exploring |= np.uint64(explores) << np.uint64(ply)
    return exploring


@inlined
def next_counter(table: Any, counter: np.uint64, by_chance: Bool) -> np.uint64:
    """Return the counter (uint64) of the number for the next move; the first is `base + GOLDEN`.

    table: see `exploring_plies`.  by_chance: True if this move used its number.
    """
    if table is None:
        return counter + PLY_STRIDE
    return counter + GOLDEN if by_chance else counter


@inlined
def explores_at(exploring: np.uint64, ply: Int64) -> bool:
    """Return whether `ply` is in a set of plies (uint64, see `exploring_set`)."""
    return (exploring >> np.uint64(ply)) & np.uint64(1) != np.uint64(0)


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
    begin: uint16[S], see `entry_of`; every path ends, with NEVER, at the end of a word.
    """

    decision: Uint32Array
    move: Uint16Array
    entry: Uint16Array
    words: Uint64Array
    begin: Uint16Array


def make_paths(graph: Graph, policy: Policy) -> GreedyPaths:
    """Return the paths of a policy.  Raises BoardError if the board is too large."""
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
def pack_row(graph: Graph, policy: Policy, paths: GreedyPaths, row: Integer) -> None:
    """Write the packed policy's moves of one row; `paths.decision` and `paths.move` are modified in place."""
    lo, _ = edges_of(graph, row)
    paths.decision[2 * row] = np.int64(policy.best[row]) | (lo << SLOT)
    for number in range(lo, lo + policy.best[row]):
        slot = np.uint64(number)
        paths.move[slot] = paths.begin[graph.child[policy.ordered[slot]]]


@kernel
def pack_rows(graph: Graph, policy: Policy, paths: GreedyPaths) -> None:
    """Write the packed moves of every row; `paths` is modified in place."""
    for row in range(n_unfinished(graph)):
        pack_row(graph, policy, paths, row)


@kernel
def trace_paths(graph: Graph, policy: Policy, paths: GreedyPaths) -> None:
    """Build the path of every unfinished row from its child's; `paths.words` is modified in place.

    It builds all rows, as finding the changed ones costs as much.  It stores whole words, because loading a word
    waits for a store to a part of it: 1.7 times as long.
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


BLOCK = 2048
"""Games walked together: 24 KB of state, inside the first cache."""

MAX_WALKED = 1 << 31
"""Games of a batch at most: decisions are counted in 32 bits, which halves the memory they need (walk 1.05 to 1.3
times as fast)."""

ZERO = np.uint64(0)
U_COUNT, U_EXPLORES, U_SLOT = (np.uint64(n) for n in (COUNT, EXPLORES, SLOT))
S_EXPLORES = np.uint64(EXPLORES.bit_length() - 1)
LOWER = np.uint64(0xFFFFFFFF)
"""The half of a word that holds which game it is and where it explores; the upper one is its decision."""


class Walker(NamedTuple):
    """Arrays of one walking thread; threads share the first two.

    explorations: for the epsilon of the present batch.  paths: of its policy.
    game: uint64[block], the games: their exploring plies to come, as a set (bits 0-8), their number in the block
    (bits 9-31) and their next decision (bits 32-63, `GreedyPaths.decision`).
    slot: uint32[block], their chosen moves.
    opening: uint64[512], scratch: for each set of exploring plies the word of game 0 that begins with it; without a
    decision if it ends without one.
    drawn: uint32[2 * E], how often each slot of `GreedyPaths.move` was drawn, added to by `walk`.
    """

    explorations: Explorations
    paths: GreedyPaths
    game: Uint64Array
    slot: Uint32Array
    opening: Uint64Array
    drawn: Uint32Array


def make_walker(graph: Graph, explorations: Explorations, paths: GreedyPaths, block: int = BLOCK) -> Walker:
    """Return an unused walker for blocks of `block` games (at most 2**23: their numbers have 23 bits)."""
    game, opening = np.zeros(block, np.uint64), np.zeros(N_SETS, np.uint64)
    return Walker(
        explorations, paths, game, np.zeros(block, np.uint32), opening, np.zeros(2 * graph.child.size, np.uint32)
    )


@inlined
def entry_of(paths: GreedyPaths, explorations: Explorations, path: np.uint64, exploring: np.uint64) -> np.uint64:
    """Return a game's next decision, an index of `GreedyPaths.decision` (uint64).

    path: uint64, start of the game's path.  exploring: uint64, set of its exploring plies to come.
    """
    return np.uint64(paths.entry[path + np.uint64(explorations.next_ply[exploring])])


@walk_chunk.register(Walker)
def walk(walker: Walker, graph: Graph, key: np.uint64, first_game: Int64, last_game: Int64) -> None:
    """Play games `first_game` to `last_game - 1`; count each decision in `walker.drawn`, in place."""
    explorations, paths, games, slot, opening, drawn = walker
    final = TWO * np.uint64(n_unfinished(graph))
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
                slot[i] = (decision >> U_SLOT) + ((bits * (decision & U_COUNT)) >> S32)  # numerics.below
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
