"""The keyboard: one table of what keys mean wherever they are pressed, and a terminal's keys without an echo.

`Command` is that table: prompts, help, the screen and what only shows (`watch`, `plot --live`) read it.
`Keyboard` lets such a show be left as a game can; what is typed while a program loads or draws is neither shown by the
terminal nor left for the shell.
"""

import contextlib
import enum
import os
import re
import select
import time
from typing import Any, Self, TextIO

from ttt_batch.base.console import is_live


class Place(enum.Flag):
    """Where a key is of use: in a game, after it, after one that was learnt from, and while two agents are shown."""

    GAME = enum.auto()
    AFTER = enum.auto()
    LEARNT = enum.auto()
    SHOW = enum.auto()


class Command(enum.Enum):
    """What a person can ask for besides a cell.

    keys: keys and words.  label: its name among the keys below a board.  meaning: its line of help in a game.
    places: where it is of use; a key means the same in all of them.
    """

    HINTS = (("h", "hints"), "hints", "what each cell is worth", Place.GAME)
    UNDO = (("u", "undo"), "undo", "take your last move back", Place.GAME | Place.LEARNT)
    REPLAY = (("r", "replay"), "replay", "the game so far, move by move", Place.GAME | Place.AFTER)
    NEW = (("n", "new"), "new", "a new game", Place.GAME | Place.AFTER)
    SWITCH = (("s", "switch"), "sides", "a new game, sides changed", Place.AFTER)
    HELP = (("?", "help"), "keys", "these keys", Place.GAME | Place.AFTER)
    LEAVE = (("q", "quit", "exit", "0"), "leave", "leave", Place.GAME | Place.AFTER | Place.SHOW)

    def __init__(self, keys: tuple[str, ...], label: str, meaning: str, places: Place) -> None:
        self.keys = keys
        self.label = label
        self.meaning = meaning
        self.places = places


YES = ("", "y", "yes")
"""Further answers to "another game?" that mean a new one; Enter alone is one of them."""


def commands_in(place: Place) -> list[Command]:
    """The commands that are of use in a place (or in one of several), in the order in which they are shown."""
    return [command for command in Command if command.places & place]


LEAVING = tuple(key for command in commands_in(Place.SHOW) for key in command.keys)
"""What leaves a show; nothing else can be asked of one."""

NEXT_KEY = 0.3
"""Seconds within which a person who types a word presses its next key."""

SEQUENCE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|O.)?")
"""What a terminal sends for an arrow, a function key, or Escape."""


class Keyboard:
    """The keys of a terminal, inside a `with` block; without a terminal there are none.

    Keys are read without Enter and without an echo, and Ctrl-C stays a signal.  What was typed and never read is
    dropped at the end.  Only a program in the foreground reads keys: the system would stop another one.
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
        """Read the keys of this terminal one by one, if it permits that."""
        import termios
        import tty

        if os.tcgetpgrp(number) != os.getpgrp():
            return
        with contextlib.suppress(termios.error):  # which is no OSError
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
        """How to leave, as a line of text."""
        return f"{Command.LEAVE.keys[0] if self._before is not None else 'Ctrl-C'} {Command.LEAVE.label}"

    def wait(self, seconds: float) -> None:
        """Wait.  Raises KeyboardInterrupt, as Ctrl-C does, at a key or a word that leaves."""
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
        """Read the rest of a word that was understood by its first letter, as `quit` is, and the Enter after it.

        key: what was read of it already.
        """
        rests = [word[len(typed) :] + "\n" for word in LEAVING if word.startswith(typed)]
        while rests:
            key = key or self._read(NEXT_KEY).lower()
            rests, key = [rest[len(key) :] for rest in rests if key and rest.startswith(key) and rest != key], ""

    def _read(self, seconds: float) -> str:
        """What was typed, after waiting at most `seconds` for it; may be empty."""
        if self._before is None:
            time.sleep(max(seconds, 0))
            return ""
        ready, _, _ = select.select([self._number], [], [], max(seconds, 0))
        key = b""
        with contextlib.suppress(OSError):
            key = os.read(self._number, 64) if ready else b""
        if ready and not key:  # the terminal is gone; there is nothing more to wait for
            self._before = None
            return self._read(seconds)
        return key.decode("ascii", "replace")
