"""Hashes of position codes, for open addressing in tables of a power of two slots."""

from typing import Any

import numpy as np

from ttt_batch.base.jit import inlined
from ttt_batch.base.streams import GOLDEN, MIX_1, S32

EMPTY_SLOT = -1
TAG = (1 << 32) - 1


@inlined
def hash_of(code: Any) -> Any:
    """64 mixed bits (uint64) of a code."""
    mixed = np.uint64(code) * GOLDEN
    mixed = (mixed ^ (mixed >> S32)) * MIX_1
    return mixed ^ (mixed >> S32)


@inlined
def slot_of(code: Any, mask: Any) -> Any:
    """The first slot to try for a code, of `mask` + 1."""
    return np.int64(hash_of(code) & np.uint64(mask))
