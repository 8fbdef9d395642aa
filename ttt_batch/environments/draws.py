"""Random numbers of environments: game `k` of environment `i` draws from (seed, i, k), and number `p` decides at ply p.

Which environments there are beside it makes no difference, nor which process they are in.
"""

from typing import Any

import numpy as np

from ttt_batch.base.jit import inlined
from ttt_batch.base.streams import GOLDEN, draw, mix


@inlined
def draw_of(key: Any, environment: Any, game: Any, ply: Any) -> Any:
    """64 random bits (uint64).  key: `stream_key(seed, purpose)`; the others are integers from 0."""
    base = mix(mix(key + np.uint64(environment) * GOLDEN) + np.uint64(game) * GOLDEN)
    return draw(base, ply)
