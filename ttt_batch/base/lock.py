"""Lock file beside a run file, which allows one writer at a time and names its process.

The operating system's lock on that file decides; it ends with its process, also after a crash.  Some network folders
have no such locks.  There, the named process holds the lock file as long as it lives.
"""

import errno
import os
import re
import sys
import time
from contextlib import suppress
from pathlib import Path

from ttt_batch.base import files
from ttt_batch.base.errors import RunFileError, TakenError
from ttt_batch.base.files import is_same, locked, reason, shown

_TRIES = 20
"""Attempts, 10 ms apart, if the holder of a lock has ended: another process may be removing the file, too."""


class Lock:
    """Exclusive lock of a run file, held from `acquire` to `release` or within a `with` block."""

    def __init__(self, target: Path) -> None:
        """target: the run file, with links resolved.  The lock is not acquired yet."""
        self._target = target
        self.path = files.hidden(target, "lock")
        self._descriptor: int | None = None

    def __enter__(self) -> "Lock":
        self.acquire()
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.release()
        except BaseException:  # a second interrupt: still remove the lock file
            self.release()
            raise

    def acquire(self) -> None:
        """Acquire the lock.  Raises TakenError at once if another process holds it, with its id and starting time."""
        try:
            for again in range(_TRIES):
                if self._take() or self._remove_left(last=again == _TRIES - 1):
                    break
                time.sleep(0.01)
        except (OSError, ValueError) as exc:
            full = getattr(exc, "errno", None) in (errno.ENOSPC, errno.EDQUOT)
            remedy = "make room there" if full else "name a file elsewhere"
            raise RunFileError(f"cannot lock {shown(self._target)}: {reason(exc)}; {remedy}") from exc

    def release(self) -> None:
        """Release the lock and remove the lock file, unless another process has created it."""
        if self._descriptor is not None:
            with suppress(OSError):
                if is_same(self._descriptor, self.path):
                    self.path.unlink()
            descriptor, self._descriptor = self._descriptor, None
            os.close(descriptor)

    def _take(self) -> bool:
        """Create the lock file, complete and locked; return False if one exists."""
        text = f"pid {os.getpid()}\nbirth {_birth(os.getpid())}\nsince {time.strftime('%Y-%m-%d %H:%M:%S')}\n"
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

    def _remove_left(self, *, last: bool) -> bool:
        """Remove a lock file whose process has ended; return False, so that the caller tries again.

        Raises TakenError if a living process holds the lock.  last: raise it whenever the lock is not free.
        """
        try:
            descriptor = os.open(self.path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
        except FileNotFoundError:
            return False
        try:
            content = os.read(descriptor, 4096).decode(errors="replace")
            free = locked(descriptor)
            if free is not True and (_is_alive(content) or last):
                raise self._held(content)
            if free and is_same(descriptor, self.path):
                self.path.unlink()
            if free is None:
                self._remove(content)
        finally:
            os.close(descriptor)
        return False

    def _remove(self, content: str) -> None:
        """Remove the lock file if it has this content, on a file system without locks.

        A second lock admits one process at a time.  Of two processes that found a dead lock, the slower one would
        otherwise remove the new lock of the faster one.
        """
        with suppress(RunFileError, FileNotFoundError), Lock(self.path):
            if self.path.read_text(errors="replace") == content:
                self.path.unlink()

    def _held(self, content: str) -> TakenError:
        found = re.match(r"pid (\d+)\nbirth [^\n]*\nsince ([^\n]+)\n", content)
        who = f"process {found[1]} has been training into it since {found[2]}" if found else "another process trains"
        return TakenError(f"{shown(self._target)} is being written: {who}; wait for it, or name another file")


def _is_alive(content: str) -> bool:
    """Return whether the process of a lock file lives; its birth excludes another process that reused the number."""
    found = re.match(r"pid (\d{1,9})\nbirth (\w*)\n", content)
    if found is None:
        return False
    number = int(found[1])
    if sys.platform != "win32":  # os.kill ends processes there, so people must remove a leftover lock
        try:
            os.kill(number, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            pass
    return _birth(number) in ("", found[2])


def _birth(number: int) -> str:
    """Return the starting time of a process in ticks of the system's clock, or an empty text if unknown."""
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""
