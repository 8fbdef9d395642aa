"""Handicap: an agent weakened on purpose, so that players of any strength can win against it.

With probability `epsilon` a move is uniformly random, as in training.  Otherwise, with probability `1 - level`, it is
sampled by softmax over the agent's values.  In all other cases the agent's own rule picks, with the given ties.
A learner of action preferences is sampled by its own softmax probabilities, and `menace` by the beads in its boxes.
At level 1 and epsilon 0 nothing is sampled here, and with ties `any` the agent's play is unchanged.
"""

import random

from ttt_batch.agents.outsider import AgentAdapter
from ttt_batch.base.choices import Ties, check_ties
from ttt_batch.base.quantities import Number, parse_share
from ttt_batch.base.softmax import softmax_probabilities
from ttt_batch.evaluation.ties import best_cells, check_sharp
from ttt_batch.game.board import EMPTY, UNFINISHED, Position
from ttt_batch.runs.knowledge import AgentProxy, PlayingAgent

TEMPERATURE = 0.25
"""Softmax temperature, as a share of the distance between the best and the worst result on the learner's scale.

It therefore means the same for all learners: a move is e**4 = 55 times as likely if it is worth a whole game more, and
7.4 times if half a game more."""


class HandicappedAgent(AgentProxy):
    """Agent that plays below its strength.

    level: share of moves by its own rule, 0 to 1 or a percentage; the others are sampled by softmax over its values.
    epsilon: share of uniformly random moves, 0 to 1; it applies first.
    rng: generator for both; the caller samples from `candidates` and may use the same one.
    ties: rule that chooses among the moves of its own rule, see `ties`; without effect on a player with `own_ties`.

    Raises UsageError for a level or an epsilon outside 0 to 1, for unknown ties, and for `sharp` with networks.  Raises
    BoardError for `sharp` on a board too large to enumerate.
    """

    def __init__(
        self,
        agent: PlayingAgent,
        level: Number = 1.0,
        epsilon: Number = 0.0,
        rng: random.Random | None = None,
        ties: Ties = "any",
    ):
        self.level = parse_share("level", level, "1 plays its best, 0 draws every move by softmax")
        self.epsilon = parse_share("epsilon", epsilon, "it is the share of random moves")
        super().__init__(agent)
        self._ties, self._rng = check_ties(ties), rng or random.Random()
        if self._ties == "sharp" and not isinstance(agent, AgentAdapter):
            check_sharp(agent)

    def candidates(self, position: Position) -> list[int]:
        """Return the cells to pick among for one move: those of its rule, or the one that this call has sampled."""
        free = self.board.open_cells(position)
        if self.epsilon > 0 and self._rng.random() < self.epsilon:
            return [self._rng.choice(free)]
        if self.level < 1 and self._rng.random() >= self.level:
            shares = self.move_values(position)
            if self.gives == "value" or isinstance(
                self._agent, AgentAdapter
            ):  # an adapter's probabilities may be 0 or 1
                shares = softmax_probabilities(shares, TEMPERATURE * result_range(self._agent, position))
            return self._rng.choices(list(shares), list(shares.values()))
        if isinstance(self._agent, AgentAdapter):
            shares = self._agent.shares(position)
            return self._rng.choices(list(shares), list(shares.values())) if len(shares) > 1 else list(shares)
        if (drawn := self.drawn_shares(position)) is not None:
            return self._rng.choices(list(drawn), list(drawn.values()))
        cells = self._agent.candidates(position)
        return best_cells(self._agent, position, cells, self._ties)


def result_range(agent: PlayingAgent, position: Position) -> float:
    """Return the distance between the best and the worst result for the player to move, on the agent's scale.

    It is 1 if all results are worth the same, so that the temperature stays above 0.
    """
    mover = (len(position) - position.count(EMPTY)) % 2
    ends = [float(value) for outcome, value in enumerate(agent.worth[mover]) if outcome != UNFINISHED]
    return max(ends) - min(ends) or 1.0
