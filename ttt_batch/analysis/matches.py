"""What an agent achieves against the scripted players: sampled on boards too large for exact results, else exact."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ttt_batch.analysis.agent import Agent, make_agent
from ttt_batch.analysis.opponents import PLAYERS, Scripted, player_number, scripted_policy, seat_number
from ttt_batch.analysis.playing import CONFIDENCE, MAX_MATCH_GAMES, Tally, play_agents
from ttt_batch.analysis.search import BUDGET, MAX_BUDGET, Verdict, search
from ttt_batch.base.choices import SEATS, Ties, choose
from ttt_batch.base.printable import Printable
from ttt_batch.base.quantities import Number, any_seed, whole
from ttt_batch.base.streams import MATCHES, stream_key
from ttt_batch.evaluation.exact_results import match
from ttt_batch.runs.evaluation import Evaluation
from ttt_batch.runs.run import Run

GAMES = 10_000
"""Games of a match by default: shares are known to one percent."""


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
    games, plies, number = whole("games", games, 1, MAX_MATCH_GAMES), player_number(player), seat_number(seat)
    key = stream_key(any_seed(seed), MATCHES[2 * plies + number])
    agent = agent or make_agent(run, ties)
    opponent = Scripted(agent.places, plies)
    if number == 0:
        return play_agents(agent, opponent, games, key)
    return Tally(*play_agents(opponent, agent, games, key)[::-1])


@dataclass(frozen=True)
class GrownEvaluation(Printable):
    """What is known of an agent on a board too large to enumerate.

    verdicts: of the search, by seat.  matches: by scripted player, then by seat.
    budget, games, seed, ties: the parameters of both.  run: the agent itself.
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
        keys = {"unbeatable": "unbeatable", "losing_line": "line", "verdict": "status", "positions": "positions"}
        return {
            "ties": self.ties,
            **{
                key: {seat: getattr(verdict, name) for seat, verdict in self.verdicts.items()}
                for key, name in keys.items()
            },
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

    ties: as for `Run.candidates`.  It works on enumerated boards, too, for which `Run.evaluation` is exact.
    """
    # Checked before a search that may take minutes.
    games, seed = whole("games", games, 1, MAX_MATCH_GAMES), any_seed(seed)
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
