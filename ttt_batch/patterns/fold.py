"""What a batch changes: every weight that was used moves by its mean error, the less its errors contradict each other.

Temporal coherence (Beal and Smith, "Temporal difference learning for heuristic search and game playing", Information
Sciences 122, 2000; Jaśkowski, "Mastering 2048 with delayed temporal coherence learning", IEEE Transactions on Games 10,
2018): the step size of a weight is the absolute sum of all its errors, over the sum of their absolute values.
"""

from typing import Any

import numpy as np

from ttt_batch.base.bits import ONE
from ttt_batch.base.jit import inlined, kernel
from ttt_batch.base.shared_words import prefetch_word
from ttt_batch.patterns.network import Network

LARGEST = 1 << 30
"""Weights end here; their sums stay far below 2**63."""

SPAN = np.uint64(3)
"""Neighbouring entries that one thread folds, 2**3: the sums of so few lie in a few cache lines."""


AHEAD = 8
"""How many entries before its own turn an entry's sums are fetched: they lie anywhere."""


@inlined
def fetch_entry(network: Network, weights: Any, coherence: Any, sums: Any, touched: Any, number: Any) -> None:
    """Have what `fold_entry` reads for the entries after number `number` brought into the cache, step by step."""
    last = np.uint64(touched.shape[0] - 1)
    entry = np.uint64(touched[min(number + np.uint64(AHEAD), last)])
    prefetch_word(sums, entry * np.uint64(3))
    prefetch_word(coherence, entry * np.uint64(2))
    prefetch_word(network.kind_start, entry >> ONE)
    entry = np.uint64(touched[min(number + np.uint64(AHEAD // 2), last)])
    prefetch_word(network.members, np.uint64(network.kind_start[entry >> ONE]))
    entry = np.uint64(touched[min(number + np.uint64(AHEAD // 4), last)])
    weight = np.uint64(network.members[network.kind_start[entry >> ONE]])
    prefetch_word(weights, (entry & ONE) * np.uint64(weights.shape[1]) + weight)


@kernel
def fold_errors(
    network: Network, weights: Any, coherence: Any, step: float, sums: Any, touched: Any, n_touched: Any, part: Any
) -> None:
    """Change weights (int32[P, W]) and coherence (int64[P K, 2]: sums of errors, and of absolute ones) in place.

    step: the step size, for each tuple.  sums, touched, n_touched: `Errors` of all threads, one after the other on a
    first axis; emptied.  part: (number, all) of the threads that fold; each takes other entries.
    """
    threads, mine, parts = np.uint64(sums.shape[0]), np.uint64(part[0]), np.uint64(part[1])
    for thread in range(threads):
        for number in range(np.uint64(n_touched[thread, 0])):
            fetch_entry(network, weights, coherence, sums[thread], touched[thread], number)
            entry = np.uint64(touched[thread, number])
            if parts > ONE and (entry >> SPAN) % parts != mine:
                continue
            uses, error, absolute = np.int64(0), np.int64(0), np.int64(0)
            for other in range(threads):
                uses += sums[other, entry, 0]
                error += sums[other, entry, 1]
                absolute += sums[other, entry, 2]
                for what in range(3):
                    sums[other, entry, what] = 0
            if uses == 0 or absolute == 0:
                continue
            coherence[entry, 0] += error
            coherence[entry, 1] += absolute
            rate = step * abs(np.float64(coherence[entry, 0])) / np.float64(coherence[entry, 1])
            change = np.int64(np.rint(rate * np.float64(error) / np.float64(uses)))
            kind, table = entry >> ONE, entry & ONE
            first, last = np.uint64(network.kind_start[kind]), np.uint64(network.kind_start[kind + ONE])
            weight: Any = weights[table, network.members[first]] + change
            weight = max(-LARGEST, min(LARGEST, weight))
            for member in range(first, last):
                weights[table, network.members[member]] = weight
