"""A table's files: read whole, and written whole or not at all, several together."""

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from ttt_batch.files import reason, rename_new, shown, temporary_name, write_new
from ttt_batch.formats.base import FormatError

__all__ = ["check_targets", "read_file", "shown", "write_files"]


def check_targets(paths: Sequence[Path], *, overwrite: bool) -> list[Path]:
    """The files to write, with links followed so that a link stays one.

    Raises FormatError where a file exists (unless `overwrite`), for a folder or a special file, for a folder that
    does not exist, and where one file is named twice.
    """
    targets = []
    for path in paths:
        try:
            target = path.resolve()
            exists, is_file, has_folder = target.exists(), target.is_file(), target.parent.is_dir()
        # RuntimeError is what `resolve` makes of a loop of links before Python 3.13.
        except (OSError, ValueError, RuntimeError) as error:
            raise FormatError(f"cannot write {shown(path)}: {reason(error)}; name another file") from None
        if exists and not is_file:
            raise FormatError(f"cannot write {shown(path)}: it is not an ordinary file; name another one")
        if exists and not overwrite:
            raise _exists(path)
        if not has_folder:
            raise FormatError(
                f"cannot write {shown(path)}: there is no folder {shown(target.parent)}; "
                "create it, or name another file"
            )
        if target in targets:
            raise FormatError(f"cannot write {shown(path)}: it is named twice; name a file for each player")
        targets.append(target)
    return targets


def write_files(paths: Sequence[Path], contents: Sequence[bytes], *, overwrite: bool) -> None:
    """Write each file whole; none gets its name before all are on disk.

    Without `overwrite` an existing file is never replaced, also when it appears during the write.
    Raises FormatError for whatever `check_targets` refuses and for whatever the disk does.
    """
    targets = check_targets(paths, overwrite=overwrite)
    temporaries = [temporary_name(target) for target in targets]
    named: list[Path] = []
    at = 0
    try:
        for at, content in enumerate(contents):
            write_new(temporaries[at], content)
        for at, target in enumerate(targets):
            if overwrite:
                temporaries[at].replace(target)
            else:
                rename_new(temporaries[at], target)
                named.append(target)
    except BaseException as error:
        for target in named:
            with suppress(OSError):
                target.unlink()
        if isinstance(error, FileExistsError):
            raise _exists(paths[at]) from None
        if isinstance(error, OSError):
            raise FormatError(
                f"cannot write {shown(paths[at])}: {reason(error)}; make room, or name a file elsewhere"
            ) from None
        raise
    finally:
        for temporary in temporaries:
            with suppress(OSError):
                temporary.unlink()


def read_file(path: Path, limit: int) -> bytes:
    """The bytes of a file.  Raises FormatError for one that is not ordinary, or longer than `limit` bytes."""
    try:
        # Looked at before opening: opening a pipe would wait for a writer.
        if not path.is_file():
            problem = "it is not an ordinary file" if path.exists() else "there is no such file"
            raise FormatError(f"cannot read {shown(path)}: {problem}; name a file that holds a table")
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            content = file.read(limit + 1) if size <= limit else b""
    except (OSError, ValueError) as error:
        raise FormatError(f"cannot read {shown(path)}: {reason(error)}; name a file that you may read") from None
    if max(size, len(content)) > limit:
        raise FormatError(
            f"{shown(path)}: the file has {max(size, len(content)):,} bytes, a table of this board at most {limit:,}; "
            "name another file, or give the file's own board"
        )
    return content


def _exists(path: Path) -> FormatError:
    return FormatError(f"{shown(path)} exists already; replace it with --overwrite, or name another file")
