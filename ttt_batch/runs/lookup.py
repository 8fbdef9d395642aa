"""Lookup of run files by name, with suggestions for missing endings and misspelt names."""

import os
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

from ttt_batch.core.console import one_line
from ttt_batch.core.errors import RunFileError, UsageError, command_with, quoted, worded
from ttt_batch.core.files import begins_with, exists, is_file, shown
from ttt_batch.core.named_code import is_callable_name
from ttt_batch.core.text import AGENT_NAMES, ALL_LEARNERS, OPPONENT_HINTS, find_name, suggested_name, unknown_name

SUFFIX = ".h5"
RUN_STARTS = b"ttt-batch", b"\x89HDF"
"""First bytes of run files, of this version or of older ones."""

PROGRAM = "cmd:"
"""Prefix of the name of an agent that is a program."""

RUNS = "a run file"
RUNS_OR_AGENTS = "a run file, a certificate, FILE.py:NAME or cmd:PROGRAM"
"""Alternatives to an opponent's name, for messages."""

MOST_NAMES = 1000
"""Maximum of files in a folder that are searched for a similar name."""


def find_run(path: str | Path) -> Path:
    """Return `path`, or the path with `.h5` appended if only that file exists.

    Raises UsageError for an empty name, and for an object that is not a name.
    """
    if not isinstance(path, str | os.PathLike):
        raise UsageError(f"{quoted(path)} is not the name of a run file; give text, a path or a Run")
    if path == "":
        raise UsageError("the name of the run file is empty; name one")
    path = Path(path)
    with suppress(OSError, ValueError):  # opening it reports an invalid name
        if path.name and (path.is_dir() or not path.exists()):
            longer = path.with_name(path.name.rstrip(".") + SUFFIX)
            if longer.is_file():
                return longer
    return path


def is_certificate(given: object) -> bool:
    """Return whether this names the file of a certificate; a run file may have any name."""
    if not isinstance(given, str | Path) or Path(given).suffix.lower() != ".npz":
        return False
    return not any(begins_with(Path(given), start) for start in RUN_STARTS)


def _is_agent_form(text: str) -> bool:
    """Return whether a text is the exact name of an agent, `FILE.py:NAME`, `cmd:PROGRAM` or a certificate's file."""
    return text in AGENT_NAMES or is_callable_name(text) or text.startswith(PROGRAM) or is_certificate(text)


def find_agent_or_run(given: str | Path) -> str | Path:
    """Return an agent's name, also `FILE.py:NAME`, `cmd:PROGRAM` or a certificate's file, or the file of a run.

    An exact name has precedence over a file, and a file over a name in another spelling.
    """
    if isinstance(given, str):
        if _is_agent_form(given):
            return given
        if (meant := find_name(given, AGENT_NAMES)) is not None and not is_file(find_run(given)):
            return meant
    return find_run(given)


def is_agent_name(given: str | Path) -> bool:
    """Return whether this names an agent other than a run file."""
    return isinstance(given, str) and isinstance(find_agent_or_run(given), str)


def _agent_meant(text: str) -> str:
    """Return `FILE.py:NAME` for `FILE:NAME` if there is such a file, else an empty text."""
    file, colon, name = text.rpartition(":")
    there = colon and name.isidentifier() and is_file(Path(f"{file}.py"))
    return f"{file}.py:{name}" if there else ""


def missing_file_text(path: Path) -> str:
    """Return the message about a missing file, with a suggested agent or run file of a similar name."""
    judging = worded("ttt-batch evaluate", "judge")
    if _is_agent_form(str(path)):
        return f"{shown(path)} is an agent, but a run file is needed here; name one, or judge the agent with {judging}"
    if path.is_symlink():
        return f"{shown(path)} is a link to a file that is not there; name another file"
    if agent := _agent_meant(str(path)):
        asked = f"(did you mean {one_line(agent)}?)"
        return f"there is no file {shown(path)} {asked}; judge this agent with {judging}, or name a run file"
    names: list[str] = []
    with suppress(OSError, ValueError):
        names = sorted(other.name for other in path.parent.glob(f"*{SUFFIX}"))[:MOST_NAMES]
    meant = suggested_name(path.name.removesuffix(SUFFIX), [name.removesuffix(SUFFIX) for name in names])
    asked = f" (did you mean {shown(path.with_name(meant + SUFFIX))}?)" if meant is not None else ""
    if not asked and (learner := find_name(str(path), ALL_LEARNERS)) is not None:
        train = command_with("train", "learner", learner)
        return f"there is no file {shown(path)}; {learner} is a learner, and {train} makes a run of it"
    return f"there is no file {shown(path)}{asked}; check the name"


def name_or_run(what: str, given: str | Path, names: Collection[str], *, others: str = RUNS) -> str | Path:
    """Return one of `names`, or the file of a run.  A file has precedence over a name in another spelling.

    others: the alternatives to a name, for the message.
    Raises UsageError for an unknown name, and RunFileError for a missing file.
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
    if a_path or exists(path) or find_name(given, ALL_LEARNERS) or _agent_meant(given):
        raise RunFileError(missing_file_text(path))
    raise unknown_name(what, given, names, hints=OPPONENT_HINTS, others=others)
