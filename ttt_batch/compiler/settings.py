"""Check of the environment variables that Numba and its compiler read."""

import functools
import os
import re
import subprocess
import sys
import warnings

from ttt_batch.core.errors import UsageError, quoted

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
    for name, parameter in (("NUMBA_CPU_NAME", "cpu"), ("NUMBA_CPU_FEATURES", "features")):
        if value := os.environ.get(name):
            done = subprocess.run([sys.executable, "-c", _ASK_LLVM, parameter, value], capture_output=True, check=False)
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
