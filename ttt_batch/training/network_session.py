"""Training loop of n-tuple networks, with proofs, recorded points and checkpoints."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_batch.core.errors import UsageError, command_with, flag, quoted
from ttt_batch.core.text import PATTERN_LEARNERS, SEATS, Number, count_text, find_name, parse_int
from ttt_batch.evaluation.prover import ALWAYS_WINS, CANNOT_LOSE, Proof, Prover
from ttt_batch.games.bitboards import make_lines
from ttt_batch.games.board import EMPTY
from ttt_batch.ntuple.games import network_view
from ttt_batch.ntuple.network import NetAgent, make_network_agent
from ttt_batch.ntuple.objectives import BOTH
from ttt_batch.runs.network_config import PatternConfig, PatternOptions, make_pattern_config
from ttt_batch.runs.network_run import PROVED, REFUTED, UNDECIDED, PatternRun
from ttt_batch.runs.run import Clock, resumed_provenance
from ttt_batch.training.network_trainer import PatternTrainer, next_point, whole_rounds
from ttt_batch.training.plan import goal_of
from ttt_batch.training.session import Checkpoints, Progress

SLICE_SECONDS = 0.05
"""Seconds that the kernels run between two calls of `stop` and two reports of progress."""

NUMBERS = {"proved": PROVED, "refuted": REFUTED, "undecided": UNDECIDED}


class Callbacks(NamedTuple):
    """Callbacks and settings of a training, as in `training.session.Session`."""

    checkpoints: Checkpoints | None
    progress: Callable[[Progress], None] | None
    stop: Callable[[], bool]
    command: str
    threads: int


@dataclass
class PatternSession:
    """Training that runs `trainer` up to `total` games.  before: the run that is continued; None for a new one."""

    config: PatternConfig
    total: int
    before: PatternRun | None
    trainer: PatternTrainer
    clock: Clock
    followers: Callbacks

    def __post_init__(self) -> None:
        self._points: list[dict[str, Any]] = []
        self._proved = None if self.before is None else self.before.proved
        self._proofs: dict[str, tuple[str, int]] = {}
        self._slice = self.config.round
        if self.before is not None:
            columns = self.before.statistics
            tried = self.before.tried | (not self.config.prove_every)
            for number, games in enumerate(columns["games"].tolist()):
                # Drop a last point that was recorded only because the run ended there.
                if games == next_point(self.config, games - 1) and tried[number]:
                    self._points.append({name: column[number] for name, column in columns.items()})

    def train(self) -> PatternRun:
        """Train to the last game, or until stopped; return the run."""
        trainer, checkpoints = self.trainer, self.followers.checkpoints
        began = trainer.games
        if checkpoints is not None:
            checkpoints.begin(began)
        while True:
            recorded = self._is_due() and self._record()
            if self.followers.progress is not None and trainer.games:
                self.followers.progress(self._progress(recorded))
            if trainer.games >= self.total or self.followers.stop():
                break
            if checkpoints is not None and trainer.games > began and checkpoints.due(trainer.games):
                checkpoints.attempt(self._run())
            self._advance(min(next_point(self.config, trainer.games), self.total, trainer.games + self._slice))
        if trainer.games == began and not recorded and self.before is not None:
            self.before.interrupted = True
            return self.before
        return self._run()

    def _is_due(self) -> bool:
        """Return whether a point must be recorded now."""
        games = self.trainer.games
        return games > 0 and games == next_point(self.config, games - 1) and games > self._last

    @property
    def _last(self) -> int:
        """Return the games at the last recorded point; 0 before the first."""
        return int(self._points[-1]["games"]) if self._points else 0

    def _advance(self, until: int) -> None:
        """Learn from the games up to `until`, and resize the next slice to about SLICE_SECONDS."""
        before, began = self.trainer.games, self.clock.seconds
        self.trainer.advance(until)
        elapsed = self.clock.seconds - began
        if elapsed < SLICE_SECONDS / 2 and until - before == self._slice:
            self._slice *= 2
        elif elapsed > 2 * SLICE_SECONDS:
            self._slice = max(self._slice // (2 * self.config.round) * self.config.round, self.config.round)

    def _record(self) -> bool:
        """Record a point, with proofs if configured; return False, without a point, if a proof was stopped."""
        proofs: dict[int, Proof] = {}
        if self.config.prove_every:
            found = self.trainer.prove(self.followers.stop)
            if found is None:
                return False
            proofs = found
            self._proofs = {SEATS[seat]: (proof.status, proof.positions) for seat, proof in proofs.items()}
            seats = [seat for seat, proof in proofs.items() if proof.status == "proved"]
            weights = self.trainer.weights()
            for seat in seats:
                self._proved = np.zeros(weights.shape[1:], np.int32) if self._proved is None else self._proved.copy()
                self._proved[:, seat] = weights[-seat, :, seat]  # of the first network, or the last one
        self._points.append(self._point(proofs))
        return True

    def _point(self, proofs: dict[int, Proof]) -> dict[str, Any]:
        found = [proofs.get(seat) for seat in (0, 1)]
        return {
            "games": np.int64(self.trainer.games),
            "seconds": np.float64(self.clock.seconds),
            "outcomes": self.trainer.outcomes.copy(),
            "proof": np.array([0 if one is None else NUMBERS[one.status] for one in found], np.int8),
            "proof_positions": np.array([0 if one is None else one.positions for one in found], np.int64),
        }

    def _statistics(self) -> dict[str, NDArray[Any]]:
        """Return the recorded points, plus the current state as a provisional last one unless it is recorded."""
        points = self._points
        if self._last != self.trainer.games or not points:
            points = [*points, self._point({})]
        return {name: np.stack([point[name] for point in points]) for name in points[0]}

    def _run(self) -> PatternRun:
        """Return the run in its current state."""
        past = {} if self.before is None else self.before.provenance
        now = self.clock.provenance(self.followers.command) | {"threads": self.followers.threads}
        run = PatternRun(self.config, self.trainer.games, self.trainer.learnt(), self._statistics(), self._proved)
        run.goal, run.interrupted = self.total, self.trainer.games < self.total or self._is_due()
        run.provenance = resumed_provenance(past, now, "resumed_by")
        return run

    def _progress(self, recorded: bool) -> Progress:
        trainer, checkpoints = self.trainer, self.followers.checkpoints
        wins, draws, losses = trainer.outcomes.tolist()
        counts = trainer.games, self.total, self.clock.seconds, (wins, draws, losses)
        now = Progress(*counts, None, recorded, proofs=self._proofs)
        return now if checkpoints is None else replace(now, saved=checkpoints.saved, saved_in=checkpoints.where)


def check_proofs(run: PatternRun) -> list[str]:
    """Repeat the last proofs of a run of networks; return one line for each recorded proof or point that is wrong."""
    return [*_wrong_points(run), *_proved_again(run), *_last_again(run)]


def _wrong_points(run: PatternRun) -> Iterator[str]:
    """Yield a line if the recorded points differ from those that follow from the configuration."""
    games = [0, *run.statistics["games"].tolist()]
    due = [next_point(run.config, before) for before in games[:-1]]
    if not run.config.start and run.games and (games[1:-1] != due[:-1] or games[-1] > due[-1]):
        yield "statistics/games are not the recorded points that follow from its configuration"


def _proved_again(run: PatternRun) -> Iterator[str]:
    """Repeat the proofs of the weights proved last; yield a line for each difference."""
    if run.proved is None:
        return
    agent = make_network_agent(run.network, run.proved.T[:, run.network.kind])
    goal, prover = ALWAYS_WINS if run.config.always_wins else CANNOT_LOSE, Prover(run.board)
    for seat in run.config.seats:
        recorded = run.proved_positions(seat)
        if not run.proved_after(seat):
            continue
        again = prover.prove(agent, seat, goal, budget=max(recorded, 1), symmetric=run.config.sharing != "none")
        if (again.status, again.positions) != ("proved", recorded):
            yield (
                f"statistics/proof has {SEATS[seat]} proved with {count_text(recorded, 'position')}; "
                f"tables/proved is {again.status} there with {again.positions:,}"
            )


def _last_again(run: PatternRun) -> Iterator[str]:
    """Repeat the proofs of the last recorded point from the last weights; yield a line for each difference."""
    proof = run.statistics["proof"][-1:].ravel()
    if run.config.start or not proof.any():
        return
    trainer = PatternTrainer(run.config, run, 1)
    found = trainer.prove(lambda: False) or {}
    for seat, again in found.items():
        if proof[seat] not in (UNDECIDED, NUMBERS[again.status]):
            name = next(name for name, number in NUMBERS.items() if number == proof[seat])
            yield f"the last row of statistics/proof has {SEATS[seat]} {name}; the last weights are {again.status}"
        weights = run.learnt.weights[-seat, :, seat]  # of the first network, or the last one
        if proof[seat] == PROVED and run.proved is not None and not np.array_equal(run.proved[:, seat], weights):
            yield f"tables/proved is not what proved {SEATS[seat]} at the last recorded point"
    for aim, games in zip(run.config.aims, run.learnt.lost, strict=True):
        lost = [seat for seat in found if aim.seat in (seat, BOTH) and proof[seat] == REFUTED]
        if lost and len(games) and not _lets_happen(run, trainer.agent(lost[-1]), lost[-1], games[-1].tolist()):
            yield "the last game of tables/lost cannot occur with the last weights"


def _lets_happen(run: PatternRun, agent: NetAgent, seat: int, game: list[int]) -> bool:
    """Return whether all moves of the agent's seat in a game are among its best."""
    lines, marks = make_lines(run.board), (EMPTY,) * run.board.cells
    for ply, cell in enumerate(cell for cell in game if cell >= 0):
        if ply % 2 == seat and cell not in network_view(lines, agent, marks).best:
            return False
        marks = run.board.after(marks, cell)
    return True


GAMES = 100_000
"""Default number of games."""

MAX_NETWORK_GAMES = 10**15

LONGEST = 60
"""Maximum of characters of a setting in a message; tuples may be very long."""

SHARED = ("learner", "board", "epsilon", "alpha", "gamma", "batch", "seed")
"""Options that tables and pattern networks share."""


def train_patterns(
    games: Number | None,
    options: dict[str, Any],
    seat: str | None,
    before: PatternRun | None,
    name: str,
    more: Number | None,
    until: Number | None,
    followers: Callbacks,
) -> PatternRun:
    """Train pattern networks, with proofs to the end of the last proof, and return the run without saving it.

    options: `AllOptions` without the seat.  before: the run to continue, if any, called `name` in messages.
    games, more, until, errors: as for `training.train.train_command`.
    """
    options = options if seat is None else options | {"seat": seat}
    if before is None:
        asked = parse_int("games", GAMES if games is None else games, 1, MAX_NETWORK_GAMES)
        config = make_pattern_config(**options)
        config = with_first_proof_by(config, asked, given="prove_every" in options)
    else:
        if before.config.start:
            raise UsageError(
                f"{name} learnt from given games, which a training does not repeat; continue with "
                f"{command_with('learn-from', 'run')}, or train a new run"
            )
        config, asked = before.config, goal_of(before, name, more, until, unfinished=before.lacks_proof)
        _check_unchanged(config, options, name)
    clock = Clock(0.0 if before is None else float(before.provenance.get("seconds", 0.0)))
    end = last_game(config, asked)
    with PatternTrainer(config, before, followers.threads) as trainer:
        return PatternSession(config, end, before, trainer, clock, followers).train()


def with_first_proof_by(config: PatternConfig, games: int, *, given: bool) -> PatternConfig:
    """Return the configuration of a run of `games` games, with its first proof at the end if that would come later.

    given: whether the user chose the interval of proofs.  Then raise UsageError instead of changing it.
    """
    if config.prove_every <= games:
        return config
    if given:
        every = flag("prove_every", config.prove_every)
        raise UsageError(f"{games:,} games end before the first proof of {every}; give more games, or prove more often")
    return replace(config, prove_every=games)


def is_network(learner: object) -> bool:
    """Return whether a learner, in any spelling, uses pattern networks."""
    return find_name(learner, PATTERN_LEARNERS) is not None


def network_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options with `lambda_` renamed to `trace`, its name for networks.  Raises UsageError if both are given."""
    if "lambda_" in options and "trace" in options:
        raise UsageError(f"{flag('lambda_')} and {flag('trace')} mean the same; leave one out")
    return {"trace" if name == "lambda_" else name: value for name, value in options.items()}


def check_networks(options: Mapping[str, object], given: Mapping[str, object]) -> None:
    """Raise UsageError for given options and parameters that pattern networks do not support.

    options: `training.train.TrainOptions`.  given: parameters of `train` that networks do not support.
    """
    others = [name for name in options if name not in (*SHARED, *PatternOptions.__annotations__)]
    for name in [*(name for name, value in given.items() if value), *others]:
        raise UsageError(f"{flag(name)} is for tables of positions, which pattern networks are not; leave it out")


def check_tables(options: Mapping[str, object]) -> None:
    """Raise UsageError for options that only pattern networks support."""
    for name in PatternOptions.__annotations__:
        if name in options:
            remedy = f"add {flag('learner', 'patterns')}, or leave it out"
            raise UsageError(f"{flag(name)} is for pattern networks; {remedy}")


def last_game(config: PatternConfig, games: int) -> int:
    """Round up `games` to a whole round of batches, or with proofs to the next proof."""
    return next_point(config, games - 1) if config.prove_every else whole_rounds(config, games)


def _check_unchanged(config: PatternConfig, options: dict[str, Any], name: str) -> None:
    """Raise UsageError for settings that differ from those of the continued run."""
    given = {name: value for name, value in options.items() if value is not None}
    learner = given.get("learner", config.learner)
    if learner not in PATTERN_LEARNERS:
        raise UsageError(
            f"{name} was trained with learner {config.learner}, not {quoted(str(learner))}; leave that out"
        )
    asked, trained = make_pattern_config(**{**config.to_dict(), **given}).to_dict(), config.to_dict()
    for key, value in asked.items():
        if value != trained[key]:
            said, were = (
                str(one) if len(str(one)) <= LONGEST else f"{str(one)[:LONGEST]} ..." for one in (value, trained[key])
            )
            raise UsageError(f"{name} was trained with {flag(key)} {were}, not {said}; leave that out")
