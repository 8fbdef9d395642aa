"""What a face is, and what it is given: questions, results and the score of a person's games.

A face shows and asks: in lines of text (`plain`) or on a screen (`view`).  The loop has it show what happens, and
yields a `Question` whenever the person has to answer.
"""

import enum
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Protocol

from ttt_batch.app.keyboard import KeyCommand
from ttt_batch.app.terminal.hints import Hints
from ttt_batch.base.printable import Printable
from ttt_batch.game.board import DRAW, FIRST_WINS, SECOND_WINS, Board, Game

Answer = int | KeyCommand
"""What a person answered: a cell, a command during a game, or what to do after it."""


@dataclass(frozen=True)
class Question:
    """What the person is asked.

    prompt: what stands before the answer.  read: reads an answer, or raises UsageError with the reason in a line.
    leave: the answer if the person is gone.  keys: the most useful keys and their meaning, in a word or two each.
    game: the game if a cell is asked for, else None.
    """

    prompt: str
    read: Callable[[str], Answer]
    leave: Answer
    keys: Sequence[tuple[str, str]]
    game: Game | None = None


class Face(Protocol):
    """What shows a session to the person."""

    hints_stay: bool
    """Whether hints stay on from move to move, until their key is pressed again."""

    single_keys: bool
    """Whether keys are read one by one; else whole lines are."""

    def tell(self, *lines: str) -> None:
        """Say something, in lines."""

    def explain(self, lines: Sequence[str]) -> None:
        """Show the keys; if they are shown already, take them away."""

    def show(self, game: Game) -> None:
        """Show the board, without hints."""

    def hint(self, game: Game, hints: Hints) -> None:
        """Show the board with hints."""

    def replay(self, game: Game) -> None:
        """Show all positions of a game in order."""

    def count(self, score: "Score") -> None:
        """Show the score."""


class Result(enum.Enum):
    """How a game ended, with the line that says so."""

    WIN = "You win."
    LOSS = "The agent wins."
    DRAW = "Draw."
    ABANDONED = "A new game; the last one does not count."
    LEFT = ""


@dataclass
class Score(Printable):
    """The person's score over several games; only finished games count."""

    wins: int = 0
    losses: int = 0
    draws: int = 0

    def add(self, result: Result) -> None:
        """Count a game; modified in place."""
        self.wins += result is Result.WIN
        self.losses += result is Result.LOSS
        self.draws += result is Result.DRAW

    def to_dict(self) -> dict[str, int]:
        """Plain values with stable keys."""
        return {"wins": self.wins, "losses": self.losses, "draws": self.draws}

    def records(self) -> tuple[list[dict[str, int]], str]:
        """Return the one row there is."""
        return [self.to_dict()], "wins"

    def __str__(self) -> str:
        return f"You {self.wins}, agent {self.losses}, draws {self.draws}."


def result_of(game: Game, person: int) -> Result:
    """Result of a finished game for the person in seat `person` (0 moves first, 1 second)."""
    if game.outcome == DRAW:
        return Result.DRAW
    return Result.WIN if game.outcome == (FIRST_WINS, SECOND_WINS)[person] else Result.LOSS


def rule(board: Board) -> str:
    """Who wins, in words."""
    return f"{'exactly ' if board.exact else ''}{board.k} in a line {'lose' if board.misere else 'win'}"


Session = Generator[Question, Answer, Score]
"""Games as they are played: yields questions, is sent their answers, and returns the score."""
