"""An agent made weaker on purpose, so that people of any strength have a game.

With probability `epsilon` a move goes to any free cell, each equally likely, as in training; else with probability
`1 - level` it is drawn by softmax over the agent's values; else the agent's own rule picks, with the given ties.  A run
that keeps preferences for moves instead of values has chances by softmax already, and one that learns chances in boxes
(`menace`) has its beads: each is drawn by those.
At level 1 and epsilon 0 nothing is drawn here, and with ties `any` the agent plays exactly as it is.
"""

import random

from ttt_batch.agents.outsider import Outsider
from ttt_batch.base.choices import Ties, check_ties
from ttt_batch.base.quantities import Number, share
from ttt_batch.base.softmax import softmax_shares
from ttt_batch.evaluation.ties import check_sharp, kept_cells
from ttt_batch.game.board import EMPTY, UNFINISHED, Position
from ttt_batch.runs.knowledge import Playing, StandIn

TEMPERATURE = 0.25
"""Of the softmax, as a share of the distance between the best and the worst end of a game on the learner's scale of
worths.  So it means the same for all learners: a move worth a whole game more is e**4 = 55 times as likely, one worth
half a game more 7.4 times."""


class Weakened(StandIn):
    """An agent that plays below its strength.

    level: share of moves by its own rule, 0 to 1 or a percentage; the others are drawn by softmax over its values.
    epsilon: share of moves to any free cell, 0 to 1; it comes first.
    rng: what these are drawn with; the caller draws among `candidates`, and may use the same.
    ties: which of the moves that its own rule may pick, see `ties`; for a player with `own_ties` they are all one.

    Raises UsageError for a level or an epsilon outside 0 to 1, for other ties, and for `sharp` of networks; BoardError
    for `sharp` on a board too large to enumerate.
    """

    def __init__(
        self,
        agent: Playing,
        level: Number = 1.0,
        epsilon: Number = 0.0,
        rng: random.Random | None = None,
        ties: Ties = "any",
    ):
        self.level = share("level", level, "1 plays its best, 0 draws every move by softmax")
        self.epsilon = share("epsilon", epsilon, "it is the share of random moves")
        super().__init__(agent)
        self._ties, self._rng = check_ties(ties), rng or random.Random()
        if self._ties == "sharp" and not isinstance(agent, Outsider):
            check_sharp(agent)

    def candidates(self, position: Position) -> list[int]:
        """The cells to pick among for this one move: those of its rule, or the one drawn instead by this call."""
        free = self.board.open_cells(position)
        if self.epsilon > 0 and self._rng.random() < self.epsilon:
            return [self._rng.choice(free)]
        if self.level < 1 and self._rng.random() >= self.level:
            shares = self.move_values(position)
            if self.gives == "value" or isinstance(self._agent, Outsider):  # whose chances may all be 0 or 1
                shares = softmax_shares(shares, TEMPERATURE * span_of(self._agent, position))
            return self._rng.choices(list(shares), list(shares.values()))
        if isinstance(self._agent, Outsider):
            shares = self._agent.shares(position)
            return self._rng.choices(list(shares), list(shares.values())) if len(shares) > 1 else list(shares)
        if (drawn := self.drawn_shares(position)) is not None:
            return self._rng.choices(list(drawn), list(drawn.values()))
        cells = self._agent.candidates(position)
        return kept_cells(self._agent, position, cells, self._ties)


def span_of(agent: Playing, position: Position) -> float:
    """Distance between the best and the worst end of a game for the player to move, on the agent's scale of worths.

    Above 0: 1 for a player to whom all ends are worth the same, whose values no temperature tells apart.
    """
    mover = (len(position) - position.count(EMPTY)) % 2
    ends = [float(value) for outcome, value in enumerate(agent.worth[mover]) if outcome != UNFINISHED]
    return max(ends) - min(ends) or 1.0
