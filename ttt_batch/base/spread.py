"""Sets of cells as bytes: a byte, 0 or 1, for each bit of a word, many at once.

LLVM turns a vector of bits into one of bytes with the best that a processor has: broadcast, shuffle and compare, or one
instruction.  A loop over the bits takes ten times as long.
"""

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from ttt_batch.base.kernel_cache import JIT_DISABLED

WIDTH = 64
"""Bits that are spread together."""

Lowering = Callable[[Any, Any, Any, Any], Any]


def _spread(bytes_: Any, start: Any, bits: Any) -> None:
    """Write the bits of a word (uint64) to `bytes_` (uint8[N]) from `start` (uint64) on, the lowest first.

    Nothing checks that there is room for 64.
    """
    number = int(bits)
    bytes_[int(start) : int(start) + WIDTH] = [number >> bit & 1 for bit in range(WIDTH)]


def _typed_spread(_context: Any, bytes_: Any, _start: Any, _bits: Any) -> tuple[Any, Lowering]:
    """An intrinsic for Numba: its signature, and the function that writes its LLVM code."""

    def lower(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        lanes = builder.bitcast(arguments[2], ir.VectorType(ir.IntType(1), WIDTH))
        wide = builder.zext(lanes, ir.VectorType(ir.IntType(8), WIDTH))
        place = builder.bitcast(builder.gep(data, [arguments[1]]), wide.type.as_pointer())
        builder.store(wide, place, align=1)
        return context.get_dummy_value()

    return types.void(bytes_, types.uint64, types.uint64), lower


spread_bits = _spread if JIT_DISABLED else intrinsic(_typed_spread)
