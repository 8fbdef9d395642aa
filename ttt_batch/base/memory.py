"""How much memory there is, and how people write a number of bytes."""

import re
from pathlib import Path

from ttt_batch.base.errors import UsageError, option, quoted

UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
MEMINFO = Path("/proc/meminfo")
UNKNOWN = 2 * 10**9
"""Bytes taken for free where the system does not say."""


def free_memory() -> int:
    """Bytes that are free or can be made so."""
    try:
        found = re.search(r"MemAvailable:\s+(\d+) kB", MEMINFO.read_text())
    except OSError:
        found = None
    return int(found[1]) * 1024 if found else UNKNOWN


def parse_memory(text: str | None) -> int:
    """Read a number of bytes such as `2GB` or `500MB`; half of what is free for None.  Raises UsageError."""
    if text is None:
        return free_memory() // 2
    found = re.fullmatch(r"\s*(\d{1,15}(?:\.\d{1,3})?)\s*([kmgt]?)i?b?\s*", text, re.IGNORECASE)
    if found is None or not float(found[1]) > 0:
        raise UsageError(
            f"{option('max_memory')} {quoted(text)} is not a number of bytes; give one, such as 2GB or 500MB"
        )
    return int(float(found[1]) * UNITS[found[2].lower()])
