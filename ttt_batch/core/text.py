"""Parsing of names and numbers as people write them, in commands and Python functions.

A word with exactly one meaning is accepted.  Any other raises an error that lists the names and suggests a similar one.

Numbers are written as people write them: `10M`, `10k`, `1e6`, `1,000,000`, `1_000_000`, `0.7`, `70%`.
The command line and Python use the same parser, so `--games 10M` and `train(games="10M")` are equal.
"""

import inspect
import math
import os
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypeVar, cast, get_args, get_type_hints

from ttt_batch.core.errors import UsageError, quoted

Ties = Literal["sharp", "soonest", "any"]
"""Rules of choice among tied moves, see `ties`."""

TIES: tuple[Ties, ...] = get_args(Ties)

Classic = Literal["sutton-barto", "value-feed", "minimax-q", "backward-q", "greedy-td"]
Textbook = Literal["q-learning", "sarsa", "expected-sarsa", "double-q", "td-lambda"]
TableLearner = Literal["td", Classic, Textbook, "reinforce", "actor-critic", "menace"]
"""Learners with a table of which `train` is known to return a `Run`, for type checkers."""
TEXTBOOK: tuple[str, ...] = get_args(Textbook)

_FILES = (Path(__file__).parents[1] / "learners" / "tabular").glob("[a-z]*.py")
_FOUND = sorted(path.stem.replace("_", "-") for path in _FILES)
LEARNER_NAMES = tuple(dict.fromkeys([*(name for name in get_args(TableLearner) if name in _FOUND), *_FOUND]))
"""Learners with a table, each a file of that name in `learners/tabular`, so that completion need not load them."""

NetworkLearner = Literal["patterns", "ntuple-td"]
PATTERN_LEARNERS: tuple[str, ...] = get_args(NetworkLearner)
"""Learners of pattern networks, without a table of positions."""

ALL_LEARNERS = (*LEARNER_NAMES, *PATTERN_LEARNERS)

SCRIPTED = ("random", "one-ply", "two-ply")
"""Scripted players, by the number of plies that they look ahead."""

_AGENTS = sorted(Path(__file__).parents[1].glob("agents/play_*.py"))
AGENT_NAMES = (*SCRIPTED, *(path.stem.removeprefix("play_").replace("_", "-") for path in _AGENTS))
"""Agents that need no run: the scripted players, and a file each in `agents`; found without loading them."""

AGAINST = (*AGENT_NAMES, "self")
"""Opponents by name."""

ILLEGAL = ("error", "loses")
"""Treatments of an agent's move to an occupied cell."""

IMAGES = ("merge", "separate")
"""Treatments of the images of a position under the board's symmetries."""

WEIGHTS = ("positions", "depth", "beads")
"""Quantities that a smallest proof makes smallest."""

DIGITS_MEAN = ("numbers", "row-col", "col-row", "columns")
"""Meanings of digits in a file of games: a cell's number, its row and column in either order, or its column."""

SEATS = ("first", "second")
RESULTS = ("win", "draw", "loss")

SEAT_WORDS = {"x": "first", "1": "first", "1st": "first", "o": "second", "2": "second", "2nd": "second"}
SWITCH_WORDS = {"yes": "on", "true": "on", "no": "off", "false": "off"}
"""Folded synonyms of a name."""

OPPONENT_HINTS = {
    "minimax": "optimal",
    "minmax": "optimal",
    "perfect": "optimal",
    "best": "optimal",
    "solver": "optimal",
    "itself": "self",
}
"""Folded words that are not accepted but suggest a name."""


def fold_case(name: str) -> str:
    """Return a name without its case, hyphens, underscores and spaces, which people write in several ways."""
    return re.sub(r"[-_\s]+", "", name).casefold()


def find_name(given: object, names: Collection[str], words: Mapping[str, str] | None = None) -> str | None:
    """Return the name equal to `given`, or the only one equal when folded, else None.  words: folded synonyms."""
    if not isinstance(given, str):
        return None
    if given in names:
        return given
    alike = [name for name in names if fold_case(name) == fold_case(given)]
    if len(alike) == 1:
        return alike[0]
    meant = None if given.lstrip().startswith("-") else (words or {}).get(fold_case(given))  # -2 is not 2
    return meant if meant in names and not alike else None


def suggested_name(given: object, names: Collection[str], hints: Mapping[str, str] | None = None) -> str | None:
    """Return the name that was probably meant, or None.  hints: as `OPPONENT_HINTS`."""
    import difflib

    if not isinstance(given, str) or not fold_case(given):
        return None
    if (hinted := (hints or {}).get(fold_case(given))) in names:
        return hinted
    folded = {fold_case(name): name for name in reversed(list(names))}  # the first of equal names wins
    longer = [name for short, name in folded.items() if short.startswith(fold_case(given))]
    if len(longer) == 1:
        return longer[0]
    close = difflib.get_close_matches(fold_case(given)[:100], folded, n=1)
    return folded[close[0]] if close else None


def choose(
    what: str,
    given: object,
    names: Collection[str],
    *,
    words: Mapping[str, str] | None = None,
    hints: Mapping[str, str] | None = None,
    others: str = "",
) -> str:
    """Return the name that `given` means, in its standard spelling.  Raises UsageError for an unknown name.

    what: the kind of name, for the message.  words, hints: see `find_name` and `suggested_name`.  others: other
    accepted values, for the message.
    """
    if (found := find_name(given, names, words)) is None:
        raise unknown_name(what, given, names, hints=hints, others=others)
    return found


def unknown_name(
    what: str, given: object, names: Collection[str], *, hints: Mapping[str, str] | None = None, others: str = ""
) -> UsageError:
    """Return the error for a name that is not among `names`, with a suggestion."""
    meant = suggested_name(given, names, hints)
    asked = f" (did you mean {meant}?)" if meant is not None else ""
    there = [*names, *([others] if others else [])]
    listed = f"one of: {', '.join(there)}" if len(there) > 4 else either(there)
    return UsageError(f"unknown {what} {quoted(given)}{asked}; choose {listed}")


def either(names: Sequence[str]) -> str:
    """Return names as alternatives: `a, b or c`."""
    return " or ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def check_switches(**given: object) -> None:
    """Raise UsageError for a value that is not a bool: `overwrite="no"` must not replace a file."""
    for name, value in given.items():
        if not _is_flag(value):
            raise UsageError(f"{name} is {quoted(value)}; give True or False")


def check_functions(**given: object) -> None:
    """Raise UsageError for a value that is neither a function nor None."""
    for name, value in given.items():
        if value is not None and not callable(value):
            raise UsageError(f"{name} is {quoted(value)}; give a function, or leave it out")


def choose_seat(given: object, *others: str, what: str = "seat") -> str:
    """Return a seat, `first` or `second` (also given as X or O), or one of the `others`.  Raises UsageError."""
    return choose(what, given, (*SEATS, *others), words=SEAT_WORDS)


def choose_person(given: object) -> int | None:
    """Return a person's seat: 0 for `first`, 1 for `second`, None for `alternate`.  Raises UsageError."""
    return {"first": 0, "second": 1, "alternate": None}[choose_seat(given, "alternate")]


def check_ties(name: object) -> Ties:
    """Return the rule for ties with that name, in any spelling.  Raises UsageError."""
    return cast(Ties, choose("ties", name, TIES))


MAX_VALUES = 100_000
"""Limit of the values of one option, and of the settings of a study."""


@dataclass(frozen=True)
class Option:
    """Declaration of an option.

    metavar, help, default, panel, offers: for `--help` and completion.  switch: `train` takes it without a value.
    read, networks: reader of a value for tables and for networks, which raises UsageError; None for those without it.
    given: its help in `learn-from`, if it has another meaning there.
    swept: a study may vary it.  ranges: its values are numbers and may be given as ranges.  whole: only whole numbers.
    most: maximum number of values.  longest: maximum number of characters of a value, which may be a file name.
    commas: a value may contain commas, so only semicolons separate values.
    prefix: text before each number or range of numbers, such as `softmax:`.
    label: its value in words, if not `NAME VALUE`.
    """

    metavar: str = ""
    help: str = ""
    read: Callable[[Any], Any] | None = None
    networks: Callable[[Any], Any] | None = None
    default: str = ""
    given: str = ""
    panel: str = "Learning"
    offers: tuple[str, ...] = ()
    switch: bool = False
    swept: bool = True
    ranges: bool = False
    whole: bool = False
    commas: bool = False
    most: int = MAX_VALUES
    longest: int = 4_096
    prefix: str = ""
    label: Callable[[Any], str] | None = None

    def parse(self, given: Any, *, networks: bool = False) -> Any:
        """Return a value in its form in a configuration of tables, or of networks.  Raises UsageError."""
        reader = self.networks if networks else self.read
        assert reader is not None, "not an option of these learners"
        return reader(given)


def declared(*kinds: type) -> dict[str, Option]:
    """Return the declarations of TypedDicts by name; options that take a `Number`, or have a prefix, have ranges."""
    hints = {name: hint for kind in kinds for name, hint in get_type_hints(kind, include_extras=True).items()}
    found: dict[str, Option] = {}
    for name, hint in hints.items():
        option = hint.__metadata__[0]
        found[name] = replace(option, ranges=float in get_args(hint.__origin__) or bool(option.prefix))
    return found


F = TypeVar("F", bound=Callable[..., Any])


def with_options(options: type | Mapping[str, Any], defaults: Mapping[str, Any] = {}) -> Callable[[F], F]:
    """Return a decorator that lists the `**options` of a function in its signature.

    options: the TypedDict that `**options` unpacks, or types by name.  defaults: those that are not None, for the
    signature.  The function reads the options with `given_options`.
    """

    def spelled_out(function: F) -> F:
        signature, by_name = inspect.signature(function), inspect.Parameter.KEYWORD_ONLY
        own = [given for given in signature.parameters.values() if given.kind is not given.VAR_KEYWORD]
        hints = get_type_hints(options) if isinstance(options, type) else options
        added = [
            inspect.Parameter(name, by_name, default=defaults.get(name), annotation=hint)
            for name, hint in hints.items()
        ]
        # A stable sort: positional parameters first, then the options, then the function's own keyword parameters.
        parameters = sorted([*added, *own], key=lambda given: given.kind)
        function.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        return function

    return spelled_out


def given_options(function: Callable[..., Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the `**options` of `function` that are not None.

    Raises TypeError for a name that `function` does not have; the message suggests a similar one.
    """
    names = inspect.signature(function).parameters
    for name in options:
        if name not in names:
            meant = suggested_name(name, list(names))
            hint = "" if meant is None else f"; did you mean {meant!r}?"
            raise TypeError(f"{function.__name__}() got an unexpected keyword argument {name!r}{hint}")
    return {name: value for name, value in options.items() if value is not None}


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


def parse_int(name: str, value: Number, low: int, high: int, wanted: str = "") -> int:
    """Return the whole number given by `value`.

    wanted: description of it and a remedy for what is not a whole number, by default the limits and an example.
    Raises UsageError unless it is a whole number from `low` to `high`.
    """
    number = whole_number(value)
    if number is None:
        example = "10000, 10k or 1e4" if 0 <= low <= 10_000 <= high else str(max(low, 1))
        wanted = wanted or f"whole number; give one from {low:,} to {high:,}, e.g. {example}"
        raise UsageError(f"{name} {number_text(value)} is not a {wanted}")
    if not low <= number <= high:
        given = f"{number:,}" if abs(number) < 10**21 else number_text(value)
        remedy = f"give at least {low:,}" if number < low else f"give at most {high:,}"
        raise UsageError(f"{name} {given} is outside {low:,} .. {high:,}; {remedy}")
    return number


def parse_seed(value: Number) -> int:
    """Return a seed, a signed 64-bit integer.  Raises UsageError."""
    wanted = "whole number; give any, e.g. 7: it fixes the randomness"
    return parse_int("seed", value, -(2**63), 2**63 - 1, wanted)


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


_SECONDS = {"": 1, "s": 1, "min": 60, "m": 60, "h": 3600}


def parse_seconds(name: str, value: Number, most: float) -> float:
    """Return a duration in seconds, given as a number of them or as text such as `90s`, `10min` or `1h`.

    Raises UsageError unless it is above 0 and at most `most` seconds.
    """
    text = re.fullmatch(r"\s*(.+?)\s*(s|m|min|h)?\s*", str(value), re.IGNORECASE)
    number = exact_number(text[1]) if text else None
    seconds = None if number is None or text is None else float(number) * _SECONDS[(text[2] or "").lower()]
    if seconds is not None and seconds > most:
        raise UsageError(f"{name} {number_text(value)} is over the limit of {most:,.0f} seconds; give less")
    if seconds is None or not seconds > 0:
        raise UsageError(f"{name} {number_text(value)} is no duration; give e.g. 90s, 10min or 1h")
    return seconds


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
    """Return whether a value is a bool of Python or NumPy: a number in Python, but not in this package."""
    # By its name, without importing NumPy.
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
    """Return bytes as `12 kB`, `12.3 MB` or `1.2 GB`."""
    if size < 1e6:
        return f"{size / 1e3:.0f} kB"
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
