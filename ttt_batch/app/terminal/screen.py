"""Screen face: a whole terminal with single keys, redrawn where it changes.

`ScreenFace` keeps the content of the screen, lays it out for any size, and reads single keys.  It touches no terminal,
so whole games can be played and inspected without one.  `play_on_screen` shows it with prompt_toolkit.  However the
session ends, the terminal is as it was before, with the last game and the score on it.
"""

import contextlib
import os
import signal
import textwrap
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TextIO

from ttt_batch.app.interrupt import active_handlers
from ttt_batch.app.terminal import drawing
from ttt_batch.app.terminal.faces import Answer, Question, Score, Session, drive, rule
from ttt_batch.app.terminal.keys import NEXT_KEY, Keyboard, KeyCommand, is_complete, single_key
from ttt_batch.core.console import is_live, print_lines
from ttt_batch.core.errors import UsageError
from ttt_batch.core.text import count_text
from ttt_batch.games.board import Board, Game

STEPS = {"up": (-1, 0), "down": (1, 0), "left": (0, -1), "right": (0, 1)}
"""Rows and columns that an arrow key moves the cursor."""

LONGEST = 16
"""Characters that are kept of what is typed."""

LOOKS = (KeyCommand.HINTS, KeyCommand.REPLAY, KeyCommand.HELP)
"""Answers that only look at something else; the news stay."""

ENTER_AFTER_CELL = 0.9
"""Seconds within which an Enter after a typed cell belongs to it, though none was needed."""

MARGIN = "  "
"""Left of the board, if there is room for it."""


class ScreenFace:
    """Face for a screen of any size.

    After `ask`, `press` takes keys until one completes an answer; `lines` lays everything out.
    question: the last one; not before the first `ask`.
    """

    question: Question

    single_keys = True

    def __init__(
        self,
        board: Board,
        *,
        colour: bool = False,
        large: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.game = Game(board)
        self._large = large  # marks, where there is room for them
        self.news: list[str] = []
        self.entry = ""  # the last that was read whole
        self._board, self.colour = board, colour
        self._score = ""
        self._hints: drawing.Hints | None = None
        self._cursor = board.rows // 2 * board.cols + board.cols // 2
        self._typed = self._slip = ""
        self._clock, self._until = clock, 0.0
        self._rests, self._swallowed = list[tuple[list[str], str]](), ""  # of words, after the letters that did it
        self._scroll = 0
        self._help: list[str] = []
        self._replayed: Game | None = None
        self._ply = 0

    # --- what the loop shows ---------------------------------------------------------------------------------

    def tell(self, *lines: str) -> None:
        """Add to the news, which last until the person's next answer."""
        self.news += lines

    def explain(self, lines: Sequence[str]) -> None:
        """Show the keys in place of the news, until their key is pressed again or something else is shown."""
        self._help = [] if self._help else list(lines)

    def show(self, game: Game) -> None:
        """Show the board, without hints."""
        self.game, self._hints = game, None

    def hint(self, game: Game, hints: drawing.Hints) -> None:
        """Show the board with hints."""
        self.game, self._hints = game, hints

    def replay(self, game: Game) -> None:
        """Show the positions of a game one by one, from its start, until the person has seen enough."""
        self._replayed, self._ply = game, 0

    def count(self, score: Score) -> None:
        """Show the score."""
        self._score = str(score).rstrip(".")

    def ask(self, question: Question) -> None:
        """Ask the person; `press` gives the answer."""
        self.question, self._typed, self._scroll = question, "", 0

    @property
    def _chosen(self) -> int:
        """Return the cell at the cursor; with gravity the free one of its column, if there is one."""
        column = range(self._cursor % self._board.cols, self._board.cells, self._board.cols)
        falls = [cell for cell in column if self._board.gravity and self._board.is_open(self.game.position, cell)]
        return falls[0] if falls else self._cursor

    # --- what the person presses -----------------------------------------------------------------------------

    def press(self, key: str) -> Answer | None:
        """Take a key; return the answer that it completes, if it does.

        key: a character, or up, down, left, right, home, end, pageup, pagedown, enter, escape, backspace.
        """
        asks_cell = self.question.game is not None
        if self._ends_word(key):
            done = [word for rest, word in self._rests if rest == ["enter"]]
            same = [command.keys for command in KeyCommand if self.entry.lower() in command.keys]
            other = [word for word in done if not any(word in keys for keys in same)]  # `help` begins as hints do
            return self._read(other[0]) if key != "enter" and other else None
        if self._replayed is not None and self._step(self._replayed, key):
            return None
        if key in ("pageup", "pagedown") or (key in ("up", "down") and not asks_cell):
            self._scroll += {"pageup": -5, "pagedown": 5, "up": -1, "down": 1}[key]
        elif key in STEPS:
            self._slip = self._typed = ""
            row, col = (at + step for at, step in zip(divmod(self._cursor, self._board.cols), STEPS[key], strict=True))
            if 0 <= row < self._board.rows and 0 <= col < self._board.cols:
                self._cursor = row * self._board.cols + col
        elif key == "escape":
            self._typed, self._slip, self._help = "", "", []
        elif key == "backspace":
            self._typed = self._typed[:-1]
        elif key == "enter" and self._slip and not self._typed and asks_cell:
            self._slip = ""  # it ends what could not be read, and chooses nothing
        elif key == "enter":
            # Enter alone chooses the cell at the cursor, if the answer is a cell.
            chosen = self._board.cell_name(self._chosen) if asks_cell else ""
            return self._read(self._typed or chosen, entered=True)
        elif len(key) == 1 and (key != " " or self._typed):  # a space belongs to `3 2`, and chooses nothing
            self._typed = (self._typed + key)[:LONGEST]
            if is_complete(self._typed, self._board if asks_cell else None):
                return self._read(self._typed)
        return None

    def _ends_word(self, key: str) -> bool:
        """Return whether a key is a later letter of a command already done, as in `undo`, or its needless Enter.

        Letters that continue differently, as `exit` after `r` for `replay`, count as typed.
        """
        in_time = self._clock() <= self._until
        before = self._rests if in_time else []
        self._rests = [(rest[1:], word) for rest, word in before if rest[:1] == [key.lower()]]
        self._until = self._clock() + NEXT_KEY
        if self._rests:
            self._swallowed += key
        else:
            if len(key) == 1 and any(len(rest) > 1 for rest, _ in before):
                self._typed = self._swallowed
            self._swallowed = ""
        return bool(self._rests)

    def _step(self, game: Game, key: str) -> bool:
        """Step through the game replayed; return whether the key did nothing but that."""
        goes = {"left": self._ply - 1, "up": self._ply - 1, "right": self._ply + 1, "down": self._ply + 1}
        goes |= {"home": 0, "end": len(game.moves)}
        if key in goes:
            self._ply = min(max(goes[key], 0), len(game.moves))
            return True
        self._replayed = None
        return key in ("enter", "escape", " ", KeyCommand.REPLAY.keys[0])

    def _read(self, text: str, *, entered: bool = False) -> Answer | None:
        """Read an entry; return the answer if it is one.  entered: whether Enter has ended it."""
        self._typed, self._slip, self._scroll, self.entry = "", "", 0, text
        try:
            answer = self.question.read(text)
        except UsageError as error:
            self._slip = str(error)
            return None
        if answer is not KeyCommand.HELP:
            self._help = []
        if answer not in LOOKS:
            self.news = []
        if not entered:
            words = [key for command in KeyCommand for key in command.keys if isinstance(answer, KeyCommand)]
            words = [word for word in words if word.startswith(text.lower()) and word != text.lower()]
            self._rests = [(["enter"], text), *(([*word[len(text) :], "enter"], word) for word in words)]
            self._until = self._clock() + (ENTER_AFTER_CELL if isinstance(answer, int) else NEXT_KEY)
        if isinstance(answer, int):
            self._cursor = answer  # so that an Enter after all takes no other cell
        return answer

    # --- what there is to see --------------------------------------------------------------------------------

    def lines(self, columns: int, rows: int) -> list[str]:
        """Lay everything out in lines, at most `rows`; none is wider than `columns`, not counting colour codes.

        The board and the prompt come first; then the news, which scroll if they are longer; then the heading and
        the keys, and at last some air.
        """
        board, prompt = self._draw(large=self._large), self._prompt()
        wide = max(len(drawing.unstyled(line)) for line in board)
        if self._large and (wide > columns or len(board) + 1 > rows):
            board = self._draw(large=False)
            wide = max(len(drawing.unstyled(line)) for line in board)
        if wide > columns or len(board) + 1 > rows:
            said = f"Too small for this board: it takes {wide} columns and {len(board) + 1} rows."
            return [*textwrap.wrap(said, max(columns, 1)), prompt[: max(columns, 0)]][: max(rows, 0)]
        if wide + len(MARGIN) <= columns:
            board = [MARGIN + line for line in board]
        news, keys, heading = self._news(columns), self._keys(columns), [self._heading(columns)]
        room = rows - len(board) - 1
        if room - 1 - len(keys) < min(len(news), 3):
            keys = keys and [self._dimmed("? keys"[:columns])]
        if room - 1 - len(keys) < min(len(news), 3):
            heading = []
        if room - len(keys) < min(len(news), 3):
            keys = []
        room -= len(heading) + len(keys)
        shown = self._scrolled(news, room, columns)
        room -= len(shown)
        # Air if there is room: below the board, the heading, the prompt; the rest stands above the keys.
        air = [[""] if room > n else [] for n in range(3)]
        rest = [""] * (room - sum(map(len, air))) if keys else []
        return [*heading, *air[1], *board, *air[0], prompt[:columns], *air[2], *shown, *rest, *keys]

    def _draw(self, *, large: bool) -> list[str]:
        """Draw the board: as it is, with hints, or as it was in the replayed game."""
        if self._replayed is not None:
            replayed = Game(self._board, self._replayed.moves[: self._ply])
            return drawing.draw_board(replayed, self.colour, large=large)
        cursor = None if self.question.game is None else self._chosen
        if self._hints is not None:
            return drawing.draw_values(self.game, self._hints, self.colour, cursor, self.game.moves[-1:])
        return drawing.draw_board(self.game, self.colour, cursor, large=large)

    def _prompt(self) -> str:
        if self._replayed is not None:
            return f"Replay: {drawing.move_name(self._replayed, self._ply - 1) if self._ply else 'the start'}"
        return f"{self.question.prompt}{self._typed}_"

    def _heading(self, columns: int) -> str:
        """Return the board and the score, or the score alone if both do not fit."""
        left = f"{self._board.name}: {rule(self._board)}"
        gap = columns - len(left) - len(self._score)
        return f"{left}{' ' * gap}{self._score}" if gap >= 3 else self._score[:columns]

    def _news(self, columns: int) -> list[str]:
        """Return the lines of news: a slip, then the help, the replay, or the news with the legend of the hints."""
        if self._replayed is not None:
            moves = count_text(len(self._replayed.moves), "move")
            so_far = f"The game so far, {moves}: right is the next one, Enter goes back to the game."
            said = [so_far if self._replayed.moves else "No move yet; Enter goes back."]
        elif self._help or self._hints is None:
            said = self._help or self.news
        else:
            legend = drawing.draw_legend(self.game, self._hints, self.colour)
            said = [*self.news, *drawing.draw_highest(self.game, self._hints), *legend]
        lines: list[str] = []
        for line in [*([self._slip] if self._slip else []), *said]:
            wrapped = textwrap.wrap(drawing.unstyled(line), columns, subsequent_indent="  ")
            lines += wrapped if len(wrapped) > 1 else [line]
        return lines

    def _scrolled(self, news: list[str], room: int, columns: int) -> list[str]:
        """Return the part of the news that fits; the last line says that there is more."""
        if len(news) <= room:
            return news
        last = len(news) - max(room - 1, 0)
        self._scroll = min(max(self._scroll, 0), last)
        more = "-- more: PgDn --" if self._scroll < last else "-- more: PgUp --"
        return [*news[self._scroll : self._scroll + max(room - 1, 0)], more[:columns]][: max(room, 0)]

    def _keys(self, columns: int) -> list[str]:
        """Return the keys that work now, in as few lines as possible."""
        if self._replayed is not None:
            keys: Sequence[tuple[str, str]] = [("left, right", "step"), ("Home, End", "first, last"), ("Enter", "back")]
            keys = [*keys, (KeyCommand.LEAVE.keys[0], KeyCommand.LEAVE.label)]
        else:
            keys = self.question.keys
            if self._help:
                keys = [(key, "close" if key in KeyCommand.HELP.keys else label) for key, label in keys]
            if self.question.game is not None:
                keys = [("arrows, Enter", "move"), *((single_key(key, self._board), meaning) for key, meaning in keys)]
        lines = [""]
        for key, meaning in keys:
            item = f"{key} {meaning}"
            if lines[-1] and len(lines[-1]) + 3 + len(item) > columns:
                lines.append("")
            lines[-1] += f"{'   ' if lines[-1] else ''}{item}"
        return [self._dimmed(line[:columns]) for line in lines if line]

    def _dimmed(self, text: str) -> str:
        return drawing.styled(text, "key") if self.colour else text


KEYS = (*STEPS, "home", "end", "pageup", "pagedown", "enter", "escape", "backspace")
"""Keys besides characters, by the names that `ScreenFace.press` shares with prompt_toolkit."""

ESCAPE_SECONDS = 0.05
"""Seconds after which a lone Escape is not the beginning of an arrow key."""


def has_screen(stdin: TextIO, stdout: TextIO, environ: Mapping[str, str] = os.environ) -> bool:
    """Return whether both streams are terminals with a cursor, each with a file descriptor."""
    if not (is_live(stdin, environ) and is_live(stdout, environ)):
        return False
    with contextlib.suppress(OSError, ValueError):
        return stdin.fileno() >= 0 and stdout.fileno() >= 0
    return False


def play_on_screen(view: ScreenFace, session: Session, stdin: TextIO, stdout: TextIO) -> Score:
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
                board = drawing.draw_board(view.game, view.colour)
                print_lines("\n".join([*board, ""]), stdout, colour=view.colour)
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
        """Send an answer to the loop; its exceptions end the application, which restores the terminal."""
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
            send(KeyCommand.LEAVE)

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
        score = drive(session, lambda _: KeyCommand.LEAVE, view.question)
    finally:
        for number, handler in before.items():
            with contextlib.suppress(ValueError, TypeError):
                signal.signal(number, handler)
    return score, ended_by[0] if ended_by else None


def _bindings(press: Callable[[str], None], leave: Callable[[], None]) -> Any:
    """Return the key bindings of prompt_toolkit."""
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
