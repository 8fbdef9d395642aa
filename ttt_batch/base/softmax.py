"""Softmax over the values of an agent's moves, for display and for play against people; kernels have their own."""

import math
from collections.abc import Mapping


def softmax_probabilities(values: Mapping[int, float], temperature: float) -> dict[int, float]:
    """Return the probability of each cell, proportional to `exp(value / temperature)`; the sum is 1.

    A cell never seen (NaN) counts as the average of the seen cells.  If no cell was seen, all are equally likely.
    temperature: above 0.
    """
    seen = [value for value in values.values() if not math.isnan(value)]
    average = sum(value / len(seen) for value in seen)
    filled = {cell: average if math.isnan(value) else value for cell, value in values.items()}
    highest = max(filled.values(), default=0.0)
    weights = {cell: math.exp((value - highest) / temperature) for cell, value in filled.items()}
    total = math.fsum(weights.values())
    return {cell: weight / total for cell, weight in weights.items()}
