"""Base class of runs: saving, frames and figures."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ttt_batch.base.choices import SEATS
from ttt_batch.base.lock import Lock
from ttt_batch.base.outputs import named_file
from ttt_batch.base.printable import call_hook, make_frame, point_records
from ttt_batch.runs.runfile.checks import RunData
from ttt_batch.runs.runfile.writing import RUN_FILE, save_run

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

MOST_TEXT = 10_000
"""Characters stored of a text such as the command: a very long one must not make saving fail."""

OF_SEATS = "unbeatable", "worst", "value_error", "versus_random", "optimal_share", "best_response"
"""Statistics with an axis for the seats."""

OF_BOTH = "self_play"
"""The statistic that needs both seats."""


def played(name: str, array: NDArray[Any], own: NDArray[np.bool_], blank: float) -> NDArray[Any]:
    """Return a statistic [n, ..., points, (seats, ...)] with `blank` in seats that are not played.

    own: bool[n, seats], the seats that are played.
    """
    if name == OF_BOTH:
        kept = own.all(axis=1).reshape(-1, *(1,) * (array.ndim - 1))
    elif name in OF_SEATS:
        ends = 1 if name == "versus_random" else 0
        kept = own.reshape(len(own), *(1,) * (array.ndim - 2 - ends), 2, *(1,) * ends)
    else:
        return array
    return np.where(kept, array, blank)


class StoredRun:
    """Base class of runs of tables and of networks, with `statistics`, `provenance` and `data`."""

    statistics: dict[str, NDArray[Any]]
    provenance: dict[str, str | int | float]

    @property
    def seats(self) -> tuple[str, ...]:
        """Return the seats in which the agent can play."""
        raise NotImplementedError

    def data(self) -> RunData:
        """Return the contents of the run file."""
        raise NotImplementedError

    @property
    def kept_provenance(self) -> dict[str, str | int | float]:
        """Return `provenance` as a file stores it, with very long texts cut."""
        return {name: value[:MOST_TEXT] if isinstance(value, str) else value for name, value in self.provenance.items()}

    @property
    def own_statistics(self) -> dict[str, NDArray[Any]]:
        """Return the recorded points; NaN in a seat that the agent does not play, and then also for self-play."""
        own = np.array([[seat in self.seats for seat in SEATS]])
        if own.all():
            return self.statistics
        return {name: played(name, column[None], own, np.nan)[0] for name, column in self.statistics.items()}

    def save(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Write the run file; an existing file is replaced only with `overwrite`.

        Raises RunFileError, also while a training writes the file, and UsageError for an invalid name.
        """
        path = named_file("path", path)
        with Lock(RUN_FILE.place(path, overwrite=overwrite)):
            save_run(path, self.data(), overwrite=overwrite)
        return path

    def to_dict(self) -> dict[str, Any]:
        """Return plain values with stable keys, as `train --json` prints them."""
        return dict(call_hook("run_dict", self))

    def to_frame(self) -> "DataFrame":
        """Return the recorded points as a pandas DataFrame, a row each, indexed by the games learnt from.

        Columns of more than one number are split: `unbeatable.first`, `versus_random.second.loss`.
        Raises TttBatchError if pandas is missing.
        """
        return make_frame(point_records(self.own_statistics), "games")

    def plot(self, kind: str = "curves") -> "Figure":
        """Return a matplotlib Figure of the run's learning, without writing a file.

        kind: `curves`; for tables also `opening` or `coverage`.
        Raises UsageError, and TttBatchError if matplotlib is missing.
        """
        drawn: Figure = call_hook("figure", self, kind)
        return drawn
