"""Operations on sets of up to 64 cells, one bit per cell in a word (uint64).

Numba lacks the count of bits and the lowest bit, which take one instruction each.  Numba turns the sum of an unsigned
and a signed number into a float.  So counts and cell numbers are signed (int64), and words combine with words only.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from ttt_batch.base.jit import inlined
from ttt_batch.base.kernel_cache import JIT_DISABLED

ONE, NONE = np.uint64(1), np.uint64(0)
PAIRS, FOURS, EIGHTS = np.uint64(0x5555555555555555), np.uint64(0x3333333333333333), np.uint64(0x0F0F0F0F0F0F0F0F)
BYTES, TOPS = np.uint64(0x0101010101010101), np.uint64(0x8080808080808080)

Lowering = Callable[[Any, Any, Any, Any], Any]


def _n_members(bits: Any) -> int:
    """Return the number of cells of a set (int64)."""
    return int(bits).bit_count()


def _lowest(bits: Any) -> int:
    """Return the lowest cell of a set (int64); 64 if it is empty."""
    return (int(bits) & -int(bits)).bit_length() - 1 if bits else 64


def _typed_n_members(_context: Any, _bits: Any) -> tuple[Any, Lowering]:
    """Return the signature of a Numba intrinsic and the function that emits its LLVM code."""
    return types.int64(types.uint64), lambda _context, builder, _signature, arguments: builder.ctpop(arguments[0])


def _typed_lowest(_context: Any, _bits: Any) -> tuple[Any, Lowering]:
    """Return the signature and the LLVM code emitter of `lowest_bit`."""

    def lower(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return types.int64(types.uint64), lower


popcount = _n_members if JIT_DISABLED else intrinsic(_typed_n_members)
lowest_bit = _lowest if JIT_DISABLED else intrinsic(_typed_lowest)


@inlined
def single(cell: Any) -> Any:
    """Return the set of one cell (uint64)."""
    return ONE << np.uint64(cell)


@inlined
def all_cells(cells: Any) -> Any:
    """Return the set of all cells (uint64) of a board with 1 to 64 cells."""
    return ~NONE >> np.uint64(64 - cells)


@inlined
def nth_member(bits: Any, n: Any) -> Any:
    """Return cell number `n` (int64, from 0) of a set (uint64) with more than `n` cells.

    The counts of all bytes, computed at once, give the cell's byte.  The loop then skips at most seven members.  It
    needs no special instruction of the processor.
    """
    pairs = bits - ((bits >> ONE) & PAIRS)
    fours = (pairs & FOURS) + ((pairs >> np.uint64(2)) & FOURS)
    sums = ((fours + (fours >> np.uint64(4))) & EIGHTS) * BYTES  # byte b: the members of bytes 0 to b
    passed = (((np.uint64(n) * BYTES) | TOPS) - sums) & TOPS  # top bits of bytes with sums up to n
    place = (((passed >> np.uint64(7)) * BYTES) >> np.uint64(56)) << np.uint64(3)
    left = np.int64(n) - np.int64(((sums << np.uint64(8)) >> place) & np.uint64(0xFF))
    rest = (bits >> place) & np.uint64(0xFF)
    for _ in range(left):
        rest &= rest - ONE
    return np.int64(place) + lowest_bit(rest)


def _raised(bits: Any, by: Any) -> Any:
    """Return a word of any width shifted up by `by` bits (an integer below the width, not checked)."""
    return type(bits)(bits << type(bits)(by))


def _lowered(bits: Any, by: Any) -> Any:
    """Return a word of any width shifted down by `by` bits (an integer below the width, not checked)."""
    return type(bits)(bits >> type(bits)(by))


def _both(bits: Any, others: Any) -> Any:
    """Return the common members of two words of equal width."""
    return bits & others


def _odd(bits: Any) -> Any:
    """Return 1 if a word of any width has an odd number of members, else 0 (uint8)."""
    return np.uint8(int(bits).bit_count() & 1)


def _typed_shift(method: str) -> Callable[[Any, Any, Any], tuple[Any, Lowering]]:
    def typed(_context: Any, bits: Any, by: Any) -> tuple[Any, Lowering]:
        """Return the signature and the LLVM code emitter of a shift."""

        def lower(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            word, distance = arguments
            if distance.type.width > word.type.width:
                distance = builder.trunc(distance, word.type)
            elif distance.type.width < word.type.width:
                distance = builder.zext(distance, word.type)
            return getattr(builder, method)(word, distance)

        return bits(bits, by), lower

    return typed


def _typed_odd(_context: Any, bits: Any) -> tuple[Any, Lowering]:
    """Return the signature and the LLVM code emitter of `odd`."""

    def lower(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        count = builder.ctpop(arguments[0])
        return builder.and_(builder.trunc(count, ir.IntType(8)), ir.Constant(ir.IntType(8), 1))

    return types.uint8(bits), lower


def _typed_both(_context: Any, bits: Any, others: Any) -> tuple[Any, Lowering]:
    """Return the signature and the LLVM code emitter of `both`."""
    return bits(bits, others), lambda _context, builder, _signature, arguments: builder.and_(*arguments)


# Numba's own operators widen results to 64 bits, so only half as many boards would fit into a vector.
shift_left = _raised if JIT_DISABLED else intrinsic(_typed_shift("shl"))
shift_right = _lowered if JIT_DISABLED else intrinsic(_typed_shift("lshr"))
intersection = _both if JIT_DISABLED else intrinsic(_typed_both)
parity = _odd if JIT_DISABLED else intrinsic(_typed_odd)
