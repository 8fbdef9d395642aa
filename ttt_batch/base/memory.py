"""Free memory, memory limits, and parsing of memory sizes.

LLVM aborts the whole process if it runs out of memory.  So `check_memory` first allocates the memory and frees it.
"""

import math
import mmap
import re
from pathlib import Path
from types import ModuleType

from ttt_batch.base.errors import TttBatchError, UsageError, flag, quoted
from ttt_batch.base.quantities import Number, exact_number

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
    try:
        found = re.search(r"MemAvailable:\s+(\d+) kB", MEMINFO.read_text())
    except OSError:
        found = None
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
    try:
        return int(PAGES.read_text().split()[0]) * mmap.PAGESIZE
    except (OSError, ValueError):
        return 0
