"""A vectorised batch simulator and tabular self-play laboratory for small m,n,k boards.

    import ttt_batch as ttt
    run = ttt.train(1_000_000, learner="td", seed=1)
    print(ttt.evaluate(run, against="random"))
    run.save("td.h5")

This module exports the public names.  `ttt_batch.learners` helps to write a learner, and `ttt_batch.agents` adapts
third-party agents.  Names are loaded on first use, so that importing the package (and `ttt-batch --help`) stays quick.
"""

from typing import TYPE_CHECKING

from ttt_batch.core import VERSION
from ttt_batch.core.hooks import set_hooks as _set_hooks

__version__ = VERSION

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ttt_batch import agents as agents
    from ttt_batch import learners as learners
    from ttt_batch.api.public import *  # noqa: F403 - the list is there
    from ttt_batch.api.public import __all__ as __all__
else:

    def __getattr__(name: str) -> object:
        """Load a public name on first use: most exceptions on their own, any other name with the whole package."""
        import importlib

        from ttt_batch.core import errors

        if name.endswith("Error") and hasattr(errors, name):
            return getattr(errors, name)
        if name == "__all__" or not name.startswith("_"):
            from ttt_batch.compiler.settings import check_compiler_settings

            check_compiler_settings()
            if name in ("agents", "learners"):
                return importlib.import_module(f"ttt_batch.{name}")
            from ttt_batch.api import public

            if name == "__all__" or name in public.__all__:
                return getattr(public, name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__() -> list[str]:
        return sorted({*globals(), *__getattr__("__all__")})


def _find_hook(name: str) -> "Callable[..., Any]":
    from ttt_batch.app import hook

    return hook(name)


_set_hooks(_find_hook)
