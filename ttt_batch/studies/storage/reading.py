"""Reader of study files: design, states of the learners, and results."""

import io
import json
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from ttt_batch.base.console import one_line
from ttt_batch.base.errors import RunFileError, StudyFileError
from ttt_batch.base.files import shown
from ttt_batch.learners import foreign_learner
from ttt_batch.runs.lookup import find_run
from ttt_batch.runs.state import MOST_SECONDS
from ttt_batch.studies.designs.description import parse_description
from ttt_batch.studies.designs.family import Method
from ttt_batch.studies.storage.contents import GROUPS, Contents, ResultKind
from ttt_batch.studies.storage.declared import DONE, FAILED, MEASURED, MISSING, OTHER_COLUMNS, REASONS
from ttt_batch.studies.storage.header import DamagedStudy, no_constant
from ttt_batch.studies.storage.layout import study_layout
from ttt_batch.studies.storage.opening import opened, worded_errors
from ttt_batch.studies.storage.places import KEY_BYTES, StudyArrays, checksums

if TYPE_CHECKING:
    from ttt_batch.studies.designs.design import Design

BLOCK = 1 << 22
"""Bytes of results in a block."""


class Block(NamedTuple):
    """Results of some learners of one kind of settings.

    settings, seeds: int64[n], their numbers.  statistics, tables: arrays [n, ...] by name.
    checksums: uint64[n], as stored.
    """

    kind: ResultKind
    settings: NDArray[np.int64]
    seeds: NDArray[np.int64]
    statistics: dict[str, NDArray[Any]]
    tables: dict[str, NDArray[Any]]
    checksums: NDArray[np.uint64]


Opened = TypeVar("Opened", bound="StudyFile")


class StudyFile:
    """Open study.  Close it, or use it in a `with` block.

    path: the file.  header: its header.  keep: the kept tables, of KEEPS.
    keys: keys of the settings, in order.  seeds: int64[seeds].  points: int64[settings], numbers of recorded points.
    games: int64[settings, points], games at the points, 0 after the last one.
    state: uint8[settings, seeds], MISSING, DONE or FAILED at opening, updated by this process.
    """

    def __init__(self, path: Path, contents: Contents, file: io.FileIO, closing: ExitStack) -> None:
        """Use `open_study` instead.  closing: runs at closing."""
        self.path, self.header, self.keep = path, contents.header, contents.header.keep
        self.seeds, self.points, self.games = contents.seeds, contents.points, contents.games
        self._contents, self._file, self._places, self._closing = contents, file, StudyArrays(file), closing
        self.state = self.array("state")
        self.state[self.state > FAILED] = MISSING

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file and release its lock.  Stored results are already in the file."""
        self._closing.close()

    def __del__(self) -> None:  # callers of `ttt.study(...)` may not close it
        with suppress(AttributeError):
            self.close()

    @property
    def keys(self) -> list[str]:
        """Return the key of each setting."""
        return self._contents.keys

    @property
    def family(self) -> Method:
        """Return the family of all learners."""
        return self._contents.family

    @property
    def provenance(self) -> Mapping[str, str | int | float]:
        """Return the start of the study: time, versions and command."""
        return self.header.provenance

    @cached_property
    def description(self) -> str:
        """Return the study's settings and seeds in TOML."""
        return str(self.array("provenance/design"))

    @cached_property
    def design(self) -> "Design":
        """Return the study's design, with settings and seeds in the order of the file.  Raises StudyFileError."""
        for name in dict.fromkeys(self.array("learner").tolist()) if "learner" in self.header.arrays else ():
            if foreign := foreign_learner(name):
                raise StudyFileError(f"{shown(self.path)}: {foreign}")
        try:
            return parse_description(self.description, shown(self.path)).in_order(self.keys)
        except RunFileError as error:
            raise StudyFileError(f"{shown(self.path)}: {error}") from None

    @property
    def options(self) -> tuple[str, ...]:
        """Return the names of the arrays with the options of each setting."""
        columns = [path for path, place in self.header.arrays.items() if place.axes[:1] == ("setting",)]
        return tuple(path for path in columns if not self.header.arrays[path].results and path not in OTHER_COLUMNS)

    def array(self, path: str) -> NDArray[Any]:
        """Return a whole array from the file, with bytes decoded.  Raises StudyFileError.

        Values of learners that are not done are meaningless.
        """
        with worded_errors(self.path):
            array = self._places.read(self.header.arrays[path])
        # NumPy ignores `errors` without an encoding.
        return np.char.decode(array, "utf-8", errors="replace") if array.dtype.kind == "S" else array

    # --- missing and failed learners -----------------------------------------------------------------------------

    def missing_seeds(self, setting: int) -> NDArray[np.int64]:
        """Return the numbers of a setting's seeds whose learners are not done."""
        return np.flatnonzero(self.state[setting] != DONE)

    @cached_property
    def _reasons(self) -> list[str]:
        """Return the reasons by number, empty where unused.  The writer adds reasons to the list."""
        used = set(np.unique(self.array("reason")[self.state == FAILED]).tolist())
        texts = self.array("provenance/reasons").tolist()
        return [one_line(text) if i in used else "" for i, text in enumerate(texts)]

    def failures(self) -> Iterator[tuple[int, int, str]]:
        """Yield the numbers of setting and seed, and the reason, of every failed learner."""
        numbers, reasons = self.array("reason"), self._reasons
        for i, j in zip(*(found.tolist() for found in np.nonzero(self.state == FAILED)), strict=True):
            yield i, j, (reasons[numbers[i, j]] if numbers[i, j] < REASONS else "") or "unknown"

    @property
    def progress(self) -> dict[str, Any]:
        """Return the notes of the study, such as `ended` and `seconds`, empty if missing or damaged."""
        return self.noted or {}

    @property
    def noted(self) -> dict[str, Any] | None:
        """Return the notes as `progress` does, but None if they are malformed."""
        text = str(self.array("provenance/progress"))
        with suppress(ValueError, RecursionError):
            noted = json.loads(text or "{}", parse_constant=no_constant)
            if not isinstance(noted, dict) or not all(isinstance(value, str | int | float) for value in noted.values()):
                return None
            seconds = noted.get("seconds", 0.0)
            if (
                isinstance(seconds, float)
                and 0.0 <= seconds <= MOST_SECONDS
                and isinstance(noted.get("ended", ""), str)
            ):
                return noted
        return None

    # --- reading ----------------------------------------------------------------------------------------------

    def blocks(self, *, tables: bool = True) -> Iterator[Block]:
        """Yield the results of all learners that are done, in blocks of one kind of setting, in order.

        tables: read the tables, too; otherwise the blocks have no tables.
        """
        contents, arrays, width, read = self._contents, self.header.arrays, self.seeds.size, self._places.read
        for begin, end in contents.alike():
            kind = contents.kinds[contents.kind_of[begin]]
            step = max(1, BLOCK // kind.size)
            for first in range(begin * width, end * width, step):
                count = min(step, end * width - first)
                done = np.flatnonzero(self.state.reshape(-1)[first : first + count] == DONE)
                if not done.size:
                    continue
                own = int(contents.own[first // width]) * width + first % width
                with worded_errors(self.path):
                    sums = read(arrays["checksum"], first, count, 2)[done]
                    found = {n: read(at, first, count, 2)[done, : kind.points] for n, at in kind.statistics.items()}
                    kept = {n: read(at, own, count, 2)[done] for n, at in kind.tables.items()} if tables else {}
                yield Block(kind, *np.divmod(first + done, width), found, kept, sums)

    def sound(self, block: Block) -> NDArray[np.bool_]:
        """Return bool[n]: whether the results of a block's learners match their checksums."""
        expected = self._checksums(block.settings, block.seeds, block.statistics, block.tables)
        return np.equal(expected, block.checksums)

    def _checksums(
        self,
        settings: NDArray[np.int64],
        seeds: NDArray[np.int64],
        statistics: Mapping[str, NDArray[Any]],
        tables: Mapping[str, NDArray[Any]],
    ) -> NDArray[np.uint64]:
        """Compute the checksums of learners with the same arrays."""
        covered = [array for name, array in statistics.items() if name not in MEASURED]
        keys = self._contents.key_bytes[settings].reshape(-1, KEY_BYTES)
        return checksums(keys, self.seeds[seeds], [*covered, *tables.values()])


def open_study(path: str | Path) -> StudyFile:
    """Open a study's file for reading, even while another process writes it.

    Raises StudyFileError for a file that is not a valid study.
    """
    return open_as(StudyFile, path)


def open_as(kind: type[Opened], path: str | Path) -> Opened:
    """Open a study's file as `open_study` does, as a subclass of StudyFile."""
    path = find_run(path)
    with ExitStack() as closing:
        contents, file = opened(path, closing)
        return kind(path, contents, file, closing.pop_all())


def check_derived(study: StudyFile) -> None:
    """Raise Damaged unless a study's file has the arrays that follow from its design."""
    for finding in underived(study):
        raise DamagedStudy(f"{shown(study.path)} cannot continue: {finding}; restore a backup")


def underived(study: StudyFile) -> Iterator[str]:
    """Yield findings about arrays that do not follow from the design.  Raises TttBatchError."""
    arrays = study.header.arrays
    for array in study_layout(study.design, study.description, study.keep):
        place = arrays.get(array.path)
        if place is None and array.path.startswith(GROUPS):
            yield f"{array.path} is missing"
        if place is None or array.path == "provenance/design":
            continue  # an older version may have had fewer
        if array.content is None:
            if (place.dtype, place.shape, place.axes) != (array.dtype, array.shape, array.axes):
                yield f"{array.path} differs in type, shape or axes from its design"
            continue
        found, content = study.array(array.path), array.content
        content = np.char.decode(content, "utf-8") if content.dtype.kind == "S" else content
        if found.shape != content.shape or not ((found == content) | ((found != found) & (content != content))).all():
            yield f"{array.path} differs from its design"
