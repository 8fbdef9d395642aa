"""A training under way: moved on slice by slice, recorded, watched, and written in between.

Batch boundaries and recorded points are functions of the game number alone, so that only the clock, never the
result, knows where the loop looks up to report progress or to stop.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

from ttt_batch.base.errors import option
from ttt_batch.evaluation.judgement import exact_judge
from ttt_batch.runs.batches import MAX_GAMES, batch_bounds, recorded_points
from ttt_batch.runs.provenance import Clock
from ttt_batch.runs.recorder import Recorder, counting_judge
from ttt_batch.runs.run import Run
from ttt_batch.runs.state import State
from ttt_batch.training.checkpoints import Checkpoints
from ttt_batch.training.plan import Plan
from ttt_batch.training.trainers import Trainer

SLICE_SECONDS = 0.05
"""How long the kernels run between two looks at `stop` and two reports of progress."""


@dataclass(frozen=True)
class Progress:
    """Where training stands.

    games, total: games learnt from and asked for.  seconds: since the start, compiling included.
    outcomes: first wins, draws and second wins in play.
    unbeatable_since: games at the first recorded point since which every one was unbeatable in both seats, or None.
    recorded: whether a point has just been recorded.
    saved: games in the last checkpoint of this training; 0 before the first.
    saved_in: called, it says in words where the last checkpoint is now.
    positions: those in the table of a growing board, else None.  without_room: how often one was met without room.
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


@dataclass(frozen=True)
class Watch:
    """Who follows a training.

    progress: called at every recorded point and about twenty times a second; not at all if None.
    stop: asked as often, whether to end after the current batch.  say: called with a line of warning.
    """

    progress: Callable[[Progress], None] | None
    stop: Callable[[], bool]
    say: Callable[[str], None]


class Session:
    """One training: `trainer` goes on to the games of its plan, while points are recorded and checkpoints written.

    checkpoints: the run file; None if none is written.  command, threads: what the run's provenance says of them.
    """

    def __init__(
        self,
        plan: Plan,
        trainer: Trainer,
        clock: Clock,
        checkpoints: Checkpoints | None,
        watch: Watch,
        command: str,
        threads: int,
    ) -> None:
        self.trainer = trainer
        self._plan, self._clock, self._checkpoints, self._watch = plan, clock, checkpoints, watch
        self._command, self._threads = command, threads
        self._recorder = Recorder(
            exact_judge(trainer.graph, trainer.learner, trainer.worth)
            if trainer.grown is None
            else counting_judge(trainer.grown)
        )
        if plan.earlier is not None:
            self._recorder.restore(plan.earlier)
        self._points = (games for games in recorded_points(trainer.batches) if games > trainer.games)
        self._point = next(self._points)
        self._slice_games = trainer.batches.least
        self._told_full = False

    def advance(self) -> State | None:
        """Go on to the plan's games, or until the watch stops it.

        Returns where it stood before the batch within which it ends; None where it ends with a batch.
        """
        trainer, total, checkpoints = self.trainer, self._plan.total, self._checkpoints
        last_batch, its_end = batch_bounds(trainer.batches, total - 1)
        before: State | None = None
        if checkpoints is not None:
            checkpoints.begin(trainer.games)
        while trainer.games < total and not self._watch.stop():
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
                checkpoints.attempt(self.run_now())
            if self._watch.progress is not None:
                self._watch.progress(self._progress(recorded))
        if trainer.games > self._recorder.last:
            self._record()
        return before if before is not None and trainer.games > before.games else None

    def run_now(self) -> Run:
        """The run as it stands."""
        plan, trainer, grown = self._plan, self.trainer, self.trainer.grown
        now = trainer.tables, trainer.games, self._clock.seconds, trainer.outcomes
        statistics = self._recorder.statistics_now(*now)
        provenance = plan.provenance | self._clock.provenance(self._command) | {"threads": self._threads}
        if plan.earlier is not None:
            provenance |= {key: plan.provenance[key] for key in ("created", "command") if key in plan.provenance}
            provenance["resumed_by"] = self._command
        tables, visits = trainer.tables, trainer.visits
        if grown is not None:
            tables, visits = grown.compact()[1:]
        run = Run(plan.config, tables, trainer.games, statistics, provenance, visits=visits, grown=grown)
        run.interrupted, run.goal = trainer.games < plan.total, plan.total
        if grown is not None and grown.lost:
            lost_before = int(plan.provenance.get("positions_without_room", 0))
            run.provenance["positions_without_room"] = lost_before + grown.lost
        return run

    def _end_of_slice(self) -> int:
        """Games up to which to play before looking up: the end of a batch, or of the run."""
        games, batches = self.trainer.games, self.trainer.batches
        end = batch_bounds(batches, games)[1]
        until = min(self._plan.total, self._point, max(end, batch_bounds(batches, games + self._slice_games)[0]))
        due = math.inf if self._checkpoints is None else self._checkpoints.next_games()
        if due < until:
            until = min(until, batch_bounds(batches, max(int(due) - 1, games))[1])
        return until

    def _play_slice(self, until: int) -> None:
        """Learn from the games up to `until`, and let the next slice take about SLICE_SECONDS."""
        began = self._clock.seconds
        self.trainer.advance(until, self._watch.stop)
        elapsed = self._clock.seconds - began
        if elapsed < SLICE_SECONDS / 2:
            self._slice_games = min(2 * self._slice_games, MAX_GAMES)
        elif elapsed > 2 * SLICE_SECONDS:
            self._slice_games = math.ceil(self._slice_games / 2)

    def _is_full(self) -> bool:
        """Whether training has to end since the table of a growing board is full; say so, and where it goes on so."""
        grown = self.trainer.grown
        if grown is None:
            return False
        if self.trainer.full:
            self._watch.say(
                f"the table is full at {grown.positions:,} positions, and flow needs room for all that its "
                f"games reach: training ends here. Raise {option('max_memory')} and resume, or choose "
                f"{option('engine', 'walk')}"
            )
            return True
        if grown.lost and not self._told_full:
            self._told_full = True
            self._watch.say(
                f"the table is full at {grown.positions:,} positions: new ones are played as at their start "
                f"value and not kept; training goes on. Raise {option('max_memory')} for more"
            )
        return False

    def _record(self) -> None:
        trainer = self.trainer
        self._recorder.record(trainer.tables, trainer.games, self._clock.seconds, trainer.outcomes)
        if trainer.games == self._point:
            self._point = next(self._points)

    def _progress(self, recorded: bool) -> Progress:
        trainer, checkpoints, grown = self.trainer, self._checkpoints, self.trainer.grown
        wins, draws, losses = (int(n) for n in trainer.outcomes)
        return Progress(
            games=trainer.games,
            total=self._plan.total,
            seconds=self._clock.seconds,
            outcomes=(wins, draws, losses),
            unbeatable_since=self._recorder.since,
            recorded=recorded,
            saved=0 if checkpoints is None else checkpoints.file.saved,
            saved_in=Progress.saved_in if checkpoints is None else checkpoints.file.where,
            positions=None if grown is None else grown.positions,
            without_room=0 if grown is None else grown.lost,
        )
