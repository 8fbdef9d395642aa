"""Hashes of position codes, for open addressing in tables of a power of two slots."""

from typing import Any

import numpy as np

from ttt_batch.base.jit import inlined
from ttt_batch.base.streams import GOLDEN, MIX_1, S32

EMPTY_SLOT = -1


@inlined
def slot_of(code: Any, mask: Any) -> Any:
    """Where a code is looked for first in a hash table of `mask` + 1 slots, a power of two."""
    hashed = np.uint64(code) * GOLDEN
    return np.int64((hashed ^ (hashed >> np.uint64(29))) * GOLDEN >> np.uint64(20)) & mask


TAG = (1 << 32) - 1


@inlined
def hash_of(code: Any) -> Any:
    """64 mixed bits (uint64) of a code."""
    mixed = np.uint64(code) * GOLDEN
    mixed = (mixed ^ (mixed >> S32)) * MIX_1
    return mixed ^ (mixed >> S32)
