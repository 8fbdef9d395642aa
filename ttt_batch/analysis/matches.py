"""Evaluation against the scripted players: exact on enumerated boards, by search and sampled matches on larger ones."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ttt_batch.agents.scripted import PLAYERS, Scripted, player_number, scripted_policy, seat_number
from ttt_batch.agents.tables import TablePlayer, table_player
from ttt_batch.analysis.playing import CONFIDENCE, MAX_MATCH_GAMES, Tally, play_agents
from ttt_batch.analysis.proving import prove
from ttt_batch.analysis.search import MAX_SEARCH_BUDGET, SEARCH_BUDGET, SearchResult, search
from ttt_batch.base.choices import SEATS, Ties, choose
from ttt_batch.base.printable import Printable
from ttt_batch.base.quantities import Number, parse_int, parse_seed
from ttt_batch.base.streams import MATCHES, stream_key
from ttt_batch.evaluation.exact_results import match
from ttt_batch.game.lines import make_lines
from ttt_batch.patterns.agent import NetAgent
from ttt_batch.proofs.prover import ALWAYS_WINS, CANNOT_LOSE, Goal
from ttt_batch.runs.evaluation import Evaluation, JudgedAgent
from ttt_batch.runs.loading import AnyRun
from ttt_batch.runs.run import Run

NETWORK_BUDGET = 20_000_000
"""Default limit of the positions in a proof of networks: half a minute."""

GAMES = 10_000
"""Default number of games in a match: shares have a 95 % interval of about +-1 percentage point."""


def play_scripted(
    run: AnyRun,
    player: str,
    seat: str,
    *,
    games: Number = GAMES,
    seed: Number = 0,
    ties: Ties = "any",
    agent: TablePlayer | NetAgent | None = None,
) -> Tally:
    """Play a run's agent in a seat, `first` or `second`, against a scripted player.

    games: 1 to 10**9.  seed: any integer of 64 bits.  ties: as for `Run.candidates`.
    agent: result of `table_player` for the run and these ties, if available.
    Raises UsageError.  The run does not change.
    """
    games, plies, number = parse_int("games", games, 1, MAX_MATCH_GAMES), player_number(player), seat_number(seat)
    key = stream_key(parse_seed(seed), MATCHES[2 * plies + number])
    agent, opponent, lines = agent or table_player(run, ties), Scripted(plies), make_lines(run.board)
    if number == 0:
        return play_agents(agent, opponent, lines, games, key)
    return Tally(*play_agents(opponent, agent, lines, games, key)[::-1])


@dataclass(frozen=True)
class SampledEvaluation(Printable):
    """Evaluation of an agent on a board too large to enumerate, or of networks.

    verdicts: by seat, whether the agent can be beaten.  matches: by scripted player, then by seat.
    wins: by seat, whether it always wins; only for seats trained with that goal.
    budget, games, seed, ties: parameters of search and matches.  run: the agent if it is a run.  agent: any other one.
    samples: answers sampled in each position of the search if the agent is random; else None.
    """

    verdicts: dict[str, SearchResult]
    matches: dict[str, dict[str, Tally]]
    budget: int
    games: int
    seed: int
    ties: Ties = "any"
    run: AnyRun | None = dataclasses.field(default=None, repr=False, compare=False)
    wins: dict[str, SearchResult] = dataclasses.field(default_factory=dict)
    agent: JudgedAgent | None = dataclasses.field(default=None, compare=False)
    samples: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain values with stable keys, as `--json` prints them; keys mean the same as in exact evaluations."""
        keys = {"unbeatable": "unbeatable", "losing_line": "line", "verdict": "status", "positions": "positions"}
        return {
            **({} if self.agent is None else {"symmetric": self.agent.symmetric, "asked": self.agent.asked}),
            **({} if self.samples is None else {"samples": self.samples}),
            "ties": self.ties,
            **{
                key: {seat: getattr(verdict, name) for seat, verdict in self.verdicts.items()}
                for key, name in keys.items()
            },
            **({"always_wins": {seat: found.unbeatable for seat, found in self.wins.items()}} if self.wins else {}),
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


def evaluate_sampled(
    run: AnyRun,
    players: Sequence[str] = PLAYERS,
    *,
    games: Number = GAMES,
    seed: Number = 0,
    budget: Number | None = None,
    ties: Ties = "any",
) -> SampledEvaluation:
    """Search for losses and play matches against scripted players, in both seats.  Raises UsageError.

    budget: most positions that a search enters; None for BUDGET, or NETWORK_BUDGET with networks.
    ties: as for `Run.candidates`.  Enumerated boards are allowed, too, but `Run.evaluation` is exact there.
    """
    # Check first: a search may take minutes.
    games, seed = parse_int("games", games, 1, MAX_MATCH_GAMES), parse_seed(seed)
    budget = (SEARCH_BUDGET if isinstance(run, Run) else NETWORK_BUDGET) if budget is None else budget
    players, budget = (
        [choose("player", player, PLAYERS) for player in players],
        parse_int("budget", budget, 1, MAX_SEARCH_BUDGET),
    )
    agent = table_player(run, ties)
    wins = _wins(run, budget)
    verdicts = {seat: _verdict(run, seat, budget, agent, wins.get(seat)) for seat in SEATS}
    matches = {
        player: {seat: play_scripted(run, player, seat, games=games, seed=seed, agent=agent) for seat in SEATS}
        for player in players
    }
    return SampledEvaluation(verdicts, matches, budget, games, seed, ties, run, wins)


def _wins(run: AnyRun, budget: int) -> dict[str, SearchResult]:
    """Return whether networks always win, for each seat trained with that goal."""
    if isinstance(run, Run) or not run.config.always_wins:
        return {}
    return {SEATS[seat]: _proved(run, SEATS[seat], ALWAYS_WINS, budget) for seat in run.config.seats}


def _verdict(
    run: AnyRun, seat: str, budget: int, agent: TablePlayer | NetAgent, wins: SearchResult | None
) -> SearchResult:
    """Return whether an agent can be beaten in a seat.  wins: whether it always wins there, if known."""
    if isinstance(agent, TablePlayer):
        assert isinstance(run, Run)
        return search(run, seat, budget=budget, agent=agent)
    if wins is not None and wins.unbeatable:
        return wins
    return _proved(run, seat, CANNOT_LOSE, budget)


def _proved(run: AnyRun, seat: str, goal: Goal, budget: int) -> SearchResult:
    """Return the verdict of a proof of networks.  One thread makes a refutation reproducible."""
    found = prove(run, seat=seat, goal=goal, budget=budget, threads=1).found[seat]
    return SearchResult(found.status, found.positions, found.line)


def scripted_evaluation(run: Run, player: str, ties: Ties = "any") -> Evaluation:
    """Return a run's exact results against a scripted player on an enumerated board; raise UsageError or BoardError."""
    player = choose("player", player, PLAYERS)
    opponent, agent = scripted_policy(run, player), run.policy_on(run.graph, ties)
    second = match(run.graph, opponent, agent)
    return dataclasses.replace(
        run.evaluation(ties=ties), against=player, first=match(run.graph, agent, opponent), second=second[::-1]
    )
