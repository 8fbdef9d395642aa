"""Where a player moves, as bits of the cells that it picks among with equal chance: an agent by its table, and the
three scripted players that measure it where a board is too large for exact results.

`random` takes any free cell.  `one-ply` wins at once where it can, and `two-ply` else takes a cell with which its
opponent would win at once; where there is no such cell they move at random.  On misère boards, where no move wins at
once, both avoid making a line as long as they can.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_batch.board import UNFINISHED
from ttt_batch.compile import inlined, kernel
from ttt_batch.enumeration import Places, completes, make_places
from ttt_batch.graph import Graph, edges_of, mover_of, n_unfinished
from ttt_batch.growth import N_SHARED, SHARED_CODES, SHARED_OUTCOMES, Grown, Growth, row_at
from ttt_batch.naming import Ties, check_ties, choose, choose_seat
from ttt_batch.policy import Choice, Policy, policy_among, row_choices
from ttt_batch.run import SEATS, Run
from ttt_batch.spaces import Space, check_enumerable
from ttt_batch.ties import ends_alone, keep_soonest

PLAYERS = ("random", "one-ply", "two-ply")
"""The scripted players; in kernels by their number, which is how many plies they look ahead."""

RANDOM, ONE_PLY, TWO_PLY = range(3)

PAIRS, QUADS, BYTES = 0x5555555555555555, 0x3333333333333333, 0x0F0F0F0F0F0F0F0F


class Agent(NamedTuple):
    """A learner's tables with what it takes to ask them for moves, in any position.

    tables, graph, growth: of a `Grown`; its borrowed rows are written to, and nothing that it holds.
    choice: the learner's rule.  worth: float64[P, 4].  chosen: bool[cells], scratch.
    solution: int8[S], by which the soonest of its moves are kept (see `ties`); empty where all are.
    """

    tables: Any
    graph: Graph
    growth: Growth
    choice: Choice
    worth: Any
    chosen: Any
    solution: Any


@inlined
def n_bits(bits: Any) -> Any:
    """How many bits are set (int64, not negative)."""
    bits -= (bits >> 1) & PAIRS
    bits = (bits & QUADS) + ((bits >> 2) & QUADS)
    bits = (bits + (bits >> 4)) & BYTES
    bits += bits >> 8
    bits += bits >> 16
    return (bits + (bits >> 32)) & 127


@inlined
def nth_cell(cells: Any, n: Any) -> Any:
    """Number `n`, from 0, of the cells (int64, bits); there are more than `n`."""
    for _ in range(n):
        cells &= cells - 1
    return n_bits((cells & -cells) - 1)


@inlined
def scripted_cells(places: Places, own: Any, other: Any, plies: Any) -> Any:
    """Cells (int64, bits) that a scripted player picks among; own, other: its marks and its opponent's, as bits.

    plies: RANDOM, ONE_PLY or TWO_PLY.
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
def agent_cells(agent: Agent, code: Any, ply: Any) -> Any:
    """Cells (int64, bits) that an agent may pick in an unfinished position; `minimax-q` may name occupied ones.

    Compiled by itself: what differs from learner to learner is here, and every kernel that asks an agent shares it.
    """
    graph = agent.graph
    row, image = row_at(agent.tables, graph, agent.growth, code, ply, agent.worth)
    row_choices(agent.tables, graph, agent.choice, row, agent.chosen)
    if agent.solution.shape[0] != 0:
        keep_soonest(graph, agent.solution, row, agent.chosen)
    lo, hi = edges_of(graph, row)
    cells = np.int64(0)
    for edge in range(lo, hi):
        if agent.chosen[edge - lo]:
            cells |= np.int64(1) << agent.growth.origin[image, graph.cell[edge]]
    return cells


@kernel
def scripted_edges(places: Places, graph: Graph, plies: int, allowed: Any) -> None:
    """Write whether a scripted player picks among each edge of an enumerated board into `allowed` (bool[E])."""
    for row in range(n_unfinished(graph)):
        rest, own, other = graph.code[row], np.int64(0), np.int64(0)
        for cell in range(places.power.shape[0]):
            mark = rest % 3
            rest //= 3
            if mark == 1 + mover_of(graph, row):
                own |= np.int64(1) << cell
            elif mark != 0:
                other |= np.int64(1) << cell
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
    check_enumerable(run.board, Space(run.grown is not None, run.config.symmetry), "an exact result")
    allowed = np.zeros(run.graph.child.size, np.bool_)
    scripted_edges(make_places(run.board, False), run.graph, player_number(player), allowed)
    return policy_among(run.graph, allowed)


def make_agent(run: Run, ties: Ties = "any") -> Agent:
    """What kernels ask for the moves of a run; on an enumerated board its tables are copied.  Raises UsageError."""
    ties = check_ties(ties)
    grown = run.grown if run.grown is not None else _as_grown(run)
    chosen, solution = np.zeros(run.board.cells, np.bool_), np.zeros(0, np.int8)
    if ties == "soonest":
        solution = ends_alone(grown.graph.outcome)
        if run.grown is None:
            n_open = run.graph.first_edge.size - 1  # the same rows in both graphs, then the ends of games
            solution[:n_open] = run.solution_in_plies[:n_open]
    return Agent(grown.tables, grown.graph, grown.growth, run.learner.choice, run.worth, chosen, solution)


def _as_grown(run: Run) -> Grown:
    """An enumerated run as a growing board to which play has come everywhere."""
    graph, learner = run.graph, run.learner
    n_open = graph.first_edge.size - 1
    kept = np.flatnonzero((graph.outcome != UNFINISHED) & (graph.code >= 0) & learner.final_rows)
    grown = Grown(run.board, learner, run.worth, symmetry=run.config.symmetry)

    def rows(of_graph: NDArray[Any], shared: Any) -> NDArray[Any]:
        """An array whose last axis is rows, with those that stand for positions without one of their own."""
        parts = of_graph[..., :n_open], shared, of_graph[..., kept]
        return np.concatenate(parts, axis=-1).astype(of_graph.dtype)

    behind = slice(grown.graph.first_edge.size - 1, grown.graph.first_edge.size - 1 + N_SHARED)
    tables = [
        rows(table, start[..., behind]) if learner.fields[name][0].endswith("S") else table.copy()
        for name, table, start in zip(run.tables._fields, run.tables, grown.tables, strict=True)
    ]
    code = rows(graph.code, np.array(SHARED_CODES))
    outcome = rows(graph.outcome, np.array(SHARED_OUTCOMES))
    grown.restore(code, outcome, learner.tables(*tables), np.zeros(0))
    return grown
