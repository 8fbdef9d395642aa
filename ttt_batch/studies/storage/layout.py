"""Layout of a study's file: its arrays, and the content of the constant ones."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_batch.core.errors import UsageError, flag
from ttt_batch.core.results import SELF_PLAY
from ttt_batch.core.text import RESULTS, SEATS
from ttt_batch.games.graph import rows_of_edges
from ttt_batch.learners import learner_named
from ttt_batch.runs.network_run import TABLES as MEANINGS
from ttt_batch.runs.options import OWN
from ttt_batch.runs.storage.declaration import FIELDS, TABLE_UNIT, Field
from ttt_batch.studies.designs.methods import NETWORKS, TABLES

if TYPE_CHECKING:
    from ttt_batch.studies.designs.design import Design
    from ttt_batch.studies.designs.methods import Setting


KEEPS = NONE, LAST = ("none", "last")
"""Choices of the tables to keep."""

MISSING, DONE, FAILED = 0, 1, 2

STATES = {"done": DONE, "failed": FAILED, "missing": MISSING}
"""States of learners by name."""


def count_states(state: NDArray[np.uint8]) -> dict[str, int]:
    """Return the number of learners in each of STATES, in that order."""
    return {name: int(np.count_nonzero(state == number)) for name, number in STATES.items()}


REASONS, REASON_BYTES, PROGRESS_BYTES = 256, 240, 4096
"""Number of reasons of failures (0 means no failure), and the sizes of one reason and of the progress notes."""

LABELS = {"seat": SEATS, "result": RESULTS, "outcome": SELF_PLAY}
"""Axes whose entries have names."""

COLUMNS = {"games": "total_games", "seat": "learner_seat"}
"""Options whose column has another name, because an array or axis already has theirs."""

OTHER_COLUMNS = ("setting", "key", "games", "points", "growing")
"""Arrays along the settings that are not options."""

STATISTICS = {field.name: field for field in FIELDS if field.group == "statistics"}
STATISTICS["seconds"] = STATISTICS["seconds"]._replace(
    meaning="wall clock since the start; NaN at points within one kernel, of which only the end is timed"
)
MEASURED = ("games", "seconds")
"""Statistics that no checksum covers: games never change, and seconds differ between repetitions."""

ALWAYS = ("games", "seconds", "outcomes")
"""Statistics of every learner.  Others depend on its method (`Method.columns`)."""

LETTERS = {"T": "point", "P": "seat", "S": "row", "E": "edge", "U": "unfinished_row"}


class Array(NamedTuple):
    """Array of the file.

    axes: names of the axes, which are also those of the arrays of their labels.
    content: the constant content; None for an array of results.
    """

    path: str
    dtype: np.dtype[Any]
    axes: tuple[str, ...]
    shape: tuple[int, ...]
    meaning: str
    unit: str = ""
    content: NDArray[Any] | None = None


def statistic_axes(field: Field) -> tuple[str, ...]:
    """Return the axes of a statistic after setting and seed."""
    letters = field.axes.split(",")
    third = "result" if "P" in letters else "outcome"
    return tuple(LETTERS.get(letter, third) for letter in letters)


def texts(texts: Sequence[str]) -> NDArray[np.bytes_]:
    """Return texts as fixed-length bytes, at least 2 each: netCDF would join single letters to one word."""
    encoded = [text.encode() for text in texts]
    return np.array(encoded, f"S{max(2, *map(len, encoded))}")


def fixed(path: str, axes: Sequence[str], content: Any, meaning: str, unit: str = "") -> Array:
    """Return an array with constant content."""
    content = np.asarray(content)
    return Array(path, content.dtype, tuple(axes), content.shape, meaning, unit, content)


def results(
    path: str, dtype: Any, axes: Sequence[str], sizes: Mapping[str, int], meaning: str, unit: str = ""
) -> Array:
    """Return an array of results.  sizes: lengths of its axes by name."""
    kind = np.dtype(dtype).newbyteorder("<")
    return Array(path, kind, tuple(axes), tuple(sizes[axis] for axis in axes), meaning, unit)


def _groups(settings: Sequence["Setting"], *, networks: bool) -> dict[str, list[int]]:
    """Return the numbers of settings grouped by equal arrays of tables or networks, by group name.

    Raises UsageError for growing boards.
    """
    shapes: dict[tuple[object, ...], int] = {}
    groups: dict[str, list[int]] = {}
    for i, setting in enumerate(settings):
        config = setting.config
        name = f"{config.learner}-{config.board.name}"
        if networks:
            shape = config.learner, config.board, config.tuples, config.sharing, len(config.aims)
            name += f"-{shapes.setdefault(shape, len(shapes))}"
        elif config.grown:
            raise UsageError(
                f"the table on {config.board.name} grows during learning, so a study cannot keep it; choose "
                f"{flag('keep', NONE)}, or leave this board out"
            )
        else:
            name += ("-symmetry" if config.symmetry else "") + ("-visits" if config.alpha.power else "")
        groups.setdefault(name, []).append(i)
    return groups


def _of_tables(
    path: str, settings: Sequence["Setting"], numbers: Sequence[int], sizes: Mapping[str, int]
) -> Iterator[Array]:
    """Yield the arrays of settings with the same tables.  path: their group.  numbers: of the settings."""
    config = settings[0].config
    learner, graph = learner_named(config.learner), config.graph
    own = {
        "table_setting": (np.array(numbers), "number of the setting"),
        "row": (np.arange(graph.code.size), "number of the position"),
    }
    tables = learner.fresh(graph, config.settings, np.random.default_rng(0))._asdict()
    fields = dict(learner.fields)
    if config.alpha.power:
        first = next(iter(tables))
        tables["visits"] = np.zeros(tables[first].shape)
        fields["visits"] = (fields[first][0], "how often the entry was updated")
    axes = {name: [LETTERS.get(axis, f"entry{axis}") for axis in fields[name][0].split(",")] for name in tables}
    for name, table in tables.items():
        for axis, length in zip(axes[name], table.shape, strict=True):
            if axis not in sizes and axis not in own:
                own[axis] = np.arange(length), f"number of the {axis.replace('_', ' ')}"
    for axis, label in own.items():
        yield fixed(f"{path}/{axis}", [axis], *label)
    states = {field.name: field for field in FIELDS if field.group == "states"}
    for name in ("code", "outcome"):
        yield fixed(f"{path}/{name}", ["row"], getattr(graph, name), states[name].meaning)
    if "edge" in own:
        yield fixed(f"{path}/edge_row", ["edge"], rows_of_edges(graph), "row of the position that the move is made in")
        yield fixed(f"{path}/cell", ["edge"], graph.cell, states["cell"].meaning)
    lengths = {**sizes, **{axis: content.size for axis, (content, _) in own.items()}}
    for name, table in tables.items():
        whole = "table_setting", "seed", *axes[name]
        yield results(f"{path}/{name}", table.dtype, whole, lengths, fields[name][1], TABLE_UNIT)


def _of_networks(
    path: str, settings: Sequence["Setting"], numbers: Sequence[int], sizes: Mapping[str, int]
) -> Iterator[Array]:
    """Yield the arrays of a group of settings whose networks have the same shape.  Parameters as for `_of_tables`."""
    config = settings[0].config
    own = {
        "table_setting": (np.array(numbers), "number of the setting"),
        "network": (np.arange(len(config.aims)), "number of the network"),
        "kind": (np.arange(config.network().kind_start.size - 1), MEANINGS["kind"][2]),
    }
    for axis, label in own.items():
        yield fixed(f"{path}/{axis}", [axis], *label)
    lengths = {**sizes, **{axis: content.size for axis, (content, _) in own.items()}}
    whole, proved = ("table_setting", "seed"), "the weight when the player's seat was last proved, else 0"
    yield results(f"{path}/weight", "i4", (*whole, "network", "kind", "seat"), lengths, MEANINGS["weight"][2])
    yield results(f"{path}/proved", "i4", (*whole, "kind", "seat"), lengths, proved)


def study_layout(design: "Design", description: str, keep: str = NONE) -> tuple[Array, ...]:
    """Return all arrays of a study's file.

    description: text that describes the design.  keep: of KEEPS.
    Raises UsageError for kept tables without a fixed size.
    """
    settings = design.settings
    games = np.zeros((len(settings), max(len(setting.points) for setting in settings)), np.int64)
    for i, setting in enumerate(settings):
        games[i, : len(setting.points)] = setting.points
    growing = np.array([setting.family is not TABLES or setting.config.grown for setting in settings])
    axes = {
        "setting": (np.arange(len(settings)), "number of the setting, from 0 on"),
        "seed": (np.array(design.seeds, np.int64), "seed of the learners"),
        "point": (np.arange(games.shape[1]), "number of the recorded point, from 0 on"),
        **{axis: (texts(names), f"name of the {axis}") for axis, names in LABELS.items()},
    }
    arrays = [
        *(fixed(axis, [axis], *label) for axis, label in axes.items()),
        fixed("key", ["setting"], texts([setting.key for setting in settings]), "what stands for the setting"),
        *_columns(settings),
        fixed("games", ["setting", "point"], games, "games learnt from at the point; 0 after the last one", "games"),
        fixed("points", ["setting"], np.count_nonzero(games, axis=1), "recorded points of the setting", "points"),
        fixed("growing", ["setting"], growing, "no exact results: a large board, networks, or not judged"),
        fixed("provenance/design", [], texts([description])[0], "the study's settings and seeds in TOML"),
        fixed("provenance/failure", ["failure"], np.arange(REASONS), "number of a reason"),
    ]
    sizes = {axis: content.size for axis, (content, _) in axes.items()}
    there = {name for exact in np.unique(~growing) for name in design.family.columns[bool(exact)]}
    arrays += _results(sizes, there)
    if keep == LAST:
        networks = design.family is NETWORKS
        kept = _of_networks if networks else _of_tables
        for name, group in _groups(settings, networks=networks).items():
            arrays += kept(f"tables/{name}", [settings[i] for i in group], group, sizes)
    return tuple(arrays)


def layout_size(layout: Sequence[Array]) -> int:
    """Return the total bytes of all arrays.  The file has a few thousand more."""
    return sum(array.dtype.itemsize * int(np.prod(array.shape, dtype=object)) for array in layout)


def _columns(settings: Sequence["Setting"]) -> Iterator[Array]:
    """Yield a column for each option: numbers if all its values are numbers, otherwise text."""
    written = [setting.written for setting in settings]
    for name in written[0]:
        values, axes = [one[name] for one in written], ["setting"]
        if name in OWN and set(values) == {""}:
            continue  # no learner has this option
        kinds = set(map(type, values))
        if kinds == {tuple}:
            axes.append("seat")
            content: NDArray[Any] = np.array(values, np.float64)
        elif kinds <= {bool}:
            content = np.array(values, np.bool_)
        elif kinds == {str, float} and name in OWN:
            content = np.array([np.nan if value == "" else value for value in values], np.float64)
        elif kinds <= {int, float}:
            content = np.array(values, np.int64 if kinds <= {int} else np.float64)
        else:
            content = texts(list(map(str, values)))
        yield fixed(COLUMNS.get(name, name), axes, content, f"the setting's {name.replace('_', ' ')}")


def _results(sizes: Mapping[str, int], there: Collection[str]) -> Iterator[Array]:
    """Yield the arrays of results.  there: statistics of any setting, besides those of every learner."""

    learner = "setting", "seed"
    states = f"{MISSING} missing, {DONE} done, {FAILED} failed: results of others say nothing"
    yield results("state", "uint8", learner, sizes, states)
    yield results("reason", "uint16", learner, sizes, "why a learner failed: its number in provenance/reasons")
    yield results("checksum", "uint64", learner, sizes, "BLAKE2b of key, seed and results without seconds")
    for name, field in STATISTICS.items():
        if name != "games" and (name in ALWAYS or name in there):
            axes = *learner, *statistic_axes(field)
            yield results(name, field.dtype, axes, sizes, field.meaning, field.unit)
    room = np.dtype(f"S{REASON_BYTES}")
    yield Array("provenance/reasons", room, ("failure",), (REASONS,), "why learners failed, one reason each")
    yield Array("provenance/progress", np.dtype(f"S{PROGRESS_BYTES}"), (), (), "how the study went on, as JSON")
