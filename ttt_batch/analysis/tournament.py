"""Round-robin tournaments in both seats, and series of games between two agents."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ttt_batch.agents.outsider import AgentAdapter
from ttt_batch.analysis.meetings import Meeting, Participant, Participants, Shares, seats_of
from ttt_batch.analysis.playing import CONFIDENCE, DEVIATIONS, MAX_MATCH_GAMES, Tally
from ttt_batch.base.choices import RESULTS, SEATS, Ties, check_ties
from ttt_batch.base.errors import UsageError
from ttt_batch.base.printable import Printable
from ttt_batch.base.quantities import Number, parse_int, parse_seed
from ttt_batch.runs.boxes import cannot_play_second_error, check_meeting
from ttt_batch.runs.loading import AnyRun
from ttt_batch.runs.run import Run

GAMES = 1_000
"""Default number of games in a sampled meeting."""


class Standing(NamedTuple):
    """Place of a run in a tournament, over its meetings with all others in both seats.

    place: from 1, by points per meeting; equal runs share a place.  run: its number, from 0.
    points: sum of its points per game over the meetings, a win 1 and a draw one half.
    margin: half the width of the 95 % interval of `points` by a normal approximation (see `Meeting.variance`), which
    needs some dozens of games per meeting; 0 only for exact results.
    as_first, as_second: points in each seat; nan in a seat that it cannot play.
    shares: of wins, draws and losses over all its meetings.
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
        """Return plain values with stable keys."""
        plain = self._asdict()
        return plain | dict(zip(RESULTS, plain.pop("shares"), strict=True))


@dataclass(frozen=True)
class Tournament(Printable):
    """Round-robin tournament in both seats.

    meetings: `[first][second]`; each run also meets itself, without points.
    exact: whether the results are exact.  games, seed: of each meeting, if they are sampled.
    standings: best first, equal runs in the given order.  ties: as for `Run.candidates`.
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
        """Return plain values with stable keys, as `--json` prints them; `run` counts from 0 in the given order."""
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


def all_play_all(
    runs: Sequence[AnyRun | AgentAdapter],
    names: Sequence[str],
    *,
    games: Number | None = None,
    seed: Number = 0,
    ties: Ties = "any",
) -> Tournament:
    """Hold a tournament: every run meets every run, itself included, in both seats.

    games: number in each meeting, 1 to 10**9; None for exact results if all participants allow them, else for GAMES.
    seed: any integer of 64 bits.  ties: as for `Run.candidates`.

    A run that only plays first (`menace`) meets only runs that play second.
    Raises UsageError for fewer than two runs or if none plays second, and BoardError for runs of different boards.
    """
    if len(runs) < 2:
        raise UsageError("a tournament takes two runs or more; use evaluate for one")
    ties, seed = check_ties(ties), parse_seed(seed)
    participants = Participants(runs, names, ties)
    if games is not None:
        games = parse_int("games", games, 1, MAX_MATCH_GAMES)
    elif not participants.exact:
        games = GAMES
    check_seconds(runs)
    n = len(runs)
    meetings = tuple(tuple(participants.meet(i, j, games, seed) for j in range(n)) for i in range(n))
    standings = _standings(meetings, names)
    return Tournament(runs[0].board.name, tuple(names), meetings, games is None, games, seed, standings, ties)


def check_seconds(runs: Sequence[Participant]) -> None:
    """Raise UsageError if no run can play second."""
    if not any(SEATS[1] in seats_of(run) for run in runs):
        name = next(run.config.learner for run in runs if isinstance(run, Run))
        raise cannot_play_second_error(name, "a meeting of two such runs", "add a run that plays second")


def _standings(meetings: Sequence[Sequence[Meeting]], names: Sequence[str]) -> tuple[Standing, ...]:
    """Return the standings, best first."""
    runs = range(len(meetings))
    as_first = [[meetings[run][j] for j in runs if j != run and meetings[run][j].held] for run in runs]
    as_second = [[meetings[j][run] for j in runs if j != run and meetings[j][run].held] for run in runs]
    first = [sum(meeting.score for meeting in as_first[run]) for run in runs]
    second = [sum(1 - meeting.score for meeting in as_second[run]) for run in runs]
    # Points are sums of rounded shares: differences below 1e-9 are rounding.
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
    """Games between two agents that alternate seats, or of one agent against itself.

    games: total number; the second agent moves first in every other game if it can.
    ties: as for `Run.candidates`.
    meetings: first the one in which the first agent moves first, then the other; one only if the seats are fixed.
    """

    board: str
    names: tuple[str, str]
    games: int
    seed: int
    meetings: tuple[Meeting, ...]
    ties: Ties = "any"

    @property
    def itself(self) -> bool:
        """Return whether one agent plays itself."""
        return all(meeting.first == meeting.second for meeting in self.meetings)

    @property
    def total(self) -> Tally:
        """Return the tally of all games for the first agent; in self-play, for the first player."""
        tallies = [meeting.tally[:: -1 if meeting.first else 1] for meeting in self.meetings if meeting.tally]
        return Tally(*map(sum, zip(*tallies, strict=True)))

    @property
    def expected(self) -> Shares | None:
        """Return the exact shares of `total`; None if unknown."""
        shares = [0.0, 0.0, 0.0]
        for meeting in self.meetings:
            if meeting.exact is None or meeting.tally is None:
                return None
            for result, share in enumerate(meeting.exact[:: -1 if meeting.first else 1]):
                shares[result] += share * meeting.tally.games / self.games
        return shares[0], shares[1], shares[2]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values with stable keys, as `--json` prints them; each meeting's shares are its `first`'s."""
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
    first_run: AnyRun | AgentAdapter,
    second_run: Participant,
    names: Sequence[str],
    *,
    games: Number,
    seed: Number = 0,
    ties: Ties = "any",
) -> Series:
    """Play a series between two agents; they alternate seats, and the first agent moves first in the first game.

    Self-play is a single meeting, and so are the games of a run that only plays first (`menace`).
    On an enumerated board the exact expected shares are included.
    games: 1 to 10**9.  seed: any integer of 64 bits.  ties: as for `Run.candidates`.  Raises UsageError and BoardError.
    """
    ties, games, seed = check_ties(ties), parse_int("games", games, 1, MAX_MATCH_GAMES), parse_seed(seed)
    participants = Participants([first_run, second_run], names, ties)
    itself = first_run is second_run
    check_meeting(names[0], seats_of(first_run), "self" if itself else names[1], seats_of(second_run))
    able = [(one, other) for one, other in ((0, 1), (1, 0)) if participants.can_meet(one, other)]
    seats = [(*pair, (games + len(able) - 1 - turn) // len(able)) for turn, pair in enumerate(able)]
    seats = [(0, 0, games)] if itself else seats
    meetings = tuple(participants.meet(one, other, number, seed) for one, other, number in seats if number)
    return Series(first_run.board.name, (names[0], names[1]), games, seed, meetings, ties)
