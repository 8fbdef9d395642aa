"""File operations: hidden names beside a target, system locks, renames without replacement, opening ordinary files.

The functions raise the system's exceptions; `reading` and `outputs` turn them into messages.
"""

import errno
import hashlib
import itertools
import os
import re
import secrets
import stat
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from io import BufferedReader
from pathlib import Path
from typing import IO

from ttt_batch.core.console import for_shell
from ttt_batch.core.errors import TttBatchError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

HAS_LOCKS = fcntl is not None

Content = bytes | bytearray | memoryview

_READING = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)
"""Flags for reading; opening must not wait if a pipe replaces the file after the check."""

PICTURES = (".png", ".svg", ".gif")
"""Endings of pictures; the last is for movies."""

_ENDING = re.compile(r"\.[a-zA-Z]\w*")
"""Extension of a file name; the number of `td-0.1` does not match."""

_LONGEST = 200
"""Maximum number of bytes of a name that a hidden name repeats; systems allow 255 in all."""


def shown(path: Path) -> str:
    """Return the path for a message, on one line."""
    return str(path) if str(path).isprintable() else repr(str(path))


def remove(path: Path) -> None:
    """Remove a file if that is possible."""
    with suppress(OSError):
        path.unlink()


def has_ending(path: Path) -> bool:
    """Return whether a name has a file extension; the `.1` of `td-0.1` is none."""
    return _ENDING.fullmatch(path.suffix) is not None


def with_ending(path: Path, ending: str) -> Path:
    """Return a new path with `ending` added if it has none; existing paths and `-` stay unchanged."""
    if has_ending(path) or path.name in ("", "-") or os.path.lexists(path):
        return path
    return path.with_name(path.name + ending)


def exists(path: Path) -> bool:
    """Return whether the path exists; False for an invalid name, e.g. one of 300 characters."""
    return os.path.exists(path)  # noqa: PTH110 - Path's own raises before Python 3.12


def is_file(path: Path) -> bool:
    """Return whether the path is an ordinary file; False for an invalid name, as in `exists`."""
    return os.path.isfile(path)  # noqa: PTH113 - Path's own raises for a name of 300 characters


EVERYWHERE: dict[str, str] = {}
"""Options of this command that suggested commands must repeat: `--learner FILE.py:NAME`."""


def command_text(*words: str | Path) -> str:
    """Return a command of this program that a person can paste into a shell."""
    words = *words, *(word for option in EVERYWHERE.items() for word in option)
    # A path that begins with a dash would be read as an option.
    written = [f"./{word}" if isinstance(word, Path) and str(word).startswith("-") else str(word) for word in words]
    return " ".join(["ttt-batch", *map(for_shell, written)])


def reason(error: BaseException) -> str:
    """Return the text of an error, for errors of the system without number and file name."""
    if isinstance(error, ValueError) and "null" in str(error):  # the text differs between versions of Python
        return "a name cannot have a null byte"
    return getattr(error, "strerror", None) or str(error)


def hidden(target: Path, ending: str) -> Path:
    """Return a hidden path beside `target` that contains its name, or the digest of a long name."""
    name = target.name
    if len(os.fsencode(name)) > _LONGEST:
        name = hashlib.sha256(os.fsencode(name)).hexdigest()[:32]
    return target.with_name(f".{name}.{ending}")


def temporary_name(target: Path) -> Path:
    """Return a random hidden path beside `target`."""
    return hidden(target, f"ttt-batch.{secrets.token_hex(6)}.tmp")


def unused_paths(path: Path) -> Iterator[Path]:
    """Yield unused paths of `run.h5`, `run-2.h5`, `run-3.h5` ...; another process may create one at any time."""
    for number in itertools.count(1):
        name = path if number == 1 else path.with_name(f"{path.stem}-{number}{path.suffix}")
        if not os.path.lexists(name):
            yield name


def create_file(path: Path) -> int:
    """Create an empty file with default permissions; return its descriptor.  Raises FileExistsError if it exists."""
    return os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_BINARY", 0), 0o666)


def write_all(descriptor: int, content: Content) -> None:
    """Write all bytes, in several calls if needed."""
    # Release the views also after an error: the traceback would keep them, and the buffer could not be closed.
    with memoryview(content) as view:
        written = 0
        while written < len(view):
            with view[written:] as rest:
                written += os.write(descriptor, rest)


def allocate(descriptor: int, size: int) -> None:
    """Extend an open, empty file to `size` zero bytes, and reserve the disk space if the system can."""
    try:
        os.posix_fallocate(descriptor, 0, size)
    except (AttributeError, OSError) as exc:  # missing on Windows and macOS, unsupported on some file systems
        if getattr(exc, "errno", None) in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO):
            raise
        os.truncate(descriptor, size)


def locked(descriptor: int) -> bool | None:
    """Lock an open file: return True, False if another process holds the lock, or None without system locks."""
    if not HAS_LOCKS:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def is_same(descriptor: int, path: Path) -> bool:
    """Return whether `path` still names the open file."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.lstat())
    except FileNotFoundError:
        return False


def rename_new(temporary: Path, target: Path) -> None:
    """Rename a file to an unused name.  Raises FileExistsError if `target` exists, FileNotFoundError without a file.

    `temporary` may remain as a second name; the caller removes it.
    """
    try:
        target.hardlink_to(temporary)
    except (FileExistsError, FileNotFoundError):
        raise
    except (OSError, NotImplementedError):
        # No hard links here (FAT, some network folders): claim the name with an empty file, then replace that file.
        descriptor = create_file(target)
        claim = os.fstat(descriptor)
        os.close(descriptor)  # Windows cannot replace an open file
        try:
            temporary.replace(target)
        except BaseException:
            with suppress(OSError):
                if os.path.samestat(claim, target.lstat()):  # not a newer file of another process
                    target.unlink()
            raise


def flush_folder(folder: Path) -> None:
    """Flush a folder, so that a rename in it survives a power cut, if the system can."""
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


def remove_stale_temporaries(target: Path) -> None:
    """Remove the ordinary temporary files beside `target` that no process has locked, if possible.

    On systems without such locks all files stay.
    """
    form = re.compile(re.escape(hidden(target, "ttt-batch.").name) + r"[0-9a-f]{12}\.tmp")
    with suppress(OSError):
        for name in filter(form.fullmatch, os.listdir(target.parent)):  # noqa: PTH208 - names are enough
            path = target.with_name(name)
            with suppress(OSError), ExitStack() as closing:
                if stat.S_ISREG(path.lstat().st_mode):
                    # Network file systems lock only files that are open for writing.
                    flags = os.O_RDWR | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
                    descriptor = os.open(path, flags)
                    closing.callback(os.close, descriptor)
                    if locked(descriptor) and is_same(descriptor, path):
                        path.unlink()


def file_identity(path: Path) -> tuple[int, ...] | None:
    """Return a tuple that changes when the file is replaced or written; None without a file."""
    try:
        return identity_in(path.stat())
    except FileNotFoundError:
        return None


def identity_in(status: os.stat_result) -> tuple[int, ...]:
    """Return the `file_identity` of a file from its status."""
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


class NotOrdinaryError(OSError):
    """Error for a folder, a pipe or a device; `folder` is True for a folder."""

    def __init__(self, mode: int) -> None:
        self.folder = stat.S_ISDIR(mode)
        super().__init__(errno.EINVAL, "it is a folder" if self.folder else "it is not an ordinary file")


@contextmanager
def reading(path: Path, error: type[TttBatchError], missing: Callable[[], str]) -> Iterator[None]:
    """Turn errors of reading `path` into one-line errors.  missing: returns the message for a missing file."""
    try:
        yield
    except FileNotFoundError:
        raise error(missing()) from None
    except EOFError:
        raise error(f"{shown(path)} has become shorter while it was read; restore a backup") from None
    except (OSError, ValueError, MemoryError) as exc:
        if isinstance(exc, TttBatchError):
            raise
        why, remedy = reason(exc), "check the name and its permissions"
        if isinstance(exc, MemoryError):
            why, remedy = "not enough memory", "free some and try again"
        elif isinstance(exc, NotOrdinaryError):
            remedy = "name a file in it" if exc.folder else "copy it into one first"
        raise error(f"cannot read {shown(path)}: {why}; {remedy}") from exc


def open_ordinary(path: Path) -> BufferedReader:
    """Open an ordinary file for reading.  Raises NotOrdinaryError for folders, pipes and devices."""
    _check(path.stat())  # before opening, which may have effects on a device
    with ExitStack() as stack:
        file = stack.enter_context(os.fdopen(os.open(path, _READING), "rb"))
        _check(os.fstat(file.fileno()))
        stack.pop_all()
        return file


def begins_with(path: Path, start: bytes) -> bool:
    """Return whether the path is a readable ordinary file that begins with these bytes."""
    with suppress(OSError, ValueError), open_ordinary(path) as file:
        return file.read(len(start)) == start
    return False


def size_of(file: BufferedReader) -> int:
    """Return the size of an open file in bytes, the limit for reading it even if another program appends.

    Python allocates the full size of a read, even if the file is shorter.
    """
    return os.fstat(file.fileno()).st_size


def unpacked_size(file: IO[bytes]) -> int:
    """Return the unpacked size in bytes of an archive such as `.npz`, and rewind `file`.

    Raises the exceptions of `zipfile`.
    """
    import zipfile

    with zipfile.ZipFile(file) as packed:
        size = sum(entry.file_size for entry in packed.infolist())
    file.seek(0)
    return size


def _check(status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise NotOrdinaryError(status.st_mode)
