"""Access to an open file's arrays by offset, and checksums of learners."""

import hashlib
import io
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ttt_batch.studies.storage.header import Stored

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
        record = stored.shape[axes:]
        shape = stored.shape if count is None else (count, *record)
        array = np.empty(shape, stored.dtype)
        with self._lock:
            self._file.seek(stored.offset + first * self._record(stored, axes))
            left = _bytes(array)
            while len(left):
                taken = self._file.readinto(left)
                if not taken and not self.cut:
                    raise EOFError("it has become shorter")
                if not taken:
                    left[:] = bytes(len(left))
                    break
                left = left[taken:]
        return array

    def write(self, stored: Stored, first: int, array: NDArray[Any], axes: int = 0) -> None:
        """Write records from record `first` on.  array: of the stored type, in C order.  Raises OSError."""
        self.put(stored.offset + first * self._record(stored, axes), _bytes(array))

    def put(self, offset: int, content: memoryview) -> None:
        """Write bytes from `offset` on.  Raises OSError."""
        with self._lock:
            self._file.seek(offset)
            while len(content):
                content = content[self._file.write(content) :]

    def scatter(self, stored: Stored, runs: Sequence[Run], array: NDArray[Any]) -> None:
        """Write records of learners to their places.  runs: runs of the learners' numbers."""
        for first, begin, end in runs:
            self.write(stored, first, array[begin:end], 2)

    @staticmethod
    def _record(stored: Stored, axes: int) -> int:
        """Return the bytes of a record."""
        return stored._replace(shape=stored.shape[axes:]).nbytes


def _bytes(array: NDArray[Any]) -> memoryview:
    """Return the bytes of an array in C order."""
    return array.reshape(-1).view(np.uint8).data


def runs_of(numbers: NDArray[np.int64]) -> list[Run]:
    """Return the runs of numbers that rise by 1."""
    if not numbers.size:
        return []
    begins = [0, *(np.flatnonzero(np.diff(numbers) != 1) + 1).tolist()]
    return list(zip(numbers[begins].tolist(), begins, [*begins[1:], numbers.size], strict=True))


def checksums(keys: NDArray[np.uint8], seeds: NDArray[np.int64], results: Sequence[NDArray[Any]]) -> NDArray[np.uint64]:
    """Return the 64-bit BLAKE2b of key, seed and results of each of n learners.

    keys: uint8[n, KEY_BYTES].  results: arrays [n, ...] in the order of the layout, little-endian.
    """
    n = seeds.size
    parts = [keys, seeds.astype("<i8"), *results]  # in the byte order of the file
    rows = np.concatenate([np.ascontiguousarray(part).reshape(n, -1).view(np.uint8) for part in parts], axis=1)
    digests = b"".join([hashlib.blake2b(row, digest_size=8).digest() for row in rows])
    return np.frombuffer(digests, "<u8").astype(np.uint64)
