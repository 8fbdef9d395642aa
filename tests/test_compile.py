"""The cache of compiled kernels: used, never stale, safe between processes, and nothing that a run depends on."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

import ttt_batch
from ttt_batch.config import make_config
from ttt_batch.learners import LEARNERS
from ttt_batch.trainer import Trainer

SECONDS = 240

PREAMBLE = """
import hashlib
from ttt_batch import compile as kernels
compiled = []
kernels.on_compile(lambda: compiled.append(True))
"""

REPORT = """
print("compiled" if compiled else "cached", hashlib.sha256(result).hexdigest(), kernels.cache_folder().name)
"""

# The whole way, about ten seconds of compiling.
TRAIN = f"""{PREAMBLE}
import ttt_batch
result = ttt_batch.train(1000, batch=500, seed=1).tables.value.tobytes()
{REPORT}"""

# One kernel, about a second; the score it calls is defined in another file.
ORDER = f"""{PREAMBLE}
import numpy as np
from ttt_batch.board import Board
from ttt_batch.graph import enumerate_graph
from ttt_batch.learners.td import LEARNER, TdTables
from ttt_batch.policy import empty_policy, order_rows
graph = enumerate_graph(Board())
policy = empty_policy(graph)
order_rows(TdTables(np.random.default_rng(1).normal(size=graph.code.size)), graph, LEARNER.choice, policy)
result = policy.ordered[graph.first_edge[:-1]].tobytes()
{REPORT}"""

# Every learner, in batches and game by game; written to the file named by the first argument.
LEARN = """
import sys
import numpy as np
from ttt_batch.config import make_config
from ttt_batch.learners import LEARNERS
from ttt_batch.trainer import Trainer
found = {}
for name in LEARNERS:
    for batch in (20, 1):
        trainer = Trainer(make_config(learner=name, batch=batch, seed=3))
        trainer.advance(60, lambda: False)
        found |= {f"{name}/{batch}/{field}": array for field, array in trainer.tables._asdict().items()}
        found[f"{name}/{batch}/outcomes"] = trainer.outcomes
np.savez(sys.argv[1], **found)
"""


class Report(NamedTuple):
    """What a script says: `compiled` or `cached`, a digest of its result, and the name of its cache folder."""

    kernels: str
    digest: str
    folder: str


def started(script: str, *arguments: str, package: Path, **environment: str) -> "subprocess.Popen[str]":
    """A process that runs a script with a package; warnings are errors."""
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", script, *arguments],
        cwd=package.parent,
        env=os.environ | {"PYTHONPATH": str(package.parent)} | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finished(process: "subprocess.Popen[str]") -> str:
    """What it printed; it must have ended well and without a word of complaint."""
    stdout, stderr = process.communicate(timeout=SECONDS)
    assert (process.returncode, stderr) == (0, "")
    return stdout


def report(process: "subprocess.Popen[str]") -> Report:
    return Report(*finished(process).split())


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package, to be edited."""
    copy = tmp_path_factory.mktemp("copy") / "ttt_batch"
    shutil.copytree(Path(ttt_batch.__file__).parent, copy, ignore=shutil.ignore_patterns("__pycache__"))
    return copy


@pytest.fixture(scope="module")
def plain_python(package: Path, tmp_path_factory: pytest.TempPathFactory) -> "tuple[subprocess.Popen[str], Path]":
    """Every learner without the compiler, running beside the other tests."""
    path = tmp_path_factory.mktemp("plain") / "tables.npz"
    return started(LEARN, str(path), package=package, NUMBA_DISABLE_JIT="1"), path


class Cache(NamedTuple):
    """A cache that two processes have filled at the same time, and what they reported."""

    root: Path
    reports: list[Report]


@pytest.fixture(scope="module")
def cache(package: Path, tmp_path_factory: pytest.TempPathFactory) -> Cache:
    root = tmp_path_factory.mktemp("cache")
    for name, days in (("kernels-old", 31), ("kernels-young", 29), ("other", 99)):
        (root / name).mkdir()
        os.utime(root / name, (time.time() - 86_400 * days,) * 2)
    processes = [started(TRAIN, package=package, TTT_BATCH_CACHE_DIR=str(root)) for _ in range(2)]
    reports = [report(process) for process in processes]
    return Cache(root, [*reports, report(started(ORDER, package=package, TTT_BATCH_CACHE_DIR=str(root)))])


def contents(root: Path) -> dict[str, tuple[int, int]]:
    return {str(path): (path.stat().st_mtime_ns, path.stat().st_size) for path in root.rglob("*") if path.is_file()}


def test_two_processes_may_compile_into_one_empty_folder(
    cache: Cache, plain_python: "tuple[subprocess.Popen[str], Path]"
) -> None:
    one, other, _ = cache.reports
    assert one == other
    assert one.kernels == "compiled"
    names = [path.name for path in (cache.root / one.folder).iterdir()]
    assert names and all(name.endswith(".kernel") for name in names)


def test_folders_that_no_version_used_for_a_month_are_dropped(cache: Cache) -> None:
    names = sorted(path.name for path in cache.root.iterdir())
    assert names == sorted(["kernels-young", "other", cache.reports[0].folder])


def test_a_second_process_compiles_nothing(cache: Cache, package: Path) -> None:
    before = contents(cache.root)
    for script, first in ((TRAIN, cache.reports[0]), (ORDER, cache.reports[2])):
        assert first.kernels == "compiled"
        again = report(started(script, package=package, TTT_BATCH_CACHE_DIR=str(cache.root)))
        assert again == first._replace(kernels="cached")
    assert contents(cache.root) == before


def test_an_edit_of_a_callee_in_another_file_is_seen(cache: Cache, package: Path) -> None:
    before = cache.reports[2]
    source = package / "learners" / "td.py"
    text = source.read_text(encoding="utf-8")
    edited = text.replace("return -value if mover else value", "return value if mover else -value")
    assert edited != text
    try:
        source.write_text(edited, encoding="utf-8")
        after = report(started(ORDER, package=package, TTT_BATCH_CACHE_DIR=str(cache.root)))
    finally:
        source.write_text(text, encoding="utf-8")
    assert after.kernels == "compiled"
    assert after.digest != before.digest and after.folder != before.folder
    undone = report(started(ORDER, package=package, TTT_BATCH_CACHE_DIR=str(cache.root)))
    assert undone == before._replace(kernels="cached")


def test_a_damaged_cache_is_compiled_anew(cache: Cache, package: Path, tmp_path: Path) -> None:
    root = tmp_path / "cache"
    shutil.copytree(cache.root, root)
    kernels = sorted(root.rglob("ttt_batch.policy.order_rows*.kernel"))
    assert kernels
    for kernel in kernels:
        kernel.write_bytes(kernel.read_bytes()[: kernel.stat().st_size // 2])
    assert report(started(ORDER, package=package, TTT_BATCH_CACHE_DIR=str(root))) == cache.reports[2]
    mended = report(started(ORDER, package=package, TTT_BATCH_CACHE_DIR=str(root)))
    assert mended == cache.reports[2]._replace(kernels="cached")


def test_an_unusable_cache_costs_nothing_but_the_cache(cache: Cache, package: Path, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("in the way")
    places = [str(file), str(file / "below")]
    if Path("/proc/self").is_dir():
        places.append("/proc/nowhere")
    processes = [started(ORDER, package=package, TTT_BATCH_CACHE_DIR=place) for place in places]
    assert [report(process) for process in processes] == [cache.reports[2]] * len(places)
    assert file.read_text() == "in the way"


@pytest.mark.parametrize("name", LEARNERS)
def test_plain_python_computes_the_same_bytes(name: str, plain_python: "tuple[subprocess.Popen[str], Path]") -> None:
    process, path = plain_python
    if process.returncode is None:
        assert finished(process) == ""
    assert process.returncode == 0
    with np.load(path) as found:
        for batch in (20, 1):
            trainer = Trainer(make_config(learner=name, batch=batch, seed=3))
            fresh = [array.tobytes() for array in trainer.tables]
            trainer.advance(60, lambda: False)
            assert [array.tobytes() for array in trainer.tables] != fresh
            for field, array in trainer.tables._asdict().items():
                assert found[f"{name}/{batch}/{field}"].tobytes() == array.tobytes()
            assert found[f"{name}/{batch}/outcomes"].tolist() == trainer.outcomes.tolist()
