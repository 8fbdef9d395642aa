"""Sets of up to 64 cells, a bit each in one word (uint64): how many there are, and which is the lowest.

One instruction each; Numba has neither.  Numba turns the sum of an unsigned and a signed number into a float, so counts
and numbers of cells are signed (int64), and words are combined with words only.
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
    """How many cells a set has (int64)."""
    return int(bits).bit_count()


def _lowest(bits: Any) -> int:
    """The lowest cell of a set (int64); 64 if it is empty."""
    return (int(bits) & -int(bits)).bit_length() - 1 if bits else 64


def _typed_n_members(_context: Any, _bits: Any) -> tuple[Any, Lowering]:
    """An intrinsic for Numba: its signature, and the function that writes its LLVM code."""
    return types.int64(types.uint64), lambda _context, builder, _signature, arguments: builder.ctpop(arguments[0])


def _typed_lowest(_context: Any, _bits: Any) -> tuple[Any, Lowering]:
    """As `_typed_n_members`."""

    def lower(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return types.int64(types.uint64), lower


n_members = _n_members if JIT_DISABLED else intrinsic(_typed_n_members)
lowest = _lowest if JIT_DISABLED else intrinsic(_typed_lowest)


@inlined
def single(cell: Any) -> Any:
    """The set of one cell (uint64)."""
    return ONE << np.uint64(cell)


@inlined
def all_cells(cells: Any) -> Any:
    """The set of all cells of a board (uint64), which has 1 to 64."""
    return ~NONE >> np.uint64(64 - cells)


@inlined
def nth_member(bits: Any, n: Any) -> Any:
    """Cell number `n`, from 0, of a set (uint64) that has more than `n` (int64).

    First its byte, from the sums of all bytes at once: no processor needs an instruction for it, and no loop passes
    more than seven members.
    """
    pairs = bits - ((bits >> ONE) & PAIRS)
    fours = (pairs & FOURS) + ((pairs >> np.uint64(2)) & FOURS)
    sums = ((fours + (fours >> np.uint64(4))) & EIGHTS) * BYTES  # byte b: the members of bytes 0 to b
    passed = (((np.uint64(n) * BYTES) | TOPS) - sums) & TOPS  # the top bit of each byte up to which there are n or less
    place = (((passed >> np.uint64(7)) * BYTES) >> np.uint64(56)) << np.uint64(3)
    left = np.int64(n) - np.int64(((sums << np.uint64(8)) >> place) & np.uint64(0xFF))
    rest = (bits >> place) & np.uint64(0xFF)
    for _ in range(left):
        rest &= rest - ONE
    return np.int64(place) + lowest(rest)


def _raised(bits: Any, by: Any) -> Any:
    """A word of any width with every bit moved `by` places up; by: an integer below the width, which nothing checks."""
    return type(bits)(bits << type(bits)(by))


def _lowered(bits: Any, by: Any) -> Any:
    """The same, down."""
    return type(bits)(bits >> type(bits)(by))


def _both(bits: Any, others: Any) -> Any:
    """The members of both words, of one width."""
    return bits & others


def _odd(bits: Any) -> Any:
    """Whether a word of any width has an odd number of members: uint8, 0 or 1."""
    return np.uint8(int(bits).bit_count() & 1)


def _typed_shift(method: str) -> Callable[[Any, Any, Any], tuple[Any, Lowering]]:
    def typed(_context: Any, bits: Any, by: Any) -> tuple[Any, Lowering]:
        """As `_typed_n_members`."""

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
    """As `_typed_n_members`."""

    def lower(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        count = builder.ctpop(arguments[0])
        return builder.and_(builder.trunc(count, ir.IntType(8)), ir.Constant(ir.IntType(8), 1))

    return types.uint8(bits), lower


def _typed_both(_context: Any, bits: Any, others: Any) -> tuple[Any, Lowering]:
    """As `_typed_n_members`."""
    return bits(bits, others), lambda _context, builder, _signature, arguments: builder.and_(*arguments)


# Numba widens the results of its own operators to 64 bits: half as many boards would fit into a vector.
raised = _raised if JIT_DISABLED else intrinsic(_typed_shift("shl"))
lowered = _lowered if JIT_DISABLED else intrinsic(_typed_shift("lshr"))
both = _both if JIT_DISABLED else intrinsic(_typed_both)
odd = _odd if JIT_DISABLED else intrinsic(_typed_odd)
