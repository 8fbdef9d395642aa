"""Atomic access to words (uint64) shared by threads, and prefetching of words.

Numba has neither.  Without the JIT a lock replaces the atomic instructions.
"""

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from ttt_batch.base.kernel_cache import JIT_DISABLED

Lowering = Callable[[Any, Any, Any, Any], Any]

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
