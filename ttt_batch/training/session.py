"""Training loop over slices of games, with snapshots and checkpoints.

Batches and recorded points depend on the game number alone, so the slices do not affect the result.

Checkpoints of a training, and run files that are rewritten after each game learnt from.
A failed checkpoint never stops a training.  The failure is reported once, and the next checkpoint tries again.
"""

import math
import re
import time
from collections.abc import Callable
from contextlib import ExitStack, nullcontext, suppress
from dataclasses import dataclass, replace
from itertools import takewhile
from pathlib import Path
from typing import Any, Self

import numpy as np

from ttt_batch.core.errors import BoardError, RunFileError, TakenError, UsageError, flag, quoted
from ttt_batch.core.files import shown, unused_paths
from ttt_batch.core.outputs import Lock
from ttt_batch.core.text import count_text, exact_number, fold_case, parse_int, size_text
from ttt_batch.games.transcripts import GamesWriter
from ttt_batch.runs.base import StoredRun
from ttt_batch.runs.growing_table import GrowingTable
from ttt_batch.runs.options import MAX_GAMES
from ttt_batch.runs.run import Clock, Recorder, Run, resumed_provenance
from ttt_batch.runs.state import KeptPoints
from ttt_batch.runs.storage.declaration import RunData
from ttt_batch.runs.storage.run_file import RUN_FILE, Stamp, is_unchanged, save_run, stamp_of
from ttt_batch.training.plan import Plan
from ttt_batch.training.trainers.base import Trainer

DEFAULT_EVERY = "30s"

Say = Callable[[str], None]


class RewrittenRun:
    """Writer that rewrites one run's file as often as needed, and never overwrites another program's file.

    The file is ours while its content is the original one or our last checkpoint.  Touching it or restoring it from a
    copy does not matter.  If another program replaces the file, the run is saved in a new file beside it.

    path: the current file.  saved: games in the last checkpoint; 0 before the first.
    """

    def __init__(self, path: Path, *, overwrite: bool, hold: bool, say: Say) -> None:
        """Check that a run can be written to `path`.

        overwrite: whether the file may exist.
        hold: hold the lock until the `with` block ends, not only during a write.
        say: called with one line if the run is saved in another file.

        Raises RunFileError if a run cannot be written, TakenError if the name is in use.
        """
        self.path, self.saved = path, 0
        self._coming: list[Stamp] = []  # of the file that the current write publishes
        self._first, self._hold, self._say = path, hold, say
        self._locks = ExitStack()
        # Reject impossible paths before a lock file is made beside them.
        self._target = RUN_FILE.place(path, overwrite=True)
        with ExitStack() as stack:
            stack.enter_context(Lock(self._target))
            RUN_FILE.check(path, overwrite=overwrite)
            with RUN_FILE.refusing(path):
                self._stamp: Stamp | None = stamp_of(self._target) if overwrite else None
            if hold:
                self._locks = stack.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._locks.close()

    def write(self, run: StoredRun) -> None:
        """Write the run, and set its `file`.

        Raises RunFileError if neither this file nor one beside it can be written, TakenError if another process is
        writing this one.
        """
        data = run.data()
        with nullcontext() if self._hold else Lock(self._target):
            try:
                ours = self._is_ours()
                if ours is not False:
                    self._stamp = save_run(self._target, data, overwrite=ours is True, coming=self._coming)
                    self.saved, run.file = run.games, self.path
                    return
            except TakenError:  # another program has just created the file
                pass
        self._write_beside(run, data)

    def where(self, learnt: int = 0) -> str:
        """Describe the state of the last checkpoint for a message.  learnt: games that the run has now."""
        unreadable, ours = False, None
        try:
            ours = self._is_ours()
        except RunFileError:
            unreadable = True
        if not self.saved:
            lost = count_text(learnt, "game learnt is", "games learnt are")
            return f"the {lost} not saved" if learnt else "nothing was written"
        last, saved = f"the last checkpoint in {shown(self.path)}", count_text(self.saved, "game")
        if unreadable:
            return f"{last}, of {saved}, cannot be read"
        if ours:
            more = learnt > self.saved
            return f"{last} holds " + (f"{self.saved:,} of the {count_text(learnt, 'game')} learnt" if more else saved)
        lost = "is gone" if ours is None else "was replaced by another program"
        return f"{last}, of {saved}, {lost}, and nothing is saved"

    def _is_ours(self) -> bool | None:
        """Return whether the file is ours, or None if it does not exist."""
        with RUN_FILE.refusing(self.path):
            coming, self._coming = self._coming, []
            if coming and is_unchanged(self._target, coming[-1]):
                self._stamp, self.saved = coming[-1], coming[-1].games
            if self._stamp is not None and is_unchanged(self._target, self._stamp):
                return True
            try:
                self._target.stat()
            except FileNotFoundError:
                return None
            return False

    def _write_beside(self, run: StoredRun, data: RunData) -> None:
        """Write the run into a new file beside the first one, and use that from now on."""
        for path in unused_paths(self._first):
            if path == self._first:
                continue  # free again: the file has just been removed
            with suppress(TakenError), ExitStack() as stack:
                target = RUN_FILE.place(path, overwrite=False)
                stack.enter_context(Lock(target))
                self._stamp = save_run(target, data)
                if self._hold:
                    self._locks.push(stack.pop_all())
                break
        replaced = shown(self.path)
        self.path, self._target = path, target
        self.saved, run.file = run.games, path
        self._say(
            f"another program has changed or replaced {replaced}, which is left as it is; "
            f"the run is saved in {shown(path)} from now on"
        )


@dataclass(frozen=True)
class Every:
    """Interval between two checkpoints, in seconds or games; the other is infinite or None."""

    seconds: float = math.inf
    games: int | None = None


def parse_every(text: object) -> Every:
    """Parse `30s`, `1Mgames` or `never`.  Raises UsageError."""
    name = flag("checkpoint_every")
    if isinstance(text, str) and fold_case(text) == "never":
        return Every()
    match = re.fullmatch(r"(.+?) ?(games?|s)", text.strip(), re.IGNORECASE) if isinstance(text, str) else None
    if match and match[2].lower() != "s":
        return Every(games=parse_int(name, match[1], 1, MAX_GAMES))
    seconds = exact_number(match[1]) if match else None
    if seconds is None or not 0 <= seconds < 10**9:
        raise UsageError(f"{name} {quoted(text)} is not an interval; give e.g. 30s, 1Mgames or never")
    return Every(seconds=float(seconds))


class Checkpoints(RewrittenRun):
    """Checkpoint writer of one training, which locks the run file until the `with` block ends.

    every: the interval between checkpoints.  say: called with one line if a checkpoint fails, succeeds again, or is
    saved in another file.  path, overwrite: as for `RewrittenRun`.
    """

    def __init__(self, path: Path, *, overwrite: bool, every: Every, say: Say) -> None:
        super().__init__(path, overwrite=overwrite, hold=True, say=say)
        self._every, self._failing = every, False
        self.begin(0)

    def begin(self, games: int) -> None:
        """Start a new interval at `games` games."""
        self._last_time, self._last_games = time.perf_counter(), games

    def next_games(self) -> float:
        """Return the games at which the next checkpoint is due; infinite if the interval is a time."""
        return math.inf if self._every.games is None else self._last_games + self._every.games

    def due(self, games: int) -> bool:
        """Return whether the next checkpoint is due at `games` games."""
        return games >= self.next_games() or time.perf_counter() - self._last_time >= self._every.seconds

    def attempt(self, run: StoredRun) -> None:
        """Write a checkpoint; if that fails, warn once and continue."""
        try:
            self.write(run)
        except RunFileError as error:
            if not self._failing:
                self._say(f"{error}; training continues, and the next checkpoint tries again")
            self._failing = True
        else:
            if self._failing:
                self._say(f"checkpoints are written to {shown(self.path)} again")
            self._failing = False
        self.begin(run.games)  # after the write, so that a slow disk does not take all the time

    def finish(self, run: StoredRun, elsewhere: Callable[[RunFileError], Path | None] | None = None) -> None:
        """Write the finished run, and set its `file`.

        elsewhere: called after each failure for another new file, until a write succeeds or it returns None.
        Raises RunFileError, with the state of the last checkpoint, if the run was not written.
        """
        try:
            self.write(run)
            return
        except RunFileError as error:
            failure = error
        while elsewhere is not None and (other := elsewhere(failure)):
            try:
                run.file = run.save(other)
                return
            except RunFileError as error:
                failure = error
        raise RunFileError(f"{failure}; {self.where(run.games)}")


class SnapshotStore:
    """Store of snapshots, allocated for all points of the training.

    tables: the start tables.  limit: maximum bytes of the snapshots.  note: called with a line about this size.
    Raises UsageError if the table grows, and BoardError if the snapshots exceed `limit`.
    """

    def __init__(self, plan: Plan, tables: Any, limit: int, note: Callable[[str], None] | None) -> None:
        keep, past = flag("keep_points", True), plan.resumed and plan.resumed.points
        if plan.config.grown:
            raise UsageError(
                f"{keep} keeps the same positions at every point, and the table of {plan.config.board.name} grows; "
                "leave it out"
            )
        due = takewhile(lambda games: games < plan.total, plan.config.record_schedule())
        began = 0 if plan.state is None else plan.state.games
        stay = np.zeros(0, np.bool_)  # snapshots of the resumed run
        if past is not None and plan.earlier is not None:
            stay = np.isin(past.games, plan.earlier["games"])
        room = int(sum(games > began for games in due) + 1 + stay.sum())
        one = sum(array.nbytes for array in tables)
        size = f"{count_text(room, 'recorded point')} with tables of {size_text(one)} each"
        if room * one > limit:
            raise BoardError(
                f"{size} take {size_text(room * one)}, and {size_text(limit)} may be used: "
                f"raise {flag('max_memory')}, or leave {keep} out"
            )
        if note is not None:
            note(f"keeping {size}: the run file will grow by about {size_text(room * one)}")
        self._games = np.zeros(room, np.int64)
        # The system provides memory only when it is written to.
        self._tables = type(tables)(*(np.empty((room, *array.shape), array.dtype) for array in tables))
        self._number = 0
        for number in np.flatnonzero(stay):
            self.keep(past.games[number], [array[number] for array in past.tables])

    def keep(self, games: int, tables: Any) -> None:
        """Store a snapshot of the tables at `games` games."""
        self._games[self._number] = games
        for place, array in zip(self._tables, tables, strict=True):
            place[self._number] = array
        self._number += 1

    def points_now(self, games: int, tables: Any) -> KeptPoints:
        """Return the snapshots so far, plus the current tables as a provisional last one unless already stored.

        The arrays are views, which the next snapshot changes.
        """
        number = self._number
        if not number or self._games[number - 1] != games:
            self.keep(games, tables)
            self._number, number = number, number + 1
        return KeptPoints(self._games[:number], type(tables)(*(array[:number] for array in self._tables)))


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
    run: returns the current run, whose tables the training still changes; None for networks.
    proofs: for networks, each seat's latest verdict (`proved`, `refuted` or `undecided`) and positions entered; else
    None.
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


@dataclass(frozen=True)
class Hooks:
    """Functions that a training calls, and facts about it for the run's provenance.

    progress: called at every recorded point and about twenty times a second, unless None.  If it waits to keep a pace,
    it returns the seconds (float) that it waited; then it is called after fewer games.
    stop: called as often; returns True to end after the current batch.  say: called with one line of warning.
    """

    progress: Callable[[Progress], float | None] | None = None
    stop: Callable[[], bool] = lambda: False
    say: Callable[[str], None] = lambda _: None
    command: str = ""
    threads: int = 1


@dataclass
class Session:
    """Training that runs `trainer` up to the games of its plan.

    checkpoints: writer of the run file; None to write no file.
    keeper: stores snapshots at recorded points; None to store none.  writer: of the games played, if they are recorded.
    """

    plan: Plan
    trainer: Trainer
    clock: Clock
    hooks: Hooks
    checkpoints: Checkpoints | None = None
    keeper: SnapshotStore | None = None
    writer: GamesWriter | None = None

    def __post_init__(self) -> None:
        self._recorder = Recorder(self.trainer.seats)
        if self.plan.earlier is not None:
            self._recorder.restore(self.plan.earlier)
        self._began = self.trainer.games
        self._point = self.trainer.next_point(self._began - self.plan.lacks_point)
        first, end = self.trainer.bounds(0)
        self._slice_games = end - first
        self._warned = False

    def train(self) -> Any:
        """Train to the plan's games, or until stopped; return the run.

        A resumed run is returned itself if no further batch was learnt and no point recorded.
        """
        trainer, plan = self.trainer, self.plan
        recorded = (plan.lacks_point or plan.total == 0) and self._record()
        if plan.lacks_point and self.hooks.progress is not None:
            self.hooks.progress(self._progress(recorded))
        before = self._advance()
        if trainer.games == self._began and not recorded and plan.resumed is not None:
            run = plan.resumed
            run.interrupted, run.full = True, trainer.full
        else:
            run = self._run_now()
            if before is not None:
                run.batch_start = before
        return run

    def _advance(self) -> Any:
        """Train; return the state before an unfinished last batch, or None if the training ends with a whole batch."""
        trainer, total, checkpoints = self.trainer, self.plan.total, self.checkpoints
        last_batch, its_end = trainer.bounds(total - 1)
        last_batch = total if its_end == total else last_batch  # which the run ends within
        before = None
        if checkpoints is not None:
            checkpoints.begin(trainer.games)
        while trainer.games < total and not self.hooks.stop():
            if trainer.games >= last_batch:
                before = trainer.state()
            first, waited = trainer.games, 0.0
            seconds = self._play_slice(total if first >= last_batch else last_batch)
            if trainer.grown is not None and self._is_full(trainer.grown):
                break
            recorded = trainer.games == min(self._point, total) and trainer.games > first and self._record()
            if checkpoints is not None and first < trainer.games < total and checkpoints.due(trainer.games):
                checkpoints.attempt(self._run_now())
            if self.hooks.progress is not None:
                told = self.hooks.progress(self._progress(recorded))
                waited = told if isinstance(told, float) else 0.0
            self._resize_slice(trainer.games - first, seconds, waited)
        if trainer.games > self._recorder.last and (judged := trainer.glance()) is not None:
            self._add_point(judged)
        return before if before is not None and trainer.games > before.games else None

    def _run_now(self) -> Any:
        """Return the run in its current state, with a provisional last point unless it is recorded."""
        plan, trainer, recorder = self.plan, self.trainer, self._recorder
        judged = None if 0 < trainer.games == recorder.last else trainer.glance()
        if judged is not None:
            recorder.record(trainer.games, self.clock.seconds, trainer.outcomes, judged)
        run = trainer.run(recorder.statistics())
        if judged is not None:
            recorder.drop_last()
        now = self.clock.provenance(self.hooks.command) | {"threads": self.hooks.threads}
        if trainer.grown is not None and trainer.grown.lost:
            now["positions_without_room"] = int(plan.provenance.get("positions_without_room", 0)) + trainer.grown.lost
        run.provenance, run.goal = resumed_provenance(plan.provenance, now, "resumed_by"), plan.total
        run.interrupted = trainer.games < plan.total or trainer.games == self._point
        if self.keeper is not None:
            run.points = self.keeper.points_now(trainer.games, trainer.tables)
        return run

    def _play_slice(self, last: int) -> float:
        """Learn from a slice of games, to the end of a batch or to `last`; return its seconds."""
        games, bounds = self.trainer.games, self.trainer.bounds
        if self._point <= games:  # its evaluation was stopped
            self._point = self.trainer.next_point(games)
        until = min(last, self._point, max(bounds(games)[1], bounds(games + self._slice_games)[0]))
        due = math.inf if self.checkpoints is None else self.checkpoints.next_games()
        if due < until:
            until = min(until, bounds(max(int(due) - 1, games))[1])
        began = self.clock.seconds
        self.trainer.advance(until, self.hooks.stop)
        return self.clock.seconds - began

    def _resize_slice(self, games: int, seconds: float, waited: float) -> None:
        """Resize the next slice to about SLICE_SECONDS, after one of `games` games in `seconds`.

        waited: seconds that the progress callback waited on purpose; after a long wait the next slice is a batch.
        """
        # A slice that a recorded point cuts short says little.
        if waited > 2 * SLICE_SECONDS:
            self._slice_games = 1
        elif seconds + waited < SLICE_SECONDS / 2 and games >= self._slice_games / 2:
            self._slice_games = min(2 * self._slice_games, MAX_GAMES)
        elif seconds > 2 * SLICE_SECONDS:
            self._slice_games = math.ceil(self._slice_games / 2)

    def _is_full(self, grown: GrowingTable) -> bool:
        """Return whether a full table of a growing board ends the training; warn if the table is full."""
        memory = flag("max_memory")
        full = f"the table is full at {grown.positions:,} positions"
        if self.trainer.full:
            self.hooks.say(
                f"{full}, and flow needs room for all positions of its games: training ends here. "
                f"Raise {memory} and resume, or choose {flag('engine', 'walk')}"
            )
        elif grown.lost and not self._warned:
            self._warned = True
            self.hooks.say(
                f"{full}: new ones are played at their start value and not stored; training continues. "
                f"Raise {memory} for more"
            )
        return self.trainer.full

    def _record(self) -> bool:
        """Record a point of the current state; return False, without a point, if `stop` ends its evaluation."""
        judged = self.trainer.judge(self.hooks.stop)
        if judged is not None:
            self._add_point(judged)
            if self.trainer.games == self._point:
                self._point = self.trainer.next_point(self._point)
        return judged is not None

    def _add_point(self, judged: dict[str, Any]) -> None:
        trainer = self.trainer
        self._recorder.record(trainer.games, self.clock.seconds, trainer.outcomes, judged)
        if self.keeper is not None:
            self.keeper.keep(trainer.games, trainer.tables)

    def _progress(self, recorded: bool) -> Progress:
        trainer, checkpoints, grown = self.trainer, self.checkpoints, self.trainer.grown
        wins, draws, losses = trainer.outcomes.tolist()
        counts = trainer.games, self.plan.total, self.clock.seconds, (wins, draws, losses)
        run = self._run_now if trainer.proofs is None else None
        now = Progress(*counts, self._recorder.since, recorded, proofs=trainer.proofs, run=run)
        if checkpoints is not None:
            now = replace(now, saved=checkpoints.saved, saved_in=checkpoints.where)
        return now if grown is None else replace(now, positions=grown.positions, without_room=grown.lost)
