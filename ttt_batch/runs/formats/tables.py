"""Conversion between the rows and edges of a graph and tables by position code, with a policy's choices as cells.

Axes as in `graph` and `formats.base`.  Rows with codes below 0 (a player has resigned) have no position and are left
out.  The graph's rows must be single positions, not classes under symmetry.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ttt_batch.game.board import FIRST_WINS, SECOND_WINS, Board
from ttt_batch.game.graph import Graph, rows_of_edges
from ttt_batch.runs.formats.base import MORE, OUTCOMES, UNSAID, FormatError, Table, marks_of_states, texts_of

MOST_IMPOSSIBLE = 0.2
"""Largest share of impossible positions that is taken for a mistake of a program; above it, the board is another."""


def value_by_code(graph: Graph, values: NDArray[np.float64], cells: int) -> Table:
    """Return values by row, float64[P, S], as a table by code, with nan where there is no entry."""
    real = graph.code >= 0
    value = np.full((2, 3**cells), np.nan)
    value[:, graph.code[real]] = values[:, real]
    return Table(value)


def values_from(graph: Graph, table: Table, fill: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a table's values by row, float64[P, S], with those of `fill`, float64[P, S], for missing entries.

    Raises FormatError if the table has an entry for a position that does not occur, or is of other rules.
    """
    values = np.array(fill, dtype=np.float64)
    if table.code is not None:
        found, rows = table.value, _rows_of(graph, table.code, table.outcome, table.best.shape[1])
    else:
        code = np.flatnonzero(~np.isnan(table.value).all(axis=0))
        cells = round(np.log(table.value.shape[1]) / np.log(3))
        found, rows = table.value[:, code], _rows_of(graph, code, np.full(code.size, UNSAID, np.int8), cells)
        _check_rules(found, graph.outcome[rows])
    values[:, rows] = np.where(np.isnan(found), values[:, rows], found)
    return values


def _check_rules(value: NDArray[np.float64], outcome: NDArray[np.int8]) -> None:
    """Raise FormatError if all won positions of a player have lower values than all lost ones.

    A table by code does not name its board, so only this shows that it is of other rules.
    """
    for own, won, lost in zip(value, (FIRST_WINS, SECOND_WINS), (SECOND_WINS, FIRST_WINS), strict=True):
        first, second = (own[(outcome == which) & ~np.isnan(own)] for which in (won, lost))
        if first.size and second.size and first.max() < second.min():
            raise FormatError(
                "the table's won positions are worth less than its lost ones, so it is of a board with other rules; "
                "give the table's own board, such as 3x3-misere"
            )


def action_by_code(
    graph: Graph, marks: NDArray[np.bool_], q: NDArray[np.float64], background: NDArray[np.float64]
) -> Table:
    """Return action values by edge, float64[E], as a table by code.

    marks: bool[E], the edges that mark a cell.  background: float64[C, cells], the numbers of all other entries.
    """
    by_code = np.array(background, dtype=np.float64)
    by_code[graph.code[rows_of_edges(graph)[marks]], graph.cell[marks]] = q[marks]
    return Table(q=by_code)


def edges_from(graph: Graph, table: Table, fill: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a table's action values by edge, float64[E], with those of `fill`, float64[E], for missing entries.

    Raises FormatError if a state of a list does not occur, or has another outcome.
    """
    if table.code is not None:
        by_row = np.full((graph.code.size, table.q.shape[1]), np.nan)
        by_row[_rows_of(graph, table.code, table.outcome, table.best.shape[1])] = table.q
    else:
        by_row = table.q[graph.code]  # codes below 0 have no edges
    q: NDArray[np.float64] = by_row[rows_of_edges(graph), graph.cell]
    return np.where(np.isnan(q), fill, q)


def beads_from(graph: Graph, table: Table, start: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the beads of a list of states by edge, float64[E], with NaN where `start` is NaN (no box has beads).

    Edges that resign get 0.  Moves to the same child are one kind of bead.
    Raises FormatError as `edges_from` does, and if the moves of a kind do not have the same number of beads, 0 or more.
    """
    cells, rows = table.q.shape[1], rows_of_edges(graph)
    by_row = np.zeros((graph.code.size, cells + 1))
    by_row[:, :cells] = np.nan
    by_row[_rows_of(graph, table.code, table.outcome, cells), :cells] = table.q
    q = np.where(np.isnan(start), np.nan, by_row[rows, graph.cell])
    _, first, kind = np.unique(rows * graph.code.size + graph.child, return_index=True, return_inverse=True)
    wrong = ~np.isnan(start) & ~((q >= 0.0) & (q < np.inf) & (q == q[first][kind]))
    if wrong.any():
        edge = int(np.flatnonzero(wrong)[0])
        text = texts_of(graph.code[rows[edge : edge + 1]], cells)[0]
        raise FormatError(
            f"box {text} has {q[edge]:g} beads for cell {graph.cell[edge]}; a kind must have 0 or more, the same in "
            "all its cells; export the table again"
        )
    return q


def state_values_from(graph: Graph, table: Table, fill: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a list's `value` array by row, float64[S], with the numbers of `fill` for missing entries."""
    values = np.array(fill, dtype=np.float64)
    rows, found = _rows_of(graph, table.code, table.outcome, table.best.shape[1]), table.more["value"]
    values[rows] = np.where(np.isnan(found), values[rows], found)
    return values


def is_symmetry_reduced(table: Table, board: Board) -> bool:
    """Return whether a board has symmetries and each state of a list has the lowest code of its images."""
    powers = 3 ** np.arange(board.cells, dtype=np.int64)
    marks = marks_of_states(table.code, board.cells)
    return len(board.symmetries) > 1 and all(
        bool((marks[:, image] @ powers >= table.code).all()) for image in board.symmetries
    )


def _rows_of(graph: Graph, code: NDArray[np.int64], outcome: NDArray[np.int8], cells: int) -> NDArray[np.int64]:
    """Return rows of positions.  Raises FormatError if one does not occur or has another outcome (except UNSAID)."""
    rows = row_finder(graph)(code)
    foreign = np.flatnonzero(rows < 0)
    if foreign.size:
        text = texts_of(code[foreign[:1]], cells)[0]
        raise FormatError(
            f"{foreign.size:,} of the table's positions do not occur in play, such as {text}; "
            "give the table's own board"
        )
    # Boards of other rules can have the same positions: a finished line wins on one and loses on the other.
    differing = np.flatnonzero((outcome != graph.outcome[rows]) & (outcome != UNSAID))
    if differing.size:
        first = differing[:1]
        text = texts_of(code[first], cells)[0]
        here, there = (_outcome_text(found[0]) for found in (graph.outcome[rows[first]], outcome[first]))
        raise FormatError(
            f"{differing.size:,} of the table's positions end differently under this board's rules, such as {text}: "
            f"{there} in the table, {here} here; give the table's own board, such as 3x3-misere"
        )
    return rows


def possible(graph: Graph, table: Table, cells: int) -> tuple[Table, int, str]:
    """Return a list without the positions that do not occur, the number of these, and one of them as text.

    If their share is above `MOST_IMPOSSIBLE`, the list is of another board and is returned unchanged.
    """
    foreign = np.flatnonzero(row_finder(graph)(table.code) < 0)
    if not 0 < foreign.size <= MOST_IMPOSSIBLE * table.code.size:
        return table, 0, ""
    kept = np.delete(np.arange(table.code.size), foreign)
    names = [name for name in ("q", "code", "outcome", "best") if getattr(table, name) is not None]
    parts: dict[str, Any] = {name: getattr(table, name)[kept] for name in names}
    parts |= {"value": table.value[:, kept]} if table.value is not None else {}
    parts["more"] = {name: array[kept] for name, array in table.more.items()}
    return replace(table, **parts), int(foreign.size), texts_of(table.code[foreign[:1]], cells)[0]


def row_finder(graph: Graph) -> Callable[[NDArray[np.int64]], NDArray[np.int64]]:
    """Return a function from position codes to the rows of the graph, -1 for positions that do not occur."""
    order = np.argsort(graph.code)
    known = graph.code[order]

    def rows_of(code: NDArray[np.int64]) -> NDArray[np.int64]:
        at = np.minimum(np.searchsorted(known, code), order.size - 1)
        rows: NDArray[np.int64] = np.where((known[at] == code) & (code >= 0), order[at], -1)
        return rows

    return rows_of


def _outcome_text(outcome: int) -> str:
    return OUTCOMES[outcome] if 0 <= outcome < len(OUTCOMES) else f"outcome {outcome}"


def states_of_rows(
    graph: Graph,
    chosen: NDArray[np.bool_],
    cells: int,
    *,
    values: NDArray[np.float64] | None = None,
    q: NDArray[np.float64] | None = None,
    more: Mapping[str, NDArray[np.float64]] | None = None,
) -> Table:
    """Return the positions of a graph as a list of states with either values or action values.

    chosen: bool[E], the edges that a greedy agent may pick (`policy.chosen_edges`).  cells: number of cells.
    values: float64[P, S].  q: float64[E].  more: arrays by the names of `base.MORE`, float64[E], or float64[S] if a
    number belongs to a state.
    """
    real = np.flatnonzero(graph.code >= 0)
    best = np.zeros((graph.code.size, cells), dtype=np.bool_)
    marks = graph.cell < cells  # without the edges that resign
    rows, columns = rows_of_edges(graph)[marks], graph.cell[marks]
    best[rows, columns] = chosen[marks]

    def by_cell(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        table = np.full(best.shape, np.nan)
        table[rows, columns] = numbers[marks]
        return table[real]

    numbers: dict[str, Any] = {"value": values[:, real]} if values is not None else {}
    if q is not None:
        found = {name: by_cell(array) if MORE[name] else array[real] for name, array in (more or {}).items()}
        numbers = {"q": by_cell(q), "more": found}
    return Table(**numbers, code=graph.code[real], outcome=graph.outcome[real], best=best[real])
