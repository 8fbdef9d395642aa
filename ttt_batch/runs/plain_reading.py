"""Reader of plain HDF5 tables (see `plain_hdf5`), which restores runs bit for bit.

A child process parses the file, because a damaged one can crash the HDF5 library.
"""

import io
import json
import zipfile
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ttt_batch.base.errors import BoardError, UsageError
from ttt_batch.game.board import EMPTY, UNFINISHED
from ttt_batch.game.graph import rows_of_edges
from ttt_batch.game.growing_graph import N_SHARED, SHARED_CODES, SHARED_OUTCOMES, shared_rows
from ttt_batch.learners import foreign_learner
from ttt_batch.runs.config import GIVEN, Config, make_config
from ttt_batch.runs.formats.base import FormatError, marks_of_states
from ttt_batch.runs.formats.plain_names import ROWS, TABLE_TYPE, datasets_of
from ttt_batch.runs.growing_table import grow
from ttt_batch.runs.run import Run
from ttt_batch.runs.runfile.shield import in_child, run_child
from ttt_batch.runs.state import LARGEST

SIGNATURE = b"\x89HDF\r\n\x1a\n"
"""The first bytes of a plain HDF5 file."""

_MOST_DATASETS = 100

_FILTERS = {1, 2, 3}
"""HDF5's numbers of gzip, shuffle and a checksum.  For other filters the library would load code."""

_NO_GAMES = ("batch", "engine", "start", "opponent", "seat")
"""Keys of a configuration that describe how games were played."""


def run_without_statistics(content: bytes) -> Run:
    """Return the run of a table that `plain_hdf5.encode` wrote, without statistics.

    The caller checks that its parts fit together.  Raises FormatError, without the file's name.
    """
    packed, finding = in_child(__name__, content)
    if packed is None:
        raise FormatError(f"{finding}; export the table again")
    attributes, arrays = _unpacked(packed)
    config, games = _config_of(attributes)
    run = Run(config, None, games, {})
    tables = _Tables(run, arrays)
    if config.grown:
        tables.grow()
    else:
        run.tables, run.visits = tables.learnt(), tables.visits()
    return run


def _unpacked(packed: bytes) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return the attributes and arrays in the child's answer.  Raises FormatError for a finding or a bad answer."""
    with suppress(ValueError, KeyError, TypeError, OSError, EOFError, zipfile.BadZipFile):
        with np.load(io.BytesIO(packed), allow_pickle=False) as found:
            arrays = dict(found)
        attributes = json.loads(arrays.pop("attributes").tobytes())
        if "finding" in attributes:
            finding = attributes["finding"]
            raise FormatError(finding if ";" in finding else f"{finding}; export the table again")
        return attributes, arrays
    raise FormatError("the HDF5 library fails on it; export the table again")


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

    def learnt(self) -> Any:
        """Return the learner's tables for the rows and edges of the run's graph."""
        learner = self._run.learner
        return learner.tables(*(self._table(name, name) for name in learner.tables._fields))

    def visits(self) -> NDArray[np.float64]:
        """Return the number of updates of each entry if the step size depends on it, else an empty array."""
        if not self._run.config.alpha.power:
            return np.zeros(0)
        return self._table(self._run.learner.tables._fields[0], "visits").ravel()

    def _table(self, field: str, named: str) -> NDArray[np.float64]:
        """Return one table of the learner from the datasets whose names derive from `named`."""
        graph, cells = self._run.graph, self._run.board.cells
        axes = self._run.learner.fields[field][0]
        parts, size = [], self._code.size
        for name, _ in datasets_of(named, axes):
            if axes.endswith("E"):
                found = np.append(self._column(name, (size, cells)), np.zeros((size, 1)), axis=1)  # to resign
                parts.append(found[self._rows()[rows_of_edges(graph)], graph.cell])
            else:
                shape = (size, 2) if axes == "P,S" else (size,)
                parts.append(np.moveaxis(self._column(name, shape)[self._rows()], 0, -1))
        return np.ascontiguousarray(parts[0] if len(parts) == 1 else np.stack(parts))

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
            marked = marks_of_states(codes[:open_], cells) == EMPTY
        grown = grow(run.config)
        start = learner.start(shared_rows(), run.worth, np.random.default_rng(0))._asdict()

        def by_entry(name: str, field: str) -> NDArray[np.float64]:
            axes, parts = learner.fields[field][0], []
            for dataset, _ in datasets_of(name, axes):
                if axes.endswith("E"):
                    parts.append(self._column(dataset, (row.size, cells))[order[:open_]][marked])
                else:
                    shape = (row.size, 2) if axes == "P,S" else (row.size,)
                    own = np.moveaxis(self._column(dataset, shape)[order], 0, -1)
                    shared = np.zeros((*own.shape[:-1], N_SHARED)) if name != field else start[field]
                    parts.append(np.concatenate([own[..., :open_], shared, own[..., open_:]], axis=-1))
            return np.ascontiguousarray(parts[0] if len(parts) == 1 else np.stack(parts))

        first = learner.tables._fields[0]
        visits = by_entry("visits", first).ravel() if run.config.alpha.power else np.zeros(0)
        try:
            grown.restore(codes, outcomes, learner.tables(*(by_entry(name, name) for name in start)), visits)
        except BoardError as error:
            raise FormatError(f"{error}; export the table again") from None
        run.grown = grown
        run.tables, run.visits = grown.compact()[1:]


def _read(content: bytes) -> bytes:
    """Parse a file in the child process."""
    import h5py

    with h5py.File(io.BytesIO(content), "r") as file:
        kind = file.attrs.get("format", "")
        if kind != TABLE_TYPE:
            return _finding("it is HDF5, but not a table of this package; save a dictionary or an array instead")
        if "weight" in file:
            return _finding("it holds networks, which can only be read from their run file")
        attributes = {name: file.attrs[name] for name in ("config", "games")}
        arrays = {}
        for name in list(file)[:_MOST_DATASETS]:
            dataset = file[name] if type(file.get(name, getlink=True)) is h5py.HardLink else None
            if not isinstance(dataset, h5py.Dataset) or dataset.external or dataset.is_virtual:
                return _finding(f"{name[:40]!r} is not a dataset of this file")
            settings = dataset.id.get_create_plist()
            if any(settings.get_filter(i)[0] not in _FILTERS for i in range(settings.get_nfilters())):
                return _finding(f"dataset {name[:40]!r} has a compression other than gzip")
            if name in (ROWS, "row", "outcome") or name.startswith("visits") or dataset.attrs.get("source") == "table":
                arrays[name] = dataset[()]
    return _packed(
        {name: value.item() if hasattr(value, "item") else value for name, value in attributes.items()}, arrays
    )


def _finding(text: str) -> bytes:
    return _packed({"finding": text}, {})


def _packed(attributes: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> bytes:
    """Return attributes and arrays as bytes for the parent."""
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, attributes=np.frombuffer(json.dumps(attributes).encode(), np.uint8), **arrays)
    return buffer.getvalue()


def _work(content: bytes) -> bytes:
    """Return the answer of `_read`, or a finding if the library raises an error."""
    try:
        return _read(content)
    except MemoryError:
        raise
    except Exception:  # h5py raises many types of errors for foreign or damaged files
        return _finding("its HDF5 is damaged")


if __name__ == "__main__":
    run_child(_work, _finding)
