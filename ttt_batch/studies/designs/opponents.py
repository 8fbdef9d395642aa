"""Opponents of a study's learners: `self` for self-play, a name, or a run (its name and the digest of its tables)."""

import functools
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ttt_batch.base.errors import RunFileError, UsageError, flag, quoted
from ttt_batch.base.files import shown
from ttt_batch.runs.config import OPPONENTS
from ttt_batch.runs.loading import load
from ttt_batch.runs.lookup import name_or_run
from ttt_batch.runs.run import Run
from ttt_batch.runs.state import table_digest

SELF = "self"
NAMES = (*OPPONENTS, SELF)


@dataclass(frozen=True)
class RunOpponent:
    """Run as an opponent.

    digest: digest of its tables, as in `Config.opponent`.  Opponents with equal digests are equal.
    name: its file, or the digest of a run without a file.  given: the run, if it is already in memory.
    """

    digest: str
    name: str = field(compare=False)
    given: Run | None = field(default=None, compare=False, repr=False)

    @functools.cached_property
    def run(self) -> Run:
        """Return the run, and read it if necessary.  Raises RunFileError if its file is missing or has other tables."""
        if self.given is not None:
            return self.given
        if self.name == self.digest:
            raise RunFileError(
                f"the opponent {self.digest} was a run without a file; give that run again with {flag('opponent')}"
            )
        run = load(self.name)
        if table_digest(run.tables) != self.digest:
            raise RunFileError(
                f"{shown(Path(self.name))} is not the run that the study has as its opponent; name that run's file "
                f"with {flag('opponent')}"
            )
        return run


Opponent = str | RunOpponent
"""Opponent: one of NAMES, or a run."""


def read_opponent(given: Any) -> Opponent:
    """Return the opponent for a name, a run, or the file of a run, which it reads.

    Raises UsageError, and RunFileError if the file is missing or damaged.
    """
    if isinstance(given, RunOpponent):
        return given
    if isinstance(given, Run):
        digest = table_digest(given.tables)
        return RunOpponent(digest, digest if given.file is None else _file_name(given.file), given)
    meant = name_or_run("opponent", given, NAMES)
    if isinstance(meant, str):
        return meant
    run = load(meant)
    return RunOpponent(table_digest(run.tables), _file_name(meant), run)


def _file_name(path: Path) -> str:
    """Return a file's name as text that `read_opponent` reads as that file.  Raises UsageError if it is not text."""
    name = str(path)
    try:
        name.encode()
    except UnicodeEncodeError:
        raise UsageError(
            f"opponent {quoted(name)}: a study cannot store its name, which is not text; rename it"
        ) from None
    return f"./{name}" if name in NAMES else name
