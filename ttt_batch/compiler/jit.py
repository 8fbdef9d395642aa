"""JIT decorators: `kernel` for functions that Python calls, `inlined` for functions that only kernels call.

`generic` makes a kernel with one body per class of tables.
"""

import functools
import gc
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

import numba
import numpy as np
from llvmlite.binding.ffi import ObjectRef
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.runtime import rtsys
from numba.extending import intrinsic, overload
from numpy.typing import NDArray

from ttt_batch.compiler.kernel_cache import JIT_DISABLED, KernelCache, compiling, in_package
from ttt_batch.core.errors import UsageError

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

# _nrt=False: kernels allocate nothing, and counting references in calls with NamedTuples of arrays is ~3x slower.
# error_model="numpy": no zero-division branch in the loops.  fastmath stays off: reassociated sums would differ
# between processors.  no_cfunc_wrapper=True: no kernel is called by its address.
OPTIONS: dict[str, Any] = {
    "nogil": True,
    "error_model": "numpy",
    "fastmath": False,
    "boundscheck": False,
    "_nrt": False,
    "no_cfunc_wrapper": True,
}


class LinkedLibrary(JITCodeLibrary):  # type: ignore[misc]
    """LLVM code of a function that only kernels call.

    Numba optimises each library and makes it machine code.  Both are done for the kernels that link this one, so here
    they would be done in vain: that is a quarter of the time of a first run.
    """

    def add_linking_library(self, library: Any) -> None:
        """Link the code of a function that this one calls; each kernel links Numba's runtime itself."""
        if library is not rtsys.library:
            super().add_linking_library(library)

    def _optimize_final_module(self) -> None:
        """Leave the code as it is."""

    def _finalize_final_module(self) -> None:
        """Make no machine code; note which addresses the code holds, as Numba does, for the cache."""
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """Return 0: no function has machine code here."""
        self._ensure_finalized()
        return 0

    @property
    def codegen(self) -> "LinkedLibrary":
        """Return this library, which Numba asks for it only to call `set_env`."""
        return self

    def set_env(self, *_: Any) -> None:
        """Set nothing: an environment serves machine code that makes Python's objects."""


class LinkingCompiler(Compiler):  # type: ignore[misc]
    """Numba's compiler, with a `LinkedLibrary` for each function."""

    def define_pipelines(self) -> Any:
        """Return Numba's passes, which fill the library that is set here."""
        self.state.library = LinkedLibrary(self.state.targetctx.codegen(), self.state.func_id.func_qualname)
        return super().define_pipelines()


UNCALLED = OPTIONS | {"no_cpython_wrapper": True}
"""Options for functions that Python does not call: no wrapper for it."""

WITHIN_KERNELS = UNCALLED | {"pipeline_class": LinkingCompiler}
"""Options for functions that only kernels call: no machine code of their own, either."""


def _never_free_modules() -> None:
    """Keep all current LLVM objects until the process ends.

    An interrupt may arrive after LLVM has taken ownership of a module and before llvmlite has recorded that.  The
    module would then be freed twice, which crashed one process in thirty.
    """
    for one in gc.get_objects():
        if issubclass(type(one), ObjectRef):
            one._owned = True


def kernel(function: F) -> F:
    """Compile `function` with Numba, cached on disk.  NUMBA_DISABLE_JIT=1 keeps it in Python."""
    if JIT_DISABLED:
        # Compiled code overflows and divides by zero silently; NumPy's scalars would warn.
        return np.errstate(over="ignore", divide="ignore", invalid="ignore")(function)
    dispatcher = numba.njit(**OPTIONS)(function)
    dispatcher._cache = KernelCache(function)
    # Kernels that call it compile it among their own code; only a call from Python needs its machine code.
    linked = numba.njit(**WITHIN_KERNELS)(function)
    dispatcher.get_call_template, dispatcher.get_overload = linked.get_call_template, linked.get_overload
    compile_signature = dispatcher.compile

    def compile_or_forget(signature: Any) -> Any:
        """Compile with Numba; after an interrupt (Ctrl-C) clear `compiling` and keep the LLVM objects."""
        try:
            return compile_signature(signature)
        except BaseException as error:
            compiling.clear()
            if not isinstance(error, Exception):
                _never_free_modules()
            raise

    dispatcher.compile = compile_or_forget
    return dispatcher  # type: ignore[no-any-return]


def entry_point(function: Any, *arguments: Any) -> Callable[..., Any]:
    """Return the machine code of a kernel for arguments of these types; calls do not check the types.

    Numba's check in every call takes 6 of 7 us for six NamedTuples of arrays.  The caller must pass arguments of the
    same types, except that read-only arrays may replace writable ones.
    """
    if JIT_DISABLED:
        return function  # type: ignore[no-any-return]
    code: Callable[..., Any] = function.compile(tuple(map(function.typeof_pyval, arguments)))
    return code


def inlined(function: F, options: dict[str, Any] = WITHIN_KERNELS) -> F:
    """Compile a small function into each kernel that calls it; called from Python it raises TypeError.

    Without inlining, a call with NamedTuples of arrays updates the reference count of every array, ~180 ns a call.
    """
    if JIT_DISABLED:
        return kernel(function)
    dispatcher = numba.njit(forceinline=True, **options)(function)

    def refuse(*_args: Any, **_settings: Any) -> None:
        raise TypeError(f"{function.__name__} is compiled into kernels only; from Python, call one of them")

    dispatcher._insert = lambda *_: None  # Python finds no compiled version and calls refuse
    dispatcher._compile_for_args = refuse
    return dispatcher  # type: ignore[no-any-return]


def vectorized(function: F) -> F:
    """Optimise a function alone, then compile it into kernels as `inlined` does: for a loop over rows of bytes.

    LLVM must know that rows do not overlap, and sees this only where they are arguments.  Optimised with the kernel
    around them, the loops of random games take 3.4 times as long.
    """
    return inlined(function, UNCALLED)


def instruction(signature: Callable[..., Any], emit: Callable[[Any, Any, Any, Any], Any]) -> Callable[[F], F]:
    """Return a decorator that compiles calls of a function in kernels to given LLVM code; without the JIT it stays.

    signature: returns Numba's signature from the types of the arguments.
    emit: emits the code, from Numba's context, LLVM's builder, the signature and the arguments; returns the result.
    """

    def compiled(function: F) -> F:
        if JIT_DISABLED:
            return function

        def typed(_context: Any, *kinds: Any) -> tuple[Any, Any]:
            return signature(*kinds), emit

        own = inspect.signature(function).parameters.values()
        context = inspect.Parameter("context", inspect.Parameter.POSITIONAL_OR_KEYWORD)
        typed.__name__, typed.__signature__ = function.__name__, inspect.Signature([context, *own])  # type: ignore[attr-defined]
        made = intrinsic(typed)
        made.plain = function  # to compare both
        return made  # type: ignore[no-any-return]

    return compiled


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
    if not JIT_DISABLED:

        @overload(  # type: ignore[untyped-decorator]
            chooser, strict=False, inline="never", jit_options=WITHIN_KERNELS | {"forceinline": inline}
        )
        def typed(first: Any, *rest: Any) -> Callable[..., Any] | None:
            return chooser.body(getattr(first, "instance_class", None))

    return chooser
