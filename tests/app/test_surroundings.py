"""The program where streams are closed, readers leave, homes are missing and terminals are narrow."""

import importlib.util
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import cast

import pytest
from helpers.heeding import heed_signals
from helpers.support import finished

import ttt_batch as ttt
from ttt_batch.core import resources
from ttt_batch.core.errors import TttBatchError

PROGRAM = f"{sys.executable} -m ttt_batch"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("surroundings")
    ttt.train(20_000, out=path / "run.h5")
    return path


def shell(script: str, folder: Path, **environment: str) -> "subprocess.CompletedProcess[str]":
    """Run a line of shell; `T` stands for the program."""
    line = f'set -o pipefail; T() {{ {PROGRAM} "$@"; }}; {script}'
    return finished(
        ["bash", "-c", line], cwd=folder, env=os.environ | environment, stdin=subprocess.DEVNULL, timeout=300
    )


@pytest.mark.slow
def test_a_reader_that_leaves_stops_nothing(folder: Path) -> None:
    done = shell("T train --games 2000000 --batch 1000 --out left.h5 2>&1 | head -1", folder)
    assert "Traceback" not in done.stdout + done.stderr
    assert ttt.load(folder / "left.h5").games == 2_000_000


@pytest.mark.slow
@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&-", ">&- 2>&- <&-"])
def test_closed_streams(folder: Path, closed: str) -> None:
    name = f"closed-{sum(closed.encode())}.h5"
    done = shell(f"T train --games 20000 --out {name} {closed}", folder)
    assert done.returncode == 0 and "Traceback" not in done.stderr
    assert ttt.load(folder / name).games == 20_000
    done = shell(f"T info missing.h5 {closed}", folder)
    assert done.returncode == 1 and "Traceback" not in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    "environment",
    [
        {"HOME": "/nonexistent", "XDG_CACHE_HOME": ""},
        {"LC_ALL": "C", "LANG": "C", "PYTHONUTF8": "0"},
        {"HOME": "/proc", "XDG_CACHE_HOME": ""},
        {"LC_ALL": "xx_YY.nonsense", "PYTHONIOENCODING": "ascii"},
        {"NO_COLOR": "1"},
        {"TERM": "dumb"},
        {"COLUMNS": "40"},
    ],
    ids=lambda environment: next(iter(environment)) + "=" + next(iter(environment.values())),
)
def test_odd_surroundings(folder: Path, environment: dict[str, str]) -> None:
    for words in ("--help", "learners", "info run.h5"):
        done = shell(f"T {words}", folder, **environment)
        said = [line for line in done.stderr.splitlines() if not line.startswith("bash: warning")]
        assert (done.returncode, said) == (0, [])
        assert not re.search(r"[^\n\x20-\x7e]", done.stdout)


@pytest.mark.slow
@pytest.mark.parametrize("typed", ["info run.h5", "train --games 10"])
def test_a_current_folder_that_is_gone(tmp_path: Path, typed: str) -> None:
    done = shell(f"mkdir gone; cd gone; rmdir ../gone; T {typed}", tmp_path)
    assert done.returncode == 1
    assert done.stderr.endswith("; the current folder is gone: change to another one\n"), done.stderr
    misused = shell(f"mkdir gone; cd gone; rmdir ../gone; T {typed} --odd", tmp_path)
    assert misused.returncode == 2 and "the current folder" not in misused.stderr


def test_no_home_at_all(folder: Path) -> None:
    done = shell("unset HOME XDG_CACHE_HOME TTT_BATCH_CACHE_DIR; T learners td", folder)
    assert (done.returncode, done.stderr) == (0, "") and done.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "value", "remedy"),
    [
        ("NUMBA_NUM_THREADS", "0", "give a whole number from 1 on, or unset it"),
        ("NUMBA_NUM_THREADS", "abc", "give a whole number from 1 on, or unset it"),
        ("NUMBA_OPT", "9", "give 0, 1, 2, 3 or max, or unset it"),
        ("NUMBA_DISABLE_JIT", "abc", "give a whole number, or unset it"),
        ("NUMBA_CPU_NAME", "z80", "give a name that LLVM knows, e.g. generic, or unset it"),
        ("NUMBA_CPU_FEATURES", "fast", "give names that LLVM knows, each with + or -, e.g. +avx2, or unset it"),
    ],
)
def test_a_variable_that_the_compiler_cannot_use_costs_one_line(
    name: str, value: str, remedy: str, folder: Path
) -> None:
    done = shell("T show run.h5", folder, **{name: value})
    line = f"ttt-batch: the environment variable {name} is '{value}', which Numba cannot use; {remedy}\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", line)


def python(code: str, folder: Path, **environment: str) -> list[str]:
    """Return the output of a program that runs without an error or a warning."""
    words, around = [sys.executable, "-W", "error", "-c", code], os.environ | environment
    done = finished(words, cwd=folder, env=around, timeout=300)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


MENDED = """
import os
import ttt_batch as ttt
try:
    ttt.learners
except ttt.UsageError as error:
    print(error)
del os.environ["NUMBA_OPT"]
print(ttt.load("run.h5").games)
"""


@pytest.mark.slow
def test_python_may_mend_the_variable_and_go_on(folder: Path) -> None:
    refused, games = python(MENDED, folder, NUMBA_OPT="9")
    assert "NUMBA_OPT is '9'" in refused and games == "20000"


BACKEND = """
import os
import ttt_batch as ttt
ttt.load("run.h5").plot()
import matplotlib
print(os.environ["MPLBACKEND"], matplotlib.rcParams._get("backend"))
"""


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("matplotlib") is None, reason="needs matplotlib")
@pytest.mark.parametrize("backend", ["no-such-backend", "module://matplotlib_inline.backend_inline", "tkagg"])
def test_pictures_need_no_backend(backend: str, folder: Path) -> None:
    """Jupyter and Colab name one that is not installed everywhere."""
    done = shell("T plot run.h5 --out run.svg --overwrite", folder, MPLBACKEND=backend)
    assert (done.returncode, done.stdout, done.stderr) == (0, "wrote run.svg\n", "")


@pytest.mark.skipif(importlib.util.find_spec("matplotlib") is None, reason="needs matplotlib")
@pytest.mark.slow  # a process that imports pyplot
def test_a_backend_that_is_known_still_holds_for_pyplot(folder: Path) -> None:
    assert python(BACKEND, folder, MPLBACKEND="tkagg") == ["tkagg tkagg"]


HELD = """
import os, sys
from ttt_batch.compiler import settings
from ttt_batch.core import resources
from ttt_batch.__main__ import run
def stop():
    os.write(1, str(resources._held() // 1024).encode())
    os._exit(0)
settings.on_compile(stop)
run(sys.argv[1:])
"""
"""A command that ends when it would compile, and says how many kilobytes of addresses it has then."""

TRAIN = "train --games 1000 --out little.h5"


@pytest.fixture
def no_kernels(tmp_path: Path) -> dict[str, str]:
    """An environment without compiled kernels, in a locale that takes no memory: an archive of all takes 220 MB."""
    return {"TTT_BATCH_CACHE_DIR": str(tmp_path / "none"), "LC_ALL": "C", "OPENBLAS_NUM_THREADS": "1"}


@pytest.fixture
def held(no_kernels: dict[str, str], folder: Path) -> int:
    """Kilobytes of addresses that training has before it compiles; libraries' sizes differ between machines."""
    return int(shell(f"{sys.executable} -c '{HELD}' {TRAIN}", folder, **no_kernels).stdout)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="other systems hold no process to ulimit -v")
@pytest.mark.parametrize(
    ("more", "said"),
    [
        (
            -100_000,
            r"\d+ MB are allowed \(ulimit -v\); allow 500 MB at least, or 350 MB if all kernels are compiled",
        ),
        (80_000, r"compiling kernels needs 160 MB beside \d+ MB in use, and \d+ MB are allowed .*; allow \d+ MB at"),
    ],
    ids=["to start", "to compile"],
)
def test_too_little_memory_costs_one_line(
    more: int, said: str, held: int, no_kernels: dict[str, str], folder: Path
) -> None:
    """LLVM would abort the process."""
    done = shell(f"ulimit -v {held + more}; T {TRAIN}", folder, **no_kernels)
    assert (done.returncode, done.stdout) == (1, "")
    assert re.fullmatch(rf"ttt-batch: not enough memory: {said}.*\n", done.stderr), done.stderr
    assert not (folder / "little.h5").exists()


def test_room_is_what_the_system_would_give(monkeypatch: pytest.MonkeyPatch) -> None:
    assert resources.can_allocate(1 << 20) and not resources.can_allocate(1 << 62)
    resources.check_memory(1 << 20, "this")
    monkeypatch.setattr(resources, "address_limit", lambda: None)
    with pytest.raises(TttBatchError, match=r"not enough memory: this needs 4,611,686,018,427 MB .*; free some"):
        resources.check_memory(1 << 62, "this")


DISPOSITIONS = "import signal; print(*(signal.getsignal(n) == signal.SIG_IGN for n in (signal.SIGINT, signal.SIGHUP)))"


def test_tests_may_run_where_signals_are_ignored() -> None:
    """Programs that they start heed them nevertheless: `nohup pytest &`."""
    numbers = (signal.SIGINT, signal.SIGHUP)
    before = {number: signal.signal(number, signal.SIG_IGN) for number in numbers}
    try:
        heed_signals(cast(pytest.Config, object()))
        for number in numbers:
            signal.raise_signal(number)  # as little as before
        words = [sys.executable, "-S", "-c", DISPOSITIONS]
        assert subprocess.run(words, capture_output=True, text=True, check=True).stdout == "False False\n"
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
