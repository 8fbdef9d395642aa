"""Meetings of two agents, one as first and one as second player: exact results and played games.

Results are exact on an enumerated board.  On other boards, or on request, games are played (see `playing`).
"""

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ttt_batch.agents.known import agent_of_run, named_agent, playing_agent
from ttt_batch.agents.layers import LayerRules
from ttt_batch.agents.outsider import AgentAdapter
from ttt_batch.agents.player import Player
from ttt_batch.agents.reach import shares
from ttt_batch.agents.scripted import PLAYERS, Scripted, ScriptedPlayer, policy_over
from ttt_batch.analysis.playing import DEVIATIONS, Tally, play_agents, play_walk
from ttt_batch.base.choices import RESULTS, SEATS, Ties, check_ties
from ttt_batch.base.errors import BoardError, UsageError
from ttt_batch.base.streams import MEETINGS, stream_key
from ttt_batch.evaluation.exact_results import match
from ttt_batch.game.enumeration import enumerate_graph
from ttt_batch.game.lines import make_lines
from ttt_batch.game.state_space import check_gravity
from ttt_batch.runs.boxes import can_meet
from ttt_batch.runs.loading import AnyRun
from ttt_batch.runs.run import Run
from ttt_batch.simulation.policy import Policy

Participant = AnyRun | ScriptedPlayer | AgentAdapter
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
        z = self.deviations
        return {
            "first": names[self.first],
            "second": names[self.second],
            "games": None if self.tally is None else self.tally.games,
            "exact": None if self.exact is None else dict(zip(RESULTS, self.exact, strict=True)),
            "sampled": None if self.tally is None else self.tally.to_dict(),
            "z": None if z is None else dict(zip(RESULTS, z, strict=True)),
            "inside": None if z is None else dict(zip(RESULTS, self.inside, strict=True)),
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


def enumerated(runs: Sequence[Participant]) -> bool:
    """Return whether every participant has a policy over all positions of its board."""
    return all(
        isinstance(run, ScriptedPlayer)
        or (isinstance(run, Run) and run.grown is None)
        or (isinstance(run, AgentAdapter) and run.exact)
        for run in runs
    )


def seats_of(player: object) -> tuple[str, ...]:
    """Return the seats that a participant can play: both, except for a run of a learner with boxes."""
    return player.seats if isinstance(player, Run) else SEATS


class Participants:
    """Participants of a tournament or a series.

    exact: True if all have a policy over all positions, so that results are exact.
    """

    def __init__(self, runs: Sequence[Participant], names: Sequence[str], ties: Ties = "any") -> None:
        """Check the participants and their names.  ties: as for `Run.candidates`.  Raises UsageError and BoardError."""
        ties = check_ties(ties)
        for run in runs:
            check_gravity(run.board, "a meeting of two agents")
        if len(runs) != len(names):
            raise UsageError(f"{len(runs)} runs, but {len(names)} names; give one for each")
        for run, name in zip(runs, names, strict=True):
            if run.board != runs[0].board:
                one, other = runs[0].board.name, run.board.name
                raise BoardError(f"{names[0]} plays {one}, {name} plays {other}; choose runs of one board")
        tables = [run for run in runs if isinstance(run, Run)]
        self._asks = any(isinstance(run, AgentAdapter) for run in runs)
        self.exact, self._seats = enumerated(runs), [seats_of(run) for run in runs]
        if self.exact and not self._asks:
            # A learner that may choose occupied cells needs edges for them; such a move loses.
            occupied, resigns = any(run.learner.occupied for run in tables), any(run.learner.boxes for run in tables)
            symmetry = all(run.config.symmetry for run in tables)
            self._graph = enumerate_graph(runs[0].board, occupied, symmetry, resigns=resigns)

        @functools.cache
        def policy(number: int) -> Policy:
            run = runs[number]
            if isinstance(run, ScriptedPlayer):
                return policy_over(self._graph, run.board, run.plies)
            assert isinstance(run, Run), "others are not exact"
            return run.policy_on(self._graph, ties)

        @functools.cache
        def player(number: int) -> Player:
            run = runs[number]
            if isinstance(run, AgentAdapter):
                return run
            if isinstance(run, ScriptedPlayer):
                return Player(named_agent(PLAYERS[run.plies], run.board), run.board)
            return Player(agent_of_run(run, ties), run.board)

        @functools.cache
        def agent(number: int) -> Any:
            run = runs[number]
            if isinstance(run, AgentAdapter):
                return run
            return Scripted(run.plies) if isinstance(run, ScriptedPlayer) else playing_agent(run, ties)

        self._policy, self._player, self._agent, self._lines = policy, player, agent, make_lines(runs[0].board)

    def can_meet(self, first: int, second: int) -> bool:
        """Return whether these two can play in these seats."""
        return can_meet(self._seats[first], self._seats[second])

    def meet(self, first: int, second: int, games: int | None, seed: int) -> Meeting:
        """Return the meeting of two participants, empty if they cannot meet.  games: the number to play, or None."""
        exact = tally = None
        if not self.can_meet(first, second):
            return Meeting(first, second, None, None)
        key = stream_key(seed, MEETINGS + (first << 20) + second)
        if self._asks:
            exact, tally = self._asked(first, second, games, key)
        elif self.exact:
            policies = self._policy(first), self._policy(second)
            exact = match(self._graph, *policies)
            if games is not None:
                tally = play_walk(self._graph, *policies, games, key)
        elif games is not None:
            tally = play_agents(self._agent(first), self._agent(second), self._lines, games, key)
        return Meeting(first, second, tally, exact)

    def _asked(self, first: int, second: int, games: int | None, key: Any) -> tuple[Shares | None, Tally | None]:
        """Return the exact shares and the tally of a meeting in which a third-party agent plays."""
        players = self._player(first), self._player(second)
        exact = shares(LayerRules(players[0].board), *(player.answers for player in players)) if self.exact else None
        tally = None
        if games is not None:
            tally = play_agents(self._agent(first), self._agent(second), self._lines, games, key)
        for player in players:
            player.ask_again()
        return exact, tally
