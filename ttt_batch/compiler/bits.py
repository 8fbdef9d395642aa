"""Operations on sets of up to 64 cells, one bit per cell in a word (uint64), and their expansion to bytes.

Numba lacks the count of bits and the lowest bit, which take one instruction each.  Numba turns the sum of an unsigned
and a signed number into a float.  So counts and cell numbers are signed (int64), and words combine with words only.

The bits of words are unpacked into bytes of 0 or 1, 64 at a time.  LLVM unpacks a vector of bits with the best
instructions of the processor, ten times as fast as a loop over the bits.

`unpack_rows` is for words of more than 32 bits.  One store of 64 bytes per word would cross cache lines, so it joins
the words of ROWS rows without gaps, and every store fills a line.  The shifts are constants, so the width must be known
when a kernel is compiled.  Variable shifts do not make `Batch` faster.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ttt_batch.compiler.jit import Int64, inlined, instruction

ONE, NONE = np.uint64(1), np.uint64(0)
PAIRS, FOURS, EIGHTS = np.uint64(0x5555555555555555), np.uint64(0x3333333333333333), np.uint64(0x0F0F0F0F0F0F0F0F)
BYTES, TOPS = np.uint64(0x0101010101010101), np.uint64(0x8080808080808080)
DIAGONAL = np.uint64(0x8040201008040201)


@instruction()
def popcount(bits: Any) -> int:
    """Return the number of cells of a set (int64)."""
    return int(bits).bit_count()


@instruction()
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


@instruction()
def shift_left(bits: Any, by: Any) -> Any:
    """Return a word of any width shifted up by `by` bits (an integer below the width, not checked)."""
    return type(bits)(bits << type(bits)(by))


@instruction()
def shift_right(bits: Any, by: Any) -> Any:
    """Return a word of any width shifted down by `by` bits (an integer below the width, not checked)."""
    return type(bits)(bits >> type(bits)(by))


@instruction()
def intersection(bits: Any, others: Any) -> Any:
    """Return the common members of two words of equal width."""
    return bits & others


@instruction()
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


@instruction(WIDTH)
def unpack_bits(bytes_: Any, start: Any, bits: Any) -> None:
    """Write the bits of a word (uint64), lowest first, to 64 entries of `bytes_` (uint8[N]) from `start` (uint64) on.

    The length of `bytes_` is not checked.
    """
    number = int(bits)
    bytes_[int(start) : int(start) + WIDTH] = [number >> bit & 1 for bit in range(WIDTH)]


@instruction(WIDTH, ROWS)
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
