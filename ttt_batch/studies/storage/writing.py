"""Writer of study files: creation, extension, and storage of results.

The HDF5 library makes the structure of a new file.  Arrays of results get offsets but no content, so this is quick for
a file of any size.  Their disk space is then reserved in one call, so that no result finds a full disk.
"""

import io
import json
import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ttt_batch.core.console import one_line
from ttt_batch.core.errors import LostStudyError, StudyFileError, StudyTakenError, UsageError, flag
from ttt_batch.core.files import allocate, is_same, reason, remove, remove_stale_temporaries, shown, unused_paths
from ttt_batch.core.text import count_text
from ttt_batch.runs.lookup import find_run
from ttt_batch.runs.run import Clock, Provenance, resumed_provenance
from ttt_batch.runs.storage.container import STUDY_TYPE, version_text, write_attributes
from ttt_batch.studies.designs.description import description_text
from ttt_batch.studies.designs.design import Design
from ttt_batch.studies.storage.header import (
    FORMAT,
    STUDY_FILE,
    Stored,
    StudyArrays,
    StudyHeader,
    compose,
    digest_of,
    labels_of,
    runs_of,
)
from ttt_batch.studies.storage.layout import (
    DONE,
    FAILED,
    MISSING,
    NONE,
    PROGRESS_BYTES,
    REASON_BYTES,
    REASONS,
    Array,
    layout_size,
    study_layout,
)
from ttt_batch.studies.storage.reading import BLOCK, ResultKind, StudyFile, check_derived, locked_study

# Functions import h5py themselves because it costs 0.1 s at start-up.


def write_arrays(
    file: io.FileIO, layout: Sequence[Array], provenance: Mapping[str, str | int | float], header_size: int
) -> dict[str, int]:
    """Write the HDF5 structure and all constant arrays behind free space for the header; return the arrays' offsets.

    All arrays are contiguous, and those of results get a place without content.  header_size: a power of two.
    """
    import h5py

    # Old HDF5 libraries can read "earliest".  Offsets at multiples of 8 allow memory mapping.
    options = {"userblock_size": header_size, "alignment_threshold": 1, "alignment_interval": 8}
    with h5py.File(file, "w", libver="earliest", **options) as hdf5:
        offsets = {array.path: int(_dataset(hdf5, array).id.get_offset()) for array in layout}
        for array in layout:
            for number, axis in enumerate(array.axes):
                scale = labels_of(offsets, array.path, axis)
                if scale != array.path:
                    hdf5[array.path].dims[number].attach_scale(hdf5[scale])
        columns = [array for array in layout if array.content is not None and "/" not in array.path]
        coordinates = " ".join(array.path for array in columns if array.path not in array.axes)
        root = {"file_type": STUDY_TYPE, "format_version": version_text(FORMAT), "coordinates": coordinates}
        write_attributes(hdf5.attrs, {**root, **provenance})
    return offsets


def _dataset(file: Any, array: Array) -> Any:
    """Create an array in an open HDF5 file and return it."""
    import h5py
    from h5py import h5d, h5p, h5s, h5t

    kind = h5p.create(h5p.DATASET_CREATE)
    kind.set_layout(h5d.CONTIGUOUS)
    kind.set_alloc_time(h5d.ALLOC_TIME_EARLY)
    kind.set_fill_time(h5d.FILL_TIME_NEVER)
    kind.set_obj_track_times(False)
    links = h5p.create(h5p.LINK_CREATE)
    links.set_create_intermediate_group(True)
    space = h5s.create_simple(array.shape) if array.shape else h5s.create(h5s.SCALAR)
    made = h5d.create(file.id, array.path.encode(), h5t.py_create(array.dtype, logical=True), space, kind, links)
    dataset = h5py.Dataset(made)
    if array.content is not None:
        dataset[...] = array.content
    name = array.path.rpartition("/")[2]
    if array.axes == (name,):
        dataset.make_scale(name)
    labels = {"axes": ",".join(array.axes), "unit": array.unit, "meaning": array.meaning}
    # netCDF's mark of UTF-8 text, so that xarray shows text instead of bytes.
    write_attributes(dataset.attrs, labels | ({"_Encoding": "utf-8"} if array.dtype.kind == "S" else {}))
    return dataset


OTHER_REASON = "another reason: there is no room for more of them"


def _fitting(name: str, array: NDArray[Any], place: Stored, shape: tuple[int, ...]) -> NDArray[Any]:
    """Return an array in stored form.  Raises ValueError unless it has the stored type and this shape."""
    if array.dtype != place.dtype or array.shape != shape:
        raise ValueError(f"{name} is {array.dtype} of shape {array.shape}, expected {place.dtype} of shape {shape}")
    return array.astype(place.dtype, copy=False)


class StudyWriter(StudyFile):
    """Writer of a study's file, one process at a time.  Close it, or use it in a `with` block.

    damaged: number of learners found damaged at opening.  They count as missing.
    """

    damaged = 0
    _mode = "r+"

    def store_many(
        self,
        settings: ArrayLike,
        seeds: ArrayLike,
        statistics: Mapping[str, NDArray[Any]],
        tables: Mapping[str, NDArray[Any]] | None = None,
    ) -> None:
        """Store the results of n learners.  An interruption leaves each learner complete or not done.

        settings, seeds: int[n], or one number for all: numbers of settings and seeds, not the seeds themselves.
        statistics: arrays [n, points, ...], each learner's as in `Recorder.statistics`, without `games`.
        tables: arrays [n, ...] by name, with `visits` if step sizes depend on them, only if `keep` is `last`.
        Raises ValueError for other arrays, and StudyFileError for disk errors.
        """
        one, other = np.broadcast_arrays(*(np.atleast_1d(np.asarray(given, np.int64)) for given in (settings, seeds)))
        given = [*statistics.values(), *(tables or {}).values()]
        if min(one.min(initial=0), other.min(initial=0)) < 0 or any(array.shape[:1] != one.shape for array in given):
            raise ValueError(f"results of {one.size} learners expected, with settings and seeds numbered from 0")
        order = np.lexsort((other, one))
        kind_of = self._kind_of[one[order]]
        for number in np.unique(kind_of).tolist():
            kind, own = self._kinds[number], order[kind_of == number]
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
        """Store learners of one kind, in ascending order.  Raises ValueError for arrays that such learners lack."""
        arrays, n = self.header.arrays, settings.size
        if statistics.keys() != kind.statistics.keys() or tables.keys() != kind.tables.keys():
            raise ValueError(f"got {[*statistics, *tables]}, expected {[*kind.statistics, *kind.tables]}")
        statistics = {
            name: _fitting(name, statistics[name], place, (n, kind.points, *place.shape[3:]))
            for name, place in kind.statistics.items()
        }
        tables = {name: _fitting(name, tables[name], at, (n, *at.shape[2:])) for name, at in kind.tables.items()}
        sums = self._checksums(settings, seeds, statistics, tables)
        learners = settings * self.seeds.size + seeds
        runs, failed = runs_of(learners), runs_of(learners[self.state[settings, seeds] == FAILED])
        own = runs_of(self._own[settings] * self.seeds.size + seeds) if tables else []
        with STUDY_FILE.refusing(self.path):
            self.check_own()
            for name, place in kind.statistics.items():
                padded = np.full((n, *place.shape[2:]), np.nan if place.dtype.kind == "f" else 0, place.dtype)
                padded[:, : kind.points] = statistics[name]
                self._places.write(place, runs, padded)
            for name, place in kind.tables.items():
                self._places.write(place, own, tables[name])
            self._places.write(arrays["checksum"], runs, sums)
            self._places.write(arrays["reason"], failed, np.zeros(settings.size, np.uint16))
            self._places.write(arrays["state"], runs, np.full(settings.size, DONE, np.uint8))
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
            self._places.write(place, [(number, 0, 1)], np.array([text.encode()], place.dtype), axes=1)
            self._places.write(self.header.arrays["reason"], [(learner, 0, 1)], np.array([number], np.uint16))
            self._places.write(self.header.arrays["state"], [(learner, 0, 1)], np.array([FAILED], np.uint8))
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
            self._places.put(place.offset, text.ljust(place.dtype.itemsize, b"\0"))

    def sync(self) -> None:
        """Flush the file to the disk; required before a study is reported as finished.

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
        """Return this lost file so that its results can be copied; bytes beyond its end read as 0."""
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
                self._places.write(self.header.arrays["state"], runs, np.full(wrong.size, MISSING, np.uint8))
            self.state[settings, seeds] = MISSING
            self.damaged += wrong.size


def resume_study(path: str | Path) -> StudyWriter:
    """Open a study's file to store results, and mark learners with damaged results as missing.

    Raises StudyFileError for a file that is not a valid study, and if another process writes it.
    """
    path = find_run(path)
    with ExitStack() as lock:
        locked_study(path, lock)
        study = StudyWriter(path, lock.pop_all())
    try:
        remove_stale_temporaries(path)  # of a process that was killed while it wrote the file
        check_derived(study)
        study.drop_damaged()
    except BaseException:
        study.close()
        raise
    return study


_PIECE = 1 << 17
"""Numbers written at a time."""

_LATER = ("ended", "seconds")
"""Provenance that is unknown when a study starts."""


def create_study(
    path: str | Path,
    design: Design,
    keep: str = NONE,
    *,
    command: str = "",
    provenance: Provenance | None = None,
    overwrite: bool = False,
) -> StudyWriter:
    """Create the file of a study without results, and open it for writing.

    keep: `none`, or `last` for the tables of every learner.  command: for provenance.
    provenance: that of an earlier file of the study.  overwrite: replace an existing file.
    Raises StudyFileError for disk errors, such as too little space, and leaves no file then.
    Raises UsageError for tables without a fixed size.
    """
    path, layout = Path(path), study_layout(design, description_text(design), keep)
    with ExitStack() as lock:
        lock.enter_context(STUDY_FILE.alone(STUDY_FILE.place(path, overwrite=overwrite)))
        with STUDY_FILE.drafts([path], overwrite=overwrite) as [draft], STUDY_FILE.refusing(path):
            _build(draft.path, layout, provenance or _began(command), keep)
        study = StudyWriter(path, lock.pop_all())
    study.design = design  # with opponents' runs as given, which may have no file
    return study


def move_aside(study: StudyWriter) -> int:
    """Continue a study in a new file beside its own, which another program has removed or changed.

    The old file stays.  Return the number of learners that were done and are now missing.
    Raises StudyFileError without any change.
    """
    design, done = study.design, int(np.count_nonzero(study.state == DONE))
    for path in unused_paths(study.path):
        if path == study.path:
            continue  # the lost file's name is free again
        with suppress(StudyTakenError):
            new = create_study(path, design, study.keep, provenance=dict(study.provenance))
            break
    try:
        _take_over(new, study.leave(), *(np.arange(size) for size in study.state.shape))
    except BaseException:
        new.close()
        remove(new.path)
        raise
    study.become(new)
    return done - int(np.count_nonzero(study.state == DONE))


def extend_study(path: str | Path, design: Design, *, command: str = "") -> StudyWriter:
    """Replace a study's file by one with more settings or seeds, and open it for writing.

    Copy all learners that are done, by key and seed.  All others are missing.  The disk holds both files until the new
    one is complete and replaces the old one.
    design: contains all settings and seeds of the old one, in any order, as `Design.extended` returns it.
    Raises StudyFileError, also if learners would be left out, and as `open_study` and `create` do.
    """
    path = find_run(path)
    with ExitStack() as lock:
        locked_study(path, lock)
        with STUDY_FILE.drafts([path], overwrite=True) as [draft], STUDY_FILE.refusing(path), StudyWriter(path) as old:
            check_derived(old)
            settings, seeds = _places_in(old, design)
            began = resumed_provenance(dict(old.provenance), _began(command), "extended_by")
            _build(draft.path, study_layout(design, description_text(design), old.keep), began, old.keep)
            with StudyWriter(draft.path) as new:
                _take_over(new, old, settings, seeds)
        study = StudyWriter(path, lock.pop_all())
    study.design = design
    return study


def _began(command: str) -> Provenance:
    """Return the provenance of a study that starts now."""
    return {name: value for name, value in Clock().provenance(command).items() if name not in _LATER}


def _build(path: Path, layout: Sequence[Array], provenance: Provenance, keep: str) -> None:
    """Write a complete file without results into the empty file `path`.  Raises OSError."""
    far = 10**18  # the header has a power of two of bytes that holds any offsets
    places = {array.path: Stored(array.dtype, array.shape, array.axes, far, array.content is None) for array in layout}
    header = StudyHeader(FORMAT, "0" * 64, far, 0, provenance, keep, places)
    needed = len(compose(header)) + len(str(STUDY_FILE.most))
    header = header._replace(size=max(STUDY_FILE.least, 1 << (needed - 1).bit_length()))
    if header.size > STUDY_FILE.most:
        raise UsageError(
            f"a study of {len(places):,} arrays is too large for one file; choose {flag('keep', NONE)}, or make "
            "several studies"
        )
    with path.open("r+b", buffering=0) as file:
        size = header.size + layout_size(layout)
        try:
            allocate(file.fileno(), size)  # to fail here: h5py has an error of its own where it cannot write
            file.truncate(0)
            offsets = write_arrays(file, layout, provenance, header.size)
            size = file.seek(0, io.SEEK_END)
            allocate(file.fileno(), size)
        except OSError as exc:
            raise OSError(exc.errno, f"{reason(exc)} for the {size:,} bytes of its results") from None
        places = {name: place._replace(offset=offsets[name]) for name, place in places.items()}
        header = header._replace(length=size, arrays=places)
        arrays = StudyArrays(file)
        for place in places.values():
            if place.results and place.dtype.kind == "f":  # unknown values differ from zeros
                nan = np.full(_PIECE, np.nan, place.dtype).view(np.uint8).data
                for begin in range(0, place.nbytes(), len(nan)):
                    arrays.put(place.offset + begin, nan[: place.nbytes() - begin])
        arrays.put(0, compose(header))
        arrays.put(0, compose(header._replace(digest=digest_of(file, header))))


def _places_in(old: StudyFile, design: Design) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the numbers of a study's settings and seeds in a larger design.  Raises StudyFileError if it lacks any."""
    keys = {setting.key: number for number, setting in enumerate(design.settings)}
    numbers = {seed: number for number, seed in enumerate(design.seeds)}
    settings = [keys.get(key, -1) for key in old.keys]
    seeds = [numbers.get(seed, -1) for seed in old.seeds.tolist()]
    if lost := settings.count(-1) * len(seeds) + seeds.count(-1) * (len(settings) - settings.count(-1)):
        raise StudyFileError(
            f"{shown(old.path)} has {count_text(lost, 'learner')} that the larger study would leave out; keep all "
            "settings and seeds, or make another file"
        )
    return np.array(settings, np.int64), np.array(seeds, np.int64)


def _take_over(new: StudyWriter, old: StudyFile, settings: NDArray[np.int64], seeds: NDArray[np.int64]) -> None:
    """Copy the undamaged learners of one file to another.  settings, seeds: their numbers in the new file."""
    for block in old.blocks():
        sound = np.flatnonzero(old.sound(block))
        found = [{name: array[sound] for name, array in part.items()} for part in (block.statistics, block.tables)]
        new.store_many(settings[block.settings[sound]], seeds[block.seeds[sound]], *found)
    new.note(**old.progress)
