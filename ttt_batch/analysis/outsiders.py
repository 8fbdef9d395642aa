"""Evaluation of third-party agents: exact on an enumerated board, else by search and matches.

The search queries an agent layer by layer: all positions with equally many marks in one call.  It stops after the first
layer in which the agent has lost.

A random agent is sampled N times in each position; the frequencies of its answers serve as its move probabilities.  The
expected shares of such an evaluation are the agent's true ones, because no game visits a position twice.  Their
variance is at most that of N played games: the evaluation is the average over all ways to assign the answers to N
games, each answer used once.  So Wilson's interval for N games is wide enough.
"""

import dataclasses
import itertools
import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from ttt_batch.agents.adapter import AgentAdapter, Player, judge_exactly
from ttt_batch.agents.base import Words
from ttt_batch.agents.builtin import PLAYERS, Scripted, agent_of_run, named_agent, player_number
from ttt_batch.agents.layers import LayerRules, Reached, shares
from ttt_batch.analysis.matches import (
    CONFIDENCE,
    GAMES,
    MAX_MATCH_GAMES,
    GameBlock,
    SampledEvaluation,
    Tally,
    play_agents,
    wilson,
)
from ttt_batch.analysis.proving import MAX_SEARCH_BUDGET, SEARCH_BUDGET, SearchResult
from ttt_batch.compiler.numerics import MATCHES, stream_key
from ttt_batch.core.errors import BoardError, UsageError, flag
from ttt_batch.core.text import SEATS, Number, Ties, choose, parse_int, parse_seed
from ttt_batch.games.bitboards import make_lines
from ttt_batch.games.board import FIRST_WINS
from ttt_batch.games.enumeration import too_large
from ttt_batch.runs.evaluation import NO_SHARES, Evaluation, Samples
from ttt_batch.runs.loading import AnyRun
from ttt_batch.runs.network_run import PatternRun
from ttt_batch.runs.run import Run

MAX_SAMPLES = 1_000_000

SAMPLED_CELLS = 12
"""Cells of the largest board where every position is sampled; larger boards use matches instead."""


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Seed Python's and NumPy's global generators, which agents may use, and restore their states on exit."""
    before, before_numpy = random.getstate(), np.random.get_state()  # noqa: NPY002
    random.seed(seed)
    np.random.seed(seed % 2**32)  # noqa: NPY002
    try:
        yield
    finally:
        random.setstate(before)
        np.random.set_state(before_numpy)  # noqa: NPY002


def opponent_of(board_of: AgentAdapter | Run, against: AnyRun | AgentAdapter | str, ties: Ties) -> tuple[Player, str]:
    """Return an opponent as a player on the same board, and its name.  Raises BoardError."""
    board = board_of.board
    if isinstance(against, str):
        return Player(named_agent(against, board), board), against
    if against.board != board:
        raise BoardError(f"the opponent plays {against.board.name}, not {board.name}; choose one of the same board")
    if isinstance(against, AgentAdapter):
        return against, against.name
    return Player(agent_of_run(against, ties), board), against.config.learner


def judge_adapter(
    agent: AgentAdapter,
    against: AnyRun | AgentAdapter | str | None = None,
    *,
    games: Number | None = None,
    seed: Number | None = None,
    budget: Number | None = None,
    samples: Number | None = None,
    ties: Ties = "any",
) -> Evaluation | SampledEvaluation:
    """Evaluate an agent, exactly unless its board is too large to enumerate or its answers are sampled.

    against: `random` (default), `one-ply`, `two-ply`, `optimal`, `self`, a run or another agent.
    On boards too large to enumerate: one of the first three, by default all three.
    games, seed, budget: as for `evaluate_sampled`, for large boards only.  ties: tie rule of an opposing run.
    samples: answers sampled in each position of a random agent; `seed` then applies on any board.
    Raises UsageError, BoardError and AgentError.
    """
    given = {name: value for name, value in (("games", games), ("seed", seed), ("budget", budget)) if value is not None}
    if samples is not None:
        number = checked_samples(samples, agent, against)
        with seeded(parse_seed(0 if seed is None else seed)):
            return _judge(agent.sampled(number), against, number, given, ties)
    return _judge(agent, against, 0, given, ties)


def _judge(
    agent: AgentAdapter, against: AnyRun | AgentAdapter | str | None, samples: int, given: dict[str, Number], ties: Ties
) -> Evaluation | SampledEvaluation:
    """Do the work of `judge_adapter`.  given: the explicit options among games, seed and budget."""
    large = bool(samples) and agent.board.cells > SAMPLED_CELLS
    if not agent.exact or large:
        if against is not None and against not in PLAYERS:
            what = flag("against", against) if isinstance(against, str) else "another agent"
            remedy = f"choose {', '.join(PLAYERS)}"
            if agent.exact:
                raise BoardError(f"{what} is for boards of up to {SAMPLED_CELLS} cells with samples; {remedy}")
            raise too_large(what, agent.board, remedy)
        return _judge_grown(agent, PLAYERS if against is None else [str(against)], **given)
    for name in ("games", "budget") if samples else given:
        if name in given:
            raise UsageError(
                f"{flag(name)} is for boards too large to enumerate; {agent.board.name} is evaluated "
                f"{'in each position' if samples else 'exactly'}; leave it out"
            )
    if against == "self":
        found = judge_exactly(agent, agent, called="self")
    else:
        if isinstance(against, AgentAdapter):
            against = against.sampled(samples)
        opponent, name = opponent_of(agent, "random" if against is None else against, ties)
        found = judge_exactly(agent, opponent, called=name)
    return with_intervals(found, samples, given.get("seed", 0)) if samples else found


def checked_samples(samples: Number, *players: object) -> int:
    """Return the validated number of answers per position.  Raises UsageError if no player's moves are random."""
    number = parse_int("samples", samples, 1, MAX_SAMPLES)
    if all(not isinstance(player, AgentAdapter) or player.agent.own for player in players):
        raise UsageError(
            f"{flag('samples', number)} is for your own agents with random moves; the move probabilities of these "
            "players are known; leave it out"
        )
    return number


def with_intervals(found: Evaluation, samples: int, seed: Number) -> Evaluation:
    """Add confidence intervals to an evaluation by samples: those of `samples` games, as the module explains."""
    intervals = {seat: list[tuple[float, float]]() for seat in SEATS}
    for seat, ends in intervals.items():
        for share in getattr(found, seat):
            low, high = wilson(share * samples, samples)
            ends.append((float(low), float(high)))
    return dataclasses.replace(found, samples=Samples(samples, parse_seed(seed), CONFIDENCE, intervals))


def evaluate_against_adapter(
    run: Run,
    opponent: PatternRun | AgentAdapter,
    ties: Ties = "any",
    *,
    samples: Number | None = None,
    seed: Number | None = None,
) -> Evaluation:
    """Return the exact results of a run on an enumerated board against an opponent without a table.

    samples, seed: as for `judge_adapter`.  Raises BoardError, AgentError and UsageError.
    """
    if samples is None:
        return _against(run, opponent, ties)
    number, seed = checked_samples(samples, opponent), parse_seed(0 if seed is None else seed)
    assert isinstance(opponent, AgentAdapter)
    with seeded(seed):
        return with_intervals(_against(run, opponent.sampled(number), ties), number, seed)


def _against(run: Run, opponent: PatternRun | AgentAdapter, ties: Ties) -> Evaluation:
    """Do the work of `evaluate_against_adapter`; a random opponent is already set to sample its answers."""
    opponent_agent, name = opponent_of(run, opponent, ties)
    player, rules = Player(agent_of_run(run, ties), run.board), LayerRules(run.board)
    first = shares(rules, player.answers, opponent_agent.answers)
    second = shares(rules, opponent_agent.answers, player.answers) if SEATS[1] in run.seats else NO_SHARES
    opponent_agent.ask_again()
    return dataclasses.replace(run.evaluation(ties=ties), against=name, first=first, second=second[::-1])


def _judge_grown(
    agent: AgentAdapter,
    players: Sequence[str],
    *,
    games: Number | None = None,
    seed: Number = 0,
    budget: Number | None = None,
) -> SampledEvaluation:
    """Search for losses and play matches in both seats; a random agent gives a new answer for each move of a match."""
    games = (agent.samples or GAMES) if games is None else games
    budget = max(1, SEARCH_BUDGET // (agent.samples or 1)) if budget is None else budget
    games, seed = parse_int("games", games, 1, MAX_MATCH_GAMES), parse_seed(seed)
    most = parse_int("budget", budget, 1, MAX_SEARCH_BUDGET)
    players = [choose("player", player, PLAYERS) for player in players]
    verdicts = {seat: _searched(agent, number, most) for number, seat in enumerate(SEATS)}
    agent.ask_again()
    lost = {seat: LostGame(number) for number, seat in enumerate(SEATS)}
    matches = {player: {seat: _match(agent, player, lost[seat], games, seed) for seat in SEATS} for player in players}
    agent.ask_again()
    if agent.samples:
        verdicts = {seat: lost[seat].told(verdict) for seat, verdict in verdicts.items()}
    return SampledEvaluation(verdicts, matches, most, games, seed, agent=agent.judged, samples=agent.samples or None)


def _searched(agent: AgentAdapter, seat: int, budget: int) -> SearchResult:
    """Search all positions that an agent can reach in a seat; return whether it can be beaten."""
    reached = Reached(LayerRules(agent.board, agent.symmetric), agent.answers, seat, most=budget, stop=True)
    line = reached.losing_line()
    if line is not None:
        return SearchResult("refuted", reached.positions, line)
    return SearchResult("proved" if reached.whole and not agent.samples else "undecided", reached.positions, None)


class LostGame:
    """Observer of matches that keeps the agent's shortest lost game.  line: its cells; None before the first loss."""

    def __init__(self, seat: int) -> None:
        self.seat = seat
        self.line: list[int] | None = None
        self._taken = list[Words]()

    def __call__(self, ply: int, games: GameBlock) -> None:
        """Check the games after a move for losses, as `seen` of `play_agents`."""
        if ply == 0:
            self._taken = [np.zeros_like(games.cells)]
        self._taken.append(games.marks[0] | games.marks[1])
        lost = np.flatnonzero(games.outcome == FIRST_WINS + 1 - self.seat)
        if lost.size and (self.line is None or ply + 1 < len(self.line)):
            taken = [int(cells[lost[0]]) for cells in self._taken]
            marks = [after ^ before for before, after in itertools.pairwise(taken)]
            # The last move may be a forfeit: the agent chose an occupied cell, so no mark is new.
            self.line = [(mark or int(games.cells[lost[0]])).bit_length() - 1 for mark in marks]

    def told(self, verdict: SearchResult) -> SearchResult:
        """Return the verdict of a search, or `refuted` with the lost game if only the matches show a loss."""
        if self.line is None or verdict.line is not None:
            return verdict
        return SearchResult("refuted", verdict.positions, self.line)


def _match(agent: AgentAdapter, player: str, lost: LostGame, games: int, seed: int) -> Tally:
    """Play an agent against a scripted player, and return the agent's tally."""
    plies, lines = player_number(player), make_lines(agent.board)
    key: Any = stream_key(seed, MATCHES[2 * plies + lost.seat])
    if lost.seat == 0:
        return play_agents(agent, Scripted(plies), lines, games, key, seen=lost)
    return Tally(*play_agents(Scripted(plies), agent, lines, games, key, seen=lost)[::-1])
