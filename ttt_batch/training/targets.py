"""The files of a training: none is written over another, and each is kept whatever becomes of the other."""

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
    in_place = out is None
    written = {"resume" if in_place else "out": resume if in_place else out, "record": record}
    if isinstance(start, str | Path):
        start = find_run(start)
    read = {"resume": None if in_place else resume, "start": start, "opponent": opponent}
    check_distinct(_paths(written), _paths(read))


def _paths(named: dict[str, Any]) -> list[tuple[str, Path]]:
    return [(option(name), Path(path)) for name, path in named.items() if isinstance(path, str | Path)]


def keep(
    run: Run,
    files: Checkpoints | None,
    writer: GamesWriter | None,
    elsewhere: Callable[[RunFileError], Path | None] | None,
) -> None:
    """Save the run and let the file of its games appear, each whatever becomes of the other.

    Raises RunFileError, whose `run` is the run, or GamesError; one line says what became of both.
    """
    try:
        if files is not None:
            files.finish(run, elsewhere)
    except BaseException as error:
        of_games = "" if writer is None else f"; {_kept_games(writer)}"
        if not isinstance(error, RunFileError):
            raise
        failure = RunFileError(f"{error}{of_games}")
        failure.run = run  # type: ignore[attr-defined]
        raise failure from error
    if writer is not None:
        try:
            writer.finish()
        except GamesError as error:
            where = "" if run.file is None else f"; the run itself is saved in {shown(run.file)}"
            raise GamesError(f"{error}{where}") from error


def _kept_games(writer: GamesWriter) -> str:
    """Let the file of games appear; return in words where they are, or why they are nowhere."""
    try:
        writer.finish()
    except GamesError as error:
        return str(error)
    assert writer.file is not None
    return f"the games played are in {shown(writer.file)}"
