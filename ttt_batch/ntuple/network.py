"""N-tuple networks: a dense table of weights for each tuple of cells, and which weights are shared.

A position's value is the sum of one weight per tuple.  The content of its cells is the weight's number, by one of two
codings.  With `MARKS` the number is in base 3: 0 an empty cell, 1 the first player's mark, 2 the second's, the tuple's
first cell the lowest digit.  With `COLUMNS`, for boards with gravity, each run of h cells in a column is a digit in
base 2**(h + 1).  It is 0 while no cell of the run may be marked.  Otherwise its lowest bits are the marks from below, 1
the second player's, and the next bit is 1 for the cell that may be marked next.  So no number stands for a floating
mark.

Tuples that are images of each other share a table, and patterns that a symmetry of their tuple maps to each other share
a weight.  So images of a position have one value.

Tuples are given by name, list or file.  `lines` are the winning lines; `lines+below` the same, each with
the cells just below it unless it stands in a column; `segments` all runs of k and of k + 1 cells, `segments:N` those of
N; `blocks:RxC` all rectangles of R x C cells, lying and standing; `columns:N` all sets of N whole columns.  Items are
separated by commas, and sizes after `blocks:` belong to it: `segments,blocks:3x3,3x4`.  Other tuples are cells by name,
separated by spaces, with semicolons or ends of lines between tuples: `a1 b1 c1; a1 b2 c3`, or such text in a file.

Evaluation of moves by a network: its sum of weights, its preferred moves, and the network as a player.
"""

import itertools
import math
import re
from collections.abc import Container, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_batch.compiler.bits import NONE, ONE, all_cells, lowest_bit, single
from ttt_batch.compiler.jit import Int32Array, Int64, Int64Array, Uint32Array, inlined, kernel
from ttt_batch.core.errors import UsageError, quoted
from ttt_batch.core.files import exists, open_ordinary, shown
from ttt_batch.core.text import count_text
from ttt_batch.evaluation.search import copy_for_thread, mark_cell, reset, tied_cells, unmark_cell
from ttt_batch.games.bitboards import Lines, LineView, open_among
from ttt_batch.games.board import Board
from ttt_batch.games.notation import cell_of

MARKS, COLUMNS = "marks", "columns"
"""Codings: by the marks of a tuple's cells, or by its runs of cells in columns, where marks fall."""

MAX_CELLS = 12
"""Cells of a tuple coded by marks: its table has 3**12 weights."""

MAX_BITS = 21
"""Bits of a number of a tuple coded by columns, one for each cell and one for each run."""

MANY_CELLS = 36
"""Cells of boards with gravity from which on proofs begin with hunts.

Boards of exactly 36 cells have more tuples by default: with them 6x6x4-gravity lost fewer games after equally many
(one seed).  Larger boards would have too many weights.
"""

MAX_FILE = 1 << 20
"""Bytes of a file of tuples."""

MAX_TEXT = 40_000
"""Characters of all tuples written out: a run keeps them in its configuration."""

Tuples = list[tuple[int, ...]]


def default_coding(board: Board) -> str:
    """Return the coding of new networks on a board."""
    return COLUMNS if board.gravity else MARKS


def parse_tuples(given: str, board: Board, coding: str = MARKS, *, files: bool = True) -> tuple[str, Tuples]:
    """Return the text for a configuration (names, or all cells of a file), and the distinct tuples.

    coding: MARKS or COLUMNS, which limits their length.  files: allow the name of a file.
    Raises UsageError for invalid tuples, and TttBatchError for a file that cannot be read.
    """
    if given == "auto":
        given = default_tuples(board, coding)
    names = _names(given)
    if names is None:
        found = _listed(given, board, coding, files)
        text = "; ".join(" ".join(map(board.cell_name, cells)) for cells in found)
        if len(text) > MAX_TEXT:
            raise UsageError(
                f"{len(found):,} tuples take {len(text):,} characters; a run has room for {MAX_TEXT:,}: give fewer (no "
                "images of others are needed)"
            )
    else:
        found = [cells for name in names for cells in _named(name, board, coding)]
        text = ",".join(names)
    kept = list({frozenset(cells): cells for cells in reversed(found)}.values())[::-1]
    if not kept:
        raise UsageError(
            f"tuples {quoted(given)}: there are none on board {board.name}; choose shorter ones, such as segments:2"
        )
    for cells in kept:
        _check_runs(cells, board, coding)
    return text, kept


class FileText(str):
    """Text of the tuples in a file.  path: the file."""

    path: Path


def text_of_tuples(given: object) -> str:
    """Return the input of `parse_tuples` with a file's lines in place of its name, so that the file may disappear.

    Raises UsageError for a file that cannot be read.
    """
    text = str(given).strip()
    path = file_of_tuples(text)
    if path is None:
        return text
    lines = [line.partition("#")[0].strip() for line in re.split(r"[;\n]", _read(path))]
    found = FileText("; ".join(filter(None, lines)) or str(path))
    found.path = path
    return found


def file_of_tuples(given: str | None) -> Path | None:
    """Return the file that a text names, if it exists."""
    if not given or ";" in given or _names(given) is not None or not exists(Path(given)):
        return None
    return Path(given)


def default_tuples(board: Board, coding: str = MARKS) -> str:
    """Return the default: lines if they cross the whole board, otherwise segments and blocks.

    Coded by columns: lines with the cells below, and blocks, or on small boards columns.
    """
    if coding == COLUMNS and min(board.rows, board.cols) >= 4:
        lines = "lines+below" if 3 * board.k <= MAX_BITS else "lines"
        more = ",blocks:3x5" if board.cells == MANY_CELLS and min(board.rows, board.cols) >= 5 else ""
        return f"{lines},blocks:4x4{more}"
    if coding == COLUMNS:
        widths = [width for width in (3, 2, 1) if width <= board.cols and width * (board.rows + 1) <= MAX_BITS]
        return ",".join(["lines", *(f"columns:{width}" for width in widths[:1])])
    if board.k == board.rows == board.cols:
        return "lines"
    blocks = [f"{rows}x{cols}" for rows, cols in ((3, 3), (3, 4)) if _fits(board, rows, cols)]
    return ",".join(["segments", *(f"blocks:{block}" for block in blocks)])


def _fits(board: Board, rows: int, cols: int) -> bool:
    return (rows <= board.rows and cols <= board.cols) or (rows <= board.cols and cols <= board.rows)


def _names(given: str) -> list[str] | None:
    """Return the names in a list, with `blocks:` before every size of blocks; None for other texts."""
    items, names = [item.strip().lower() for item in given.split(",")], list[str]()
    for item in items:
        if re.fullmatch(r"\d+x\d+", item) and names and names[-1].startswith("blocks:"):
            item = f"blocks:{item}"
        if not re.fullmatch(r"lines(\+below)?|segments(:\d{1,9})?|columns:\d{1,9}|blocks:\d{1,9}x\d{1,9}", item):
            return None
        names.append(item)
    return names


def _named(name: str, board: Board, coding: str) -> Tuples:
    """Return the tuples of a name, in order.  Raises UsageError if they are longer than any tuple may be."""
    kind, _, size = name.partition(":")
    if kind == "columns":
        _check_length(name, int(size) * board.rows, coding)
        columns = [range(board.cells - board.cols + col, -1, -board.cols) for col in range(board.cols)]
        return [tuple(itertools.chain(*some)) for some in itertools.combinations(columns, int(size))]
    if kind == "blocks":
        rows, cols = map(int, size.split("x"))
        _check_length(name, rows * cols, coding)
        return [
            tuple((row + i) * board.cols + col + j for i in range(high) for j in range(wide))
            for high, wide in dict.fromkeys([(rows, cols), (cols, rows)])
            for row in range(board.rows - high + 1)
            for col in range(board.cols - wide + 1)
        ]
    lengths = [int(size)] if size else [board.k] if kind.startswith("lines") else [board.k, board.k + 1]
    fitting = [length for length in lengths if length <= max(board.rows, board.cols)]
    for length in fitting if kind == "segments" else lengths:
        _check_length(name, length if kind != "lines+below" else 2 * length, coding)
    if kind == "lines+below":
        return [(*line, *_below(line, board)) for line in board.lines]
    return [line for length in fitting for line in Board(board.rows, board.cols, length).lines]


def _below(line: tuple[int, ...], board: Board) -> list[int]:
    """Return the cells of the board just below those of a line; none for a line in a column."""
    if line[0] % board.cols == line[1 % len(line)] % board.cols:
        return []
    return [cell + board.cols for cell in line if cell + board.cols < board.cells]


def _check_length(name: str, cells: int, coding: str) -> None:
    most = MAX_CELLS if coding == MARKS else MAX_BITS - 1
    if not 1 <= cells <= most:
        raise UsageError(f"tuples {quoted(name)} have {cells} cells; a tuple has 1 to {most}: choose others")


def _check_runs(cells: tuple[int, ...], board: Board, coding: str) -> None:
    """Raise UsageError for a tuple coded by columns whose table would be too large."""
    runs = len(digits_of(cells, board, coding))
    if coding == COLUMNS and len(cells) + runs > MAX_BITS:
        raise UsageError(
            f"tuple {quoted(' '.join(map(board.cell_name, cells)))} has {len(cells)} cells and "
            f"{count_text(runs, 'run')} of cells in a column, together more than {MAX_BITS}: choose others"
        )


def _listed(given: str, board: Board, coding: str, files: bool) -> Tuples:
    """Return tuples of cells from a text or a file."""
    where, text = f"tuples {quoted(given)}", given
    words = given.split()
    # A text that begins with a cell is not a file's name, so the message names the wrong cell.
    if files and ";" not in given and words and cell_of(words[0], board) is None:
        where, text = f"tuples of {shown(Path(given))}", _read(Path(given))
    found = []
    for line in re.split(r"[;\n]", text):
        cells = line.partition("#")[0].split()
        if not cells:
            continue
        named = tuple(_cell(where, cell, board) for cell in cells)
        for number, cell in enumerate(named):
            if cell in named[:number]:
                raise UsageError(f"{where}: cell {cells[number]} stands twice in {quoted(line.strip())}; leave one out")
        _check_length(line.strip(), len(named), coding)
        found.append(named)
    if not found:
        raise UsageError(f"{where}: there are none; write the cells of a tuple in each line, such as a1 b1 c1")
    return found


def _cell(where: str, name: str, board: Board) -> int:
    cell = cell_of(name, board)
    if cell is None:
        last = board.cell_name(board.cells - 1)
        raise UsageError(f"{where}: {quoted(name)} is no cell of board {board.name}; its last one is {last}")
    return cell


def _read(path: Path) -> str:
    """Return the text of a file of tuples.  Raises UsageError if it is unreadable or too long."""
    try:
        with open_ordinary(path) as file:
            content = file.read(MAX_FILE + 1)
        text = content.decode("utf-8")
    except (OSError, ValueError):
        raise UsageError(
            f"tuples {quoted(str(path))} are neither lines, segments, lines+below, blocks:RxC, columns:N nor a file "
            "that can be read; choose one of these, or write cells such as 'a1 b1 c1; a2 b2 c2'"
        ) from None
    if len(content) > MAX_FILE:  # not within `try`: a UsageError is a ValueError
        raise UsageError(f"{shown(path)} is too long for tuples: at most 1 MiB")
    return text


SHARING = ("symmetry", "translation", "none")
"""Kinds of sharing: tuples share weights that the board's symmetries turn into each other, also those of the same shape
elsewhere on the board, or none do."""


class Network(NamedTuple):
    """The shape of a network: `N` tuples, `W` weights of `K` kinds.

    Indices are uint32, so that none is checked for being negative.

    offset: [N], the weight of each tuple on the empty board.
    start: [cells + 1]; the tuples through a cell are `through[start[cell] : start[cell + 1]]`, in whose numbers a mark
    of player p there counts `power[p]` (each as long as `through`).
    place: [N + 1]; the cells of a tuple are `cell[place[n] : place[n + 1]]`, in whose number they count `digit[p]`.
    Coded by columns these include the cells below its runs.
    fall: distance to the cell below, in numbers; 0 if coded by marks.
    kind: [W], weights that are always the same have one number, below `K`.
    kind_start: [K + 1]; `members[kind_start[k] : kind_start[k + 1]]` ([W] in all) are the weights of a kind.
    """

    offset: Uint32Array
    start: Uint32Array
    through: Uint32Array
    power: Uint32Array
    place: Uint32Array
    cell: Uint32Array
    digit: Uint32Array
    fall: int
    kind: Uint32Array
    kind_start: Uint32Array
    members: Uint32Array


class PlacedTuple(NamedTuple):
    """One tuple of a network.  cells: in the order of its table's tuple.  table: number of its table."""

    cells: tuple[int, ...]
    table: int


class WeightTable(NamedTuple):
    """A table of weights.

    digits: the digits of its numbers, each as places in a tuple of this table; with MARKS one place each.
    sizes: the values of each digit.  worth: of a unit of each digit.
    turns: the symmetries of its tuple, the identity included, as the digit to which each digit moves.
    """

    digits: list[tuple[int, ...]]
    sizes: list[int]
    worth: list[int]
    turns: set[tuple[int, ...]]

    @property
    def weights(self) -> int:
        """Return its number of weights."""
        return math.prod(self.sizes)


class Layout(NamedTuple):
    """All tuples of a network, and its tables."""

    placed: list[PlacedTuple]
    tables: list[WeightTable]


def weights_of(tuples: Tuples, board: Board, sharing: str, coding: str = MARKS) -> int:
    """Return the number of weights of one player's network, without allocating it."""
    return sum(table.weights for table in layout_of(tuples, board, sharing, coding).tables)


def make_network(tuples: Tuples, board: Board, sharing: str, coding: str = MARKS) -> Network:
    """Return the network of these tuples and of all their images on the board.

    sharing: one of `SHARING`.  coding: MARKS or COLUMNS.
    """
    placed, tables = layout_of(tuples, board, sharing, coding)
    first = np.concatenate([[0], np.cumsum([table.weights for table in tables])]).astype(np.uint32)
    leader = np.concatenate([_leaders(table) + start for table, start in zip(tables, first[:-1], strict=True)])
    # A leader's kind is the number of leaders before it: no sorting.
    number = np.cumsum(leader == np.arange(leader.size, dtype=np.uint32), dtype=np.uint32)
    kind = number[leader] - np.uint32(1)
    kind_start = np.concatenate([[0], np.cumsum(np.bincount(kind))]).astype(np.uint32)
    members = np.zeros_like(kind)
    list_members(kind, kind_start[:-1].copy(), members)
    read = [reads_of(one, tables[one.table], board, coding) for one in placed]
    # What counts from the start: below the board there is nothing that a run rests on.
    offset = first[[one.table for one in placed]]
    offset += np.array([sum(r.powers[0] for r in each if r.cell >= board.cells) for each in read], np.uint32)
    read = [[r for r in each if r.cell < board.cells] for each in read]
    cells = [r.cell for each in read for r in each]
    digits = np.array([r.powers for each in read for r in each], np.uint32).T.copy()
    numbers = np.repeat(np.arange(len(placed)), list(map(len, read)))
    by_cell = np.argsort(cells, kind="stable")
    return Network(
        offset=offset,
        start=np.searchsorted(np.array(cells)[by_cell], np.arange(board.cells + 1)).astype(np.uint32),
        through=numbers[by_cell].astype(np.uint32),
        power=digits[:, by_cell],
        place=np.searchsorted(numbers, np.arange(len(placed) + 1)).astype(np.uint32),
        cell=np.array(cells, np.uint32),
        digit=digits,
        fall=board.cols if coding == COLUMNS else 0,
        kind=kind,
        kind_start=kind_start,
        members=members,
    )


class Read(NamedTuple):
    """A cell that a tuple reads.

    cell: its number; not on the board below the lowest row.  powers: what a mark of each player there counts, the same
    for both below a run.
    """

    cell: int
    powers: tuple[int, int]


def reads_of(placed: PlacedTuple, table: WeightTable, board: Board, coding: str) -> list[Read]:
    """Return what a tuple reads: its cells in their order, and coded by columns the cells below its runs."""
    feet = [] if coding == MARKS else [placed.cells[digit[0]] + board.cols for digit in table.digits]
    return list(map(Read, [*placed.cells, *feet], powers_of(table, coding)))


def powers_of(table: WeightTable, coding: str) -> list[tuple[int, int]]:
    """Return what a mark of each player counts on each cell that a tuple of a table reads."""
    powers = dict[int, tuple[int, int]]()
    for digit, worth in zip(table.digits, table.worth, strict=True):
        powers |= {place: (worth << height, worth << height + 1) for height, place in enumerate(digit)}
    feet = [] if coding == MARKS else [(worth, worth) for worth in table.worth]
    return [*(powers[place] for place in range(len(powers))), *feet]


@kernel
def list_members(kind: Uint32Array, end: Uint32Array, members: Uint32Array) -> None:
    """Write the weights of each kind, one kind after the other, into `members`, in place.

    kind, members: uint32[W].  end: uint32[K], the start of each kind in `members`; changed to its end, in place.
    """
    for weight in range(kind.shape[0]):
        members[end[kind[weight]]] = weight
        end[kind[weight]] += np.uint32(1)


def layout_of(tuples: Tuples, board: Board, sharing: str, coding: str = MARKS) -> Layout:
    """Return these tuples with all their images on the board, and the tables that they share."""
    placed: dict[frozenset[int], PlacedTuple] = {}
    tables: list[WeightTable] = []
    for cells in tuples:
        if frozenset(cells) in placed:
            continue
        digits = digits_of(cells, board, coding)
        sizes = [3 if coding == MARKS else 2 << len(digit) for digit in digits]
        worth = [math.prod(sizes[:number]) for number in range(len(sizes))]
        digit_at = {cells[digit[0]]: number for number, digit in enumerate(digits)}
        tables.append(WeightTable(digits, sizes, worth, set()))
        for image in _images(cells, board, sharing):
            if set(cells) == set(image):
                tables[-1].turns.add(tuple(digit_at[image[digit[0]]] for digit in digits))
            placed.setdefault(frozenset(image), PlacedTuple(image, len(tables) - 1))
    return Layout(list(placed.values()), tables)


def digits_of(cells: tuple[int, ...], board: Board, coding: str) -> list[tuple[int, ...]]:
    """Return the digits of a tuple, as places in it: one each, or those of each run in a column, from below."""
    if coding == MARKS:
        return [(place,) for place in range(len(cells))]
    place = {cell: number for number, cell in enumerate(cells)}
    found = []
    for cell in cells:
        if cell + board.cols not in place:
            found.append(tuple(place[higher] for higher in _run(cell, place, board)))
    return found


def _run(cell: int, cells: Container[int], board: Board) -> Iterator[int]:
    """Yield the cells from `cell` upwards that are all among `cells`."""
    while cell in cells:
        yield cell
        cell -= board.cols


def _images(cells: tuple[int, ...], board: Board, sharing: str) -> list[tuple[int, ...]]:
    """Return the cells of each image of a tuple, the tuple itself first."""
    if sharing == "none":
        return [cells]
    # `symmetries` says from where a cell comes: `index` where it goes.
    found = [tuple(image.index(cell) for cell in cells) for image in board.symmetries]
    if sharing == "translation":
        found = [moved for one in found for moved in _moved(one, board)]
    return list(dict.fromkeys([cells, *found]))


def _moved(cells: tuple[int, ...], board: Board) -> list[tuple[int, ...]]:
    """Return all translations of a tuple that fit on the board."""
    places = [divmod(cell, board.cols) for cell in cells]
    top, left = (min(place[axis] for place in places) for axis in (0, 1))
    bottom, right = (max(place[axis] for place in places) for axis in (0, 1))
    return [
        tuple((row + down) * board.cols + col + across for row, col in places)
        for down in range(-top, board.rows - bottom)
        for across in range(-left, board.cols - right)
    ]


def _leaders(table: WeightTable) -> NDArray[np.uint32]:
    """Return the lowest number among the images of each pattern (uint32[weights])."""
    lowest = np.arange(table.weights, dtype=np.uint32)
    for turn in table.turns:
        image = np.zeros(1, np.uint32)
        for size, to in zip(table.sizes, turn, strict=True):
            values = np.arange(size, dtype=np.uint32)[:, np.newaxis]
            image = (values * np.uint32(table.worth[to]) + image).ravel()
        np.minimum(lowest, image, out=lowest)
    return lowest


UNIT = 1 << 20
"""Weights and errors are whole numbers of 1 / UNIT: their sums do not depend on the order."""


@inlined
def has_own_kinds(network: Network) -> bool:
    """Return whether no two weights are always the same, so that a weight's kind is its own number."""
    return network.kind.shape[0] + 1 == network.kind_start.shape[0]


@inlined
def clear_index(network: Network, index: Uint32Array) -> None:
    """Set `index` (uint32[N], the weight of each tuple) to the empty board, in place."""
    for number in range(index.shape[0]):
        index[number] = network.offset[number]


class NetAgent(NamedTuple):
    """A player of either seat.

    network: its shape.  weights: int32[P, W], the table by which it moves in each seat.
    index, current: uint32[N] and int32[N], the number of each tuple's weight in a position, and that weight; scratch.
    """

    network: Network
    weights: Int32Array
    index: Any
    current: Int32Array


def make_network_agent(network: Network, weights: NDArray[np.int32]) -> NetAgent:
    """Return the player with these weights (int32[P, W]), at the empty board."""
    return NetAgent(network, weights, network.offset.copy(), np.zeros(network.offset.size, np.int32))


@inlined
def put_mark(agent: NetAgent, cell: Int64, player: Int64, sign: Int64) -> None:
    """Put a mark of a player (0 or 1) on a cell, in place; sign: 1, or -1 to take it away."""
    network, index = agent.network, agent.index
    for entry in range(network.start[cell], network.start[cell + 1]):
        number = network.through[entry]
        index[number] = np.uint32(index[number] + np.int64(sign) * network.power[player, entry])


@inlined
def total_of(agent: NetAgent, mover: Int64) -> np.int64:
    """Return the sum of the position by the table of `mover` (int64); write its weights into `agent.current`."""
    weights, total = agent.weights[mover], np.int64(0)
    for number in range(agent.index.shape[0]):
        weight = weights[agent.index[number]]
        agent.current[number] = weight
        total += np.int64(weight)
    return total


@inlined
def total_after(agent: NetAgent, mover: Int64, total: np.int64, cell: Int64) -> np.int64:
    """Return the sum (int64) after a mark of `mover` on a free cell; total: of the position, just from `total_of`."""
    network, weights, index = agent.network, agent.weights[mover], agent.index
    for entry in range(network.start[cell], network.start[cell + 1]):
        number = network.through[entry]
        after = np.uint32(index[number] + network.power[mover, entry])
        total += np.int64(weights[after]) - np.int64(agent.current[number])
    return total


WINS, DRAWS, LOSES, BY_SUM = range(4)
"""Kinds of best moves: they end the game, or their value is the network's."""


@inlined
def by_rules(lines: Lines, free: np.uint64, view: LineView) -> tuple[np.uint64, Int64]:
    """Return the moves to choose from by the rules, as bits, and one of `WINS` to `BY_SUM`.  free: all free cells."""
    legal = open_among(lines, free)
    candidates, own = legal, legal & view.own
    if own != NONE:
        if lines.misere == 0:
            return own, WINS
        candidates &= ~own
        if candidates == NONE:
            return legal, LOSES
    return candidates, DRAWS if free & (free - ONE) == NONE else BY_SUM


@inlined
def best_network_moves(lines: Lines, agent: NetAgent, mover: Int64, free: np.uint64, view: LineView) -> np.uint64:
    """Return the best moves of `mover` (0 or 1) among the `free` cells, as bits."""
    candidates, kind = by_rules(lines, free, view)
    if kind != BY_SUM:
        return candidates
    total, sign = total_of(agent, mover), 1 - 2 * mover
    chosen, best = NONE, np.int64(0)
    while candidates != NONE:
        cell = lowest_bit(candidates)
        candidates &= candidates - ONE
        after = total_after(agent, mover, total, cell)
        if chosen == NONE or (after - best) * sign > 0:
            chosen, best = single(cell), after
        elif after == best:
            chosen |= single(cell)
    return chosen


@inlined
def best_scores(score: Int64Array, candidates: np.uint64, sign: Int64) -> np.uint64:
    """Return the candidates (uint64) with the best scores (int64[cells]); sign: -1 if the second player moves."""
    chosen, best = NONE, np.int64(-1) << np.int64(62)
    while candidates != NONE:
        bit = candidates & (~candidates + ONE)
        one = score[np.uint64(lowest_bit(candidates))] * sign
        chosen = bit if one > best else chosen | (bit if one == best else NONE)
        best = max(best, one)
        candidates ^= bit
    return chosen


@copy_for_thread.register(NetAgent)
def _spare(agent: NetAgent) -> NetAgent:
    return make_network_agent(agent.network, agent.weights)


@reset.register(NetAgent)
def _reset(agent: NetAgent) -> None:
    clear_index(agent.network, agent.index)


@mark_cell.register(NetAgent)
def _mark(agent: NetAgent, cell: Int64, player: Int64) -> None:
    put_mark(agent, cell, player, 1)


@unmark_cell.register(NetAgent)
def _unmark(agent: NetAgent, cell: Int64, player: Int64) -> None:
    put_mark(agent, cell, player, -1)


@tied_cells.register(NetAgent)
def _picks(agent: NetAgent, lines: Lines, own: np.uint64, other: np.uint64, view: LineView, ply: Int64) -> np.uint64:
    return best_network_moves(lines, agent, ply & 1, all_cells(lines.cells) & ~(own | other), view)
