"""Claiming: every game is played by one thread."""

import threading
from typing import Any

import numpy as np
import pytest
from helpers.support import without_jit

from ttt_batch.compiler.intrinsics import claim
from ttt_batch.compiler.jit import kernel


@kernel
def claim_all(next_free: Any, size: int, last: int, owner: Any, me: int) -> None:
    """Note in `owner` (int64[last + size]) by whom each number below `last` was claimed, added up; in place."""
    first = claim(next_free, size)
    while first < last:
        for number in range(first, first + size):
            owner[number] += me
        first = claim(next_free, size)


def claimed(threads: int, size: int, last: int) -> np.ndarray:
    """By whom each number was claimed: 1, 2, 4 ... for a thread, sums where several did."""
    next_free, owner = np.zeros(1, np.int64), np.zeros(last + size, np.int64)
    claim_all(next_free, size, 0, owner, 1)  # compiled before it is raced for
    next_free[0] = 0
    begin = threading.Barrier(threads)

    def race(me: int) -> None:
        begin.wait()
        claim_all(next_free, size, last, owner, me)

    racing = [threading.Thread(target=race, args=(1 << number,)) for number in range(threads)]
    for thread in racing:
        thread.start()
    for thread in racing:
        thread.join()
    assert next_free[0] == (-(-last // size) + threads) * size  # each comes once in vain
    return owner


def all_by_one(threads: int, size: int, last: int) -> bool:
    """Whether each number up to the end of the last claim was claimed by exactly one thread, and none behind it."""
    owner, end = claimed(threads, size, last), -(-last // size) * size
    return bool(np.isin(owner[:end], 1 << np.arange(threads)).all() and not owner[end:].any())


def test_every_number_is_claimed_once() -> None:
    for threads in (1, 2, 4):
        for size, last in ((1, 1_000_000), (7, 1_000_000), (100, 99), (3, 0)):
            assert all_by_one(threads, size, last)


def test_several_threads_get_their_share() -> None:
    assert any(np.unique(claimed(2, 1, 3_000_000)[:3_000_000]).size == 2 for _ in range(20))


@pytest.mark.slow
def test_plain_python_claims_alike() -> None:
    assert without_jit(__file__, "all_by_one(3, 2, 5001)") == "True"
