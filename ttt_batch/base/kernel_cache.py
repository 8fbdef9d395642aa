"""The cache of compiled kernels, which never runs machine code of an older source.

Numba stamps a cached kernel with the file that defines it, so an edited *callee* in another file goes unnoticed and old
machine code keeps running.  Here the cache lies in a folder named after a hash of the whole package and of the versions
below it: any edit or upgrade starts an empty folder.  Each compiled signature is one file with a name of its own,
written elsewhere and renamed, so processes that compile at the same time cannot mix up each other's entries.  A cache
that cannot be read or written costs the cache, never the run (`kernel_files`).
"""

import contextlib
import functools
import hashlib
import pickle
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import llvmlite
import numba
import numpy as np
from numba.core.caching import FunctionCache
from numba.core.serialize import dumps

from ttt_batch.base.errors import TttBatchError
from ttt_batch.base.files import reason, shown
from ttt_batch.base.kernel_files import cache_root, read_kernel, usable_folder, write_kernel
from ttt_batch.base.memory import check_room
from ttt_batch.base.ownership import private_folder

JIT_DISABLED = bool(numba.config.DISABLE_JIT)
PACKAGE = __name__.partition(".")[0]
ROOT = Path(__file__).parents[1]
"""The whole package: kernels of one folder call those of others."""

LOADING, COMPILING, COMPILING_FIRST = 32_000_000, 80_000_000, 160_000_000
"""Bytes that must be free to load a kernel, to compile one and those it calls, and to compile the first of a command.

Without them LLVM ends the process.  One kernel took up to 55 MB, and all of a training 110 MB.
"""

Action = Callable[[], None]
_watchers: list[tuple[Action, Action, Action]] = []
in_work: list[Callable[..., Any]] = []
"""The kernels being compiled: each for the one before it."""
_announced = [0]


def on_compile(begin: Action, end: Action = lambda: None, each: Action = lambda: None) -> Action:
    """Call `begin` just before a kernel that no cache holds is compiled, and `end` after it and those it calls are.

    The latest watcher is called first.  `begin` may raise to prevent the compilation; the caller of the kernel then
    gets that exception.  `each` is called after every kernel, even one that only kernels call.
    Returns a function that ends the watch.
    """
    watcher = begin, end, each
    _watchers.append(watcher)
    return lambda: _watchers.remove(watcher)


@functools.cache
def _check_first_room() -> None:
    check_room(COMPILING_FIRST, "compiling kernels")


def announce_kernels(number: int) -> None:
    """Set how many kernels the work to come would compile if none were cached; 0 if that is not known."""
    _announced[0] = number


def kernels_to_compile() -> int:
    """How many kernels the work to come compiles; 0 if that is not known, e.g. because some are cached."""
    return 0 if cached_kernels() else _announced[0]


@functools.cache
def cache_folder() -> Path:
    """Folder of the compiled kernels of exactly this package, these versions and this interpreter.

    `TTT_BATCH_CACHE_DIR` overrides the user's cache directory.  The folder need not exist, and is used only if
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
    """The folder that kernels are read from and kept in: `cache_folder()`, its stand-in, or None."""
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


class KernelCache(FunctionCache):  # type: ignore[misc]
    """Numba's function cache, with a file for each signature; every fault of the disk only costs a compilation.

    Numba's own index of signatures is read, modified and written, which is not safe between processes.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        # Deliberately not calling super().__init__(): it would create a directory per kernel at import.
        self._py_func = function
        # Numba's way to turn a compile result into plain data, without its search for a directory.
        self._impl = object.__new__(FunctionCache._impl_class)
        self._ours = of_package(function)

    def _file(self, sig: Any, codegen: Any) -> str:
        """The name of the file for a signature, on this processor."""
        digest = hashlib.sha256(str(self._index_key(sig, codegen)).encode()).hexdigest()[:24]
        return f"{self._py_func.__module__}.{self._py_func.__qualname__}-{digest}.kernel"

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled kernel, or None if the cache has none that works, or may have none."""
        # Deliberately not calling target_context.refresh() as Numba does: it imports everything that may be called
        # in kernels, 0.1 s, of which machine code needs nothing.  The compiler refreshes for itself.
        if not in_work:
            check_room(LOADING, "loading kernels")
        found = None
        with contextlib.suppress(Exception):  # a missing, torn or foreign file: compile instead
            if self._ours and _is_ours(sig):
                content = read_kernel(cache_folder(), self._file(sig, target_context.codegen()))
                # Numba's own format, which only this user could have written.
                found = self._impl.rebuild(target_context, pickle.loads(content))
        if found is None:
            if not in_work:
                _check_first_room()
                check_room(COMPILING, "compiling kernels")
                for begin, _, _ in reversed(_watchers):
                    begin()
            in_work.append(self._py_func)
        return found

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep a compiled kernel, if the disk lets us."""
        # Read-only home, full disk, no permission: the run goes on.
        with contextlib.suppress(Exception):
            if self._ours and _is_ours(sig):
                write_kernel(cache_folder(), self._file(sig, data.codegen), dumps(self._impl.reduce(data)))
        if self._py_func in in_work:  # those after it were given up
            del in_work[in_work.index(self._py_func) :]
        for _, end, each in list(_watchers):
            each()
            if not in_work:
                end()


def _is_ours(types: Any) -> bool:
    """Whether all classes among the argument types are the package's.

    The hash that names the folder does not cover a learner from elsewhere (`learners.register`): an edit of its fold
    would go unseen.  Its kernels are compiled again in every process.
    """
    for one in types:
        made_by = getattr(one, "instance_class", None)
        if (made_by is not None and not of_package(made_by)) or not _is_ours(getattr(one, "types", ())):
            return False
    return True


def of_package(made: Any) -> bool:
    """Whether a class or function is defined in the package, whose hash names the folder."""
    return str(made.__module__).partition(".")[0] == PACKAGE
