"""The flow of players whose moves have chances of their own: of the games at a row, each slot has a binomial share.

As in `flow`, every row of every batch has a sequence of random numbers of its own.  Slots (see `chances`) are drawn
from the last one back: a slot's share of what the later ones left is its chance among itself and those before it, a sum
of positive numbers, so that nothing cancels.  A few games draw a slot each from the row's alias table instead.
"""

from typing import Any, NamedTuple

import numpy as np

from ttt_batch.base.jit import inlined
from ttt_batch.base.streams import GOLDEN, mix
from ttt_batch.game.graph import Graph, edges_of
from ttt_batch.simulation.binomial import binomial
from ttt_batch.simulation.counts import EXPLORING, GREEDY, Counts
from ttt_batch.simulation.flow import row_base
from ttt_batch.simulation.mixture import SLOTS, AliasTable, lay_out, make_alias_table, slot_drawn

FEW = 4
"""Games a slot up to which each game draws its own."""


class Streams(NamedTuple):
    """A way to draw counts: how the learner plays, its fixed opponent's `Chances`, and scratch for a row.

    tables, choice: see `chances.write_chances`; None if those of each call hold.
    column: uint64[128], the row's alias table.
    """

    how: Any
    tables: Any
    choice: Any
    rival: Any
    table: AliasTable
    column: Any


def make_streams(how: Any, rival: Any, tables: Any = None, choice: Any = None) -> Streams:
    """A way to draw counts."""
    return Streams(how, tables, choice, rival, make_alias_table(), np.zeros(SLOTS, np.uint64))


@inlined
def share_out(graph: Graph, streams: Streams, base: Any, counts: Counts, row: Any) -> None:
    """Let the games that arrived at `row` take its moves, with the chances in `streams.table`.

    base: see `flow.batch_base`.  `counts.taken` of the row is written, and `counts.arrived` of its children added to.
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
