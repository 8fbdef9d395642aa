"""Layout of a study's file: its arrays, and the content of the constant ones."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ttt_batch.runs.own_options import READ
from ttt_batch.studies.storage.declared import (
    ALWAYS,
    COLUMNS,
    DONE,
    FAILED,
    LABELS,
    LAST,
    MISSING,
    NONE,
    PROGRESS_BYTES,
    REASON_BYTES,
    REASONS,
    STATISTICS,
    Array,
    fixed,
    statistic_axes,
    texts,
)
from ttt_batch.studies.storage.kept import snapshot_arrays

if TYPE_CHECKING:
    from ttt_batch.studies.designs.design import Design
    from ttt_batch.studies.designs.family import Setting


def study_layout(design: "Design", description: str, keep: str = NONE) -> tuple[Array, ...]:
    """Return all arrays of a study's file.

    description: text that describes the design.  keep: of KEEPS.
    Raises UsageError for kept tables without a fixed size.
    """
    settings = design.settings
    labels: dict[str, NDArray[Any]] = {"setting": np.arange(len(settings)), "seed": np.array(design.seeds, np.int64)}
    games = _games(settings)
    labels["point"] = np.arange(games.shape[1])
    labels |= {axis: texts(names) for axis, names in LABELS.items()}
    arrays = [
        fixed("setting", ["setting"], labels["setting"], "number of the setting, from 0 on"),
        fixed("seed", ["seed"], labels["seed"], "seed of the learners"),
        fixed("point", ["point"], labels["point"], "number of the recorded point, from 0 on"),
        *(fixed(axis, [axis], labels[axis], f"name of the {axis}") for axis in LABELS),
        fixed("key", ["setting"], texts([setting.key for setting in settings]), "what stands for the setting"),
        *_columns(settings),
        fixed("games", ["setting", "point"], games, "games learnt from at the point; 0 after the last one", "games"),
        fixed("points", ["setting"], np.count_nonzero(games, axis=1), "recorded points of the setting", "points"),
        fixed(
            "growing",
            ["setting"],
            _growing(settings),
            "no exact results: a large board, networks, or not judged",
        ),
        fixed("provenance/design", [], texts([description])[0], "the study's settings and seeds in TOML"),
        fixed("provenance/failure", ["failure"], np.arange(REASONS), "number of a reason"),
    ]
    sizes = {axis: content.size for axis, content in labels.items()}
    there = {name for exact in np.unique(~_growing(settings)) for name in design.family.columns(exact=bool(exact))}
    arrays += _results(sizes, there)
    if keep == LAST:
        arrays += snapshot_arrays(settings, sizes)
    return tuple(arrays)


def layout_size(layout: Sequence[Array]) -> int:
    """Return the total bytes of all arrays.  The file has a few thousand more."""
    return sum(array.dtype.itemsize * int(np.prod(array.shape, dtype=object)) for array in layout)


def _games(settings: Sequence["Setting"]) -> NDArray[np.int64]:
    points = [setting.points for setting in settings]
    games = np.zeros((len(settings), max(map(len, points))), np.int64)
    for i, own in enumerate(points):
        games[i, : len(own)] = own
    return games


def _growing(settings: Sequence["Setting"]) -> NDArray[np.bool_]:
    return np.array([not setting.family.exact(setting.config) for setting in settings])


def _columns(settings: Sequence["Setting"]) -> Iterator[Array]:
    """Yield a column for each option: numbers if all its values are numbers, otherwise text."""
    written = [setting.written for setting in settings]
    for name in written[0]:
        values, axes = [one[name] for one in written], ["setting"]
        if name in READ and set(values) == {""}:
            continue  # no learner has this option
        kinds = set(map(type, values))
        if kinds == {tuple}:
            axes.append("seat")
            content: NDArray[Any] = np.array(values, np.float64)
        elif kinds <= {bool}:
            content = np.array(values, np.bool_)
        elif kinds == {str, float} and name in READ:
            content = np.array([np.nan if value == "" else value for value in values], np.float64)
        elif kinds <= {int, float}:
            content = np.array(values, np.int64 if kinds <= {int} else np.float64)
        else:
            content = texts(list(map(str, values)))
        yield fixed(COLUMNS.get(name, name), axes, content, f"the setting's {name.replace('_', ' ')}")


def _results(sizes: Mapping[str, int], there: Collection[str]) -> Iterator[Array]:
    """Yield the arrays of results.  there: statistics of any setting, besides those of every learner."""

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
        if name != "games" and (name in ALWAYS or name in there):
            yield array(name, field.dtype, (*learner, *statistic_axes(field)), field.meaning, field.unit)
    room = np.dtype(f"S{REASON_BYTES}")
    yield Array("provenance/reasons", room, ("failure",), (REASONS,), "why learners failed, one reason each")
    yield Array("provenance/progress", np.dtype(f"S{PROGRESS_BYTES}"), (), (), "how the study went on, as JSON")
