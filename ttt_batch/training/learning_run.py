"""Run that learns from the games that people play against it.

An update is `learn_from` with one game.  So several updates give the same tables, or weights, as `learn_from` with all
the games.  A person's moves count as greedy, like the agent's, and the tables of both seats learn.  For networks see
`patterns.given`.
"""

import math
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from ttt_batch.base.errors import GamesError, warn_python
from ttt_batch.game.board import EMPTY, FIRST, RESIGNS
from ttt_batch.game.graph import rows_of_edges
from ttt_batch.game.transcripts import Games, parse_line
from ttt_batch.runs.knowledge import AgentProxy
from ttt_batch.runs.loading import AnyRun
from ttt_batch.runs.recorder import Clock, resumed_provenance
from ttt_batch.runs.run import Run
from ttt_batch.training.checkpoints import RewrittenRun
from ttt_batch.training.from_games import config_from_games, games_learner


class LearningRun(AgentProxy):
    """Run that continues to learn, game by game, and plays as an agent by its current tables or weights.

    run: the current run.  It has the configuration with which `learn_from` continues the original run, that run's
    recorded points, and a last point for the current tables.
    path: the run's file, or a new one, written after every update; None keeps the updates in memory.
    overwrite: whether `path` may exist, as the run's own file does.  command: recorded in the file.
    warn: called with one line, instead of a Python warning, if another program has replaced the file.

    Raises UsageError if the step size depends on the games of a training.  Raises RunFileError if `path` cannot be
    written, exists (unless `overwrite`), or a training is writing it.
    """

    def __init__(
        self,
        run: AnyRun,
        path: str | Path | None = None,
        *,
        overwrite: bool = True,
        command: str = "",
        warn: Callable[[str], None] = warn_python,
    ) -> None:
        super().__init__(run)
        self.run: AnyRun = run
        self._start = run
        self._before: AnyRun | None = None  # before the last update; None after an undo
        self._command, self._began = command, time.perf_counter()
        # No lock between updates: a training may write the file while the person thinks, and its work must not be lost.
        self._file = None if path is None else RewrittenRun(Path(path), overwrite=overwrite, hold=False, say=warn)
        self._config = config_from_games(None, run)

    def update(self, cells: Sequence[int]) -> int:
        """Learn from a finished game and save; return the number of positions whose value changed.

        cells: the moves in order, counted from 0.  With action tables, count the positions whose move changed value.
        Raises GamesError if the game is not finished or not legal, and RunFileError if the run could not be saved;
        after either, nothing is learnt.
        """
        words = [RESIGNS if cell == self.board.resignation else str(cell) for cell in cells]
        line, before, clock = " ".join(words), self.run, Clock()
        try:
            rule = before.learner if isinstance(before, Run) else None
            occupied, resigns = rule is not None and rule.occupied, rule is not None and rule.boxes
            if not (moves := parse_line(line, self.board, occupied=occupied, resigns=resigns)):
                raise GamesError("a game needs a move")
        except GamesError as error:
            raise GamesError(f"the game: {error}; nothing was learnt") from None
        pupil = games_learner(self._config, before)
        taken, exploring = (np.array(column) for column in zip(*moves, strict=True))
        pupil.learn(Games(np.array([0, len(moves)]), taken.astype(np.int8), exploring))
        run = pupil.run(clock.seconds)
        if isinstance(run, Run) and isinstance(before, Run):
            run.background = before.background
        self._describe(run, clock)
        changed = _changed_positions(before, run, cells)
        self._go_on_with(run, before=before)
        return changed

    def undo(self) -> bool:
        """Undo the last update and save; return False if there is no update to undo.

        Only one update can be undone.  Undoing the first update restores the original run.
        Raises RunFileError if the run could not be saved; then the update stays.
        """
        if self._before is None:
            return False
        self._go_on_with(self._before, before=None)
        return True

    def _go_on_with(self, run: AnyRun, before: AnyRun | None) -> None:
        if self._file is not None:
            self._file.write(run)
        self.run = self._agent = run
        self._before = before

    def _describe(self, run: AnyRun, clock: Clock) -> None:
        """Prepend this run's recorded points and provenance to those of `run`."""
        seconds, point, past = time.perf_counter() - self._began, run.statistics, self._start.statistics
        if past.keys() == point.keys() and past["games"].size:
            point["seconds"] = past["seconds"][-1:] + seconds
            if isinstance(run, Run):  # networks already count the earlier games
                point["outcomes"] = point["outcomes"] + self.run.statistics["outcomes"][-1]
            run.statistics = {name: np.concatenate([past[name], point[name]]) for name in point}
            if isinstance(run, Run) and isinstance(self._start, Run):
                run.points = self._start.points
        origin = self._start.provenance
        now = clock.provenance(self._command)
        run.provenance = resumed_provenance(
            origin, now | {"seconds": float(origin.get("seconds", 0.0)) + seconds}, "taught_by"
        )


def _changed_positions(before: AnyRun, after: AnyRun, cells: Sequence[int]) -> int:
    """Return how many positions have a new value after the game `cells`, which changes at most one move of each.

    For networks, which have a value for every position, count only the positions of the game.
    """
    if not (isinstance(before, Run) and isinstance(after, Run)):
        return _changed_moves(before, after, cells)
    # Tables of moves and of positions together, or of moves of which several change together.
    mixed = len({table.shape[-1] for table in after.tables}) > 1 or after.learner.boxes
    if any(old.shape != new.shape for old, new in zip(before.tables, after.tables, strict=True)) or (
        mixed and after.grown is not None
    ):
        return _changed_moves(before, after, cells)
    changed = np.zeros(after.graph.code.size if mixed else 1, np.bool_)
    for old, new in zip(before.tables, after.tables, strict=True):
        differs = (old != new) & ~(np.isnan(old) & np.isnan(new))
        differs = differs.reshape(-1, differs.shape[-1]).any(axis=0)
        if mixed and differs.size != changed.size:
            changed[rows_of_edges(after.graph)[differs]] = True
        else:
            changed = changed | differs
    return int(changed.sum())


def _changed_moves(before: AnyRun, after: AnyRun, cells: Sequence[int]) -> int:
    """Return how many moves of the game have a new value; for networks, and for tables whose rows have changed."""
    marks, changed = [EMPTY] * after.board.cells, 0
    for ply, cell in enumerate(cells):
        old, new = (run.move_values(tuple(marks)).get(cell, math.nan) for run in (before, after))
        changed += not np.array_equal(old, new, equal_nan=True)
        marks[cell] = marks[cell] or FIRST + ply % 2
    return changed
