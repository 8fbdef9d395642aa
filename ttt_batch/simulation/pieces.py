"""Batches walked in pieces: any games of a batch may be walked apart, and what they count adds up.

A way to walk (`walk.Walker`, `lockstep.Lockstep`) holds what the games of a batch share, which is only read, and what
each thread or process needs for itself: where its games stand, and `drawn`, its counts.  A batch's counts are the sum
of `drawn` over all who walked some of its games, whichever these were.
"""

from typing import Any

from ttt_batch.base.intrinsics import claim
from ttt_batch.base.jit import generic, kernel
from ttt_batch.game.graph import Graph


@generic
def walk_chunk(way: Any, graph: Graph, key: Any, first_game: int, last_game: int) -> Any:
    """Play games `first_game` to `last_game - 1` of the batch that `way` is prepared for; add to `way.drawn`, in place.

    key: uint64, `stream_key(seed)`.
    """


@kernel
def walk_from_queue(graph: Graph, way: Any, key: Any, next_free: Any, size: int, last_game: int) -> None:
    """`walk_chunk` of games that other threads walk, too: `size` at a time, claimed from `next_free` on.

    next_free: int64[1], the first game that no thread has claimed, modified in place.  last_game: see `walk_chunk`.
    """
    first = claim(next_free, size)
    while first < last_game:
        walk_chunk(way, graph, key, first, min(first + size, last_game))
        first = claim(next_free, size)
