"""What determines a run's result, checked: board, learner, its numbers, batch, engine and seed."""

import functools
import re
from collections.abc import Iterator
from dataclasses import MISSING, asdict, dataclass, fields
from typing import Any

from ttt_batch.base.choices import choose, choose_seat
from ttt_batch.base.errors import RunFileError, UsageError, option, quoted
from ttt_batch.base.quantities import Number, any_seed, number_text, real, whole
from ttt_batch.game.board import Board, parse_board
from ttt_batch.game.enumeration import enumerate_graph
from ttt_batch.game.graph import Graph
from ttt_batch.game.state_space import check_enumerable, choose_space, space_of
from ttt_batch.learners import learner_named
from ttt_batch.learners.base import Settings
from ttt_batch.runs.batches import AUTO, MAX_GAMES, Batches, make_batches, parse_batch
from ttt_batch.runs.schedules import Schedule, parse_schedule
from ttt_batch.runs.state import LARGEST
from ttt_batch.simulation.walk import MAX_WALKED

DEFAULT_BATCH = AUTO
"""Batches that begin small, so that the curve begins before the learning is over; 1 on boards too large to enumerate,
where few positions of a batch would be met twice."""

SMALL_CELLS = 9
"""Cells up to which the engine that lays out whole courses plays; larger boards are played ply by ply."""

ENGINES = ("walk", "flow")
GIVEN = "given"
"""The engine of a run whose games were not played here."""

SEATS = {"first": (0, 0), "second": (1, 1), "both": (0, 1), "": (-1, -1)}
"""The learner's seat in batches of even and odd numbers; -1 in self-play."""


OPPONENTS = ("random", "optimal")
"""Opponents with a name; any other is the digest of a run's tables."""

_DIGEST = "[0-9a-f]{16}"
"""What stands for the tables of a run (`resume.table_digest`)."""

_START = rf"({_DIGEST}(@[0-9]{{1,16}})?)?"
_OPPONENT = rf"({'|'.join(OPPONENTS)}|{_DIGEST})?"

_MAX_FINDING = 300
"""Characters of a message about a configuration, which may hold anything."""


@dataclass(frozen=True)
class Config:
    """The configuration of a run.  The same configuration gives the same bytes on any number of threads.

    board: `3x3` and so on.  learner: a registered name.
    epsilon, alpha: schedules in their canonical text (`schedules`).  gamma, draw_worth: see `Settings`.
    batch: games played with the same tables, or `auto` (`batches`).
    engine: `walk` plays every game, `flow` draws how many games take each move; `given` games were not played here.
    seed: any integer of 64 bits.
    symmetry: a row of the table stands for all images of a position under the board's symmetries.
    horizon: games over which schedules run; 0 if none depends on games.
    start: digest of the tables it begins from, of a fork with `@` and the games that they had learnt; empty for the
    learner's own start.
    opponent: `random`, `optimal` or digest of a run's tables; empty in self-play.
    seat: the learner's seat against an opponent, `first`, `second` or `both` (batches in turn); empty in self-play.
    """

    board: str
    learner: str
    epsilon: str
    alpha: str
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

    @functools.cached_property
    def shape(self) -> Board:
        """The board itself."""
        return parse_board(self.board)

    @functools.cached_property
    def grown(self) -> bool:
        """Whether rows are added as play reaches them, since there are too many positions to enumerate."""
        return space_of(self.shape, self.symmetry).grown

    @property
    def small(self) -> bool:
        """Whether the board is small enough for play by whole courses."""
        return self.shape.cells <= SMALL_CELLS

    @property
    def graph(self) -> Graph:
        """The enumerated board as the learner sees it.  Raises BoardError where it is too large for that."""
        return self.graph_of(None)

    def graph_of(self, counts: tuple[int, ...] | None) -> Graph:
        """The enumerated board, if it has as many positions of each ply as `counts` (see `enumerate_graph`)."""
        check_enumerable(self.shape, space_of(self.shape, self.symmetry), "this")
        return enumerate_graph(self.shape, learner_named(self.learner).occupied, self.symmetry, counts)

    @property
    def inherited(self) -> int:
        """Games learnt by the tables that a fork began from; 0 for any other run."""
        return int(self.start.partition("@")[2] or 0)

    @functools.cached_property
    def epsilon_schedule(self) -> Schedule:
        """How exploration changes."""
        return parse_schedule("epsilon", self.epsilon, positive=False)

    @functools.cached_property
    def alpha_schedule(self) -> Schedule:
        """How the step size changes."""
        return parse_schedule("alpha", self.alpha, positive=True)

    @functools.cached_property
    def batches(self) -> Batches:
        """Where batches end, as far as the engine can play them."""
        return make_batches(self.batch, MAX_WALKED if self.engine == "walk" else MAX_GAMES)

    @property
    def settings(self) -> Settings:
        """The learner's numbers, those of the first game where they change."""
        return Settings(self.epsilon_schedule.start, self.alpha_schedule.start, self.gamma, self.draw_worth)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as the run file keeps them."""
        return {**asdict(self), "draw_worth": list(self.draw_worth)}

    def to_report(self) -> dict[str, Any]:
        """Plain values, as `--json` prints them: epsilon and alpha are numbers unless they change."""
        return {**self.to_dict(), "epsilon": self.epsilon_schedule.plain, "alpha": self.alpha_schedule.plain}


def make_config(
    *,
    learner: str = "td",
    board: str | Board = "3x3",
    epsilon: Number | None = None,
    alpha: Number | None = None,
    gamma: Number | None = None,
    draw_worth: tuple[Number, Number] | str | None = None,
    batch: Number | None = None,
    engine: str = "walk",
    seed: Number = 0,
    symmetry: bool | str = "auto",
    horizon: int = 0,
    start: str = "",
    opponent: str = "",
    seat: str = "",
) -> Config:
    """Check every value, read what is text, spell names as they are spelled here, and fill in the learner's defaults.

    Raises UsageError.
    """
    chosen = learner_named(learner)
    defaults = chosen.defaults
    if engine != GIVEN:
        engine = choose("engine", engine, ENGINES)
    shape = parse_board(board)
    space = choose_space(shape, symmetry, prefers=chosen.prefers_symmetry)
    if batch is None:
        batch = 1 if space.grown and engine == "walk" else DEFAULT_BATCH
    seat = choose_seat(seat, "both") if seat else ""
    schedules = (
        parse_schedule("epsilon", defaults.epsilon if epsilon is None else epsilon, positive=False),
        parse_schedule("alpha", defaults.alpha if alpha is None else alpha, positive=True),
    )
    if re.fullmatch(_START, start) is None:
        raise UsageError(f"start {quoted(start)} is no digest of a table; give a run to start from")
    if re.fullmatch(_OPPONENT, opponent) is None:
        raise UsageError(
            f"opponent {quoted(opponent)} is neither random, optimal nor the digest of a table; give a run"
        )
    if seat and not opponent:
        raise UsageError(f"seat {seat!r} goes with an opponent; name one, or leave the seat out for self-play")
    if opponent and not seat:
        raise UsageError(f"opponent {opponent} needs the learner's seat; choose first, second or both")
    return Config(
        board=shape.name,
        learner=chosen.name,
        epsilon=schedules[0].text,
        alpha=schedules[1].text,
        gamma=_fraction("gamma", defaults.gamma if gamma is None else gamma),
        draw_worth=_worths(defaults.draw_worth if draw_worth is None else draw_worth),
        batch=_batch(batch, engine),
        engine=engine,
        seed=any_seed(seed),
        horizon=whole("horizon", horizon, 0, MAX_GAMES) if any(s.by_games for s in schedules) else 0,
        start=start,
        opponent=opponent,
        seat=seat,
        symmetry=space.symmetry,
    )


def config_from_dict(values: dict[str, Any]) -> Config:
    """The configuration of a run file.  Raises RunFileError where it is not one of ours."""
    for finding in _type_findings(values):
        raise _not_usable(finding)
    given = {**values, "draw_worth": tuple(values["draw_worth"])}
    try:
        config = make_config(**given)
    except UsageError as error:
        raise _not_usable(str(error)) from None
    if config != Config(**given):
        raise RunFileError("the run's configuration is not written as this version writes it; train it again")
    return config


def _type_findings(values: dict[str, Any]) -> Iterator[str]:
    """Keys of a run file's configuration that are missing, unknown, or hold something of another type."""
    declared = {field.name: field for field in fields(Config)}
    for name in sorted(values.keys() - declared.keys()):
        yield f"unknown key {name!r:.60}"
    for name, field in declared.items():
        if name not in values:
            if field.default is MISSING:
                yield f"{name} is missing"
            continue
        value = values[name]
        if name == "draw_worth":
            if not isinstance(value, list) or [type(number) for number in value] != [float, float]:
                yield f"{name} is {value!r:.60}, it must be two numbers such as [0.5, 0.5]"
        # Exactly: True counts as 1 in Python, and 1.0 equals it, but neither is written for a whole number.
        elif not any(type(value) is kind for kind in getattr(field.type, "__args__", (field.type,))):
            yield f"{name} is {value!r:.60}, of the wrong type"


def _not_usable(finding: str) -> RunFileError:
    return RunFileError(
        f"the run's configuration is not usable ({finding[:_MAX_FINDING]}); was it made by another version?"
    )


def _batch(batch: Number, engine: str) -> int | str:
    """Return `batch` as the configuration keeps it.  Raises UsageError where the engine cannot play such batches."""
    games = parse_batch(batch)
    if not isinstance(games, str):
        if engine == "flow" and games == 1:
            walk = option("engine", "walk")
            raise UsageError(f"batch 1 belongs to {walk}, which plays games one by one; flow takes 2 or more")
        if engine == "walk" and games > MAX_WALKED:
            raise UsageError(
                f"batch {games:,} is more than the {MAX_WALKED:,} games that {option('engine', 'walk')} plays in one "
                f"batch; choose {option('engine', 'flow')}"
            )
    return games


def _fraction(name: str, value: Number) -> float:
    """Return `value` where it lies in [0, 1]; NaN does not.  Raises UsageError."""
    number = real(name, value, "one in [0, 1], e.g. 0.9 or 90%", shares=True)
    if not 0.0 <= number <= 1.0:
        raise UsageError(f"{name} {number_text(value)} is outside [0, 1]; give a number in it, e.g. 0.9")
    return number


def _worths(given: tuple[Number, Number] | str) -> tuple[float, float]:
    """What a draw is worth to either player, from a pair or from `A,B` (or `A` for both).  Raises UsageError."""
    parts = given.split(",") if isinstance(given, str) else list(given)
    expected = "two numbers such as 0.5,0.5"
    if len(parts) not in (1, 2):
        raise UsageError(f"draw worth {quoted(given)} is not one or two numbers; give {expected}")
    numbers = [real("draw worth", part, expected) for part in parts]
    for number in numbers:
        if not -LARGEST <= number <= LARGEST:  # NaN is not, either
            raise UsageError(
                f"draw worth {number} is no number from {-LARGEST:g} to {LARGEST:g}; a win is worth 1: give {expected}"
            )
    return numbers[0], numbers[-1]
