"""What becomes of the games that people play: a run learns from them, and a text file keeps them.

A lesson is `learn_from` with one game, so lessons one after the other end in the tables that `learn_from` makes of all
these games.  A person's moves count as greedy, like the agent's, and both seats' tables learn.
"""

import math
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ttt_batch.base.outputs import Kind
from ttt_batch.game.board import EMPTY, FIRST, Board, Position
from ttt_batch.game.solution import Truth
from ttt_batch.game.transcript_notation import parse_line
from ttt_batch.game.transcripts import GamesError
from ttt_batch.runs.run import Run
from ttt_batch.training.from_games import given_config, learn_from
from ttt_batch.training.rewriting import RewrittenRun, warn_python

_RECORD = Kind(GamesError, "record", "append games to")


class Lessons:
    """A run that goes on learning, game by game; as an agent it plays by what it knows now.

    run: as it is now.  Its configuration is that of `learn_from` going on from the run given here; recorded points of
    the time before stay, and the last one is that of its tables now.

    path: the run's file, or a new one, written after every lesson; None keeps the lessons in memory.
    overwrite: whether `path` may exist, as the run's own file does.
    command: what the file says it was taught by.
    warn: called with a line if another program has replaced the file, and lessons are kept in a new one beside it; a
    Python warning if not given.

    Raises UsageError where the step size goes by the games of a training, and RunFileError where `path` cannot be
    written, exists (unless `overwrite`), or a training is writing it.
    """

    def __init__(
        self,
        run: Run,
        path: str | Path | None = None,
        *,
        overwrite: bool = True,
        command: str = "",
        warn: Callable[[str], None] = warn_python,
    ) -> None:
        self.run, self._start = run, run
        self._before: Run | None = None  # as it was before the last lesson, unless that was undone
        self._command, self._began = command, time.perf_counter()
        # A training may come and go while the person is thinking; what it learns must not be lost.
        self._file = None if path is None else RewrittenRun(Path(path), overwrite=overwrite, hold=False, say=warn)
        self._config = given_config(None, run)

    @property
    def board(self) -> Board:
        """The board it plays on."""
        return self.run.board

    @property
    def worth(self) -> NDArray[np.float64]:
        """float64[P, 4]: what each outcome is worth to each player, on the run's scale."""
        return self.run.worth

    def candidates(self, position: Position) -> list[int]:
        """Cells that the run's rule may pick now."""
        return self.run.candidates(position)

    def move_values(self, position: Position) -> dict[int, float]:
        """The run's value of each free cell now."""
        return self.run.move_values(position)

    def true_moves(self, position: Position) -> dict[int, Truth] | None:
        """The truth behind each move; None on a growing board."""
        return self.run.true_moves(position)

    def teach(self, cells: Sequence[int]) -> int:
        """Learn from a finished game, its cells (from 0) in order, and save; return how many positions changed value.

        Action tables count the positions whose move changed value.  Raises GamesError for what is no finished game,
        and RunFileError where the run could not be saved; nothing is learnt then.
        """
        line = " ".join(map(str, cells))
        try:
            if not parse_line(line, self.board, occupied=self.run.learner.occupied):
                raise GamesError("a game needs a move")
        except GamesError as error:
            raise GamesError(f"the game: {error}; nothing was learnt") from None
        run, _ = learn_from([line], run=self.run)
        run.config = self._config
        run.background = self.run.background
        self._describe(run)
        changed = _changed_positions(self.run, run, cells)
        self._save(run)
        self._before, self.run = self.run, run
        return changed

    def undo(self) -> bool:
        """Go back to before the last lesson, and save that; return False where there is no lesson left to undo.

        One lesson can be undone.  The first one undone leaves the very file that was there before.
        Raises RunFileError where the run could not be saved; the lesson stays then.
        """
        if self._before is None:
            return False
        self._save(self._before)
        self.run, self._before = self._before, None
        return True

    def _describe(self, run: Run) -> None:
        """Give `run`, just taught, the past of the run before it."""
        seconds, point, past = time.perf_counter() - self._began, run.statistics, self._start.statistics
        if past.keys() == point.keys() and past["games"].size:
            point["seconds"] = past["seconds"][-1:] + seconds
            point["outcomes"] = point["outcomes"] + self.run.statistics["outcomes"][-1]
            run.statistics = {name: np.concatenate([past[name], point[name]]) for name in point}
        origin = self._start.provenance
        run.provenance = origin | run.provenance | {"command": self._command}
        run.provenance["seconds"] = float(origin.get("seconds", 0.0)) + seconds
        if origin:
            run.provenance |= {key: origin[key] for key in ("created", "command") if key in origin}
            run.provenance["taught_by"] = self._command

    def _save(self, run: Run) -> None:
        if self._file is not None:
            self._file.write(run)


def _changed_positions(before: Run, after: Run, cells: Sequence[int]) -> int:
    """Positions with another value than before the game `cells`, which changes at most one move of each."""
    if any(old.shape != new.shape for old, new in zip(before.tables, after.tables, strict=True)):
        return _changed_moves(before, after, cells)
    changed = np.zeros(1, np.bool_)
    for old, new in zip(before.tables, after.tables, strict=True):
        differs = (old != new) & ~(np.isnan(old) & np.isnan(new))
        changed = changed | differs.reshape(-1, differs.shape[-1]).any(axis=0)
    return int(changed.sum())


def _changed_moves(before: Run, after: Run, cells: Sequence[int]) -> int:
    """Moves of the game with another value than before, for tables that grew and cannot be laid side by side."""
    marks, changed = [EMPTY] * after.board.cells, 0
    for ply, cell in enumerate(cells):
        old, new = (run.move_values(tuple(marks)).get(cell, math.nan) for run in (before, after))
        changed += old != new and not (math.isnan(old) and math.isnan(new))
        marks[cell] = marks[cell] or FIRST + ply % 2
    return changed


class GameRecord:
    """A text file to which finished games are appended, in the notation of `transcripts`; call it with a game's cells.

    Raises GamesError at once where `path` cannot be written, or holds something other than text.
    """

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)
        _RECORD.check_text(self._path)

    def __call__(self, cells: Sequence[int]) -> None:
        """Append a game.  Raises GamesError for what the disk refuses."""
        _RECORD.append_line(self._path, " ".join(map(str, cells)).encode())
