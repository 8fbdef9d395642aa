"""The claims about learners from beads, Michie's MENACE among them, and about softmax play.

What is said of their figures, and what a verdict follows from, is here, too.  MENACE plays first alone, so its figures
are of that seat: those of `first_seat` in `claims.py`.
"""

from claims_beans import menace, most_beans, simulate
from claims_verdicts import Claim, Report, judged, median, percent, share

MOST = 0.5
"""More than this share of the seeds is most of them."""

POST = "letstalkdata.com/2013/04/how-quickly-can-a-computer-learn-tic-tac-toe"
TOURNAMENT = "Michie on his tournament of 1961, quoted in Levy, Robots Unlimited, 2006"
PUBLISHED, WITHIN = 66, 2
"""The games that POST has lost, and how far from it a median may be."""


# --- beads ------------------------------------------------------------------------------------------------------------


def lost(row: Report, start: int = 0) -> str:
    """The games that learners lose after a recorded point: their median, its interval, and where most seeds lie."""
    middle, low, high, least, greatest = row["since"][str(start)]["lost"]
    return (
        f"{middle:,.0f} of {row['since'][str(start)]['of']:,} games lost (median, {low:,.0f} to {high:,.0f}; 95 % of "
        f"the seeds {least:,.0f} to {greatest:,.0f})"
    )


def found_beans(report: Report) -> str:
    """Return the losses of the learner that plays the move with the most beans."""
    row, seeds = report["settings"][0], report["seeds"]
    return f"{lost(row)}; at the end {lost(row, 90)}, none of them: {share(row['since']['90']['seeds'][0], seeds)}"


def as_published(report: Report) -> str:
    """Return whether the median of some setting is the published one, or near it."""
    return judged(any(abs(row["since"]["0"]["lost"][0] - PUBLISHED) <= WITHIN for row in report["settings"]))


def found_hundred(report: Report) -> str:
    """Return the losses of MENACE by its beads, and the seeds that lose the last three games."""
    parts = [
        f"beads {row['beads']}: {lost(row)}; all of the last three lost: "
        f"{share(row['since']['97']['seeds'][2], report['seeds'])}"
        for row in report["settings"]
    ]
    return (
        f"{'; '.join(parts)}. A lost game costs a bead of the first box, a draw adds none and a win is impossible: "
        "that box empties before the others have learnt, and then MENACE resigns"
    )


def found_draws(report: Report) -> str:
    """Return how many learners draw nearly all games after the 20th, and how many lose all, by opponent."""
    parts = []
    for name, figures in (("replies by rules", report["simulated"]), ("any optimal replies", report)):
        row, seeds = figures["settings"][0], figures["seeds"]
        late, end = row["since"]["20"], row["since"]["149"]
        parts.append(
            f"against {name} at most one of ten of games 21 to 220 lost: {share(late['seeds'][1], seeds)}; all from "
            f"the 150th on lost, since boxes are empty and MENACE resigns: {share(end['seeds'][2], seeds)}; {lost(row)}"
        )
    return "; ".join(parts)


def settles(report: Report) -> str:
    """Return whether most learners draw nearly all games after the 20th against replies by rules."""
    figures = report["simulated"]
    return judged(figures["settings"][0]["since"]["20"]["seeds"][1] > MOST * figures["seeds"])


def found_copes(report: Report) -> str:
    """The learners that are unbeatable, by opponent."""
    seeds = report["seeds"]
    parts = []
    for row in report["settings"]:
        mean = percent(row["random"][0])
        parts.append(
            f"against {row['opponent']} moves unbeatable after 220 games: {share(row['unbeatable'], seeds)}, at any "
            f"recorded point: {share(row['ever'], seeds)}; from the 150th game on {lost(row, 149)}; wins / draws / "
            f"losses of its likeliest moves against random play {mean} %"
        )
    return "; ".join(parts)


def found_million(report: Report) -> str:
    """Return whether learners still lose as they play, and whether their likeliest moves can be beaten."""
    row, seeds = report["settings"][0], report["seeds"]
    return (
        f"after game 940,769 {lost(row, 940_769)}, none of them: {share(row['since']['940769']['seeds'][0], seeds)}. "
        f"With the beads of which each box has most, unbeatable as first: {share(row['unbeatable'], seeds)}"
    )


# --- softmax ----------------------------------------------------------------------------------------------------------


def temperature(row: Report) -> float:
    """The temperature of a setting that plays by softmax; 0 of others."""
    return float(row["explore"].partition(":")[2]) if "explore" in row else 0.0


def ten_times_off(report: Report) -> list[float]:
    """The games to the first proof at a tenth and at ten times the best temperature, in those at the best."""
    games = {temperature(row): median(row) for row in report["settings"] if "explore" in row}
    best = min(games, key=lambda one: games[one])
    return [number / games[best] for one, number in games.items() if round(max(one / best, best / one), 6) == 10]


def found_softmax(report: Report) -> str:
    """The first proofs, by temperature and by epsilon."""
    names = [row.get("explore", f"epsilon {row['epsilon']}") for row in report["settings"]]
    off = " and ".join(f"{one:.1f}" for one in ten_times_off(report))
    found = "; ".join(f"{name} {games(row)}" for name, row in zip(names, report["settings"], strict=True))
    return f"ten times off the best temperature: {off} times its games. Games to the first proof (median): {found}"


def games(row: Report) -> str:
    """The median of the games to the first proof, its interval, and the seeds that are ever proved if not all are."""
    middle, low, high = ("never" if one is None else f"{one:,}" for one in row["proof"])
    ever = "" if row["proved"] == 1 else f", {row['proved']:.0%} of the seeds"
    return f"{middle} ({low} to {high}{ever})"


CLAIMS = (
    Claim(
        "beans",
        "A program that plays the move with the most beans loses a median of 66 of 100 games to a perfect player",
        f"{POST}, and the description of its program, phillipjohnson/TTT, README",
        "By that description and its listing: ten beans for each cell, +1, 0 and -1 for a win, a draw and a loss, one "
        "at least is kept, the seat is drawn before each game, the opponent plays by its rules. They are not perfect: "
        "after centre, corner and opposite corner they may lose. Holds if our median is within "
        f"{WITHIN} games of it.",
        found_beans,
        as_published,
        simulate=lambda: simulate(most_beans, 100, (0, 90)),
    ),
    Claim(
        "menace-hundred",
        "MENACE loses a median of 66 games to a perfect player before it plays optimally",
        f"{POST}, 1,000 tournaments of 100 games",
        "The same rewards in Michie's machine, which draws beads by chance, plays first alone and resigns when a box "
        "is empty, with the source's ten beads and with Michie's; the opponent picks any optimal move. Resigned games "
        f"are lost. The source's program is another one (`beans`). Holds if a median is within {WITHIN} games of it.",
        found_hundred,
        as_published,
        study="menace-hundred",
    ),
    Claim(
        "menace-draws",
        "By its 20th game MENACE has settled into a line that draws against best play",
        TOURNAMENT,
        "It was one machine; we make 1,000: beads 4, 3, 2, 1, rewards +3, +1, -1, 220 games. Michie did not say how he "
        "chose among best replies, and varied later: the study's opponent picks any optimal move, and that of "
        "scripts/claims_beans.py goes by rules as a person does. Holds if against the latter most learners draw nine "
        "of ten games after the 20th: a close verdict, since the share depends on which best replies are preferred.",
        found_draws,
        settles,
        study="menace",
        simulate=lambda: simulate(menace, 220, (0, 20, 149)),
    ),
    Claim(
        "menace-copes",
        "After 150 games MENACE copes with anything: no variation brings a better average than a draw",
        TOURNAMENT,
        "The same 220 games, against optimal and against random moves, where Michie tried unsound variations. To cope "
        "is to be unbeatable as first, with the bead of which a box has most. Holds if most learners are at the end, "
        "against either.",
        found_copes,
        lambda report: judged(any(row["unbeatable"] > MOST * report["seeds"] for row in report["settings"])),
        study="menace",
    ),
    Claim(
        "menace-million",
        "MENACE has never got to the point of perfect play, a million games or not",
        "README of skeeto/menace-lua, of games against itself after some against a person",
        "Not its self-play, since our MENACE plays first alone: a million games against random moves, with the "
        "source's beads, 256 of each kind, and its rewards, +3, +1, -1. It fills empty boxes again, where ours "
        "resigns. Holds if every learner, drawing beads, still loses games at the end.",
        found_million,
        lambda report: judged(report["settings"][0]["since"]["940769"]["seeds"][0] == 0),
        study="menace-million",
    ),
    Claim(
        "softmax",
        "Boltzmann exploration may converge unnecessarily slowly unless its temperature is tuned with great care",
        "Kaelbling, Littman and Moore, Reinforcement Learning: A Survey (JAIR 4, 1996), Randomized Strategies",
        "Said of learning in general. Here Q-learning by self-play draws moves by softmax of their values, on the "
        "scale -1 to 1, with a temperature that stays; beside it epsilon-greedy play. Holds if ten times too high or "
        "too low a temperature takes more than twice the games of the best to the first proof.",
        found_softmax,
        lambda report: judged(max(ten_times_off(report)) > 2),
        study="softmax",
    ),
)
"""In the order of the page, after those of `claims_list.py`."""
