"""A study's file, open for writing: results on their way to their places."""

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
from ttt_batch.studies.storage.contents import Kind
from ttt_batch.studies.storage.declared import DONE, FAILED, MISSING, PROGRESS_BYTES, REASON_BYTES, REASONS
from ttt_batch.studies.storage.header import digest_of
from ttt_batch.studies.storage.opening import STUDY_FILE, locked, opened
from ttt_batch.studies.storage.places import runs_of
from ttt_batch.studies.storage.reading import BLOCK, StudyFile, check_derived

OTHER_REASON = "another reason: there is no room for more of them"


class StudyWriter(StudyFile):
    """A study's file, open for writing, which one process may do at a time; close it, or use it in a `with` block.

    damaged: how many learners were damaged when it was opened; they are missing since.
    """

    damaged = 0

    def store_many(
        self,
        settings: ArrayLike,
        seeds: ArrayLike,
        statistics: Mapping[str, NDArray[Any]],
        tables: Mapping[str, NDArray[Any]] | None = None,
    ) -> None:
        """Store the results of n learners; whatever happens meanwhile, each is done with all its results or not done.

        settings, seeds: int[n], or one number for all: numbers of settings and seeds, not the seeds themselves.
        statistics: arrays [n, points, ...] as `Recorder.statistics` has them for one learner, without `games` or with
        those of the file.  Settings with fewer points than others have as many, or those of the longest.
        tables: arrays [n, ...] by name, `visits` among them if step sizes depend on them; only with `keep` last.
        Raises ValueError for anything else, and StudyFileError if the disk refuses.
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
        kind: Kind,
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
        """Note that a learner failed, and why; it counts as missing when the study is resumed.

        Of some hundred different reasons all are kept.  Raises StudyFileError if the disk refuses.
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
        """Add to `progress`: when the study ended last, and its seconds in all.

        Raises ValueError for more than there is room for, and StudyFileError if the disk refuses.
        """
        text = json.dumps({**self.progress, **values}).encode()
        if len(text) > PROGRESS_BYTES:
            raise ValueError(f"{len(text):,} bytes of notes; there is room for {PROGRESS_BYTES:,}")
        place = self.header.arrays["provenance/progress"]
        with STUDY_FILE.refusing(self.path):
            self.check_own()
            self._places.write(place, 0, np.array(text, place.dtype))

    def sync(self) -> None:
        """Make what was stored last through a power cut, at the latest before a study is said to be finished.

        Raises StudyFileError if the disk refuses, and LostStudyError if the file is no longer what was written.
        """
        with STUDY_FILE.refusing(self.path):
            os.fsync(self._file.fileno())
            self.check_own()
            # Also what was cut off and grew again while results were written, and whatever another program wrote.
            states = self._places.read(self.header.arrays["state"])
            if digest_of(self._file, self.header) != self.header.digest or (states != self.state).any():
                raise self._lost("changed by another program")

    def check_own(self) -> None:
        """Raise LostStudyError if the file was removed, replaced or cut off: what is stored then is lost."""
        with STUDY_FILE.refusing(self.path):
            if not is_same(self._file.fileno(), self.path.resolve()):
                raise self._lost("removed or replaced")
            if (size := os.fstat(self._file.fileno()).st_size) != self.header.length:
                raise self._lost("cut off" if size < self.header.length else "changed by another program")

    def _lost(self, how: str) -> LostStudyError:
        return LostStudyError(f"{shown(self.path)} was {how} while the study went on")

    def leave(self) -> StudyFile:
        """Return the results that are left in a file that is no longer ours, for a new one; see `become`."""
        self._places.cut = True
        return self

    def become(self, other: "StudyWriter") -> None:
        """Go on as another file of the same design, which takes all results from now on; close the own one."""
        self._closing.close()
        self.__dict__.pop("_reasons", None)
        self.__dict__.update(vars(other))
        other._closing = ExitStack()

    def drop_damaged(self) -> None:
        """Count learners as missing whose results do not have their checksum."""
        for block in self.blocks():
            wrong = np.flatnonzero(~self.sound(block))
            settings, seeds = block.settings[wrong], block.seeds[wrong]
            with STUDY_FILE.refusing(self.path):
                runs = runs_of(settings * self.seeds.size + seeds)
                self._places.scatter(self.header.arrays["state"], runs, np.full(wrong.size, MISSING, np.uint8))
            self.state[settings, seeds] = MISSING
            self.damaged += wrong.size


def resume_study(path: str | Path) -> StudyWriter:
    """Open a study's file to store results.  Learners whose results are damaged are missing then.

    Raises StudyFileError for what is no whole study, and if another process writes it.
    """
    path = find_run(path)
    with ExitStack() as lock:
        locked(path, lock)
        study = open_locked(path, lock.pop_all())
    try:
        check_derived(study)
        study.drop_damaged()
    except BaseException:
        study.close()
        raise
    return study


def open_locked(path: Path, lock: ExitStack) -> StudyWriter:
    """Open a study's file, which no other process writes, to store results; damaged learners are not looked for.

    lock: closed with the file, or if it cannot be opened.  Raises StudyFileError.
    """
    with lock:
        contents, file = opened(path, lock, write=True)
        return StudyWriter(path, contents, file, lock.pop_all())
