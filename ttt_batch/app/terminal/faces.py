"""Face of plain text lines, and what it has in common with the screen: questions, results and the score.

A face shows a session and takes answers, in lines of text (`Plain`) or on a screen (`screen.ScreenFace`).  The loop
yields a `Question` whenever the user has to answer.
"""

import contextlib
import enum
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import TextIO

from ttt_batch.app.terminal.drawing import Hints, draw_board, draw_hints, draw_replay
from ttt_batch.app.terminal.keys import KeyCommand, quote
from ttt_batch.core.console import print_lines, wants_colour
from ttt_batch.core.errors import UsageError
from ttt_batch.core.results import Printable
from ttt_batch.games.board import DRAW, FIRST_WINS, SECOND_WINS, Board, Game

Answer = int | KeyCommand
"""Answer of a person: a cell, a command during a game, or one after it."""


@dataclass(frozen=True)
class Question:
    """Question to the user.

    prompt: text before the answer.  read: parses an answer, or raises UsageError with the reason in a line.
    keys: the most useful keys and their meaning, in a word or two each.
    game: the game if the answer is a cell, else None.
    """

    prompt: str
    read: Callable[[str], Answer]
    keys: Sequence[tuple[str, str]]
    game: Game | None = None


class Result(enum.Enum):
    """Result of a game, with the line that says so."""

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
        """Return plain values with stable keys."""
        return {"wins": self.wins, "losses": self.losses, "draws": self.draws}

    def records(self) -> tuple[list[dict[str, int]], str]:
        """Return the one row there is."""
        return [self.to_dict()], "wins"

    def __str__(self) -> str:
        return f"You {self.wins}, agent {self.losses}, draws {self.draws}."


def result_of(game: Game, person: int) -> Result:
    """Return the result of a finished game for the person in seat `person` (0 moves first, 1 second)."""
    if game.outcome == DRAW:
        return Result.DRAW
    return Result.WIN if game.outcome == (FIRST_WINS, SECOND_WINS)[person] else Result.LOSS


def rule(board: Board) -> str:
    """Return in words who wins, and whether marks fall."""
    ends = f"{'exactly ' if board.exact else ''}{board.k} in a line {'lose' if board.misere else 'win'}"
    return f"{ends}; marks fall" if board.gravity else ends


Session = Generator[Question, Answer, Score]
"""Games as they are played: yields questions, is sent their answers, and returns the score."""


def drive(session: Session, ask: Callable[[Question], Answer], question: Question | None = None) -> Score:
    """Answer the questions of a session until it ends; return its score.

    question: the one that is open; None for a session that has not begun.
    """
    try:
        question = next(session) if question is None else question
        while True:
            question = session.send(ask(question))
    except StopIteration as end:
        score: Score = end.value
        return score


class Plain:
    """Face of lines: earlier lines stay above, and answers are typed after a prompt.

    Off a terminal the input is written after its prompt, so that the output reads like a session, and no control
    characters are written.

    single_keys: keys are read one by one, and hints stay on from move to move; else whole lines are read.
    """

    single_keys = False

    def __init__(self, stdin: TextIO, stdout: TextIO, *, large: bool = False) -> None:
        # An undecodable byte is a typing error like any other, and must not end the game.
        with contextlib.suppress(AttributeError, OSError, ValueError):  # a stream already read from may refuse
            stdin.reconfigure(errors="replace")  # type: ignore[attr-defined]
        self._stdin, self._stdout = stdin, stdout
        self._echo = not (stdin.isatty() and stdout.isatty())
        self._colour, self._large = wants_colour(stdout), large

    def tell(self, *lines: str) -> None:
        """Write lines."""
        for line in lines:
            print_lines(line, self._stdout, colour=self._colour)

    def explain(self, lines: Sequence[str]) -> None:
        """Write lines between empty ones."""
        self.tell("", *lines, "")

    def show(self, game: Game) -> None:
        """Draw the board."""
        self.explain(draw_board(game, self._colour, large=self._large))

    def hint(self, game: Game, hints: Hints) -> None:
        """Draw the hints."""
        self.explain(draw_hints(game, hints, self._colour))

    def replay(self, game: Game) -> None:
        """Draw every position."""
        self.explain(draw_replay(game))

    def count(self, score: Score) -> None:
        """Do nothing: the loop shows the score in a line, too."""

    def ask(self, question: Question) -> Answer:
        """Ask until the answer can be read; the end of input and Ctrl-C are ways to leave."""
        while True:
            try:
                print_lines(question.prompt, self._stdout, end="")
                line = self._stdin.readline()
            except (EOFError, KeyboardInterrupt):
                line = ""
            if not line:
                self.tell("")
                return KeyCommand.LEAVE
            if self._echo:
                typed = line.strip()
                self.tell(typed if typed.isascii() and typed.isprintable() and len(typed) <= 12 else quote(typed))
            try:
                return question.read(line)
            except UsageError as error:
                self.tell(str(error))
