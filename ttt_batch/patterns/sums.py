"""What a network says of a position and of its moves, as a sum of weights that is kept up to date move by move."""

from typing import Any

import numpy as np

from ttt_batch.base.jit import inlined
from ttt_batch.patterns.network import Network

UNIT = 1 << 20
"""Weights and errors are whole numbers of 1 / UNIT: their sums do not depend on the order."""


@inlined
def clear_index(network: Network, index: Any) -> None:
    """Set `index` (uint32[N], the weight of each tuple) to the empty board, in place."""
    for number in range(index.shape[0]):
        index[number] = network.offset[number]


@inlined
def put_mark(network: Network, index: Any, cell: Any, step: Any) -> None:
    """Put a mark on a cell, in place; step: 1 or 2 for the first or second player's, negative to take it away."""
    for entry in range(network.start[cell], network.start[cell + 1]):
        number = network.through[entry]
        index[number] = np.uint32(index[number] + np.int64(step) * network.power[entry])


@inlined
def total_of(weights: Any, index: Any, current: Any) -> Any:
    """The sum of a position (int64); its weights are written into `current` (int32[N]).  weights: int32[W]."""
    total = np.int64(0)
    for number in range(index.shape[0]):
        weight = weights[index[number]]
        current[number] = weight
        total += np.int64(weight)
    return total


@inlined
def total_after(network: Network, weights: Any, index: Any, current: Any, total: Any, cell: Any, step: Any) -> Any:
    """The sum (int64) after a mark on a free cell; total, current: of the position, as `total_of` gives them."""
    for entry in range(network.start[cell], network.start[cell + 1]):
        number = network.through[entry]
        after = np.uint32(index[number] + np.uint32(step) * network.power[entry])
        total += np.int64(weights[after]) - np.int64(current[number])
    return total
