"""Chunks of a study by workers of a cluster: what is sent to them, and what they do with it.

A chunk is sent as plain data, and its results come back as arrays.  A task is named by the digest of what it computes,
so that a scheduler that is given it twice has it done once.
"""

import functools
import hashlib
import threading
import time
from collections.abc import Sequence
from typing import Any, NamedTuple, Self

from ttt_batch.cluster.crew import Crew, Task
from ttt_batch.cluster.identity import identity
from ttt_batch.learners import knowing
from ttt_batch.runs.loading import run_from
from ttt_batch.runs.run import Run
from ttt_batch.runs.runfile.writing import run_bytes
from ttt_batch.studies.designs.families import FAMILIES
from ttt_batch.studies.designs.family import Setting
from ttt_batch.studies.designs.opponents import RunOpponent
from ttt_batch.studies.learning.learnt import Learnt
from ttt_batch.studies.learning.rooms import make_room
from ttt_batch.studies.storage.declared import LAST
from ttt_batch.studies.storage.writing import StudyWriter
from ttt_batch.studies.work.chunks import Chunk, Done

_own = threading.local()


class Sent(NamedTuple):
    """Learners of one setting for a worker.

    family: its name.  config: as `Config.to_dict`.  opponent: None in self-play, a name, or the bytes of a run's file.
    """

    family: str
    config: dict[str, Any]
    games: int
    opponent: str | bytes | None
    seeds: list[int]


def learn_parts(parts: Sequence[Sent], keep: bool) -> tuple[list[tuple[Any, ...]], float]:
    """Let the learners of a chunk learn, on a worker; return a `Learnt` for each part, and the seconds.

    A thread's learners share a room from one chunk to the next.  To load kernels, once, is not among the seconds:
    else the chunks that follow would be far too small.
    """
    made_for = parts[0][0], keep
    room = getattr(_own, "room", None)
    if room is None or _own.made_for != made_for:
        room = _own.room = make_room(FAMILIES[parts[0][0]], keep=keep, stop=lambda: False)
        _own.made_for = made_for
    began, prepared = time.perf_counter(), room.prepared
    learnt = [tuple(room.learn(_setting(part), part.seeds)) for part in map(Sent._make, parts)]
    return learnt, time.perf_counter() - began - (room.prepared - prepared)


def _setting(part: Sent) -> Setting:
    """The setting of a part, as the study has it."""
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
    """`Hands` that are workers of a cluster.

    Raises UsageError for a learner that workers cannot import.
    """

    chunk_seconds = 2.0

    def __init__(self, study: StudyWriter, crew: Crew) -> None:
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
        """Chunks that are done at the same time."""
        return self._crew.slots

    @property
    def wanted(self) -> int:
        """How many more should be begun now."""
        return self._crew.wanted

    @property
    def busy(self) -> bool:
        """Whether any is begun."""
        return bool(self._chunks)

    @property
    def workers(self) -> int:
        """How many there are."""
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
        digest = hashlib.sha256(repr((identity(), self._keep, names)).encode()).hexdigest()[:32]
        self._crew.begin(self._begun, Task(f"learn-{digest}", knowing, (self._homes, learn_parts, parts, self._keep)))

    def ended(self, seconds: float) -> list[Done]:
        """What was done meanwhile; waits up to so many seconds if there is nothing."""
        return [self._done(self._chunks.pop(ended.tag), ended) for ended in self._crew.ended(seconds)]

    def stop(self) -> None:
        """Give up what is not done: it may take long where nobody waits for it."""
        self._crew.give_up()
        self._chunks.clear()

    def _done(self, chunk: Chunk, ended: Any) -> Done:
        if ended.failure:
            return Done(chunk, [Learnt({}, {}, ended.failure) for _ in chunk], 0.0)
        learnt, seconds = ended.result
        return Done(chunk, [Learnt(*one) for one in learnt], seconds)

    def _opponent(self, setting: Setting) -> str | bytes | None:
        """The opponent of a setting, as it is sent."""
        opponent = setting.opponent
        if not isinstance(opponent, RunOpponent):
            return opponent
        if opponent.digest not in self._files:
            self._files[opponent.digest] = run_bytes(opponent.run.data())
        return self._files[opponent.digest]
