"""The dispatch between kernels: one kernel's body for each class of tables."""

import functools
from collections.abc import Callable
from typing import Any

from numba.extending import overload

from ttt_batch.base.errors import UsageError
from ttt_batch.base.jit import WITHIN_KERNELS, F
from ttt_batch.base.kernel_cache import JIT_DISABLED, of_package


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
