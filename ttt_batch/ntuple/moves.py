"""Evaluation of moves by a network: its sum of weights, its preferred moves, and the network as a player."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_batch.compiler.bits import NONE, ONE, all_cells, lowest_bit, single
from ttt_batch.compiler.jit import Int32Array, Int64, Int64Array, Uint32Array, inlined
from ttt_batch.evaluation.search import copy_for_thread, mark_cell, reset, tied_cells, unmark_cell
from ttt_batch.games.bitboards import Lines, LineView
from ttt_batch.ntuple.network import Network

UNIT = 1 << 20
"""Weights and errors are whole numbers of 1 / UNIT: their sums do not depend on the order."""


@inlined
def clear_index(network: Network, index: Uint32Array) -> None:
    """Set `index` (uint32[N], the weight of each tuple) to the empty board, in place."""
    for number in range(index.shape[0]):
        index[number] = network.offset[number]


@inlined
def put_mark(network: Network, index: Uint32Array, cell: Int64, step: Int64) -> None:
    """Put a mark on a cell, in place; step: 1 or 2 for the first or second player's, negative to take it away."""
    for entry in range(network.start[cell], network.start[cell + 1]):
        number = network.through[entry]
        index[number] = np.uint32(index[number] + np.int64(step) * network.power[entry])


@inlined
def total_of(weights: Int32Array, index: Uint32Array, current: Int32Array) -> np.int64:
    """Return the sum of a position (int64); write its weights into `current` (int32[N]).  weights: int32[W]."""
    total = np.int64(0)
    for number in range(index.shape[0]):
        weight = weights[index[number]]
        current[number] = weight
        total += np.int64(weight)
    return total


@inlined
def total_after(
    network: Network,
    weights: Int32Array,
    index: Uint32Array,
    current: Int32Array,
    total: np.int64,
    cell: Int64,
    step: Int64,
) -> np.int64:
    """Return the sum (int64) after a mark on a free cell; total, current: of the position, as from `total_of`."""
    for entry in range(network.start[cell], network.start[cell + 1]):
        number = network.through[entry]
        after = np.uint32(index[number] + np.uint32(step) * network.power[entry])
        total += np.int64(weights[after]) - np.int64(current[number])
    return total


WINS, DRAWS, LOSES, BY_SUM = range(4)
"""Kinds of best moves: they end the game, or their value is the network's."""


@inlined
def by_rules(lines: Lines, free: np.uint64, view: LineView) -> tuple[np.uint64, Int64]:
    """Return the moves to choose from by the rules, as bits, and one of `WINS` to `BY_SUM`.  free: uint64."""
    candidates = free
    if view.own != NONE:
        if lines.misere == 0:
            return view.own, WINS
        candidates &= ~view.own
        if candidates == NONE:
            return free, LOSES
    return candidates, DRAWS if free & (free - ONE) == NONE else BY_SUM


@inlined
def best_network_moves(
    lines: Lines,
    network: Network,
    weights: Int32Array,
    index: Uint32Array,
    current: Int32Array,
    free: np.uint64,
    view: LineView,
    sign: Int64,
) -> np.uint64:
    """Return the best moves of the player to move, as bits.

    weights: int32[W], the table of moves by this player.  index: uint32[N], of the position.  current: int32[N],
    scratch.  free: uint64.  sign: 1 if the first player moves, -1 for the second.
    """
    candidates, kind = by_rules(lines, free, view)
    if kind != BY_SUM:
        return candidates
    total = total_of(weights, index, current)
    step = np.int64(1) if sign > 0 else np.int64(2)
    chosen, best = NONE, np.int64(0)
    while candidates != NONE:
        cell = lowest_bit(candidates)
        candidates &= candidates - ONE
        after = total_after(network, weights, index, current, total, cell, step)
        if chosen == NONE or (after - best) * sign > 0:
            chosen, best = single(cell), after
        elif after == best:
            chosen |= single(cell)
    return chosen


@inlined
def best_scores(score: Int64Array, candidates: np.uint64, sign: Int64) -> np.uint64:
    """Return the candidates (uint64) with the best scores (int64[cells]); sign: as for `best_network_moves`."""
    chosen, best = NONE, np.int64(-1) << np.int64(62)
    while candidates != NONE:
        bit = candidates & (~candidates + ONE)
        one = score[np.uint64(lowest_bit(candidates))] * sign
        chosen = bit if one > best else chosen | (bit if one == best else NONE)
        best = max(best, one)
        candidates ^= bit
    return chosen


class NetAgent(NamedTuple):
    """A player of either seat.

    network: its shape.  weights: int32[P, W], the table by which it moves in each seat.
    index, current: uint32[N] and int32[N], scratch (see `total_of`).
    """

    network: Network
    weights: Int32Array
    index: Any
    current: Int32Array


def make_network_agent(network: Network, weights: NDArray[np.int32]) -> NetAgent:
    """Return the player with these weights (int32[P, W]), at the empty board."""
    return NetAgent(network, weights, network.offset.copy(), np.zeros(network.offset.size, np.int32))


@copy_for_thread.register(NetAgent)
def _spare(agent: NetAgent) -> NetAgent:
    return make_network_agent(agent.network, agent.weights)


@reset.register(NetAgent)
def _reset(agent: NetAgent) -> None:
    clear_index(agent.network, agent.index)


@mark_cell.register(NetAgent)
def _mark(agent: NetAgent, cell: Int64, player: Int64) -> None:
    put_mark(agent.network, agent.index, cell, 1 + player)


@unmark_cell.register(NetAgent)
def _unmark(agent: NetAgent, cell: Int64, player: Int64) -> None:
    put_mark(agent.network, agent.index, cell, -1 - player)


@tied_cells.register(NetAgent)
def _picks(agent: NetAgent, lines: Lines, own: np.uint64, other: np.uint64, view: LineView, ply: Int64) -> np.uint64:
    mover = ply & 1
    weights, free = agent.weights[mover], all_cells(lines.cells) & ~(own | other)
    return best_network_moves(lines, agent.network, weights, agent.index, agent.current, free, view, 1 - 2 * mover)
