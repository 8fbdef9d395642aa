"""Numba intrinsics in LLVM code: vector operations, atomic counters and words, aligned arrays.

`mask_above` and `masked_max` handle eight entries in a few instructions with vectors of 64 bytes, and in two to four
times as many with shorter vectors.  A loop would take a step per move.  Records of four numbers add up in a register.

`claim` distributes games to threads during play: a free thread claims the next ones, so threads hardly wait.

Numba has neither atomic access to words (uint64) shared by threads nor prefetching.  Without the JIT a lock replaces
the atomic instructions.
"""

import math
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import models, register_model
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


def _some(builder: Any, vector: Any, lanes: Sequence[int]) -> Any:
    """Return these lanes of a vector."""
    order = ir.Constant(ir.VectorType(ir.IntType(32), len(lanes)), list(lanes))
    return builder.shuffle_vector(vector, ir.Constant(vector.type, ir.Undefined), order)


def _repeated(builder: Any, number: Any, lanes: int) -> Any:
    """Return a vector with a number (float64) in every lane."""
    undefined = ir.Constant(ir.VectorType(ir.DoubleType(), lanes), ir.Undefined)
    return _some(builder, builder.insert_element(undefined, number, ir.Constant(ir.IntType(32), 0)), [0] * lanes)


def _address(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Return the address of the entry of an array, the first two arguments."""
    array = context.make_array(signature.args[0])(context, builder, arguments[0])
    return builder.gep(array.data, [arguments[1]])


def _numbers(context: Any, builder: Any, signature: Any, arguments: Any, lanes: int) -> Any:
    """Return the address of the `lanes` entries from `_address` on."""
    place = _address(context, builder, signature, arguments)
    return builder.bitcast(place, ir.VectorType(ir.DoubleType(), lanes).as_pointer())


def _emit_mask_above(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    eight = builder.load(_numbers(context, builder, signature, arguments, LANES), align=8)
    above = builder.fcmp_ordered(">", eight, _repeated(builder, arguments[2], LANES))
    return builder.zext(builder.bitcast(above, ir.IntType(LANES)), ir.IntType(64))


def _emit_masked_max(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    left = builder.load(_numbers(context, builder, signature, arguments, LANES), align=8)
    chosen = builder.bitcast(builder.trunc(arguments[2], ir.IntType(LANES)), ir.VectorType(ir.IntType(1), LANES))
    left = builder.select(chosen, left, ir.Constant(left.type, [float("-inf")] * LANES))
    while left.type.count > 1:  # compare the two halves
        half = left.type.count // 2
        one, other = _some(builder, left, range(half)), _some(builder, left, range(half, 2 * half))
        left = builder.select(builder.fcmp_ordered(">", one, other), one, other)
    return builder.extract_element(left, ir.Constant(ir.IntType(32), 0))


@instruction(lambda values, _start, _limit: types.uint64(values, types.uint64, types.float64), _emit_mask_above)
def mask_above(values: Any, start: Any, limit: Any) -> Any:
    """Return a bit mask (uint64) of the eight entries of `values` (float64[N]) from `start` on that exceed `limit`.

    start: uint64, at most N - 8, not checked.
    """
    return np.uint64(sum(1 << lane for lane in range(LANES) if values[int(start) + lane] > limit))


@instruction(lambda values, _start, _members: types.float64(values, types.uint64, types.uint64), _emit_masked_max)
def masked_max(values: Any, start: Any, members: Any) -> Any:
    """Return the maximum of the `members` of eight entries of `values` (float64[N], no NaN) from `start` on, or -inf.

    start: as for `mask_above`.  members: uint64, one bit per entry; other bits are ignored.
    """
    return max((float(values[int(start) + lane]) for lane in range(LANES) if int(members) >> lane & 1), default=-np.inf)


FOUR = 4
"""Numbers per record."""


class _Four(types.Type):  # type: ignore[misc]
    """Numba type of four float64 in a register; without the JIT they are an array."""

    def __init__(self) -> None:
        super().__init__("Four")


@register_model(_Four)
class _FourModel(models.PrimitiveModel):  # type: ignore[misc]
    """Data model of `_Four`: a vector of four doubles."""

    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, ir.VectorType(ir.DoubleType(), FOUR))


_four = _Four()


def _emit_load_four(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    return builder.load(_numbers(context, builder, signature, arguments, FOUR), align=8)


def _emit_store_four(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    builder.store(arguments[2], _numbers(context, builder, signature, arguments, FOUR), align=8)
    return context.get_dummy_value()


def _emit_divide_four(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
    return builder.fdiv(arguments[0], _repeated(builder, arguments[1], FOUR))


@instruction(lambda values, _start: _four(values, types.uint64), _emit_load_four)
def load_four(values: Any, start: Any) -> Any:
    """Return four entries of `values` (float64[N]) from `start` (uint64, at most N - 4, not checked) on."""
    return values[int(start) : int(start) + FOUR].copy()


@instruction(lambda values, _start, _new: types.void(values, types.uint64, _four), _emit_store_four)
def store_four(values: Any, start: Any, four: Any) -> None:
    """Write `four` to `values`, in place; start: as for `load_four`."""
    values[int(start) : int(start) + FOUR] = four


@instruction(
    lambda _one, _other: _four(_four, _four), lambda _context, builder, _signature, arguments: builder.fadd(*arguments)
)
def add_fours(one: Any, other: Any) -> Any:
    """Return the sums of four pairs of numbers."""
    return one + other


@instruction(lambda _dividend, _divisor: _four(_four, types.float64), _emit_divide_four)
def divide_four(four: Any, divisor: Any) -> Any:
    """Return the four quotients; divisor: float64."""
    return four / divisor


def _emit_claim(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    array = context.make_array(signature.args[0])(context, builder, arguments[0])
    return builder.atomic_rmw("add", array.data, arguments[1], "acq_rel")


@instruction(lambda next_free, _n: types.int64(next_free, types.int64), _emit_claim)
def claim(next_free: Any, n: Any) -> Any:
    """Claim the next `n` numbers from the counter `next_free` (int64[1], modified in place); return the first.

    Any number of threads may call it at once.  A claim has acquire and release ordering: a later claim of another
    thread makes the earlier writes of this thread visible.
    """
    with _one_at_a_time:
        first = int(next_free[0])
        next_free[0] += n
    return first


def _emit_swap(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    place = _address(context, builder, signature, arguments)
    return builder.extract_value(builder.cmpxchg(place, arguments[2], arguments[3], "seq_cst", "seq_cst"), 0)


def _emit_read(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    return builder.load_atomic(_address(context, builder, signature, arguments), "acquire", 8)


def _emit_write(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    builder.store_atomic(arguments[2], _address(context, builder, signature, arguments), "release", 8)
    return context.get_dummy_value()


def _emit_prefetch(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    pointer, number = ir.IntType(8).as_pointer(), ir.IntType(32)
    kind = ir.FunctionType(ir.VoidType(), [pointer, number, number, number])
    fetch = builder.module.declare_intrinsic("llvm.prefetch", [pointer], kind)
    place = builder.bitcast(_address(context, builder, signature, arguments), pointer)
    reading, kept, data = (ir.Constant(number, value) for value in (0, 3, 1))
    builder.call(fetch, [place, reading, kept, data])
    return context.get_dummy_value()


@instruction(lambda words, *_: types.uint64(words, types.uint64, types.uint64, types.uint64), _emit_swap)
def compare_and_swap(words: Any, index: Any, old: Any, new: Any) -> Any:
    """Write `new` into `words[index]` if it holds `old`; return its previous value (uint64).

    words: uint64[N].  index: uint64 below N, not checked.  old, new: uint64.
    """
    with _one_at_a_time:
        held = np.uint64(words[index])
        if held == old:
            words[index] = new
    return held


@instruction(lambda words, _index: types.uint64(words, types.uint64), _emit_read)
def read_word(words: Any, index: Any) -> Any:
    """Return `words[index]`, with acquire ordering: earlier writes of its writer are visible."""
    return np.uint64(words[index])


@instruction(lambda words, _index, _word: types.void(words, types.uint64, types.uint64), _emit_write)
def write_word(words: Any, index: Any, word: Any) -> None:
    """Write a word, with release ordering for `read_word`."""
    words[index] = word


@instruction(lambda words, _index: types.void(words, types.uint64), _emit_prefetch)
def prefetch_word(words: Any, index: Any) -> None:
    """Prefetch `words[index]` into the processor's cache."""
