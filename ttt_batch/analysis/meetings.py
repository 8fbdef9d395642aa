"""Agents that meet: games of one agent in the first seat against another in the second, exact and played.

Where the board is enumerated the results are exact; elsewhere, or where games are asked for, they are played.  An agent
that chooses an occupied cell (`minimax-q` before it has learnt better) has forfeited the game and lost it, against
whomever.

A played game is a function of (seed, seats, number of the game), whatever else is played, and shares come with Wilson's
95 % interval (see `matches`).  Where the board is enumerated a game is a walk along its edges, for which no learner's
code has to be compiled (half a second once, against 6 s for each learner).  Elsewhere games are played ply by ply, many
abreast.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ttt_batch.analysis.agent import Agent, agent_cells, make_agent
from ttt_batch.analysis.matches import AT_ONCE, DEVIATIONS, Tally
from ttt_batch.base.choices import Ties, check_ties
from ttt_batch.base.errors import BoardError, UsageError
from ttt_batch.base.jit import kernel
from ttt_batch.base.streams import MEETINGS, below, draw, game_base, stream_key
from ttt_batch.evaluation.exact_results import match
from ttt_batch.game.bitboards import n_bits, nth_cell, outcome_after
from ttt_batch.game.board import DRAW, FIRST_WINS, SECOND_WINS, UNFINISHED
from ttt_batch.game.enumeration import enumerate_graph
from ttt_batch.game.graph import Graph, n_unfinished
from ttt_batch.game.solution import RESULTS
from ttt_batch.runs.run import Run
from ttt_batch.simulation.policy import Policy

WALKS_AT_ONCE = 1 << 18
"""Games between two chances to interrupt, where one takes less than a microsecond."""

Shares = tuple[float, float, float]
"""How often whoever moves first wins, draws and loses."""


@kernel
def walk_games(
    graph: Graph, first: Policy, second: Policy, key: Any, first_game: int, last_game: int, counts: Any
) -> None:
    """Play games `first_game` to `last_game - 1` along the edges of an enumerated board.

    key: uint64, of the games' random numbers; a game's number p decides the move of ply p.  counts: int64[4], games by
    outcome, added to in place.
    """
    n_open = n_unfinished(graph)
    for number in range(first_game, last_game):
        base = game_base(key, number)
        row, ply = np.int64(0), 0
        while row < n_open:
            policy = second if ply & 1 else first
            slot = graph.first_edge[row] + below(draw(base, ply), policy.best[row])
            row = np.int64(graph.child[policy.ordered[slot]])
            ply += 1
        counts[graph.outcome[row]] += 1


@kernel
def play_ply(agent: Agent, ply: int, key: Any, first_game: int, code: Any, marks: Any, outcome: Any) -> Any:
    """Let an agent make the move of `ply` in every unfinished game; return how many games go on.

    The games' numbers are first_game and those behind it; a game's random number `ply` decides its move.
    code: int64[B].  marks: int64[2, B], either player's cells as bits.  outcome: int8[B].  All three change in place.
    """
    places = agent.growth.places
    n_cells, mover, left = places.power.shape[0], ply & 1, 0
    for game in range(code.shape[0]):
        if outcome[game] != UNFINISHED:
            continue
        cells = agent_cells(agent, code[game], ply)
        cell = nth_cell(cells, below(draw(game_base(key, first_game + game), ply), n_bits(cells)))
        here = np.int64(1) << cell
        if (marks[0, game] | marks[1, game]) & here:
            outcome[game] = FIRST_WINS + 1 - mover  # has chosen an occupied cell
            continue
        marks[mover, game] |= here
        code[game] += (1 + mover) * places.power[cell, 0]
        outcome[game] = outcome_after(places, cell, marks[mover, game], mover, ply + 1 == n_cells)
        left += outcome[game] == UNFINISHED
    return left


def play_walk(graph: Graph, first: Policy, second: Policy, games: int, key: Any) -> Tally:
    """Play two policies over one graph against each other; the tally is that of whoever moves first.

    key: uint64, of the games' random numbers.
    """
    counts = np.zeros(4, np.int64)
    for start in range(0, games, WALKS_AT_ONCE):
        walk_games(graph, first, second, key, start, min(games, start + WALKS_AT_ONCE), counts)
    return _tally(counts)


def play_agents(first: Agent, second: Agent, games: int, key: Any) -> Tally:
    """Play two agents of one board against each other, enumerated or not; the tally is that of whoever moves first.

    key: uint64, of the games' random numbers.
    """
    counts = np.zeros(4, np.int64)
    for start in range(0, games, AT_ONCE):
        size = min(games - start, AT_ONCE)
        code, marks, outcome = np.zeros(size, np.int64), np.zeros((2, size), np.int64), np.zeros(size, np.int8)
        ply, left = 0, size
        while left:
            left = play_ply(second if ply % 2 else first, ply, key, start, code, marks, outcome)
            ply += 1
        counts += np.bincount(outcome, minlength=4)
    return _tally(counts)


def _tally(counts: NDArray[np.int64]) -> Tally:
    """Games by outcome, as whoever moves first sees them."""
    return Tally(int(counts[FIRST_WINS]), int(counts[DRAW]), int(counts[SECOND_WINS]))


def _score(shares: Sequence[float]) -> float:
    """Points a game: a win 1, a draw one half."""
    return shares[0] + shares[1] / 2


@dataclass(frozen=True)
class Meeting:
    """Games with one run as first player and one as second; every share is that of whoever moves first.

    first, second: numbers of the runs, from 0.  shares: exact ones, or those of `tally`.
    tally: the games where they were played.  exact: None where it is not known.
    """

    first: int
    second: int
    tally: Tally | None
    exact: Shares | None

    @property
    def shares(self) -> Shares:
        """Shares of wins, draws and losses: of the games where they were played, else the exact ones."""
        if self.tally is not None:
            win, drawn, loss = (self.tally.share(result)[0] for result in RESULTS)
            return win, drawn, loss
        return self.exact or (math.nan, math.nan, math.nan)

    @property
    def score(self) -> float:
        """Points a game of whoever moves first: a win 1, a draw one half."""
        return _score(self.shares)

    @property
    def variance(self) -> float:
        """Of `score`, where it was sampled; 0 where it is exact.

        It is that of a sample with one more win, draw and loss: games that all ended alike do not tell that others
        cannot be.
        """
        if self.tally is None:
            return 0.0
        games = self.tally.games
        win, drawn = (self.tally.win + 1) / (games + 3), (self.tally.draw + 1) / (games + 3)
        return (win + drawn / 4 - _score((win, drawn)) ** 2) / games

    @property
    def deviations(self) -> Shares | None:
        """How many standard deviations each sampled share is above the exact one; None without either.

        Infinite for what cannot happen and did.  Within +-1.96 if and only if the exact share is in the interval.
        """
        if self.tally is None or self.exact is None:
            return None
        win, drawn, loss = map(deviation, self.shares, self.exact, (self.tally.games,) * 3)
        return win, drawn, loss

    @property
    def inside(self) -> tuple[bool, ...]:
        """Whether each exact share lies in the 95 % interval of the sampled one; empty without either."""
        return tuple(abs(one) <= DEVIATIONS for one in self.deviations or ())

    def to_dict(self, names: Sequence[str]) -> dict[str, Any]:
        """Plain values with stable keys, as `--json` prints them."""
        z = self.deviations
        return {
            "first": names[self.first],
            "second": names[self.second],
            "games": None if self.tally is None else self.tally.games,
            "exact": None if self.exact is None else dict(zip(RESULTS, self.exact, strict=True)),
            "sampled": None if self.tally is None else self.tally.to_dict(),
            "z": None if z is None else dict(zip(RESULTS, z, strict=True)),
            "inside": None if z is None else dict(zip(RESULTS, self.inside, strict=True)),
            "score": self.score,
        }


def deviation(share: float, exact: float, games: int) -> float:
    """Standard deviations between the share of a sample and the exact one; infinite for what cannot happen and did."""
    # Exact shares are sums of products and may pass 0 and 1 by a rounding.
    exact = min(1.0, max(0.0, exact))
    spread = math.sqrt(exact * (1 - exact) / games)
    if abs(share - exact) < 1e-12:
        return 0.0
    return (share - exact) / spread if spread > 1e-9 else math.copysign(math.inf, share - exact)


class Participants:
    """Who takes part, ready to meet each other.

    exact: whether exact results can be had: all keep one enumerated board in the same way.
    """

    def __init__(self, runs: Sequence[Run], ties: Ties = "any") -> None:
        self._runs, self._ties = runs, ties
        self.exact = all(run.grown is None and run.config.symmetry == runs[0].config.symmetry for run in runs)
        if self.exact:
            # With occupied cells among the edges whoever chooses one has forfeited; without, there is no such edge.
            occupied = any(run.learner.occupied for run in runs)
            self._graph = enumerate_graph(runs[0].board, occupied, runs[0].config.symmetry)
        self._policies: dict[int, Policy] = {}
        self._agents: dict[int, Agent] = {}

    def _policy(self, run: int) -> Policy:
        if run not in self._policies:
            self._policies[run] = self._runs[run].policy_on(self._graph, self._ties)
        return self._policies[run]

    def _agent(self, run: int) -> Agent:
        if run not in self._agents:
            self._agents[run] = make_agent(self._runs[run], self._ties)
        return self._agents[run]

    def meet(self, first: int, second: int, games: int | None, seed: int) -> Meeting:
        """The meeting of two runs; games: how many are played, or None."""
        exact = tally = None
        if self.exact:
            exact = match(self._graph, self._policy(first), self._policy(second))
        if games is not None:
            key = stream_key(seed, MEETINGS + (first << 20) + second)
            if self.exact:
                tally = play_walk(self._graph, self._policy(first), self._policy(second), games, key)
            else:
                tally = play_agents(self._agent(first), self._agent(second), games, key)
        return Meeting(first, second, tally, exact)


def make_participants(runs: Sequence[Run], names: Sequence[str], ties: Ties = "any") -> Participants:
    """Who takes part; ties: as for `Run.candidates`.  Raises UsageError and BoardError."""
    ties = check_ties(ties)
    if len(runs) != len(names):
        raise UsageError(f"{len(runs)} runs, but {len(names)} names; give one for each")
    for run, name in zip(runs, names, strict=True):
        if run.board != runs[0].board:
            one, other = runs[0].board.name, run.board.name
            raise BoardError(f"{names[0]} plays {one}, {name} plays {other}; choose runs of one board")
    return Participants(runs, ties)
