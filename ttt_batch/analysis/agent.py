"""An agent as kernels see it: a learner's tables, and the cells that it may pick in any position."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_batch.base.choices import Ties, check_ties
from ttt_batch.base.jit import inlined, kernel
from ttt_batch.evaluation.ties import keep_soonest
from ttt_batch.game.bitboards import Places, outcome_after
from ttt_batch.game.board import FIRST_WINS, UNFINISHED
from ttt_batch.game.graph import Graph, edges_of
from ttt_batch.game.growing_graph import N_SHARED, SHARED_CODES, SHARED_OUTCOMES, Growth
from ttt_batch.game.solution import ends_alone
from ttt_batch.learners.growing_rows import row_at
from ttt_batch.runs.growing_table import GrowingTable
from ttt_batch.runs.run import Run
from ttt_batch.simulation.policy import Choice, row_choices


class Agent(NamedTuple):
    """A learner's tables with what it takes to choose moves from them, in any position.

    tables, graph, growth: of a `GrowingTable`; its borrowed rows are written to, and nothing that it holds.
    choice: the learner's rule.  worth: float64[P, 4].  chosen: bool[cells], scratch.
    solution: int8[S], by which the soonest of its moves are kept (see `ties`); empty to keep all.
    """

    tables: Any
    graph: Graph
    growth: Growth
    choice: Choice
    worth: Any
    chosen: Any
    solution: Any

    @property
    def places(self) -> Places:
        """The board's cells and lines."""
        places: Places = self.growth.places
        return places


@inlined
def move_outcome(places: Places, cell: Any, own: Any, other: Any, ply: Any) -> Any:
    """The outcome of the move of `ply` to a cell; own, other: the mover's marks and its opponent's before it, as bits.

    An agent that chooses an occupied cell has lost.
    """
    mover, here = ply & 1, np.int64(1) << cell
    if (own | other) & here:
        return FIRST_WINS + 1 - mover
    return outcome_after(places, cell, own | here, mover, ply + 1 == places.power.shape[0])


@kernel
def agent_cells(agent: Agent, code: Any, ply: Any) -> Any:
    """Cells (int64, bits) that an agent may pick in an unfinished position; `minimax-q` may name occupied ones.

    Compiled by itself: only this differs from learner to learner, and all kernels that need an agent's moves share it.
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


def make_agent(run: Run, ties: Ties = "any") -> Agent:
    """The agent of a run; on an enumerated board its tables are copied.  Raises UsageError."""
    ties = check_ties(ties)
    grown = run.grown if run.grown is not None else _as_grown(run)
    chosen, solution = np.zeros(run.board.cells, np.bool_), np.zeros(0, np.int8)
    if ties == "soonest":
        solution = ends_alone(grown.graph.outcome)
        if run.grown is None:
            n_open = run.graph.first_edge.size - 1  # the same rows in both graphs, then the ends of games
            solution[:n_open] = run.solution_in_plies[:n_open]
    return Agent(grown.tables, grown.graph, grown.growth, run.learner.choice, run.worth, chosen, solution)


def _as_grown(run: Run) -> GrowingTable:
    """An enumerated run as a growing board whose play has reached every position."""
    graph, learner = run.graph, run.learner
    n_open = graph.first_edge.size - 1
    kept = np.flatnonzero((graph.outcome != UNFINISHED) & (graph.code >= 0) & learner.final_rows)
    grown = GrowingTable(run.board, learner, run.worth, symmetry=run.config.symmetry)

    def rows(of_graph: NDArray[Any], shared: Any) -> NDArray[Any]:
        """An array whose last axis is rows, with the rows that positions without one of their own share."""
        return np.concatenate([of_graph[..., :n_open], shared, of_graph[..., kept]], axis=-1).astype(of_graph.dtype)

    shared_rows = slice(grown.graph.first_edge.size - 1, grown.graph.first_edge.size - 1 + N_SHARED)
    tables = [
        rows(table, start[..., shared_rows]) if learner.fields[name][0].endswith("S") else table.copy()
        for name, table, start in zip(run.tables._fields, run.tables, grown.tables, strict=True)
    ]
    shared = np.array(SHARED_CODES), np.array(SHARED_OUTCOMES)
    grown.restore(rows(graph.code, shared[0]), rows(graph.outcome, shared[1]), learner.tables(*tables), np.zeros(0))
    return grown
