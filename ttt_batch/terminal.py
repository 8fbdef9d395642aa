"""A game in the terminal: a person against an agent, by plain lines of text on any board.

Three layers that can be tested and replaced apart: the keys (`read_entry`, text to a cell or a command), the drawing
(`draw_board`, `draw_hints`, lines of text without side effects) and the loop (`play_game`, `play_games`), which knows
its streams only as `ask` and `tell`.  `play` ties the loop to real streams.

Everything is plain ASCII; what is drawn is at most WIDTH columns wide on boards of up to six columns, and WIDEST on
any.  Cells and lines go by the board alone, so an agent may know as few positions as it likes.
"""

import contextlib
import enum
import math
import os
import random
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TextIO

from ttt_batch.board import (
    DRAW,
    EMPTY,
    FIRST,
    FIRST_WINS,
    MARKS,
    SECOND,
    SECOND_WINS,
    UNFINISHED,
    Board,
    Position,
)
from ttt_batch.errors import BoardError, TttBatchError, UsageError
from ttt_batch.game import Game

WIDTH = 40
"""Columns that everything should fit into: a telephone held upright."""

WIDEST = 80
"""Columns that everything does fit into: the classic terminal."""

MAX_DIGIT_CELLS = 9
"""Boards of up to so many cells are drawn with a digit in each free cell; larger ones with letters and numbers at
their edges."""

LETTERS = "qweasdzxc"
"""Keys of the 3x3 cells in cell order: the left hand's nine letters lie like the board."""


class Agent(Protocol):
    """What a game needs of an agent."""

    @property
    def board(self) -> Board:
        """The board it plays on."""

    def candidates(self, position: Position) -> list[int]:
        """Cells that its choice rule may pick for the player to move, each equally likely."""

    def move_values(self, position: Position) -> dict[int, float]:
        """Its value of each free cell for the player to move; NaN where it has never been."""


class Pupil(Protocol):
    """What a game needs of an agent that learns from it."""

    def teach(self, cells: Sequence[int]) -> int:
        """Learn from the moves of a finished game and keep that for good; return how many positions changed.

        Raises TttBatchError where it could not, and has not learnt then.
        """

    def undo(self) -> bool:
        """Forget the last lesson; return False where there is none.  Raises TttBatchError where it could not."""


# --- the keys ---------------------------------------------------------------------------------------------


class Command(enum.Enum):
    """What a person can ask for besides a cell: its keys, and its line of help."""

    HINTS = (("h",), "the agent's value of each cell")
    UNDO = (("u", "undo"), "take your last move back")
    NEW = (("n",), "a new game")
    LEAVE = (("0", "exit"), "leave")
    HELP = (("?", "help"), "these keys")

    def __init__(self, keys: tuple[str, ...], meaning: str) -> None:
        self.keys = keys
        self.meaning = meaning


def column_name(col: int) -> str:
    """Letter of a column, counted from 0; `aa` follows `z`, and no board has more than 36."""
    return f"{'a' * (col // 26)}{chr(ord('a') + col % 26)}"


def read_entry(text: str, board: Board) -> int | Command:
    """Read what a person typed: the cell it names, free or not, or a command.

    Cells: column letter and row number (`b3`), row and column number (`3 2`), both from the top left; the digits drawn
    on boards of up to MAX_DIGIT_CELLS cells, and on 3x3 the LETTERS.  Raises UsageError, with a message of at most
    WIDTH columns, for anything else and for a cell outside.
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


def quote(text: str, width: int = 11) -> str:
    """Quote what was typed in `width` columns, safe for any terminal and any encoding."""
    quoted = ascii(text)
    return quoted if len(quoted) <= width else quoted[: width - 3] + "..."


def read_again(text: str, *, lessons: bool = False) -> bool | Command:
    """Read the answer to "another game?": Enter and y say yes, n and the keys that leave say no.

    lessons: the agent learns, and the keys for taking back undo its last lesson.  Raises UsageError for anything else.
    """
    answer = " ".join(text.lower().split())
    if answer in ("", "y", "yes"):
        return True
    if answer in ("n", "no", *Command.LEAVE.keys):
        return False
    if lessons and answer in Command.UNDO.keys:
        return Command.UNDO
    raise UsageError(f"{quote(answer)}: type {'y, n or u' if lessons else 'y or n'}")


# --- the drawing ------------------------------------------------------------------------------------------

# Blue and yellow stay apart for every kind of colour vision; reverse adds to the brackets and never
# replaces them.
_STYLES = {"key": "2", "X": "1;34", "O": "1;33", "marked": "7"}


def _style(text: str, *names: str) -> str:
    codes = ";".join(_STYLES[name] for name in names if name in _STYLES)
    return f"\x1b[{codes}m{text}\x1b[0m" if codes else text


Styles = Sequence[tuple[str, ...]] | None
"""Names of the styles of every cell; None for plain text."""


def draw_grid(
    board: Board, labels: Sequence[str], marked: Collection[int] = frozenset(), styles: Styles = None
) -> list[str]:
    """Draw one label per cell, in lines; the `marked` cells in brackets.

    Up to MAX_DIGIT_CELLS cells between rules, larger boards under column letters and beside row numbers.
    """
    if board.cells <= MAX_DIGIT_CELLS:
        return _draw_ruled(board, labels, marked, styles)
    return _draw_lettered(board, labels, marked, styles)


def _draw_ruled(board: Board, labels: Sequence[str], marked: Collection[int], styles: Styles) -> list[str]:
    """Between rules; roomy where WIDTH allows it and tighter where not.  Brackets fill the room around a label."""
    width = max(map(len, labels)) + 2
    roomy = board.cols * (width + 1) - 1 <= WIDTH
    if not roomy:
        width -= 0 if marked else 2
    cells = []
    for cell, label in enumerate(labels):
        text = f"[{label}]" if cell in marked else f" {label}" if roomy else label
        cells.append(_style(text.ljust(width), *styles[cell]) if styles else text.ljust(width))
    rows = [cells[start : start + board.cols] for start in range(0, board.cells, board.cols)]
    if not roomy:
        return [" ".join(row).rstrip() for row in rows]
    rule = "+".join(["-" * width] * board.cols)
    return [line for row in rows for line in (rule, "|".join(row).rstrip())][1:]


def _draw_lettered(board: Board, labels: Sequence[str], marked: Collection[int], styles: Styles) -> list[str]:
    """Under column letters and beside row numbers, as roomy as WIDTH allows; what passes WIDEST goes on below."""
    width, edge = max(map(len, labels)), len(str(board.rows))
    gap = next((gap for gap in (3, 2) if edge + 3 + board.cols * (width + gap) - gap <= WIDTH), 1)
    at_once = (WIDEST - edge - 3 + gap) // (width + gap)
    lines: list[str] = []
    for first in range(0, board.cols, at_once):
        columns = range(first, min(first + at_once, board.cols))
        lines += [""] if first else []
        lines += _draw_letters(columns, edge, width, gap)
        for row in range(board.rows):
            line, before = f"{row + 1:>{edge}} ", False
            for col in columns:
                cell = row * board.cols + col
                here = cell in marked
                line += _between(before, here, 1 if col == first else gap)
                text = labels[cell].ljust(width)
                line += _style(text, *styles[cell]) if styles else text
                before = here
            lines.append((line + _between(before, False, 1)).rstrip())
    return lines


def _between(before: bool, after: bool, gap: int) -> str:
    """What stands between two cells, of which the one before and the one after may be marked.

    In a gap of one column neighbours share a pair of brackets: `[X X X]`.
    """
    if gap == 1:
        return " " if before == after else "]" if before else "["
    return ("]" if before else " ") + " " * (gap - 2) + ("[" if after else " ")


def _draw_letters(columns: Sequence[int], edge: int, width: int, gap: int) -> list[str]:
    """The line of column letters; two of them, one letter below the other, where `aa` is too wide."""
    names = [column_name(col) for col in columns]
    depth = max(map(len, names))
    if depth < width + gap:
        return [(" " * (edge + 2) + "".join(name.ljust(width + gap) for name in names)).rstrip()]
    stacked = [name.rjust(depth) for name in names]
    return [
        (" " * (edge + 2) + "".join(name[line].ljust(width + gap) for name in stacked)).rstrip()
        for line in range(depth)
    ]


def draw_board(game: Game, colour: bool = False) -> list[str]:
    """Draw a game: marks, free cells, and in brackets the winning line or else the last move."""
    board = game.board
    marked = board.winning_cells(game.position) or frozenset(game.moves[-1:])
    labels, styles = [], []
    for cell, mark in enumerate(game.position):
        free = str(cell + 1) if board.cells <= MAX_DIGIT_CELLS else MARKS[EMPTY]
        labels.append(free if mark == EMPTY else MARKS[mark])
        styles.append(("key" if mark == EMPTY else labels[-1], "marked" if cell in marked else ""))
    return draw_grid(board, labels, marked, styles if colour else None)


def draw_hints(game: Game, values: Mapping[int, float], colour: bool = False) -> list[str]:
    """Draw the values of the free cells for the player to move; `?` where the agent has never been."""
    board, position = game.board, game.position
    free = {cell: values.get(cell, math.nan) for cell in range(board.cells) if position[cell] == EMPTY}
    known = {cell: value for cell, value in free.items() if not math.isnan(value)}
    labels, styles = [], []
    for cell, mark in enumerate(position):
        if cell in known:
            labels.append(_shown(known[cell]))
        else:
            labels.append("?" if mark == EMPTY else MARKS[mark])
        best = cell in known and known[cell] == max(known.values())
        styles.append((labels[-1] if mark != EMPTY else "", "marked" if best else ""))
    lines = [f"What the agent gives each cell for {MARKS[game.mover]}:", ""]
    lines += draw_grid(board, labels, styles=styles if colour else None)
    lines += [""]
    if known:
        best_cells = [board.cell_name(cell) for cell, value in known.items() if value == max(known.values())]
        lines += ["Highest: " + (" ".join(best_cells) if len(best_cells) < 10 else f"{len(best_cells)} cells")]
    if len(known) < len(free):
        lines += ["? = never seen"]
    return lines


def _shown(value: float) -> str:
    """A value in few columns, whatever a draw is worth; adding 0.0 after rounding turns a "-0.00" into "+0.00"."""
    return f"{round(value, 2) + 0.0:+.2f}" if abs(value) < 1000 else f"{value:+.1e}"


def draw_help(board: Board) -> list[str]:
    """Draw the keys that are understood on a board."""
    last = f"{column_name(board.cols - 1)}{board.rows}"
    ways = [f"a1 to {last}: letter, then number", f"or row and column: {board.rows} {board.cols}"]
    if board.cells <= MAX_DIGIT_CELLS:
        ways = [f"1 to {board.cells}, as drawn on the board", f"or column letter and row: {last}", ways[1]]
    if (board.rows, board.cols) == (3, 3):
        ways += [f"or {' / '.join(' '.join(LETTERS[i : i + 3]) for i in (0, 3, 6))}"]
    lines = [f"{'a cell' if not line else '':8}{way}" for line, way in enumerate(ways)]
    return lines + [f"{', '.join(command.keys):8}{command.meaning}" for command in Command]


# --- the loop ---------------------------------------------------------------------------------------------


class Result(enum.Enum):
    """How a game ended, with the line that says so."""

    WIN = "You win."
    LOSS = "The agent wins."
    DRAW = "Draw."
    ABANDONED = "A new game; this one does not count."
    LEFT = ""


@dataclass
class Score:
    """The person's score over several games; only finished games count."""

    wins: int = 0
    losses: int = 0
    draws: int = 0

    def add(self, result: Result) -> None:
        """Count a game; modified in place."""
        self.wins += result is Result.WIN
        self.losses += result is Result.LOSS
        self.draws += result is Result.DRAW

    def __str__(self) -> str:
        return f"You {self.wins}, agent {self.losses}, draws {self.draws}."


def result_of(game: Game, person: int) -> Result:
    """Result of a finished game for the person in seat `person` (0 moves first, 1 second)."""
    if game.outcome == DRAW:
        return Result.DRAW
    return Result.WIN if game.outcome == (FIRST_WINS, SECOND_WINS)[person] else Result.LOSS


def play_game(
    agent: Agent,
    *,
    person: int,
    ask: Callable[[str], str],
    tell: Callable[[str], None],
    rng: random.Random,
    colour: bool = False,
) -> tuple[Result, Game]:
    """Play one game of a person in seat `person` (0 moves first, 1 second) against an agent; return how it ended.

    `ask` shows a prompt and returns the line typed; what it raises at the end of input passes through.
    `tell` shows one line.  `rng` draws among the agent's candidates.
    """
    board, player = agent.board, (FIRST, SECOND)[person]
    game = Game(board)

    def show(lines: Sequence[str]) -> None:
        for line in ("", *lines, ""):
            tell(line)

    tell(f"You are {MARKS[player]} and move {('first', 'second')[person]}.")
    drawn = None
    while game.outcome == UNFINISHED:
        if game.mover != player:
            cell = rng.choice(agent.candidates(game.position))
            game = game.after(cell)
            tell(f"The agent plays {board.cell_name(cell)}.")
            continue
        if game != drawn:
            # Only a new position is drawn, so that a slip of the finger costs one line and not a screen.
            show(draw_board(game, colour))
            drawn = game
        try:
            entry = read_entry(ask(f"Your move ({MARKS[player]}): "), board)
            if isinstance(entry, int):
                if game.position[entry] != EMPTY:
                    raise BoardError(f"cell {board.cell_name(entry)} is taken by {MARKS[game.position[entry]]}")
                game = game.after(entry)
                continue
        except UsageError as error:
            tell(str(error))
            continue
        match entry:
            case Command.HELP:
                show(draw_help(board))
            case Command.HINTS:
                show(draw_hints(game, agent.move_values(game.position), colour))
            case Command.UNDO:
                earlier = game.before_move_of(player)
                tell("You have no move to take back." if earlier is None else "Your last move is taken back.")
                game = earlier or game
            case Command.NEW:
                tell(Result.ABANDONED.value)
                return Result.ABANDONED, game
            case Command.LEAVE:
                return Result.LEFT, game
    show(draw_board(game, colour))
    if game.forfeited:
        tell("Agent chose an occupied cell and loses.")
    result = result_of(game, person)
    tell(result.value)
    return result, game


def play_games(
    agent: Agent,
    *,
    person: int,
    ask: Callable[[str], str],
    tell: Callable[[str], None],
    rng: random.Random,
    colour: bool = False,
    pupil: Pupil | None = None,
    record: Callable[[Sequence[int]], None] | None = None,
) -> Score:
    """Play until the person leaves, input ends (EOFError from `ask`) or Ctrl-C is pressed; return the score.

    pupil: learns from every finished game.  record: called with the cells of every finished game; may raise
    TttBatchError.  The other parameters are those of `play_game`.
    """
    score = Score()
    try:
        tell(f"Board {agent.board.name}: {_rule(agent.board)}. ? = keys.")
        if pupil is not None:
            tell("The agent learns from finished games.")
        again = True
        while again:
            result, game = play_game(agent, person=person, ask=ask, tell=tell, rng=rng, colour=colour)
            if result is Result.LEFT:
                break
            if result is Result.ABANDONED:
                continue
            score.add(result)
            tell(f"Score: {score}")
            if record is not None:
                with _telling(tell):
                    record(game.moves)
            if pupil is not None:
                _teach(pupil, game, tell)
            again = _ask_again(ask, tell, pupil)
    except (EOFError, KeyboardInterrupt):
        # Both are ordinary ways to leave a game; `ask` has ended the prompt's line.
        pass
    tell(f"Goodbye. {score}")
    return score


def _rule(board: Board) -> str:
    """Who wins, in words."""
    return f"{'exactly ' if board.exact else ''}{board.k} in a line {'lose' if board.misere else 'win'}"


@contextlib.contextmanager
def _telling(tell: Callable[[str], None], behind: str = "") -> Iterator[None]:
    """Say what could not be done, and `behind` it what follows from that, and go on: the next game may fare better."""
    try:
        yield
    except TttBatchError as error:
        tell(str(error))
        if behind:
            tell(behind)


def _teach(pupil: Pupil, game: Game, tell: Callable[[str], None]) -> None:
    with _telling(tell, "This game was not learnt."):
        n = pupil.teach(game.moves)
        changed = f"{n} position{'s' * (n != 1)} changed" if n else "nothing changed"
        tell(f"Learnt: {changed} (u: undo).")


def _ask_again(ask: Callable[[str], str], tell: Callable[[str], None], pupil: Pupil | None) -> bool:
    while True:
        try:
            answer = read_again(ask("Another game? [Y/n] "), lessons=pupil is not None)
        except UsageError as error:
            tell(str(error))
            continue
        if isinstance(answer, bool):
            return answer
        if pupil is not None:
            with _telling(tell, "The last lesson stays."):
                tell("The last lesson is undone." if pupil.undo() else "There is no lesson to undo.")


# --- the streams ------------------------------------------------------------------------------------------


def wants_colour(stdout: TextIO, environ: Mapping[str, str] = os.environ) -> bool:
    """Whether to write colour: to a terminal that is not dumb, unless NO_COLOR is set (no-color.org)."""
    return stdout.isatty() and not environ.get("NO_COLOR") and environ.get("TERM") != "dumb"


def play(
    agent: Agent,
    *,
    person: int,
    stdin: TextIO,
    stdout: TextIO,
    seed: int | None = None,
    pupil: Pupil | None = None,
    record: Callable[[Sequence[int]], None] | None = None,
) -> Score:
    """Play games on a pair of text streams until the person leaves; return the score.

    `person` is the person's seat, 0 (moves first) or 1; `seed` fixes the agent's draws among its
    candidates; `pupil` and `record` as for `play_games`.  Off a terminal what was read is written behind its
    prompt, so that the output reads like a session, and no control characters are written.  Raises UsageError
    for another seat.
    """
    if person not in (0, 1):
        raise UsageError(f"person {person!r} is no seat; 0 moves first, 1 second")
    reconfigure = getattr(stdin, "reconfigure", None)
    if reconfigure is not None:
        # A byte that is no text is a slip like any other; it must not end the game. (A stream already
        # read from may refuse.)
        with contextlib.suppress(OSError, ValueError):
            reconfigure(errors="replace")
    echo = not (stdin.isatty() and stdout.isatty())

    def tell(line: str) -> None:
        stdout.write(line + "\n")
        stdout.flush()

    def ask(prompt: str) -> str:
        stdout.write(prompt)
        stdout.flush()
        try:
            line = stdin.readline()
            if not line:
                raise EOFError
        except (EOFError, KeyboardInterrupt):
            tell("")
            raise
        if echo:
            typed = line.strip()
            tell(typed if typed.isascii() and typed.isprintable() and len(typed) <= 12 else quote(typed))
        return line

    rng = random.Random(seed)
    colour = wants_colour(stdout)
    return play_games(agent, person=person, ask=ask, tell=tell, rng=rng, colour=colour, pupil=pupil, record=record)
