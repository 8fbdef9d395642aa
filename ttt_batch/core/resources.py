"""Memory and processors that this process may use, and the start of other processes.

LLVM aborts the whole process if it runs out of memory.  So `check_memory` first allocates the memory and frees it.

Affinity and containers limit the processors.  A container has a quota of processor time per period, which the system's
count of processors does not include.  Linux shows the quota in files: version 2 of control groups in `cpu.max` ("200000
100000", or "max 100000" for no limit), version 1 in `cpu.cfs_quota_us` (-1 for no limit) and `cpu.cfs_period_us`.
The limits of the process's own group and of all groups above it apply.
"""

import math
import mmap
import os
import platform
import re
import threading
from pathlib import Path, PurePosixPath
from types import ModuleType

from ttt_batch.core.errors import TttBatchError, UsageError, flag, quoted
from ttt_batch.core.text import Number, exact_number, parse_int

resource: ModuleType | None
try:
    import resource
except ImportError:  # Windows
    resource = None

PAGES = Path("/proc/self/statm")
MEMINFO = Path("/proc/meminfo")
UNKNOWN = 2 * 10**9
"""Bytes assumed to be free if the system does not say."""


def free_memory() -> int:
    """Return the number of bytes that are free or can be reclaimed."""
    found = re.search(r"MemAvailable:\s+(\d+) kB", _read(MEMINFO))
    return int(found[1]) * 1024 if found else UNKNOWN


def parse_memory(given: Number | None) -> int:
    """Parse bytes such as `2GB`, `1,000MB` or `1e9`; None means half of the free memory.  Raises UsageError."""
    if given is None:
        return free_memory() // 2
    text = " ".join(str(given).split())
    number = exact_number(re.sub(r"(?<=[\dkmgt. ])(ib?|b)$", "", text, flags=re.IGNORECASE))
    if number is None or not 1 <= number < 10**27:
        raise UsageError(
            f"{flag('max_memory')} {quoted(given)} is not a number of bytes; give one, such as 2GB or 500MB"
        )
    return int(number)


def address_limit() -> int | None:
    """Return the limit of this process's address space in bytes (`ulimit -v`), or None without a limit."""
    if resource is None:
        return None
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    return None if soft == resource.RLIM_INFINITY else soft


def can_allocate(size: int) -> bool:
    """Return whether the system can allocate `size` more bytes."""
    try:
        if hasattr(mmap, "MAP_PRIVATE"):  # shared memory would escape some limits
            mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS).close()
        else:
            mmap.mmap(-1, size).close()
    except (OSError, MemoryError):
        return False
    return True


def check_memory(size: int, work: str) -> None:
    """Raise TttBatchError unless the system can allocate `size` more bytes, which `work` needs."""
    if can_allocate(size):
        return
    limit, held = address_limit(), _held()
    allowed = "" if limit is None else f", and {limit / 1e6:,.0f} MB are allowed (ulimit -v)"
    remedy = "free some" if limit is None else "allow more"
    if limit is not None and held:
        remedy = f"allow {math.ceil((held + size) / 1e6) + 1:,} MB at least"
    raise TttBatchError(
        f"not enough memory: {work} needs {size / 1e6:,.0f} MB beside {held / 1e6:,.0f} MB in use{allowed}; {remedy}"
    )


def _held() -> int:
    """Return the bytes of address space in use, or 0 if the system does not say."""
    found = re.match(r"\d+", _read(PAGES))
    return int(found[0]) * mmap.PAGESIZE if found else 0


PROC = Path("/proc/self")
GROUPS = Path("/sys/fs/cgroup")
THREAD_ROOM = 200_000_000
"""Bytes that must be free to start a thread: its stack, the C library's reserve for it, and working memory."""


def available_threads() -> int:
    """Return the number of threads that can run at the same time in this process, at least 1."""
    return max(1, int(min(allowed_processors(), group_limit())))


def thread_count(given: Number | None, name: str = "threads") -> int:
    """Return the number of threads given, 1 to 1024, or `available_threads` for None.  Raises UsageError."""
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

    A line of `proc/cgroup` is "0::/path" in version 2 and "4:cpu,cpuacct:/path" in version 1, which mounts controllers
    side by side.  Within a container the path may name folders that do not exist.  The limits are then in the mount
    itself.
    """
    folders = {groups}
    for line in _read(proc / "cgroup").splitlines():
        controllers, _, path = line.partition(":")[2].partition(":")
        if controllers and "cpu" not in controllers.split(","):
            continue
        below = PurePosixPath(path.lstrip("/"))
        if ".." in below.parts:  # a group that this process cannot see
            below = PurePosixPath()
        for mount in (groups / controllers, groups / ("cpu" if controllers else "unified")):
            folders |= {mount / part for part in (below, *below.parents)}
    limits = []
    for folder in folders:
        version_1 = f"{_read(folder / 'cpu.cfs_quota_us')} {_read(folder / 'cpu.cfs_period_us')}"
        for text in (_read(folder / "cpu.max"), version_1):  # quota and period, in microseconds
            found = re.fullmatch(r"\s*\+?(\d+)\s+\+?(\d+)\s*", text, re.ASCII)
            if found and int(found[1]) and int(found[2]):
                limits.append(-(-int(found[1]) // int(found[2])))
    return min(limits, default=float("inf"))


def _read(path: Path) -> str:
    """Return the content of a system's file, or an empty text if it cannot be read."""
    try:
        return path.read_text(encoding="ascii", errors="replace")
    except (OSError, ValueError):
        return ""


def module_environment() -> dict[str, str]:
    """Return the environment of a child process that imports this package, and nothing from the current folder."""
    path = [str(Path(__file__).parents[2]), *filter(None, [os.environ.get("PYTHONPATH")])]
    return os.environ | {"PYTHONPATH": os.pathsep.join(path), "PYTHONSAFEPATH": "1"}
