"""Files written whole or not at all: to a temporary file beside the target, flushed, then renamed.

Everything here raises what the system raises; the callers say it in their own words.
"""

import errno
import os
import re
import secrets
import stat
from contextlib import suppress
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


def remove_left(target: Path, beginnings: tuple[bytes, ...]) -> None:
    """Remove the temporary files that a killed process left beside `target`: only such as `temporary_name` names,
    ordinary, and empty or with the beginning of one of `beginnings`.  What cannot be removed stays.
    """
    form = re.compile(re.escape(f".{target.name}.") + r"[0-9a-f]{12}\.tmp")
    with suppress(OSError):
        for path in list(target.parent.iterdir()):
            with suppress(OSError):
                if form.fullmatch(path.name) and stat.S_ISREG(path.lstat().st_mode) and _begins(path, beginnings):
                    path.unlink()


def _begins(path: Path, beginnings: tuple[bytes, ...]) -> bool:
    with path.open("rb") as file:
        start = file.read(max(map(len, beginnings)))
    return any(start.startswith(beginning) or beginning.startswith(start) for beginning in beginnings)


def identity(path: Path) -> tuple[int, ...] | None:
    """What changes whenever a file is replaced or written to; None where there is none."""
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns
