"""Writer of study files."""

import json
import os
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ttt_batch.base.console import one_line
from ttt_batch.base.errors import LostStudyError
from ttt_batch.base.files import is_same, shown
from ttt_batch.runs.lookup import find_run
from ttt_batch.studies.storage.contents import ResultKind
from ttt_batch.studies.storage.declared import DONE, FAILED, MISSING, PROGRESS_BYTES, REASON_BYTES, REASONS
from ttt_batch.studies.storage.header import digest_of
from ttt_batch.studies.storage.opening import STUDY_FILE, locked_study, opened
from ttt_batch.studies.storage.places import runs_of
from ttt_batch.studies.storage.reading import BLOCK, StudyFile, check_derived

OTHER_REASON = "another reason: there is no room for more of them"


class StudyWriter(StudyFile):
    """Writer of a study's file, one process at a time.  Close it, or use it in a `with` block.

    damaged: number of learners found damaged at opening, which are missing since then.
    """

    damaged = 0

    def store_many(
        self,
        settings: ArrayLike,
        seeds: ArrayLike,
        statistics: Mapping[str, NDArray[Any]],
        tables: Mapping[str, NDArray[Any]] | None = None,
    ) -> None:
        """Store the results of n learners.  An interruption leaves each learner complete or not done.

        settings, seeds: int[n], or one number for all: numbers of settings and seeds, not the seeds themselves.
        statistics: arrays [n, points, ...], each learner's as in `Recorder.statistics`.  `games` may be missing or
        must equal those of the file.  The arrays have the setting's own points or as many as the longest setting.
        tables: arrays [n, ...] by name, with `visits` if step sizes depend on them, only if `keep` is `last`.
        Raises ValueError for other arrays, and StudyFileError for disk errors.
        """
        one, other = np.broadcast_arrays(*(np.atleast_1d(np.asarray(given, np.int64)) for given in (settings, seeds)))
        given = [*statistics.values(), *(tables or {}).values()]
        if min(one.min(initial=0), other.min(initial=0)) < 0 or any(array.shape[:1] != one.shape for array in given):
            raise ValueError(f"results of {one.size} learners expected, with settings and seeds numbered from 0")
        order = np.lexsort((other, one))
        kind_of = self._contents.kind_of[one[order]]
        for number in np.unique(kind_of).tolist():
            kind, own = self._contents.kinds[number], order[kind_of == number]
            step = max(1, BLOCK // kind.size)
            for begin in range(0, own.size, step):
                chosen = own[begin : begin + step]
                parts = [{name: arrays[name][chosen] for name in arrays} for arrays in (statistics, tables or {})]
                self._store(kind, one[chosen], other[chosen], *parts)

    def _store(
        self,
        kind: ResultKind,
        settings: NDArray[np.int64],
        seeds: NDArray[np.int64],
        statistics: dict[str, NDArray[Any]],
        tables: dict[str, NDArray[Any]],
    ) -> None:
        """Store learners of one kind, in ascending order."""
        contents, arrays = self._contents, self.header.arrays
        statistics, tables = contents.checked(kind, settings, statistics, tables)
        sums = self._checksums(settings, seeds, statistics, tables)
        learners = settings * self.seeds.size + seeds
        runs, failed = runs_of(learners), runs_of(learners[self.state[settings, seeds] == FAILED])
        own = runs_of(contents.own[settings] * self.seeds.size + seeds) if tables else []
        with STUDY_FILE.refusing(self.path):
            self.check_own()
            for name, place in kind.statistics.items():
                self._places.scatter(place, runs, contents.padded(statistics[name]))
            for name, place in kind.tables.items():
                self._places.scatter(place, own, tables[name])
            self._places.scatter(arrays["checksum"], runs, sums)
            self._places.scatter(arrays["reason"], failed, np.zeros(settings.size, np.uint16))
            self._places.scatter(arrays["state"], runs, np.full(settings.size, DONE, np.uint8))
        self.state[settings, seeds] = DONE

    def fail(self, setting: int, seed: int, reason: str) -> None:
        """Record that a learner failed, and the reason.  A resumed study tries the learner again.

        The file has space for 254 different reasons.  Raises StudyFileError for disk errors.
        """
        text = one_line(reason).encode()[:REASON_BYTES].decode(errors="ignore") or "unknown"
        reasons = self._reasons
        if text not in reasons:
            free = next((number for number, known in enumerate(reasons) if number and not known), REASONS - 1)
            text = text if free < REASONS - 1 else OTHER_REASON
            reasons[free] = text
        number, learner = reasons.index(text), setting * self.seeds.size + seed
        with STUDY_FILE.refusing(self.path):
            self.check_own()
            place = self.header.arrays["provenance/reasons"]
            self._places.write(place, number, np.array([text.encode()], place.dtype), 1)
            self._places.write(self.header.arrays["reason"], learner, np.array([number], np.uint16), 2)
            self._places.write(self.header.arrays["state"], learner, np.array([FAILED], np.uint8), 2)
        self.state[setting, seed] = FAILED

    def note(self, **values: str | int | float) -> None:
        """Add values to `progress`, such as the time of the last end and the total seconds.

        Raises ValueError if the notes become too long, and StudyFileError for disk errors.
        """
        text = json.dumps({**self.progress, **values}).encode()
        if len(text) > PROGRESS_BYTES:
            raise ValueError(f"{len(text):,} bytes of notes; there is room for {PROGRESS_BYTES:,}")
        place = self.header.arrays["provenance/progress"]
        with STUDY_FILE.refusing(self.path):
            self.check_own()
            self._places.write(place, 0, np.array(text, place.dtype))

    def sync(self) -> None:
        """Flush the file to the disk, at the latest before a study is reported as finished.

        Raises StudyFileError for disk errors, and LostStudyError if another program has changed the file.
        """
        with STUDY_FILE.refusing(self.path):
            os.fsync(self._file.fileno())
            self.check_own()
            # This also finds a file that was cut off and grew again, and bytes of another program.
            states = self._places.read(self.header.arrays["state"])
            if digest_of(self._file, self.header) != self.header.digest or (states != self.state).any():
                raise self._lost("changed by another program")

    def check_own(self) -> None:
        """Raise LostStudyError if the file was removed, replaced or cut off, because further results would be lost."""
        with STUDY_FILE.refusing(self.path):
            if not is_same(self._file.fileno(), self.path.resolve()):
                raise self._lost("removed or replaced")
            if (size := os.fstat(self._file.fileno()).st_size) != self.header.length:
                raise self._lost("cut off" if size < self.header.length else "changed by another program")

    def _lost(self, how: str) -> LostStudyError:
        return LostStudyError(f"{shown(self.path)} was {how} during the study")

    def leave(self) -> StudyFile:
        """Return this file for copying its remaining results after it was lost, with zeros beyond its end."""
        self._places.cut = True
        return self

    def become(self, other: "StudyWriter") -> None:
        """Close this file, and write all further results to another file of the same design."""
        self._closing.close()
        self.__dict__.pop("_reasons", None)
        self.__dict__.update(vars(other))
        other._closing = ExitStack()

    def drop_damaged(self) -> None:
        """Mark learners as missing whose results do not match their checksum."""
        for block in self.blocks():
            wrong = np.flatnonzero(~self.sound(block))
            settings, seeds = block.settings[wrong], block.seeds[wrong]
            with STUDY_FILE.refusing(self.path):
                runs = runs_of(settings * self.seeds.size + seeds)
                self._places.scatter(self.header.arrays["state"], runs, np.full(wrong.size, MISSING, np.uint8))
            self.state[settings, seeds] = MISSING
            self.damaged += wrong.size


def resume_study(path: str | Path) -> StudyWriter:
    """Open a study's file to store results, and mark learners with damaged results as missing.

    Raises StudyFileError for a file that is not a valid study, and if another process writes it.
    """
    path = find_run(path)
    with ExitStack() as lock:
        locked_study(path, lock)
        study = open_locked(path, lock.pop_all())
    try:
        check_derived(study)
        study.drop_damaged()
    except BaseException:
        study.close()
        raise
    return study


def open_locked(path: Path, lock: ExitStack) -> StudyWriter:
    """Open a locked study's file to store results, without a search for damaged learners.

    lock: closed with the file, or if opening fails.  Raises StudyFileError.
    """
    with lock:
        contents, file = opened(path, lock, write=True)
        return StudyWriter(path, contents, file, lock.pop_all())
