"""The flow on a growing board: ply by ply, with a row added for every position that games arrive at.

A ply's moves are drawn as on an enumerated board (`simulation.flow`).  Then each move that was taken finds, or adds,
the row that it leads to.  Adding may need more room than there is, so that step can stop and continue.
"""

from typing import Any

import numpy as np

from ttt_batch.base.jit import inlined, kernel
from ttt_batch.game.graph import Graph, edges_of, n_unfinished
from ttt_batch.game.growing_graph import FORFEIT, UNSEEN, Growth, graph_cells, has_room, is_legal, mark, show_code
from ttt_batch.learners.growing_rows import add_final, add_row
from ttt_batch.runs.schedules import value_at
from ttt_batch.simulation.counts import EXPLORING, GREEDY, Counts
from ttt_batch.simulation.flow import Rows, batch_base, flow_rows
from ttt_batch.simulation.policy import Policy, list_best
from ttt_batch.training.kernels.batch import Learning


@inlined
def order_legal(graph: Graph, policy: Policy, row: Any) -> None:
    """List all legal moves of a row, for random play; `policy` is modified in place."""
    lo, hi = edges_of(graph, row)
    put = lo
    for edge in range(lo, hi):
        policy.ordered[put] = edge
        put += is_legal(graph, edge)
    policy.best[row] = put - lo


@inlined
def clear_reached(graph: Graph, counts: Counts, first: Any, last: Any) -> None:
    """Take what left the rows at `counts.visited[first:last]` from where it arrived: `arrive` adds it up again, once
    every row is there."""
    for i in range(first, last):
        lo, hi = edges_of(graph, counts.visited[i])
        for edge in range(lo, hi):
            games = counts.taken[edge, GREEDY] + counts.taken[edge, EXPLORING]
            counts.arrived[graph.child[edge]] -= games


@kernel
def draw_ply(
    learning: Learning,
    policy: Policy,
    random: bool,
    key: Any,
    batch: int,
    counts: Counts,
    room: Rows,
    first: int,
    last: int,
) -> None:
    """Draw which moves the games take that arrived at `counts.visited[first:last]`, all of one ply.

    random: the mover plays at random, without exploring.  key, batch: see `flow`.  policy, room: scratch.
    `counts.taken` of these rows is written, in place.
    """
    tables, graph, choice, _, decays = learning
    epsilon = 0.0 if random else value_at(decays.epsilon, batch)
    for i in range(first, last):
        if random:
            order_legal(graph, policy, counts.visited[i])
        else:
            list_best(tables, graph, choice, policy, counts.visited[i])
    flow_rows(graph, policy, epsilon, batch_base(key, batch), counts, room, first, last)
    clear_reached(graph, counts, first, last)


@kernel
def arrive(tables: Any, graph: Graph, growth: Growth, counts: Counts, first: int, last: int, worth: Any) -> Any:
    """Let the games at `counts.visited[first:last]`, whose moves are drawn, arrive where these lead.

    Rows are added and listed after the others in `counts.visited`; everything is modified in place.
    Returns the first of `first` to `last` not done, for lack of room.
    """
    n_open = n_unfinished(graph)
    for i in range(first, last):
        if not has_room(graph, growth, graph_cells(growth)):
            return i
        row = counts.visited[i]
        ply = np.int64(graph.ply[row])
        lo, hi = edges_of(graph, row)
        for edge in range(lo, hi):
            games = counts.taken[edge, GREEDY] + counts.taken[edge, EXPLORING]
            if games == 0:
                continue
            child = np.int64(graph.child[edge])
            shared_final = growth.finals != 0 and child > n_open and child < n_open + FORFEIT
            if child == n_open + UNSEEN or shared_final:
                show_code(growth, graph.code[row])
                mark(growth, graph.cell[edge], ply & 1)
                if shared_final:
                    child = np.int64(add_final(tables, graph, growth, ply + 1, child, worth))
                else:
                    child = np.int64(add_row(tables, graph, growth, ply + 1, worth))
            if child < n_open and counts.arrived[child] == 0:
                counts.visited[counts.n_visited[0]] = child
                counts.n_visited[0] += 1
            counts.arrived[child] += games
    return last
