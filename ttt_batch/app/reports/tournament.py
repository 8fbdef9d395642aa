"""Reports of `tournament` and `watch --games`: places, a matrix of all meetings, samples beside exact results.

Text is plain ASCII within 80 columns, except for file names, which stand at the ends of lines or are cut.
"""

import itertools
import math
from collections.abc import Sequence

from ttt_batch.analysis.matches import CONFIDENCE, Tally
from ttt_batch.analysis.tournament import Meeting, Series, Tournament
from ttt_batch.app.reports.layout import cut
from ttt_batch.core.text import RESULTS, count_text
from ttt_batch.evaluation.ties import meaning

COLUMNS = 8
"""Columns of the matrix in a block; those of more runs follow below."""

LISTED = 4
"""Runs up to which every meeting is listed with its wins, draws and losses."""

LABEL = 26
"""Columns for the name of a run that something follows."""

INTERVAL = f"{100 * CONFIDENCE:.0f} % interval"


def tournament_text(found: Tournament) -> str:
    """Return the text of `tournament`."""
    n = len(found.names)
    how = f"{count_text(found.games or 0, 'game')} each, seed {found.seed}" if not found.exact else "exactly"
    wide = 10 if found.exact else 16
    whole = all(meeting.held for row in found.meetings for meeting in row)
    seats = "both seats" if whole else "the seats that they play"
    lines = [
        f"{n} runs on {found.board}, all against all, in {seats}: {how}",
        f"ties: {meaning(found.ties)}",
        "",
        f"place{'points':>{wide}}{'as first':>10}{'as second':>11}{'won':>8}{'drawn':>8}{'lost':>8}  run",
    ]
    for one in found.standings:
        points = f"{one.points:.4f}" if found.exact else f"{one.points:.3f} +- {one.margin:.3f}"
        shares = "".join(f"{share:>8.4f}" for share in one.shares)
        which = f"{one.run + 1}  {found.names[one.run]}"
        first, second = ("-" if math.isnan(own) else f"{own:.4f}" for own in (one.as_first, one.as_second))
        lines.append(f"{one.place:>5}{points:>{wide}}{first:>10}{second:>11}{shares}  {which}")
    lines += ["", *_counting(found)]
    if not found.exact:
        lines.append(f"Behind +- the {INTERVAL} of the points.")
    return "\n".join(line.rstrip() for line in [*lines, *_matrix(found), *_meetings(found)])


def _counting(found: Tournament) -> list[str]:
    """Say how points count, and if some cannot meet, how places follow from points."""
    missing = [meeting for row in found.meetings for meeting in row if not meeting.held]
    if not missing:
        most = 2 * (len(found.names) - 1)
        return [f"A win counts 1, a draw 1/2: {most} points at most, none against itself."]
    who = ", ".join(str(number + 1) for number in sorted({meeting.second for meeting in missing}))
    return [
        "A win counts 1, a draw 1/2: a point a meeting at most, none against itself.",
        f"Places go by points a meeting: {who} {'plays' if ',' not in who else 'play'} first only.",
    ]


def _matrix(found: Tournament) -> list[str]:
    """Return the points a game of the first player, row against column, in blocks of columns."""
    n = len(found.names)
    lines = ["", "points a game of the first player (row) against the second (column):"]
    for start in range(0, n, COLUMNS):
        columns = range(start, min(n, start + COLUMNS))
        lines += ["", " " * 16 + "".join(f"{column + 1:>8}" for column in columns)]
        for row, name in enumerate(found.names):
            scores = "".join(
                f"{one.score:>8.3f}" if one.held else f"{'-':>8}" for one in found.meetings[row][start:][:COLUMNS]
            )
            lines.append(f"{cut(f'{row + 1:>2} {name}', 16):<16}{scores}")
    return lines


def _meetings(found: Tournament) -> list[str]:
    """Return wins, draws and losses of every meeting, if there are few runs."""
    if len(found.names) > LISTED:
        return []
    wide = 12 if found.exact else 22
    lines = ["", "first - second" + "".join(f"{name:>{wide}}" for name in RESULTS)]
    for meeting in filter(lambda meeting: meeting.held, itertools.chain(*found.meetings)):
        label = f"{meeting.first + 1:>5} - {meeting.second + 1}"
        if meeting.tally is None:
            shares = [f"{share:.4f}" for share in meeting.shares]
        else:
            shares = ["{:.3f} ({:.3f}-{:.3f})".format(*meeting.tally.share(result)) for result in RESULTS]
        lines.append(f"{label:<14}" + "".join(f"{share:>{wide}}" for share in shares))
        if meeting.tally is not None and meeting.exact is not None:
            lines.append(f"{'      exactly':<14}" + "".join(f"{f'{share:.3f}':>8}{'':14}" for share in meeting.exact))
    return lines


def series_text(found: Series) -> str:
    """Return the text of `watch --games`: the sampled shares beside the exact ones."""
    one, other = found.names
    games = count_text(found.games, "game")
    whom = f"{one} against itself" if found.itself else f"{one} against {other}"
    lines = [f"{whom} on {found.board}: {games}, seed {found.seed}", f"ties: {meaning(found.ties)}"]
    for meeting in found.meetings:
        if meeting.tally is None:
            continue
        names = ["X", "O"]
        if not found.itself:
            both = [cut(name, LABEL - 9) for name in found.names]
            both = both if both[0] != both[1] else ["the first run", "the second run"]
            names = [both[meeting.first], both[meeting.second]]
            lines += ["", f"{found.names[meeting.first]} moves first in {count_text(meeting.tally.games, 'game')}"]
        lines += ["", *_shares(meeting, meeting.tally, [f"{names[0]} wins", "draw", f"{names[1]} wins"])]
    if len(found.meetings) > 1:
        total = [f"{share:.4f}" for share in (found.total.share(result)[0] for result in RESULTS)]
        exact = [] if found.expected is None else ["exactly     {:.4f}, {:.4f}, {:.4f}".format(*found.expected)]
        lines += ["", f"in all {one} wins {total[0]}, draws {total[1]}, loses {total[2]}", *exact]
    return "\n".join(line.rstrip() for line in [*lines, "", _fit(found)])


def _shares(meeting: Meeting, tally: Tally, labels: Sequence[str]) -> list[str]:
    """Return the results of one meeting, a line each: sampled, interval, exact, difference."""
    known = meeting.exact is not None
    lines = [f"{'':<{LABEL}}{'sampled':>9}{INTERVAL:>18}" + (f"{'exactly':>11}{'z':>9}" if known else "")]
    for number, (result, label) in enumerate(zip(RESULTS, labels, strict=True)):
        share, low, high = tally.share(result)
        line = f"{label:<{LABEL}}{share:>9.4f}{f'{low:.4f}-{high:.4f}':>18}"
        if meeting.exact is not None and meeting.deviations is not None:
            z = meeting.deviations[number]
            line += f"{meeting.exact[number]:>11.4f}{z:>+z9.2f}" + ("" if meeting.inside[number] else " *")
        lines.append(line)
    return lines


def _fit(found: Series) -> str:
    """Return whether the sample fits the exact shares, in a line or two."""
    if found.expected is None:
        return "No exact expectation: that takes two tables of an enumerated board."
    inside = [one for meeting in found.meetings for one in meeting.inside]
    text = f"{sum(inside)} of {len(inside)} exact shares lie in the {INTERVAL} of the sample"
    if any(math.isinf(z) for meeting in found.meetings for z in meeting.deviations or ()):
        return f"{text}.\nSomething happened that cannot, or never happened and must: one of the two is wrong."
    if all(inside):
        return f"{text}: it fits."
    return f"{text};\nby chance one in twenty does not (*)."
