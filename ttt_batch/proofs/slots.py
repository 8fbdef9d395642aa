"""The memory of the positions that a search has reached: it grows within a limit, and says when it is full."""

import numpy as np
from numpy.typing import NDArray

from ttt_batch.proofs.positions import Positions, move_over, words_of

FEWEST_SLOTS, MOST_SLOTS = 1 << 12, (1 << 32) - 1
GROWTH = 4
"""How many times as many slots there are after a growth: to move the keys takes a third of the time to find them."""

FILLED, CROWDED = 0.5, 0.85
"""Shares of the slots in use at which they grow, and beyond which they are full if they cannot."""


class Slots:
    """The slots of the positions reached, which grow within a limit of memory."""

    def __init__(self, positions: Positions, kept: NDArray[np.uint64], limit: int, needed: int) -> None:
        """kept: memory of an earlier proof.  limit: bytes.  needed: keys that the earlier proof kept."""
        self._bytes, self._limit = 8 * words_of(positions), limit
        self.array = kept
        self._words = words_of(positions)
        wanted = min(max(FEWEST_SLOTS, int(1.25 * needed / FILLED)), self._most())
        if kept.size < wanted * self._words:
            self.array = kept = np.empty(wanted * self._words, np.uint64)
        self._view(positions, kept[: wanted * self._words])

    def _view(self, positions: Positions, slots: NDArray[np.uint64]) -> None:
        slots[:] = 0  # not np.zeros: NumPy asks for huge pages only without it
        self.positions = positions._replace(slots=slots)

    def _most(self, beside: int = 0) -> int:
        """Slots that there may be, `beside` so many others."""
        return max(1, min((self._limit // self._bytes) - beside, MOST_SLOTS))

    @property
    def _number(self) -> int:
        return int(self.positions.slots.size) // self._words

    def _next(self) -> int:
        """How many slots there will be after growing, or 0 if that does not pay any more."""
        number = min(GROWTH * self._number, self._most(self._number))
        return number if number > self._number * 5 // 4 else 0

    @property
    def room(self) -> int:
        """Keys that there is room for."""
        return int(self._number * (FILLED if self._next() else CROWDED))

    def grow(self) -> bool:
        """Make more slots; False if memory is full."""
        number = self._next()
        if not number:
            return False
        old = self.positions.slots
        self.array = np.empty(number * self._words, np.uint64)
        self._view(self.positions, self.array)
        move_over(self.positions, old, self._words)
        return True
