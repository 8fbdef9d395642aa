"""The keys: what a person typed, as a cell or a command.

A line of text is read whole (`read_entry`, `read_again`); where single keys are read, `is_complete` says whether what
was typed so far is to be read at once or may go on.
"""

import enum
import re

from ttt_batch.board import Board
from ttt_batch.errors import BoardError, UsageError

MAX_DIGIT_CELLS = 9
"""Boards of up to so many cells are drawn with a digit in each free cell; larger ones with letters and numbers at
their edges."""

LETTERS = "qweasdzxc"
"""Keys of the 3x3 cells in cell order: the left hand's nine letters lie like the board."""


class Command(enum.Enum):
    """What a person can ask for besides a cell: its keys, and its line of help."""

    HINTS = (("h",), "what each cell is worth")
    UNDO = (("u", "undo"), "take your last move back")
    REPLAY = (("r",), "the game so far, move by move")
    NEW = (("n",), "a new game")
    LEAVE = (("0", "exit"), "leave")
    HELP = (("?", "help"), "these keys")

    def __init__(self, keys: tuple[str, ...], meaning: str) -> None:
        self.keys = keys
        self.meaning = meaning


class Again(enum.Enum):
    """What a person can answer to "another game?": its keys.  UNDO is for those who teach."""

    YES = ("", "y", "yes")
    SWITCH = ("s",)
    REPLAY = Command.REPLAY.keys
    UNDO = Command.UNDO.keys
    NO = ("n", "no", *Command.LEAVE.keys)
    HELP = Command.HELP.keys


def column_name(col: int) -> str:
    """Letter of a column, counted from 0; `aa` follows `z`, and no board has more than 36."""
    return f"{'a' * (col // 26)}{chr(ord('a') + col % 26)}"


def read_entry(text: str, board: Board) -> int | Command:
    """Read what a person typed: the cell it names, free or not, or a command.

    Cells: column letter and row number (`b3`), row and column number (`3 2`), both from the top left; the digits drawn
    on boards of up to MAX_DIGIT_CELLS cells, and on 3x3 the LETTERS.  Raises UsageError, with a message of at most
    40 columns, for anything else and for a cell outside.
    """
    entry = " ".join(text.lower().split())
    for command in Command:
        if entry in command.keys:
            return command
    if board.cells <= MAX_DIGIT_CELLS and re.fullmatch(r"\d{1,3}", entry, re.ASCII):
        if len(entry) == 1 and 1 <= int(entry) <= board.cells:
            return int(entry) - 1
        raise BoardError(f"no cell {entry}; there are 1 to {board.cells}")
    if (board.rows, board.cols) == (3, 3) and len(entry) == 1 and entry in LETTERS:
        return LETTERS.index(entry)
    if pair := re.fullmatch(r"(\d{1,3}) ?[ ,] ?(\d{1,3})", entry, re.ASCII):
        row, col = int(pair[1]), int(pair[2])
        if 1 <= row <= board.rows and 1 <= col <= board.cols:
            return (row - 1) * board.cols + col - 1
        raise BoardError(f"row {row}, column {col} is outside {board.rows}x{board.cols}")
    if pair := re.fullmatch(r"([a-z]|a[a-z]) ?(\d{1,3})", entry, re.ASCII):
        columns = [column_name(col) for col in range(board.cols)]
        # A number has one way to be written: a01 is a slip.
        if pair[1] in columns and pair[2] in map(str, range(1, board.rows + 1)):
            return (int(pair[2]) - 1) * board.cols + columns.index(pair[1])
        raise BoardError(f"no cell {pair[1]}{pair[2]}; there are a1 to {columns[-1]}{board.rows}")
    if not entry:
        raise UsageError("type a cell, or ? for the keys")
    raise UsageError(f"{quote(entry)} is no cell; ? shows the keys")


def read_again(text: str, *, lessons: bool = False) -> Again:
    """Read the answer to "another game?": Enter and y say yes, n and the keys that leave say no.

    lessons: the agent learns, and the keys for taking back undo its last lesson.  Raises UsageError for anything else.
    """
    answer = " ".join(text.lower().split())
    for meaning in Again:
        if answer in meaning.value and (lessons or meaning is not Again.UNDO):
            return meaning
    raise UsageError(f"{quote(answer)}: type y, n or ? for the keys")


def quote(text: str, width: int = 11) -> str:
    """Quote what was typed in `width` columns, safe for any terminal and any encoding."""
    quoted = ascii(text)
    return quoted if len(quoted) <= width else quoted[: width - 3] + "..."


def is_complete(text: str, board: Board) -> bool:
    """Whether keys typed so far are an entry to be read at once, without Enter.

    On boards with a digit in each cell every key is.  On larger ones a letter and a number are, unless one more digit
    would name another cell, and so is the key of a command that is no column's letter.
    """
    entry = text.lower()
    if board.cells <= MAX_DIGIT_CELLS:
        return True
    columns = {column_name(col) for col in range(board.cols)}
    if pair := re.fullmatch(r"([a-z]+)(\d+)", entry, re.ASCII):
        return int(pair[2]) * 10 > board.rows or pair[2] == "0" or pair[1] not in columns
    if re.fullmatch(r"[a-z]+", entry, re.ASCII):
        return not any(name.startswith(entry) for name in columns)
    return not re.match(r"[1-9a-z]", entry, re.ASCII)


def draw_help(board: Board, *, single_keys: bool = False) -> list[str]:
    """Draw the keys that are understood on a board.

    single_keys: keys are read one by one, so that words cannot be typed and, on boards with a digit in each cell,
    neither can what takes two keys; else whole lines are read.
    """
    last = f"{column_name(board.cols - 1)}{board.rows}"
    ways = [
        f"a1 to {last}: letter, then number",
        f"or row and column{', Enter' if single_keys else ''}: {board.rows} {board.cols}",
    ]
    if board.cells <= MAX_DIGIT_CELLS:
        longer = [] if single_keys else [f"or column letter and row: {last}", ways[1]]
        ways = [f"1 to {board.cells}, as drawn on the board", *longer]
    if (board.rows, board.cols) == (3, 3):
        ways += [f"or {' / '.join(' '.join(LETTERS[i : i + 3]) for i in (0, 3, 6))}"]
    lines = ["arrows  choose a cell; Enter moves"] if single_keys else []
    lines += [f"{'a cell' if not line else '':8}{way}" for line, way in enumerate(ways)]
    for command in Command:
        keys = [single_key(command.keys[0], board)] if single_keys else command.keys
        lines.append(f"{', '.join(keys):8}{command.meaning}")
    return lines


def single_key(key: str, board: Board) -> str:
    """The key of a command where keys are read one by one, with Enter where a column has its letter."""
    return key if is_complete(key, board) else f"{key} Enter"


def draw_again_help(sides: tuple[str, str], *, lessons: bool = False) -> list[str]:
    """Draw the keys after a game; `sides` are the person's marks in the next game, usually and after a switch."""
    lines = [("Enter, y", f"another game, as {sides[0]}"), ("s", f"another game, as {sides[1]}")]
    lines += [("r", "this game, move by move"), ("u", "the agent forgets this game")][: 2 if lessons else 1]
    lines += [("n, 0", "leave"), ("?", "these keys")]
    return [f"{keys:10}{meaning}" for keys, meaning in lines]
