"""Cache of compiled kernels, which never runs machine code of an older source.

Numba checks only the file that defines a cached kernel, so it misses edits of called functions in other files.  This
cache lies in a folder named after a hash of the whole package and of its dependencies' versions.  Any edit or upgrade
starts an empty folder.  Each compiled signature is one file, written to a temporary file and renamed, so concurrent
processes cannot mix their entries.  If the cache cannot be read or written, kernels are compiled (`kernel_files`).
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
from ttt_batch.base.memory import check_memory
from ttt_batch.base.ownership import private_folder

JIT_DISABLED = bool(numba.config.DISABLE_JIT)
PACKAGE = __name__.partition(".")[0]
ROOT = Path(__file__).parents[1]
"""Folder of the whole package: kernels of one folder call those of others."""

LOADING, COMPILING, COMPILING_FIRST = 32_000_000, 80_000_000, 160_000_000
"""Bytes that must be free to load a kernel, to compile one with its callees, and to compile the first of a command.

With less memory LLVM may end the process.  One kernel takes up to 55 MB, and all kernels of a training 110 MB.
"""

Action = Callable[[], None]
_watchers: list[tuple[Action, Action, Action]] = []
compiling: list[Callable[..., Any]] = []
"""Kernels being compiled; each is called by the previous one."""
_announced = [0]


def on_compile(begin: Action, end: Action = lambda: None, each: Action = lambda: None) -> Action:
    """Call `begin` before an uncached kernel is compiled, and `end` after the kernel and its callees are compiled.

    The latest watcher is called first.  `begin` may raise an exception, which prevents the compilation and reaches the
    caller of the kernel.  `each` is called after every kernel, also after one that only kernels call.
    Return a function that ends the watch.
    """
    watcher = begin, end, each
    _watchers.append(watcher)
    return lambda: _watchers.remove(watcher)


@functools.cache
def _check_first_room() -> None:
    check_memory(COMPILING_FIRST, "compiling kernels")


def set_expected_kernels(number: int) -> None:
    """Set the number of kernels that the next work compiles with an empty cache; 0 if unknown."""
    _announced[0] = number


def kernels_to_compile() -> int:
    """Return the number of kernels that the next work compiles; 0 if unknown, e.g. because some are cached."""
    return 0 if cached_kernels() else _announced[0]


@functools.cache
def cache_folder() -> Path:
    """Return the folder for compiled kernels of this source, these library versions and this interpreter.

    `TTT_BATCH_CACHE_DIR` overrides the user's cache directory.  The folder need not exist.  `kernel_folder` returns
    another one if this one is unsafe.
    """
    return cache_root() / folder_name(ROOT)


def folder_name(package: Path) -> str:
    """Return the name of the kernel folder for the package in the folder `package`."""
    digest = hashlib.blake2b(digest_size=12)
    for version in (numba.__version__, llvmlite.__version__, np.__version__, sys.version):
        digest.update(version.encode())
    for source in sorted(package.rglob("*.py")):
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
        """Return the compiled kernel, or None if the cache has no usable one or may not contain it."""
        # Unlike Numba, do not call target_context.refresh(): machine code does not need the imports, which take 0.1 s.
        if not compiling:
            check_memory(LOADING, "loading kernels")
        found = None
        with contextlib.suppress(Exception):  # missing, damaged or foreign file: compile instead
            if self._ours and _is_ours(sig):
                content = read_kernel(cache_folder(), self._file(sig, target_context.codegen()))
                # Safe to unpickle: only this user could have written the file.
                found = self._impl.rebuild(target_context, pickle.loads(content))
        if found is None:
            if not compiling:
                _check_first_room()
                check_memory(COMPILING, "compiling kernels")
                for begin, _, _ in reversed(_watchers):
                    begin()
            compiling.append(self._py_func)
        return found

    def save_overload(self, sig: Any, data: Any) -> None:
        """Store a compiled kernel, if possible."""
        # Read-only home, full disk, no permission: continue without storing it.
        with contextlib.suppress(Exception):
            if self._ours and _is_ours(sig):
                write_kernel(cache_folder(), self._file(sig, data.codegen), dumps(self._impl.reduce(data)))
        if self._py_func in compiling:  # the later ones were abandoned
            del compiling[compiling.index(self._py_func) :]
        for _, end, each in list(_watchers):
            each()
            if not compiling:
                end()


def _is_ours(types: Any) -> bool:
    """Return whether all classes among the argument types belong to the package.

    The folder's hash does not cover third-party learners (`learners.register`), so it would miss an edit of their code.
    Their kernels are compiled in every process.
    """
    for one in types:
        made_by = getattr(one, "instance_class", None)
        if (made_by is not None and not in_package(made_by)) or not _is_ours(getattr(one, "types", ())):
            return False
    return True


def in_package(made: Any) -> bool:
    """Return whether a class or function is defined in the package."""
    return str(made.__module__).partition(".")[0] == PACKAGE
