"""Export and import of tables as plain HDF5 for readers without this package.

`export_columns` defines the datasets, and attributes in the file describe them.  Boards of up to 12 cells have a row
for every code.  Larger boards have a row for each position of the table, in order of code.

Reader of these tables, which restores runs bit for bit.
A child process parses the file, because a damaged one can crash the HDF5 library.
"""

import io
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_batch.core import VERSION
from ttt_batch.core.errors import BoardError, UsageError
from ttt_batch.core.text import SEATS
from ttt_batch.evaluation.exact_results import chances_of
from ttt_batch.games.board import EMPTY, FIRST, LETTERS, SECOND, UNFINISHED
from ttt_batch.games.enumeration import enumerate_graph
from ttt_batch.games.graph import N_SHARED, SHARED_CODES, SHARED_OUTCOMES, rows_of_edges, shared_rows
from ttt_batch.learners import foreign_learner
from ttt_batch.learners.base import VALUE, Learner
from ttt_batch.ntuple.network import COLUMNS
from ttt_batch.runs.config import GIVEN, Config, make_config
from ttt_batch.runs.evaluation import find_images
from ttt_batch.runs.formats.base import MAX_CELLS, UNSAID, FormatError, marks_of_states
from ttt_batch.runs.growing_table import grow
from ttt_batch.runs.network_run import PatternRun, table_fields
from ttt_batch.runs.options import LARGEST
from ttt_batch.runs.run import Run
from ttt_batch.runs.storage.container import Answer, finding, in_child, memory_limit, run_child
from ttt_batch.simulation.action_probabilities import BY_BEADS, even_chances
from ttt_batch.simulation.policy import chosen_edges, edge_scores, empty_policy, order_rows

TABLE_TYPE = "ttt-batch table 1.0"
"""Value of a file's root attribute `format`."""

ROWS, CELLS, PLAYERS = "code", "cell", "player"
"""Names of the axes, which are dimension scales of the file."""


def datasets_of(field: str, axes: str) -> list[tuple[str, int | None]]:
    """Return the datasets for a learner's table as (name, index on the table's leading axis or None for all).

    axes: the table's axes, such as `S`, `P,S` or `2,E` (see `Learner.fields`).  Values by player are one dataset.
    """
    leading = axes.split(",")[:-1]
    if not leading or leading == ["P"]:
        return [(field, None)]
    return [(f"{field}_{LETTERS[number]}", number) for number in range(int(leading[0]))]


# h5py is imported inside the functions that need it: it costs 0.1 s at start-up.

_AT_ONCE = 1 << 16
"""Largest number of rows in a chunk of a file."""

_PACKED_FROM = 1 << 12
"""Smallest array that is compressed, in bytes."""


class Dataset(NamedTuple):
    """Dataset of a file.

    values: an array with the rows first.  axes: the name of each axis.  unit, meaning: text for the reader.
    source: `table` for numbers that the learner stores, `derived` for numbers computed from them and the rules.
    """

    values: Any
    axes: tuple[str, ...]
    unit: str
    meaning: str
    source: str = "derived"


def encode(run: Run | PatternRun) -> bytes:
    """Return the bytes of a plain HDF5 file with a run's table, or with its networks' weights and tuples."""
    import h5py

    columns = _network_columns(run) if isinstance(run, PatternRun) else export_columns(run)
    buffer = io.BytesIO()
    with h5py.File(buffer, "w") as file:
        for name, value in _attributes(run).items():
            file.attrs[name] = value
        for name, column in columns.items():
            _write(file, name, column)
        for name in columns.keys() & {ROWS, CELLS, PLAYERS}:
            file[name].make_scale(name)
        for name, column in columns.items():
            for number, axis in enumerate(column.axes):
                if axis in columns and axis != name:
                    file[name].dims[number].attach_scale(file[axis])
                file[name].dims[number].label = axis
    return buffer.getvalue()


def _write(file: Any, name: str, column: Dataset) -> None:
    """Write one dataset, compressed if it is large."""
    array = np.ascontiguousarray(column.values)
    packing: dict[str, Any] = {}
    if array.nbytes >= _PACKED_FROM:
        chunk = (min(len(array), _AT_ONCE), *array.shape[1:])
        packing = {"compression": "gzip", "shuffle": True, "chunks": chunk}
    dataset = file.create_dataset(name, data=array, track_times=False, **packing)
    for key, text in (("meaning", column.meaning), ("units", column.unit), ("source", column.source)):
        dataset.attrs[key] = text


def _attributes(run: Run | PatternRun) -> dict[str, Any]:
    board, config = run.board, run.config
    verdicts = dict.fromkeys(SEATS, "not judged")
    if isinstance(run, PatternRun):
        verdicts = {seat: "proved" if run.claims_proof(number) else "not proved" for number, seat in enumerate(SEATS)}
    elif run.grown is None:
        seats = run.statistics["unbeatable"][-1].tolist()
        verdicts = {seat: "unbeatable" if seats[i] else "can be beaten" for i, seat in enumerate(SEATS)}
        verdicts |= {seat: "does not play" for seat in SEATS if seat not in run.seats}
    return {
        "format": TABLE_TYPE,
        "board": board.name,
        "rows": board.rows,
        "columns": board.cols,
        "in_a_row": board.k,
        "rules": ", ".join(board.rules) or "normal",
        "learner": config.learner,
        "seed": config.seed,
        "games": run.games,
        **{f"verdict_{seat}": text for seat, text in verdicts.items()},
        "command": str(run.provenance.get("command", "")),
        "config": json.dumps(config.to_dict(), sort_keys=True),
        "ttt_batch_version": VERSION,
        "code_of_a_position": "sum of mark[cell] * 3**cell; marks: 0 empty, 1 first player (X), 2 second player (O)",
    }


class _Layout:
    """Rows of a file, and conversion of a run's numbers by row and edge to columns."""

    def __init__(self, run: Run) -> None:
        self.run, self.cells = run, run.board.cells
        graph = run.graph
        real = np.flatnonzero(graph.code >= 0)
        self.edge_row = rows_of_edges(graph)
        self.on_board = graph.cell < self.cells  # without resignations
        self.dense = self.cells <= MAX_CELLS and run.grown is None
        self.row = real[np.argsort(graph.code[real])]
        self.place: NDArray[np.int64] | None = None  # of each cell in the image that a row stands for
        if not self.dense:
            self.code, self.outcome = graph.code[self.row], graph.outcome[self.row]
            return
        positions = enumerate_graph(run.board) if run.config.symmetry else graph
        found = positions.code >= 0
        self.code, self.outcome = np.arange(3**self.cells), np.full(3**self.cells, UNSAID, np.int8)
        self.outcome[positions.code[found]] = positions.outcome[found]
        self.reached = np.sort(positions.code[found])
        at, self.place = find_images(run.board, self.reached, graph.code[self.row], symmetry=run.config.symmetry)
        self.row = self.row[at]

    def by_row(self, numbers: NDArray[Any], fill: Any = np.nan) -> NDArray[Any]:
        """Return numbers of rows, [S] or [P, S], as a column with the rows first."""
        return self._spread(np.moveaxis(numbers, -1, 0)[self.row], fill)

    def by_cell(self, numbers: NDArray[Any], fill: Any = np.nan, rest: Any = np.nan) -> NDArray[Any]:
        """Return numbers of edges, [E], as a column with a number for each cell.

        rest: for cells that no edge marks.  fill: for codes without a position.
        """
        table = np.full((self.run.graph.code.size, self.cells), rest, numbers.dtype)
        table[self.edge_row[self.on_board], self.run.graph.cell[self.on_board]] = numbers[self.on_board]
        found = table[self.row]
        if self.place is not None:
            found = np.take_along_axis(found, self.place, axis=1)
        return self._spread(found, fill)

    def _spread(self, found: NDArray[Any], fill: Any) -> NDArray[Any]:
        """Return a column of a file from numbers by position."""
        if not self.dense:
            return found
        column = np.full((self.code.size, *found.shape[1:]), fill, found.dtype)
        column[self.reached] = found
        return column


def export_columns(run: Run) -> dict[str, Dataset]:
    """Return all datasets of a run's table."""
    layout, graph, learner, board = _Layout(run), run.graph, run.learner, run.board
    scores = edge_scores(run.tables, graph)
    cells = " ".join(f"{LETTERS[cell % board.cols]}{cell // board.cols + 1}" for cell in range(board.cells))
    columns = {
        ROWS: Dataset(layout.code, (ROWS,), "1", "code of the position; see the attribute code_of_a_position"),
        CELLS: Dataset(np.arange(board.cells), (CELLS,), "1", f"cells, row by row from the top: {cells}"),
        PLAYERS: Dataset(np.arange(2), (PLAYERS,), "1", "0 the first player (X), 1 the second player (O)"),
    }
    if not layout.dense:
        rows = np.empty(graph.code.size, np.int64)
        rows[layout.row] = layout.row
        columns["row"] = Dataset(rows[layout.row], (ROWS,), "1", "row of the position in the run file")
    columns |= _rules_columns(layout)
    columns |= dict(_table_columns(layout, learner, run.tables._asdict(), ""))
    if "q" not in columns:
        meaning = "what the move is worth to the player who makes it"
        mean = 0.5 * (run.tables.q[0] + run.tables.q[1]) if "q_b" in columns else scores
        columns["q"] = Dataset(layout.by_cell(mean), (ROWS, CELLS), "learner's scale", meaning)
    if "value" not in columns:
        columns["value"] = Dataset(
            layout.by_row(_best_scores(run, scores)),
            (ROWS,),
            "learner's scale",
            f"the largest {'value' if learner.number == VALUE else 'preference'} of a move for the player to move",
        )
    columns |= _choices(layout)
    if not run.visits.size:
        meaning = "how often the entry was updated: this run did not count"
        return columns | {"visits": Dataset(np.full(layout.code.size, np.nan), (ROWS,), "updates", meaning)}
    visits = {learner.tables._fields[0]: run.visits.reshape(run.tables[0].shape)}
    counted = _table_columns(layout, learner, visits, "visits")
    return columns | {name: column._replace(unit="updates") for name, column in counted}


def _table_columns(
    layout: _Layout, learner: Learner, tables: Mapping[str, NDArray[Any]], named: str
) -> Iterator[tuple[str, Dataset]]:
    """Yield columns for tables of a learner by field.  named: a name to use instead of the field's."""
    for field, array in tables.items():
        axes, meaning = learner.fields[field]
        meaning = "how often the entry was updated" if named else meaning
        for name, number in datasets_of(named or field, axes):
            numbers = array if number is None else array[number]
            if axes.endswith("E"):
                yield name, Dataset(layout.by_cell(numbers), (ROWS, CELLS), "learner's scale", meaning, "table")
            else:
                dims = (ROWS, PLAYERS) if numbers.ndim > 1 else (ROWS,)
                yield name, Dataset(layout.by_row(numbers), dims, "learner's scale", meaning, "table")


def _best_scores(run: Run, scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the largest score of a move, or a final position's worth to the player who would move (float64[S])."""
    graph = run.graph
    mover = graph.ply.astype(np.int64) & 1
    best = np.asarray(run.worth[mover, graph.outcome], np.float64)
    if scores.size:
        with np.errstate(invalid="ignore"):  # a position never seen has only NaN
            best[: graph.first_edge.size - 1] = np.fmax.reduceat(scores, graph.first_edge[:-1].astype(np.int64))
    return best


def _rules_columns(layout: _Layout) -> dict[str, Dataset]:
    """Return the columns that follow from the rules alone."""
    marks = marks_of_states(layout.code, layout.cells)
    open_ = layout.outcome == UNFINISHED
    mover = np.where(open_, np.where(np.count_nonzero(marks, axis=1) % 2, SECOND, FIRST), EMPTY).astype(np.int8)
    free = layout.run.board.open_among(marks == EMPTY)
    outcomes = "0 unfinished, 1 the first player wins, 2 the second player wins, 3 draw, -1 cannot occur"
    return {
        "legal": Dataset((free & open_[:, None]).astype(np.int8), (ROWS, CELLS), "1", "1 if the cell may be marked"),
        "mover": Dataset(mover, (ROWS,), "1", "1 if the first player is to move, 2 the second, 0 nobody"),
        "outcome": Dataset(layout.outcome, (ROWS,), "1", outcomes),
        "reachable": Dataset((layout.outcome != UNSAID).astype(np.int8), (ROWS,), "1", "1 if play can reach it"),
    }


def _choices(layout: _Layout) -> dict[str, Dataset]:
    """Return the columns of the moves that a run may pick and of their probabilities."""
    run, graph = layout.run, layout.run.graph
    policy = empty_policy(graph)
    order_rows(run.tables, graph, run.learner.choice, policy)
    best = chosen_edges(graph, policy)
    if run.by_beads:
        chance = chances_of(BY_BEADS, run.tables, graph, run.learner.choice).chance
        plays = graph.ply[layout.edge_row] % 2 == 0
        best, chance = best & plays, np.where(plays, chance, np.nan)
        how = "probability of drawing the move from its box; a box may also resign, and then they add up to less than 1"
    else:
        chance, how = even_chances(graph, policy).chance, "probability of the move: all best moves are equally likely"
    chances = layout.by_cell(chance, rest=0.0)
    final = (layout.outcome != UNFINISHED) | np.isnan(chances).any(axis=1)
    chances[final] = np.nan
    picked = layout.by_cell(best.astype(np.int8), fill=np.int8(0), rest=np.int8(0))
    return {
        "policy": Dataset(chances, (ROWS, CELLS), "probability", how),
        "best": Dataset(picked, (ROWS, CELLS), "1", "1 if the move is one of the best by the learner's choice rule"),
    }


def _network_columns(run: PatternRun) -> dict[str, Dataset]:
    """Return the tuples of a run's networks, the weights that its two seats play by, and the training state."""
    network, cells = run.network, run.board.cells
    lengths = np.diff(network.place).astype(np.int64)
    kept = np.arange(int(lengths.max())) < lengths[:, None]
    tuples = np.full(kept.shape, -1, np.int8)
    tuples[kept] = network.cell
    weights = np.stack([run.weights_of(seat)[network.kind] for seat in (0, 1)], axis=1) / 2.0**20
    data, by_columns = run.data(), run.config.coding == COLUMNS
    columns = {
        PLAYERS: Dataset(np.arange(2), (PLAYERS,), "1", "0 the first player (X), 1 the second player (O)"),
        "tuple_cells": Dataset(
            tuples, ("tuple", "digit"), "1", f"cells of each tuple, -1 after its last; {cells} cells"
        ),
        "tuple_offset": Dataset(
            network.offset.astype(np.int64),
            ("tuple",),
            "1",
            "weight of the tuple on the empty board; its weight stands at tuple_offset + sum of tuple_first or _second"
            if by_columns
            else "first weight of the tuple's table; its weight stands at tuple_offset + sum of mark[cell] * 3**digit",
        ),
        "weight": Dataset(
            weights,
            ("weight", PLAYERS),
            "1",
            "for the player who moves: a larger sum over all tuples is better for the first player",
        ),
    }
    for name, digits in zip(("first", "second"), network.digit if by_columns else (), strict=False):
        powers = np.zeros(kept.shape, np.int64)
        powers[kept] = digits
        meaning = f"what a mark of the {name} player adds to the number of the tuple's weight"
        columns[f"tuple_{name}"] = Dataset(powers, ("tuple", "digit"), "1", meaning)
    for name, (axes, meaning) in table_fields(cells, data.tables).items():
        dims = tuple({"M": "entry", "L": "lost_game"}.get(axis, "move") for axis in axes.split(","))
        columns[f"training/{name}"] = Dataset(data.tables[name], dims, "1", meaning, "table")
    return columns


_MOST_DATASETS = 100

_FILTERS = {1, 2, 3}
"""HDF5's numbers of gzip, shuffle and a checksum.  For other filters the library would load code."""

_NO_GAMES = ("batch", "engine", "start", "opponent", "seat")
"""Keys of a configuration that describe how games were played."""


def run_without_statistics(content: bytes) -> Run:
    """Return the run of a table that `plain_hdf5.encode` wrote, without statistics.

    The caller checks that its parts fit together.  Raises FormatError, without the file's name.
    """
    attributes, arrays = in_child(__name__, content)
    for found in attributes.get("findings", ()):
        raise FormatError(found if ";" in found else f"{found}; export the table again")
    config, games = _config_of(attributes)
    run = Run(config, None, games, {})
    tables = _Tables(run, arrays)
    if config.grown:
        tables.grow()
    else:
        run.tables, run.visits = tables.learnt()
    return run


def _config_of(attributes: dict[str, Any]) -> tuple[Config, int]:
    """Return a file's configuration, with engine `given`, and its number of games.  Raises FormatError."""
    try:
        values, games = json.loads(attributes["config"]), int(attributes["games"])
        if foreign := foreign_learner(values["learner"]):
            raise FormatError(foreign)
        settings = {name: value for name, value in values.items() if name not in _NO_GAMES}
        return make_config(**settings, engine=GIVEN, batch=1), games
    except (UsageError, BoardError, KeyError, ValueError, TypeError, RecursionError) as error:
        why = str(error) if isinstance(error, UsageError | BoardError) else "it cannot be read"
        raise FormatError(f"the attribute config is not the configuration of a table: {why}") from None


class _Tables:
    """Converter of a file's columns to the tables of a run."""

    def __init__(self, run: Run, arrays: dict[str, NDArray[Any]]) -> None:
        """Raise FormatError if columns are missing or of another shape."""
        self._run, self._arrays, cells = run, arrays, run.board.cells
        self._code = self._column(ROWS, (-1,), np.int64)
        if (np.diff(self._code) <= 0).any() or (self._code < 0).any() or (self._code >= 3**cells).any():
            raise FormatError("its codes do not ascend, or are of another board; export the table again")

    def _column(self, name: str, shape: tuple[int, ...], dtype: type = np.float64) -> NDArray[Any]:
        """Return a column.  Raises FormatError if it is missing, of another type or another shape (-1: any)."""
        found = self._arrays.get(name)
        fits = found is not None and found.dtype == dtype and found.ndim == len(shape)
        if found is None or not fits or any(size not in (-1, n) for n, size in zip(found.shape, shape, strict=True)):
            raise FormatError(f"dataset {name!r} is missing, or of another type or shape; export the table again")
        if dtype is np.float64 and (np.abs(found) > LARGEST).any():
            raise FormatError(f"dataset {name!r} holds a number beyond {LARGEST:g}; export the table again")
        return found

    def learnt(self) -> tuple[Any, NDArray[np.float64]]:
        """Return the learner's tables for the rows and edges of the run's graph, and the number of their updates."""
        graph, rows = self._run.graph, self._rows()

        def by_edge(found: NDArray[Any]) -> NDArray[Any]:
            with_resignation = np.append(found, np.zeros((len(found), 1)), axis=1)
            return with_resignation[rows[rows_of_edges(graph)], graph.cell]

        return self._tables(by_edge, lambda found, _: found[..., rows])

    def _tables(
        self, by_edge: Callable[[NDArray[Any]], NDArray[Any]], by_row: Callable[[NDArray[Any], str], NDArray[Any]]
    ) -> tuple[Any, NDArray[np.float64]]:
        """Return the learner's tables, and the number of updates if the step size depends on it, else an empty array.

        by_edge: returns a column with a number for each cell by edges.  by_row: the same for a column of positions,
        with these on the last axis, and the field whose numbers it holds; "" for updates.
        """
        learner, cells, size = self._run.learner, self._run.board.cells, self._code.size

        def table(field: str, named: str) -> NDArray[np.float64]:
            axes, parts = learner.fields[field][0], []
            for name, _ in datasets_of(named or "visits", axes):
                if axes.endswith("E"):
                    parts.append(by_edge(self._column(name, (size, cells))))
                else:
                    shape = (size, 2) if axes == "P,S" else (size,)
                    parts.append(by_row(np.moveaxis(self._column(name, shape), 0, -1), named))
            return np.ascontiguousarray(parts[0] if len(parts) == 1 else np.stack(parts))

        visits = table(learner.tables._fields[0], "").ravel() if self._run.config.alpha.power else np.zeros(0)
        return learner.tables(*(table(name, name) for name in learner.tables._fields)), visits

    def _rows(self) -> NDArray[np.int64]:
        """Return int64[S], the file's row for each row of the graph.  Raises FormatError if one is missing."""
        wanted = np.maximum(self._run.graph.code, 0)  # rows with a code below 0 have no position and learn nothing
        at: NDArray[np.int64] = np.minimum(np.searchsorted(self._code, wanted), self._code.size - 1)
        if (self._code[at] != wanted).any():
            raise FormatError(f"some positions of board {self._run.board.name} are missing; export the table again")
        return at

    def grow(self) -> None:
        """Set the run's positions, in their original order, and the tables over them.

        Raises FormatError if play cannot have reached them in this order.
        """
        run, learner, cells = self._run, self._run.learner, self._run.board.cells
        row, outcome = self._column("row", (-1,), np.int64), self._column("outcome", (-1,), np.int8)
        open_ = int(np.count_nonzero(outcome == UNFINISHED))
        places = np.append(np.arange(open_), np.arange(open_ + N_SHARED, row.size + N_SHARED))
        order = np.argsort(row)
        if row.size != self._code.size or outcome.size != row.size or not np.array_equal(row[order], places):
            raise FormatError("its dataset 'row' does not number the positions; export the table again")
        codes = np.insert(self._code[order], open_, SHARED_CODES)
        outcomes = np.insert(outcome[order], open_, SHARED_OUTCOMES).astype(np.int8)
        marked = np.ones((open_, cells), np.bool_)
        if not learner.occupied:
            marked = run.board.open_among(marks_of_states(codes[:open_], cells) == EMPTY)
        grown = grow(run.config)
        start = learner.start(shared_rows(), run.worth, np.random.default_rng(0))._asdict()

        def by_row(found: NDArray[Any], field: str) -> NDArray[Any]:
            own = found[..., order]
            shared = start[field] if field else np.zeros((*own.shape[:-1], N_SHARED))
            return np.concatenate([own[..., :open_], shared, own[..., open_:]], axis=-1)

        tables, visits = self._tables(lambda found: found[order[:open_]][marked], by_row)
        try:
            grown.restore(codes, outcomes, tables, visits)
        except BoardError as error:
            raise FormatError(f"{error}; export the table again") from None
        run.grown = grown
        run.tables, run.visits = grown.compact_tables()


def _read(content: bytes) -> Answer:
    """Parse a file in the child process.  Raises MemoryError for arrays that do not fit into its memory, and h5py's."""
    import h5py

    room = memory_limit(len(content)) - len(content)
    with h5py.File(io.BytesIO(content), "r") as file:
        kind = file.attrs.get("format", "")
        if kind != TABLE_TYPE:
            return finding("it is HDF5, but not a table of this package; save a dictionary or an array instead")
        if "weight" in file:
            return finding("it holds networks, which can only be read from their run file")
        attributes = {name: file.attrs[name] for name in ("config", "games")}
        arrays = {}
        for name in list(file)[:_MOST_DATASETS]:
            dataset = file[name] if type(file.get(name, getlink=True)) is h5py.HardLink else None
            if not isinstance(dataset, h5py.Dataset) or dataset.external or dataset.is_virtual:
                return finding(f"{name[:40]!r} is not a dataset of this file")
            settings = dataset.id.get_create_plist()
            if any(settings.get_filter(i)[0] not in _FILTERS for i in range(settings.get_nfilters())):
                return finding(f"dataset {name[:40]!r} has a compression other than gzip")
            if name in (ROWS, "row", "outcome") or name.startswith("visits") or dataset.attrs.get("source") == "table":
                room -= 2 * dataset.nbytes  # the array, and its copy for the parent
                if room < 0:  # checked here, because the library calls a lack of memory a damaged file
                    raise MemoryError
                arrays[name] = dataset[()]
    return {name: value.item() if hasattr(value, "item") else value for name, value in attributes.items()}, arrays


if __name__ == "__main__":
    run_child(_read)
