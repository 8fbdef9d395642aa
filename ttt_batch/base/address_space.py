"""Memory that the system still gives this process: `ulimit -v` and the like end there.

LLVM aborts the whole process if it gets none.  So its caller looks first: it asks the system for that much and gives
it back.
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
        mmap.mmap(-1, size, access=mmap.ACCESS_COPY).close()  # private: shared memory would escape some limits
    except (OSError, MemoryError):
        return False
    return True


def check_room(size: int, work: str) -> None:
    """Raise TttBatchError unless the system would give `size` bytes more, which `work` needs."""
    if has_room(size):
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
    """Bytes of address space that this process has; 0 if the system does not say."""
    try:
        return int(PAGES.read_text().split()[0]) * mmap.PAGESIZE
    except (OSError, ValueError):
        return 0
