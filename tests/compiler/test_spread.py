"""Words as bytes, 64 rows at once, against Python's arithmetic."""

from typing import Any

import numpy as np
import pytest

from ttt_batch.compiler.bits import ROWS, ruler, unpack_rows
from ttt_batch.compiler.jit import kernel


@kernel
def write_one(widths: Any, target: Any, start: Any, one: Any, row: Any) -> None:
    """`unpack_rows` of one column."""
    unpack_rows(widths, target, start, (one,), row)


@kernel
def write_two(widths: Any, target: Any, start: Any, one: Any, two: Any, row: Any) -> None:
    """`unpack_rows` of two columns."""
    unpack_rows(widths, target, start, (one, two), row)


@pytest.mark.parametrize(
    ("width", "word"), [(1, np.uint32), (31, np.uint32), (33, np.uint64), (42, np.uint64), (64, np.uint64)]
)
def test_rows_are_written_without_a_gap_and_nothing_else(width: int, word: Any):
    rng, first, start = np.random.default_rng(width), 3, 5
    columns = rng.integers(0, 2**width - 1, (2, ROWS + 7), np.uint64, endpoint=True).astype(word)
    for count in (1, 2):
        target = np.full(start + count * width * ROWS + 9, 7, np.uint8)
        write = write_one if count == 1 else write_two
        write(ruler(width), target, np.uint64(start), *columns[:count], first)
        bits = [
            int(column[row]) >> bit & 1
            for row in range(first, first + ROWS)
            for column in columns[:count]
            for bit in range(width)
        ]
        assert target.tolist() == [7] * start + bits + [7] * 9
