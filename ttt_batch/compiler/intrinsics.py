"""Numba intrinsics in LLVM code: vector operations, atomic counters and words, aligned arrays.

`mask_above` and `masked_max` handle eight entries in a few instructions with vectors of 64 bytes, and in two to four
times as many with shorter vectors.  A loop would take a step per move.  Records of four numbers add up in a register.

`claim` distributes games to threads during play: a free thread claims the next ones, so threads hardly wait.

Numba has neither atomic access to words (uint64) shared by threads nor prefetching.  Without the JIT a lock replaces
the atomic instructions.
"""

import math
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, models, register_model
from numpy.typing import DTypeLike, NDArray

from ttt_batch.compiler.kernel_cache import JIT_DISABLED

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
Lowering = Callable[[Any, Any, Any, Any], Any]


def _exceeding(values: Any, start: Any, limit: Any) -> Any:
    """Return a bit mask (uint64) of the eight entries of `values` (float64[N]) from `start` on that exceed `limit`.

    start: uint64, at most N - 8, not checked.
    """
    return np.uint64(sum(1 << lane for lane in range(LANES) if values[int(start) + lane] > limit))


def _highest(values: Any, start: Any, members: Any) -> Any:
    """Return the maximum of the `members` of eight entries of `values` (float64[N], no NaN) from `start` on, or -inf.

    start: as for `mask_above`.  members: uint64, one bit per entry; other bits are ignored.
    """
    return max((float(values[int(start) + lane]) for lane in range(LANES) if int(members) >> lane & 1), default=-np.inf)


def _some(builder: Any, vector: Any, lanes: Sequence[int]) -> Any:
    """Return these lanes of a vector."""
    order = ir.Constant(ir.VectorType(ir.IntType(32), len(lanes)), list(lanes))
    return builder.shuffle_vector(vector, ir.Constant(vector.type, ir.Undefined), order)


def _place(context: Any, builder: Any, array_type: Any, array: Any, start: Any, lanes: int = LANES) -> Any:
    """Return the address of the `lanes` entries of an array from `start` on."""
    data = context.make_array(array_type)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [start]), ir.VectorType(ir.DoubleType(), lanes).as_pointer())


def _typed_exceeding(_context: Any, values: Any, _start: Any, _limit: Any) -> tuple[Any, Lowering]:
    """Return the signature of a Numba intrinsic and the function that emits its LLVM code."""

    def lower(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        eight = builder.load(_place(context, builder, signature.args[0], arguments[0], arguments[1]), align=8)
        undefined = ir.Constant(eight.type, ir.Undefined)
        limit = builder.insert_element(undefined, arguments[2], ir.Constant(ir.IntType(32), 0))
        above = builder.fcmp_ordered(">", eight, _some(builder, limit, [0] * LANES))
        return builder.zext(builder.bitcast(above, ir.IntType(LANES)), ir.IntType(64))

    return types.uint64(values, types.uint64, types.float64), lower


def _typed_highest(_context: Any, values: Any, _start: Any, _members: Any) -> tuple[Any, Lowering]:
    """Return the signature and the LLVM code emitter of `masked_max`."""

    def lower(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        left = builder.load(_place(context, builder, signature.args[0], arguments[0], arguments[1]), align=8)
        chosen = builder.bitcast(builder.trunc(arguments[2], ir.IntType(LANES)), ir.VectorType(ir.IntType(1), LANES))
        left = builder.select(chosen, left, ir.Constant(left.type, [float("-inf")] * LANES))
        while left.type.count > 1:  # compare the two halves
            half = left.type.count // 2
            one, other = _some(builder, left, range(half)), _some(builder, left, range(half, 2 * half))
            left = builder.select(builder.fcmp_ordered(">", one, other), one, other)
        return builder.extract_element(left, ir.Constant(ir.IntType(32), 0))

    return types.float64(values, types.uint64, types.uint64), lower


mask_above = _exceeding if JIT_DISABLED else intrinsic(_typed_exceeding)
masked_max = _highest if JIT_DISABLED else intrinsic(_typed_highest)

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


def _load_four(values: Any, start: Any) -> Any:
    """Return four entries of `values` (float64[N]) from `start` (uint64, at most N - 4, not checked) on."""
    return values[int(start) : int(start) + FOUR].copy()


def _store_four(values: Any, start: Any, four: Any) -> None:
    """Write `four` to `values`, in place; start: as for `load_four`."""
    values[int(start) : int(start) + FOUR] = four


def _add_fours(one: Any, other: Any) -> Any:
    """Return the sums of four pairs of numbers."""
    return one + other


def _divide_four(four: Any, divisor: Any) -> Any:
    """Return the four quotients; divisor: float64."""
    return four / divisor


def _typed_load_four(_context: Any, values: Any, _start: Any) -> tuple[Any, Lowering]:
    """Return the signature and the LLVM code emitter of `load_four`."""

    def lower(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.load(_place(context, builder, signature.args[0], arguments[0], arguments[1], FOUR), align=8)

    return _four(values, types.uint64), lower


def _typed_store_four(_context: Any, values: Any, _start: Any, _four_: Any) -> tuple[Any, Lowering]:
    """Return the signature and the LLVM code emitter of `store_four`."""

    def lower(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        builder.store(
            arguments[2], _place(context, builder, signature.args[0], arguments[0], arguments[1], FOUR), align=8
        )
        return context.get_dummy_value()

    return types.void(values, types.uint64, _four), lower


def _typed_add_fours(_context: Any, _one: Any, _other: Any) -> tuple[Any, Lowering]:
    """Return the signature and the LLVM code emitter of `add_fours`."""

    def lower(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.fadd(*arguments)

    return _four(_four, _four), lower


def _typed_divide_four(_context: Any, _dividend: Any, _divisor: Any) -> tuple[Any, Lowering]:
    """Return the signature and the LLVM code emitter of `divide_four`."""

    def lower(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        undefined = ir.Constant(arguments[0].type, ir.Undefined)
        divisor = builder.insert_element(undefined, arguments[1], ir.Constant(ir.IntType(32), 0))
        return builder.fdiv(arguments[0], _some(builder, divisor, [0] * FOUR))

    return _four(_four, types.float64), lower


load_four = _load_four if JIT_DISABLED else intrinsic(_typed_load_four)
store_four = _store_four if JIT_DISABLED else intrinsic(_typed_store_four)
add_fours = _add_fours if JIT_DISABLED else intrinsic(_typed_add_fours)
divide_four = _divide_four if JIT_DISABLED else intrinsic(_typed_divide_four)


def _claim(next_free: Any, n: Any) -> Any:
    """Claim the next `n` numbers from the counter `next_free` (int64[1], modified in place); return the first.

    Any number of threads may call it at once.  A claim has acquire and release ordering: a later claim of another
    thread makes the earlier writes of this thread visible.
    """
    with _one_at_a_time:
        first = int(next_free[0])
        next_free[0] += n
    return first


def _typed_claim(_context: Any, next_free: Any, _n: Any) -> tuple[Any, Lowering]:
    """Return the signature and the LLVM code emitter of `claim`."""

    def lower(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        return builder.atomic_rmw("add", array.data, arguments[1], "acq_rel")

    return types.int64(next_free, types.int64), lower


claim = _claim if JIT_DISABLED else intrinsic(_typed_claim)
"""claim(next_free, n): see `_claim`; in kernels an atomic instruction."""


_one_at_once = threading.Lock()


def _swap_word(words: Any, index: Any, old: Any, new: Any) -> Any:
    """Write `new` into `words[index]` if it holds `old`; return its previous value (uint64).

    words: uint64[N].  index: uint64 below N, not checked.  old, new: uint64.
    """
    with _one_at_once:
        held = np.uint64(words[index])
        if held == old:
            words[index] = new
    return held


def _read_word(words: Any, index: Any) -> Any:
    """Return `words[index]`, with acquire ordering: earlier writes of its writer are visible."""
    return np.uint64(words[index])


def _write_word(words: Any, index: Any, word: Any) -> None:
    """Write a word, with release ordering for `read_word`."""
    words[index] = word


def _fetch_word(words: Any, index: Any) -> None:
    """Prefetch `words[index]` into the processor's cache."""


def _address(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    array = context.make_array(signature.args[0])(context, builder, arguments[0])
    return builder.gep(array.data, [arguments[1]])


def _typed_swap_word(_context: Any, words: Any, _index: Any, _old: Any, _new: Any) -> tuple[Any, Lowering]:
    """Return the signature of a Numba intrinsic and the function that emits its LLVM code."""

    def lower(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = _address(context, builder, signature, arguments)
        return builder.extract_value(builder.cmpxchg(place, arguments[2], arguments[3], "seq_cst", "seq_cst"), 0)

    return types.uint64(words, types.uint64, types.uint64, types.uint64), lower


def _typed_read_word(_context: Any, words: Any, _index: Any) -> tuple[Any, Lowering]:
    """Return the signature and the LLVM code emitter of `read_word`."""

    def lower(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.load_atomic(_address(context, builder, signature, arguments), "acquire", 8)

    return types.uint64(words, types.uint64), lower


def _typed_write_word(_context: Any, words: Any, _index: Any, _word: Any) -> tuple[Any, Lowering]:
    """Return the signature and the LLVM code emitter of `write_word`."""

    def lower(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        builder.store_atomic(arguments[2], _address(context, builder, signature, arguments), "release", 8)
        return context.get_dummy_value()

    return types.void(words, types.uint64, types.uint64), lower


def _typed_fetch_word(_context: Any, words: Any, _index: Any) -> tuple[Any, Lowering]:
    """Return the signature and the LLVM code emitter of `prefetch_word`."""

    def lower(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [pointer, number, number, number])
        fetch = builder.module.declare_intrinsic("llvm.prefetch", [pointer], kind)
        place = builder.bitcast(_address(context, builder, signature, arguments), pointer)
        reading, kept, data = (ir.Constant(number, value) for value in (0, 3, 1))
        builder.call(fetch, [place, reading, kept, data])
        return context.get_dummy_value()

    return types.void(words, types.uint64), lower


compare_and_swap = _swap_word if JIT_DISABLED else intrinsic(_typed_swap_word)
read_word = _read_word if JIT_DISABLED else intrinsic(_typed_read_word)
write_word = _write_word if JIT_DISABLED else intrinsic(_typed_write_word)
prefetch_word = _fetch_word if JIT_DISABLED else intrinsic(_typed_fetch_word)
