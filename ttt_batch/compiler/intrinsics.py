"""Numba intrinsics in LLVM code: vector operations, atomic counters and words, aligned arrays.

`mask_above` and `masked_max` handle eight entries in a few instructions with vectors of 64 bytes, and in two to four
times as many with shorter vectors.  A loop would take a step per move.  Records of four numbers add up in a register.

`claim` distributes games to threads during play: a free thread claims the next ones, so threads hardly wait.

Numba has neither atomic access to words (uint64) shared by threads nor prefetching.  Without the JIT a lock replaces
the atomic instructions.
"""

import ctypes
import math
import threading
import time
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ttt_batch.compiler.jit import instruction

LINE = 64
"""Bytes of a cache line; the vectors of processors are at most as long."""


def zeros(shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
    """Return zeros aligned to `LINE` bytes; NumPy's 16 bytes make `Batch` 7 % slower on 6x7x4."""
    length = math.prod(shape) * np.dtype(dtype).itemsize
    memory = np.zeros(length + LINE, np.uint8)
    start = -memory.ctypes.data % LINE
    return memory[start : start + length].view(dtype).reshape(shape)


LANES = 8
"""Entries that are read together."""

_one_at_a_time = threading.Lock()


@instruction(LANES)
def mask_above(values: Any, start: Any, limit: Any) -> Any:
    """Return a bit mask (uint64) of the eight entries of `values` (float64[N]) from `start` on that exceed `limit`.

    start: uint64, at most N - 8, not checked.
    """
    return np.uint64(sum(1 << lane for lane in range(LANES) if values[int(start) + lane] > limit))


@instruction(LANES)
def masked_max(values: Any, start: Any, members: Any) -> Any:
    """Return the maximum of the `members` of eight entries of `values` (float64[N], no NaN) from `start` on, or -inf.

    start: as for `mask_above`.  members: uint64, one bit per entry; other bits are ignored.
    """
    return max((float(values[int(start) + lane]) for lane in range(LANES) if int(members) >> lane & 1), default=-np.inf)


FOUR = 4
"""Numbers per record."""


@instruction(FOUR)
def load_four(values: Any, start: Any) -> Any:
    """Return four entries of `values` (float64[N]) from `start` (uint64, at most N - 4, not checked) on."""
    return values[int(start) : int(start) + FOUR].copy()


@instruction(FOUR)
def store_four(values: Any, start: Any, four: Any) -> None:
    """Write `four` to `values`, in place; start: as for `load_four`."""
    values[int(start) : int(start) + FOUR] = four


@instruction()
def add_fours(one: Any, other: Any) -> Any:
    """Return the sums of four pairs of numbers."""
    return one + other


@instruction(FOUR)
def divide_four(four: Any, divisor: Any) -> Any:
    """Return the four quotients; divisor: float64."""
    return four / divisor


@instruction()
def claim(next_free: Any, n: Any) -> Any:
    """Claim the next `n` numbers from the counter `next_free` (int64[1] or uint64[1], in place); return the first.

    Any number of threads may call it at once.  A claim has acquire and release ordering: a later claim of another
    thread makes the earlier writes of this thread visible.
    """
    with _one_at_a_time:
        first = int(next_free[0])
        next_free[0] += n
    return first


@instruction()
def compare_and_swap(words: Any, index: Any, old: Any, new: Any) -> Any:
    """Write `new` into `words[index]` if it holds `old`; return its previous value (uint64).

    words: uint64[N].  index: uint64 below N, not checked.  old, new: uint64.
    """
    with _one_at_a_time:
        held = np.uint64(words[index])
        if held == old:
            words[index] = new
    return held


@instruction()
def read_word(words: Any, index: Any) -> Any:
    """Return `words[index]`, with acquire ordering: earlier writes of its writer are visible.

    words, index: as for `compare_and_swap`.
    """
    return np.uint64(words[index])


@instruction()
def write_word(words: Any, index: Any, word: Any) -> None:
    """Write a word (uint64), with release ordering for `read_word`.  words, index: as for `compare_and_swap`."""
    with _one_at_a_time:
        words[index] = word


@instruction()
def yield_processor() -> None:
    """Let a thread without a processor run; machine code for Windows does nothing."""
    time.sleep(0)


@instruction()
def array_at(like: Any, address: Any) -> Any:
    """Return the array of another thread at `address` (uint64), with the shape and the dtype of `like`.

    like: contiguous.  The other thread must keep its array.
    """
    memory = (ctypes.c_char * like.nbytes).from_address(int(address))
    return np.frombuffer(memory, like.dtype).reshape(like.shape)


@instruction()
def prefetch_word(words: Any, index: Any) -> None:
    """Prefetch `words[index]` into the processor's cache."""
