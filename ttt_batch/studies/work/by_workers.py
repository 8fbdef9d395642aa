"""Executor of a study's chunks by workers of a cluster, and the workers' part.

A chunk is sent as plain data, and its results return as arrays.  A task's name is the digest of its computation, so a
scheduler that receives it twice runs it once.
"""

import functools
import hashlib
import threading
import time
from collections.abc import Sequence
from typing import Any, NamedTuple, Self

from ttt_batch.cluster.crew import RemoteTask, WorkerPool
from ttt_batch.cluster.identity import worker_identity
from ttt_batch.learners import with_learners
from ttt_batch.runs.loading import run_from
from ttt_batch.runs.run import Run
from ttt_batch.runs.runfile.writing import run_bytes
from ttt_batch.studies.designs.families import FAMILIES
from ttt_batch.studies.designs.family import Setting
from ttt_batch.studies.designs.opponents import RunOpponent
from ttt_batch.studies.learning.learnt import LearnerResults
from ttt_batch.studies.learning.rooms import make_worker
from ttt_batch.studies.storage.declared import LAST
from ttt_batch.studies.storage.writing import StudyWriter
from ttt_batch.studies.work.chunks import Chunk, Done

_own = threading.local()


class Sent(NamedTuple):
    """Learners of one setting for a worker.

    family: name of the family.  config: from `Config.to_dict`.
    opponent: None in self-play, a name, or the bytes of a run's file.
    """

    family: str
    config: dict[str, Any]
    games: int
    opponent: str | bytes | None
    seeds: list[int]


def learn_parts(parts: Sequence[Sent], keep: bool) -> tuple[list[tuple[Any, ...]], float]:
    """Train the learners of a chunk on a worker, and return a `LearnerResults` for each part, and the seconds.

    A thread reuses its `Room` for the next chunk.  The seconds exclude the one-time loading of kernels, which would
    make the next chunks far too small.
    """
    made_for = parts[0][0], keep
    room = getattr(_own, "room", None)
    if room is None or _own.made_for != made_for:
        room = _own.room = make_worker(FAMILIES[parts[0][0]], keep=keep, stop=lambda: False)
        _own.made_for = made_for
    began, prepared = time.perf_counter(), room.prepared
    learnt = [tuple(room.learn(_setting(part), part.seeds)) for part in map(Sent._make, parts)]
    return learnt, time.perf_counter() - began - (room.prepared - prepared)


def _setting(part: Sent) -> Setting:
    """Return the setting of a part, as in the study."""
    family, opponent = FAMILIES[part.family], part.opponent
    config = family.config_from(part.config)
    if not isinstance(opponent, bytes):
        return Setting(family, config, part.games, opponent)
    digest = part.config["opponent"]
    return Setting(family, config, part.games, RunOpponent(digest, digest, _opponent(opponent)))


@functools.lru_cache(maxsize=4)
def _opponent(content: bytes) -> Run:
    return run_from(content)


class Workers:
    """Implementation of `Hands` by workers of a cluster.

    Raises UsageError for a learner that workers cannot import.
    """

    chunk_seconds = 2.0

    def __init__(self, study: StudyWriter, crew: WorkerPool) -> None:
        self._study, self._crew, self._keep = study, crew, study.keep == LAST
        self._homes = study.design.family.homes(setting.config.learner for setting in study.design.settings)
        self._chunks: dict[int, Chunk] = {}
        self._begun = 0
        self._files: dict[str, bytes] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def slots(self) -> int:
        """Return the number of chunks that run at the same time."""
        return self._crew.slots

    @property
    def wanted(self) -> int:
        """Return the number of further chunks to start."""
        return self._crew.wanted

    @property
    def busy(self) -> bool:
        """Return whether a chunk is unfinished."""
        return bool(self._chunks)

    @property
    def workers(self) -> int:
        """Return the number of workers."""
        return self._crew.workers

    def begin(self, chunk: Chunk) -> None:
        """Send a chunk."""
        self._begun += 1
        self._chunks[self._begun] = chunk
        parts, names = [], []
        for part in chunk:
            setting, seeds = self._study.design.settings[part.setting], self._study.seeds[part.seeds].tolist()
            parts.append(
                tuple(
                    Sent(setting.family.name, setting.config.to_dict(), setting.games, self._opponent(setting), seeds)
                )
            )
            names.append((setting.key, seeds))
        digest = hashlib.sha256(repr((worker_identity(), self._keep, names)).encode()).hexdigest()[:32]
        self._crew.begin(
            self._begun, RemoteTask(f"learn-{digest}", with_learners, (self._homes, learn_parts, parts, self._keep))
        )

    def ended(self, seconds: float) -> list[Done]:
        """Return the finished chunks, after waiting up to `seconds` for the first one."""
        return [self._done(self._chunks.pop(ended.tag), ended) for ended in self._crew.ended(seconds)]

    def stop(self) -> None:
        """Cancel unfinished chunks, which may take long and are no longer needed."""
        self._crew.give_up()
        self._chunks.clear()

    def _done(self, chunk: Chunk, ended: Any) -> Done:
        if ended.failure:
            return Done(chunk, [LearnerResults({}, {}, ended.failure) for _ in chunk], 0.0)
        learnt, seconds = ended.result
        return Done(chunk, [LearnerResults(*one) for one in learnt], seconds)

    def _opponent(self, setting: Setting) -> str | bytes | None:
        """Return the opponent of a setting in the form of `Sent`."""
        opponent = setting.opponent
        if not isinstance(opponent, RunOpponent):
            return opponent
        if opponent.digest not in self._files:
            self._files[opponent.digest] = run_bytes(opponent.run.data())
        return self._files[opponent.digest]
