"""Round-robin tournaments in both seats, and series of games between two agents.

In a meeting one agent is the first player and one the second.  Results are exact on an enumerated board.  On other
boards, or on request, games are played (see `matches`).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ttt_batch.agents.adapter import AgentAdapter
from ttt_batch.agents.builtin import KernelPlayer, ScriptedPlayer, Seated, adapter_of, kernel_player
from ttt_batch.agents.layers import LayerRules, shares
from ttt_batch.analysis.matches import CONFIDENCE, DEVIATIONS, MAX_MATCH_GAMES, Tally, play_agents, play_walk
from ttt_batch.compiler.numerics import MEETINGS, stream_key
from ttt_batch.core.errors import BoardError, UsageError
from ttt_batch.core.results import Printable, by_name
from ttt_batch.core.text import RESULTS, SEATS, Number, Ties, check_ties, parse_int, parse_seed
from ttt_batch.evaluation.exact_results import match
from ttt_batch.games.bitboards import make_lines
from ttt_batch.games.enumeration import enumerate_graph
from ttt_batch.runs.config import can_meet, cannot_play_second_error, check_meeting
from ttt_batch.runs.loading import AnyRun
from ttt_batch.runs.run import Run
from ttt_batch.simulation.policy import Policy

Participant = Seated
"""Participant: a run of any kind, an adapter of a third-party agent or, in a series, a scripted player."""

Shares = tuple[float, float, float]
"""Shares of wins, draws and losses of the player who moves first."""


@dataclass(frozen=True)
class Meeting:
    """Result of one participant as first player against one as second; every share is the first player's.

    first, second: numbers of the participants, from 0.  tally: the played games, or None.
    exact: the exact shares, or None if unknown.  Both are None if one participant cannot play its seat.
    """

    first: int
    second: int
    tally: Tally | None
    exact: Shares | None

    @property
    def held(self) -> bool:
        """Return whether the two could meet."""
        return self.tally is not None or self.exact is not None

    @property
    def shares(self) -> Shares:
        """Return the shares of wins, draws and losses: those of the played games if any, else the exact ones."""
        if self.tally is not None:
            win, drawn, loss = (count / self.tally.games for count in self.tally)
            return win, drawn, loss
        return self.exact or (math.nan, math.nan, math.nan)

    @property
    def score(self) -> float:
        """Return the first player's points per game: a win 1, a draw one half."""
        return self.shares[0] + self.shares[1] / 2

    @property
    def variance(self) -> float:
        """Return the variance of a sampled `score`, or 0 for an exact one.

        The sample gets one extra win, draw and loss: equal results in all games do not prove a variance of 0.
        """
        if self.tally is None:
            return 0.0
        games = self.tally.games
        win, drawn = (self.tally.win + 1) / (games + 3), (self.tally.draw + 1) / (games + 3)
        return (win + drawn / 4 - (win + drawn / 2) ** 2) / games

    @property
    def deviations(self) -> Shares | None:
        """Return by how many standard deviations each sampled share exceeds the exact one; None if one is missing."""
        if self.tally is None or self.exact is None:
            return None
        win, drawn, loss = map(deviation, self.shares, self.exact, (self.tally.games,) * 3)
        return win, drawn, loss

    @property
    def inside(self) -> tuple[bool, ...]:
        """Return whether each exact share lies in the sampled one's 95 % Wilson interval; empty if one is missing."""
        return tuple(abs(one) <= DEVIATIONS for one in self.deviations or ())

    def to_dict(self, names: Sequence[str]) -> dict[str, Any]:
        """Return plain values with stable keys, as `--json` prints them."""
        return {
            "first": names[self.first],
            "second": names[self.second],
            "games": None if self.tally is None else self.tally.games,
            "exact": self.exact and by_name(self.exact, RESULTS),
            "sampled": None if self.tally is None else self.tally.to_dict(),
            "z": self.deviations and by_name(self.deviations, RESULTS),
            "inside": self.deviations and by_name(self.inside, RESULTS),
            "score": self.score if self.held else None,
        }


def deviation(share: float, exact: float, games: int) -> float:
    """Return by how many standard deviations a sampled share exceeds the exact one; infinite beyond an exact 0 or 1."""
    # Rounding may carry exact shares, which are sums of products, beyond 0 and 1.
    exact = min(1.0, max(0.0, exact))
    spread = math.sqrt(exact * (1 - exact) / games)
    if abs(share - exact) < 1e-12:
        return 0.0
    return (share - exact) / spread if spread > 1e-9 else math.copysign(math.inf, share - exact)


class Participants:
    """Participants of a tournament or a series.

    exact: True if all have a policy or can be queried in all positions, so that results are exact.
    """

    def __init__(self, runs: Sequence[Participant], names: Sequence[str], ties: Ties) -> None:
        """Check the participants and their names.  ties: as for `Run.candidates`.  Raises UsageError and BoardError."""
        if len(runs) != len(names):
            raise UsageError(f"{len(runs)} runs, but {len(names)} names; give one for each")
        board = runs[0].board
        for run, name in zip(runs, names, strict=True):
            if run.board != board:
                raise BoardError(
                    f"{names[0]} plays {board.name}, {name} plays {run.board.name}; choose runs of one board"
                )
        self._runs, self._ties, self.exact = runs, ties, all(run.exact for run in runs)
        self._policies = list[Policy]()
        if self.exact and not any(isinstance(run, AgentAdapter) for run in runs):
            # A learner that may choose occupied cells needs edges for them; such a move loses.
            occupied, resigns = any(run.occupied for run in runs), any(run.resigns for run in runs)
            symmetry = all(run.images_share for run in runs)
            self._graph = enumerate_graph(board, occupied, symmetry, resigns=resigns)
            self._policies = [run.policy_on(self._graph, ties) for run in runs if isinstance(run, Run | ScriptedPlayer)]

    @cached_property
    def _players(self) -> list[KernelPlayer | AgentAdapter]:
        """Return what plays for each participant; only if games are played."""
        return [kernel_player(run, self._ties) for run in self._runs]

    @cached_property
    def _asked(self) -> list[AgentAdapter]:
        """Return what is queried about each participant's moves; only for exact results."""
        return [adapter_of(run, run.board, self._ties) for run in self._runs]

    def can_meet(self, first: int, second: int) -> bool:
        """Return whether these two can play in these seats."""
        return can_meet(self._runs[first].seats, self._runs[second].seats)

    def meet(self, first: int, second: int, games: int | None, seed: int) -> Meeting:
        """Return the meeting of two participants, empty if they cannot meet.  games: the number to play, or None."""
        if not self.can_meet(first, second):
            return Meeting(first, second, None, None)
        exact = tally = None
        key, board = stream_key(seed, MEETINGS + (first << 20) + second), self._runs[0].board
        if self._policies:
            policies = self._policies[first], self._policies[second]
            exact = match(self._graph, *policies)
            tally = None if games is None else play_walk(self._graph, *policies, games, key)
            return Meeting(first, second, tally, exact)
        asked: Sequence[Participant] = self._runs
        if self.exact:
            asked = self._asked
            exact = shares(LayerRules(board), self._asked[first].answers, self._asked[second].answers)
        if games is not None:
            tally = play_agents(self._players[first], self._players[second], make_lines(board), games, key)
        for player in (asked[first], asked[second]):
            if isinstance(player, AgentAdapter):
                player.ask_again()
        return Meeting(first, second, tally, exact)


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
        plain |= by_name(plain.pop("shares"), RESULTS)
        return plain


@dataclass(frozen=True)
class Tournament(Printable):
    """Round-robin tournament in both seats.

    meetings: `[first][second]`; each run also meets itself, without points.
    exact: whether the results are exact.  games, seed: of each meeting, if they are sampled.
    standings: best first, equal runs in the given order.  ties: as for `Run.candidates`.
    """

    rows = "standings", "place"

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
    games = None if games is None else parse_int("games", games, 1, MAX_MATCH_GAMES)
    if not any(SEATS[1] in run.seats for run in runs):
        remedy = "add a run that plays second"
        raise cannot_play_second_error(runs[0].name, "a meeting of two such runs", remedy)
    participants = Participants(runs, names, ties)
    if games is None and not participants.exact:
        games = GAMES
    n = len(runs)
    meetings = tuple(tuple(participants.meet(i, j, games, seed) for j in range(n)) for i in range(n))
    standings = _standings(meetings, names)
    return Tournament(runs[0].board.name, tuple(names), meetings, games is None, games, seed, standings, ties)


def _standings(meetings: Sequence[Sequence[Meeting]], names: Sequence[str]) -> tuple[Standing, ...]:
    """Return the standings, best first."""
    found, rates = list[Standing](), list[float]()
    for run, name in enumerate(names):
        first = [meeting for meeting in meetings[run] if meeting.second != run and meeting.held]
        second = [row[run] for row in meetings if row[run].first != run and row[run].held]
        as_first, as_second = sum(meeting.score for meeting in first), sum(1 - meeting.score for meeting in second)
        # Points are sums of rounded shares: differences below 1e-9 are rounding.
        points = round(as_first + as_second, 9)
        margin = DEVIATIONS * math.sqrt(sum(meeting.variance for meeting in first + second))
        both = [*(meeting.shares for meeting in first), *(meeting.shares[::-1] for meeting in second)]
        won, drawn, lost = (sum(shares) / len(both) for shares in zip(*both, strict=True))
        own = as_first if first else math.nan, as_second if second else math.nan
        found.append(Standing(0, run, name, points, margin, *own, (won, drawn, lost)))
        rates.append(points / len(both))
    placed = [one._replace(place=1 + sum(rate > rates[one.run] for rate in rates)) for one in found]
    return tuple(sorted(placed, key=lambda one: -rates[one.run]))


@dataclass(frozen=True)
class Series(Printable):
    """Games between two agents that alternate seats, or of one agent against itself.

    games: total number; the second agent moves first in every other game if it can.
    ties: as for `Run.candidates`.
    meetings: first the one in which the first agent moves first, then the other; one only if the seats are fixed.
    """

    rows = "meetings", "first"

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
        shares = np.zeros(3)
        for meeting in self.meetings:
            if meeting.exact is None or meeting.tally is None:
                return None
            shares += np.array(meeting.exact[:: -1 if meeting.first else 1]) * meeting.tally.games / self.games
        win, drawn, loss = shares.tolist()
        return win, drawn, loss

    def to_dict(self) -> dict[str, Any]:
        """Return plain values with stable keys, as `--json` prints them; a meeting's shares are for `first`."""
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
                "exact": self.expected and by_name(self.expected, RESULTS),
            },
        }


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
    check_meeting(names[0], first_run.seats, "self" if itself else names[1], second_run.seats)
    able = [(one, other) for one, other in ((0, 1), (1, 0)) if participants.can_meet(one, other)]
    seats = [(*pair, (games + len(able) - 1 - turn) // len(able)) for turn, pair in enumerate(able)]
    seats = [(0, 0, games)] if itself else seats
    meetings = tuple(participants.meet(one, other, number, seed) for one, other, number in seats if number)
    return Series(first_run.board.name, (names[0], names[1]), games, seed, meetings, ties)
