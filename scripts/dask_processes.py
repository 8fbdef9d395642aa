"""A Dask scheduler and its workers as processes of this machine, for `killed_cluster.py` and the tests."""

import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Self

import psutil

LOOPBACK = "127.0.0.1"


class Processes:
    """`dask scheduler` and `dask worker` on the loopback, inside a `with` block.

    folder: for what they write: `output` and Dask's own files.  environment: what the scheduler has beside this
    process's.
    scheduler: its process.  workers: those of `dask worker`; each has a child that works, unless it has no nanny.
    """

    def __init__(self, folder: Path, workers: int = 0, environment: Mapping[str, str] | None = None) -> None:
        folder.mkdir(exist_ok=True)
        self._folder, self._environment = folder, environment
        self._port = free_port()
        self.address = f"tcp://{LOOPBACK}:{self._port}"
        self.workers: list[subprocess.Popen[bytes]] = []
        self.start_scheduler()
        for _ in range(workers):
            self.start_worker()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for process in (*self.workers, self.scheduler):
            kill_all(process)

    def start_scheduler(self) -> None:
        """Start one; return once it listens."""
        self.scheduler = self._start("scheduler", ["--host", LOOPBACK, "--port", str(self._port)], self._environment)
        wait_until(lambda: listens(self._port) or self.scheduler.poll() is not None, 300)
        assert self.scheduler.poll() is None, self.output()

    def start_worker(self, *options: str, environment: Mapping[str, str] | None = None) -> subprocess.Popen[bytes]:
        """Start one more, which joins a second or two later.  environment: what it has beside this process's."""
        words = [self.address, "--nthreads", "1", "--local-directory", str(self._folder), *options]
        self.workers.append(self._start("worker", words, environment))
        return self.workers[-1]

    def mend(self, workers: int) -> None:
        """Start again what has ended, as a service manager does."""
        for worker in [worker for worker in self.workers if worker.poll() is not None]:
            kill_all(worker)
            self.workers.remove(worker)
        if self.scheduler.poll() is not None:
            self.start_scheduler()
        while len(self.workers) < workers:
            self.start_worker()

    def output(self) -> str:
        """Return their output."""
        return (self._folder / "output").read_text(errors="replace")

    def _start(
        self, what: str, words: Sequence[str], environment: Mapping[str, str] | None = None
    ) -> subprocess.Popen[bytes]:
        with (self._folder / "output").open("ab") as output:
            return subprocess.Popen(
                [sys.executable, "-m", f"distributed.cli.dask_{what}", "--no-dashboard", *words],
                cwd=self._folder,
                env={**os.environ, **(environment or {})},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )


def kill_all(process: subprocess.Popen[bytes]) -> None:
    """Kill a process with all that it started, as when its machine is lost."""
    for one in [*descendants(process.pid), process]:
        with suppress(psutil.NoSuchProcess, ProcessLookupError):
            os.kill(one.pid, signal.SIGKILL)
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)  # children of one that has ended before
    process.wait()


def descendants(number: int) -> list[psutil.Process]:
    """The processes that a process started, and those that they did."""
    with suppress(psutil.NoSuchProcess):
        return psutil.Process(number).children(recursive=True)
    return []


def working(number: int) -> list[psutil.Process]:
    """The workers proper below a process, which nannies start by multiprocessing."""
    found = []
    for process in descendants(number):
        with suppress(psutil.NoSuchProcess, psutil.AccessDenied):
            if any("spawn_main" in word for word in process.cmdline()):
                found.append(process)
    return found


def runs(process: psutil.Process) -> bool:
    """Return whether a process has not ended; one that only waits to be noticed has."""
    with suppress(psutil.NoSuchProcess):
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    return False


def free_port() -> int:
    """A port on which nobody listens, and which no outgoing connection is given while a scheduler starts.

    Linux gives those ports from 32768 on.
    """
    while True:
        port = random.randrange(10_000, 32_768)
        with socket.socket() as one, suppress(OSError):
            one.bind((LOOPBACK, port))
            return port


def listens(port: int) -> bool:
    """Return whether somebody listens on a port."""
    with suppress(OSError), socket.create_connection((LOOPBACK, port), timeout=1):
        return True
    return False


def wait_until(holds: Callable[[], object], seconds: float) -> bool:
    """Wait until a function returns something true, or so many seconds have passed; return whether it did."""
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True
