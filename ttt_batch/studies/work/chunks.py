"""What is left of a study, in chunks that take about as long as whoever does them wants."""

from collections.abc import Iterator
from typing import NamedTuple, Protocol

import numpy as np

from ttt_batch.studies.learning.learnt import Learnt
from ttt_batch.studies.storage.declared import DONE
from ttt_batch.studies.storage.writing import StudyWriter


class Part(NamedTuple):
    """Learners of one setting: its number, and those of their seeds."""

    setting: int
    seeds: list[int]


Chunk = list[Part]
"""What is given out at once: as many settings as fit."""


class Done(NamedTuple):
    """A chunk that was done: what became of each part, and the seconds that it took."""

    chunk: Chunk
    learnt: list[Learnt]
    seconds: float


class Hands(Protocol):
    """Whoever does chunks, inside a `with` block.

    chunk_seconds: what a chunk should take: long beside its hand-over, short enough to be stored often.
    slots: how many are done at the same time.  wanted: how many more should be begun now.  busy: whether any is begun.
    workers: how many processes of a cluster there are, None without one.
    """

    chunk_seconds: float

    @property
    def slots(self) -> int:
        """See above."""

    @property
    def wanted(self) -> int:
        """See above."""

    @property
    def busy(self) -> bool:
        """See above."""

    @property
    def workers(self) -> int | None:
        """See above."""

    def begin(self, chunk: Chunk) -> None:
        """Take a chunk."""

    def ended(self, seconds: float) -> list[Done]:
        """What was done meanwhile; waits up to so many seconds if there is nothing."""

    def stop(self) -> None:
        """End soon; what is done by then still comes."""


class Chunks:
    """The learners that a study lacks, in chunks as `hands` want them, smaller at the end.

    Half of what is left is given out at most, so that all have work until the end.
    """

    def __init__(self, study: StudyWriter, hands: Hands) -> None:
        self._study, self._hands = study, hands
        self._speed = 0.0  # games a second
        self._begun, self._tried = 0, False
        games = np.array([setting.games for setting in study.design.settings], float)
        self._left = float(np.count_nonzero(study.state != DONE, axis=1) @ games)

    @property
    def wanted(self) -> int:
        """How many chunks should be begun now: a learner for each slot, and no more, until one has been tried."""
        wanted = self._hands.wanted
        return wanted if self._tried else min(wanted, self._hands.slots - self._begun)

    def __iter__(self) -> Iterator[Chunk]:
        chunk: Chunk = []
        room = 1.0  # games that are as many as a chunk should have
        for number, setting in enumerate(self._study.design.settings):
            seeds, begin = self._study.missing_seeds(number), 0
            while begin < seeds.size:
                part = Part(number, seeds[begin : begin + max(1, int(room / setting.games))].tolist())
                chunk.append(part)
                begin += len(part.seeds)
                room -= len(part.seeds) * setting.games
                self._left -= len(part.seeds) * setting.games
                if room < setting.games:
                    self._begun += 1
                    yield chunk
                    chunk, room = [], self._room()
        if chunk:
            yield chunk

    def _room(self) -> float:
        """Games of the next chunk."""
        return min(self._speed * self._hands.chunk_seconds, self._left / (2 * max(self._hands.slots, 1)))

    def took(self, games: int, seconds: float) -> None:
        """Note how long a chunk took; of no games if all of it failed."""
        self._tried = True
        if games:
            self._speed = games / max(seconds, 1e-6)
