"""Four numbers at a time give what NumPy gives, to the last bit."""

from typing import Any

import numpy as np

from ttt_batch.compiler.intrinsics import add_fours, divide_four, load_four, store_four
from ttt_batch.compiler.jit import kernel


@kernel
def average(values: Any, one: Any, other: Any, divisor: Any, target: Any) -> None:
    """Write the four sums of `values` from `one` and from `other` on, divided, to `values` from `target` on."""
    total = load_four(values, one)
    total = add_fours(total, load_four(values, other))
    store_four(values, target, divide_four(total, divisor))


def test_sums_and_quotients_of_four_are_numpys() -> None:
    rng = np.random.default_rng(1)
    for _ in range(50):
        values, divisor = rng.standard_normal(20), float(rng.integers(1, 10))
        one, other, target = (int(start) for start in rng.integers(0, 17, 3))  # any of them, aligned or not
        expected = values.copy()
        expected[target : target + 4] = (values[one : one + 4] + values[other : other + 4]) / divisor
        average(values, np.uint64(one), np.uint64(other), divisor, np.uint64(target))
        assert values.tobytes() == expected.tobytes()
