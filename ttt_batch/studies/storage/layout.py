"""The arrays that the file of a study has: the declaration, and what never changes of its content."""

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_batch.base.choices import RESULTS, SEATS
from ttt_batch.base.errors import UsageError, option
from ttt_batch.base.printable import SELF_PLAY
from ttt_batch.game.graph import rows_of_edges
from ttt_batch.learners import learner_named
from ttt_batch.runs.batches import Batches, recorded_points
from ttt_batch.runs.runfile.declaration import EXACT_COLUMNS, FIELDS, NETWORK_COLUMNS, TABLE_UNIT, Field

if TYPE_CHECKING:
    from ttt_batch.studies.designs.design import Design
    from ttt_batch.studies.designs.grid import Setting

KEEPS = NONE, LAST = ("none", "last")
"""Which tables of a learner are kept."""

MISSING, DONE, FAILED = 0, 1, 2

REASONS, REASON_BYTES, PROGRESS_BYTES = 256, 240, 4096
"""Room for reasons of failures, of which 0 stands for none; and for what is noted while a study goes on."""

LABELS = {"seat": SEATS, "result": RESULTS, "outcome": SELF_PLAY}
"""Axes whose entries have names."""

COLUMNS = {"games": "total_games", "seat": "learner_seat"}
"""Options whose column has another name, since an array or axis has theirs."""

OTHER_COLUMNS = ("setting", "key", "games", "points", "growing")
"""Arrays with something for each setting that is no option."""

STATISTICS = {
    field.name: field for field in FIELDS if field.group == "statistics" and field.name not in NETWORK_COLUMNS
}
STATISTICS["seconds"] = STATISTICS["seconds"]._replace(
    meaning="wall clock since the start; NaN at points within one kernel, of which only the end is timed"
)
MEASURED = ("games", "seconds")
"""Statistics that no checksum covers: games are part of what never changes, seconds differ from time to time."""

_LETTERS = {"T": "point", "P": "seat", "S": "row", "E": "edge", "U": "unfinished_row"}


class Array(NamedTuple):
    """One array of the file.

    axes: the name of each axis, which is that of the array of its labels.
    content: what never changes; None for an array of results.
    """

    path: str
    dtype: np.dtype[Any]
    axes: tuple[str, ...]
    shape: tuple[int, ...]
    meaning: str
    unit: str = ""
    content: NDArray[Any] | None = None


def statistic_axes(field: Field) -> tuple[str, ...]:
    """The axes of a statistic after setting and seed."""
    letters = field.axes.split(",")
    third = "result" if "P" in letters else "outcome"
    return tuple(_LETTERS.get(letter, third) for letter in letters)


def points_of(batches: Batches, games: int) -> list[int]:
    """Games at the recorded points of a learner of so many games."""
    return [*itertools.takewhile(lambda point: point < games, recorded_points(batches)), games]


def layout_of(design: "Design", description: str, keep: str = NONE) -> tuple[Array, ...]:
    """All arrays of a study's file.

    description: text from which the design can be made again.  keep: of KEEPS.
    Raises UsageError if tables are to be kept that have no fixed size.
    """
    settings = design.settings
    labels: dict[str, NDArray[Any]] = {"setting": np.arange(len(settings)), "seed": np.array(design.seeds, np.int64)}
    games = _games(settings)
    labels["point"] = np.arange(games.shape[1])
    labels |= {axis: _texts(names) for axis, names in LABELS.items()}
    arrays = [
        _fixed("setting", ["setting"], labels["setting"], "number of the setting, from 0 on"),
        _fixed("seed", ["seed"], labels["seed"], "seed of the learners"),
        _fixed("point", ["point"], labels["point"], "number of the recorded point, from 0 on"),
        *(_fixed(axis, [axis], labels[axis], f"name of the {axis}") for axis in LABELS),
        _fixed("key", ["setting"], _texts([setting.key for setting in settings]), "what stands for the setting"),
        *_columns(settings),
        _fixed("games", ["setting", "point"], games, "games learnt from at the point; 0 after the last one", "games"),
        _fixed("points", ["setting"], np.count_nonzero(games, axis=1), "recorded points of the setting", "points"),
        _fixed("growing", ["setting"], _growing(settings), "the board has too many positions for exact results"),
        _fixed("provenance/design", [], _texts([description])[0], "the study's settings and seeds in TOML"),
        _fixed("provenance/failure", ["failure"], np.arange(REASONS), "number of a reason"),
    ]
    sizes = {axis: content.size for axis, content in labels.items()}
    arrays += _results(sizes, bool(_growing(settings).any()), not _growing(settings).all())
    if keep == LAST:
        for name, group in table_groups(settings).items():
            arrays += _tables(f"tables/{name}", [settings[i] for i in group], group, sizes)
    return tuple(arrays)


def size_of(layout: Sequence[Array]) -> int:
    """Bytes of all arrays together: those of the file but for some thousand."""
    return sum(array.dtype.itemsize * int(np.prod(array.shape, dtype=object)) for array in layout)


def table_groups(settings: Sequence["Setting"]) -> dict[str, list[int]]:
    """Settings whose tables have the same arrays, by a name for them.  Raises UsageError for boards that grow."""
    groups: dict[str, list[int]] = {}
    for i, setting in enumerate(settings):
        config = setting.config
        if config.grown:
            raise UsageError(
                f"the table on {config.board.name} grows as it learns, so no room can be kept for it; choose "
                f"{option('keep', NONE)}, or leave this board out"
            )
        name = f"{config.learner}-{config.board.name}"
        name += ("-symmetry" if config.symmetry else "") + ("-visits" if config.alpha.power else "")
        groups.setdefault(name, []).append(i)
    return groups


def _texts(texts: Sequence[str]) -> NDArray[np.bytes_]:
    """Text of fixed length, 2 at least: netCDF takes text of length 1 for letters, and an axis of them for a word."""
    encoded = [text.encode() for text in texts]
    return np.array(encoded, f"S{max(2, *map(len, encoded))}")


def _fixed(path: str, axes: Sequence[str], content: Any, meaning: str, unit: str = "") -> Array:
    content = np.asarray(content)
    return Array(path, content.dtype, tuple(axes), content.shape, meaning, unit, content)


def _games(settings: Sequence["Setting"]) -> NDArray[np.int64]:
    known: dict[tuple[Batches, int], list[int]] = {}
    for setting in settings:
        kind = setting.config.batches, setting.games
        if kind not in known:
            known[kind] = points_of(*kind)
    games = np.zeros((len(settings), max(map(len, known.values()))), np.int64)
    for i, setting in enumerate(settings):
        own = known[setting.config.batches, setting.games]
        games[i, : len(own)] = own
    return games


def _growing(settings: Sequence["Setting"]) -> NDArray[np.bool_]:
    return np.array([setting.config.grown for setting in settings])


def _columns(settings: Sequence["Setting"]) -> Iterator[Array]:
    """A column for each option: numbers if all its values are, else text."""
    written = [setting.written for setting in settings]
    for name in written[0]:
        values, axes = [one[name] for one in written], ["setting"]
        kinds = set(map(type, values))
        if kinds == {tuple}:
            axes.append("seat")
            content: NDArray[Any] = np.array(values, np.float64)
        elif kinds <= {bool}:
            content = np.array(values, np.bool_)
        elif kinds <= {int, float}:
            content = np.array(values, np.int64 if kinds <= {int} else np.float64)
        else:
            content = _texts(list(map(str, values)))
        yield _fixed(COLUMNS.get(name, name), axes, content, f"the setting's {name.replace('_', ' ')}")


def _results(sizes: Mapping[str, int], growing: bool, exact: bool) -> Iterator[Array]:
    """The arrays of results.  growing, exact: whether any setting has a board that grows, or that is enumerated."""

    def array(path: str, dtype: str, axes: Sequence[str], meaning: str, unit: str = "") -> Array:
        kind = np.dtype(dtype).newbyteorder("<")
        return Array(path, kind, tuple(axes), tuple(sizes[axis] for axis in axes), meaning, unit)

    learner = "setting", "seed"
    yield array(
        "state", "uint8", learner, f"{MISSING} missing, {DONE} done, {FAILED} failed: results of others say nothing"
    )
    yield array("reason", "uint16", learner, "why a learner failed: its number in provenance/reasons")
    yield array("checksum", "uint64", learner, "BLAKE2b of key, seed and results without seconds")
    for name, field in STATISTICS.items():
        if name != "games" and (exact if name in EXACT_COLUMNS else growing or name != "positions"):
            yield array(name, field.dtype, (*learner, *statistic_axes(field)), field.meaning, field.unit)
    room = np.dtype(f"S{REASON_BYTES}")
    yield Array("provenance/reasons", room, ("failure",), (REASONS,), "why learners failed, one reason each")
    yield Array("provenance/progress", np.dtype(f"S{PROGRESS_BYTES}"), (), (), "how the study went on, as JSON")


def _tables(
    path: str, settings: Sequence["Setting"], numbers: Sequence[int], sizes: Mapping[str, int]
) -> Iterator[Array]:
    """The arrays of tables of settings that have the same ones.  path: their group.  numbers: of the settings."""
    config = settings[0].config
    learner, graph = learner_named(config.learner), config.graph
    own = {"table_setting": np.array(numbers), "row": np.arange(graph.code.size)}
    meanings = {"table_setting": "number of the setting", "row": "number of the position"}
    tables = learner.start(graph, learner.worth(config.settings), np.random.default_rng(0))._asdict()
    fields = dict(learner.fields)
    if config.alpha.power:
        first = next(iter(tables))
        tables["visits"] = np.zeros(tables[first].shape)
        fields["visits"] = (fields[first][0], "how often the entry was updated")
    axes = {name: [_LETTERS.get(axis, f"entry{axis}") for axis in fields[name][0].split(",")] for name in tables}
    for name, table in tables.items():
        for axis, length in zip(axes[name], table.shape, strict=True):
            if axis not in sizes and axis not in own:
                own[axis], meanings[axis] = np.arange(length), f"number of the {re.sub('_', ' ', axis)}"
    for axis, content in own.items():
        yield _fixed(f"{path}/{axis}", [axis], content, meanings[axis])
    states = {field.name: field for field in FIELDS if field.group == "states"}
    for name in ("code", "outcome"):
        yield _fixed(f"{path}/{name}", ["row"], getattr(graph, name), states[name].meaning)
    if "edge" in own:
        yield _fixed(f"{path}/edge_row", ["edge"], rows_of_edges(graph), "row of the position that the move is made in")
        yield _fixed(f"{path}/cell", ["edge"], graph.cell, states["cell"].meaning)
    for name, table in tables.items():
        shape = len(numbers), sizes["seed"], *table.shape
        kind = table.dtype.newbyteorder("<")
        yield Array(f"{path}/{name}", kind, ("table_setting", "seed", *axes[name]), shape, fields[name][1], TABLE_UNIT)
