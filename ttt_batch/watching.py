"""Two agents play each other, move by move, with what the one to move gives each cell and the truth behind it.

On a real terminal each position stands in the place of the one before, at a pace to follow; elsewhere they are
printed one below the other.
"""

import contextlib
import os
import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import NamedTuple, TextIO

from ttt_batch.board import DRAW, FIRST, FIRST_WINS, MARKS, SECOND_WINS, UNFINISHED
from ttt_batch.errors import BoardError, UsageError
from ttt_batch.game import Game
from ttt_batch.review import review, review_text
from ttt_batch.strength import Playing, Weakened
from ttt_batch.terminal.drawing import WIDTH, draw_board, move_name
from ttt_batch.terminal.hints import Hints, draw_legend, draw_values, hints_of, shown_value
from ttt_batch.terminal.plain import wants_colour

PACE = 1.0
"""Seconds a move on a terminal, unless another pace is asked for."""


class Tally(NamedTuple):
    """Finished games by their result: won by the first player, drawn, won by the second."""

    first: int
    draws: int
    second: int

    def __str__(self) -> str:
        return f"X won {self.first}, O won {self.second}, draws {self.draws}."

    def as_dict(self) -> dict[str, int]:
        """Plain values with stable keys."""
        return {"first": self.first, "draw": self.draws, "second": self.second}


class Scene(NamedTuple):
    """What there is to see at a moment.

    title: the game, its players and the move.  board: the position in lines.  said: what happens.
    legend: what the values mean.
    """

    title: list[str]
    board: list[str]
    said: list[str]
    legend: list[str]


Show = Callable[[Scene], None]
"""Shows a scene, and waits as long as the pace says."""


def watch(
    first: Playing,
    second: Playing,
    *,
    names: tuple[str, str],
    stdout: TextIO,
    pace: float | None = None,
    games: int = 1,
    seed: int | None = None,
    level: float = 1.0,
    epsilon: float = 0.0,
    pause: Callable[[float], object] = time.sleep,
) -> Tally:
    """Let two agents of one board play; return how the finished games ended.

    names: what the agents are called, first and second.
    pace: seconds a move, 0 and more; PACE on a terminal and 0 elsewhere if not given.  Without a pace, positions are
    printed one below the other on a terminal, too.
    games: how many, from 1; Ctrl-C ends them early.  seed: fixes everything that is drawn.
    level, epsilon: both agents' strength, see `Weakened`.  pause: waits.

    Raises UsageError for a number outside its range, and BoardError for agents of different boards.
    """
    live = stdout.isatty() and os.environ.get("TERM", "") not in ("", "dumb", "unknown")
    pace = (PACE if live else 0.0) if pace is None else pace
    if not 0 <= pace <= 3600:
        raise UsageError(f"pace {pace:g} is outside 0 to 3600 seconds a move; 0 does not wait")
    if games < 1:
        raise UsageError(f"{games} games are none; watch 1 or more")
    if first.board != second.board:
        raise BoardError(
            f"one run plays {first.board.name}, the other {second.board.name}; choose two runs of one board"
        )
    rng = random.Random(seed)
    for agent in (first, second) if live else ():
        hints_of(agent, Game(agent.board))  # what has to be compiled may write lines of its own: not on the screen
    agents = tuple(Weakened(agent, level, epsilon, rng) for agent in (first, second))
    colour, ends = wants_colour(stdout), Counter[int]()
    with _sigterm_like_ctrl_c() if live else contextlib.nullcontext():
        with contextlib.suppress(KeyboardInterrupt), _stage(stdout, pace, pause, live=live and pace > 0) as show:
            for number in range(games):
                title = [f"Game {number + 1} of {games} on {first.board.name}", f"X: {names[0]}", f"O: {names[1]}"]
                ends[_play(agents, names, rng, title, show, colour).outcome] += 1
        tally = Tally(ends[FIRST_WINS], ends[DRAW], ends[SECOND_WINS])
        stdout.write(f"{tally}\n")
        stdout.flush()
    return tally


def _play(
    agents: tuple[Playing, ...], names: tuple[str, str], rng: random.Random, title: list[str], show: Show, colour: bool
) -> Game:
    """Play and show one game."""
    game = Game(agents[0].board)
    while game.outcome == UNFINISHED:
        agent = agents[game.mover - FIRST]
        hints = hints_of(agent, game)
        after = game.after(rng.choice(agent.candidates(game.position)))
        show(
            Scene(
                title,
                draw_values(game, hints, colour, marked=game.moves[-1:]),
                [_said(after, hints)],
                draw_legend(game, hints, colour),
            )
        )
        game = after
    show(Scene(title, draw_board(game, colour), [_ended(game, names), *_reviewed(agents[0], game, names)], []))
    return game


def _said(game: Game, hints: Hints) -> str:
    """The last move of a game, what its player gave it and what it truly led to: `3. X b2: +0.12, W5`."""
    cell = game.moves[-1]
    value = hints.values.get(cell)
    truth = hints.truths.get(cell) if hints.truths is not None else None
    known = [shown_value(value)] if value is not None and value == value else []
    known += [truth.short] if truth is not None else []
    return f"{move_name(game, len(game.moves) - 1)}{': ' * bool(known)}{', '.join(known)}"


def _ended(game: Game, names: tuple[str, str]) -> str:
    """How a game ended."""
    if game.outcome == DRAW:
        return "Draw."
    winner = 0 if game.outcome == FIRST_WINS else 1
    forfeited = f"{MARKS[2 - winner]} chose an occupied cell. " if game.forfeited else ""
    return f"{forfeited}{MARKS[1 + winner]} wins ({names[winner]})."


def _reviewed(agent: Playing, game: Game, names: tuple[str, str]) -> list[str]:
    """Who gave what away, where anybody knows."""
    slips = review(agent, game)
    return [] if slips is None else review_text(slips, game.board, names, WIDTH)


@contextlib.contextmanager
def _stage(stdout: TextIO, pace: float, pause: Callable[[float], object], *, live: bool) -> Iterator[Show]:
    """Where scenes are shown."""
    if not live:
        yield _Printer(stdout, pace, pause).show
        return
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    last: list[str] = []
    console = Console(file=stdout, highlight=False)
    try:
        with Live(console=console, screen=True, refresh_per_second=4) as shown:

            def show(scene: Scene) -> None:
                title, board, said, legend = scene
                last[:] = [*title, "", *board, "", *said]
                lines = [*last, *([""] if legend else []), *legend]
                if len(lines) > console.size.height:  # what is always the same goes first
                    lines = last if len(last) <= console.size.height else [*said, *board]
                shown.update(Text.from_ansi("\n".join(lines), no_wrap=True, overflow="crop"), refresh=True)
                pause(pace if scene.legend else 3 * pace)  # the end of a game has more to read

            yield show
    finally:
        stdout.write("\n".join([*last, "", ""]))


class _Printer:
    """Prints scenes one below the other, and says only once what is always the same."""

    def __init__(self, stdout: TextIO, pace: float, pause: Callable[[float], object]) -> None:
        self._stdout, self._pace, self._pause = stdout, pace, pause
        self._title: list[str] = []
        self._explained: set[str] = set()

    def show(self, scene: Scene) -> None:
        legend = [line for line in scene.legend if line not in self._explained]
        self._explained.update(legend)
        lines = [*scene.board, "", *legend, *([""] if legend else []), *scene.said, ""]
        if scene.title != self._title:
            lines = [*scene.title, "", *lines]
        self._title = scene.title
        self._stdout.write("\n".join(lines) + "\n")
        self._stdout.flush()
        if self._pace:
            self._pause(self._pace)


@contextlib.contextmanager
def _sigterm_like_ctrl_c() -> Iterator[None]:
    """On SIGTERM leave in order, so that the terminal is restored, and only then let the signal take its course."""
    if threading.current_thread() is not threading.main_thread():  # where no signal arrives
        yield
        return
    came: list[int] = []

    def leave(number: int, frame: object) -> None:
        came.append(number)
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
        if came:
            os.kill(os.getpid(), came[0])
