"""Settings and watchers of the compiler, which load without it, and a check of Numba's environment variables."""

import functools
import os
import re
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ttt_batch.core.errors import UsageError, quoted
from ttt_batch.core.files import exists

PACKAGE = __name__.partition(".")[0]
WITHOUT_KERNELS = "app"
"""Floor of the package with neither kernels nor classes of their arguments."""

ROOT = Path(__file__).parents[1]
"""Folder of the whole package: kernels of one folder call those of others."""

Action = Callable[[], None]
watchers: list[tuple[Action, Action, Action]] = []
compiling: list[Callable[..., Any]] = []
"""Kernels being compiled; each is called by the previous one."""


def on_compile(begin: Action, end: Action = lambda: None, each: Action = lambda: None) -> Action:
    """Call `begin` before an uncached kernel is compiled, and `end` after the kernel and its callees are compiled.

    The latest watcher is called first.  `begin` may raise an exception, which prevents the compilation and reaches the
    caller of the kernel.  `each` is called after every kernel, also after one that only kernels call.
    Return a function that ends the watch.
    """
    watcher = begin, end, each
    watchers.append(watcher)
    return lambda: watchers.remove(watcher)


def in_package(made: Any) -> bool:
    """Return whether a class or function is defined in a source of the package that the folder's hash covers."""
    package, _, module = str(made.__module__).partition(".")
    return package == PACKAGE and module.partition(".")[0] != WITHOUT_KERNELS


@functools.cache
def is_jit_disabled() -> bool:
    """Return whether NUMBA_DISABLE_JIT or Numba's own file keeps kernels in Python; load Numba only if one is there."""
    if not ("numba" in sys.modules or "NUMBA_DISABLE_JIT" in os.environ or exists(Path(".numba_config.yaml"))):
        return False
    import numba

    return bool(numba.config.DISABLE_JIT)


_LIMITS = {
    "NUMBA_OPT": "give 0, 1, 2, 3 or max",
    "NUMBA_NUM_THREADS": "give a whole number from 1 on",
    "NUMBA_CPU_NAME": "give a name that LLVM knows, e.g. generic",
    "NUMBA_CPU_FEATURES": "give names that LLVM knows, each with + or -, e.g. +avx2",
}
_ASK_LLVM = """
import sys
from llvmlite import binding
binding.initialize_native_target()
binding.Target.from_default_triple().create_target_machine(**{sys.argv[1]: sys.argv[2]})
"""


@functools.cache
def check_compiler_settings() -> None:
    """Raise UsageError for an environment variable that Numba cannot use.

    Numba itself would print a traceback and continue, fail, or let LLVM abort the process.  Numba is imported only if
    such a variable is set.
    """
    if not any(name.startswith("NUMBA_") for name in os.environ):
        return
    # Test in another process: LLVM prints unknown names, or aborts.
    for name, option in (("NUMBA_CPU_NAME", "cpu"), ("NUMBA_CPU_FEATURES", "features")):
        if value := os.environ.get(name):
            done = subprocess.run([sys.executable, "-Pc", _ASK_LLVM, option, value], capture_output=True, check=False)
            if done.returncode or done.stderr:
                raise _refused(name)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "Environment variable 'NUMBA_", RuntimeWarning)
        try:
            import numba  # noqa: F401
        except (RuntimeWarning, ValueError) as error:
            found = re.match(r"Environment variable '(\w+)'|Number of threads", str(error))
            if found is None:
                raise
            for module in [module for module in sys.modules if module.partition(".")[0] == "numba"]:
                del sys.modules[module]  # half loaded: import all of Numba again once the variable is corrected
            raise _refused(found[1] or "NUMBA_NUM_THREADS") from None


def _refused(name: str) -> UsageError:
    limit = _LIMITS.get(name, "give a whole number")
    given = quoted(os.environ.get(name))
    return UsageError(f"the environment variable {name} is {given}, which Numba cannot use; {limit}, or unset it")
