"""The declaration: the only description of the format, and the documentation that it prints.

`FIELDS` creates the datasets, checks them when they are read, and is printed by `format_documentation`.
"""

from typing import Any, NamedTuple

FILE_TYPE = "ttt-batch run"
"""What the file says it is, in its first line and in the root attribute `file_type`."""

FORMAT = (1, 2)
"""Major and minor version of the format; a reader opens every minor version of its own major version.

1.0: tables, statistics and configuration.  1.1: what resuming needs.  1.2: boards too large
to enumerate, without exact results.
A new version comes with a file `data/run-MAJOR.MINOR.h5`, which has to open for ever.
"""

USER_BLOCK = 512
"""Bytes before the HDF5 part; the smallest user block that HDF5 allows."""

GROUPS = ("progress", "provenance", "states", "statistics", "tables")

RESUME = "resume"
"""The group of the tables as they were before the batch within which a run ends, by their names in `tables`.

Only such runs have it: a batch is played with the tables of its beginning, so going on begins there.
"""

RESUME_SINCE = (1, 1)
"""The first format version with this group."""

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
}


class Field(NamedTuple):
    """One declared dataset.

    path: where it stands.  dtype: its NumPy name; stored little-endian.  axes: letters, "U+1" or numbers,
    separated by commas; empty for a single number.  optional: may be absent.  since: the first format version with it;
    older files are read without.
    """

    path: str
    dtype: str
    axes: str
    unit: str
    meaning: str
    optional: bool = False
    since: tuple[int, int] = (1, 0)


FIELDS = (
    Field("progress/games", "int64", "", "games", "games learnt from"),
    Field("progress/goal", "int64", "", "games", "games asked for, to which a resumed run goes on", True, (1, 1)),
    Field(
        "progress/batch_games",
        "int64",
        "",
        "games",
        "games before the batch within which the run ends; the tables of then stand in resume/",
        True,
        (1, 1),
    ),
    Field(
        "progress/batch_outcomes",
        "int64",
        "3",
        "games",
        "first wins, draws, second wins in these games",
        True,
        (1, 1),
    ),
    Field(
        "progress/batch_positions",
        "int64",
        "2",
        "positions",
        "unfinished and final positions with rows before that batch, on boards too large to enumerate",
        True,
        (1, 2),
    ),
    Field(
        "states/code",
        "int64",
        "S",
        "",
        "base-3 code of the position; -1 and -2: a player has forfeited; -3 to -6: all positions without a row",
    ),
    Field("states/outcome", "int8", "S", "", "0 unfinished, 1 first player wins, 2 second player wins, 3 draw"),
    Field(
        "states/first_edge",
        "int32",
        "U+1",
        "edges",
        "edges of row r: first_edge[r] to first_edge[r+1]-1",
        True,
    ),
    Field("states/cell", "int8", "E", "", "cell that the move marks, row by row from the top left", True),
    Field("statistics/games", "int64", "T", "games", "games learnt from at the point"),
    Field("statistics/seconds", "float64", "T", "s", "wall clock since the start; informative only"),
    Field("statistics/outcomes", "int64", "T,3", "games", "first wins, draws, second wins in play so far"),
    Field(
        "statistics/unbeatable",
        "bool",
        "T,P",
        "",
        "no opponent and no tie-break beats the agent in that seat",
        True,
    ),
    Field("statistics/worst", "int8", "T,P", "result", "worst result from that seat: 1 win, 0 draw, -1 loss", True),
    Field(
        "statistics/self_play",
        "float64",
        "T,3",
        "probability",
        "exact: first wins, draw, second wins in greedy self-play",
        True,
    ),
    Field(
        "statistics/versus_random",
        "float64",
        "T,P,3",
        "probability",
        "exact: win, draw, loss of the agent in that seat against uniformly random play",
        True,
    ),
    Field(
        "statistics/best_response",
        "float64",
        "T,P",
        "result",
        "what the best opponent gets on average (its wins - losses) against the agent in that seat, "
        "which breaks ties in its own way",
        True,
    ),
    Field(
        "statistics/optimal_share",
        "float64",
        "T,P",
        "share",
        "share of the positions reachable in that seat in which every move the agent may pick keeps the game's value",
        True,
    ),
    Field(
        "statistics/value_error",
        "float64",
        "T,P",
        TABLE_UNIT,
        "mean distance of the table's values from the truth; NaN where it has none",
        True,
    ),
    Field(
        "statistics/positions",
        "int64",
        "T",
        "positions",
        "positions with a row of their own, on boards too large to enumerate",
        True,
        (1, 2),
    ),
)
"""The declaration of every fixed dataset.  Tables differ from learner to learner and declare themselves."""


EXACT_COLUMNS = ("unbeatable", "worst", "self_play", "versus_random", "best_response", "optimal_share", "value_error")
"""The statistics that need every position of a board; there where it is enumerated, and only there."""


def format_documentation() -> str:
    """The run file's format as text, from its declaration."""
    lines = [
        f"{FILE_TYPE}, format {FORMAT[0]}.{FORMAT[1]}",
        "",
        f"HDF5 after a {USER_BLOCK}-byte header of text: the line above, the SHA-256 digest of everything",
        "after the text, and the length of the whole file.  HDF5 libraries skip the text by themselves.",
        "",
        "Attributes of the root:",
        f'  file_type       "{FILE_TYPE}"',
        '  format_version  "major.minor"; a newer minor version only adds',
        "  config          what determines the result, as JSON with sorted keys and no spaces",
        "  config_hash     SHA-256 of config",
        "Attributes of the group provenance: how the run came about; they change no result.",
        "",
        "Axes: " + "; ".join(f"{letter} {meaning}" for letter, meaning in AXES.items()) + ".",
        "Every dataset says its axes, unit and meaning in attributes of these names.  All text is UTF-8 of fixed",
        "length, which h5py shows as bytes.  Arrays stand whole: neither in chunks nor compressed.",
        "",
    ]
    tables = Field("tables/NAME", "any", "any", TABLE_UNIT, "one for each table of the learner; it declares itself")
    before = Field(
        f"{RESUME}/NAME",
        "any",
        "any",
        TABLE_UNIT,
        "the table before the batch within which the run ends",
        True,
        RESUME_SINCE,
    )
    for path, dtype, axes, unit, meaning, optional, since in (*FIELDS, tables, before):
        kind = f"{dtype}[{axes}]" if axes else dtype
        extra = f" [{unit}]" if unit else ""
        if optional:
            name = path.partition("/")[2]
            exact = name in EXACT_COLUMNS and path.startswith("statistics/")
            why = "with action tables only" if path.startswith("states/") else "may be absent"
            extra += f" ({'on enumerated boards' if exact else why})"
        if since > (1, 0):
            extra += f" (since format {since[0]}.{since[1]})"
        lines.append(f"  {path:<25} {kind:<15} {meaning}{extra}")
    return "\n".join(lines) + "\n"


def format_information() -> dict[str, Any]:
    """The run file's format as plain values, from its declaration."""
    return {
        "file_type": FILE_TYPE,
        "version": f"{FORMAT[0]}.{FORMAT[1]}",
        "user_block": USER_BLOCK,
        "axes": AXES,
        "datasets": [{**field._asdict(), "since": f"{field.since[0]}.{field.since[1]}"} for field in FIELDS],
        "table_dtypes": list(TABLE_DTYPES),
    }
