"""Validated constant contents of a study's file: seeds, keys, points, and the arrays of each setting."""

import itertools
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_batch.runs.batches import MAX_GAMES
from ttt_batch.runs.runfile.declaration import NETWORK_COLUMNS
from ttt_batch.studies.designs.design import MAX_LEARNERS
from ttt_batch.studies.designs.family import Method
from ttt_batch.studies.designs.networks import NETWORKS
from ttt_batch.studies.designs.tables import TABLES
from ttt_batch.studies.designs.tallies import TALLIES
from ttt_batch.studies.storage.declared import (
    ALWAYS,
    COLUMNS,
    KEEPS,
    LABELS,
    LAST,
    PROGRESS_BYTES,
    REASON_BYTES,
    REASONS,
    STATISTICS,
    statistic_axes,
)
from ttt_batch.studies.storage.header import DamagedStudy, Stored, StudyHeader
from ttt_batch.studies.storage.places import KEY_BYTES, StudyArrays

GROUPS = "tables/"
MEMBERS = "/table_setting"
"""Name of the array with the numbers of the settings of a group of tables."""


class ResultKind(NamedTuple):
    """Settings whose learners have the same arrays.

    points: number of points of each learner.  size: bytes of a learner's results.
    statistics, tables: places of the arrays by name, in the order of checksums, without games.
    """

    points: int
    statistics: Mapping[str, Stored]
    tables: Mapping[str, Stored]
    size: int


class Contents:
    """Constant contents of a study's file.

    seeds: int64[seeds].  keys: keys of the settings.  key_bytes: uint8[settings, KEY_BYTES], the same keys.
    points: int64[settings].  games: int64[settings, points].
    kinds: kinds of the settings.  kind_of: int64[settings], each setting's index in `kinds`.
    own: int64[settings], index within the setting's group of tables.  family: family of all learners.
    """

    def __init__(self, name: str, header: StudyHeader, places: StudyArrays) -> None:
        """Read and check the contents.  Raises Damaged if the header, despite its correct digest, is not a study's."""
        self.header = header
        self.family = _family_of(header.arrays)
        try:
            self._check()
            fixed = {path: places.read(header.arrays[path]) for path in ("seed", "key", "points", "games", "growing")}
            self.seeds, self.points, self.games = fixed["seed"], fixed["points"], fixed["games"]
            self.keys = [key.decode("ascii", "replace") for key in fixed["key"].tolist()]
            if not all(re.fullmatch(f"[0-9a-f]{{{2 * KEY_BYTES}}}", key) for key in self.keys):
                raise ValueError("its keys are not those of settings")
            self.key_bytes = np.array([list(bytes.fromhex(key)) for key in self.keys], np.uint8)
            if self.key_bytes.shape != (len(self.keys), KEY_BYTES) or len(set(self.keys)) < len(self.keys):
                raise ValueError("its keys are not those of settings")
            if self.points.min() < 1 or self.points.max() > self.games.shape[1]:
                raise ValueError("its settings have another number of points")
            own = np.arange(self.games.shape[1]) < self.points[:, None]
            rises = np.diff(np.clip(self.games, 0, MAX_GAMES), axis=1, prepend=0)
            if not np.where(own, rises > 0, self.games == 0).all() or self.games.min() < 0:
                raise ValueError("the games at its points do not ascend")
            self._find_kinds(fixed["growing"], places)
        except (ValueError, TypeError, KeyError) as exc:
            why = f"{exc.args[0]} is missing" if isinstance(exc, KeyError) else str(exc)
            raise DamagedStudy(f"{name} is not a valid study: {why}; use a file as a study wrote it") from None

    def _check(self) -> None:
        """Raise ValueError or KeyError unless all declared arrays are present as declared."""
        arrays = self.header.arrays
        if self.header.keep not in KEEPS:
            raise ValueError(f"unknown choice of kept tables {self.header.keep[:20]!r}")
        learner = "setting", "seed"
        if arrays["setting"].nbytes // 8 * (arrays["seed"].nbytes // 8) > MAX_LEARNERS:
            raise ValueError(f"it has more than {MAX_LEARNERS:,} learners")
        expected = {
            **{path: ("int64", (path,)) for path in ("setting", "seed", "point")},
            "points": ("int64", ("setting",)),
            "growing": ("bool", ("setting",)),
            "key": ("S16", ("setting",)),
            **{name: (kind, learner) for name, kind in _STATES},
            **{name: (field.dtype, (*learner, *statistic_axes(field))) for name, field in STATISTICS.items()},
            **{f"provenance/{name}": kind for name, kind in _PROVENANCE},
        }
        expected["games"] = "int64", ("setting", "point")
        if self.family is NETWORKS:
            expected["prove_every"] = "int64", ("setting",)
            expected[COLUMNS["seat"]] = arrays[COLUMNS["seat"]].dtype.str, ("setting",)
        for path, (dtype, axes) in expected.items():
            if path in STATISTICS and path not in ALWAYS and path not in arrays:
                continue
            if arrays[path].dtype != np.dtype(dtype).newbyteorder("<") or arrays[path].axes != axes:
                raise ValueError(f"{path} has another type or other axes")
        for axis, labels in LABELS.items():
            if arrays[axis].shape != (len(labels),):
                raise ValueError(f"axis {axis} has another length")
        if not arrays["provenance/reasons"].shape == (REASONS,) or arrays["provenance/design"].dtype.kind != "S":
            raise ValueError("its provenance has another form")

    def _find_kinds(self, growing: NDArray[np.bool_], places: StudyArrays) -> None:
        """Set `kinds`, `kind_of` and `own` from the groups of settings with the same arrays."""
        arrays, settings = self.header.arrays, len(self.keys)
        groups = [path.removesuffix(MEMBERS) for path in arrays if path.startswith(GROUPS) and path.endswith(MEMBERS)]
        group, self.own = np.full(settings, -1), np.zeros(settings, np.int64)
        for number, name in enumerate(groups):
            members = places.read(arrays[name + MEMBERS])
            if (
                members.dtype != np.int64
                or members.min() < 0
                or members.max() >= settings
                or (np.diff(members) < 1).any()
            ):
                raise ValueError(f"{name} has other settings")
            group[members], self.own[members] = number, np.arange(members.size)
        if self.header.keep == LAST and group.min() < 0:
            raise ValueError("some settings have no tables")
        rows = np.stack([self.points, growing.astype(np.int64), group], axis=1)
        distinct, kind_of = np.unique(rows, axis=0, return_inverse=True)
        self.kind_of = kind_of.reshape(-1).astype(np.int64)
        self.kinds = [self._kind(n, bool(grows), [*groups, ""][at]) for n, grows, at in distinct.tolist()]

    def _kind(self, points: int, growing: bool, group: str) -> ResultKind:
        """Return the kind with these arrays.  group: of its tables, or empty.  Raises KeyError or ValueError."""
        arrays = self.header.arrays
        recorded = {*ALWAYS, *self.family.columns(exact=not growing)} - {"games"}
        statistics = {name: arrays[name] for name in STATISTICS if name in recorded}
        own = {path: place for path, place in arrays.items() if place.results and path.rpartition("/")[0] == group}
        tables = {path.removeprefix(f"{group}/"): place for path, place in own.items()} if group else {}
        if any(place.axes[:2] != ("table_setting", "seed") for place in tables.values()):
            raise ValueError(f"{group} holds more than tables")
        places = [*statistics.values(), *tables.values()]
        size = sum(place._replace(shape=place.shape[2:]).nbytes for place in places)
        return ResultKind(points, statistics, tables, size)

    def alike(self) -> Iterator[tuple[int, int]]:
        """Yield begin and end of each run of successive settings of one kind."""
        changes = np.flatnonzero(np.diff(self.kind_of)) + 1
        yield from itertools.pairwise([0, *changes.tolist(), self.kind_of.size])

    def checked(
        self,
        kind: ResultKind,
        settings: NDArray[np.int64],
        statistics: Mapping[str, NDArray[Any]],
        tables: Mapping[str, NDArray[Any]],
    ) -> tuple[dict[str, NDArray[Any]], dict[str, NDArray[Any]]]:
        """Return the results of learners of one kind in stored form, with only their own points and without games.

        Raises ValueError for arrays that such learners lack.
        """
        own, n, most = kind.points, settings.size, self.games.shape[1]
        given = dict(statistics)
        games = given.pop("games", None)
        if games is not None and not np.array_equal(games[:, :own], self.games[settings, :own]):
            raise ValueError(f"games are not those of the points that settings {settings[:5]} record")
        if given.keys() != kind.statistics.keys() or tables.keys() != kind.tables.keys():
            raise ValueError(f"got {[*given, *tables]}, expected {[*kind.statistics, *kind.tables]}")
        return (
            {
                name: _fitting(name, given[name], place, (n, own, *place.shape[3:]), (n, most, *place.shape[3:]))[
                    :, :own
                ]
                for name, place in kind.statistics.items()
            },
            {name: _fitting(name, tables[name], place, (n, *place.shape[2:])) for name, place in kind.tables.items()},
        )

    def padded(self, array: NDArray[Any]) -> NDArray[Any]:
        """Return a statistic [n, points, ...] in C order, padded to the most points with NaN, or 0 for integers."""
        most = self.games.shape[1]
        if array.shape[1] == most:
            return np.ascontiguousarray(array)
        padded = np.full(
            (array.shape[0], most, *array.shape[2:]), np.nan if array.dtype.kind == "f" else 0, array.dtype
        )
        padded[:, : array.shape[1]] = array
        return padded


def _family_of(paths: Collection[str]) -> Method:
    """Return the family whose statistics are present."""
    if NETWORK_COLUMNS[0] in paths:
        return NETWORKS
    judged = {name for exact in (True, False) for name in TABLES.columns(exact=exact)}
    return TALLIES if judged.isdisjoint(paths) else TABLES


_STATES = (("state", "uint8"), ("reason", "uint16"), ("checksum", "uint64"))
_PROVENANCE = (
    ("failure", ("int64", ("failure",))),
    ("reasons", (f"S{REASON_BYTES}", ("failure",))),
    ("progress", (f"S{PROGRESS_BYTES}", ())),
)


def _fitting(name: str, array: NDArray[Any], place: Stored, *shapes: tuple[int, ...]) -> NDArray[Any]:
    """Return an array in stored form.  Raises ValueError unless it has the stored type and one of these shapes."""
    if array.dtype != place.dtype or array.shape not in shapes:
        raise ValueError(f"{name} is {array.dtype} of shape {array.shape}, expected {place.dtype} of shape {shapes[0]}")
    return array.astype(place.dtype, copy=False)
