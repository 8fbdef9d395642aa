"""An agent made weaker on purpose, so that people of any strength have a game.

Each move is decided anew: with probability `epsilon` it goes to any free cell, each equally likely, as in training;
else with probability `1 - level` it is drawn by softmax over the agent's values; else the agent's own rule picks, and
`ties` says among which of the moves that it may pick.
At level 1 and epsilon 0 nothing is drawn here, and with ties `any` the agent plays exactly as it is.
"""

import math
import random
from collections.abc import Mapping
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ttt_batch.base.choices import Ties, check_ties
from ttt_batch.base.quantities import Number, share
from ttt_batch.evaluation.ties import soonest_cells
from ttt_batch.game.board import EMPTY, UNFINISHED, Board, Position
from ttt_batch.game.solution import Truth

TEMPERATURE = 0.25
"""Of the softmax, as a share of the distance between the best and the worst end of a game on the learner's scale of
worths.  So it means the same for all learners: a move worth a whole game more is e**4 = 55 times as likely, one worth
half a game more 7.4 times."""


class Playing(Protocol):
    """What plays, shows its values and may know the truth: a run, for one."""

    @property
    def board(self) -> Board:
        """The board it plays on."""

    @property
    def worth(self) -> NDArray[np.float64]:
        """float64[P, 4]: what each outcome is worth to each player, on the scale of its values."""

    def candidates(self, position: Position) -> list[int]:
        """Cells that its choice rule may pick for the player to move, each equally likely."""

    def move_values(self, position: Position) -> dict[int, float]:
        """Its value of each free cell for the player to move; NaN where it has never been."""

    def true_moves(self, position: Position) -> Mapping[int, Truth] | None:
        """By free cell the result of best play after the move there; None if unknown."""


def softmax_shares(values: Mapping[int, float], temperature: float) -> dict[int, float]:
    """The probability of each cell: proportional to `exp(value / temperature)`; they add up to 1.

    A cell never seen (NaN) counts like the average of those seen, neither tempting nor shunned; where none was seen
    all are equally likely.  temperature: above 0.
    """
    seen = [value for value in values.values() if not math.isnan(value)]
    average = sum(value / len(seen) for value in seen)
    filled = {cell: average if math.isnan(value) else value for cell, value in values.items()}
    highest = max(filled.values(), default=0.0)
    weights = {cell: math.exp((value - highest) / temperature) for cell, value in filled.items()}
    total = math.fsum(weights.values())
    return {cell: weight / total for cell, weight in weights.items()}


class Weakened:
    """An agent that plays below its strength; as an agent it can take the other's place anywhere.

    level: share of moves by its own rule, 0 to 1 or a percentage; the others are drawn by softmax over its values.
    epsilon: share of moves to any free cell, 0 to 1; it comes first.
    rng: what these are drawn with; the caller draws among `candidates` as ever, and may use the same.
    ties: `any` of the moves that its own rule may pick, or `soonest`, of them the quickest wins and longest losses.

    Raises UsageError for a level or an epsilon outside 0 to 1, and for other ties.
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
        self._agent, self._ties = agent, check_ties(ties)
        self._rng = random.Random() if rng is None else rng

    @property
    def board(self) -> Board:
        """The board it plays on."""
        return self._agent.board

    @property
    def worth(self) -> NDArray[np.float64]:
        """The agent's own scale of worths."""
        return self._agent.worth

    def candidates(self, position: Position) -> list[int]:
        """The cells to pick among for this one move: those of its rule, or the one that chance has drawn instead.

        Another call draws anew.
        """
        free = [cell for cell, mark in enumerate(position) if mark == EMPTY]
        if self.epsilon > 0 and self._rng.random() < self.epsilon:
            return [self._rng.choice(free)]
        if self.level < 1 and self._rng.random() >= self.level:
            shares = softmax_shares(self.move_values(position), TEMPERATURE * span_of(self._agent, position))
            return self._rng.choices(list(shares), list(shares.values()))
        cells = self._agent.candidates(position)
        return cells if self._ties == "any" else soonest_cells(self._agent, position, cells)

    def move_values(self, position: Position) -> dict[int, float]:
        """The agent's own value of each free cell."""
        return self._agent.move_values(position)

    def true_moves(self, position: Position) -> Mapping[int, Truth] | None:
        """The truth behind each move, where it is known."""
        return self._agent.true_moves(position)


def span_of(agent: Playing, position: Position) -> float:
    """Distance between the best and the worst end of a game for the player to move, on the agent's scale of worths.

    Above 0: 1 for a player to whom all ends are worth the same, whose values no temperature tells apart.
    """
    mover = (len(position) - position.count(EMPTY)) % 2
    ends = [float(value) for outcome, value in enumerate(agent.worth[mover]) if outcome != UNFINISHED]
    return max(ends) - min(ends) or 1.0
