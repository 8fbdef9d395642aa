"""`kill -9` of workers, of schedulers and of `ttt-batch study` at random moments, for `soak.py` and the tests.

A study learns on a cluster: on a scheduler and two workers that are processes of their own and are started again when
they end, or on two workers of the command's own (`--workers 2`).  What is killed is a worker, a worker with the process
that would start it again, the scheduler, or the command, which then goes on with `--resume`.  After each kill the file
is valid, and no learner that was done is lost or learnt again.  In the end all arrays have the bytes of an undisturbed
study, learnt by threads, no process and no other file is left, and all that the command has said are lines of its own.
"""

import os
import random
import re
import signal
import subprocess
import tempfile
import time
from contextlib import ExitStack, suppress
from pathlib import Path

import psutil
from dask_processes import Processes, descendants, kill_all, runs, wait_until, working
from killed_studies import Killed

GAMES = "100k"
"""Of learners of some hundredths of a second."""

WORKERS = 2

MOMENTS = 1.0, 4.0, 8.0
"""Seconds until a kill, at most."""

ADDRESS = r"(?:tcp|tls)://[\d.:]+"

SOME = rf"(?:worker {ADDRESS} has|\d+ workers have)"

OWN = re.compile(
    r"ttt-batch: (?:"
    rf"\d+ workers? at {ADDRESS}; without TLS, whoever reaches its ports can run code there"
    rf"|there is no worker (?:at {ADDRESS}|on this machine) yet; waiting for workers"
    rf"|{SOME} (?:gone|joined)(?:, {SOME} joined)?; \d+ workers? now"
    r"|cannot start \d workers?: one ended, or did not answer, .*"
    rf"|the scheduler at {ADDRESS} is (?:gone; trying to reconnect|back)"
    rf"|no scheduler at {ADDRESS}: it does not answer; .*"
    rf"|no worker (?:at {ADDRESS}|on this machine) could work for a minute; .*"
    r"|\d+ learners? failed \(\d workers died while running it; .*\); try again: go on with .*"
    r")"
)
"""What the command may say."""


class KilledCluster(Killed):
    """A study whose cluster is killed again and again, in an empty folder.  lives: what was killed, and when.

    own: whether the cluster is the command's own.
    """

    def __init__(self, folder: Path, chance: random.Random, own: bool) -> None:
        self._stack = ExitStack()
        self._aside = Path(self._stack.enter_context(tempfile.TemporaryDirectory()))
        self._cluster = None if own else self._stack.enter_context(Processes(self._aside / "dask", WORKERS))
        who = ["--workers", str(WORKERS)] if own else ["--scheduler", self._cluster.address]  # type: ignore[union-attr]
        super().__init__(folder, chance, GAMES, who)
        self._errors, self._command = self._aside / "errors", None
        self._begun, self._started = 0, list[psutil.Process]()

    def kill(self) -> bool:
        """Kill one process.  Returns whether there was any before the study ended.

        Raises AssertionError if anything is lost, or said in other words.
        """
        command = self._running()
        victim, pids = self._victim(), list[int]()
        self._wait(command, self._chance.uniform(0.0, self._chance.choice(MOMENTS)))
        if command.poll() is None:
            self._started = descendants(command.pid)
            pids = self._pids(command, victim)
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if victim == "command" or command.poll() is not None:
            command.wait()
            self._ended(killed=victim == "command" and bool(pids))
        elif pids:
            time.sleep(self._chance.uniform(0.0, 2.0))
        self._begun += self._look()
        where = "its own" if self._cluster is None else "a separate"
        when = "while learners learnt" if self._begun else "before any had learnt"
        self.lives[f"{victim} of {where} cluster killed {when}" if pids else "ended before its kill"] += 1
        return bool(pids)

    def end(self) -> int:
        """Let the study end, and compare it with one that nothing disturbed.  Returns how many learners it has."""
        with self._stack:
            for _ in range(2):  # what was killed three times has failed, and is tried again
                assert self._wait(self._running(), 300), "it does not end"
                self._ended(killed=False)
            return super().end()

    def close(self) -> None:
        """End whatever runs."""
        if self._command is not None:
            kill_all(self._command)
        self._stack.close()

    def _running(self) -> subprocess.Popen[bytes]:
        """The command; it is started if it has ended."""
        if self._command is None:
            self._begun = 0
            with self._errors.open("wb") as errors:
                self._command = self._start(errors)
        return self._command

    def _wait(self, command: subprocess.Popen[bytes], seconds: float) -> bool:
        """Wait so long at most until the command has ended, and start again whatever else has; whether it did."""

        def ended() -> bool:
            if self._cluster is not None:
                self._cluster.mend(WORKERS)
            return command.poll() is not None

        return wait_until(ended, seconds)

    def _victim(self) -> str:
        victims = ["command", "worker", "worker"]
        if self._cluster is not None:
            victims += ["worker and nanny", "scheduler", "scheduler"]
        return self._chance.choice(victims)

    def _pids(self, command: subprocess.Popen[bytes], victim: str) -> list[int]:
        """Return the processes to kill."""
        if victim == "command":
            return [command.pid]
        if self._cluster is None:
            parents = [command.pid]
        elif victim == "scheduler":
            return [self._cluster.scheduler.pid]
        else:
            parents = [self._chance.choice(self._cluster.workers).pid]
        pids = [process.pid for parent in parents for process in working(parent)]
        return [*parents, *pids] if victim == "worker and nanny" else pids[:1] and [self._chance.choice(pids)]

    def _ended(self, killed: bool) -> None:
        """The command has ended: see how, and that nothing is left of it."""
        command, self._command = self._command, None
        assert command is not None
        assert wait_until(lambda: not any(map(runs, self._started)), 20), [one.cmdline() for one in self._started]
        said = self._errors.read_text(errors="replace").splitlines()
        foreign = [line for line in said if not OWN.fullmatch(line)]
        assert not foreign, foreign
        expected = {0, 1, -signal.SIGKILL} if killed else {0, 1}  # it may have ended by itself just before
        assert command.returncode in expected, (command.returncode, said)
        assert command.returncode != 1 or said, "a status of 1 has a reason"
        if command.returncode == 1:
            self.lives[f"status 1: {re.sub(ADDRESS, 'ADDRESS', said[-1].partition('; ')[0])}"] += 1
