"""Checked configuration of a run: board, learner and its numbers, batch, engine and seed.

Checks of options that only some learners have, with errors for learners that lack one.
A learner has an option if its defaults hold a value.  A configuration contains only options whose value is not None.
"""

import functools
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import MISSING, dataclass, fields
from typing import Any, TypeVar, Unpack

from ttt_batch.core.errors import RunFileError, UsageError, flag, quoted
from ttt_batch.core.resources import free_memory
from ttt_batch.core.text import SEATS, choose_seat, either, given_options, parse_int, size_text, with_options
from ttt_batch.games.board import Board, most_positions
from ttt_batch.games.enumeration import PLAIN, check_enumerable, choose_space, enumerate_graph
from ttt_batch.games.graph import Graph
from ttt_batch.games.solution import DRAWN, LOST, WON, known_board
from ttt_batch.learners import LEARNERS, check_begins, foreign_learner, learner_named
from ttt_batch.learners.base import Learner, OwnNumbers, Settings
from ttt_batch.ntuple.games import Aim
from ttt_batch.ntuple.network import (
    COLUMNS,
    MANY_CELLS,
    MARKS,
    Network,
    Tuples,
    default_coding,
    make_network,
    parse_tuples,
    weights_of,
)
from ttt_batch.ntuple.objectives import BOTH, NOBODY, NOTHING, OBJECTIVES, SAFE
from ttt_batch.runs.options import AUTO, MAX_GAMES, OPPONENTS, OPTIONS, OWN, Options, Schedule, temperature_of
from ttt_batch.runs.schedules import POINTS, Batches, make_batches, record_schedule
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
    if OPTIONS["symmetry"].parse(symmetry) == "off":
        raise UsageError(
            f"symmetry off is not applicable to {name}: a box stands for all images of its position; leave "
            f"{flag('symmetry')} out"
        )
    if seat and choose_seat(seat, "both") != "first":
        raise cannot_play_second_error(name, f"seat {seat}", f"leave {flag('seat')} out")


def cannot_play_second_error(name: str, what: str, remedy: str) -> UsageError:
    """Return the error for `what`, which needs a player in the second seat."""
    return UsageError(f"{what} is not applicable to {name}, which plays as the first player alone; {remedy}")


def can_meet(first: Collection[str], second: Collection[str]) -> bool:
    """Return whether a player of the seats `first` can move first against one of the seats `second`."""
    return SEATS[0] in first and SEATS[1] in second


def check_meeting(one: str, seats: Collection[str], other: str, its_seats: Collection[str]) -> None:
    """Raise UsageError if neither of two players, called `one` and `other`, can play second."""
    if not can_meet(seats, its_seats) and not can_meet(its_seats, seats):
        whom = "itself" if other == "self" else other
        raise cannot_play_second_error(one, f"play against {whom}", "choose an opponent that plays second")


def replace_exploration(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a resumed run, in which a new epsilon replaces softmax play, and the other way round."""
    if given.get("explore") is not None and given.get("epsilon") is None:
        return {**given, "epsilon": 0.0}
    if given.get("epsilon") is not None and given.get("explore") is None:
        return {**given, "explore": None}
    return dict(given)


def own_default(learner: Learner, name: str) -> Any:
    """Return a learner's default of an option that only some learners have; None if it lacks the option."""
    return getattr(learner if name == "start_value" else learner.defaults, name)


def takes(learner: Learner, name: str) -> bool:
    """Return whether a learner has an option that only some learners have."""
    return not learner.by_chances if name == "explore" else own_default(learner, name) is not None


def own_option_values(learner: Learner, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the value of each option for a learner; None if the learner lacks it or starts with its own values.

    Raises UsageError for a given option that the learner lacks.
    """
    values: dict[str, Any] = dict.fromkeys(OWN)
    for name, option in OWN.items():
        if (value := given.get(name)) is not None:
            if not takes(learner, name):
                raise UsageError(f"{flag(name)} is not an option of {learner.name}{_instead(name)}; leave it out")
            values[name] = option.parse(value)
    return values


def _instead(name: str) -> str:
    """Return the learners that have the option, or why this learner lacks it, as the end of a message."""
    if name == "start_value":
        return ", whose start values are not a single number"
    if name == "explore":
        return ", which draws its moves from probabilities that it learns"
    having = [learner.name for learner in LEARNERS.values() if takes(learner, name)]
    return f", only of {', '.join([*having, *(['ntuple-td'] if name == 'lambda_' else [])])}"


POINTS_OF_LARGE = 2
"""Default of recorded points per doubling on enumerated boards that `choose_space` does not count as small.  There a
judgement takes as long as tens of thousands of games."""

DEFAULT_BATCH = AUTO
"""Batches that grow from small ones, so that the curve shows the early learning.  Boards too large to enumerate use 1
instead, because few of their positions occur twice in a batch."""

SMALL_CELLS = 9
"""Largest number of cells for play by greedy paths; larger boards are played ply by ply."""

GIVEN = "given"
"""Engine of a run whose games were played elsewhere."""

SEATS_IN_TURN = {"first": (0, 0), "second": (1, 1), "both": (0, 1), "": (-1, -1)}
"""The learner's seat in even and in odd batches; -1 in self-play."""

DIGEST = "[0-9a-f]{16}"
"""Pattern of a digest of a run's tables (`state.table_digest`)."""

DEFAULTS: Options = {"learner": "td", "board": "3x3", "engine": "walk", "seed": 0, "symmetry": "auto"}
"""Defaults of options that neither the user nor the learner sets; that of `batch` depends on board and engine."""


class Configuration:
    """Plain values of a frozen configuration of tables or of networks."""

    @property
    def written(self) -> dict[str, Any]:
        """Return every field with its value, with the board and the schedules as text."""
        names = sorted((field.name for field in fields(self)), key=OWN.__contains__)  # type: ignore[arg-type]
        values = {name: getattr(self, name) for name in names}
        values |= {name: value.name for name, value in values.items() if isinstance(value, Board)}
        return values | {name: value.text for name, value in values.items() if isinstance(value, Schedule)}

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, as the run file stores them; options that this learner lacks are left out."""
        values = {name: value for name, value in self.written.items() if value is not None}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}

    def to_report(self) -> dict[str, Any]:
        """Return plain values, as `--json` prints them: epsilon and alpha are numbers unless they change."""
        return self.to_dict() | {name: value.plain for name, value in vars(self).items() if isinstance(value, Schedule)}


@dataclass(frozen=True, kw_only=True)
class Config(Configuration, OwnNumbers):
    """Checked configuration of a run.  Equal configurations give equal bytes on any number of threads.

    board: the board.  learner: a registered name.
    epsilon, alpha: schedules (`schedules`).  gamma, draw_worth: see `Settings`.
    batch: games played with the same tables, or `auto` (`batches`).
    engine: `walk` plays every game, `flow` draws how many games take each move, `given` games were played elsewhere.
    seed: any integer of 64 bits.
    symmetry: True if a row of the table stands for all images of a position under the board's symmetries.
    start_value, lambda_ and the others of `OwnNumbers`: None if the learner lacks it or has its own start.
    horizon: games over which schedules run; 0 if no schedule depends on games.
    start: digest of the tables from which training begins, empty for the learner's own start.  A fork adds `@` and
    the number of games that those tables had learnt from.
    opponent: `random`, `optimal` or the digest of a run's tables; empty in self-play.
    seat: the learner's seat against an opponent, `first`, `second` or `both` (batches alternate); empty in self-play.
    points: recorded points per doubling of the games (`schedules.record_schedule`).
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
    points: int = POINTS

    def __post_init__(self) -> None:
        """Raise UsageError for values that contradict each other.

        These are an epsilon beside play by action probabilities, numbers that the learner lacks, batches that the
        engine cannot play, and an invalid start, opponent or seat.
        """
        learner, name = learner_named(self.learner), self.learner
        if self.by_chances and self.epsilon.text != "0.0":
            if self.explore is None:
                raise UsageError(
                    f"{name} draws its moves from probabilities that it learns; leave {flag('epsilon')} out"
                )
            raise UsageError(f"{flag('explore')} takes the place of {flag('epsilon')}; leave one of them out")
        if learner.by_beads and self.alpha.text != "1.0":
            raise UsageError(
                f"{name} has no step size: alpha {self.alpha.text} does not apply to whole beads; leave "
                f"{flag('alpha')} out, and choose {flag('rewards')}"
            )
        if learner.by_beads and self.draw_worth != (0.0, 0.0):
            raise UsageError(f"{name} has rewards in beads; instead of {flag('draw_worth')} give {flag('rewards')}")
        if learner.undiscounted and self.gamma != 1.0:
            raise UsageError(f"{name} is not discounted: gamma {self.gamma:g} is not 1; leave {flag('gamma')} out")
        walk, flow, batch = flag("engine", "walk"), flag("engine", "flow"), self.batch
        if batch == 1 and self.engine == "flow":
            raise UsageError(f"batch 1 belongs to {walk}, which plays games one by one; flow takes 2 or more")
        if self.engine == "walk" and not isinstance(batch, str) and batch > MAX_WALKED:
            raise UsageError(
                f"batch {batch:,} is more than the {MAX_WALKED:,} games that {walk} plays in one batch; choose {flow}"
            )
        start, opponent, seat = self.start, self.opponent, self.seat
        if re.fullmatch(rf"({DIGEST}(@[0-9]{{1,16}})?)?", start) is None:
            raise UsageError(f"start {quoted(start)} is not the digest of a table; give a run to start from")
        if re.fullmatch(f"({DIGEST})?", opponent) is None and opponent not in OPPONENTS:
            raise UsageError(
                f"opponent {quoted(opponent)} is neither random, optimal nor the digest of a table; give a run"
            )
        if seat and not opponent:
            raise UsageError(f"seat {seat!r} needs an opponent; name one, or leave the seat out for self-play")
        if opponent and not seat:
            raise UsageError(f"opponent {opponent} needs the learner's seat; choose first, second or both")

    @functools.cached_property
    def grown(self) -> bool:
        """Return whether the table grows as play reaches positions, because there are too many to enumerate."""
        return choose_space(self.board, self.symmetry, prefers=self.symmetry).grown

    @property
    def graph(self) -> Graph:
        """Return the enumerated board as the learner sees it.  Raises BoardError if the board is too large."""
        return self.graph_of(None)

    def graph_of(self, counts: tuple[int, ...] | None) -> Graph:
        """Return the enumerated board, checked against `counts` of positions by ply (see `enumerate_graph`)."""
        check_enumerable(self.board, self.grown, "this")
        learner = learner_named(self.learner)
        return enumerate_graph(self.board, learner.occupied, self.symmetry, counts, resigns=learner.resigns)

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

    def record_schedule(self) -> Iterator[int]:
        """Yield the numbers of games at which tables are judged."""
        return record_schedule(self.batches, self.points)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, as the run file stores them; `points` only if not the usual, as in older files."""
        return {name: value for name, value in super().to_dict().items() if name != "points" or value != POINTS}

    @property
    def settings(self) -> Settings:
        """Return the learner's numbers; schedules give their value at the first game."""
        return Settings(self.epsilon.start, self.alpha.start, self.gamma, self.draw_worth, **self.own)

    @property
    def own(self) -> dict[str, Any]:
        """Return the options that only some learners have (see `options.OWN`); None where this learner lacks one."""
        return {name: getattr(self, name) for name in OWN}


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
    engine = given["engine"] if given["engine"] == GIVEN else OPTIONS["engine"].parse(given["engine"])
    board = OPTIONS["board"].parse(given["board"])
    if learner.by_beads:
        check_boxes(learner.name, board, given["symmetry"], seat)
        given["symmetry"] = "on"
        if engine != GIVEN:
            opponent, seat = opponent or OPPONENTS[0], "first"
    space = choose_space(board, given["symmetry"], prefers=learner.prefers_symmetry)
    if space.grown:
        check_begins(learner, board.name)
    one_by_one = (space.grown or learner.by_beads) and engine == "walk"
    large = not space.grown and most_positions(board) > PLAIN
    given = {"batch": 1 if one_by_one else DEFAULT_BATCH, "points": POINTS_OF_LARGE if large else POINTS} | given
    numbers = ("epsilon", "alpha", "gamma", "draw_worth", "seed", "batch", "points")
    read = {name: OPTIONS[name].parse(given[name]) for name in numbers}
    return Config(
        board=board,
        learner=learner.name,
        engine=engine,
        horizon=horizon_of(read["epsilon"], read["alpha"], parse_int("horizon", horizon, 0, MAX_GAMES)),
        start=start,
        opponent=opponent,
        seat=choose_seat(seat, "both") if seat else "",
        symmetry=space.symmetry,
        **read,
        **own_option_values(learner, given),
    )


def horizon_of(epsilon: Schedule, alpha: Schedule, games: int) -> int:
    """Return the `horizon` of a configuration with these schedules, for a run of `games` games."""
    return games if epsilon.by_games or alpha.by_games else 0


PROVE_EVERY, PROVE_EVERY_OF_COLUMNS, HUNT_EVERY = 2_000, 4_000, 20_000
"""Default numbers of games between two proofs; coded by columns, where a proof looks for more lost games; with hunts,
since proofs of larger boards take longer."""

START_SHARE = 0.5
"""Share of games that begin with moves of a lost game, once there are lost games."""

EPSILON_OF_COLUMNS, GAMMA_OF_COLUMNS = 0.1, 0.98
"""Defaults of networks coded by columns that learn the goal of a seat."""

BYTES_A_WEIGHT = 260
"""Upper estimate of memory for a weight in training: the weight, its errors, and the shape of the network."""


@dataclass(frozen=True)
class PatternConfig(Configuration):
    """Configuration of a run of pattern networks.  Equal configurations give equal bytes on any number of threads.

    board: up to 64 cells.
    learner: `patterns` learns the value of a position's best move; `ntuple-td` learns the result of the game that was
    played, with eligibility traces.
    tuples: in the canonical form of `parse_tuples`.  sharing: one of `SHARING`.  objective: one of `OBJECTIVES`.
    coding: of the tuples, MARKS or COLUMNS.
    seat: `first`, `second` or `both`: the seats to prove, and to learn with the objective `safe`.
    epsilon: probability of an exploratory move.
    alpha: step size for all tuples together; temporal coherence lowers it.
    gamma: discount of a result by ply.  trace: lambda, [0, 1].
    batch: games that one network plays with the same weights.
    prove_every: games between two proofs, 0 for no proofs.  Half of the later games begin with moves of lost games
    that proofs have found.
    keep: `proved` to play with the weights that were proved last, `last` to play with the last weights, or `average` to
    play with their average over the last proofs, see `network_trainer`.
    seed: any integer of 64 bits.
    start: digest of the networks before learning from given games; empty after self-play alone.  Such networks
    are not proved, and play with the last weights.
    """

    board: Board
    learner: str
    tuples: str
    sharing: str
    objective: str
    seat: str
    epsilon: float
    alpha: float
    gamma: float
    trace: float
    batch: int
    prove_every: int
    keep: str
    seed: int
    start: str = ""
    coding: str = MARKS

    @property
    def seats(self) -> tuple[int, ...]:
        """Return the seats to prove, as 0 and 1."""
        return (0, 1) if self.seat == "both" else (SEATS.index(self.seat),)

    @property
    def aims(self) -> tuple[Aim, ...]:
        """Return the aim of each network."""
        objective = OBJECTIVES[self.objective]
        by_goal = self.coding == COLUMNS and (objective.apart or objective.always_wins)
        seats = self.seats if objective.apart or by_goal else (BOTH,)
        teaching = NOTHING if self.learner == "ntuple-td" else objective.teaching
        goals = [self._goal(seat) if by_goal else (NOBODY, 0.0) for seat in seats]
        common = SAFE, self.gamma, self.trace, teaching, self.epsilon, START_SHARE
        return tuple(Aim(seat, *common, *goal) for seat, goal in zip(seats, goals, strict=True))

    def _goal(self, seat: int) -> tuple[int, float]:
        """Return whose lines decide the goal of a seat, and the worth to the first player if none is filled."""
        filler = seat ^ (not self.always_wins) ^ self.board.misere
        worth = -1.0 if self.always_wins else 1.0
        return filler, worth if seat == 0 else -worth

    @property
    def always_wins(self) -> bool:
        """Return whether proofs must show that the run always wins, not only that it cannot lose."""
        return OBJECTIVES[self.objective].always_wins

    @property
    def hunts(self) -> bool:
        """Return whether a proof begins with hunts for lost games."""
        return self.coding == COLUMNS and self.board.cells >= MANY_CELLS

    @property
    def round(self) -> int:
        """Return the number of games in a round, one batch of every network; training plays whole rounds."""
        return self.batch * len(self.aims)

    def cells(self) -> Tuples:
        """Return the networks' tuples."""
        return parse_tuples(self.tuples, self.board, self.coding, files=False)[1]

    def network(self) -> Network:
        """Return the shape of the networks."""
        return make_network(self.cells(), self.board, self.sharing, self.coding)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, as the run file stores them; an empty `start` is left out, as in older files."""
        return {name: value for name, value in self.to_report().items() if name != "start" or value}

    def to_report(self) -> dict[str, Any]:
        """Return plain values, as `--json` prints them; `coding` only where marks fall and there is a choice."""
        return {name: value for name, value in self.written.items() if name != "coding" or self.board.gravity}


def make_pattern_config(
    *, files: bool = True, start: str = "", coding: str | None = None, **options: Any
) -> PatternConfig:
    """Return the configuration of checked options, with defaults for missing ones.

    files: True if `tuples` may name a file.  coding: None for that of new networks.
    Raises UsageError and BoardError.
    """
    if re.fullmatch(f"({DIGEST})?", start) is None:
        raise UsageError(f"start {quoted(start)} is not the digest of networks; give a run to start from")
    given: dict[str, Any] = {name: value for name, value in options.items() if value is not None}

    def read(name: str, default: Any) -> Any:
        return OPTIONS[name].parse(given.get(name, default), networks=True)

    learner, board = read("learner", "patterns"), read("board", "3x3")
    coding = default_coding(board) if coding is None else coding
    if coding not in {MARKS, default_coding(board)}:
        raise UsageError(f"coding {quoted(coding)} is unknown on board {board.name}; leave it out")
    known = known_board(board)
    baseline, value = learner == "ntuple-td", DRAWN if known is None else known.value
    decided = value in (WON, LOST)
    name = read("objective", next(name for name, one in OBJECTIVES.items() if one.is_default(learner, decided)))
    objective = OBJECTIVES[name]
    by_goal = coding == COLUMNS and not baseline and name != "plain"
    usual = PROVE_EVERY
    if by_goal:
        usual = HUNT_EVERY if board.cells >= MANY_CELLS else PROVE_EVERY_OF_COLUMNS
    if board.misere and not objective.suits_misere:
        others = either([other for other, one in OBJECTIVES.items() if one.suits_misere])
        raise UsageError(f"objective {name} needs a board on which a line wins; choose {others} on a misere board")
    defaults = {
        "sharing": "symmetry",
        "seat": "second" if objective.always_wins and value == LOST else objective.seat,
        "epsilon": 0.3 if baseline else EPSILON_OF_COLUMNS if by_goal else objective.epsilon,
        "alpha": 1.0,
        "gamma": GAMMA_OF_COLUMNS if by_goal else objective.gamma,
        "trace": 0.5 if baseline else 0.0,
        "batch": 1 if by_goal else 16,
        "prove_every": 0 if baseline else usual,
        "seed": 0,
    }
    values = {name: read(name, default) for name, default in defaults.items()}
    every = values["prove_every"]
    keep = read("keep", default_weights(every))
    if start and every:
        raise UsageError(f"given games are learnt without proofs; choose {flag('prove_every', 0)}")
    if keep != "last" and not every:
        raise UsageError(
            f"{flag('keep', keep)} needs proofs, but {flag('prove_every', 0)} turns them off; choose last, or prove"
        )
    text, tuples = parse_tuples(str(given.get("tuples", "auto")), board, coding, files=files)
    _check_memory(weights_of(tuples, board, values["sharing"], coding))
    texts = {"tuples": text, "objective": name, "keep": keep, "start": start, "coding": coding}
    return PatternConfig(board=board, learner=learner, **texts, **values)


def default_weights(every: int) -> str:
    """Return the default of `keep` for a run with a proof every `every` games (0: no proofs)."""
    return "proved" if every else "last"


def _check_memory(weights: int) -> None:
    """Raise UsageError if networks with this number of weights take more memory than is free."""
    needed, free = weights * BYTES_A_WEIGHT, free_memory()
    if needed > free or weights >= 2**30:  # the weights of both players are numbered in int32
        raise UsageError(
            f"these tuples have {weights:,} weights, which take {size_text(needed)} in training; {size_text(free)} are "
            f"free: choose fewer or shorter {flag('tuples')}, or share more"
        )


def config_from_dict(values: dict[str, Any]) -> Config:
    """Return the configuration of a run file.  Raises RunFileError if this version cannot use it."""
    return _read_back(Config, make_config, {"points": POINTS} | values)


def pattern_config_from(values: dict[str, Any]) -> PatternConfig:
    """Return the configuration of a run file of networks.  Raises RunFileError if this version cannot use it."""
    return _read_back(PatternConfig, functools.partial(make_pattern_config, files=False), {"coding": MARKS} | values)


C = TypeVar("C", Config, PatternConfig)


def _read_back(kind: type[C], make: Callable[..., C], values: dict[str, Any]) -> C:
    """Return the configuration with the values of `to_dict`.  Raises RunFileError."""
    _check_types(kind, values)
    if foreign := foreign_learner(values["learner"]):
        raise RunFileError(foreign)
    try:
        config = make(**values)
    except UsageError as error:
        raise not_usable(str(error)) from None
    defaults = {field.name: field.default for field in fields(kind) if field.default not in (MISSING, None)}
    if {**defaults, **values} != {**defaults, **config.to_dict()}:
        raise RunFileError("the run's configuration is not written as this version writes it; train it again")
    return config


def _check_types(kind: type, values: dict[str, Any]) -> None:
    """Raise RunFileError for a key that is missing, unknown or of the wrong type."""
    declared = {field.name: field for field in fields(kind)}
    for name in sorted(values.keys() - declared.keys()):
        raise not_usable(f"unknown key {name!r:.60}")
    for name, field in declared.items():
        if name not in values and field.default is MISSING:
            raise not_usable(f"{name} is missing")
        value = values.get(name, field.default)
        if name == "draw_worth":
            if not isinstance(value, list) or [type(number) for number in value] != [float, float]:
                raise not_usable(f"{name} is {value!r:.60}, it must be two numbers such as [0.5, 0.5]")
            continue
        stored = (str,) if field.type in (Board, Schedule) else getattr(field.type, "__args__", (field.type,))
        # Compare types exactly: True == 1 and 1.0 == 1 in Python, but the file stores an int.
        if type(value) not in stored:
            raise not_usable(f"{name} is {value!r:.60}, of the wrong type")


def not_usable(finding: str) -> RunFileError:
    """Return the error for a configuration that this version cannot use."""
    return RunFileError(f"the run's configuration is not usable ({finding[:300]}); was it made by another version?")
