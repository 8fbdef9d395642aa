"""The cache of compiled kernels: used, never stale, safe between processes, and nothing that a run depends on."""

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

import ttt_batch
from ttt_batch.compiler import jit, kernel_cache, settings
from ttt_batch.compiler.kernel_cache import cache_folder

SECONDS = 300

PREAMBLE = """
import hashlib
from ttt_batch.compiler import kernel_cache, settings
compiled = []
settings.on_compile(lambda: compiled.append(True))
"""

REPORT = """
print("compiled" if compiled else "cached", hashlib.sha256(result).hexdigest(), kernel_cache.cache_folder().name)
"""

# Everything that training and judging need.
TRAIN = f"""{PREAMBLE}
import ttt_batch
run = ttt_batch.train(1000, batch=500, seed=1)
result = run.tables.value.tobytes() + repr(run.evaluation()).encode()
{REPORT}"""

# The same as a command, and which libraries of the compiler's that imports.
COMMAND = """
import sys
from ttt_batch.__main__ import run
status = run("train --games 1000 --batch 500 --out".split() + sys.argv[1:])
print(status, sorted({"numba.cpython.unicode", "numba.np.linalg", "rich", "ttt_batch.runs.importing"}
    & set(sys.modules)))
"""

# Two kernels, about a second; the score that one of them calls is defined in another file.
ORDER = f"""{PREAMBLE}
import numpy as np
from ttt_batch.games.board import Board
from ttt_batch.games.enumeration import enumerate_graph
from ttt_batch.learners.tabular.td import LEARNER, TdTables
from ttt_batch.simulation.walk import make_explorations
from ttt_batch.simulation.policy import empty_policy, order_rows
graph = enumerate_graph(Board())
policy = empty_policy(graph)
given = TdTables(np.random.default_rng(1).normal(size=graph.code.size)), graph, LEARNER.choice, policy
order_rows(*given)
result = policy.ordered[graph.first_edge[:-1]].tobytes() + make_explorations(0.3).column.tobytes()
{REPORT}"""

# Ctrl-C while LLVM links: the module that it took over is noted as taken over only afterwards.
INTERRUPTED = """
import gc
from types import SimpleNamespace
from llvmlite.binding import ffi, linker
from ttt_batch.compiler.jit import kernel

@kernel
def one_more(number):
    return number + 1

@kernel
def two_more(number):
    return number + 2

def link(*modules):
    ffi.lib.LLVMPY_LinkModules(*modules)
    raise KeyboardInterrupt

linker.ffi = SimpleNamespace(OutputString=ffi.OutputString, lib=SimpleNamespace(LLVMPY_LinkModules=link))
try:
    one_more(1)
except KeyboardInterrupt:
    print("interrupted")
linker.ffi = ffi
gc.collect()
print(two_more(1), one_more(1))
"""


class Report(NamedTuple):
    """Report of a script: `compiled` or `cached`, a digest of its result, and the name of its cache folder."""

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
    """Return its output; it must have ended well and without a warning."""
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


class Cache(NamedTuple):
    """A cache that two processes have filled at the same time, and what both of them reported."""

    root: Path
    reports: list[Report]

    @property
    def report(self) -> Report:
        """Return the report of the first one."""
        return self.reports[0]


@pytest.fixture(scope="module")
def cache(package: Path, tmp_path_factory: pytest.TempPathFactory) -> Cache:
    root = tmp_path_factory.mktemp("cache")
    for name, days in (("kernels-old", 31), ("kernels-young", 29), ("other", 99)):
        (root / name).mkdir()
        os.utime(root / name, (time.time() - 86_400 * days,) * 2)
    processes = [started(ORDER, package=package, TTT_BATCH_CACHE_DIR=str(root)) for _ in range(2)]
    return Cache(root, [report(process) for process in processes])


def contents(root: Path) -> dict[str, tuple[int, int]]:
    return {str(path): (path.stat().st_mtime_ns, path.stat().st_size) for path in root.rglob("*") if path.is_file()}


@pytest.mark.slow  # it compiles twice
def test_two_processes_may_compile_into_one_empty_folder(cache: Cache) -> None:
    one, other = cache.reports
    assert one == other
    assert one.kernels == "compiled"
    names = [path.name for path in (cache.root / one.folder).iterdir()]
    assert len(names) == 2 and all(name.endswith(".kernel") for name in names)


@pytest.mark.slow  # it compiles in an empty folder
def test_folders_that_no_version_used_for_a_month_are_dropped(cache: Cache) -> None:
    names = sorted(path.name for path in cache.root.iterdir())
    assert names == sorted(["kernels-young", "other", cache.report.folder])


@pytest.mark.slow  # it compiles in an empty folder
def test_a_second_process_compiles_nothing(cache: Cache, package: Path) -> None:
    before = contents(cache.root)
    again = report(started(ORDER, package=package, TTT_BATCH_CACHE_DIR=str(cache.root)))
    assert again == cache.report._replace(kernels="cached")
    assert contents(cache.root) == before


@pytest.mark.slow  # it compiles in an empty folder
def test_a_kernel_that_another_process_compiles_is_awaited(package: Path, tmp_path: Path) -> None:
    beside = "kernel_cache.available_threads = lambda: 2; kernel_cache.start_compiling([(order_rows, *given)])"
    script = ORDER.replace("order_rows(*given)", f"{beside}\norder_rows(*given)\nassert not compiled")
    finished(started(script, package=package, TTT_BATCH_CACHE_DIR=str(tmp_path)))


@pytest.mark.slow
def test_training_a_second_time_compiles_nothing(tmp_path: Path) -> None:
    """In the cache that this very process uses, without the library that compiling needs: 0.1 s to import."""
    package = Path(ttt_batch.__file__).parent
    first = report(started(TRAIN, package=package))
    assert first.folder == cache_folder().name
    again = report(started(TRAIN, package=package))
    assert again == first._replace(kernels="cached")
    process = started(COMMAND, str(tmp_path / "run.h5"), package=package)
    out, _ = process.communicate(timeout=SECONDS)
    assert out.splitlines()[-1] == "0 []"


def test_what_is_compiled_into_kernels_only_says_so() -> None:
    @jit.inlined
    def part(number: int) -> int:
        return 2 * number

    @jit.kernel
    def whole(number: int) -> int:
        return part(number) + 1  # type: ignore[no-any-return]

    for _ in range(2):  # before and after it is compiled
        if jit.JIT_DISABLED:
            assert part(20) == 40
        else:
            with pytest.raises(TypeError, match="part is compiled into kernels only"):
                part(20)
        assert whole(20) == 41


def test_watchers_hear_of_each_kernel_in_turn_and_may_refuse() -> None:
    heard: list[str] = []

    @jit.kernel
    def callee(number: int) -> int:
        return number + 1

    @jit.kernel
    def caller(number: int) -> int:
        return callee(number) * 2

    class RefusedError(Exception):
        pass

    def refuse() -> None:
        raise RefusedError

    for function in (caller, callee):  # kernels of a test have no business in the cache
        function.dispatcher._cache._cache_file = _Nothing()
    forget = settings.on_compile(lambda: heard.append("begin"), lambda: heard.append("end"))
    try:
        allow = settings.on_compile(refuse)
        with pytest.raises(RefusedError):
            caller(1)
        assert heard == []
        allow()
        assert caller(1) == 4
        assert heard == ["begin", "end"]
        assert caller(2.0) == 6.0
        assert heard == ["begin", "end"] * 2
        assert callee(3) == 4  # its machine code is made now
        assert heard == ["begin", "end"] * 3
    finally:
        forget()
    caller(1j)
    assert heard == ["begin", "end"] * 3


class _Nothing:
    """A cache file that holds nothing."""

    def load(self, _key: object) -> None:
        return None

    def save(self, _key: object, _data: object) -> None:
        return None


@pytest.mark.slow
def test_an_interrupted_compiler_does_not_crash_the_process() -> None:
    package = Path(ttt_batch.__file__).parent
    assert finished(started(INTERRUPTED, package=package)).split() == ["interrupted", "3", "2"]


@pytest.mark.slow  # it compiles twice
def test_an_edit_of_a_callee_in_another_file_is_seen(cache: Cache, package: Path) -> None:
    before = cache.report
    source = package / "learners" / "values.py"
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


FOLDERS = sorted(path.parent.name for path in settings.ROOT.glob("*/__init__.py"))


@pytest.mark.sampled(1)
@pytest.mark.parametrize("where", ["", *FOLDERS])
def test_an_edit_in_any_folder_is_seen_but_of_the_one_without_kernels(where: str, package: Path) -> None:
    """The cache hashes all files of the package, not only those of the folder that it lies in itself."""
    source = package / where / "__init__.py"
    before, text = kernel_cache.folder_name(package), source.read_text(encoding="utf-8")
    assert before == kernel_cache.cache_folder().name
    try:
        source.write_text(f"{text}# edited\n", encoding="utf-8")
        assert (kernel_cache.folder_name(package) == before) == (where == settings.WITHOUT_KERNELS)
    finally:
        source.write_text(text, encoding="utf-8")
    assert kernel_cache.folder_name(package) == before


def test_the_folder_without_kernels_has_none_and_nothing_that_kernels_read() -> None:
    """Neither a decorator of kernels nor Numba, and no file of another folder imports it."""
    of_kernels = re.compile(r"(from|import) (ttt_batch\.compiler\.(jit|backend|bits|intrinsics)|numba)\b|\.register\(")
    above = re.compile(rf"^(from|import) ttt_batch\.{settings.WITHOUT_KERNELS}\b", re.MULTILINE)
    for source in settings.ROOT.glob("*/**/*.py"):
        inside = source.relative_to(settings.ROOT).parts[0] == settings.WITHOUT_KERNELS
        text = source.read_text(encoding="utf-8")
        assert not (of_kernels if inside else above).search(text), source


def test_kernels_of_the_folder_without_kernels_would_not_be_kept() -> None:
    class Inside(NamedTuple):
        number: int

    Inside.__module__ = f"ttt_batch.{settings.WITHOUT_KERNELS}.web"
    assert not settings.in_package(Inside)
    Inside.__module__ = "ttt_batch.learners.tabular.td"
    assert settings.in_package(Inside)


def tear(files: list[Path]) -> None:
    for file in files:
        file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def flip(files: list[Path]) -> None:
    for file in files:
        content = bytearray(file.read_bytes())
        content[-1000] ^= 1
        file.write_bytes(content)


def swap(files: list[Path]) -> None:
    one, other = (file.read_bytes() for file in files)
    files[0].write_bytes(other)
    files[1].write_bytes(one)


@pytest.mark.slow
@pytest.mark.parametrize("damage", [tear, flip, swap])
def test_a_damaged_cache_is_compiled_anew(
    damage: Callable[[list[Path]], None], cache: Cache, package: Path, tmp_path: Path
) -> None:
    root = tmp_path / "cache"
    shutil.copytree(cache.root, root)
    damage(sorted((root / cache.report.folder).glob("*.kernel")))
    for kernels in ("compiled", "cached"):
        found = report(started(ORDER, package=package, TTT_BATCH_CACHE_DIR=str(root)))
        assert found == cache.report._replace(kernels=kernels)


@pytest.mark.slow
def test_an_unusable_cache_costs_nothing_but_the_cache(cache: Cache, package: Path, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("in the way")
    places = [str(file)]
    if Path("/proc/self").is_dir():
        places.append("/proc/nowhere")
    processes = [started(ORDER, package=package, TTT_BATCH_CACHE_DIR=place) for place in places]
    assert [report(process) for process in processes] == [cache.report] * len(places)
    assert file.read_text() == "in the way"
