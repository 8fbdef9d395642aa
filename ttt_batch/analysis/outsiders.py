"""What agents that are no runs achieve: exactly where the board is enumerated, else by search and matches.

The search asks an agent layer by layer, all positions with as many marks in one call, and ends with the first layer in
which it has lost.
"""

import dataclasses
from collections.abc import Sequence
from typing import Any

from ttt_batch.agents.judging import judge_exactly
from ttt_batch.agents.known import agent_of_run, named_agent
from ttt_batch.agents.layers import Rules
from ttt_batch.agents.outsider import Outsider
from ttt_batch.agents.player import Player
from ttt_batch.agents.reach import Reached, shares
from ttt_batch.agents.scripted import PLAYERS, Scripted, player_number
from ttt_batch.analysis.matches import GAMES, GrownEvaluation
from ttt_batch.analysis.playing import MAX_MATCH_GAMES, Tally, play_agents
from ttt_batch.analysis.search import BUDGET, MAX_BUDGET, Verdict
from ttt_batch.base.choices import SEATS, Ties, choose
from ttt_batch.base.errors import BoardError, UsageError, option
from ttt_batch.base.quantities import Number, any_seed, whole
from ttt_batch.base.streams import MATCHES, stream_key
from ttt_batch.game.lines import make_lines
from ttt_batch.game.state_space import too_large
from ttt_batch.runs.evaluation import NO_SHARES, Evaluation, JudgedAgent
from ttt_batch.runs.loading import AnyRun
from ttt_batch.runs.patterns.run import PatternRun
from ttt_batch.runs.run import Run


def opponent_of(board_of: Outsider | Run, against: AnyRun | Outsider | str, ties: Ties) -> tuple[Player, str]:
    """An opponent as a player at the same board, and what it is called.  Raises BoardError."""
    board = board_of.board
    if isinstance(against, str):
        return Player(named_agent(against, board), board), against
    if against.board != board:
        raise BoardError(f"the opponent plays {against.board.name}, not {board.name}; choose one of the same board")
    if isinstance(against, Outsider):
        return against, against.name
    return Player(agent_of_run(against, ties), board), against.config.learner


def judge_outsider(
    agent: Outsider,
    against: AnyRun | Outsider | str | None = None,
    *,
    games: Number | None = None,
    seed: Number | None = None,
    budget: Number | None = None,
    ties: Ties = "any",
) -> Evaluation | GrownEvaluation:
    """Judge an agent, exactly unless its board is too large to enumerate.

    against: `random` (if not given), `one-ply`, `two-ply`, `optimal`, `self`, a run or another agent; on boards too
    large to enumerate one of the first three, all three if not given.
    games, seed, budget: as for `evaluate_grown`, there only.  ties: how an opponent that is a run plays.
    Raises UsageError, BoardError and AgentError.
    """
    given = {name: value for name, value in (("games", games), ("seed", seed), ("budget", budget)) if value is not None}
    if not agent.exact:
        if against is not None and against not in PLAYERS:
            what = option("against", against) if isinstance(against, str) else "another agent"
            raise too_large(what, agent.board, f"choose {', '.join(PLAYERS)}")
        return _judge_grown(agent, PLAYERS if against is None else [str(against)], **given)
    if given:
        raise UsageError(
            f"{option(next(iter(given)))} is for boards too large to enumerate; {agent.board.name} is judged exactly, "
            "leave it out"
        )
    if against == "self":
        return judge_exactly(agent, agent, called="self")
    opponent, name = opponent_of(agent, "random" if against is None else against, ties)
    return judge_exactly(agent, opponent, called=name)


def against_outsider(run: Run, opponent: PatternRun | Outsider, ties: Ties = "any") -> Evaluation:
    """Exact results of a run on an enumerated board against what has no table.  Raises BoardError, AgentError."""
    rival, name = opponent_of(run, opponent, ties)
    player, rules = Player(agent_of_run(run, ties), run.board), Rules(run.board)
    first = shares(rules, player.answers, rival.answers)
    second = shares(rules, rival.answers, player.answers) if SEATS[1] in run.seats else NO_SHARES
    rival.ask_again()
    return dataclasses.replace(run.evaluation(ties=ties), against=name, first=first, second=second[::-1])


def _judge_grown(
    agent: Outsider,
    players: Sequence[str],
    *,
    games: Number = GAMES,
    seed: Number = 0,
    budget: Number = BUDGET,
) -> GrownEvaluation:
    """Search for losses in both seats, and play matches against scripted players in both."""
    games, seed = whole("games", games, 1, MAX_MATCH_GAMES), any_seed(seed)
    most = whole("budget", budget, 1, MAX_BUDGET)
    players = [choose("player", player, PLAYERS) for player in players]
    verdicts = {seat: _searched(agent, number, most) for number, seat in enumerate(SEATS)}
    agent.ask_again()
    matches = {
        player: {seat: _match(agent, player, number, games, seed) for number, seat in enumerate(SEATS)}
        for player in players
    }
    agent.ask_again()
    about = JudgedAgent(agent.name, agent.board, agent.symmetric)
    return GrownEvaluation(verdicts, matches, most, games, seed, agent=about)


def _searched(agent: Outsider, seat: int, budget: int) -> Verdict:
    """Whether an agent can be beaten in a seat, by a search through all that it lets happen."""
    reached = Reached(Rules(agent.board, agent.symmetric), agent.answers, seat, most=budget, stop=True)
    line = reached.losing_line()
    if line is not None:
        return Verdict("refuted", reached.positions, line)
    return Verdict("proved" if reached.whole else "undecided", reached.positions, None)


def _match(agent: Outsider, player: str, seat: int, games: int, seed: int) -> Tally:
    """Games of an agent against a scripted player."""
    plies, lines = player_number(player), make_lines(agent.board)
    key: Any = stream_key(seed, MATCHES[2 * plies + seat])
    if seat == 0:
        return play_agents(agent, Scripted(plies), lines, games, key)
    return Tally(*play_agents(Scripted(plies), agent, lines, games, key)[::-1])
