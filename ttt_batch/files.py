"""Files written whole or not at all: to a temporary file beside the target, flushed, then renamed.

Everything here raises what the system raises; the callers say it in their own words.
"""

import errno
import os
import secrets
from pathlib import Path


def shown(path: Path) -> str:
    """The path for a message, on one line whatever its name holds."""
    return str(path) if str(path).isprintable() else repr(str(path))


def reason(error: BaseException) -> str:
    """What went wrong, without number and file name where the system worded it."""
    return getattr(error, "strerror", None) or str(error)


def temporary_name(target: Path) -> Path:
    """A hidden name beside `target` that nothing has yet."""
    return target.with_name(f".{target.name}.{secrets.token_hex(6)}.tmp")


def create(path: Path) -> int:
    """The descriptor of a new, empty file, with the permissions that any new file gets.

    Raises FileExistsError where something has the name.
    """
    return os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_BINARY", 0), 0o666)


def write_new(path: Path, content: bytes | memoryview) -> None:
    """Write a new file and flush it to disk."""
    descriptor = create(path)
    try:
        view = memoryview(content)
        written = 0
        while written < len(view):
            written += os.write(descriptor, view[written:])
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def rename_new(temporary: Path, target: Path) -> None:
    """Give the file its name unless something has it already: FileExistsError, whoever is first.

    `temporary` may remain as a second name; the caller removes it.
    """
    try:
        target.hardlink_to(temporary)
    except FileExistsError:
        raise
    except (OSError, NotImplementedError):
        # No hard links here (FAT, some network folders): claim the name with an empty file, replace that.
        os.close(create(target))
        try:
            temporary.replace(target)
        except BaseException:
            target.unlink()
            raise


def flush_folder(folder: Path) -> None:
    """Make a rename last through a power cut, where the system can."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:
        return  # Windows opens no folders, and a folder may be writable without being readable
    try:
        os.fsync(descriptor)
    except OSError as exc:
        if exc.errno in (errno.EIO, errno.ENOSPC, errno.EDQUOT):
            raise
    finally:
        os.close(descriptor)
