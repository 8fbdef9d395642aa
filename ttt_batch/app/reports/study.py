"""Reports of `study`, and of `info` for a study.

The figures of settings are columns of text, side by side in tables or one below the other in a list.  Columns that
belong together share a title, and are not torn apart.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ttt_batch.app.reports.layout import REPORT_WIDTH, aligned, cut, file_text, hanging
from ttt_batch.core.console import one_line
from ttt_batch.core.errors import display_name, flag
from ttt_batch.core.results import SELF_PLAY, flattened
from ttt_batch.core.text import SEATS, count_text, short_number
from ttt_batch.runs.storage.container import version_text
from ttt_batch.studies.designs.methods import written
from ttt_batch.studies.designs.values import listed, seed_runs
from ttt_batch.studies.storage.layout import count_states
from ttt_batch.studies.storage.reading import StudyFile
from ttt_batch.studies.study import MEMORY, Repetition, Study
from ttt_batch.studies.summary import CONFIDENCE, DEFAULT_METRIC, METRICS, Summary, metric_named

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
"""Meanings of columns, by their titles or names."""

RANGE = "5..95 %"

TALLIES = {
    **{display_name(name): "share of all games; over the seeds" for name in SELF_PLAY},
    **{f"{display_name(name)} at end": "of the games after the last recorded point but one" for name in SELF_PLAY},
    RANGE: "what a twentieth of the seeds have at most, and at least",
}
"""Meanings of columns of counted results."""

NETWORKS = {
    "proved": "in all seats asked for, at any recorded point and at the last",
    **{f"proved as {seat}": f"the same in the seat of the {seat} player" for seat in SEATS},
}
"""Meanings of columns of networks where they differ."""


class Column(NamedTuple):
    """Column of a table, or line of a list.  title: shared with its neighbours.  name: its own."""

    title: str
    name: str
    cells: list[str]


# --- numbers as text ----------------------------------------------------------------------------------------------


def _number(number: float | None) -> str:
    """Return a number with three significant digits."""
    return NOTHING if number is None else f"{number:.3g}" if abs(number) < 999.5 else short_number(number)


def _share(share: float | None) -> str:
    """Return a share in percent; only 1 is shown as 100 %."""
    if share is None:
        return NOTHING
    text = f"{100 * share:.3g}"
    return f"{'99.9' if text == '100' and share < 1 else text}%"


def _shares(low: float | None, high: float | None) -> str:
    return NOTHING if low is None else f"{_share(low).rstrip('%')}..{_share(high)}"


def _games(median: int | None, proved: float | None, games: int) -> str:
    """Return a median number of games, which may lie beyond those played."""
    if median is not None:
        return short_number(median)
    return NOTHING if proved is None else f"> {short_number(games)}"


def _interval(low: int | None, high: int | None) -> str:
    """Return the text of an interval of games, with the unit once if both ends have the same one."""
    if low is None:
        return NOTHING
    if high is None:
        return f"from {short_number(low)}"
    (start, _, unit), (_, _, other) = (short_number(games).partition(" ") for games in (low, high))
    return f"{start if unit == other else short_number(low)}..{short_number(high)}"


# --- columns ------------------------------------------------------------------------------------------------------


def _proofs(title: str, first: str, seat: str = "") -> list[tuple[Any, ...]]:
    """Return the columns of proofs.  title, first: of shares and times.  seat: beginning of its keys."""
    proved = f"{seat}proved.ever"
    return [
        (title, "ever", _share, proved),
        (title, "at end", _share, f"{seat}proved.at_end"),
        (first, "games", _games, f"{seat}first_proof.games", proved, "games"),
        (first, INTERVAL, _interval, f"{seat}first_proof.low", f"{seat}first_proof.high"),
    ]


COLUMNS: tuple[tuple[Any, ...], ...] = (
    ("learners", "done", "{:,}".format, "learners.done"),
    ("learners", "failed", lambda number: f"{number:,}" if number else NOTHING, "learners.failed"),
    *_proofs("proved", "first proof"),
    ("holds", "later", _share, "later_points_that_hold"),
    ("settled", "games", _games, "settling.games", "proved.ever", "games"),
    ("settled", INTERVAL, _interval, "settling.low", "settling.high"),
    *(column for seat in SEATS for column in _proofs(f"proved as {seat}", f"first proof as {seat}", f"seats.{seat}.")),
    ("loss to random", "median", _share, "loss_against_random.median"),
    (
        "loss to random",
        "quartiles",
        _shares,
        "loss_against_random.lower_quartile",
        "loss_against_random.upper_quartile",
    ),
    *(("value error", seat, _number, f"value_error.{seat}") for seat in SEATS),
    *(
        (f"{display_name(name)}{ending}", heading, text, *(f"results.{games}.{name}.{key}" for key in keys))
        for games, ending in (("all_games", ""), ("last_games", " at end"))
        for name in SELF_PLAY
        for heading, text, *keys in (("median", _share, "median"), (RANGE, _shares, "low", "high"))
    ),
    ("table", "positions", _number, "positions"),
    ("time", "ms", _number, "milliseconds"),
)
"""Columns of a setting's figures: title, name, function that writes a cell, and the keys of what it takes."""


def figure_columns(rows: Sequence[Mapping[str, Any]]) -> list[Column]:
    """Return the columns of settings' figures, without empty columns."""
    rows = [flattened(row) for row in rows]
    found = [
        Column(title, name, [text(*(row.get(key) for key in keys)) for row in rows])
        for title, name, text, *keys in COLUMNS
    ]
    states = {tuple(row[f"learners.{state}"] for state in ("done", "failed", "missing")) for row in rows}
    if len(states) == 1 and not any(states.pop()[1:]):
        del found[:2]
    return [one for one in found if set(one.cells) != {NOTHING}]


# --- tables and lists ---------------------------------------------------------------------------------------------


def table(labels: Sequence[Column], columns: Sequence[Column], width: int) -> list[str]:
    """Return tables with lines of at most `width` characters if possible; columns that do not fit stand below.

    labels: columns that begin every line, without titles.
    """
    start, titles = _block("", labels, "<", GAP), dict.fromkeys(one.title for one in columns)
    rest = [_block(title, [one for one in columns if one.title == title], ">", " ") for title in titles]
    found: list[str] = []
    while rest:
        shown = [start, rest.pop(0)]
        while rest and sum(len(GAP) + len(block[0]) for block in [*shown, rest[0]]) <= width + len(GAP):
            shown.append(rest.pop(0))
        found += ["", *(GAP.join(lines).rstrip() for lines in zip(*shown, strict=True))]
    return found


def _block(title: str, columns: Sequence[Column], side: str, gap: str) -> list[str]:
    """Return columns as lines of one length, below their title."""
    lines = aligned([[one.name for one in columns], *zip(*(one.cells for one in columns), strict=True)], side, gap)
    width = max(len(lines[0]), len(title))
    return [title.rjust(width), *(line.rjust(width) for line in lines)]


def listing(columns: Sequence[Column], heads: Sequence[Sequence[str]] = ()) -> list[str]:
    """Return a line for each column, with a cell for each row, below lines of heads."""
    rows = [(", ".join(filter(None, (one.title, one.name))), *one.cells) for one in columns]
    return aligned([*(("", *head) for head in heads), *rows], "<>", GAP)


MOST_ROWS, MOST_REASONS = 20, 3
"""Settings of a table, and reasons of failures; JSON has all."""

LONG, LONGEST = 8, 18
"""Characters of a number within an option, from which on only those digits are shown that tell it from the others; and
of any value, from which on it is cut."""

INDENT = 11


def study_text(summary: Summary, best: str | None = None, *, name: str = "", width: int = REPORT_WIDTH) -> str:
    """Return the text of `study`.

    best: a metric that ranks the settings; without it they keep their order, and beyond MOST_ROWS only the best by
    DEFAULT_METRIC are shown.  name: of the study.  width: characters of a line.  Raises UsageError.
    """
    settings = len(summary.design.settings)
    if best is not None or settings > MOST_ROWS:
        best = metric_named(best or DEFAULT_METRIC)
    order = summary.ranked(best)[:MOST_ROWS]
    columns = figure_columns([summary.figures(number) for number in order])
    seeds = count_text(len(summary.design.seeds), "seed")
    lines = [
        f"{name}{': ' * bool(name)}{count_text(settings, 'setting')}, {seeds} each",
        *_facts_shared(summary, width),
    ]
    if settings == 1:
        lines += ["", *listing(columns)]
    else:
        labels = _option_columns(summary, order)
        if best is not None:
            lacking = "" if summary.is_any_good(best, order[0]) else ", which none has"
            lines += hanging("ranked by", f"{METRICS[best]}{lacking}", INDENT, width)
            labels.insert(0, Column("", "", [str(place) for place in range(1, len(order) + 1)]))
        lines += table(labels, columns, width)
    if settings > MOST_ROWS:
        more = (
            f"{count_text(settings - MOST_ROWS, 'more setting')}; {flag('best', 'METRIC')} ranks by another metric "
            f"({', '.join(METRICS)}), {flag('json', True)} and the file have all"
        )
        lines += ["", *hanging("", more, 0, width)]
    return "\n".join([*lines, *_end(summary, columns, width)])


def saved_text(study: Study) -> str:
    """Return the output of `study`, without the path if the study is in memory."""
    saved = "" if study.path == MEMORY else f"\nsaved:   {one_line(str(study.path))}"
    return f"{study_text(study.summary())}{saved}"


def confirmation_text(repetition: Repetition, *, width: int = REPORT_WIDTH) -> str:
    """Return the text of the repetition of a study's best setting.  width: characters of a line."""
    confirmation, fresh = repetition.confirmation, repetition.fresh
    found = [fresh.figures(number) for number in range(len(fresh.design.settings))]
    text = (
        f"the best of {count_text(confirmation.settings, 'setting')} by {METRICS[confirmation.metric]}, again on seeds "
        f"that did not choose it{'; it is the default itself' if len(found) == 1 else ''}"
    )
    options = _option_columns(fresh, range(len(found)))
    columns = figure_columns([confirmation.winner, *found])
    heads = ["winner", "winner", "default"], ["in the study", "fresh seeds", "fresh seeds"]
    both = [*(one._replace(cells=one.cells[:1] + one.cells) for one in options), *columns]
    table = listing(both, [line[: 1 + len(found)] for line in heads])
    lines = [*hanging("", text, 0, width), *_facts_shared(fresh, width), "", *table]
    return "\n".join([*lines, *_end(fresh, columns, width)])


def _facts_shared(summary: Summary, width: int) -> list[str]:
    """Return lines about the learners, seeds and options that all settings share."""
    learners = ", ".join(f"{n:,} {name}" for name, n in summary.learners().items() if n or name == "done")
    if summary.reasons:
        reasons = [f"{number:,} {reason}" for reason, number in list(summary.reasons.items())[:MOST_REASONS]]
        learners += f" ({'; '.join([*reasons, '...'][: len(summary.reasons)])})"
    shared = ", ".join(f"{display_name(name)} {listed([value])}" for name, value in summary.design.shared.items())
    facts = {"learners": learners, "seeds": listed(seed_runs(summary.design.seeds)), "all have": shared}
    return [line for name, text in facts.items() for line in hanging(name, text, INDENT, width)]


def _end(summary: Summary, columns: Sequence[Column], width: int) -> list[str]:
    """Return the lines below the figures: the meanings of their columns, and missing results."""
    names = {one.title for one in columns} | {one.name for one in columns}
    texts = LEGEND | TALLIES | NETWORKS if NETWORKS.keys() - LEGEND.keys() & names else LEGEND | TALLIES
    there = {name: text for name, text in texts.items() if name in names}
    indent = max(map(len, there), default=0) + len(GAP)
    meanings = [line for name, text in there.items() for line in hanging(name, text, indent, width)]
    return ["", *meanings, *(["", summary.note] if summary.note else [])]


# --- options ------------------------------------------------------------------------------------------------------


def _option_columns(summary: Summary, numbers: Sequence[int]) -> list[Column]:
    """Return a column for each option that differs among the study's settings."""
    rows = [summary.design.settings[number].written for number in numbers]
    columns = []
    for name, values in summary.design.axes.items():
        texts = short = {value: listed([value]) for value in values}
        long = [value for value, text in texts.items() if isinstance(value, float) and len(text) > LONG]
        for digits in range(3, 18):
            short = texts | {value: f"{value:.{digits}g}" for value in long}
            if len(set(short.values())) == len(texts):
                break
        columns.append(Column("", display_name(name), [cut(short[row[name]], LONGEST) for row in rows]))
    return columns


MOST_RUNS = 6
"""Runs of seeds that a line lists."""


def study_information(study: StudyFile, path: str) -> dict[str, Any]:
    """Return the values of `info --json` for a study.  Raises StudyFileError."""
    design = study.design
    return {
        "file": path,
        "bytes": study.header.length,
        "format": version_text(study.header.version),
        "settings": len(design.settings),
        "seeds": seed_runs(design.seeds),
        "learners": count_states(study.state),
        "options": {name: [written(value) for value in values] for name, values in design.axes.items()},
        "shared": {name: written(value) for name, value in design.shared.items()},
        "keep": study.keep,
        "recorded_points": int(study.points.max()),
        "arrays": {
            name: {"dtype": str(place.dtype), "shape": list(place.shape), "axes": list(place.axes)}
            for name, place in study.header.arrays.items()
        },
        "provenance": {**study.provenance, **study.progress},
    }


def study_information_text(information: dict[str, Any]) -> str:
    """Return the text of `info` for a study."""
    learners = information["learners"]
    rest = "".join(f", {learners[name]:,} {name}" for name in ("failed", "missing") if learners[name])
    facts = [
        ("settings", information["settings"]),
        *((f"  {display_name(name)}", listed(values)) for name, values in information["options"].items()),
        *((display_name(name), listed([value])) for name, value in information["shared"].items()),
        ("seeds", listed(information["seeds"], MOST_RUNS)),
        ("learners", f"{learners['done']:,} done{rest}"),
        ("tables", f"{information['keep']} kept"),
    ]
    return file_text(information, facts)
