"""Whatever fails, the command says so in a line, nothing that was learnt is lost, and `--resume` ends the study."""

import os
import random
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from dask_processes import Processes, descendants, runs, wait_until
from helpers.studyfiles import same_results

import ttt_batch as ttt
from ttt_batch.cluster import worker_pool
from ttt_batch.compiler.settings import ROOT
from ttt_batch.core.errors import ClusterError
from ttt_batch.studies.storage.layout import DONE, FAILED, MISSING

pytestmark = pytest.mark.slow  # clusters of processes that die

MEASURED = "provenance/reasons", "provenance/progress", "seconds"
LONG: dict[str, Any] = {"alpha": ["0.1", "0.2"], "games": 100_000, "batch": 1000, "seeds": 100}

DEADLY = """
import os

from ttt_batch.studies.work import Worker

plain = Worker.learn


def learn(self, setting, seeds):
    if setting.games == 3000 and os.path.exists(ALIVE):
        os._exit(1)
    return plain(self, setting, seeds)


Worker.learn = learn
"""

WAITING = """
import os
import time

from ttt_batch.studies import work

first, plain = True, getattr(work.learn_parts, "plain", work.learn_parts)  # Dask may load this twice


def learn_parts(*arguments):
    global first
    while not first and not os.path.exists(GONE):
        time.sleep(0.05)
    first = False
    return plain(*arguments)


learn_parts.plain = plain
work.learn_parts = learn_parts
"""


def waiting(folder: Path) -> Path:
    """A module for workers, whose second chunk waits for a file `gone` in the folder."""
    preload = folder / "waiting.py"
    preload.write_text(WAITING.replace("GONE", repr(str(folder / "gone"))))
    return preload


@pytest.mark.parametrize("own", [True, False])
def test_killed_at_random_moments(own: bool, tmp_path: Path, script: Callable[[str], Any]) -> None:
    """Five times: workers, the scheduler and the command."""
    killed, kills = script("killed_cluster").KilledCluster(tmp_path, random.Random(own), own), 5
    try:
        while kills:
            kills -= killed.kill()
        assert killed.end()
    finally:
        killed.close()


def test_what_kills_its_workers_has_failed(
    tmp_path: Path, told: list[str], by_threads: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three of them; all else is learnt, and tried again it may be, too."""
    asked = {"games": [2000, 3000, 4000], "batch": 1000, "seeds": 8}
    plain, deadly = by_threads(**asked), tmp_path / "deadly"
    deadly.touch()
    (tmp_path / "deadly_learner.py").write_text(DEADLY.replace("ALIVE", repr(str(deadly))))
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr("ttt_batch.studies.work.homes_of", lambda _: ("deadly_learner",))
    found = ttt.study(out=tmp_path / "s.h5", workers=2, warn=told.append, **asked)
    assert (found.state[1] == FAILED).all() and not (found.state == MISSING).any()
    assert (found.state == DONE).sum() >= 4, "but for what was in the same chunks"
    reasons = {reason for _, _, reason in found.failures()}
    assert reasons == {"3 workers died while running it; it may need more memory than they have"}
    found.close()
    wording = r".* (gone|joined); \d workers? now|there is no worker on this machine yet; waiting for workers"
    assert all(re.fullmatch(wording, line) for line in told), told
    deadly.unlink()
    found = ttt.study(resume=tmp_path / "s.h5", workers=2, warn=told.append)
    assert (found.state == DONE).all()
    found.close()
    assert same_results(tmp_path / "s.h5", plain, MEASURED)


def test_others_are_refused_by_name(tmp_path: Path, alone: Processes, by_threads: Any) -> None:
    """Workers with other sources, NumPy or Numba, or without the package, next to one that is as it should be."""
    other, without = tmp_path / "other", tmp_path / "without"
    shutil.copytree(ROOT, other / "ttt_batch", ignore=shutil.ignore_patterns("__pycache__"))
    with (other / "ttt_batch" / "errors.py").open("a") as source:
        source.write("\n")
    (without / "ttt_batch").mkdir(parents=True)
    (without / "ttt_batch" / "__init__.py").write_text("raise ModuleNotFoundError(\"No module named 'ttt_batch'\")")
    for folder in (other, without):
        alone.start_worker("--no-nanny", environment={"PYTHONPATH": str(folder)})
    for library in ("numpy", "numba"):
        preload = tmp_path / f"old_{library}.py"
        preload.write_text(f"import numba, numpy\n{library}.__version__ = '1.0'\n")
        alone.start_worker("--no-nanny", "--preload", str(preload))
    asked = {**LONG, "seeds": 300, "games": 20_000}
    refused: list[str] = []

    def warn(line: str) -> None:
        refused.extend([line.partition(" is refused: ")[2]] if " is refused: " in line else [])
        if len(refused) == 4 and not alone.workers[4:]:
            alone.start_worker("--no-nanny")

    ttt.study(out=tmp_path / "s.h5", scheduler=alone.address, warn=warn, **asked).close()
    own = re.escape(ttt.__version__)
    for line, wording in zip(
        sorted(refused),
        (
            r"it cannot load this ttt-batch: No module named 'ttt_batch'",
            r"it has numba 1\.0, and here it is [\d.]+",
            r"it has numpy 1\.0, and here it is [\d.]+",
            rf"it has ttt-batch {own} \(\w+\), and here it is {own} \(\w+\)",
        ),
        strict=True,
    ):
        assert re.fullmatch(f"{wording}; install the same version there", line), line
    assert same_results(tmp_path / "s.h5", by_threads(**asked), MEASURED)


def test_a_scheduler_without_the_package(tmp_path: Path) -> None:
    without = tmp_path / "without"
    (without / "ttt_batch").mkdir(parents=True)
    (without / "ttt_batch" / "__init__.py").write_text("raise ModuleNotFoundError(\"No module named 'ttt_batch'\")")
    wording = r"the scheduler at tcp://.* cannot load ttt-batch .*; install the same version there as here"
    with (
        Processes(tmp_path / "dask", environment={"PYTHONPATH": str(without)}) as dask,
        pytest.raises(ClusterError, match=wording),
    ):
        ttt.study(out=tmp_path / "s.h5", scheduler=dask.address, **LONG)
    assert not (tmp_path / "s.h5").exists()


def test_nobody_can_work(tmp_path: Path, alone: Processes, told: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """There is no worker; then the scheduler is gone, too."""
    monkeypatch.setattr(worker_pool, "PATIENCE", 1.0)
    monkeypatch.setattr("ttt_batch.cluster.worker_pool.PATIENCE", 1.0)
    with pytest.raises(ClusterError, match=r"no worker at tcp://.* could work for a minute$"):
        ttt.study(out=tmp_path / "s.h5", scheduler=alone.address, warn=told.append, **LONG)
    assert (ttt.load_study(tmp_path / "s.h5").state == MISSING).all()
    alone.start_worker("--no-nanny", "--preload", str(waiting(tmp_path)))
    monkeypatch.setattr(worker_pool, "PATIENCE", 300.0)

    def end(now: Any) -> None:
        if now.done:
            alone.scheduler.kill()
            monkeypatch.setattr(worker_pool, "PATIENCE", 5.0)

    with pytest.raises(ClusterError, match=r"the scheduler at tcp://.* has been gone for a minute"):
        ttt.study(resume=tmp_path / "s.h5", scheduler=alone.address, warn=told.append, progress=end)
    done = ttt.study(resume=tmp_path / "s.h5")
    assert (done.state == DONE).all() and f"the scheduler at {alone.address} is gone; trying to reconnect" in told


@pytest.mark.parametrize("seconds", [1.0, 12.0])
def test_a_scheduler_that_is_started_again(seconds: float, tmp_path: Path, told: list[str], by_threads: Any) -> None:
    """At once, or after Dask's own client has stopped to look for it."""
    asked, ended, preload = {**LONG, "seeds": 200}, threading.Event(), waiting(tmp_path)
    with Processes(tmp_path / "dask") as dask:
        for _ in range(2):  # their second chunk waits until the scheduler is gone
            dask.start_worker("--preload", str(preload))

        def restart() -> None:
            time.sleep(seconds)
            while not ended.wait(0.2):
                dask.mend(2)

        mending = threading.Thread(target=restart)

        def end(now: Any) -> None:
            if now.done and mending.ident is None:
                dask.scheduler.kill()
                dask.scheduler.wait()
                (tmp_path / "gone").touch()
                mending.start()

        try:
            ttt.study(out=tmp_path / "s.h5", scheduler=dask.address, warn=told.append, progress=end, **asked).close()
        finally:  # or processes would be started for ever
            ended.set()
            if mending.ident:
                mending.join()
    scheduler = f"the scheduler at {dask.address}"
    assert f"{scheduler} is gone; trying to reconnect" in told and f"{scheduler} is back" in told
    assert all(
        re.search(r" at tcp://\S+; without TLS.*$| now$| back$| to reconnect$| waiting for workers$", line)
        for line in told
    ), told
    assert same_results(tmp_path / "s.h5", by_threads(**asked), MEASURED)


def test_a_worker_that_is_stopped_for_a_while(
    tmp_path: Path, dask: Processes, told: list[str], by_threads: Any
) -> None:
    """Its chunk waits for it, and the others go on meanwhile."""
    stopped, asked, most = dask.workers[0], {**LONG, "seeds": 150}, [0]

    def stop(now: Any) -> None:
        if now.done and not most[0]:
            stopped.send_signal(signal.SIGSTOP)
            threading.Timer(15.0, lambda: stopped.send_signal(signal.SIGCONT)).start()
            most[0] = now.done
        most[0] = max(most[0], now.done)

    ttt.study(out=tmp_path / "s.h5", scheduler=dask.address, warn=told.append, progress=stop, **asked).close()
    assert same_results(tmp_path / "s.h5", by_threads(**asked), MEASURED)
    assert len(told) == 1, told


@pytest.mark.parametrize("limit", ["100MB", "150MB"])
def test_too_little_memory(
    limit: str, tmp_path: Path, alone: Processes, told: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker that needs more than it may have is paused or killed; either is said, and another one goes on."""
    monkeypatch.setattr(worker_pool, "PATIENCE", 10.0)
    monkeypatch.setattr(worker_pool, "EXAMINE_SECONDS", 1.0)
    alone.start_worker("--memory-limit", limit)
    try:
        found = ttt.study(out=tmp_path / "s.h5", scheduler=alone.address, warn=told.append, **{**LONG, "seeds": 20})
        assert (found.state == DONE).all() or "workers died while running it" in next(found.failures())[2]
        found.close()
    except ClusterError as error:
        text = str(error)
        assert "could work for a minute" in text and "\n" not in text
    monkeypatch.setattr(worker_pool, "PATIENCE", 300.0)  # a busy machine takes long to start a worker
    alone.start_worker("--no-nanny")
    found = ttt.study(resume=tmp_path / "s.h5", scheduler=alone.address, warn=told.append)
    assert (found.state == DONE).all()


@pytest.mark.parametrize(
    ("signals", "seconds"),
    [
        (["INT"], 0.0),
        (["INT"], 5.0),
        (["INT", "INT"], 0.7),
        (["INT", "INT"], 5.0),
        (["TERM"], 0.7),
        (["KILL"], 0.0),
        (["KILL"], 5.0),
    ],
)
def test_ended_by_signals(signals: list[str], seconds: float, tmp_path: Path, start: Any) -> None:
    """A terminal sends Ctrl-C to the workers, too."""
    here, aside = tmp_path / "here", tmp_path / "aside"
    here.mkdir()
    aside.mkdir()
    words = ["--games=100k", "--batch=1000", "--seeds=9000", "--out=s.h5", "--workers=2", "--quiet"]
    process = start(
        [sys.executable, "-m", "ttt_batch", "study", *words],
        cwd=here,
        env={**os.environ, "TMPDIR": str(aside)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert wait_until(lambda: descendants(process.pid), 300)
    time.sleep(seconds)
    started = descendants(process.pid)
    for name in signals:
        number = signal.Signals[f"SIG{name}"]
        if name == "INT":
            os.killpg(process.pid, number)
        else:
            process.send_signal(number)
        time.sleep(0.1)
    _, said = process.communicate(timeout=300)
    assert wait_until(lambda: not any(map(runs, started)), 60), [one.cmdline() for one in started if runs(one)]
    names = {entry.name for entry in here.iterdir()}
    if signals == ["KILL"]:
        assert (process.returncode, said) == (-signal.SIGKILL, "")
        # Killed while it writes the file, it leaves what was written so far, which the next run removes.
        parts = {name for name in names if re.fullmatch(r"\.s\.h5\.ttt-batch\.[0-9a-f]{12}\.tmp", name)}
        assert names - parts <= {"s.h5", ".s.h5.lock"} and len(parts) <= 1
    else:
        assert process.returncode == 130 and said.count("\n") == 1 and said.startswith("ttt-batch: interrupted"), said
        assert names <= {"s.h5"}
        left = [path for path in aside.rglob("*") if path.is_file() and path.suffix not in (".lock", ".dirlock")]
        # Python tries a folder by a file of eight characters; stopped in between, a starting worker leaves it.
        assert [path for path in left if not re.fullmatch("[a-z0-9_]{8}", path.name)] == []
    if "s.h5" in names:
        assert ttt.study(resume=here / "s.h5", stop=lambda: True).state.shape == (1, 9000)
        assert [entry.name for entry in here.glob(".*.tmp")] == []
