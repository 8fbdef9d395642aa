"""Boards too large to enumerate: a row and its edges are added when play first reaches the position.

The graph has room for more rows than it holds, and grows in doubling steps outside the kernels.  Its unfinished rows
stand in the order in which play reached them, not in ply order.  Behind the room for them stand rows for all that has
none of its own: `UNSEEN` positions, the ends of games by outcome, and forfeits.  They hold what such positions are
worth at the start, so that learners read a child's value without asking whether anybody has been there.

A new row looks up which of its children have rows, and is looked up by whoever has it for a child: both by code in one
hash table, whatever the order of moves that led there.  Where no room is left and none may be had, a position borrows
one of a few rows that are forgotten after the game: it plays as at its start value and learns for nothing.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_batch.board import DRAW, FIRST_WINS, SECOND_WINS, UNFINISHED, Board
from ttt_batch.compile import inlined, kernel
from ttt_batch.config import Config
from ttt_batch.enumeration import Places, completes, lowest_child, make_places, outcome_after
from ttt_batch.errors import BoardError
from ttt_batch.graph import Graph, edges_of, n_unfinished
from ttt_batch.learners import learner_named
from ttt_batch.learners.base import Learner, begin
from ttt_batch.state import State
from ttt_batch.streams import NEW_ROWS, stream_key

UNSEEN, FORFEIT, N_SHARED = 0, 4, 6
"""Rows behind the room for unfinished ones: UNSEEN + an outcome (1 to 3 for ends of games), FORFEIT + who did."""

SHARED_CODES = (-3, -4, -5, -6, -1, -2)
SHARED_OUTCOMES = (UNFINISHED, FIRST_WINS, SECOND_WINS, DRAW, SECOND_WINS, FIRST_WINS)

ROWS, EDGES, FINALS, LOST = range(4)
"""What `Growth.used` counts: unfinished rows, edges, final rows of their own, and positions met without room."""

FIRST_ROWS = 1 << 12
"""Room for rows that a board begins with."""

MAX_ROWS = (1 << 32) // 37
"""Unfinished rows at most: edges are numbered in 32 bits, and a row may have 36 of them."""

MIX_1, MIX_2, S32 = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(32)
TAG = (1 << 32) - 1


class Growth(NamedTuple):
    """What adding rows needs beside the graph.

    places: the board.  origin, place: int64[images, cells], where what stands on a cell of an image stands in the
    game, and the other way round.
    slots: int64, a power of two of them; 0 or a row + 1 above 32 bits of its code's hash.
    used: int64[4], see `ROWS`.
    marks: int64[2], bits of either player's cells, and images: int64[images], codes, of the game being played.
    finals: 1 where ends of games have rows of their own, else 0.  occupied: 1 where occupied cells are edges, else 0.
    key: uint64, of the random numbers that a learner may start a row with.
    """

    places: Places
    origin: Any
    place: Any
    slots: Any
    used: Any
    marks: Any
    images: Any
    finals: int
    occupied: int
    key: Any


@inlined
def hash_of(code: Any) -> Any:
    """64 mixed bits (uint64) of a code."""
    mixed = np.uint64(code) * MIX_1
    mixed = (mixed ^ (mixed >> S32)) * MIX_2
    return mixed ^ (mixed >> S32)


@inlined
def find_row(graph: Graph, growth: Growth, code: Any) -> Any:
    """The row of a code, or -1."""
    hashed = hash_of(code)
    mask = growth.slots.shape[0] - 1
    tag, slot = np.int64(hashed >> S32), np.int64(hashed & np.uint64(mask))
    while True:
        entry = growth.slots[slot]
        if entry == 0:
            return -1
        if entry & TAG == tag and graph.code[(entry >> 32) - 1] == code:
            return (entry >> 32) - 1
        slot = (slot + 1) & mask


@inlined
def remember(growth: Growth, code: Any, row: Any) -> None:
    """Put a row into the hash table, in place; its code is not yet there."""
    hashed = hash_of(code)
    mask = growth.slots.shape[0] - 1
    slot = np.int64(hashed & np.uint64(mask))
    while growth.slots[slot] != 0:
        slot = (slot + 1) & mask
    growth.slots[slot] = ((row + 1) << 32) | np.int64(hashed >> S32)


@inlined
def clear_board(growth: Growth) -> None:
    """Begin a game: no marks."""
    growth.marks[:] = 0
    growth.images[:] = 0


@inlined
def mark(growth: Growth, cell: Any, mover: Any) -> None:
    """Put the mark of `mover` (0 or 1) on a cell of the game, in place."""
    growth.marks[mover] |= np.int64(1) << cell
    for image in range(growth.images.shape[0]):
        growth.images[image] += (1 + mover) * growth.places.power[cell, image]


@inlined
def graph_cells(growth: Growth) -> Any:
    """Number of cells of the board."""
    return growth.places.power.shape[0]


@inlined
def show_code(growth: Growth, code: Any) -> Any:
    """Put the position of a code on the board of the game; return how many marks it has."""
    clear_board(growth)
    plies = 0
    for cell in range(graph_cells(growth)):
        player = code % 3
        code //= 3
        if player != 0:
            mark(growth, cell, player - 1)
            plies += 1
    return plies


@inlined
def lowest_image(growth: Growth) -> Any:
    """(code, number) of the image of the position with the lowest code, the first of equals."""
    lowest, number = growth.images[0], 0
    for image in range(1, growth.images.shape[0]):
        code = growth.images[image]
        number = image if code < lowest else number
        lowest = code if code < lowest else lowest
    return lowest, number


@inlined
def expand(graph: Graph, growth: Growth, ply: Any, image: Any, edge: Any) -> Any:
    """Write the edges of the position of the game, as its `image` has them, from `edge` on; return the next one."""
    n_open, n_cells, mover = n_unfinished(graph), graph_cells(growth), ply & 1
    taken, own = growth.marks[0] | growth.marks[1], growth.marks[mover]
    for cell in range(n_cells):
        here = growth.origin[image, cell]
        child = n_open + FORFEIT + mover
        if (taken >> here) & 1 == 0:
            outcome = outcome_after(growth.places, here, own | (np.int64(1) << here), mover, ply + 1 == n_cells)
            child = n_open + outcome
            if outcome == UNFINISHED or growth.finals:
                found = find_row(graph, growth, lowest_child(growth.places, growth.images, here, 1 + mover))
                child = found if found >= 0 else child
        elif not growth.occupied:
            continue
        graph.child[edge], graph.cell[edge] = child, cell
        edge += 1
    return edge


@inlined
def link(graph: Graph, growth: Growth, row: Any, ply: Any) -> None:
    """Let every row from which one move leads to the position of the game lead to `row`, in place."""
    mover = (ply - 1) & 1
    for cell in range(graph_cells(growth)):
        if (growth.marks[mover] >> cell) & 1 == 0:
            continue
        lowest = growth.images[0] - (1 + mover) * growth.places.power[cell, 0]
        for image in range(1, growth.images.shape[0]):
            code = growth.images[image] - (1 + mover) * growth.places.power[cell, image]
            lowest = code if code < lowest else lowest
        parent = find_row(graph, growth, lowest)
        if parent < 0 or parent >= n_unfinished(graph):  # a final one, in a file that somebody has forged
            continue
        lo, hi = edges_of(graph, parent)
        # A parent that is its own image in several ways has as many moves here.
        for image in range(growth.images.shape[0]):
            if growth.images[image] - (1 + mover) * growth.places.power[cell, image] == lowest:
                for edge in range(lo, hi):
                    if graph.cell[edge] == growth.place[image, cell]:
                        graph.child[edge] = row


@inlined
def has_room(graph: Graph, growth: Growth, rows: Any) -> Any:
    """Whether there is room for `rows` more unfinished rows and as many final ones."""
    n_cells = graph_cells(growth)
    n_edges = graph.child.shape[0] - n_cells * n_cells
    finals = growth.used[FINALS] + rows * growth.finals
    return (
        growth.used[ROWS] + rows <= n_unfinished(graph) - n_cells
        and growth.used[EDGES] + rows * n_cells <= n_edges
        and finals <= graph.code.shape[0] - n_unfinished(graph) - N_SHARED - growth.finals
    )


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
def is_legal(graph: Graph, edge: Any) -> Any:
    """Whether a move marks a free cell: all but those that forfeit."""
    code = graph.code[graph.child[edge]]
    return code != -1 and code != -2


@inlined
def add_row(tables: Any, graph: Graph, growth: Growth, ply: Any, worth: Any) -> Any:
    """A row for the unfinished position of the game, in place: its own, or a borrowed one where there is no room."""
    code, image = lowest_image(growth)
    if not has_room(graph, growth, 1):
        growth.used[LOST] += 1
        return borrow_row(tables, graph, growth, code, image, ply, worth)
    row = growth.used[ROWS]
    graph.code[row], graph.ply[row] = code, ply
    edge = expand(graph, growth, ply, image, growth.used[EDGES])
    graph.first_edge[row + 1] = edge
    growth.used[ROWS], growth.used[EDGES] = row + 1, edge
    remember(growth, code, row)
    begin(tables, graph, row, worth, growth.key)
    link(graph, growth, row, ply)
    return row


@inlined
def add_final(tables: Any, graph: Graph, growth: Growth, ply: Any, shared: Any, worth: Any) -> Any:
    """A row of its own for the final position of the game, in place; the last of all, lent to such, without room.

    ply: marks on the board.  shared: the row that stands for all final positions of its outcome.
    """
    if not has_room(graph, growth, 1):
        growth.used[LOST] += 1
        row = graph.code.shape[0] - 1
        graph.ply[row], graph.outcome[row] = ply, graph.outcome[shared]
        begin(tables, graph, row, worth, growth.key)
        return np.int64(row)
    row = n_unfinished(graph) + N_SHARED + growth.used[FINALS]
    code, _ = lowest_image(growth)
    graph.code[row], graph.ply[row], graph.outcome[row] = code, ply, graph.outcome[shared]
    growth.used[FINALS] += 1
    remember(growth, code, row)
    begin(tables, graph, row, worth, growth.key)
    link(graph, growth, row, ply)
    return row


@kernel
def row_at(tables: Any, graph: Graph, growth: Growth, code: Any, ply: Any, worth: Any) -> Any:
    """(row, image) of an unfinished position, a borrowed row where it has none of its own; `growth` is scratch.

    Nothing is added: what the position is worth by the tables as they are.
    """
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


@kernel
def remember_all(graph: Graph, growth: Growth) -> None:
    """Fill an empty hash table with every row that the graph holds."""
    n_open = n_unfinished(graph)
    for row in range(growth.used[ROWS]):
        remember(growth, graph.code[row], row)
    for row in range(n_open + N_SHARED, n_open + N_SHARED + growth.used[FINALS]):
        remember(growth, graph.code[row], row)


@inlined
def outcome_of_marks(growth: Growth) -> Any:
    """The outcome of the position of the game, or -1 where no game comes to it.

    Because there are not as many marks as turns leave, or whoever would move next has a line.
    """
    n_cells = graph_cells(growth)
    plies, ahead = 0, 0
    for cell in range(n_cells):
        first, second = (growth.marks[0] >> cell) & 1, (growth.marks[1] >> cell) & 1
        plies += first + second
        ahead += first - second
    if ahead != 0 and ahead != 1:
        return -1
    outcome = DRAW if plies == n_cells else UNFINISHED
    for cell in range(n_cells):
        for player in range(2):
            if (growth.marks[player] >> cell) & 1 != 0 and completes(growth.places, cell, growth.marks[player]):
                if player != 1 - ahead:
                    return -1
                outcome = FIRST_WINS + (player ^ growth.places.misere)
    return outcome


@inlined
def forget_borrowed(graph: Graph, growth: Growth, visits: Any) -> None:
    """Set the visits (one per entry of the table, in place) of all borrowed rows back to none."""
    n_open, n_rows = n_unfinished(graph), graph.code.shape[0]
    if visits.shape[0] == graph.child.shape[0]:
        for entry in range(np.int64(graph.first_edge[n_open - graph_cells(growth)]), visits.shape[0]):
            visits[entry] = 0.0
        return
    for start in range(0, visits.shape[0], n_rows):
        for row in range(n_open - graph_cells(growth), n_open):
            visits[start + row] = 0.0
        visits[start + n_rows - 1] = 0.0 if growth.finals else visits[start + n_rows - 1]


@kernel
def expand_all(graph: Graph, growth: Growth) -> Any:
    """Write the edges of every row that the graph holds, from the codes alone.

    Returns -1, or the first row whose code is no position's, not the lowest of its images, not of its ply, or has
    another outcome.
    """
    edge = 0
    for row in range(growth.used[ROWS]):
        plies = show_code(growth, graph.code[row])
        code, _ = lowest_image(growth)
        if code != graph.code[row] or plies != graph.ply[row] or outcome_of_marks(growth) != UNFINISHED:
            return row
        # The row's own orientation, also where its first image has the same code by another permutation.
        edge = expand(graph, growth, plies, 0, edge)
        graph.first_edge[row + 1] = edge
    growth.used[EDGES] = edge
    finals = n_unfinished(graph) + N_SHARED
    for row in range(finals, finals + growth.used[FINALS]):
        show_code(growth, graph.code[row])
        if lowest_image(growth)[0] != graph.code[row] or outcome_of_marks(growth) != graph.outcome[row]:
            return row
    return -1


class Shape(NamedTuple):
    """How much there is, or is room for: unfinished rows, final rows of their own, edges."""

    rows: int
    finals: int
    edges: int


class Grown:
    """A board's graph as far as play has come, the tables over it, and how both grow.

    graph, tables, visits, growth: with more room than they use; replaced when they grow, so take them anew after that.
    max_rows: unfinished rows at most.
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
        """Only the empty board.  counted: whether a table of visits is kept, too (a step size by visits)."""
        self.board, self.learner, self.worth, self.symmetry = board, learner, worth, symmetry
        self.max_rows = max_rows
        self._finals = int(learner.final_rows)
        images = np.array(board.images(symmetry), np.int64)
        places = make_places(board, symmetry)
        used = np.zeros(4, np.int64)
        codes = np.zeros(images.shape[0], np.int64)
        self.growth = Growth(
            *(places, images, np.argsort(images, axis=1), np.zeros(1, np.int64), used, np.zeros(2, np.int64), codes),
            *(self._finals, int(learner.occupied), key),
        )
        shared = _shared_rows()
        self.graph = shared
        self.tables = learner.start(shared, worth, np.random.default_rng(0))
        self._counted = counted
        self.visits = np.zeros(self.tables[0].size if counted else 0)
        self._resize(FIRST_ROWS)
        add_first(self.tables, self.graph, self.growth, worth)

    @property
    def used(self) -> Shape:
        """What there is."""
        rows, edges, finals, _ = self.growth.used.tolist()
        return Shape(rows, finals, edges)

    @property
    def positions(self) -> int:
        """Positions that have rows of their own."""
        return self.used.rows + self.used.finals

    @property
    def lost(self) -> int:
        """How often a position was met for which there was no room."""
        return int(self.growth.used[LOST])

    @property
    def may_grow(self) -> bool:
        """Whether more rows may be had than there is room for."""
        return bool(self.graph.first_edge.size - 1 - self.board.cells < self.max_rows)

    def limit(self, max_rows: int) -> None:
        """Have `max_rows` unfinished rows at most, or those that there are."""
        self.max_rows = max(max_rows, self.used.rows)
        if self.graph.first_edge.size - 1 - self.board.cells > self.max_rows:
            self._resize(self.max_rows)

    def enlarge(self) -> None:
        """Make room for twice as many rows, or as many as there may be."""
        self._resize(min(2 * (self.graph.first_edge.size - 1 - self.board.cells), self.max_rows))

    def compact(self) -> "tuple[Graph, Any, NDArray[np.float64]]":
        """The graph, the tables and the visits without room for more, copied."""
        used = self.used
        return self._resized(used, self.graph.first_edge[: used.rows + 1])

    def fresh(self) -> Any:
        """The compact tables, had nothing been learnt."""
        graph, tables, _ = self.compact()
        shared = self.learner.start(_shared_rows(), self.worth, np.random.default_rng(0))
        for name, table, start in zip(tables._fields, tables, shared, strict=True):
            if self.learner.fields[name][0].endswith("S"):
                table[..., self.used.rows : self.used.rows + N_SHARED] = start
        begin_rows(tables, graph, 0, self.worth, self.growth.key)
        return tables

    def cut(self, state: State, rows: int, finals: int) -> State:
        """What `padded` was made of: a state with so many unfinished and final rows."""
        graph = self.compact()[0]
        used = self.used
        kept = np.concatenate([np.arange(rows), np.arange(used.rows, used.rows + N_SHARED + finals)])
        edges = int(graph.first_edge[rows])
        by_row = [self.learner.fields[name][0].endswith("S") for name in self.tables._fields]

        def shortened(table: Any, *, by_row: bool) -> Any:
            return np.ascontiguousarray(table[..., kept] if by_row else table[:edges])

        tables = [shortened(table, by_row=own) for table, own in zip(state.tables, by_row, strict=True)]
        visits = state.visits
        if visits.size:
            visits = shortened(visits.reshape(state.tables[0].shape), by_row=by_row[0]).ravel()
        code, outcome = graph.code[kept], graph.outcome[kept]
        return State(state.games, self.learner.tables(*tables), visits, state.outcomes, code, outcome)

    def go_back(self, rows: int, finals: int) -> None:
        """Forget all but the first `rows` unfinished and `finals` final rows, about which nothing was learnt since."""
        graph, tables, visits = self.compact()
        state = State(0, tables, visits, np.zeros(3, np.int64), graph.code, graph.outcome)
        state = self.cut(state, rows, finals)
        self.restore(state.code, state.outcome, state.tables, state.visits)
        self.limit(self.max_rows)

    def padded(self, state: State) -> State:
        """A state from when there were fewer rows, with the others at their start values."""
        graph, tables, visits = self.compact()
        rows, _ = positions_in(state)
        by_edge = self.learner.fields[self.tables._fields[0]][0] == "E"
        begin_rows(tables, graph, rows, self.worth, self.growth.key)
        for new, old in zip(tables, state.tables, strict=True):
            _put_back(new, old, rows, self.used, by_edge=by_edge)
        if visits.size:
            visits = visits.reshape(tables[0].shape)
            visits[:] = 0
            _put_back(visits, state.visits.reshape(state.tables[0].shape), rows, self.used, by_edge=by_edge)
        return State(state.games, tables, visits.ravel(), state.outcomes, graph.code, graph.outcome)

    def restore(self, code: NDArray[np.int64], outcome: NDArray[np.int8], tables: Any, visits: Any) -> None:
        """Take over what `compact` gave: the codes and outcomes of its rows, its tables and its visits.

        Raises BoardError where the codes are none that play can have come to.
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
            raise BoardError(f"its positions are not those that play on board {self.board.name} can come to")
        self.growth.used[:] = rows, 0, finals, 0
        plies = plies_of(code, self.board.cells)
        graph = _shared_rows()._replace(
            code=code,
            outcome=outcome,
            ply=plies,
            first_edge=np.zeros(rows + 1, np.uint32),
        )
        width = np.full(rows, self.board.cells) - (0 if self.learner.occupied else plies[:rows])
        edges = int(width.sum())
        for name, table, now in zip(tables._fields, tables, self.tables, strict=True):
            entries = code.size if self.learner.fields[name][0].endswith("S") else edges
            if table.dtype != now.dtype or table.shape != (*now.shape[:-1], entries):
                raise BoardError(f"its table {name} does not fit its positions")
        if self._counted and visits.size not in (0, tables[0].size):
            raise BoardError("its table of visits does not fit its positions")
        self.graph = graph._replace(child=np.zeros(edges, np.uint32), cell=np.zeros(edges, np.int8))
        self.tables = tables
        counted = visits if visits.size else np.zeros(tables[0].size)
        self.visits = counted if self._counted else np.zeros(0)
        self.growth.used[EDGES] = edges
        self._resize(max(FIRST_ROWS, 1 << (rows - 1).bit_length()))
        wrong = expand_all(self.graph, self.growth)
        if wrong >= 0:
            raise BoardError(
                f"code {self.graph.code[wrong]} is no position that play on board {self.board.name} comes to, "
                "or its outcome is another"
            )

    def _resize(self, rows: int) -> None:
        """Give the graph room for `rows` unfinished rows, as many final ones where they have any, and their edges."""
        cells = self.board.cells
        # The last final row is borrowed, as the last unfinished ones are.
        finals = max(rows, self.used.finals) + 1 if self._finals else 0
        room = Shape(rows + cells, finals, (rows + cells) * cells)
        edges_of_borrowed = np.full(cells, cells) if self.learner.occupied else np.arange(cells, 0, -1)
        first = np.zeros(room.rows + 1, np.uint32)
        held = self.graph.first_edge[: self.used.rows + 1]
        first[: held.size] = held
        first[rows:] = room.edges - cells * cells + np.append(0, np.cumsum(edges_of_borrowed))
        self.graph, self.tables, self.visits = self._resized(room, first)
        self.graph.ply[rows : room.rows] = np.arange(cells)
        slots = np.zeros(1 << (2 * (rows + room.finals)).bit_length(), np.int64)
        self.growth = self.growth._replace(slots=slots)
        remember_all(self.graph, self.growth)

    def _resized(self, room: Shape, first_edge: Any) -> "tuple[Graph, Any, NDArray[np.float64]]":
        """Graph, tables and visits with other room, holding what these hold."""
        used, old = self.used, self.graph
        n_open = old.first_edge.size - 1
        tail = slice(n_open, n_open + N_SHARED + used.finals)

        def rows(array: Any) -> Any:
            """An array whose last axis is rows, with other room."""
            new = np.zeros((*array.shape[:-1], room.rows + N_SHARED + room.finals), array.dtype)
            new[..., : used.rows] = array[..., : used.rows]
            new[..., room.rows : room.rows + N_SHARED + used.finals] = array[..., tail]
            return new

        def edges(array: Any) -> Any:
            new = np.zeros(room.edges, array.dtype)
            new[: used.edges] = array[: used.edges]
            return new

        child = edges(old.child)
        for start in range(0, used.edges, 1 << 20):  # piece by piece: a mask of all would take memory of its own
            piece = child[start : min(start + (1 << 20), used.edges)]
            piece[piece >= n_open] += np.uint32((room.rows - n_open) % (1 << 32))
        graph = Graph(
            code=rows(old.code),
            outcome=rows(old.outcome),
            ply=rows(old.ply),
            first_edge=first_edge.copy(),
            child=child,
            cell=edges(old.cell),
            legal=np.zeros(0, np.uint32),
            first_parent=np.zeros(room.rows + N_SHARED + room.finals + 1, np.uint32),
            parent=np.zeros(0, np.uint32),
            ply_start=np.zeros(1, np.uint32),
        )
        resized = [
            (rows if self.learner.fields[name][0].endswith("S") else edges)(table)
            for name, table in self.tables._asdict().items()
        ]
        visits = self.visits
        if self._counted:  # also where there is no entry yet: action values begin without edges
            entries = visits.reshape(self.tables[0].shape)
            first = self.learner.fields[self.tables._fields[0]][0]
            visits = (rows if first.endswith("S") else edges)(entries).ravel()
        return graph, self.learner.tables(*resized), visits


def positions_in(state: State) -> tuple[int, int]:
    """Unfinished and final rows of a state on a growing board."""
    rows = int(np.argmax(state.code < 0))
    return rows, state.code.size - rows - N_SHARED


def grow(config: Config) -> Grown:
    """The empty board of a configuration."""
    learner = learner_named(config.learner)
    return Grown(
        config.shape,
        learner,
        learner.worth(config.settings),
        symmetry=config.symmetry,
        key=stream_key(config.seed, NEW_ROWS),
        counted=config.alpha_schedule.power > 0,
    )


def _put_back(new: Any, old: Any, rows: int, used: Shape, *, by_edge: bool) -> None:
    """Copy what a compact table held when there were fewer rows into one of now, in place."""
    if by_edge:
        new[: old.size] = old
    else:
        new[..., :rows] = old[..., :rows]
        new[..., used.rows : used.rows + old.shape[-1] - rows] = old[..., rows:]


def _shared_rows() -> Graph:
    """A graph of nothing but the rows that stand for positions without one of their own."""
    none = np.zeros(0, np.uint32)
    return Graph(
        code=np.array(SHARED_CODES, np.int64),
        outcome=np.array(SHARED_OUTCOMES, np.int8),
        ply=np.zeros(N_SHARED, np.int8),
        first_edge=np.zeros(1, np.uint32),
        child=none,
        cell=np.zeros(0, np.int8),
        legal=none,
        first_parent=none,
        parent=none,
        ply_start=np.zeros(1, np.uint32),
    )


def plies_of(code: NDArray[np.int64], cells: int) -> NDArray[np.int8]:
    """Marks on the board of each code; 0 for negative ones."""
    rest, plies = np.maximum(code, 0), np.zeros(code.size, np.int8)
    for _ in range(cells):
        plies += rest % 3 != 0
        rest //= 3
    return plies
