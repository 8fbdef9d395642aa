"""Reader of study files: opening, validation, design, states of the learners, and results."""

import hashlib
import io
import itertools
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, suppress
from functools import cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ttt_batch.core.console import one_line
from ttt_batch.core.errors import RunFileError, StudyFileError
from ttt_batch.core.files import open_ordinary, shown
from ttt_batch.learners import foreign_learner
from ttt_batch.runs.lookup import find_run
from ttt_batch.runs.options import MAX_GAMES
from ttt_batch.runs.state import MOST_SECONDS
from ttt_batch.runs.storage.container import plain_json
from ttt_batch.runs.storage.declaration import NETWORK_COLUMNS
from ttt_batch.studies.designs.description import parse_description
from ttt_batch.studies.designs.design import MAX_LEARNERS, Design
from ttt_batch.studies.designs.methods import NETWORKS, TABLES, TALLIES, Method
from ttt_batch.studies.storage import header, layout

GROUPS = "tables/"
MEMBERS = "/table_setting"
"""Name of the array with the numbers of the settings of a group of tables."""


class ResultKind(NamedTuple):
    """Settings whose learners have the same arrays.

    points: number of points of each learner.  size: bytes of a learner's results.
    statistics, tables: places of the arrays by name, in the order of checksums, without games.
    """

    points: int
    statistics: Mapping[str, header.Stored]
    tables: Mapping[str, header.Stored]
    size: int


def locked_study(path: Path, closing: ExitStack) -> None:
    """Lock an existing file against other writers until `closing` is closed.  Raises StudyFileError."""
    with header.STUDY_FILE.reading(path):
        open_ordinary(path).close()
        with header.STUDY_FILE.refusing(path):
            closing.enter_context(header.STUDY_FILE.alone(path.resolve()))


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


class StudyFile:
    """Open study.  Close it, or use it in a `with` block.

    path: the file.  header: its header.  keep: the kept tables, of KEEPS.
    keys: keys of the settings, in order.  seeds: int64[seeds].  points: int64[settings], numbers of recorded points.
    games: int64[settings, points], games at the points, 0 after the last one.
    state: uint8[settings, seeds], MISSING, DONE or FAILED at opening, updated by this process.
    family: method of all learners.
    """

    # _kinds: kinds of the settings.  _kind_of: int64[settings], each setting's index in them.
    # _own: int64[settings], index within the setting's group of tables.  _key_bytes: uint8[settings, KEY_BYTES].

    _mode = "r"
    _closing = ExitStack()

    def __init__(self, path: Path, closing: ExitStack | None = None) -> None:
        """Use `open_study` instead.  closing: closed with the file, or if opening fails.  Raises StudyFileError."""
        self.path, name = path, shown(path)
        with closing or ExitStack() as stack, header.STUDY_FILE.reading(path):
            open_ordinary(path).close()
            self._file = stack.enter_context(io.FileIO(path, self._mode))
            self.header = header.read_header(name, self._file, os.fstat(self._file.fileno()).st_size)
            header.STUDY_FILE.check_digest(name, self.header.digest, partial(header.digest_of, self._file, self.header))
            self.keep, self._places = self.header.keep, header.StudyArrays(self._file)
            self._read_contents()
            self.state = self.array("state")
            self.state[self.state > layout.FAILED] = layout.MISSING
            self._closing = stack.pop_all()

    def hdf5(self) -> AbstractContextManager[Mapping[str, Any]]:
        """Return an `h5py.File` of the opened file.  Its path may name another one by now, if a study goes on in it."""
        import h5py

        file: AbstractContextManager[Mapping[str, Any]] = h5py.File(self._file, "r")
        return file

    def _read_contents(self) -> None:
        """Read and check what never changes.  Raises DamagedStudy if the header is not a study's despite its digest."""
        arrays = self.header.arrays
        judged = {name for columns in TABLES.columns.values() for name in columns}
        self.family: Method = TALLIES if judged.isdisjoint(arrays) else TABLES
        if NETWORK_COLUMNS[0] in arrays:
            self.family = NETWORKS
        try:
            self._check_arrays()
            fixed = {path: self._places.read(arrays[path]) for path in ("seed", "key", "points", "games", "growing")}
            self.seeds, self.points, self.games = fixed["seed"], fixed["points"], fixed["games"]
            self.keys = [key.decode("ascii", "replace") for key in fixed["key"].tolist()]
            form = re.compile(f"[0-9a-f]{{{2 * header.KEY_BYTES}}}")
            if not all(map(form.fullmatch, self.keys)) or len(set(self.keys)) < len(self.keys):
                raise ValueError("its keys are not those of settings")
            self._key_bytes = np.array([list(bytes.fromhex(key)) for key in self.keys], np.uint8)
            if self.points.min() < 1 or self.points.max() > self.games.shape[1]:
                raise ValueError("its settings have another number of points")
            own = np.arange(self.games.shape[1]) < self.points[:, None]
            rises = np.diff(np.clip(self.games, 0, MAX_GAMES), axis=1, prepend=0)
            if not np.where(own, rises > 0, self.games == 0).all() or self.games.min() < 0:
                raise ValueError("the games at its points do not ascend")
            self._find_kinds(fixed["growing"])
        except (ValueError, TypeError, KeyError) as exc:
            why = f"{exc.args[0]} is missing" if isinstance(exc, KeyError) else str(exc)
            raise header.DamagedStudy(
                f"{shown(self.path)} is not a valid study: {why}; use a file as a study wrote it"
            ) from None

    def _check_arrays(self) -> None:
        """Raise ValueError or KeyError unless all declared arrays are present as declared."""
        arrays = self.header.arrays
        if self.header.keep not in layout.KEEPS:
            raise ValueError(f"unknown choice of kept tables {self.header.keep[:20]!r}")
        learner = "setting", "seed"
        if arrays["setting"].nbytes() // 8 * (arrays["seed"].nbytes() // 8) > MAX_LEARNERS:
            raise ValueError(f"it has more than {MAX_LEARNERS:,} learners")
        expected = {
            **{path: ("int64", (path,)) for path in ("setting", "seed", "point")},
            "points": ("int64", ("setting",)),
            "growing": ("bool", ("setting",)),
            "key": ("S16", ("setting",)),
            "state": ("uint8", learner),
            "reason": ("uint16", learner),
            "checksum": ("uint64", learner),
            **{
                name: (field.dtype, (*learner, *layout.statistic_axes(field)))
                for name, field in layout.STATISTICS.items()
            },
            "games": ("int64", ("setting", "point")),
            "provenance/failure": ("int64", ("failure",)),
            "provenance/reasons": (f"S{layout.REASON_BYTES}", ("failure",)),
            "provenance/progress": (f"S{layout.PROGRESS_BYTES}", ()),
        }
        if self.family is NETWORKS:
            expected["prove_every"] = "int64", ("setting",)
            expected[layout.COLUMNS["seat"]] = arrays[layout.COLUMNS["seat"]].dtype.str, ("setting",)
        for path, (dtype, axes) in expected.items():
            if path in layout.STATISTICS and path not in layout.ALWAYS and path not in arrays:
                continue
            if arrays[path].dtype != np.dtype(dtype).newbyteorder("<") or arrays[path].axes != axes:
                raise ValueError(f"{path} has another type or other axes")
        for axis, labels in layout.LABELS.items():
            if arrays[axis].shape != (len(labels),):
                raise ValueError(f"axis {axis} has another length")
        if not arrays["provenance/reasons"].shape == (layout.REASONS,) or arrays["provenance/design"].dtype.kind != "S":
            raise ValueError("its provenance has another form")

    def _find_kinds(self, growing: NDArray[np.bool_]) -> None:
        """Find the kinds of the settings from the groups of settings with the same arrays."""
        arrays, settings = self.header.arrays, len(self.keys)
        groups = [path.removesuffix(MEMBERS) for path in arrays if path.startswith(GROUPS) and path.endswith(MEMBERS)]
        group, self._own = np.full(settings, -1), np.zeros(settings, np.int64)
        for number, name in enumerate(groups):
            members = self._places.read(arrays[name + MEMBERS])
            inside = members.dtype == np.int64 and ((members >= 0) & (members < settings)).all()
            if not inside or (np.diff(members) < 1).any():
                raise ValueError(f"{name} has other settings")
            group[members], self._own[members] = number, np.arange(members.size)
        if self.header.keep == layout.LAST and group.min() < 0:
            raise ValueError("some settings have no tables")
        rows = np.stack([self.points, growing.astype(np.int64), group], axis=1)
        distinct, kind_of = np.unique(rows, axis=0, return_inverse=True)
        self._kind_of = kind_of.reshape(-1).astype(np.int64)
        self._kinds = [self._kind(n, bool(grows), [*groups, ""][at]) for n, grows, at in distinct.tolist()]

    def _kind(self, points: int, growing: bool, group: str) -> ResultKind:
        """Return the kind with these arrays.  group: of its tables, or empty.  Raises KeyError or ValueError."""
        arrays = self.header.arrays
        recorded = {*layout.ALWAYS, *self.family.columns[not growing]} - {"games"}
        statistics = {name: arrays[name] for name in layout.STATISTICS if name in recorded}
        own = {path: place for path, place in arrays.items() if place.results and path.rpartition("/")[0] == group}
        tables = {path.removeprefix(f"{group}/"): place for path, place in own.items()} if group else {}
        if any(place.axes[:2] != ("table_setting", "seed") for place in tables.values()):
            raise ValueError(f"{group} holds more than tables")
        size = sum(place.nbytes(2) for place in (*statistics.values(), *tables.values()))
        return ResultKind(points, statistics, tables, size)

    def __enter__(self) -> Self:
        return self

    def close(self, *_: object) -> None:
        """Close the file and release its lock.  Stored results are already in the file."""
        self._closing.close()

    __exit__ = __del__ = close  # callers of `ttt.study(...)` may not close it

    @property
    def provenance(self) -> Mapping[str, str | int | float]:
        """Return the start of the study: time, versions and command."""
        return self.header.provenance

    @cached_property
    def description(self) -> str:
        """Return the study's settings and seeds in TOML."""
        return str(self.array("provenance/design"))

    @cached_property
    def design(self) -> Design:
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
        return tuple(
            path for path in columns if not self.header.arrays[path].results and path not in layout.OTHER_COLUMNS
        )

    def array(self, path: str) -> NDArray[Any]:
        """Return a whole array from the file, with bytes decoded.  Raises StudyFileError.

        Values of learners that are not done are meaningless.
        """
        with header.STUDY_FILE.reading(self.path):
            array = self._places.read(self.header.arrays[path])
        # NumPy ignores `errors` without an encoding.
        return np.char.decode(array, "utf-8", errors="replace") if array.dtype.kind == "S" else array

    # --- missing and failed learners -----------------------------------------------------------------------------

    @cached_property
    def _reasons(self) -> list[str]:
        """Return the reasons by number, empty where unused.  The writer adds reasons to the list."""
        used = set(np.unique(self.array("reason")[self.state == layout.FAILED]).tolist())
        texts = self.array("provenance/reasons").tolist()
        return [one_line(text) if i in used else "" for i, text in enumerate(texts)]

    def failures(self) -> Iterator[tuple[int, int, str]]:
        """Yield the numbers of setting and seed, and the reason, of every failed learner."""
        numbers, reasons = self.array("reason"), self._reasons
        for i, j in zip(*(found.tolist() for found in np.nonzero(self.state == layout.FAILED)), strict=True):
            yield i, j, (reasons[numbers[i, j]] if numbers[i, j] < layout.REASONS else "") or "unknown"

    @property
    def progress(self) -> dict[str, Any]:
        """Return the notes of the study, such as `ended` and `seconds`, empty if missing or damaged."""
        with suppress(ValueError, RecursionError):
            noted = plain_json(str(self.array("provenance/progress")) or "{}")
            if isinstance(noted, dict) and all(isinstance(value, str | int | float) for value in noted.values()):
                seconds, ended = noted.get("seconds", 0.0), noted.get("ended", "")
                if isinstance(seconds, float) and 0.0 <= seconds <= MOST_SECONDS and isinstance(ended, str):
                    return noted
        return {}

    # --- reading ----------------------------------------------------------------------------------------------

    def blocks(self, first: int = 0, last: int | None = None, *, tables: bool = True) -> Iterator[Block]:
        """Yield the results of all learners that are done, in blocks of one kind of setting, in order.

        first, last: numbers of the first setting, and of the one behind the last, by default all.
        tables: read the tables, too; otherwise the blocks have no tables.
        """
        arrays, width, read = self.header.arrays, self.seeds.size, self._places.read
        kinds = self._kind_of[first:last]
        changes = np.flatnonzero(np.diff(kinds)) + first + 1
        for begin, end in itertools.pairwise([first, *changes.tolist(), first + kinds.size]):
            kind = self._kinds[self._kind_of[begin]]
            step = max(1, BLOCK // kind.size)
            for learner in range(begin * width, end * width, step):
                count = min(step, end * width - learner)
                done = np.flatnonzero(self.state.reshape(-1)[learner : learner + count] == layout.DONE)
                if not done.size:
                    continue
                own = int(self._own[learner // width]) * width + learner % width
                with header.STUDY_FILE.reading(self.path):
                    sums = read(arrays["checksum"], learner, count, 2)[done]
                    found = {n: read(at, learner, count, 2)[done, : kind.points] for n, at in kind.statistics.items()}
                    kept = {n: read(at, own, count, 2)[done] for n, at in kind.tables.items()} if tables else {}
                yield Block(kind, *np.divmod(learner + done, width), found, kept, sums)

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
        """Return the 64-bit BLAKE2b of key, seed and results of each of n learners with the same arrays."""
        covered = [array for name, array in statistics.items() if name not in layout.MEASURED]
        parts = [self._key_bytes[settings], self.seeds[seeds].astype("<i8"), *covered, *tables.values()]
        rows = [np.ascontiguousarray(part).reshape(seeds.size, -1).view(np.uint8) for part in parts]
        digests = [hashlib.blake2b(row, digest_size=8).digest() for row in np.concatenate(rows, axis=1)]
        return np.frombuffer(b"".join(digests), "<u8").astype(np.uint64)


def open_study(path: str | Path) -> StudyFile:
    """Open a study's file for reading, even while another process writes it.

    Raises StudyFileError for a file that is not a valid study.
    """
    return StudyFile(find_run(path))


def check_derived(study: StudyFile) -> None:
    """Raise DamagedStudy unless a study's file has the arrays that follow from its design."""
    for finding in underived(study):
        raise header.DamagedStudy(f"{shown(study.path)} cannot continue: {finding}; restore a backup")


def underived(study: StudyFile) -> Iterator[str]:
    """Yield findings about arrays that do not follow from the design.  Raises TttBatchError."""
    arrays = study.header.arrays
    for array in layout.study_layout(study.design, study.description, study.keep):
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
