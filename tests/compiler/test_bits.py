"""Words as sets of cells and as bytes, and four numbers at a time: against Python's arithmetic and NumPy's."""

import pickle
import random
from typing import Any

import numpy as np
import pytest

from ttt_batch.compiler.bits import ROWS, lowest_bit, nth_member, popcount, ruler, unpack_rows
from ttt_batch.compiler.intrinsics import add_fours, divide_four, load_four, store_four
from ttt_batch.compiler.jit import kernel


@kernel
def members(bits: Any, cells: Any) -> Any:
    """Number of members, and each in order."""
    for n in range(popcount(bits)):
        cells[n] = nth_member(bits, n)
    return popcount(bits), lowest_bit(bits)


@pytest.mark.slow
def test_members_are_counted_and_found() -> None:
    rng = random.Random(1)
    for bits in [0, 1, 1 << 35, 1 << 63, (1 << 36) - 1, (1 << 64) - 1, *(rng.getrandbits(64) for _ in range(200))]:
        cells = np.zeros(64, np.int64)
        expected = [cell for cell in range(64) if bits >> cell & 1]
        assert members(np.uint64(bits), cells) == (len(expected), min(expected, default=64))
        assert cells[: len(expected)].tolist() == expected
    assert pickle.loads(pickle.dumps(members)) is members


@kernel
def write_one(widths: Any, target: Any, start: Any, one: Any, row: Any) -> None:
    """`unpack_rows` of one column."""
    unpack_rows(widths, target, start, (one,), row)


@kernel
def write_two(widths: Any, target: Any, start: Any, one: Any, two: Any, row: Any) -> None:
    """`unpack_rows` of two columns."""
    unpack_rows(widths, target, start, (one, two), row)


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("width", "word"), [(1, np.uint32), (31, np.uint32), (33, np.uint64), (42, np.uint64), (64, np.uint64)]
)
def test_rows_are_written_without_a_gap_and_nothing_else(width: int, word: Any):
    """64 rows at once."""
    rng, first, start = np.random.default_rng(width), 3, 5
    columns = rng.integers(0, 2**width - 1, (2, ROWS + 7), np.uint64, endpoint=True).astype(word)
    for count, write in ((1, write_one), (2, write_two)):
        target = np.full(start + count * width * ROWS + 9, 7, np.uint8)
        write(ruler(width), target, np.uint64(start), *columns[:count], first)
        bits = [
            int(column[row]) >> bit & 1
            for row in range(first, first + ROWS)
            for column in columns[:count]
            for bit in range(width)
        ]
        assert target.tolist() == [7] * start + bits + [7] * 9


@kernel
def average(values: Any, one: Any, other: Any, divisor: Any, target: Any) -> None:
    """Write the four sums of `values` from `one` and from `other` on, divided, to `values` from `target` on."""
    total = load_four(values, one)
    total = add_fours(total, load_four(values, other))
    store_four(values, target, divide_four(total, divisor))


def test_sums_and_quotients_of_four_are_numpys() -> None:
    rng = np.random.default_rng(1)
    for _ in range(50):
        values, divisor = rng.standard_normal(20), float(rng.integers(1, 10))
        one, other, target = (int(start) for start in rng.integers(0, 17, 3))  # any of them, aligned or not
        expected = values.copy()
        expected[target : target + 4] = (values[one : one + 4] + values[other : other + 4]) / divisor
        average(values, np.uint64(one), np.uint64(other), divisor, np.uint64(target))
        assert values.tobytes() == expected.tobytes()
