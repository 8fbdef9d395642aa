"""Unpacking of the bits of words into bytes of 0 or 1, 64 at a time.

LLVM unpacks a vector of bits with the best instructions of the processor, ten times as fast as a loop over the bits.

`spread_rows` is for words of more than 32 bits.  One store of 64 bytes per word would cross cache lines, so it joins
the words of ROWS rows without gaps, and every store fills a line.  The shifts are constants, so the width must be known
when a kernel is compiled.  Variable shifts do not make `Batch` faster.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from ttt_batch.base.kernel_cache import JIT_DISABLED

WIDTH = 64
"""Bits that are unpacked together."""

ROWS = 64
"""Rows that `unpack_rows` writes: for any width, their bits fill whole words."""

Lowering = Callable[[Any, Any, Any, Any], Any]


def _spread(bytes_: Any, start: Any, bits: Any) -> None:
    """Write the bits of a word (uint64), lowest first, to 64 entries of `bytes_` (uint8[N]) from `start` (uint64) on.

    The length of `bytes_` is not checked.
    """
    number = int(bits)
    bytes_[int(start) : int(start) + WIDTH] = [number >> bit & 1 for bit in range(WIDTH)]


def _store(builder: Any, data: Any, start: Any, bits: Any) -> None:
    """Emit LLVM code that stores the bits of a word as bytes from `start` on."""
    lanes = builder.bitcast(bits, ir.VectorType(ir.IntType(1), WIDTH))
    wide = builder.zext(lanes, ir.VectorType(ir.IntType(8), WIDTH))
    place = builder.bitcast(builder.gep(data, [start]), wide.type.as_pointer())
    builder.store(wide, place, align=1)


def _typed_spread(_context: Any, bytes_: Any, _start: Any, _bits: Any) -> tuple[Any, Lowering]:
    """Return the signature of a Numba intrinsic and the function that emits its LLVM code."""

    def lower(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        _store(builder, data, arguments[1], arguments[2])
        return context.get_dummy_value()

    return types.void(bytes_, types.uint64, types.uint64), lower


def ruler(width: int) -> NDArray[np.bytes_]:
    """Return an empty array whose item size gives kernels a width at compile time."""
    return np.zeros(0, f"S{width}")


def _spread_rows(ruler: Any, bytes_: Any, start: Any, columns: Any, row: Any) -> None:
    """Write ROWS rows, from `row` on, of one or more columns of words to `bytes_` (uint8[N]) from `start` (uint64) on.

    ruler: see `ruler`.  Its width is the number of bits written per word; higher bits must be 0.  columns: a tuple of
    W[n], whose words follow each other in a row.  The length of `bytes_` is not checked.
    """
    place, width = int(start), ruler.dtype.itemsize
    for at in range(row, row + ROWS):
        for column in columns:
            number = int(column[at])
            bytes_[place : place + width] = [number >> bit & 1 for bit in range(width)]
            place += width


def _typed_spread_rows(_context: Any, ruler: Any, bytes_: Any, _start: Any, columns: Any, _row: Any) -> Any:
    """Return the signature and the LLVM code emitter of `unpack_rows`."""
    width, long = ruler.dtype.count, ir.IntType(64)

    def lower(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[1])(context, builder, arguments[1]).data
        start, row, tuple_ = arguments[2], arguments[4], arguments[3]
        arrays = [
            context.make_array(columns.dtype)(context, builder, builder.extract_value(tuple_, index)).data
            for index in range(columns.count)
        ]
        bits, place = ir.Constant(long, 0), 0
        for number in range(ROWS * len(arrays)):
            at, column = divmod(number, len(arrays))
            index = builder.add(row, ir.Constant(row.type, at))
            word = builder.zext(builder.load(builder.gep(arrays[column], [index])), long)
            low = number * width - place
            bits = builder.or_(bits, builder.shl(word, ir.Constant(long, low)))
            left = low + width - WIDTH
            if left >= 0:  # 64 bits are complete; the rest of this word starts the next 64
                _store(builder, data, builder.add(start, ir.Constant(long, place)), bits)
                place += WIDTH
                bits = builder.lshr(word, ir.Constant(long, width - left)) if left else ir.Constant(long, 0)
        return context.get_dummy_value()

    return types.void(ruler, bytes_, types.uint64, columns, types.intp), lower


unpack_bits = _spread if JIT_DISABLED else intrinsic(_typed_spread)
unpack_rows = _spread_rows if JIT_DISABLED else intrinsic(_typed_spread_rows)
