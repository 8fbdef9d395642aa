"""From a graph's rows and edges to position codes and back, and the choices of a policy as cells.

Axes as in `graph` and `formats.base`.  Rows with codes below 0 (a player has forfeited) stand for no position and are
left out.  The graph's rows must be single positions, not classes under symmetry.
"""

import numpy as np
from numpy.typing import NDArray

from ttt_batch.game.board import Board
from ttt_batch.game.graph import Graph, rows_of_edges
from ttt_batch.runs.formats.base import (
    OUTCOMES,
    UNSAID,
    ActionTable,
    FormatError,
    Listing,
    ValueTable,
    marks_of,
    texts_of,
)


def value_by_code(graph: Graph, values: NDArray[np.float64], cells: int) -> ValueTable:
    """Values by row, float64[P, S], as values by code; nan where the table has no entry."""
    real = graph.code >= 0
    value = np.full((2, 3**cells), np.nan)
    value[:, graph.code[real]] = values[:, real]
    return ValueTable(value)


def values_from_table(graph: Graph, table: ValueTable, fill: NDArray[np.float64]) -> NDArray[np.float64]:
    """Values by code as values by row, float64[P, S]; where the table has no entry, that of `fill`, float64[P, S].

    Raises FormatError where the table has an entry for a position that does not occur.
    """
    real = graph.code >= 0
    foreign: NDArray[np.bool_] = np.any(~np.isnan(table.value), axis=0)
    foreign[graph.code[real]] = False
    if foreign.any():
        cells = round(np.log(foreign.size) / np.log(3))
        text = texts_of(np.flatnonzero(foreign)[:1], cells)[0]
        raise FormatError(
            f"{np.count_nonzero(foreign):,} of the table's positions do not occur in play, {text} for one; "
            "give the table's own board"
        )
    values = np.array(fill, dtype=np.float64)
    found = table.value[:, graph.code[real]]
    values[:, real] = np.where(np.isnan(found), values[:, real], found)
    return values


def action_by_code(graph: Graph, q: NDArray[np.float64], background: NDArray[np.float64]) -> ActionTable:
    """Action values by edge, float64[E], laid over `background`, float64[C, cells], which is not changed."""
    by_code = np.array(background, dtype=np.float64)
    by_code[graph.code[rows_of_edges(graph)], graph.cell] = q
    return ActionTable(by_code)


def edges_from_action(graph: Graph, table: ActionTable) -> NDArray[np.float64]:
    """Action values by code as action values by edge, float64[E].  Raises FormatError where a move has none."""
    code = graph.code[rows_of_edges(graph)]
    q = np.array(table.q[code, graph.cell])
    _check_complete(graph, q, table.q.shape[1])
    return q


def values_from_listing(graph: Graph, table: Listing, fill: NDArray[np.float64]) -> NDArray[np.float64]:
    """Values by state as values by row, float64[P, S]; where the list has no entry, that of `fill`, float64[P, S].

    Raises FormatError where a state of the list does not occur.
    """
    values, rows = np.array(fill, dtype=np.float64), _rows_of(graph, table)
    assert table.value is not None
    values[:, rows] = np.where(np.isnan(table.value), values[:, rows], table.value)
    return values


def edges_from_listing(graph: Graph, table: Listing) -> NDArray[np.float64]:
    """Action values by state as action values by edge, float64[E].

    Raises FormatError where a state of the list does not occur, or a move has no value.
    """
    assert table.q is not None
    by_row = np.full((graph.code.size, table.q.shape[1]), np.nan)
    by_row[_rows_of(graph, table)] = table.q
    q: NDArray[np.float64] = by_row[rows_of_edges(graph), graph.cell]
    _check_complete(graph, q, table.q.shape[1])
    return q


def of_classes(table: Listing, board: Board) -> bool:
    """Whether every state of a list is the one that stands for all its images under the board's symmetries."""
    powers = 3 ** np.arange(board.cells, dtype=np.int64)
    marks = marks_of(table.code, board.cells)
    return len(board.symmetries) > 1 and all(
        bool((marks[:, image] @ powers >= table.code).all()) for image in board.symmetries
    )


def _rows_of(graph: Graph, table: Listing) -> NDArray[np.int64]:
    """The row of every state of a list.  Raises FormatError where one does not occur, or ends otherwise."""
    order = np.argsort(graph.code)
    at = np.minimum(np.searchsorted(graph.code, table.code, sorter=order), order.size - 1)
    rows: NDArray[np.int64] = order[at]
    foreign = np.flatnonzero(graph.code[rows] != table.code)
    if foreign.size:
        text = texts_of(table.code[foreign[:1]], table.best.shape[1])[0]
        raise FormatError(
            f"{foreign.size:,} of the table's positions do not occur in play, {text} for one; "
            "give the table's own board"
        )
    # Boards of other rules may have the very same positions: a finished line wins on one and loses on the other.
    differing = np.flatnonzero((table.outcome != graph.outcome[rows]) & (table.outcome != UNSAID))
    if differing.size:
        first = differing[:1]
        text = texts_of(table.code[first], table.best.shape[1])[0]
        here, there = (_outcome_text(outcome[0]) for outcome in (graph.outcome[rows[first]], table.outcome[first]))
        raise FormatError(
            f"{differing.size:,} of the table's positions end otherwise under this board's rules, {text} for one: "
            f"{there} in the table, {here} here; give the table's own board, such as 3x3-misere"
        )
    return rows


def _outcome_text(outcome: int) -> str:
    return OUTCOMES[outcome] if 0 <= outcome < len(OUTCOMES) else f"outcome {outcome}"


def _check_complete(graph: Graph, q: NDArray[np.float64], cells: int) -> None:
    """Raise FormatError where a move, of q by edge, has no value."""
    missing = np.flatnonzero(np.isnan(q))
    if missing.size:
        first = missing[0]
        text = texts_of(graph.code[rows_of_edges(graph)[first : first + 1]], cells)[0]
        raise FormatError(
            f"{missing.size:,} moves have no value, cell {graph.cell[first]} of {text} for one; "
            "export the table from a learner that has them all"
        )


def listing(
    graph: Graph,
    chosen: NDArray[np.bool_],
    cells: int,
    *,
    values: NDArray[np.float64] | None = None,
    q: NDArray[np.float64] | None = None,
) -> Listing:
    """The positions of a graph with their values, float64[P, S], or action values, float64[E], one of them.

    chosen: bool[E], the edges that a greedy agent may pick (`policy.chosen_edges`).  cells: how many the board has.
    """
    rows, real = rows_of_edges(graph), np.flatnonzero(graph.code >= 0)
    best = np.zeros((graph.code.size, cells), dtype=np.bool_)
    best[rows, graph.cell] = chosen
    by_cell = None
    if q is not None:
        by_cell = np.full((graph.code.size, cells), np.nan)
        by_cell[rows, graph.cell] = q
    return Listing(
        code=graph.code[real],
        outcome=graph.outcome[real],
        best=best[real],
        value=None if values is None else values[:, real],
        q=None if by_cell is None else by_cell[real],
    )
