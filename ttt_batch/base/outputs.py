"""Outputs: ordinary files that appear whole or not at all, each under a name of its own.

A temporary file beside the target is written, flushed to disk and renamed.  Links are followed and stay links.
Devices, pipes and folders are refused, and so is an existing file unless it is to be replaced.  This is the one writer
of files for users.
"""

import errno
import os
import stat
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from ttt_batch.base import files
from ttt_batch.base.choices import check_switches
from ttt_batch.base.errors import RunFileError, TakenError, TttBatchError, UsageError, option, quoted, with_option
from ttt_batch.base.files import reason, shown
from ttt_batch.base.lock import Lock


class Draft:
    """A temporary file `path` that is to become the file `target`; `files.remove_left` spares it until it is closed."""

    def __init__(self, target: Path) -> None:
        files.remove_left(target)
        self._target = target
        self.path, self._descriptor = files.create_locked(target)

    def write(self, content: files.Content) -> None:
        """Append to it."""
        files.write_all(self._descriptor, content)

    def identity(self) -> tuple[int, ...]:
        """The file's `files.identity`, which a rename leaves as it is."""
        return files.identity_in(os.fstat(self._descriptor))

    def flush(self) -> None:
        """Make what was written last through a power cut."""
        os.fsync(self._descriptor)

    def publish(self, *, overwrite: bool, target: Path | None = None) -> None:
        """Give it the target's name, or that of another `target`.  Raises FileExistsError unless `overwrite`."""
        target = target or self._target
        if not files.HAS_LOCKS:  # Windows renames no open file
            self._close()
        if not overwrite:
            files.rename_new(self.path, target)
        elif target.is_symlink() or (target.exists() and not target.is_file()):  # put there since `Kind.place` looked
            raise OSError(errno.EINVAL, "something that is no ordinary file has the name now")
        else:
            self.path.replace(target)

    def close(self) -> None:
        """Remove what is temporary."""
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
class Kind:
    """One kind of output, and the words of its refusals.

    error: what is raised.  option: the option of commands that names another file, without its dashes.
    writing: what is done to the file.  taken: what is raised if the name is in use, unless that is `error`.
    """

    error: type[TttBatchError]
    option: str = ""
    writing: str = "write"
    taken: type[TttBatchError] | None = None

    def place(self, path: Path, *, overwrite: bool) -> Path:
        """Where an output goes, links followed.  Raises `error` if it cannot, or must not, be written there."""
        check_switches(overwrite=overwrite)
        if str(path) == "-":
            raise UsageError(
                f"- is no file, and nothing is written to standard output; {self.with_option('name a file')}"
            )
        with self.refusing(path):
            # A link of /proc to a pipe cannot be resolved, so its target is looked at first.
            try:
                mode = path.stat().st_mode
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
        """Make sure by a temporary file, before hours of work, that an output can be written; return its place."""
        with self.refusing(path):
            target = self.place(path, overwrite=overwrite)
            Draft(target).close()
        return target

    @contextmanager
    def drafts(self, paths: Sequence[Path], *, overwrite: bool) -> Iterator[list[Draft]]:
        """Drafts of files that get their names when the block ends, once all are on disk; none does if it fails.

        Without `overwrite` no existing file is replaced, even one that appears meanwhile.
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
                    files.remove(target)
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

    @contextmanager
    def alone(self, target: Path, *, patience: float = 0.0, necessary: bool = True) -> Iterator[None]:
        """Keep other processes from writing `target` meanwhile.  Raises `error` if one does.

        patience: seconds to wait for it.  necessary: whether a folder that takes no lock file is refused.
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
        """Turn what the system refuses into one line about `path`."""
        try:
            yield
        except FileExistsError as exc:
            raise self._taken(path) from exc
        # RuntimeError is what Path.resolve makes of a loop of links before Python 3.13.
        except (OSError, ValueError, RuntimeError) as exc:
            if isinstance(exc, TttBatchError):
                raise
            remedy = _REMEDIES.get(getattr(exc, "errno", None) or 0, "name another file")
            raise self.refusal(path, f"{reason(exc)}; {self.with_option(remedy)}") from exc

    def refusal(self, path: Path, why: str) -> TttBatchError:
        """The error that says why `path` cannot be written."""
        return self.error(f"cannot {self.writing} {shown(path)}: {why}")

    def _taken(self, path: Path) -> TttBatchError:
        kind = self.taken or self.error
        replaced = f"replace it with {option('overwrite', True)}"
        return kind(f"{shown(path)} exists already; {replaced}, or {self.with_option('name another file')}")

    def with_option(self, remedy: str) -> str:
        """A remedy with the option that it is about."""
        return f"{remedy}{with_option(self.option)}" if self.option else remedy


def named_file(name: str, given: object) -> Path:
    """The path that a parameter, called `name`, means.  Raises UsageError for what is none."""
    if isinstance(given, str | os.PathLike) and given != "":
        return Path(given)
    raise UsageError(f"{option(name)} {quoted(given)} is not the name of a file; give text or a path")


def check_distinct(
    outputs: Iterable[tuple[str, Path]],
    inputs: Iterable[tuple[str, Path | int]] = (),
    error: type[TttBatchError] = UsageError,
) -> None:
    """Refuse, before any work, to write one file twice, or over one that is read.

    Outputs and inputs are pairs: the option or argument that names the file, and its path; for an input also the
    descriptor of an open file.  Links, hard links and `..` are followed; names of new files are compared, too.
    Raises `error`.
    """
    read = {_key(path): (name, path) for name, path in reversed(list(inputs))}  # of equal ones the first
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


def _key(path: Path | int) -> object:
    """A key that two names of one file share, whether it exists or not, and its descriptor, too."""
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
