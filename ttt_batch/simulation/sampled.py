"""Walk and flow of players that draw their moves from action probabilities.

The probabilities of a row are laid out as an alias table (see `walk.fill_explorations`), so that a draw takes one step
however many moves there are: the upper half of a random number chooses a column, the lower half one of its two slots.
The random number `ply` of a game decides its move at that ply, even if there is only one.  Slots are those of
`action_probabilities`; a slot of probability 0 is in no column.

The flow gives each slot a binomial share of the games at a row.  As in `flow`, every row of every batch has its own
sequence of random numbers.  Slots are drawn from the last one back.  Each takes its share of the games that the later
ones left, with its probability among itself and the slots before it.  These probabilities are summed, never subtracted,
so no digits cancel.  If only a few games are at a row, each draws a slot from the row's alias table instead.
"""

from typing import Any, NamedTuple

import numpy as np

from ttt_batch.compiler.jit import (
    BoolArray,
    Float64Array,
    Int64,
    Int64Array,
    Uint8Array,
    Uint32Array,
    Uint64Array,
    inlined,
    kernel,
)
from ttt_batch.compiler.numerics import GOLDEN, S32, STRIDE, draw, game_base, mix
from ttt_batch.games.graph import Graph, edges_of, n_unfinished
from ttt_batch.games.transcripts import Games
from ttt_batch.simulation.action_probabilities import WIDEST
from ttt_batch.simulation.flow import binomial, row_base
from ttt_batch.simulation.policy import EXPLORING, GREEDY, Counts, list_visited
from ttt_batch.simulation.walk import walk_chunk

SLOTS = 2 * WIDEST
AT_ONCE = 1 << 11
"""Games in lockstep; 40 KB of state."""

ONE, S8, BYTE, HALF = (np.uint64(n) for n in (1, 8, 0xFF, 0xFFFFFFFF))


class AliasTable(NamedTuple):
    """Scratch for the alias table of one row.

    chance: float64[128], the chances of the row's slots.  slot: int64[128], those of them that are above 0.
    weight: float64[128], what columns have left to give.  stack: int64[128], columns.
    """

    chance: Float64Array
    slot: Int64Array
    weight: Float64Array
    stack: Int64Array


class Mixture(NamedTuple):
    """Sampler that walks: the play of the learner, its probabilities laid out, and the state of the games.

    how: see `action_probabilities.write_chances`.  opponent: the fixed opponent's `Probabilities`.
    dirty: bool[U], rows whose chances may have changed; all at first.
    column: uint64[2 * E], the columns of row r from 2 * first_edge[r] on: a threshold (bits 32-63) below which the
    lower half of a random number takes the column's own slot (bits 8-15, counted from the row's first), and the slot
    that it takes otherwise (bits 0-7).  columns: uint8[U], how many a row has.
    table: scratch.
    drawn: uint32[2 * E], how often each slot was drawn, added to by `walk_mixture`.
    base: uint64[block], row, slot: uint32[block], the games' next random numbers, rows, and present moves.
    """

    how: Any
    opponent: Any
    dirty: BoolArray
    column: Uint64Array
    columns: Uint8Array
    table: AliasTable
    drawn: Uint32Array
    base: Uint64Array
    row: Uint32Array
    slot: Uint32Array


def make_alias_table() -> AliasTable:
    """Return scratch for one row."""
    return AliasTable(np.zeros(SLOTS), np.zeros(SLOTS, np.int64), np.zeros(SLOTS), np.zeros(SLOTS, np.int64))


def make_mixture(graph: Graph, how: Any, opponent: Any) -> Mixture:
    """Return a sampler that walks AT_ONCE games together, nothing laid out or drawn."""
    n_slots = 2 * graph.child.size
    return Mixture(
        how,
        opponent,
        np.ones(graph.first_edge.size - 1, np.bool_),
        np.zeros(n_slots, np.uint64),
        np.zeros(graph.first_edge.size - 1, np.uint8),
        make_alias_table(),
        np.zeros(n_slots, np.uint32),
        np.zeros(AT_ONCE, np.uint64),
        *np.zeros((2, AT_ONCE), np.uint32),
    )


@inlined
def lay_out(table: AliasTable, n_slots: Int64, column: Uint64Array, at: Int64) -> np.int64:
    """Make the alias table of the first `n_slots` chances in `table.chance`; return how many columns it has.

    They are written to `column` from `at` on.  `table` is modified in place.
    """
    chance, slot, weight, stack = table
    n = np.int64(0)
    for number in range(n_slots):  # without a branch: an entry is overwritten by the next one unless it counts
        slot[n] = number
        n += chance[number] > 0.0
    n_poor, first_rich = np.int64(0), n  # two stacks in one array, growing towards each other
    for i in range(n):
        weight[i] = chance[slot[i]] * n
        own = np.uint64(slot[i])
        column[at + i] = (own << S8) | own
        if weight[i] < 1.0:
            stack[n_poor] = i
            n_poor += 1
        else:
            first_rich -= 1
            stack[first_rich] = i
    while n_poor > 0 and first_rich < n:
        n_poor -= 1
        poor, rich = stack[n_poor], stack[first_rich]
        threshold = np.uint64(weight[poor] * 2.0**32)
        column[at + poor] = (threshold << S32) | (np.uint64(slot[poor]) << S8) | np.uint64(slot[rich])
        weight[rich] -= 1.0 - weight[poor]
        if weight[rich] < 1.0:
            first_rich += 1
            stack[n_poor] = rich
            n_poor += 1
    return n


@inlined
def slot_drawn(column: Uint64Array, at: np.uint64, n: np.uint64, bits: np.uint64) -> np.uint64:
    """Return the slot (uint64, counted from the row's first) that a random number picks of `n` columns from `at` on."""
    word = column[at + (((bits >> S32) * n) >> S32)]
    return (word >> S8 if (bits & HALF) < (word >> S32) else word) & BYTE


@inlined
def slot_reached(chance: Float64Array, n_slots: Int64, reach: float) -> np.int64:
    """Return the first slot (int64) at which the sum of the first chances exceeds `reach` (float64 in [0, 1)).

    It serves single draws, without a table.  If rounding leaves no slot, the last one with a chance is taken.
    """
    total, last = 0.0, np.int64(0)
    for slot in range(n_slots):
        if chance[slot] > 0.0:
            total, last = total + chance[slot], np.int64(slot)
            if total > reach:
                break
    return last


@walk_chunk.register(Mixture)
def walk_mixture(mixture: Mixture, graph: Graph, key: np.uint64, first_game: Int64, last_game: Int64) -> None:
    """Play games `first_game` to `last_game - 1`; count each move in `mixture.drawn`, in place."""
    column, columns, drawn = mixture.column, mixture.columns, mixture.drawn
    base, rows, slots, n_open = mixture.base, mixture.row, mixture.slot, n_unfinished(graph)
    for start in range(first_game, last_game, base.shape[0]):
        playing = min(base.shape[0], last_game - start)
        first = game_base(key, start)
        for game in range(playing):
            base[game] = first + np.uint64(game) * STRIDE
            rows[game] = 0
        while playing > 0:
            for game in range(playing):
                row = np.uint64(rows[game])
                at = np.uint64(graph.first_edge[row]) << ONE
                slots[game] = at + slot_drawn(column, at, np.uint64(columns[row]), mix(base[game]))
            left = 0
            for game in range(playing):
                slot = np.uint64(slots[game])
                child = graph.child[slot >> ONE]
                drawn[slot] += 1
                base[left] = base[game] + GOLDEN
                rows[left] = child
                left += child < n_open
            playing = left


@kernel
def complete_drawn(graph: Graph, drawn: Uint32Array, counts: Counts, games: Int64) -> None:
    """Fill `counts` for `games` games whose every move was drawn, in one sweep down the rows.

    drawn: uint32[2 * E], see `Mixture`; set back to zero.  `counts` (empty at first) and `drawn` are modified in
    place.
    """
    taken, arrived = counts.taken, counts.arrived
    arrived[0] = games
    n: Any = np.int64(0)
    for ply in range(graph.ply_start.shape[0] - 1):
        first, n = n, list_visited(graph, counts, ply, n)
        for i in range(first, n):
            lo, hi = edges_of(graph, counts.visited[i])
            for number in range(lo, hi):
                edge = np.uint64(number)
                greedy, exploring = np.int64(drawn[edge << ONE]), np.int64(drawn[(edge << ONE) | ONE])
                drawn[edge << ONE] = 0
                drawn[(edge << ONE) | ONE] = 0
                taken[edge, GREEDY] = greedy
                taken[edge, EXPLORING] = exploring
                arrived[graph.child[edge]] += greedy + exploring
    counts.n_visited[0] = n


@kernel
def replay_mixture(
    graph: Graph, mixture: Mixture, key: np.uint64, first_game: Int64, last_game: Int64, games: Games
) -> None:
    """Write games `first_game` to `last_game - 1`, the very ones that `walk_mixture` plays, into `games`, in place."""
    move = 0
    for number in range(first_game, last_game):
        base, row, ply = game_base(key, number), np.uint64(0), 0
        while row < n_unfinished(graph):
            at = np.uint64(graph.first_edge[row]) << ONE
            slot = at + slot_drawn(mixture.column, at, np.uint64(mixture.columns[row]), draw(base, ply))
            games.move[move], games.exploring[move] = slot >> ONE, slot & ONE != np.uint64(0)
            move += 1
            ply += 1
            row = np.uint64(graph.child[slot >> ONE])
        games.start[number - first_game + 1] = move


FEW = 4
"""Games a slot up to which each game draws its own."""


class Streams(NamedTuple):
    """Sampler that draws counts: the play of the learner, its fixed opponent's `Probabilities`, and scratch for a row.

    column: uint64[128], the row's alias table.
    """

    how: Any
    opponent: Any
    table: AliasTable
    column: Uint64Array


def make_streams(how: Any, opponent: Any) -> Streams:
    """Return a sampler of a flow."""
    return Streams(how, opponent, make_alias_table(), np.zeros(SLOTS, np.uint64))


@inlined
def share_out(graph: Graph, streams: Streams, base: np.uint64, counts: Counts, row: np.uint32) -> None:
    """Draw the moves of the games at `row`, with the probabilities in `streams.table`.

    base: see `flow.batch_base`.  Writes `counts.taken` of the row and adds to `counts.arrived` of its children.
    """
    lo, hi = edges_of(graph, row)
    taken, chance, at = counts.taken, streams.table.chance, np.uint64(0)
    slot: Any = np.int64(0)
    for edge in range(lo, hi):
        taken[edge, GREEDY] = 0
        taken[edge, EXPLORING] = 0
    counter, games, n_slots = row_base(base, row), counts.arrived[row], 2 * (hi - lo)
    if games <= FEW * (hi - lo):
        columns = np.uint64(lay_out(streams.table, n_slots, streams.column, np.int64(0)))
        for _ in range(games):
            counter += GOLDEN
            drawn = np.int64(slot_drawn(streams.column, at, columns, mix(counter)))
            taken[lo + (drawn >> 1), drawn & 1] += 1
    else:
        for slot in range(n_slots - 1, -1, -1):
            if chance[slot] > 0.0 and games > 0:
                before = 0.0
                for other in range(slot):
                    before += chance[other]
                share = games
                if before > 0.0:
                    share, counter = binomial(games, chance[slot] / (before + chance[slot]), counter)
                taken[lo + (slot >> 1), slot & 1] = share
                games -= share
    for edge in range(lo, hi):
        counts.arrived[graph.child[edge]] += taken[edge, GREEDY] + taken[edge, EXPLORING]
