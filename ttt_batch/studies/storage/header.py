"""Header of a study file, and access to the arrays that it places.

The reader trusts no value: it checks every offset, size and axis against the file's length and the other arrays.
"""

import io
import itertools
import json
import math
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_batch.core.errors import StudyFileError, StudyTakenError
from ttt_batch.core.files import Content
from ttt_batch.runs.storage.container import STUDY_TYPE, FileKind, Header, digest_parts, plain_json, version_text
from ttt_batch.runs.storage.declaration import TABLE_DTYPES

FORMAT = (1, 2)
"""Major and minor version of the format; a reader opens every minor version of its own major version.

1.0: learners of tables.  1.1: also pattern networks.  1.2: also tables of which only results are counted.
"""

MOST_FIXED = 1 << 30
"""Limit of the constant bytes.  100,000 settings take about 20 MB."""

_NO_DIGEST = b"0" * 64
_DTYPES = {np.dtype(name).newbyteorder("<").str for name in TABLE_DTYPES}


class DamagedStudy(StudyFileError):
    """Error for a file whose content is not that of a study."""


STUDY_FILE = FileKind(
    StudyFileError,
    "out",
    taken=StudyTakenError,
    name=STUDY_TYPE,
    version=FORMAT,
    least=1 << 12,
    most=1 << 20,
    damaged=DamagedStudy,
    writer="a study",
    restore="restore a backup, or study it again",
    anyway=lambda: "h5py and xarray may open it as it is; here, restore a backup, or study it again",
)
"""Kind of study files."""


class Stored(NamedTuple):
    """Place of an array.  axes: their names.  results: whether it holds results, which no digest covers."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    axes: tuple[str, ...]
    offset: int
    results: bool

    def nbytes(self, axes: int = 0) -> int:
        """Return the number of bytes, without overflow: of the array, or of a record behind its first `axes` axes."""
        return math.prod(self.shape[axes:]) * self.dtype.itemsize


class StudyHeader(NamedTuple):
    """Contents of the header: its first lines as in `Header`, and the places of the arrays by path.

    digest: digest of the constant bytes.  provenance: start of the study.  keep: the kept tables, of KEEPS.
    """

    version: tuple[int, int]
    digest: str
    length: int
    size: int
    provenance: Mapping[str, str | int | float]
    keep: str
    arrays: Mapping[str, Stored]


def compose(header: StudyHeader) -> bytes:
    """Return the header's text, filled up to `header.size` bytes if it is shorter."""
    contents = {path: {**stored._asdict(), "dtype": stored.dtype.str} for path, stored in header.arrays.items()}
    values = {"provenance": header.provenance, "keep": header.keep, "arrays": contents}
    text = (
        f"{STUDY_TYPE}, format {version_text(header.version)}\n"
        f"sha256 {header.digest}\n"
        f"length {header.length} bytes\n"
        f"header {header.size} bytes\n"
        "The digest covers all bytes but those of results, as if its own 64 digits were 0.\n"
        "\n"
        "A study of tabular self-play on tic-tac-toe: settings, each with all seeds, stored as HDF5.  In Python:\n"
        "    import xarray\n"
        '    study = xarray.open_dataset("NAME.h5", engine="h5netcdf")\n'
        '    print(study.where(study.state == 1).best_response.mean("seed"))\n'
        "Without HDF5: each array of the contents below stands at its offset in one piece, the last axis fastest.\n"
        "\n"
        f"{json.dumps(values, separators=(',', ':'))}\n"
    )
    return text.encode().ljust(header.size - 1) + b"\n"


def read_header(name: str, file: io.FileIO, size: int) -> StudyHeader:
    """Return the checked header of an open file of `size` bytes, without a comparison of the digest.

    name: for messages.  Raises DamagedStudy for an invalid header, and StudyFileError for a newer format.
    """
    first = STUDY_FILE.read_header(name, file, size)
    STUDY_FILE.check_length(name, file, first, size)
    file.seek(0)
    try:
        header = _parse(file.read(first.size), first)
        _check_arrays(header)
    except (ValueError, TypeError, KeyError, RecursionError, OverflowError) as exc:
        why = f" ({exc})" if isinstance(exc, _Wrong) else ""
        damage = f"{name} is damaged in its first {first.size:,} bytes{why}"
        raise DamagedStudy(f"{damage}; {STUDY_FILE.restore}") from None
    return header


def digest_of(file: io.FileIO, header: StudyHeader, *, marked: bool = False) -> str:
    """Return the SHA-256 of all bytes except arrays of results, with the header's digest replaced by zeros.

    marked: clear HDF5's mark of a file that is open for writing before hashing.
    """
    file.seek(0)
    before, found, after = file.read(header.size).partition(b"\nsha256 ")
    text = before + found + _NO_DIGEST + after[len(_NO_DIGEST) :]
    return digest_parts(file, _fixed_parts(header), header.size, marked=marked, before=text)


def _fixed_parts(header: StudyHeader) -> Iterator[tuple[int, int]]:
    """Yield begin and end of each constant part behind the header."""
    results = sorted((stored.offset, stored.nbytes()) for stored in header.arrays.values() if stored.results)
    begin = header.size
    for offset, size in results:
        yield begin, offset
        begin = offset + size
    yield begin, header.length


class _Wrong(ValueError):
    """Error for an impossible value in the header."""


def _parse(text: bytes, first: Header) -> StudyHeader:
    """Return the header of this text with checked types.  Raises ValueError, TypeError or KeyError."""
    values = plain_json(text[text.index(b"\n{") :])
    provenance, keep = dict(values["provenance"]), values["keep"]
    plain = all(isinstance(value, str | int) or math.isfinite(value) for value in provenance.values())
    if not plain or not isinstance(keep, str):
        raise _Wrong("provenance")
    arrays = {}
    for path, entry in dict(values["arrays"]).items():
        if not re.fullmatch(r"(?:[A-Za-z0-9][A-Za-z0-9_.-]{0,99}/){0,2}[A-Za-z0-9_]{1,100}", path):
            raise _Wrong("a path")
        dtype, shape, axes, offset = entry["dtype"], entry["shape"], entry["axes"], entry["offset"]
        if dtype not in _DTYPES and not re.fullmatch(r"\|S[1-9][0-9]{0,7}", dtype):
            raise _Wrong(f"the type of {path}")
        numbers = [*shape, offset]
        if not all(type(number) is int and 0 <= number < 10**18 for number in numbers) or len(shape) > 32:
            raise _Wrong(f"the shape of {path}")
        if type(entry["results"]) is not bool or not all(isinstance(axis, str) for axis in axes):
            raise _Wrong(f"the axes of {path}")
        arrays[path] = Stored(np.dtype(dtype), tuple(shape), tuple(axes), offset, entry["results"])
    return StudyHeader(*first, provenance, keep, arrays)


def _check_arrays(header: StudyHeader) -> None:
    """Raise ValueError for arrays outside the file or the space behind the header, or without labels of their axes."""
    places = sorted((stored.offset, stored.offset + stored.nbytes()) for stored in header.arrays.values())
    if not places or places[0][0] < header.size or places[-1][1] > header.length:
        raise _Wrong("an array begins or ends outside the file")
    if any(end > begin for (_, end), (begin, _) in itertools.pairwise(places)):
        raise _Wrong("two arrays overlap")
    if sum(end - begin for begin, end in _fixed_parts(header)) > MOST_FIXED:
        raise _Wrong(f"more than {MOST_FIXED:,} bytes that never change")
    for path, stored in header.arrays.items():
        if len(stored.axes) != len(stored.shape):
            raise _Wrong(f"the axes of {path}")
        for axis, length in zip(stored.axes, stored.shape, strict=True):
            labels = header.arrays.get(labels_of(header.arrays, path, axis))
            if labels is None or labels.shape != (length,) or labels.axes != (axis,) or length == 0:
                raise _Wrong(f"the axis {axis[:40]} of {path}")


def labels_of(paths: Mapping[str, Any], path: str, axis: str) -> str:
    """Return the path of an axis's labels, in the group of the array `path` or in the root."""
    group, slash, _ = path.rpartition("/")
    own = f"{group}{slash}{axis}"
    return own if own in paths else axis


KEY_BYTES = 8

Run = tuple[int, int, int]
"""Run of successive records: number of the first one, and their begin and end in the written array."""


class StudyArrays:
    """Unbuffered, thread-safe access to the arrays of an open file.

    cut: whether to read zeros beyond the end of the file.
    """

    def __init__(self, file: io.FileIO) -> None:
        """Use an unbuffered file, which the caller closes."""
        self._file, self.cut = file, False
        self._lock = threading.Lock()

    def read(self, stored: Stored, first: int = 0, count: int | None = None, axes: int = 0) -> NDArray[Any]:
        """Return an array, or `count` of its records from record `first` on.

        axes: number of axes before those of a record.  Raises OSError, and EOFError if the file has become shorter.
        """
        shape = stored.shape if count is None else (count, *stored.shape[axes:])
        array = np.empty(shape, stored.dtype)
        with self._lock:
            self._file.seek(stored.offset + first * stored.nbytes(axes))
            left = array.reshape(-1).view(np.uint8).data
            while len(left):
                taken = self._file.readinto(left)
                if not taken and not self.cut:
                    raise EOFError("it has become shorter")
                if not taken:
                    left[:] = bytes(len(left))
                    break
                left = left[taken:]
        return array

    def write(self, stored: Stored, runs: Sequence[Run], array: NDArray[Any], axes: int = 2) -> None:
        """Write records to their places.  array: of the stored type, in C order.  axes: as for `read`.

        Raises OSError.
        """
        for first, begin, end in runs:
            content = array[begin:end].reshape(-1).view(np.uint8).data
            self.put(stored.offset + first * stored.nbytes(axes), content)

    def put(self, offset: int, content: Content) -> None:
        """Write bytes from `offset` on.  Raises OSError."""
        left = memoryview(content)
        with self._lock:
            self._file.seek(offset)
            while len(left):
                left = left[self._file.write(left) :]


def runs_of(numbers: NDArray[np.int64]) -> list[Run]:
    """Return the runs of consecutive numbers."""
    if not numbers.size:
        return []
    begins = [0, *(np.flatnonzero(np.diff(numbers) != 1) + 1).tolist()]
    return list(zip(numbers[begins].tolist(), begins, [*begins[1:], numbers.size], strict=True))
