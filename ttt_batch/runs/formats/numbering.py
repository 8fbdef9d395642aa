"""Conversion between tables and the rows and edges of a graph, and search for the numbering of a table's keys.

Rows with codes below 0 (a player has resigned) have no position and are left out.  The graph's rows must be single
positions, not classes under symmetry.  Axes as in `graph` and `formats.base`.

A reading of the keys fits if the keys are positions that occur and the moves go to free cells.  Of several that fit,
the search takes the one by which the table plays best: its greedy play scores more against random moves, and its
numbers agree better with optimal play.  If the best ones are too close, the error lists the choices for the user.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ttt_batch.core.errors import UsageError, flag, quoted
from ttt_batch.core.text import SEATS, count_text
from ttt_batch.evaluation.exact_results import match
from ttt_batch.games.board import EMPTY, FIRST_WINS, SECOND_WINS, UNFINISHED, Board
from ttt_batch.games.graph import Graph, edges_of_rows, numbers_of_edges, rows_of_edges
from ttt_batch.games.solution import solve
from ttt_batch.runs.formats.base import MORE, OUTCOMES, UNSAID, FormatError, Table, marks_of_states, texts_of
from ttt_batch.runs.formats.keys import KeyReading, Symbols, key_codes, readings, symbols_of
from ttt_batch.runs.formats.shapes import MANY_MOVES, MOST_RIGHT, Entries, moves_to_play
from ttt_batch.simulation.policy import Policy, policy_among, random_policy

Finder = Callable[[NDArray[np.int64]], NDArray[np.int64]]
"""Function from position codes to rows of the graph; -1 for positions that do not occur."""

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
    by_code = table.code is None
    if by_code:
        code = np.flatnonzero(~np.isnan(table.value).all(axis=0))
        cells = round(np.log(table.value.shape[1]) / np.log(3))
        best = np.zeros((code.size, cells), np.bool_)
        table = Table(table.value[:, code], code=code, outcome=np.full(code.size, UNSAID, np.int8), best=best)
    found, rows = table.value, _rows_of(graph, table)
    if by_code:
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
        rows, numbers = _rows_of(graph, table), table.q
    else:
        rows = np.arange(graph.first_edge.size - 1)
        numbers = table.q[graph.code[rows]]
    edges, _, found = numbers_of_edges(graph, rows, numbers)
    q = np.array(fill, dtype=np.float64)
    q[edges] = np.where(np.isnan(found), q[edges], found)
    return q


def beads_from(graph: Graph, table: Table, start: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the beads of a list of states by edge, float64[E], with NaN where `start` is NaN (no box has beads).

    Edges that resign get 0.  Moves to the same child are one kind of bead.
    Raises FormatError as `edges_from` does, and if the moves of a kind do not have the same number of beads, 0 or more.
    """
    cells, rows = table.q.shape[1], rows_of_edges(graph)
    by_row = np.zeros((graph.code.size, cells + 1))
    by_row[:, :cells] = np.nan
    by_row[_rows_of(graph, table), :cells] = table.q
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


def is_symmetry_reduced(table: Table, board: Board) -> bool:
    """Return whether a board has symmetries and each state of a list has the lowest code of its images."""
    powers = 3 ** np.arange(board.cells, dtype=np.int64)
    marks = marks_of_states(table.code, board.cells)
    return len(board.symmetries) > 1 and all(
        bool((marks[:, image] @ powers >= table.code).all()) for image in board.symmetries
    )


def _rows_of(graph: Graph, table: Table) -> NDArray[np.int64]:
    """Return the rows of a list.  Raises FormatError for a state that does not occur or ends differently."""
    code, outcome, cells = table.code, table.outcome, table.best.shape[1]
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
        names = dict(enumerate(OUTCOMES))
        here, there = (
            names.get(n, f"outcome {n}") for n in (int(graph.outcome[rows[first[0]]]), int(outcome[first[0]]))
        )
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


def row_finder(graph: Graph) -> Finder:
    """Return a function from position codes to the rows of the graph, -1 for positions that do not occur."""
    order = np.argsort(graph.code)
    known = graph.code[order]

    def rows_of(code: NDArray[np.int64]) -> NDArray[np.int64]:
        at = np.minimum(np.searchsorted(known, code), order.size - 1)
        rows: NDArray[np.int64] = np.where((known[at] == code) & (code >= 0), order[at], -1)
        return rows

    return rows_of


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


CLEARLY = 0.05
"""Least lead of the chosen reading's gain over that of the next one, and over chance."""

FROM_0_OR_1 = "its moves may be cells counted from 0 or from 1; write them as names, the first one as a1"

_SIGNS = (1, -1)
"""Value to each player of a result worth 1 to the first player."""


@dataclass(frozen=True)
class NumberedEntries:
    """Entries that one reading maps to rows of the graph.

    rows: int64[N], rows of the graph; entries without a row are left out.
    value: float64[P, N], or q: float64[N, cells].
    share: share of the entries that have a row.  left_out: number of entries without one.  example: one of these.
    plain: share of the commonest number among the numbers of occupied cells.
    scores: score of greedy play in each seat against random moves, where a draw counts half a win.
    chance: the same for random moves.
    gain: quality of the reading: the scores' lead over chance plus the agreement with optimal play.
    signs: 1 or -1 for each player.  For `q`, 1 if larger numbers are better for the player who moves.  For `value`, 1
    if the positions after that player's moves have their value to the first player.
    to_play: the table says which moves to play; these have the number 1, and all others of their positions 0.
    shift: the number of the first cell in moves.  refused: a move to play that is impossible, in words; or empty.
    """

    reading: KeyReading
    rows: NDArray[np.int64]
    value: NDArray[np.float64] | None
    q: NDArray[np.float64] | None
    share: float
    left_out: int
    example: str
    plain: float
    to_play: bool = False
    shift: int = 0
    refused: str = ""
    signs: tuple[int, ...] = (1, 1)
    scores: tuple[float, ...] = (0.0, 0.0)
    chance: tuple[float, ...] = (0.0, 0.0)
    gain: float = 0.0


def find_reading(
    tables: Sequence[Entries],
    board: Board,
    graph: Graph,
    given: KeyReading | None,
    *,
    own: Sequence[int] = (),
    low: bool = True,
) -> tuple[list[NumberedEntries], str]:
    """Return the entries of each table under the reading that fits all of them, and the reason for it as text.

    given: the reading that the user names.  own: for each table the player whose values it holds, if known.
    low: see `keys.readings`, `low_first`.
    Raises FormatError if no reading fits, and UsageError if several fit equally well.
    """
    placed = _placed(tables, board, graph, given, low=low, by_moves=tables[0].values is None)
    best = _fitting(placed)
    if not best:
        raise FormatError(_refusal(tables, board, max(placed, key=_share), given))
    solution, chance = solve(graph), _scores(graph, random_policy(graph), random_policy(graph))
    judged = [
        [_judged(one, graph, solution, chance, own[at] if own else None) for at, one in enumerate(each)]
        for each in best
    ]
    judged.sort(key=lambda each: -_gain(each))
    fitting = len(judged)
    to_play = tables[0].best is not None
    usual = [each for each in judged if each[0].reading.usual]
    if to_play and not usual:
        usual = [each for each in judged if each[0].reading.first == "1" and not each[0].reading.mover]
    enough = CLEARLY
    if to_play:  # a bad player's moves look better as those of another one
        enough = 2 * CLEARLY if sum(one.rows.size for one in judged[0]) >= MANY_MOVES else np.inf
    if usual and _gain(usual[0]) > _gain(judged[0]) - enough:
        judged = usual
    taken = judged[0]
    if to_play and any(each[0].reading == taken[0].reading for each in judged[1:]):
        raise UsageError(FROM_0_OR_1)
    if given is not None:
        return taken, "as given"
    facts = _facts(taken)
    if len(judged) == 1:
        but = ", though with it the table plays no better than at random" if _gain(taken) < CLEARLY else ""
        which = "the only numbering that fits" if fitting == 1 else f"of {fitting} numberings that fit, the usual one"
        return taken, f"{which}{but}: {facts}"
    if _gain(taken) < max(_gain(judged[1]), 0.0) + CLEARLY:
        choices = list(dict.fromkeys(f"{each[0].reading.option} ({each[0].reading.meaning})" for each in judged))
        if len(choices) == 1:
            raise UsageError(FROM_0_OR_1)
        raise UsageError(
            f"its keys can be read in {len(choices)} equally good ways, and the table does not show which is right; "
            f"give {flag('keys')}: {' or '.join(choices[:4])}"
        )
    return taken, f"of {fitting} numberings that fit, the one with which the table plays best: {facts}"


def _placed(
    tables: Sequence[Entries], board: Board, graph: Graph, given: KeyReading | None, *, low: bool, by_moves: bool
) -> list[list[NumberedEntries]]:
    """Return the entries of each table under each reading to try.  Parameters as of `find_reading` and `readings`."""
    symbols = [symbols_of(table.keys, board) for table in tables]
    tried = (
        [replace(given, numbers=symbols[0].numbers)]
        if given is not None
        else readings(symbols[0], board, low_first=low, by_moves=by_moves)
    )
    finder = row_finder(graph)
    return [
        [
            _place(table, known, reading, shift, board, graph, finder)
            for table, known in zip(tables, symbols, strict=True)
        ]
        for reading in tried
        for shift in tables[0].shifts
    ]


def with_moves_found(
    tables: list[Entries], board: Board, graph: Graph, given: KeyReading | None, *, low: bool
) -> list[Entries]:
    """Return tables whose numbers are free cells, or -1 for no move, as tables of moves to play; others unchanged.

    Parameters as of `find_reading`.
    """
    may_be = [
        table for table in tables if table.values is not None and len(table.values) == 1 and not table.sure_values
    ]
    numbers = [table.values[0] for table in may_be if table.values is not None]
    known = [each[~np.isnan(each) & (each != -1)] for each in numbers]
    if len(known) < len(tables) or any(
        (each == np.round(each)).sum() < max(MOST_RIGHT * each.size, 1) or np.unique(each).size < 3 for each in known
    ):
        return tables
    sure = [
        replace(table, values=np.where((each != -1) & (table.told is None or table.told), each, np.nan)[None])
        for table, each in zip(tables, numbers, strict=True)
    ]
    best = _fitting(_placed(sure, board, graph, given, low=low, by_moves=True))
    if not any(all(_holds_moves(one, board, graph) for one in each) for each in best):
        return tables
    found = []
    for table, each in zip(tables, numbers, strict=True):
        at = np.flatnonzero((each >= 0) & (each < 1000)).tolist()  # a finished position may have any number
        cells = [[int(x) if x.is_integer() else x] for x in each[at].tolist()]
        entries = moves_to_play([table.keys[one] for one in at], cells, board)
        found.append(replace(entries, told=None if table.told is None else table.told[at]))
    return found


def _facts(taken: list[NumberedEntries]) -> str:
    counts = [one.rows.size for one in taken]
    positions = count_text(sum(counts), "position that can occur", "positions that can occur")
    by_seat = [
        f"{max(one.scores[seat] for one in taken):.1%} as {name} (by chance {taken[0].chance[seat]:.1%})"
        for seat, name in enumerate(SEATS)
    ]
    return f"{positions}; greedy play scores {' and '.join(by_seat)} against random moves"


def _share(placed: list[NumberedEntries]) -> float:
    return min(one.share for one in placed)


def _gain(placed: list[NumberedEntries]) -> float:
    return sum(one.gain for one in placed)


def _fitting(placed: list[list[NumberedEntries]]) -> list[list[NumberedEntries]]:
    """Return the readings that place about as large a share as the best one, without equal results."""
    most = max(_share(one) for one in placed)
    if most < 1 - MOST_IMPOSSIBLE:
        return []
    bound = 1 - 2 * (1 - most) - 0.01
    found: dict[bytes, list[NumberedEntries]] = {}
    for one in placed:
        if _share(one) >= max(bound, 1 - MOST_IMPOSSIBLE):
            arrays = (array for each in one for array in (each.rows, each.q, each.value) if array is not None)
            found.setdefault(b"".join(array.tobytes() for array in arrays), one)
    kept = list(found.values())
    plainest = max(one[0].plain for one in kept)
    return [one for one in kept if one[0].plain >= plainest - 0.01] if plainest >= 0.99 else kept


def _holds_moves(one: NumberedEntries, board: Board, graph: Graph) -> bool:
    """Return whether the whole numbers of unfinished positions are free cells, counted from 0 or from 1.

    If many cells occur, some of the numbers may be wrong.
    """
    there = graph.outcome[one.rows] == UNFINISHED
    numbers = np.empty(0) if one.value is None else one.value[0, there]
    if (different := np.unique(numbers).size) < 3:
        return False
    cells = np.where(np.isin(numbers, range(board.cells + 1)), numbers, -1).astype(np.int64)
    # A column before the first cell, and one after the last: no number there is a free cell.
    free = np.pad(marks_of_states(graph.code[one.rows[there]], board.cells) == EMPTY, ((0, 0), (1, 1)))
    right = max(free[np.arange(cells.size), cells + first].mean() for first in (0, 1))
    return bool(right == 1 or (right >= MOST_RIGHT and different > board.cells // 2))


def _place(
    table: Entries, symbols: Symbols, reading: KeyReading, shift: int, board: Board, graph: Graph, finder: Finder
) -> NumberedEntries:
    codes = key_codes(symbols, reading, board)
    rows = finder(codes)
    wrong = rows < 0
    if table.told is not None and np.count_nonzero(table.told) * (1 - MOST_IMPOSSIBLE) <= graph.code.size:
        wrong &= table.told  # otherwise every key has a random start value of its own
    elif table.told is not None:
        wrong[:] = False
    n_told = rows.size if table.told is None else int(np.count_nonzero(table.told))
    left_out = int(np.count_nonzero(wrong))
    share = 1.0 - left_out / n_told
    value, q, plain, refused = table.values, None, 1.0, ""
    if share < 1 - MOST_IMPOSSIBLE:
        kept = np.zeros(rows.size, np.bool_)
        q = None if value is not None else np.zeros((rows.size, board.cells))
    elif value is not None:
        kept = (rows >= 0) & ~np.isnan(value).all(axis=0)
    else:
        q, taken, bad = _by_cell(table, rows, shift, board, graph)
        if not table.listed:
            if table.told is not None:
                bad = bad[table.told[table.rows[bad]]]
            share, left_out = 1.0 - bad.size / table.rows.size, bad.size
            if table.best is not None and (known := bad[rows[table.rows[bad]] >= 0]).size:
                text = texts_of(codes[table.rows[known[:1]]], board.cells)[0]
                move = _plain(table.best[known[0]])
                top = "; a1 is the top left cell" if isinstance(move, str) and move[:1].isalpha() else ""
                refused = f"move {quoted(move)} of position {text} is not possible; mend the table{top}"
            wrong[:] = False
            wrong[table.rows[bad]] = True
        elif taken.size:
            plain = float(np.unique(taken, return_counts=True)[1].max() / taken.size)
        kept = (rows >= 0) & (rows < graph.first_edge.size - 1) & ~np.isnan(q).all(axis=1)
    kept_value, kept_q = None if value is None else value[:, kept], None if q is None else q[kept]
    example = _shown(table, codes, wrong, board)
    found = NumberedEntries(reading, rows[kept], kept_value, kept_q, share, left_out, example, plain)
    if kept_q is None or table.best is None:
        return found
    others = np.isnan(kept_q) & (marks_of_states(graph.code[rows[kept]], board.cells) == EMPTY)
    return replace(found, q=np.where(others, 0.0, kept_q), to_play=True, shift=shift, refused=refused)


def _by_cell(
    table: Entries, rows: NDArray[np.int64], shift: int, board: Board, graph: Graph
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
    """Return the numbers of moves to free cells, float64[K, cells], those of occupied cells, and the bad entries.

    Bad entries, as indices, are moves to occupied cells or outside the board and moves of keys without a row.
    Entries of positions in which the game is over are left out.
    """
    moves, cells, n_rows = table.moves - shift, board.cells, graph.first_edge.size - 1
    free, unfinished = np.zeros((rows.size, cells), np.bool_), np.flatnonzero((rows >= 0) & (rows < n_rows))
    edges, owner = edges_of_rows(graph, rows[unfinished])
    free[unfinished[owner], graph.cell[edges]] = True
    inside = (moves >= 0) & (moves < cells)
    at, cell = rows[table.rows], np.where(inside, moves, 0)
    good = inside & free[table.rows, cell]
    q = np.full((rows.size, cells), np.nan)
    q[table.rows[good], cell[good]] = table.q[good]
    over = at >= n_rows
    return q, table.q[inside & (at >= 0) & ~good & ~over], np.flatnonzero(~good & ~over)


def _shown(table: Entries, codes: NDArray[np.int64], wrong: NDArray[np.bool_], board: Board) -> str:
    """Return the first wrong entry, as a position if it is one, else its key; empty if all entries are right."""
    if not wrong.any():
        return ""
    at = int(np.flatnonzero(wrong)[0])
    return texts_of(codes[at : at + 1], board.cells)[0] if codes[at] >= 0 else quoted(_plain(table.keys[at]))


def _plain(key: object) -> object:
    return key.item() if isinstance(key, np.generic) else key


def _refusal(tables: Sequence[Entries], board: Board, nearest: list[NumberedEntries], given: KeyReading | None) -> str:
    """Return why no reading fits.  nearest: the entries under the reading that places most of them."""
    if nearest[0].refused and nearest[0].reading.usual:
        return nearest[0].refused
    key, most = nearest[0].example or quoted(_plain(tables[0].keys[0])), _share(nearest)
    if given is not None:
        return (
            f"with {flag('keys')} {given.option}, {most:.0%} of the entries are positions that can occur; "
            "give other keys"
        )
    moves, remedy, listed = "", "", tables[0].best or []
    if listed:
        decimal = next((f", such as {quoted(move)}," for move in listed if isinstance(move, str) and "," in move), "")
        moves = f" in which its moves{decimal} are possible cells"
        remedy = f"mend its moves{' (a decimal number has a point)' if decimal else ''}, or "
    return (
        f"no known numbering turns its keys, such as {key}, into positions of board {board.name}{moves} "
        f"({most:.0%} of the entries at best); {remedy}give the table's own board"
    )


# --- playing by a table ------------------------------------------------------------------------------------


def _judged(
    one: NumberedEntries, graph: Graph, solution: NDArray[np.int8], chance: tuple[float, float], own: int | None
) -> NumberedEntries:
    """Return the entries with signs, scores, chance and gain.  own: the player whose values they are, if known."""
    signs, agreement, scores = [], [], []
    both = one.value is not None and one.value.shape[0] == 2
    for seat in (0, 1):
        found = _agreement(one, graph, solution, seat)
        if both or own is not None:
            sign = _SIGNS[seat] if both else _SIGNS[own or 0]
            found *= sign
        else:
            sign, found = (1, found) if one.to_play else (1 if found > -CLEARLY else -1, abs(found))
        known = own is None or own == seat
        signs.append(1 if both else sign)
        agreement.append(found if known else 0.0)
        scores.append(_played(one, graph, seat, sign) if known else chance[seat])
    gain = (sum(agreement) + sum(scores) - sum(chance)) / 2
    seats = np.unique(graph.ply[one.rows] % 2)
    if one.q is not None and seats.size == 1:  # the other seat has no numbers to say anything else
        signs = [signs[seats[0]]] * 2
    return replace(one, signs=tuple(signs), scores=tuple(scores), chance=chance, gain=gain)


def _agreement(one: NumberedEntries, graph: Graph, solution: NDArray[np.int8], seat: int) -> float:
    """Return the correlation, -1 to 1, of the numbers that decide a player's moves with the results of optimal play.

    The results of positions are those of the first player; the results of moves are those of the mover.
    """
    if one.q is None:
        assert one.value is not None
        after = graph.ply[one.rows] % 2 != seat
        numbers = one.value[min(seat, one.value.shape[0] - 1)]
        numbers, truth = numbers[after], solution[one.rows][after]
    else:
        own = graph.ply[one.rows] % 2 == seat
        edges, _, numbers = numbers_of_edges(graph, one.rows[own], one.q[own])
        there = ~np.isnan(numbers)
        numbers, truth = numbers[there], solution[graph.child[edges[there]]] * _SIGNS[seat]
    if numbers.size < 2 or not np.isfinite(numbers).all() or np.ptp(numbers) == 0 or np.ptp(truth) == 0:
        return 0.0
    scaled = numbers / np.abs(numbers).max()
    return float(np.corrcoef(scaled, truth)[0, 1])


def _played(one: NumberedEntries, graph: Graph, seat: int, sign: int) -> float:
    """Return the score of greedy play in a seat.

    sign: see `NumberedEntries.signs`; for values of both players it is 1 for the first player and -1 for the second.
    """
    allowed = np.ones(graph.child.size, np.bool_)
    if one.q is not None:
        own_edges, owner, numbers = numbers_of_edges(graph, one.rows, sign * one.q)
        allowed[own_edges] = _best(np.nan_to_num(numbers), np.flatnonzero(np.diff(owner, prepend=-1)))
    else:
        assert one.value is not None
        value = one.value[min(seat, one.value.shape[0] - 1)]
        middle = middle_of(value)
        of_first = np.array([middle, 1.0, -1.0, middle])[graph.outcome]  # rows without an entry are on its scale
        of_first[one.rows] = value if sign == 1 else 2 * middle - value
        for ply in range(seat, graph.ply_start.size - 1, 2):
            first = graph.first_edge[graph.ply_start[ply] : graph.ply_start[ply + 1] + 1].astype(np.int64)
            edges = slice(first[0], first[-1])
            allowed[edges] = _best(_SIGNS[seat] * of_first[graph.child[edges]], first[:-1] - first[0])
    players = [policy_among(graph, allowed), random_policy(graph)]
    return _scores(graph, *players[:: 1 if seat == 0 else -1])[seat]


def _best(scores: NDArray[np.float64], starts: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return whether each score is the best of its row.  starts: the first of each row."""
    best = np.maximum.reduceat(scores, starts)
    return np.asarray(scores >= best.repeat(np.diff(starts, append=scores.size)))


def middle_of(value: NDArray[np.float64]) -> float:
    """Return the value of a draw on the scale of a table: 0.5 if a loss is 0, and 0 if a loss is -1."""
    return 0.5 if value.size and value.min() >= 0.0 and 0.0 < value.max() <= 1.0 else 0.0


def _scores(graph: Graph, first: Policy, second: Policy) -> tuple[float, float]:
    """Return each player's probability of a win plus half that of a draw."""
    win, draw, loss = match(graph, first, second)
    return win + draw / 2, loss + draw / 2


def with_the_others_values(table: Table, middle: float, *, zero_sum: bool) -> Table:
    """Return a table shared by both players with each one's missing values turned from the other's.

    middle: the value of a draw.  zero_sum: the learner reads the first player's values everywhere; others read a
    player's values of the positions after its own moves only.
    """
    assert table.value is not None and table.code is not None and table.best is not None
    odd = np.count_nonzero(marks_of_states(table.code, table.best.shape[1]), axis=1) % 2 == 1
    turned = np.isnan(table.value) & (np.stack([odd, ~odd]) | zero_sum)
    return replace(table, value=np.where(turned, 2 * middle - table.value[::-1], table.value))


def as_table(one: NumberedEntries, graph: Graph, cells: int, own: int | None) -> Table:
    """Return the entries as a list of states.  own: the player whose values they are, if known."""
    code, outcome = graph.code[one.rows].astype(np.int64), graph.outcome[one.rows].astype(np.int8)
    listed: dict[str, Any] = {"code": code, "outcome": outcome, "best": np.zeros((code.size, cells), np.bool_)}
    if one.q is not None:
        return Table(q=one.q * np.array(one.signs)[graph.ply[one.rows] % 2][:, None], **listed)
    assert one.value is not None
    if one.value.shape[0] == 2:
        return Table(one.value, **listed)
    value = np.full((2, code.size), np.nan)
    if own is not None:
        value[own] = one.value[0]
        return Table(value, **listed)
    if one.signs == (-1, -1):
        value[1] = one.value[0]
        return Table(value, **listed)
    mover = 1 - graph.ply[one.rows] % 2  # the player who has just moved; for the empty board, the second player
    turned = np.array(one.signs)[mover] < 0
    value[0] = np.where(turned, 2 * middle_of(one.value[0]) - one.value[0], one.value[0])
    if one.signs != (1, 1):
        value[1] = np.where(turned, one.value[0], 2 * middle_of(one.value[0]) - one.value[0])
    if one.signs == (1, -1) and middle_of(one.value[0]):  # keep a player's own values only, since 1 - value rounds
        value[1 - mover, np.arange(mover.size)] = np.nan
    return Table(value, **listed)
