"""Division of a study's missing learners into chunks of about the duration that the executor wants."""

from collections.abc import Iterator
from typing import NamedTuple, Protocol

import numpy as np

from ttt_batch.studies.learning.learnt import LearnerResults
from ttt_batch.studies.storage.declared import DONE
from ttt_batch.studies.storage.writing import StudyWriter


class Part(NamedTuple):
    """Learners of one setting: the numbers of the setting and of their seeds."""

    setting: int
    seeds: list[int]


Chunk = list[Part]
"""Learners that an executor gets at once, of one or several settings."""


class Done(NamedTuple):
    """Finished chunk with the results of each part, and its duration in seconds."""

    chunk: Chunk
    learnt: list[LearnerResults]
    seconds: float


class Executor(Protocol):
    """Executor of chunks, for use in a `with` block.

    chunk_seconds: desired duration of a chunk: long compared with its transfer, short enough for frequent storing.
    """

    chunk_seconds: float

    @property
    def slots(self) -> int:
        """Return the number of chunks that run at the same time."""

    @property
    def wanted(self) -> int:
        """Return the number of further chunks to start."""

    @property
    def busy(self) -> bool:
        """Return whether a chunk is unfinished."""

    @property
    def workers(self) -> int | None:
        """Return the number of worker processes of a cluster, None without one."""

    def begin(self, chunk: Chunk) -> None:
        """Start a chunk."""

    def ended(self, seconds: float) -> list[Done]:
        """Return the finished chunks, after waiting up to `seconds` for the first one."""

    def stop(self) -> None:
        """End soon.  `ended` still returns chunks that are finished by then."""


class Chunks:
    """Iterable of a study's missing learners in chunks for `hands`, smaller at the end.

    The chunks that run together have at most half of the remaining games, so that all slots are busy until the end.
    """

    def __init__(self, study: StudyWriter, hands: Executor) -> None:
        self._study, self._hands = study, hands
        self._speed = 0.0  # games a second
        self._begun, self._tried = 0, False
        games = np.array([setting.games for setting in study.design.settings], float)
        self._left = float(np.count_nonzero(study.state != DONE, axis=1) @ games)

    @property
    def wanted(self) -> int:
        """Return the number of chunks to start: at most one for each slot until the first is finished."""
        wanted = self._hands.wanted
        return wanted if self._tried else min(wanted, self._hands.slots - self._begun)

    def __iter__(self) -> Iterator[Chunk]:
        chunk: Chunk = []
        room = 1.0  # games left in the chunk; 1 makes a chunk of one learner
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
        """Return the number of games of the next chunk."""
        return min(self._speed * self._hands.chunk_seconds, self._left / (2 * max(self._hands.slots, 1)))

    def took(self, games: int, seconds: float) -> None:
        """Record the duration of a chunk.  games: 0 if all its learners failed."""
        self._tried = True
        if games:
            self._speed = games / max(seconds, 1e-6)
