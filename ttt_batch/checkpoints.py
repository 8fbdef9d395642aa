"""Checkpoints: a training's run file, written again and again while nobody else may write it.

A checkpoint that fails never stops a training: it is said once, and tried again when the next one is due.
"""

import math
import re
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from ttt_batch import files
from ttt_batch.batches import MAX_GAMES
from ttt_batch.errors import RunFileError, UsageError
from ttt_batch.files import shown
from ttt_batch.lock import Lock
from ttt_batch.run import Run
from ttt_batch.runfile import check_target, save_run

DEFAULT_EVERY = "30s"


@dataclass(frozen=True)
class Every:
    """How often: after so many seconds or games, whichever is finite; at the end in any case."""

    seconds: float = math.inf
    games: int | None = None


def parse_every(text: str) -> Every:
    """Read `30s`, `1000000games` or `never`.  Raises UsageError."""
    plain = text.replace(" ", "").replace("_", "").replace(",", "")
    if plain == "never":
        return Every()
    if match := re.fullmatch(r"(\d{1,9}(?:\.\d{1,9})?)s", plain):
        return Every(seconds=float(match[1]))
    match = re.fullmatch(r"(\d{1,16})games", plain)
    if match and 1 <= int(match[1]) <= MAX_GAMES:
        return Every(games=int(match[1]))
    raise UsageError(f"checkpoint-every {text!r} is none of 30s, 1000000games and never; give one of these forms")


class Checkpoints:
    """The run file of one training; locked while entered, and then cleared of what a killed training left beside it.

    path: the run file.  overwrite: whether it may exist.  every: when a checkpoint is due.
    warn: called with a line where one fails, or succeeds again.
    saved: games in the last one; 0 before the first.
    """

    def __init__(self, path: Path, *, overwrite: bool, every: Every, warn: Callable[[str], None]) -> None:
        self.path, self.saved = path, 0
        self._overwrite, self._every, self._warn = overwrite, every, warn
        self._failing = False

    def __enter__(self) -> "Checkpoints":
        with ExitStack() as stack:
            _check_place(self.path)
            target = self.path.resolve()
            stack.enter_context(Lock(target))
            check_target(self.path, overwrite=self._overwrite)
            files.remove_left(target, (b"ttt-batch run, format ", b"pid "))
            self._known = files.identity(target) if self._overwrite else None
            self._target = target
            self._last_time, self._last_games = time.perf_counter(), 0
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def begin(self, games: int) -> None:
        """Count from here, where the run has so many games."""
        self._last_time, self._last_games = time.perf_counter(), games

    def next_games(self) -> float:
        """Games from which on the next one is due; infinite where that goes by time."""
        return math.inf if self._every.games is None else self._last_games + self._every.games

    def due(self, games: int) -> bool:
        """Whether the next one is due, where the run has so many games."""
        return games >= self.next_games() or time.perf_counter() - self._last_time >= self._every.seconds

    def attempt(self, run: Run) -> None:
        """Write a checkpoint if that is possible; say so once if not."""
        try:
            self.write(run)
        except RunFileError as error:
            if not self._failing:
                self._warn(f"{error}; training goes on, and the next checkpoint tries again")
            self._failing = True
        else:
            if self._failing:
                self._warn(f"checkpoints are written to {shown(self.path)} again")
            self._failing = False
        self.begin(run.games)  # from now on, so that a slow disk does not take all the time

    def write(self, run: Run) -> None:
        """Write the run.  Raises RunFileError where it cannot be, or somebody else has changed the file."""
        try:
            now = files.identity(self._target)
        except OSError as exc:
            raise RunFileError(f"cannot write {shown(self.path)}: {files.reason(exc)}; name another --out") from exc
        if now is not None and now != self._known:
            raise RunFileError(
                f"cannot write {shown(self.path)}: another program has changed or replaced it meanwhile, and it is "
                "left as it is; move it away, or name another --out"
            )
        save_run(self._target, run.data(), overwrite=now is not None)
        self.saved = run.games
        try:
            self._known = files.identity(self._target)
        except OSError:
            self._known = None  # gone again already, with its folder

    def finish(self, run: Run, elsewhere: Callable[[RunFileError], Path | None] | None = None) -> None:
        """Write the run in the end.

        elsewhere: asked for another, new file where that fails, until it succeeds or None is returned.
        Raises RunFileError where it was not written; `saved` says what the file holds.
        """
        try:
            self.write(run)
            return
        except RunFileError as error:
            failure = error
        while other := elsewhere(failure) if elsewhere is not None else None:
            try:
                run.save(other)
                return
            except RunFileError as error:
                failure = error
        if self.saved:
            held = f"the last checkpoint in {shown(self.path)} holds {self.saved:,} of the {run.games:,} games learnt"
        else:
            held = f"the {run.games:,} games learnt are not saved"
        raise RunFileError(f"{failure}; {held}")


def _check_place(path: Path) -> None:
    """Refuse at once what can never be a run file, before a lock file is made beside it."""
    if not path.is_file():
        check_target(path, overwrite=True)
