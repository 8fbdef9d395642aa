"""A table's files: read whole, and written whole or not at all, several together."""

from collections.abc import Sequence
from pathlib import Path

from ttt_batch.base.errors import option
from ttt_batch.base.files import reason, shown
from ttt_batch.base.ordinary_files import NotOrdinaryError, open_ordinary, size_of
from ttt_batch.base.outputs import Kind, check_distinct
from ttt_batch.runs.formats.base import FormatError, TakenFormatError

EXPORT = Kind(FormatError, taken=TakenFormatError)
"""Files of tables and pictures, as `outputs` speaks of them."""


def check_targets(paths: Sequence[Path], *, overwrite: bool) -> None:
    """Make sure, before any work, that all these files can be written.

    Raises FormatError if a file exists (unless `overwrite`), for a folder or a special file, for a folder that
    does not exist or takes no files, and where one file is named twice.
    """
    check_distinct([(option("out"), path) for path in paths], error=FormatError)
    for path in paths:
        EXPORT.check(path, overwrite=overwrite)


def read_file(path: Path, limit: int) -> bytes:
    """The bytes of a file.  Raises FormatError for one that is not ordinary, or longer than `limit` bytes."""
    try:
        with open_ordinary(path) as file:
            size = size_of(file)
            content = file.read(size) if size <= limit else b""
    except FileNotFoundError:
        raise FormatError(f"cannot read {shown(path)}: there is no such file; name a file that holds a table") from None
    except NotOrdinaryError as error:
        raise FormatError(f"cannot read {shown(path)}: {error}; name a file that holds a table") from None
    except (OSError, ValueError) as error:
        raise FormatError(f"cannot read {shown(path)}: {reason(error)}; name a file that you may read") from None
    if size > limit:
        raise FormatError(
            f"{shown(path)}: the file has {size:,} bytes, a table of this board at most {limit:,}; "
            "name another file, or give the file's own board"
        )
    return content
