"""The one jit decorator, the dispatch between kernels by class, and the cache that keeps both honest.

Numba stamps a cached kernel with the file that defines it, so an edited *callee* in another file goes
unnoticed and old machine code keeps running.  Here the cache lives in a folder named after a hash of the
whole package and of the versions below it: any edit or upgrade starts an empty folder.  Each
compiled signature is one file with a name of its own, written elsewhere and renamed, so processes that
compile at the same time cannot mix up each other's entries.  A cache that cannot be read or written
costs the cache, never the run.
"""

import contextlib
import functools
import hashlib
import os
import pickle
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol, TypeVar

import llvmlite
import numba
import numpy as np
from numba.core.caching import FunctionCache
from numba.core.serialize import dumps
from numba.extending import overload

from ttt_batch.errors import TttBatchError, UsageError

F = TypeVar("F", bound=Callable[..., Any])

JIT_DISABLED = bool(numba.config.DISABLE_JIT)
STALE_AFTER_DAYS = 30
PACKAGE = __name__.partition(".")[0]

# _nrt=False: kernels allocate nothing, so nothing needs a reference count; with counting on, every call that
# passes NamedTuples raises and lowers the count of each array (ordering the rows took three times as long).
# error_model="numpy": no zero-division branch in the loops.  fastmath stays off: sums must not be
# reassociated, or the same counts would give other bytes on another processor.
# no_cfunc_wrapper=True: nobody calls a kernel by its address.
OPTIONS: dict[str, Any] = {
    "nogil": True,
    "error_model": "numpy",
    "fastmath": False,
    "boundscheck": False,
    "_nrt": False,
    "no_cfunc_wrapper": True,
}
WITHIN_KERNELS = OPTIONS | {"no_cpython_wrapper": True}
"""For functions that only kernels call: without what Python would call, compiling takes a quarter less time."""

_watchers: list[tuple[Callable[[], None], Callable[[], None]]] = []
_in_work: list[Callable[..., Any]] = []
"""The kernels being compiled: each for the one before it."""


def on_compile(begin: Callable[[], None], end: Callable[[], None] = lambda: None) -> Callable[[], None]:
    """Call `begin` just before a kernel that no cache holds is compiled, and `end` when it and those it calls are.

    Each of a series of kernels is announced, to the latest watcher first.  `begin` may raise to prevent the
    compilation; the caller of the kernel then gets that exception.  Returns a function that ends the watch.
    """
    watcher = begin, end
    _watchers.append(watcher)
    return lambda: _watchers.remove(watcher)


@functools.cache
def cache_folder() -> Path:
    """Folder of the compiled kernels of exactly this package, these versions and this interpreter.

    `TTT_BATCH_CACHE_DIR` overrides the user's cache directory.  The folder need not exist.
    """
    digest = hashlib.blake2b(digest_size=12)
    for version in (numba.__version__, llvmlite.__version__, np.__version__, sys.version):
        digest.update(version.encode())
    package = Path(__file__).parent
    for source in sorted(package.rglob("*.py")):
        digest.update(str(source.relative_to(package)).encode())
        digest.update(source.read_bytes())
    return cache_root() / f"kernels-{digest.hexdigest()}"


def cache_root() -> Path:
    """The directory that holds the folders of all versions: the user's cache directory by convention."""
    if chosen := os.environ.get("TTT_BATCH_CACHE_DIR"):
        return Path(chosen)
    if os.name == "nt":
        base = os.environ.get("LOCALAPPDATA") or tempfile.gettempdir()
    elif sys.platform == "darwin":
        base = str(Path("~/Library/Caches").expanduser())
    else:
        base = os.environ.get("XDG_CACHE_HOME") or str(Path("~/.cache").expanduser())
    return Path(base) / "ttt-batch"


@functools.cache
def _make_cache_folder() -> Path:
    """Create the folder and drop those that no version has used for a month."""
    folder = cache_folder()
    folder.mkdir(parents=True, exist_ok=True)
    for other in folder.parent.glob("kernels-*"):
        if other != folder and time.time() - other.stat().st_mtime > STALE_AFTER_DAYS * 86_400:
            shutil.rmtree(other, ignore_errors=True)
    return folder


def cached_kernels() -> list[Path]:
    """The files of the compiled kernels in the folder of this version, one for each signature."""
    return sorted(cache_folder().glob("*.kernel"))


def check_cache() -> None:
    """Make sure that kernels are compiled, and can be kept.  Raises TttBatchError."""
    if JIT_DISABLED:
        raise TttBatchError("NUMBA_DISABLE_JIT is set: nothing is compiled; unset it first")
    try:
        _make_cache_folder()
        with tempfile.TemporaryFile(dir=cache_folder()):
            pass
    except OSError as error:
        raise TttBatchError(
            f"cannot keep compiled kernels in {cache_folder()}: {error.strerror or error}; "
            "name another folder in TTT_BATCH_CACHE_DIR"
        ) from None


@functools.cache
def _note_use() -> None:
    """Mark the folder as used today, so that it is not dropped; once a process, and no matter if it fails."""
    with contextlib.suppress(OSError):
        os.utime(cache_folder())


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
        """Read what was saved for `key`; OSError where there is nothing."""
        data = (cache_folder() / self._name(key)).read_bytes()
        _note_use()
        # Numba's own format; the folder belongs to the user and holds nothing from elsewhere.
        return pickle.loads(data)

    def save(self, key: object, data: object) -> None:
        """Write `data` for `key`, whole or not at all."""
        folder = _make_cache_folder()
        handle, temporary = tempfile.mkstemp(dir=folder, suffix=".tmp")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(dumps(data))
            Path(temporary).replace(folder / self._name(key))
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise


class KernelCache(FunctionCache):  # type: ignore[misc]
    """Numba's function cache over files of our own, forgiving about every fault of the disk."""

    def __init__(self, function: Callable[..., Any]) -> None:
        # Deliberately not calling super().__init__(): it would create a directory per kernel at import.
        self._name = repr(function)
        self._py_func = function
        self._impl = _ReduceOnly()
        self._cache_path = str(cache_folder())
        self._cache_file = _FilePerSignature(function)
        self._ours = _of_package(function)
        self.enable()

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled kernel, or None where the cache has none that works, or may have none."""
        # Deliberately not calling target_context.refresh() as Numba does: it imports everything that may be called
        # in kernels, 0.1 s, of which machine code needs nothing.  The compiler refreshes for itself.
        try:
            found = self._load_overload(sig, target_context) if self._ours and _is_ours(sig) else None
        except Exception:  # a missing, torn or foreign file: compile instead
            found = None
        if found is None:
            if not _in_work:
                for begin, _ in reversed(_watchers):
                    begin()
            _in_work.append(self._py_func)
        return found

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep a compiled kernel, if the disk lets us."""
        # Read-only home, full disk, no permission: the run goes on.
        with contextlib.suppress(Exception):
            if self._ours and _is_ours(sig):
                key = self._index_key(sig, data.codegen)
                self._cache_file.save(key, self._impl.reduce(data))
        if self._py_func in _in_work:  # those behind it were given up
            del _in_work[_in_work.index(self._py_func) :]
        if not _in_work:
            for _, end in list(_watchers):
                end()


def _is_ours(types: Any) -> bool:
    """Whether all classes among the argument types are the package's.

    The hash that names the folder does not cover a learner from elsewhere (`learners.register`): an edit of its fold
    would go unseen.  What is compiled for it is compiled anew in every process.
    """
    for one in types:
        made_by = getattr(one, "instance_class", None)
        if (made_by is not None and not _of_package(made_by)) or not _is_ours(getattr(one, "types", ())):
            return False
    return True


def _of_package(made: Any) -> bool:
    """Whether a class or function is defined in the package, whose hash names the folder."""
    return str(made.__module__).partition(".")[0] == PACKAGE


class _ReduceOnly(FunctionCache._impl_class):  # type: ignore[misc]
    """Numba's way to turn a compile result into plain data, without its search for a directory."""

    def __init__(self) -> None:
        pass


def kernel(function: F) -> F:
    """Compile `function` with Numba, cached on disk; with NUMBA_DISABLE_JIT=1 it stays plain Python."""
    if JIT_DISABLED:
        # Machine arithmetic wraps round and divides by zero silently; NumPy's scalars would warn.
        return np.errstate(over="ignore", divide="ignore", invalid="ignore")(function)
    dispatcher = numba.njit(**OPTIONS)(function)
    dispatcher._cache = KernelCache(function)
    compile_signature = dispatcher.compile

    def compile_or_forget(signature: Any) -> Any:
        """Numba's own, but a compilation that is given up (Ctrl-C) is no longer waited for."""
        try:
            return compile_signature(signature)
        except BaseException:
            _in_work.clear()
            raise

    dispatcher.compile = compile_or_forget
    return dispatcher  # type: ignore[no-any-return]


def inlined(function: F) -> F:
    """Compile a small function into each kernel that calls it; called from Python it raises TypeError.

    Numba leaves a call that passes NamedTuples of arrays with a reference count to raise and lower for every array,
    unless it is inlined: 180 ns a call, measured on ordering one row of 3x3.
    """
    if JIT_DISABLED:
        return kernel(function)
    dispatcher = numba.njit(forceinline=True, **WITHIN_KERNELS)(function)

    def refuse(*_args: Any, **_settings: Any) -> None:
        raise TypeError(f"{function.__name__} is compiled into kernels only; from Python, call one of them")

    dispatcher._insert = lambda *_: None  # Python finds nothing compiled, and asks for it
    dispatcher._compile_for_args = refuse
    return dispatcher  # type: ignore[no-any-return]


class Generic:
    """A kernel with one body per class of its first argument, a NamedTuple of arrays.

    The choice is made when a calling kernel is compiled, so it costs nothing in the loop; without the
    JIT it is a dictionary look-up.  Unlike functions passed as arguments, it survives the disk cache.
    """

    def __init__(self, stub: Callable[..., Any]) -> None:
        functools.update_wrapper(self, stub)
        self._bodies: dict[type, Callable[..., Any]] = {}

    def register(self, cls: type) -> Callable[[F], F]:
        """Use the decorated function where the first argument is a `cls`."""

        def keep(body: F) -> F:
            # Who replaced a body of the package would have its machine code kept under the package's hash.
            if cls in self._bodies or (_of_package(cls) and not _of_package(body)):
                name = getattr(self, "__name__", "the kernel")
                raise UsageError(f"{name} has a body for {cls.__name__} already; give your tables a class of their own")
            self._bodies[cls] = body
            return body

        return keep

    def body(self, cls: type | None) -> Callable[..., Any] | None:
        """The function registered for `cls`, or None."""
        return None if cls is None else self._bodies.get(cls)

    def __call__(self, first: Any, *rest: Any) -> Any:
        """Call the body for the class of `first`."""
        return self._bodies[type(first)](first, *rest)


class GenericKernel(Protocol):
    """What `generic` returns: call it in kernels, register bodies with `.register(cls)`."""

    def __call__(self, first: Any, *rest: Any) -> Any:
        """Call the body for the class of `first`."""
        ...

    def register(self, cls: type) -> Callable[[F], F]:
        """Use the decorated function where the first argument is a `cls`."""
        ...

    def body(self, cls: type | None) -> Callable[..., Any] | None:
        """The function registered for `cls`, or None."""
        ...


def generic(stub: Callable[..., Any], *, inline: bool = False) -> GenericKernel:
    """Make `stub` (a docstring and a signature) a `Generic`; bodies are added with `.register(cls)`.

    inline: compile the bodies into their callers, as `inlined` does.
    """
    chooser = Generic(stub)
    if JIT_DISABLED:
        return chooser

    @functools.wraps(stub)
    def call(first: Any, *rest: Any) -> Any:
        return chooser(first, *rest)

    @overload(  # type: ignore[untyped-decorator]
        call, strict=False, inline="never", jit_options=WITHIN_KERNELS | {"forceinline": inline}
    )
    def typed(first: Any, *rest: Any) -> Callable[..., Any] | None:
        return chooser.body(getattr(first, "instance_class", None))

    call.register, call.body = chooser.register, chooser.body  # type: ignore[attr-defined]
    return call  # type: ignore[return-value]
