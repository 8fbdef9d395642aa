"""Declaration of options, run files with their notes, names for new files, and how a command ends."""

import functools
import os
import re
import shlex
import sys
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import typer

import ttt_batch
from ttt_batch.app.commands.usage import manual
from ttt_batch.core import console
from ttt_batch.core.errors import NameTakenError, TttBatchError, UsageError
from ttt_batch.core.files import reason, shown, unused_paths, with_ending

if TYPE_CHECKING:
    from ttt_batch.app.progress import Reporter
    from ttt_batch.runs.config import Config
    from ttt_batch.runs.loading import AnyRun
    from ttt_batch.runs.run import Run


Text = str | None
File = Path | None
"""Types of the values of options that may be left out."""

BEYOND_TABLES = ("7x7x5", "8x8x5")
TABLE_FORMATS = tuple(
    name
    for file in sorted((Path(ttt_batch.__file__).parent / "runs" / "formats").glob("format_*.py"), reverse=True)
    for name in re.findall('^    name="(.+)",$', file.read_text("utf-8"), re.MULTILINE)
)
"""Names of formats, read from the files that declare them: importing these takes time."""
FORMATS = ("html", "boxes", "hdf5", *TABLE_FORMATS)
PLOTS = ("curves", "opening", "coverage", "movie", "sensitivity", "settling", "heat")
METRICS = (
    *("proof", "settling", "proved", "unbeatable", "first", "second", "loss", "error", "optimal", "response"),
    *("draws", "play", "first-wins", "second-wins", "time", "positions"),
)
RANKS = ("proof", "settling", "proved", "holds", "loss", "error", "time")
RIVALS = ("self", "random", "optimal")
SWEEPS = ("grid", "one-at-a-time")
KEEPS = ("none", "last")
CLAIMS = ("cannot-lose", "always-wins")
"""Words that the shell offers while a value is being typed.

A person is waiting, so nothing here may load numba: names of registries that would load it are written out, and a test
compares them with the registries.
"""


def option(
    metavar: str,
    meaning: str,
    *names: str,
    offers: Collection[str] = (),
    default: str = "",
    panel: str | None = None,
    read: Callable[..., Any] | None = None,
    kind: Callable[..., Any] = typer.Option,
) -> Any:
    """Declare an option, or another `kind` of parameter, that takes a value.

    meaning: its help.  names: if they differ from the parameter's.  offers: values that the shell completes.
    default: for the help, if the parameter's is None.  panel: section of the help.  read: converts the typed value.
    """
    return kind(
        *names,
        metavar=metavar,
        help=f"{meaning}  [default: {default}]" if default else meaning,
        autocompletion=_completing(offers) if offers else None,
        callback=read,
        rich_help_panel=panel,
    )


def _completing(names: Collection[str]) -> Callable[[str], list[str]]:
    """Return a completion function for typer: the `names` that begin with the typed text.

    After a comma, as in a study's lists, it offers another one.
    """

    def complete(incomplete: str) -> list[str]:
        before, comma, begun = incomplete.rpartition(",")
        return [f"{before}{comma}{name}" for name in names if name.startswith(begun)]

    return complete


argument = functools.partial(option, kind=typer.Argument)
"""An argument: as `option`, without names."""


def switch(name: str, meaning: str, panel: str | None = None) -> Any:
    """Declare an option without a value."""
    return typer.Option(name, help=meaning, rich_help_panel=panel)


Result = TypeVar("Result")


def load_named_run(path: Path, trust: bool, check: "Callable[[Config], None] | None" = None) -> "Run":
    """Read the run file of a table, with notes about it on standard error.  check: as for `load_any`."""
    from ttt_batch.runs.loading import load

    run = load(path, trust=trust, check=check)
    say(path, run.notes)
    return run


def load_any_run(
    path: Path, trust: bool, report: "Reporter | None" = None, check: "Callable[[Config], None] | None" = None
) -> "AnyRun":
    """Read a run file, with notes about it on standard error, after the notice of `report`.  check: see `load_any`."""
    from ttt_batch.runs.loading import load_any

    run = load_any(path, trust=trust, check=check)
    if report is not None and run.notes:
        report.clear()
    say(path, run.notes)
    return run


def newest_file(command: str, what: str = "run") -> Path:
    """Return the newest file of a kind here, and print its name on standard error.

    command: its user, for messages.  what: `run`, `study` or `run or study`.
    Raises UsageError without one.
    """
    from ttt_batch.runs.storage.run_file import RUN_FILE, find_newest_run
    from ttt_batch.studies.storage.header import STUDY_FILE

    kinds = {"run": RUN_FILE.begins, "study": STUDY_FILE.begins}
    path = find_newest_run(Path(), lambda file: any(kinds[kind](file) for kind in what.split(" or ")))
    if path is None:
        remedy = f"name one, or make one with ttt-batch {'study' if what == 'study' else 'train'}"
        raise UsageError(f"{command} needs a {what}, and none is here; {remedy}{manual(command)}")
    console.print_message(f"taking {shown(path)}, the newest {what} here")
    return path


def print_result(json: bool, plain: Callable[[], Any], text: Callable[[], str], *, saved: Path | None = None) -> None:
    """Print a result: plain values as JSON, or text.

    saved: the file that holds the result, too.  If the reader of a pipe has gone, the command ends as it would anyway.
    Raises TttBatchError if the result cannot be printed for another reason.
    """
    from ttt_batch.app.reports.layout import to_json

    result = to_json(plain()) if json else text()
    try:
        console.print_lines(result, sys.stdout)
    except OSError as error:
        console.discard_output(sys.stdout)
        if not isinstance(error, BrokenPipeError):
            remedy = "send it elsewhere" if saved is None else f"it is saved in {shown(saved)}"
            raise TttBatchError(f"cannot print the result: {reason(error)}; {remedy}") from None


def say(path: Path, notes: tuple[str, ...]) -> None:
    """Print the notes about a run file, on standard error."""
    for note in notes:
        console.print_message(f"ttt-batch: {shown(path)}: {note}")


@contextmanager
def working(
    message: str = "interrupted", *, quiet: bool = False, doing: str = "", keys: bool = False
) -> "Iterator[Reporter]":
    """Report that kernels are compiled unless `quiet`, and end with `message` if the command is interrupted.

    doing: what takes time before there is anything to show; on a terminal, until the reporter is cleared.
    keys: keep the terminal's keys for the command from now on; they are neither shown nor left for the shell.
    """
    from ttt_batch.app.interrupt import Interrupt

    notice = console.Notice("" if quiet else doing, sys.stderr)
    with Interrupt(message), ExitStack() as stack:
        stack.callback(notice.wipe)
        if keys:
            from ttt_batch.app.terminal.keys import Keyboard

            stack.enter_context(Keyboard(sys.stdin))
        from ttt_batch.app.progress import Reporter as Reporting  # with the compiler, which takes up to a second

        yield stack.enter_context(Reporting(quiet=quiet, notice=notice))


def in_new_file(path: Path | None, stem: str, work: Callable[[Path], Result]) -> Result:
    """Do work that writes a file: `path`, or without one the first of stem.h5, stem-2.h5, stem-3.h5 ... that is free.

    work: raises TakenError at its beginning if another process has taken the name.
    """
    return in_new_files([] if path is None else [path], [f"{stem}.h5"], lambda paths: work(paths[0]))


def with_endings(paths: list[Path], names: list[str]) -> list[Path]:
    """Return `paths`, in which new names without an ending get those of `names`; the last one serves all others."""
    endings = [Path(name).suffix for name in names]
    return [with_ending(path, endings[min(i, len(endings) - 1)]) for i, path in enumerate(paths)]


def in_new_files(paths: list[Path], names: list[str], work: Callable[[list[Path]], Result]) -> Result:
    """Do work that writes files: `paths`, or if empty for each of `names` the first of a.png, a-2.png ... that is free.

    A new name without an ending in `paths` gets that of `names`.
    work: raises NameTakenError if another process has taken a name; it is then done again with the next ones.
    """
    if paths:
        return work(with_endings(paths, names))
    for free in zip(*(unused_paths(Path(name.replace(os.sep, "_"))) for name in names), strict=True):
        with suppress(NameTakenError):
            return work(list(free))
    raise AssertionError("names do not run out")


def command_line() -> str:
    """Return the command for the run file, ready to paste; the program by its name, not by its path."""
    return shlex.join(["ttt-batch", *sys.argv[1:]])
