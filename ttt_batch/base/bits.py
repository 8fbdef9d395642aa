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
    """Cell number `n`, from 0, of a set that has more than `n` (int64)."""
    for _ in range(n):
        bits &= bits - ONE
    return lowest(bits)
