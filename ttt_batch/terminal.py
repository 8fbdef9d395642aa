"""A game in the terminal: a person against an agent, by plain lines of text on any small board.

Four layers that can be tested and replaced apart: the game (`Game`, a tuple of moves from which everything
else follows), the keys (`read_entry`, text to a cell or a command), the drawing (`draw_board`, `draw_hints`,
lines of text without side effects) and the loop (`play_game`, `play_games`), which knows its streams only as
`ask` and `tell`.  `play` ties the loop to real streams.

Everything is plain ASCII and, up to six columns, at most WIDTH columns wide.
"""

import contextlib
import enum
import functools
import math
import os
import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
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
from ttt_batch.errors import BoardError, UsageError

WIDTH = 40
"""Columns that everything should fit into: a telephone held upright."""

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


# --- the game ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Game:
    """A game so far: its moves.  Position, player to move and outcome follow from them."""

    board: Board
    moves: tuple[int, ...] = ()

    @functools.cached_property
    def position(self) -> Position:
        """Marks of all cells.  A forfeiting move leaves no mark."""
        marks = [EMPTY] * self.board.cells
        for ply, cell in enumerate(self.moves):
            if marks[cell] == EMPTY:
                marks[cell] = FIRST + ply % 2
        return tuple(marks)

    @property
    def mover(self) -> int:
        """Mark of the player to move, FIRST or SECOND."""
        return FIRST + len(self.moves) % 2

    @property
    def forfeited(self) -> bool:
        """Whether the last move went to an occupied cell."""
        return self.board.cells - self.position.count(EMPTY) < len(self.moves)

    @functools.cached_property
    def outcome(self) -> int:
        """UNFINISHED, FIRST_WINS, SECOND_WINS or DRAW; a forfeit is won by the other player."""
        if self.forfeited:
            return FIRST_WINS if self.mover == FIRST else SECOND_WINS
        return self.board.outcome(self.position)

    def after(self, cell: int) -> "Game":
        """Return the game with one more move; an occupied cell forfeits it.

        Raises BoardError for a cell outside the board and for a move after the end.
        """
        if self.outcome != UNFINISHED:
            raise BoardError(f"no move to cell {cell}: the game is over")
        if not 0 <= cell < self.board.cells:
            raise BoardError(f"cell {cell} is outside 0 .. {self.board.cells - 1}")
        return replace(self, moves=(*self.moves, cell))

    def before_move_of(self, player: int) -> "Game | None":
        """Return the game before the last move of `player` (FIRST or SECOND), None where there is none."""
        for ply in reversed(range(len(self.moves))):
            if FIRST + ply % 2 == player:
                return replace(self, moves=self.moves[:ply])
        return None


# --- the keys ---------------------------------------------------------------------------------------------


class Command(enum.Enum):
    """What a person can ask for besides a cell: its keys, and its line of help."""

    HINTS = (("h",), "the agent's value of each cell")
    UNDO = (("u",), "take your last move back")
    NEW = (("n",), "a new game")
    LEAVE = (("0", "exit"), "leave")
    HELP = (("?", "help"), "these keys")

    def __init__(self, keys: tuple[str, ...], meaning: str) -> None:
        self.keys = keys
        self.meaning = meaning


def read_entry(text: str, board: Board) -> int | Command:
    """Read what a person typed: the cell it names, free or not, or a command.

    Cells: the names drawn on the board (`5`; `b3` with more than nine cells), `row col`, and on 3x3
    the LETTERS.  Raises UsageError, with a message of at most WIDTH columns, for anything else and for a cell
    outside.
    """
    entry = " ".join(text.lower().split())
    for command in Command:
        if entry in command.keys:
            return command
    names = {board.cell_name(cell): cell for cell in range(board.cells)}
    if entry in names:
        return names[entry]
    if (board.rows, board.cols) == (3, 3) and len(entry) == 1 and entry in LETTERS:
        return LETTERS.index(entry)
    if pair := re.fullmatch(r"(\d{1,3}) ?[ ,] ?(\d{1,3})", entry, re.ASCII):
        row, col = int(pair[1]), int(pair[2])
        if 1 <= row <= board.rows and 1 <= col <= board.cols:
            return (row - 1) * board.cols + col - 1
        raise BoardError(f"row {row}, column {col} is outside {board.rows}x{board.cols}")
    if not entry:
        raise UsageError("type a cell, or ? for the keys")
    if re.fullmatch(r"\d{1,3}" if board.cells <= 9 else r"[a-z]\d{1,3}", entry, re.ASCII):
        raise BoardError(f"no cell {entry}; there are {board.cell_name(0)} to {board.cell_name(board.cells - 1)}")
    raise UsageError(f"{quote(entry)} is no cell; ? shows the keys")


def quote(text: str, width: int = 11) -> str:
    """Quote what was typed in `width` columns, safe for any terminal and any encoding."""
    quoted = ascii(text)
    return quoted if len(quoted) <= width else quoted[: width - 3] + "..."


def read_again(text: str) -> bool:
    """Read the answer to "another game?": Enter and y say yes, n and the keys that leave say no.

    Raises UsageError for anything else.
    """
    answer = text.strip().lower()
    if answer in ("", "y", "yes"):
        return True
    if answer in ("n", "no", *Command.LEAVE.keys):
        return False
    raise UsageError(f"{quote(answer)}: type y or n")


# --- the drawing ------------------------------------------------------------------------------------------

# Blue and yellow stay apart for every kind of colour vision; reverse adds to the brackets and never
# replaces them.
_STYLES = {"key": "2", "X": "1;34", "O": "1;33", "marked": "7"}


def _style(text: str, *names: str) -> str:
    codes = ";".join(_STYLES[name] for name in names if name in _STYLES)
    return f"\x1b[{codes}m{text}\x1b[0m" if codes else text


def draw_grid(board: Board, labels: Sequence[str], styles: Sequence[tuple[str, ...]] | None = None) -> list[str]:
    """Draw one label per cell, in lines; roomy where WIDTH allows it and tighter where not.

    A label of three characters with brackets, `[X]`, fills the room around a label of one.  `styles` (names
    per cell) colours the cells; None leaves plain text.
    """
    widest = max(len(label.strip("[]")) for label in labels)
    width = max(widest + 2, *map(len, labels))
    roomy = board.cols * (width + 1) - 1 <= WIDTH
    if not roomy:
        width = max(map(len, labels))
    cells = []
    for cell, label in enumerate(labels):
        text = (f" {label}" if roomy and not label.startswith("[") else label).ljust(width)
        cells.append(_style(text, *styles[cell]) if styles else text)
    rows = [cells[start : start + board.cols] for start in range(0, board.cells, board.cols)]
    if not roomy:
        return [" ".join(row).rstrip() for row in rows]
    rule = "+".join(["-" * width] * board.cols)
    return [line for row in rows for line in (rule, "|".join(row).rstrip())][1:]


def draw_board(game: Game, colour: bool = False) -> list[str]:
    """Draw a game: marks, keys of the free cells, and in brackets the winning line or else the last move."""
    marked = game.board.winning_cells(game.position) or frozenset(game.moves[-1:])
    labels, styles = [], []
    for cell, mark in enumerate(game.position):
        label = game.board.cell_name(cell) if mark == EMPTY else MARKS[mark]
        labels.append(f"[{label}]" if cell in marked else label)
        styles.append(("key" if mark == EMPTY else label, "marked" if cell in marked else ""))
    return draw_grid(game.board, labels, styles if colour else None)


def draw_hints(game: Game, values: Mapping[int, float], colour: bool = False) -> list[str]:
    """Draw the values of the free cells for the player to move; `?` where the agent has never been."""
    board, position = game.board, game.position
    decimals = 2 if board.cols * 6 <= WIDTH + 1 else 1
    free = {cell: values.get(cell, math.nan) for cell in range(board.cells) if position[cell] == EMPTY}
    known = {cell: value for cell, value in free.items() if not math.isnan(value)}
    labels, styles = [], []
    for cell, mark in enumerate(position):
        if cell in known:
            # Adding 0.0 after rounding turns a "-0.00" into "+0.00".
            labels.append(f"{round(known[cell], decimals) + 0.0:+.{decimals}f}")
        else:
            labels.append("?" if mark == EMPTY else MARKS[mark])
        best = cell in known and known[cell] == max(known.values())
        styles.append((labels[-1] if mark != EMPTY else "", "marked" if best else ""))
    lines = [f"What the agent gives each cell for {MARKS[game.mover]}:", ""]
    lines += draw_grid(board, labels, styles if colour else None)
    lines += [""]
    if known:
        best_cells = [board.cell_name(cell) for cell, value in known.items() if value == max(known.values())]
        lines += ["Highest: " + (" ".join(best_cells) if len(best_cells) < 10 else f"{len(best_cells)} cells")]
    if len(known) < len(free):
        lines += ["? = never seen"]
    return lines


def draw_help(board: Board) -> list[str]:
    """Draw the keys that are understood on a board."""
    last = board.cell_name(board.cells - 1)
    ways = [
        f"{board.cell_name(0)} to {last}, as drawn on the board",
        f"or row and column: {board.rows} {board.cols}",
    ]
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
) -> Result:
    """Play one game of a person in seat `person` (0 moves first, 1 second) against an agent.

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
                return Result.ABANDONED
            case Command.LEAVE:
                return Result.LEFT
    show(draw_board(game, colour))
    if game.forfeited:
        tell("Agent chose an occupied cell and loses.")
    result = result_of(game, person)
    tell(result.value)
    return result


def play_games(
    agent: Agent,
    *,
    person: int,
    ask: Callable[[str], str],
    tell: Callable[[str], None],
    rng: random.Random,
    colour: bool = False,
) -> Score:
    """Play until the person leaves, input ends (EOFError from `ask`) or Ctrl-C is pressed; return the score.

    Parameters as for `play_game`.
    """
    score = Score()
    board = agent.board
    try:
        tell(f"Board {board.name}: {board.k} in a line win. ? = keys.")
        again = True
        while again:
            result = play_game(agent, person=person, ask=ask, tell=tell, rng=rng, colour=colour)
            if result is Result.LEFT:
                break
            if result is Result.ABANDONED:
                continue
            score.add(result)
            tell(f"Score: {score}")
            again = _ask_again(ask, tell)
    except (EOFError, KeyboardInterrupt):
        # Both are ordinary ways to leave a game; `ask` has ended the prompt's line.
        pass
    tell(f"Goodbye. {score}")
    return score


def _ask_again(ask: Callable[[str], str], tell: Callable[[str], None]) -> bool:
    while True:
        try:
            return read_again(ask("Another game? [Y/n] "))
        except UsageError as error:
            tell(str(error))


# --- the streams ------------------------------------------------------------------------------------------


def wants_colour(stdout: TextIO, environ: Mapping[str, str] = os.environ) -> bool:
    """Whether to write colour: to a terminal that is not dumb, unless NO_COLOR is set (no-color.org)."""
    return stdout.isatty() and not environ.get("NO_COLOR") and environ.get("TERM") != "dumb"


def play(agent: Agent, *, person: int, stdin: TextIO, stdout: TextIO, seed: int | None = None) -> Score:
    """Play games on a pair of text streams until the person leaves; return the score.

    `person` is the person's seat, 0 (moves first) or 1; `seed` fixes the agent's draws among its
    candidates.  Off a terminal what was read is written behind its prompt, so that the output reads like a
    session, and no control characters are written.  Raises UsageError for another seat.
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
    return play_games(agent, person=person, ask=ask, tell=tell, rng=rng, colour=wants_colour(stdout))
