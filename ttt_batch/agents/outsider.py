"""An agent that is no run, at a board: it is judged, played, watched and shown as runs are."""

import functools

import numpy as np
from numpy.typing import NDArray

from ttt_batch.agents.agent import Agent
from ttt_batch.agents.player import Player
from ttt_batch.agents.positions import batch_at, mover_words
from ttt_batch.base.errors import BoardError
from ttt_batch.game.board import EMPTY, FIRST_WINS, SECOND_WINS, UNFINISHED, Board, Position
from ttt_batch.runs.evaluation import JudgedAgent
from ttt_batch.runs.truth import SolvedBoard


class AgentAdapter(SolvedBoard, Player):
    """An agent at a board, with the truth of that board if it is known."""

    own_ties = True
    """It says itself which of its moves it makes."""

    gives = "chance"
    """It tells how likely its moves are, and no values."""

    def __init__(
        self, agent: Agent, board: Board, *, symmetric: bool = False, loses: bool | None = False, samples: int = 0
    ) -> None:
        """symmetric, loses, samples: as for `Player`."""
        Player.__init__(self, agent, board, symmetric=symmetric, loses=loses, samples=samples)

    def sampled(self, samples: int) -> "AgentAdapter":
        """Return the same agent, asked so often in each position."""
        return AgentAdapter(self.agent, self.board, symmetric=self.symmetric, loses=self._loses, samples=samples)

    @property
    def judged(self) -> JudgedAgent:
        """What a judgement says of it."""
        return JudgedAgent(self.name, self.board, self.symmetric, None if self.agent.own else self.asked)

    @property
    def exact(self) -> bool:
        """Whether its results are exact: its board is enumerated."""
        return self.enumerated

    @functools.cached_property
    def worth(self) -> NDArray[np.float64]:
        """float64[P, 4]: what each outcome is worth to each player: a win 1, a loss -1."""
        worth = np.zeros((2, 4))
        worth[:, [FIRST_WINS, SECOND_WINS]] = [[1.0, -1.0], [-1.0, 1.0]]
        return worth

    def shares(self, position: str | int | Position) -> dict[int, float]:
        """The probability of each cell that it may choose in an unfinished position.  Raises BoardError, AgentError."""
        marks = self.position_asked(position)
        if self.board.outcome(marks) != UNFINISHED:
            raise BoardError(f"position {self.board.format_position(marks)!r} is final: there is nothing to choose")
        own, other = mover_words(batch_at(self.board, marks))
        chances = self.answers(own, other, self.board.cells - marks.count(EMPTY))[0]
        return {cell: float(chances[cell]) for cell in np.flatnonzero(chances).tolist()}

    def candidates(self, position: str | int | Position) -> list[int]:
        """Cells that it may choose; see `shares` for how likely each is."""
        return list(self.shares(position))

    def move_values(self, position: str | int | Position) -> dict[int, float]:
        """The probability of each move: what there is to show of an agent that tells no values."""
        marks, found = self.position(position), self.shares(position)
        return {cell: found.get(cell, 0.0) for cell in self.board.open_cells(marks)}
