"""Hashes of position codes, for open addressing in tables of a power of two slots."""

from typing import Any

import numpy as np

from ttt_batch.base.jit import inlined

EMPTY_SLOT = -1
MIX = np.uint64(0x9E3779B97F4A7C15)


@inlined
def slot_of(code: Any, mask: Any) -> Any:
    """Where a code is looked for first in a hash table of `mask` + 1 slots, a power of two."""
    hashed = np.uint64(code) * MIX
    return np.int64((hashed ^ (hashed >> np.uint64(29))) * MIX >> np.uint64(20)) & mask


MIX_1, MIX_2, S32 = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(32)
TAG = (1 << 32) - 1


@inlined
def hash_of(code: Any) -> Any:
    """64 mixed bits (uint64) of a code."""
    mixed = np.uint64(code) * MIX_1
    mixed = (mixed ^ (mixed >> S32)) * MIX_2
    return mixed ^ (mixed >> S32)
