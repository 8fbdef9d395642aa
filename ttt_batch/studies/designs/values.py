"""Parser of the values of one option of a study.

Commas separate values, as in `0.1,0.2`.  Semicolons do so, too, and allow commas within values: a pair of draw worths,
or a file name.  `0.01..0.5:6` means six numbers, evenly spaced, including the ends.  `0.001..1:7log` means seven with
equal ratios.  A list may contain ranges.  In Python each item of a list or array is one value or range.
"""

import itertools
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from ttt_batch.core.errors import UsageError, quoted
from ttt_batch.core.text import Option, exact_number, parse_int, parse_seed
from ttt_batch.studies.designs.methods import TABLE_OPTIONS, written

MAX_SEEDS = 10_000_000
"""Limit of the seeds, and of the learners, of a study."""

MAX_TEXT = 4_000_000
"""Limit of the characters of an option's text."""

DIGITS = 12
"""Significant digits of numbers inside a range: 0.1..0.5:5 contains 0.3 instead of 0.30000000000000004."""

_RANGE = re.compile(r"(.+?)\.\.(.+?)(?::(.*?)\s*(log)?)?", re.IGNORECASE)
_THOUSANDS = re.compile(r"(?<![\d.])\d{1,3}(?:,\d{3})*,0\d\d(?:,\d{3})*(?!\d)", re.ASCII)
"""Pattern of a number with digits in groups of three.  It requires a group that starts with 0, as no value does."""

_SEEDS = Option(read=parse_seed, ranges=True, whole=True, most=MAX_SEEDS)


def values_of(name: str, given: Any, options: Mapping[str, Option] = TABLE_OPTIONS) -> Sequence[Any]:
    """Return the distinct values of the option `name` of `options`, in order and in their form in a configuration.

    Examples: schedules, boards, `on`/`off`/`auto` for symmetry, pairs of draw worths, opponents (`read_opponent`).
    given: text, a list, tuple or array of values, or one value.  Raises UsageError, and RunFileError for an opponent.
    """
    option = options[name]
    name = "lambda" if name in ("lambda_", "trace") else name  # as users and the options themselves spell it
    parts = _listed(name, given, option)
    if not parts:
        raise UsageError(f"{name} is an empty list; give a value, or leave {name} out")
    if len(parts) == 1:
        return _values(name, parts[0], option)
    found: list[Any] = []
    for part in parts:
        values = _values(name, part, option)
        _check_many(name, len(found) + len(values), option)
        found += values
    return list(dict.fromkeys(found))


def seeds_of(given: Any) -> Sequence[int]:
    """Return the seeds for a number (from 0 on) or a list or range such as `0..99` or `5,7`.  Raises UsageError."""
    text = isinstance(given, str) and not re.search(r"[,;]|\.\.", given)
    if text or not (isinstance(given, str) or _is_list(given)):
        return range(parse_int("seeds", given, 1, MAX_SEEDS))
    return values_of("seeds", given, {"seeds": _SEEDS})


def _check_many(name: str, count: int, option: Option) -> None:
    """Raise UsageError if an option has too many values."""
    if count > option.most:
        raise UsageError(f"{name} has {count:,} values; at most {option.most:,} are studied")


def _listed(name: str, given: Any, option: Option) -> Sequence[Any]:
    """Return the items of a list or of text that lists values, or any other value as the only item."""
    if isinstance(given, str):
        return _split(name, given, option)
    if not _is_list(given):
        return [given]
    if isinstance(given, Iterator):
        given = list(itertools.islice(given, option.most + 1))
    _check_many(name, int(given.size) if hasattr(given, "tolist") else len(given), option)
    items = _plain(given)
    return [items] if name == "draw_worth" and _is_pair(items) else items


def _is_list(given: Any) -> bool:
    return isinstance(given, list | tuple | range | Iterator) or getattr(given, "ndim", 0) > 0


def _plain(given: Any) -> Any:
    """Return an array as lists, and a NumPy number as a Python number."""
    return given.tolist() if hasattr(given, "tolist") else given


def _is_pair(given: Any) -> bool:
    """Return whether a list is one pair of draw worths, as for `train`, instead of a list of them."""
    return len(given) == 2 and not any(
        _is_list(part) or (isinstance(part, str) and re.search(r",|\.\.", part)) for part in given
    )


def _split(name: str, text: str, option: Option) -> list[str]:
    """Return the values in a text.  Raises UsageError."""
    if len(text) > MAX_TEXT:
        raise UsageError(f"{name} {quoted(text)} has {len(text):,} characters; at most {MAX_TEXT:,} are read")
    separator = ";" if ";" in text or option.commas else ","
    _check_many(name, text.count(separator) + 1, option)
    if option.ranges and separator == "," and (found := _THOUSANDS.search(text)):
        number = int(found[0].replace(",", ""))
        better = f"{number:_}" if number % 1000 else f"{number:_} or {number // 1000}k"
        raise UsageError(f"{name} {quoted(text)}: commas separate values; write {better} for {found[0]}")
    parts = [part.strip() for part in text.split(separator)]
    if not all(parts):
        example = "give one" if len(parts) == 1 else f"write one between every two {quoted(separator)}"
        raise UsageError(f"{name} {quoted(text)} has an empty value; {example}")
    return parts


def _values(name: str, given: Any, option: Option) -> Sequence[Any]:
    """Return the distinct values of one item of a list: a value, or a text that describes a range.

    Raises UsageError, and RunFileError for an unreadable opponent.
    """
    given = _plain(given)
    if isinstance(given, dict | set | frozenset) or (
        _is_list(given) and (name != "draw_worth" or any(_is_list(part) or isinstance(part, dict) for part in given))
    ):
        raise UsageError(f"{name} has a list or table within its list; give all values in one list")
    if isinstance(given, str):
        if len(given) > option.longest:
            raise UsageError(
                f"{name} {quoted(given)} has {len(given):,} characters; a value has at most {option.longest:,}"
            )
        ranged = given.strip()
        prefixed = option.ranges and ranged.lower().startswith(option.prefix)
        if prefixed and (found := _RANGE.fullmatch(ranged[len(option.prefix) :])):
            return _range(name, given, option, found)
    return [option.parse(given)]


def _range(name: str, text: str, option: Option, found: re.Match[str]) -> Sequence[Any]:
    """Return the values of the range with the parts of `found`, both ends included.

    Raises UsageError, with the option's own message for a bad end.
    """
    start, end = (_end(name, text, option, part.strip()) for part in (found[1], found[2]))
    what, log, whole = f"{name} {quoted(text)}", found[4] is not None, int(abs(end - start)) + 1
    if found[3] is None and option is _SEEDS:
        _check_many(name, whole, option)
        count = whole
    elif not found[3]:
        range_ = f"{option.prefix}{found[1]}..{found[2]}"
        raise UsageError(f"{what} has no number of values; write {range_}:5, or :5log for equal ratios")
    else:
        count = parse_int(f"{what}: its number of values", found[3], 2, option.most)
        if start == end:
            raise UsageError(f"{what} ends at its start; give that value alone")
    if log and min(float(start), float(end)) <= 0:
        raise UsageError(f"{what}: equal ratios need both ends above 0; begin with a small number, or leave log out")
    if option.whole and count > whole:
        raise UsageError(f"{what}: there are only {whole:,} whole numbers; give a smaller number")
    if option.whole and count == whole and not log:
        step = 1 if end >= start else -1
        return range(int(start), int(end) + step, step)
    between = _between(start, end, count, log=log)
    if option.whole:  # both ends are valid, so the numbers between them are
        return list(dict.fromkeys([int(start), *(math.floor(n + Fraction(1, 2)) for n in between), int(end)]))
    inner = [float(f"{number:.{DIGITS}g}") for number in map(float, between)]
    if len({float(start), *inner, float(end)}) < count:  # rounding has made some equal
        inner = [*map(float, between)]
    return list(dict.fromkeys(_read_number(option, number) for number in (float(start), *inner, float(end))))


def _between(start: Fraction, end: Fraction, count: int, *, log: bool) -> list[Fraction]:
    """Return the `count - 2` numbers between two ends, evenly spaced or with equal ratios (`log`)."""
    last = count - 1
    if not log:
        step = (end - start) / last
        return [start + step * i for i in range(1, last)]
    low, high = (math.log(number.numerator) - math.log(number.denominator) for number in (start, end))
    return [Fraction(math.exp(low + (high - low) * i / last)) for i in range(1, last)]


def _read_number(option: Option, number: float | str) -> Any:
    """Return a number or an end of a range in its form in a configuration.  Raises UsageError."""
    return option.parse(f"{option.prefix}{number}" if option.prefix else number)


def _end(name: str, text: str, option: Option, end: str) -> Fraction:
    """Return the exact value of an end of a range.  Raises UsageError unless the option allows that number."""
    _read_number(option, end)
    number = exact_number(end, shares=True)
    if number is None or (name == "draw_worth" and "," in end):
        raise UsageError(f"{name} {quoted(text)}: a range has numbers as its ends, not {quoted(end)}; list the values")
    return Fraction(number)


def listed(values: Sequence[Any], most: int = 6) -> str:
    """Return values as text for a message, only the first ones and the last if there are more than `most`."""
    if len(values) <= most:
        return ", ".join(map(_text, values))
    return ", ".join([*map(_text, values[: most - 2]), "...", _text(values[-1])])


def _text(value: Any) -> str:
    plain = written(value)
    if isinstance(plain, tuple):
        return ",".join(f"{number:g}" for number in plain)
    return ("on" if plain else "off") if isinstance(plain, bool) else f"{plain:_}" if type(plain) is int else str(plain)


def seed_runs(seeds: Sequence[int]) -> list[int | str]:
    """Return seeds as a list with successive ones as ranges, such as `["0..99", 205]`."""
    runs: list[list[int]] = []
    for seed in seeds:
        if runs and seed == runs[-1][1] + 1:
            runs[-1][1] = seed
        else:
            runs.append([seed, seed])
    return [f"{low}..{high}" if high > low else low for low, high in runs]
