"""The loop of a person's games against an agent: rules, score, lessons, records and reviews, for any face.

A face is what shows and asks: lines of text (`plain`) or a screen (`screen`).  `play_games` is a generator that tells
its face what happens and yields a `Question` wherever the person has to answer; whoever drives it sends the answer,
as read by the question itself.  So one loop serves a face that waits for a line and one that is called for every key.
"""

import contextlib
import enum
import random
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from ttt_batch.board import (
    DRAW,
    EMPTY,
    FIRST,
    FIRST_WINS,
    MARKS,
    SECOND,
    SECOND_WINS,
    UNFINISHED,
    Board,
)
from ttt_batch.errors import BoardError, TttBatchError
from ttt_batch.game import Game
from ttt_batch.review import review, review_text
from ttt_batch.strength import Playing
from ttt_batch.terminal.drawing import WIDTH
from ttt_batch.terminal.hints import Hints, hints_of
from ttt_batch.terminal.keys import Again, Command, draw_again_help, draw_help, read_again, read_entry

Agent = Playing
"""What a game needs of an agent."""


class Pupil(Protocol):
    """What a game needs of an agent that learns from it."""

    def teach(self, cells: Sequence[int]) -> int:
        """Learn from the moves of a finished game and keep that for good; return how many positions changed.

        Raises TttBatchError where it could not, and has not learnt then.
        """

    def undo(self) -> bool:
        """Forget the last lesson; return False where there is none.  Raises TttBatchError where it could not."""


Answer = int | Command | Again
"""What a person answered: a cell, a command during a game, or what to do after it."""


@dataclass(frozen=True)
class Question:
    """What the person is asked.

    prompt: what stands before the answer.  read: reads an answer, or raises UsageError with a line that says why not.
    leave: the answer of who is gone.  keys: the most useful keys and their meaning, in a word or two each.
    game: where a cell is asked for, else None.
    """

    prompt: str
    read: Callable[[str], Answer]
    leave: Answer
    keys: Sequence[tuple[str, str]]
    game: Game | None = None


class Face(Protocol):
    """What shows a session to the person."""

    hints_stay: bool
    """Whether hints stay on from move to move, until they are asked for again."""

    def tell(self, *lines: str) -> None:
        """Say something, in lines."""

    def explain(self, lines: Sequence[str]) -> None:
        """Show the keys."""

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
    ABANDONED = "A new game; this one does not count."
    LEFT = ""


@dataclass
class Score:
    """The person's score over several games; only finished games count."""

    wins: int = 0
    losses: int = 0
    draws: int = 0

    def add(self, result: Result) -> None:
        """Count a game; modified in place."""
        self.wins += result is Result.WIN
        self.losses += result is Result.LOSS
        self.draws += result is Result.DRAW

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


def play_games(
    agent: Agent,
    face: Face,
    *,
    person: int | None,
    rng: random.Random,
    pupil: Pupil | None = None,
    record: Callable[[Sequence[int]], None] | None = None,
) -> Session:
    """Play until the person leaves or presses Ctrl-C; return the score.

    person: the person's seat, 0 moves first, 1 second; None alternates after every finished game, beginning with 0.
    rng: draws among the agent's candidates.
    pupil: learns from every finished game.  record: called with the cells of every finished game; may raise
    TttBatchError.
    """
    score, seat = Score(), person or 0
    try:
        face.tell(f"Board {agent.board.name}: {rule(agent.board)}. ? = keys.")
        if pupil is not None:
            face.tell("The agent learns from finished games.")
        face.count(score)
        while True:
            result, game = yield from play_game(agent, face, person=seat, rng=rng)
            if result is Result.LEFT:
                break
            if result is Result.ABANDONED:
                continue
            score.add(result)
            face.tell(f"Score: {score}")
            face.count(score)
            _review(agent, game, face, seat)
            if record is not None:
                with _telling(face):
                    record(game.moves)
            if pupil is not None:
                _teach(pupil, game, face)
            usual = seat if person is not None else 1 - seat
            answer = yield from _ask_again(face, game, usual, pupil)
            if answer is Again.NO:
                break
            seat = usual if answer is Again.YES else 1 - usual
            if person is not None:
                person = seat
    except KeyboardInterrupt:
        pass  # an ordinary way to leave a game
    face.tell(f"Goodbye. {score}")
    return score


def play_game(
    agent: Agent, face: Face, *, person: int, rng: random.Random
) -> Generator[Question, Answer, tuple[Result, Game]]:
    """Play one game of a person in seat `person` (0 moves first, 1 second) against an agent; return how it ended."""
    board, player = agent.board, (FIRST, SECOND)[person]
    game, shown, hinting = Game(board), None, False
    face.tell(f"You are {MARKS[player]} and move {('first', 'second')[person]}.")
    while game.outcome == UNFINISHED:
        if game.mover != player:
            cell = rng.choice(agent.candidates(game.position))
            game = game.after(cell)
            face.tell(f"The agent plays {board.cell_name(cell)}.")
            continue
        if game != shown:
            # Only a new position is drawn, so that a slip of the finger costs one line and not a screen.
            face.show(game)
            if hinting:
                face.hint(game, hints_of(agent, game))
            shown = game
        match (yield _move_question(game)):
            case int(cell):
                game = game.after(cell)
            case Command.HELP:
                face.explain(draw_help(board))
            case Command.HINTS if hinting:
                hinting = False
                face.show(game)
            case Command.HINTS:
                hinting = face.hints_stay
                face.hint(game, hints_of(agent, game))
            case Command.REPLAY:
                face.replay(game)
            case Command.UNDO:
                earlier = game.before_move_of(player)
                face.tell("You have no move to take back." if earlier is None else "Your last move is taken back.")
                game = earlier or game
            case Command.NEW:
                face.tell(Result.ABANDONED.value)
                return Result.ABANDONED, game
            case _:
                return Result.LEFT, game
    face.show(game)
    if game.forfeited:
        face.tell("Agent chose an occupied cell and loses.")
    result = result_of(game, person)
    face.tell(result.value)
    return result, game


def _move_question(game: Game) -> Question:
    """Ask for a move, or a command; an occupied cell is no answer."""

    def read(text: str) -> Answer:
        entry = read_entry(text, game.board)
        if isinstance(entry, int) and game.position[entry] != EMPTY:
            raise BoardError(f"cell {game.board.cell_name(entry)} is taken by {MARKS[game.position[entry]]}")
        return entry

    keys = [("h", "hints"), ("u", "undo"), ("r", "replay"), ("n", "new"), ("?", "keys"), ("0", "leave")]
    return Question(f"Your move ({MARKS[game.mover]}): ", read, Command.LEAVE, keys, game)


def _ask_again(face: Face, game: Game, usual: int, pupil: Pupil | None) -> Generator[Question, Answer, Again]:
    """Ask whether to play another game until that is decided: Again.YES, Again.SWITCH or Again.NO.

    usual: the person's seat in the next game unless it asks to switch.
    """
    sides = MARKS[FIRST + usual], MARKS[SECOND - usual]
    keys = [("Enter", f"as {sides[0]}"), ("s", f"as {sides[1]}"), ("r", "replay"), ("?", "keys"), ("n", "leave")]
    if pupil is not None:
        keys.insert(2, ("u", "unlearn"))
    lessons = pupil is not None
    question = Question("Another game? [Y/n] ", lambda text: read_again(text, lessons=lessons), Again.NO, keys)
    while True:
        match (yield question):
            case Again.UNDO if pupil is not None:
                with _telling(face, "The last lesson stays."):
                    face.tell("The last lesson is undone." if pupil.undo() else "There is no lesson to undo.")
            case Again.REPLAY:
                face.replay(game)
            case Again.HELP:
                face.explain(draw_again_help(sides, lessons=lessons))
            case Again.YES:
                return Again.YES
            case Again.SWITCH:
                return Again.SWITCH
            case _:
                return Again.NO


def _review(agent: Agent, game: Game, face: Face, person: int) -> None:
    """Say who gave what away in a finished game, where anybody knows."""
    slips = review(agent, game)
    if slips is not None:
        names = ("you", "agent") if person == 0 else ("agent", "you")
        face.tell(*review_text(slips, game.board, names, WIDTH))


@contextlib.contextmanager
def _telling(face: Face, behind: str = "") -> Iterator[None]:
    """Say what could not be done, and `behind` it what follows from that, and go on: the next game may fare better."""
    try:
        yield
    except TttBatchError as error:
        face.tell(str(error), *([behind] if behind else []))


def _teach(pupil: Pupil, game: Game, face: Face) -> None:
    with _telling(face, "This game was not learnt."):
        n = pupil.teach(game.moves)
        changed = f"{n} position{'s' * (n != 1)} changed" if n else "nothing changed"
        face.tell(f"Learnt: {changed} (u: undo).")
