"""An agent as kernels see it: a learner's tables, and the cells that it may pick in any position."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_batch.base.choices import Ties, check_ties
from ttt_batch.base.jit import kernel
from ttt_batch.evaluation.ties import ends_alone, keep_soonest
from ttt_batch.game.board import UNFINISHED
from ttt_batch.game.graph import Graph, edges_of
from ttt_batch.game.growing_graph import N_SHARED, SHARED_CODES, SHARED_OUTCOMES, Growth
from ttt_batch.learners.growing_rows import row_at
from ttt_batch.runs.growing_table import GrowingTable
from ttt_batch.runs.run import Run
from ttt_batch.simulation.policy import Choice, row_choices


class Agent(NamedTuple):
    """A learner's tables with what it takes to ask them for moves, in any position.

    tables, graph, growth: of a `GrowingTable`; its borrowed rows are written to, and nothing that it holds.
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


def _as_grown(run: Run) -> GrowingTable:
    """An enumerated run as a growing board to which play has come everywhere."""
    graph, learner = run.graph, run.learner
    n_open = graph.first_edge.size - 1
    kept = np.flatnonzero((graph.outcome != UNFINISHED) & (graph.code >= 0) & learner.final_rows)
    grown = GrowingTable(run.board, learner, run.worth, symmetry=run.config.symmetry)

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
