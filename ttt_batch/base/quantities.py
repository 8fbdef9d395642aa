"""Parser and formatter of numbers: `10M`, `10k`, `1e6`, `1,000,000`, `1_000_000`, `0.7`, `70%`.

The command line and Python use the same parser, so `--games 10M` and `train(games="10M")` are equal.
"""

import math
import os
import re
from contextlib import suppress
from typing import Any

from ttt_batch.base.errors import UsageError, quoted

Number = int | float | str
"""Number, or the text of one."""

UNITS = {"": 0, "k": 3, "m": 6, "g": 9, "b": 9, "t": 12}
"""Powers of ten; b is a billion."""

# Commas and spaces separate groups of three only: 1,5 must not be read as fifteen.
_DIGITS = r"\d{1,3}(?:,\d{3})+|\d{1,3}(?: \d{3})+|\d+(?:_\d+)*|(?=\.\d)"
_FORM = rf"([+-]?(?:{_DIGITS})(?:\.\d*)?)(?:e([+-]?\d{{1,3}}))? ?([kmgbt%]?)"


def exact_number(text: str, *, shares: bool = False) -> Any:
    """Return the exact value of a text as a Decimal, or None.  shares: read `70%` as 0.7."""
    from decimal import Decimal  # imported here: 2 ms

    found = re.fullmatch(_FORM, text.strip(), re.ASCII | re.IGNORECASE)  # compiled on first use: 2 ms
    if found is None or (found[3] == "%" and not shares):
        return None
    power = -2 if found[3] == "%" else UNITS[found[3].lower()]
    digits = re.sub("[,_ ]", "", found[1])
    return Decimal(f"{digits}e{int(found[2] or 0) + power}")


def parse_int(name: str, value: Number, low: int, high: int) -> int:
    """Return the whole number given by `value`.

    Raises UsageError with the limits and an example unless it is a whole number from `low` to `high`.
    """
    number = whole_number(value)
    if number is None:
        example = "10000, 10k or 1e4" if 0 <= low <= 10_000 <= high else str(max(low, 1))
        raise UsageError(
            f"{name} {number_text(value)} is not a whole number; give one from {low:,} to {high:,}, e.g. {example}"
        )
    if not low <= number <= high:
        given = f"{number:,}" if abs(number) < 10**21 else number_text(value)
        remedy = f"give at least {low:,}" if number < low else f"give at most {high:,}"
        raise UsageError(f"{name} {given} is outside {low:,} .. {high:,}; {remedy}")
    return number


def parse_seed(value: Number) -> int:
    """Return a seed: any whole number of 64 bits, signed.  Raises UsageError."""
    if whole_number(value) is None:
        raise UsageError(f"seed {number_text(value)} is not a whole number; give any, e.g. 7: it fixes the randomness")
    return parse_int("seed", value, -(2**63), 2**63 - 1)


def random_seed() -> int:
    """Return a random seed from the system's entropy."""
    return int.from_bytes(os.urandom(8), "big") >> 1


def parse_float(name: str, value: Number, expected: str, *, shares: bool = False) -> float:
    """Return the number given by `value`, in any range; NaN and infinity only as floats, not as text.

    expected: the accepted values, for the message of UsageError.  shares: read percentages, too.
    """
    with suppress(TypeError, ValueError):
        number = exact_number(value, shares=shares) if isinstance(value, str) else value
        if number is not None and not _is_flag(number):
            try:
                return float(number)
            except OverflowError:  # a whole number beyond all floats, hence beyond all limits
                return math.inf if number > 0 else -math.inf
    if isinstance(value, str) and re.fullmatch(r"\s*[+-]?\d*,\d+%?\s*", value, re.ASCII):
        expected = f"{value.strip().replace(',', '.')}, with a point"
    raise UsageError(f"{name} {number_text(value)} is not a number; give {expected}")


def parse_share(name: str, value: Number, meaning: str) -> float:
    """Return a share given as a number from 0 to 1 or a percentage.  meaning: its meaning, for UsageError."""
    number = parse_float(name, value, f"one from 0 to 1, or a percentage such as 70%; {meaning}", shares=True)
    if not 0 <= number <= 1:  # refuses NaN, too
        raise UsageError(f"{name} {number_text(value)} is outside 0 to 1; {meaning}")
    return number


def whole_number(value: object) -> int | None:
    """Return the whole number given by a value or text, or None."""
    given: Any = exact_number(value) if isinstance(value, str) else value
    with suppress(TypeError, ValueError, OverflowError):
        if not _is_flag(given) and int(given) == given:
            return int(given)
    return None


def _is_flag(given: object) -> bool:
    """Return whether a value is a bool, also of NumPy: Python counts it as 0 or 1, but here it is not a number."""
    return type(given).__name__ in ("bool", "bool_")


def number_text(value: object) -> str:
    """Return a given value for a message: a number without quotes, anything else as in `quoted`."""
    plain = isinstance(value, str) and len(value) <= 24 and exact_number(value, shares=True) is not None
    return str(value) if plain or isinstance(value, float) else quoted(value)


def count_text(number: int, one: str, many: str = "") -> str:
    """Return a number of things: `1 game`, `10,000 games`.  one: singular.  many: plural, by default with an s."""
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"


def short_number(number: float) -> str:
    """Return a number with three digits and a unit: 500, 10 k, 2.5 M, 1 G, 1 T, 1 P; from a thousand P on 1e+18."""
    if number >= 1e18:
        return f"{number:.3g}"
    for limit, unit in ((1e15, " P"), (1e12, " T"), (1e9, " G"), (1e6, " M"), (1e3, " k")):
        if number >= 0.9995 * limit:  # rounds to 1 of the unit
            return f"{number / limit:.3g}{unit}"
    return f"{number:.3g}"


def size_text(size: int) -> str:
    """Return bytes as `12.3 MB` or `1.2 GB`."""
    return f"{size / 1e6:,.1f} MB" if size < 1e9 else f"{size / 1e9:,.1f} GB"


def duration_text(seconds: float) -> str:
    """Return a duration: `8 s`, `3 min`, `2 h 10 min`, `11 days`."""
    if seconds < 99.5:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 100:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    rest = f" {minutes} min" if minutes else ""
    return f"{hours} h{rest}" if hours < 100 else f"{hours // 24:,} days"


def percent(share: float) -> str:
    """Return a share of 1 in whole percent: `33 %`."""
    return f"{100 * share:.0f} %"
