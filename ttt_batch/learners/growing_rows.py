"""Rows added to a growing board's graph and to a learner's tables at once, each at its start value.

If there is no room left, a position borrows one of a few rows that are forgotten after the game: play sees its start
value, and what is learnt there is lost.
"""

from typing import Any

import numpy as np

from ttt_batch.base.jit import inlined, kernel
from ttt_batch.game.graph import Graph, n_unfinished
from ttt_batch.game.growing_graph import (
    EDGES,
    FINALS,
    LOST,
    N_SHARED,
    ROWS,
    Growth,
    clear_board,
    expand,
    find_row,
    graph_cells,
    has_room,
    link,
    lowest_image,
    remember,
    show_code,
)
from ttt_batch.learners.base import begin


@inlined
def borrow_row(tables: Any, graph: Graph, growth: Growth, code: Any, image: Any, ply: Any, worth: Any) -> Any:
    """The row lent to unfinished positions of `ply`, at its start value, for the position of the game, in place.

    code, image: its lowest.
    """
    row = n_unfinished(graph) - graph_cells(growth) + ply
    graph.code[row], graph.ply[row] = code, ply
    expand(graph, growth, ply, image, np.int64(graph.first_edge[row]))
    begin(tables, graph, row, worth, growth.key)
    return row


@inlined
def enter_row(tables: Any, graph: Graph, growth: Growth, code: Any, row: Any, ply: Any, worth: Any) -> Any:
    """Give the position of the game, with this lowest code, a row of its own, in place; return the row."""
    graph.code[row], graph.ply[row] = code, ply
    remember(growth, code, row)
    begin(tables, graph, row, worth, growth.key)
    link(graph, growth, row, ply)
    return row


@inlined
def add_row(tables: Any, graph: Graph, growth: Growth, ply: Any, worth: Any) -> Any:
    """A row for the unfinished position of the game, in place; a borrowed one if there is no room."""
    code, image = lowest_image(growth)
    if not has_room(graph, growth, 1):
        growth.used[LOST] += 1
        return borrow_row(tables, graph, growth, code, image, ply, worth)
    row = growth.used[ROWS]
    edge = expand(graph, growth, ply, image, growth.used[EDGES])
    graph.first_edge[row + 1] = edge
    growth.used[ROWS], growth.used[EDGES] = row + 1, edge
    return enter_row(tables, graph, growth, code, row, ply, worth)


@inlined
def add_final(tables: Any, graph: Graph, growth: Growth, ply: Any, shared: Any, worth: Any) -> Any:
    """A row for the final position of the game, in place; the last row, which is lent, if there is no room.

    ply: marks on the board.  shared: the row that stands for all final positions of its outcome.
    """
    if not has_room(graph, growth, 1):
        growth.used[LOST] += 1
        row = np.int64(graph.code.shape[0] - 1)
        graph.ply[row], graph.outcome[row] = ply, graph.outcome[shared]
        begin(tables, graph, row, worth, growth.key)
        return row
    row = n_unfinished(graph) + N_SHARED + growth.used[FINALS]
    graph.outcome[row] = graph.outcome[shared]
    growth.used[FINALS] += 1
    return enter_row(tables, graph, growth, lowest_image(growth)[0], row, ply, worth)


@kernel
def row_at(tables: Any, graph: Graph, growth: Growth, code: Any, ply: Any, worth: Any) -> Any:
    """(row, image) of an unfinished position; a borrowed row if it has none of its own.  `growth` is scratch."""
    show_code(growth, code)
    lowest, image = lowest_image(growth)
    row = find_row(graph, growth, lowest)
    if row < 0:
        row = borrow_row(tables, graph, growth, lowest, image, ply, worth)
    return np.int64(row), image


@kernel
def add_first(tables: Any, graph: Graph, growth: Growth, worth: Any) -> None:
    """Add the empty board, in place."""
    clear_board(growth)
    add_row(tables, graph, growth, 0, worth)


@kernel
def begin_rows(tables: Any, graph: Graph, first: int, worth: Any, key: Any) -> None:
    """Give the unfinished rows from `first` on, and all final ones, their start values; `tables` changes in place."""
    for row in range(first, n_unfinished(graph)):
        begin(tables, graph, row, worth, key)
    for row in range(n_unfinished(graph) + N_SHARED, graph.code.shape[0]):
        begin(tables, graph, row, worth, key)


@inlined
def forget_borrowed(graph: Graph, growth: Growth, visits: Any) -> None:
    """Set the visits (one per entry of the table, in place) of all borrowed rows back to none."""
    n_open, n_rows, n_edges = n_unfinished(graph), graph.code.shape[0], graph.child.shape[0]
    if visits.shape[0] == n_edges or visits.shape[0] == 2 * n_edges:  # more than twice the rows, in any case
        for start in range(0, visits.shape[0], n_edges):
            for edge in range(np.int64(graph.first_edge[n_open - graph_cells(growth)]), n_edges):
                visits[start + edge] = 0.0
        return
    for start in range(0, visits.shape[0], n_rows):
        for row in range(n_open - graph_cells(growth), n_open):
            visits[start + row] = 0.0
        visits[start + n_rows - 1] = 0.0 if growth.finals else visits[start + n_rows - 1]
