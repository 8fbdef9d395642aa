"""Checkpoints: a training's run file, written again and again while no other process may write it.

A checkpoint that fails never stops a training: it is reported once, and tried again when the next one is due.
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
from ttt_batch.training.rewriting import RewrittenRun, Say

DEFAULT_EVERY = "30s"


@dataclass(frozen=True)
class Every:
    """The seconds or games between two checkpoints, whichever is finite; one is written at the end in any case."""

    seconds: float = math.inf
    games: int | None = None


def parse_every(text: str) -> Every:
    """Read `30s`, `1Mgames` or `never`.  Raises UsageError."""
    name = option("checkpoint_every")
    if fold(text) == "never":
        return Every()
    match = re.fullmatch(r"(.+?) ?(games?|s)", text.strip(), re.IGNORECASE)
    if match and match[2].lower() != "s":
        return Every(games=whole(name, match[1], 1, MAX_GAMES))
    seconds = exact_number(match[1]) if match else None
    if seconds is None or not 0 <= seconds < 10**9:
        raise UsageError(f"{name} {quoted(text)} is none of 30s, 1Mgames and never; give one of these forms")
    return Every(seconds=float(seconds))


class Checkpoints(RewrittenRun):
    """The run file of one training; until the `with` block ends no other process can write it.

    every: when a checkpoint is due.  say: called with a line if one fails, or succeeds again, or goes into another
    file.  path, overwrite: as for `RewrittenRun`.
    """

    def __init__(self, path: Path, *, overwrite: bool, every: Every, say: Say) -> None:
        super().__init__(path, overwrite=overwrite, hold=True, say=say)
        self._every, self._failing = every, False
        self.begin(0)

    def begin(self, games: int) -> None:
        """Count from now, when the run has `games` games."""
        self._last_time, self._last_games = time.perf_counter(), games

    def next_games(self) -> float:
        """Games from which on the next one is due; infinite if that depends on time."""
        return math.inf if self._every.games is None else self._last_games + self._every.games

    def due(self, games: int) -> bool:
        """Whether the next one is due, when the run has `games` games."""
        return games >= self.next_games() or time.perf_counter() - self._last_time >= self._every.seconds

    def attempt(self, run: Run) -> None:
        """Write a checkpoint if that is possible; warn once if not."""
        try:
            self.write(run)
        except RunFileError as error:
            if not self._failing:
                self._say(f"{error}; training goes on, and the next checkpoint tries again")
            self._failing = True
        else:
            if self._failing:
                self._say(f"checkpoints are written to {shown(self.path)} again")
            self._failing = False
        self.begin(run.games)  # from now on, so that a slow disk does not take all the time

    def finish(self, run: Run, elsewhere: Callable[[RunFileError], Path | None] | None = None) -> None:
        """Write the run at the end, and set its `file`.

        elsewhere: called for another, new file if that fails, until it succeeds or None is returned.
        Raises RunFileError if it was not written, with what has become of the last checkpoint.
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
