"""The three scripted players that measure an agent on a board too large for exact results.

`random` takes any free cell.  `one-ply` wins at once if it can; `two-ply` does so too, and else takes a cell with which
its opponent would win at once.  Otherwise both move at random.  On misère boards, where no move wins at once, both
avoid making a line as long as they can.
"""

from typing import Any, NamedTuple

import numpy as np

from ttt_batch.agents.tables import cells_of
from ttt_batch.base.bits import NONE, ONE
from ttt_batch.base.choices import SEATS, choose, choose_seat
from ttt_batch.base.jit import kernel
from ttt_batch.game.bitboards import marks_of
from ttt_batch.game.board import EMPTY, FIRST, SECOND, Board, Position
from ttt_batch.game.graph import Graph, edges_of, mover_of, n_unfinished
from ttt_batch.game.lines import Lines, make_lines, open_cells, view_of
from ttt_batch.game.state_space import check_enumerable
from ttt_batch.runs.knowledge import AgentProxy, PlayingAgent
from ttt_batch.runs.run import Run
from ttt_batch.simulation.policy import Policy, policy_among

PLAYERS = ("random", "one-ply", "two-ply")
"""The scripted players; in kernels by their number, which is how many plies they look ahead."""

RANDOM, ONE_PLY, TWO_PLY = range(3)


class Scripted(NamedTuple):
    """A scripted player.  plies: RANDOM, ONE_PLY or TWO_PLY."""

    plies: int


@kernel
def scripted_cells(lines: Lines, own: Any, other: Any, plies: Any) -> Any:
    """Cells (uint64, a set) that a scripted player picks among, each equally likely.

    own, other: uint64, its marks and its opponent's.  plies: RANDOM, ONE_PLY or TWO_PLY.
    """
    free = open_cells(lines, own | other)
    if plies == RANDOM:
        return free
    view = view_of(lines, own, other)
    if lines.misere != 0:
        return free & ~view.own if free & ~view.own != NONE else free
    if free & view.own != NONE:
        return free & view.own
    return free & view.other if plies == TWO_PLY and free & view.other != NONE else free


@cells_of.register(Scripted)
def _cells_of_scripted(player: Scripted, lines: Lines, own: Any, other: Any, ply: Any) -> Any:
    return scripted_cells(lines, own, other, player.plies)


@kernel
def scripted_edges(lines: Lines, graph: Graph, plies: int, allowed: Any) -> None:
    """Write whether a scripted player picks among each edge of an enumerated board into `allowed` (bool[E])."""
    for row in range(n_unfinished(graph)):
        first, second = marks_of(graph.code[row], lines.cells)
        own, other = (second, first) if mover_of(graph, row) else (first, second)
        cells = scripted_cells(lines, np.uint64(own), np.uint64(other), plies)
        lo, hi = edges_of(graph, row)
        for edge in range(lo, hi):
            allowed[edge] = cells >> np.uint64(graph.cell[edge]) & ONE != NONE


def player_number(name: str) -> int:
    """The number of a scripted player.  Raises UsageError."""
    return PLAYERS.index(choose("player", name, PLAYERS))


def seat_number(seat: str) -> int:
    """0 for `first`, 1 for `second`.  Raises UsageError."""
    return SEATS.index(choose_seat(seat))


def scripted_policy(run: Run, player: str) -> Policy:
    """A scripted player over the edges of an enumerated run's graph.  Raises UsageError and BoardError."""
    check_enumerable(run.board, run.grown is not None, "an exact result")
    return policy_over(run.graph, run.board, player_number(player))


def policy_over(graph: Graph, board: Board, plies: int) -> Policy:
    """A scripted player over the edges of a graph of all positions.  plies: RANDOM, ONE_PLY or TWO_PLY."""
    allowed = np.zeros(graph.child.size, np.bool_)
    scripted_edges(make_lines(board), graph, plies, allowed)
    return policy_among(graph, allowed)


class ScriptedPlayer(AgentProxy):
    """A scripted player to be watched: it moves by its rule; what moves are worth is what its opponent knows of them.

    plies: RANDOM, ONE_PLY or TWO_PLY.  Raises UsageError for a name that is none of `PLAYERS`.
    """

    def __init__(self, name: str, opponent: PlayingAgent) -> None:
        super().__init__(opponent)
        self.plies, self._lines = player_number(name), make_lines(self.board)

    def candidates(self, position: Position) -> list[int]:
        """Cells that it picks among."""
        mover = FIRST + (len(position) - position.count(EMPTY)) % 2
        own, other = (
            np.uint64(sum(1 << cell for cell, mark in enumerate(position) if mark == player))
            for player in (mover, FIRST + SECOND - mover)
        )
        cells = int(scripted_cells(self._lines, own, other, self.plies))
        return [cell for cell in range(self.board.cells) if cells >> cell & 1]
