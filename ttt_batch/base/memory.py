"""How much memory there is, and how people write a number of bytes."""

import re
from pathlib import Path

from ttt_batch.base.errors import UsageError, option, quoted
from ttt_batch.base.quantities import Number, exact_number

MEMINFO = Path("/proc/meminfo")
UNKNOWN = 2 * 10**9
"""Bytes taken for free if the system does not say."""


def free_memory() -> int:
    """Bytes that are free or can be made so."""
    try:
        found = re.search(r"MemAvailable:\s+(\d+) kB", MEMINFO.read_text())
    except OSError:
        found = None
    return int(found[1]) * 1024 if found else UNKNOWN


def parse_memory(given: Number | None) -> int:
    """Read a number of bytes such as `2GB`, `1,000MB` or `1e9`; None is half of what is free.  Raises UsageError."""
    if given is None:
        return free_memory() // 2
    number = exact_number(re.sub(r"(?<=[\dkmgt.\s])i?b\s*$", "", str(given), flags=re.IGNORECASE))
    if number is None or not 1 <= number < 10**27:
        raise UsageError(
            f"{option('max_memory')} {quoted(given)} is not a number of bytes; give one, such as 2GB or 500MB"
        )
    return int(number)
