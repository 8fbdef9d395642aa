"""One writer at a time: a lock file beside the run file names the process that writes it.

The system's own lock on that file decides, and it ends with its process however that ends.  If the file system has no
such locks (some network folders), the process that the lock file names holds it while it lives.
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
"""How often to try again, 10 ms apart, if the holder of a lock is gone: another process may remove the file, too."""


class Lock:
    """Held from `acquire` to `release`, or within a `with` block."""

    def __init__(self, target: Path) -> None:
        """target: the run file, links followed; nothing happens yet."""
        self._target = target
        self.path = files.hidden(target, "lock")
        self._descriptor: int | None = None

    def __enter__(self) -> "Lock":
        self.acquire()
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.release()
        except BaseException:  # a second interrupt, just then: the lock file must not stay
            self.release()
            raise

    def acquire(self) -> None:
        """Take the lock.  Raises TakenError at once if another process has it, with its number and since when."""
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
        """Give it back and remove the lock file, unless another process has made that."""
        if self._descriptor is not None:
            with suppress(OSError):
                if is_same(self._descriptor, self.path):
                    self.path.unlink()
            descriptor, self._descriptor = self._descriptor, None
            os.close(descriptor)

    def _take(self) -> bool:
        """Make the lock file, whole and locked from the start; False if there is one."""
        text = f"pid {os.getpid()}\nbirth {_birth(os.getpid())}\nsince {time.strftime('%Y-%m-%d %H:%M:%S')}\n"
        temporary = files.temporary_name(self._target)
        descriptor = files.create(temporary)
        try:
            os.write(descriptor, text.encode())
            locked(descriptor)
            files.rename_new(temporary, self.path)
        except BaseException as exc:
            os.close(descriptor)
            removed = isinstance(exc, FileNotFoundError) and self._target.parent.is_dir()  # by the lock's holder
            if removed or isinstance(exc, FileExistsError):
                return False
            raise
        finally:
            files.remove(temporary)
        self._descriptor = descriptor
        return True

    def _remove_left(self, *, last: bool) -> bool:
        """Remove a lock file whose process is gone; return False, to try again.

        Raises TakenError if a process has it.  last: also if it only seems that one has.
        """
        try:
            descriptor = os.open(self.path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
        except FileNotFoundError:
            return False
        try:
            content = os.read(descriptor, 4096).decode(errors="replace")
            free = locked(descriptor)
            if free is not True and (_lives(content) or last):
                raise self._held(content)
            if free and is_same(descriptor, self.path):
                self.path.unlink()
            if free is None:
                self._remove(content)
        finally:
            os.close(descriptor)
        return False

    def _remove(self, content: str) -> None:
        """Remove the lock file with this content, without locks of the system.

        One process at a time looks and removes: of two that both saw a dead lock, the slower one would remove what the
        faster one has put there since.
        """
        with suppress(RunFileError, FileNotFoundError), Lock(self.path):
            if self.path.read_text(errors="replace") == content:
                self.path.unlink()

    def _held(self, content: str) -> TakenError:
        found = re.match(r"pid (\d+)\nbirth [^\n]*\nsince ([^\n]+)\n", content)
        who = f"process {found[1]} has been training into it since {found[2]}" if found else "another process trains"
        return TakenError(f"{shown(self._target)} is being written: {who}; wait for it, or name another file")


def _lives(content: str) -> bool:
    """Whether the process that a lock file names lives, and is not another one with the same number."""
    found = re.match(r"pid (\d{1,9})\nbirth (\w*)\n", content)
    if found is None:
        return False
    number = int(found[1])
    if sys.platform != "win32":  # os.kill ends processes there; a left lock has to be removed by hand
        try:
            os.kill(number, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            pass
    return _birth(number) in ("", found[2])


def _birth(number: int) -> str:
    """When a process began, in ticks of the system's clock; empty if the system does not say."""
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""
