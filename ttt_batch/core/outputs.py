"""Atomic writer of output files, and the lock beside a run file.

It writes a temporary file beside the target, flushes it to disk and renames it.  Links are followed and stay links.
Devices, pipes and folders are refused, and existing files without `overwrite`.  All files for users are written here.

The lock file beside a run file allows one writer at a time and names its process.  The operating system's lock on that
file decides; it ends with its process, also after a crash.  Some network folders
have no such locks.  There, the named process holds the lock file as long as it lives.
"""

import errno
import os
import re
import stat
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from ttt_batch.core import files
from ttt_batch.core.errors import RunFileError, TakenError, TttBatchError, UsageError, flag, quoted, with_option
from ttt_batch.core.files import is_same, locked, reason, shown
from ttt_batch.core.text import check_switches

_TRIES = 20
"""Attempts to create a file that another process may be removing; for a lock whose holder has ended, 10 ms apart."""


_READING = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
"""How a lock file is opened: a link is none, and a pipe of its name does not block."""


class Lock:
    """Exclusive lock of a run file, held from `acquire` to `release` or within a `with` block."""

    def __init__(self, target: Path) -> None:
        """target: the run file, with links resolved.  The lock is not acquired yet."""
        self._target = target
        self.path = files.hidden(target, "lock")
        self._descriptor: int | None = None

    def __exit__(self, *_: object) -> None:
        try:
            self.release()
        except BaseException:  # a second interrupt: still remove the lock file
            self.release()
            raise

    def acquire(self) -> "Lock":
        """Acquire the lock and return it.  Raises TakenError at once if a process holds it, naming process and time."""
        try:
            for again in range(_TRIES):
                if self._take() or self._remove_left(last=again == _TRIES - 1):
                    break
                time.sleep(0.01)
        except (OSError, ValueError) as exc:
            full = getattr(exc, "errno", None) in (errno.ENOSPC, errno.EDQUOT)
            remedy = "make room there" if full else "name a file elsewhere"
            raise RunFileError(f"cannot lock {shown(self._target)}: {reason(exc)}; {remedy}") from exc
        return self

    __enter__ = acquire

    def release(self) -> None:
        """Release the lock.  Remove the lock file unless another process has replaced it."""
        if self._descriptor is not None:
            with suppress(OSError):
                if is_same(self._descriptor, self.path):
                    self.path.unlink()
            descriptor, self._descriptor = self._descriptor, None
            os.close(descriptor)

    def _take(self) -> bool:
        """Create the lock file, complete and locked; return False if one exists."""
        text = f"{_own_lines()}since {time.strftime('%Y-%m-%d %H:%M:%S')}\n"
        temporary = files.temporary_name(self._target)
        descriptor = files.create_file(temporary)
        try:
            os.write(descriptor, text.encode())
            locked(descriptor)
            files.rename_new(temporary, self.path)
        except BaseException as exc:
            os.close(descriptor)
            removed = isinstance(exc, FileNotFoundError) and self._target.parent.is_dir()  # by the holder
            if removed or isinstance(exc, FileExistsError):
                return False
            raise
        finally:
            files.remove(temporary)
        self._descriptor = descriptor
        return True

    def check(self) -> None:
        """Raise TakenError if another process holds the lock; change nothing."""
        with suppress(OSError):  # there is no file, or something else of this name
            descriptor = os.open(self.path, _READING)
            try:
                self._check_free(descriptor)
            finally:
                os.close(descriptor)

    def _check_free(self, descriptor: int) -> None:
        """Raise TakenError unless no process holds the lock file that is open, or this one."""
        content = os.read(descriptor, 4096).decode(errors="replace")
        if content.startswith(_own_lines()):
            return
        alive = _holder_lives(content)
        for _ in range(_TRIES):
            free = locked(descriptor)
            if free or (free is None and not alive):
                return
            if alive:
                break
            time.sleep(0.01)  # the holder is elsewhere, or another process checks a lock that was left behind
        raise self._taken(content)

    def _remove_left(self, *, last: bool) -> bool:
        """Remove a lock file whose process has ended; return False, so that the caller tries again.

        Raises TakenError if a living process holds the lock.  last: raise it whenever the lock is not free.
        """
        try:
            descriptor = os.open(self.path, _READING)
        except FileNotFoundError:
            return False
        try:
            content = os.read(descriptor, 4096).decode(errors="replace")
            free = locked(descriptor)
            if free is not True and (last or _holder_lives(content)):
                raise self._taken(content)
            if free and is_same(descriptor, self.path):
                self.path.unlink()
            if free is None:
                # A second lock admits one process at a time.  Of two processes that found a dead lock, the slower one
                # would otherwise remove the new lock of the faster one.
                with suppress(RunFileError, FileNotFoundError), Lock(self.path):
                    if self.path.read_text(errors="replace") == content:
                        self.path.unlink()
        finally:
            os.close(descriptor)
        return False

    def _taken(self, content: str) -> TakenError:
        """Return the error about the process that a lock file names."""
        holder = _HOLDER.match(content)
        who = f"process {holder[1]} has been training into it since {holder[3]}" if holder else "another process trains"
        return TakenError(f"{shown(self._target)} is being written: {who}; wait for it, or name another file")


_HOLDER = re.compile(r"pid (\d{1,9})\nbirth (\w*)\nsince ([^\n]+)\n")
"""Content of a lock file."""


def _own_lines() -> str:
    """Return the lines of a lock file that name this process."""
    return f"pid {os.getpid()}\nbirth {_birth(os.getpid())}\n"


def _holder_lives(content: str) -> bool:
    """Return whether the process that a lock file names lives on this machine."""
    holder = _HOLDER.match(content)
    return holder is not None and _is_alive(int(holder[1]), holder[2])


def _is_alive(number: int, birth: str) -> bool:
    """Return whether the process of a lock file lives.  Its starting time excludes a new process with that id."""
    if sys.platform != "win32":  # os.kill ends processes there, so people must remove a leftover lock
        try:
            os.kill(number, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            pass
    return _birth(number) in ("", birth)


def _birth(number: int) -> str:
    """Return the starting time of a process in ticks of the system's clock, or an empty text if unknown."""
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""


class Draft:
    """Temporary file `path` that becomes the file `target`.  `remove_stale_temporaries` skips it until it is closed."""

    def __init__(self, target: Path) -> None:
        """Create an empty, locked file beside `target`.  Raises OSError."""
        files.remove_stale_temporaries(target)
        self._target, kept = target, False
        for _ in range(_TRIES):
            self.path = files.temporary_name(target)
            self._descriptor = files.create_file(self.path)
            try:  # `remove_stale_temporaries` of another process may have removed it before the lock
                kept = locked(self._descriptor) is not False and is_same(self._descriptor, self.path)
            finally:
                if not kept:
                    self.close()
            if kept:
                return
        raise OSError(errno.EBUSY, os.strerror(errno.EBUSY))

    def write(self, content: files.Content) -> None:
        """Append `content`."""
        files.write_all(self._descriptor, content)

    def flush(self) -> None:
        """Flush the content to disk, so that it survives a power cut."""
        os.fsync(self._descriptor)

    def publish(self, *, overwrite: bool, target: Path | None = None) -> None:
        """Rename the draft to its target, or to another one.  Raises FileExistsError unless `overwrite`."""
        target = target or self._target
        if not files.HAS_LOCKS:  # Windows cannot rename an open file
            self._close()
        if not overwrite:
            files.rename_new(self.path, target)
        elif target.is_symlink() or (target.exists() and not target.is_file()):  # created after `OutputKind.place`
            raise OSError(errno.EINVAL, "the name now belongs to something other than an ordinary file")
        else:
            self.path.replace(target)

    def close(self) -> None:
        """Close and remove the temporary file."""
        self._close()
        files.remove(self.path)

    def _close(self) -> None:
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)


_REMEDIES = {
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT, errno.EFBIG), "make room there, or name a file elsewhere"),
    **dict.fromkeys((errno.EACCES, errno.EPERM, errno.EROFS), "name a file in a folder that you may write to"),
    errno.ENAMETOOLONG: "name a file with a shorter name",
}


@dataclass(frozen=True)
class OutputKind:
    """Kind of output, with the words of its error messages.

    error: class of its errors.  option: the command-line option that names another file, without dashes.
    writing: the verb of the messages.  taken: class of the error for a name in use, by default `error`.
    """

    error: type[TttBatchError]
    option: str = ""
    writing: str = "write"
    taken: type[TttBatchError] | None = None

    def place(self, path: Path, *, overwrite: bool) -> Path:
        """Return the path of an output, with links resolved.  Raises `error` if it cannot or must not be written."""
        check_switches(overwrite=overwrite)
        if str(path) == "-":
            raise UsageError(f"cannot write to standard output (-); {self.with_option('name a file')}")
        with self.refusing(path):
            # Call stat before resolve: a link of /proc to a pipe cannot be resolved.
            try:
                mode = _status(path).st_mode
            except FileNotFoundError:
                target = path.resolve()
                if target.parent.is_dir():
                    return target
                remedy = self.with_option("create it, or name a file elsewhere")
                raise self.refusal(path, f"there is no folder {shown(target.parent)}; {remedy}") from None
            if stat.S_ISDIR(mode):
                why = f"it is not an ordinary file, it is a folder; name a file in it: {shown(path / 'FILE')}"
                raise self.refusal(path, why)
            if not stat.S_ISREG(mode):
                raise self.refusal(path, f"it is not an ordinary file; {self.with_option('name another file')}")
            if not overwrite:
                raise self._taken(path)
            return path.resolve()

    def check(self, path: Path, *, overwrite: bool) -> Path:
        """Check with a temporary file, before hours of work, that an output can be written; return its path."""
        with self.refusing(path):
            target = self._free_place(path, overwrite=overwrite)
            Draft(target).close()
        return target

    def _free_place(self, path: Path, *, overwrite: bool) -> Path:
        """Return `place`.  Raises `taken`, by default `error`, also if another process holds the lock of the file."""
        target = self.place(path, overwrite=overwrite)
        try:
            Lock(target).check()
        except TakenError as error:
            raise (self.taken or self.error)(str(error)) from None
        return target

    @contextmanager
    def drafts(self, paths: Sequence[Path], *, overwrite: bool) -> Iterator[list[Draft]]:
        """Yield drafts, and publish them at the end of the block, once all are on disk.

        If the block or a write fails, no file appears.  Without `overwrite` no existing file is replaced, even a file
        created during the block.
        """
        named: list[Path] = []
        targets = [self._free_place(path, overwrite=overwrite) for path in paths]
        with ExitStack() as stack:
            drafts = []
            for path, target in zip(paths, targets, strict=True):
                with self.refusing(path):
                    drafts.append(Draft(target))
                    stack.callback(drafts[-1].close)
            yield drafts
            for path, draft in zip(paths, drafts, strict=True):
                with self.refusing(path):
                    draft.flush()
            try:
                for path, target, draft in zip(paths, targets, drafts, strict=True):
                    with self.refusing(path):
                        draft.publish(overwrite=overwrite)
                    named += [] if overwrite else [target]
            except BaseException:
                for target in named:
                    files.remove(target)
                raise
        for path, target in zip(paths, targets, strict=True):
            with self.refusing(path):
                files.flush_folder(target.parent)

    def write(self, paths: Sequence[Path], contents: Sequence[files.Content], *, overwrite: bool) -> None:
        """Write complete files and rename them only when all are on disk."""
        with self.drafts(paths, overwrite=overwrite) as drafts:
            for path, draft, content in zip(paths, drafts, contents, strict=True):
                with self.refusing(path):
                    draft.write(content)

    @contextmanager
    def alone(self, target: Path, *, patience: float = 0.0, necessary: bool = True) -> Iterator[None]:
        """Lock `target` against other processes within the block.  Raises `taken`, by default `error`, if one has it.

        patience: seconds to wait for that process.  necessary: raise `error` if no lock file can be written; else
        continue without a lock.
        """
        until, lock = time.monotonic() + patience, Lock(target)
        with ExitStack() as stack:
            while True:
                try:
                    stack.enter_context(lock)
                    break
                except RunFileError as error:
                    taken = isinstance(error, TakenError)
                    if not taken and not necessary:
                        break
                    if not taken or time.monotonic() >= until:
                        raise (self.taken if taken and self.taken else self.error)(str(error)) from None
                time.sleep(0.02)
            yield

    @contextmanager
    def refusing(self, path: Path) -> Iterator[None]:
        """Turn errors of the system into one-line errors about `path`."""
        try:
            yield
        except FileExistsError as exc:
            raise self._taken(path) from exc
        # Path.resolve raises RuntimeError for a loop of links before Python 3.13.
        except (OSError, ValueError, RuntimeError) as exc:
            if isinstance(exc, TttBatchError):
                raise
            remedy = _REMEDIES.get(getattr(exc, "errno", None) or 0, "name another file")
            raise self.refusal(path, f"{reason(exc)}; {self.with_option(remedy)}") from exc

    def refusal(self, path: Path, why: str) -> TttBatchError:
        """Return the error that says why `path` cannot be written."""
        return self.error(f"cannot {self.writing} {shown(path)}: {why}")

    def _taken(self, path: Path) -> TttBatchError:
        kind = self.taken or self.error
        replaced = f"replace it with {flag('overwrite', True)}"
        return kind(f"{shown(path)} exists already; {replaced}, or {self.with_option('name another file')}")

    def with_option(self, remedy: str) -> str:
        """Return a remedy with the option that names another file."""
        return f"{remedy}{with_option(self.option)}" if self.option else remedy


def named_file(name: str, given: object) -> Path:
    """Return the path given for the parameter `name`.  Raises UsageError for other types and an empty text."""
    if isinstance(given, str | os.PathLike) and given != "":
        return Path(given)
    raise UsageError(f"{flag(name)} {quoted(given)} is not the name of a file; give text or a path")


def check_distinct(
    outputs: Iterable[tuple[str, Path]],
    inputs: Iterable[tuple[str, Path | int]] = (),
    error: type[TttBatchError] = UsageError,
) -> None:
    """Raise `error` if two outputs are the same file, or an output is also an input.

    Outputs and inputs are pairs of the option or argument that names the file and its path.  An input may be the
    descriptor of an open file.  Links, hard links and `..` are resolved; names of new files are compared, too.
    """
    read = {_key(path): (name, path) for name, path in reversed(list(inputs))}  # the first of equal files wins
    written: dict[object, tuple[str, Path]] = {}
    for name, path in outputs:
        key = _key(path)
        if key in written:
            by = "" if written[key] == (name, path) else f", by {written[key][0]} and by {name}"
            raise error(f"{shown(path)} is named twice{by}; name a file of its own for each")
        if key in read:
            other, source = read[key]
            also = f" as {shown(source)}" if isinstance(source, Path) and source != path else ""
            raise error(f"{name} {shown(path)} is read, too{also}, as {other}; name another file with {name}")
        written[key] = name, path


def _status(path: Path | int) -> os.stat_result:
    """Return the status of a file, by its name or descriptor.

    The system finds no name with `..` after a folder that does not exist; the folder is left out.
    """
    try:
        return os.stat(path)  # noqa: PTH116 - it may be a descriptor
    except FileNotFoundError:
        if isinstance(path, int):
            raise
        return path.resolve().stat()


def _key(path: Path | int) -> object:
    """Return a key that all names and descriptors of a file share; the file need not exist."""
    with suppress(OSError, ValueError):
        status = _status(path)
        return status.st_dev, status.st_ino
    if isinstance(path, int):
        return path
    try:
        target = path.resolve()
        folder = target.parent.stat()
        return folder.st_dev, folder.st_ino, os.path.normcase(target.name)
    except (OSError, ValueError, RuntimeError):
        return str(path)
