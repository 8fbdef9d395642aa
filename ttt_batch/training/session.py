"""Training loop over slices of games, which records points, reports progress and writes checkpoints.

Batches and recorded points depend on the game number alone, so the slices do not affect the result.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from ttt_batch.base.errors import flag
from ttt_batch.runs.batches import MAX_GAMES, batch_bounds, record_schedule
from ttt_batch.runs.recorder import Clock, Recorder, resumed_provenance
from ttt_batch.runs.run import Run
from ttt_batch.runs.state import State
from ttt_batch.training.checkpoints import Checkpoints
from ttt_batch.training.keeping import SnapshotStore
from ttt_batch.training.plan import Plan
from ttt_batch.training.trainers.base import Trainer

SLICE_SECONDS = 0.05
"""Seconds that the kernels run between two calls of `stop` and two reports of progress."""


@dataclass(frozen=True)
class Progress:
    """Progress report of a training.

    games, total: games learnt from so far, and planned.  seconds: since the start, including compilation.
    outcomes: first wins, draws and second wins in training games.  recorded: whether a point has just been recorded.
    unbeatable_since: games at the first recorded point from which on all were unbeatable in both seats, or None.
    saved: games in the last checkpoint; 0 before the first.  saved_in: returns its state in words.
    positions: rows in the table of a growing board, else None.  without_room: times a full table rejected a position.
    run: returns the current run, whose tables the training still changes; None for pattern networks.
    proofs: for pattern networks, each seat's latest verdict (`proved`, `refuted` or `undecided`) and positions
    entered; else None.
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
    """Training that runs `trainer` up to the games of its plan.

    checkpoints: writer of the run file; None to write no file.
    progress: called at every recorded point and about twenty times a second, unless None.
    stop: called as often; returns True to end after the current batch.  say: called with one line of warning.
    command, threads: for the run's provenance.  keeper: stores snapshots at recorded points; None to store none.
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
    keeper: SnapshotStore | None = None

    def __post_init__(self) -> None:
        trainer = self.trainer
        self._recorder = Recorder(trainer.judge(), 1 if trainer.learner.boxes else 2)
        if self.plan.earlier is not None:
            self._recorder.restore(self.plan.earlier)
        self._points = (games for games in record_schedule(trainer.batches) if games > trainer.games)
        self._point = next(self._points)
        self._slice_games = trainer.batches.least
        self._warned = False

    def train(self) -> Run:
        """Train to the plan's games, or until stopped; return the run.

        A resumed run is returned itself if no further batch was learnt.
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
        """Train; return the state before an unfinished last batch, or None if the training ends with a whole batch."""
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
        """Return the run in its current state."""
        plan, trainer, grown = self.plan, self.trainer, self.trainer.grown
        point = trainer.tables, trainer.games, self.clock.seconds, trainer.outcomes
        statistics = self._recorder.statistics_now(*point)
        now = self.clock.provenance(self.command) | {"threads": self.threads}
        if grown is not None and grown.lost:
            now["positions_without_room"] = int(plan.provenance.get("positions_without_room", 0)) + grown.lost
        tables, visits = (trainer.tables, trainer.visits) if grown is None else grown.compact()[1:]
        run = Run(plan.config, tables, trainer.games, statistics, visits=visits, grown=grown, goal=plan.total)
        run.provenance = resumed_provenance(plan.provenance, now, "resumed_by")
        run.interrupted = trainer.games < plan.total
        if self.keeper is not None:
            run.points = self.keeper.points_now(trainer.games, trainer.tables)
        return run

    def _end_of_slice(self) -> int:
        """Return the games at the end of the next slice, which is the end of a batch or of the run."""
        games, batches = self.trainer.games, self.trainer.batches
        end = batch_bounds(batches, games)[1]
        until = min(self.plan.total, self._point, max(end, batch_bounds(batches, games + self._slice_games)[0]))
        due = math.inf if self.checkpoints is None else self.checkpoints.next_games()
        if due < until:
            until = min(until, batch_bounds(batches, max(int(due) - 1, games))[1])
        return until

    def _play_slice(self, until: int) -> None:
        """Learn from the games up to `until`, and resize the next slice to about SLICE_SECONDS."""
        began = self.clock.seconds
        self.trainer.advance(until, self.stop)
        elapsed = self.clock.seconds - began
        if elapsed < SLICE_SECONDS / 2:
            self._slice_games = min(2 * self._slice_games, MAX_GAMES)
        elif elapsed > 2 * SLICE_SECONDS:
            self._slice_games = math.ceil(self._slice_games / 2)

    def _is_full(self) -> bool:
        """Return whether a full table of a growing board ends the training; warn if the table is full."""
        grown, memory = self.trainer.grown, flag("max_memory")
        if grown is None:
            return False
        full = f"the table is full at {grown.positions:,} positions"
        if self.trainer.full:
            self.say(
                f"{full}, and flow needs room for all positions of its games: training ends here. "
                f"Raise {memory} and resume, or choose {flag('engine', 'walk')}"
            )
        elif grown.lost and not self._warned:
            self._warned = True
            self.say(
                f"{full}: new ones are played at their start value and not stored; training continues. "
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
