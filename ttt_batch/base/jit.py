"""The one jit decorator: `kernel` for what Python calls, `inlined` for what only kernels call.

`generic` is a kernel with one body for each class of tables.
"""

import functools
import gc
from collections.abc import Callable
from typing import Any, TypeVar

import numba
import numpy as np
from llvmlite.binding.ffi import ObjectRef
from numba.extending import overload

from ttt_batch.base.errors import UsageError
from ttt_batch.base.kernel_cache import JIT_DISABLED, KernelCache, in_work, of_package

F = TypeVar("F", bound=Callable[..., Any])

# _nrt=False: kernels allocate nothing, so nothing needs a reference count; with counting on, every call that
# passes NamedTuples raises and lowers the count of each array (ordering the rows took three times as long).
# error_model="numpy": no zero-division branch in the loops.  fastmath stays off: sums must not be
# reassociated, or the same counts would give other bytes on another processor.
# no_cfunc_wrapper=True: no kernel is called by its address.
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


def _never_free_modules() -> None:
    """Keep all that LLVM has at this moment until the process ends.

    An interrupt may have come after LLVM took a module over (while it linked it, say) and before llvmlite noted that.
    The module would be freed twice, which crashed the process in one of thirty tries.
    """
    for one in gc.get_objects():
        if issubclass(type(one), ObjectRef):
            one._owned = True


def kernel(function: F) -> F:
    """Compile `function` with Numba, cached on disk; with NUMBA_DISABLE_JIT=1 it stays plain Python."""
    if JIT_DISABLED:
        # Machine arithmetic wraps round and divides by zero silently; NumPy's scalars would warn.
        return np.errstate(over="ignore", divide="ignore", invalid="ignore")(function)
    dispatcher = numba.njit(**OPTIONS)(function)
    dispatcher._cache = KernelCache(function)
    compile_signature = dispatcher.compile

    def compile_or_forget(signature: Any) -> Any:
        """Numba's own, but a compilation that is interrupted (Ctrl-C) is forgotten, and never freed."""
        try:
            return compile_signature(signature)
        except BaseException as error:
            in_work.clear()
            if not isinstance(error, Exception):
                _never_free_modules()
            raise

    dispatcher.compile = compile_or_forget
    return dispatcher  # type: ignore[no-any-return]


def entry_point(function: Any, *arguments: Any) -> Callable[..., Any]:
    """The machine code of a kernel for arguments of these types, which it does not look at.

    Numba looks at the types of all arguments in every call: 7 us for six NamedTuples of arrays, of which 1 is left.
    The caller passes arguments of the same types, readable arrays for writable ones at most.
    """
    if JIT_DISABLED:
        return function  # type: ignore[no-any-return]
    code: Callable[..., Any] = function.compile(tuple(map(function.typeof_pyval, arguments)))
    return code


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


class GenericKernel:
    """A kernel with one body per class of its first argument, a NamedTuple of arrays.

    The choice is made when a calling kernel is compiled, so it costs nothing in the loop; without the JIT it is a
    dictionary look-up.  Unlike functions passed as arguments, it survives the disk cache.
    """

    __name__: str

    def __init__(self, stub: Callable[..., Any]) -> None:
        functools.update_wrapper(self, stub)
        self._bodies: dict[type, Callable[..., Any]] = {}

    def register(self, cls: type) -> Callable[[F], F]:
        """Use the decorated function if the first argument is a `cls`."""

        def keep(body: F) -> F:
            # A foreign body for a class of the package would have its machine code kept under the package's hash.
            if cls in self._bodies or (of_package(cls) and not of_package(body)):
                raise UsageError(
                    f"{self.__name__} has a body for {cls.__name__} already; give your tables a class of their own"
                )
            self._bodies[cls] = body
            return body

        return keep

    def body(self, cls: type | None) -> Callable[..., Any] | None:
        """The function registered for `cls`, or None."""
        return None if cls is None else self._bodies.get(cls)

    def __call__(self, first: Any, *rest: Any) -> Any:
        """Call the body for the class of `first`."""
        return self._bodies[type(first)](first, *rest)


def generic(stub: Callable[..., Any], *, inline: bool = False) -> GenericKernel:
    """Make `stub` (a docstring and a signature) a `GenericKernel`; bodies are added with `.register(cls)`.

    inline: compile the bodies into their callers, as `inlined` does.
    """
    chooser = GenericKernel(stub)
    if not JIT_DISABLED:

        @overload(  # type: ignore[untyped-decorator]
            chooser, strict=False, inline="never", jit_options=WITHIN_KERNELS | {"forceinline": inline}
        )
        def typed(first: Any, *rest: Any) -> Callable[..., Any] | None:
            return chooser.body(getattr(first, "instance_class", None))

    return chooser
