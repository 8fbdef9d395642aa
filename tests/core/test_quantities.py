"""Numbers as people write them, for commands and in Python."""

import numpy as np
import pytest

from ttt_batch.core.errors import UsageError
from ttt_batch.core.text import exact_number, parse_float, parse_int, parse_share
from ttt_batch.runs.config import make_config

TRILLION = 10**12


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("10", 10),
        ("10k", 10_000),
        ("10M", 10_000_000),
        ("10m", 10_000_000),
        ("2.5M", 2_500_000),
        ("3G", 3 * 10**9),
        ("3b", 3 * 10**9),
        ("1T", TRILLION),
        ("1e6", 1_000_000),
        ("2.5E3", 2500),
        ("1e3k", 1_000_000),
        ("1,000,000", 1_000_000),
        ("1_000_000", 1_000_000),
        ("1 000 000", 1_000_000),
        (" 10 M ", 10_000_000),
        ("1.0", 1),
        (".5k", 500),
        ("+7", 7),
        (7, 7),
        (1e6, 1_000_000),
    ],
)
def test_whole_numbers(text, number):
    assert parse_int("games", text, 1, TRILLION) == number


@pytest.mark.parametrize(
    "value",
    [
        *("many", "", "1,5", "1,00", "10 00", "1__0", "_1", "1e", "e5", "M", "1.5", "0.1k5", "0x10", "1e9999", "5%"),
        *("nan", "inf", "10 M games", "१", None, True, np.True_, 1.5, float("nan"), float("inf"), [1]),
    ],
)
def test_what_is_no_whole_number(value):
    with pytest.raises(
        UsageError, match=r"^games .* is not a whole number; give one from 1 to 1,000,000,000,000, e\.g\. "
    ) as e:
        parse_int("games", value, 1, TRILLION)
    assert "10k" in str(e.value) and "\n" not in str(e.value)


@pytest.mark.parametrize("value", ["0", "-5", 0, "2T", "1e30", "1e999", "9" * 4000, pytest.param(10**5000, id="huge")])
def test_numbers_outside_their_limits(value):
    with pytest.raises(
        UsageError, match=r"^games .* is outside 1 \.\. 1,000,000,000,000; give at (least 1|most 1,000,000,000,000)$"
    ) as e:
        parse_int("games", value, 1, TRILLION)
    assert len(str(e.value)) < 150


def test_a_long_number_is_exact():
    assert parse_int("seed", "9223372036854775807", -(2**63), 2**63 - 1) == 2**63 - 1
    assert parse_int("seed", "-9_223_372_036_854_775_808", -(2**63), 2**63 - 1) == -(2**63)
    assert parse_int("games", "0.000000000000000000000000000001e42", 1, TRILLION) == TRILLION


def test_an_example_lies_within_the_limits():
    with pytest.raises(UsageError, match=r"e\.g\. 1$"):
        parse_int("threads", "all", 1, 1024)


@pytest.mark.parametrize(
    ("text", "number"),
    [("70%", 0.7), ("0.7", 0.7), (".7", 0.7), ("100 %", 1.0), ("1", 1.0), ("7e-1", 0.7), (0.7, 0.7), (1, 1.0)],
)
def test_shares(text, number):
    assert parse_share("level", text, "it is a share") == number


@pytest.mark.parametrize("text", ["70%%", "seven", "", "%", "0,7,1", None, "nan"])
def test_what_is_no_share(text):
    with pytest.raises(
        UsageError, match=r"^level .* is not a number; give one from 0 to 1, or a percentage such as 70%; it is"
    ):
        parse_share("level", text, "it is what it is")


@pytest.mark.parametrize("text", ["0,7", ",7", "-0,7", " 12,5% "])
def test_a_decimal_comma_is_shown_as_a_point(text):
    with pytest.raises(UsageError, match=rf"is not a number; give {text.strip().replace(',', '.')}, with a point$"):
        parse_share("level", text, "it is what it is")


@pytest.mark.parametrize("value", ["70", "101%", "-1%", 1.5, float("nan"), "1e300"])
def test_shares_outside_their_limits(value):
    with pytest.raises(UsageError, match=r"^level .* is outside 0 to 1; it is"):
        parse_share("level", value, "it is what it is")


def test_only_shares_are_percentages():
    with pytest.raises(UsageError, match="pace 50% is not a number; give seconds"):
        parse_float("pace", "50%", "seconds")
    assert parse_float("pace", "1.5", "seconds") == 1.5
    assert exact_number("50%") is None and exact_number("50%", shares=True) == exact_number("0.5")


@pytest.mark.parametrize("value", [10**400, -(10**400), pytest.param(10**5000, id="huge"), "1e400"])
@pytest.mark.parametrize("name", ["alpha", "epsilon", "gamma", "draw_worth"])
def test_numbers_beyond_every_float_are_outside_the_limits(name, value):
    given = (value, 0.5) if name == "draw_worth" else value
    with pytest.raises(UsageError, match=r" is outside (?:[(\[]0, 1\]|0 to 1)| is not a number from -") as e:
        make_config(**{name: given})
    assert len(str(e.value)) < 140
