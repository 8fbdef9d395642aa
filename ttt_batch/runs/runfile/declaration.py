"""Declaration of the run file format and its printed documentation.

`FIELDS` is the only description of the format: the datasets are created and checked by it, and `format_documentation`
prints it.
"""

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

FILE_TYPE, STUDY_TYPE = "ttt-batch run", "ttt-batch study"
"""File types of runs and studies, written in the first line and in the root attribute `file_type`."""

FORMAT = (1, 5)
"""Major and minor version of the format; a reader opens every minor version of its own major version.

1.0: tables, statistics and configuration.  1.1: data for resuming.  1.2: boards too large to enumerate, without exact
results.  1.3: pattern networks, which have no positions.  1.4: options of some learners only.  1.5: boxes of beads,
with moves that resign, and the tables at recorded points.
Each new version adds a file `data/run-MAJOR.MINOR.h5`, which all later versions must open.
"""

USER_BLOCK = 512
"""Bytes before the HDF5 part; the smallest user block that HDF5 allows."""

GROUPS = ("progress", "provenance", "states", "statistics", "tables")

RESUME = "resume"
"""Group of the tables before the batch within which a run ends, by their names in `tables`.

Only runs that end within a batch have it.  A batch is played with the tables at its start, so resuming needs them.
"""

RESUME_SINCE = (1, 1)
"""First format version with this group."""

POINTS = "points"
"""Group of the tables at recorded points, by their names in `tables`.

Only runs that were trained with the option to keep them have it.
"""

POINTS_SINCE = (1, 5)
"""First format version with this group."""

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

    path: its path in the file.  dtype: a NumPy name; data is stored little-endian.  axes: letters, "U+1" or numbers,
    separated by commas; empty for a single number.  optional: the dataset may be absent.
    since: the first format version with it; older files are read without it.  least, most: the range of its values.
    """

    path: str
    dtype: str
    axes: str
    unit: str
    meaning: str
    optional: bool = False
    since: tuple[int, int] = (1, 0)
    least: float = -math.inf
    most: float = math.inf

    @property
    def group(self) -> str:
        """Return the dataset's group."""
        return self.path.partition("/")[0]

    @property
    def name(self) -> str:
        """Return the dataset's name in its group."""
        return self.path.partition("/")[2]


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


def _declared(table: str) -> Iterator[Field]:
    """Yield the fields in a text such as `_FIELDS`."""
    for row in table.replace("\n    ", " ").strip().splitlines():
        path, kind, limits, unit, since, meaning = (cell.strip() for cell in row.split("|"))
        dtype, _, axes = kind.rstrip("]").partition("[")
        least, _, most = limits.partition("..")
        field = Field(path, dtype, axes, TABLE_UNIT if unit == "own scale" else unit, meaning, bool(since))
        major, _, minor = (since or "1.0").partition(".")
        field = field._replace(since=(int(major), int(minor)))
        yield field._replace(least=float(least or -math.inf), most=float(most or math.inf))


FIELDS = tuple(_declared(_FIELDS))
"""Declarations of all fixed datasets.  A learner's tables are declared by their own attributes."""

EXACT_COLUMNS = ("unbeatable", "worst", "self_play", "versus_random", "best_response", "optimal_share", "value_error")
"""Statistics that need all positions of a board; a run has them only if its board is enumerated."""

NETWORK_COLUMNS = ("proof", "proof_positions")
"""Statistics of pattern networks."""


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
    tables = Field("tables/NAME", "any", "any", TABLE_UNIT, "one for each table of the learner; attributes describe it")
    meaning = "the table before the batch within which the run ends"
    before = tables._replace(path=f"{RESUME}/NAME", meaning=meaning, optional=True, since=RESUME_SINCE)
    meaning = "the table at each of these recorded points"
    kept = tables._replace(path=f"{POINTS}/NAME", axes="K,any", meaning=meaning, optional=True, since=POINTS_SINCE)
    for field in (*FIELDS, tables, before, kept):
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


def version_text(version: tuple[int, int]) -> str:
    """Return a format version as text, such as `1.5`."""
    return f"{version[0]}.{version[1]}"
