"""Checkpoints: a training's run file, written again and again while nobody else may write it.

A checkpoint that fails never stops a training: it is said once, and tried again when the next one is due.  `rewriting`
knows whether the file is still that of the training.
"""

import math
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ttt_batch.base.choices import fold
from ttt_batch.base.errors import RunFileError, UsageError, option, quoted
from ttt_batch.base.files import shown
from ttt_batch.base.quantities import exact_number, whole
from ttt_batch.runs.batches import MAX_GAMES
from ttt_batch.runs.run import Run
from ttt_batch.training.rewriting import RewrittenRun

DEFAULT_EVERY = "30s"


@dataclass(frozen=True)
class Every:
    """How often: after so many seconds or games, whichever is finite; at the end in any case."""

    seconds: float = math.inf
    games: int | None = None


def parse_every(text: str) -> Every:
    """Read `30s`, `1Mgames` or `never`.  Raises UsageError."""
    name = option("checkpoint_every")
    if fold(text) == "never":
        return Every()
    if match := re.fullmatch(r"(.+?) ?games?", text.strip(), re.IGNORECASE):
        return Every(games=whole(name, match[1], 1, MAX_GAMES))
    match = re.fullmatch(r"(.+?) ?s", text.strip(), re.IGNORECASE)
    seconds = exact_number(match[1]) if match else None
    if seconds is None or not 0 <= seconds < 10**9:
        raise UsageError(f"{name} {quoted(text)} is none of 30s, 1Mgames and never; give one of these forms")
    return Every(seconds=float(seconds))


class Checkpoints:
    """The run file of one training; nobody else can write it while it is entered.

    path: the run file.  overwrite: whether it may exist.  every: when a checkpoint is due.
    warn: called with a line where one fails, or succeeds again, or goes into another file.
    """

    def __init__(self, path: Path, *, overwrite: bool, every: Every, warn: Callable[[str], None]) -> None:
        self._first, self._overwrite, self._every, self._warn = path, overwrite, every, warn
        self._failing = False

    def __enter__(self) -> "Checkpoints":
        self.file = RewrittenRun(self._first, overwrite=self._overwrite, hold=True, say=self._warn)
        self._last_time, self._last_games = time.perf_counter(), 0
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()

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
                self._warn(f"checkpoints are written to {shown(self.file.path)} again")
            self._failing = False
        self.begin(run.games)  # from now on, so that a slow disk does not take all the time

    def write(self, run: Run) -> None:
        """Write the run.  Raises RunFileError if it cannot be written."""
        self.file.write(run)

    def finish(self, run: Run, elsewhere: Callable[[RunFileError], Path | None] | None = None) -> None:
        """Write the run in the end, and note in it where.

        elsewhere: asked for another, new file where that fails, until it succeeds or None is returned.
        Raises RunFileError if it was not written, with what has become of the last checkpoint.
        """
        try:
            self.write(run)
            return
        except RunFileError as error:
            failure = error
        while other := elsewhere(failure) if elsewhere is not None else None:
            try:
                run.file = run.save(other)
                return
            except RunFileError as error:
                failure = error
        raise RunFileError(f"{failure}; {self.file.where(run.games)}")
