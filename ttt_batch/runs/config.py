"""Checked configuration of a run: board, learner and its numbers, batch, engine and seed.

Options that only some learners have: parsing, and errors for learners that lack one.
A learner has an option if its defaults hold a value.  A configuration contains only options whose value is not None.
"""

import functools
import math
import re
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from typing import Any, TypedDict, Unpack

from ttt_batch.core.errors import RunFileError, UsageError, display_name, flag, quoted
from ttt_batch.core.text import (
    SEATS,
    SWITCH_WORDS,
    Number,
    choose,
    choose_seat,
    exact_number,
    fold_case,
    given_options,
    number_text,
    parse_float,
    parse_int,
    parse_seed,
    parse_share,
    whole_number,
    with_options,
)
from ttt_batch.games.board import Board, parse_board
from ttt_batch.games.enumeration import WORDS, check_enumerable, check_gravity, choose_space, enumerate_graph, space_of
from ttt_batch.games.graph import Graph
from ttt_batch.learners import LEARNERS, check_begins, foreign_learner, learner_named
from ttt_batch.learners.base import Learner, Settings
from ttt_batch.runs.schedules import AUTO, MAX_GAMES, Batches, Schedule, check_batch, make_batches, parse_schedule
from ttt_batch.runs.state import LARGEST
from ttt_batch.simulation.walk import MAX_WALKED

BOXED_BOARD = Board(3, 3, 3)


def check_boxes(name: str, board: Board, symmetry: bool | str, seat: str) -> None:
    """Raise UsageError unless the board is 3x3, symmetry is on, and the seat is the first.

    name: of the learner.  seat: empty if the user chose no seat.
    """
    if board != BOXED_BOARD:
        raise UsageError(
            f"{name} is not applicable to {board.name}: its boxes are the 304 of 3x3; choose {flag('board', '3x3')}, "
            "or another learner"
        )
    if not isinstance(symmetry, bool):
        symmetry = choose("symmetry", symmetry, WORDS, words=SWITCH_WORDS) != "off"
    if not symmetry:
        raise UsageError(
            f"symmetry off is not applicable to {name}: a box stands for all images of its position; leave "
            f"{flag('symmetry')} out"
        )
    if seat and choose_seat(seat, "both") != "first":
        raise cannot_play_second_error(name, f"seat {seat}", f"leave {flag('seat')} out")


def lacks_boxes_error(name: str) -> UsageError:
    """Return the error for printing boxes of a learner without boxes."""
    return UsageError(f"only menace has boxes, not {name}; train {flag('learner', 'menace')}, or choose another format")


def cannot_play_second_error(name: str, what: str, remedy: str) -> UsageError:
    """Return the error for `what`, which needs a learner with boxes in the second seat."""
    return UsageError(f"{what} is not applicable to {name}, which has boxes for the first player alone; {remedy}")


def can_meet(first: Collection[str], second: Collection[str]) -> bool:
    """Return whether a player of the seats `first` can move first against one of the seats `second`."""
    return SEATS[0] in first and SEATS[1] in second


def check_meeting(one: str, seats: Collection[str], other: str, its_seats: Collection[str]) -> None:
    """Raise UsageError if neither of two players, called `one` and `other`, can play second."""
    if not can_meet(seats, its_seats) and not can_meet(its_seats, seats):
        whom = "itself" if other == "self" else other
        raise cannot_play_second_error(one, f"play against {whom}", "choose an opponent that plays second")


SOFTMAX = "softmax"


def parse_explore(given: str) -> str:
    """Return the canonical form of `softmax:T`.  Raises UsageError."""
    return f"{SOFTMAX}:{temperature_of(given)!r}"


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


def replace_exploration(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a resumed run, in which a new epsilon replaces softmax play, and the other way round."""
    if given.get("explore") is not None and given.get("epsilon") is None:
        return {**given, "epsilon": 0.0}
    if given.get("epsilon") is not None and given.get("explore") is None:
        return {**given, "explore": None}
    return dict(given)


def check_numbers(config: "Config") -> None:
    """Raise UsageError for an epsilon beside play by action probabilities, and for numbers that a learner lacks."""
    learner = learner_named(config.learner)
    if config.by_chances and config.epsilon.text != "0.0":
        if config.explore is None:
            raise UsageError(
                f"{learner.name} draws its moves from probabilities that it learns; leave {flag('epsilon')} out"
            )
        raise UsageError(f"{flag('explore')} takes the place of {flag('epsilon')}; leave one of them out")
    if learner.boxes:
        _check_beads(config)
    if learner.undiscounted and config.gamma != 1.0:
        raise UsageError(
            f"{learner.name} is not discounted: gamma {config.gamma:g} is not 1; leave {flag('gamma')} out"
        )


def _check_beads(config: "Config") -> None:
    """Raise UsageError for a step size or draw worths of a learner that has beads instead."""
    name = config.learner
    if config.alpha.text != "1.0":
        raise UsageError(
            f"{name} has no step size: alpha {config.alpha.text} does not apply to whole beads; leave "
            f"{flag('alpha')} out, and choose {flag('rewards')}"
        )
    if config.draw_worth != (0.0, 0.0):
        raise UsageError(f"{name} has rewards in beads; instead of {flag('draw_worth')} give {flag('rewards')}")


class OwnOptions(TypedDict, total=False):
    """Options of some learners only, as values or as text; None means the default."""

    start_value: Number | None
    lambda_: Number | None
    cut: bool | str | None
    beta: Number | None
    explore: str | None
    beads: str | Sequence[int] | None
    rewards: str | Sequence[int] | None


MOST_BEADS = 1_000_000
"""Largest number of beads of a kind at the start, and of a reward."""


def _switched(given: bool | str) -> bool:
    return given if isinstance(given, bool) else choose("cut", given, ("on", "off"), words=SWITCH_WORDS) == "on"


def _start_value(given: Number) -> float:
    expected = f"one from {-LARGEST:g} to {LARGEST:g}, such as 1, or leave it out for the learner's own start"
    number = parse_float("start value", given, expected)
    if not -LARGEST <= number <= LARGEST:  # also catches NaN
        raise UsageError(f"start value {number} is out of range; give {expected}")
    return number + 0.0  # turns -0.0 into 0.0


def _beta(given: Number) -> float:
    number = parse_float("beta", given, "a number above 0 up to 1, such as 0.1")
    if not 0.0 < number <= 1.0:
        raise UsageError(f"beta {number_text(given)} is outside (0, 1]; give a number in it, e.g. 0.1")
    return number


def _whole_numbers(name: str, given: str | Sequence[int], example: str, meaning: str, lowest: Sequence[int]) -> str:
    """Return the canonical text of whole numbers: as many as `lowest` has, each at least the one there.

    meaning: description of the numbers, for the message of UsageError.
    """
    parts = given.split(",") if isinstance(given, str) else list(given)
    numbers = [whole_number(part) for part in parts]
    good = len(numbers) == len(lowest) and all(
        number is not None and low <= number <= MOST_BEADS for number, low in zip(numbers, lowest, strict=True)
    )
    if not good:
        text = given if isinstance(given, str) else ",".join(map(str, parts))
        raise UsageError(f"{name} {quoted(text)} are not {meaning}; give them such as {example}")
    return ",".join(map(str, numbers))


def _beads(given: str | Sequence[int]) -> str:
    meaning = f"four whole numbers from 1 to {MOST_BEADS:,}, for the first player's turns one to four"
    return _whole_numbers("beads", given, "4,3,2,1 or 8,4,2,1", meaning, [1, 1, 1, 1])


def _rewards(given: str | Sequence[int]) -> str:
    meaning = (
        f"three whole numbers of beads up to {MOST_BEADS:,}: at least 0 for a win, any for a draw, at most 0 for a loss"
    )
    text = _whole_numbers("rewards", given, "3,1,-1", meaning, [0, -MOST_BEADS, -MOST_BEADS])
    if int(text.rpartition(",")[2]) > 0:
        raise UsageError(f"rewards {quoted(text)} are not {meaning}; give them such as 3,1,-1")
    return text


READ: Mapping[str, Callable[[Any], Any]] = {
    "start_value": _start_value,
    "lambda_": lambda given: parse_share("lambda", given, "0.7 is usual"),
    "cut": _switched,
    "beta": _beta,
    "explore": parse_explore,
    "beads": _beads,
    "rewards": _rewards,
}
"""Parser of each option.  Raises UsageError."""


def takes(learner: Learner, name: str) -> bool:
    """Return whether a learner has the option."""
    if name == "explore":
        return not learner.by_chances
    return getattr(learner if name == "start_value" else learner.defaults, name) is not None


def own_option_values(learner: Learner, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the value of each option for a learner; None if the learner lacks it or starts with its own values.

    Raises UsageError for a given option that the learner lacks.
    """
    values: dict[str, Any] = dict.fromkeys(READ)
    for name in READ:
        value = given.get(name)
        if value is not None:
            if not takes(learner, name):
                raise UsageError(f"{flag(name)} is not an option of {learner.name}{_instead(name)}; leave it out")
            values[name] = READ[name](value)
    return values


def own_text(name: str, value: float | bool | str) -> str:
    """Return an option with its value in words: `lambda 0.7`, `start value 1`, `cut`, `softmax:0.1`."""
    if isinstance(value, str):
        return value if name == "explore" else f"{name} {value}"
    if isinstance(value, bool):
        return display_name(name) if value else f"not {display_name(name)}"
    return f"{display_name(name)} {value:g}"


def _instead(name: str) -> str:
    """Return the learners that have the option, or why this learner lacks it, as the end of a message."""
    if name == "start_value":
        return ", whose start values are not a single number"
    if name == "explore":
        return ", which draws its moves from probabilities that it learns"
    having = [learner.name for learner in LEARNERS.values() if takes(learner, name)]
    return f", only of {', '.join([*having, *(['ntuple-td'] if name == 'lambda_' else [])])}"


def parse_worths(given: tuple[Number, Number] | str) -> tuple[float, float]:
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


DEFAULT_BATCH = AUTO
"""Batches that grow from small ones, so that the curve shows the early learning.  Boards too large to enumerate use 1
instead, because few of their positions occur twice in a batch."""

SMALL_CELLS = 9
"""Largest number of cells for play by greedy paths; larger boards are played ply by ply."""

ENGINES = ("walk", "flow")
GIVEN = "given"
"""Engine of a run whose games were played elsewhere."""

SEATS_IN_TURN = {"first": (0, 0), "second": (1, 1), "both": (0, 1), "": (-1, -1)}
"""The learner's seat in even and in odd batches; -1 in self-play."""

OPPONENTS = ("random", "optimal")
"""Named opponents; any other opponent is the digest of a run's tables."""

DIGEST = "[0-9a-f]{16}"
"""Pattern of a digest of a run's tables (`state.table_digest`)."""

_START = rf"({DIGEST}(@[0-9]{{1,16}})?)?"
_OPPONENT = rf"({'|'.join(OPPONENTS)}|{DIGEST})?"


class LearnerOptions(OwnOptions, total=False):
    """Options of a learner, as values or as text; None means the default."""

    board: str | Board | None
    epsilon: Number | Schedule | None
    alpha: Number | Schedule | None
    gamma: Number | None
    draw_worth: tuple[Number, Number] | Number | None
    seed: Number | None
    symmetry: bool | str | None


class PlayOptions(LearnerOptions, total=False):
    """Options of a learner and of the games that it plays."""

    batch: Number | None
    engine: str | None


class Options(PlayOptions, total=False):
    """Options of a training, as the user gives them; `Config` holds the parsed and checked values."""

    learner: str | None


DEFAULTS: Options = {"learner": "td", "board": "3x3", "engine": "walk", "seed": 0, "symmetry": "auto"}
"""Defaults of options that neither the user nor the learner sets; that of `batch` depends on board and engine."""


@dataclass(frozen=True)
class Config:
    """Checked configuration of a run.  Equal configurations give equal bytes on any number of threads.

    board: the board.  learner: a registered name.
    epsilon, alpha: schedules (`schedules`).  gamma, draw_worth: see `Settings`.
    batch: games played with the same tables, or `auto` (`batches`).
    engine: `walk` plays every game, `flow` draws how many games take each move, `given` games were played elsewhere.
    seed: any integer of 64 bits.
    symmetry: True if a row of the table stands for all images of a position under the board's symmetries.
    start_value, lambda_, cut, beta, beads, rewards: see `Settings`; None if the learner lacks it or has its own start.
    explore: `softmax:T` to draw moves by softmax; None for epsilon-greedy play.
    horizon: games over which schedules run; 0 if no schedule depends on games.
    start: digest of the tables from which training begins, empty for the learner's own start.  A fork adds `@` and
    the number of games that those tables had learnt from.
    opponent: `random`, `optimal` or the digest of a run's tables; empty in self-play.
    seat: the learner's seat against an opponent, `first`, `second` or `both` (batches alternate); empty in self-play.
    """

    board: Board
    learner: str
    epsilon: Schedule
    alpha: Schedule
    gamma: float
    draw_worth: tuple[float, float]
    batch: int | str
    engine: str
    seed: int
    horizon: int = 0
    start: str = ""
    opponent: str = ""
    seat: str = ""
    symmetry: bool = False
    start_value: float | None = None
    lambda_: float | None = None
    cut: bool | None = None
    beta: float | None = None
    explore: str | None = None
    beads: str | None = None
    rewards: str | None = None

    @functools.cached_property
    def grown(self) -> bool:
        """Return whether the table grows as play reaches positions, because there are too many to enumerate."""
        return space_of(self.board, self.symmetry).grown

    @property
    def small(self) -> bool:
        """Return whether the board is small enough for play by greedy paths."""
        return self.board.cells <= SMALL_CELLS

    @property
    def graph(self) -> Graph:
        """Return the enumerated board as the learner sees it.  Raises BoardError if the board is too large."""
        return self.graph_of(None)

    def graph_of(self, counts: tuple[int, ...] | None) -> Graph:
        """Return the enumerated board, checked against `counts` of positions by ply (see `enumerate_graph`)."""
        check_enumerable(self.board, self.grown, "this")
        learner = learner_named(self.learner)
        return enumerate_graph(self.board, learner.occupied, self.symmetry, counts, resigns=learner.boxes)

    @property
    def temperature(self) -> float | None:
        """Return the softmax temperature, chosen or the learner's own; None for epsilon-greedy play."""
        own = learner_named(self.learner).temperature
        return own if self.explore is None else temperature_of(self.explore)

    @property
    def by_chances(self) -> bool:
        """Return whether moves are drawn from action probabilities instead of epsilon-greedily."""
        return self.explore is not None or learner_named(self.learner).by_chances

    @property
    def inherited(self) -> int:
        """Return the number of games that a fork's first tables had learnt from; 0 for any other run."""
        return int(self.start.partition("@")[2] or 0)

    @functools.cached_property
    def batches(self) -> Batches:
        """Return the batch sizes, limited to those that the engine can play."""
        return make_batches(self.batch, MAX_WALKED if self.engine == "walk" else MAX_GAMES)

    @property
    def settings(self) -> Settings:
        """Return the learner's numbers; schedules give their value at the first game."""
        return Settings(self.epsilon.start, self.alpha.start, self.gamma, self.draw_worth, **self.own)

    @property
    def own(self) -> dict[str, Any]:
        """Return the options that only some learners have (see `OwnOptions`); None where this learner lacks one."""
        return {name: getattr(self, name) for name in READ}

    @property
    def written(self) -> dict[str, Any]:
        """Return every field with its value, with the board and the schedules as text."""
        return {field.name: _written(getattr(self, field.name)) for field in fields(self)}

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, as the run file stores them; options that this learner lacks are left out."""
        values = {**self.written, "draw_worth": list(self.draw_worth)}
        return {name: value for name, value in values.items() if value is not None}

    def to_report(self) -> dict[str, Any]:
        """Return plain values, as `--json` prints them: epsilon and alpha are numbers unless they change."""
        return {**self.to_dict(), "epsilon": self.epsilon.plain, "alpha": self.alpha.plain}


def _written(value: Any) -> Any:
    return value.name if isinstance(value, Board) else value.text if isinstance(value, Schedule) else value


@with_options(Options)
def make_config(
    *, horizon: int = 0, start: str = "", opponent: str = "", seat: str = "", **options: Unpack[Options]
) -> Config:
    """Return the configuration of checked and parsed options, with canonical names and the learner's defaults.

    Raises UsageError.
    """
    given: dict[str, Any] = {**DEFAULTS, **given_options(make_config, options)}
    learner = learner_named(given["learner"])
    given = {"epsilon": 0.0} | given if given.get("explore") or learner.by_chances else given
    given = {**vars(learner.defaults), **given}
    engine = given["engine"] if given["engine"] == GIVEN else choose("engine", given["engine"], ENGINES)
    board = parse_board(given["board"])
    if learner.boxes:
        check_boxes(learner.name, board, given["symmetry"], seat)
        given["symmetry"] = "on"
        if engine != GIVEN:
            opponent, seat = opponent or OPPONENTS[0], "first"
    space = choose_space(board, given["symmetry"], prefers=learner.prefers_symmetry)
    if space.grown:
        check_gravity(board, "a table that grows")
        check_begins(learner, board.name)
    if learner.occupied:
        check_gravity(board, f"learner {learner.name}")
    seat = choose_seat(seat, "both") if seat else ""
    epsilon = parse_schedule("epsilon", given["epsilon"], positive=False)
    alpha = parse_schedule("alpha", given["alpha"], positive=True)
    _check_opponent(start, opponent, seat)
    config = Config(
        board=board,
        learner=learner.name,
        epsilon=epsilon,
        alpha=alpha,
        gamma=parse_share("gamma", given["gamma"], "give a number such as 0.9"),
        draw_worth=parse_worths(given["draw_worth"]),
        batch=check_batch(
            given.get("batch", 1 if (space.grown or learner.boxes) and engine == "walk" else DEFAULT_BATCH), engine
        ),
        engine=engine,
        seed=parse_seed(given["seed"]),
        horizon=horizon_of(epsilon, alpha, parse_int("horizon", horizon, 0, MAX_GAMES)),
        start=start,
        opponent=opponent,
        seat=seat,
        symmetry=space.symmetry,
        **own_option_values(learner, given),
    )
    check_numbers(config)
    return config


def horizon_of(epsilon: Schedule, alpha: Schedule, games: int) -> int:
    """Return the `horizon` of a configuration with these schedules, for a run of `games` games."""
    return games if epsilon.by_games or alpha.by_games else 0


def _check_opponent(start: str, opponent: str, seat: str) -> None:
    """Raise UsageError for an invalid `start` or `opponent`, or if only one of opponent and seat is given."""
    if re.fullmatch(_START, start) is None:
        raise UsageError(f"start {quoted(start)} is not the digest of a table; give a run to start from")
    if re.fullmatch(_OPPONENT, opponent) is None:
        raise UsageError(
            f"opponent {quoted(opponent)} is neither random, optimal nor the digest of a table; give a run"
        )
    if seat and not opponent:
        raise UsageError(f"seat {seat!r} needs an opponent; name one, or leave the seat out for self-play")
    if opponent and not seat:
        raise UsageError(f"opponent {opponent} needs the learner's seat; choose first, second or both")


def config_from_dict(values: dict[str, Any]) -> Config:
    """Return the configuration of a run file.  Raises RunFileError if this version cannot use it."""
    _check_types(values)
    if foreign := foreign_learner(values["learner"]):
        raise RunFileError(foreign)
    try:
        config = make_config(**values)
    except UsageError as error:
        raise not_usable(str(error)) from None
    defaults = {field.name: field.default for field in fields(Config) if field.default not in (MISSING, None)}
    if {**defaults, **values} != config.to_dict():
        raise RunFileError("the run's configuration is not written as this version writes it; train it again")
    return config


def _check_types(values: dict[str, Any]) -> None:
    """Raise RunFileError for a key that is missing, unknown or of the wrong type."""
    declared = {field.name: field for field in fields(Config)}
    for name in sorted(values.keys() - declared.keys()):
        raise not_usable(f"unknown key {name!r:.60}")
    for name, field in declared.items():
        if name not in values and field.default is MISSING:
            raise not_usable(f"{name} is missing")
        value = values.get(name, field.default)
        if name == "draw_worth":
            if not isinstance(value, list) or [type(number) for number in value] != [float, float]:
                raise not_usable(f"{name} is {value!r:.60}, it must be two numbers such as [0.5, 0.5]")
        # Compare types exactly: True == 1 and 1.0 == 1 in Python, but the file stores an int.
        elif type(value) not in _stored_as(field.type):
            raise not_usable(f"{name} is {value!r:.60}, of the wrong type")


def _stored_as(kind: Any) -> tuple[type, ...]:
    """Return the types that a run file stores for a field of `Config`."""
    return (str,) if kind in (Board, Schedule) else getattr(kind, "__args__", (kind,))


def not_usable(finding: str) -> RunFileError:
    """Return the error for a configuration that this version cannot use."""
    return RunFileError(f"the run's configuration is not usable ({finding[:300]}); was it made by another version?")
