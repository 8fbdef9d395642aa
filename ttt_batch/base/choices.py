"""Choosing among names as people write them: `TD` is td, `sutton_barto` is sutton-barto, and `X` is the first player.

A word with one meaning is accepted.  Any other is refused with the names there are, and the one probably meant.  Every
name that a command or a Python function takes is read here.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Literal, cast, get_args

from ttt_batch.base.errors import UsageError, quoted

Ties = Literal["sharp", "soonest", "any"]
"""Rules of play among moves that an agent's rule may pick, see `ties`."""

TIES: tuple[Ties, ...] = get_args(Ties)

Classic = Literal["sutton-barto", "value-feed", "minimax-q", "backward-q", "greedy-td"]
Textbook = Literal["q-learning", "sarsa", "expected-sarsa", "double-q", "td-lambda"]
TableLearner = Literal["td", Classic, Textbook, "reinforce", "actor-critic", "menace"]
TEXTBOOK: tuple[str, ...] = get_args(Textbook)
LEARNER_NAMES: tuple[str, ...] = get_args(TableLearner)
"""The package's learners, each a file of that name in `learners`; here because completion has no time to load them."""

NetworkLearner = Literal["patterns", "ntuple-td"]
PATTERN_LEARNERS: tuple[str, ...] = get_args(NetworkLearner)
"""Learners of pattern networks, which have no table of positions."""

ALL_LEARNERS = (*LEARNER_NAMES, *PATTERN_LEARNERS)

AGENT_NAMES = ("random", "one-ply", "two-ply", "optimal")
"""Agents that need no file: the three scripted players, and one that is uniform among the best moves."""

ILLEGAL = ("error", "loses")
"""What an agent's move to an occupied cell is."""

DIGITS_MEAN = ("numbers", "row-col", "col-row", "columns")
"""What digits may be in a file of games: the number of a cell, its row and column in either order, or its column."""

SEATS = ("first", "second")
RESULTS = ("win", "draw", "loss")

SEAT_WORDS = {"x": "first", "1": "first", "1st": "first", "o": "second", "2": "second", "2nd": "second"}
SWITCH_WORDS = {"yes": "on", "true": "on", "no": "off", "false": "off"}
"""Other words for a name, folded."""

OPPONENT_HINTS = {
    "minimax": "optimal",
    "minmax": "optimal",
    "perfect": "optimal",
    "best": "optimal",
    "solver": "optimal",
    "itself": "self",
}
"""Words, folded, that are no names and suggest one."""


def fold(name: str) -> str:
    """A name without what people write in several ways: case, and `-`, `_` and spaces."""
    return re.sub(r"[-_\s]+", "", name).casefold()


def find_name(given: object, names: Collection[str], words: Mapping[str, str] | None = None) -> str | None:
    """The one of `names` that is given, or the only one equal to it when folded.  words: others for them, folded."""
    if not isinstance(given, str):
        return None
    if given in names:
        return given
    alike = [name for name in names if fold(name) == fold(given)]
    if len(alike) == 1:
        return alike[0]
    meant = None if given.lstrip().startswith("-") else (words or {}).get(fold(given))  # -2 is not 2
    return meant if meant in names and not alike else None


def suggested_name(given: object, names: Collection[str], hints: Mapping[str, str] | None = None) -> str | None:
    """The one of `names` that was probably meant, if any.  hints: as `OPPONENT_HINTS`."""
    import difflib

    if not isinstance(given, str) or not fold(given):
        return None
    if (hinted := (hints or {}).get(fold(given))) in names:
        return hinted
    folded = {fold(name): name for name in reversed(list(names))}  # of equal ones the first
    longer = [name for short, name in folded.items() if short.startswith(fold(given))]
    if len(longer) == 1:
        return longer[0]
    close = difflib.get_close_matches(fold(given)[:100], folded, n=1)
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
    """The one of `names` that `given` means, in its own spelling.  Raises UsageError.

    what: what is named.  words, hints: see `find_name` and `suggested_name`.  others: what else may be given.
    """
    if (found := find_name(given, names, words)) is None:
        raise unknown_name(what, given, names, hints=hints, others=others)
    return found


def unknown_name(
    what: str, given: object, names: Collection[str], *, hints: Mapping[str, str] | None = None, others: str = ""
) -> UsageError:
    """The error for a name that is none of `names`, with the one that was probably meant."""
    meant = suggested_name(given, names, hints)
    asked = f" (did you mean {meant}?)" if meant is not None else ""
    there = [*names, *([others] if others else [])]
    listed = f"one of: {', '.join(there)}" if len(there) > 4 else either(there)
    return UsageError(f"unknown {what} {quoted(given)}{asked}; choose {listed}")


def either(names: Sequence[str]) -> str:
    """Names as alternatives: `a, b or c`."""
    return " or ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def check_switches(**given: object) -> None:
    """Raise UsageError for what is neither True nor False: `overwrite="no"` must not replace a file."""
    for name, value in given.items():
        if type(value).__name__ not in ("bool", "bool_"):  # NumPy's, too, which is not loaded for this
            raise UsageError(f"{name} is {quoted(value)}; give True or False")


def choose_seat(given: object, *others: str, what: str = "seat") -> str:
    """A player by the order of moving, `first` or `second`, also as X and O; or one of the `others`."""
    return choose(what, given, (*SEATS, *others), words=SEAT_WORDS)


def choose_person(given: object) -> int | None:
    """A person's seat: 0 for `first`, 1 for `second`, None for `alternate`.  Raises UsageError."""
    return {"first": 0, "second": 1, "alternate": None}[choose_seat(given, "alternate")]


def check_ties(name: object) -> Ties:
    """The rule of play of that name, however it is spelled.  Raises UsageError."""
    return cast(Ties, choose("ties", name, TIES))
