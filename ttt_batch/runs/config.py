"""Checked configuration of a run: board, learner and its numbers, batch, engine and seed."""

import functools
import re
from dataclasses import MISSING, dataclass, fields
from typing import Any, Unpack

from ttt_batch.base.choices import choose, choose_seat
from ttt_batch.base.errors import RunFileError, UsageError, quoted
from ttt_batch.base.quantities import Number, parse_int, parse_seed, parse_share
from ttt_batch.base.signatures import given_options, with_options
from ttt_batch.game.board import Board, parse_board
from ttt_batch.game.enumeration import enumerate_graph
from ttt_batch.game.graph import Graph
from ttt_batch.game.state_space import check_enumerable, check_gravity, choose_space, space_of
from ttt_batch.learners import check_begins, foreign_learner, learner_named
from ttt_batch.learners.base import Settings
from ttt_batch.runs.batches import AUTO, MAX_GAMES, Batches, check_batch, make_batches
from ttt_batch.runs.boxes import check_boxes
from ttt_batch.runs.explorations import check_numbers, temperature_of
from ttt_batch.runs.own_options import READ, OwnOptions, own_option_values, parse_worths
from ttt_batch.runs.schedules import Schedule, parse_schedule
from ttt_batch.simulation.walk import MAX_WALKED

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
    explore: `softmax:T` to draw moves by softmax (see `explorations`); None for epsilon-greedy play.
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
        """Return the options that only some learners have (see `own_options`); None where this learner lacks one."""
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
