"""What files need: hidden names beside a target, locks of the system, renames that replace nothing; and ordinary files
opened for reading.

Everything here raises what the system raises; `outputs` words it.
"""

import errno
import hashlib
import itertools
import os
import re
import secrets
import stat
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from io import BufferedReader
from pathlib import Path
from typing import IO

from ttt_batch.base.console import for_shell

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

HAS_LOCKS = fcntl is not None

Content = bytes | bytearray | memoryview

_READING = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)
"""Without waiting, should a pipe take a file's place between looking and opening."""


_ENDING = re.compile(r"\.[a-zA-Z]\w*")
"""How the name of a file ends, and no number, as in `td-0.1`, does."""

_LONGEST = 200
"""Bytes of a name that a hidden one repeats; systems allow 255, beginning and ending included."""


def shown(path: Path) -> str:
    """The path for a message, on one line whatever its name holds."""
    return str(path) if str(path).isprintable() else repr(str(path))


def remove(path: Path) -> None:
    """Remove a file if that is possible."""
    with suppress(OSError):
        path.unlink()


def has_ending(path: Path) -> bool:
    """Return whether a name has an ending of a file; that of `td-0.1` is a number."""
    return _ENDING.fullmatch(path.suffix) is not None


def with_ending(path: Path, ending: str) -> Path:
    """Return the path with an ending if a person typed a new name without any; `-` is refused elsewhere as it is."""
    if has_ending(path) or path.name in ("", "-") or os.path.lexists(path):
        return path
    return path.with_name(path.name + ending)


def is_there(path: Path) -> bool:
    """Whether something has that name; False for a name that the system refuses, such as one of 300 characters."""
    return os.path.exists(path)  # noqa: PTH110 - Path's own raises before Python 3.12


def is_file(path: Path) -> bool:
    """Return whether an ordinary file has that name, False as in `is_there`."""
    return os.path.isfile(path)  # noqa: PTH113 - Path's own raises for a name of 300 characters


EVERYWHERE: dict[str, str] = {}
"""Options that every command of a person needs, too, who gave them to this one: `--learner FILE.py:NAME`."""


def command_text(*words: str | Path) -> str:
    """A command of this program as a person may paste it."""
    words = *words, *(word for option in EVERYWHERE.items() for word in option)
    # A path that begins with a dash would be read as an option.
    written = [f"./{word}" if isinstance(word, Path) and str(word).startswith("-") else str(word) for word in words]
    return " ".join(["ttt-batch", *map(for_shell, written)])


def reason(error: BaseException) -> str:
    """What went wrong, without number and file name if the system worded it."""
    if isinstance(error, ValueError) and "null" in str(error):  # worded differently by each version of Python
        return "a name cannot have a null byte"
    return getattr(error, "strerror", None) or str(error)


def hidden(target: Path, ending: str) -> Path:
    """A hidden name beside `target`, which it names; by its digest if it would be too long for a name."""
    name = target.name
    if len(os.fsencode(name)) > _LONGEST:
        name = hashlib.sha256(os.fsencode(name)).hexdigest()[:32]
    return target.with_name(f".{name}.{ending}")


def temporary_name(target: Path) -> Path:
    """A hidden name beside `target` that nothing has yet."""
    return hidden(target, f"ttt-batch.{secrets.token_hex(6)}.tmp")


def free_names(path: Path) -> Iterator[Path]:
    """`run.h5`, `run-2.h5`, `run-3.h5` ... that are free; another process may take one at any time."""
    for number in itertools.count(1):
        name = path if number == 1 else path.with_name(f"{path.stem}-{number}{path.suffix}")
        if not os.path.lexists(name):
            yield name


def create(path: Path) -> int:
    """The descriptor of a new, empty file with the usual permissions.  Raises FileExistsError if the name is taken."""
    return os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_BINARY", 0), 0o666)


def create_locked(target: Path) -> tuple[Path, int]:
    """A new, empty temporary file beside `target`, and its descriptor, which holds the file's lock while open."""
    for _ in range(20):
        path = temporary_name(target)
        descriptor = create(path)
        try:
            if locked(descriptor) is not False and is_same(descriptor, path):
                return path, descriptor
        except BaseException:
            discard(path, descriptor)
            raise
        discard(path, descriptor)  # `remove_left` of another process came between the two calls
    raise OSError(errno.EBUSY, os.strerror(errno.EBUSY))


def discard(path: Path, descriptor: int) -> None:
    """Close a temporary file and remove it, if it still has this name."""
    os.close(descriptor)
    remove(path)


def write_all(descriptor: int, content: Content) -> None:
    """Write all bytes, however many calls that takes."""
    # Views are released even if the disk refuses: a traceback would keep them, and the buffer could not be closed.
    with memoryview(content) as view:
        written = 0
        while written < len(view):
            with view[written:] as rest:
                written += os.write(descriptor, rest)


def allocate(descriptor: int, size: int) -> None:
    """Make an open, empty file `size` zero bytes long, with room on the disk for them if the system can tell."""
    try:
        os.posix_fallocate(descriptor, 0, size)
    except (AttributeError, OSError) as exc:  # Windows and macOS have no such call, some folders do not support it
        if getattr(exc, "errno", None) in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO):
            raise
        os.truncate(descriptor, size)


def locked(descriptor: int) -> bool | None:
    """Lock an open file: True, or False if another process has it; None if the system has no such locks."""
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
    """Whether `path` still names the open file."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.lstat())
    except FileNotFoundError:
        return False


def rename_new(temporary: Path, target: Path) -> None:
    """Give the file its name.  Raises FileExistsError if the name is taken, FileNotFoundError if the file is gone.

    `temporary` may remain as a second name; the caller removes it.
    """
    try:
        target.hardlink_to(temporary)
    except (FileExistsError, FileNotFoundError):
        raise
    except (OSError, NotImplementedError):
        # No hard links here (FAT, some network folders): claim the name with an empty file, replace that.
        descriptor = create(target)
        claim = os.fstat(descriptor)
        os.close(descriptor)  # Windows replaces no open file
        try:
            temporary.replace(target)
        except BaseException:
            with suppress(OSError):
                if os.path.samestat(claim, target.lstat()):  # not what another process has put there since
                    target.unlink()
            raise


def flush_folder(folder: Path) -> None:
    """Make a rename last through a power cut, if the system can."""
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


def remove_left(target: Path) -> None:
    """Remove the temporary files beside `target` that no living process holds.  What cannot be removed stays.

    A process holds its file by the system's lock on it; without such locks everything stays.
    """
    form = re.compile(re.escape(hidden(target, "ttt-batch.").name) + r"[0-9a-f]{12}\.tmp")
    with suppress(OSError):
        for name in filter(form.fullmatch, os.listdir(target.parent)):  # noqa: PTH208 - names are enough
            with suppress(OSError):
                _remove_dead(target.with_name(name))


def _remove_dead(path: Path) -> None:
    """Remove an ordinary file that no process has locked."""
    if not stat.S_ISREG(path.lstat().st_mode):
        return
    # Network file systems lock only what is open for writing.
    descriptor = os.open(path, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    try:
        if locked(descriptor) and is_same(descriptor, path):
            path.unlink()
    finally:
        os.close(descriptor)


def identity(path: Path) -> tuple[int, ...] | None:
    """What changes whenever a file is replaced or written to; None if there is none."""
    try:
        return identity_in(path.stat())
    except FileNotFoundError:
        return None


def identity_in(status: os.stat_result) -> tuple[int, ...]:
    """`identity` of a file whose status is known."""
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


class NotOrdinaryError(Exception):
    """A folder, a pipe or a device; `folder` says whether it is the first."""

    def __init__(self, mode: int) -> None:
        super().__init__("it is not an ordinary file")
        self.folder = stat.S_ISDIR(mode)


def open_ordinary(path: Path) -> BufferedReader:
    """Open an ordinary file for reading: it has an end, and never waits for a writer.  Raises NotOrdinaryError."""
    _check(path.stat())  # opening alone may do something to a device
    with ExitStack() as stack:
        file = stack.enter_context(os.fdopen(os.open(path, _READING), "rb"))
        _check(os.fstat(file.fileno()))
        stack.pop_all()
        return file


def begins_with(path: Path, start: bytes) -> bool:
    """Return whether an ordinary file that can be read begins with these bytes."""
    with suppress(OSError, ValueError, NotOrdinaryError), open_ordinary(path) as file:
        return file.read(len(start)) == start
    return False


def size_of(file: BufferedReader) -> int:
    """Bytes of an open file: no more are worth reading, even if some are appended meanwhile.

    Python allocates all that a read asks for, however little there is.
    """
    return os.fstat(file.fileno()).st_size


def unpacked_size(file: IO[bytes]) -> int:
    """Return the bytes that an archive such as `.npz` unpacks to; `file` is at its beginning then.

    Raises as `zipfile` does.
    """
    import zipfile

    with zipfile.ZipFile(file) as packed:
        size = sum(entry.file_size for entry in packed.infolist())
    file.seek(0)
    return size


def _check(status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise NotOrdinaryError(status.st_mode)
