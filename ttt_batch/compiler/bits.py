"""Operations on sets of up to 64 cells, one bit per cell in a word (uint64), and their expansion to bytes.

Numba lacks the count of bits and the lowest bit, which take one instruction each.  Numba turns the sum of an unsigned
and a signed number into a float.  So counts and cell numbers are signed (int64), and words combine with words only.

The bits of words are unpacked into bytes of 0 or 1, 64 at a time.  LLVM unpacks a vector of bits with the best
instructions of the processor, ten times as fast as a loop over the bits.

`unpack_rows` is for words of more than 32 bits.  One store of 64 bytes per word would cross cache lines, so it joins
the words of ROWS rows without gaps, and every store fills a line.  The shifts are constants, so the width must be known
when a kernel is compiled.  Variable shifts do not make `Batch` faster.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numpy.typing import NDArray

from ttt_batch.compiler.jit import Int64, inlined, instruction

ONE, NONE = np.uint64(1), np.uint64(0)
PAIRS, FOURS, EIGHTS = np.uint64(0x5555555555555555), np.uint64(0x3333333333333333), np.uint64(0x0F0F0F0F0F0F0F0F)
BYTES, TOPS = np.uint64(0x0101010101010101), np.uint64(0x8080808080808080)
DIAGONAL = np.uint64(0x8040201008040201)


@instruction(
    lambda _bits: types.int64(types.uint64),
    lambda _context, builder, _signature, arguments: builder.ctpop(arguments[0]),
)
def popcount(bits: Any) -> int:
    """Return the number of cells of a set (int64)."""
    return int(bits).bit_count()


@instruction(
    lambda _bits: types.int64(types.uint64),
    lambda _context, builder, _signature, arguments: builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 0)),
)
def lowest_bit(bits: Any) -> int:
    """Return the lowest cell of a set (int64); 64 if it is empty."""
    return (int(bits) & -int(bits)).bit_length() - 1 if bits else 64


@inlined
def single(cell: Int64) -> np.uint64:
    """Return the set of one cell (uint64)."""
    return ONE << np.uint64(cell)


@inlined
def all_cells(cells: Int64) -> np.uint64:
    """Return the set of all cells (uint64) of a board with 1 to 64 cells."""
    return ~NONE >> np.uint64(64 - cells)


@inlined
def passed_bytes(sums: np.uint64, n: np.uint64) -> np.uint64:
    """Return how many bytes of a word (uint64) are at most `n` (uint64 below 64), if all are at most 64."""
    return np.uint64(popcount((((n * BYTES) | TOPS) - sums) & TOPS))


@inlined
def nth_member(bits: np.uint64, n: Int64) -> np.int64:
    """Return cell number `n` (int64, from 0) of a set (uint64) with more than `n` cells.

    The counts of all bytes, computed at once, give the cell's byte.  The counts of its bits then give the cell.
    There is no branch to mispredict, so loops over sets become vector code.
    """
    pairs = bits - ((bits >> ONE) & PAIRS)
    fours = (pairs & FOURS) + ((pairs >> np.uint64(2)) & FOURS)
    sums = ((fours + (fours >> np.uint64(4))) & EIGHTS) * BYTES  # byte b: the members of bytes 0 to b
    place = passed_bytes(sums, np.uint64(n)) << np.uint64(3)
    left = np.uint64(n) - (((sums << np.uint64(8)) >> place) & np.uint64(0xFF))
    spread = (((bits >> place) & np.uint64(0xFF)) * BYTES) & DIAGONAL  # byte b: bit b of the byte at `place`
    sums = (((spread + ~TOPS) & TOPS) >> np.uint64(7)) * BYTES  # byte b: the members of bits 0 to b
    return np.int64(place + passed_bytes(sums, left))


# Numba's own operators widen results to 64 bits, so only half as many boards would fit into a vector.


def _emit_shift(method: str) -> Callable[[Any, Any, Any, Any], Any]:
    """Return an emitter of a shift by a number of any width.  method: that of LLVM's builder."""

    def emit(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        word, distance = arguments
        if distance.type.width > word.type.width:
            distance = builder.trunc(distance, word.type)
        elif distance.type.width < word.type.width:
            distance = builder.zext(distance, word.type)
        return getattr(builder, method)(word, distance)

    return emit


def _emit_parity(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
    count = builder.ctpop(arguments[0])
    return builder.and_(builder.trunc(count, ir.IntType(8)), ir.Constant(ir.IntType(8), 1))


@instruction(lambda bits, by: bits(bits, by), _emit_shift("shl"))
def shift_left(bits: Any, by: Any) -> Any:
    """Return a word of any width shifted up by `by` bits (an integer below the width, not checked)."""
    return type(bits)(bits << type(bits)(by))


@instruction(lambda bits, by: bits(bits, by), _emit_shift("lshr"))
def shift_right(bits: Any, by: Any) -> Any:
    """Return a word of any width shifted down by `by` bits (an integer below the width, not checked)."""
    return type(bits)(bits >> type(bits)(by))


@instruction(
    lambda bits, others: bits(bits, others), lambda _context, builder, _signature, arguments: builder.and_(*arguments)
)
def intersection(bits: Any, others: Any) -> Any:
    """Return the common members of two words of equal width."""
    return bits & others


@instruction(lambda bits: types.uint8(bits), _emit_parity)
def parity(bits: Any) -> Any:
    """Return 1 if a word of any width has an odd number of members, else 0 (uint8)."""
    return np.uint8(int(bits).bit_count() & 1)


WIDTH = 64
"""Bits that are unpacked together."""

ROWS = 64
"""Rows that `unpack_rows` writes: for any width, their bits fill whole words."""


def ruler(width: int) -> NDArray[np.bytes_]:
    """Return an empty array whose item size gives kernels a width at compile time."""
    return np.zeros(0, f"S{width}")


def _store(builder: Any, data: Any, start: Any, bits: Any) -> None:
    """Emit LLVM code that stores the bits of a word as bytes from `start` on."""
    lanes = builder.bitcast(bits, ir.VectorType(ir.IntType(1), WIDTH))
    wide = builder.zext(lanes, ir.VectorType(ir.IntType(8), WIDTH))
    place = builder.bitcast(builder.gep(data, [start]), wide.type.as_pointer())
    builder.store(wide, place, align=1)


def _emit_unpack(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
    _store(builder, data, arguments[1], arguments[2])
    return context.get_dummy_value()


def _emit_unpack_rows(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    ruler, columns = signature.args[0], signature.args[3]
    width, long = ruler.dtype.count, ir.IntType(64)
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


@instruction(lambda bytes_, _start, _bits: types.void(bytes_, types.uint64, types.uint64), _emit_unpack)
def unpack_bits(bytes_: Any, start: Any, bits: Any) -> None:
    """Write the bits of a word (uint64), lowest first, to 64 entries of `bytes_` (uint8[N]) from `start` (uint64) on.

    The length of `bytes_` is not checked.
    """
    number = int(bits)
    bytes_[int(start) : int(start) + WIDTH] = [number >> bit & 1 for bit in range(WIDTH)]


@instruction(
    lambda ruler, bytes_, _start, columns, _row: types.void(ruler, bytes_, types.uint64, columns, types.intp),
    _emit_unpack_rows,
)
def unpack_rows(ruler: Any, bytes_: Any, start: Any, columns: Any, row: Any) -> None:
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
