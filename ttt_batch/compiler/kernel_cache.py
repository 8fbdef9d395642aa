"""Cache of compiled kernels, which never runs machine code of an older source.

Numba checks only the file that defines a cached kernel, so it misses edits of called functions in other files.  This
cache lies in a folder named after a hash of the package's sources and of its dependencies' versions.  Any edit or
upgrade starts an empty folder, except an edit of the floor `app`, which has no kernels and which nothing below reads.
Each compiled signature is one file, written to a temporary file and renamed, so concurrent processes cannot mix their
entries.  If the cache cannot be read or written, kernels are compiled.

Other users must not be able to write to the folder: unpickling a planted kernel would run its code.  A folder is
private if it and every folder above it belong to this user or to root, and others cannot write to them; ssh and sudo
check the same.  A folder above may be writable for all if it has the sticky bit, as /tmp has.  The user's own group
does not count as others: many systems give every user a group of that name, with write permission by default.  On
Windows, which has no such owners, everything passes.

A damaged kernel crashes LLVM and the interpreter.  So a file begins with a digest of its content, its name and its
folder's name.  If the digest does not match, the kernel is compiled.
"""

import atexit
import errno
import functools
import hashlib
import os
import pickle
import shutil
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import llvmlite
import numba
import numpy as np
from numba.core.caching import FunctionCache
from numba.core.serialize import dumps

from ttt_batch.compiler.settings import ROOT, WITHOUT_KERNELS, compiling, in_package, is_jit_disabled, watchers
from ttt_batch.core.console import print_message
from ttt_batch.core.errors import TttBatchError
from ttt_batch.core.files import reason, remove, shown
from ttt_batch.core.resources import available_threads, check_memory, module_environment


class SharedError(PermissionError):
    """Error for a file or folder that others could write to; the message names it and the reason."""

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(errno.EACCES, f"{shown(path)} {why}")


def sharing_reason(status: os.stat_result, *, above: bool = False) -> str:
    """Return why others could write to a file or folder, worded to follow its name, or an empty text.

    above: check for a folder only whether others could replace its entries.
    """
    if not hasattr(os, "geteuid"):
        return ""
    if status.st_uid not in (0, os.geteuid()):
        return f"belongs to {_user_name(status.st_uid)}"
    if above and status.st_mode & stat.S_ISVTX:
        return ""
    if status.st_mode & stat.S_IWOTH or (status.st_mode & stat.S_IWGRP and not _own_group(status.st_gid)):
        return "can be written by others"
    return ""


def _user_name(uid: int) -> str:
    import pwd

    with suppress(KeyError):
        return f"user {pwd.getpwuid(uid).pw_name}"
    return f"user {uid}"


def _own_group(gid: int) -> bool:
    """Return whether a group has the user's name and no other member."""
    import grp
    import pwd

    with suppress(KeyError):
        name, group = pwd.getpwuid(os.geteuid()).pw_name, grp.getgrgid(gid)
        return group.gr_name == name and set(group.gr_mem) <= {name}
    return False


def check_private(folder: Path) -> None:
    """Raise SharedError if others could put files into `folder`, a path without links that need not exist."""
    for place in (folder, *folder.parents):
        with suppress(FileNotFoundError):
            if why := sharing_reason(place.lstat(), above=place != folder):
                raise SharedError(place, why)


def private_folder(folder: Path) -> Path:
    """Create a folder for this user alone, unless it exists, and return it with links resolved.

    Missing parents are created for this user alone, too.  Raises SharedError, and OSError of the system.
    """
    real = folder.resolve()
    check_private(real)
    for place in (*reversed(real.parents), real):
        with suppress(FileExistsError):
            if not place.is_dir():
                place.mkdir(mode=0o700)
    check_private(real)  # again: another user may have created one of them first
    return real


def read_private(path: Path) -> bytes:
    """Return the content of an ordinary file that others could not have written.  Raises SharedError and OSError.

    The open file is checked, not its name, which another file could get in between.
    """
    flags = sum(getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY"))
    with os.fdopen(os.open(path, os.O_RDONLY | flags), "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, f"{path} is not an ordinary file")
        if why := sharing_reason(status):
            raise SharedError(path, why)
        return file.read()


STALE_AFTER_DAYS = 30
LEFT_AFTER_SECONDS = 3600.0
DIGEST_SIZE = 32


def _roots() -> Iterator[Path]:
    """Yield directories for the folders of all versions: the preferred one, then fallbacks."""
    if chosen := os.environ.get("TTT_BATCH_CACHE_DIR"):
        yield Path(chosen)
    if os.name == "nt":
        yield Path(os.environ.get("LOCALAPPDATA") or tempfile.gettempdir()) / "ttt-batch"
        return
    mac = sys.platform == "darwin"
    if not mac and (caches := os.environ.get("XDG_CACHE_HOME")):
        yield Path(caches) / "ttt-batch"
    import pwd

    homes = Path.home, lambda: Path(pwd.getpwuid(os.geteuid()).pw_dir)  # `sudo` may leave another user's in HOME
    for home in homes:
        with suppress(RuntimeError, KeyError):
            yield home() / ("Library/Caches" if mac else ".cache") / "ttt-batch"
    yield Path(tempfile.gettempdir()) / f"ttt-batch-{os.geteuid()}"


@functools.cache
def usable_folder(wished: Path) -> Path | None:
    """Return the folder to use for `wished`, created if necessary, with links resolved.

    If others could write to `wished`, print a warning and use a folder of that name in one of `_roots`.  Return None if
    all fail.
    """
    refused = ""
    for folder in (wished, *(root / wished.name for root in _roots())):
        try:
            found = private_folder(folder)
        except SharedError as error:
            refused = refused or str(error.strerror)
        except (OSError, RuntimeError):  # read-only, a file in the path, a loop of links
            if not refused:
                return folder
        else:
            if refused:
                _say_once(f"{refused}: compiled kernels are kept in {shown(found)} instead")
            return found
    _say_once(f"{refused}: compiled kernels are not kept; name a folder of your own in TTT_BATCH_CACHE_DIR")
    return None


_said: list[str] = []


def _say_once(line: str) -> None:
    """Print a warning, only once per process."""
    if not _said:
        _said.append(line)
        print_message(f"ttt-batch: {line}")


@functools.cache
def _tidy(folder: Path) -> None:
    """Remove kernel folders unused for `STALE_AFTER_DAYS`, and temporary files of killed writes."""
    for other in folder.parent.glob("kernels-*"):
        if other != folder and _age(other) > STALE_AFTER_DAYS * 86_400:
            shutil.rmtree(other, ignore_errors=True)
    for left in folder.glob("tmp*.tmp"):
        if _age(left) > LEFT_AFTER_SECONDS:  # a write takes less than a second
            remove(left)


def _age(path: Path) -> float:
    """Return the seconds since the last change of a path, or 0 if another process has just removed it."""
    try:
        return time.time() - path.stat().st_mtime
    except OSError:
        return 0.0


@functools.cache
def _note_use(folder: Path) -> None:
    """Update the folder's time of use, so that it is not removed; once per process, if possible."""
    with suppress(OSError):
        os.utime(folder)


def read_kernel(wished: Path, name: str) -> memoryview:
    """Return the content written under `name`.  Raises an exception if it is missing, damaged or not private."""
    folder = usable_folder(wished)
    if folder is None:
        raise FileNotFoundError(name)
    try:
        content = memoryview(read_private(folder / name))
    except SharedError as error:
        _say_once(f"{error.strerror}: it is not used, but compiled again")
        raise
    if content[:DIGEST_SIZE] != _digest(wished, name, content[DIGEST_SIZE:]):
        raise ValueError(f"{name} is damaged")
    _note_use(folder)
    return content[DIGEST_SIZE:]


def write_kernel(wished: Path, name: str, content: bytes) -> None:
    """Write `content` under `name` atomically; do nothing without a usable folder."""
    folder = usable_folder(wished)
    if folder is None:
        return
    _tidy(folder)
    handle, temporary = tempfile.mkstemp(dir=folder, suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(_digest(wished, name, content))
            file.write(content)
        Path(temporary).replace(folder / name)
    except BaseException:
        remove(Path(temporary))
        raise


def _digest(wished: Path, name: str, content: bytes | memoryview) -> bytes:
    """Return the digest at the start of a kernel's file."""
    digest = hashlib.blake2b(f"{wished.name}/{name}\0".encode(), digest_size=DIGEST_SIZE)
    digest.update(content)
    return digest.digest()


LOADING, COMPILING, COMPILING_FIRST = 32_000_000, 80_000_000, 160_000_000
"""Bytes that must be free to load a kernel, to compile one with its callees, and to compile the first of a command.

With less memory LLVM may end the process.  One kernel takes up to 55 MB, and all kernels of a training 110 MB.
"""


@functools.cache
def _check_first_room() -> None:
    check_memory(COMPILING_FIRST, "compiling kernels")


@functools.cache
def cache_folder() -> Path:
    """Return the folder for compiled kernels of this source, these library versions and this interpreter.

    `TTT_BATCH_CACHE_DIR` overrides the user's cache directory.  The folder need not exist.  `kernel_folder` returns
    another one if this one is unsafe.
    """
    return next(_roots()) / folder_name(ROOT)


def folder_name(package: Path) -> str:
    """Return the name of the kernel folder for the package in the folder `package`."""
    digest = hashlib.blake2b(digest_size=12)
    for version in (numba.__version__, llvmlite.__version__, np.__version__, sys.version):
        digest.update(version.encode())
    folders = [folder for folder in package.iterdir() if folder.is_dir() and folder.name != WITHOUT_KERNELS]
    for source in sorted([*package.glob("*.py"), *(source for folder in folders for source in folder.rglob("*.py"))]):
        digest.update(str(source.relative_to(package)).encode())
        digest.update(source.read_bytes())
    return f"kernels-{digest.hexdigest()}"


def kernel_folder() -> Path | None:
    """Return the folder for reading and writing kernels: `cache_folder()`, a fallback, or None."""
    return usable_folder(cache_folder())


def cached_kernels() -> list[Path]:
    """Return the files of this version's compiled kernels, one per signature."""
    folder = kernel_folder()
    return [] if folder is None else sorted(folder.glob("*.kernel"))


def check_cache() -> Path:
    """Check that the JIT is on and that kernels can be stored; return their folder.  Raises TttBatchError."""
    if is_jit_disabled():
        raise TttBatchError("NUMBA_DISABLE_JIT is set: nothing is compiled; unset it first")
    folder = kernel_folder()
    if folder is None:
        raise TttBatchError(
            f"cannot keep compiled kernels in {shown(cache_folder())}, where others could write; "
            "name a folder of your own in TTT_BATCH_CACHE_DIR"
        )
    try:
        private_folder(folder)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except (OSError, RuntimeError) as error:
        raise TttBatchError(
            f"cannot keep compiled kernels in {shown(folder)}: {reason(error)}; "
            "name another folder in TTT_BATCH_CACHE_DIR"
        ) from None
    return folder


_elsewhere: dict[str, "subprocess.Popen[bytes]"] = {}
"""Processes that compile kernels for this one, by the names of the kernels' files."""

may_start = True
"""False where every processor has work already."""

_COMPILE = """
import gc, pickle, sys
gc.set_threshold(200_000, 20, 20)
for kernel, types in pickle.load(sys.stdin.buffer):
    kernel.dispatcher.compile(types)
"""


def start_compiling(calls: Sequence[tuple[Any, ...]]) -> None:
    """Run `jit.compile_elsewhere`."""
    if not may_start:
        return
    with suppress(TttBatchError, OSError):
        folder, missing = kernel_folder(), {}
        for kernel, *arguments in calls:
            dispatcher = kernel.dispatcher
            if dispatcher.overloads:  # only for a first call: to find the types takes as long as to make a batch
                continue
            types = tuple(map(dispatcher.typeof_pyval, arguments))
            file = dispatcher._cache._file(types, dispatcher.targetctx.codegen())
            if folder and _is_ours(types) and file not in _elsewhere and not (folder / file).exists():
                missing[file] = kernel, types
        if missing and available_threads() > 1:
            check_cache()
            command, pipe, quiet = [sys.executable, "-c", _COMPILE], subprocess.PIPE, subprocess.DEVNULL
            process = subprocess.Popen(command, env=module_environment(), stdin=pipe, stdout=quiet, stderr=quiet)
            for end in (process.wait, process.kill):  # the last one is called first
                atexit.register(end)
            _elsewhere.update(dict.fromkeys(missing, process))
            with process.stdin as stdin:  # type: ignore[union-attr]
                stdin.write(pickle.dumps([*missing.values()]))


def _await_kernel(file: str) -> None:
    """Wait until another process that compiles this kernel for this one has done so, or has ended."""
    process, folder = _elsewhere.pop(file, None), kernel_folder()
    while process is not None and process.poll() is None and not (folder and (folder / file).exists()):
        time.sleep(0.005)


class KernelCache(FunctionCache):  # type: ignore[misc]
    """Numba's function cache with one file per signature; any failure of the disk only causes a compilation.

    It replaces Numba's index file of signatures, which concurrent processes cannot update safely.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        # No super().__init__(): it would create a directory per kernel at import.
        self._py_func = function
        # Numba's serializer of compile results, without its search for a directory.
        self._impl = object.__new__(FunctionCache._impl_class)
        self._ours = in_package(function)

    def _file(self, sig: Any, codegen: Any) -> str:
        """Return the file name for a signature on this processor."""
        digest = hashlib.sha256(str(self._index_key(sig, codegen)).encode()).hexdigest()[:24]
        return f"{self._py_func.__module__}.{self._py_func.__qualname__}-{digest}.kernel"

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled kernel, or None if the cache has no usable one or must not store it."""
        # Unlike Numba, do not call target_context.refresh(): machine code does not need the imports, which take 0.1 s.
        if not compiling:
            check_memory(LOADING, "loading kernels")
        found = self._stored(sig, target_context)
        if found is None:
            if not compiling:
                _check_first_room()
                check_memory(COMPILING, "compiling kernels")
                for begin, _, _ in reversed(watchers):
                    begin()
            compiling.append(self._py_func)
        return found

    def _stored(self, sig: Any, target_context: Any) -> Any:
        """Return the kernel in the cache, or None if it is missing, damaged or foreign."""
        with suppress(Exception):
            if self._ours and _is_ours(sig):
                file = self._file(sig, target_context.codegen())
                _await_kernel(file)
                content = read_kernel(cache_folder(), file)
                # Safe to unpickle: only this user could have written the file.
                return self._impl.rebuild(target_context, pickle.loads(content))
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Store a compiled kernel, if possible."""
        # Read-only home, full disk, no permission: continue without storing it.
        with suppress(Exception):
            if self._ours and _is_ours(sig):
                write_kernel(cache_folder(), self._file(sig, data.codegen), dumps(self._impl.reduce(data)))
        if self._py_func in compiling:  # the later ones were abandoned
            del compiling[compiling.index(self._py_func) :]
        for _, end, each in list(watchers):
            each()
            if not compiling:
                end()


def _is_ours(types: Any) -> bool:
    """Return whether the folder's hash covers all classes among the argument types.

    It does not cover third-party learners (`learners.register`), so it would miss an edit of their code.  Their kernels
    are compiled in every process.
    """
    for one in types:
        made_by = getattr(one, "instance_class", None)
        if (made_by is not None and not in_package(made_by)) or not _is_ours(getattr(one, "types", ())):
            return False
    return True
