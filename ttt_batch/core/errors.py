"""Exceptions of the package, each with a one-line message and an exit status.

Messages name remedies in the caller's form: an option of a command, or a parameter in Python (see `flag`).
"""

import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import FrameType, FunctionType

from ttt_batch.core.console import one_line

LONGEST = 60
"""Maximum number of characters of a given value that a message repeats."""

_COMMAND_LINE = ContextVar("command_line", default=False)
_OTHER_NAMES = {"seat": "as", "form": "format", "trace": "lambda", "lambda_": "lambda"}
"""Parameters whose command-line option has a different name."""


class TttBatchError(Exception):
    """Expected failure; the message, one printable line, names the value, the limit and the remedy."""

    exit_status = 1

    def __init__(self, message: str = "") -> None:
        super().__init__(one_line(message))


class InterruptedTraining(TttBatchError):
    """Interrupt before there was a result to save."""

    exit_status = 130


class UsageError(TttBatchError, ValueError):
    """Argument that is outside its range or an unknown name."""

    exit_status = 2


class BoardError(UsageError):
    """Board, position, cell or move that the rules do not allow."""


class RunFileError(TttBatchError):
    """Run file that is damaged, foreign or too new, or cannot be written."""


class StudyFileError(TttBatchError):
    """Study file that is damaged, foreign or too new, or cannot be written."""


class LostStudyError(StudyFileError):
    """Study file that others changed or removed while the study runs."""


class GamesError(TttBatchError):
    """Game that the rules do not allow, or a line that cannot be read as a game or position."""


class CertificateError(TttBatchError):
    """Certificate that is damaged, foreign, too new, proves nothing or cannot be written."""


class AgentError(TttBatchError):
    """Agent that gave no answer or an invalid one."""


class ClusterError(TttBatchError):
    """Scheduler or workers that cannot be reached or have gone."""


class NameTakenError(TttBatchError):
    """File name in use by a file, or by a process that will write one; choose another name."""


class TakenError(RunFileError, NameTakenError):
    """Name of a run file that is in use."""


class StudyTakenError(StudyFileError, NameTakenError):
    """Name of a study file that is in use."""


@contextmanager
def command_line_messages() -> Iterator[None]:
    """Use command-line options instead of Python parameters in messages within a `with` block."""
    before = _COMMAND_LINE.set(True)
    try:
        yield
    finally:
        _COMMAND_LINE.reset(before)


def flag(name: str, value: object = None) -> str:
    """Return a parameter in the caller's form: `--engine walk` for a command, `engine='walk'` for Python.

    value: None for the name alone, True for a switch.  Text in capitals stands for any value and is not quoted.
    """
    if _COMMAND_LINE.get():
        return dashed(name) if value is None or value is True else f"{dashed(name)} {value}"
    if value is None:
        return name
    return f"{name}={value if isinstance(value, str) and value.isupper() else repr(value)}"


def dashed(name: str) -> str:
    """Return the command-line option of a parameter: `--prove-every`, `--lambda`."""
    return f"--{_OTHER_NAMES.get(name, name).replace('_', '-')}"


def display_name(name: str) -> str:
    """Return a parameter's name for tables and plots: `prove every`, `lambda`."""
    return _OTHER_NAMES.get(name, name).replace("_", " ")


def command_name(command: str) -> str:
    """Return a command's name for a message: `learn-from`, or in Python the function `learn_from`."""
    return command if _COMMAND_LINE.get() else command.replace("-", "_")


def command_with(command: str, name: str, value: object = None) -> str:
    """Return a command with an option for a message: `train --start`, or in Python `train(start=...)`.

    value: as for `flag`.
    """
    if _COMMAND_LINE.get():
        return f"{command} {flag(name, value)}"
    return f"{command_name(command)}({name}={'...' if value is None else repr(value)})"


def worded(command: str, python: str) -> str:
    """Return `command` in a command, and `python` in a call from Python code."""
    return command if _COMMAND_LINE.get() else python


def with_option(name: str) -> str:
    """Return ` with --out` for a command, and an empty text in Python, where the parameter may have another name."""
    return f" with {flag(name)}" if _COMMAND_LINE.get() else ""


def quoted(given: object) -> str:
    """Return a given value for a message: one printable line of at most `LONGEST` characters.

    Functions appear by name, other objects without addresses.
    """
    try:
        text = given.__name__ if isinstance(given, FunctionType) else repr(given)
        text = one_line(text if isinstance(given, str) else re.sub(" at 0x[0-9a-fA-F]+", "", text))
    except ValueError:  # Python refuses to write more than 4,300 digits
        text = "with thousands of digits"
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."


def warn_python(line: str) -> None:
    """Issue a RuntimeWarning that points to the nearest caller outside the package: the default way to warn."""
    depth, frame = 1, sys._getframe()
    while (caller := frame.f_back) is not None and _is_ours(frame):
        depth, frame = depth + 1, caller
    warnings.warn(line, RuntimeWarning, stacklevel=depth)


def _is_ours(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__")).partition(".")[0] == __name__.partition(".")[0]
