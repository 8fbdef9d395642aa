"""JIT decorators: `kernel` for functions that Python calls, `inlined` for functions that only kernels call.

`generic` makes a kernel with one body per class of tables.  None of them loads Numba, which takes 0.2 s: the first call
of a kernel does, by way of `backend`.
"""

import functools
import threading
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from ttt_batch.compiler.settings import in_package, is_jit_disabled
from ttt_batch.core.errors import UsageError

JIT_DISABLED = is_jit_disabled()

F = TypeVar("F", bound=Callable[..., Any])

BoolArray = NDArray[np.bool_]
Int8Array = NDArray[np.int8]
Int32Array = NDArray[np.int32]
Int64Array = NDArray[np.int64]
Uint8Array = NDArray[np.uint8]
Uint16Array = NDArray[np.uint16]
Uint32Array = NDArray[np.uint32]
Uint64Array = NDArray[np.uint64]
Float32Array = NDArray[np.float32]
Float64Array = NDArray[np.float64]
"""Types of the arrays of kernels; docstrings give the axes."""

Int64 = int | np.int64
"""Whole number that is an int64 in machine code; from Python it may be an int."""

Integer = int | np.integer[Any]
"""Whole number of any width, such as a row."""

Bool = bool | np.bool_
"""True or False; comparisons of NumPy's numbers give `np.bool_` without the JIT."""

Word = np.uint32 | np.uint64
WordArray = Uint32Array | Uint64Array
"""Sets of cells, in words as wide as the board needs."""

Tables = Any
"""Tables of a learner: a NamedTuple of arrays, of a class for which generic kernels have bodies."""

_lock = threading.RLock()
_declared: list[Callable[[Any], None]] = [lambda backend: backend.add_deferred(Deferred)]
"""Functions that tell the backend what kernels may call, until it is loaded."""


def _backend() -> Any:
    """Return the backend, which knows what kernels declared so far may call; loading it loads Numba."""
    from ttt_batch.compiler import backend

    with _lock:
        while _declared:
            _declared[0](backend)
            del _declared[0]  # only now: an interrupt must lose none
    return backend


class Deferred:
    """Function for Numba to compile.  Its dispatcher is made on first use, so that its module loads without Numba."""

    __name__: str

    def __init__(self, function: Callable[..., Any], make: Callable[[Any], Any]) -> None:
        functools.update_wrapper(self, function)
        self._make, self._made = make, None

    @property
    def dispatcher(self) -> Any:
        """Return Numba's dispatcher."""
        if self._made is None:
            backend = _backend()
            with _lock:  # threads get the same one
                self._made = self._made or self._make(backend)
        return self._made

    def __call__(self, *arguments: Any) -> Any:
        """Call the machine code for arguments of these types."""
        return (self._made or self.dispatcher)(*arguments)

    def __reduce__(self) -> str:
        """Return the name by which `pickle` and `copy` find it in its module."""
        return self.__name__


class Inlined(Deferred):
    """Function that is compiled into kernels only."""

    def __call__(self, *_arguments: Any) -> Any:
        """Raise TypeError."""
        raise TypeError(f"{self.__name__} is compiled into kernels only; from Python, call one of them")


def kernel(function: F) -> F:
    """Compile `function` with Numba, cached on disk.  NUMBA_DISABLE_JIT=1 keeps it in Python."""
    if JIT_DISABLED:
        # Compiled code overflows and divides by zero silently; NumPy's scalars would warn.
        return np.errstate(over="ignore", divide="ignore", invalid="ignore")(function)
    return cast(F, Deferred(function, lambda backend: backend.make_kernel(function)))


def entry_point(function: Any, *arguments: Any) -> Callable[..., Any]:
    """Return the machine code of a kernel for arguments of these types; calls do not check the types.

    Numba's check in every call takes 6 of 7 us for six NamedTuples of arrays.  The caller must pass arguments of the
    same types, except that read-only arrays may replace writable ones.
    """
    if JIT_DISABLED:
        return function  # type: ignore[no-any-return]
    dispatcher = function.dispatcher
    code: Callable[..., Any] = dispatcher.compile(tuple(map(dispatcher.typeof_pyval, arguments)))
    return code


def compile_elsewhere(*calls: tuple[Any, ...]) -> None:
    """Compile kernels in another process, beside this one, which waits for each when it needs it.

    calls: kernels that this process needs later, each with arguments of the types that it will get.

    Do nothing for kernels that are cached or that this process has called, if kernels cannot be cached, or without a
    second processor.
    """
    if not JIT_DISABLED:
        from ttt_batch.compiler import kernel_cache

        kernel_cache.start_compiling(calls)


def inlined(function: F, *, optimized: bool = False) -> F:
    """Compile a small function into each kernel that calls it; called from Python it raises TypeError.

    Without inlining, a call with NamedTuples of arrays updates the reference count of every array, ~180 ns a call.
    """
    if JIT_DISABLED:
        return kernel(function)
    return cast(F, Inlined(function, lambda backend: backend.make_part(function, optimized=optimized)))


def vectorized(function: F) -> F:
    """Optimise a function alone, then compile it into kernels as `inlined` does: for a loop over rows of bytes.

    LLVM must know that rows do not overlap, and sees this only where they are arguments.  Optimised with the kernel
    around them, the loops of random games take 3.4 times as long.
    """
    return inlined(function, optimized=True)


def instruction(*sizes: int) -> Callable[[F], F]:
    """Return a decorator for a function that is LLVM code in kernels; Python calls it as it is.

    sizes: numbers that its emitter in the backend takes.
    """

    def declare(function: F) -> F:
        _declared.append(lambda backend: backend.add_instruction(function, sizes))
        return function

    return declare


class GenericKernel:
    """Kernel with one body per class of its first argument, a NamedTuple of arrays.

    The body is chosen when a calling kernel is compiled, so loops pay nothing.  Without the JIT a dictionary look-up
    chooses it.  Unlike functions passed as arguments, it works with the disk cache.
    """

    __name__: str

    def __init__(self, stub: Callable[..., Any]) -> None:
        functools.update_wrapper(self, stub)
        self._bodies: dict[type, Callable[..., Any]] = {}

    def register(self, cls: type) -> Callable[[F], F]:
        """Use the decorated function if the first argument is a `cls`."""

        def keep(body: F) -> F:
            # Otherwise foreign machine code for a class of the package would be cached under the package's hash.
            if cls in self._bodies or (in_package(cls) and not in_package(body)):
                raise UsageError(
                    f"{self.__name__} has a body for {cls.__name__} already; give your tables a class of their own"
                )
            self._bodies[cls] = body
            return body

        return keep

    def body(self, cls: type | None) -> Callable[..., Any] | None:
        """Return the function registered for `cls`, or None."""
        return None if cls is None else self._bodies.get(cls)

    def __call__(self, first: Any, *rest: Any) -> Any:
        """Call the body for the class of `first`."""
        return self._bodies[type(first)](first, *rest)


def generic(stub: Callable[..., Any], *, inline: bool = False) -> GenericKernel:
    """Make `stub` (a docstring and a signature) a `GenericKernel`; bodies are added with `.register(cls)`.

    inline: compile the bodies into their callers, as `inlined` does.
    """
    chooser = GenericKernel(stub)
    _declared.append(lambda backend: backend.add_generic(chooser, inline=inline))
    return chooser
