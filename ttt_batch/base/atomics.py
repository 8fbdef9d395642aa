"""Games shared out to threads while they are played: a free thread claims the next ones, so none waits long."""

import threading
from collections.abc import Callable
from typing import Any

from numba import types
from numba.extending import intrinsic

from ttt_batch.base.kernel_cache import JIT_DISABLED

_one_at_a_time = threading.Lock()


def _claim(next_free: Any, n: int) -> int:
    """Claim `n` numbers from `next_free` (int64[1], the first free one, modified in place); return the first.

    Any number of threads may do so at once.
    """
    with _one_at_a_time:
        first = int(next_free[0])
        next_free[0] += n
    return first


def _typed(_context: Any, next_free: Any, _n: Any) -> tuple[Any, Callable[..., Any]]:
    """An intrinsic for Numba: its signature, and the function that writes its LLVM code."""

    def lower(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        return builder.atomic_rmw("add", array.data, arguments[1], "monotonic")

    return types.int64(next_free, types.int64), lower


claim = _claim if JIT_DISABLED else intrinsic(_typed)
"""claim(next_free, n): see `_claim`; in kernels an atomic instruction."""
