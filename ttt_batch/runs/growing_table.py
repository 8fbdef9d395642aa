"""Tables over a growing board: resizing, storing and restoring, and the memory that boards need.

`games.graph` defines the graph, and `learners.base` adds rows to graph and tables.  Shared rows hold the start values
of positions without their own row, so learners read a child's value without a check for its row.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_batch.compiler.numerics import NEW_ROWS, stream_key
from ttt_batch.core.errors import BoardError, flag
from ttt_batch.core.text import size_text
from ttt_batch.games.bitboards import make_places
from ttt_batch.games.board import UNFINISHED, Board, most_positions, positions_of_ply
from ttt_batch.games.graph import (
    EDGES,
    LOST,
    MAX_ROWS,
    N_SHARED,
    SHARED_CODES,
    SHARED_OUTCOMES,
    Graph,
    Growth,
    expand_all,
    plies_of,
    remember_all,
    shared_rows,
)
from ttt_batch.learners import add_empty_begin, learner_named
from ttt_batch.learners.base import Learner, add_first, begin_rows
from ttt_batch.runs.config import SMALL_CELLS, Config
from ttt_batch.runs.state import State

FIRST_ROWS = 1 << 12
"""Capacity for unfinished rows at the start."""

BY_ROW = {"code": True, "outcome": True, "ply": True, "cell": False, "child": False}
"""True if the last axis of an array of the graph is rows, False if it is edges."""


class Shape(NamedTuple):
    """Size or capacity of a table: unfinished rows, final rows of their own, edges."""

    rows: int
    finals: int
    edges: int


class GrowingTable:
    """Graph of the positions that play has reached, and the tables over it; both grow.

    graph, tables, visits, growth: arrays with spare capacity; replaced when they grow.
    max_rows: maximum of unfinished rows.
    """

    def __init__(
        self,
        board: Board,
        learner: Learner,
        worth: NDArray[np.float64],
        *,
        symmetry: bool,
        key: Any = np.uint64(0),  # noqa: B008 - a number
        counted: bool = False,
        max_rows: int = MAX_ROWS,
    ) -> None:
        """Start with only the empty board.  counted: True to keep a table of visits, for a step size by visits."""
        add_empty_begin(learner)
        self.board, self.learner, self.worth, self.symmetry = board, learner, worth, symmetry
        self.max_rows = max_rows
        self._by_row = tuple(learner.fields[name][0].endswith("S") for name in learner.tables._fields)
        self._finals = int(learner.final_rows)
        images = np.array(board.images(symmetry), np.int64)
        places = make_places(board, symmetry)
        used = np.zeros(4, np.int64)
        codes = np.zeros(images.shape[0], np.int64)
        self.growth = Growth(
            *(places, images, np.argsort(images, axis=1), np.zeros(1, np.int64), used, np.zeros(2, np.int64), codes),
            *(self._finals, int(learner.occupied), 2 if board.gravity else 1, key),
        )
        self.graph = shared_rows()
        self.tables = learner.start(self.graph, worth, np.random.default_rng(0))
        self._counted = counted
        self.visits = np.zeros(self.tables[0].size if counted else 0)
        self._resize(FIRST_ROWS)
        add_first(self.tables, self.graph, self.growth, worth)

    @property
    def used(self) -> Shape:
        """Return the current size."""
        rows, edges, finals, _ = self.growth.used.tolist()
        return Shape(rows, finals, edges)

    @property
    def positions(self) -> int:
        """Return the number of positions that have their own row."""
        return self.used.rows + self.used.finals

    @property
    def lost(self) -> int:
        """Return how often play reached a position without room for a row."""
        return int(self.growth.used[LOST])

    @property
    def _n_open(self) -> int:
        """Return the capacity for unfinished rows, with the borrowed ones."""
        return int(self.graph.first_edge.size - 1)

    @property
    def _room(self) -> int:
        """Return the capacity for unfinished rows, without the borrowed ones."""
        return self._n_open - self.growth.rows_a_ply * self.board.cells

    @property
    def may_grow(self) -> bool:
        """Return whether the capacity may still grow."""
        return self._room < self.max_rows

    def limit(self, max_rows: int) -> None:
        """Limit the table to `max_rows` unfinished rows, or to the rows in use if there are more."""
        self.max_rows = max(max_rows, self.used.rows)
        if self._room > self.max_rows:
            self._resize(self.max_rows)

    def enlarge(self) -> None:
        """Double the capacity for rows, up to `max_rows`."""
        self._resize(min(2 * self._room, self.max_rows))

    def _arrays(self, tables: Any, visits: Any) -> list[tuple[Any, bool]]:
        """Return (array, last axis is rows, not edges) of each table, and of visits in the shape of the first table."""
        arrays = list(zip(tables, self._by_row, strict=True))
        # Test the flag, not the size: action values start without edges.
        return [*arrays, (visits.reshape(tables[0].shape), self._by_row[0])] if self._counted else arrays

    def _changed(self, tables: Any, visits: Any, change: Callable[[Any, bool], Any]) -> tuple[Any, Any]:
        """Return tables and visits with `change` applied to each array; its arguments are the pairs of `_arrays`."""
        changed = [change(*array) for array in self._arrays(tables, visits)]
        return self.learner.tables(*changed[: len(tables)]), changed[-1].ravel() if self._counted else visits

    def compact(self) -> "tuple[Graph, Any, NDArray[np.float64]]":
        """Return copies of graph, tables and visits without spare capacity."""
        used = self.used
        arrays = ((name, getattr(self.graph, name), by_row) for name, by_row in BY_ROW.items())
        copies = {name: self._copied(array, by_row, self._n_open, used) for name, array, by_row in arrays}
        self._link_finals(copies["child"], self._n_open, used)
        first_edge = self.graph.first_edge[: used.rows + 1].copy()
        parents = np.zeros(self.positions + N_SHARED + 1, np.uint32)
        return self.graph._replace(**copies, first_edge=first_edge, first_parent=parents), *self.compact_tables()

    def compact_tables(self) -> "tuple[Any, NDArray[np.float64]]":
        """Return copies of tables and visits without spare capacity."""
        used, n_open = self.used, self._n_open
        return self._changed(self.tables, self.visits, lambda table, by_row: self._copied(table, by_row, n_open, used))

    def compact_positions(self) -> tuple[NDArray[np.int64], NDArray[np.int8]]:
        """Return copies of the codes and outcomes of the rows, without spare capacity."""
        used, n_open = self.used, self._n_open
        code, outcome = (self._copied(array, True, n_open, used) for array in (self.graph.code, self.graph.outcome))
        return code, outcome

    def fresh(self) -> Any:
        """Return the compact tables with start values."""
        graph, tables, _ = self.compact()
        shared = self.learner.start(shared_rows(), self.worth, np.random.default_rng(0))
        for by_row, table, start in zip(self._by_row, tables, shared, strict=True):
            if by_row:  # before the others begin as they do: a file's own may be damaged
                table[..., self.used.rows : self.used.rows + N_SHARED] = start
        begin_rows(tables, graph, 0, self.worth, self.growth.key)
        return tables

    def cut(self, state: State, rows: int, finals: int) -> State:
        """Return a state reduced to its first `rows` unfinished and `finals` final rows: the inverse of `padded`."""
        code, outcome = self.compact_positions()
        used = self.used
        kept = np.concatenate([np.arange(rows), np.arange(used.rows, used.rows + N_SHARED + finals)])
        edges = int(self.graph.first_edge[rows])

        def cut(table: Any, by_row: bool) -> Any:
            return np.ascontiguousarray(table[..., kept] if by_row else table[..., :edges])

        tables, visits = self._changed(state.tables, state.visits, cut)
        return State(state.games, tables, visits, state.outcomes, code[kept], outcome[kept])

    def go_back(self, rows: int, finals: int) -> None:
        """Drop all but the first `rows` unfinished and `finals` final rows; nothing may have been learnt since then."""
        state = self.cut(
            State(0, *self.compact_tables(), np.zeros(3, np.int64), *self.compact_positions()), rows, finals
        )
        self.restore(state.code, state.outcome, state.tables, state.visits)
        self.limit(self.max_rows)

    def padded(self, state: State) -> State:
        """Return an earlier state, which has fewer rows, extended by the other rows at their start values."""
        graph, tables, visits = self.compact()
        rows = positions_in(state)[0]
        begin_rows(tables, graph, rows, self.worth, self.growth.key)
        visits[:] = 0
        old_arrays = self._arrays(state.tables, state.visits)
        for (new, by_row), (old, _) in zip(self._arrays(tables, visits), old_arrays, strict=True):
            if by_row:
                new[..., :rows] = old[..., :rows]
                new[..., self.used.rows : self.used.rows + old.shape[-1] - rows] = old[..., rows:]
            else:
                new[..., : old.shape[-1]] = old
        return State(state.games, tables, visits, state.outcomes, graph.code, graph.outcome)

    def restore(self, code: NDArray[np.int64], outcome: NDArray[np.int8], tables: Any, visits: Any) -> None:
        """Restore the table from the codes and outcomes of its rows, its tables and visits, as `compact` returns them.

        Raises BoardError if play cannot have reached such positions.
        """
        rows = int(np.argmax(code < 0)) if code.size else 0
        finals = code.size - rows - N_SHARED
        shared = slice(rows, rows + N_SHARED)
        kept = np.append(code[:rows], code[shared.stop :])
        if (
            not (0 < rows <= MAX_ROWS and 0 <= finals <= MAX_ROWS * self._finals)
            or code[shared].tolist() != list(SHARED_CODES)
            or outcome[shared].tolist() != list(SHARED_OUTCOMES)
            or code[0] != 0
            or kept.min() < 0
            or kept.max() >= 3**self.board.cells
            or np.unique(kept).size < kept.size
            or outcome[:rows].any()
            or (outcome[shared.stop :] == UNFINISHED).any()
        ):
            raise BoardError(f"its positions are not those that play on board {self.board.name} can reach")
        self.growth.used[:] = rows, 0, finals, 0
        plies = plies_of(code, self.board.cells)
        edges = rows * self.board.cells if self.learner.occupied else moves_in(self.board, code[:rows])
        for name, table, now, by_row in zip(tables._fields, tables, self.tables, self._by_row, strict=True):
            entries = code.size if by_row else edges
            if table.dtype != now.dtype or table.shape != (*now.shape[:-1], entries):
                raise BoardError(f"its table {name} does not fit its positions")
        if self._counted and visits.size not in (0, tables[0].size):
            raise BoardError("its table of visits does not fit its positions")
        self.graph = shared_rows()._replace(
            code=code,
            outcome=outcome,
            ply=plies,
            first_edge=np.zeros(rows + 1, np.uint32),
            child=np.zeros(edges, np.uint32),
            cell=np.zeros(edges, np.int8),
        )
        self.tables = tables
        self.visits = visits if self._counted and visits.size else np.zeros(tables[0].size if self._counted else 0)
        self.growth.used[EDGES] = edges
        self._resize(max(FIRST_ROWS, 1 << (rows - 1).bit_length()))
        wrong = expand_all(self.graph, self.growth)
        if wrong >= 0:
            raise BoardError(
                f"code {self.graph.code[wrong]} is not a position that play on board {self.board.name} reaches, "
                "or its outcome is wrong"
            )

    def _resize(self, rows: int) -> None:
        """Resize to `rows` unfinished rows and their edges, and as many final rows if the table has final rows."""
        cells = self.board.cells
        # The last final row is borrowed, like the last unfinished ones.
        finals = max(rows, self.used.finals) + 1 if self._finals else 0
        each = self.growth.rows_a_ply
        room = Shape(rows + each * cells, finals, (rows + cells) * cells)
        edges_of_borrowed = np.full(cells, cells) if self.learner.occupied else np.arange(cells, 0, -1)
        first = np.zeros(room.rows + 1, np.uint32)
        held = self.graph.first_edge[: self.used.rows + 1]
        first[: held.size] = held
        first[rows:] = room.edges - cells * cells + np.append(0, np.cumsum(edges_of_borrowed)).repeat(each)[each - 1 :]
        # Each old array is freed before the next new one is made, and the hash table before all.  An interrupted growth
        # leaves no arrays.
        self.growth = self.growth._replace(slots=np.zeros(1, np.int64))
        graph, tables, visits, n_open = self.graph, self.tables, self.visits, self._n_open
        del self.graph, self.tables, self.visits
        if self._counted:
            visits = self._copied(visits.reshape(tables[0].shape), self._by_row[0], n_open, room).ravel()
        for name, by_row in zip(tables._fields, self._by_row, strict=True):
            tables = tables._replace(**{name: self._copied(getattr(tables, name), by_row, n_open, room)})
        for name, by_row in BY_ROW.items():
            graph = graph._replace(**{name: self._copied(getattr(graph, name), by_row, n_open, room)})
        self._link_finals(graph.child, n_open, room)
        parents = np.zeros(room.rows + N_SHARED + room.finals + 1, np.uint32)
        self.graph = graph._replace(first_edge=first, first_parent=parents)
        self.tables, self.visits = tables, visits
        self.graph.ply[rows : room.rows] = np.arange(cells).repeat(each)
        # Two a row or more, a power of two.  The borrowed final row would double them.
        slots = 1 << (2 * (rows + max(0, room.finals - 1)) - 1).bit_length()
        self.growth = self.growth._replace(slots=np.zeros(slots, np.int64))
        remember_all(self.graph, self.growth)

    def _copied(self, array: Any, by_row: bool, n_open: int, room: Shape) -> Any:
        """Return a copy of an array with the capacity `room`.

        by_row: True if its last axis is rows, False if it is edges.  n_open: its capacity for unfinished rows.
        """
        used = self.used
        if not by_row:
            new = np.zeros((*array.shape[:-1], room.edges), array.dtype)
            new[..., : used.edges] = array[..., : used.edges]
            return new
        new = np.zeros((*array.shape[:-1], room.rows + N_SHARED + room.finals), array.dtype)
        new[..., : used.rows] = array[..., : used.rows]
        after = N_SHARED + used.finals
        new[..., room.rows : room.rows + after] = array[..., n_open : n_open + after]
        return new

    def _link_finals(self, child: NDArray[np.uint32], n_open: int, room: Shape) -> None:
        """Link edges to shared and final rows, which move from row `n_open` to `room.rows`, in place."""
        for start in range(0, self.used.edges, 1 << 20):  # piece by piece: a mask of all edges takes too much memory
            piece = child[start : min(start + (1 << 20), self.used.edges)]
            piece[piece >= n_open] += np.uint32((room.rows - n_open) % (1 << 32))


def moves_in(board: Board, codes: NDArray[np.int64]) -> int:
    """Return the number of moves in unfinished positions: of their free cells, or with gravity of columns not full."""
    cells = range(board.cols if board.gravity else board.cells)
    return sum(int(np.count_nonzero(codes // 3**cell % 3 == 0)) for cell in cells)


def positions_in(state: State) -> tuple[int, int]:
    """Return the numbers of unfinished and final rows of a state on a growing board."""
    rows = int(np.argmax(state.code < 0))
    return rows, state.code.size - rows - N_SHARED


def grow(config: Config) -> GrowingTable:
    """Return a growing table with only the empty board of a configuration."""
    learner = learner_named(config.learner)
    return GrowingTable(
        config.board,
        learner,
        learner.worth(config.settings),
        symmetry=config.symmetry,
        key=stream_key(config.seed, NEW_ROWS),
        counted=config.alpha.power > 0,
    )


def bytes_a_row(config: Config, *, uneven: bool = False) -> float:
    """Return the approximate bytes of a row and its edges in training.

    uneven: True if the fixed opponent's moves are not equally likely, so that all moves are drawn from probabilities.
    """
    learner, board, cells = learner_named(config.learner), config.board, config.board.cells
    few = board.cols if board.gravity else cells * 0.75  # most rows are late in a game and have few moves
    edges = cells if learner.occupied else few
    by_row = sum(8 * (2 if axes.startswith("P") else 1) for axes, _ in learner.fields.values() if axes.endswith("S"))
    by_edge = sum(8 * (2 if axes.startswith("2") else 1) for axes, _ in learner.fields.values() if axes.endswith("E"))
    entries = (by_edge * edges if learner.by_moves else by_row) if config.alpha.power else 0
    # Rows: code, outcome, ply, first edge, hash table.  Edges: child, cell.
    taken = 14 + 32 + by_row + entries + edges * (5 + by_edge)
    if config.grown and learner.final_rows:  # as many final rows, without edges
        taken += 10 + 32 + by_row + entries + (0 if config.batch == 1 else 40)
    if config.batch != 1:
        taken += 53 + 16 * edges  # visit counts, scratch, lists; edge counts
    if (config.temperature is not None or uneven) and not config.grown:
        if config.batch != 1 and config.engine != "flow":  # for each seat: alias tables, draws of each slot
            taken += (2 + 24 * edges) * (2 if config.seat == "both" else 1)
        if config.opponent:
            taken += 8 * edges  # its move probabilities
    return taken


def bytes_needed(config: Config, *, uneven: bool = False) -> int:
    """Return an upper estimate of the bytes for training on an enumerated board; uneven: see `bytes_a_row`."""
    rows = most_positions(config.board) / (len(config.board.symmetries) if config.symmetry else 1)
    return math.ceil(rows * bytes_a_row(config, uneven=uneven))


def rows_within(config: Config, max_bytes: int) -> int:
    """Return how many unfinished rows of a growing board fit into `max_bytes`.  Raises BoardError below 10,000 rows."""
    rows = int(max_bytes / bytes_a_row(config))
    if rows < 10_000:
        raise BoardError(
            f"{max_bytes:,} bytes hold {rows:,} positions of board {config.board.name}, fewer than 10,000; "
            f"raise {flag('max_memory')}, or choose a smaller board"
        )
    return rows


def check_space(config: Config, max_bytes: int, *, uneven: bool = False) -> None:
    """Raise BoardError if the board needs more than `max_bytes` of memory, before any work starts.

    uneven: see `bytes_a_row`.
    """
    if config.grown or config.board.cells <= SMALL_CELLS:
        return
    needed = bytes_needed(config, uneven=uneven)
    if needed > max_bytes:
        board, images = config.board, len(config.board.symmetries)
        shared = images if config.symmetry else 1
        rows = most_positions(board) // shared
        most = board.cols if board.gravity else board.cells
        edges = sum(positions_of_ply(board, ply) * min(board.cells - ply, most) for ply in range(board.cells)) // shared
        remedy = "" if config.symmetry or images == 1 else f"{flag('symmetry', 'on')} needs 1/{images} of it, or "
        raise BoardError(
            f"board {board.name} has up to {rows:,} rows with {edges:,} edges, which take up to "
            f"{size_text(needed)}; {size_text(max_bytes)} may be used: {remedy}raise {flag('max_memory')}"
        )
