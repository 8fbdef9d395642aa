"""Checked configuration of a run of pattern networks."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, TypedDict, Unpack

from ttt_batch.core.errors import BoardError, RunFileError, UsageError, flag, quoted
from ttt_batch.core.resources import free_memory
from ttt_batch.core.text import (
    PATTERN_LEARNERS,
    SEATS,
    Number,
    choose,
    choose_seat,
    either,
    parse_float,
    parse_int,
    parse_seed,
    parse_share,
    size_text,
)
from ttt_batch.games.board import Board, parse_board
from ttt_batch.games.enumeration import check_gravity
from ttt_batch.games.solution import WON, known_value
from ttt_batch.ntuple.games import Aim
from ttt_batch.ntuple.network import SHARING, Network, Tuples, make_network, parse_tuples, weights_of
from ttt_batch.ntuple.objectives import BOTH, NOTHING, OBJECTIVES, SAFE
from ttt_batch.runs.config import DIGEST, not_usable

KEPT = ("proved", "last")

PROVE_EVERY = 2_000
"""Default number of games between two proofs."""

START_SHARE = 0.5
"""Share of games that begin with moves of a lost game, once there are lost games."""

BYTES_A_WEIGHT = 200
"""Upper estimate of memory for a weight in training: the weight, its errors, and the shape of the network."""

MAX_BATCH, MAX_EVERY = 1 << 20, 10**12


def _step_size(name: str, given: Number) -> float:
    expected = "one above 0 up to 10; 1 is usual"
    number = parse_float(name, given, expected)
    if not 0 < number <= 10:
        raise UsageError(f"{name} {number} is outside 0 to 10; give {expected}")
    return number


NUMBERS: Mapping[str, Callable[[str, Any], Any]] = {
    "epsilon": lambda name, given: parse_share(name, given, "it is the probability of an exploratory move"),
    "alpha": _step_size,
    "gamma": lambda name, given: parse_share(name, given, "0.98 is usual"),
    "trace": lambda name, given: parse_share("lambda", given, "0.5 is usual"),
    "batch": lambda name, given: parse_int(name, given, 1, MAX_BATCH),
    "prove_every": lambda name, given: parse_int(flag(name), given, 0, MAX_EVERY),
}
"""Parser of each number, called with its name and the given value."""


class PatternOptions(TypedDict, total=False):
    """Options of pattern networks only, as values or as text; None means the default."""

    tuples: str | None
    sharing: str | None
    objective: str | None
    trace: Number | None
    prove_every: Number | None
    keep: str | None


class AllOptions(PatternOptions, total=False):
    """All options of a training of pattern networks."""

    learner: str | None
    board: str | Board | None
    epsilon: Number | None
    alpha: Number | None
    gamma: Number | None
    batch: Number | None
    seed: Number | None
    seat: str | None


@dataclass(frozen=True)
class PatternConfig:
    """Configuration of a run of pattern networks.  Equal configurations give equal bytes on any number of threads.

    board: up to 64 cells.
    learner: `patterns` learns the value of a position's best move; `ntuple-td` learns the result of the game that was
    played, with eligibility traces.
    tuples: in the canonical form of `parse_tuples`.  sharing: one of `SHARING`.  objective: one of `OBJECTIVES`.
    seat: `first`, `second` or `both`: the seats to prove, and to learn with the objective `safe`.
    epsilon: probability of an exploratory move.
    alpha: step size for all tuples together; temporal coherence lowers it.
    gamma: discount of a result by ply.  trace: lambda, [0, 1].
    batch: games that one network plays with the same weights.
    prove_every: games between two proofs, 0 for no proofs.  Half of the later games begin with moves of lost games
    that proofs have found.
    keep: `proved` to play with the weights that were proved last, or `last` to play with the last weights.
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

    @property
    def seats(self) -> tuple[int, ...]:
        """Return the seats to prove, as 0 and 1."""
        return (0, 1) if self.seat == "both" else (SEATS.index(self.seat),)

    @property
    def aims(self) -> tuple[Aim, ...]:
        """Return the aim of each network."""
        objective = OBJECTIVES[self.objective]
        seats = self.seats if objective.apart else (BOTH,)
        teaching = NOTHING if self.learner == "ntuple-td" else objective.teaching
        return tuple(Aim(seat, SAFE, self.gamma, self.trace, teaching, self.epsilon, START_SHARE) for seat in seats)

    @property
    def always_wins(self) -> bool:
        """Return whether proofs must show that the run always wins, not only that it cannot lose."""
        return OBJECTIVES[self.objective].always_wins

    @property
    def round(self) -> int:
        """Return the number of games in a round, one batch of every network; training plays whole rounds."""
        return self.batch * len(self.aims)

    def cells(self) -> Tuples:
        """Return the networks' tuples."""
        return parse_tuples(self.tuples, self.board, files=False)[1]

    def network(self) -> Network:
        """Return the shape of the networks."""
        return make_network(self.cells(), self.board, self.sharing)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, as the run file stores them; an empty `start` is left out, as in older files."""
        values = self.to_report()
        return values if self.start else {name: value for name, value in values.items() if name != "start"}

    def to_report(self) -> dict[str, Any]:
        """Return plain values, as `--json` prints them."""
        return {field.name: getattr(self, field.name) for field in fields(self)} | {"board": self.board.name}


def make_pattern_config(*, files: bool = True, start: str = "", **options: Unpack[AllOptions]) -> PatternConfig:
    """Return the configuration of checked options, with defaults for missing ones.

    files: True if `tuples` may name a file.  Raises UsageError and BoardError.
    """
    if re.fullmatch(f"({DIGEST})?", start) is None:
        raise UsageError(f"start {quoted(start)} is not the digest of networks; give a run to start from")
    given: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
    learner = choose("learner", given.get("learner", "patterns"), PATTERN_LEARNERS)
    baseline = learner == "ntuple-td"
    board = parse_board(given.get("board", "3x3"))
    check_gravity(board, f"learner {learner}")
    won = known_value(board) == WON
    usual = next(name for name, one in OBJECTIVES.items() if one.is_default(learner, won))
    name = choose("objective", given.get("objective", usual), OBJECTIVES)
    objective = OBJECTIVES[name]
    if board.misere and not objective.suits_misere:
        others = either([other for other, one in OBJECTIVES.items() if one.suits_misere])
        raise UsageError(f"objective {name} needs a board on which a line wins; choose {others} on a misere board")
    sharing = choose("sharing", given.get("sharing", "symmetry"), SHARING)
    numbers: dict[str, Any] = {
        "epsilon": 0.3 if baseline else objective.epsilon,
        "alpha": 1.0,
        "gamma": objective.gamma,
        "trace": 0.5 if baseline else 0.0,
        "batch": 16,
        "prove_every": 0 if baseline else PROVE_EVERY,
    }
    numbers = {name: NUMBERS[name](name, given.get(name, default)) for name, default in numbers.items()}
    every = numbers["prove_every"]
    keep = choose("keep", given.get("keep", default_weights(every)), KEPT)
    if start and every:
        raise UsageError(f"given games are learnt without proofs; choose {flag('prove_every', 0)}")
    if keep == "proved" and not every:
        raise UsageError(
            f"{flag('keep', 'proved')} needs proofs, but {flag('prove_every', 0)} turns them off; choose last, or prove"
        )
    text, tuples = parse_tuples(str(given.get("tuples", "auto")), board, files=files)
    _check_memory(tuples, board, sharing)
    return PatternConfig(
        board=board,
        learner=learner,
        tuples=text,
        sharing=sharing,
        objective=name,
        seat=choose_seat(given.get("seat", objective.seat), "both"),
        keep=keep,
        seed=parse_seed(given.get("seed", 0)),
        start=start,
        **numbers,
    )


def default_weights(every: int) -> str:
    """Return the default of `keep` for a run with a proof every `every` games (0: no proofs)."""
    return "proved" if every else "last"


def _check_memory(tuples: Tuples, board: Board, sharing: str) -> None:
    """Raise UsageError if the networks take more memory than is free."""
    weights = weights_of(tuples, board, sharing)
    needed, free = weights * BYTES_A_WEIGHT, free_memory()
    if needed > free or weights >= 2**30:  # the weights of both players are numbered in int32
        raise UsageError(
            f"these tuples have {weights:,} weights, which take {size_text(needed)} in training; {size_text(free)} are "
            f"free: choose fewer or shorter {flag('tuples')}, or share more"
        )


def pattern_config_from(values: dict[str, Any]) -> PatternConfig:
    """Return the configuration of a run file.  Raises RunFileError if this version cannot use it."""
    declared = {field.name: field.type for field in fields(PatternConfig)}
    if values.keys() | {"start"} != declared.keys():
        odd = sorted((values.keys() | {"start"}) ^ declared.keys())[0]
        raise not_usable(f"{'unknown key' if odd in values else 'missing key'} {quoted(odd)}")
    for name, kind in declared.items():
        if name in values and type(values[name]) is not (str if kind is Board else kind):
            raise not_usable(f"{name} is {values[name]!r:.60}, of the wrong type")
    try:
        config = make_pattern_config(files=False, **values)
    except (UsageError, BoardError) as error:
        raise not_usable(str(error)) from None
    if config.to_dict() != values:
        raise RunFileError("the run's configuration is not written as this version writes it; train it again")
    return config
