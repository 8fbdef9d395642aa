"""Keys and words that a person types in the terminal, and the help that lists them.

A line of text is read whole (`read_entry`, `read_again`).  For single keys `is_complete` decides whether the keys so
far are read at once.

`KeyCommand` is the table of all key commands: prompts, help, the screen and the shows (`watch`, `plot --live`) use it.
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

from ttt_batch.core.console import is_live
from ttt_batch.core.errors import BoardError, UsageError
from ttt_batch.games.board import Board, column_name


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

ARROWS = {"A": "up", "B": "down", "C": "right", "D": "left"}
"""Arrow keys by the last character of their codes."""


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
        self.close()

    def close(self) -> None:
        """Leave the terminal as it was before; no more keys are read."""
        if self._before is not None:
            import termios

            with contextlib.suppress(OSError, termios.error):  # the terminal may be gone
                termios.tcsetattr(self._number, termios.TCSAFLUSH, self._before)
            self._before = None

    @property
    def how_to_leave(self) -> str:
        """Return a line of text that says how to leave."""
        return f"{KeyCommand.LEAVE.keys[0] if self._before is not None else 'Ctrl-C'} {KeyCommand.LEAVE.label}"

    @property
    def reads(self) -> bool:
        """Return whether keys are read."""
        return self._before is not None

    def keys(self, seconds: float) -> list[str]:
        """Wait for keys, some seconds at most; return them, arrows by their names."""
        typed = re.findall(f"{SEQUENCE.pattern}|.", self._read(seconds), re.DOTALL)
        return [ARROWS.get(key[-1], "") if len(key) > 1 else key.lower() for key in typed]

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


MAX_DIGIT_CELLS = 9
"""Cells up to which a board is drawn with a digit in each free cell; larger ones have letters and numbers outside."""


def read_entry(text: str, board: Board) -> int | KeyCommand:
    """Read what a person typed: the cell it names, free or not, or a command.

    Cells: column letter and row number (`b3`), row and column number (`3 2`), both from the top left; the digits drawn
    on boards of up to MAX_DIGIT_CELLS cells.  With gravity a column's letter, unless it is a key, and on larger boards
    its number stand for the highest cell of the column.
    Raises UsageError, with a message of at most 40 columns, for anything else and for a cell outside.
    """
    entry = _entry(text)
    if command := _command(entry, KeyContext.GAME):
        return command
    if board.gravity and entry in column_letters(board):
        return column_letters(board).index(entry)
    if board.cells <= MAX_DIGIT_CELLS and re.fullmatch(r"\d{1,3}", entry, re.ASCII):
        if len(entry) == 1 and 1 <= int(entry) <= board.cells:
            return int(entry) - 1
        raise BoardError(f"no cell {entry}; there are 1 to {board.cells}")
    if board.gravity and re.fullmatch(r"\d{1,3}", entry, re.ASCII):
        if 1 <= int(entry) <= board.cols:
            return int(entry) - 1
        raise BoardError(f"no column {entry}; there are 1 to {board.cols}")
    if pair := re.fullmatch(r"(\d{1,3}) ?[ ,] ?(\d{1,3})", entry, re.ASCII):
        row, col = int(pair[1]), int(pair[2])
        if 1 <= row <= board.rows and 1 <= col <= board.cols:
            return (row - 1) * board.cols + col - 1
        raise BoardError(f"row {row}, column {col} is outside {board.rows}x{board.cols}")
    if pair := re.fullmatch(r"([ab]?[a-z]) ?(\d{1,3})", entry, re.ASCII):
        columns = column_letters(board)
        # A number has one way to be written: a01 is a slip.
        if pair[1] in columns and pair[2] in map(str, range(1, board.rows + 1)):
            return (int(pair[2]) - 1) * board.cols + columns.index(pair[1])
        raise BoardError(f"no cell {pair[1]}{pair[2]}; there are a1 to {columns[-1]}{board.rows}")
    if not entry:
        raise UsageError("type a cell, or ? for the keys")
    raise UsageError(f"{quote(entry)} is no cell; ? shows the keys")


def column_letters(board: Board) -> list[str]:
    """Return the letters of the columns."""
    return [column_name(col) for col in range(board.cols)]


def read_again(text: str, place: KeyContext) -> KeyCommand:
    """Read the answer to "another game?": a command that is of use there, or one of the ways to say YES.

    Raises UsageError for anything else.
    """
    entry = _entry(text)
    if found := _command(entry, place):
        return found
    if entry in YES:
        return KeyCommand.NEW
    raise UsageError(f"{quote(entry)}: no key here; ? shows them")


def _command(entry: str, place: KeyContext) -> KeyCommand | None:
    """Return the command of a key or a word that works in a context."""
    return next((command for command in commands_for(place) if entry in command.keys), None)


def _entry(text: str) -> str:
    """Return the typed text in small letters and with single spaces."""
    return " ".join(text.lower().split())


def quote(text: str) -> str:
    """Return the typed text in quotes and in 11 columns, safe for any terminal and any encoding."""
    quoted = ascii(text)
    return quoted if len(quoted) <= 11 else f"{quoted[:8]}..."


def is_complete(text: str, board: Board | None) -> bool:
    """Return whether the keys so far are an entry to be read at once, without Enter.

    These are: the key of a command, unless a column has its letter; a column's letter with a row's number, unless
    another digit would name another cell; the digit of a cell on boards drawn with digits, and with gravity of one of
    up to nine columns; and everything that cannot be extended.  board: None if the answer is not a cell.
    """
    entry = text.lower()
    words = [*(key for command in KeyCommand for key in command.keys), *YES]
    if board is None:
        return entry in words or not any(word.startswith(entry) for word in words)
    columns = column_letters(board)
    if pair := re.fullmatch(r"([a-z]+)(\d+)", entry, re.ASCII):
        return int(pair[2]) * 10 > board.rows or pair[2] == "0" or pair[1] not in columns
    if re.fullmatch(r"[a-z]+", entry, re.ASCII):
        longer = [name for name in [*columns, *words] if name.startswith(entry)]
        return not longer or (entry in words and not any(name in columns for name in longer))
    by_digit = board.cells <= MAX_DIGIT_CELLS or (board.gravity and board.cols <= 9)
    return by_digit or not re.match(r"[1-9a-z]", entry, re.ASCII)


def draw_help(board: Board, *, single_keys: bool = False) -> list[str]:
    """Draw the keys that are understood on a board.

    single_keys: keys are read one by one, so that words cannot be typed and, on boards with a digit in each cell,
    neither can what takes two keys; else whole lines are read.
    """
    last = f"{column_name(board.cols - 1)}{board.rows}"
    names = f"a1 to {last}: column and row"
    pairs = f"or row and column{', Enter' if single_keys else ''}: {board.rows} {board.cols}"
    ways = [names, pairs]
    if board.cells <= MAX_DIGIT_CELLS:  # where a digit is a cell, a second one comes too late on the screen
        ways = [f"1 to {board.cells}, as drawn on the board", f"or {names}", *([] if single_keys else [pairs])]
    kind, label = "cell", "a cell"
    if board.gravity:
        kind = label = "column"
        enter = ", Enter" if single_keys else ""
        ways = [f"1 to {board.cols}", f"or a to {column_name(board.cols - 1)}{enter}: where a mark falls"]
    rows = [("arrows", f"choose a {kind}; Enter moves")] if single_keys else []
    rows += [("" if line else label, way) for line, way in enumerate(ways)]
    for command in commands_for(KeyContext.GAME):
        keys = single_key(command.keys[0], board) if single_keys else ", ".join(command.keys[:2])
        others = [key for key in command.keys[2:] if len(key) == 1 or not single_keys]
        also = f" ({' and '.join(others)} {'do' if others[1:] else 'does'}, too)" if others else ""
        rows.append((keys, f"{command.meaning}{also}"))
    width = 8 if single_keys else max(len(keys) for keys, _ in rows) + 2
    return [f"{keys:{width}}{meaning}" for keys, meaning in rows]


def single_key(key: str, board: Board) -> str:
    """Return the key of a command for single keys, followed by Enter if a column has its letter."""
    return key if is_complete(key, board) else f"{key} Enter"


def draw_again_help(sides: tuple[str, str], place: KeyContext) -> list[str]:
    """Draw the keys after a game; `sides` are the person's marks in the next game, usually and after a switch."""
    meanings = {
        KeyCommand.UNDO: "the agent forgets this game",
        KeyCommand.REPLAY: "this game, move by move",
        KeyCommand.NEW: f"a new game, as {sides[0]}",
        KeyCommand.SWITCH: f"a new game, as {sides[1]}",
    }
    return [
        f"{f'Enter, {command.keys[0]}' if command is KeyCommand.NEW else command.keys[0]:10}"
        f"{meanings.get(command, command.meaning)}"
        for command in commands_for(place)
    ]
