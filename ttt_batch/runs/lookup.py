"""Run files by name, as people type names: without the ending, or with a slip."""

import os
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

from ttt_batch.base.choices import AGENT_NAMES, ALL_LEARNERS, OPPONENT_HINTS, find_name, suggested_name, unknown_name
from ttt_batch.base.errors import RunFileError, UsageError, command_with, quoted
from ttt_batch.base.files import is_file, is_there, shown
from ttt_batch.base.named_code import is_callable_name

SUFFIX = ".h5"
PROGRAM = "cmd:"
"""What the name of an agent that is a program begins with."""

RUNS = "a run file"
RUNS_OR_AGENTS = "a run file, FILE.py:NAME or cmd:PROGRAM"
"""What may be given in the place of an opponent's name, for messages."""

MOST_NAMES = 1000
"""Files of a folder among which one with a similar name is looked for."""


def find_run(path: str | Path) -> Path:
    """The file that is meant: `path`, or, if there is no file of that name, the one with `.h5` appended.

    Raises UsageError for an empty name, and for what is no name.
    """
    if not isinstance(path, str | os.PathLike):
        raise UsageError(f"{quoted(path)} is not the name of a run file; give text, a path or a Run")
    if path == "":
        raise UsageError("the name of the run file is empty; name one")
    path = Path(path)
    with suppress(OSError, ValueError):  # opening it says what is wrong with the name
        if path.name and (path.is_dir() or not path.exists()):
            longer = path.with_name(path.name.rstrip(".") + SUFFIX)
            if longer.is_file():
                return longer
    return path


def is_program(text: str) -> bool:
    """Whether a text names a program: `cmd:PROGRAM ARGUMENTS`."""
    return text.startswith(PROGRAM)


def agent_or_run(given: str | Path) -> str | Path:
    """An agent's name, `FILE.py:NAME` or `cmd:PROGRAM`, or the file of a run.

    A name is preferred to a file of the same name, and a file to a name that is spelled otherwise.
    """
    if isinstance(given, str):
        if given in AGENT_NAMES or is_callable_name(given) or is_program(given):
            return given
        if (meant := find_name(given, AGENT_NAMES)) is not None and not is_file(find_run(given)):
            return meant
    return find_run(given)


def no_such_file(path: Path) -> RunFileError:
    """The error for a file that is not there, with the run file beside it that was probably meant."""
    if str(path) in AGENT_NAMES or is_callable_name(str(path)) or is_program(str(path)):
        return RunFileError(f"{shown(path)} is an agent, and this takes the file of a run; name one")
    if path.is_symlink():
        return RunFileError(f"{shown(path)} is a link to a file that is not there; name another file")
    names: list[str] = []
    with suppress(OSError, ValueError):
        names = sorted(other.name for other in path.parent.glob(f"*{SUFFIX}"))[:MOST_NAMES]
    meant = suggested_name(path.name.removesuffix(SUFFIX), [name.removesuffix(SUFFIX) for name in names])
    asked = f" (did you mean {shown(path.with_name(meant + SUFFIX))}?)" if meant is not None else ""
    if not asked and (learner := find_name(str(path), ALL_LEARNERS)) is not None:
        train = command_with("train", "learner", learner)
        return RunFileError(f"there is no file {shown(path)}; {learner} is a learner, and {train} makes a run of it")
    return RunFileError(f"there is no file {shown(path)}{asked}; check the name")


def name_or_run(what: str, given: str | Path, names: Collection[str], *, others: str = RUNS) -> str | Path:
    """One of `names`, or the file of a run.  A file is preferred to a name that is spelled otherwise.

    others: what else may be given, for the message.
    Raises UsageError for what is neither, and RunFileError if it can only be a file.
    """
    if isinstance(given, Path) or not isinstance(given, str):
        return find_run(given)
    if given in names:
        return given
    path = find_run(given)
    with suppress(OSError, ValueError):
        if path.is_file():
            return path
    meant = find_name(given, names)
    if meant is not None:
        return meant
    a_path = path.suffix in (SUFFIX, ".hdf5") or any(mark in given for mark in (os.sep, "/"))
    if a_path or is_there(path) or find_name(given, ALL_LEARNERS):
        raise no_such_file(path)
    raise unknown_name(what, given, names, hints=OPPONENT_HINTS, others=others)
