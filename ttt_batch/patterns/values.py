"""What a network says of one position, for people: its best moves, and a value of each."""

from typing import Any, NamedTuple

import numpy as np

from ttt_batch.base.bits import NONE, lowest_bit, single
from ttt_batch.base.jit import kernel
from ttt_batch.game.board import EMPTY, Position
from ttt_batch.game.lines import Lines, view_of
from ttt_batch.patterns.agent import NetAgent
from ttt_batch.patterns.games import squash
from ttt_batch.patterns.moves import best_network_moves
from ttt_batch.patterns.sums import clear_index, put_mark, total_after, total_of


class NetworkView(NamedTuple):
    """best: the cells that may be picked.  values: of each free cell for the player to move, [-1, 1]."""

    best: list[int]
    values: dict[int, float]


@kernel
def _read(lines: Lines, agent: NetAgent, marks: Any, values: Any) -> Any:
    """The best moves (uint64) in a position; values (float64[cells], of free cells) are written in place.

    marks: int64[cells], 0 an empty cell, 1 and 2 the players' marks.
    """
    clear_index(agent.network, agent.index)
    first, second, free, plies = NONE, NONE, NONE, 0
    for cell in range(lines.cells):
        if marks[cell] == 0:
            free |= single(cell)
            continue
        put_mark(agent.network, agent.index, cell, marks[cell])
        plies += 1
        if marks[cell] == 1:
            first |= single(cell)
        else:
            second |= single(cell)
    mover = plies & 1
    sign = 1 - 2 * mover
    own, other = (second, first) if mover else (first, second)
    view, weights = view_of(lines, own, other), agent.weights[mover]
    best = best_network_moves(lines, agent.network, weights, agent.index, agent.current, free, view, sign)
    total = total_of(weights, agent.index, agent.current)
    rest = free
    while rest != NONE:
        cell = lowest_bit(rest)
        rest &= ~single(cell)
        if view.own & single(cell) != NONE:
            values[cell] = -1.0 if lines.misere else 1.0
        elif plies + 1 == lines.cells:
            values[cell] = 0.0
        else:
            after = total_after(agent.network, weights, agent.index, agent.current, total, cell, 1 + mover)
            values[cell] = sign * squash(after)
    return best


def network_view(lines: Lines, agent: NetAgent, position: Position) -> NetworkView:
    """What a network says of an unfinished position.  agent: its scratch is written to."""
    values = np.zeros(lines.cells)
    best = int(_read(lines, agent, np.array(position, np.int64), values))
    free = [cell for cell, mark in enumerate(position) if mark == EMPTY]
    return NetworkView([cell for cell in free if best >> cell & 1], {cell: float(values[cell]) for cell in free})
