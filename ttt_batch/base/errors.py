"""The package's exceptions: each is one line for a person, with the exit status it deserves.

A message names its remedy as the reader writes it: an option of a command, or a parameter in Python (`option`).
"""

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import FrameType

from ttt_batch.base.console import one_line

LONGEST = 60
"""Characters of what was given that a message repeats."""

_COMMAND_LINE = ContextVar("command_line", default=False)
_OTHER_NAMES = {"seat": "as", "form": "format", "trace": "lambda", "lambda_": "lambda"}
"""Parameters whose option has another name."""


class TttBatchError(Exception):
    """Something could not be done; the message, one printable line, names the value, the limit and the remedy."""

    exit_status = 1

    def __init__(self, message: str = "") -> None:
        super().__init__(one_line(message))


class InterruptedTraining(TttBatchError):
    """A person stopped the program before there was anything to keep."""

    exit_status = 130


class UsageError(TttBatchError, ValueError):
    """An argument is outside its range or names nothing that exists."""

    exit_status = 2


class BoardError(UsageError):
    """A board, position, cell or move that does not exist under the rules."""


class RunFileError(TttBatchError):
    """A run file is damaged, foreign, too new, or cannot be written."""


class StudyFileError(TttBatchError):
    """A study's file is damaged, foreign, too new, or cannot be written."""


class LostStudyError(StudyFileError):
    """A study's file is no longer what the study wrote, while the study goes on."""


class GamesError(TttBatchError):
    """A game that the rules do not allow, or a line that is no game or no position."""


class CertificateError(TttBatchError):
    """A certificate is damaged, foreign, too new, proves nothing, or cannot be written."""


class AgentError(TttBatchError):
    """An agent gave no answer, or one that is none."""


class ClusterError(TttBatchError):
    """A scheduler or its workers are not there, or not there any more."""


class NameTakenError(TttBatchError):
    """The name is in use, by a file or by a process that is about to write one; another name is free."""


class TakenError(RunFileError, NameTakenError):
    """The name of a run file is in use."""


class StudyTakenError(StudyFileError, NameTakenError):
    """The name of a study's file is in use."""


@contextmanager
def command_line_words() -> Iterator[None]:
    """Meanwhile messages speak of options instead of parameters: a person typed a command."""
    before = _COMMAND_LINE.set(True)
    try:
        yield
    finally:
        _COMMAND_LINE.reset(before)


def option(name: str, value: object = None) -> str:
    """A parameter in a message, as the reader writes it: `--engine walk` in a command, `engine='walk'` in Python.

    value: None for the name alone, True for a switch; text in capitals stands for any value.
    """
    if _COMMAND_LINE.get():
        dashed = f"--{_OTHER_NAMES.get(name, name).replace('_', '-')}"
        return dashed if value is None or value is True else f"{dashed} {value}"
    if value is None:
        return name
    return f"{name}={value if isinstance(value, str) and value.isupper() else repr(value)}"


def spoken(name: str) -> str:
    """A parameter in tables and pictures: `prove every`, `lambda`."""
    return _OTHER_NAMES.get(name, name).replace("_", " ")


def command_name(command: str) -> str:
    """A command in a message: `learn-from`, or in Python the function `learn_from`."""
    return command if _COMMAND_LINE.get() else command.replace("-", "_")


def command_with(command: str, name: str, value: object = None) -> str:
    """A command with an option in a message: `train --start`, or in Python `train(start=...)`.

    value: as for `option`.
    """
    if _COMMAND_LINE.get():
        return f"{command} {option(name, value)}"
    return f"{command_name(command)}({name}={'...' if value is None else repr(value)})"


def worded(command: str, python: str) -> str:
    """Return the words for a person who typed a command, or those for one who writes Python."""
    return command if _COMMAND_LINE.get() else python


def with_option(name: str) -> str:
    """` with --out` in a command; nothing in Python, where it may be a parameter of another name."""
    return f" with {option(name)}" if _COMMAND_LINE.get() else ""


def quoted(given: object) -> str:
    """What was given, for a message: one line, safe for any terminal, of `LONGEST` characters at most."""
    try:
        text = ascii(given)
    except ValueError:  # Python writes no number of more than 4,300 digits
        text = "with thousands of digits"
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."


def warn_python(line: str) -> None:
    """Issue a line as a Python warning of the line outside the package that led here: the default way to warn."""
    depth, frame = 1, sys._getframe()
    while (caller := frame.f_back) is not None and _is_ours(frame):
        depth, frame = depth + 1, caller
    warnings.warn(line, RuntimeWarning, stacklevel=depth)


def _is_ours(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__")).partition(".")[0] == __name__.partition(".")[0]
