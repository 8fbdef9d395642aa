"""Declaration of the run file format, its printed documentation, and checks of a run's data.

Dtypes and shapes are checked on writing and on reading.  Values are checked on reading only, so that a run of many
hours is never lost because of an invalid value.
"""

import math
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_batch.core.text import count_text
from ttt_batch.runs.options import LARGEST
from ttt_batch.runs.state import MOST_SECONDS
from ttt_batch.runs.storage.container import FILE_TYPE, USER_BLOCK, Invalid, parse_version, version_text

FORMAT = (1, 5)
"""Major and minor version of the format; a reader opens every minor version of its own major version.

1.0: tables, statistics and configuration.  1.1: data for resuming.  1.2: boards too large to enumerate, without exact
results.  1.3: pattern networks, which have no positions.  1.4: options of some learners only.  1.5: boxes of beads,
with moves that resign, and the tables at recorded points.
Each new version adds a file `data/run-MAJOR.MINOR.h5`, which all later versions must open.
"""

RESUME, POINTS = "resume", "points"
"""Groups of the tables before the batch within which a run ends, and at recorded points, by their names in `tables`.

A batch is played with the tables at its start, so only runs that end within one need them for resuming.  Only runs that
were trained with the option to keep them have tables at recorded points.
"""

GROUPS = {
    **dict.fromkeys(("progress", "provenance", "states", "statistics", "tables"), (1, 0)),
    RESUME: (1, 1),
    POINTS: (1, 5),
}
"""Groups of the file, in the order of writing, and the first version with each; none of version 1.0 may be absent."""

ARRAYS = ("progress", "states", "statistics", "tables", RESUME, POINTS)
"""Groups with datasets, in the order of writing and reading."""

TABLE_DTYPES = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float32", "float64"),
)

TABLE_UNIT = "the learner's own scale"

AXES = {
    "S": "rows (positions)",
    "U": "unfinished rows",
    "E": "edges (moves), grouped by row",
    "P": "players: first, second",
    "T": "recorded points",
    "K": "recorded points whose tables are kept",
    "M": "weights of pattern networks that games have used",
    "L": "lost games",
}


class Field(NamedTuple):
    """Declaration of a dataset.

    group, name: make up its path in the file.  dtype: a NumPy name; data is stored little-endian.
    axes: letters, "U+1" or numbers, separated by commas; empty for a single number.
    optional: the dataset may be absent.
    since: the first format version with it; older files are read without it.  least, most: the range of its values.
    """

    group: str
    name: str
    dtype: str
    axes: str
    unit: str
    meaning: str
    optional: bool = False
    since: tuple[int, int] = (1, 0)
    least: float = -math.inf
    most: float = math.inf

    @property
    def path(self) -> str:
        """Return the dataset's path in the file."""
        return f"{self.group}/{self.name}"


_FIELDS = """
progress/games           | int64          | 0..   | games       |     | games learnt from
progress/goal            | int64          | 0..   | games       | 1.1 | games asked for, to which a resumed run goes on
progress/batch_games     | int64          |       | games       | 1.1 | games before the batch within which the run
    ends; the tables of then stand in resume/
progress/batch_outcomes  | int64[3]       |       | games       | 1.1 | first wins, draws, second wins in these games
progress/batch_positions | int64[2]       |       | positions   | 1.2 | unfinished and final positions with rows before
    that batch, on boards too large to enumerate
progress/point_games     | int64[K]       | 0..   | games       | 1.5 | games at the recorded points whose tables stand
    in points/
states/code              | int64[S]       |       |             | 1.0 | base-3 code of the position; -1 and -2: a
    player has forfeited; -3 to -6: all positions without a row
states/outcome           | int8[S]        | 0..3  |             | 1.0 | 0 unfinished, 1 first player wins, 2 second
    player wins, 3 draw
states/first_edge        | int32[U+1]     |       | edges       | 1.0 | edges of row r: first_edge[r] to
    first_edge[r+1]-1
states/cell              | int8[E]        | 0..   |             | 1.0 | cell that the move marks, row by row from the
    top left; the number of cells: it resigns
statistics/games         | int64[T]       |       | games       |     | games learnt from at the point
statistics/seconds       | float64[T]     |       | s           |     | wall clock since the start; informative only
statistics/outcomes      | int64[T,3]     |       | games       |     | first wins, draws, second wins in play so far
statistics/unbeatable    | bool[T,P]      |       |             | 1.0 | no opponent and no tie-break beats the agent in
    that seat
statistics/worst         | int8[T,P]      | -1..1 | result      | 1.0 | worst result from that seat: 1 win, 0 draw, -1
    loss
statistics/self_play     | float64[T,3]   | 0..1  | probability | 1.0 | exact: first wins, draw, second wins in greedy
    self-play
statistics/versus_random | float64[T,P,3] | 0..1  | probability | 1.0 | exact: win, draw, loss of the agent in that
    seat against uniformly random play
statistics/best_response | float64[T,P]   | -1..1 | result      | 1.0 | what the best opponent gets on average (its
    wins - losses) against the agent in that seat, which breaks ties in its own way
statistics/optimal_share | float64[T,P]   | 0..1  | share       | 1.0 | share of the positions reachable in that seat
    in which every move the agent may pick keeps the game's value
statistics/value_error   | float64[T,P]   |       | own scale   | 1.0 | mean distance of the table's values from the
    truth; NaN where it has none
statistics/positions     | int64[T]       |       | positions   | 1.2 | positions with a row of their own, on boards
    too large to enumerate
statistics/proof         | int8[T,P]      | -1..1 | verdict     | 1.3 | of pattern networks in that seat: 1 proved, -1
    refuted, 0 undecided or not tried
statistics/proof_positions | int64[T,P]   | 0..   | positions   | 1.3 | that the proof entered
"""
"""A field in each line: path, dtype and axes, range, unit, first version with it if optional, meaning."""


def _declared(row: str) -> Field:
    """Return the declaration in a line of `_FIELDS`."""
    path, kind, limits, unit, since, meaning = (cell.strip() for cell in row.split("|"))
    group, _, name = path.partition("/")
    dtype, _, axes = kind.rstrip("]").partition("[")
    least, _, most = limits.partition("..")
    unit = TABLE_UNIT if unit == "own scale" else unit
    first = parse_version(since) or (1, 0)
    limit = float(least or -math.inf), float(most or math.inf)
    return Field(group, name, dtype, axes, unit, meaning, bool(since), first, *limit)


FIELDS = tuple(map(_declared, _FIELDS.replace("\n    ", " ").strip().splitlines()))
"""Declarations of all fixed datasets.  A learner's tables are declared by their own attributes."""

EXACT_COLUMNS = ("unbeatable", "worst", "self_play", "versus_random", "best_response", "optimal_share", "value_error")
"""Statistics that need all positions of a board; a run has them only if its board is enumerated."""

NETWORK_COLUMNS = ("proof", "proof_positions")
"""Statistics of pattern networks."""

_BY_GROUP = {
    group: {field.name: field for field in FIELDS if field.group == group}
    for group in ("progress", "states", "statistics")
}
"""Declarations by group and name."""


def format_documentation() -> str:
    """Return the run file's format as text, from its declaration."""
    lines = [
        f"{FILE_TYPE}, format {version_text(FORMAT)}",
        "",
        f"HDF5 after a {USER_BLOCK}-byte header of text: the line above, the SHA-256 digest of everything",
        "after the text, and the length of the whole file.  HDF5 libraries skip the text automatically.",
        "",
        "Attributes of the root:",
        f'  file_type       "{FILE_TYPE}"',
        '  format_version  "major.minor"; a newer minor version only adds',
        "  config          all settings that determine the result, as JSON with sorted keys and no spaces",
        "  config_hash     SHA-256 of config",
        "Attributes of the group provenance: the run's origin, which affects no result.",
        "",
        "Axes: " + "; ".join(f"{letter} {meaning}" for letter, meaning in AXES.items()) + ".",
        "Every dataset has attributes `axes`, `unit` and `meaning`.  All text is UTF-8 of fixed length, which h5py",
        "shows as bytes.  Arrays are stored contiguously, without chunks or compression.",
        "",
    ]
    tables = (
        ("tables", "any", "one for each table of the learner; attributes describe it", False),
        (RESUME, "any", "the table before the batch within which the run ends", True),
        (POINTS, "K,any", "the table at each of these recorded points", True),
    )
    learnt = (
        Field(group, "NAME", "any", axes, TABLE_UNIT, meaning, optional, GROUPS[group])
        for group, axes, meaning, optional in tables
    )
    for field in (*FIELDS, *learnt):
        kind = f"{field.dtype}[{field.axes}]" if field.axes else field.dtype
        extra = f" [{field.unit}]" if field.unit else ""
        if field.optional:
            why = "may be absent"
            if field.group == "states":
                why = "of tables of positions" if field.name in ("code", "outcome") else "with action tables only"
            elif field.since == (1, 3):
                why = "of pattern networks"
            exact = field.group == "statistics" and field.name in EXACT_COLUMNS
            extra += " (on enumerated boards)" if exact else f" ({why})"
        if field.since > (1, 0):
            extra += f" (since format {version_text(field.since)})"
        lines.append(f"  {field.path:<25} {kind:<15} {field.meaning}{extra}")
    return "\n".join(lines) + "\n"


def format_information() -> dict[str, Any]:
    """Return the run file's format as plain values, from its declaration."""
    names = ("path", "dtype", "axes", "unit", "meaning", "optional")
    fields = [
        {**{name: getattr(field, name) for name in names}, "since": version_text(field.since)} for field in FIELDS
    ]
    return {
        "file_type": FILE_TYPE,
        "version": version_text(FORMAT),
        "user_block": USER_BLOCK,
        "axes": AXES,
        "datasets": fields,
        "table_dtypes": list(TABLE_DTYPES),
    }


TOLERANCE = 1e-6
"""Allowed difference of results.  Processors round differently, but by far less."""

_AMOUNTS = ("seconds", "threads", "parent_games", "positions_without_room")
"""Numeric entries of the provenance that are checked; all others are informative only."""

_ASCENDING = (
    ("games", 1, "does not ascend"),
    ("seconds", 0, "does not ascend from 0"),
    ("outcomes", 0, "holds a count below 0, or one that falls"),
    ("positions", 0, "holds a count below 0, or one that falls"),
)
"""Statistics that never fall: name, least increase from point to point, and the finding for other data."""


@dataclass(eq=False)
class RunData:
    """Content of one run file.

    config: all settings that determine the result, as JSON values without NaN.  Reading returns tuples as lists.
    games: games learnt from.
    states, statistics, progress: the arrays that `FIELDS` declares in these groups, by name, except progress/games.
    tables: name -> array of bool, integers or floats.
    table_fields: name -> (axes such as "P,S", meaning), one for each table.
    provenance: the run's origin (creation time, command, versions, seconds), which affects no result.  Bytes that are
        not text are written as escapes.
    resume: the tables before the batch within which the run ends, by their names in `tables`; else empty.
    points: the tables at the recorded points of progress/point_games, by their names in `tables`, if they are kept.
    notes: lines for the user, for example that a newer version wrote the file; added on reading, never written.
    version: the format's major and minor version; writing always uses `FORMAT`.
    size: size in bytes of the file that the run was read from, or 0.
    """

    config: dict[str, Any]
    games: int
    states: dict[str, NDArray[Any]]
    tables: dict[str, NDArray[Any]]
    table_fields: dict[str, tuple[str, str]]
    statistics: dict[str, NDArray[Any]]
    provenance: dict[str, str | int | float]
    notes: tuple[str, ...] = ()
    progress: dict[str, NDArray[Any]] = dataclass_field(default_factory=dict)
    resume: dict[str, NDArray[Any]] = dataclass_field(default_factory=dict)
    points: dict[str, NDArray[Any]] = dataclass_field(default_factory=dict)
    version: tuple[int, int] = FORMAT
    size: int = 0

    @property
    def groups(self) -> dict[str, dict[str, NDArray[Any]]]:
        """Return the arrays of each group in `ARRAYS`, by name."""
        groups = {group: getattr(self, group) for group in ARRAYS}
        return groups | {"progress": {**self.progress, "games": np.asarray(self.games)}}


@dataclass
class Checker:
    """Checker of a file's datasets against their declarations, in the order of `ARRAYS`.

    version: format version of the file.  tables: declarations of the tables seen so far.
    """

    version: tuple[int, int] = FORMAT
    tables: dict[str, Field] = dataclass_field(default_factory=dict)
    _sizes: dict[str, int] = dataclass_field(default_factory=lambda: {"P": 2})

    def expected(self, group: str, names: Collection[str]) -> tuple[list[str], list[str]]:
        """Return the names that the format knows, in the order of the declaration (tables by name), and findings.

        The findings are about missing datasets and, unless `version` is newer than ours, about unknown ones.
        """
        declared, present = _BY_GROUP.get(group, {}), set(names)
        needed = {name for name, field in declared.items() if not field.optional and field.since <= self.version}
        if group == "statistics" and present & set(EXACT_COLUMNS):
            needed |= set(EXACT_COLUMNS)
        if group == "states" and names:  # pattern networks have none
            needed |= {"code", "outcome"}
        found = [f"{group}/{name} is missing" for name in sorted(needed - present)]
        if declared and self.version <= FORMAT:
            known = {name for name, field in declared.items() if field.since <= self.version}
            found += [f"{group}/{name[:40]} is not part of the format" for name in sorted(present - known)]
        if group == "states" and ("first_edge" in names) != ("cell" in names):
            found.append("states has only one of first_edge and cell; action tables need both")
        return [name for name in _BY_GROUP.get(group, sorted(names)) if name in names], found

    def declaration(self, group: str, name: str, array: Any, label: Callable[[str], Any]) -> Field:
        """Return the declaration of a dataset.  Raises Invalid unless its dtype and shape match.

        The first use of an axis sets its length.
        array: anything with dtype and shape.  label: returns the `axes` and the `meaning` of a learner's table.
        """
        if group == "tables":
            field = self.tables[name] = _table_field(name, array.dtype, label("axes"), label("meaning"))
        elif group in _BY_GROUP:
            field = _BY_GROUP[group][name]
        elif name in self.tables:
            axes = self.tables[name].axes
            field = self.tables[name]._replace(group=group, axes=f"K,{axes}".rstrip(",") if group == POINTS else axes)
        else:
            raise Invalid(f"{group}/{name[:40]} has no table of this name")
        if array.shape is None:
            raise Invalid(f"{field.path} has no shape")
        if array.dtype != np.dtype(field.dtype).newbyteorder("<"):
            raise Invalid(f"{field.path} holds {array.dtype}, it must hold {field.dtype}")
        letters = field.axes.split(",") if field.axes else []
        if len(array.shape) != len(letters):
            must = f"it must have {len(letters)} ({field.axes or 'one number'})"
            raise Invalid(f"{field.path} has {len(array.shape)} axes, {must}")
        for axis, length in zip(letters, array.shape, strict=True):
            match = re.fullmatch(r"([A-Z])(\+1)?|([0-9]{1,9})", axis)
            if match is None or (match[1] and match[1] not in AXES):
                known = f"known are {', '.join(AXES)} and numbers"
                raise Invalid(f"{field.path} has the unknown axis {axis[:20]!r}; {known}")
            more = 1 if match[2] else 0
            expected = int(match[3]) if match[3] else self._sizes.setdefault(match[1], max(length - more, 0)) + more
            if length != expected:
                raise Invalid(f"{field.path} has length {length} along axis {axis}, it must have {expected}")
        return field


def _table_field(name: str, dtype: Any, axes: Any, meaning: Any) -> Field:
    """Return the declaration of a learner's table.  Raises Invalid for a bad name, dtype, axes or meaning."""
    if re.fullmatch(r"[A-Za-z][A-Za-z0-9_]{0,63}", name) is None:
        raise Invalid(f"table name {name[:80]!r} must be 1 to 64 letters, digits or underscores")
    if str(dtype) not in TABLE_DTYPES:
        raise Invalid(f"tables/{name} holds {str(dtype)[:80]}, it must hold one of {', '.join(TABLE_DTYPES)}")
    if not isinstance(axes, str) or not isinstance(meaning, str):
        raise Invalid(f"tables/{name} does not give its axes and meaning as text")
    return Field("tables", name, str(dtype), axes, TABLE_UNIT, meaning)


def checked_datasets(data: RunData) -> Iterator[tuple[Field, NDArray[Any]]]:
    """Yield every dataset of a run with its declaration.  Raises Invalid if one does not match it."""
    if set(data.tables) != set(data.table_fields):
        raise Invalid(f"tables are {sorted(data.tables)}, but table_fields describes {sorted(data.table_fields)}")
    checker = Checker()
    for group, arrays in data.groups.items():
        names, wrong = checker.expected(group, arrays)
        if wrong:
            raise Invalid(wrong[0])
        for name in names:
            array = np.asarray(arrays[name])
            labels = dict(zip(("axes", "meaning"), data.table_fields.get(name, ()), strict=False))
            yield checker.declaration(group, name, array, labels.get), array


def value_findings(data: RunData) -> Iterator[str]:
    """Yield findings about the values of a run whose dtypes and shapes are right."""
    groups = data.groups
    for field in FIELDS:
        if field.name not in groups[field.group] or field.least == -math.inf:
            continue
        array = groups[field.group][field.name]
        slack = TOLERANCE if array.dtype.kind == "f" else 0
        wrong = array[~((array >= field.least - slack) & (array <= field.most + slack))]
        if wrong.size:
            limits = f"{field.least:g} to {field.most:g}" if field.most < math.inf else f"{field.least:g} or more"
            yield f"{field.path} holds {wrong.flat[0]:g}, it must hold {limits}"
    if "first_edge" in data.states:
        first, cell = data.states["first_edge"], data.states["cell"]
        if first.size == 0 or first[0] != 0 or first[-1] != cell.size or (first[1:] < first[:-1]).any():
            yield f"states/first_edge does not ascend from 0 to the {count_text(cell.size, 'edge')}"
    for group in ("tables", RESUME, POINTS):
        for name, array in groups[group].items():
            if array.dtype.kind == "f" and np.isinf(array).any():
                yield f"{group}/{name} holds an infinite number"
            elif array.dtype == np.float64 and np.nanmax(np.abs(array), initial=0.0) > LARGEST * (1 + TOLERANCE):
                yield f"{group}/{name} holds a number beyond {LARGEST:g}"
    for name in _AMOUNTS:
        amount = data.provenance.get(name, 0)
        if isinstance(amount, str) or not 0 <= amount < math.inf:
            yield f"provenance {name} is {amount!r:.40}, it must be a number of at least 0"
        elif name == "seconds" and amount > MOST_SECONDS:
            yield f"provenance seconds is {amount!r:.40}, it must be at most {MOST_SECONDS:g}"
    yield from _statistic_findings(data)
    yield from _progress_findings(data)
    yield from _point_findings(data)


def _statistic_findings(data: RunData) -> Iterator[str]:
    columns = data.statistics
    for name, step, wrong in _ASCENDING:
        column = columns.get(name, np.zeros(0))
        # Differences of integers cannot overflow if none is negative.
        if not ((column >= 0).all() and np.isfinite(column).all() and (np.diff(column, axis=0) >= step).all()):
            yield f"statistics/{name} {wrong}"
        elif name == "seconds" and column.max(initial=0.0) > MOST_SECONDS:
            yield f"statistics/seconds holds a number beyond {MOST_SECONDS:g}"
    games, outcomes = columns["games"], columns["outcomes"]
    if games.size and games[-1] > data.games:
        yield f"statistics/games ends at {games[-1]:,}, after the run's {count_text(data.games, 'game')}"
    # Sums of Python integers cannot overflow.
    sums = [sum(row) for row in outcomes.tolist()]
    played = data.config.get("engine") in ("walk", "flow")
    if any(total != n if played else total > n for total, n in zip(sums, games.tolist(), strict=True)):
        yield "statistics/outcomes does not add up to the games played"
    if EXACT_COLUMNS[0] in columns:
        yield from (f"statistics/{text}" for text, wrong in exact_contradictions(columns) if wrong.any())


def exact_contradictions(columns: Mapping[str, NDArray[Any]]) -> Iterator[tuple[str, NDArray[np.bool_]]]:
    """Yield possible contradictions between exact results, each with a mask that is true where it occurs.

    columns: `EXACT_COLUMNS` by name, with axes [..., T] before the axes of each.  The masks begin with these axes, too.
    """
    worst, loss, random = columns["worst"], columns["self_play"][..., ::-2], columns["versus_random"]
    unbeatable, response, error = columns["unbeatable"], columns["best_response"], columns["value_error"]
    yield "unbeatable does not agree with worst", unbeatable != (worst >= 0)
    for name in ("self_play", "versus_random"):
        off = np.abs(columns[name].sum(axis=-1) - 1.0) > TOLERANCE
        yield f"{name} holds probabilities that do not add up to 1", off
    yield "best_response is above 0 although unbeatable is true", unbeatable & (response > TOLERANCE)
    # Random moves reach every loss and every draw.
    found = np.where(random[..., 2] > 0, -1, np.where(random[..., 1] > 0, 0, 1))
    yield "versus_random does not agree with worst", worst != found
    won = columns["self_play"][..., ::2]
    off = ((worst >= 0) & (loss > TOLERANCE)) | ((worst > 0) & (won < 1 - TOLERANCE))
    yield "self_play does not agree with worst", off
    # The best opponent scores at least as much as random moves and as the agent itself.
    least = np.maximum(random[..., 2] - random[..., 0], loss - won)
    off = (response < least - TOLERANCE) | ((worst > 0) & (response > TOLERANCE - 1))
    yield "best_response does not agree with the other results", off
    yield "value_error holds a number below 0 or an infinite one", (error < 0) | np.isinf(error)


def _progress_findings(data: RunData) -> Iterator[str]:
    """Yield findings about the data for resuming."""
    before, outcomes, rows = (data.progress.get(name) for name in ("batch_games", "batch_outcomes", "batch_positions"))
    games = count_text(data.games, "game")
    if 0 < (goal := int(data.progress.get("goal", 0))) < data.games:
        yield f"progress/goal is {goal:,}, below the run's {games}"
    if len({before is None, outcomes is None, not data.resume}) > 1:
        yield "only some of progress/batch_games, progress/batch_outcomes and resume exist; a run has all or none"
    if before is None or outcomes is None:
        return

    def contradicted(name: str, total: Any) -> bool:
        points, column = data.statistics["games"], data.statistics[name]
        return bool((column[points <= before] > total).any() or (column[points >= before] < total).any())

    if not 0 <= before < max(data.games, 1):
        yield f"progress/batch_games is {before}, it must be 0 or more and below the run's {games}"
    elif min(outcomes) < 0 or sum(outcomes.tolist()) != before:
        yield f"progress/batch_outcomes does not add up to the {before:,} games before the batch"
    elif contradicted("outcomes", outcomes):
        yield "progress/batch_outcomes contradicts statistics/outcomes"
    if rows is not None and "positions" in data.statistics and contradicted("positions", sum(rows.tolist())):
        yield "progress/batch_positions contradicts statistics/positions"


def _point_findings(data: RunData) -> Iterator[str]:
    """Yield findings about the tables at recorded points."""
    games = data.progress.get("point_games")
    if (games is None) != (not data.points):
        yield f"only one of progress/point_games and {POINTS} exists; a run has both or neither"
    if games is None:
        return
    if (games[1:] <= games[:-1]).any() or not np.isin(games, data.statistics["games"]).all():
        yield "progress/point_games does not ascend, or holds games without a recorded point"
    elif games.size and games[-1] == data.games:
        for name, array in data.points.items():
            if array[-1].tobytes() != data.tables[name].tobytes():
                yield f"the last table of {POINTS}/{name} is not tables/{name}; both are of the last game"
