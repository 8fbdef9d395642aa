"""The exact judgement of an agent on a board that is enumerated: the `Evaluation` that a run gives.

Nothing is sampled and nothing is taken for granted: the agent is asked about each real position that its own play lets
happen, all of a layer in one call, and what follows is exact.
"""

from ttt_batch.agents.layers import LayerRules
from ttt_batch.agents.outsider import AgentAdapter
from ttt_batch.agents.player import Player
from ttt_batch.agents.reach import Reached, shares
from ttt_batch.base.choices import SEATS
from ttt_batch.game.state_space import check_enumerable
from ttt_batch.runs.evaluation import NO_SHARES, Evaluation


def judge_exactly(player: AgentAdapter, against: Player, *, called: str = "") -> Evaluation:
    """Exact results of an agent against an opponent, whether it can be beaten, and how.

    against: the opponent; the same player for the agent itself.  called: what the opponent is called if not by its
    name.  The shares are nan in a seat against which the opponent cannot play.  With samples of one of them all is that
    of its answers.
    Raises AgentError, and BoardError for a board that is too large to enumerate.
    """
    board = player.board
    check_enumerable(board, not player.exact, "an exact evaluation")
    rules, alone = LayerRules(board), player is against
    met = [not alone and seat in against.agent.seats for seat in SEATS[::-1]]
    reached = [
        Reached(rules, player.answers, number, against=against.answers if there else None)
        for number, there in enumerate(met)
    ]
    if alone:
        first = second = shares(rules, player.answers, player.answers)
    else:
        first, second = (one.games.shares if there else NO_SHARES for one, there in zip(reached, met, strict=True))
    for one in {id(one): one for one in (player, against)}.values():
        one.ask_again()
    lines = {seat: one.losing_line() for seat, one in zip(SEATS, reached, strict=True)}
    proved = None if player.samples else True  # what it has not answered yet may lose
    return Evaluation(
        against=called or against.name,
        first=first,
        second=second[::-1],
        unbeatable={seat: proved if line is None else False for seat, line in lines.items()},
        losing_line=lines,
        agent=player.judged,
    )
