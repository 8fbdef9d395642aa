"""What plays: what an agent must offer, and agents that stand for another one."""

from collections.abc import Mapping
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ttt_batch.evaluation.ties import Knowing
from ttt_batch.game.board import Board, Position
from ttt_batch.game.solution import Truth


class Playing(Knowing, Protocol):
    """What plays, shows its values, and may know the truth: a run, for one."""

    @property
    def worth(self) -> NDArray[np.float64]:
        """float64[P, 4]: what each outcome is worth to each player, on the scale of its values."""

    def candidates(self, position: Position) -> list[int]:
        """Cells that its choice rule may pick for the player to move, each equally likely."""

    def move_values(self, position: Position) -> dict[int, float]:
        """Its value of each free cell for the player to move; NaN if never seen."""


class StandIn:
    """An agent that answers as another one does, which may change."""

    def __init__(self, agent: Playing) -> None:
        self._agent = agent

    @property
    def board(self) -> Board:
        """The board it plays on."""
        return self._agent.board

    @property
    def worth(self) -> NDArray[np.float64]:
        """float64[P, 4]: what each outcome is worth to each player, on the agent's scale."""
        return self._agent.worth

    def candidates(self, position: Position) -> list[int]:
        """Cells that the agent's rule may pick."""
        return self._agent.candidates(position)

    def move_values(self, position: Position) -> dict[int, float]:
        """The agent's value of each free cell."""
        return self._agent.move_values(position)

    def true_moves(self, position: Position) -> Mapping[int, Truth] | None:
        """The truth after each move; None if unknown."""
        return self._agent.true_moves(position)
