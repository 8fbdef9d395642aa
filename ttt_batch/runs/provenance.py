"""Where a run comes from: when, for how long, and with what.  Nothing here changes a result."""

import platform
import time

import numba
import numpy as np

from ttt_batch.base.processors import processor_name
from ttt_batch.base.version import VERSION

TIME = "%Y-%m-%dT%H:%M:%SZ"

Provenance = dict[str, str | int | float]


class Clock:
    """When a run was made, how long it took, and with what.

    before: seconds that it had taken when it was interrupted.
    """

    def __init__(self, before: float = 0.0) -> None:
        self._created = time.strftime(TIME, time.gmtime())
        self._started = time.perf_counter() - before

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self._started

    def provenance(self, command: str) -> Provenance:
        """Start, end, duration, command, processor, and the versions of what the result depends on."""
        return {
            "created": self._created,
            "ended": time.strftime(TIME, time.gmtime()),
            "command": command,
            "seconds": self.seconds,
            "processor": processor_name(),
            "ttt_batch_version": VERSION,
            "python_version": platform.python_version(),
            "numpy_version": np.__version__,
            "numba_version": numba.__version__,
        }


def continued(past: Provenance, now: Provenance, noted: str) -> Provenance:
    """The provenance of a run that goes on: it was created when, and by the command with which, it began.

    past: empty if it begins now.  noted: the key for the command by which it goes on.
    """
    if not past:
        return now
    return past | now | {key: past[key] for key in ("created", "command") if key in past} | {noted: now["command"]}
