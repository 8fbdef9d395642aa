"""Parsing of names in commands and Python functions: `TD` is td, `sutton_barto` is sutton-barto, `X` is first.

A word with exactly one meaning is accepted.  Any other raises an error that lists the names and suggests a similar one.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Literal, cast, get_args

from ttt_batch.base.errors import UsageError, quoted

Ties = Literal["sharp", "soonest", "any"]
"""Rules of choice among tied moves, see `ties`."""

TIES: tuple[Ties, ...] = get_args(Ties)

Classic = Literal["sutton-barto", "value-feed", "minimax-q", "backward-q", "greedy-td"]
Textbook = Literal["q-learning", "sarsa", "expected-sarsa", "double-q", "td-lambda"]
TableLearner = Literal["td", Classic, Textbook, "reinforce", "actor-critic", "menace"]
TEXTBOOK: tuple[str, ...] = get_args(Textbook)
LEARNER_NAMES: tuple[str, ...] = get_args(TableLearner)
"""Learners with a table, each a file of that name in `learners`; listed here so that completion need not load them."""

NetworkLearner = Literal["patterns", "ntuple-td"]
PATTERN_LEARNERS: tuple[str, ...] = get_args(NetworkLearner)
"""Learners of pattern networks, without a table of positions."""

ALL_LEARNERS = (*LEARNER_NAMES, *PATTERN_LEARNERS)

AGENT_NAMES = ("random", "one-ply", "two-ply", "optimal")
"""Agents that need no file: three scripted players, and one that plays uniformly among the best moves."""

ILLEGAL = ("error", "loses")
"""Treatments of an agent's move to an occupied cell."""

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
        if type(value).__name__ not in ("bool", "bool_"):  # also NumPy's bool, without importing NumPy
            raise UsageError(f"{name} is {quoted(value)}; give True or False")


def choose_seat(given: object, *others: str, what: str = "seat") -> str:
    """Return a seat, `first` or `second` (also given as X or O), or one of the `others`.  Raises UsageError."""
    return choose(what, given, (*SEATS, *others), words=SEAT_WORDS)


def choose_person(given: object) -> int | None:
    """Return a person's seat: 0 for `first`, 1 for `second`, None for `alternate`.  Raises UsageError."""
    return {"first": 0, "second": 1, "alternate": None}[choose_seat(given, "alternate")]


def check_ties(name: object) -> Ties:
    """Return the rule for ties with that name, in any spelling.  Raises UsageError."""
    return cast(Ties, choose("ties", name, TIES))
