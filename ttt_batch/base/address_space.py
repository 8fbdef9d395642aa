"""Memory that the system still gives this process: `ulimit -v` and the like end there.

LLVM aborts the whole process where it gets none.  So its caller looks first, by asking the system for
that much and giving it back.
"""

import math
import mmap
from pathlib import Path
from types import ModuleType

from ttt_batch.base.errors import TttBatchError

resource: ModuleType | None
try:
    import resource
except ImportError:  # Windows
    resource = None

PAGES = Path("/proc/self/statm")


def address_limit() -> int | None:
    """Bytes of address space that this process may have (`ulimit -v`); None without a limit."""
    if resource is None:
        return None
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    return None if soft == resource.RLIM_INFINITY else soft


def has_room(size: int) -> bool:
    """Whether the system would give `size` bytes more."""
    try:
        if hasattr(mmap, "MAP_PRIVATE"):  # shared memory would escape some limits
            mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS).close()
        else:
            mmap.mmap(-1, size).close()
    except (OSError, MemoryError):
        return False
    return True


def check_room(size: int, work: str) -> None:
    """Raise TttBatchError where the system would not give `size` bytes more, which `work` needs."""
    if has_room(size):
        return
    limit, held = address_limit(), _held()
    allowed = "" if limit is None else f", and {limit / 1e6:,.0f} MB are allowed (ulimit -v)"
    at_least = "free some" if limit is None else "allow more"
    if limit is not None and held:
        at_least = f"allow {math.ceil((held + size) / 1e6) + 1:,} MB at least"
    raise TttBatchError(
        f"not enough memory: {work} needs {size / 1e6:,.0f} MB beside {held / 1e6:,.0f} MB in use{allowed}; {at_least}"
    )


def _held() -> int:
    """Bytes of address space that this process has; 0 where the system does not say."""
    try:
        return int(PAGES.read_text().split()[0]) * mmap.PAGESIZE
    except (OSError, ValueError):
        return 0
