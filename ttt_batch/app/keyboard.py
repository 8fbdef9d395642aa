"""Keyboard input: one table of all key commands, and unechoed keys of a terminal.

`Command` is the table: prompts, help, the screen and the shows (`watch`, `plot --live`) use it.
`Keyboard` lets the user leave a show with the keys that leave a game.  The terminal does not echo keys typed while the
program loads or draws, and the shell does not receive them.
"""

import contextlib
import enum
import os
import re
import select
import time
from typing import Any, Self, TextIO

from ttt_batch.base.console import is_live


class KeyContext(enum.Flag):
    """Contexts in which a key works: in a game, after it, after a game that was learnt from, and in a show."""

    GAME = enum.auto()
    AFTER = enum.auto()
    LEARNT = enum.auto()
    SHOW = enum.auto()


class KeyCommand(enum.Enum):
    """Commands that a user can enter instead of a cell.

    keys: keys and words.  label: name in the list of keys below a board.  meaning: line of help in a game.
    places: contexts in which it works; a key means the same in all of them.
    """

    HINTS = (("h", "hints"), "hints", "what each cell is worth", KeyContext.GAME)
    UNDO = (("u", "undo"), "undo", "undo your last move", KeyContext.GAME | KeyContext.LEARNT)
    REPLAY = (("r", "replay"), "replay", "the game so far, move by move", KeyContext.GAME | KeyContext.AFTER)
    NEW = (("n", "new"), "new", "a new game", KeyContext.GAME | KeyContext.AFTER)
    SWITCH = (("s", "switch"), "sides", "a new game with sides swapped", KeyContext.AFTER)
    HELP = (("?", "help"), "keys", "these keys", KeyContext.GAME | KeyContext.AFTER)
    LEAVE = (("q", "quit", "exit", "0"), "leave", "leave", KeyContext.GAME | KeyContext.AFTER | KeyContext.SHOW)

    def __init__(self, keys: tuple[str, ...], label: str, meaning: str, places: KeyContext) -> None:
        self.keys = keys
        self.label = label
        self.meaning = meaning
        self.places = places


YES = ("", "y", "yes")
"""Further answers to "another game?" that start a new one; the empty answer is Enter alone."""


def commands_for(place: KeyContext) -> list[KeyCommand]:
    """Return the commands that work in a context (or in one of several), in display order."""
    return [command for command in KeyCommand if command.places & place]


LEAVING = tuple(key for command in commands_for(KeyContext.SHOW) for key in command.keys)
"""Keys and words that leave a show, which has no other commands."""

NEXT_KEY = 0.3
"""Most seconds between two keys of a typed word."""

SEQUENCE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|O.)?")
"""Pattern of a terminal's code for an arrow, a function key, or Escape."""


class Keyboard:
    """Context manager that reads the keys of a terminal; without a terminal it reads none.

    Keys are read without Enter and without an echo, and Ctrl-C stays a signal.  Unread keys are dropped at the end.
    Only a program in the foreground reads keys: the system would stop one in the background.
    """

    def __init__(self, stdin: TextIO | None) -> None:
        self._stdin, self._typed = stdin, ""
        self._number = -1
        self._before: list[Any] | None = None

    def __enter__(self) -> Self:
        if self._stdin is not None and is_live(self._stdin):
            with contextlib.suppress(ImportError, OSError, ValueError, AttributeError):
                self._take(self._stdin.fileno())
        return self

    def _take(self, number: int) -> None:
        """Switch the terminal to reading single keys, if it permits that.  number: its file descriptor."""
        import termios
        import tty

        if os.tcgetpgrp(number) != os.getpgrp():
            return
        with contextlib.suppress(termios.error):  # not an OSError
            self._number, self._before = number, termios.tcgetattr(number)
            tty.setcbreak(number, termios.TCSANOW)

    def __exit__(self, *_: object) -> None:
        if self._before is not None:
            import termios

            with contextlib.suppress(OSError, termios.error):  # the terminal may be gone
                termios.tcsetattr(self._number, termios.TCSAFLUSH, self._before)
            self._before = None

    @property
    def how_to_leave(self) -> str:
        """Return a line of text that says how to leave."""
        return f"{KeyCommand.LEAVE.keys[0] if self._before is not None else 'Ctrl-C'} {KeyCommand.LEAVE.label}"

    def wait(self, seconds: float) -> None:
        """Wait some seconds.  Raises KeyboardInterrupt, as Ctrl-C does, at a key or a word that leaves."""
        until = time.monotonic() + seconds
        while True:
            keys = SEQUENCE.sub("", self._read(until - time.monotonic())).lower()
            for number, key in enumerate(keys, 1):
                self._typed = (self._typed + key)[-8:]
                for word in LEAVING:
                    if self._typed.endswith(word):
                        self.finish(word, keys[number:])
                        raise KeyboardInterrupt
            if time.monotonic() >= until:
                return

    def finish(self, typed: str, key: str = "") -> None:
        """Read the rest of a word such as `quit`, whose first letter was enough, and the Enter after it.

        typed: the part that was recognised.  key: the keys already read after it.
        """
        rests = [word[len(typed) :] + "\n" for word in LEAVING if word.startswith(typed)]
        while rests:
            key = key or self._read(NEXT_KEY).lower()
            rests, key = [rest[len(key) :] for rest in rests if key and rest.startswith(key) and rest != key], ""

    def _read(self, seconds: float) -> str:
        """Return the typed text after waiting at most `seconds`; it may be empty."""
        if self._before is None:
            time.sleep(max(seconds, 0))
            return ""
        ready, _, _ = select.select([self._number], [], [], max(seconds, 0))
        key = b""
        with contextlib.suppress(OSError):
            key = os.read(self._number, 64) if ready else b""
        if ready and not key:  # the terminal is gone
            self._before = None
            return self._read(seconds)
        return key.decode("ascii", "replace")
