"""The three scripted players that measure an agent on a board too large for exact results.

`random` takes any free cell.  `one-ply` wins at once if it can; `two-ply` does so too, and else takes a cell with which
its opponent would win at once.  Otherwise both move at random.  On misère boards, where no move wins at once, both
avoid making a line as long as they can.
"""

from typing import Any, NamedTuple

import numpy as np

from ttt_batch.base.choices import SEATS, choose, choose_seat
from ttt_batch.base.jit import inlined, kernel
from ttt_batch.game.bitboards import Places, completes, make_places, marks_of
from ttt_batch.game.graph import Graph, edges_of, mover_of, n_unfinished
from ttt_batch.game.state_space import check_enumerable
from ttt_batch.runs.run import Run
from ttt_batch.simulation.policy import Policy, policy_among

PLAYERS = ("random", "one-ply", "two-ply")
"""The scripted players; in kernels by their number, which is how many plies they look ahead."""

RANDOM, ONE_PLY, TWO_PLY = range(3)


class Scripted(NamedTuple):
    """A scripted player on a board.  plies: RANDOM, ONE_PLY or TWO_PLY."""

    places: Places
    plies: int


@inlined
def scripted_cells(places: Places, own: Any, other: Any, plies: Any) -> Any:
    """Cells (int64, bits) that a scripted player picks among, each equally likely.

    own, other: its marks and its opponent's, as bits.  plies: RANDOM, ONE_PLY or TWO_PLY.
    """
    n_cells = places.power.shape[0]
    free = ((np.int64(1) << n_cells) - 1) & ~(own | other)
    if plies == RANDOM:
        return free
    lines, threats = np.int64(0), np.int64(0)
    for cell in range(n_cells):
        here = np.int64(1) << cell
        if free & here == 0:
            continue
        if completes(places, cell, own | here):
            lines |= here
        if plies == TWO_PLY and completes(places, cell, other | here):
            threats |= here
    if places.misere:
        return free & ~lines if free & ~lines else free
    if lines:
        return lines
    return threats if threats else free


@kernel
def scripted_edges(places: Places, graph: Graph, plies: int, allowed: Any) -> None:
    """Write whether a scripted player picks among each edge of an enumerated board into `allowed` (bool[E])."""
    for row in range(n_unfinished(graph)):
        first, second = marks_of(graph.code[row], places.power.shape[0])
        own, other = (second, first) if mover_of(graph, row) else (first, second)
        cells = scripted_cells(places, own, other, plies)
        lo, hi = edges_of(graph, row)
        for edge in range(lo, hi):
            allowed[edge] = (cells >> graph.cell[edge]) & 1 == 1


def player_number(name: str) -> int:
    """The number of a scripted player.  Raises UsageError."""
    return PLAYERS.index(choose("player", name, PLAYERS))


def seat_number(seat: str) -> int:
    """0 for `first`, 1 for `second`.  Raises UsageError."""
    return SEATS.index(choose_seat(seat))


def scripted_policy(run: Run, player: str) -> Policy:
    """A scripted player over the edges of an enumerated run's graph.  Raises UsageError and BoardError."""
    check_enumerable(run.board, run.grown is not None, "an exact result")
    allowed = np.zeros(run.graph.child.size, np.bool_)
    scripted_edges(make_places(run.board, False), run.graph, player_number(player), allowed)
    return policy_among(run.graph, allowed)
