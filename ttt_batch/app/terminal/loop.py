"""Loop of a person's games against an agent, and of two agents that are watched.

`play_games` is a generator: it has its face show what happens, and yields a `Question` whenever the person has to
answer; its driver sends the answer, as the question reads it.  So one loop serves a face that waits for a line and one
that is called for every key.

A game between two agents is shown move by move, with the mover's value and exact result of each cell.  A terminal shows
each position in place of the previous one, at a readable pace; other outputs print them in sequence.
"""

import contextlib
import random
import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TextIO, Unpack

from ttt_batch.agents.adapter import AgentAdapter, PlayingAgent
from ttt_batch.agents.builtin import ScriptedPlayer
from ttt_batch.analysis.position import bead_changes, open_box
from ttt_batch.analysis.review import (
    Handicap,
    HandicappedAgent,
    known_from,
    oversights,
    oversights_text,
    review,
    review_text,
)
from ttt_batch.app.terminal import drawing
from ttt_batch.app.terminal.faces import Answer, Plain, Question, Result, Score, Session, drive, result_of, rule
from ttt_batch.app.terminal.keys import (
    Keyboard,
    KeyCommand,
    KeyContext,
    commands_for,
    draw_again_help,
    draw_help,
    read_again,
    read_entry,
)
from ttt_batch.app.terminal.screen import ScreenFace, has_screen, play_on_screen
from ttt_batch.core.console import is_live, one_line, print_lines, wants_colour
from ttt_batch.core.errors import BoardError, TttBatchError, UsageError, flag
from ttt_batch.core.text import SEATS, Number, check_ties, choose_person, count_text, parse_float, parse_seed
from ttt_batch.evaluation.ties import meaning
from ttt_batch.games.board import DRAW, EMPTY, FIRST, FIRST_WINS, MARKS, SECOND, UNFINISHED, Game, column_name
from ttt_batch.games.gravity_solver import QUICK_LIMIT
from ttt_batch.runs.config import cannot_play_second_error

if TYPE_CHECKING:
    from ttt_batch.training.from_games import LearningRun


Face = Plain | ScreenFace
"""What shows a session to the user."""


def play_person_games(
    agent: PlayingAgent,
    face: Face,
    *,
    person: int | None,
    rng: random.Random,
    pupil: "LearningRun | None" = None,
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
            face.tell(f"The agent learns from finished games{'' if pupil.stored else ', and no file is written'}.")
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
            face.tell(*_reviewed(agent, game, ("you", "agent") if seat == 0 else ("agent", "you")))
            if record is not None:
                with _telling(face):
                    record(game.moves)
            if pupil is not None:
                with _telling(face, "This game was not learnt."):
                    before, n = agent.by_beads and pupil.run, pupil.update(game.moves)
                    face.tell(f"Learnt: {count_text(n, 'position') if n else 'nothing'} changed (u: undo).")
                    face.tell(*(bead_changes(before, pupil.run, game) if before else []))
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
            box = open_box(agent, game.position) if agent.by_beads else None
            cell = rng.choice(agent.candidates(game.position))
            game = game.after(cell)
            drawn = "" if box is None else f" It has drawn {box.colour_of(cell)}."
            face.tell(*([] if box is None else [str(box)]))
            face.tell("The agent resigns." if game.resigned else f"The agent plays {board.cell_name(cell)}.{drawn}")
            continue
        if game != shown:
            # Only a new position is drawn, so that a slip of the finger costs one line and not a screen.
            face.show(game)
            if hinting:
                face.hint(game, drawing.hints_of(agent, game))
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
                hinting = face.single_keys
                face.hint(game, drawing.hints_of(agent, game))
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
        floats = board.floats(game.position, game.moves[-1])
        face.tell(f"The agent chose a {'cell in the air' if floats else 'taken cell'} and loses.")
    result = result_of(game, person)
    face.tell(result.value)
    return result, game


def _move_question(game: Game) -> Question:
    """Ask for a move or a command; refuse an occupied cell."""

    def read(text: str) -> Answer:
        entry = read_entry(text, game.board)
        if not isinstance(entry, int):
            return entry
        if game.board.gravity:
            column = entry % game.board.cols
            for cell in game.board.open_cells(game.position):
                if cell % game.board.cols == column:
                    return cell
            raise BoardError(f"column {column_name(column)} is full")
        if game.position[entry] != EMPTY:
            raise BoardError(f"cell {game.board.cell_name(entry)} is taken by {MARKS[game.position[entry]]}")
        return entry

    keys = [(command.keys[0], command.label) for command in commands_for(KeyContext.GAME)]
    return Question(f"Your move ({MARKS[game.mover]}): ", read, keys, game)


def _ask_again(
    face: Face, game: Game, usual: int, pupil: "LearningRun | None"
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
    question = Question(prompt, lambda text: read_again(text, place), keys)
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
    """Show an error of the block and its consequence, and continue, as it may work after the next game."""
    try:
        yield
    except TttBatchError as error:
        face.tell(str(error), *([then] if then else []))


def persons_seat(agent: Any, seat: str | None) -> int | None:
    """Return the person's seat as `choose_person` does; if none is given, one that leaves the agent a seat it plays.

    A certificate plays the seat in which it is proved.

    Raises UsageError for another one, and for a seat that leaves the agent one for which it has no moves.
    """
    if SEATS[1] in agent.seats:
        certified = isinstance(agent, AgentAdapter) and agent.agent.proved == SEATS[0]
        return choose_person(SEATS[int(certified)] if seat is None else seat)
    person = 1 if seat is None else choose_person(seat)
    if person != 1:
        what = f"a game in which you move {'first' if person == 0 else 'first in turn'}"
        raise cannot_play_second_error(agent.name, what, f"choose {flag('seat', 'second')}, or leave it out")
    return person


def play_here(agent: PlayingAgent, *, seat: str | None, **how: Any) -> Score:
    """Play games on this process's terminal.  seat: see `persons_seat`.  how, errors: as for `play_in_terminal`."""
    return play_in_terminal(agent, person=persons_seat(agent, seat), stdin=sys.stdin, stdout=sys.stdout, **how)


def play_in_terminal(
    agent: PlayingAgent,
    *,
    person: int | None,
    stdin: TextIO,
    stdout: TextIO,
    seed: int | None = None,
    pupil: "LearningRun | None" = None,
    record: Callable[[Sequence[int]], None] | None = None,
    plain: bool = False,
    large: bool = False,
    **handicap: Unpack[Handicap],
) -> Score:
    """Play games on a pair of text streams until the person leaves; return the score.

    person: the person's seat, 0 (moves first) or 1; None alternates, beginning with 0.
    seed: fixes everything that the agent draws.  pupil, record: as for `play_person_games`.
    plain: lines of text also on a real terminal; elsewhere there is nothing else.  large: large marks.
    handicap: how the agent plays, see `HandicappedAgent`; without ties as `usual_ties` says.

    Raises UsageError for another seat, other ties, and for a level or an epsilon outside 0 to 1; BoardError for `sharp`
    on a board too large to enumerate.
    """
    if person not in (0, 1, None):
        raise UsageError(f"person {person!r} is no seat; 0 moves first, 1 second, None alternates")
    rng = random.Random(seed)
    usual, given = agent.usual_ties, handicap.get("ties")
    ties = handicap["ties"] = usual if given is None else check_ties(given)
    player = HandicappedAgent(agent, rng=rng, **handicap)
    weaker = player.level < 1 or player.epsilon > 0
    said = [f"level {player.level:g}, epsilon {player.epsilon:g}"] if weaker else []
    said += [f"ties {ties}"] if ties != usual else []
    strength = [f"Agent: {', '.join(said)}."] if said else []

    def session(face: Face) -> Session:
        return play_person_games(player, face, person=person, rng=rng, pupil=pupil, record=record, notes=strength)

    if plain or not has_screen(stdin, stdout):
        lines = Plain(stdin, stdout, large=large)
        return drive(session(lines), lines.ask)
    drawing.query_once(agent, ties)
    view = ScreenFace(agent.board, colour=wants_colour(stdout), large=large)
    return play_on_screen(view, session(view), stdin, stdout)


PACE = 1.0
"""Default seconds per move on a terminal."""

Show = Callable[[list[str], list[str], list[str]], None]
"""Function that shows lines and waits according to the pace.

It gets the board, the move or the result, and the meaning of the values, which is empty at the end of the game.
"""


def watch_game(
    first: PlayingAgent,
    second: PlayingAgent,
    *,
    names: tuple[str, str],
    stdout: TextIO,
    stdin: TextIO | None = None,
    pace: Number | None = None,
    seed: Number | None = None,
    pause: Callable[[float], object] | None = None,
    **handicap: Unpack[Handicap],
) -> int:
    """Show a game between two agents of one board; return its outcome, UNFINISHED if the user left early.

    names: of the first and the second agent.
    stdin: source of the keys that leave; Ctrl-C leaves, too.
    pace: seconds per move, at least 0; by default PACE on a terminal, else 0.  With 0 a terminal, too, prints positions
    in sequence.
    seed: of all random choices.
    pause: function that waits; by default the keyboard's.
    handicap: as for `HandicappedAgent`; scripted players keep their own rule.
    Raises UsageError for a number outside its range or unknown ties.  Raises BoardError for agents of different boards,
    and for ties `sharp` on a board too large to enumerate.
    """
    live = is_live(stdout)
    pace = parse_float("pace", (PACE if live else 0.0) if pace is None else pace, "seconds per move, e.g. 0.5")
    if not 0 <= pace <= 3600:
        raise UsageError(f"pace {pace:g} is outside 0 to 3600 seconds per move; give 0 for no pause")
    if first.board != second.board:
        raise BoardError(
            f"one run plays {first.board.name}, the other {second.board.name}; choose two runs of one board"
        )
    rng = random.Random(None if seed is None else parse_seed(seed))
    agents = tuple(
        agent if isinstance(agent, ScriptedPlayer) else HandicappedAgent(agent, rng=rng, **handicap)
        for agent in (first, second)
    )
    ties = handicap.get("ties", "any")
    names = one_line(names[0]), one_line(names[1])
    board = f"{first.board.name}: {rule(first.board)}"
    lines = [board] if len(board) <= drawing.NARROW else [f"{first.board.name}:", rule(first.board)]
    title = [*lines, f"X: {names[0]}", f"O: {names[1]}", ""]
    if ties != "any":
        title.insert(-1, f"ties: {meaning(ties)}")
    for agent in (first, second):
        drawing.query_once(agent, ties)
    outcome = UNFINISHED
    with (
        contextlib.suppress(KeyboardInterrupt),
        Keyboard(stdin if live else None) as keyboard,
        _stage(stdout, title, pace, pause or keyboard.wait, keyboard.how_to_leave if live and pace > 0 else "") as show,
    ):
        outcome = _play(agents, names, rng, show, wants_colour(stdout)).outcome
    if outcome == UNFINISHED:
        print_lines("Stopped before the end.", stdout)
    return outcome


def _play(
    agents: tuple[PlayingAgent, ...], names: tuple[str, str], rng: random.Random, show: Show, colour: bool
) -> Game:
    """Play and show a game; return the finished game."""
    game = Game(agents[0].board)
    while game.outcome == UNFINISHED:
        agent = agents[game.mover - FIRST]
        hints = drawing.hints_of(agent, game, QUICK_LIMIT)
        after = game.after(rng.choice(agent.candidates(game.position)))
        board = drawing.draw_values(game, hints, colour, marked=game.moves[-1:])
        show(board, [_said(after, hints)], drawing.draw_legend(game, hints, colour))
        game = after
    show(drawing.draw_board(game, colour), [_ended(game, names), *_reviewed(agents[0], game, names)], [])
    return game


def _said(game: Game, hints: drawing.Hints) -> str:
    """Return the last move with its value or probability and exact result, such as `3. X b2: +0.12, W5`."""
    cell, truths = game.moves[-1], hints.truths or {}
    known = [hints.shown(cell)] if cell in hints.values else []
    known += [truths[cell].short] if cell in truths else []
    return f"{drawing.move_name(game, len(game.moves) - 1)}{': ' * bool(known)}{', '.join(known)}"


def _ended(game: Game, names: tuple[str, str]) -> str:
    """Return a sentence about the result of a game."""
    if game.outcome == DRAW:
        return "Draw."
    winner = 0 if game.outcome == FIRST_WINS else 1
    how = ""
    if game.forfeited and not game.resigned:
        floats = game.board.floats(game.position, game.moves[-1])
        how = f"chose {'a cell in the air' if floats else 'an occupied cell'}"
    forfeited = f"{MARKS[2 - winner]} {how or 'resigns'}. " if game.forfeited else ""
    return f"{forfeited}{MARKS[1 + winner]} wins ({names[winner]})."


def _reviewed(agent: PlayingAgent, game: Game, names: tuple[str, str]) -> list[str]:
    """Return the review of a game, with the oversights before the ply from which on exact results are known."""
    slips, start = review(agent, game), known_from(agent, game)
    found = [one for one in oversights(game) if one.ply < start]
    lines = oversights_text(found, game.board, names, drawing.NARROW)
    if slips is not None and start > 0:
        lines += [f"The truth is known from move {start + 1} on."]
    return lines if slips is None else [*lines, *review_text(slips, game.board, names, drawing.NARROW)]


@contextlib.contextmanager
def _stage(
    stdout: TextIO, title: list[str], pace: float, pause: Callable[[float], object], leaving: str
) -> Iterator[Show]:
    """Yield a function that shows lines under a title: in place if `leaving` says how to leave, else in sequence."""
    if not leaving:
        print_lines("\n".join(title), stdout)
        explained: set[str] = set()

        def print_below(board: list[str], said: list[str], legend: list[str]) -> None:
            """Print lines below the previous ones, without lines of the legend that were already printed."""
            legend = [line for line in legend if line not in explained]
            explained.update(legend)
            lines = [*board, "", *legend, *([""] if legend else []), *said, ""]
            print_lines("\n".join(lines), stdout, colour=wants_colour(stdout))
            if pace:
                pause(pace)

        yield print_below
        return
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    last: list[str] = []
    console = Console(file=stdout, highlight=False)
    try:
        with Live(console=console, screen=True, refresh_per_second=4) as shown:

            def show(board: list[str], said: list[str], legend: list[str]) -> None:
                last[:] = [*title, *board, "", *said]
                room = console.size.height
                for lines in (  # a low terminal drops the legend first, then the way to leave, then the title
                    [*last, *([""] if legend else []), *legend, "", leaving],
                    [*last, leaving],
                    last,
                    [*said, *board],
                ):
                    if len(lines) <= room:
                        break
                shown.update(Text.from_ansi("\n".join(lines), no_wrap=True, overflow="crop"), refresh=True)
                pause(pace if legend else 3 * pace)  # the end has more to read

            yield show
    finally:
        print_lines("\n".join([*last, ""]), stdout, colour=True)
