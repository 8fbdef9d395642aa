"""A training in progress, slice by slice: points are recorded, progress is reported, checkpoints are written.

Batches and recorded points are functions of the game number alone, so the slices do not show in the result.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from ttt_batch.base.errors import option
from ttt_batch.runs.batches import MAX_GAMES, batch_bounds, recorded_points
from ttt_batch.runs.recorder import Clock, Recorder, continued
from ttt_batch.runs.run import Run
from ttt_batch.runs.state import State
from ttt_batch.training.checkpoints import Checkpoints
from ttt_batch.training.keeping import Keeper
from ttt_batch.training.plan import Plan
from ttt_batch.training.trainers.base import Trainer

SLICE_SECONDS = 0.05
"""Seconds that the kernels run between two calls of `stop` and two reports of progress."""


@dataclass(frozen=True)
class Progress:
    """How far a training is.

    games, total: games learnt from and to learn from.  seconds: since the start, compiling included.
    outcomes: first wins, draws and second wins in play.  recorded: whether a point has just been recorded.
    unbeatable_since: games at the first recorded point since which every one was unbeatable in both seats, or None.
    saved: games in the last checkpoint; 0 before the first.  saved_in: returns in words what has become of it.
    positions: in the table of a growing board, else None.  without_room: times that a new position found no room.
    run: returns the run as it is at this moment, whose tables go on changing afterwards; None of pattern networks.
    proofs: of pattern networks, what the latest proof of each seat found, `proved`, `refuted` or `undecided`, and how
    many positions it entered; None elsewhere.
    """

    games: int
    total: int
    seconds: float
    outcomes: tuple[int, int, int]
    unbeatable_since: int | None
    recorded: bool
    saved: int = 0
    saved_in: Callable[[], str] = lambda: "nothing was written"
    positions: int | None = None
    without_room: int = 0
    proofs: dict[str, tuple[str, int]] | None = None
    run: Callable[[], Run] | None = None


@dataclass
class Session:
    """One training: `trainer` goes on to the games of its plan, while points are recorded and checkpoints written.

    checkpoints: the run file; None if none is written.
    progress: called at every recorded point and about twenty times a second; not at all if None.
    stop: called as often; whether to end after the current batch.  say: called with a line of warning.
    command, threads: for the run's provenance.  keeper: what keeps the tables at recorded points; None if none are.
    """

    plan: Plan
    trainer: Trainer
    clock: Clock
    checkpoints: Checkpoints | None
    progress: Callable[[Progress], None] | None
    stop: Callable[[], bool]
    say: Callable[[str], None]
    command: str
    threads: int
    keeper: Keeper | None = None

    def __post_init__(self) -> None:
        trainer = self.trainer
        self._recorder = Recorder(trainer.judge(), 1 if trainer.learner.boxes else 2)
        if self.plan.earlier is not None:
            self._recorder.restore(self.plan.earlier)
        self._points = (games for games in recorded_points(trainer.batches) if games > trainer.games)
        self._point = next(self._points)
        self._slice_games = trainer.batches.least
        self._warned = False

    def train(self) -> Run:
        """Go on to the plan's games, or until it is stopped; return the run.

        If not even one batch was learnt from, that is the run that was resumed, if any.
        """
        trainer, plan = self.trainer, self.plan
        before = self._advance()
        if trainer.games == plan.games and plan.resumed is not None:
            run = plan.resumed
            run.interrupted = True
        else:
            run = self._run_now()
            run.batch_start = before
        run.full = trainer.full
        return run

    def _advance(self) -> State | None:
        """Go on; return the state before the batch within which the training ends, None if it ends with a batch."""
        trainer, total, checkpoints = self.trainer, self.plan.total, self.checkpoints
        last_batch, its_end = batch_bounds(trainer.batches, total - 1)
        before: State | None = None
        if checkpoints is not None:
            checkpoints.begin(trainer.games)
        while trainer.games < total and not self.stop():
            until = self._end_of_slice()
            if its_end > total:  # the run ends within a batch
                if trainer.games < last_batch:
                    until = min(until, last_batch)
                else:
                    before = trainer.state()
            first = trainer.games
            self._play_slice(until)
            if self._is_full():
                break
            recorded = trainer.games == min(self._point, total) and trainer.games > first
            if recorded:
                self._record()
            if checkpoints is not None and first < trainer.games < total and checkpoints.due(trainer.games):
                checkpoints.attempt(self._run_now())
            if self.progress is not None:
                self.progress(self._progress(recorded))
        if trainer.games > self._recorder.last:
            self._record()
        return before if before is not None and trainer.games > before.games else None

    def _run_now(self) -> Run:
        """The run in its current state."""
        plan, trainer, grown = self.plan, self.trainer, self.trainer.grown
        point = trainer.tables, trainer.games, self.clock.seconds, trainer.outcomes
        statistics = self._recorder.statistics_now(*point)
        now = self.clock.provenance(self.command) | {"threads": self.threads}
        if grown is not None and grown.lost:
            now["positions_without_room"] = int(plan.provenance.get("positions_without_room", 0)) + grown.lost
        tables, visits = (trainer.tables, trainer.visits) if grown is None else grown.compact()[1:]
        run = Run(plan.config, tables, trainer.games, statistics, visits=visits, grown=grown, goal=plan.total)
        run.provenance = continued(plan.provenance, now, "resumed_by")
        run.interrupted = trainer.games < plan.total
        if self.keeper is not None:
            run.points = self.keeper.points_now(trainer.games, trainer.tables)
        return run

    def _end_of_slice(self) -> int:
        """Games at the end of the next slice: the end of a batch, or of the run."""
        games, batches = self.trainer.games, self.trainer.batches
        end = batch_bounds(batches, games)[1]
        until = min(self.plan.total, self._point, max(end, batch_bounds(batches, games + self._slice_games)[0]))
        due = math.inf if self.checkpoints is None else self.checkpoints.next_games()
        if due < until:
            until = min(until, batch_bounds(batches, max(int(due) - 1, games))[1])
        return until

    def _play_slice(self, until: int) -> None:
        """Learn from the games up to `until`, and let the next slice take about SLICE_SECONDS."""
        began = self.clock.seconds
        self.trainer.advance(until, self.stop)
        elapsed = self.clock.seconds - began
        if elapsed < SLICE_SECONDS / 2:
            self._slice_games = min(2 * self._slice_games, MAX_GAMES)
        elif elapsed > 2 * SLICE_SECONDS:
            self._slice_games = math.ceil(self._slice_games / 2)

    def _is_full(self) -> bool:
        """Whether training has to end since the table of a growing board is full; warn if it is full."""
        grown, memory = self.trainer.grown, option("max_memory")
        if grown is None:
            return False
        full = f"the table is full at {grown.positions:,} positions"
        if self.trainer.full:
            self.say(
                f"{full}, and flow needs room for all that its games reach: training ends here. "
                f"Raise {memory} and resume, or choose {option('engine', 'walk')}"
            )
        elif grown.lost and not self._warned:
            self._warned = True
            self.say(
                f"{full}: new ones are played as at their start value and not kept; training goes on. "
                f"Raise {memory} for more"
            )
        return self.trainer.full

    def _record(self) -> None:
        trainer = self.trainer
        self._recorder.record(trainer.tables, trainer.games, self.clock.seconds, trainer.outcomes)
        if self.keeper is not None:
            self.keeper.keep(trainer.games, trainer.tables)
        if trainer.games == self._point:
            self._point = next(self._points)

    def _progress(self, recorded: bool) -> Progress:
        trainer, checkpoints, grown = self.trainer, self.checkpoints, self.trainer.grown
        wins, draws, losses = trainer.outcomes.tolist()
        counts = trainer.games, self.plan.total, self.clock.seconds, (wins, draws, losses)
        now = Progress(*counts, self._recorder.since, recorded, run=self._run_now)
        if checkpoints is not None:
            now = replace(now, saved=checkpoints.saved, saved_in=checkpoints.where)
        return now if grown is None else replace(now, positions=grown.positions, without_room=grown.lost)
