"""Tables by position code or by state, their validation, and the interface of a file format.

Axes: `C` position codes (3**cells), `P` players (first, second), `S` states, `cells` cells of the board.

Conversion between the rows and edges of a graph and tables by position code, with a policy's choices as cells.
Axes as in `graph` and `formats.base`.  Rows with codes below 0 (a player has resigned) have no position and are left
out.  The graph's rows must be single positions, not classes under symmetry.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ttt_batch.core.errors import NameTakenError, TttBatchError, flag, quoted
from ttt_batch.core.text import SEATS, fold_case
from ttt_batch.games.board import EMPTY, FIRST, FIRST_WINS, MARKS, SECOND, SECOND_WINS, UNFINISHED, Board
from ttt_batch.games.enumeration import positions_of_ply
from ttt_batch.games.graph import Graph, rows_of_edges

MAX_CELLS = 12
"""Most cells of a board whose tables are written by code: 3**12 = 531,441 codes, 51 MB of action values."""

TO_MOVE = (None, *SEATS)
OUTCOMES = ("unfinished", "first wins", "second wins", "draw")
"""Names of `to_move` and `outcome` in files that hold text."""

MORE = {"a": True, "b": True, "value": False}
"""Arrays that a list may have besides `q`: True for a number per state and cell, False for one per state."""

VALUES = tuple(f"value_{player}" for player in SEATS)
"""Columns with the players' values."""

UNSAID = -1
"""Outcome of a state in a file without outcomes."""


class FormatError(TttBatchError):
    """Error of reading or writing a table; one line: file, problem, value, limit, remedy."""


class TakenFormatError(FormatError, NameTakenError):
    """Error for the name of a table or picture file that is already in use."""


POSITION_VALUES, ACTION_VALUES, STATES = "position values", "action values", "a list of states"
"""Kinds of tables."""


@dataclass(frozen=True)
class Table:
    """Numbers by position code, or a list of the positions that occur, for use by other programs.

    A table has exactly one of these, with nan where it has no entry (N is C, or S in a list):
    value: float64[P, N], the value of a position to each player.  q: float64[N, cells], the value of marking a cell.
    Only a list has code: int64[S]; outcome: int8[S], an outcome of `board` or UNSAID; and
    best: bool[S, cells], the cells that a greedy agent may pick.
    more: further arrays, by the names in MORE, in a list of a learner with several tables.  a, b: float64[S, cells],
    two tables whose mean is q.  value: float64[S], the value of a state to its mover; q then holds preferences.
    """

    value: Any = None
    q: Any = None
    code: Any = None
    outcome: Any = None
    best: Any = None
    more: Mapping[str, Any] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        """Return POSITION_VALUES, ACTION_VALUES or STATES."""
        return STATES if self.code is not None else POSITION_VALUES if self.q is None else ACTION_VALUES


@dataclass(frozen=True)
class Format:
    """File format of a table.

    name: its name on the command line.  meaning: a one-line description.  suffix: the usual suffix of its files.
    kinds: the kinds it holds, of POSITION_VALUES, ACTION_VALUES and STATES.
    per_player: a file holds the values of one player, so a table takes one or two files; `encode` and `decode` then
        work on the values of one player, float64[1, C].
    encode: returns a file's bytes.  decode: returns the table in a file's bytes, not yet checked by `checked`.
    Both raise FormatError without the file's name, which `write` and `read` add in front.
    max_bytes: size of the largest file that is read.
    """

    name: str
    meaning: str
    suffix: str
    kinds: tuple[str, ...]
    encode: Callable[[Table, Board], bytes]
    decode: Callable[[bytes, Board], Table]
    max_bytes: Callable[[Board], int]
    per_player: bool = False

    @property
    def files(self) -> int:
        """Return the largest number of files for one table."""
        return 2 if self.per_player else 1


def marks_of_states(codes: NDArray[np.int64], cells: int) -> NDArray[np.int8]:
    """Return the marks, int8[N, cells], of position codes, int64[N]."""
    return (codes[:, None] // 3 ** np.arange(cells, dtype=np.int64) % 3).astype(np.int8)


def texts_of(codes: NDArray[np.int64], cells: int) -> list[str]:
    """Return position codes, int64[N], as texts with a character X, O or '.' for each cell."""
    characters = np.frombuffer(MARKS.encode(), dtype=np.uint8)[marks_of_states(codes, cells)]
    text = characters.tobytes().decode()
    return [text[i : i + cells] for i in range(0, len(text), cells)]


def state_columns(table: Table, cells: int) -> dict[str, Any]:
    """Return the columns of a list of states: `code`, `board` (list of text), `to_move` (int8, a mark, 0 if the game
    is over), `outcome`, and either `value_first` and `value_second`, or `q` and the table's arrays of `MORE`.
    """
    placed = np.count_nonzero(marks_of_states(table.code, cells), axis=1)
    to_move = np.where(table.outcome == UNFINISHED, np.where(placed % 2, SECOND, FIRST), EMPTY).astype(np.int8)
    numbers = {"q": table.q, **table.more} if table.value is None else dict(zip(VALUES, table.value, strict=True))
    texts = texts_of(table.code, cells)
    return {"code": table.code, "board": texts, "to_move": to_move, "outcome": table.outcome, **numbers}


def most_states(board: Board) -> int:
    """Return the largest number of states in a list: all positions where X has as many marks as O, or one more."""
    return sum(positions_of_ply(board, ply) for ply in range(board.cells + 1))


def check_board(name: str, board: Board) -> None:
    """Raise FormatError if `name`, the board in a file, is not `board`."""
    if fold_case(name) != fold_case(board.name):
        raise FormatError(
            f"the file is of board {quoted(name)}, not {board.name}; give {flag('board')} as the file has it"
        )


def other_board_hint(found: int, size: Callable[[int], int]) -> str:
    """Return a hint at the board with a table of size `found`, or "".  size: size of a table by number of cells."""
    cells = next((cells for cells in range(1, MAX_CELLS + 1) if size(cells) == found), None)
    return f", as for a board of {cells} cells" if cells else ""


def unreadable_error(what: str) -> FormatError:
    """Return the error for a file that its library cannot read; it replaces the library's unhelpful message."""
    return FormatError(f"{what}, or is damaged; export it again")


def validated_table(table: Table, board: Board, largest: float = np.finfo(np.float64).max) -> Table:
    """Return the table as arrays of the declared types and of the board's shape.

    Values by code may be of one player.  largest: the largest absolute value allowed.
    Raises FormatError for another shape, for larger numbers, and for a value of a position with numbers of marks that
    no game reaches.
    """
    if (table.value is None) == (table.q is None):
        raise FormatError("a table must have either values or action values")
    if table.kind != STATES:
        code = np.arange(3**board.cells)
    else:
        code = _shaped("codes", table.code, (np.asarray(table.code).size,), np.int64)
        best = _shaped("best cells", table.best, (code.size, board.cells), np.bool_)
        table = replace(table, code=code, outcome=_shaped("outcomes", table.outcome, code.shape, np.int8), best=best)
        _check_codes(code, board)
    if table.q is not None:
        table = replace(table, q=_shaped("action values", table.q, (code.size, board.cells)))
        more = {
            name: _shaped(f"numbers of {name}", array, (code.size, board.cells) if MORE[name] else (code.size,))
            for name, array in table.more.items()
        }
        for numbers in (table.q, *more.values()):
            _check_size(numbers.reshape(code.size, -1), code, largest, board)
        return replace(table, more=more)
    players = 1 if table.kind == POSITION_VALUES and np.asarray(table.value).shape[:1] == (1,) else 2
    table = replace(table, value=_shaped("values", table.value, (players, code.size)))
    _check_size(table.value.T, code, largest, board)
    if table.kind == POSITION_VALUES:
        _check_marks(np.flatnonzero(~np.isnan(table.value).all(axis=0)), board)
    return table


def _check_codes(code: NDArray[np.int64], board: Board) -> None:
    """Raise FormatError for a list with a repeated state or with codes of another board."""
    if np.unique(code).size != code.size:
        raise FormatError("a state is listed twice; export the table again")
    if code.size and not 0 <= code.min() <= code.max() < 3**board.cells:
        raise FormatError(f"a code is outside 0 .. {3**board.cells - 1}, the codes of board {board.name}")


def _check_marks(code: NDArray[np.int64], board: Board) -> None:
    """Raise FormatError for the first position with numbers of marks that no game reaches."""
    marks = marks_of_states(code, board.cells)
    ahead = np.count_nonzero(marks == FIRST, axis=1) - np.count_nonzero(marks == SECOND, axis=1)
    wrong = np.flatnonzero((ahead != 0) & (ahead != 1))
    if wrong.size:
        text = texts_of(code[wrong[:1]], board.cells)[0]
        raise FormatError(
            f"it has a value for {text}; X must have as many marks as O or one more; "
            f"give the table's own board instead of {board.name}, or fix the entry"
        )


def _shaped(what: str, array: object, shape: tuple[int, ...], dtype: type = np.float64) -> Any:
    try:
        found: Any = np.asarray(array, dtype=dtype)
    except (ValueError, TypeError, OverflowError):
        raise FormatError(f"{what} are not numbers; export the table again") from None
    if found.shape != shape:
        raise FormatError(f"{what} have shape {list(found.shape)}; they must have {list(shape)} for this board")
    return found


def _check_size(numbers: NDArray[np.float64], codes: NDArray[np.int64], largest: float, board: Board) -> None:
    """Raise FormatError for the first number beyond `largest`; axes: the positions of `codes`, their entries."""
    bad = np.argwhere(np.abs(numbers) > largest)
    if bad.size:
        row, column = (int(index) for index in bad[0])
        text, found = texts_of(codes[[row]], board.cells)[0], numbers[row, column]
        limit = "finite numbers only" if np.isinf(found) else f"numbers from {-largest:g} to {largest:g}"
        raise FormatError(
            f"entry {column} of position {text} (code {codes[row]}) is {found}; a table holds {limit}, "
            "so train it again or fix the entry"
        )


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
