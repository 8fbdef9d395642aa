"""Messages while kernels are compiled: how many are, of how many.  How long it takes is not known beforehand."""

import math
import time

COMPILING, COMPILING_ALL = "compiling kernels (once)", "compiling all kernels (once)"

FIRST_LINE = 8
"""Kernels until the first line about them off a terminal, if it is not known how many there will be."""


class CompiledKernels:
    """How many kernels are compiled, of how many if that is known.

    since: when the first one was begun, by `time.perf_counter`; None before.
    """

    def __init__(self) -> None:
        self.since: float | None = None
        self._done, self._needed, self._next_line, self._ended = 0, 0, 0, False

    def begin(self, needed: int) -> None:
        """The first one is being compiled, of `needed`; 0 if that is not known."""
        self.since, self._needed = time.perf_counter(), needed
        self._next_line = math.ceil(needed / 4) if needed else FIRST_LINE

    def count(self) -> bool:
        """One more is compiled; whether it is time for a line: after each quarter, or each doubling."""
        self._done += 1
        if 0 < self._needed < self._done:  # another version of the compiler needs more
            self._needed, self._next_line = 0, 2 * self._done
        due = self._done == self._next_line and not self._ended
        if due:
            self._next_line += math.ceil(self._needed / 4) or self._done
        return due and self._done != self._needed

    def text(self) -> str:
        """What is done and needed, on a line."""
        if self._needed:
            return f"{COMPILING}: {self._done} of {self._needed}"
        return f"{COMPILING}: {self._done} done" if self._done else COMPILING

    def end(self) -> str:
        """The last line, once; empty if nothing was compiled."""
        if self.since is None or self._ended:
            return ""
        self._ended = True
        return f"{COMPILING}: {self._done} done in {time.perf_counter() - self.since:.0f} s"
