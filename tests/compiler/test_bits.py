"""Sets of cells in a word: how many, which, and the lowest."""

import pickle
import random
from typing import Any

import numpy as np

from ttt_batch.compiler.bits import lowest_bit, nth_member, popcount
from ttt_batch.compiler.jit import kernel


@kernel
def members(bits: Any, cells: Any) -> Any:
    """Number of members, and each in order."""
    for n in range(popcount(bits)):
        cells[n] = nth_member(bits, n)
    return popcount(bits), lowest_bit(bits)


def test_members_are_counted_and_found() -> None:
    rng = random.Random(1)
    for bits in [0, 1, 1 << 35, 1 << 63, (1 << 36) - 1, (1 << 64) - 1, *(rng.getrandbits(64) for _ in range(200))]:
        cells = np.zeros(64, np.int64)
        expected = [cell for cell in range(64) if bits >> cell & 1]
        assert members(np.uint64(bits), cells) == (len(expected), min(expected, default=64))
        assert cells[: len(expected)].tolist() == expected
    assert pickle.loads(pickle.dumps(members)) is members
