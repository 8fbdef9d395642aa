"""Recognition of tables of any known shape: conversion of file contents and objects to a list of states."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ttt_batch.base.errors import UsageError
from ttt_batch.base.quantities import count_text
from ttt_batch.game.board import FIRST_WINS, SECOND_WINS, Board
from ttt_batch.game.graph import Graph, rows_of_edges
from ttt_batch.runs.formats.base import FormatError, Table, marks_of_states
from ttt_batch.runs.formats.checks import validated_table
from ttt_batch.runs.formats.contents import Content
from ttt_batch.runs.formats.entries import Entries
from ttt_batch.runs.formats.keys import OURS, KeyReading
from ttt_batch.runs.formats.numbering import (
    CLEARLY,
    NumberedEntries,
    as_table,
    find_reading,
    middle_of,
    perspective_text,
)
from ttt_batch.runs.formats.shapes import Players, entries_of, unwrap
from ttt_batch.runs.formats.tables import row_finder
from ttt_batch.runs.state import LARGEST

OF_VALUES, OF_OWN_VALUES, OF_FINAL_VALUES, OF_MOVES = "td", "sutton-barto", "value-feed", "q-learning"
"""Default learners for tables.

In this order, their tables have values of positions, values of positions for each player, the same with learnt values
of final positions, and values of moves.
"""


@dataclass(frozen=True)
class Recognised:
    """Table whose numbering has been recognised.

    table: a list of states.  taken: a line that describes the files.  warnings: lines about entries left out.
    middle: the value of a draw on the table's scale.
    """

    table: Table
    taken: str
    warnings: tuple[str, ...]
    middle: float


def recognised(
    contents: Sequence[Content], board: Board, graph: Graph, reading: KeyReading | None, own: int | None
) -> Recognised:
    """Return the table in the contents of one file, or of two files with one player's values each.

    reading: the reading of keys named by the user, or None.  own: the player whose values one file holds, if named.
    Raises FormatError for a table that does not fit, and UsageError if several numberings fit equally well.
    """
    found = [unwrap(content.data, board) for content in contents]
    low = contents[0].low
    if len(found) == 1 and isinstance(found[0], Players):
        found = list(found[0])
    tables = [entries_of(each, board, low=low) for each in found]
    players: tuple[int, ...] = (0, 1) if len(tables) == 2 else () if own is None else (own,)
    if players and any(table.values is None for table in tables):
        if len(tables) == 1:
            raise UsageError("a player is named, but the file holds the values of moves; leave the player out")
        tables, players = [_joined(tables)], ()
    placed, why = find_reading(tables, board, graph, reading, own=players)
    parts = [
        as_table(one, graph, board.cells, players[number] if players else None) for number, one in enumerate(placed)
    ]
    table = parts[0] if len(parts) == 1 else _both(parts, board)
    if not table.code.size:
        raise FormatError("it has no number for any position; name a file of a trained table")
    numbers = table.q if table.value is None else table.value
    if not np.isfinite(numbers[~np.isnan(numbers)]).all():
        raise FormatError(
            "it holds an infinite number for a move to a free cell or a position; save finite numbers only"
        )
    table = validated_table(table, board, LARGEST)
    warnings = _left_out(placed)
    kind = f"{contents[0].kind}: " if contents[0].kind else ""
    shape = tables[0].shape if len(tables) == 1 else f"{tables[0].shape} for each player"
    owner = "" if players else perspective_text(placed[0])
    taken = f"taken for {kind}{shape}; keys are {placed[0].reading.meaning}{owner}; {why}"
    middle = _middle(placed)
    return Recognised(table, taken, warnings, middle)


def learner_for(table: Table, middle: float = 0.0) -> str:
    """Return the learner that fits a list of states.  middle: the value of a draw on its scale."""
    if table.q is not None:
        return OF_MOVES
    first, second = table.value
    if middle and _feeds_back(table):
        return OF_FINAL_VALUES
    if np.isnan(second).all():
        return OF_VALUES
    if np.isnan(first).all():
        return OF_OWN_VALUES if middle else OF_VALUES
    # Compare on the second player's side: 1 - value would round tiny numbers away.
    known = ~np.isnan(second)
    one_table = np.array_equal(2 * middle - first[known], second[known])
    return OF_VALUES if one_table else OF_OWN_VALUES


def _feeds_back(table: Table) -> bool:
    """Return whether players have values of their own afterstates only, and some won ones have values below 1."""
    first, second = table.value
    wins = np.concatenate([first[table.outcome == FIRST_WINS], second[table.outcome == SECOND_WINS]])
    odd = np.count_nonzero(marks_of_states(table.code, table.best.shape[1]), axis=1) % 2 == 1
    own = np.isnan(first[~odd & (table.code > 0)]).all() and np.isnan(second[odd]).all()
    return bool(own and (wins < 1.0).any())


def in_our_numbering(q: NDArray[np.float64], board: Board, graph: Graph) -> bool:
    """Return whether no other numbering than ours fits a table by code, float64[codes, cells], clearly better."""
    try:
        tables = [entries_of(q, board, low=True)]
        (found,), _ = find_reading(tables, board, graph, None)
    except (FormatError, UsageError):  # an untrained table, or several numberings fit equally well
        return True
    try:
        (ours,), _ = find_reading(tables, board, graph, OURS)
    except FormatError:
        return False
    return found.gain < ours.gain + 2 * CLEARLY


def _middle(placed: Sequence[NumberedEntries]) -> float:
    return 0.0 if placed[0].value is None else middle_of(placed[0].value)


def _left_out(placed: Sequence[NumberedEntries]) -> tuple[str, ...]:
    left_out = sum(one.left_out for one in placed)
    if not left_out:
        return ()
    example = next(one.example for one in placed if one.left_out)
    entries = count_text(left_out, "entry", "entries")
    return (f"{entries} left out, of positions that cannot occur or moves to occupied cells, such as {example}",)


def _joined(tables: Sequence[Entries]) -> Entries:
    """Return two players' tables of moves as one; each has the positions in which its player moves."""
    first, second = tables
    return Entries(
        [*first.keys, *second.keys],
        f"{first.shape} for each player",
        rows=np.concatenate([first.rows, second.rows + len(first.keys)]),
        moves=np.concatenate([first.moves, second.moves]),
        q=np.concatenate([first.q, second.q]),
        shifts=first.shifts,
        listed=first.listed and second.listed,
        low=first.low,
    )


def _both(parts: Sequence[Table], board: Board) -> Table:
    """Return two players' values as one list."""
    code = np.unique(np.concatenate([part.code for part in parts]))
    value = np.full((2, code.size), np.nan)
    outcome = np.zeros(code.size, np.int8)
    for number, part in enumerate(parts):
        at = np.searchsorted(code, part.code)
        value[number, at] = part.value[number]
        outcome[at] = part.outcome
    return Table(value, code=code, outcome=outcome, best=np.zeros((code.size, board.cells), np.bool_))


def missing_moves(graph: Graph, table: Table) -> NDArray[np.bool_]:
    """Return bool[E]: the moves without an action value, or without a value of the unfinished position after them."""
    rows = row_finder(graph)(table.code)
    kept = rows >= 0
    if table.q is not None:
        by_row = np.full((graph.code.size, table.q.shape[1]), np.nan)
        by_row[rows[kept]] = table.q[kept]
        return np.asarray(np.isnan(by_row[rows_of_edges(graph), graph.cell]))
    there = np.zeros((2, graph.code.size), np.bool_)
    there[:, rows[kept]] = ~np.isnan(table.value[:, kept])
    for player in (0, 1):
        if not there[player].any():  # both players share one table
            there[player] = there[1 - player]
    there[:, graph.first_edge.size - 1 :] = True
    return np.asarray(~there[graph.ply[rows_of_edges(graph)] % 2, graph.child])


def loses_by_table(graph: Graph, chosen: NDArray[np.bool_], missing: NDArray[np.bool_], seat: int, lost: Any) -> bool:
    """Return whether an agent can be beaten even if it finds the best move in positions with a missing number.

    chosen, missing: bool[E].  lost: bool[S], the final rows in which the agent has lost.
    """
    worst = np.array(lost, dtype=np.bool_)
    starts = graph.first_edge[:-1].astype(np.int64)
    unknown = np.logical_or.reduceat(missing, starts)
    plies = graph.ply_start.astype(np.int64)
    for ply in range(plies.size - 2, -1, -1):
        rows = slice(int(plies[ply]), int(plies[ply + 1]))
        if rows.start == rows.stop:
            continue
        edges = slice(int(graph.first_edge[rows.start]), int(graph.first_edge[rows.stop]))
        at, there = starts[rows] - edges.start, worst[graph.child[edges]]
        if ply % 2 != seat:
            worst[rows] = np.logical_or.reduceat(there, at)
            continue
        by_choice = np.logical_or.reduceat(there & chosen[edges], at)
        worst[rows] = np.where(unknown[rows], np.logical_and.reduceat(there, at), by_choice)
    return bool(worst[0])
