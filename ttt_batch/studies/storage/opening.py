"""Opening and locking of study files, with validation of their headers."""

import io
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from ttt_batch.base.errors import StudyFileError, StudyTakenError, TttBatchError
from ttt_batch.base.files import NotOrdinaryError, open_ordinary, reason, shown
from ttt_batch.base.outputs import OutputKind
from ttt_batch.runs.lookup import no_such_file
from ttt_batch.studies.storage.contents import Contents
from ttt_batch.studies.storage.header import MAGIC, check_digest, read_header
from ttt_batch.studies.storage.places import StudyArrays

STUDY_FILE = OutputKind(StudyFileError, "out", taken=StudyTakenError)
"""Kind of file, for messages of `outputs`."""


def is_study_file(path: Path) -> bool:
    """Return whether an ordinary file of any name starts like a study's file."""
    with suppress(OSError, ValueError, NotOrdinaryError), open_ordinary(path) as file:
        return file.read(len(MAGIC)) == MAGIC
    return False


def locked_study(path: Path, closing: ExitStack) -> None:
    """Lock an existing file against other writers until `closing` is closed.  Raises StudyFileError."""
    with worded_errors(path):
        open_ordinary(path).close()
        with STUDY_FILE.refusing(path):
            closing.enter_context(STUDY_FILE.alone(path.resolve()))


def opened(path: Path, closing: ExitStack, *, write: bool = False) -> tuple[Contents, io.FileIO]:
    """Return the constant contents of a study's file, and the file, open until `closing` is closed.

    Raises StudyFileError.
    """
    name = shown(path)
    with worded_errors(path):
        open_ordinary(path).close()
        file = closing.enter_context(path.open("r+b" if write else "rb", buffering=0))
        header = read_header(name, file, os.fstat(file.fileno()).st_size)
        check_digest(name, file, header)
        return Contents(name, header, StudyArrays(file)), file


@contextmanager
def worded_errors(path: Path) -> Iterator[None]:
    """Turn the system's reading errors into a StudyFileError with one line about `path`."""
    name = shown(path)
    try:
        yield
    except NotOrdinaryError as found:
        what = "a folder; name a file in it" if found.folder else "not an ordinary file; copy it into one first"
        raise StudyFileError(f"{name} is {what}") from None
    except FileNotFoundError:
        raise StudyFileError(str(no_such_file(path))) from None
    except EOFError:
        raise StudyFileError(f"{name} has become shorter while it was read; restore a backup") from None
    except MemoryError:
        raise StudyFileError(f"cannot read {name}: not enough memory; free some and try again") from None
    except (OSError, ValueError) as exc:  # a name with a zero byte is a ValueError
        if isinstance(exc, TttBatchError):
            raise
        raise StudyFileError(f"cannot read {name}: {reason(exc)}; check the name and its permissions") from exc
