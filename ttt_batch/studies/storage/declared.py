"""What the arrays of a study's file are, and what stands for what in them."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_batch.base.choices import RESULTS, SEATS
from ttt_batch.base.printable import SELF_PLAY
from ttt_batch.runs.runfile.declaration import FIELDS, Field

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

STATISTICS = {field.name: field for field in FIELDS if field.group == "statistics"}
STATISTICS["seconds"] = STATISTICS["seconds"]._replace(
    meaning="wall clock since the start; NaN at points within one kernel, of which only the end is timed"
)
MEASURED = ("games", "seconds")
"""Statistics that no checksum covers: games are part of what never changes, seconds differ from time to time."""

ALWAYS = ("games", "seconds", "outcomes")
"""Statistics of every learner; others depend on what learns (`Family.columns`)."""

LETTERS = {"T": "point", "P": "seat", "S": "row", "E": "edge", "U": "unfinished_row"}


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
    return tuple(LETTERS.get(letter, third) for letter in letters)


def texts(texts: Sequence[str]) -> NDArray[np.bytes_]:
    """Text of fixed length, 2 at least: netCDF takes text of length 1 for letters, and an axis of them for a word."""
    encoded = [text.encode() for text in texts]
    return np.array(encoded, f"S{max(2, *map(len, encoded))}")


def fixed(path: str, axes: Sequence[str], content: Any, meaning: str, unit: str = "") -> Array:
    """An array that never changes."""
    content = np.asarray(content)
    return Array(path, content.dtype, tuple(axes), content.shape, meaning, unit, content)
