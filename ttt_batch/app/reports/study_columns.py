"""Figures of a study's settings as columns of text: beside each other as tables, or below each other as a list.

Columns that belong together share a title, and are not torn apart.
"""

from collections.abc import Sequence
from typing import NamedTuple

from ttt_batch.app.reports.layout import hanging
from ttt_batch.base.choices import SEATS
from ttt_batch.base.errors import display_name
from ttt_batch.base.printable import SELF_PLAY
from ttt_batch.base.quantities import short_number
from ttt_batch.studies.figures.summary import Figures, Median, SeatFigures
from ttt_batch.studies.figures.survival import CONFIDENCE

NOTHING, GAP = "-", "  "
INTERVAL = f"{100 * CONFIDENCE:.0f} %"

LEGEND = {
    "proved": "unbeatable in both seats (menace: as first), at any recorded point and at the last",
    "first proof": "median games to it; a seed without one is censored at its end",
    "holds": "share of the points after the first proof that are proofs, too",
    "settled": "median games to the point since which every one is a proof",
    INTERVAL: "interval of that median, by Kaplan-Meier",
    "loss to random": "exact, at the last point, mean of both seats (menace: as first); over the seeds",
    "value error": "of each player's values at the last point, median of the seeds",
    "time": "of a learner, median of the seeds",
}
"""What columns mean, by their titles or names."""


ALL_GAMES, LAST_GAMES = "", " at end"
"""How titles of results end."""

RANGE = "5..95 %"

TALLIES = {
    **{f"{display_name(name)}{ALL_GAMES}": "share of all games; over the seeds" for name in SELF_PLAY},
    **{f"{display_name(name)}{LAST_GAMES}": "of the games after the last recorded point but one" for name in SELF_PLAY},
    RANGE: "what a twentieth of the seeds have at most, and at least",
}
"""What columns of counted results mean."""

PROVED_AS, FIRST_AS = "proved as", "first proof as"
"""How titles of one seat begin."""

NETWORKS = {
    "proved": "in all seats asked for, at any recorded point and at the last",
    **{f"{PROVED_AS} {seat}": f"the same in the seat of the {seat} player" for seat in SEATS},
}
"""What columns of networks mean instead."""


class Column(NamedTuple):
    """A column of a table, or a line of a list.  title: what it shares with its neighbours.  name: its own."""

    title: str
    name: str
    cells: list[str]


def figure_columns(rows: Sequence[Figures]) -> list[Column]:
    """The figures of settings, a row each, but for columns that have nothing for any of them."""
    found = [
        *_proofs("proved", "first proof", rows, rows),
        Column("holds", "later", [_share(row.holds) for row in rows]),
        *_medians("settled", rows, rows, [row.settling for row in rows]),
        *_seats(rows),
        Column("loss to random", "median", [_share(row.loss[1]) for row in rows]),
        Column("loss to random", "quartiles", [_shares(row.loss[0], row.loss[2]) for row in rows]),
        *(Column("value error", seat, [_number(row.value_error[i]) for row in rows]) for i, seat in enumerate(SEATS)),
        *_results(rows),
        Column("table", "positions", [_number(row.positions) for row in rows]),
        Column("time", "ms", [_number(row.milliseconds) for row in rows]),
    ]
    if any(row.failed or row.missing for row in rows) or len({row.done for row in rows}) > 1:
        found[:0] = [
            Column("learners", "done", [f"{row.done:,}" for row in rows]),
            Column("learners", "failed", [f"{row.failed:,}" if row.failed else NOTHING for row in rows]),
        ]
    return [one for one in found if set(one.cells) != {NOTHING}]


def _seats(rows: Sequence[Figures]) -> list[Column]:
    """The figures of each seat, of settings that have them."""
    seats = [row.seats for row in rows if row.seats is not None]
    return [
        column
        for i, seat in enumerate(SEATS if seats else ())
        for column in _proofs(f"{PROVED_AS} {seat}", f"{FIRST_AS} {seat}", rows, [several[i] for several in seats])
    ]


def _results(rows: Sequence[Figures]) -> list[Column]:
    """How games ended, of settings whose results alone were counted."""
    found = [row.results for row in rows]
    if not any(found):
        return []
    columns = []
    for when in (ALL_GAMES, LAST_GAMES):
        for number, name in enumerate(SELF_PLAY):
            spreads = [None if one is None else (one.all if when == ALL_GAMES else one.last)[number] for one in found]
            columns += [
                Column(f"{display_name(name)}{when}", "median", [_share(one and one.median) for one in spreads]),
                Column(
                    f"{display_name(name)}{when}",
                    RANGE,
                    [_shares(*(one[1:] if one else (None, None))) for one in spreads],
                ),
            ]
    return columns


def _proofs(title: str, first: str, rows: Sequence[Figures], found: Sequence[Figures | SeatFigures]) -> list[Column]:
    """Shares that are proved, and how soon.  title, first: of both.  found: of all seats together, or of one."""
    return [
        Column(title, "ever", [_share(one.proved) for one in found]),
        Column(title, "at end", [_share(one.at_end) for one in found]),
        *_medians(first, rows, found, [one.proof for one in found]),
    ]


def _medians(
    title: str, rows: Sequence[Figures], found: Sequence[Figures | SeatFigures], medians: Sequence[Median]
) -> list[Column]:
    return [
        Column(title, "games", [_games(*each) for each in zip(medians, found, rows, strict=True)]),
        Column(title, INTERVAL, [_interval(median.low, median.high) for median in medians]),
    ]


# --- numbers as text ----------------------------------------------------------------------------------------------


def _number(number: float | None) -> str:
    """Three significant digits."""
    return NOTHING if number is None else f"{number:.3g}" if abs(number) < 999.5 else short_number(number)


def _share(share: float | None) -> str:
    """A share in percent.  Nothing but all is 100 %."""
    if share is None:
        return NOTHING
    text = f"{100 * share:.3g}"
    return f"{'99.9' if text == '100' and share < 1 else text}%"


def _shares(low: float | None, high: float | None) -> str:
    return NOTHING if low is None else f"{_share(low).rstrip('%')}..{_share(high)}"


def _games(median: Median, found: Figures | SeatFigures, row: Figures) -> str:
    """A median number of games, which may lie beyond those played."""
    if median.games is not None:
        return short_number(median.games)
    return NOTHING if found.proved is None else f"> {short_number(row.games)}"


def _interval(low: int | None, high: int | None) -> str:
    """An interval of games: the unit once if both ends have the same one."""
    if low is None:
        return NOTHING
    if high is None:
        return f"from {short_number(low)}"
    (start, _, unit), (_, _, other) = (short_number(games).partition(" ") for games in (low, high))
    return f"{start if unit == other else short_number(low)}..{short_number(high)}"


# --- tables and lists ---------------------------------------------------------------------------------------------


def table(labels: Sequence[Column], columns: Sequence[Column], width: int) -> list[str]:
    """Tables of lines of at most `width` characters if that is possible; what does not fit stands below.

    labels: columns that begin every line, without titles.
    """
    start = _beside([[line.ljust(len(lines[0])) for line in lines] for lines in map(_lines, labels)], GAP)
    titles = dict.fromkeys(one.title for one in columns)
    rest = [_titled(title, [one for one in columns if one.title == title]) for title in titles]
    found: list[str] = []
    while rest:
        fitting = 1
        while fitting < len(rest) and len(_beside([start, *rest[: fitting + 1]], GAP)[0]) <= width:
            fitting += 1
        found += ["", *(line.rstrip() for line in _beside([start, *rest[:fitting]], GAP))]
        del rest[:fitting]
    return found


def _titled(title: str, columns: Sequence[Column]) -> list[str]:
    """Columns as lines of one length, below their title."""
    lines = _beside([[line.rjust(len(lines[0])) for line in lines] for lines in map(_lines, columns)], " ")
    width = max(len(lines[0]), len(title))
    return [title.rjust(width), *(line.rjust(width) for line in lines[1:])]


def _lines(column: Column) -> list[str]:
    """A column as lines, of which the first one is for the title: empty, and as long as the longest."""
    return [" " * max(map(len, [column.name, *column.cells])), column.name, *column.cells]


def _beside(blocks: Sequence[Sequence[str]], gap: str) -> list[str]:
    return [gap.join(parts) for parts in zip(*blocks, strict=True)]


def listing(columns: Sequence[Column], heads: Sequence[Sequence[str]] = ()) -> list[str]:
    """A line for each column, with a cell for each row, below lines of heads."""
    labels = [*("" for _ in heads), *(", ".join(filter(None, (one.title, one.name))) for one in columns)]
    rows = [*heads, *(one.cells for one in columns)]
    start = max(map(len, labels))
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    return [
        GAP.join([label.ljust(start), *(cell.rjust(width) for cell, width in zip(cells, widths, strict=True))])
        for label, cells in zip(labels, rows, strict=True)
    ]


def legend(columns: Sequence[Column], width: int) -> list[str]:
    """What those columns mean that are there."""
    names = {one.title for one in columns} | {one.name for one in columns}
    texts = LEGEND | TALLIES | NETWORKS if NETWORKS.keys() - LEGEND.keys() & names else LEGEND | TALLIES
    there = {name: text for name, text in texts.items() if name in names}
    indent = max(map(len, there), default=0) + len(GAP)
    return [line for name, text in there.items() for line in hanging(name, text, indent, width)]
