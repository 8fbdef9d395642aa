"""The screen face: a whole terminal, by single keys, redrawn only where it changes and at every new size.

`view` knows what there is to see and what keys mean; here prompt_toolkit shows and reads them.  However
the session ends, the terminal is as it was before, with the last game and the score on it.
"""

import contextlib
import os
import signal
from collections.abc import Callable, Mapping
from typing import Any, TextIO

from ttt_batch.app.interrupt import active_handlers
from ttt_batch.app.keyboard import Keyboard, KeyCommand
from ttt_batch.app.terminal.drawing import draw_board
from ttt_batch.app.terminal.faces import Answer, Score, Session
from ttt_batch.app.terminal.view import ScreenFace
from ttt_batch.base.console import is_live, print_lines

KEYS = ("up", "down", "left", "right", "home", "end", "pageup", "pagedown", "enter", "escape", "backspace")
"""Keys besides characters, by the names that `ScreenFace.press` shares with prompt_toolkit."""

ESCAPE_SECONDS = 0.05
"""Seconds after which a lone Escape is not the beginning of an arrow key."""


def has_screen(stdin: TextIO, stdout: TextIO, environ: Mapping[str, str] = os.environ) -> bool:
    """Whether both streams are a terminal that can do more than print lines, each with a file descriptor."""
    if not (is_live(stdin, environ) and is_live(stdout, environ)):
        return False
    with contextlib.suppress(OSError, ValueError):
        return stdin.fileno() >= 0 and stdout.fileno() >= 0
    return False


def play_on_screen(view: ScreenFace, session: Session, stdin: TextIO, stdout: TextIO, *, colour: bool = False) -> Score:
    """Play a session whose face is `view` until it ends; return its score.

    The keys that leave, Ctrl-C, Ctrl-D and the end of input are ways to leave.  On SIGTERM and SIGHUP the terminal is
    restored before the signal takes its course.
    """
    from prompt_toolkit.input import create_input
    from prompt_toolkit.output import create_output

    with Keyboard(stdin) as keyboard:
        score, ended_by = _run(view, session, create_input(stdin), create_output(stdout))
        with contextlib.suppress(OSError):  # the terminal may be gone
            if view.game.moves:
                print_lines("\n".join([*draw_board(view.game, colour), ""]), stdout, colour=colour)
            print_lines(view.news[-1], stdout)
        if ended_by is None and view.entry in KeyCommand.LEAVE.keys:
            keyboard.finish(view.entry)
    if ended_by is not None:
        os.kill(os.getpid(), ended_by)
    return score


def _run(view: ScreenFace, session: Session, source: Any, target: Any) -> tuple[Score, int | None]:
    """Play a session on prompt_toolkit's input and output; return its score and the signal that ended it, if any."""
    import asyncio

    from prompt_toolkit.application import Application
    from prompt_toolkit.formatted_text import ANSI
    from prompt_toolkit.layout import FormattedTextControl, Layout, Window

    ended_by: list[int] = []
    view.ask(next(session))

    def send(answer: Answer) -> None:
        """Go on with an answer; what the loop raises ends the application, which restores the terminal."""
        try:
            view.ask(session.send(answer))
        except StopIteration as end:
            app.exit(result=end.value)
        except BaseException as error:
            app.exit(exception=error)

    def press(key: str) -> None:
        answer = None if app.is_done else view.press(key)
        if answer is not None:
            send(answer)

    def leave(number: int | None = None) -> None:
        if not app.is_done:
            ended_by.extend([number] if number is not None else [])
            send(view.leave)

    def text() -> ANSI:
        size = target.get_size()
        return ANSI("\n".join(view.lines(size.columns, size.rows)))

    window = Window(FormattedTextControl(text), always_hide_cursor=True)
    app: Application[Score] = Application(
        Layout(window), key_bindings=_bindings(press, leave), full_screen=True, input=source, output=target
    )
    app.ttimeoutlen = ESCAPE_SECONDS
    before = active_handlers("SIGTERM", "SIGHUP")

    def listen() -> None:
        for number in before:
            with contextlib.suppress(ValueError, RuntimeError):  # off the main thread no signal arrives
                app.loop.add_signal_handler(number, leave, number)  # type: ignore[union-attr]

    try:
        score = asyncio.run(app.run_async(pre_run=listen))  # older releases of app.run leave their loop open
    except EOFError:
        score = _finish(view, session)
    finally:
        for number, handler in before.items():
            with contextlib.suppress(ValueError, TypeError):
                signal.signal(number, handler)
    return score, ended_by[0] if ended_by else None


def _bindings(press: Callable[[str], None], leave: Callable[[], None]) -> Any:
    """What prompt_toolkit does on each key."""
    from prompt_toolkit.key_binding import KeyBindings
    from prompt_toolkit.keys import Keys

    bindings = KeyBindings()
    for name in KEYS:
        bindings.add(name)(lambda event, name=name: press(name))
    bindings.add("c-j")(lambda event: press("enter"))  # Enter typed before the screen was there
    bindings.add(Keys.Any)(lambda event: press(event.data) if event.data.isprintable() else None)
    for name in ("c-c", "c-d", "<sigint>"):
        bindings.add(name)(lambda event: leave())
    bindings.add("c-l")(lambda event: event.app.renderer.clear())
    bindings.add("c-z")(lambda event: event.app.suspend_to_background())
    return bindings


def _finish(view: ScreenFace, session: Session) -> Score:
    """End a session whose person is gone."""
    try:
        while True:
            view.ask(session.send(view.leave))
    except StopIteration as end:
        score: Score = end.value
        return score
