"""The cache of compiled kernels, which keeps them honest.

Numba stamps a cached kernel with the file that defines it, so an edited *callee* in another file goes
unnoticed and old machine code keeps running.  Here the cache lives in a folder named after a hash of the
whole package and of the versions below it: any edit or upgrade starts an empty folder.  Each
compiled signature is one file with a name of its own, written elsewhere and renamed, so processes that
compile at the same time cannot mix up each other's entries.  A cache that cannot be read or written
costs the cache, never the run (`kernel_files`).
"""

import contextlib
import functools
import hashlib
import pickle
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import llvmlite
import numba
import numpy as np
from numba.core.caching import FunctionCache
from numba.core.serialize import dumps

from ttt_batch.base.address_space import check_room
from ttt_batch.base.errors import TttBatchError
from ttt_batch.base.files import reason, shown
from ttt_batch.base.kernel_files import cache_root, read_kernel, usable_folder, write_kernel
from ttt_batch.base.ownership import private_folder

JIT_DISABLED = bool(numba.config.DISABLE_JIT)
PACKAGE = __name__.partition(".")[0]
ROOT = Path(__file__).parents[1]
"""The whole package: kernels of one folder call those of others."""


LOADING, COMPILING, COMPILING_FIRST = 32_000_000, 80_000_000, 160_000_000
"""Bytes that must be free to load a kernel, to compile one and those it calls, and to compile the first of a command.

Without them LLVM ends the process.  One kernel took up to 55 MB, and all of a training 110 MB.
"""


class _Watcher(NamedTuple):
    begin: Callable[[], None]
    end: Callable[[], None]
    each: Callable[[], None]


_watchers: list[_Watcher] = []
in_work: list[Callable[..., Any]] = []
"""The kernels being compiled: each for the one before it."""
_announced = [0]


def on_compile(
    begin: Callable[[], None], end: Callable[[], None] = lambda: None, each: Callable[[], None] = lambda: None
) -> Callable[[], None]:
    """Call `begin` just before a kernel that no cache holds is compiled, and `end` when it and those it calls are.

    Each of a series of kernels is announced, to the latest watcher first.  `begin` may raise to prevent the
    compilation; the caller of the kernel then gets that exception.  `each` is called whenever one more is compiled,
    be it only called by another.  Returns a function that ends the watch.
    """
    watcher = _Watcher(begin, end, each)
    _watchers.append(watcher)
    return lambda: _watchers.remove(watcher)


@functools.cache
def _check_first_room() -> None:
    check_room(COMPILING_FIRST, "compiling kernels")


def announce_kernels(number: int) -> None:
    """Say how many kernels the work to come would compile if none were cached; 0 if that is not known."""
    _announced[0] = number


def kernels_to_compile() -> int:
    """How many kernels the work to come compiles; 0 if that is not known, as where some are cached."""
    return 0 if cached_kernels() else _announced[0]


@functools.cache
def cache_folder() -> Path:
    """Folder of the compiled kernels of exactly this package, these versions and this interpreter.

    `TTT_BATCH_CACHE_DIR` overrides the user's cache directory.  The folder need not exist, and is used where
    `kernel_folder` finds it safe.
    """
    return cache_root() / folder_name(ROOT)


def folder_name(package: Path) -> str:
    """Name of the folder for the kernels of the package whose files lie in `package`."""
    digest = hashlib.blake2b(digest_size=12)
    for version in (numba.__version__, llvmlite.__version__, np.__version__, sys.version):
        digest.update(version.encode())
    for source in sorted(package.rglob("*.py")):
        digest.update(str(source.relative_to(package)).encode())
        digest.update(source.read_bytes())
    return f"kernels-{digest.hexdigest()}"


def kernel_folder() -> Path | None:
    """Where compiled kernels are looked for and kept: `cache_folder()` or its stand-in; None where there is none."""
    return usable_folder(cache_folder())


def cached_kernels() -> list[Path]:
    """The files of the compiled kernels of this version, one for each signature."""
    folder = kernel_folder()
    return [] if folder is None else sorted(folder.glob("*.kernel"))


def check_cache() -> Path:
    """Make sure that kernels are compiled, and can be kept; return the folder.  Raises TttBatchError."""
    if JIT_DISABLED:
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


class _FilePerSignature:
    """Where one kernel's compiled signatures lie: a file each, found by name alone.

    Takes the place of Numba's index and data files, whose read-modify-write of the index is not safe
    between processes.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._prefix = f"{function.__module__}.{function.__qualname__}"

    def _name(self, key: object) -> str:
        return f"{self._prefix}-{hashlib.sha256(str(key).encode()).hexdigest()[:24]}.kernel"

    def load(self, key: object) -> Any:
        """Read what was saved for `key`; an exception where there is nothing, or nothing to be trusted."""
        # Numba's own format, which only this user could have written.
        return pickle.loads(read_kernel(cache_folder(), self._name(key)))

    def save(self, key: object, data: object) -> None:
        """Write `data` for `key`, whole or not at all."""
        write_kernel(cache_folder(), self._name(key), dumps(data))


class KernelCache(FunctionCache):  # type: ignore[misc]
    """Numba's function cache over files of our own, forgiving about every fault of the disk."""

    def __init__(self, function: Callable[..., Any]) -> None:
        # Deliberately not calling super().__init__(): it would create a directory per kernel at import.
        self._name = repr(function)
        self._py_func = function
        self._impl = _ReduceOnly()
        self._cache_path = str(cache_folder())
        self._cache_file = _FilePerSignature(function)
        self._ours = of_package(function)
        self.enable()

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled kernel, or None where the cache has none that works, or may have none."""
        # Deliberately not calling target_context.refresh() as Numba does: it imports everything that may be called
        # in kernels, 0.1 s, of which machine code needs nothing.  The compiler refreshes for itself.
        if not in_work:
            check_room(LOADING, "loading kernels")
        try:
            found = self._load_overload(sig, target_context) if self._ours and _is_ours(sig) else None
        except Exception:  # a missing, torn or foreign file: compile instead
            found = None
        if found is None:
            if not in_work:
                _check_first_room()
                check_room(COMPILING, "compiling kernels")
                for watcher in reversed(_watchers):
                    watcher.begin()
            in_work.append(self._py_func)
        return found

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep a compiled kernel, if the disk lets us."""
        # Read-only home, full disk, no permission: the run goes on.
        with contextlib.suppress(Exception):
            if self._ours and _is_ours(sig):
                key = self._index_key(sig, data.codegen)
                self._cache_file.save(key, self._impl.reduce(data))
        if self._py_func in in_work:  # those behind it were given up
            del in_work[in_work.index(self._py_func) :]
        for watcher in list(_watchers):
            watcher.each()
            if not in_work:
                watcher.end()


def _is_ours(types: Any) -> bool:
    """Whether all classes among the argument types are the package's.

    The hash that names the folder does not cover a learner from elsewhere (`learners.register`): an edit of its fold
    would go unseen.  What is compiled for it is compiled anew in every process.
    """
    for one in types:
        made_by = getattr(one, "instance_class", None)
        if (made_by is not None and not of_package(made_by)) or not _is_ours(getattr(one, "types", ())):
            return False
    return True


def of_package(made: Any) -> bool:
    """Whether a class or function is defined in the package, whose hash names the folder."""
    return str(made.__module__).partition(".")[0] == PACKAGE


class _ReduceOnly(FunctionCache._impl_class):  # type: ignore[misc]
    """Numba's way to turn a compile result into plain data, without its search for a directory."""

    def __init__(self) -> None:
        pass
