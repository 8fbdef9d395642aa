"""The plain face: lines of text on any pair of streams, a terminal, a pipe or a file."""

import contextlib
from collections.abc import Sequence
from typing import TextIO

from ttt_batch.app.terminal.drawing import draw_board, draw_replay
from ttt_batch.app.terminal.faces import Answer, Question, Score, Session
from ttt_batch.app.terminal.hints import Hints, draw_hints
from ttt_batch.app.terminal.keys import quote
from ttt_batch.base.console import print_lines, wants_colour
from ttt_batch.base.errors import UsageError
from ttt_batch.game.board import Game


class Plain:
    """A face of lines: earlier lines stay above, and answers are typed after a prompt.

    Off a terminal what was read is written after its prompt, so that the output reads like a session, and no control
    characters are written.
    """

    hints_stay = False
    single_keys = False

    def __init__(self, stdin: TextIO, stdout: TextIO) -> None:
        # A byte that is no text is a slip like any other; it must not end the game.
        with contextlib.suppress(AttributeError, OSError, ValueError):  # a stream already read from may refuse
            stdin.reconfigure(errors="replace")  # type: ignore[attr-defined]
        self._stdin, self._stdout = stdin, stdout
        self._echo = not (stdin.isatty() and stdout.isatty())
        self._colour = wants_colour(stdout)

    def tell(self, *lines: str) -> None:
        """Write lines."""
        for line in lines:
            print_lines(line, self._stdout, colour=self._colour)

    def explain(self, lines: Sequence[str]) -> None:
        """Write lines between empty ones."""
        self.tell("", *lines, "")

    def show(self, game: Game) -> None:
        """Draw the board."""
        self.explain(draw_board(game, self._colour))

    def hint(self, game: Game, hints: Hints) -> None:
        """Draw the hints."""
        self.explain(draw_hints(game, hints, self._colour))

    def replay(self, game: Game) -> None:
        """Draw every position."""
        self.explain(draw_replay(game))

    def count(self, score: Score) -> None:
        """Nothing: the loop shows the score in a line, too."""

    def drive(self, session: Session) -> Score:
        """Answer the questions of a session until it ends; return its score."""
        try:
            question = next(session)
            while True:
                question = session.send(self._ask(question))
        except StopIteration as end:
            score: Score = end.value
            return score

    def _ask(self, question: Question) -> Answer:
        """Ask until the answer can be read; the end of input and Ctrl-C are ways to leave."""
        while True:
            try:
                print_lines(question.prompt, self._stdout, end="")
                line = self._stdin.readline()
            except (EOFError, KeyboardInterrupt):
                line = ""
            if not line:
                self.tell("")
                return question.leave
            if self._echo:
                typed = line.strip()
                self.tell(typed if typed.isascii() and typed.isprintable() and len(typed) <= 12 else quote(typed))
            try:
                return question.read(line)
            except UsageError as error:
                self.tell(str(error))
