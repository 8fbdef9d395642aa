"""The package's exceptions: each is one line for a person, with the exit status it deserves."""

from ttt_batch.escapes import one_line


class TttBatchError(Exception):
    """Something could not be done; the message names the value, the limit and the remedy.

    Whatever the value holds, the message is one printable line.
    """

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


class TakenError(RunFileError):
    """The name is in use, by a file or by a process that is about to write one; another name is free."""
