"""Memory for the positions that a search has reached, which grows up to a limit."""

import numpy as np
from numpy.typing import NDArray

from ttt_batch.proofs.positions import Positions, move_over, words_a_key

FEWEST_SLOTS, MOST_SLOTS = 1 << 12, (1 << 32) - 1
GROWTH = 4
"""Growth factor of the slots.  Moving the keys takes a third of the time of finding them."""

FILLED, CROWDED = 0.5, 0.85
"""Load factors at which the slots grow, and at which they are full if they cannot grow."""


class Slots:
    """Slots of the positions reached, which grow up to a memory limit."""

    def __init__(self, positions: Positions, kept: NDArray[np.uint64], limit: int, needed: int) -> None:
        """Reuse the memory `kept` of an earlier proof, or allocate more for its `needed` keys, up to `limit` bytes."""
        self._bytes, self._limit = 8 * words_a_key(positions), limit
        self.array = kept
        self._words = words_a_key(positions)
        wanted = min(max(FEWEST_SLOTS, int(1.25 * needed / FILLED)), self._most())
        if kept.size < wanted * self._words:
            self.array = kept = np.empty(wanted * self._words, np.uint64)
        self._view(positions, kept[: wanted * self._words])

    def _view(self, positions: Positions, slots: NDArray[np.uint64]) -> None:
        slots[:] = 0  # not np.zeros, for which NumPy does not request huge pages
        self.positions = positions._replace(slots=slots)

    def _most(self, beside: int = 0) -> int:
        """Return the maximum of slots if `beside` other slots stay allocated."""
        return max(1, min((self._limit // self._bytes) - beside, MOST_SLOTS))

    @property
    def _number(self) -> int:
        return int(self.positions.slots.size) // self._words

    def _next(self) -> int:
        """Return the number of slots after growing, or 0 if growing does not pay any more."""
        number = min(GROWTH * self._number, self._most(self._number))
        return number if number > self._number * 5 // 4 else 0

    @property
    def room(self) -> int:
        """Return the number of keys that fit before the next growth."""
        return int(self._number * (FILLED if self._next() else CROWDED))

    def grow(self) -> bool:
        """Add slots; return False if memory is full."""
        number = self._next()
        if not number:
            return False
        old = self.positions.slots
        self.array = np.empty(number * self._words, np.uint64)
        self._view(self.positions, self.array)
        move_over(self.positions, old, self._words)
        return True
