"""Tournaments, all against all in both seats, and series of games between two agents."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ttt_batch.agents.outsider import Outsider
from ttt_batch.analysis.meetings import Entrant, Meeting, Participants, Shares, seats_of
from ttt_batch.analysis.playing import CONFIDENCE, DEVIATIONS, MAX_MATCH_GAMES, Tally
from ttt_batch.base.choices import RESULTS, SEATS, Ties, check_ties
from ttt_batch.base.errors import UsageError
from ttt_batch.base.printable import Printable
from ttt_batch.base.quantities import Number, any_seed, whole
from ttt_batch.runs.boxes import check_meeting, not_second
from ttt_batch.runs.loading import AnyRun
from ttt_batch.runs.run import Run

GAMES = 1_000
"""Games of a sampled meeting by default."""


class Standing(NamedTuple):
    """The place of a run in a tournament, over its meetings with all others in both seats.

    place: from 1, by points a meeting; equal runs share one.  run: its number, from 0.
    points: sum over the meetings of its points a game, a win 1 and a draw one half.
    margin: half the width of the 95 % interval of `points`, by a normal approximation, which takes some dozens of games
    a meeting (see `Meeting.variance`); 0 only for exact results.
    as_first, as_second: points in each seat; nan in one that it does not play.
    shares: of its games won, drawn and lost in all.
    """

    place: int
    run: int
    name: str
    points: float
    margin: float
    as_first: float
    as_second: float
    shares: Shares

    def to_dict(self) -> dict[str, Any]:
        """Plain values with stable keys."""
        plain = self._asdict()
        return plain | dict(zip(RESULTS, plain.pop("shares"), strict=True))


@dataclass(frozen=True)
class Tournament(Printable):
    """All against all in both seats.

    meetings: `[first][second]`, every run also against itself, which counts for no points.
    exact: whether the results are exact.  games: played in each meeting if they are not, with this seed.
    standings: best first, runs of equal points in the order given.  ties: as for `Run.candidates`.
    """

    board: str
    names: tuple[str, ...]
    meetings: tuple[tuple[Meeting, ...], ...]
    exact: bool
    games: int | None
    seed: int
    standings: tuple[Standing, ...]
    ties: Ties = "any"

    def to_dict(self) -> dict[str, Any]:
        """Plain values with stable keys, as `--json` prints them; `run` counts from 0 in the order given."""
        return {
            "board": self.board,
            "runs": list(self.names),
            "ties": self.ties,
            "exact": self.exact,
            "games": self.games,
            "seed": None if self.exact else self.seed,
            "confidence": None if self.exact else CONFIDENCE,
            "standings": [one.to_dict() for one in self.standings],
            "meetings": [meeting.to_dict(self.names) for row in self.meetings for meeting in row],
        }

    def records(self) -> tuple[list[dict[str, Any]], str]:
        """Return a row for each standing, best first."""
        return self.to_dict()["standings"], "place"


def tournament(
    runs: Sequence[AnyRun | Outsider],
    names: Sequence[str],
    *,
    games: Number | None = None,
    seed: Number = 0,
    ties: Ties = "any",
) -> Tournament:
    """Let every run meet every run in both seats, itself included.

    games: played in each meeting, 1 to 10**9; None for exact results between tables of an enumerated board, and else
    GAMES.
    seed: any integer of 64 bits.  ties: as for `Run.candidates`.

    A run that plays first alone (`menace`) meets those that play second, and no other.
    Raises UsageError for fewer than two runs and if none plays second, BoardError for runs of different boards.
    """
    if len(runs) < 2:
        raise UsageError("a tournament takes two runs or more; evaluate judges one alone")
    ties, seed = check_ties(ties), any_seed(seed)
    participants = Participants(runs, names, ties)
    if games is not None:
        games = whole("games", games, 1, MAX_MATCH_GAMES)
    elif not participants.exact:
        games = GAMES
    check_seconds(runs)
    n = len(runs)
    meetings = tuple(tuple(participants.meet(i, j, games, seed) for j in range(n)) for i in range(n))
    standings = _standings(meetings, names)
    return Tournament(runs[0].board.name, tuple(names), meetings, games is None, games, seed, standings, ties)


def check_seconds(runs: Sequence[Entrant]) -> None:
    """Raise UsageError if no run can play second."""
    if not any(SEATS[1] in seats_of(run) for run in runs):
        name = next(run.config.learner for run in runs if isinstance(run, Run))
        raise not_second(name, "a meeting of two such runs", "add a run that plays second")


def _standings(meetings: Sequence[Sequence[Meeting]], names: Sequence[str]) -> tuple[Standing, ...]:
    """Points and places, best first."""
    runs = range(len(meetings))
    as_first = [[meetings[run][j] for j in runs if j != run and meetings[run][j].held] for run in runs]
    as_second = [[meetings[j][run] for j in runs if j != run and meetings[j][run].held] for run in runs]
    first = [sum(meeting.score for meeting in as_first[run]) for run in runs]
    second = [sum(1 - meeting.score for meeting in as_second[run]) for run in runs]
    # Points are sums of rounded shares: what differs by less than that is equal.
    points = [round(first[run] + second[run], 9) for run in runs]
    counts = [len(as_first[run]) + len(as_second[run]) for run in runs]
    rates = [points[run] / counts[run] for run in runs]
    found = []
    for run in sorted(runs, key=lambda run: -rates[run]):
        both = [*(meeting.shares for meeting in as_first[run]), *(meeting.shares[::-1] for meeting in as_second[run])]
        won, drawn, lost = (sum(shares) / len(both) for shares in zip(*both, strict=True))
        place = 1 + sum(other > rates[run] for other in rates)
        margin = DEVIATIONS * math.sqrt(sum(meeting.variance for meeting in as_first[run] + as_second[run]))
        moving_first = first[run] if as_first[run] else math.nan
        moving_second = second[run] if as_second[run] else math.nan
        shares = won, drawn, lost
        found.append(Standing(place, run, names[run], points[run], margin, moving_first, moving_second, shares))
    return tuple(found)


@dataclass(frozen=True)
class Series(Printable):
    """Games played between two agents that take turns to move first, or of one against itself.

    games: played in all, every other one with the second of them moving first if it can.
    ties: as for `Run.candidates`.
    meetings: one in which the first of them moves first, then the other; one alone if there is but one way to meet.
    """

    board: str
    names: tuple[str, str]
    games: int
    seed: int
    meetings: tuple[Meeting, ...]
    ties: Ties = "any"

    @property
    def itself(self) -> bool:
        """Whether one agent plays itself."""
        return all(meeting.first == meeting.second for meeting in self.meetings)

    @property
    def total(self) -> Tally:
        """All games as the first of the two sees them; of one against itself, as the first player sees them."""
        tallies = [meeting.tally[:: -1 if meeting.first else 1] for meeting in self.meetings if meeting.tally]
        return Tally(*map(sum, zip(*tallies, strict=True)))

    @property
    def expected(self) -> Shares | None:
        """The exact shares of `total`; None if they are not known."""
        shares = [0.0, 0.0, 0.0]
        for meeting in self.meetings:
            if meeting.exact is None or meeting.tally is None:
                return None
            for result, share in enumerate(meeting.exact[:: -1 if meeting.first else 1]):
                shares[result] += share * meeting.tally.games / self.games
        return shares[0], shares[1], shares[2]

    def to_dict(self) -> dict[str, Any]:
        """Plain values with stable keys, as `--json` prints them; a meeting's shares are those of its `first`."""
        return {
            "board": self.board,
            "runs": list(self.names),
            "ties": self.ties,
            "games": self.games,
            "seed": self.seed,
            "confidence": CONFIDENCE,
            "meetings": [meeting.to_dict(self.names) for meeting in self.meetings],
            "total": {
                "of": self.names[0],
                "sampled": self.total.to_dict(),
                "exact": None if self.expected is None else dict(zip(RESULTS, self.expected, strict=True)),
            },
        }

    def records(self) -> tuple[list[dict[str, Any]], str]:
        """Return a row for each meeting."""
        return self.to_dict()["meetings"], "first"


def series(
    first_run: AnyRun | Outsider,
    second_run: Entrant,
    names: Sequence[str],
    *,
    games: Number,
    seed: Number = 0,
    ties: Ties = "any",
) -> Series:
    """Play games between two agents, the first of them moving first in every other game, beginning with the first.

    All games of a run against itself are one meeting, and so are those of a run that plays first alone (`menace`).
    The sample comes with what is expected exactly, if the board is enumerated.
    games: 1 to 10**9.  seed: any integer of 64 bits.  ties: as for `Run.candidates`.  Raises UsageError and BoardError.
    """
    ties, games, seed = check_ties(ties), whole("games", games, 1, MAX_MATCH_GAMES), any_seed(seed)
    participants = Participants([first_run, second_run], names, ties)
    itself = first_run is second_run
    check_meeting(names[0], seats_of(first_run), "self" if itself else names[1], seats_of(second_run))
    able = [(one, other) for one, other in ((0, 1), (1, 0)) if participants.can_meet(one, other)]
    seats = [(*pair, (games + len(able) - 1 - turn) // len(able)) for turn, pair in enumerate(able)]
    seats = [(0, 0, games)] if itself else seats
    meetings = tuple(participants.meet(one, other, number, seed) for one, other, number in seats if number)
    return Series(first_run.board.name, (names[0], names[1]), games, seed, meetings, ties)
