"""Display of a game between two agents, move by move, with the mover's value and exact result of each cell.

A terminal shows each position in place of the previous one, at a readable pace; other outputs print them in sequence.
"""

import contextlib
import random
from collections.abc import Callable, Iterator
from typing import NamedTuple, TextIO

from ttt_batch.agents.scripted import ScriptedPlayer
from ttt_batch.analysis.handicap import HandicappedAgent
from ttt_batch.analysis.review import oversights, oversights_text, review, review_text
from ttt_batch.app.keyboard import Keyboard
from ttt_batch.app.terminal.drawing import NARROW, draw_board, move_name
from ttt_batch.app.terminal.faces import rule
from ttt_batch.app.terminal.hints import Hints, draw_legend, draw_values, hints_of, query_once, shown_number
from ttt_batch.base.choices import Ties
from ttt_batch.base.console import is_live, one_line, print_lines, wants_colour
from ttt_batch.base.errors import BoardError, UsageError
from ttt_batch.base.quantities import Number, parse_float, parse_seed
from ttt_batch.evaluation.ties import meaning
from ttt_batch.game.board import DRAW, FIRST, FIRST_WINS, MARKS, UNFINISHED, Game
from ttt_batch.game.state_space import check_gravity
from ttt_batch.runs.knowledge import PlayingAgent

PACE = 1.0
"""Default seconds per move on a terminal."""


class Scene(NamedTuple):
    """Content of the display at one moment, in lines.

    board: the position.  said: the move or result.  legend: the meaning of the values; empty at the end of the game.
    """

    board: list[str]
    said: list[str]
    legend: list[str]


Show = Callable[[Scene], None]
"""Function that shows a scene and waits according to the pace."""


def watch_game(
    first: PlayingAgent,
    second: PlayingAgent,
    *,
    names: tuple[str, str],
    stdout: TextIO,
    stdin: TextIO | None = None,
    pace: Number | None = None,
    seed: Number | None = None,
    level: Number = 1.0,
    epsilon: Number = 0.0,
    ties: Ties = "any",
    pause: Callable[[float], object] | None = None,
) -> int:
    """Show a game between two agents of one board; return its outcome, UNFINISHED if the user left early.

    names: of the first and the second agent.
    stdin: source of the keys that leave; Ctrl-C leaves, too.
    pace: seconds per move, at least 0; by default PACE on a terminal, else 0.  With 0 a terminal, too, prints positions
    in sequence.
    seed: of all random choices.
    level, epsilon, ties: as for `HandicappedAgent`; scripted players keep their own rule.
    pause: function that waits; by default the keyboard's.
    Raises UsageError for a number outside its range or unknown ties.  Raises BoardError for agents of different boards,
    and for ties `sharp` on a board too large to enumerate.
    """
    live = is_live(stdout)
    pace = parse_float("pace", (PACE if live else 0.0) if pace is None else pace, "seconds per move, e.g. 0.5")
    if not 0 <= pace <= 3600:
        raise UsageError(f"pace {pace:g} is outside 0 to 3600 seconds per move; give 0 for no pause")
    check_gravity(first.board, "watch")
    if first.board != second.board:
        raise BoardError(
            f"one run plays {first.board.name}, the other {second.board.name}; choose two runs of one board"
        )
    rng = random.Random(None if seed is None else parse_seed(seed))
    agents = tuple(
        agent if isinstance(agent, ScriptedPlayer) else HandicappedAgent(agent, level, epsilon, rng, ties)
        for agent in (first, second)
    )
    names = one_line(names[0]), one_line(names[1])
    title = [f"{first.board.name}: {rule(first.board)}", f"X: {names[0]}", f"O: {names[1]}", ""]
    if ties != "any":
        title.insert(-1, f"ties: {meaning(ties)}")
    outcome = UNFINISHED
    for agent in (first, second):
        query_once(agent, ties)
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
        hints = hints_of(agent, game)
        after = game.after(rng.choice(agent.candidates(game.position)))
        show(
            Scene(
                draw_values(game, hints, colour, marked=game.moves[-1:]),
                [_said(after, hints)],
                draw_legend(game, hints, colour),
            )
        )
        game = after
    show(Scene(draw_board(game, colour), [_ended(game, names), *_reviewed(agents[0], game, names)], []))
    return game


def _said(game: Game, hints: Hints) -> str:
    """Return the last move with its value or probability and exact result, such as `3. X b2: +0.12, W5`."""
    cell = game.moves[-1]
    value = hints.values.get(cell)
    truth = hints.truths.get(cell) if hints.truths is not None else None
    known = [shown_number(hints, value)] if value is not None and value == value else []
    known += [truth.short] if truth is not None else []
    return f"{move_name(game, len(game.moves) - 1)}{': ' * bool(known)}{', '.join(known)}"


def _ended(game: Game, names: tuple[str, str]) -> str:
    """Return a sentence about the result of a game."""
    if game.outcome == DRAW:
        return "Draw."
    winner = 0 if game.outcome == FIRST_WINS else 1
    how = "resigns" if game.resigned else "chose an occupied cell"
    forfeited = f"{MARKS[2 - winner]} {how}. " if game.forfeited else ""
    return f"{forfeited}{MARKS[1 + winner]} wins ({names[winner]})."


def _reviewed(agent: PlayingAgent, game: Game, names: tuple[str, str]) -> list[str]:
    """Return the review of a game, or its oversights if exact results are unknown."""
    slips = review(agent, game)
    if slips is None:
        return oversights_text(oversights(game), game.board, names, NARROW)
    return review_text(slips, game.board, names, NARROW)


@contextlib.contextmanager
def _stage(
    stdout: TextIO, title: list[str], pace: float, pause: Callable[[float], object], leaving: str
) -> Iterator[Show]:
    """Yield a function that shows scenes under a title: in place if `leaving` says how to leave, else in sequence."""
    if not leaving:
        print_lines("\n".join(title), stdout)
        explained: set[str] = set()

        def print_scene(scene: Scene) -> None:
            """Print a scene below the previous one, without legend lines that were already printed."""
            legend = [line for line in scene.legend if line not in explained]
            explained.update(legend)
            lines = [*scene.board, "", *legend, *([""] if legend else []), *scene.said, ""]
            print_lines("\n".join(lines), stdout, colour=wants_colour(stdout))
            if pace:
                pause(pace)

        yield print_scene
        return
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    last: list[str] = []
    console = Console(file=stdout, highlight=False)
    try:
        with Live(console=console, screen=True, refresh_per_second=4) as shown:

            def show(scene: Scene) -> None:
                board, said, legend = scene
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
                pause(pace if scene.legend else 3 * pace)  # the last scene has more to read

            yield show
    finally:
        print_lines("\n".join([*last, ""]), stdout, colour=True)
