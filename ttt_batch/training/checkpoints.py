"""Checkpoints of a training, and run files that are rewritten after each game learnt from.

A failed checkpoint never stops a training.  The failure is reported once, and the next checkpoint tries again.
"""

import math
import re
import time
from collections.abc import Callable
from contextlib import ExitStack, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, Self

from ttt_batch.base.choices import fold_case
from ttt_batch.base.errors import RunFileError, TakenError, UsageError, flag, quoted
from ttt_batch.base.files import shown, unused_paths
from ttt_batch.base.lock import Lock
from ttt_batch.base.quantities import count_text, exact_number, parse_int
from ttt_batch.runs.batches import MAX_GAMES
from ttt_batch.runs.runfile.checks import RunData
from ttt_batch.runs.runfile.writing import RUN_FILE, Stamp, is_unchanged, save_run, stamp_of

DEFAULT_EVERY = "30s"

Say = Callable[[str], None]


class Storable(Protocol):
    """Run that can be saved: a table of positions or pattern networks."""

    games: int
    file: Path | None

    def data(self) -> RunData:
        """Return the contents of its file."""

    def save(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Write the run to `path`."""


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
        self._coming: tuple[Stamp, int] | None = None  # what the current write publishes
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

    def write(self, run: Storable) -> None:
        """Write the run, and set its `file`.

        Raises RunFileError if neither this file nor one beside it can be written, TakenError if another process is
        writing this one.
        """
        data = run.data()

        def known(stamp: Stamp) -> None:
            self._coming = stamp, run.games

        with nullcontext() if self._hold else Lock(self._target):
            try:
                ours = self._is_ours()
                if ours is not False:
                    self._stamp = save_run(self._target, data, overwrite=ours is True, before=known)
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
            coming, self._coming = self._coming, None
            if coming is not None and is_unchanged(self._target, coming[0]):
                self._stamp, self.saved = coming
            if self._stamp is not None and is_unchanged(self._target, self._stamp):
                return True
            try:
                self._target.stat()
            except FileNotFoundError:
                return None
            return False

    def _write_beside(self, run: Storable, data: RunData) -> None:
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


def parse_every(text: str) -> Every:
    """Parse `30s`, `1Mgames` or `never`.  Raises UsageError."""
    name = flag("checkpoint_every")
    if fold_case(text) == "never":
        return Every()
    match = re.fullmatch(r"(.+?) ?(games?|s)", text.strip(), re.IGNORECASE)
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

    def attempt(self, run: Storable) -> None:
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

    def finish(self, run: Storable, elsewhere: Callable[[RunFileError], Path | None] | None = None) -> None:
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
