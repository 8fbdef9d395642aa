"""What several commands share: options, run files with their notes, and how a command works and ends."""

import os
import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from ttt_batch.app.commands.completion import offering
from ttt_batch.base.choices import TIES

if TYPE_CHECKING:
    from ttt_batch.app.progress import Reporter
    from ttt_batch.runs.run import Run

Result = TypeVar("Result")

Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace an existing file.")]
DrawWorth = Annotated[
    str | None, typer.Option(metavar="A,B", help="What a draw is worth to the first and the second player.")
]


def found(path: Path | None) -> Path | None:
    """The run file that is meant, `.h5` or not."""
    from ttt_batch.runs.lookup import find_run

    return None if path is None else find_run(path)


def all_found(paths: list[Path]) -> list[Path]:
    """The run files that are meant, `.h5` or not."""
    from ttt_batch.runs.lookup import find_run

    return [find_run(path) for path in paths]


RunPath = Annotated[Path, typer.Argument(metavar="RUN", help="A run file.", callback=found)]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress on standard error; warnings and errors only.")]
Trust = Annotated[
    bool, typer.Option("--trust", help="Open a run file that another program changed, though its digest is wrong.")
]

TiesRule = Annotated[
    str,
    typer.Option(
        metavar="soonest|any",
        help="What the agent plays of the moves that its rule may pick: soonest takes the quickest true win or the "
        "longest true loss (wins in one only, where a board is too large to enumerate); any takes any of them.",
        autocompletion=offering(*TIES),
    ),
]


def load_run(path: Path, trust: bool, report: "Reporter | None" = None) -> "Run":
    """Read a run file, with notes about it on standard error, where a notice of `report` may stand."""
    from ttt_batch.runs.loading import load

    run = load(path, trust=trust)
    if report is not None and run.notes:
        report.clear()
    say(path, run.notes)
    return run


def run_name(path: Path) -> str:
    """What a run is called where it is spoken of: its file, on one line whatever the name holds."""
    from ttt_batch.base.files import shown

    return shown(path)


def answer(json: bool, plain: Callable[[], Any], text: Callable[[], str], *, saved: Path | None = None) -> None:
    """Print a result: plain values as JSON, or text.

    saved: the file in which the result is, too.  A reader who has gone changes nothing about how the command ends;
    raises TttBatchError where the result cannot be printed for another reason.
    """
    from ttt_batch.app.reports.layout import to_json
    from ttt_batch.base import console
    from ttt_batch.base.errors import TttBatchError
    from ttt_batch.base.files import reason

    result = to_json(plain()) if json else text()
    try:
        console.put(result, sys.stdout)
    except OSError as error:
        console.silence(sys.stdout)
        if not isinstance(error, BrokenPipeError):
            remedy = "send it elsewhere" if saved is None else f"it is saved in {run_name(saved)}"
            raise TttBatchError(f"cannot print the result: {reason(error)}; {remedy}") from None


def first_given(options: dict[str, bool]) -> str:
    """The first of the options, by name, that was given and does not belong; empty where none was."""
    return next((name for name, there in options.items() if there), "")


def say(path: Path, notes: tuple[str, ...]) -> None:
    """Say what there is to know about a file, on standard error."""
    from ttt_batch.base.console import tell

    for note in notes:
        tell(f"ttt-batch: {run_name(path)}: {note}")


@contextmanager
def said_later() -> Iterator[list[str]]:
    """Lines for standard error that would disturb a screen now; they are said in the end, however that comes."""
    from ttt_batch.base.console import tell

    lines: list[str] = []
    try:
        yield lines
    finally:
        for line in lines:
            tell(f"ttt-batch: {line}")


@contextmanager
def working(
    message: str = "interrupted", *, quiet: bool = False, doing: str = "", keys: bool = False
) -> "Iterator[Reporter]":
    """What every command does that may compile: say so unless `quiet`, and end with `message` if it is interrupted.

    doing: what takes its time before there is anything to show; said on a terminal until the reporter is cleared.
    keys: a terminal's keys are kept for the command from now on, and are neither shown nor left for the shell.
    """
    from ttt_batch.app.interrupt import Interrupt
    from ttt_batch.base.console import Notice

    notice = Notice("" if quiet else doing, sys.stderr)
    with Interrupt(message), ExitStack() as stack:
        stack.callback(notice.wipe)
        if keys:
            from ttt_batch.app.keyboard import Keyboard

            stack.enter_context(Keyboard(sys.stdin))
        from ttt_batch.app.progress import (
            Reporter,  # with the compiler, which takes up to a second
        )

        yield stack.enter_context(Reporter(quiet=quiet, notice=notice))


def in_new_file(path: Path | None, stem: str, work: Callable[[Path], Result]) -> Result:
    """Do work that writes a file: `path`, or without one the first of stem.h5, stem-2.h5, stem-3.h5 ... that is free.

    work: raises TakenError at its beginning if another process has taken the name.
    """
    return in_new_files([] if path is None else [path], [f"{stem}.h5"], lambda paths: work(paths[0]))


def in_new_files(paths: list[Path], names: list[str], work: Callable[[list[Path]], Result]) -> Result:
    """Do work that writes files: `paths`, or without them for each of `names` the first of a.png, a-2.png ... free.

    work: raises NameTakenError if another process has taken a name; it is then done again with the next ones.
    """
    from ttt_batch.base.errors import NameTakenError
    from ttt_batch.base.files import free_names

    if paths:
        return work(paths)
    for free in zip(*(free_names(Path(name.replace(os.sep, "_"))) for name in names), strict=True):
        with suppress(NameTakenError):
            return work(list(free))
    raise AssertionError("names do not run out")


def player_named(name: str | None) -> str | None:
    """A seat by its name, or as X or O.  Raises UsageError."""
    from ttt_batch.base.choices import choose_seat

    return None if name is None else choose_seat(name, what="player")


def command_line() -> str:
    """The command for the run file, as it may be pasted; the program by its name, not by where it lies."""
    return shlex.join(["ttt-batch", *sys.argv[1:]])
