"""The files of a training: none is written over another, and each is kept if the other fails."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from ttt_batch.base.errors import RunFileError, option
from ttt_batch.base.files import shown
from ttt_batch.base.outputs import check_distinct
from ttt_batch.game.transcript_writer import GamesWriter
from ttt_batch.game.transcripts import GamesError
from ttt_batch.runs.config import OPPONENTS
from ttt_batch.runs.lookup import find_run, name_or_run
from ttt_batch.runs.run import Run
from ttt_batch.training.checkpoints import Checkpoints


def check_files(
    out: str | Path | None,
    record: str | Path | None,
    resume: Run | str | Path | None,
    start: Run | str | Path | None,
    opponent: Run | str | Path | None,
) -> None:
    """Refuse a training that would write over what it reads, or its run over its games."""
    if opponent is not None and not isinstance(opponent, Run):
        meant = name_or_run("opponent", opponent, OPPONENTS)
        opponent = meant if isinstance(meant, Path) else None
    if isinstance(start, str | Path):
        start = find_run(start)
    written = {"resume": resume, "record": record} if out is None else {"out": out, "record": record}
    read = {"resume": None if out is None else resume, "start": start, "opponent": opponent}
    check_distinct(_paths(written), _paths(read))


def _paths(named: dict[str, Any]) -> list[tuple[str, Path]]:
    """The options that name files."""
    return [(option(name), Path(path)) for name, path in named.items() if isinstance(path, str | Path)]


def keep(
    run: Run,
    files: Checkpoints | None,
    writer: GamesWriter | None,
    elsewhere: Callable[[RunFileError], Path | None] | None,
) -> None:
    """Save the run and let the file of its games appear; neither depends on the other.

    Raises RunFileError, whose `run` is the run, or GamesError; one line says what became of both.
    """
    failure = None
    try:
        if files is not None:
            files.finish(run, elsewhere)
    except RunFileError as error:
        failure = error
    finally:
        lost = _finish(writer)
    if failure is not None:
        kept = "" if writer is None or writer.file is None else f"; the games played are in {shown(writer.file)}"
        failed = RunFileError(f"{failure}; {lost}" if lost else f"{failure}{kept}")
        failed.run = run  # type: ignore[attr-defined]
        raise failed from failure
    if lost is not None:
        where = "" if run.file is None else f"; the run itself is saved in {shown(run.file)}"
        raise GamesError(f"{lost}{where}") from lost


def _finish(writer: GamesWriter | None) -> GamesError | None:
    """Let the file of games appear; return why it does not."""
    try:
        if writer is not None:
            writer.finish()
    except GamesError as error:
        return error
    return None
