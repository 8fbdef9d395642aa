"""Lets tests import the helpers beside them, and compiles all kernels before the whole suite begins.

Tests that run beside each other would compile the same kernels several times over.  On two processors the quick suite
takes 130 to 140 s where everything is compiled, and a minute more where nothing is.  A learner's kernels for larger
boards take twenty seconds, so in the quick suite one learner stands for all six in most tests there; the slow ones have
the others.
"""

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from ttt_batch.analysis.warmup import warm_up
from ttt_batch.base.errors import TttBatchError
from ttt_batch.learners import LEARNERS

sys.path.insert(0, str(Path(__file__).parent))

os.environ["TTT_BATCH_DEBUG"] = "1"  # an exception that nobody foresaw fails the test that meets it

# How long an example takes says more about what else the machine does than about the code.
settings.register_profile("unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("unhurried")

LARGER = {
    "test_growing_table.py",
    "test_matches.py",
    "test_search.py",
    "test_symmetry.py",
    "test_variants.py",
    "test_large_board.py",
}
"""Files about boards of more than nine cells, or of variants."""

QUICK = ("td",)
"""The learners whose tests there are quick."""


def pytest_configure(config: pytest.Config) -> None:
    """Have the programs that tests start heed Ctrl-C and a hang-up where this process ignores them (`nohup pytest &`).

    A program goes on ignoring what its parent ignores, and begins with the system's way for what its parent handles.
    So this process handles them, by doing nothing; workers, which their parent starts, do so for a hang-up.
    """
    for name in ("SIGINT", "SIGHUP"):
        number = getattr(signal, name, None)  # Windows has no SIGHUP
        started_to_work = name == "SIGHUP" and hasattr(config, "workerinput")
        if number is not None and (started_to_work or signal.getsignal(number) is signal.SIG_IGN):
            signal.signal(number, lambda *_: None)


def pytest_sessionstart(session: pytest.Session) -> None:
    """Warm up, unless this is a worker, a single process or a selection of files."""
    config = session.config
    whole = bool(config.getoption("numprocesses", None)) and config.args == config.getini("testpaths")
    if whole and not hasattr(config, "workerinput") and not os.environ.get("NUMBA_DISABLE_JIT"):
        slow = config.getoption("markexpr", "") != "not slow"
        try:
            warm_up(larger=True if slow else QUICK)
        except TttBatchError as error:  # nowhere to keep them: the tests compile what they need
            print(error)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark as slow the tests about larger boards of learners that are not quick there."""
    others = [name for name in LEARNERS if name not in QUICK]
    for item in items:
        if item.path.name in LARGER and any(name in item.name for name in others):
            item.add_marker(pytest.mark.slow)


@pytest.fixture
def own_signals() -> Iterator[None]:
    """Signals are heeded again afterwards as they were before."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)
