"""Lets tests import the helpers beside them, compiles kernels before the whole suite begins, and says which are slow.

Tests in parallel processes would compile the same kernels several times over, and to compile is a third of what the
quick suite costs on empty caches.  So there two learners stand for all in most tests: see `QUICK`.  A test is slow if
it takes more than about 0.2 s, kernels included, and quick tests reach the same lines of the package.
"""

import gc
import importlib
import os
import re
import signal
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import suppress
from math import gcd
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings

from ttt_batch.analysis.warmup import OTHERS, run_job
from ttt_batch.compiler import kernel_cache
from ttt_batch.learners import LEARNERS
from ttt_batch.runs.network_run import PatternRun
from ttt_batch.training.train import train

if TYPE_CHECKING:
    from helpers.browser import Browser

sys.path.insert(0, str(Path(__file__).parent))

gc.set_threshold(200_000, 20, 20)  # as rarely as the program: a quarter of compiling was garbage collection

os.environ["TTT_BATCH_DEBUG"] = "1"  # an exception that nobody foresaw fails the test that meets it

# A person's own settings change how wide and how coloured the output is, how it is encoded, and what Dask does.
for _name in [*os.environ]:
    if _name.startswith("DASK_") or _name in (
        *("COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "TTY_COMPATIBLE"),
        *("TTY_INTERACTIVE", "MPLBACKEND", "MATPLOTLIBRC", "PYTHONWARNINGS", "PYTHONIOENCODING"),
    ):
        del os.environ[_name]

# How long an example takes says more about what else the machine does than about the code.
settings.register_profile("unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("unhurried")

QUICK = ("td", "minimax-q")
"""The learners that stand for all in each test that has one of them among its cases.

Between them they have values of positions and of moves, and occupied cells among the moves or not.  The mark
`quick_learners` of a test or a file names others: `td` alone where boards are larger, all where nothing is compiled.
"""

LONG = ("test_warmup.py", "test_scripts.py", "test_faults.py", "test_readme.py", "test_browser_learning.py")
"""Files of few but long tests, which begin first: a process would be alone with one at the end."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option of a run that only has to show whether the package works with other versions of its libraries."""
    parser.addoption("--every", type=int, default=1, metavar="N", help="run one in N of the tests of each file")


def pytest_configure(config: pytest.Config) -> None:
    """See `heeding.heed_signals`."""
    from helpers.heeding import heed_signals

    config.option.loadscopereorder = False  # xdist would begin with the files of most tests, and end with `LONG`
    kernel_cache.may_start = False  # the workers use every processor
    heed_signals(config)


def pytest_sessionstart(session: pytest.Session) -> None:
    """Compile what many tests need, unless this is a worker, a single process or a selection of tests.

    One process compiles no kernel twice.  The first test that needs another kernel compiles it.
    """
    config = session.config
    whole = config.args == config.getini("testpaths") and config.getoption("every") == 1
    beside = bool(config.getoption("numprocesses", None)) and not hasattr(config, "workerinput")
    if whole and beside and not os.environ.get("NUMBA_DISABLE_JIT"):
        for job in (QUICK[0], *OTHERS):
            run_job(job)
        train(10, learner=QUICK[1], batch=2)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark as slow the tests of learners for which others stand, and the cases that a sample leaves out.

    Of the quick tests of each file leave one in N (`--every N`).  Begin with the files in `LONG`.
    """
    having = defaultdict(set)
    for item in items:
        having[test_of(item)] |= learners_of(item)
    for item in items:
        mark = item.get_closest_marker("quick_learners")
        quick = set(mark.args if mark else QUICK)
        if (mark or having[test_of(item)] & quick) and not learners_of(item) <= quick:
            item.add_marker(pytest.mark.slow)
    sampled = defaultdict(list)
    for item in items:
        if item.get_closest_marker("sampled") and not item.get_closest_marker("slow"):
            sampled[test_of(item)].append(item)
    for cases in sampled.values():
        number = cases[0].get_closest_marker("sampled").args[0]
        # Without a common divisor the cases are all different, and no parameter keeps its value.
        stride = next(step for step in range(len(cases) // number or 1, len(cases) + 2) if gcd(step, len(cases)) == 1)
        quick_ones = {at * stride % len(cases) for at in range(number)}
        for at, case in enumerate(cases):
            if at not in quick_ones:
                case.add_marker(pytest.mark.slow)
    if (every := config.getoption("every")) > 1:
        of_file = defaultdict(list)
        for item in items:
            if not item.get_closest_marker("slow"):
                of_file[item.path].append(item)
        items[:] = [item for quick in of_file.values() for item in quick[::every]]
    items.sort(key=lambda item: LONG.index(item.path.name) if item.path.name in LONG else len(LONG))


def pytest_collection_finish() -> None:
    """Look for garbage no more among thousands of tests."""
    gc.collect()
    gc.freeze()


def test_of(item: pytest.Item) -> str:
    """The test that `item` is one of the parametrized cases of."""
    return item.nodeid.partition("[")[0]


def learners_of(item: pytest.Item) -> set[str]:
    """The learners that the test's parameters name."""
    return set(re.findall(rf"\b({'|'.join(sorted(LEARNERS, key=len, reverse=True))})\b", item.nodeid.partition("[")[2]))


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in an empty folder: a command without RUN takes the newest run of the folder that it is called in."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="session")
def pattern_run() -> PatternRun:
    """Networks that are proved in both seats of 4x4x4: a tenth of a second."""
    run = train(4000, learner="patterns", board="4x4x4", prove_every=2000, seed=3)
    assert isinstance(run, PatternRun) and run.is_proved
    return run


@pytest.fixture
def own_signals() -> Iterator[None]:
    """Signals are heeded again afterwards as they were before."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture
def start() -> Iterator[Callable[..., "subprocess.Popen[str]"]]:
    """Starts a program in a session of its own.  What is left of it in the end is killed: it would slow other tests."""
    started: list[subprocess.Popen[str]] = []

    def begin(words: Any, **options: Any) -> "subprocess.Popen[str]":
        started.append(subprocess.Popen(words, **{"text": True, "start_new_session": True, **options}))
        return started[-1]

    yield begin
    for process in started:
        with process, suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], ModuleType]:
    """A script as a module, by its name."""

    def load(name: str) -> ModuleType:
        monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "scripts"))
        return importlib.import_module(name)

    return load


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator["Browser"]:
    from helpers.browser import Browser
    from helpers.pages import program

    program("chromium", "chromium")
    program("chromedriver", "chromium-driver")
    browser = Browser(tmp_path_factory.mktemp("pages"))
    yield browser
    browser.driver.quit()


@pytest.fixture
def browser(chromium: "Browser") -> Iterator["Browser"]:
    """The one browser of a file of tests; afterwards nothing was complained about."""
    yield chromium
    assert chromium.errors() == []
    assert chromium.do("return violations") == []
