"""How many processors this process may use: the machine's, less what affinity and containers take away.

A container's share is a quota of processor time per period, which the system's count of processors does not
show: with half of a processor's time on a machine of 64, more than one thread only waits for its turn.
Linux tells it in files, in one of two layouts: version 2 of control groups has `cpu.max` ("200000 100000", or
"max 100000" for no limit), version 1 has `cpu.cfs_quota_us` (-1 for no limit) beside `cpu.cfs_period_us`.  The
process's own group and all groups above it limit it.
"""

import os
import platform
import threading
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from ttt_batch.base.address_space import has_room

PROC = Path("/proc/self")
GROUPS = Path("/sys/fs/cgroup")
THREAD_ROOM = 200_000_000
"""Bytes that must be free to start a thread: its stack, what the C library reserves for it, and some to work with."""


def available_threads() -> int:
    """Threads that can run at the same time in this process; at least 1."""
    return max(1, int(min(allowed_processors(), group_limit())))


def startable_threads(wanted: int) -> int:
    """How many more threads the system starts, up to `wanted` (`ulimit -u` and `-v`): found out by starting them.

    A thread that begins with too little memory ends the process.
    """
    over, started = threading.Event(), list[threading.Thread]()
    try:
        while len(started) < wanted and has_room(THREAD_ROOM):
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
    """Processors that the process may be scheduled on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def processor_name() -> str:
    """What the machine's processor is called."""
    lines = _read(Path("/proc/cpuinfo")).splitlines()
    told = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(told, platform.processor() or platform.machine())


def group_limit(proc: Path = PROC, groups: Path = GROUPS) -> float:
    """Processors that the limits of the process's control groups leave, rounded up; infinite where none is set.

    proc: the process's folder in /proc.  groups: where control groups are mounted.  Never fails: what is missing or
    cannot be read sets no limit.
    """
    limits = [limit for folder in _folders(proc, groups) for limit in (_limit_v2(folder), _limit_v1(folder))]
    return min(limits, default=float("inf"))


def _folders(proc: Path, groups: Path) -> Iterator[Path]:
    """The folders of the process's groups and of all above them, in both layouts.

    A line of `proc/cgroup` reads "0::/path" in version 2 and "4:cpu,cpuacct:/path" in version 1, whose controllers
    are mounted side by side.  Seen from within a container the path may name folders that are not there, and the
    limits then stand in the mount itself; so the walk up always ends there.
    """
    for line in _read(proc / "cgroup").splitlines():
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if controllers == "":
            mounts = [groups, groups / "unified"]
        elif "cpu" in controllers.split(","):
            mounts = [groups / controllers, groups / "cpu"]
        else:
            continue
        below = PurePosixPath(path.lstrip("/"))
        if ".." in below.parts:  # a group outside of what this process may see
            below = PurePosixPath()
        for mount in mounts:
            for part in (below, *below.parents):
                yield mount / part
    yield groups


def _limit_v2(folder: Path) -> float:
    quota, _, period = _read(folder / "cpu.max").strip().partition(" ")
    return _processors(quota, period)


def _limit_v1(folder: Path) -> float:
    return _processors(_read(folder / "cpu.cfs_quota_us"), _read(folder / "cpu.cfs_period_us"))


def _processors(quota: str, period: str) -> float:
    """Quota by period, both in microseconds, rounded up; infinite for no limit and for what is no number."""
    try:
        numbers = int(quota), int(period)
    except ValueError:
        return float("inf")
    if min(numbers) <= 0:
        return float("inf")
    return -(-numbers[0] // numbers[1])


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii", errors="replace")
    except (OSError, ValueError):
        return ""
