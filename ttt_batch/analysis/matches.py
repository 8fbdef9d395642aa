"""What an agent achieves against the scripted players: sampled on boards too large for exact results, exact elsewhere.

A sampled match is many games, each a function of (seed, seat, player, number of the game), the agent picking uniformly
among the moves of its rule.  Shares come with Wilson's interval (Wilson, "Probable inference, the law of succession,
and statistical inference", Journal of the American Statistical Association 22, 1927), which stays within [0, 1] and
says something also where no game was lost.
"""

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ttt_batch.analysis.agent import Agent, agent_cells, make_agent
from ttt_batch.analysis.opponents import PLAYERS, player_number, scripted_cells, scripted_policy, seat_number
from ttt_batch.analysis.search import BUDGET, MAX_BUDGET, Verdict, search
from ttt_batch.base.choices import SEATS, Ties, choose
from ttt_batch.base.jit import kernel
from ttt_batch.base.printable import Printable
from ttt_batch.base.quantities import Number, any_seed, whole
from ttt_batch.base.streams import MATCHES, below, draw, game_base, stream_key
from ttt_batch.evaluation.exact_results import match
from ttt_batch.game.bitboards import n_bits, nth_cell, outcome_after
from ttt_batch.game.board import DRAW, FIRST_WINS, UNFINISHED
from ttt_batch.game.solution import RESULTS
from ttt_batch.runs.evaluation import Evaluation
from ttt_batch.runs.run import Run

GAMES = 10_000
"""Games of a match, unless told otherwise: shares are known to one percent."""

MAX_MATCH_GAMES = 10**9

AT_ONCE = 1 << 12
"""Games between two chances to interrupt."""

CONFIDENCE, DEVIATIONS = 0.95, 1.959963984540054
"""How sure an interval is, and the standard deviations of a normal distribution that make it so."""


@kernel
def play_match(agent: Agent, plies: int, seat: int, key: Any, first_game: int, last_game: int, outcomes: Any) -> None:
    """Play games `first_game` to `last_game - 1` of an agent in `seat` (0 or 1) against a scripted player.

    plies: which player, see `scripted_cells`.  key: uint64, of the match's random numbers; a game's number p decides
    the move of ply p.  outcomes: int64[4], games by outcome, added to in place.
    """
    places = agent.growth.places
    n_cells = places.power.shape[0]
    for number in range(first_game, last_game):
        base = game_base(key, number)
        code, own, other = np.int64(0), np.int64(0), np.int64(0)
        outcome, ply = UNFINISHED, 0
        while outcome == UNFINISHED:
            mover = ply & 1
            cells = agent_cells(agent, code, ply) if mover == seat else scripted_cells(places, own, other, plies)
            cell = nth_cell(cells, below(draw(base, ply), n_bits(cells)))
            here = np.int64(1) << cell
            outcome = FIRST_WINS + 1 - mover  # of choosing an occupied cell
            if (own | other) & here == 0:
                own, code = own | here, code + (1 + mover) * places.power[cell, 0]
                outcome = outcome_after(places, cell, own, mover, ply + 1 == n_cells)
            own, other, ply = other, own, ply + 1
        outcomes[outcome] += 1


def wilson(count: int, games: int) -> tuple[float, float]:
    """The interval that holds the true share with 95 % confidence where `count` of `games` (at least 1) were so."""
    share, z2 = count / games, DEVIATIONS**2 / games
    middle = (share + z2 / 2) / (1 + z2)
    half = math.sqrt(z2 * (share * (1 - share) + z2 / 4)) / (1 + z2)
    # At the ends the exact value is 0 or 1, which rounding misses.
    return 0.0 if count == 0 else middle - half, 1.0 if count == games else middle + half


@dataclass(frozen=True)
class Tally:
    """The games of one match by result for the agent."""

    win: int
    draw: int
    loss: int

    @property
    def games(self) -> int:
        """All games."""
        return self.win + self.draw + self.loss

    def share(self, result: str) -> tuple[float, float, float]:
        """The share of `win`, `draw` or `loss`, and its interval: (share, low, high)."""
        count = getattr(self, result)
        return count / self.games, *wilson(count, self.games)

    def to_dict(self) -> dict[str, Any]:
        """Plain values with stable keys, as `--json` prints them."""
        names = ("games", "share", "low", "high")
        return {
            result: dict(zip(names, (getattr(self, result), *self.share(result)), strict=True)) for result in RESULTS
        }


def play(
    run: Run,
    player: str,
    seat: str,
    *,
    games: Number = GAMES,
    seed: Number = 0,
    ties: Ties = "any",
    agent: Agent | None = None,
) -> Tally:
    """A run's agent in a seat, `first` or `second`, against a scripted player.

    games: 1 to 10**9.  seed: any integer of 64 bits.  ties: as for `Run.candidates`.
    agent: what `make_agent` makes of the run with these ties, if it is made already.
    Raises UsageError.  The run does not change.
    """
    games, seed = _checked(games, seed)
    plies, number = player_number(player), seat_number(seat)
    key = stream_key(seed, MATCHES[2 * plies + number])
    if agent is None:
        agent = make_agent(run, ties)
    outcomes = np.zeros(4, np.int64)
    for first in range(0, games, AT_ONCE):
        play_match(agent, plies, number, key, first, min(games, first + AT_ONCE), outcomes)
    return Tally(*(int(outcomes[outcome]) for outcome in (FIRST_WINS + number, DRAW, FIRST_WINS + 1 - number)))


def _checked(games: Number, seed: Number) -> tuple[int, int]:
    """The numbers of a match where they are possible.  Raises UsageError."""
    return whole("games", games, 1, MAX_MATCH_GAMES), any_seed(seed)


@dataclass(frozen=True)
class GrownEvaluation(Printable):
    """What can be said of an agent on a board too large to enumerate.

    verdicts: of the search, by seat.  matches: by scripted player, then by seat.
    budget, games, seed, ties: what they were made with.  run: the agent itself.
    """

    verdicts: dict[str, Verdict]
    matches: dict[str, dict[str, Tally]]
    budget: int
    games: int
    seed: int
    ties: Ties = "any"
    run: Run | None = dataclasses.field(default=None, repr=False, compare=False)

    def to_dict(self) -> dict[str, Any]:
        """Plain values with stable keys, as `--json` prints them; those of exact evaluations mean the same here."""
        return {
            "ties": self.ties,
            "unbeatable": {seat: verdict.unbeatable for seat, verdict in self.verdicts.items()},
            "losing_line": {seat: verdict.line for seat, verdict in self.verdicts.items()},
            "verdict": {seat: verdict.status for seat, verdict in self.verdicts.items()},
            "positions": {seat: verdict.positions for seat, verdict in self.verdicts.items()},
            "budget": self.budget,
            "games": self.games,
            "seed": self.seed,
            "confidence": CONFIDENCE,
            "matches": {
                player: {seat: tally.to_dict() for seat, tally in tallies.items()}
                for player, tallies in self.matches.items()
            },
        }

    def records(self) -> tuple[list[dict[str, Any]], str]:
        """Return a row for each opponent and seat."""
        rows = [
            {
                "against": player,
                "seat": seat,
                **tally.to_dict(),
                "verdict": self.verdicts[seat].status,
                "losing_line": self.verdicts[seat].line,
            }
            for player, tallies in self.matches.items()
            for seat, tally in tallies.items()
        ]
        return rows, "against"


def evaluate_grown(
    run: Run,
    players: Sequence[str] = PLAYERS,
    *,
    games: Number = GAMES,
    seed: Number = 0,
    budget: Number = BUDGET,
    ties: Ties = "any",
) -> GrownEvaluation:
    """Search for losses in both seats, and play matches against scripted players in both.  Raises UsageError.

    ties: as for `Run.candidates`.

    It works on enumerated boards, too, where `Run.evaluation` is exact in everything.
    """
    games, seed = _checked(games, seed)  # before a search that may take minutes
    players, budget = [choose("player", player, PLAYERS) for player in players], whole("budget", budget, 1, MAX_BUDGET)
    agent = make_agent(run, ties)
    verdicts = {seat: search(run, seat, budget=budget, agent=agent) for seat in SEATS}
    matches = {
        player: {seat: play(run, player, seat, games=games, seed=seed, agent=agent) for seat in SEATS}
        for player in players
    }
    return GrownEvaluation(verdicts, matches, budget, games, seed, ties, run)


def scripted_evaluation(run: Run, player: str, ties: Ties = "any") -> Evaluation:
    """Exact results of a run on an enumerated board against a scripted player.  Raises UsageError and BoardError."""
    player = choose("player", player, PLAYERS)
    opponent, agent = scripted_policy(run, player), run.policy_on(run.graph, ties)
    second = match(run.graph, opponent, agent)
    return dataclasses.replace(
        run.evaluation(ties=ties), against=player, first=match(run.graph, agent, opponent), second=second[::-1]
    )
