"""Options of learning, each declared once: for Python, the command line, studies, reports and pictures.

An option is a line of a TypedDict: its name, its types in Python, and an `Option` with everything else.  Signatures,
`--help`, configurations, STUDY.toml, columns and labels follow from it.  A shell completes from this module while a
person waits, so it does not load numba.
"""

import math
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple, TypedDict

from ttt_batch.core.console import one_line
from ttt_batch.core.errors import UsageError, display_name, flag, quoted
from ttt_batch.core.text import (
    PATTERN_LEARNERS,
    SEATS,
    SWITCH_WORDS,
    Number,
    Option,
    choose,
    choose_seat,
    declared,
    either,
    exact_number,
    fold_case,
    number_text,
    parse_float,
    parse_int,
    parse_seed,
    parse_share,
    whole_number,
)
from ttt_batch.games.board import BOARD, BOARDS, Board, parse_board
from ttt_batch.ntuple.objectives import OBJECTIVES

CONSTANT, LINEAR, EXPONENTIAL, VISITS = 0, 1, 2, 3
_SHAPES = {"linear": LINEAR, "exp": EXPONENTIAL}
_SHAPE_WORDS = {"exponential": "exp"}

MAX_TEXT = 200
"""Maximum of characters in a schedule; one with every digit of both numbers has about 60."""

MAX_RISE = 1e300
"""Largest quotient of end and start of an exponential schedule: above 1.8e308 it overflows."""


class Decay(NamedTuple):
    """Schedule as kernels use it.

    kind: CONSTANT, LINEAR, EXPONENTIAL or VISITS.  start: value at game 0.  end: value from game `games` on.
    games: number of games over which the value changes.  power: the exponent of VISITS, else 0.
    """

    kind: int
    start: float
    end: float
    games: float
    power: float


@dataclass(frozen=True)
class Schedule:
    """Schedule as the user writes it; `text` is its canonical form."""

    kind: int
    start: float
    end: float
    power: float = 0.0

    @property
    def text(self) -> str:
        """Return the canonical form, which `parse_schedule` reads."""
        if self.kind == CONSTANT:
            return repr(self.start)
        if self.kind == VISITS:
            return "1/n" if self.power == 1.0 else f"1/n^{self.power!r}"
        shape = next(name for name, kind in _SHAPES.items() if kind == self.kind)
        return f"{self.start!r}->{self.end!r}:{shape}"

    @property
    def plain(self) -> float | str:
        """Return the number if it never changes, else the canonical form."""
        return self.start if self.kind == CONSTANT else self.text

    @property
    def by_games(self) -> bool:
        """Return whether the value changes with the games played."""
        return self.kind in (LINEAR, EXPONENTIAL)

    def over(self, games: int) -> Decay:
        """Return the schedule over a run of `games` games."""
        return Decay(self.kind, self.start, self.end, float(max(games, 1)), self.power)


def parse_schedule(name: str, value: Number | Schedule, *, positive: bool) -> Schedule:
    """Return the schedule of a text or of a number in [0, 1] (above 0 if `positive`).

    Only positive schedules may depend on visits.

    Raises UsageError with the value, the limit and the remedy.
    """
    if isinstance(value, Schedule):
        value = value.text
    if isinstance(value, str) and len(value) > MAX_TEXT:
        raise UsageError(
            f"{name} {value[:20]!r}... has {len(value):,} characters, at most {MAX_TEXT} are read; "
            "give a number or 0.3->0.01:linear"
        )
    text = value.replace(" ", "") if isinstance(value, str) else ""
    if match := re.fullmatch(r"1/n(?:\^(.+))?", text, re.IGNORECASE):
        if not positive:
            raise UsageError(
                f"{name} {quoted(value)}: only alpha can depend on visits; give a number or 0.3->0.01:linear"
            )
        power = _number(f"{name} {quoted(text)}: its exponent", match[1] or "1", True)
        return Schedule(VISITS, 1.0, 1.0, power)
    if match := re.fullmatch(r"(.+)->(.+):(\w+)", text):
        kind = _SHAPES[choose(f"shape of {name}", match[3], _SHAPES, words=_SHAPE_WORDS)]
        ends = [_number(name, part, positive or kind == EXPONENTIAL) for part in (match[1], match[2])]
        if kind == EXPONENTIAL and ends[1] / ends[0] > MAX_RISE:
            raise UsageError(
                f"{name} {value!r}: its end is more than {MAX_RISE:g} times its start; begin with a larger number"
            )
        return Schedule(kind, ends[0], ends[1])
    if re.fullmatch(r"[\d.%]+-", text):
        raise UsageError(
            f"{name} {quoted(value)} is cut off: a shell takes > for itself; quote the value, as in '0.3->0.01:linear'"
        )
    number = _number(name, text or value, positive)
    return Schedule(CONSTANT, number, number)


def _number(name: str, value: Number, positive: bool, expected: str = "") -> float:
    """Return a number in [0, 1], above 0 if `positive`.  expected: by default all forms of schedules."""
    interval = "(0, 1]" if positive else "[0, 1]"
    forms = "a number such as 0.1 or 10%, or 0.3->0.01:linear" + (" or 1/n" if positive else "")
    number = parse_float(name, value, expected or f"{forms}, with numbers in {interval}", shares=not expected)
    if not 0.0 <= number <= 1.0 or (positive and number == 0.0):  # also catches NaN
        raise UsageError(f"{name} {number_text(value)} is outside {interval}; give a number in it, e.g. 0.1")
    return number


AUTO = "auto"
MAX_GAMES = 10**15
NETWORK_GAMES = 100_000  # of networks, by default


def parse_batch(given: Number) -> int | str:
    """Return a number of games, up to MAX_GAMES, or `auto`.  Raises UsageError."""
    if isinstance(given, str) and fold_case(given) == AUTO:
        return AUTO
    wanted = "number of games; give a whole number, e.g. 16384 or 10k, or auto"
    return parse_int("batch", given, 1, MAX_GAMES, wanted)


LARGEST = 1e100
"""Largest absolute number in a table or a worth, small enough that sums do not overflow."""


def parse_worths(given: tuple[Number, Number] | Number) -> tuple[float, float]:
    """Return the worth of a draw to each player, from a pair or from `A,B` (or `A` for both).  Raises UsageError."""
    parts = given.split(",") if isinstance(given, str) else [given] if isinstance(given, int | float) else list(given)
    expected = "two numbers such as 0.5,0.5"
    if len(parts) not in (1, 2):
        raise UsageError(f"draw worth {quoted(given)} is not one or two numbers; give {expected}")
    numbers = [parse_float("draw worth", part, expected) for part in parts]
    for number in numbers:
        if not -LARGEST <= number <= LARGEST:  # also catches NaN
            raise UsageError(
                f"draw worth {number} is not a number from {-LARGEST:g} to {LARGEST:g}; a win is worth 1: "
                f"give {expected}"
            )
    return numbers[0], numbers[-1]


SOFTMAX = "softmax"


def temperature_of(given: str) -> float:
    """Return the temperature of `softmax:T`.  Raises UsageError."""
    name, _, number = given.partition(":") if isinstance(given, str) else ("", "", "")
    if fold_case(name.strip()) != SOFTMAX or not number.strip():
        raise UsageError(f"explore {quoted(given)} is not softmax:T; give a temperature, such as softmax:0.1")
    temperature = exact_number(number)
    if temperature is not None and 0 < temperature <= sys.float_info.max:
        return float(temperature)
    if number.strip().lower() in ("inf", "infinity"):
        temperature = math.inf
    why = "is not a number" if temperature is None else "is not above 0" if temperature <= 0 else "is too large"
    if "->" in number or "/n" in number:
        why = "does not change with the games"
    raise UsageError(f"explore {quoted(given)}: its temperature {why}; give a number above 0, such as softmax:0.1")


def _start_value(given: Number) -> float:
    expected = f"one from {-LARGEST:g} to {LARGEST:g}, such as 1, or leave it out for the learner's own start"
    number = parse_float("start value", given, expected)
    if not -LARGEST <= number <= LARGEST:  # also catches NaN
        raise UsageError(f"start value {number} is out of range; give {expected}")
    return number + 0.0  # turns -0.0 into 0.0


MOST_BEADS = 1_000_000
"""Largest number of beads of a kind at the start, and of a reward."""


def _whole_numbers(
    name: str, given: str | Sequence[int], example: str, meaning: str, limits: Sequence[tuple[int, int]]
) -> str:
    """Return the canonical text of whole numbers, each within its limits.

    meaning: description of the numbers, for the message of UsageError.
    """
    listed = given if isinstance(given, Sequence) else [given]
    parts = given.split(",") if isinstance(given, str) else list(listed)
    numbers = [whole_number(part) for part in parts]
    if len(numbers) != len(limits) or not all(
        number is not None and low <= number <= high for number, (low, high) in zip(numbers, limits, strict=True)
    ):
        text = given if isinstance(given, str) else ",".join(map(str, parts))
        raise UsageError(f"{name} {quoted(text)} are not {meaning}; give them such as {example}")
    return ",".join(map(str, numbers))


def _beads(given: str | Sequence[int]) -> str:
    meaning = f"four whole numbers from 1 to {MOST_BEADS:,}, for the first player's turns one to four"
    return _whole_numbers("beads", given, "4,3,2,1 or 8,4,2,1", meaning, [(1, MOST_BEADS)] * 4)


def _rewards(given: str | Sequence[int]) -> str:
    meaning = (
        f"three whole numbers of beads up to {MOST_BEADS:,}: at least 0 for a win, any for a draw, at most 0 for a loss"
    )
    limits = [(0, MOST_BEADS), (-MOST_BEADS, MOST_BEADS), (-MOST_BEADS, 0)]
    return _whole_numbers("rewards", given, "3,1,-1", meaning, limits)


def _network_step(given: Number) -> float:
    expected = "one above 0 up to 10; 1 is usual"
    number = parse_float("alpha", given, expected)
    if not 0 < number <= 10:
        raise UsageError(f"alpha {number} is outside 0 to 10; give {expected}")
    return number


def _one_of(what: str, names: Sequence[str]) -> Callable[[Any], str]:
    """Return the reader of one of `names`; it takes True and False for on and off."""

    def read(given: Any) -> str:
        given = ("on" if given else "off") if isinstance(given, bool) else given
        return choose(what, given, names, words=SWITCH_WORDS)

    return read


def _choice(what: str, names: tuple[str, ...], meaning: str, *, networks: bool = False, **more: Any) -> Option:
    """Return an option of tables, or of `networks`, that takes one of `names`.  meaning: its help."""
    read = _one_of(what, names)
    readers: dict[str, Any] = {"networks" if networks else "read": read}
    return Option("|".join(names), meaning, offers=names, **readers, **more)


def _seat(given: Any) -> str:
    return choose_seat(given, "both")


ENGINES = ("walk", "flow")
SWITCH = ("on", "off", "auto")
SHARINGS = ("symmetry", "translation", "none")
KEPT = ("proved", "last", "average")

OPPONENTS = ("random", "optimal")
"""Named opponents; any other opponent is the digest of a run's tables."""
MAX_NETWORK_BATCH, MAX_EVERY, MAX_POINTS = 1 << 20, 10**12, 1000
DIGEST = 8
"""Characters of a digest that a label shows."""


class NumberOptions(TypedDict, total=False):
    """Board and numbers of every learner of tables."""

    board: Annotated[
        str | Board | None,
        Option("BOARD", f"{BOARD}.", parse_board, parse_board, default="3x3", offers=BOARDS, label=str),
    ]
    epsilon: Annotated[
        Number | Schedule | None,
        Option(
            "SHARE",
            "Probability of an exploratory move, 0 to 1 or 10%, or 0.3->0.01:linear (or :exp).",
            lambda given: parse_schedule("epsilon", given, positive=False),
            lambda given: parse_share("epsilon", given, "it is the probability of an exploratory move"),
            given="expected-sarsa: how often the policy explores that it expects.",
        ),
    ]
    alpha: Annotated[
        Number | Schedule | None,
        Option(
            "NUMBER",
            "Step size, above 0 up to 1, or 0.3->0.01:linear (or :exp), 1/n, 1/n^0.8.",
            lambda given: parse_schedule("alpha", given, positive=True),
            _network_step,
            given="Step size, above 0 up to 1, or 1/n, n the visits.",
        ),
    ]
    gamma: Annotated[
        Number | None,
        Option(
            "NUMBER",
            "Discount, 0 to 1.",
            lambda given: parse_share("gamma", given, "give a number such as 0.9"),
            lambda given: parse_share("gamma", given, "0.98 is usual"),
        ),
    ]
    draw_worth: Annotated[
        tuple[Number, Number] | Number | None,
        Option(
            "A,B",
            "Worth of a draw to the first and the second player.",
            parse_worths,
            commas=True,
            label=lambda worth: f"draw {worth[0]:g},{worth[1]:g}",
        ),
    ]


class OwnOptions(TypedDict, total=False):
    """Options of some learners only, those whose defaults hold a value; see `learners.base.Settings`."""

    start_value: Annotated[
        Number | None,
        Option(
            "NUMBER", "Start value of unfinished positions or moves.", _start_value, default="the learner's own start"
        ),
    ]
    lambda_: Annotated[
        Number | None,
        Option(
            "NUMBER",
            "td-lambda, ntuple-td: how far targets look ahead, 0 to 1.",
            lambda given: parse_share("lambda", given, "0.7 is usual"),
            default="td-lambda 0.7; ntuple-td 0.5",
        ),
    ]
    cut: Annotated[
        bool | str | None,
        Option(
            "on|off",
            "td-lambda: exploratory moves end the targets before them (Watkins).",
            lambda given: _one_of("cut", SWITCH[:2])(given) == "on",
            switch=True,
            offers=SWITCH[:2],
            label=lambda cut: "cut" if cut else "not cut",
        ),
    ]
    beta: Annotated[
        Number | None,
        Option(
            "NUMBER",
            "reinforce, actor-critic: step size of their values, above 0 up to 1.",
            lambda given: _number("beta", given, True, "a number above 0 up to 1, such as 0.1"),
            default="0.1",
        ),
    ]
    explore: Annotated[
        str | None,
        Option(
            f"{SOFTMAX}:T",
            "Draw moves by softmax of their scores, at a temperature above 0, instead of by epsilon.",
            lambda given: f"{SOFTMAX}:{temperature_of(given)!r}",
            prefix=f"{SOFTMAX}:",
            label=str,
        ),
    ]
    beads: Annotated[
        str | Sequence[int] | None,
        Option(
            "A,B,C,D",
            "menace: beads of a kind, by the first player's turns one to four.",
            _beads,
            default="4,3,2,1",
            commas=True,
        ),
    ]
    rewards: Annotated[
        str | Sequence[int] | None,
        Option(
            "WIN,DRAW,LOSS",
            "menace: beads that a game adds to those drawn in it.",
            _rewards,
            default="3,1,-1",
            commas=True,
        ),
    ]


class GameOptions(TypedDict, total=False):
    """Options of the games that a learner plays."""

    batch: Annotated[
        Number | None,
        Option(
            "N|auto",
            "Games played with the same tables; auto grows with the games played.",
            parse_batch,
            lambda given: parse_int("batch", given, 1, MAX_NETWORK_BATCH),
            default="auto; 1 on boards too large to enumerate",
            whole=True,
            label=lambda batch: f"batch {batch}" if isinstance(batch, str) else f"batch {batch:,}",
        ),
    ]
    engine: Annotated[
        str | None,
        _choice(
            "engine",
            ENGINES,
            "walk plays every game; flow draws how many take each move, at any number of games.",
            default="walk",
            panel="Advanced",
        ),
    ]
    points: Annotated[
        Number | None,
        Option(
            "N",
            "Recorded points per doubling of the games; fewer take less time, as each is judged.",
            lambda given: parse_int("points", given, 1, MAX_POINTS, "number of points; give a whole number, e.g. 8"),
            default="8; 2 on large boards, such as 4x4",
            panel="Advanced",
            whole=True,
            swept=False,
        ),
    ]


class LearnerOptions(NumberOptions, OwnOptions, total=False):
    """Options of a learner, as values or as text; None means the default."""

    seed: Annotated[
        Number | None,
        Option(
            "N",
            "Seed of all random numbers.",
            parse_seed,
            parse_seed,
            default="0",
            given="Seed of the start table.",
            swept=False,
        ),
    ]
    symmetry: Annotated[
        bool | str | None,
        _choice(
            "symmetry",
            SWITCH,
            "One row for all images of a position; auto where that pays.",
            default="auto",
            panel="Advanced",
            label=lambda on: "symmetric" if on else "not symmetric",
        ),
    ]


class PlayOptions(LearnerOptions, GameOptions, total=False):
    """Options of a learner and of the games that it plays."""


class Options(PlayOptions, total=False):
    """Options of a training of a table, as the user gives them; `Config` holds the parsed and checked values."""

    learner: Annotated[str | None, Option(read=str, networks=_one_of("learner", PATTERN_LEARNERS))]


class PatternOptions(TypedDict, total=False):
    """Options of pattern networks only, as values or as text; None means the default."""

    tuples: Annotated[
        str | None,
        Option(
            "lines|lines+below|segments|blocks:3x3,3x4|columns:3|FILE",
            "Networks: their tuples of cells; several names with commas, or one file.",
            networks=str,
            default="lines if they cross the board, else segments and blocks; other ones with gravity",
            offers=("lines", "lines+below", "segments"),
            commas=True,
        ),
    ]
    sharing: Annotated[
        str | None,
        _choice("sharing", SHARINGS, "Networks: which tuples share weights.", networks=True, default="symmetry"),
    ]
    objective: Annotated[
        str | None,
        _choice(
            "objective",
            tuple(OBJECTIVES),
            f"Networks: {either([one.offered for one in OBJECTIVES.values()])}.",
            networks=True,
            default="win on boards that one player wins, else safe; plain for ntuple-td",
        ),
    ]
    trace: Annotated[Number | None, Option(networks=lambda given: parse_share("lambda", given, "0.5 is usual"))]
    prove_every: Annotated[
        Number | None,
        Option(
            "N",
            "Networks: games between two proofs; 0 for none.",
            networks=lambda given: parse_int(flag("prove_every"), given, 0, MAX_EVERY),
            default="2000; 4000 with gravity, 20000 from 36 cells on; 0 for ntuple-td",
            whole=True,
            label=lambda games: f"proved every {games:,}" if games else "without proofs",
        ),
    ]
    keep: Annotated[
        str | None,
        _choice(
            "keep",
            KEPT,
            "Networks: the weights to play with; average: a moving average over the proofs.",
            networks=True,
            default="proved, with proofs",
            swept=False,
        ),
    ]


class TrainOptions(Options, PatternOptions, total=False):
    """Options of learning with a table of positions or with pattern networks."""


def opponent_text(opponent: str) -> str:
    """Return the opponent of a run by its configuration: itself, a named opponent, or the table of a digest."""
    if not opponent:
        return "self-play"
    return f"against {opponent if opponent in OPPONENTS else one_line(opponent[:DIGEST])}"


def _games(given: Number) -> int:
    return parse_int("games", given, 1, MAX_GAMES)


class MatchOptions(TypedDict, total=False):
    """Options of a configuration and a study that `train` declares itself, because they are more than text."""

    opponent: Annotated[Any, Option(read=str, label=opponent_text)]
    seat: Annotated[
        str | None,
        Option(
            "first|second|both",
            "The learner's seat against an opponent, or the one to be proved; also X and O.",
            _seat,
            _seat,
            panel="Opponents",
            offers=(*SEATS, "both"),
            label=lambda seat: f"as {seat}" if seat else "",
        ),
    ]
    start: Annotated[Any, Option(label=lambda digest: f"from {one_line(digest[:DIGEST]) or 'the start'}")]
    games: Annotated[Number | None, Option(read=_games, networks=_games, whole=True)]


OPTIONS: Mapping[str, Option] = declared(
    NumberOptions, OwnOptions, GameOptions, LearnerOptions, MatchOptions, TrainOptions
)
"""Every option by its name in Python, in the order of labels."""

OWN: Mapping[str, Option] = declared(OwnOptions)
"""Options that only some learners of tables have."""


def option_text(name: str, value: Any) -> str:
    """Return an option with its value in words, as in `lambda 0.7`, `cut` or `softmax:0.1`; empty without a value."""
    if value is None or (value == "" and name in OWN):
        return ""
    if (labelled := OPTIONS[name].label) is not None:
        return labelled(value)
    short = isinstance(value, float) and float(f"{value:g}") == value
    return f"{display_name(name)} {value:{'g' if short else ''}}"
