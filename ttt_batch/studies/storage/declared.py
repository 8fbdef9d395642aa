"""Declarations of the arrays of a study's file and of their codes."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_batch.base.choices import RESULTS, SEATS
from ttt_batch.base.printable import SELF_PLAY
from ttt_batch.runs.runfile.declaration import FIELDS, Field

KEEPS = NONE, LAST = ("none", "last")
"""Choices of the tables to keep."""

MISSING, DONE, FAILED = 0, 1, 2

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
"""Statistics of every learner.  Others depend on its family (`Family.columns`)."""

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
    """Return texts as fixed-length bytes, at least 2 each, because netCDF joins an axis of single letters to a word."""
    encoded = [text.encode() for text in texts]
    return np.array(encoded, f"S{max(2, *map(len, encoded))}")


def fixed(path: str, axes: Sequence[str], content: Any, meaning: str, unit: str = "") -> Array:
    """Return an array with constant content."""
    content = np.asarray(content)
    return Array(path, content.dtype, tuple(axes), content.shape, meaning, unit, content)
