"""Conversion of a study's results to a pandas DataFrame or an xarray Dataset."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ttt_batch.base.errors import TttBatchError
from ttt_batch.runs.kept import played
from ttt_batch.studies.figures.holding import plays
from ttt_batch.studies.storage.declared import DONE, LABELS, STATISTICS
from ttt_batch.studies.storage.reading import Block, StudyFile

_INSTALL = "install it with: pip install 'ttt-batch[frames]'"


def to_dataframe(study: StudyFile, *, last: bool = False) -> Any:
    """Return a pandas DataFrame with a row for each recorded point of every learner that is done.

    The columns are `setting` (its number), `seed`, the setting's options (text as categories), `point`, `games` and
    the statistics.  A statistic of several numbers has several columns: `unbeatable.first`,
    `versus_random.second.loss`.  `seconds` are NaN at points within one kernel, never at a learner's last point.
    Results that a growing board lacks, and those of a seat that the learner does not play, are NaN in float columns
    and False or 0 in others.
    last: include only the last point of each learner.
    Raises TttBatchError if pandas is missing, and StudyFileError.
    """
    try:
        import pandas as pd
    except ImportError:
        raise TttBatchError(f"a table needs pandas; {_INSTALL}") from None
    pieces = [_rows(study, block, last=last) for block in study.blocks()]
    names = [name for name in STATISTICS if name in study.header.arrays]
    sizes = [sum(piece["setting"].size for piece in pieces)]
    columns: dict[str, Any] = {}

    def column(name: str, dtype: Any) -> None:
        """Join a column of all pieces and remove it from them.  Fill it where a piece lacks it."""
        whole = np.zeros(sizes, dtype)
        whole[...] = np.nan if whole.dtype.kind == "f" else 0
        begin = 0
        for piece in pieces:
            length = piece["setting"].size
            if name in piece:
                whole[begin : begin + length] = piece[name] if name == "setting" else piece.pop(name)
            begin += length
        columns[name] = whole

    column("setting", np.int64)
    column("seed", np.int64)
    for name in study.options:
        values = study.array(name)
        for label, part in _split(name, values, study.header.arrays[name].axes[1:]):
            if part.dtype.kind == "U":
                kinds, codes = np.unique(part, return_inverse=True)
                columns[label] = pd.Categorical.from_codes(codes[columns["setting"]], list(map(str, kinds)))
            else:
                columns[label] = part[columns["setting"]]
    column("point", np.int64)
    column("games", np.int64)
    for name in names:
        place = study.header.arrays[name]
        if name != "games":
            for label, part in _split(name, np.zeros((0, *place.shape[3:]), place.dtype), place.axes[3:]):
                column(label, part.dtype)
    return pd.DataFrame(columns)


def _rows(study: StudyFile, block: Block, *, last: bool) -> dict[str, NDArray[Any]]:
    """Return the rows of a block's learners, by column and without options."""
    points = np.arange(block.kind.points)[-1 if last else 0 :]
    n = block.settings.size
    rows = {
        "setting": np.repeat(block.settings, points.size),
        "seed": np.repeat(study.seeds[block.seeds], points.size),
        "point": np.tile(points, n),
        "games": study.games[block.settings][:, points].reshape(-1),
    }
    for name, column in block.statistics.items():
        blank = np.nan if column.dtype.kind == "f" else 0
        column = played(name, column, plays(study)[block.settings], blank).astype(column.dtype)
        kept = column[:, points].reshape(-1, *column.shape[2:])
        rows |= dict(_split(name, kept, study.header.arrays[name].axes[3:]))
    return rows


def _split(name: str, array: NDArray[Any], axes: tuple[str, ...]) -> list[tuple[str, NDArray[Any]]]:
    """Return an array [n, ...] as named columns [n].  The names contain the labels of the other `axes`."""
    if not axes:
        return [(name, array)]
    return [
        column
        for number, label in enumerate(LABELS[axes[0]])
        for column in _split(f"{name}.{label}", array[:, number], axes[1:])
    ]


def to_xarray(study: StudyFile) -> Any:
    """Return an xarray Dataset of all statistics, with axes `setting`, `seed`, `point` and others such as `seat`.

    The coordinates are the options along `setting`, and `games` at each point.  `state` is 1 for learners that are
    done.  For other learners, and after the last point of a setting, floats are NaN and other values False or 0.
    `seconds` are also NaN at points within one kernel, never at a learner's last point.
    Raises TttBatchError if xarray is missing, and StudyFileError.
    """
    try:
        import xarray as xr
    except ImportError:
        raise TttBatchError(f"a Dataset needs xarray; {_INSTALL}") from None
    arrays = study.header.arrays
    done = study.state == DONE
    variables: dict[str, Any] = {"state": (("setting", "seed"), study.state.copy())}
    for name, field in STATISTICS.items():
        if name in arrays and name != "games":
            array = study.array(name)
            blank = np.nan if array.dtype.kind == "f" else 0
            array[~done] = blank
            array = played(name, array, plays(study), blank).astype(array.dtype)
            variables[name] = arrays[name].axes, array, {"meaning": field.meaning, "unit": field.unit}
    labels = {axis: ((axis,), study.array(axis)) for axis in ("setting", "seed", "point", *LABELS)}
    along = {name: (arrays[name].axes, study.array(name)) for name in (*study.options, "key", "games", "points")}
    return xr.Dataset(variables, coords={**labels, **along}, attrs=dict(study.provenance))
