"""Kaplan-Meier estimates against a product-limit estimator written from the definition, and known answers."""

import math
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ttt_batch.core.errors import TttBatchError
from ttt_batch.studies.summary import CONFIDENCE, LEAST, interval_of_median, missing_library, survival

SEEDS = st.lists(st.tuples(st.integers(1, 12), st.booleans()), min_size=1, max_size=30)
Z = 1.959963984540054
"""The 0.975 quantile of the normal distribution."""


def naive(seeds):
    """By time: the share left and its band, seed by seed; the band is that share where all or none are left."""
    left, variance, found = 1.0, 0.0, {}
    for time in sorted({time for time, _ in seeds}):
        at_risk = sum(other >= time for other, _ in seeds)
        happened = sum(other == time and there for other, there in seeds)
        left *= 1 - happened / at_risk
        if at_risk > happened:
            variance += happened / (at_risk * (at_risk - happened))
        band = left, left
        if 1e-12 < left < 1:
            spread = Z * math.sqrt(variance) / abs(math.log(left))
            band = tuple(left ** math.exp(sign * spread) for sign in (1, -1))
        found[time] = left, *band
    return found


def arrays(seeds):
    times, happened = zip(*seeds, strict=True)
    return np.array(times, np.int64), np.array(happened)


@given(SEEDS)
def test_the_estimate_is_the_product_limit(seeds):
    found, expected = survival(*arrays(seeds)), naive(seeds)
    assert found.times.tolist() == list(expected)
    assert np.stack([found.left, found.low, found.high], axis=1) == pytest.approx(np.array(list(expected.values())))
    assert (found.low <= found.left + 1e-12).all() and (found.left <= found.high + 1e-12).all()


@pytest.mark.slow
@given(SEEDS)
def test_an_interval_is_where_the_bands_cross_one_half(seeds):
    low, high = interval_of_median(*arrays(seeds))
    if len(seeds) < LEAST:
        assert (low, high) == (None, None)
        return
    bands = naive(seeds)
    below = [[time for time, band in bands.items() if band[which] <= 0.5 + 1e-12] for which in (1, 2)]
    assert (low, high) == (below[0][0] if below[0] else max(bands), below[1][0] if below[1] else None)


def test_fanbelts_of_a_textbook():
    """Conover, Practical Nonparametric Statistics, third edition, page 91; thousands of miles."""
    broken, whole = [77, 47, 81, 56, 80], [62, 60, 43, 71, 37]
    found = survival(np.array(broken + whole), np.array([True] * 5 + [False] * 5))
    assert found.times.tolist() == [37, 43, 47, 56, 60, 62, 71, 77, 80, 81]
    assert found.left == pytest.approx([1, 1, 0.875, 0.75, 0.75, 0.75, 0.75, 0.5, 0.25, 0])


def test_nobody_everybody_ties_and_too_few():
    def interval(times, happened):
        return interval_of_median(np.array(times), np.array(happened))

    assert interval([9] * 20, [False] * 20) == (9, None)  # the median is later than 9
    assert interval([4] * 20, [True] * 20) == (4, 4)
    assert interval([4] * 3 + [9] * 17, [True] * 3 + [False] * 17) == (9, None)
    assert interval([4] * 10 + [9] * 10, [True] * 10 + [False] * 10) == (4, None)
    assert interval([4] * 17 + [9] * 3, [True] * 17 + [False] * 3) == (4, 4)
    assert interval([9] * 20, [True] * 10 + [False] * 10) == (
        9,
        None,
    )  # those at the last time come before the censored
    assert interval([5], [True]) == interval([5], [False]) == interval([1, 2, 3, 4, 5], [True] * 5) == (None, None)
    assert interval([1, 2, 3, 4, 5, 6], [True] * 6) == (1, 6)
    huge = 10**15 + np.arange(8)
    assert interval_of_median(huge, np.ones(8, bool))[1] in huge.tolist()


@pytest.mark.slow
def test_intervals_hold_the_median_as_often_as_they_say():
    rng = np.random.default_rng(5)
    times = rng.geometric(0.01, (600, 40))
    held = 0
    for row in times:
        low, high = interval_of_median(np.minimum(row, 150), row <= 150)
        held += low <= 69 <= (high or 150)  # of geometric times with p = 0.01 the median is 69
    assert CONFIDENCE - 0.03 < held / 600 < 0.99


def test_what_was_found_cannot_be_changed():
    with pytest.raises(ValueError):
        survival(np.array([1, 2, 3]), np.array([True, False, True])).left[0] = 0


def test_a_missing_scipy_is_named_with_its_extra(monkeypatch):
    assert missing_library() == ""
    monkeypatch.setitem(sys.modules, "scipy", None)
    assert "pip install 'ttt-batch[study]'" in missing_library() and "\n" not in missing_library()
    with pytest.raises(TttBatchError, match="scipy"):
        survival(np.array([1, 2, 2, 7, 9, 9, 11]), np.array([True, False, True] + [True] * 4))
