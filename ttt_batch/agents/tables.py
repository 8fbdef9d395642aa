"""An agent as kernels see it, a learner's tables or a network, and the cells that it may pick in any position."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_batch.base.bits import NONE, ONE, lowest_bit
from ttt_batch.base.choices import Ties, check_ties
from ttt_batch.base.jit import generic, kernel
from ttt_batch.evaluation.ties import check_sharp, keep_soonest
from ttt_batch.game.board import UNFINISHED
from ttt_batch.game.graph import Graph, edges_of
from ttt_batch.game.growing_graph import N_SHARED, SHARED_CODES, SHARED_OUTCOMES, Growth
from ttt_batch.game.lines import Lines, view_of
from ttt_batch.game.solution import ends_alone
from ttt_batch.game.state_space import check_gravity
from ttt_batch.learners.growing_rows import row_at
from ttt_batch.patterns.agent import NetAgent
from ttt_batch.proofs.playing import mark_cell, reset, tied_cells
from ttt_batch.runs.boxes import cannot_play_second_error
from ttt_batch.runs.growing_table import GrowingTable
from ttt_batch.runs.loading import AnyRun
from ttt_batch.runs.run import Run
from ttt_batch.simulation.policy import Choice, row_choices


class TablePlayer(NamedTuple):
    """A learner's tables with what it takes to choose moves from them, in any position.

    tables, graph, growth: of a `GrowingTable`; its borrowed rows are written to, and nothing that it holds.
    choice: the learner's rule.  worth: float64[P, 4].  chosen: bool[cells], scratch.
    solution: int8[S], by which the soonest of its moves are kept (see `ties`); empty to keep all.
    kept: bool[E], the moves that are kept whatever the tables say, for ties `sharp`; else empty.
    """

    tables: Any
    graph: Graph
    growth: Growth
    choice: Choice
    worth: Any
    chosen: Any
    solution: Any
    kept: Any


@kernel
def agent_cells(agent: TablePlayer, code: Any, ply: Any) -> Any:
    """Cells (int64, bits) that an agent may pick in an unfinished position; `minimax-q` may name occupied ones.

    Compiled by itself: only this differs from learner to learner, and all kernels that need an agent's moves share it.
    """
    graph = agent.graph
    row, image = row_at(agent.tables, graph, agent.growth, code, ply, agent.worth)
    row_choices(agent.tables, graph, agent.choice, row, agent.chosen)
    if agent.solution.shape[0] != 0:
        keep_soonest(graph, agent.solution, row, agent.chosen)
    lo, hi = edges_of(graph, row)
    sharp, cells = agent.kept.shape[0] != 0, np.int64(0)
    for edge in range(lo, hi):
        if agent.chosen[edge - lo] and (not sharp or agent.kept[edge]):
            cells |= np.int64(1) << agent.growth.origin[image, graph.cell[edge]]
    return cells


@generic
def cells_of(player: Any, lines: Lines, own: Any, other: Any, ply: Any) -> Any:
    """Cells (uint64, a set) that a player may pick, each equally likely, to move after `ply` moves; see `agent_cells`.

    own, other: uint64, its marks and its opponent's.
    """


@cells_of.register(TablePlayer)
def _cells_of_tables(agent: TablePlayer, lines: Lines, own: Any, other: Any, ply: Any) -> Any:
    first, second = (other, own) if ply & 1 else (own, other)
    code = np.int64(0)
    for number in range(2):
        marks = second if number else first
        while marks != NONE:
            code += (1 + number) * agent.growth.places.power[lowest_bit(marks), 0]
            marks &= marks - ONE
    return np.uint64(agent_cells(agent, code, ply))


@cells_of.register(NetAgent)
def _cells_of_network(agent: NetAgent, lines: Lines, own: Any, other: Any, ply: Any) -> Any:
    reset(agent)
    for number in range(2):
        marks, player = (other, 1 - (ply & 1)) if number else (own, ply & 1)
        while marks != NONE:
            mark_cell(agent, lowest_bit(marks), player)
            marks &= marks - ONE
    return tied_cells(agent, lines, own, other, view_of(lines, own, other), ply)


def table_player(run: AnyRun, ties: Ties = "any") -> TablePlayer | NetAgent:
    """The agent of a run; on an enumerated board its tables are copied.  Raises UsageError.

    With a network ties make no difference: it knows wins in one, and prefers them; `sharp` is refused.  Raises
    BoardError for `sharp` on a growing board.
    """
    if (ties := check_ties(ties)) == "sharp":
        check_sharp(run)
    if not isinstance(run, Run):
        return run.agent
    return make_table_agent(run, ties)


def make_table_agent(run: Run, ties: Ties = "any") -> TablePlayer:
    """As `table_player`, of a run that has a table of positions."""
    ties = check_ties(ties)
    if run.learner.boxes:
        raise cannot_play_second_error(
            run.config.learner, "a match in both seats, or a search,", "evaluate judges it exactly"
        )
    check_gravity(run.board, "an agent that searches or plays matches")
    grown = run.grown if run.grown is not None else _as_grown(run)
    chosen, solution = np.zeros(run.board.cells, np.bool_), np.zeros(0, np.int8)
    if ties == "soonest":
        solution = ends_alone(grown.graph.outcome)
        if run.grown is None:
            n_open = run.graph.first_edge.size - 1  # the same rows in both graphs, then the ends of games
            solution[:n_open] = run.solution_in_plies[:n_open]
    # An enumerated run's rows have the same edges in both graphs.
    kept = run.sharp_edges if ties == "sharp" else np.zeros(0, np.bool_)
    return TablePlayer(grown.tables, grown.graph, grown.growth, run.learner.choice, run.worth, chosen, solution, kept)


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
