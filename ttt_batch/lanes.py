"""Eight table entries looked at in one step.

Numba has no vectors of its own, and its loops over a row's few moves end after as many steps as there are moves.  This
is the one operation that is worth writing for the compiler underneath: on processors with vectors of 64 bytes it is
one comparison, on others LLVM makes two or four of it.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from ttt_batch.compile import JIT_DISABLED

LANES = 8
"""Entries looked at together."""


def _exceeding(values: Any, start: Any, limit: Any) -> Any:
    """Which of the eight entries of `values` (float64[N]) from `start` on are above `limit`: uint64, a bit each.

    start: uint64, at most N - 8: nothing checks it.
    """
    return np.uint64(sum(1 << lane for lane in range(LANES) if values[int(start) + lane] > limit))


def _typed(_context: Any, values: Any, _start: Any, _limit: Any) -> tuple[Any, Callable[..., Any]]:
    """What Numba asks of an intrinsic: its signature, and the function that writes its LLVM code."""

    def lower(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        eight = ir.VectorType(ir.DoubleType(), LANES)
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        place = builder.bitcast(builder.gep(array.data, [arguments[1]]), eight.as_pointer())
        undefined = ir.Constant(eight, ir.Undefined)
        limit = builder.insert_element(undefined, arguments[2], ir.Constant(ir.IntType(32), 0))
        first = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
        limits = builder.shuffle_vector(limit, undefined, first)
        above = builder.fcmp_ordered(">", builder.load(place, align=8), limits)
        return builder.zext(builder.bitcast(above, ir.IntType(LANES)), ir.IntType(64))

    return types.uint64(values, types.uint64, types.float64), lower


exceeding = _exceeding if JIT_DISABLED else intrinsic(_typed)
