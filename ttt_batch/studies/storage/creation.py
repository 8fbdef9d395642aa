"""Creation of study files with all their disk space reserved, and extension of existing ones."""

from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ttt_batch.base.errors import StudyFileError, StudyTakenError, UsageError, flag
from ttt_batch.base.files import allocate, reason, remove, shown, unused_paths
from ttt_batch.base.quantities import count_text
from ttt_batch.runs.lookup import find_run
from ttt_batch.runs.recorder import Clock, Provenance, resumed_provenance
from ttt_batch.studies.designs.description import description_text
from ttt_batch.studies.designs.design import Design
from ttt_batch.studies.storage.declared import DONE, NONE, Array
from ttt_batch.studies.storage.header import FORMAT, MOST_HEADER, Stored, StudyHeader, compose, digest_of, header_size
from ttt_batch.studies.storage.image import make_image, stored_as
from ttt_batch.studies.storage.layout import study_layout
from ttt_batch.studies.storage.opening import STUDY_FILE, locked_study
from ttt_batch.studies.storage.places import StudyArrays
from ttt_batch.studies.storage.reading import StudyFile, check_derived
from ttt_batch.studies.storage.writing import StudyWriter, open_locked

_PIECE = 1 << 17
"""Numbers written at a time."""

_LATER = ("ended", "seconds")
"""Provenance that is unknown when a study starts."""


def create_study(
    path: str | Path, design: Design, keep: str = NONE, *, command: str = "", overwrite: bool = False
) -> StudyWriter:
    """Create the file of a study without results, and open it for writing.

    keep: `none`, or `last` for the tables of every learner.  command: for provenance.
    overwrite: replace an existing file.
    Raises StudyFileError for disk errors, such as too little space, and leaves no file then.
    Raises UsageError for tables without a fixed size.
    """
    return _create(Path(path), design, keep, _began(command), overwrite=overwrite)


def _create(path: Path, design: Design, keep: str, provenance: Provenance, *, overwrite: bool) -> StudyWriter:
    layout = study_layout(design, description_text(design), keep)
    with ExitStack() as lock:
        lock.enter_context(STUDY_FILE.alone(STUDY_FILE.place(path, overwrite=overwrite)))
        with STUDY_FILE.drafts([path], overwrite=overwrite) as [draft], STUDY_FILE.refusing(path):
            _build(draft.path, layout, provenance, keep)
        study = open_locked(path, lock.pop_all())
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
            new = _create(path, design, study.keep, dict(study.provenance), overwrite=False)
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
        with (
            STUDY_FILE.drafts([path], overwrite=True) as [draft],
            STUDY_FILE.refusing(path),
            open_locked(path, ExitStack()) as old,
        ):
            check_derived(old)
            settings, seeds = _places_in(old, design)
            began = resumed_provenance(dict(old.provenance), _began(command), "extended_by")
            _build(draft.path, study_layout(design, description_text(design), old.keep), began, old.keep)
            with open_locked(draft.path, ExitStack()) as new:
                _take_over(new, old, settings, seeds)
        study = open_locked(path, lock.pop_all())
    study.design = design
    return study


def _began(command: str) -> Provenance:
    """Return the provenance of a study that starts now."""
    return {name: value for name, value in Clock().provenance(command).items() if name not in _LATER}


def _build(path: Path, layout: Sequence[Array], provenance: Provenance, keep: str) -> None:
    """Write a complete file without results into the empty file `path`.  Raises OSError."""
    stored = {array.path: stored_as(array) for array in layout}
    header = StudyHeader(FORMAT, "0" * 64, 0, 0, provenance, keep, stored)
    header = header._replace(size=header_size(header))
    if header.size > MOST_HEADER:
        raise UsageError(
            f"a study of {len(stored):,} arrays is too large for one file; choose {flag('keep', NONE)}, or make "
            "several studies"
        )
    image, stored = make_image(layout, provenance, header.size)
    header = header._replace(length=image.size, arrays=stored)
    with path.open("r+b", buffering=0) as file:
        try:
            allocate(file.fileno(), header.length)
        except OSError as exc:
            raise OSError(exc.errno, f"{reason(exc)} for the {header.length:,} bytes of its results") from None
        places = StudyArrays(file)
        for offset, page in image.pages():
            places.put(offset, page)
        for place in stored.values():
            if place.results and place.dtype.kind == "f":
                _put_nan(places, place)
        places.put(0, memoryview(compose(header)))
        places.put(0, memoryview(compose(header._replace(digest=digest_of(file, header)))))


def _put_nan(places: StudyArrays, place: Stored) -> None:
    """Fill an array of results with NaN, so that unknown values differ from zeros."""
    size = place.dtype.itemsize
    nan = np.full(_PIECE, np.nan, place.dtype).view(np.uint8).data
    for begin in range(0, place.nbytes, _PIECE * size):
        places.put(place.offset + begin, nan[: place.nbytes - begin])


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
