"""The loop of a person's games against an agent: rules, score, learning, records and reviews, for any face.

`play_games` is a generator: it has its face show what happens, and yields a `Question` whenever the person has to
answer; its driver sends the answer, as the question reads it.  So one loop serves a face that waits for a line and one
that is called for every key.
"""

import contextlib
import random
from collections.abc import Callable, Generator, Iterator, Sequence
from typing import Protocol

from ttt_batch.analysis.review import oversights, oversights_text, review, review_text
from ttt_batch.app.keyboard import KeyCommand, KeyContext, commands_for
from ttt_batch.app.terminal.drawing import NARROW
from ttt_batch.app.terminal.faces import Answer, Face, Question, Result, Score, Session, result_of, rule
from ttt_batch.app.terminal.hints import hints_of
from ttt_batch.app.terminal.keys import draw_again_help, draw_help, read_again, read_entry
from ttt_batch.base.errors import BoardError, TttBatchError
from ttt_batch.base.quantities import count_text
from ttt_batch.game.board import EMPTY, FIRST, MARKS, SECOND, UNFINISHED, Game, column_name
from ttt_batch.runs.knowledge import PlayingAgent


class LearningAgent(Protocol):
    """What a game needs of an agent that learns from it."""

    def update(self, cells: Sequence[int]) -> int:
        """Learn from the moves of a finished game and keep that for good; return how many positions changed.

        Raises TttBatchError if it could not, and has not learnt then.
        """

    def undo(self) -> bool:
        """Forget the last update; return False if there is none.  Raises TttBatchError if it could not."""


def play_person_games(
    agent: PlayingAgent,
    face: Face,
    *,
    person: int | None,
    rng: random.Random,
    pupil: LearningAgent | None = None,
    record: Callable[[Sequence[int]], None] | None = None,
    notes: Sequence[str] = (),
) -> Session:
    """Play until the person leaves or presses Ctrl-C; return the score.

    person: the person's seat, 0 moves first, 1 second; None alternates after every finished game, beginning with 0.
    rng: draws among the agent's candidates.
    pupil: learns from every finished game.  record: called with the cells of every finished game; may raise
    TttBatchError.  notes: lines about the agent to begin with.
    """
    score, seat = Score(), person or 0
    try:
        face.tell(f"Board {agent.board.name}: {rule(agent.board)}. ? = keys.")
        face.tell(*notes)
        if pupil is not None:
            face.tell("The agent learns from finished games.")
        face.count(score)
        while True:
            result, game = yield from play_person_game(agent, face, person=seat, rng=rng)
            if result is Result.LEFT:
                break
            if result is Result.ABANDONED:
                continue
            score.add(result)
            face.tell(f"Score: {score}")
            face.count(score)
            names = ("you", "agent") if seat == 0 else ("agent", "you")
            if (slips := review(agent, game)) is not None:
                face.tell(*review_text(slips, agent.board, names, NARROW))
            else:
                face.tell(*oversights_text(oversights(game), agent.board, names, NARROW))
            if record is not None:
                with _telling(face):
                    record(game.moves)
            if pupil is not None:
                _update(pupil, game, face)
            usual = seat if person is not None else 1 - seat
            answer = yield from _ask_again(face, game, usual, pupil)
            if answer is KeyCommand.LEAVE:
                break
            seat = usual if answer is KeyCommand.NEW else 1 - usual
    except KeyboardInterrupt:
        pass  # an ordinary way to leave a game
    face.tell(f"Goodbye. {score}")
    return score


def play_person_game(
    agent: PlayingAgent, face: Face, *, person: int, rng: random.Random
) -> Generator[Question, Answer, tuple[Result, Game]]:
    """Play one game of a person in seat `person` (0 moves first, 1 second) against an agent; return how it ended."""
    board, player = agent.board, (FIRST, SECOND)[person]
    game, shown, hinting = Game(board), None, False
    face.tell(f"You are {MARKS[player]} and move {('first', 'second')[person]}.")
    while game.outcome == UNFINISHED:
        if game.mover != player:
            cell = rng.choice(agent.candidates(game.position))
            game = game.after(cell)
            face.tell("The agent resigns." if game.resigned else f"The agent plays {board.cell_name(cell)}.")
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
            case KeyCommand.HELP:
                face.explain(draw_help(board, single_keys=face.single_keys))
            case KeyCommand.HINTS if hinting:
                hinting = False
                face.show(game)
            case KeyCommand.HINTS:
                hinting = face.hints_stay
                face.hint(game, hints_of(agent, game))
            case KeyCommand.REPLAY:
                face.replay(game)
            case KeyCommand.UNDO:
                earlier = game.before_move_of(player)
                face.tell("You have no move to take back." if earlier is None else "Your last move is taken back.")
                game = earlier or game
            case KeyCommand.NEW:
                face.tell(Result.ABANDONED.value)
                return Result.ABANDONED, game
            case _:
                return Result.LEFT, game
    face.show(game)
    if game.forfeited and not game.resigned:
        face.tell("The agent chose a taken cell and loses.")
    result = result_of(game, person)
    face.tell(result.value)
    return result, game


def _move_question(game: Game) -> Question:
    """Ask for a move, or a command; an occupied cell is no answer."""

    def read(text: str) -> Answer:
        entry = read_entry(text, game.board)
        if isinstance(entry, int) and game.board.gravity:
            return _fallen(game, entry % game.board.cols)
        if isinstance(entry, int) and game.position[entry] != EMPTY:
            raise BoardError(f"cell {game.board.cell_name(entry)} is taken by {MARKS[game.position[entry]]}")
        return entry

    keys = [(command.keys[0], command.label) for command in commands_for(KeyContext.GAME)]
    return Question(f"Your move ({MARKS[game.mover]}): ", read, KeyCommand.LEAVE, keys, game)


def _fallen(game: Game, column: int) -> int:
    """The cell that a mark falls to in a column.  Raises BoardError if it is full."""
    for cell in game.board.open_cells(game.position):
        if cell % game.board.cols == column:
            return cell
    raise BoardError(f"column {column_name(column)} is full")


def _ask_again(
    face: Face, game: Game, usual: int, pupil: LearningAgent | None
) -> Generator[Question, Answer, KeyCommand]:
    """Ask whether to play another game until that is decided: Command.NEW, Command.SWITCH or Command.LEAVE.

    usual: the person's seat in the next game without a switch.
    """
    sides = MARKS[FIRST + usual], MARKS[SECOND - usual]
    place = KeyContext.AFTER if pupil is None else KeyContext.AFTER | KeyContext.LEARNT
    labels = {KeyCommand.NEW: f"as {sides[0]}", KeyCommand.SWITCH: f"as {sides[1]}", KeyCommand.UNDO: "unlearn"}
    keys = [
        ("Enter" if command is KeyCommand.NEW else command.keys[0], labels.get(command, command.label))
        for command in commands_for(place)
    ]
    prompt = f"Another game? [Enter/{KeyCommand.LEAVE.keys[0]}] "
    question = Question(prompt, lambda text: read_again(text, place), KeyCommand.LEAVE, keys)
    while True:
        match (yield question):
            case KeyCommand.UNDO if pupil is not None:
                with _telling(face, "The last update stays."):
                    face.tell("The last update is undone." if pupil.undo() else "There is no update to undo.")
            case KeyCommand.REPLAY:
                face.replay(game)
            case KeyCommand.HELP:
                face.explain(draw_again_help(sides, place))
            case KeyCommand.NEW | KeyCommand.SWITCH as chosen:
                return chosen
            case _:
                return KeyCommand.LEAVE


@contextlib.contextmanager
def _telling(face: Face, then: str = "") -> Iterator[None]:
    """Show what could not be done, then what follows from that, and go on: it may work after the next game."""
    try:
        yield
    except TttBatchError as error:
        face.tell(str(error), *([then] if then else []))


def _update(pupil: LearningAgent, game: Game, face: Face) -> None:
    with _telling(face, "This game was not learnt."):
        n = pupil.update(game.moves)
        changed = f"{count_text(n, 'position')} changed" if n else "nothing changed"
        face.tell(f"Learnt: {changed} (u: undo).")
