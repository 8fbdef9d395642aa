"""Verdicts of `claims.py` on claims that it repeated, with their reasons.

A verdict is a function of the figures alone.  `holds`: what was published is what exact judgement finds.  `holds in
self-play only`: greedy games of the agent against itself end in draws, and yet an opponent beats it.  `does not hold`:
exact judgement finds otherwise.  With 20 seeds, 19 are taken for all.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from ttt_batch.analysis.matches import wilson

Report = dict[str, Any]

HOLDS, SELF_PLAY, FAILS = "holds", "holds in self-play only", "does not hold"
ALL = 0.95
"""The share of the seeds that is taken for all of them."""
MANY = 500
"""Seeds of which a tenth of a percent is told."""


class Claim(NamedTuple):
    """A published claim.

    says: the claim in a sentence.  source: where, in a line.  repeated: how, and what differs from the source.
    study: its file in `data/claims/`, or `headline`: the preset of headlines.md whose figures are its.
    simulate: plays what no study plays and returns its figures; beside a study's they are `simulated`.
    found: what was found, in words.  verdict: one of the three.
    brief: what was found in half a line, of the most telling claims.
    """

    name: str
    says: str
    source: str
    repeated: str
    found: Callable[[Report], str]
    verdict: Callable[[Report], str]
    study: str = ""
    headline: str = ""
    simulate: Callable[[], Report] | None = None
    brief: Callable[[Report], str] | None = None

    def games(self, report: Report) -> str:
        """The games of each learner."""
        return f"{report['settings'][0]['games']:,}" if "settings" in report else "-"


# --- figures in words -------------------------------------------------------------------------------------------------


def share(count: int, seeds: int) -> str:
    """A number of seeds, with Wilson's interval of their share; to a tenth of a percent if they are many."""
    digits = 1 if seeds >= MANY else 0
    low, high = (f"{100 * float(end):.{digits}f}" for end in wilson(count, seeds))
    return f"{count:,} of {seeds:,} ({low} to {high} %)"


def of_seeds(row: Report, seeds: int) -> str:
    """The verdicts on the seeds of a setting."""
    first, second = row["unbeatable"]
    drawn = f"all greedy self-play drawn: {share(row['drawn'], seeds)}; " if "drawn" in row else ""
    return f"{drawn}unbeatable as first: {share(first, seeds)}, as second: {share(second, seeds)}"


def against_random(row: Report) -> str:
    """Exact results against random play, mean over the seeds, with the lowest and highest seed's wins."""
    if "random" not in row:
        means = row["versus_random"]
        return "; ".join(f"{seat} {' / '.join(f'{100 * one:.2f}' for one in means[i])} %" for i, seat in SEATS)
    mean, low, high = row["random"]
    return "; ".join(
        f"as {seat} {' / '.join(f'{100 * one:.2f}' for one in mean[i])} % (wins of the seeds {100 * low[i][0]:.2f} to "
        f"{100 * high[i][0]:.2f})"
        for i, seat in SEATS
    )


SEATS = tuple(enumerate(("first", "second")))


def proof(row: Report) -> str:
    """Games to the first proof in both seats, median with its interval."""
    games, low, high = row["proof"]
    if games is None:
        return f"{row['proved']:.0%} of the seeds were ever unbeatable in both seats"
    most = "more" if high is None else f"{high:,}"
    return f"{games:,} games to the first proof in both seats (median; {low:,} to {most})"


def verdicts(report: Report) -> str:
    """The verdicts of the only setting."""
    return of_seeds(report["settings"][0], report["seeds"])


def results(report: Report) -> str:
    """The only setting against random play, and its verdicts."""
    return f"wins / draws / losses against random play {against_random(report['settings'][0])}; {verdicts(report)}"


# --- verdicts ---------------------------------------------------------------------------------------------------------


def judged(true: bool) -> str:
    """A claim that holds or does not."""
    return HOLDS if true else FAILS


def plays_well(report: Report) -> str:
    """Of claims that an agent plays optimally, which its source saw in games against itself."""
    row, seeds = report["settings"][0], report["seeds"]
    if row["both"] >= ALL * seeds:
        return HOLDS
    return SELF_PLAY if row["drawn"] >= ALL * seeds else FAILS


def holds_a_person(report: Report) -> str:
    """Of claims that a person cannot beat an agent."""
    return judged(report["settings"][0]["both"] >= ALL * report["seeds"])


def draws_itself(report: Report) -> str:
    """Of claims about self-play alone."""
    row, seeds = report["settings"][0], report["seeds"]
    if row["drawn"] < ALL * seeds:
        return FAILS
    return HOLDS if row["both"] >= ALL * seeds else SELF_PLAY


def wins(report: Report) -> list[float]:
    """The mean share of wins against random play in both seats."""
    return [report["settings"][0]["random"][0][seat][0] for seat in (0, 1)]


def near(report: Report, first: float, second: float, within: float) -> str:
    """Return whether the wins against random play are those published."""
    found = wins(report)
    return judged(abs(found[0] - first) <= within and abs(found[1] - second) <= within)


def median(row: Report) -> float:
    """The median number of games to the first proof; infinite if most seeds have none."""
    games = row["proof"][0]
    return float("inf") if games is None else float(games)


def percent(numbers: list[float]) -> str:
    """Shares as percentages."""
    return " / ".join(f"{100 * number:.2f}" for number in numbers)


def needs_millions(report: Report) -> str:
    """Return whether most seeds are unbeatable in both seats only after a million games or more, if at all."""
    return judged(any(games is None or games >= 1_000_000 for games in report["settings"][0]["first"]))


# --- what is compared -------------------------------------------------------------------------------------------------


def found_by_setting(key: str, text: Callable[[Report], str] = proof) -> Callable[[Report], str]:
    """The settings of a study, which differ in one option."""
    return lambda report: "; ".join(f"{key} {row[key]}: {text(row)}" for row in report["settings"])


def found_millions(report: Report) -> str:
    """Return when a learner is first unbeatable in its seat, and the end."""
    games = ["never" if one is None else f"{one:,}" for one in report["settings"][0]["first"]]
    when = f"first unbeatable after {games[0]} games as first, {games[1]} as second (medians)"
    return f"{when}; at the end {results(report)}"


def found_starts(report: Report) -> str:
    """The seeds that are ever proved from the first start value, and from the others."""
    first, *others = (row["proved"] for row in report["settings"])
    return f"{first:.0%} of the seeds are proved, of others {min(others):.0%}"


def found_two_seats(report: Report) -> str:
    """Return which seat is learnt, by setting."""
    rows, seeds = report["settings"], report["seeds"]
    first, second = (sum(row["unbeatable"][seat] for row in rows) for seat in (0, 1))
    total, each = seeds * len(rows), [f"{row['unbeatable'][0]} and {row['unbeatable'][1]}" for row in rows]
    return (
        f"unbeatable as first {share(first, total)}, as second {share(second, total)}; by setting, of {seeds} each: "
        f"{', '.join(each)}"
    )


def found_fixed(report: Report) -> str:
    """The wins against random play beside the most that there can be."""
    most = percent(report["exact"]["most_wins"])
    rows = [f"step size {row['alpha']}: wins / draws / losses {against_random(row)}" for row in report["settings"]]
    return f"{'; '.join(rows)}; most wins of any player: {most} %"


def optimal_against_it(report: Report) -> str:
    """Whether the mean wins of some step size are within half a percentage point of the most that there can be."""
    most = report["exact"]["most_wins"]
    gaps = [max(most[seat] - row["random"][0][seat][0] for seat in (0, 1)) for row in report["settings"]]
    return judged(min(gaps) <= 0.005)


def found_values(report: Report) -> str:
    """The distance of the values from the true ones."""
    mean, low, high = report["settings"][0]["error"]
    return (
        f"mean distance of a position's value from the true result, on the scale 0 to 1: {mean:.3f} (seeds {low:.3f} "
        f"to {high:.3f}); {verdicts(report)}"
    )


def found_best(report: Report) -> str:
    """The best against random play, with and without a guarantee."""
    best, safe = report["exact"]["best"], report["exact"]["best_unbeatable"]
    return (
        f"expected wins less losses against random play, as first and as second: at most {best[0]:.4f} and "
        f"{best[1]:.4f}; of players that can never lose at most {safe[0]:.4f} and {safe[1]:.4f}"
    )


def found_optimal(report: Report) -> str:
    """Optimal moves at random, and random moves, against random play."""
    first, second = report["exact"]["optimal"]
    return (
        f"uniform among the moves that keep the game's value, wins / draws / losses {percent(first)} % as first and "
        f"{percent(second)} % as second; random against random {percent(report['exact']['random'])} %"
    )


def optimal_as_published(report: Report) -> str:
    """Return whether the published shares of 1,000 games lie within Wilson's interval around them of the exact ones."""
    exact = report["exact"]
    pairs = ((961, exact["optimal"][0][0]), (766, exact["optimal"][1][0]), (597, exact["random"][0]))
    return judged(all(float(wilson(n, 1000)[0]) <= true <= float(wilson(n, 1000)[1]) for n, true in pairs))
