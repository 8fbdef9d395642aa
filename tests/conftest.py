"""Lets tests import the helpers beside them, and compiles all kernels before the whole suite begins.

Tests that run beside each other would compile the same kernels several times over (two processors: 230 s without, 170 s
with; 110 s where everything is compiled).
"""

import os
import sys
from pathlib import Path

import pytest

from ttt_batch.errors import TttBatchError
from ttt_batch.warmup import warm_up

sys.path.insert(0, str(Path(__file__).parent))


def pytest_sessionstart(session: pytest.Session) -> None:
    """Warm up, unless this is a worker, a single process or a selection of files."""
    config = session.config
    whole = bool(config.getoption("numprocesses", None)) and config.args == config.getini("testpaths")
    if whole and not hasattr(config, "workerinput") and not os.environ.get("NUMBA_DISABLE_JIT"):
        try:
            warm_up(larger=False)
        except TttBatchError as error:  # nowhere to keep them: the tests compile what they need
            print(error)
