"""Recognition of tables of any known shape: conversion of file contents and objects to a list of states.

Detection of a file's kind by its content, and reading of its data as plain Python objects and arrays.
Kinds, mostly by the first bytes: HDF5, NumPy arrays, parquet, JSON, pickles, doubles, text.  Nothing is executed.
"""

import csv
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ttt_batch.core.errors import UsageError, flag, quoted
from ttt_batch.core.text import SEATS, count_text
from ttt_batch.games.board import EMPTY, FIRST_WINS, SECOND_WINS, Board, most_positions
from ttt_batch.games.enumeration import enumerate_graph
from ttt_batch.games.graph import Graph, movers_of_edges, numbers_of_edges
from ttt_batch.runs.formats import base, numbering
from ttt_batch.runs.formats.base import ACTION_VALUES, FormatError, Table, marks_of_states, validated_table
from ttt_batch.runs.formats.format_arrays import array_in, arrays_in, columns_in
from ttt_batch.runs.formats.format_pickles import read_plain
from ttt_batch.runs.formats.format_text import HEADER, json_in
from ttt_batch.runs.formats.keys import OURS, KeyReading, is_position
from ttt_batch.runs.formats.shapes import (
    CELL_SIGNS,
    Columns,
    Entries,
    Players,
    entries_of,
    is_decimal,
    names_columns,
    unwrap,
)
from ttt_batch.runs.options import LARGEST

HDF5 = b"\x89HDF\r\n\x1a\n"
_PACKED = {b"\x1f\x8b": "gzip", b"BZh": "bzip2", b"\xfd7zXZ": "xz", b"\x28\xb5\x2f\xfd": "zstd"}
_NPY, _ZIP, _PARQUET = b"\x93NUMPY", (b"PK\x03\x04", b"PK\x05\x06"), b"PAR1"
_OLD_PICKLE = re.compile(rb"(?:\(dp?|\(lp?|\}|c(?:numpy|collections|__builtin__|copy_reg))")
_SAYS_MORE = 100_000
"""Bytes allowed for headers, names and blanks in addition to the rows of a table."""


@dataclass(frozen=True)
class Content:
    """Content of a file as detected.

    kind: a description.  form: the name of our format, or empty.  data: the data if `form` is empty.
    low: the first cell is usually the lowest digit of number keys in this kind of file, see `keys.readings`.
    """

    kind: str
    form: str = ""
    data: Any = None
    low: bool = True


def most_bytes(board: Board) -> int:
    """Return the largest file size that is read: 25 characters for a number and 25 for a key, for each move.

    Tables by code have codes that cannot occur, too.
    """
    by_code = board.cells <= base.MAX_CELLS
    return _SAYS_MORE + 50 * (board.cells + 4) * int(3**board.cells if by_code else 4 * most_positions(board))


def content_of(content: bytes, board: Board, suffix: str) -> Content:
    """Return the content in the bytes of a file.  suffix: the end of its name, which decides if the bytes do not.

    Raises FormatError if the bytes are damaged or do not hold a table.
    """
    if content.startswith(HDF5):
        raise FormatError(
            "the file is HDF5, but neither a run nor a table of ttt-batch; save a dictionary or an array instead"
        )
    for start, program in _PACKED.items():
        if content.startswith(start):
            raise FormatError(f"the file is packed by {program}; unpack it first")
    if content.startswith(_NPY):
        array = _plain(array_in(content, "the array"), board)
        both = getattr(array, "shape", ()) == (3**board.cells, len(SEATS))  # the values of both players
        return Content("a NumPy array", form="npy" if both else "", data=array)
    if content.startswith(_ZIP):
        arrays = {name: _plain(found, board) for name, found in arrays_in(content, most_bytes(board)).items()}
        if not arrays:
            raise base.unreadable_error("the file does not hold NumPy arrays")
        return Content("NumPy arrays", data=next(iter(arrays.values())) if len(arrays) == 1 else arrays)
    if content.startswith(_PARQUET):
        return _parquet(content, board)
    if (content[:1] == b"\x80" and content[1:2] <= b"\x05") or (content[-1:] == b"." and _OLD_PICKLE.match(content)):
        return Content("a pickle", data=read_plain(content, 3**board.cells), low=False)
    if len(content) == 8 * 3**board.cells * board.cells and (b"\0" in content or suffix == ".bin"):
        return Content("doubles by code", form="raw")
    head = content.removeprefix(b"\xef\xbb\xbf")[:4096].lstrip()
    if head[:1] in (b"{", b"[") and (suffix in (".json", ".jsonl") or not _is_csv(head)):
        return _json(content)
    return _text(content, board, suffix)


def _is_csv(head: bytes) -> bool:
    """Return whether lines that begin with a bracket are text such as `[0 1 -1 ...],0.5`, not JSON."""
    line = head.split(b"\n", 1)[0].strip()
    return head.startswith(b"[") and line.count(b"[") == line.count(b"]") > 0 and line[-1:] not in (b"]", b",")


def _plain(found: Any, board: Board) -> Any:
    """Return an array; a pickled object in it is read as plain data."""
    return read_plain(found, 3**board.cells) if isinstance(found, bytes) else found


def _parquet(content: bytes, board: Board) -> Content:
    """Return the columns of a parquet file; equal texts share one object."""
    table = columns_in(content, 3**board.cells * board.cells, most_bytes(board))
    columns = {name: table[name].combine_chunks() for name in table.column_names}
    for name, chunks in columns.items():
        if hasattr(chunks, "dictionary"):
            words = chunks.dictionary.to_pylist()
            columns[name] = [None if at is None else words[at] for at in chunks.indices.to_pylist()]
        else:
            columns[name] = chunks.to_pylist()
    return Content("parquet columns", data=Columns(columns))


def _json(content: bytes) -> Content:
    try:
        text = content.decode("utf-8-sig")
    except ValueError:
        raise base.unreadable_error("the file is not valid JSON") from None
    if "\n{" in text.strip() and text.lstrip().startswith("{"):  # perhaps JSON lines
        lines = [line for line in text.splitlines() if line.strip()]
        if len(lines) > 1 and all(line.rstrip().endswith("}") for line in lines):
            records = [json_in(line) for line in lines]
            ours = {"code", "outcome", "best"} <= records[0].keys()
            return Content("JSON lines", form="jsonl" if ours else "", data=records)
    found = json_in(text)
    states = found.get("states") if isinstance(found, dict) else None
    first = states[0] if isinstance(states, list) and states else {"code": 0}
    if isinstance(states, list) and isinstance(first, dict) and {"code", "value", "q"} & first.keys():
        return Content("a list of states of ttt-batch", form="json")
    return Content("JSON", data=found)


# --- text --------------------------------------------------------------------------------------------------


def _text(content: bytes, board: Board, suffix: str) -> Content:
    """Return the columns of a text file, or only the format's name for our own `csv`."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FormatError(
            f"byte {error.start} is not UTF-8 text, and the file is of an unknown kind; save text as UTF-8"
        ) from None
    if "\0" in text:
        raise FormatError("the file is of an unknown kind")
    lines = [line for line in re.split(r"\r\n|\r|\n", text) if line.strip() and not line.startswith("#")]
    if not lines:
        raise FormatError("the file is empty; name one that holds a table")
    by_code = len(lines) >= 3**board.cells and all(line.count(",") == board.cells - 1 for line in lines[:9])
    if lines[0].replace(" ", "").lower() == HEADER or (by_code and is_decimal(lines[0].partition(",")[0])):
        return Content("text by code", form="csv")
    rows = [row for row in _rows(lines) if row]
    width = max(map(len, rows[:9]))
    if width < 2:
        raise FormatError(f"line 1, {quoted(lines[0])}, has only one field; separate key and number by a comma")
    wrong = next((number for number, row in enumerate(rows, 1) if len(row) != width), None)
    if wrong is not None:
        raise FormatError(f"line {wrong} has {len(rows[wrong - 1])} fields; others have {width}; fix the line")
    numbers = any(map(is_decimal, rows[0]))
    if not names_columns(rows[0]) and (numbers or is_position(rows[0][0], board)):
        names, body = _usual_names(rows, board), rows
    else:
        names, body = [field.strip() for field in rows[0]], rows[1:]
    if not body:
        raise FormatError("the file has only a header; name one that holds a table")
    columns: dict[str, Any] = {}
    for number, name in enumerate(names):
        column = [row[number] for row in body]
        columns[name if name not in columns else f"{name} {number}"] = _as_numbers(column)
    if "" in columns and columns[""] == list(range(len(body))):
        del columns[""]
    return Content("text in columns", data=Columns(columns))


def _rows(lines: list[str]) -> list[list[str]]:
    """Return the fields of lines; a key in brackets is one field.  Raises FormatError for quotes that do not close."""
    if all(line.lstrip('" ').startswith(("[", "(")) for line in lines[1:]) and len(lines) > 1:
        rows = [_bracketed(line) for line in lines]
        if rows[0] == [] or len(rows[0]) == 1:  # a header
            rows[0] = [field for field in re.split(r"[,;\t ]", lines[0]) if field]
        if all(len(row) > 1 for row in rows):
            return rows
    for separator in ("\t", ";", ","):
        if separator in lines[-1]:
            try:
                return list(csv.reader(lines, delimiter=separator))
            except csv.Error:
                raise FormatError("its quotes are not closed, or a field is too long; fix the file") from None
    return [line.split() for line in lines]


def _bracketed(line: str) -> list[str]:
    """Return a key in brackets and the fields after it, or the whole line as one field if it has no such key."""
    line = line.strip()
    if line.startswith('"') and (end := line.find('"', 1)) > 0:
        line = line[1:end] + line[end + 1 :]
    end = max(line.rfind("]"), line.rfind(")")) + 1
    if not line.startswith(("[", "(")) or end == 0:
        return [line]
    return [line[:end], *re.split(r"[,;:\t ]+", line[end:].strip(" ,;:\t"))]


def _usual_names(rows: list[list[str]], board: Board) -> list[str]:
    """Return names for columns without a header, according to their number and contents."""
    width, cells, numbers = len(rows[0]), board.cells, [f"q{cell}" for cell in range(board.cells)]
    columns = list(zip(*rows, strict=True))
    marks = {field.strip() for column in columns[:cells] for field in column} if width > cells else set()
    if 0 < len(marks) <= 3 and width in (cells + 1, cells + 2, 2 * cells):  # with a column of marks for each cell
        own = ["value", "visits"] if width < 2 * cells else numbers
        return [*(f"mark {n}" for n in range(cells)), *own][:width]
    if width == cells + 2 and [row[0] for row in rows] == [str(n) for n in range(len(rows))]:
        return ["index", "state", *numbers]
    if width == cells + 1:
        return ["state", *numbers]
    if width == 2:
        return ["state", "number"]  # a value or a move
    moves = {field.strip() for field in columns[1]}
    if width >= 3 and len(moves) <= cells + 1 and not any("." in move for move in moves):
        return ["state", "action", "value", *(f"other {n}" for n in range(width - 3))]
    return ["state", "value", *(["visits"] if width > 2 else []), *(f"other {n}" for n in range(width - 3))]


def _as_numbers(column: list[str]) -> list[Any]:
    """Return a column of text as numbers, or unchanged if it holds other text or digits with leading zeros."""
    whole = [field.strip() for field in column]
    if all(is_decimal(field) or field in CELL_SIGNS for field in whole) and any(map(is_decimal, whole)):
        if all(re.fullmatch(r"\d+", field) for field in whole):
            long = any(len(field) > 1 and field.startswith("0") for field in whole)
            return list(column) if long else [int(field) if len(field) < 18 else -1 for field in whole]
        return [None if field in CELL_SIGNS else float(field) for field in whole]
    return column


OF_VALUES, OF_OWN_VALUES, OF_FINAL_VALUES = "td", "sutton-barto", "value-feed"
OF_MOVES, OF_ALL_CELLS = "q-learning", "minimax-q"
"""Default learners for tables.

In this order, their tables have values of positions, values of positions for each player, the same with learnt values
of final positions, values of moves, and values of all cells to the first player.
"""


@dataclass(frozen=True)
class Recognised:
    """Table whose numbering has been recognised.

    table: a list of states.  taken: a line that describes the files.  warnings: lines about entries left out and costs.
    middle: the value of a draw on the table's scale.
    to_play: the table says which moves to play.  shared: it holds values that serve both players.
    """

    table: Table
    taken: str
    warnings: tuple[str, ...]
    middle: float
    to_play: bool
    shared: bool


def recognised(
    contents: Sequence[Content], board: Board, graph: Graph, reading: KeyReading | None, own: int | None
) -> Recognised:
    """Return the table in the contents of one file, or of two files with one player's values each.

    reading: the reading of keys named by the user, or None.  own: the player whose values one file holds, if named.
    Raises FormatError for a table that does not fit, and UsageError if several numberings fit equally well.
    """
    found = [unwrap(content.data, board) for content in contents]
    # In an array with an axis for each cell, the first cell is the highest digit.
    low = contents[0].low and getattr(found[0], "ndim", 0) <= 2
    if len(found) == 1 and isinstance(found[0], Players):
        found = list(found[0])
    tables = [entries_of(each, board) for each in found]
    if own is None:  # a named player has values
        tables = numbering.with_moves_found(tables, board, graph, reading, low=low)
    if len({(table.values is None, table.best is None) for table in tables}) > 1:
        raise FormatError("one player's table holds values of positions, the other's those of moves; give one kind")
    players: tuple[int, ...] = (0, 1) if len(tables) == 2 else () if own is None else (own,)
    if players and any(table.values is None for table in tables):
        if len(tables) == 1:
            raise UsageError("a player is named, but the file holds the values of moves; leave the player out")
        tables, players = [_joined(tables)], ()
    placed, why = numbering.find_reading(tables, board, graph, reading, own=players, low=low)
    if placed[0].refused:
        raise FormatError(placed[0].refused)
    parts = [
        numbering.as_table(one, graph, board.cells, players[number] if players else None)
        for number, one in enumerate(placed)
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
    warnings = tuple(filter(None, (_left_out(placed), _costs_text(placed[0]))))
    kind = f"{contents[0].kind}: " if contents[0].kind else ""
    shape = tables[0].shape if len(tables) == 1 else f"{tables[0].shape} for each player"
    owner = "" if players else _perspective_text(placed[0])
    taken = f"taken for {kind}{shape}; keys are {placed[0].reading.meaning}{owner}; {why}"
    middle = 0.0 if placed[0].value is None else numbering.middle_of(placed[0].value)
    return Recognised(table, taken, warnings, middle, placed[0].to_play, not players and table.value is not None)


def is_of_minimax_q(table: Table, board: Board, ours: numbering.NumberedEntries | None = None) -> bool:
    """Return whether a table in one of our formats is that of `minimax-q`: with occupied cells, to the first player.

    In a list of states only its occupied cells have numbers.  In a table by code all have, so play decides.
    ours: see `read_as_ours`.
    """
    if table.q is None:
        return False
    if table.code is not None:
        return bool((~np.isnan(table.q) & (marks_of_states(table.code, board.cells) != EMPTY)).any())
    occupied = table.q[marks_of_states(np.arange(len(table.q)), board.cells) != EMPTY]
    return ours is not None and ours.signs == (1, -1) and not (occupied == occupied[0]).all()


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


def in_our_numbering(q: NDArray[np.float64], board: Board, ours: numbering.NumberedEntries | None) -> bool:
    """Return whether no other numbering than ours fits a table by code, float64[codes, cells], clearly better.

    ours: see `read_as_ours`.
    """
    try:
        (found,), _ = numbering.find_reading([entries_of(q, board)], board, enumerate_graph(board), None)
    except (FormatError, UsageError):  # an untrained table, or several numberings fit equally well
        return True
    return ours is not None and found.gain < ours.gain + 2 * numbering.CLEARLY


def read_as_ours(table: Table, board: Board) -> numbering.NumberedEntries | None:
    """Return a table of moves by code in our numbering; None if that does not fit, and for any other table."""
    if table.kind == ACTION_VALUES:
        with suppress(FormatError):
            return numbering.find_reading([entries_of(table.q, board)], board, enumerate_graph(board), OURS)[0][0]
    return None


def _left_out(placed: Sequence[numbering.NumberedEntries]) -> str:
    """Return a warning about entries that are left out; empty if all are used."""
    left_out = sum(one.left_out for one in placed)
    if not left_out:
        return ""
    example = next(one.example for one in placed if one.left_out)
    entries = count_text(left_out, "entry", "entries")
    return f"{entries} left out, of positions that cannot occur or moves to occupied cells, such as {example}"


def _costs_text(one: numbering.NumberedEntries) -> str:
    """Return a warning that the numbers of moves are read with the opposite sign; empty if they are not."""
    if one.q is None or max(one.signs) > 0:
        return ""
    return (
        "the table's numbers are read as costs: the smallest is the best move, and the run holds them with the "
        f"opposite sign; if the largest is the best, check {flag('board')}"
    )


def _perspective_text(one: numbering.NumberedEntries) -> str:
    """Return a text that says whose numbers a table holds, or how moves to play count cells; or nothing."""
    if one.q is not None and one.signs in ((1, -1), (-1, 1)):
        return f"; its numbers are values to the {SEATS[0] if one.signs == (1, -1) else SEATS[1]} player"
    if one.q is not None:
        return "; the first cell is number 1" if one.to_play and one.shift else ""
    views: dict[tuple[int, ...], str] = {
        (1, -1): "who has just moved",
        (-1, 1): "who moves next",
        (-1, -1): "the second player",
    }
    return f"; its values are those of {views[one.signs]}" if one.signs in views else ""


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
        best=None if first.best is None or second.best is None else [*first.best, *second.best],
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
    rows = numbering.row_finder(graph)(table.code)
    kept = rows >= 0
    if table.q is not None:
        missing = np.ones(graph.child.size, np.bool_)
        edges, _, numbers = numbers_of_edges(graph, rows[kept], table.q[kept])
        missing[edges] = np.isnan(numbers)
        return missing
    there = np.zeros((2, graph.code.size), np.bool_)
    there[:, rows[kept]] = ~np.isnan(table.value[:, kept])
    for player in (0, 1):
        if not there[player].any():  # both players share one table
            there[player] = there[1 - player]
    there[:, graph.first_edge.size - 1 :] = True
    return np.asarray(~there[movers_of_edges(graph), graph.child])


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
