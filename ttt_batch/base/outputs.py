"""Outputs: ordinary files that appear whole or not at all, each under a name of its own.

A temporary file beside the target is written, flushed to disk and renamed.  Links are followed and stay links.
Devices, pipes and folders are refused, and so is an existing file unless it is to be replaced.  Every file that the
package writes for a person is written here.
"""

import codecs
import errno
import os
import stat
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from ttt_batch.base import files
from ttt_batch.base.errors import RunFileError, TakenError, TttBatchError, UsageError, option, with_option
from ttt_batch.base.files import is_there, reason, shown
from ttt_batch.base.lock import Lock


class Draft:
    """A temporary file that is to become the file `target`; until it is closed, `files.remove_left` leaves it alone."""

    def __init__(self, target: Path) -> None:
        files.remove_left(target)
        self._target = target
        self._path, self._descriptor = files.create_locked(target)

    def write(self, content: files.Content) -> None:
        """Append to it."""
        files.write_all(self._descriptor, content)

    def identity(self) -> tuple[int, ...]:
        """What the file is known by; it keeps that when it is renamed."""
        return files.identity_in(os.fstat(self._descriptor))

    def flush(self) -> None:
        """Make what was written last through a power cut."""
        os.fsync(self._descriptor)

    def publish(self, *, overwrite: bool, target: Path | None = None) -> None:
        """Give it the target's name, or that of another `target`; FileExistsError if something has it that stays."""
        target = target or self._target
        if not files.HAS_LOCKS:  # Windows renames no open file
            self._close()
        if not overwrite:
            files.rename_new(self._path, target)
            return
        with suppress(FileNotFoundError):
            if not stat.S_ISREG(target.lstat().st_mode):  # put there since the place was looked at
                raise OSError(errno.EINVAL, "something that is no ordinary file has the name now")
        self._path.replace(target)

    def close(self) -> None:
        """Remove what is temporary."""
        self._close()
        with suppress(OSError):
            self._path.unlink()

    def _close(self) -> None:
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)


_BEGINNING = 1 << 16
"""Bytes by which a text file is told from others, however long it is."""


@dataclass(frozen=True)
class Kind:
    """One kind of output, and how what stands in its way is said.

    error: what is raised.  option: the option of commands that names another file, without its dashes.
    writing: what is done to the file.  taken: what is raised where the name is in use, if that is another error.
    """

    error: type[TttBatchError]
    option: str = ""
    writing: str = "write"
    taken: type[TttBatchError] | None = None

    def place(self, path: Path, *, overwrite: bool) -> Path:
        """Where an output goes, links followed.  Raises `error` for what cannot, or must not, be written there."""
        with self.refusing(path):
            # A link of /proc to a pipe names nothing that can be resolved, so what it leads to is looked at first.
            try:
                mode = path.stat().st_mode
            except FileNotFoundError:
                target = path.resolve()
                if not target.parent.is_dir():
                    remedy = self._say("create it, or name a file elsewhere")
                    raise self._refusal(path, f"there is no folder {shown(target.parent)}; {remedy}") from None
                return target
            if stat.S_ISDIR(mode):
                example = shown(path / "FILE")
                raise self._refusal(path, f"it is not an ordinary file, it is a folder; name a file in it: {example}")
            if not stat.S_ISREG(mode):
                raise self._refusal(path, f"it is not an ordinary file; {self._say('name another file')}")
            if not overwrite:
                raise self._taken(path)
            return path.resolve()

    def check(self, path: Path, *, overwrite: bool) -> Path:
        """Make sure, before hours of work, by a temporary file, that an output can be written; return its place."""
        with self.refusing(path):
            target = self.place(path, overwrite=overwrite)
            Draft(target).close()
        return target

    @contextmanager
    def drafts(self, paths: Sequence[Path], *, overwrite: bool) -> Iterator[list[Draft]]:
        """Drafts of files that get their names when the block ends, once all are on disk; nothing is left if it fails.

        Without `overwrite` an existing file is never replaced, also when it appears meanwhile.
        """
        named: list[Path] = []
        targets = [self.place(path, overwrite=overwrite) for path in paths]
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
                    with suppress(OSError):
                        target.unlink()
                raise
        for path, target in zip(paths, targets, strict=True):
            with self.refusing(path):
                files.flush_folder(target.parent)

    def write(self, paths: Sequence[Path], contents: Sequence[files.Content], *, overwrite: bool) -> None:
        """Write files whole; none gets its name before all are on disk."""
        with self.drafts(paths, overwrite=overwrite) as drafts:
            for path, draft, content in zip(paths, drafts, contents, strict=True):
                with self.refusing(path):
                    draft.write(content)

    def check_text(self, path: Path) -> None:
        """Make sure that lines can be appended to `path`: a text file, by its beginning, or none yet."""
        with self.refusing(path):
            if not is_there(path):
                self.check(path, overwrite=False)
                return
            decoder = codecs.getincrementaldecoder("utf-8")()
            with os.fdopen(_open_to_append(self.place(path, overwrite=True)), "rb") as file:
                beginning = file.read(_BEGINNING)
                try:
                    if "\0" in decoder.decode(beginning, final=len(beginning) < _BEGINNING):
                        raise UnicodeError
                except UnicodeError:
                    why = f"it is not a text file; {self._say('name another file')}"
                    raise self._refusal(path, why) from None

    def append_line(self, path: Path, line: bytes) -> None:
        """Append a line to a text file, or begin one; all of it or nothing."""
        target = self.place(path, overwrite=True)
        with self.alone(target, patience=1.0, necessary=False), self.refusing(path):
            descriptor = _open_to_append(target)
            try:
                size = os.lseek(descriptor, 0, os.SEEK_END)
                if size:  # a last line without an end must not run into this one
                    os.lseek(descriptor, -1, os.SEEK_END)
                    line = line if os.read(descriptor, 1) == b"\n" else b"\n" + line
                try:
                    files.write_all(descriptor, line + b"\n")
                except OSError:
                    os.ftruncate(descriptor, size)
                    raise
            finally:
                os.close(descriptor)

    @contextmanager
    def alone(self, target: Path, *, patience: float = 0.0, necessary: bool = True) -> Iterator[None]:
        """Keep other processes from writing `target` meanwhile.  Raises `error` where one does.

        patience: seconds to wait for it.  necessary: whether a folder that takes no lock file is refused.
        """
        until, lock = time.monotonic() + patience, Lock(target)
        with ExitStack() as stack:
            while True:
                try:
                    stack.enter_context(lock)
                except RunFileError as error:
                    taken = isinstance(error, TakenError)
                    if taken and time.monotonic() < until:
                        time.sleep(0.02)
                        continue
                    if taken or necessary:
                        raise self.error(str(error)) from None
                break
            yield

    @contextmanager
    def refusing(self, path: Path) -> Iterator[None]:
        """Turn what the system refuses into one line about `path`."""
        try:
            yield
        except FileExistsError as exc:
            raise self._taken(path) from exc
        # RuntimeError is what Path.resolve makes of a loop of links before Python 3.13.
        except (OSError, ValueError, RuntimeError) as exc:
            if isinstance(exc, TttBatchError):
                raise
            raise self._refusal(path, f"{reason(exc)}; {self._remedy(exc)}") from exc

    def _refusal(self, path: Path, why: str) -> TttBatchError:
        return self.error(f"cannot {self.writing} {shown(path)}: {why}")

    def _taken(self, path: Path) -> TttBatchError:
        kind = self.taken or self.error
        replaced = f"replace it with {option('overwrite', True)}"
        return kind(f"{shown(path)} exists already; {replaced}, or {self._say('name another file')}")

    def _say(self, remedy: str) -> str:
        return f"{remedy}{with_option(self.option)}" if self.option else remedy

    def _remedy(self, exc: BaseException) -> str:
        number = exc.errno if isinstance(exc, OSError) else None
        if number in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            return f"make room there, or {self._say('name a file elsewhere')}"
        if number in (errno.EACCES, errno.EPERM, errno.EROFS):
            return self._say("name a file in a folder that you may write to")
        if number == errno.ENAMETOOLONG:
            return self._say("name a file with a shorter name")
        return self._say("name another file")


def _open_to_append(target: Path) -> int:
    return os.open(target, os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0), 0o666)


def check_distinct(
    outputs: Iterable[tuple[str, Path]],
    inputs: Iterable[tuple[str, Path | int]] = (),
    error: type[TttBatchError] = UsageError,
) -> None:
    """Refuse, before any work, to write one file twice, or over what is read.

    Both are pairs of what the file is called (an option or an argument) and its path; an input may be an open file, by
    its descriptor.  Links, hard links and `..` are
    followed, and names compared that no file has yet.  Raises `error`.
    """
    read = [(name, path, _key(path)) for name, path in inputs]
    written: list[tuple[str, Path, object]] = []
    for name, path in outputs:
        key = _key(path)
        for other, there, its in written:
            if key == its:
                said = "twice" if (name, path) == (other, there) else f"twice, by {other} and by {name}"
                raise error(f"{shown(path)} is named {said}; name a file of its own for each")
        for other, source, its in read:
            if key == its:
                also = f" as {shown(source)}" if isinstance(source, Path) and source != path else ""
                raise error(f"{name} {shown(path)} is read, too{also}, as {other}; name another file with {name}")
        written.append((name, path, key))


def _key(path: Path | int) -> object:
    """What is equal for two names of one file, whether it exists or not, and for its descriptor."""
    with suppress(OSError, ValueError):
        status = os.stat(path)  # noqa: PTH116 - it may be a descriptor
        return status.st_dev, status.st_ino
    if isinstance(path, int):
        return path
    try:
        target = path.resolve()
        folder = target.parent.stat()
        return folder.st_dev, folder.st_ino, os.path.normcase(target.name)
    except (OSError, ValueError, RuntimeError):
        return str(path)
