"""Number of processors that this process may use, and the start of other processes.

Affinity and containers limit the processors.  A container has a quota of processor time per period, which the system's
count of processors does not include.  Linux shows the quota in files: version 2 of control groups in `cpu.max` ("200000
100000", or "max 100000" for no limit), version 1 in `cpu.cfs_quota_us` (-1 for no limit) and `cpu.cfs_period_us`.
The limits of the process's own group and of all groups above it apply.
"""

import os
import platform
import re
import sys
import threading
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from ttt_batch.base.memory import can_allocate
from ttt_batch.base.quantities import Number, parse_int

PROC = Path("/proc/self")
GROUPS = Path("/sys/fs/cgroup")
THREAD_ROOM = 200_000_000
"""Bytes that must be free to start a thread: its stack, the C library's reserve for it, and working memory."""


def available_threads() -> int:
    """Return the number of threads that can run at the same time in this process, at least 1."""
    return max(1, int(min(allowed_processors(), group_limit())))


def thread_count(given: Number | None, name: str = "threads") -> int:
    """Return a number of threads in 1 .. 1024, by default `available_threads`.  Raises UsageError for any other."""
    return available_threads() if given is None else parse_int(name, given, 1, 1024)


def startable_threads(wanted: int) -> int:
    """Return how many more threads the system can start, at most `wanted`, by starting them.

    `ulimit -u` and `-v` limit them.  The free memory is checked first: a thread without enough memory ends the process.
    """
    over, started = threading.Event(), list[threading.Thread]()
    try:
        while len(started) < wanted and can_allocate(THREAD_ROOM):
            thread = threading.Thread(target=over.wait, daemon=True)
            thread.start()
            started.append(thread)
    except RuntimeError:  # can't start new thread
        pass
    finally:
        over.set()
    for thread in started:
        thread.join()
    return len(started)


def allowed_processors() -> int:
    """Return the number of processors on which the system may run this process."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def processor_name() -> str:
    """Return the name of the machine's processor."""
    found = re.search(r"^model name[^:\n]*:(.*)", _read(Path("/proc/cpuinfo")), re.MULTILINE)
    return found[1].strip() if found else platform.processor() or platform.machine()


def group_limit(proc: Path = PROC, groups: Path = GROUPS) -> float:
    """Return the number of processors that control groups allow, rounded up; infinity without a limit.

    proc: the process's folder in /proc.  groups: the mount of control groups.  Missing and unreadable files set no
    limit.
    """
    limits = []
    for folder in _folders(proc, groups):
        version_1 = f"{_read(folder / 'cpu.cfs_quota_us')} {_read(folder / 'cpu.cfs_period_us')}"
        for text in (_read(folder / "cpu.max"), version_1):  # quota and period, in microseconds
            found = re.fullmatch(r"\s*\+?(\d+)\s+\+?(\d+)\s*", text, re.ASCII)
            if found and int(found[1]) and int(found[2]):
                limits.append(-(-int(found[1]) // int(found[2])))
    return min(limits, default=float("inf"))


def _folders(proc: Path, groups: Path) -> Iterator[Path]:
    """Yield the folders of the process's groups and of all groups above them, in both layouts.

    A line of `proc/cgroup` is "0::/path" in version 2 and "4:cpu,cpuacct:/path" in version 1, which mounts controllers
    side by side.  Within a container the path may name folders that do not exist.  The limits are then in the mount
    itself, so the last folder is always the mount.
    """
    for line in _read(proc / "cgroup").splitlines():
        controllers, _, path = line.partition(":")[2].partition(":")
        if controllers and "cpu" not in controllers.split(","):
            continue
        below = PurePosixPath(path.lstrip("/"))
        if ".." in below.parts:  # a group that this process cannot see
            below = PurePosixPath()
        for mount in (groups / controllers, groups / ("cpu" if controllers else "unified")):
            for part in (below, *below.parents):
                yield mount / part
    yield groups


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii", errors="replace")
    except (OSError, ValueError):
        return ""


def module_command(name: str, *words: str) -> list[str]:
    """Return the command that runs module `name` with this interpreter."""
    return [sys.executable, "-m", name, *words]


def module_environment() -> dict[str, str]:
    """Return this process's environment with the folder of this package first in PYTHONPATH."""
    path = [str(Path(__file__).parents[2]), *filter(None, [os.environ.get("PYTHONPATH")])]
    return os.environ | {"PYTHONPATH": os.pathsep.join(path)}
