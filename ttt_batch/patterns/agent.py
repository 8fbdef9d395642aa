"""A network as a player: it makes the moves with the best sums, and all that tie."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_batch.base.bits import all_cells
from ttt_batch.game.lines import Lines, LineView
from ttt_batch.patterns.moves import best_network_moves
from ttt_batch.patterns.network import Network
from ttt_batch.patterns.sums import clear_index, put_mark
from ttt_batch.proofs.playing import copy_for_thread, mark_cell, reset, tied_cells, unmark_cell


class NetAgent(NamedTuple):
    """A player of either seat.

    network: its shape.  weights: int32[P, W], the table by which it moves in each seat.
    index, current: uint32[N] and int32[N], scratch (see `sums`).
    """

    network: Network
    weights: Any
    index: Any
    current: Any


def make_network_agent(network: Network, weights: NDArray[np.int32]) -> NetAgent:
    """The player with these weights (int32[P, W]), at the empty board."""
    return NetAgent(network, weights, network.offset.copy(), np.zeros(network.offset.size, np.int32))


@copy_for_thread.register(NetAgent)
def _spare(agent: NetAgent) -> NetAgent:
    return make_network_agent(agent.network, agent.weights)


@reset.register(NetAgent)
def _reset(agent: NetAgent) -> None:
    clear_index(agent.network, agent.index)


@mark_cell.register(NetAgent)
def _mark(agent: NetAgent, cell: Any, player: Any) -> None:
    put_mark(agent.network, agent.index, cell, 1 + player)


@unmark_cell.register(NetAgent)
def _unmark(agent: NetAgent, cell: Any, player: Any) -> None:
    put_mark(agent.network, agent.index, cell, -1 - player)


@tied_cells.register(NetAgent)
def _picks(agent: NetAgent, lines: Lines, own: Any, other: Any, view: LineView, ply: Any) -> Any:
    mover = ply & 1
    weights, free = agent.weights[mover], all_cells(lines.cells) & ~(own | other)
    return best_network_moves(lines, agent.network, weights, agent.index, agent.current, free, view, 1 - 2 * mover)
